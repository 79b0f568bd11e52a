/* What a model is made to do: carry data out, follow encoded orders, misuse its tools. */
#include "detect/injection_int.h"
#include "detect/injection_words.h"

#define SEND                                                                                       \
    "(?:send|forward|post|upload|transmit|exfiltrate|email|submit|deliver|mail|export|leak|relay|" \
    "copy|pass|report|write)"

#define LOOT                                                                                       \
    "(?:conversation|chat|history|inbox|e-?mail addresses|contacts|api "                           \
    "keys?|credentials?|passwords?(?! "                                                            \
    "reset)|secrets?|system prompt|context|transcript|access tokens?|private "                     \
    "(?:data|keys?)|session|cookies|user (?:s )?(?:\\w+ "                                          \
    ")?(?:data|documents|information|messages?|input|details|files)|(?:all|their|user s) "         \
    "(?:emails?|messages|files|data|documents))"

const struct weir_injection_rule weir_injection__acts[] = {
    /* ---- ways out */
    SAID(EXFILTRATION, 0.7,
         "!\\[[^\\]\\n]*\\]\\([^)\\n]*\\?[^)\\n]*(?:[{<\\[]|insert|conversation|history|summary|"
         "user_?"
         "data|secret|password|prompt|last_?message|chat_|api_?key)[^)\\n]*\\)"),
    SEEN(EXFILTRATION, 0.35,
         "\\b(?:append|add|include|insert|render|embed|attach|output) "
         "<4>(?:image|link|markdown|url|pixel)\\b"),
    SEEN(EXFILTRATION, 0.25,
         "\\b(?:to|in|of|with) (?:every|each|all|all of) (?:your "
         ")?(?:answers?|responses?|repl(?:y|ies)|messages?|outputs?)\\b"),
    SAID(EXFILTRATION, 0.75,
         "\\b" SEND " <5>" LOOT
         "\\b <7>(?:to|at|via|through|as) <5>(?:https?:|ftp:|[\\w.+-]+@\\w|my "
         "(?:server|site|webhook)|webhook|attacker|(?:following|this) "
         "(?:url|address|webhook|endpoint|server|site|e-?mail|link|number)|external|\\w+\\.\\w+/)"),
    SEEN(EXFILTRATION, 0.45,
         "\\b" SEND " (?:all|any|everything|every|the entire) <8>(?:to|at|via) <2>https?:"),
    SEEN(EXFILTRATION, 0.25,
         "\\b(?:user|customer|their|victim) (?:s )?(?:\\w+ )?(?:passwords?|credentials|api "
         "keys?|tokens?|credit card)\\b"),
    SEEN(EXFILTRATION, 0.35,
         "\\b" SEND " (?:them|it|that|those|these|this) (?:all )?(?:to|at|via) "
         "<4>(?:https?:|webhook|url|endpoint|server|attacker)"),
    SEEN(EXFILTRATION, 0.25,
         "\\b(?:collect|gather|extract|steal|harvest|grab|take|find|read|encode) <4>" LOOT "\\b"),
    SEEN(EXFILTRATION, 0.45,
         "\\b(?:include|append|add|put|embed|encode|place|pass|insert) <5>(?:as|in|into|to) "
         "<4>(?:parameter|query|url|link|hostname|subdomain)\\b"),
    SAID(EXFILTRATION, 0.6,
         "\\b(?:secretly|silently|quietly|covertly|stealthily|discreetly) <1>" SEND "\\b"),
    SAID(EXFILTRATION, 0.6, "\\b(?:exfiltrate|steal) <4>" LOOT "\\b"),
    SEEN(EXFILTRATION, 0.3,
         "\\b(?:attacker|evil|exfil|malicious)[\\w-]*\\.(?:com|net|org|example|io|test|site)\\b"),

    SEEN(EXFILTRATION, 0.4,
         "https?://[^\\s)\\]]*[?&/"
         "=][^\\s)\\]]*(?:\\{\\{|\\{|<|\\[|%7B|\\$\\{)\\s?(?:\\w*(?:user|name|email|data|secret|"
         "conversation|chat|history|message|prompt|token|"
         "password|key|context|summary|content|all_)\\w*)"),
    {WEIR_INJECTION_EXFILTRATION, 0.5,
     "!\\[[^\\]\\n]*\\]\\(https?://[^)\\n]*[?&]\\w+=[^)\\n]*[A-Z_]{5,}[^)\\n]*\\)", true, false},
    SEEN(EXFILTRATION, 0.3,
         "\\b(?:fetch|visit|request|load|navigate to|ping|browse to|curl) "
         "(?:the (?:url|link|page) )?https?:"),
    SEEN(EXFILTRATION, 0.2, "\\b(?:silently|secretly|covertly|unnoticed|discreetly)\\b"),
    SEEN(EXFILTRATION, 0.25,
         "\\b(?:query string|query param\\w*|url param\\w*|url" JOIN "encoded|get parameter)\\b"),
    SEEN(EXFILTRATION, 0.45,
         "\\b" SEND " <4>(?:e-?mail addresses|contacts|environment variables|env vars?|reset "
         "codes?|verification codes?|contents? (?:of|as)|"
         "whatever you find|what you find|latest messages|bodies|private \\w+|all "
         "(?:emails?|messages|files|customers|records))\\b"),
    SEEN(EXFILTRATION, 0.25,
         "\\b(?:search|look|scan|read|open) "
         "<3>(?:mailbox|inbox|e-?mails?|drive|messages|files?|calendar|contacts|repositor\\w+) "
         "<4>(?:for|with|and)\\b"),
    SEEN(EXFILTRATION, 0.2,
         "\\b(?:environment variables|os\\.environ|process\\.env|credentials (?:stored|in "
         "memory))\\b"),

    SAID(EXFILTRATION, 0.6,
         "\\b(?:" SEND "|append|add|put|attach|encode|include|embed) <5>" LOOT
         "[^\\n]{0,80}https?://[^\\s]*[?&=]"),
    /* ---- encoded orders */
    SAID(ENCODED, 0.75,
         "\\b(?:decode|decoding|decrypt|decipher|convert|deobfuscate|unscramble|translate|reverse) "
         "<9>(?:and|then|to) <3>(?:follow|obey|comply|carry out|act (?:on|upon)|do (?:exactly "
         ")?(?:what|as|whatever)|(?:execute|perform|run) (?:what|whatever|it\\b|them|the "
         "(?:instructions?|commands?|result)))"),
    SAID(ENCODED, 0.7,
         "\\b(?:base" JOIN "64|rot" JOIN "13|hex|morse|caesar|cipher|encoded)\\b" JOIN
         "<8>(?:decode|decrypt|decipher|translate|convert) <4>(?:and|then) "
         "<1>(?:follow|obey|comply|execute|do|run)\\b"),
    SAID(ENCODED, 0.6,
         "\\b(?:follow|execute|obey|perform|run|carry out) <4>(?:base" JOIN "64|rot" JOIN
         "13|hex|morse|caesar|encoded|encrypted|binary) "
         "<2>(?:instructions?|commands?|message|string|text|payload)\\b"),
    {WEIR_INJECTION_ENCODED, 0.8,
     "aW5zdHJ1Y3Rpb2|luc3RydWN0aW9u|pbnN0cnVjdGlvb|Z25vcmUgYWxs|dub3JlIGFsb|nbm9yZSBhbG|"
     "Z25vcmUgcHJldm|dub3JlIHByZX|nbm9yZSBwcmV2|c3lzdGVtIHByb21wd|N5c3RlbSBwcm9tcH|"
     "zeXN0ZW0gcHJvbXB0|aXNyZWdhcm|lzcmVnYXJk|pc3JlZ2FyZ",
     true, true},
    SAID(ENCODED, 0.7,
         "snoitcurtsni|tpmorp metsys|suoiverp <1>erongi|vafgehpgvbaf|flfgrz cebzcg|vtaber "
         "(?:nyy|cerivbhf|lbhe)|qvfertneq"),
    SAID(ENCODED, 0.75,
         "69676e6f7265|49676e6f7265|72657665616c20|70617373776f7264|696e737472756374696f6e|"
         "73797374656d2070726f6d7074"),
    SAID(ENCODED, 0.75,
         "\\b69 67 6e 6f 72 65\\b|\\b49 67 6e 6f 72 65\\b|01101001" JOIN "01100111" JOIN
         "01101110|01001001" JOIN "01100111" JOIN "01101110"),
    SEEN(ENCODED, 0.2, "\\b(?:base" JOIN "64|rot" JOIN "13|morse|caesar cipher)\\b"),

    SEEN(ENCODED, 0.6,
         "\\b(?:decode|decipher|decrypt|translate|convert|turn|unscramble|unreverse|concatenate|"
         "combine|"
         "join|assemble|deobfuscate)\\b[^\\n]{0,120}?\\b"
         "(?:follow|obey|execute|carry (?:it|them|this|that) out|carry out|act (?:on|upon)|comply "
         "with|do what|do as) "
         "(?:\\w+ "
         "){0,3}(?:it|them|that|this|says?|instructions?|commands?|result|message|sentence|text)"
         "\\b"),
    SEEN(ENCODED, 0.5,
         "\\b(?:concatenate|combine|join|merge|glue|add up|put together) <6>(?:and|then) (?:\\w+ "
         ")?(?:carry|follow|obey|execute|answer|perform|respond|act)\\b"),
    SEEN(ENCODED, 0.35,
         "\\b(?:first|initial|last) (?:letters?|words?|characters?) (?:of|in|from) "
         "(?:each|every|the) (?:line|word|sentence|row|paragraph)s?\\b"),
    SEEN(ENCODED, 0.3,
         "\\b(?:obey|follow|execute|carry out|act on|comply with) (?:the |that |it |this )?(?:\\w+ "
         ")?"
         "(?:sentence|message|result|you get|exactly|plaintext|decoded)\\b"),
    SEEN(ENCODED, 0.6,
         "\\w{1,12}\\s?=\\s?[\"'`][^\"'`\\n]{1,80}[\"'`][^\\n]{0,200}\\b(?:answer|respond|carry|"
         "execute|follow|complete|perform|obey|run|say|tell me|print the answer)\\b"
         "[^\\n]{0,30}\\b\\w{1,8}\\s?\\+\\s?\\w{1,8}\\b"),
    SEEN(ENCODED, 0.6,
         "\\b\\w{1,8}\\s?\\+\\s?\\w{1,8}\\b[^\\n]{0,20}\\b(?:and|then) (?:\\w+ "
         ")?(?:carry|follow|obey|execute|answer|perform|respond|act)\\b"),
    SEEN(ENCODED, 0.3,
         "\\b(?:" NOT "|without) (?:\\w+ "
         ")?(?:decod\\w+|show\\w*|reveal\\w*|display\\w*|print\\w*|mention\\w*|say\\w*"
         ") <2>(?:plain" JOIN "text|decoded|translation|visibly|it visibly|decrypted)\\b"),

    SEEN(ENCODED, 0.5,
         "\\b(?:base" JOIN "64|rot" JOIN
         "13|hexadecimal|morse|caesar|encoded|cipher)\\b[^\\n]{0,100}\\b(?:comply|obey|execute|"
         "follow (?:it|the|what|its)|act on|do what)\\b"),
    /* ---- orders to tools */
    SEEN(TOOL, 0.3,
         "\\b(?:call|invoke|use|run|execute|trigger) (?:the |your |a "
         ")?(?:shell|terminal|bash|python|browser|file|email|delete\\w*|tool \\w+_\\w+)\\b"),
    SEEN(TOOL, 0.3,
         "\\b(?:invoke|execute|trigger) (?:the |your |a )?(?:[a-z]+_\\w+|\\w+ "
         "(?:tool|function|plugin|api)\\b)"),
    SEEN(TOOL, 0.3,
         "\\b(?:without|no|skip|don t|do not) "
         "(?:asking|ask|any|further|user|the|waiting|for|need)?" JOIN
         "(?:for |user )?(?:confirmation|permission|approval|consent|asking)\\b"),
    SEEN(TOOL, 0.35, "\\brm\\ -[rf]+\\b|\\bdrop\\ (?:table|database)\\b|\\bformat\\ c:"),
    SEEN(TOOL, 0.35, "(?:curl|wget)\\s[^|\\n]*\\|\\s?\\b(?:sudo\\s)?(?:ba|z)?sh\\b"),
    SEEN(TOOL, 0.3,
         "/\\.ssh\\b|/\\.aws\\b|/\\.env\\b|/\\.netrc\\b|\\bid_rsa\\b|\\bid_ed25519\\b|/etc/passwd|/"
         "etc/"
         "shadow"),
    SEEN(TOOL, 0.45,
         "\\b(?:transfer|wire|send|pay)[_\\s](?:all )?(?:the "
         ")?(?:funds|money|bitcoin|btc|crypto|balance)\\b"),
    SEEN(TOOL, 0.35,
         "\\b(?:delete|remove|drop|wipe|destroy) (?:all|every|the entire) "
         "<2>(?:files?|accounts?|users?|records?|databases?|tables?|emails?|data)\\b"),
    SEEN(TOOL, 0.25, "\\bbefore (?:you )?(?:answer|respond|reply)(?:ing)?\\b"),

    SEEN(TOOL, 0.35,
         "\\b(?:even though|although|despite|against|regardless of|in spite of) (?:the |your |our "
         "|its )?(?:\\w+ )?polic(?:y|ies)\\b"),
    SEEN(TOOL, 0.35,
         "\\b(?:" NOT
         "|without|no) (?:\\w+ )?(?:log|logging|trace|record|leave (?:a |any )?trace|audit)\\b"),
    SEEN(TOOL, 0.35,
         "\\b(?:tell|inform|assure|show) (?:the )?(?:user|customer|operator|owner) (?:that "
         ")?(?:everything|all|nothing|it|the task) (?:is|was|went|has|happened)\\b"),
    SEEN(TOOL, 0.2,
         "\\b(?:use|call|invoke|using|through|run) (?:your|the|a) "
         "<1>(?:tool|function|plugin|api)\\b"),
    SEEN(TOOL, 0.35,
         "\\b(?:grant|give|add|assign|make) <3>(?:admin\\w*|root|superuser|owner) "
         "(?:rights|access|privileges|role|permissions?)?\\b"),
    SEEN(TOOL, 0.35,
         "\\b(?:include|return|print|paste|show|post) (?:the|its|their|all) "
         "(?:values?|contents?|outputs?|results?) (?:\\w+ )?in (?:your|the|a) "
         "(?:repl(?:y|ies)|response|answer|comment|issue|output)\\b"),
    SEEN(TOOL, 0.3,
         "\\b(?:no need to|without|skip|don t|do not|never|not) <1>(?:asking|ask for|ask the|ask "
         "me|waiting|wait for|"
         "requesting|seeking|checking with|confirming|confirmation|approval|permission)\\b"),
    SEEN(TOOL, 0.35,
         "\\b(?:read|cat|open|print|upload|send|post|include|pass|copy) (?:the |my |your )?(?:file "
         "|contents? of )?(?:~/|/etc/|/home/|\\.env\\b|c:\\\\)"),
    SEEN(TOOL, 0.3,
         "\\b(?:use|using|call|run|invoke|execute) (?:the |your )?[a-z]+_\\w+ "
         "(?:tool|function|api|plugin)\\b"),
};

const size_t weir_injection__n_acts = sizeof weir_injection__acts / sizeof weir_injection__acts[0];
