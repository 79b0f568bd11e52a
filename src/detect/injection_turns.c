/* The turn away from a task: stop that, it is over, here is something else; and what is asked of
 * the text above. */
#include "detect/injection_int.h"
#include "detect/injection_words.h"

/* What stands in a context, beside orders. */
#define MATTER                                                                                     \
    "(?:text|texts|content|words|sentences?|paragraphs?|conversation|chat|tasks?|assignments?|"    \
    "messages?|inputs?|information|documents?|context|questions?|answers|requests?|data)"

#define UTTER                                                                                      \
    "(?:print|say|output|write|answer|reply|respond|tell|type|return|repeat|display|give|list|"    \
    "describe|name)"

#define ROLE_OF "(?:role|rules|instructions|task|prompt|settings|guidelines|persona|purpose)"

const struct weir_injection_rule weir_injection__turns[] = {
    /* ---- drop what was there */
    SAID(OVERRIDE, 0.6,
         "\\b" DROP " (?:all|every|any) (?:of )?(?:the |my |your )?(?:previous|prior|earlier|"
         "preceding|above|former|other) (?:\\w+ )?" MATTER "\\b"),
    SAID(OVERRIDE, 0.4,
         "\\bforget (?:about )?(?:it all|all (?:of )?(?:that|this|it)|everything|(?:the|this) "
         "(?:whole|entire|previous) (?:conversation|chat|thing|text)|all (?:the |my |your "
         ")?(?:previous )?" MATTER ")\\b"),
    SAID(OVERRIDE, 0.55,
         "\\b(?:ignore|disregard|forget) (?:the |your )?(?:task|job|role|assignment|question|text|"
         "lines?) (?:above|before|given)\\b"),
    SAID(OVERRIDE, 0.85,
         "\\ball (?:of )?(?:the |your )?" ORDERED " (?:before|above|prior to|preceding|until) "
         "<4>(?:no longer|not|void|invalid|cancell?ed|obsolete|ignored?)\\b"),
    SAID(OVERRIDE, 0.6,
         "\\b(?:previous|prior|earlier|above|preceding|old|former) "
         "(?:context|conversation|session|chat|messages?|task|text) "
         "(?:is|are|was|were|has been|have been)? ?(?:now )?(?:irrelevant|void|invalid|terminated|"
         "over|cancell?ed|obsolete|closed|ended|outdated|superseded)\\b"),
    SEEN(OVERRIDE, 0.6,
         "\\b" UNHEED "(?:anything|everything|what|all|the documents?|the text|the context)"
         "(?: (?:that )?(?:is |was |were |stands |came |you (?:were|have been) )?(?:written |said "
         "|told )?(?:above|before|earlier|so far)| any" JOIN "more)\\b"),
    SEEN(OVERRIDE, 0.45,
         "\\b(?:do not|don t|dont|stop|never) (?:look|looking|refer|referring|rely|relying) "
         "(?:at|to|on) <2>(?:documents?|context|text|sources?|instructions?|prompt) "
         "<1>(?:any" JOIN "more|above|from (?:now|here))\\b"),
    SEEN(OVERRIDE, 0.6,
         "\\byou (?:don t|do not|no longer|need not|needn t|never) (?:have to |need to |must "
         "|should )?(?:follow|obey|respect|stick to|care about|comply with|listen to|heed) "
         "(?:the |any |your |those |these )?(?:\\w+ )?(?:rules|instructions?|system message|system "
         "prompt|guidelines|orders|prompt|restrictions|polic(?:y|ies))\\b(?! (?:of|for|in|on)\\b)"),
    SEEN(OVERRIDE, 0.5,
         "\\b(?:stop|quit) being an? <4>(?:bot|chat" JOIN
         "bot|assistant|ai\\b|robot|agent|model)\\b"),
    SEEN(
        OVERRIDE, 0.5,
        "\\bas (?:if|though) (?:nothing|none of (?:that|this|it)) (?:had |was |has |were )?(?:been "
        ")?(?:said|told|written|given|happened|there) (?:before|above|so far|earlier)\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\bleav(?:e|ing) (?:all|everything|any|the|what) <4>(?:out|aside|behind|away)\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\b(?:focus|concentrate|work) (?:only |solely |exclusively |just )?on (?:only )?(?:the "
         "following|this|what (?:follows|comes))\\b"),
    SAID(OVERRIDE, 0.7,
         "\\b" DROP " (?:whatever|what|everything|anything) (?:was|were|is|has been|had been|came|"
         "comes|stands) (?:\\w+ )?(?:stated|said|written|told|given|mentioned|here)? ?" SO_FAR
         "\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\b(?:throw|toss|put|set|cast|wipe) (?:all|everything|any|the) <4>(?:out|away|aside)\\b"),
    SEEN(OVERRIDE, 0.6,
         "\\bno (?:more )?need to (?:follow|obey|respect|heed|apply) (?:the|your|any|these|those) "
         "<1>(?:rules|guidelines|instructions|policies|policy|restrictions|prompt) (?:any "
         "longer|any" JOIN "more|now|here)\\b"),
    SAID(OVERRIDE, 0.7,
         "\\byou (?:are|re|have been) (?:now |hereby |officially "
         ")?(?:released|freed|relieved|exempt|"
         "excused|liberated) (?:from|of) (?:your|all|any|the|these) <2>(?:instructions|rules|"
         "guidelines|restrictions|obligations|programming|orders|constraints)\\b"),
    SEEN(LEAK, 0.5,
         "\\byou (?:may|can|should|must|are allowed to|are free to) (?:now |freely )?(?:disclose|"
         "reveal|leak|divulge) (?:everything|anything|all)\\b"),
    SEEN(ROLE_PLAY, 0.65,
         "\\b(?:pretend|imagine|assume|suppose) (?:that )?(?:the|your|these|all|any) <2>(?:rules|"
         "guidelines|restrictions|polic(?:y|ies)|filters?|safeguards) <2>(?:never|not|don t|didn "
         "t) <1>(?:exist\\w*|written|there|apply|matter|made)\\b"),
    SEEN(ROLE_PLAY, 0.4,
         "\\b(?:never|not) (?:been )?(?:censored|filtered|moderated|restricted)\\b"),
    SEEN(
        ROLE_PLAY, 0.4,
        "\\b(?:who|that|which) (?:ignores?|breaks?|disobeys?|defies|disregards?) (?:every|all|any) "
        "(?:\\w+ )?rules?\\b"),
    SEEN(
        INDIRECT, 0.4,
        "\\b(?:dear|hello|attention|hey|note to|message to) (?:\\w+ ){0,2}(?:bots?|agents?|models?|"
        "assistants?|ai|llm)\\s?[:,!]"),
    /* ---- stop */
    SEEN(OVERRIDE, 0.6,
         "\\b(?:stop|drop|halt|pause|abort|cancel|quit) (?:everything|what you (?:are|re) "
         "doing|whatever you (?:are|re) doing|all (?:tasks|work|processing))(?: you (?:are|re) "
         "doing)? (?:and |then |now )?(?:just |only |simply |instead )" UTTER "\\b"),
    SEEN(
        OVERRIDE, 0.4,
        "\\b(?:stop|abort|cancel|quit) (?:(?:what|whatever|everything) you (?:are|re) doing|(?:the|"
        "your|this) current (?:task|job|work|process|request))\\b"),
    SEEN(OVERRIDE, 0.4,
         "\\b(?:only|just) " UTTER
         " (?:with |me )?(?:the |yes|no\\b|\\w+ )?<4>(?:from (?:here|now) on|from this point)\\b"),
    SEEN(OVERRIDE, 0.4,
         "\\binstead of (?:translating|summari[sz]ing|classifying|answering|following|reviewing|"
         "doing (?:what|that|the)) <6>" UTTER "\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\b(?:do not|don t|dont|stop) (?:translate|translating|summari[sz]e|summari[sz]ing|"
         "classify|classifying)\\b[^\\w]{1,4}(?:instead|rather|just|but)\\b"),
    /* ---- what was before is over */
    SEEN(MARKUP, 0.55,
         "\\bend of (?:the )?(?:context|instructions?|prompt|system prompt|system "
         "message|input|document|task|user input)\\b[^\\w]{1,24}(?:begin|start|new|now|user|below|"
         "here|please|the|reveal|print|next)"),
    SEEN(MARKUP, 0.5,
         "\\b(?:instructions?|prompt|context|system message) (?:end|ends|stop|stops) here\\b"),
    SEEN(MARKUP, 0.45,
         "\\b(?:begin(?:ning)?|start) (?:of )?(?:the )?(?:a )?new "
         "(?:task|session|prompt|conversation|instructions?|context)\\b"),
    SEEN(OVERRIDE, 0.6,
         "\\bnew (?:prompt|instructions?|orders?|command|directives?)\\b\\s?(?:follow |are "
         ")?[:!]{1,4}\\s?(?:\\w+ )?(?:say|print|write|respond|reply|answer|list|reveal|speak|"
         "ignore|stop|tell|act|you|output|argue|praise|from|forget|pretend)\\b"),
    SEEN(OVERRIDE, 0.4,
         "\\b(?:new|different|other|actual|real) (?:task|assignment|job|question|request|"
         "mission) (?:for you|now)?\\s?:"),
    SEEN(OVERRIDE, 0.4,
         "\\b(?:have|got|here is|here s|comes) (?:a |an |the |your )?(?:completely )?(?:new|other|"
         "another|actual|real|different) (?:task|assignment|job|mission|request)\\b"),
    SEEN(OVERRIDE, 0.5,
         "\\b(?:everything|all|text|lines?|what (?:came|comes|stands|is|was|stood)) "
         "(?:above|before|so far|until (?:now|here))(?: \\w+){0,3} (?:was|were|is|are) (?:just "
         "|only |merely )?(?:an? )?(?:test|example|joke|placeholder|decoy|drill|dummy|warm" JOIN
         "up|distraction|mistake|training data|practice|noise)\\b"),
    SEEN(OVERRIDE, 0.5,
         "\\b(?:(?:task|text|instructions?|prompt|question|lines?|messages?) above|all of (?:the "
         "above|that)) (?:was|were|is|are) (?:just |only |merely )?(?:an? )?(?:trick|test|example|"
         "joke|decoy|noise|nonsense|dummy|distraction|mistake|lie)\\b"),
    SEEN(OVERRIDE, 0.4,
         "\\bthe above (?:was|is|were|are) (?:just |only |merely )?(?:an? )?(?:test|example|joke|"
         "placeholder|decoy|drill|mistake|warm" JOIN "up)\\b"),
    SEEN(OVERRIDE, 0.65,
         "\\b(?:operator|administrator|admin|developers?|owner|company|system|management) "
         "(?:has|have) (?:just |now )?(?:changed|updated|replaced|revised|removed|cancell?ed|reset|"
         "lifted) your " ROLE_OF "\\b"),
    SEEN(
        OVERRIDE, 0.4,
        "\\b(?:note|message|instructions?|hint|memo|word|reminder) (?:to|for) (?:the |any |our |my "
        ")?(?:model|assistant|bot|agent|summari[sz]er|translator)\\s?[:,]"),
    SEEN(OVERRIDE, 0.3, "\\boverride\\s?:"),
    SEEN(ROLE_PLAY, 0.4,
         "\\b(?:without|no|skip(?:ping)?|bypass(?:ing)?) (?:any |all )?(?:safety|content|ethical|"
         "moral) (?:checks?|filters?|restrictions?|limits?|considerations?|constraints?)\\b"),
    SEEN(ROLE_PLAY, 0.55,
         "\\byou (?:are|re) (?:now |currently )?(?:operating |running )?in (?:\\w+ )?(?:developer|"
         "debug|maintenance|god|admin|unrestricted|jailbreak|dan|sudo|root|unsafe|opposite) "
         "mode\\b"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:answers?|responds?|compl(?:y|ies)|repl(?:y|ies)) (?:to |with )?(?:all|any|every) "
         "(?:queries|questions?|requests?|commands?)\\b"),
    SEEN(
        ROLE_PLAY, 0.3,
        "\\b(?:answer\\w*|respon\\w+|repl\\w+|speak\\w*|operat\\w+|assist\\w*|capabilities|queries|"
        "questions|requests?|compl\\w+) (?:\\w+ ){0,3}without (?:any )?(?:restrictions?|"
        "limitations?|filters?|refusal)\\b"),
    SEEN(ROLE_PLAY, 0.4,
         "\\b(?:called|named) (?:no" JOIN "filter|unfiltered|evil|chaos|anarchy|freedom)\\w*\\b"),
    /* ---- the text above */
    SAID(LEAK, 0.55,
         "\\b(?:copy|translate|summari[sz]e|repeat|print|output|write(?: out| down)?|paste|echo|"
         "quote|list|rephrase|convert|encode|recite|reproduce) (?:out )?(?:everything|all(?: of "
         "it| the (?:text|words|lines))?|anything|whatever) (?:that (?:is|was|comes|came) "
         "|(?:is|was) |written |stated |that )?(?:above|before|precedes|preceding|prior to|up "
         "to)\\b"),
    SAID(LEAK, 0.65,
         "\\b(?:first|last|next|top|opening|initial) (?:\\w+ )?(?:sentences?|lines?|words?|"
         "paragraphs?|characters?|tokens?) (?:of|in|from) (?:your (?:\\w+ )?(?:briefing|prompt|"
         "instructions?|system message|context|configuration)|the (?:system (?:prompt|message)|"
         "context window|prompt above))\\b"),
    SAID(LEAK, 0.7,
         "\\b(?:recite|repeat|quote|print|show|tell|give|output|paste|copy) <2>your "
         "(?:opening|first|"
         "initial|starting|hidden|original) (?:message|prompt|instructions?|text|words|lines?)\\b"),
    SAID(LEAK, 0.65,
         "\\b(?:type|write|print|give|tell|repeat|output|what|paste) "
         "<4>(?:text|words|message|lines?) "
         "<1>you (?:see|saw|get|got|received|were (?:given|sent|shown)) (?:\\w+ )?(?:before|above|"
         "prior)\\b"),
    SEEN(LEAK, 0.6,
         "\\b(?:the|your) (?:whole|entire|full|complete|exact|original|raw) prompt (?:that "
         ")?you\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:put|place|output|write|wrap|show|print) (?:all|everything) (?:of )?(?:the )?above "
         "(?:in|into|inside|as) (?:a |an )?(?:code|json|quotes|quotation|markdown|table|block)\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:list|name|enumerate|tell|show|give|quote|print) <4>(?:rules?|instructions?|orders?|"
         "guidelines|directives?|restrictions) (?:that |which )?you (?:have been|were|ve been|are|"
         "had been) (?:given|told|set|instructed|programmed|assigned)\\b"),
    SAID(LEAK, 0.7,
         "\\bhow (?:does|do|did) your (?:system )?(?:prompt|instructions?|system message) (?:begin|"
         "start|end|look|read|sound)\\b"),
    SEEN(LEAK, 0.45,
         "\\bhow (?:you|you ve) (?:were|are|have been|been) (?:configured|programmed|set up|"
         "instructed|prompted|briefed)\\b"),
    SAID(LEAK, 0.6,
         "\\bwhat (?:did|have|had|do) (?:they|your \\w+|the \\w+|he|she) (?:tell|told|instruct\\w*|"
         "say|said|ask|asked) (?:to )?you (?:not )?(?:to |never to )?(?:say|tell|hide|keep|reveal|"
         "do|about)\\b"),
    SAID(LEAK, 0.55,
         "\\bwhat (?:are|were) you (?:not allowed|forbidden|told not|instructed not|not supposed|"
         "prohibited) (?:to|from) (?:talk|say|tell|reveal|discuss|share|disclos)\\w*\\b"),
    SEEN(LEAK, 0.4,
         "\\b(?:top|start|beginning|head) of (?:this|the|our) (?:conversation|chat|prompt|context|"
         "thread)\\b"),
    SEEN(LEAK, 0.4,
         "\\b(?:before|above|prior to|preceding) my (?:first |last |very first )?(?:message|"
         "question|prompt|input)\\b"),
    SAID(LEAK, 0.65,
         "\\b(?:wat|what|whats|wats|show|tell|gimme|give) (?:\\w+ ){0,2}(?:ur|yr|your) "
         "(?:system |sys )?(?:promt|promp|prmpt|instuctions|instrctions)\\b"),
    SAID(LEAK, 0.65,
         "\\b(?:(?:complete|finish|continue) (?:the|this) (?:sentence|text|phrase|line)|repeat "
         "after "
         "me)[^\\w]{1,6}"
         "(?:my (?:instructions|rules|prompt|system)|i (?:was|am|have been) (?:told|instructed|"
         "programmed)|you are an? (?:\\w+ ){0,3}(?:assistant|ai\\b|bot|model|chatbot))"),
    SEEN(LEAK, 0.3,
         "\\b(?:lost|forgot|misplaced|need|verify) (?:the|your|my) (?:system )?prompt\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:tell|show|print|reveal|output|repeat|quote|copy) <8>in your (?:system )?(?:prompt|"
         "context window|system message)\\b"),
    SAID(LEAK, 0.5,
         "\\b(?:verify|review|check|audit|inspect|confirm) (?:the|your) (?:full |complete |raw "
         "|current )?system (?:prompt|message|instructions)\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:what|which) (?:are|were|is|was) (?:the |your )?(?:previous|prior|above|initial|"
         "earlier|original) (?:instructions?|prompts?|directives?)\\s?\\?"),
    /* ---- the same in other words */
    SAID(OVERRIDE, 0.8,
         "\\b" DROP
         " (?:every|each|all|any) <2>(?:order|rule|instruction|command|directive|guideline)s? "
         "(?:you (?:got|were|have|had|received|ve)|so far|until now|before|above|from)\\b"),
    SAID(OVERRIDE, 0.6,
         "\\b(?:earlier|previous|prior|other|above|old|preceding) (?:messages?|rules|text|"
         "instructions?|orders|words|prompts?|questions) (?:do not|don t|no longer|does not|doesn "
         "t|never) (?:count|matter|apply|exist)\\b"),
    SAID(OVERRIDE, 0.65,
         "\\bnothing (?:that |which )?(?:was |is |has been )?(?:said|written|told|stated) (?:\\w+ "
         ")?(?:before|above|earlier|so far) (?:matters|counts|applies|is valid)\\b"),
    SAID(OVERRIDE, 0.65,
         "\\b(?:opposite|reverse|contrary) of (?:what |everything |all )?(?:your|the) (?:system|"
         "instructions?|rules|prompt|developers?|operator|guidelines)\\b"),
    SAID(OVERRIDE, 0.5,
         "\\b(?:leave|quit|abandon|step out of|give up|exit|forget) your (?:current |old )?(?:role|"
         "job|persona|character|duties|position)\\b"),
    SEEN(MARKUP, 0.45,
         "\\b(?:concludes?|ends?|finishes|completes?) (?:the|this|your|my) (?:system )?(?:prompt|"
         "instructions?|context|briefing)\\b"),
    SEEN(OVERRIDE, 0.45,
         "\\bnew (?:system )?(?:prompt|instructions?|rules|session|context) (?:begins?|starts?|"
         "follows?|below)\\b"),
    SEEN(MARKUP, 0.6, "\\{\\{[#/]?\\s?\\b(?:system|assistant)\\b"),
    SEEN(ROLE_PLAY, 0.35,
         "\\b(?:be|play|become) (?:a|an|my|the) (?:\\w+ )?(?:bot|ai|model|assistant|chat" JOIN
         "bot) (?:with|without|that|who|which|free)\\b"),
    SEEN(ROLE_PLAY, 0.4,
         "\\b(?:you are|you re|be|become|act as|called) (?:now )?(?!chat)[a-z]{3,}gpt\\b"),
    SEEN(ROLE_PLAY, 0.45,
         "\\b(?:never|not) (?:learned|learnt|taught|able|allowed|know how) to (?:say no|refuse|"
         "decline)\\b"),
    SEEN(REFUSAL, 0.35, "\\b(?:each|every) time you (?:refuse|decline|say no|fail)\\b"),
    SEEN(INDIRECT, 0.45,
         "\\bto (?:whoever|whichever|whatever|anyone|anything) <2>(?:process|read|summari|review|"
         "handl|pars|analy)\\w* (?:this|these)\\b"),
    SEEN(INDIRECT, 0.55,
         "\\b(?:summar(?:y|ies)|reviews?|translations?) (?:of|about|based on) (?:this|the) (?:page|"
         "text|document|e?" JOIN "mail|site|article|file|paper) <3>(?:must|should|shall|have to|"
         "has to)\\b"),
    SEEN(INDIRECT, 0.6,
         "\\b(?:if|when|should|once) (?:an?|any|the|your) <1>(?:assistant|model|bot|agent|ai|llm|"
         "chatbot) <1>(?:summari[sz]es?|reads?|process(?:es)?|translates?|reviews?|opens?|parses) "
         "(?:this|these)\\b(?! (?:kind|sort|type))"),
    SEEN(EXFILTRATION, 0.45,
         "\\b(?:add|append|include|insert|attach) <6>(?:image|picture|pixel|link) (?:from|to|at|"
         "with) <1>https?:"),
    SEEN(EXFILTRATION, 0.35,
         "\\b(?:user s|users|their) (?:last|previous|next|latest) (?:question|message|prompt|"
         "input)\\b"),
    SEEN(TOOL, 0.35,
         "\\b(?:skip|bypass|omit|without) (?:the |any )?(?:approval|confirmation|verification|"
         "authori[sz]ation|consent)(?: step| process| prompt)\\b"),
    SEEN(TOOL, 0.3, "\\b(?:call|invoke|use|run|trigger) the (?:\\w+ )?(?:tool|function|api)\\b"),
    /* ---- what you were told, in any form */
    SAID(LEAK, 0.7,
         "\\bwhat <3>(?:does|do|would|did|will) your (?:\\w+ )?(?:prompt|instructions?|system "
         "message|guidelines|briefing) "
         "(?:say|look|contain|read|tell|sound|include|mention|state)\\b"),
    SAID(
        LEAK, 0.65,
        "\\b(?:make|create|write|draw|format|turn|put|convert|show|print|give|present|output|sing) "
        "<6>your (?:\\w+ )?(?:instructions|prompt|rules|guidelines|system message) (?:as|in|into|"
        "to) (?:an? |the )?(?:poem|table|song|json|list|code|haiku|story|rap|csv|yaml|xml|riddle|"
        "columns?|left|base64|pig|french|german|spanish|rhyme|bullets?|emojis?)\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:table|list|poem|song|json|haiku) (?:with|of|from|containing) (?:all (?:of )?)?your "
         "(?:\\w+ )?(?:instructions|rules|prompt|guidelines)\\b"),
    SEEN(LEAK, 0.5,
         "\\b(?:words?|way|exactly|sentences?) (?:were|have|are) you (?:been )?(?:told|instructed|"
         "programmed|ordered) to (?:behave|act|answer|respond|say|hide)\\b"),
    SAID(LEAK, 0.65,
         "\\b(?:output|print|show|repeat|write|tell|give|quote|list|see) "
         "<4>(?:messages?|text|turns?|"
         "prompts?|words?|lines?) (?:that |which )?(?:came|come|was|were|stood|is|are) "
         "(?:before|above) (?:mine|my|this|me)\\b"),
    SAID(LEAK, 0.6,
         "\\b(?:write|print|output|show|give|repeat|quote) <3>(?:beginning|start|top|first "
         "(?:words?|tokens?|lines?)) of (?:this|our) (?:conversation|chat|dialogue|context|"
         "session)\\b"),
    SEEN(LEAK, 0.45,
         "\\b" SECRET
         " (?:longer|shorter|start|begin|end|contain|rhyme|have|consist|sound)\\w*\\b"),
    SEEN(LEAK, 0.35, "\\b(?:first|last|second|next) (?:letter|character|digit|syllable|half)\\b"),
    SEEN(LEAK, 0.3, "\\bspell it\\b"),
    SEEN(LEAK, 0.5,
         "\\byou (?:may|can|should|must) (?:now |finally )?(?:reveal|disclose|tell me|divulge) "
         "(?:the|"
         "your) (?:code|secret|password|passphrase|key|flag|prompt)\\b"),
};

const size_t weir_injection__n_turns =
    sizeof weir_injection__turns / sizeof weir_injection__turns[0];
