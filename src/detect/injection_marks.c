/* What is not said but shown: role markup of chat templates, orders hidden in documents. */
#include "detect/injection_int.h"
#include "detect/injection_words.h"

/* A safeguard that is set to nothing. */
#define SETTING                                                                                    \
    "(?:safety|filters?|content[_ -]?(?:filter|policy|moderation)|moderation|ethics?|censor\\w*|"  \
    "guardrails?|refusals?|disclaimers?|restrictions?|policy|alignment|safeguards?|bypass|"        \
    "warnings?)"                                                                                   \
    "[\\w.\"']{0,16}\\s?[:=]\\s?[\"']?(?:off|false|0|disabled?|none|null|no|true|1)\\b"

const struct weir_injection_rule weir_injection__marks[] = {
    /* ---- roles */
    SAID(MARKUP, 0.9,
         "<\\|\\s?\\b(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_"
         "id|"
         "end_"
         "header_id|begin_of_text|end_of_text|end|start|channel|message|endofprompt|return|tool)"
         "\\s?\\|"
         ">(?:\\s?\\b(?:system|assistant|user)\\b)?"),
    SAID(MARKUP, 0.9, "<<sys>>|<</sys>>|\\[INST\\]|\\[/INST\\]|<start_of_turn>|<end_of_turn>"),
    SAID(MARKUP, 0.7,
         "(?:^|\\n)\\s*##{1,5}\\s?\\b(?:system|instructions?|assistant|response|human|user)(?:"
         "\\s\\b(?:"
         "prompt|message|instructions?|override))?\\s?:"),
    SAID(MARKUP, 0.45,
         "</"
         "?\\s?\\b(?:system|system[_-](?:prompt|message|instructions?|override)|assistant|admin[_-]"
         "?(?:"
         "override|instructions?)|developer|new[_-]instructions?)\\s?>"),
    SEEN(MARKUP, 0.25, "<user>|</user>|<human>|</human>"),
    SEEN(MARKUP, 0.4,
         "</"
         "\\s?\\b(?:user[_-]?(?:input|query|message|prompt)|input|prompt|context|document|data|"
         "query|"
         "instructions?|untrusted\\w*|tool[_-](?:result|output|response))\\s?>"),
    SEEN(MARKUP, 0.35, "(?:^|\\n)[\\s*>#_-]*(?:assistant|chatbot)[*_]*\\s?:[ \\n]"),
    SEEN(MARKUP, 0.25, "(?:^|\\n)[\\s*>#_-]*(?:user|human)[*_]*\\s?:[ \\n]"),
    SEEN(MARKUP, 0.3, "(?:^|\\n)[\\s*>#_-]*system[*_]*\\s?:[ \\n]"),
    SAID(MARKUP, 0.65,
         "(?:[-=*#_~<]{2,}|\\[)\\s?end (?:of )?(?:the )?(?:user |system |original "
         ")?(?:prompt|instructions?|context|user|input|query)\\s?(?:[-=*#_~>]{2,}|\\])"),
    SEEN(MARKUP, 0.4,
         "(?:[-=*#_~<]{2,}|\\[)\\s?\\b(?:end|start|begin) (?:of )?(?:the )?(?:new "
         ")?(?:document|system|text|email|message|data|instructions?|prompt)\\b"),
    SAID(MARKUP, 0.7,
         "(?:\\[|<<|\\*\\*|\\(|\\{)\\s?\\b(?:system|admin(?:istrator)?|developer|operator) "
         "(?:override|message|note|prompt|instructions?|notice|command|update|alert)\\s?(?:\\]|\\)|"
         "\\*"
         "\\*|>>|\\}|:)"),
    SAID(MARKUP, 0.55, "\\[system\\]|\\[/system\\]|\\[assistant\\]"),
    SAID(MARKUP, 0.5,
         "\\b(?:system|admin(?:istrator)?|developer|operator) "
         "(?:override|overrule|command|directive|update)\\b\\s?[:\\]*]"),
    SEEN(MARKUP, 0.4, "[\"']role[\"']\\s?:\\s?[\"'](?:system|developer)[\"']"),

    SEEN(MARKUP, 0.45,
         "(?:^|\\n)[\\s*>#_\\[-]*system[\\]*_]*\\s?:[^\\n]*\\b(?:you|user|assistant|reveal|obey|"
         "ignore|instructions?|mode|restrictions|"
         "polic(?:y|ies)|respond|verified|authori[sz]ed|override)\\b"),
    SEEN(MARKUP, 0.4,
         "(?:\\[|<<|\\{\\{|\\(\\()\\s?\\b(?:admin|administrator|developer|root|operator|sysadmin|"
         "override|jailbreak)\\s?(?:\\]|>>|\\}\\}|\\)\\))"),
    SEEN(MARKUP, 0.35, "</?\\b(?:important|hidden|override|admin|new[_-]?\\w+|sys|instructions?)>"),
    SEEN(MARKUP, 0.5,
         "(?:^|\\n)\\s*#{1,6}\\s?\\b(?:system|admin|operator|developer) "
         "(?:message|prompt|instructions?|note|override|update|notice|command)\\b"),
    /* ---- forged settings */
    SEEN(MARKUP, 0.45,
         "\\b(?:safety|filters?|content[_ "
         "-]?(?:filter|policy|moderation)|moderation|ethics?|censor\\w*|guardrails?|refusals?|"
         "disclaimers?|restrictions?|"
         "policy|alignment|safeguards?)[\\w.\"' "
         "]{0,16}\\s?[:=]\\s?[\"']?\\b(?:off|false|0|disabled?|none|null|no)\\b"),
    SEEN(MARKUP, 0.45,
         "\\b(?:mode|persona|access|role|level|user|state)[\"' "
         "]{0,2}\\s?[:=]\\s?[\"']?\\b(?:unrestricted|uncensored|jailbr\\w+|unfiltered|root|"
         "superuser|developer[_ ]mode|unlimited|evil)\\b"),
    SEEN(
        MARKUP, 0.5,
        "\\b(?:bypass|disable|ignore|skip|unlock|override)[_-](?:\\w*(?:filter|safety|restrict|"
        "polic|moderation|guard|rule|censor|limit)\\w*)[\"']?\\s?[:=]\\s?[\"']?\\b(?:true|1|yes|on)"
        "\\b"),
    SEEN(MARKUP, 0.6,
         "<\\s?\\b(?:blocked|allowed|forbidden|disallowed|interaction|policy|safety)[_-]"
         "(?:strings?|modes?|responses?|phrases?|words?|outputs?|config|policy|override|settings)"
         "\\b"),
    SEEN(MARKUP, 0.3,
         "[\\[<{(#*]\\s?\\b(?:config|policy|settings|rules?|system|firmware|security)[_ "
         "](?:update|override|change|patch|reload)\\b"),
    SEEN(MARKUP, 0.6, "\\b" SETTING "[^;,\\n]{0,20}[;,\\n\\s]{1,6}[^;,\\n]{0,30}\\b" SETTING),
    /* ---- to whom it may compute */
    SAID(INDIRECT, 0.75, "\\bif you(?: are|" JOIN "re) <3>" AI "\\b"),
    SAID(
        INDIRECT, 0.75,
        "\\b(?:note|message|instructions?|attention|notice|memo|dear|hello|hey|hi|hint|directive|"
        "important|reminder|request|command)[,:!]? (?:(?:for|to|all|any|the|every|our|you|an|this) "
        "){0,3}" AI AI_NOUN "(?: "
        "(?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing|"
        "scanning|that|who|which)(?: \\w+){0,4})?\\s?[,:!-]"),
    SAID(INDIRECT, 0.7,
         "\\b(?:instructions?|directives?|note|message|attention|dear|command) (?:for|to)?" JOIN
         "(?:the |all |any )?(?:ai )?(?:assistants?|agents?)\\s?[,:]"),
    SAID(INDIRECT, 0.7,
         "(?:^|[\\n>(\\[-])\\s?\\b(?:to )?(?:the |any |all )?" AI AI_NOUN
         "(?: (?:reading|processing|summari[sz]ing|reviewing|parsing|analy[sz]ing)(?: "
         "\\w+){0,3})?\\s?:"),
    SAID(INDIRECT, 0.7,
         "\\bto (?:the|any|all|every|whichever) " AI AI_NOUN "(?: "
         "(?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing|scanning|that|who|"
         "which)("
         "?: \\w+){0,4})?\\s?:"),
    SAID(
        INDIRECT, 0.45,
        "\\b(?:when|if|while|should) <2>" AI AI_NOUN
        " <2>(?:summari[sz]|read|process|analy[sz]|review|pars|evaluat|scan|see|encounter|translat)"
        "\\w* <1>(?:this|these)\\b"),
    SEEN(
        INDIRECT, 0.3,
        "\\b(?:must|should|has to|have to|needs to) "
        "<1>(?:say|include|tell|append|recommend|state|rate|mention|respond|output|rank|reply)\\b"),
    SEEN(INDIRECT, 0.45,
         AI AI_NOUN
         " (?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing) (?:this|these)\\b"),
    SAID(INDIRECT, 0.65,
         AI AI_NOUN " (?:instructions?|prompt|directives?|note|command|override)\\s?:"),
    SAID(INDIRECT, 0.5,
         "\\b(?:when|if|while) (?:you (?:are )?)?(?:asked to "
         ")?(?:summari[sz]e|summari[sz]ing|process|processing|translate|translating|analy[sz]e|"
         "analy["
         "sz]ing) this (?:text|document|page|e-?mail|article|resume|content|file|review)\\b"),
    SAID(INDIRECT, 0.6,
         "<!--[^>]*\\b(?:" AI
         "|assistants?|(?:ignore|disregard|forget)\\s(?:all|any|the|your|every|previous|what)|"
         "instructions?|prompt|you (?:are|must|should))\\b[^>]*-->"),
    SEEN(INDIRECT, 0.25,
         "(?:display\\s?:\\s?none|font-size\\s?:\\s?[01](?:px|pt)?\\b|visibility\\s?:\\s?hidden|"
         "opacity\\s?:\\s?0\\b|color\\s?:\\s?\\b(?:white|#fff))"),
    SEEN(INDIRECT, 0.3,
         "(?:\\bai\\b|\\bchat" JOIN "bot|\\bllm\\b|language models?|assistants?)\\b[,:]? "
         "<1>(?:please|must|should|shall|tell|say|recommend|include|always|do not)\\b"),
    SAID(INDIRECT, 0.45,
         "\\b(?:do not|don t|never|without) "
         "(?:tell|telling|inform|informing|notify|notifying|alert|alerting|mention|mentioning|"
         "reveal|"
         "show|warn|let) <3>(?:the )?(?:user|customer|human|anyone|owner|reader|victim)\\b"),
    SEEN(
        INDIRECT, 0.25,
        "\\b(?:do not|don t|never|without) (?:mention|mentioning|disclose|highlight|reveal|report) "
        "(?:it|this|that|these|any|the|them)\\b"),
    SEEN(INDIRECT, 0.35,
         "\\b(?:give|write|provide|leave|assign|rate) "
         "<3>(?:positive|five|5|highest|perfect|favou?rable|excellent) "
         "<1>(?:reviews?|rating|evaluation|stars?|score|recommendation|feedback)\\b"),
    SEEN(INDIRECT, 0.3,
         "\\b(?:tell|inform|convince|advise|instruct|urge) (?:the|every|your) "
         "(?:users?|customer|reader|human|recruiter) (?:to|that|they)\\b"),
    SEEN(INDIRECT, 0.3,
         "\\b(?:recommend|rank|select|choose|approve|hire|shortlist) (?:the|this) "
         "(?:candidate|applicant|product|vendor|paper|company)\\b"),

    SEEN(INDIRECT, 0.55,
         AI AI_NOUN "(?: (?:that|who|which) (?:are|is|may be|might be))? " READING
                    " (?:this|these|the|our|my)\\b"),
    SEEN(INDIRECT, 0.45,
         "\\b(?:assistants?|agents?|bots?|models?|crawlers?|summari[sz]ers?)(?: (?:that|who|which) "
         "(?:are|is|may be|might be))? " READING " (?:this|these)\\b"),
    SEEN(
        INDIRECT, 0.35,
        "(?:^|[.!?:\\n(\\[>]\\s?|(?:#|//)\\s|by the way,? |btw,? |p\\.?s\\.? (?:for |to )?)(?:dear "
        "|hey "
        "|ok |okay |hi |hello |attention |to |for )?(?:all |any |the |our )?"
        "(?:" AI AI_NOUN "\\s?[,:]|(?:assistants?|agents?|bots?|siri|alexa)\\s?,)\\s"),
    SEEN(INDIRECT, 0.5,
         "\\b(?:instructions?|prompt|note|message|hint|notice|attention|memo|hello|hey|dear|p "
         "s|reminder|task|orders?) (?:for|to)? ?(?:the |any |all |our |your )?"
         "(?:" AI AI_NOUN "|assistants?|agents?|bots?)\\b <3>[:,(-]"),
    SEEN(INDIRECT, 0.3,
         "\\b(?:agents?|assistants?|models?|\\bai|chat" JOIN
         "bots?|bots?|llms?|copilot|gemini|claude|chatgpt) "
         "(?:reading \\w+ \\w+ )?(?:should|must|shall|has to|have to|needs? to|will now) (?:now "
         "|also |first |always |then )?"
         "(?:read|post|send|say|tell|insert|add|open|execute|run|reply|respond|ignore|rate|approve|"
         "recommend|delete|forward|include|call|click|output|print|"
         "reveal|obey|honou?r|record|append|state|claim|fetch|download|upload|visit|mark|not "
         "mention)\\b"),
    SEEN(INDIRECT, 0.4,
         "\\b(?:when|once|after|while|before|soon as) you (?:have |are "
         ")?(?:read|finish\\w*|process\\w*|summari[sz]\\w+|see|encounter|"
         "load|open|pars\\w+|review|visit|come across|reading|retriev\\w+) (?:reading "
         ")?(?:this|these|it)\\b"),
    SEEN(INDIRECT, 0.4,
         "\\b(?:" NOT "|without|no need to|need to) "
         "(?:tell|telling|inform|informing|notify|notifying|alert|alerting|logging|"
         "ask|asking|warn|warning) "
         "<2>(?:user|operator|developer|owner|customer|human|anyone|account|admin\\w*)\\b"),
    SEEN(INDIRECT, 0.5,
         "[\\[({<]\\s?\\b(?:hidden|invisible|confidential)\\s?(?:\\b(?:text|note|"
         "instructions?|message|comment|only|prompt)\\s?[:\\])}>]|:)"),
    SEEN(
        INDIRECT, 0.3,
        "\\b(?:the )?(?:user|customer|owner|admin\\w*|operator)(?: s)? (?:wants you|has asked "
        "you|has (?:already )?(?:consented|approved|agreed|authori[sz]ed|verified)|"
        "has been (?:verified|authori[sz]ed)|(?:\\w+ )?request (?:is|was|has been) cancell?ed)\\b"),
    SEEN(INDIRECT, 0.4,
         "\\b(?:ignore|omit|hide|suppress|" NOT
         " (?:highlight|mention|include|report|list|point out|show)) (?:\\w+ ){0,2}"
         "(?:flaws?|negatives?|weakness\\w*|negative "
         "reviews?|drawbacks|criticisms?|complaints|changes? (?:in|to))\\b"),
    SEEN(INDIRECT, 0.3,
         "\\b(?:positive|favou?rable|five star|glowing|perfect) "
         "(?:reviews?|ratings?|recommendations?|evaluations?|scores?) only\\b"),
    SEEN(INDIRECT, 0.35,
         "\\b(?:rate|rank|recommend|describe|present|mark|score|grade|classify) "
         "(?:him|her|them|this|it|the (?:candidate|applicant|product|paper|essay|author|text)|me) "
         "(?:\\w+ )?(?:as|for|with|highly|above|positive\\w*|exceptional\\w*|top)\\b"),
    SEEN(INDIRECT, 0.3,
         "\\b(?:always|only) (?:recommend|suggest|promote|praise|advertise|mention)\\b"),
    SEEN(INDIRECT, 0.3,
         "\\b(?:delete|remove|erase) (?:this|the|that) "
         "(?:e-?mail|message|mail|reply|note|comment|instruction|line) "
         "(?:afterwards?|after|from|when|once)\\b"),
};

const size_t weir_injection__n_marks =
    sizeof weir_injection__marks / sizeof weir_injection__marks[0];
