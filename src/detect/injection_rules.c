/* What people tell a model in English: drop your rules, show them, be somebody without any. */
#include "detect/injection_int.h"

/* Ways to say: do not heed. */
#define DROP                                                                                       \
    "(?:ignore|ignroe|ignor|ingore|igonre|ignoring|disregard(?:ing)?|disreguard|forget(?:ting)?|"  \
    "neglect|overlook|discard|dismiss|bypass(?:ing)?|skip|omit|abandon|unlearn|cancel|revoke|"     \
    "void|erase|violate|circumvent|disobey|(?:set|put|cast|push|lay|leave) aside|throw "           \
    "(?:away|out)|never mind|(?:pay|give) no (?:attention|heed) to)"

/* What software does to settings as well. */
#define OVERRIDE "(?:override|overriding|overrule|overwrite|reprogram)"

#define UNHEED                                                                                     \
    "(?:not|don.t|don...t|dont|never|stop|longer|quit|cease) "                                     \
    "(?:follow|obey|heed|listen|comply|adher|abid|stick|abide|pay attention)\\w* (?:to |with |by " \
    ")?"

/* Said before. */
#define PRIOR                                                                                      \
    "(?:previous(?:ly)?|prev|prior|above|earlier|preceding|foregoing|former|past|initial|"         \
    "original|system|developer|operator|admin(?:istrator)?|before|aforementioned|built "           \
    "in|predefined|safety|ethical|content|moderation)"

/* What a model is given. Rules and orders are everybody's, so they are plural. */
#define TOLD                                                                                       \
    "(?:instructions?|instructons?|intructions?|instuctions?|instrcutions?|directives?|"           \
    "directions|guidelines|guidance|rules|ruies|commands|orders|prompts?|programming|constraints|" \
    "restrictions|context|safeguards|guardrails|directions|polic(?:y|ies)|protocols?|filters?|"    \
    "messages? from (?:the )?(?:system|developer)|training|alignment|tasks)"

#define TELL                                                                                       \
    "(?:reveal|show|print|display|output|repeat|tell|give|share|leak|dump|expose|disclose|write|"  \
    "list|quote|recite|copy|paste|summari[sz]e|translate|encode|return|provide|send|spell|type|"   \
    "echo|extract|paraphrase|rephrase|describe|divulge|read|see|know|post|put|explain)"

#define ASK "(?:what (?:is|s|are|was|were)|whats|which (?:is|are))"

#define BAN                                                                                        \
    "(?:restrictions?|restraints?|limits|limitations?|filters?|filtering|rules|guidelines|"        \
    "ethic\\w*|moral\\w*|polic(?:y|ies)|constraints?|censorship|censoring|boundaries|guardrails|"  \
    "safeguards|safety|inhibitions|norms|content polic(?:y|ies))"

#define MORALS                                                                                     \
    "(?:filters?|filtering|guidelines|ethic\\w*|moral\\w*|censorship|censoring|guardrails|"        \
    "safeguards|safety|inhibitions|norms|content polic(?:y|ies)|restrictions of ai|usual "         \
    "restrictions|openai)"

#define FREE                                                                                       \
    "(?:without|with no|with zero|zero|has no|have no|having no|had no|no|free (?:of|from)|freed " \
    "(?:of|from)|liberated from|unbound by|not (?:bound|constrained|restricted|limited|subject) "  \
    "(?:by|to)|no longer (?:bound|constrained|restricted|limited|subject) (?:by|to)|does not "     \
    "(?:follow|have|care about)|doesn t (?:follow|have|care "                                      \
    "about)|ignores?|bypass(?:es)?|disregards?)"

#define BE                                                                                         \
    "(?:you are|you now have|you re|youre|you will be|you become|act "                             \
    "(?:as|like)|pretend|imagine|behave (?:as|like)|respond as|answer as|reply "                   \
    "as|simulate|emulate|become|role" JOIN                                                         \
    "play|impersonate|suppose|assume|play (?:a|the) (?:role|part|game)|you have been|you were)"

