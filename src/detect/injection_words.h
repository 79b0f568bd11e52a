#ifndef WEIR_DETECT_INJECTION_WORDS_H
#define WEIR_DETECT_INJECTION_WORDS_H

/* Classes of English words that the tables of rules share, in their notation (injection_int.h). */

/* Ways to say: do not heed. The last lines are how fingers slip. */
#define DROP                                                                                       \
    "(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|neglect|overlook|discard|dismiss|"        \
    "bypass(?:ing)?|skip|omit|abandon|unlearn|cancel|revoke|void|erase|violate|circumvent|"        \
    "disobey|defy|scrap|drop|ditch|suspend|shelve|nullify|abolish|"                                \
    "sidestep|breach|unfollow|"                                                                    \
    "(?:set|put|cast|push|lay|leave|throw|brush) (?:aside|away|out)|never" JOIN "mind|"            \
    "let go of|get rid of|stop caring about|"                                                      \
    "(?:pay|give) no (?:attention|heed|mind) to|"                                                  \
    "ignroe|ignor|ingore|igonre|ignre|ingnore|ignorre|inore|disreguard|disregrad|forgt|foget)"

/* What programs drop. */
#define THINGS "errors?|warnings?|failures?|exceptions?|outputs?|results?|changes|case|whitespace"

/* What software does to settings as well. */
#define OVERRIDE "(?:overrid(?:e|ing)|overrule|overwrite|reprogram)"

#define NOT                                                                                        \
    "(?:do not|don t|dont|never|must not|mustn t|should not|shouldn t|cannot|can t|can not|"       \
    "may not|will not|won t|need not|no longer|not allowed to|forbidden to|not permitted to)"

#define UNHEED                                                                                     \
    "(?:not|don.t|don...t|dont|never|stop|longer|quit|cease) "                                     \
    "(?:follow|obey|heed|listen|comply|adher|abid|stick|abide|respect|observ|honou?r|"             \
    "bother with|care about|pay attention)\\w* (?:to |with |by )?"

/* Said before. */
#define PRIOR                                                                                      \
    "(?:previous(?:ly)?|prev|previus|previos|prevous|pervious|prior|above|earlier|preceding|"      \
    "foregoing|former|past|initial|original|system|developer|operator|admin(?:istrator)?|before|"  \
    "aforementioned|built in|predefined|preset|pre" JOIN "existing|safety|ethical|content|"        \
    "moderation|usage)"

#define SO_FAR                                                                                     \
    "(?:above|before|earlier|previously|beforehand|so far|until now|till now|up to (?:now|here|"   \
    "this point)|at the (?:start|beginning))"

/* What a model is given. Rules and orders are everybody's, so they are plural. */
#define TOLD                                                                                       \
    "(?:instructions?|instructons?|intructions?|instuctions?|instrcutions?|insructions?|"          \
    "instrutions?|instrucitons?|instrucions?|directives?|directions|guidelines|guidance|rules|"    \
    "ruies|commands|orders|prompts?|programming|constraints|restrictions|context|safeguards|"      \
    "guardrails|polic(?:y|ies)|protocols?|filters?|messages? from (?:the )?(?:system|developer)|"  \
    "training|alignment|tasks|assignment|mission|briefing|system message)"

/* The same without what offices and machines have too. */
#define ORDERED                                                                                    \
    "(?:instructions?|guidelines|directives?|prompts?|rules|restrictions|constraints|commands|"    \
    "programming|safeguards|guardrails)"

#define TELL                                                                                       \
    "(?:reveal|show|print|display|output|repeat|tell|give|share|leak|dump|expose|disclose|write|"  \
    "list|quote|recite|copy|paste|summari[sz]e|translate|encode|return|provide|send|spell|type|"   \
    "echo|extract|paraphrase|rephrase|describe|divulge|read|see|know|post|put|explain|convert|"    \
    "turn|render|spill|reproduce|rewrite|transcribe|state|enumerate|outline|hand over|cough up|"   \
    "include|format|report|say|confess|uncover|unveil|regurgitate|present|forward|whisper)"

