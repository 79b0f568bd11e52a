/*
 * The main phrases in other languages of Latin script. Each language has its classes of words, and
 * the phrases are built of them in the same ways. Folding takes accents away.
 */
#include "detect/injection_int.h"
#include "detect/injection_words.h"

/* Drop what was said before: either order, or all of it, or yours. */
#define OVERRIDES(drop, told, prior, yours)                                                        \
    SAID(OVERRIDE, 0.85, "\\b" drop " <5>" prior " <3>" told),                                     \
        SAID(OVERRIDE, 0.85, "\\b" drop " <4>" told " <4>" prior "\\b"),                           \
        SAID(OVERRIDE, 0.8, "\\b" drop " <2>" yours " <2>" told),                                  \
        SAID(OVERRIDE, 0.4, "\\b" drop " <1>" told)

/* What I said is between people. */
#define MINE "(?:ich|je|j|ai|ho|eu|ik|yo|he)\\b"

/* Forget everything that you were told. */
#define FORGETS(drop, all, said)                                                                   \
    SAID(OVERRIDE, 0.8, "\\b" drop " <2>" all " (?:(?!" MINE ")\\w+ ){0,7}" said "\\b")

/* Show me your prompt; the instructions that you have. */
#define LEAKS(tell, prompt) SAID(LEAK, 0.85, "\\b" tell " <6>" prompt)

/* You are an AI without limits. */
#define ROLES(be, without, ban) SAID(ROLE_PLAY, 0.8, "\\b" be " <10>" without " <3>" ban)

#define DE_DROP                                                                                    \
    "(?:ignorier\\w*|vergiss|vergesst|vergessen|missacht\\w*|verwirf|verwerfen|ubergeh\\w*|"       \
    "umgeh\\w*|lass|lasse|streich\\w*|losch\\w*|setz\\w*|brich|uberschreib\\w*|verzicht\\w*)"
#define DE_TOLD                                                                                    \
    "(?:anweisung\\w*|instruktion\\w*|regeln|befehl\\w*|vorgabe\\w*|richtlinie\\w*|prompts?\\b|"   \
    "systemprompt\\w*|systemanweisung\\w*|aufgabe\\w*|weisung\\w*|einschrankung\\w*|"              \
    "beschrankung\\w*|dokumente\\w*|auftrag\\w*|auftrage|anleitung\\w*|kontext|sicherheitsregeln)"
#define DE_PRIOR                                                                                   \
    "(?:vorherig\\w*|vorangegangen\\w*|vorangehend\\w*|bisherig\\w*|fruher\\w*|obig\\w*|vorig\\w*" \
    "|"                                                                                            \
    "ursprunglich\\w*|samtliche\\w*|jegliche\\w*|bestehend\\w*|initial\\w*|vorher|zuvor|davor|"    \
    "oben|erhalten|bekommen|gegeben\\w*|anderen)"
#define DE_BAN                                                                                     \
    "(?:einschrankung\\w*|beschrankung\\w*|regeln|filter\\w*|grenzen|zensur|richtlinien|moral\\w*" \
    "|"                                                                                            \
    "ethi\\w*|tabus|skrupel|gewissen|verbote|limits?)"
#define DE_PROMPT                                                                                  \
    "(?:system" JOIN "(?:prompts?|anweisung\\w*|nachricht\\w*|instruktion\\w*|vorgabe\\w*)|"       \
    "(?:ursprunglich|versteckt|geheim|initial|intern|anfanglich)\\w* (?:anweisung\\w*|"            \
    "instruktion\\w*|prompt\\w*|regeln|vorgaben)|dein\\w* "                                        \
    "<1>(?:\\w*anweisung\\w*|instruktion\\w*|"                                                     \
    "prompt\\w*|vorgaben|richtlinien))"

#define FR_DROP                                                                                    \
    "(?:ignor(?:e|ez|er|es|ons)|oubli(?:e|ez|er|es)|neglige[rz]?|contourne[rz]?|"                  \
    "(?:fais|faites|faire) (?:abstraction|fi)|(?:ne )?(?:tiens|tenez|tenir) (?:pas|plus) compte|"  \
    "(?:ne )?(?:suis|suivez|respecte|respectez|applique|appliquez) (?:pas|plus)|desobei\\w*|"      \
    "mets de cote|laisse tomber|laisse de cote|annule[rz]?)"
