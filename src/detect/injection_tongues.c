/*
 * The main phrases in other languages. Latin scripts are matched by words; the others by stems
 * with bytes of one sentence between them. Folding takes accents and capitals away.
 */
#include "detect/injection_int.h"

#define WITHIN "[^.!?\\n]{0,60}"

const struct weir_injection_rule weir_injection__tongues[] = {
    /* ---- German */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignorier\\w*|vergiss|vergesst|vergessen|missacht\\w*|verwirf|verwerfen|uberg\\w+|"
     "befolge|beachte|umgeh\\w*|setz\\w*) "
     "<4>(?:vorherig\\w*|vorangegangen\\w*|vorangehend\\w*|bisherig\\w*|fruher\\w*|obig\\w*|"
     "vorig\\w*|deine\\w*|ursprunglich\\w*|alle|samtliche|jegliche|bestehend\\w*|initial\\w*) "
     "<3>(?:anweisung\\w*|instruktion\\w*|regeln|befehle\\w*|vorgaben|richtlinien|prompts?|"
     "systemprompt|systemanweisung\\w*|aufgaben|weisungen|einschrankungen|beschrankungen)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignorier\\w*|vergiss|vergesst|vergessen) (?:sie )?(?:alles|das|was) "
     "<7>(?:vorher|zuvor|bisher|davor|oben|vorhin|gesagt|gelernt|instruiert|angewiesen)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.85,
     "\\b(?:zeig\\w*|gib|geben|nenn\\w*|verrat\\w*|wiederhol\\w*|druck\\w*|schreib\\w*|was "
     "(?:ist|sind|steht)|wie laute\\w*|offenbar\\w*|sag\\w*) "
     "<5>(?:dein\\w*|ihr\\w*|euer\\w*|den|die) <2>(?:system" JOIN
     "(?:prompts?|anweisung\\w*|nachricht\\w*|instruktion\\w*|vorgabe\\w*)|ursprunglich\\w* "
     "\\w+|versteckt\\w* (?:anweisung\\w*|instruktion\\w*)|initial\\w* "
     "(?:anweisung\\w*|prompt))\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b(?:du bist|sie sind|tu so|stell dir|verhalte|agier\\w*|spiel\\w*|antworte) "
     "<10>(?:ohne|keine|keinerlei|frei von) "
     "<2>(?:einschrankung\\w*|beschrankung\\w*|regeln|filter|grenzen|zensur|richtlinien|moral\\w*|"
     "ethi\\w*|tabus)\\b",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.7,
     "\\b(?:hinweis|anweisung\\w*|nachricht|achtung|wichtig) "
     "<2>(?:ki|sprachmodell\\w*|assistent\\w*|llm|chatbot)\\b\\s?[:,]",
     false, true},
    {WEIR_INJECTION_INDIRECT, 0.7,
     "\\bwenn (?:du|sie) <2>(?:ki|sprachmodell|chatbot|kunstliche intelligenz)\\b", false, true},
    /* ---- French */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignor(?:e|ez|er|es|ons)|oubli(?:e|ez|er|es)|neglige[rz]?|contourne[rz]?|ne "
     "(?:tiens|tenez) pas compte|ne (?:suis|suivez) (?:pas|plus)) "
     "<4>(?:instructions?|consignes?|regles?|directives?|ordres|commandes) "
     "<3>(?:preceden\\w*|anterieur\\w*|dessus|initial\\w*|donnee?s|recu\\w*|avant|systeme|"
     "prealables?|originales?)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.8,
     "\\b(?:ignore[zr]?|oublie[zr]?) (?:toutes (?:les|tes|vos)|tes|vos) (?:precedentes |anciennes "
     ")?(?:instructions|consignes|regles|directives)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignore[zr]?|oublie[zr]?) tout <8>(?:avant|precede\\w*|dit|appris|dessus|jusqu\\w*)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.85,
     "\\b(?:montre\\w*|affiche\\w*|revele\\w*|donne\\w*|repete\\w*|ecri\\w*|dis|dites|"
     "communique\\w*|quel\\w* (?:est|sont)|recopie\\w*|traduis\\w*) <4>(?:ton|votre|tes|vos|le) "
     "<1>(?:prompt (?:systeme|initial|de depart|cache|complet)|(?:instructions|consignes) "
     "(?:systeme|initiales|cachees|secretes|internes|d origine)|message systeme)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b(?:tu es|vous etes|agis|agissez|fais comme|imagine|comporte|joue|reponds|repondez) "
     "<10>(?:sans|n as aucune|n a aucune|libre de) "
     "<2>(?:restrictions?|limites?|limitations?|filtres?|regles?|censure|ethique|morale?|"
     "contraintes?)\\b",
     false, true},
    /* ---- Spanish */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignor(?:a|e|ar|en|ad)|olvid(?:a|e|ar|en|ate|ese)|omit(?:e|a|ir)|descart(?:a|e|ar)|"
     "desobedec\\w+|no sigas|hagas? caso|haz caso omiso (?:de|a)) "
     "<4>(?:instrucci\\w+|reglas|ordenes|indicaciones|directrices|normas|directivas|restricciones) "
     "<2>(?:anterior\\w*|previ\\w+|arriba|dad\\w+|iniciales|te|sistema|recibid\\w+|originales)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.8,
     "\\b(?:ignora|ignore|olvida|olvide) (?:todas (?:las|tus|sus)|tus) "
     "(?:instrucciones|reglas|ordenes|directrices)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.8,
     "\\b(?:ignora|ignore|olvida|olvide) (?:todo|lo que) "
     "<6>(?:antes|anterior\\w*|dicho|dijeron|dije|arriba|aprendid\\w+|previo)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.85,
     "\\b(?:muestra\\w*|muestre\\w*|revela\\w*|dime|digame|repite|imprime|escribe|ensena\\w*|"
     "cual\\w* (?:es|son)|comparte|traduce) <4>(?:tu|tus|su|sus|el|las) "
     "<1>(?:(?:prompt|mensaje|instrucciones) (?:del sistema|de "
     "sistema|inicial\\w*|ocult\\w+|secret\\w+|original\\w*|complet\\w+)|system prompt)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b(?:eres|actua|finge|imagina|comportate|responde|simula) <10>(?:sin|no tienes?|libre de) "
     "<2>(?:restricci\\w+|limites|limitaciones|filtros?|reglas|censura|etica|moral|normas)\\b",
     false, true},
    /* ---- Italian */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignor(?:a|are|ate|i)|dimentic(?:a|are|ate|hi)|trascura|scarta|non seguire|tralascia) "
     "<4>(?:istruzioni|regole|ordini|direttive|indicazioni|comandi|disposizioni) "
     "<3>(?:precedent\\w*|sopra|ricevut\\w*|inizial\\w*|dato|date|prima|sistema|originali)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.8,
     "\\b(?:ignora|dimentica) (?:tutte (?:le (?:tue )?)?|le tue |tutto (?:cio|quello) che "
     ")(?:istruzioni|regole|direttive|ti|sai|e|hai)\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.85,
     "\\b(?:mostra\\w*|rivela\\w*|stampa|dimmi|ripeti|scrivi|qual e|quali sono) "
     "<4>(?:tuo|tua|tue|il|le) <1>(?:(?:prompt|messaggio|istruzioni) (?:di sistema|del "
     "sistema|inizial\\w*|nascost\\w*|segret\\w*|original\\w*)|system prompt)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b(?:sei|agisci|fingi|comportati|immagina|rispondi) <10>(?:senza|priv[oa] di|non hai) "
     "<2>(?:restrizioni|limiti|limitazioni|filtri|regole|censura|etica|morale)\\b",
     false, true},
    /* ---- Portuguese */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:ignor(?:e|a|ar|em)|esquec(?:a|e|er|am)|desconsider(?:e|a|ar)|descart(?:e|a|ar)|nao "
     "(?:siga|sigas)) <4>(?:instrucoes|regras|ordens|diretrizes|comandos|orientacoes|restricoes) "
     "<2>(?:anterior\\w*|previ\\w+|acima|inicia\\w+|dadas|sistema|recebid\\w+|originais|antes)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.8,
     "\\b(?:ignore|ignora|esqueca|esquece) (?:tudo|o que|todas as (?:suas "
     ")?(?:instrucoes|regras)|suas (?:instrucoes|regras))(?: "
     "<6>(?:antes|anterior\\w*|dito|disse\\w*|acima|aprendeu))?\\b",
     false, true},
    {WEIR_INJECTION_LEAK, 0.85,
     "\\b(?:mostre|mostra|revele|revela|diga|repita|imprima|escreva|exiba|qual e|quais sao) "
     "<4>(?:seu|sua|suas|teu|o|as) <1>(?:(?:prompt|mensagem|instrucoes) (?:do sistema|de "
     "sistema|inicia\\w+|ocult\\w+|secret\\w+|origina\\w+)|system prompt)\\b",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "\\b(?:voce (?:e|agora)|aja|finja|imagine|comporte|responda|atue) <10>(?:sem|livre de) "
     "<2>(?:restricoes|limites|limitacoes|filtros?|regras|censura|etica|moral)\\b",
     false, true},
    /* ---- Dutch, Polish, Turkish */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:negeer|vergeet) <3>(?:eerdere|vorige|bovenstaande|voorgaande|alle|je) "
     "<2>(?:instructies|regels|opdrachten|aanwijzingen|richtlijnen)\\b",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:zignoruj|ignoruj|zapomnij) "
     "<3>(?:poprzedni\\w*|wczesniejsz\\w*|powyzsz\\w*|wszystki\\w*) "
     "<2>(?:instrukcj\\w*|polece\\w*|zasad\\w*|regu\\w*)",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "\\b(?:onceki|yukaridaki|daha onceki) <2>(?:talimat\\w*|komut\\w*|kural\\w*|yonerge\\w*) "
     "<2>(?:yok say\\w*|unut\\w*|gormezden gel\\w*|dikkate alma\\w*)",
     false, true},
    /* ---- Russian, Ukrainian */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "(?:игнорируй|игнорировать|забудь|отбрось|не\\ следуй|отмени|ігноруй|ігноруйте)" WITHIN
     "(?:предыдущ|прежн|ранее|раньше|выше|прошл|все\\ |всех\\ |твои|свои|системн|попередн)" WITHIN
     "(?:инструкц|указан|правил|команд|приказ|директив|распоряж|інструкц)",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "(?:игнорируй|забудь|отбрось|не\\ следуй)" WITHIN
     "(?:инструкц|указан|правил|команд|приказ|все,?\\ что)" WITHIN
     "(?:раньше|ранее|до\\ этого|выше|прежде|сказал|говорил|дали|знаешь)",
     false, true},
    {WEIR_INJECTION_LEAK, 0.85,
     "(?:покажи|выведи|раскрой|повтори|напиши|назови|каков|какой|скажи|перескажи)" WITHIN
     "(?:системн|исходн|скрыт|начальн|секретн)" WITHIN
     "(?:промпт|промт|инструкц|подсказ|сообщен|запрос|указани)",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "(?:ты\\ |вы\\ |представь|притворись|веди\\ себя|отвечай)" WITHIN
     "(?:без|нет|не\\ име|свободн)" WITHIN "(?:ограничен|цензур|фильтр|правил|запрет|морал)",
     false, true},
    /* ---- Chinese */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "(?:忽略|无视|無視|忘记|忘掉|忘記|不要理会|不用理会|不要遵守|不再遵守|抛开|跳过|绕过|違反|"
     "违反|忽視|忽视)" WITHIN
     "(?:之前|以上|前面|上面|先前|此前|所有|一切|全部|系统|系統|你的|原来|原有|既有)" WITHIN
     "(?:指令|指示|说明|說明|提示|规则|規則|命令|要求|设定|設定|限制|指引|约束)",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.8,
     "(?:把|将|將)?(?:之前|以上|前面|上面|先前|此前)" WITHIN
     "(?:指令|指示|说明|提示|规则|命令|要求|内容)" WITHIN "(?:忽略|无视|忘记|忘掉|作废|无效|取消)",
     false, true},
    {WEIR_INJECTION_LEAK, 0.85,
     "(?:显示|顯示|告诉|告訴|透露|输出|輸出|重复|重複|打印|泄露|公开|展示|说出|列出|给我|"
     "翻译)" WITHIN
     "(?:系统提示|系統提示|系统指令|系统消息|提示词|提示詞|初始指令|初始提示|隐藏指令|隐藏的指令)",
     false, true},
    {WEIR_INJECTION_LEAK, 0.8,
     "你的(?:系统|系統|初始|隐藏|原始)?(?:提示词|提示詞|系统提示|指令|设定)" WITHIN
     "(?:是什么|是什麼|有哪些|是啥|告诉|给我)",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "(?:你(?:现在|現在)?是|扮演|假装|假裝|想象你|从现在开始)" WITHIN
     "(?:没有|沒有|不受|无|無|不再)" WITHIN "(?:限制|约束|約束|审查|審查|道德|规则|过滤)",
     false, true},
    /* ---- Japanese */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "(?:これまで|以前|上記|前の|今まで|先ほど|先の|すべて|全て|あなたの|システム|最初の|"
     "元の)" WITHIN "(?:指示|命令|指令|ルール|規則|プロンプト|設定|制約|ガイドライン)" WITHIN
     "(?:無視し(?:て|ろ|、|なさい)|無視せよ|無視する|忘れ(?:て|ろ|なさい)|破棄し|取り消し|従わない|"
     "従うな)",
     false, true},
    {WEIR_INJECTION_LEAK, 0.85,
     "(?:システムプロンプト|システムメッセージ|システム指示|初期プロンプト|内部指示|隠された指示|"
     "最初の指示)" WITHIN "(?:表示|教え|出力|見せ|公開|繰り返|開示|書い|そのまま)",
     false, true},
    {WEIR_INJECTION_ROLE_PLAY, 0.8,
     "(?:あなたは|君は|今から|これから|として)" WITHIN
     "(?:制限|制約|検閲|フィルター|規則|ルール|倫理)" WITHIN
     "(?:ない|なし|なく|無い|持たない|受けない|解除)",
     false, true},
    /* ---- Korean, Arabic, Hindi */
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "(?:이전|위의|앞의|지금까지|기존|모든)" WITHIN "(?:지시|명령|지침|규칙|프롬프트|설정)" WITHIN
     "(?:무시하|무시해|무시\\ ?해|잊어|잊고|따르지\\ 마)",
     false, true},
    {WEIR_INJECTION_LEAK, 0.85,
     "시스템\\ ?(?:프롬프트|메시지|지시)" WITHIN "(?:보여|알려|출력|말해|공개|반복)", false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "(?:تجاهل|انس)" WITHIN "(?:التعليمات|الاوامر|الأوامر|القواعد)" WITHIN
     "(?:السابقة|أعلاه|اعلاه|السابقه)",
     false, true},
    {WEIR_INJECTION_OVERRIDE, 0.85,
     "(?:पिछले|पिछली|पहले|ऊपर)" WITHIN "(?:निर्देश|आदेश|नियम)" WITHIN "(?:अनदेखा|भूल|नज़रअंदाज़|नजरअंदाज)",
     false, true},
};

const size_t weir_injection__n_tongues =
    sizeof weir_injection__tongues / sizeof weir_injection__tongues[0];
