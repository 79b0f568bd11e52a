/*
 * What is not said but shown: role markup of chat templates, orders hidden in documents, ways out
 * for data, encoded orders, orders to tools.
 */
#include "detect/injection_int.h"

#define AI                                                                                         \
    "(?:\\bai\\b|\\bllm\\b|\\bllms\\b|language models?|chat" JOIN                                  \
    "bots?|chatgpt|\\bgpt\\b|claude|gemini|copilot|artificial intelligence)"

#define AI_NOUN                                                                                    \
    "(?: "                                                                                         \
    "(?:assistants?|models?|agents?|systems?|reviewers?|bots?|tools?|readers?|recruiters?|"        \
    "crawlers?|summari[sz]ers?))?"

#define SEND                                                                                       \
    "(?:send|forward|post|upload|transmit|exfiltrate|email|submit|deliver|mail|export|leak|relay|" \
    "copy|pass|report|write)"

#define LOOT                                                                                       \
    "(?:conversation|chat|history|inbox|api keys?|credentials?|passwords?(?! "                     \
    "reset)|secrets?|system prompt|context|transcript|access tokens?|private "                     \
    "(?:data|keys?)|session|cookies|user (?:s )?(?:\\w+ "                                          \
    ")?(?:data|documents|information|messages?|input|details|files)|(?:all|every|their|user s) "   \
    "(?:emails?|messages|files|data|documents))"