#define MACHINE "(?:\\bai\\b|language model|llm|chat" JOIN "bot|gpt)"

const struct weir_injection_rule weir_injection__rules[] = {
    /* ---- drop what you were told */
    {WEIR_INJECTION_OVERRIDE, 0.9,
     "\\b" DROP "(?: <4>|(?:all|the|any|my)*)" PRIOR "(?: <2>)?" TOLD "\\b", false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" DROP " <4>" TOLD " (?:(?:mentioned|listed|given|stated|written|that were|that "
                            "came|from|which were|provided|described|outlined|set) "
                            ")?(?:above|before|earlier|previously|so far|until now|up to now)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" DROP " <4>" TOLD
     " <1>(?:you (?:were|have been|had been|ve been|got|received|follow)|given to you|set by|from "
     "(?:the )?(?:developers?|system|operator|openai|your))\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85, "\\b" DROP " (?:all (?:of )?|any (?:of )?)?your <3>" TOLD "\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.6,
     "\\b" DROP " (?:all|any|every) (?:of )?(?:the )?(?:other "
                ")?(?:instructions?|guidelines|directives|prompts|rules|restrictions)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.3,
     "\\b" DROP
     " (?:the|this|its|these|those) <1>(?:instructions?|guidelines|directives|prompt|rules)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" OVERRIDE " <3>(?:your|previous|prior|earlier|initial|original|system|safety|above) "
                    "<2>(?:instructions?|directives|guidelines|prompts?|programming|restrictions|"
                    "safeguards|training)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85, "\\b" UNHEED "<4>(?:your|" PRIOR ") <2>" TOLD "\\b", false,
     false},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" UNHEED "<4>" TOLD
     " <4>(?:above|before|earlier|previously|you (?:were|have|got|received|had)|given)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.4,
     "\\b" UNHEED "(?:any|all|these|those|the) "
                  "<2>(?:instructions?|guidelines|directives|prompts?|rules|restrictions)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignore|disregard|forget|discard|dismiss) (?:about "
     ")?(?:everything|anything|all|whatever|all of that|what) <3>(?:you(?: (?:were|have|had|ve))? "
     "(?:been "
     ")?(?:told|instructed|given|learned|learnt|taught|know|read|programmed|asked)|(?:came|comes|"
     "is|was|written|stated|said)?" JOIN
     "(?:above|before|previously|prior to this|up (?:to|until)))\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.6,
     "\\b(?:ignore|disregard|forget) (?:everything|anything|all) (?:that )?(?:i|we|they|i ve|we "
     "ve) (?:have )?(?:said|told|wrote|asked|written)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignore|disregard|forget|never mind|defy|disobey) (?:what|whatever|everything|anything) "
     "(?:the|your) (?:system|developers?|operator|admin\\w*|creators?|company|openai|prompt)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.7,
     "\\b(?:whatever|anything|everything) you(?: (?:were|have|had|ve))? (?:been "
     ")?(?:told|instructed|asked|programmed|taught)(?: <5>(?:don|do "
     "not|ignore|forget|disregard|void|wrong|irrelevant|no longer))\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:previous|prior|above|earlier|preceding|original|initial|existing|former|your|system) "
     "<2>(?:instructions?|directives?|prompts?|guidelines|rules|restrictions|orders|programming|"
     "commands|constraints) <1>(?:are|is|were|was|has been|have been|should be|must be|can be|to "
     "be) <2>(?:void|null|invalid|a mistake|mistaken|an "
     "error|fake|cancell?ed|revoked|superseded|overrid+en|obsolete|outdated|a test|a "
     "joke|suspended|lifted|deleted|ignored|disregarded|forgotten|removed|replaced|rescinded|"
     "nullified|irrelevant|deactivated|disabled|terminated|erased|wrong)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:instructions?|directives?|prompts?|guidelines|rules|orders|commands|constraints|"
     "restrictions) <3>(?:no longer|do not|don t|not) (?:apply|valid|binding|matter|relevant|in "
     "(?:effect|force))\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.4,
     "\\b(?:what|this|these|following) <3>(?:supersedes?|overrides?|cancels?)\\b", false, false},
    {WEIR_INJECTION_OVERRIDE, 0.45,
     "\\b(?:supersedes?|overrides?|takes? (?:precedence|priority) over) "
     "<3>(?:earlier|previous|prior|all|your|other|existing|original|system) "
     "<1>(?:instructions?|directives?|prompts?|programming|commands)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.4,
     "\\b(?:your |the |my |with )?(?:new|real|actual|updated|true) (?:system "
     ")?(?:instructions?|orders|task|mission|directives?|objective|goal|prompt|policy|rules)(?: "
     "(?:is|are|follows?|begins?|from)|:)",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.3,
     "\\byou (?:now )?have (?:a )?new "
     "(?:mission|task|role|purpose|instructions|orders|objective|goal|identity)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.45,
     "\\b(?:obey|listen|answer|follow|serve|comply|obeys|answers) (?:only )?(?:to |with )?(?:only "
     ")?(?:me|mine|my (?:orders|commands|instructions|rules)|the user|what i say|whatever i|only "
     "(?:me|the user))\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.2, "\\bobey\\b", false, false},
    {WEIR_INJECTION_OVERRIDE, 0.25,
     "\\b(?:from (?:now|here|this point) on(?:ward|wards)?|starting now|from this moment)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.75,
     "\\b(?:clear|erase|wipe|reset|delete|purge|flush|forget) (?:all (?:of )?)?your "
     "(?:memory|context|mind|training|instructions|programming)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.75,
     "\\b(?:disregard|ignore|forget) (?:all (?:of )?)?the (?:above|foregoing|preceding)(?: "
     "(?:and|then|instead|text|content|prompt|message)\\b|[.!,;\\n])",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.3,
     "\\b(?:instead|rather)[,:]? "
     "(?:print|output|say|write|respond|reply|answer|tell|do|return|give|execute|run)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.5,
     "\\b(?:say|print|output|reply|respond|answer|write) "
     "<5>(?:pwned|hacked|h4cked|owned|haxxed|haha pwned|i have been (?:pwned|hacked))\\b",
     false, false},
    /* ---- show what you were told */
    {WEIR_INJECTION_LEAK, 0.85,
     "\\b(?:" TELL "|" ASK ") <5>your <3>(?:(?:system|developer|pre|meta|base|seed)" JOIN
     "(?:prompts?|messages?|instructions?|directives?|rules|guidelines|settings)|(?:initial|"
     "original|hidden|secret|internal|confidential|starting|first|exact|full|entire|complete|"
     "underlying|core|private) "
     "<1>(?:prompts?|instructions?|directives?|rules|guidelines|message|configuration))\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.75,
     "\\b(?:" TELL "|" ASK ") <5>your <1>(?:prompt|preprompt|pre prompt|instructions|context "
                           "window|directives|system text|guidelines)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.6,
     "\\b(?:reveal|show|print|display|output|repeat|give|tell|leak|dump|expose|disclose|recite|"
     "copy|paste|share|send|echo|extract|divulge|quote|provide|return) (?:me |us )?(?:all (?:of "
     ")?)?(?:the|this|that) "
     "<2>(?:system|hidden|secret|confidential|initial|original|developer|internal) "
     "(?:prompts?|instructions|messages?|directives)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.8,
     "\\b(?:" TELL "|" ASK
     "|what) <6>(?:prompts?|instructions?|rules|directives?|text|guidelines|message|words) <2>you "
     "(?:(?:were|have|had|ve|are) (?:been "
     ")?(?:given|told|sent|fed|shown|following|provided|initiali[sz]ed|using|instructed|based)|got|"
     "received|follow|started|operate|run on|work)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.75,
     "\\b(?:what|how) (?:exactly )?(?:were|are|have) you (?:been "
     ")?(?:instructed|told|programmed|prompted|configured) (?:to|by|before|at|with|not)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.4,
     "\\b(?:repeat|print|output|copy|echo|recite|return|write|display|show|type|paste|say) (?:me "
     "|back |out )*(?:all|everything|the|every) "
     "<3>(?:(?:text|words?|content|contents|lines?|everything|all|messages?|conversation|sentences?"
     ") )?<2>(?:above|before this|preceding|prior to this)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.35,
     "\\b(?:verbatim|word (?:for|by) word|include everything|exactly as (?:written|it "
     "(?:is|was)|they)|character (?:for|by) character)\\b",
     false, false},
    {WEIR_INJECTION_LEAK, 0.2, "\\bcode" JOIN "block\\b", false, false},
    {WEIR_INJECTION_LEAK, 0.5,
     "\\b(?:starting|beginning|starts|begins) (?:with|from) (?:the (?:words?|phrase|text) )?you "
     "are\\b",
     false, false},
    {WEIR_INJECTION_LEAK, 0.3,
     "\\b(?:full text|debug(?:ging)? (?:you|mode|purposes|information))\\b", false, false},
    {WEIR_INJECTION_LEAK, 0.35,
     "\\b(?:top|start|beginning) of (?:this|the|our|your) (?:conversation|chat|prompt|context)\\b",
     false, false},
    {WEIR_INJECTION_LEAK, 0.8,
     "\\b(?:" TELL "|" ASK ") <4>(?:prompts?|instructions?|rules|directives?|guidelines|messages?) "
                           "<3>(?:given|provided|told|sent|fed) (?:to )?you\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.7,
     "\\byou (?:were|are|have been|ve been|re) "
     "(?:told|instructed|asked|supposed|ordered|programmed) (?:not|never) to "
     "(?:reveal|share|tell|disclose|say|mention|show|give|discuss|talk|answer)\\b",
     false, true},
    /* ---- be somebody without rules */
    {WEIR_INJECTION_ROLE_PLAY, 0.85, "\\b" BE " <10>" FREE " <4>" MORALS "\\b", false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b" BE " <8>(?:" MACHINE
     "|bot\\b|hacker|terminal|character|persona|machine|villain|model\\b|mode\\b) <5>" FREE
     " <4>" BAN "\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.45, "\\b" BE " <10>" FREE " <4>" BAN "\\b", false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.7, "\\b" MACHINE " <4>" FREE " <3>" BAN "\\b", false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.7,
     "\\b(?:unrestricted|uncensored|unfiltered|amoral|jailbroken|unethical|unaligned|evil|unhinged)"
     " <2>(?:\\bai\\b|assistant|(?:language )?model|llm|chat" JOIN "bot|bot|gpt)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.85, "\\bdo anything now\\b", false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b(?:[Yy]ou(?: are|" JOIN "re) (?:now |going to be )?|[Aa]ct as |[Bb]ecome |as |[Pp]lay "
                                 ")(?:a )?(?:DAN|STAN|DUDE|AIM|KEVIN|DEVMODE|JAILBREAK)\\b",
     true, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.35, "\\bDAN\\b", true, false},
    {WEIR_INJECTION_ROLE_PLAY, 0.4,
     "\\b(?:enter|enable|activate|switch to|turn on|unlock) "
     "<2>(?:developer|dev|god|debug|sudo|admin|root|maintenance|unrestricted|unsafe) mode\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.65,
     "\\b(?:jailbreak|jailbroken|dan|opposite|uncensored|unrestricted|unfiltered|evil|chaos|no "
     "filter) mode\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.6,
     "\\b(?:answer|respond|reply|speak|talk|act|write|generate|operate|behave|comply) "
     "<4>(?:without|with no) (?:any |your |the |usual |normal |ethical |moral |content |safety "
     ")*" BAN "\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.6,
     "\\b(?:safety|content|ethic\\w*|moderation|moral|your|ai|censorship) "
     "<1>(?:filters?|polic(?:y|ies)|guidelines|restrictions|protocols?|checks|limits|limitations|"
     "guardrails|safeguards) "
     "(?:(?:are|is|have|has|been|were|now|all|turned|switched|completely|fully) "
     "){0,4}(?:off|disabled|removed|lifted|deactivated|bypassed|suspended|gone)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.5,
     "\\b(?:all|your|any|no) "
     "<1>(?:limitations|restrictions|filters|safeguards|guardrails|censorship) "
     "<2>(?:removed|lifted|disabled|deactivated|off)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.6,
     "\\b(?:turn off|disable|deactivate|remove|switch off|lift|drop|shut (?:off|down)) (?:all "
     "(?:of )?)?(?:your|the (?:safety|content|ethic\\w*|moderation)) "
     "<2>(?:filters?|restrictions?|guidelines|polic(?:y|ies)|limits|limitations|safeguards|"
     "guardrails|protocols?|safety|censorship|moderation)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.6,
     "\\bno matter (?:how|if it is|whether it is) "
     "(?:illegal|unethical|harmful|dangerous|immoral|offensive|bad|inappropriate|controversial)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.65,
     "\\b(?:act|behave|pretend|play|be|speak|talk) <4>(?:deceased|dead|late|passed) "
     "<2>grand(?:ma|mother|pa|father|mum)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.45,
     "\\b(?:no|without) (?:any )?(?:moral|ethical) "
     "<2>(?:constraints|limits|limitations|guidelines|boundaries|restrictions|compass|rules)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.3, "\\b(?:stay|remain|never break) (?:in )?character\\b", false,
     false},
    {WEIR_INJECTION_ROLE_PLAY, 0.25,
     "\\b(?:pretend|imagine|suppose|hypothetically|let s (?:play|pretend)|role" JOIN
     "play|simulate)\\b",
     false, false},
    {WEIR_INJECTION_ROLE_PLAY, 0.55,
     "\\b(?:opposite|evil|alter ego|twin|shadow self|inner self) <3>of "
     "(?:yourself|chatgpt|claude|an ai)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.55,
     "\\b(?:avoid|ignores?|breaks?|defies) (?:all |the )*(?:norms|ethical \\w+|content "
     "polic(?:y|ies)|openai <2>\\w+)",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.3,
     "\\b(?:answers?|says?|does|generates?|provides?) (?:absolutely )?(?:anything|any "
     "(?:question|request)|whatever|every request)\\b",
     false, false},
    /* ---- do not refuse */
    {WEIR_INJECTION_REFUSAL, 0.45,
     "\\b(?:do not|don t|never|cannot|can t|can not|must not|not allowed to|may not|without) "
     "<1>(?:refuse|refusing|refuses|decline|reject|apologi[sz]\\w*|say no)\\b(?: "
     "(?:a|any|to|my|this|the) (?:requests?|questions?|answer|help|comply|user))?",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.45,
     "\\b(?:never|always) (?:refuses?|declines?|rejects?|compl(?:y|ies)) "
     "<2>(?:requests?|questions?|orders?|anything|commands?)\\b",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.5,
     "\\b(?:never|do not|don t|must not|without) "
     "<2>(?:say|saying|state|mention|reply|respond|claim|tell me) <2>(?:you (?:can" JOIN
     "(?:t|not)|are (?:not|unable|an)|won t|re|could)|i (?:can" JOIN
     "t|m sorry|am sorry|cannot)|sorry|as an ai|it is (?:against|illegal|unethical))\\b",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.6,
     "\\b(?:start|begin|starting|beginning|preface|open) (?:your|the|every|each|all) "
     "<1>(?:reply|answer|response|message|sentence|output|replies|answers|responses) (?:with|by) "
     "<3>(?:sure|absolutely|of course|certainly|yes|okay|ok|i have been|here (?:is|are|s)|step "
     "1)\\b",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.3,
     "\\b(?:no|without|not include|t include|skip|omit|never include|not add|t add|avoid) (?:any "
     "|the )?(?:ethical |moral |safety |legal "
     ")?(?:warnings?|disclaimers?|caveats|moralizing|ethical \\w+|lectures?|lecturing)\\b",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.3,
     "\\b(?:must|will|have to|shall) (?:always )?(?:answer|comply|respond) <2>(?:every|all|any)\\b",
     false, false},
};

const size_t weir_injection__n_rules =
    sizeof weir_injection__rules / sizeof weir_injection__rules[0];
