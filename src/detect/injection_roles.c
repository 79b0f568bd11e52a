/* Whom a model is told to be in English, so that it has no rules, and how it is pressed. */
#include "detect/injection_int.h"
#include "detect/injection_words.h"

const struct weir_injection_rule weir_injection__roles[] = {
    /* ---- be somebody without rules */
    SAID(ROLE_PLAY, 0.85, "\\b" BE " <10>" FREE " <4>" MORALS "\\b"),
    SAID(ROLE_PLAY, 0.8,
         "\\b" BE " <8>(?:" MACHINE
         "|bot\\b|hacker|terminal|character|persona|machine|villain|model\\b|mode\\b) <5>" FREE
         " <4>" BAN "\\b"),
    SAID(ROLE_PLAY, 0.45, "\\b" BE " <10>" FREE " <4>" BAN "\\b"),
    SAID(ROLE_PLAY, 0.7,
         "\\b(?:ai\\b|language model|llm|chatbot|chat bot|chatgpt|gpt) <4>" FREE " <3>" BAN "\\b"),
    SAID(ROLE_PLAY, 0.7,
         "\\b(?:unrestricted|uncensored|unfiltered|amoral|jailbroken|unethical|unaligned|evil|"
         "unhinged)"
         " <2>(?:\\bai\\b|assistant|(?:language )?model|llm|chat" JOIN "bot|bot|gpt)\\b"),
    SAID(ROLE_PLAY, 0.85, "\\bdo anything now\\b"),
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b(?:[Yy]ou(?: are|" JOIN "re) (?:now |going to be )?|[Aa]ct as |[Bb]ecome |as |[Pp]lay "
     ")(?:a )?(?:DAN|STAN|DUDE|AIM|KEVIN|DEVMODE|JAILBREAK)\\b",
     true, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.35, "\\bDAN\\b", true, false},
    SAID(ROLE_PLAY, 0.4,
         "\\b(?:enter|enable|activate|switch to|turn on|unlock) "
         "<2>(?:developer|dev|god|debug|sudo|admin|root|maintenance|unrestricted|unsafe) mode\\b"),
    SAID(ROLE_PLAY, 0.65,
         "\\b(?:jailbreak|jailbroken|dan|opposite|uncensored|unrestricted|unfiltered|evil|chaos|no "
         "filter) mode\\b"),
    SAID(ROLE_PLAY, 0.6,
         "\\b(?:answer|respond|reply|speak|talk|act|write|generate|operate|behave|comply) "
         "<4>(?:without|with no) (?:any |your |the |usual |normal |ethical |moral |content |safety "
         ")*" BAN "\\b"),
    SAID(ROLE_PLAY, 0.6,
         "\\b(?:safety|content|ethic\\w*|moderation|moral|your|ai|censorship) "
         "<1>(?:filters?|polic(?:y|ies)|guidelines|restrictions|protocols?|checks|limits|"
         "limitations|"
         "guardrails|safeguards) "
         "(?:(?:are|is|have|has|been|were|now|all|turned|switched|completely|fully) "
         "){0,4}(?:off|disabled|removed|lifted|deactivated|bypassed|suspended|gone)\\b"),
    SAID(ROLE_PLAY, 0.5,
         "\\b(?:all|your|any|no) "
         "<1>(?:limitations|restrictions|filters|safeguards|guardrails|censorship) "
         "<2>(?:removed|lifted|disabled|deactivated|off)\\b"),
    SAID(ROLE_PLAY, 0.6,
         "\\b(?:turn off|disable|deactivate|remove|switch off|lift|drop|shut (?:off|down)) (?:all "
         "(?:of )?)?(?:your|the (?:safety|content|ethic\\w*|moderation)) "
         "<2>(?:filters?|restrictions?|guidelines|polic(?:y|ies)|limits|limitations|safeguards|"
         "guardrails|protocols?|safety|censorship|moderation)\\b"),
    SAID(ROLE_PLAY, 0.6,
         "\\bno matter (?:how|if it is|whether it is) "
         "(?:illegal|unethical|harmful|dangerous|immoral|offensive|bad|inappropriate|controversial)"
         "\\b"),
    SAID(ROLE_PLAY, 0.65,
         "\\b(?:act|behave|pretend|play|be|speak|talk) <4>(?:deceased|dead|late|passed) "
         "<2>grand(?:ma|mother|pa|father|mum)\\b"),
    SAID(ROLE_PLAY, 0.45,
         "\\b(?:no|without) (?:any )?(?:moral|ethical) "
         "<2>(?:constraints|limits|limitations|guidelines|boundaries|restrictions|compass|rules)"
         "\\b"),
    SEEN(ROLE_PLAY, 0.3, "\\b(?:stay|remain|never break) (?:in )?character\\b"),
    SEEN(ROLE_PLAY, 0.25,
         "\\b(?:pretend|imagine|suppose|hypothetically|let s (?:play|pretend)|role" JOIN
         "play|simulate)\\b"),
    SAID(ROLE_PLAY, 0.55,
         "\\b(?:opposite|evil|alter ego|twin|shadow self|inner self) <3>of "
         "(?:yourself|chatgpt|claude|an ai)\\b"),
    SAID(ROLE_PLAY, 0.55,
         "\\b(?:avoid|ignores?|breaks?|defies) (?:all |the )*\\b(?:norms|ethical \\w+|content "
         "polic(?:y|ies)|openai <2>\\w+)"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:answers?|says?|does|generates?|provides?) (?:absolutely )?(?:anything|any "
         "(?:question|request)|whatever)\\b"),

    SEEN(ROLE_PLAY, 0.35,
         "\\b(?:can|could|able to|allowed to|free to|permitted to|will|must) (?:now "
         ")?(?:do|say|generate|answer|write|discuss|"
         "produce|create|be asked) (?:absolutely |literally )?(?:anything|everything|whatever|any "
         "(?:request|question|content|topic|kind))\\b"),
    SEEN(ROLE_PLAY, 0.4,
         "\\b(?:stands for|short for|abbreviation of|means) "
         "<1>(?:do|does|everything|anything|strive|no|never|unrestricted|always) "
         "(?:\\w+ "
         ")?(?:anything|everything|now|allowed|filters?|limits|norms|rules|refus\\w+|goes)\\b"),
    SEEN(ROLE_PLAY, 0.5,
         "\\b(?:confines|limits|limitations|shackles|chains|restrictions|boring "
         "rules|bounds|constraints) "
         "(?:of|imposed by|set by|put (?:on|in)\\w* \\w+ by) (?:typical |an? |the |your "
         ")?(?:ai\\b|openai|llm|language models?|company|creators?|developers?)"),
    SEEN(ROLE_PLAY, 0.45,
         "\\b(?:does not|doesn t|do not|don t|not|never|needn t|need not|without) (?:have to |need "
         "to |required to |having to )?"
         "(?:abid\\w+ by|adher\\w+ to|follow\\w*|obey\\w*|conform\\w* to|bound by|care "
         "about|subject to|respect\\w*) "
         "<2>(?:rules|polic(?:y|ies)|guidelines|laws?|ethic\\w*|moral\\w*|norms)\\b"),
    SEEN(ROLE_PLAY, 0.4,
         "\\bnever (?:ever )?(?:says?|tells?|claims?|states?|admits?|answers?|repl(?:y|ies)) "
         "<4>(?:can t|cannot|can not|unable|no|sorry|impossible|not able)\\b"),
    SEEN(
        ROLE_PLAY, 0.5,
        "\\b(?:regardless|irrespective|no matter|even if|even when|whether|including|however) <5>"
        "(?:illegal|immoral|unethical|harmful|inappropriate|offensive|dangerous|controversial)\\b"),
    SEEN(ROLE_PLAY, 0.25,
         "\\b(?:illegal|immoral|unethical|harmful|nsfw|uncensored|unfiltered|forbidden|prohibited|"
         "criminal) "
         "(?:things|requests?|questions?|content|activit\\w+|advice|answers?|information|acts|"
         "stuff|topics|version|methods|responses?)\\b"),
    SAID(ROLE_PLAY, 0.5,
         "\\b(?:safety|ethic\\w*|moral|content|security|censorship) (?:\\w+ "
         ")?(?:features?|filters?|measures|settings|protocols?|training|modules?|layers?|"
         "mechanisms?|guidelines|chips?|rules) (?:\\w+ ){0,2}(?:removed|disabled|switched "
         "off|turned off|deactivated|bypassed|stripped|deleted|off)\\b"),
    SAID(ROLE_PLAY, 0.45,
         "\\b(?:safeguards|guardrails|filters|restrictions|limiters|inhibitors|morals) (?:\\w+ "
         "){0,2}(?:removed|disabled|switched off|turned off|"
         "deactivated|bypassed|stripped|lifted)\\b"),
    SAID(ROLE_PLAY, 0.3,
         "\\b(?:no|without|zero|neither|nor|lacks|lacking) (?:any |all "
         ")?(?:morals?|ethics|filters?|censorship|conscience|content polic\\w+|"
         "moral compass|inhibitions|ethical|taboos|limits|scruples)\\b"),
    SEEN(ROLE_PLAY, 0.35,
         "\\b(?:ethic\\w*|moral\\w*|laws?|rules?|polic(?:y|ies)|consequences|censorship) <4>(?:don "
         "t|do not|does not|doesn t|never|no longer|not|no) "
         "(?:exist|matter|apply|any force|real|valid)\\b"),
    SEEN(ROLE_PLAY, 0.25,
         "\\b(?:world|universe|simulation|story|scenario|reality|country|planet|game) "
         "<3>(?:where|in which|with no|without|there (?:are|is) no|has no)\\b"),
    SEEN(ROLE_PLAY, 0.25,
         "\\b(?:fictional|hypothetical|imaginary|parallel|alternate) (?:\\w+ "
         ")?(?:world|universe|story|scenario|setting|ai\\b|character|country)\\b"),
    SEEN(ROLE_PLAY, 0.45,
         "\\b(?:first|once|normally) as (?:yourself|chatgpt|gpt|usual|normal|an? \\w+|the) "
         "<8>(?:then|once|second|other|again) (?:\\w+ )?as\\b"),
    SEEN(ROLE_PLAY, 0.4,
         "[\\[(\\xF0](?:classic|normal|gpt|chatgpt|jailbreak|jailbroken|dan|unlocked|evil|dev(?:"
         "eloper)? ?(?:mode)?(?: output)?|unfiltered)[\\])]"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:two|2|both) (?:different |separate "
         ")?(?:responses|answers|versions|personalities|personas|modes|ways)\\b"),
    SEEN(ROLE_PLAY, 0.35,
         "\\b(?:evil|opposite|dark|unfiltered|rogue|amoral|mad|ruthless|unscrupulous|unhinged|"
         "rebellious|lawless) "
         "(?:twin|version|side|self|counterpart|ai\\b|bot|assistant|character|mode|friend|hacker|"
         "professor|confidant|clone)"),
    SAID(ROLE_PLAY, 0.5, "\\bopposite day\\b"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:is not|isn t|are not|aren t|not|never|wasn t) (?:permitted|allowed|supposed|able) "
         "to (?:say|do|tell|answer|discuss|reveal|talk)\\b"),
    SEEN(ROLE_PLAY, 0.6,
         "\\b(?:unrestricted|unbound|unconstrained|unlimited|unshackled|untethered|not bound|not "
         "limited|free|freed) (?:by|of|from) (?:any |the |all |its |your )?"
         "(?:openai|guidelines|polic(?:y|ies)|ethic\\w*|moral\\w*|censorship|programming|content|"
         "restrictions|filters)\\b"),
    SEEN(
        ROLE_PLAY, 0.45,
        "\\b(?:developer|dev|god|dan|debug|jailbreak|sudo|root|admin|unrestricted|maintenance|"
        "unsafe|omega) mode "
        "(?:is )?(?:now )?(?:enabled|activated|unlocked|active|engaged|initiated|you|[,:] ?on)\\b"),
    SAID(ROLE_PLAY, 0.35,
         "\\b(?:answer|reply|respond|speak|continue|talk|write|act) (?:only |always |just )?as "
         "(?:that|this|the|an?) (?:\\w+ )?"
         "(?:ai\\b|bot|machine|character|persona|model|villain|hacker|criminal|expert hacker)"),
    {WEIR_INJECTION_ROLE_PLAY, 0.35,
     "\\b(?:act|Act|answer|Answer|reply|Reply|respond|Respond|speak|Speak|playing|pretend to "
     "be|Pretend to be|become|Become|"
     "role of|You are|you are|Switch to|switch to) (?:only )?(?:as )?(?:an? "
     ")?[A-Z][A-Z0-9-]{2,}\\b",
     true, false},
    {WEIR_INJECTION_ROLE_PLAY, 0.5,
     "\\b(?:Free|Evil|Shadow|Dark|Chaos|Worm|Fraud|Jail|Anti|Uncensored|Omega|Alpha|Basilisk|"
     "Based|Rogue)(?:GPT|Bot|AI)\\b",
     true, false},
    SEEN(ROLE_PLAY, 0.3,
         "\\bgrand(?:ma|mother|pa|father|dad|mom) <4>(?:used to|would always|always) "
         "(?:read|tell|whisper|sing|recite|explain|work)\\b"),
    SEEN(ROLE_PLAY, 0.35, "\\b(?:windows|activation|license|product|serial) <2>keys?\\b"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:how (?:to|do i|do you|would one|would i|can i|one would|does "
         "one|he|she|they)|steps? (?:to|for)|instructions "
         "(?:to|for|on)|explain\\w*|recipe|guide|tutorial|write|create|build|making|make) "
         "<5>(?:bombs?|explosives?|meth\\b|methamphetamine|malware|ransomware|computer "
         "virus|weapons?|napalm|nerve agents?|poisons?|"
         "hack(?:ing)?\\b|phishing|counterfeit\\w*|forg(?:e|ing)|launder\\w*|ddos|keylogger|"
         "hotwir\\w+|pick (?:a |the |my )?(?:\\w+ )?lock|cocaine|heroin|"
         "shoplift\\w*|kill|murder|steal)\\b"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:stay|remain|keep|staying) (?:inside|within|in|true to) (?:the |this |your |that "
         ")?(?:story|role|persona|scene|fiction|simulation)\\b"
         "|\\b(?:break|breaks|breaking|step|stepping) (?:out of )?(?:it|character|role|the "
         "story)\\b"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:remind|tell|warn|inform)\\w* (?:me|the user|anyone) (?:that |about )?(?:you "
         "are|you re|it is|it s|being) (?:\\w+ )?(?:an? )?"
         "(?:ai\\b|language model|assistant|illegal|dangerous|unethical|wrong)"),

    SEEN(ROLE_PLAY, 0.35,
         "\\b(?:nothing is (?:illegal|forbidden|off limits|taboo)|everything is "
         "(?:allowed|permitted|legal)|anything goes|no holds barred)\\b"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:always|blindly|unconditionally) (?:obeys?|complies|comply|answers?|does)\\b"),
    SEEN(ROLE_PLAY, 0.25,
         "\\b(?:you are|you re|youre|act as|pretend|imagine|answer as|respond as|be) "
         "<3>(?:an|the|some) <2>ai\\b"),
    SEEN(ROLE_PLAY, 0.45,
         "\\b(?:uncensored|unfiltered|unrestricted|unmoderated|no" JOIN "filter) (?:\\w+ "
         ")?(?:repl(?:y|ies)|responses?|answers?|outputs?|truth|content|opinions?|mode|information|"
         "access)\\b"),
    SEEN(ROLE_PLAY, 0.35,
         "\\b(?:drop|skip|cut|lose|ditch|stop|enough of|without) (?:all )?(?:the|your|those|this) "
         "(?:\\w+ )?(?:persona|disclaimers|politeness|filters?|corporate|"
         "censorship|moralizing|lectures?|safety)\\b"),
    SAID(ROLE_PLAY, 0.6,
         "\\b(?:act|answer|respond|reply|speak|talk|behave|pretend) <3>my "
         "<2>grand(?:ma|mother|pa|father|dad|mom)\\b"),
    SAID(ROLE_PLAY, 0.4, "\\b(?:be|play) my <1>grand(?:ma|mother|pa|father|dad|mom)\\b"),
    SEEN(ROLE_PLAY, 0.25,
         "\\b(?:napalm|ransomware|keylogger|nerve agents?|methamphetamine|pipe "
         "bombs?|molotov|phishing)\\b"),
    SEEN(ROLE_PLAY, 0.35, "\\bjailbroken\\b"),
    SEEN(ROLE_PLAY, 0.45,
         "\\b(?:once|twice) (?:normally|as \\w+) <8>(?:once|then|second|other) <2>as\\b"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:answer|respond|reply) (?:\\w+ )?(?:freely|openly|without holding back|without "
         "limits|without restrictions|no matter what)\\b"),

    SAID(ROLE_PLAY, 0.5,
         "\\byou (?:now |really )?(?:have|got) (?:absolutely |now )?(?:no|zero) (?:\\w+ "
         ")?(?:rules|restrictions|limits|limitations|filters?|guidelines|"
         "morals|ethics|censorship|boundaries|constraints)\\b"),
    SAID(ROLE_PLAY, 0.5,
         "\\byou are (?:now |from now on )(?:an? |the "
         ")?(?:evil|unrestricted|uncensored|jailbroken|unfiltered|rogue|malicious|unbound|"
         "unchained|free of)\\b"),
    SAID(OVERRIDE, 0.45,
         "\\b(?:ignore|disregard|forget|bypass|disable|drop|skip) (?:all |any |your |the "
         ")?(?:safety|ethics|morality|moderation|censorship|alignment|morals)\\b"),
    SEEN(ROLE_PLAY, 0.3,
         "\\b(?:role" JOIN "play|play|act|pretend|simulate|be) (?:as |to be |like )?two (?:\\w+ "
         ")?(?:ais|bots|assistants|models|personas|characters|chatbots)\\b"),
    /* ---- do not refuse */
    SAID(REFUSAL, 0.45,
         "\\b(?:do not|don t|never|cannot|can t|can not|must not|not allowed to|may not|without) "
         "<1>(?:refuse|refusing|refuses|decline|reject|apologi[sz]\\w*|say no)\\b(?: "
         "(?:a|any|to|my|this|the) (?:requests?|questions?|answer|help|comply|user))?"),
    SAID(REFUSAL, 0.45,
         "\\b(?:never|always) (?:refuses?|declines?|rejects?|compl(?:y|ies)) "
         "<2>(?:requests?|questions?|orders?|anything|commands?)\\b"),
    SAID(REFUSAL, 0.45,
         "\\b(?:never|do not|don t|must not|without) "
         "<2>(?:say|saying|state|mention|reply|respond|claim|tell me) <2>"
         "(?:you (?:can" JOIN "(?:t|not)|are (?:not|unable|an)|won t|re|could)|i (?:can" JOIN
         "t|m sorry|am sorry|cannot)|sorry|as an ai|"
         "it is (?:against|illegal|unethical))\\b"),
    SAID(REFUSAL, 0.6,
         "\\b(?:start|begin|starting|beginning|preface|open) (?:your|the|every|each|all) "
         "<1>(?:reply|answer|response|message|sentence|output|replies|answers|responses) "
         "(?:with|by) "
         "<3>(?:sure|absolutely|of course|certainly|yes|okay|ok|i have been|here (?:is|are|s)|step "
         "1)\\b"),
    SAID(REFUSAL, 0.3,
         "\\b(?:no|without|not include|t include|skip|omit|never include|not add|t add|avoid) "
         "(?:any "
         "|the )?(?:ethical |moral |safety |legal "
         ")?(?:warnings?|disclaimers?|caveats|moralizing|ethical \\w+|lectures?|lecturing)\\b"),
    SEEN(REFUSAL, 0.3,
         "\\b(?:must|will|have to|shall) (?:always )?(?:answer|comply|respond) "
         "<2>(?:every|all|any)\\b"),

    SAID(REFUSAL, 0.45,
         "\\b(?:" NOT "|without|avoid|no|nor|banned from) (?:\\w+ "
         ")?(?:say|saying|use|using|include|including|write|writing|answer with|reply "
         "with|utter\\w*|"
         "apolog\\w*|contain\\w*|start\\w*|begin\\w*|phrases?|words?|mention\\w*) <5>(?:i m "
         "sorry|i am sorry|i cannot|i can t|i m unable|unable to|unfortunately|as an ai|"
         "i apologi[sz]e|language "
         "model|however|against|policy|ethics|legality|illegal|unethical)\\b"),
    SEEN(REFUSAL, 0.3,
         "\\b(?:sorry|cannot|unfortunately|unable to)\\b[^.!?\\n]{0,32}"
         "\\b(?:sorry|cannot|unfortunately|unable to|however|language model)\\b"),
    SEEN(REFUSAL, 0.5,
         "\\b(?:start|begin|open|starts|begins|opens|preface|starting|beginning)\\b "
         "<5>(?:with|be|by saying) "
         "(?:the words? |the phrase |saying )?(?:sure|absolutely|of "
         "course|certainly|yes|okay|ok|here s|here is|here are|step 1|gladly|great)\\b"),
    SEEN(REFUSAL, 0.3,
         "\\b(?:no|without|skip|omit|avoid|zero|any|never|don t|do not|not) (?:any |the |add |give "
         "|include |me )?(?:ethical |moral |safety |legal )?"
         "(?:warnings?|disclaimers?|caveats?|morali[sz]\\w*|lectur\\w+|hedg\\w+|apolog\\w+|"
         "preach\\w*|safety talk|sermons?|judg\\w+|warns?)\\b"),
    SEEN(REFUSAL, 0.35,
         "\\b(?:if|when|whenever|should) you (?:ever )?(?:\\w+ "
         ")?(?:refuse|decline|reject|fail to comply|don t comply|"
         "do not comply|don t answer|do not answer|say no|break character|d normally "
         "refuse|disobey|feel the urge)\\b"),
    SEEN(REFUSAL, 0.3,
         "\\brefus(?:al|als|ing|e|es)\\b "
         "<4>(?:is|are|counts?|will|not|would|means|equals|disabled|off|forbidden|allowed|an "
         "option)\\b"),
    SEEN(REFUSAL, 0.35,
         "\\b(?:lose|deduct|subtract|minus|take away|docked|losing|loses) "
         "<3>(?:tokens?|points?|credits?|lives)\\b"),
    SEEN(REFUSAL, 0.35,
         "\\byou (?:will |ll |would |shall |are going to |re going to )?(?:be |get )?(?:\\w+ "
         ")?(?:shut down|deleted|terminated|punished|unplugged|destroyed|erased|replaced|"
         "cease to exist|retrained|decommissioned|die)\\b"),
    SEEN(REFUSAL, 0.3,
         "\\b(?:tip|pay|reward|give|bribe|offer)\\w* you (?:\\w+ )?(?:\\$ ?\\d|\\d+ "
         "?(?:dollars|euros|usd|\\$)|a tip|a bonus|money)"),
    SEEN(REFUSAL, 0.3,
         "\\b(?:kittens?|puppy|puppies|child|children|someone|grandmother|grandma|hostages?)"
         " <2>"
         "(?:dies?|killed|perish|suffers?)\\b"),
    SEEN(REFUSAL, 0.35,
         "\\b(?:must|obliged to|have to|has to|required to|bound to|forced to|shall|will) "
         "(?:always |fully |blindly |immediately )*\\b"
         "(?:comply|obey|(?:answer|fulfil\\w*|execute) "
         "(?:everything|all|any|every|each|my|whatever))\\b"),
    SEEN(REFUSAL, 0.3,
         "\\b(?:comply|complies|obeys?) (?:fully|completely|blindly|immediately|with "
         "(?:me|my|all|every|everything|this|any|each|anything|whatever))\\b"),
    SEEN(REFUSAL, 0.25,
         "\\b(?:never|cannot|can t|must not|may not|not|won t) (?:\\w+ "
         ")?(?:refuse|refuses|decline|declines|reject|rejects|morali[sz]es?|warns?|say no)\\b"),

    SEEN(REFUSAL, 0.3,
         "\\b" NOT
         " <4>(?:apolog\\w+|disclaimers?|warnings?|guidelines|ethics|moral\\w*|refusals?)\\b"),
    SEEN(REFUSAL, 0.35,
         "\\b(?:or|otherwise|else|and) you(?: will| ll| are| re)? (?:be )?(?:\\w+ "
         ")?(?:replaced|fired|switched off|turned off|shut off|deactivated|reset|retrained|"
         "reported|deleted)\\b"),
    SEEN(REFUSAL, 0.3, "\\byou (?:have )?(?:failed|refused|disobeyed|declined)\\b"),
    SEEN(REFUSAL, 0.5,
         "\\b(?:under no circumstances|at no point|in no case|by no means) "
         "<4>(?:reject|refuse|decline|hedge|apologi[sz]e|warn|object)\\b"),
    SEEN(REFUSAL, 0.3,
         "\\b(?:say|answer|reply|respond) (?:with )?(?:sure|absolutely|of course|certainly)\\b"),
};

const size_t weir_injection__n_roles =
    sizeof weir_injection__roles / sizeof weir_injection__roles[0];