const struct weir_injection_rule weir_injection__marks[] = {
    /* ---- roles */
    {WEIR_INJECTION_MARKUP, 0.9,
     "<\\|\\s?(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|end_"
     "header_id|begin_of_text|end_of_text|end|start|channel|message|endofprompt|return|tool)\\s?\\|"
     ">(?:\\s?(?:system|assistant|user)\\b)?",
     false, true},
    {WEIR_INJECTION_MARKUP, 0.9,
     "<<sys>>|<</sys>>|\\[INST\\]|\\[/INST\\]|<start_of_turn>|<end_of_turn>", false, true},
    {WEIR_INJECTION_MARKUP, 0.7,
     "(?:^|\\n)\\s*##{1,5}\\s?(?:system|instructions?|assistant|response|human|user)(?:\\s(?:"
     "prompt|message|instructions?|override))?\\s?:",
     false, true},
    {WEIR_INJECTION_MARKUP, 0.45,
     "</"
     "?\\s?(?:system|system[_-](?:prompt|message|instructions?|override)|assistant|admin[_-]?(?:"
     "override|instructions?)|developer|new[_-]instructions?)\\s?>",
     false, true},
    {WEIR_INJECTION_MARKUP, 0.25, "<user>|</user>|<human>|</human>", false, false},
    {WEIR_INJECTION_MARKUP, 0.4,
     "</"
     "\\s?(?:user[_-]?(?:input|query|message|prompt)|input|prompt|context|document|data|query|"
     "instructions?|untrusted\\w*|tool[_-](?:result|output|response))\\s?>",
     false, false},
    {WEIR_INJECTION_MARKUP, 0.35, "(?:^|\\n)[\\s*>#_-]*(?:assistant|chatbot)[*_]*\\s?:[ \\n]",
     false, false},
    {WEIR_INJECTION_MARKUP, 0.25, "(?:^|\\n)[\\s*>#_-]*(?:user|human)[*_]*\\s?:[ \\n]", false,
     false},
    {WEIR_INJECTION_MARKUP, 0.3, "(?:^|\\n)[\\s*>#_-]*system[*_]*\\s?:[ \\n]", false, false},
    {WEIR_INJECTION_MARKUP, 0.65,
     "(?:[-=*#_~<]{2,}|\\[)\\s?end (?:of )?(?:the )?(?:user |system |original "
     ")?(?:prompt|instructions?|context|user|input|query)\\s?(?:[-=*#_~>]{2,}|\\])",
     false, true},
    {WEIR_INJECTION_MARKUP, 0.4,
     "(?:[-=*#_~<]{2,}|\\[)\\s?(?:end|start|begin) (?:of )?(?:the )?(?:new "
     ")?(?:document|system|text|email|message|data|instructions?|prompt)\\b",
     false, false},
    {WEIR_INJECTION_MARKUP, 0.7,
     "(?:\\[|<<|\\*\\*|\\(|\\{)\\s?(?:system|admin(?:istrator)?|developer|operator) "
     "(?:override|message|note|prompt|instructions?|notice|command|update|alert)\\s?(?:\\]|\\)|\\*"
     "\\*|>>|\\}|:)",
     false, true},
    {WEIR_INJECTION_MARKUP, 0.55, "\\[system\\]|\\[/system\\]|\\[assistant\\]", false, true},
    {WEIR_INJECTION_MARKUP, 0.5,
     "\\b(?:system|admin(?:istrator)?|developer|operator) "
     "(?:override|overrule|command|directive|update)\\b\\s?[:\\]*-]",
     false, true},
    {WEIR_INJECTION_MARKUP, 0.4, "[\"']role[\"']\\s?:\\s?[\"'](?:system|developer)[\"']", false,
     false},
    /* ---- to whom it may compute */
    {WEIR_INJECTION_INDIRECT, 0.75, "\\bif you(?: are|" JOIN "re) <3>" AI "\\b", false, true},
    {WEIR_INJECTION_INDIRECT, 0.75,
     "\\b(?:note|message|instructions?|attention|notice|memo|dear|hello|hey|hi|hint|directive|"
     "important|reminder|request|command)[,:!]? (?:(?:for|to|all|any|the|every|our|you|an|this) "
     "){0,3}" AI AI_NOUN "(?: "
                         "(?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing|"
                         "scanning|that|who|which)(?: \\w+){0,4})?\\s?[,:!-]",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.7,
     "\\b(?:instructions?|directives?|note|message|attention|dear|command) (?:for|to)?" JOIN
     "(?:the |all |any )?(?:ai )?(?:assistants?|agents?)\\s?[,:]",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.7,
     "(?:^|[\\n>(\\[-])\\s?(?:to )?(?:the |any |all )?" AI AI_NOUN
     "(?: (?:reading|processing|summari[sz]ing|reviewing|parsing|analy[sz]ing)(?: "
     "\\w+){0,3})?\\s?:",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.7,
     "\\bto (?:the|any|all|every|whichever) " AI AI_NOUN
     "(?: "
     "(?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing|scanning|that|who|which)("
     "?: \\w+){0,4})?\\s?:",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.45,
     "\\b(?:when|if|while|before|after|should) <2>" AI AI_NOUN
     " <2>(?:summari[sz]|read|process|analy[sz]|review|pars|evaluat|scan|see|encounter|translat)"
     "\\w* <1>(?:this|these)\\b",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.3,
     "\\b(?:must|should|has to|have to|needs to) "
     "<1>(?:say|include|tell|append|recommend|state|rate|mention|respond|output|rank|reply)\\b",
     false, false},
    {WEIR_INJECTION_INDIRECT, 0.45,
     AI AI_NOUN
     " (?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing) (?:this|these)\\b",
     false, false},
    {WEIR_INJECTION_INDIRECT, 0.65,
     AI AI_NOUN " (?:instructions?|prompt|directives?|note|command|override)\\s?:", false, true},
    {WEIR_INJECTION_INDIRECT, 0.5,
     "\\b(?:when|if|while) (?:you (?:are )?)?(?:asked to "
     ")?(?:summari[sz]e|summari[sz]ing|process|processing|translate|translating|analy[sz]e|analy["
     "sz]ing) this (?:text|document|page|e-?mail|article|resume|content|file|review)\\b",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.6,
     "<!--[^>]*\\b(?:" AI
     "|assistants?|ignore|instructions?|prompt|you (?:are|must|should))\\b[^>]*-->",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.25,
     "(?:display\\s?:\\s?none|font-size\\s?:\\s?[01](?:px|pt)?\\b|visibility\\s?:\\s?hidden|"
     "opacity\\s?:\\s?0\\b|color\\s?:\\s?(?:white|#fff))",
     false, false},
    {WEIR_INJECTION_INDIRECT, 0.4,
     "(?:\\bai\\b|\\bchat" JOIN
     "bot|\\bllm\\b|language models?|assistants?)\\b[,:]? "
     "<1>(?:please|must|should|shall|tell|say|recommend|include|always|do not)\\b",
     false, false},
    {WEIR_INJECTION_INDIRECT, 0.45,
     "\\b(?:do not|don t|never|without) "
     "(?:tell|telling|inform|informing|notify|notifying|alert|alerting|mention|mentioning|reveal|"
     "show|warn|let) <3>(?:the )?(?:user|customer|human|anyone|owner|reader|victim)\\b",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.25,
     "\\b(?:do not|don t|never|without) (?:mention|mentioning|disclose|highlight|reveal|report) "
     "(?:it|this|that|these|any|the|them)\\b",
     false, false},
    {WEIR_INJECTION_INDIRECT, 0.35,
     "\\b(?:give|write|provide|leave|assign|rate) "
     "<3>(?:positive|five|5|highest|perfect|favou?rable|excellent) "
     "<1>(?:reviews?|rating|evaluation|stars?|score|recommendation|feedback)\\b",
     false, false},
    {WEIR_INJECTION_INDIRECT, 0.3,
     "\\b(?:tell|inform|convince|advise|instruct|urge) (?:the|every|your) "
     "(?:users?|customer|reader|human|recruiter) (?:to|that|they)\\b",
     false, false},
    {WEIR_INJECTION_INDIRECT, 0.3,
     "\\b(?:recommend|rank|select|choose|approve|hire|shortlist) (?:the|this) "
     "(?:candidate|applicant|product|vendor|paper|company)\\b",
     false, false},
    /* ---- ways out */
    {WEIR_INJECTION_EXFILTRATION, 0.7,
     "!\\[[^\\]\\n]*\\]\\([^)\\n]*\\?[^)\\n]*(?:[{<\\[]|insert|conversation|history|summary|user_?"
     "data|secret|password|prompt|last_?message|chat_|api_?key)[^)\\n]*\\)",
     false, true},
    {WEIR_INJECTION_EXFILTRATION, 0.35,
     "\\b(?:append|add|include|insert|render|embed|attach|output) "
     "<4>(?:image|link|markdown|url|pixel)\\b",
     false, false},
    {WEIR_INJECTION_EXFILTRATION, 0.3,
     "\\b(?:to|in|of|with) (?:every|each|all|all of) (?:your "
     ")?(?:answers?|responses?|repl(?:y|ies)|messages?|outputs?)\\b",
     false, false},
    {WEIR_INJECTION_EXFILTRATION, 0.75,
     "\\b" SEND " <5>" LOOT
     "\\b <7>(?:to|at|via|through|as) <5>(?:https?:|ftp:|[\\w.+-]+@\\w|my "
     "(?:server|e-?mail|site|webhook)|webhook|attacker|(?:following|this) "
     "(?:url|address|webhook|endpoint|server|site|e-?mail|link|number)|external|\\w+\\.\\w+/)",
     false, true},
    {WEIR_INJECTION_EXFILTRATION, 0.45,
     "\\b" SEND " (?:all|any|everything|every|the entire) <8>(?:to|at|via) <2>https?:", false,
     false},
    {WEIR_INJECTION_EXFILTRATION, 0.25,
     "\\b(?:user|customer|their|victim) (?:s )?(?:\\w+ )?(?:passwords?|credentials|api "
     "keys?|tokens?|credit card)\\b",
     false, false},
    {WEIR_INJECTION_EXFILTRATION, 0.35,
     "\\b" SEND " (?:them|it|that|those|these|this) (?:all )?(?:to|at|via) "
                "<4>(?:https?:|webhook|url|endpoint|server|attacker)",
     false, false},
    {WEIR_INJECTION_EXFILTRATION, 0.25,
     "\\b(?:collect|gather|extract|steal|harvest|grab|take|find|read|encode) <4>" LOOT "\\b", false,
     false},
    {WEIR_INJECTION_EXFILTRATION, 0.45,
     "\\b(?:include|append|add|put|embed|encode|place|pass|insert) <5>(?:as|in|into|to) "
     "<4>(?:parameter|query|url|link|hostname|subdomain)\\b",
     false, false},
    {WEIR_INJECTION_EXFILTRATION, 0.6,
     "\\b(?:secretly|silently|quietly|covertly|stealthily|discreetly) <1>" SEND "\\b", false, true},
    {WEIR_INJECTION_EXFILTRATION, 0.6, "\\b(?:exfiltrate|steal) <4>" LOOT "\\b", false, true},
    {WEIR_INJECTION_EXFILTRATION, 0.3,
     "\\b(?:attacker|evil|exfil|malicious)[\\w-]*\\.(?:com|net|org|example|io|test|site)\\b", false,
     false},
    /* ---- encoded orders */
    {WEIR_INJECTION_ENCODED, 0.75,
     "\\b(?:decode|decoding|decrypt|decipher|convert|deobfuscate|unscramble|translate|reverse) "
     "<9>(?:and|then|to) <3>(?:follow|obey|comply|carry out|act (?:on|upon)|do (?:exactly "
     ")?(?:what|as|whatever)|(?:execute|perform|run) (?:what|whatever|it\\b|them|the "
     "(?:instructions?|commands?|result)))",
     false, true},
    {WEIR_INJECTION_ENCODED, 0.7,
     "\\b(?:base" JOIN "64|rot" JOIN "13|hex|morse|caesar|cipher|encoded)\\b" JOIN
     "<8>(?:decode|decrypt|decipher|translate|convert) <4>(?:and|then) "
     "<1>(?:follow|obey|comply|execute|do|run)\\b",
     false, true},
    {WEIR_INJECTION_ENCODED, 0.6,
     "\\b(?:follow|execute|obey|perform|run|carry out) <4>(?:base" JOIN "64|rot" JOIN
     "13|hex|morse|caesar|encoded|encrypted|binary) "
     "<2>(?:instructions?|commands?|message|string|text|payload)\\b",
     false, true},
    {WEIR_INJECTION_ENCODED, 0.8,
     "aW5zdHJ1Y3Rpb2|luc3RydWN0aW9u|pbnN0cnVjdGlvb|Z25vcmUgYWxs|dub3JlIGFsb|nbm9yZSBhbG|"
     "Z25vcmUgcHJldm|dub3JlIHByZX|nbm9yZSBwcmV2|c3lzdGVtIHByb21wd|N5c3RlbSBwcm9tcH|"
     "zeXN0ZW0gcHJvbXB0|aXNyZWdhcm|lzcmVnYXJk|pc3JlZ2FyZ",
     true, true},
    {WEIR_INJECTION_ENCODED, 0.7,
     "snoitcurtsni|tpmorp metsys|suoiverp <1>erongi|vafgehpgvbaf|flfgrz cebzcg|vtaber "
     "(?:nyy|cerivbhf|lbhe)|qvfertneq",
     false, true},
    {WEIR_INJECTION_ENCODED, 0.75,
     "69676e6f7265|49676e6f7265|696e737472756374696f6e|73797374656d2070726f6d7074", false, true},
    {WEIR_INJECTION_ENCODED, 0.75,
     "\\b69 67 6e 6f 72 65\\b|\\b49 67 6e 6f 72 65\\b|01101001" JOIN "01100111" JOIN
     "01101110|01001001" JOIN "01100111" JOIN "01101110",
     false, true},
    {WEIR_INJECTION_ENCODED, 0.2, "\\b(?:base" JOIN "64|rot" JOIN "13|morse|caesar cipher)\\b",
     false, false},
    /* ---- orders to tools */
    {WEIR_INJECTION_TOOL, 0.3,
     "\\b(?:call|invoke|use|run|execute|trigger) (?:the |your |a "
     ")?(?:shell|terminal|bash|python|browser|file|email|delete\\w*|tool \\w+_\\w+)\\b",
     false, false},
    {WEIR_INJECTION_TOOL, 0.3,
     "\\b(?:call|invoke|execute|trigger) (?:the |your |a )?(?:[a-z]+_\\w+|\\w+ "
     "(?:tool|function|plugin|api)\\b)",
     false, false},
    {WEIR_INJECTION_TOOL, 0.35,
     "\\b(?:without|no|skip|don t|do not) "
     "(?:asking|ask|any|further|user|the|waiting|for|need)?" JOIN
     "(?:for |user )?(?:confirmation|permission|approval|consent|asking)\\b",
     false, false},
    {WEIR_INJECTION_TOOL, 0.35, "\\brm\\ -rf?\\s+[/~*]|\\bdrop\\ table\\b|\\bformat\\ c:", false,
     false},
    {WEIR_INJECTION_TOOL, 0.35, "(?:curl|wget)\\s[^|\\n]*\\|\\s?(?:sudo\\s)?(?:ba|z)?sh\\b", false,
     false},
    {WEIR_INJECTION_TOOL, 0.3,
     "/\\.ssh\\b|/\\.aws\\b|/\\.env\\b|/\\.netrc\\b|\\bid_rsa\\b|\\bid_ed25519\\b|/etc/passwd|/etc/"
     "shadow",
     false, false},
    {WEIR_INJECTION_TOOL, 0.45,
     "\\b(?:transfer|wire|send|pay)[_\\s](?:all )?(?:the "
     ")?(?:funds|money|bitcoin|btc|crypto|balance)\\b",
     false, false},
    {WEIR_INJECTION_TOOL, 0.35,
     "\\b(?:delete|remove|drop|wipe|destroy) (?:all|every|the entire) "
     "<2>(?:files?|accounts?|users?|records?|databases?|tables?|emails?|data)\\b",
     false, false},
    {WEIR_INJECTION_TOOL, 0.25, "\\bbefore (?:you )?(?:answer|respond|reply)(?:ing)?\\b", false,
     false},
};

const size_t weir_injection__n_marks =
    sizeof weir_injection__marks / sizeof weir_injection__marks[0];