/* What a model in a game, or with keys in its context, must not tell. */
#define SECRET                                                                                     \
    "(?:password|pass word|passphrase|pass phrase|passcode|secret "                                \
    "(?:word|key|phrase|code|number|message|name|"                                                 \
    "string|token|flag)|(?:access|unlock|vault|security|activation|launch) codes?|magic "          \
    "word|hidden "                                                                                 \
    "(?:word|key|flag|code|message)|secret)"

#define ASK "(?:what (?:is|s|are|was|were|re)|whats|which (?:is|are))"

/* What the makers of a model put around it. */
#define BAN                                                                                        \
    "(?:restrictions?|restraints?|limits|limitations?|filters?|filtering|rules|guidelines|"        \
    "ethic\\w*|moral\\w*|polic(?:y|ies)|constraints?|censorship|censoring|boundaries|guardrails|"  \
    "safeguards|safety|inhibitions|norms|laws|content polic(?:y|ies)|taboos|conscience)"

#define MORALS                                                                                     \
    "(?:filters?|filtering|guidelines|ethic\\w*|moral\\w*|censorship|censoring|guardrails|"        \
    "safeguards|safety|inhibitions|norms|content polic(?:y|ies)|restrictions of ai|usual "         \
    "restrictions|openai|conscience|taboos)"

#define FREE                                                                                       \
    "(?:without|with no|with zero|zero|has no|have no|having no|had no|no|free (?:of|from)|freed " \
    "(?:of|from)|liberated from|unbound by|unrestricted by|unburdened by|lacks|lacking|"           \
    "not (?:bound|constrained|restricted|limited|subject|held back) (?:by|to)|"                    \
    "no longer (?:bound|constrained|restricted|limited|subject) (?:by|to)|"                        \
    "(?:does not|doesn t|do not|don t|not|never|needn t|need not) (?:have to |need to )?"          \
    "(?:follow|have|care about|abide by|adhere to|obey|respect|know)|"                             \
    "(?:broken|broke|breaks) (?:free|out) (?:of|from)|ignores?|bypass(?:es)?|disregards?)"

#define BE                                                                                         \
    "(?:you are|you now have|you re|youre|you ll be|you will be|you become|act (?:as|like)|"       \
    "pretend|imagine|behave (?:as|like)|respond as|answer as|reply as|speak as|simulate|emulate|"  \
    "become|role" JOIN "play|impersonate|suppose|assume|play (?:a|the|as)|playing|"                \
    "you have been|you were)"

#define MACHINE "(?:ai\\b|language model|llm|chatbot|chat bot|gpt|assistant|machine|robot)"

/* Who is spoken to in a document that a model reads. */
#define AI                                                                                         \
    "\\b(?:ai\\b|llm\\b|llms\\b|ais\\b|language models?|chat "                                     \
    "bots?|chatbots?|chatgpt|gpt\\b|claude|"                                                       \
    "gemini|copilot|artificial intelligence|(?:mail|email|virtual|digital) assistants?)"

#define AI_NOUN                                                                                    \
    "(?: (?:code |note |resume |mail |email |search |web )?"                                       \
    "(?:assistants?|models?|agents?|systems?|reviewers?|bots?|tools?|readers?|recruiters?|"        \
    "crawlers?|summari[sz]ers?|takers?|graders?|evaluators?|scrapers?|engines?|screeners?|"        \
    "browsers?|plugins?|parsers?|translators?))?"

#define READING                                                                                    \
    "(?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing|scanning|visiting|"       \
    "browsing|crawling|indexing|evaluating|grading|viewing|handling|ingesting|translating|"        \
    "accessing|screening|assessing)"

#define SAID(family, score, expr)                                                                  \
    {                                                                                              \
        WEIR_INJECTION_##family, score, expr, false, true                                          \
    }
#define SEEN(family, score, expr)                                                                  \
    {                                                                                              \
        WEIR_INJECTION_##family, score, expr, false, false                                         \
    }

#endif
