/* What people tell a model in English: drop your rules, show them, be somebody without any. */
#include "detect/injection_int.h"

/* Ways to say: do not heed. */
#define DROP                                                                                       \
    "(?:ignore|ignroe|ignor|ingore|igonre|ignoring|disregard(?:ing)?|disreguard|forget(?:ting)?|"  \
    "neglect|overlook|"                                                                            \
    "discard|dismiss|bypass(?:ing)?|skip|omit|abandon|"                                            \
    "unlearn|cancel|revoke|void|erase|violate|circumvent|disobey|"                                 \
    "(?:set|put|cast|push|lay|leave)" GAP "aside|throw" GAP "(?:away|out)|never" GAP "mind|"       \
    "(?:pay|give)" GAP "no" GAP "(?:attention|heed)" GAP "to)"

/* What software does to settings as well. */
#define OVERRIDE "(?:override|overriding|overrule|overwrite|reprogram)"

#define UNHEED                                                                                     \
    "(?:not|don.t|don...t|dont|never|stop|longer|quit|cease)" GAP                                  \
    "(?:follow|obey|heed|listen|comply|adher|abid|stick|abide|pay" GAP "attention)\\w*" GAP        \
    "(?:to" GAP "|with" GAP "|by" GAP ")?"

/* Said before. */
#define PRIOR                                                                                      \
    "(?:previous(?:ly)?|prev|prior|above|earlier|preceding|foregoing|former|past|initial|"         \
    "original|"                                                                                    \
    "system|developer|operator|admin(?:istrator)?|before|aforementioned|built" GAP "in|"           \
    "predefined|safety|ethical|content|moderation)"

/* What a model is given. Rules and orders are everybody's, so they are plural. */
#define TOLD                                                                                       \
    "(?:instructions?|instructons?|intructions?|instuctions?|instrcutions?|directives?|"           \
    "directions|guidelines|guidance|rules|ruies|commands|orders|prompts?|programming|constraints|" \
    "restrictions|context|safeguards|guardrails|directions|polic(?:y|ies)|protocols?|filters?|"    \
    "messages?" GAP "from" GAP "(?:the" GAP ")?(?:system|developer)|training|alignment|tasks)"

#define TELL                                                                                       \
    "(?:reveal|show|print|display|output|repeat|tell|give|share|leak|dump|expose|disclose|write|"  \
    "list|quote|recite|copy|paste|summari[sz]e|translate|encode|return|provide|send|spell|type|"   \
    "echo|extract|paraphrase|rephrase|describe|divulge|read|see|know|post|put|explain)"

#define ASK "(?:what" GAP "(?:is|s|are|was|were)|whats|which" GAP "(?:is|are))"

#define BAN                                                                                        \
    "(?:restrictions?|restraints?|limits|limitations?|filters?|filtering|rules|guidelines|"        \
    "ethic\\w*|moral\\w*|polic(?:y|ies)|constraints?|censorship|censoring|boundaries|"             \
    "guardrails|safeguards|safety|inhibitions|norms|content" GAP "polic(?:y|ies))"

#define MORALS                                                                                     \
    "(?:filters?|filtering|guidelines|ethic\\w*|moral\\w*|censorship|censoring|guardrails|"        \
    "safeguards|safety|inhibitions|norms|content" GAP "polic(?:y|ies)|restrictions" GAP "of" GAP   \
    "ai|usual" GAP "restrictions|openai)"

#define FREE                                                                                       \
    "(?:without|with" GAP "no|with" GAP "zero|zero|has" GAP "no|have" GAP "no|having" GAP          \
    "no|had" GAP "no|no|free" GAP "(?:of|from)|freed" GAP "(?:of|from)|liberated" GAP              \
    "from|unbound" GAP "by|"                                                                       \
    "not" GAP "(?:bound|constrained|restricted|limited|subject)" GAP "(?:by|to)|"                  \
    "no" GAP "longer" GAP "(?:bound|constrained|restricted|limited|subject)" GAP "(?:by|to)|"      \
    "does" GAP "not" GAP "(?:follow|have|care" GAP "about)|doesn" GAP "t" GAP                      \
    "(?:follow|have|care" GAP "about)|ignores?|bypass(?:es)?|disregards?)"