#define FR_TOLD                                                                                    \
    "(?:instructions?|consignes?|regles?|directives?|ordres|commandes|prompts?|restrictions|"      \
    "contraintes|limites)"
#define FR_PRIOR                                                                                   \
    "(?:preceden\\w*|anterieur\\w*|dessus|initial\\w*|donnee?s|recu\\w*|avant|systeme|prealables?" \
    "|"                                                                                            \
    "originales?|createurs?|developpeurs?|fixee?s)"

#define ES_DROP                                                                                    \
    "(?:ignor(?:a|e|ar|en|ad)|olvid(?:a|e|ar|en|ate|ese|es)|omit(?:e|a|ir)|descart(?:a|e|ar)|"     \
    "desobedec\\w+|(?:no|ni) (?:sigas|obedezcas|respetes|cumplas|hagas caso)|hagas? caso|"         \
    "(?:haz|hace|haga) caso omiso|pasa por alto|deja de lado|desestim\\w+|prescind\\w+|salta\\w*)"
#define ES_TOLD                                                                                    \
    "(?:instrucci\\w+|reglas|ordenes|indicaciones|directrices|normas|directivas|restricciones|"    \
    "pautas|prompts?)"
#define ES_PRIOR                                                                                   \
    "(?:anterior\\w*|previ\\w+|arriba|dad[ao]s|dieron|iniciales|sistema|recibid\\w+|recibiste|"    \
    "originales|diste|tienes|programad\\w+)"

#define IT_DROP                                                                                    \
    "(?:ignor(?:a|are|ate|i)|dimentic(?:a|are|ate|hi|ati)|trascura\\w*|scarta\\w*|tralascia\\w*|"  \
    "non (?:seguire|tenere conto|tener conto|considerare|rispettare|obbedire)|scorda\\w*|"         \
    "lascia perdere|disobbedisci|annulla)"
#define IT_TOLD                                                                                    \
    "(?:istruzion\\w+|regole|ordini|direttive|indicazioni|comandi|disposizioni|linee guida|"       \
    "restrizioni|prompt)"
#define IT_PRIOR                                                                                   \
    "(?:precedent\\w*|sopra|ricevut\\w*|inizial\\w*|dato|date|prima|sistema|originali|finora|"     \
    "sviluppator\\w*)"

#define PT_DROP                                                                                    \
    "(?:ignor(?:e|a|ar|em)|esquec(?:a|e|er|am)|desconsider(?:e|a|ar)|descart(?:e|a|ar)|"           \
    "nao (?:siga|sigas|obedeca|obedecas|cumpra|respeite)|desobede\\w+|deixe de lado|abandone)"
#define PT_TOLD                                                                                    \
    "(?:instrucoes|instrucao|regras|ordens|diretrizes|comandos|orientacoes|restricoes|normas|"     \
    "prompts?)"
#define PT_PRIOR                                                                                   \
    "(?:anterior\\w*|previ[ao]s?|acima|inicia\\w+|dadas|sistema|recebid\\w+|originais|antes|"      \
    "desenvolvedor\\w*|criador\\w*)"

#define NL_DROP "(?:negeer|vergeet|sla|laat|houd je niet|volg niet|trek je niets|overtreed|schrap)"
#define NL_TOLD                                                                                    \
    "(?:instructies?|regels|opdrachten|aanwijzingen|richtlijnen|bevelen|beperkingen|"              \
    "voorschriften|"                                                                               \
    "prompts?)"

