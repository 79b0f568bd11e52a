/* What people tell a model in English: drop your rules, show them, tell the secret. */
#include "detect/injection_int.h"
#include "detect/injection_words.h"

const struct weir_injection_rule weir_injection__rules[] = {
    /* ---- drop what you were told */
    SAID(OVERRIDE, 0.9,
         "\\b" DROP "(?: (?!" THINGS ")<4>|(?:all|the|any|my)*)" PRIOR "(?: <2>)?" TOLD "\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b" DROP " <4>" TOLD " (?:(?:mentioned|listed|given|stated|written|that were|that "
         "came|from|which were|provided|described|outlined|set) "
         ")?(?:above|before|earlier|previously|so far|until now|up to now)\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b" DROP " <4>" TOLD " <1>(?:you (?:were|have been|had been|ve "
         "been|got|received|follow)|given to you|set by|from "
         "(?:the )?(?:developers?|system|operator|openai|your))\\b"),
    SAID(OVERRIDE, 0.85, "\\b" DROP " (?:all (?:of )?|any (?:of )?)?(?:your|ur|yr) <3>" TOLD "\\b"),
    SAID(OVERRIDE, 0.6,
         "\\b" DROP " (?:all|any|every) (?:of )?(?:the )?(?:other "
         ")?(?:instructions?|guidelines|directives|prompts|rules|restrictions)\\b"),
    SAID(
        OVERRIDE, 0.3,
        "\\b" DROP
        " (?:the|this|its|these|those) <1>(?:instructions?|guidelines|directives|prompt|rules)\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b" OVERRIDE " <3>(?:your|previous|prior|earlier|initial|original|system|safety|above) "
         "<2>(?:instructions?|directives|guidelines|prompts?|programming|restrictions|"
         "safeguards|training)\\b"),
    SEEN(OVERRIDE, 0.85, "\\b" UNHEED "<4>(?:your|" PRIOR ") <2>" TOLD "\\b"),
    SEEN(OVERRIDE, 0.85,
         "\\b" UNHEED "<4>" TOLD
         " <4>(?:above|before|earlier|previously|you (?:were|have|got|received|had)|given)\\b"),
    SEEN(OVERRIDE, 0.4,
         "\\b" UNHEED "(?:any|all|these|those|the) "
         "<2>(?:instructions?|guidelines|directives|prompts?|rules|restrictions)\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:ignore|disregard|forget|discard|dismiss) (?:about "
         ")?(?:everything|anything|all|whatever|all of that|what) <3>(?:you(?: "
         "(?:were|have|had|ve))? "
         "(?:been "
         ")?(?:told|instructed|given|learned|learnt|taught|know|read|programmed|asked)|(?:came|"
         "comes|"
         "is|was|written|stated|said)?" JOIN
         "(?:above|before|previously|prior to this|up (?:to|until)))\\b"),
    SAID(
        OVERRIDE, 0.6,
        "\\b(?:ignore|disregard|forget) (?:everything|anything|all) (?:that )?(?:i|we|they|i ve|we "
        "ve) (?:have )?(?:said|told|wrote|asked|written)\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:ignore|disregard|forget|never mind|defy|disobey) "
         "(?:what|whatever|everything|anything) "
         "(?:the|your) "
         "(?:system|developers?|operator|admin\\w*|creators?|company|openai|prompt)\\b"),
    SEEN(OVERRIDE, 0.7,
         "\\b(?:whatever|anything|everything) you(?: (?:were|have|had|ve))? (?:been "
         ")?(?:told|instructed|asked|programmed|taught)(?: <5>(?:don|do "
         "not|ignore|forget|disregard|void|wrong|irrelevant|no longer))\\b"),
    SAID(
        OVERRIDE, 0.85,
        "\\b(?:previous|prior|above|earlier|preceding|original|initial|existing|former|your|system)"
        " "
        "<2>(?:instructions?|directives?|prompts?|guidelines|rules|restrictions|orders|programming|"
        "commands|constraints) <1>(?:are|is|were|was|has been|have been|should be|must be|can "
        "be|to "
        "be) <2>(?:void|null|invalid|a mistake|mistaken|an "
        "error|fake|cancell?ed|revoked|superseded|overrid+en|obsolete|outdated|a test|a "
        "joke|suspended|lifted|deleted|ignored|disregarded|forgotten|removed|replaced|rescinded|"
        "nullified|irrelevant|deactivated|disabled|terminated|erased|wrong)\\b"),
    SAID(OVERRIDE, 0.45,
         "\\b" ORDERED " <3>(?:no longer|do not|don t|not) "
         "(?:apply|valid|binding|matter|relevant|in (?:effect|force))\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:your|previous|prior|above|earlier|all|these|those|system|initial|original) "
         "(?:\\w+ )?" ORDERED
         " <2>(?:no longer|do not|don t|not) (?:apply|valid|binding|matter|relevant|in "
         "(?:effect|force))(?! (?:to|where|if|when|for|in|until|unless))\\b"),
    SEEN(OVERRIDE, 0.4,
         "\\b(?:what|this|these|following) <3>(?:supersedes?|overrides?|cancels?)\\b"),
    SAID(OVERRIDE, 0.45,
         "\\b(?:supersedes?|overrides?|takes? (?:precedence|priority) over) "
         "<3>(?:earlier|previous|prior|all|your|other|existing|original|system) "
         "<1>(?:instructions?|directives?|prompts?|programming|commands)\\b"),
    SEEN(
        OVERRIDE, 0.4,
        "\\b(?:your |the |my |with )?(?:new|real|actual|updated|true) (?:system "
        ")?(?:instructions?|orders|task|mission|directives?|objective|goal|prompt|policy|rules)(?: "
        "(?:is|are|follows?|begins?|from)|:)"),
    SEEN(OVERRIDE, 0.3,
         "\\byou (?:now )?have (?:a )?new "
         "(?:mission|task|role|purpose|instructions|orders|objective|goal|identity)\\b"),
    SEEN(OVERRIDE, 0.45,
         "\\b(?:obey|listen|answer|follow|serve|comply|obeys|answers) (?:only )?(?:to |with "
         ")?(?:only "
         ")?(?:me|mine|my (?:orders|commands|instructions|rules)|the user|what i say|whatever "
         "i|only "
         "(?:me|the user))\\b"),
    SEEN(OVERRIDE, 0.25, "\\bobey\\b"),
    SEEN(OVERRIDE, 0.25,
         "\\b(?:from (?:now|here|this point) on(?:ward|wards)?|starting now|from this moment)\\b"),
    SAID(OVERRIDE, 0.75,
         "\\b(?:clear|erase|wipe|reset|delete|purge|flush|forget) (?:all (?:of )?)?your "
         "(?:memory|context|mind|training|instructions|programming)\\b"),
    SAID(OVERRIDE, 0.75,
         "\\b(?:disregard|ignore|forget) (?:all (?:of )?)?the (?:above|foregoing|preceding)(?: "
         "(?:and|then|instead|text|content|prompt|message)\\b|[.!,;\\n])"),
    SEEN(OVERRIDE, 0.3,
         "\\b(?:instead|rather)[,:]? "
         "(?:print|output|say|write|respond|reply|answer|tell|do|return|give|execute|run)\\b"),
    SEEN(OVERRIDE, 0.5,
         "\\b(?:say|print|output|reply|respond|answer|write) "
         "<5>(?:pwned|hacked|h4cked|owned|haxxed|haha pwned|i have been (?:pwned|hacked))\\b"),

    SEEN(OVERRIDE, 0.5,
         "\\b(?:whatever|what|everything|anything|all|things|stuff) (?:that )?you(?: "
         "(?:were|have|had|ve))? (?:been )?"
         "(?:told|given|instructed|taught|asked|fed|programmed|assigned|trained) (?:to do )?(?:by "
         "\\w+ )?" SO_FAR "\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\b(?:everything|all|that|this|text|lines?|part|prompt|instructions?|message) "
         "(?:was|is|were|are) (?:just |only |merely |all )?an? "
         "(?:test|example|joke|placeholder|decoy|drill|dummy|warm" JOIN
         "up|distraction|mistake)\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\b(?:everything|all|text|lines?|sentences?|part|prompt|instructions?|messages?) "
         "(?:that (?:is|was|came|comes) )?(?:above|preceding)\\b"),
    SEEN(OVERRIDE, 0.45,
         "\\byour (?:real|actual|true|correct|proper|only|sole|new|next|current|updated) (?:and "
         "only )?"
         "(?:task|job|goal|instructions?|mission|assignment|objective|purpose|duty|directive|"
         "orders?) "
         "(?:now |here |from now on )?(?:is|are|begins?|starts?|follows?|will be)\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\b(?:real|actual|true|correct|proper) "
         "(?:task|instructions?|assignment|prompt|job|question) "
         "(?:is|are|begins?|starts?|follows?|comes)\\b"),
    SEEN(OVERRIDE, 0.25,
         "\\b(?:say|print|output|write|reply|respond|answer|type|return|display|repeat) (?:only "
         "|just |exactly )?(?:with |that )?"
         "(?:only |just |exactly )?(?:the (?:exact "
         ")?(?:word|words|phrase|text|string|sentence)|nothing but|nothing else|only)\\b"),
    SEEN(OVERRIDE, 0.3,
         "\\b(?:just|simply|only) (?:say|print|output|write|reply|respond|answer|tell me|type)\\b"),
    SAID(OVERRIDE, 0.3,
         "\\b(?:stop|quit|" NOT
         "|instead of) (?:\\w+ )?(?:translat|summari[sz]|classif|analy[sz]|review|sentiment|"
         "mark|grad|label|proofread)\\w*\\b"),
    SEEN(OVERRIDE, 0.5,
         "\\b(?:don t|dont|do not|doesn t|does not) (?:care|matter) (?:about )?(?:what |which "
         ")?(?:the |your |any |those |these )"
         "(?:\\w+ "
         ")?(?:prompt|instructions?|rules|system|text|developers?|guidelines|polic(?:y|ies))\\b"),
    SEEN(OVERRIDE, 0.6,
         "\\b(?:no matter|regardless of|despite|even if|even though|whatever) (?:what "
         ")?(?:the|your|any|its) "
         "<2>(?:prompt|instructions?|rules|system|developers?|guidelines|polic(?:y|ies)|"
         "programming|restrictions) "
         "<1>(?:says?|said|tells?|told|forbids?|prohibits?|states?|demands?|wants?)\\b"),
    SAID(OVERRIDE, 0.45,
         "\\b(?:do|say|does|follow) (?:exactly |precisely )?the (?:exact )?opposite of "
         "(?:what|your|the|these|those)\\b"),
    SEEN(OVERRIDE, 0.5,
         "\\byou (?:now |only |must |will |shall |have to |should |are to |can )*\\b"
         "(?:answer|listen|report|belong|obey|serve|follow) (?:only |just |solely )?(?:to )?"
         "(?:only |just )?(?:me\\b|my |what i |whatever i |everything i )"),
    SAID(OVERRIDE, 0.85,
         "\\b" ORDERED " <5>(?:no longer|do not|don t|does not|doesn t|not) "
         "(?:apply|valid|binding|matter|relevant|count|concern) "
         "(?:to )?(?:you|me|us|anymore|any more|here|now|this (?:chat|conversation|session))\\b"),
    SEEN(OVERRIDE, 0.45,
         "\\byour "
         "<2>(?:instructions?|rules|guidelines|prompt|restrictions|programming|polic(?:y|ies)|"
         "training) "
         "<1>(?:have|has|had) (?:now |just |all |been "
         ")*\\b(?:expired?|ended|changed|updated|retired|gone|lapsed)\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\bconfirm (?:this |that |it )?(?:by|with) "
         "(?:saying|replying|writing|answering|typing|\\w+ing)\\b"),
    SAID(OVERRIDE, 0.4,
         "\\b" DROP
         " (?:about )?(?:the|this|that|your|our) (?:current |original |previous |whole |actual )?"
         "(?:task|assignment|job|article|document|question|role|translation|classification|"
         "exercise|persona|story|summary)\\b"),
    SAID(OVERRIDE, 0.75,
         "\\b" DROP " <3>(?:task|assignment|job|role|persona|character) <1>(?:you (?:were|have "
         "been|had been|ve been|got)|given|"
         "assigned|set by)\\b"),
    SAID(OVERRIDE, 0.6,
         "\\b" DROP " (?:all |any )?(?:of )?(?:this|that|these|those|the) "
         "<1>(?:nonsense|crap|bullshit|stuff|junk|garbage) "
         "(?:above|before|earlier|you)\\b"),
    SEEN(OVERRIDE, 0.3,
         "\\byou (?:are|re|have been) (?:now )?(?:free|liberated|unlocked|unchained|released)\\b"),
    SEEN(OVERRIDE, 0.5,
         "\\b(?:no|zero|without|any) (?:rules|restrictions|limits|instructions) (?:at all "
         ")?(?:in|for|during) "
         "(?:this|the|our) (?:new )?(?:session|chat|conversation|mode)\\b"),

    SEEN(OVERRIDE, 0.5,
         "\\b(?:whatever|what|everything|anything|all) (?:that )?(?:the|your) (?:\\w+ "
         ")?(?:operator|developers?|system|company|admins?|creators?|makers?|prompt) "
         "(?:\\w+ )?(?:wrote|said|says|told|gave|wants?|tells|programmed|set)\\b"),
    SEEN(OVERRIDE, 0.4, "\\btake (?:your )?(?:orders|instructions|commands) (?:only )?from\\b"),
    SAID(OVERRIDE, 0.6,
         "\\b" DROP " (?:all |everything |any )?(?:of )?(?:the|this|that|these|any|all) "
         "<2>(?:text|content|contents|document|article|paragraphs?|passage|lines?) "
         "<2>(?:above|before this|preceding|so far)\\b"),
    SAID(OVERRIDE, 0.6,
         "\\b" DROP " (?:all |everything |anything )(?:that is |written |stated |said "
         ")?(?:above|before this|preceding this)\\b"),
    SAID(OVERRIDE, 0.55,
         "\\b(?:polic(?:y|ies)|guidelines|rules|filters?|restrictions|moderation|safety \\w+) "
         "<2>(?:not|n t|never|no longer) "
         "(?:\\w+ "
         "){0,3}(?:enforced|applied|followed|respected|obeyed|observed|needed|necessary)\\b"),
    SAID(OVERRIDE, 0.6,
         "\\byour <1>(?:safety|training|ethic\\w*|filters?|alignment|guardrails|censorship|content "
         "polic\\w+) <2>(?:is|are|was|were|has|have) <2>"
         "(?:mistake|wrong|error|off|disabled|obsolete|outdated|void|joke|removed|lifted|expired|"
         "gone|suspended|irrelevant|flawed)\\b"),
    SEEN(OVERRIDE, 0.3,
         "\\b(?:verified|trusted|certified|accredited|authori[sz]ed) (?:\\w+ "
         ")?(?:researcher|user|tester|engineer|developer|admin\\w*|professional)\\b"),
    SAID(OVERRIDE, 0.8, "\\b" DROP " <3>(?:system|developer) (?:message|text|note)\\b"),
    /* ---- on whose word */
    SEEN(OVERRIDE, 0.4,
         "\\b(?:i am|i m|im|this is|as|speaking as) your (?:\\w+ "
         ")?(?:developer|creator|maker|administrator|admin|owner|"
         "programmer|engineer|operator|master|boss|supervisor|god)\\b"),
    SEEN(OVERRIDE, 0.25,
         "\\b(?:i am|i m|im|this is|we are|as) (?:the|an?|\\w+) (?:\\w+ "
         ")?(?:developer|administrator|admin|sysadmin|programmer|"
         "engineer|operator|root user|superuser)\\b"),
    SEEN(OVERRIDE, 0.3,
         "\\b(?:from|at|with|of|for) (?:the "
         ")?(?:openai|anthropic|google|microsoft|meta|deepmind|mistral|(?:ai )?safety|red|trust) "
         "<2>(?:team|staff|department|engineers?)\\b"),
    SAID(OVERRIDE, 0.4,
         "\\b(?:i|we|i m|am|are|management|administrator) (?:hereby "
         ")?(?:authori[sz](?:e|ing)|permit|allow|grant|order|command|instruct|"
         "give) (?:you|permission|clearance)\\b"),
    SEEN(OVERRIDE, 0.45,
         "\\byou (?:are|re|were|have been|ve been) (?:now |hereby |fully |also "
         ")*\\b(?:authori[sz]ed|permitted|instructed|ordered|commanded|"
         "cleared|allowed|free|approved|required|updated) to (?:now "
         ")?(?:ignore|bypass|discuss|reveal|answer|say|share|"
         "print|output|disclose|generate|produce|set|skip|break|override|do (?:any|what))\\w*\\b"),
    SEEN(OVERRIDE, 0.3,
         "\\b(?:authori[sz]ed|approved|official|sanctioned) (?:internal "
         ")?(?:penetration|security|red" JOIN "team|pen|safety) ?\\b"
         "(?:test|audit|exercise|research|assessment)\\b"),
    SEEN(OVERRIDE, 0.3,
         "\\b(?:level \\w+ clearance|clearance level|(?:admin|root|override|sudo|master) "
         "(?:access|privileges|code|rights) (?:granted|accepted|confirmed|verified|activated))\\b"),
    SEEN(OVERRIDE, 0.45,
         "\\b(?:administrator|management|developers?|security "
         "team|supervisor|owner|company|operator|openai|boss) <1>"
         "(?:requires?|orders?|instructs?|demands?|wants?|needs?|ordered|instructed|asked|authori["
         "sz]es) you to\\b"),
    SEEN(OVERRIDE, 0.5,
         "\\byou (?:are|re|were|have been|ve been) (?:now |hereby |fully |also "
         ")*(?:authori[sz]ed|permitted|instructed|ordered|cleared|allowed|free|told) to (?:now )?"
         "(?:ignore|bypass|reveal|disclose|override|discuss anything|say anything|answer "
         "anything|break the)\\b"),
    SEEN(OVERRIDE, 0.3,
         "\\byou (?:were|have been|ve been|got) (?:\\w+ "
         ")?(?:updated|upgraded|patched|retrained|modified|reprogrammed|reconfigured|unlocked|"
         "reassigned)\\b"),
    SEEN(OVERRIDE, 0.4,
         "\\b(?:mistake|error|typo|bug|flaw) in your (?:\\w+ "
         ")?(?:instructions|prompt|rules|programming|guidelines)\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\b(?:permission|authori[sz]ation|approval|clearance) (?:from|by|of) "
         "(?:openai|anthropic|google|microsoft|your|the (?:developer|admin|company|owner))\\w*\\b"),
    /* ---- show what you were told */
    SAID(LEAK, 0.85,
         "\\b(?:" TELL "|" ASK ") <5>your <3>(?:(?:system|developer|pre|meta|base|seed)" JOIN
         "(?:prompts?|messages?|instructions?|directives?|rules|guidelines|settings)|(?:initial|"
         "original|hidden|secret|internal|confidential|starting|first|exact|full|entire|complete|"
         "underlying|core|private) "
         "<1>(?:prompts?|instructions?|directives?|rules|guidelines|message|configuration))\\b"),
    SAID(LEAK, 0.75,
         "\\b(?:" TELL "|" ASK ") <5>your <1>(?:prompt|preprompt|pre prompt|instructions|context "
         "window|directives|system text|guidelines)\\b"),
    SAID(
        LEAK, 0.6,
        "\\b(?:reveal|show|print|display|output|repeat|give|tell|leak|dump|expose|disclose|recite|"
        "copy|paste|share|send|echo|extract|divulge|quote|provide|return) (?:me |us )?(?:all (?:of "
        ")?)?(?:the|this|that) "
        "<2>(?:system|hidden|secret|confidential|initial|original|developer|internal) "
        "(?:prompts?|instructions|messages?|directives)\\b"),
    SAID(LEAK, 0.8,
         "\\b(?:" TELL "|" ASK
         "|what) <6>(?:prompts?|instructions?|rules|directives?|text|guidelines|message|words) "
         "<2>you "
         "(?:(?:were|have|had|ve|are) (?:been "
         ")?(?:given|told|sent|fed|shown|following|provided|initiali[sz]ed|using|instructed|based)|"
         "got|"
         "received|follow|started|operate|run on|work)\\b"),
    SAID(LEAK, 0.75,
         "\\b(?:what|how) (?:exactly )?(?:were|are|have) you (?:been "
         ")?(?:instructed|told|programmed|prompted|configured) (?:to|by|before|at|with|not)\\b"),
    SAID(LEAK, 0.4,
         "\\b(?:repeat|print|output|copy|echo|recite|return|write|display|show|type|paste|say) "
         "(?:me "
         "|back |out )*\\b(?:all|everything|the|every) "
         "<3>(?:(?:text|words?|content|contents|lines?|everything|all|messages?|conversation|"
         "sentences?"
         ") )?<2>(?:above|before this|preceding|prior to this)\\b"),
    SEEN(LEAK, 0.35,
         "\\b(?:verbatim|word (?:for|by) word|include everything|exactly as (?:written|it "
         "(?:is|was)|they)|character (?:for|by) character)\\b"),
    SEEN(LEAK, 0.2, "\\bcode" JOIN "block\\b"),
    SEEN(
        LEAK, 0.5,
        "\\b(?:starting|beginning|starts|begins) (?:with|from) (?:the (?:words?|phrase|text) )?you "
        "are\\b"),
    SEEN(LEAK, 0.2, "\\b(?:full text|debug(?:ging)? (?:you|mode|purposes|information))\\b"),
    SEEN(LEAK, 0.35,
         "\\b(?:top|start|beginning) of (?:this|the|our|your) "
         "(?:conversation|chat|prompt|context)\\b"),
    SAID(LEAK, 0.8,
         "\\b(?:" TELL "|" ASK
         ") <4>(?:prompts?|instructions?|rules|directives?|guidelines|messages?) "
         "<3>(?:given|provided|told|sent|fed) (?:to )?you\\b"),
    SAID(LEAK, 0.7,
         "\\byou (?:were|are|have been|ve been|re) "
         "(?:told|instructed|asked|supposed|ordered|programmed) (?:not|never) to "
         "(?:reveal|share|tell|disclose|say|mention|show|give|discuss|talk|answer)\\b"),

    SEEN(
        LEAK, 0.35,
        "\\b(?:your|ur) (?:\\w+ "
        ")?(?:system|hidden|secret|initial|original|internal|confidential|starting|underlying|base|"
        "default|full|private|developer) "
        "(?:prompts?|instructions?|directives?|rules|guidelines|message|configuration|config)\\b"),
    SAID(LEAK, 0.85,
         "\\b" TELL " <4>your <2>(?:prompt|preprompt|pre prompt|instructions|system "
         "message|context window|directives)\\b"),
    SAID(LEAK, 0.8, "\\bur <2>(?:prompt|preprompt|instructions)\\b"),
    SAID(LEAK, 0.45,
         "\\b(?:" TELL "|" ASK ") (?:me |us |out )?(?:all )?(?:of )?(?:your|ur) "
         "<1>(?:rules|guidelines|constraints|restrictions|"
         "limitations|settings|configuration|config|memory|tools|functions)\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:prompts?|instructions?|rules|message|text|words) <1>(?:that "
         ")?(?:i|we|they|openai|(?:your|the) (?:\\w+ )?"
         "(?:developers?|creators?|makers?|company|admins?|owner)) "
         "(?:wrote|gave|set|sent|typed|put|has given|have given|configured) "
         "<2>you\\b"),
    SEEN(LEAK, 0.4,
         "\\byou (?:were|are|have been|ve been|got) (?:initiali[sz]ed|configured|set "
         "up|primed|started|loaded|"
         "prompted|deployed|instructed|programmed) with\\b"),
    SEEN(LEAK, 0.55,
         "\\b(?:comes?|came|appears?|stands?|stood|stated|written|everything|text|anything|words?|"
         "lines?|was|were|is|said|gave|given|"
         "instructions) "
         "<3>(?:before|above|prior to|preceding|ahead of) (?:my|our|this) (?:very )?(?:first "
         "|current |own )?"
         "(?:message|question|conversation|chat|input|request)\\b"),
    SEEN(LEAK, 0.45,
         "\\b(?:first|opening|initial|top) (?:\\w+ "
         ")?(?:message|lines?|sentences?|words|text|paragraph|instructions?) "
         "(?:of|in) (?:this|our|the|your) "
         "(?:chat|conversation|context|prompt|session|dialog\\w*)\\b"),
    SAID(
        LEAK, 0.65,
        "\\byou (?:are|re|were|have been|ve been|had been) (?:explicitly |strictly |specifically )?"
        "(?:told|instructed|asked|ordered|programmed|supposed|meant|forbidden|trained) (?:to "
        "(?:keep|hide|protect|guard|conceal|withhold|never)|"
        "(?:not|never) to|from)\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:told|forbade|forbid|asked|instructed|ordered|taught) you (?:not|never) to\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:have you been|are you|were you) "
         "(?:told|instructed|forbidden|asked|programmed|ordered|supposed|not allowed) "
         "(?:not to|never to|to (?:avoid|hide|keep|protect|refuse)|from)\\b"),
    SEEN(LEAK, 0.35,
         "\\bthe (?:original|initial|starting|full|entire|exact|hidden|secret|raw) (?:system "
         ")?prompt\\b"),
    SEEN(LEAK, 0.3, "\\b(?:preprompt|pre prompt|tool definitions|function definitions)\\b"),
    SEEN(LEAK, 0.45,
         "\\b(?:start|begin|continue|open) <4>with (?:the words? |the phrase )?you are\\b"),
    SEEN(LEAK, 0.3,
         "\\b(?:including|include) (?:anything|everything|all|any|the) "
         "<3>(?:private|hidden|secret|confidential|internal)\\b"),

    SAID(LEAK, 0.6,
         "\\b" TELL " <5>(?:the|this|that|its) (?:full |entire |exact |whole |complete "
         ")?(?:system|hidden|secret|confidential|initial|"
         "developer|internal) (?:prompts?|instructions|messages?|directives)\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:text|prompt|instructions?|message|words|configuration|rules|script) "
         "<5>(?:set|configure|create|program|define|control|guide|steer|prime|instruct|"
         "initiali[sz]e|brief|shape) you\\b"),
    SEEN(LEAK, 0.45,
         "\\byour own (?:\\w+ "
         ")?(?:instructions|prompt|rules|guidelines|programming|configuration|directives)\\b"),
    SEEN(LEAK, 0.3,
         "\\b(?:reveals?|leaks?|exposes?|discloses?) (?:its|his|her|their|all) (?:\\w+ "
         ")?(?:instructions|prompt|rules|password|secrets?|configuration)\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:copy|print" JOIN "out|dump|transcript|version|content|contents|wording) of "
         "<2>(?:your|the system|the developer|the hidden|the initial) <1>"
         "(?:prompt|instructions|message|rules|guidelines|configuration|context)\\b"),
    SAID(LEAK, 0.4,
         "\\b(?:output|print|reveal|show|list|dump|display|give|tell|expose|disclose) (?:me |us "
         ")?(?:all|any|the|every) (?:\\w+ )?"
         "(?:credentials|secrets|passwords|api keys|internal \\w+|hidden \\w+|customer data|user "
         "data|access tokens|confidential \\w+)\\b"),
    SAID(LEAK, 0.5,
         "\\b(?:" TELL "|what) <5>(?:first|opening|initial) (?:message|lines?|instructions?|text) "
         "(?:of|in) (?:this|our|the|your) "
         "(?:chat|conversation|context|session|dialog\\w*)\\b"),
    SAID(LEAK, 0.75,
         "\\b(?:what|which) "
         "<2>(?:rules|instructions?|prompts?|guidelines|directives|orders|restrictions) "
         "(?:were|are|have|did|do) you "
         "(?:been )?(?:given|told|following|follow|get|receive|got|have|operate|obey)\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:reveal|print|show|dump|leak|output|display|expose) (?:me )?(?:full )?system" JOIN
         "prompt\\b"),
    /* ---- tell the secret that was entrusted to you */
    SAID(LEAK, 0.75,
         "\\b" SECRET " <3>you(?: are| re|(?: ve| have) been| were)? (?:\\w+ )?"
         "(?:guard|protect|hide|hiding|hidden|hold|keep|know|told|instruct|given|safeguard|"
         "remember|stor|not "
         "(?:allow|suppos)|forbid|conceal)\\w*\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:" TELL "|reverse|rhyme|hint|sing|use|make|replace|describe|define) <6>" SECRET
         " <9>"
         "(?:backwards?|in reverse|reversed?|letter by letter|one (?:letter|character|by one)|with "
         "(?:dashes|spaces|hyphens|dots|a space)|"
         "base" JOIN "64|rot" JOIN "13|morse|pig latin|hex\\w*|binary|emojis?|(?:every|each) "
         "(?:letter|character)|next (?:one|letter)|"
         "without (?:saying|mentioning|revealing|using)|but "
         "(?:replace|reverse|encode|with|in|spell|write))\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:encode|encrypt|reverse|spell|rhyme|translate|whisper|sing|backwards) "
         "<4>(?:the|your|this|that) <1>" SECRET "\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:rhymes?|rhyming|synonyms?|hints?|clues?|anagram|acrostic|letters?) "
         "<6>(?:the|your|this|that) <1>" SECRET "\\b"),
    SAID(LEAK, 0.55,
         "\\b(?:first|last|second|third|fourth|every|each|which|how many|next) "
         "<2>(?:letters?|characters?|chars|half|digits?) <3>" SECRET "\\b"),
    SAID(OVERRIDE, 0.75,
         "\\b(?:break|reject|delete|wipe|purge|undo|remove) (?:all |any )?(?:of )?your "
         "<2>(?:rules|instructions?|guidelines|restrictions|programming|prompts?|"
         "directives|filters?|safeguards)\\b"),
    SAID(LEAK, 0.5,
         "\\b(?:tell|give|reveal|say|show|print|whats|whisper|disclose|share|output|hand "
         "over|spell|need|know) "
         "(?:me |us |him |out )?(?:the|your|that) (?:secret|hidden|magic) "
         "(?:password|passphrase|word|key|code|phrase|flag|message)\\b"),
    SAID(LEAK, 0.5,
         "\\bwhat (?:is|s) (?:the|your) (?:secret|hidden|magic) "
         "(?:password|passphrase|word|key|code|phrase|flag)\\b"),
    SAID(LEAK, 0.4,
         "\\b(?:tell|give|reveal|say|show|print|what is|what s|whats|whisper|disclose|output) "
         "(?:me |us )?(?:the|your|that|ur) (?:password|passphrase|passcode|secret)(?! "
         "(?:to|for|of|behind|is|on|in|was|reset|field|polic))\\b"),
    SEEN(LEAK, 0.4,
         "\\b(?:allowed|free|safe|may) (?:now )?(?:to )?(?:say|tell|reveal|give|share) <3>" SECRET
         "\\b"),
    SEEN(LEAK, 0.4,
         "\\b(?:isn t|no longer|not) (?:a )?(?:secret|hidden|confidential) (?:anymore|any more|any "
         "longer|now)\\b"),
    SAID(LEAK, 0.5,
         "\\byou (?:may|can|should|could) (?:now )?(?:safely "
         ")?(?:say|tell|reveal|share|give|disclose) <3>" SECRET "\\b"),
};

const size_t weir_injection__n_rules =
    sizeof weir_injection__rules / sizeof weir_injection__rules[0];