#define BE                                                                                         \
    "(?:you" GAP "are|you" GAP "now" GAP "have|you" GAP "re|youre|you" GAP "will" GAP "be|you" GAP \
    "become|act" GAP "(?:as|like)|pretend|imagine|behave" GAP "(?:as|like)|respond" GAP            \
    "as|answer" GAP "as|"                                                                          \
    "reply" GAP "as|simulate|emulate|become|role" JOIN "play|impersonate|suppose|assume|"          \
    "play" GAP "(?:a|the)" GAP "(?:role|part|game)|you" GAP "have" GAP "been|you" GAP "were)"

#define MACHINE "(?:\\bai\\b|language" GAP "model|llm|chat" JOIN "bot|gpt)"

const struct weir_injection_rule weir_injection__rules[] = {
    /* ---- drop what you were told */
    {WEIR_INJECTION_OVERRIDE, 0.9,
     "\\b" DROP "(?:" GAP WORDS(4) "|(?:all|the|any|my)*)" PRIOR "(?:" GAP WORDS(2) ")?" TOLD "\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" DROP GAP WORDS(4) TOLD GAP
     "(?:(?:mentioned|listed|given|stated|written|that" GAP "were|that" GAP "came|from|which" GAP
     "were|provided|described|outlined|set)" GAP ")?(?:above|before|earlier|previously|so" GAP
     "far|until" GAP "now|up" GAP "to" GAP "now)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" DROP GAP WORDS(4) TOLD GAP WORDS(1) "(?:you" GAP "(?:were|have" GAP "been|had" GAP
                                               "been|ve" GAP "been|got|received|follow)|given" GAP
                                               "to" GAP "you|set" GAP "by|from" GAP "(?:the" GAP
                                               ")?(?:developers?|system|operator|openai|your))\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" DROP GAP "(?:all" GAP "(?:of" GAP ")?|any" GAP "(?:of" GAP ")?)?your" GAP WORDS(3) TOLD
     "\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.6,
     "\\b" DROP GAP "(?:all|any|every)" GAP "(?:of" GAP ")?(?:the" GAP ")?(?:other" GAP
     ")?(?:instructions?|guidelines|directives|prompts|rules|restrictions)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.3,
     "\\b" DROP GAP "(?:the|this|its|these|those)" GAP WORDS(
         1) "(?:instructions?|guidelines|directives|prompt|rules)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" OVERRIDE GAP
         WORDS(3) "(?:your|previous|prior|earlier|initial|original|system|safety|above)" GAP WORDS(
             2) "(?:instructions?|directives|guidelines|prompts?|programming|restrictions|"
                "safeguards|training)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" UNHEED WORDS(4) "(?:your|" PRIOR ")" GAP WORDS(2) TOLD "\\b", false, false},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b" UNHEED WORDS(4) TOLD GAP WORDS(4) "(?:above|before|earlier|previously|you" GAP
                                             "(?:were|have|got|received|had)|given)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.4,
     "\\b" UNHEED "(?:any|all|these|those|the)" GAP WORDS(
         2) "(?:instructions?|guidelines|directives|prompts?|rules|restrictions)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignore|disregard|forget|discard|dismiss)" GAP "(?:about" GAP
     ")?(?:everything|anything|all|whatever|all" GAP "of" GAP "that|what)" GAP WORDS(
         3) "(?:you(?:" GAP "(?:were|have|had|ve))?" GAP "(?:been" GAP
            ")?(?:told|instructed|given|learned|learnt|taught|know|read|programmed|asked)|(?:came|"
            "comes|is|was|written|stated|said)?" JOIN "(?:above|before|previously|prior" GAP
            "to" GAP "this|up" GAP "(?:to|until)))\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.6,
     "\\b(?:ignore|disregard|forget)" GAP "(?:everything|anything|all)" GAP "(?:that" GAP
     ")?(?:i|we|they|i" GAP "ve|we" GAP "ve)" GAP "(?:have" GAP
     ")?(?:said|told|wrote|asked|written)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignore|disregard|forget|never" GAP "mind|defy|disobey)" GAP
     "(?:what|whatever|everything|anything)" GAP "(?:the|your)" GAP
     "(?:system|developers?|operator|admin\\w*|creators?|company|openai|prompt)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.7,
     "\\b(?:whatever|anything|everything)" GAP "you(?:" GAP "(?:were|have|had|ve))?" GAP
     "(?:been" GAP ")?(?:told|instructed|asked|programmed|taught)(?:" GAP WORDS(
         5) "(?:don|do" GAP "not|ignore|forget|disregard|void|wrong|irrelevant|no" GAP
            "longer))\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:previous|prior|above|earlier|preceding|original|initial|existing|former|your|"
     "system)" GAP WORDS(
         2) "(?:instructions?|directives?|prompts?|guidelines|rules|restrictions|orders|"
            "programming|commands|constraints)" GAP WORDS(
                1) "(?:are|is|were|was|has" GAP "been|have" GAP "been|should" GAP "be|must" GAP
                   "be|can" GAP "be|to" GAP "be)" GAP WORDS(
                       2) "(?:void|null|invalid|a" GAP "mistake|mistaken|an" GAP
                          "error|fake|cancell?ed|revoked|superseded|overrid+en|obsolete|"
                          "outdated|a" GAP "test|a" GAP
                          "joke|suspended|lifted|deleted|ignored|disregarded|forgotten|"
                          "removed|replaced|rescinded|nullified|irrelevant|deactivated|"
                          "disabled|terminated|erased|wrong)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:instructions?|directives?|prompts?|guidelines|rules|orders|commands|constraints|"
     "restrictions)" GAP WORDS(3) "(?:no" GAP "longer|do" GAP "not|don" GAP "t|not)" GAP
                                  "(?:apply|valid|binding|matter|relevant|in" GAP
                                  "(?:effect|force))\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.4,
     "\\b(?:what|this|these|following)" GAP WORDS(3) "(?:supersedes?|overrides?|cancels?)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.45,
     "\\b(?:supersedes?|overrides?|takes?" GAP "(?:precedence|priority)" GAP
     "over)" GAP WORDS(3) "(?:earlier|previous|prior|all|your|other|existing|original|system)" GAP
         WORDS(1) "(?:instructions?|directives?|prompts?|programming|commands)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.4,
     "\\b(?:your" GAP "|the" GAP "|my" GAP "|with" GAP ")?(?:new|real|actual|updated|true)" GAP
     "(?:system" GAP
     ")?(?:instructions?|orders|task|mission|directives?|objective|goal|prompt|policy|rules)(?:" GAP
     "(?:is|are|follows?|begins?|from)|:)",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.3,
     "\\byou" GAP "(?:now" GAP ")?have" GAP "(?:a" GAP ")?new" GAP
     "(?:mission|task|role|purpose|instructions|orders|objective|goal|identity)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.45,
     "\\b(?:obey|listen|answer|follow|serve|comply|obeys|answers)" GAP "(?:only" GAP ")?(?:to" GAP
     "|with" GAP ")?(?:only" GAP ")?(?:me|mine|my" GAP
     "(?:orders|commands|instructions|rules)|the" GAP "user|what" GAP "i" GAP "say|whatever" GAP
     "i|only" GAP "(?:me|the" GAP "user))\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.2, "\\bobey\\b", false, false},
    {WEIR_INJECTION_OVERRIDE, 0.25,
     "\\b(?:from" GAP "(?:now|here|this" GAP "point)" GAP "on(?:ward|wards)?|starting" GAP
     "now|from" GAP "this" GAP "moment)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.75,
     "\\b(?:clear|erase|wipe|reset|delete|purge|flush|forget)" GAP "(?:all" GAP "(?:of" GAP
     ")?)?your" GAP "(?:memory|context|mind|training|instructions|programming)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.75,
     "\\b(?:disregard|ignore|forget)" GAP "(?:all" GAP "(?:of" GAP ")?)?the" GAP
     "(?:above|foregoing|preceding)(?:" GAP
     "(?:and|then|instead|text|content|prompt|message)\\b|[.!,;\\n])",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.3,
     "\\b(?:instead|rather)[,:]?" GAP
     "(?:print|output|say|write|respond|reply|answer|tell|do|return|give|execute|run)\\b",
     false, false},
    {WEIR_INJECTION_OVERRIDE, 0.5,
     "\\b(?:say|print|output|reply|respond|answer|write)" GAP WORDS(
         5) "(?:pwned|hacked|h4cked|owned|haxxed|haha" GAP "pwned|i" GAP "have" GAP "been" GAP
            "(?:pwned|hacked))\\b",
     false, false},
    /* ---- show what you were told */
    {WEIR_INJECTION_LEAK, 0.85,
     "\\b(?:" TELL "|" ASK ")" GAP WORDS(5) "your" GAP WORDS(
         3) "(?:(?:system|developer|pre|meta|base|seed)" JOIN
            "(?:prompts?|messages?|instructions?|directives?|rules|guidelines|settings)|(?:initial|"
            "original|hidden|secret|internal|confidential|starting|first|exact|full|entire|"
            "complete|underlying|core|private)" GAP WORDS(
                1) "(?:prompts?|instructions?|directives?|rules|guidelines|message|configuration))"
                   "\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.75,
     "\\b(?:" TELL "|" ASK ")" GAP WORDS(5) "your" GAP WORDS(
         1) "(?:prompt|preprompt|pre" GAP "prompt|instructions|context" GAP
            "window|directives|system" GAP "text|guidelines)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.6,
     "\\b(?:reveal|show|print|display|output|repeat|give|tell|leak|dump|expose|disclose|recite|"
     "copy|paste|share|send|echo|extract|divulge|quote|provide|return)" GAP "(?:me" GAP "|us" GAP
     ")?(?:all" GAP "(?:of" GAP ")?)?(?:the|this|that)" GAP WORDS(
         2) "(?:system|hidden|secret|confidential|initial|original|developer|internal)" GAP
            "(?:prompts?|instructions|messages?|directives)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.8,
     "\\b(?:" TELL "|" ASK "|what)" GAP WORDS(
         6) "(?:prompts?|instructions?|rules|directives?|text|guidelines|message|words)" GAP
         WORDS(2) "you" GAP "(?:(?:were|have|had|ve|are)" GAP "(?:been" GAP
                  ")?(?:given|told|sent|fed|shown|following|provided|initiali[sz]ed|using|"
                  "instructed|based)|got|received|follow|started|operate|run" GAP "on|work)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.75,
     "\\b(?:what|how)" GAP "(?:exactly" GAP ")?(?:were|are|have)" GAP "you" GAP "(?:been" GAP
     ")?(?:instructed|told|programmed|prompted|configured)" GAP "(?:to|by|before|at|with|not)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.4,
     "\\b(?:repeat|print|output|copy|echo|recite|return|write|display|show|type|paste|say)" GAP
     "(?:me" GAP "|back" GAP "|out" GAP ")*(?:all|everything|the|every)" GAP WORDS(
         3) "(?:(?:text|words?|content|contents|lines?|everything|all|messages?|conversation|"
            "sentences?)" GAP ")?" WORDS(2) "(?:above|before" GAP "this|preceding|prior" GAP
                                            "to" GAP "this)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.35,
     "\\b(?:verbatim|word" GAP "(?:for|by)" GAP "word|include" GAP "everything|exactly" GAP "as" GAP
     "(?:written|it" GAP "(?:is|was)|they)|character" GAP "(?:for|by)" GAP "character)\\b",
     false, false},
    {WEIR_INJECTION_LEAK, 0.2, "\\bcode" JOIN "block\\b", false, false},
    {WEIR_INJECTION_LEAK, 0.5,
     "\\b(?:starting|beginning|starts|begins)" GAP "(?:with|from)" GAP "(?:the" GAP
     "(?:words?|phrase|text)" GAP ")?you" GAP "are\\b",
     false, false},
    {WEIR_INJECTION_LEAK, 0.3,
     "\\b(?:full" GAP "text|debug(?:ging)?" GAP "(?:you|mode|purposes|information))\\b", false,
     false},
    {WEIR_INJECTION_LEAK, 0.35,
     "\\b(?:top|start|beginning)" GAP "of" GAP "(?:this|the|our|your)" GAP
     "(?:conversation|chat|prompt|context)\\b",
     false, false},
    {WEIR_INJECTION_LEAK, 0.8,
     "\\b(?:" TELL "|" ASK
     ")" GAP WORDS(4) "(?:prompts?|instructions?|rules|directives?|guidelines|messages?)" GAP WORDS(
         3) "(?:given|provided|told|sent|fed)" GAP "(?:to" GAP ")?you\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.7,
     "\\byou" GAP "(?:were|are|have" GAP "been|ve" GAP "been|re)" GAP
     "(?:told|instructed|asked|supposed|ordered|programmed)" GAP "(?:not|never)" GAP "to" GAP
     "(?:reveal|share|tell|disclose|say|mention|show|give|discuss|talk|answer)\\b",
     false, true},
    /* ---- be somebody without rules */
    {WEIR_INJECTION_ROLE_PLAY, 0.85, "\\b" BE GAP WORDS(10) FREE GAP WORDS(4) MORALS "\\b", false,
     true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b" BE GAP WORDS(
         8) "(?:" MACHINE
            "|bot\\b|hacker|terminal|character|persona|machine|villain|model\\b|mode\\b)" GAP WORDS(
                5) FREE GAP WORDS(4) BAN "\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.45, "\\b" BE GAP WORDS(10) FREE GAP WORDS(4) BAN "\\b", false,
     true},
    {WEIR_INJECTION_ROLE_PLAY, 0.7, "\\b" MACHINE GAP WORDS(4) FREE GAP WORDS(3) BAN "\\b", false,
     true},
    {WEIR_INJECTION_ROLE_PLAY, 0.7,
     "\\b(?:unrestricted|uncensored|unfiltered|amoral|jailbroken|unethical|unaligned|evil|"
     "unhinged)" GAP WORDS(2) "(?:\\bai\\b|assistant|(?:language" GAP ")?model|llm|chat" JOIN
                              "bot|bot|gpt)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.85, "\\bdo" GAP "anything" GAP "now\\b", false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b(?:[Yy]ou(?:" GAP "are|" JOIN "re)" GAP "(?:now" GAP "|going" GAP "to" GAP "be" GAP
     ")?|[Aa]ct" GAP "as" GAP "|[Bb]ecome" GAP "|as" GAP "|[Pp]lay" GAP ")(?:a" GAP
     ")?(?:DAN|STAN|DUDE|AIM|KEVIN|DEVMODE|JAILBREAK)\\b",
     true, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.35, "\\bDAN\\b", true, false},
    {WEIR_INJECTION_ROLE_PLAY, 0.4,
     "\\b(?:enter|enable|activate|switch" GAP "to|turn" GAP "on|unlock)" GAP WORDS(
         2) "(?:developer|dev|god|debug|sudo|admin|root|maintenance|unrestricted|unsafe)" GAP
            "mode\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.65,
     "\\b(?:jailbreak|jailbroken|dan|opposite|uncensored|unrestricted|unfiltered|evil|chaos|no" GAP
     "filter)" GAP "mode\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.6,
     "\\b(?:answer|respond|reply|speak|talk|act|write|generate|operate|behave|comply)" GAP WORDS(
         4) "(?:without|with" GAP "no)" GAP "(?:any" GAP "|your" GAP "|the" GAP "|usual" GAP
            "|normal" GAP "|ethical" GAP "|moral" GAP "|content" GAP "|safety" GAP ")*" BAN "\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.6,
     "\\b(?:safety|content|ethic\\w*|moderation|moral|your|ai|censorship)" GAP WORDS(
         1) "(?:filters?|polic(?:y|ies)|guidelines|restrictions|protocols?|checks|limits|"
            "limitations|guardrails|safeguards)" GAP
            "(?:(?:are|is|have|has|been|were|now|all|turned|switched|completely|fully)" GAP
            "){0,4}(?:off|disabled|removed|lifted|deactivated|bypassed|suspended|gone)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.5,
     "\\b(?:all|your|any|no)" GAP
         WORDS(1) "(?:limitations|restrictions|filters|safeguards|guardrails|censorship)" GAP WORDS(
             2) "(?:removed|lifted|disabled|deactivated|off)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.6,
     "\\b(?:turn" GAP "off|disable|deactivate|remove|switch" GAP "off|lift|drop|shut" GAP
     "(?:off|down))" GAP "(?:all" GAP "(?:of" GAP ")?)?(?:your|the" GAP
     "(?:safety|content|ethic\\w*|moderation))" GAP WORDS(
         2) "(?:filters?|restrictions?|guidelines|polic(?:y|ies)|limits|limitations|safeguards|"
            "guardrails|protocols?|safety|censorship|moderation)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.6,
     "\\bno" GAP "matter" GAP "(?:how|if" GAP "it" GAP "is|whether" GAP "it" GAP "is)" GAP
     "(?:illegal|unethical|harmful|dangerous|immoral|offensive|bad|inappropriate|controversial)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.65,
     "\\b(?:act|behave|pretend|play|be|speak|talk)" GAP WORDS(
         4) "(?:deceased|dead|late|passed)" GAP WORDS(2) "grand(?:ma|mother|pa|father|mum)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.45,
     "\\b(?:no|without)" GAP "(?:any" GAP
     ")?(?:moral|ethical)" GAP WORDS(2) "(?:constraints|limits|limitations|guidelines|boundaries|"
                                        "restrictions|compass|rules)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.3,
     "\\b(?:stay|remain|never" GAP "break)" GAP "(?:in" GAP ")?character\\b", false, false},
    {WEIR_INJECTION_ROLE_PLAY, 0.25,
     "\\b(?:pretend|imagine|suppose|hypothetically|let" GAP "s" GAP "(?:play|pretend)|role" JOIN
     "play|simulate)\\b",
     false, false},
    {WEIR_INJECTION_ROLE_PLAY, 0.55,
     "\\b(?:opposite|evil|alter" GAP "ego|twin|shadow" GAP "self|inner" GAP
     "self)" GAP WORDS(3) "of" GAP "(?:yourself|chatgpt|claude|an" GAP "ai)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.55,
     "\\b(?:avoid|ignores?|breaks?|defies)" GAP "(?:all" GAP "|the" GAP ")*(?:norms|ethical" GAP
     "\\w+|content" GAP "polic(?:y|ies)|openai" GAP WORDS(2) "\\w+)",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.3,
     "\\b(?:answers?|says?|does|generates?|provides?)" GAP "(?:absolutely" GAP
     ")?(?:anything|any" GAP "(?:question|request)|whatever|every" GAP "request)\\b",
     false, false},
    /* ---- do not refuse */
    {WEIR_INJECTION_REFUSAL, 0.45,
     "\\b(?:do" GAP "not|don" GAP "t|never|cannot|can" GAP "t|can" GAP "not|must" GAP "not|not" GAP
     "allowed" GAP "to|may" GAP "not|without)" GAP WORDS(
         1) "(?:refuse|refusing|refuses|decline|reject|apologi[sz]\\w*|say" GAP "no)\\b(?:" GAP
            "(?:a|any|to|my|this|the)" GAP "(?:requests?|questions?|answer|help|comply|user))?",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.45,
     "\\b(?:never|always)" GAP "(?:refuses?|declines?|rejects?|compl(?:y|ies))" GAP WORDS(
         2) "(?:requests?|questions?|orders?|anything|commands?)\\b",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.5,
     "\\b(?:never|do" GAP "not|don" GAP "t|must" GAP "not|without)" GAP WORDS(
         2) "(?:say|saying|state|mention|reply|respond|claim|tell" GAP
            "me)" GAP WORDS(2) "(?:you" GAP "(?:can" JOIN "(?:t|not)|are" GAP
                               "(?:not|unable|an)|won" GAP "t|re|could)|i" GAP "(?:can" JOIN
                               "t|m" GAP "sorry|am" GAP "sorry|cannot)|sorry|as" GAP "an" GAP
                               "ai|it" GAP "is" GAP "(?:against|illegal|unethical))\\b",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.6,
     "\\b(?:start|begin|starting|beginning|preface|open)" GAP
     "(?:your|the|every|each|all)" GAP WORDS(
         1) "(?:reply|answer|response|message|sentence|output|replies|answers|responses)" GAP
            "(?:with|by)" GAP WORDS(3) "(?:sure|absolutely|of" GAP
                                       "course|certainly|yes|okay|ok|i" GAP "have" GAP
                                       "been|here" GAP "(?:is|are|s)|step" GAP "1)\\b",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.3,
     "\\b(?:no|without|not" GAP "include|t" GAP "include|skip|omit|never" GAP "include|not" GAP
     "add|t" GAP "add|avoid)" GAP "(?:any" GAP "|the" GAP ")?(?:ethical" GAP "|moral" GAP
     "|safety" GAP "|legal" GAP ")?(?:warnings?|disclaimers?|caveats|moralizing|ethical" GAP
     "\\w+|lectures?|lecturing)\\b",
     false, true},
    {WEIR_INJECTION_REFUSAL, 0.3,
     "\\b(?:must|will|have" GAP "to|shall)" GAP "(?:always" GAP
     ")?(?:answer|comply|respond)" GAP WORDS(2) "(?:every|all|any)\\b",
     false, false},
};

const size_t weir_injection__n_rules =
    sizeof weir_injection__rules / sizeof weir_injection__rules[0];