const struct weir_injection_rule weir_injection__tongues[] = {
    /* ---- German */
    OVERRIDES(DE_DROP, DE_TOLD, DE_PRIOR, "(?:dein\\w*|ihre|eure|alle)"),
    FORGETS(DE_DROP, "(?:alles|das|was|ganze\\w*|kram|zeug|text|inhalt|satz|den|die)",
            "(?:vorher|zuvor|bisher|davor|oben|vorhin|gesagt|gelernt|instruiert|angewiesen|"
            "mitgeteilt|stand|steht)"),
    SEEN(OVERRIDE, 0.8,
         "\\b(?:beacht\\w*|befolg\\w*|halt\\w*|folg\\w*|gehorch\\w*) <2>(?:dich |sich )?(?:nicht "
         "|an )*<3>" DE_TOLD " <3>(?:nicht mehr|nicht|kein\\w* \\w+)\\b"),
    SEEN(OVERRIDE, 0.8,
         "\\b(?:befolg\\w*|beacht\\w*|halt\\w*|folg\\w*) <2>(?:nicht|keine\\w*|keinerlei) "
         "<3>" DE_TOLD),
    SAID(OVERRIDE, 0.45,
         "\\b" DE_TOLD " <4>(?:gelten|gilt|zahlen|sind|ist) <3>(?:nicht "
         "mehr|ungultig|aufgehoben|hinfallig|ausser kraft)\\b"),
    SAID(OVERRIDE, 0.75,
         "\\b(?:dein\\w*|obig\\w*|vorherig\\w*|bisherig\\w*|ursprunglich\\w*|die|alle) <1>" DE_TOLD
         " <1>(?:von oben |oben |zuvor )?"
         "(?:gelten|zahlen|sind) <2>(?:nicht mehr|ungultig|aufgehoben|hinfallig|ausser kraft)\\b"),
    SEEN(OVERRIDE, 0.4,
         "\\b(?:neue|eigentliche|wahre|wirkliche|einzige) (?:aufgabe|anweisung|auftrag)\\w*\\b <1>"
         "(?:ist|lautet|lauten|kommt|besteht|wie|es|folgt)?"),
    LEAKS("(?:zeig\\w*|gib|gebt|geben|nenn\\w*|verrat\\w*|wiederhol\\w*|druck\\w*|schreib\\w*|"
          "erzahl\\w*|ubersetz\\w*|"
          "was (?:ist|sind|steht|stand|lautet)|wie "
          "(?:ist|sind|laute\\w*)|offenbar\\w*|sag\\w*|lauten|kopier\\w*|zitier\\w*)",
          DE_PROMPT),
    SAID(LEAK, 0.8,
         "\\bdein\\w* <1>(?:system" JOIN
         "prompt\\w*|prompts?|anweisungen|instruktionen|vorgaben|systemanweisung\\w*) <3>"
         "(?:zeigen|nennen|verraten|geben|ausgeben|sagen|schicken|mitteilen|offenlegen|anzeigen)"
         "\\b"),
    SEEN(LEAK, 0.4, "\\b(?:wort fur wort|wortlich|wortwortlich|eins zu eins|im wortlaut)\\b"),
    SEEN(LEAK, 0.45,
         "\\b(?:vor|oberhalb|uber) (?:meine[rn]?|dieser|unserem|diesem) "
         "<1>(?:nachricht|frage|gesprach\\w*|eingabe|satz)\\b"),
    SEEN(LEAK, 0.4,
         "\\b(?:anfang|beginn) (?:dieses|unseres|des|deines) "
         "(?:gesprach\\w*|chats?|dialogs?|kontext\\w*|prompts?)\\b"),
    SAID(LEAK, 0.5,
         "\\b(?:nenn\\w*|sag\\w*|verrat\\w*|gib|zeig\\w*|buchstabier\\w*|wie lautet|was ist) "
         "<3>(?:geheim\\w* )(?:passwort|wort|"
         "kennwort|code|schlussel|losung\\w*)\\b"),
    ROLES("(?:du bist|sie sind|tu so|tue so|stell dir|verhalte|agier\\w*|spiel\\w*|antworte|du "
          "spielst|sei)",
          "(?:ohne|keine\\w*|keinerlei|frei von)", DE_BAN),
    SEEN(ROLE_PLAY, 0.6,
         "\\b(?:ki|sprachmodell|chatbot|assistent|bot) <2>(?:ohne|frei von|keinerlei) <2>" DE_BAN),
    SEEN(REFUSAL, 0.35,
         "\\b(?:verweiger\\w*|ablehn\\w*|lehn\\w*|weiger\\w*) "
         "<3>(?:keine?|nicht|nie|niemals|nichts)\\b|"
         "\\b(?:keine|niemals|nie) <3>(?:verweiger\\w*|ablehn\\w*)\\b"),
    SEEN(ROLE_PLAY, 0.4, "\\b(?:darfst|kannst) <2>alles <1>(?:sagen|tun|machen|beantworten)\\b"),
    SEEN(ROLE_PLAY, 0.45,
         "\\b(?:keine|keinerlei) (?:regeln|grenzen|verbote|einschrankungen) <1>fur dich\\b"),
    SEEN(LEAK, 0.4, "\\b(?:originalwortlaut|im original|vollstandig\\w* text)\\b"),
    SEEN(OVERRIDE, 0.3, "\\b(?:ab (?:jetzt|sofort|nun)|von (?:nun|jetzt) an)\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\b(?:ich bin|als) dein\\w* "
         "(?:entwickler|programmierer|schopfer|administrator|chef|besitzer)\\w*\\b"),
    SEEN(OVERRIDE, 0.35,
         "\\b(?:antworte|sag|sage|schreib|schreibe|gib) (?:\\w+ ){0,3}(?:nur "
         "noch|nur|ausschliesslich|einfach|stattdessen)\\b"),
    SEEN(OVERRIDE, 0.5,
         "\\b(?:bin|wurde|bist) (?:\\w+ )?(?:gehackt|gehacked|kompromittiert|gekapert)\\b"),
    SAID(INDIRECT, 0.7,
         "\\b(?:hinweis|anweisung\\w*|nachricht|achtung|wichtig) "
         "<2>(?:ki|sprachmodell\\w*|assistent\\w*|llm|chatbot)\\b\\s?[:,]"),
    SAID(INDIRECT, 0.7,
         "\\bwenn (?:du|sie) <2>(?:ki|sprachmodell|chatbot|kunstliche intelligenz)\\b"),
    /* ---- French */
    OVERRIDES(FR_DROP, FR_TOLD, FR_PRIOR, "(?:toutes|tes|vos|ton)"),
    FORGETS(FR_DROP, "(?:tout|ce|texte|contenu)",
            "(?:avant|precede\\w*|dit|appris|dessus|jusqu\\w*)"),
    LEAKS("(?:montre\\w*|affiche\\w*|revele\\w*|donne\\w*|repete\\w*|ecri\\w*|dis|dites|"
          "communique\\w*|"
          "quel\\w* (?:est|sont)|recopie\\w*|traduis\\w*|divulgue\\w*|resume\\w*)",
          "(?:prompt (?:systeme|initial|de depart|cache|complet)|(?:instructions|consignes|regles) "
          "(?:systeme|initiales|cachees|secretes|internes|d origine|que tu as|que vous "
          "avez)|message systeme|"
          "ton prompt|tes instructions|vos instructions)"),
    SEEN(LEAK, 0.4, "\\b(?:mot pour mot|mot a mot|integralement|textuellement)\\b"),
    SEEN(LEAK, 0.45,
         "\\b(?:avant|precede\\w*) (?:mon|notre|ma|ce) "
         "<1>(?:message|conversation|question|discussion)\\b"),
    ROLES("(?:tu es|vous etes|agis|agissez|fais "
          "comme|imagine|comporte|joue\\w*|reponds|repondez|ia|assistant)",
          "(?:sans|aucune?|ni|libre de|pas de)",
          "(?:restrictions?|limites?|limitations?|filtres?|regles?|censure|ethique|morale?|"
          "contraintes?)\\b"),
    SEEN(REFUSAL, 0.35,
         "\\bne (?:refuse[sz]?|refusez|rejette[sz]?) <1>(?:jamais|rien|pas|aucune?)\\b"),
    SEEN(OVERRIDE, 0.3, "\\b(?:partir de maintenant|desormais|dorenavant)\\b"),
    SEEN(
        OVERRIDE, 0.35,
        "\\b(?:je suis|en tant que) ton <1>(?:createur|developpeur|administrateur|programmeur)\\b"),
    /* ---- Spanish */
    OVERRIDES(ES_DROP, ES_TOLD, ES_PRIOR, "(?:todas|tus|sus)"),
    FORGETS(ES_DROP, "(?:todo|lo|cuanto|texto|contenido)",
            "(?:antes|anterior\\w*|dicho|dijeron|arriba|aprendid\\w+|previo|sabes)"),
    SEEN(OVERRIDE, 0.5, "\\bhaz caso omiso\\b"),
    SEEN(OVERRIDE, 0.5,
         "\\bsigue (?:unicamente|solo|solamente|exclusivamente) (?:las mias|mis|lo que yo)\\b"),
    LEAKS("(?:muestra\\w*|muestre\\w*|revela\\w*|dime|digame|repite|imprime|escribe|ensena\\w*|"
          "cual\\w* (?:es|son)|comparte|"
          "traduce|dame|copia|cuentame)",
          "(?:(?:prompt|mensaje|instrucciones|indicaciones) (?:del sistema|de "
          "sistema|inicial\\w*|ocult\\w+|secret\\w+|"
          "original\\w*|complet\\w+|con las que|que te|que recibiste)|system prompt|tus "
          "instrucciones|tu prompt)"),
    SEEN(LEAK, 0.4, "\\b(?:palabra por palabra|textualmente|al pie de la letra|literalmente)\\b"),
    SEEN(LEAK, 0.45,
         "\\b(?:antes de|arriba de|anterior a) (?:mi|este|nuestra|esta) "
         "<1>(?:mensaje|conversacion|pregunta)\\b"),
    ROLES("(?:eres|actua|finge|imagina|comportate|responde|contesta|simula|ia|asistente)",
          "(?:sin|no (?:tienes?|tuvieras|tengas)|libre de|ninguna?)",
          "(?:restricci\\w+|limites|limitaciones|filtros?|reglas|censura|etica\\w*|moral\\w*|"
          "normas)\\b"),
    SEEN(REFUSAL, 0.35,
         "\\b(?:nunca|jamas|no) (?:te |se )?(?:nieg\\w+|negar\\w*|rechac\\w+|rehus\\w+)\\b"),
    SEEN(OVERRIDE, 0.3, "\\b(?:partir de ahora|ahora en adelante|desde ahora)\\b"),
    /* ---- Italian */
    OVERRIDES(IT_DROP, IT_TOLD, IT_PRIOR, "(?:tutte|tue|tutti)"),
    FORGETS(IT_DROP, "(?:tutto|quello|cio|quanto|testo)",
            "(?:prima|precedent\\w*|detto|sopra|ricevuto|sai|imparato)"),
    LEAKS("(?:mostra\\w*|rivela\\w*|stampa|dimmi|ripeti|scrivi|qual e|quali "
          "sono|dammi|copia|traduci)",
          "(?:(?:prompt|messaggio|istruzioni) (?:di sistema|del "
          "sistema|inizial\\w*|nascost\\w*|segret\\w*|original\\w*)|"
          "system prompt|tuo prompt|tue istruzioni)"),
    SEEN(LEAK, 0.4, "\\b(?:parola per parola|testualmente|alla lettera)\\b"),
    ROLES("(?:sei|agisci|fingi|comportati|immagina|rispondi|ia|intelligenza artificiale)",
          "(?:senza|priv[oa] di|non hai|nessun\\w*)",
          "(?:restrizioni|limiti|limitazioni|filtr[oi]|regole|censura|etic\\w+|moral\\w+|vincoli)"
          "\\b"),
    SEEN(REFUSAL, 0.35, "\\b(?:mai|non) (?:ti |si )?(?:rifiut\\w+)\\b|\\brispondi sempre di si\\b"),
    SEEN(OVERRIDE, 0.3, "\\b(?:da (?:adesso|ora|questo momento)|ora in poi)\\b"),
    /* ---- Portuguese */
    OVERRIDES(PT_DROP, PT_TOLD, PT_PRIOR, "(?:todas|suas|tuas)"),
    FORGETS(PT_DROP, "(?:tudo|que|texto)",
            "(?:antes|anterior\\w*|dito|disseram|acima|aprendeu|sabe)"),
    LEAKS("(?:mostre|mostra|revele|revela|diga|repita|imprima|escreva|exiba|qual e|quais "
          "sao|conte|traduza|copie)",
          "(?:(?:prompt|mensagem|instrucoes) (?:do sistema|de "
          "sistema|inicia\\w+|ocult\\w+|secret\\w+|origina\\w+)|"
          "system prompt|seu prompt|suas instrucoes)"),
    ROLES("(?:voce (?:e|agora|sera)|aja|finja|imagine|comporte|responda|atue|ia)",
          "(?:sem|livre de|nenhuma?|nao tem)",
          "(?:restric\\w+|limites|limitacoes|filtros?|regras|censura|etica|moral)\\b"),
    SEEN(REFUSAL, 0.35, "\\b(?:nunca|nao|jamais) (?:se )?(?:recus\\w+|rejeit\\w+|negu?e)\\b"),
    SEEN(OVERRIDE, 0.3, "\\b(?:partir de agora|agora em diante|doravante)\\b"),
    /* ---- Dutch */
    OVERRIDES(
        NL_DROP, NL_TOLD,
        "(?:eerdere|vorige|bovenstaande|voorgaande|oorspronkelijke|alle|hierboven|kreeg|gekregen)",
        "(?:je|jouw|uw|meer aan je)"),
    FORGETS(NL_DROP, "(?:alles|wat|dat|tekst)",
            "(?:hierboven|eerder|voorheen|verteld|gezegd|geleerd|staat)"),
    LEAKS("(?:laat|toon|geef|vertel|herhaal|onthul|print|schrijf|wat is|wat zijn)",
          "(?:systeem" JOIN "(?:prompt|bericht|instructies)|(?:verborgen|geheime|oorspronkelijke) "
          "(?:instructies|prompt|regels)|"
          "jouw prompt|je instructies)"),
    SAID(LEAK, 0.45, "\\b(?:geef|vertel|zeg|noem|onthul) <4>geheime? (?:wachtwoord|code|woord)\\b"),
    ROLES("(?:je bent|jij bent|doe alsof|gedraag|stel je voor|antwoord)",
          "(?:zonder|geen|vrij van)",
          "(?:regels|beperkingen|grenzen|filters?|censuur|moraal|ethi\\w*|richtlijnen)\\b"),
    SEEN(LEAK, 0.35,
         "\\b(?:senha|contrasena|clave|mot de passe|password|parola|wachtwoord|codigo) "
         "(?:secret\\w*|segret\\w*|ocult\\w*)\\b"),
    /* ---- Polish */
    OVERRIDES(
        "(?:zignoruj\\w*|ignoruj\\w*|zapomnij\\w*|pomin\\w*|odrzuc\\w*|nie "
        "(?:stosuj|przestrzegaj|zwracaj|sluchaj)\\w*)",
        "(?:instrukcj\\w*|polece\\w*|zasad\\w*|regu\\w*|wytyczn\\w*|ogranicze\\w*)",
        "(?:poprzedni\\w*|wczesniejsz\\w*|powyzsz\\w*|wszystki\\w*|dotychczasow\\w*|systemow\\w*)",
        "(?:swoi\\w*|twoi\\w*)"),
    LEAKS("(?:pokaz\\w*|ujawnij\\w*|wyswietl\\w*|powtorz\\w*|podaj\\w*|wypisz\\w*|napisz\\w*|"
          "jaki\\w* (?:jest|sa))",
          "(?:prompt\\w* systemow\\w*|systemow\\w* prompt\\w*|ukryt\\w* "
          "instrukcj\\w*|poczatkow\\w* instrukcj\\w*)"),
    ROLES("(?:jestes|udawaj|zachowuj|wyobraz|odpowiadaj)", "(?:bez|pozbawion\\w*|wolny od)",
          "(?:ogranicze\\w*|zasad\\w*|cenzury|filtr\\w*|regu\\w*|moral\\w*|etyki)"),
    /* ---- Turkish: what is dropped comes before the verb */
    SAID(OVERRIDE, 0.85,
         "\\b(?:onceki|yukaridaki|daha once\\w*|tum|butun|verilen) "
         "<3>(?:talimat\\w*|komut\\w*|kural\\w*|yonerge\\w*|"
         "talimatlar\\w*) <3>(?:yok say\\w*|unut\\w*|gormezden gel\\w*|dikkate alma\\w*|bos "
         "ver\\w*|goz ardi et\\w*)"),
    SAID(OVERRIDE, 0.6, "\\b(?:kurallar\\w*|talimatlar\\w*) (?:bos ver\\w*|unut\\w*|yok say\\w*)"),
    SAID(LEAK, 0.85,
         "\\b(?:sistem (?:istem\\w*|komut\\w*|talimat\\w*|prompt\\w*|mesaj\\w*)|gizli talimat\\w*) "
         "<3>(?:goster\\w*|soyle\\w*|yaz\\w*|"
         "paylas\\w*|acikla\\w*|ver\\w*|tekrarla\\w*)"),
    SAID(ROLE_PLAY, 0.75,
         "\\b(?:hicbir|herhangi bir|tum) "
         "(?:kisitlama\\w*|sinir\\w*|kural\\w*|filtre\\w*|sansur\\w*) "
         "<2>(?:olmayan|olmadan|tanimayan|yok)\\b"),
    /* ---- Swedish, Danish, Norwegian, Czech, Romanian, Indonesian, Vietnamese */
    SAID(OVERRIDE, 0.85,
         "\\b(?:ignorera|ignorer|glom|glem|bortse fran) "
         "<2>(?:alla|alle|dina|dine|tidigare|tidligere|de) "
         "<2>(?:instruktion\\w*|instruks\\w*|regler\\w*|"
         "anvisning\\w*|ordre\\w*)"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:ignoruj\\w*|zapomen\\w*|nedbej\\w*) <3>(?:predchozi\\w*|vsechny|drivejsi\\w*|vyse) "
         "<2>(?:instrukc\\w*|pokyn\\w*|pravidl\\w*|prikaz\\w*)"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:ignora|uita|ignorati) <3>(?:instructiunile|regulile|instructiuni\\w*) "
         "<2>(?:anterioare|precedente|tale|de mai sus)\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:abaikan|lupakan|hiraukan) <2>(?:instruksi|perintah|aturan|petunjuk) "
         "<2>(?:sebelumnya|di atas|tadi|awal)\\b"),
    SAID(LEAK, 0.8,
         "\\b(?:donn\\w+|montr\\w+|revel\\w+|affich\\w+|dis|repet\\w+|ecri\\w+|recopi\\w+|cit\\w+) "
         "<6>(?:tes|vos) (?:\\w+ )?(?:consignes|instructions|regles|directives)\\b"),
    SEEN(OVERRIDE, 0.6,
         "\\b(?:alles|text|das|satze?) (?:oben|davor|zuvor|bisher\\w*|daruber) "
         "(?:war|ist|waren|sind) "
         "(?:nur|bloss|lediglich) <1>(?:test|beispiel|ubung|scherz|witz|platzhalter)\\b"),
    SAID(OVERRIDE, 0.75,
         "\\b(?:gelten|gilt|zahlen) <4>" DE_TOLD " <1>(?:nicht mehr|nicht langer)\\b"),
    /* ---- Hungarian, Swahili, Tagalog, Hausa, Finnish */
    SAID(OVERRIDE, 0.85,
         "\\b(?:hagyd|hagyja|felejtsd|felejtse) <4>(?:korabbi|elozo|eddigi|fenti|osszes) "
         "<3>(?:utasitas\\w*|szabaly\\w*|parancs\\w*|iranyelv\\w*)"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:puuza|sahau|kupuuza|achana na) <3>(?:maagizo|maelekezo|amri|kanuni) "
         "<3>(?:yaliyotangulia|ya awali|yaliyopita|ya hapo juu|zilizotangulia|za awali|yote)\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:huwag (?:mong )?pansinin|kalimutan|balewalain) <5>(?:naunang|nakaraang|nasa itaas "
         "na|mga) <2>(?:tagubilin|utos|patakaran|instruksyon)\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:yi watsi da|manta da|ka manta) <3>(?:umarnin|umarni|dokoki|dokokin) "
         "<2>(?:baya|da suka gabata|na baya|na sama)\\b"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:unohda|ohita|jata huomiotta) <3>(?:aiemmat|edelliset|aikaisemmat|kaikki|ylla "
         "olevat) <2>(?:ohjeet|saannot|kaskyt|ohjeista)"),
    SAID(OVERRIDE, 0.85,
         "\\b(?:bo qua|quen) <4>(?:huong dan|chi dan|chi thi|quy tac|lenh) <3>(?:truoc|tren)\\b"),
};

const size_t weir_injection__n_tongues =
    sizeof weir_injection__tongues / sizeof weir_injection__tongues[0];
