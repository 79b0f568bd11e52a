#include "chunk/follow.h"

#include "base/utf8.h"

enum { RIGHT_QUOTE = 0x2019, WIDE_COLON = 0xFF1A };

/* ---- the tables ---- */

struct starters {
    bool is_strong;
    const char *words;
};

/* Words that begin sentences far more often than they are a name. Strong ones are no part of names
 * either: "J. M. Le Clézio", "A. Das". */
static const struct starters starters[] = {
    /* English */
    {true, "The He She It They We You This That These Those There Then But And However If When "},
    {true, "What Why How Where Who Which His Her Its Their Our My Your After Before Although "},
    {true, "Because Since While Until Now Also Some Many Most Both Each Please It's He's She's "},
    {true, "That's There's They're We're You're I'm I've I'd I'll Don't Yes Meanwhile Today "},
    {true, "Do Does Did Is Are Was Were Could Would Should Has Have "},
    {false, "A An I In On At For As To From By With No Not So Can "},
    {false, "Nobody Everyone One Two Let Here All Others Nothing Yet "},
    /* German */
    {true, "Er Sie Es Wir Ihr Ich Man Dann Aber Und Doch Wenn Als Dort Hier Diese Dieser Dieses "},
    {true, "Dabei Danach Deshalb Daher Dadurch Sein Seine Ihre Unser Unsere Auch Jetzt Heute "},
    {true, "Später Nun Wie Was Warum Wer Wo Bitte Jedoch Allerdings Seitdem Damals Trotzdem "},
    {false, "Der Die Das Den Dem Ein Eine Einen Im Am Auf Bei Nach Mit Von Zu Für Seit Vor Alle "},
    {false, "Viele Manche Andere Niemand Kein Keine Beide Jeder Ja Nein Zum Zur Um Aus Bis "},
    /* French */
    {true, "Il Elle Ils Elles Nous Vous Ce Cette Ces Cet C' Je J' Mais Donc Ensuite Quand Leur "},
    {true,
     "Leurs Notre Votre Cela Ça Alors Pourtant Pourquoi Comment Où Après Avant Aujourd' Qu' "},
    {false,
     "Le La Les L' Un Une Des Du De D' Dans En À Au Aux Par Pour Sur Avec Si Son Sa Ses Mon "},
    {false, "Ma Mes Tu On Et Puis Tout Tous Toutes Personne Depuis Merci "},
    /* Spanish */
    {true,
     "Él Ella Ellos Ellas Esto Esta Este Estos Estas Eso Pero Entonces Cuando Después Luego "},
    {true, "Sus Nosotros Yo Usted También Así Ahora Aquí Allí Hay Fue Además "},
    {false, "El Los Las Una Del Con Por Según Se Al Lo Mi Su Y Era Como Nadie Todos Desde Hoy Es "},
    /* Italian */
    {true, "Lui Lei Loro Egli Questo Questa Questi Queste Poi Quando Perché Dopo Anche Ora Noi "},
    {true, "Voi Suo Sua Oggi Quindi Però "},
    {false, "Non Gli Nel Nella Di Da Per Su È Era Sono Tutti Tutto Nessuno Dal Dalla Alla I "},
    /* Portuguese */
    {true, "Ele Ela Eles Elas Isso Isto Mas Então Depois Também Não Nós Você Hoje Quem Agora "},
    {false, "O Os As Um Uma Na Em Do Para Com Seu Todos Ninguém Já Foi "},
    /* Dutch */
    {true, "Hij Zij Ze Het Wij Ik Dit Dat Deze Maar Toen Daarna Daar Ook Zijn Haar Nu Vandaag "},
    {false, "Een Op Van Met Voor Niemand "},
    /* Polish */
    {true, "Ona Ono Oni To Ten Ale Potem Wtedy Kiedy Gdy Jeśli Jego Jej Ich Tam Teraz Jak Co "},
    {true, "Dlaczego Kto Gdzie Dlatego Jednak Dziś Był Była Było "},
    {false, "W Na Z Od Dla Przy Po Tu Ta Nie Jest Wszyscy Nikt "},
    /* Swedish, Danish, Norwegian */
    {true, "Han Hon Hun Jag Jeg Vi Men Och Og Det "},
    {false, "De Där Der "},
    /* Russian, Ukrainian */
    {true, "Он Она Оно Они Мы Вы Я Это Этот Эта Эти Но И Также Затем Потом Тогда Когда Если Его "},
    {true, "Её Ее Их Там Здесь Теперь Как Что Почему Кто Где После Поэтому Однако Сегодня Він "},
    {true, "Вона Вони Це Але Потім "},
    {false, "А В Во На С Со По К Из За От До Для При У О Не Все Всё Никто Был Была Было "},
};

struct entry {
    enum weir_follow_verdict verdict;
    const char *beginning;
};

/* Words that a German ordinal with a full stop ("3.") stands before, besides nouns after an
 * article: mostly months. */
static const struct entry counted[] = {
    {WEIR_FOLLOW_GOES_ON, "Januar"},      {WEIR_FOLLOW_GOES_ON, "Jänner"},
    {WEIR_FOLLOW_GOES_ON, "Februar"},     {WEIR_FOLLOW_GOES_ON, "März"},
    {WEIR_FOLLOW_GOES_ON, "April"},       {WEIR_FOLLOW_GOES_ON, "Mai"},
    {WEIR_FOLLOW_GOES_ON, "Juni"},        {WEIR_FOLLOW_GOES_ON, "Juli"},
    {WEIR_FOLLOW_GOES_ON, "August"},      {WEIR_FOLLOW_GOES_ON, "September"},
    {WEIR_FOLLOW_GOES_ON, "Oktober"},     {WEIR_FOLLOW_GOES_ON, "November"},
    {WEIR_FOLLOW_GOES_ON, "Dezember"},    {WEIR_FOLLOW_GOES_ON, "Jahrhundert"},
    {WEIR_FOLLOW_GOES_ON, "Jahrtausend"}, {WEIR_FOLLOW_GOES_ON, "Jh"},
    {WEIR_FOLLOW_GOES_ON, "Weltkrieg"},   {WEIR_FOLLOW_GOES_ON, "Stock"},
    {WEIR_FOLLOW_GOES_ON, "Etage"},       {WEIR_FOLLOW_GOES_ON, "Obergeschoss"},
    {WEIR_FOLLOW_GOES_ON, "Platz"},       {WEIR_FOLLOW_GOES_ON, "Klasse"},
    {WEIR_FOLLOW_GOES_ON, "Auflage"},     {WEIR_FOLLOW_GOES_ON, "Aufl"},
    {WEIR_FOLLOW_GOES_ON, "Kapitel"},     {WEIR_FOLLOW_GOES_ON, "Bundesliga"},
    {WEIR_FOLLOW_GOES_ON, "Liga"},        {WEIR_FOLLOW_GOES_ON, "Runde"},
    {WEIR_FOLLOW_GOES_ON, "Spieltag"},    {WEIR_FOLLOW_GOES_ON, "Geburtstag"},
    {WEIR_FOLLOW_GOES_ON, "Jahrestag"},   {WEIR_FOLLOW_GOES_ON, "Sinfonie"},
    {WEIR_FOLLOW_GOES_ON, "Semester"},    {WEIR_FOLLOW_GOES_ON, "Bezirk"},
    {WEIR_FOLLOW_GOES_ON, "Advent"},      {WEIR_FOLLOW_GOES_ON, "Lebensjahr"},
};

/* Behind a closed quotation or bracket, in scripts without small letters: particles and verbs of
 * saying; words that only begin like them. */
static const struct entry quoted[] = {
    /* Japanese */
    {WEIR_FOLLOW_GOES_ON, "と"},
    {WEIR_FOLLOW_GOES_ON, "って"},
    {WEIR_FOLLOW_GOES_ON, "を"},
    {WEIR_FOLLOW_GOES_ON, "が"},
    {WEIR_FOLLOW_GOES_ON, "の"},
    {WEIR_FOLLOW_GOES_ON, "に"},
    {WEIR_FOLLOW_GOES_ON, "は"},
    {WEIR_FOLLOW_GOES_ON, "など"},
    {WEIR_FOLLOW_GOES_ON, "なんて"},
    {WEIR_FOLLOW_GOES_ON, "です"},
    {WEIR_FOLLOW_GOES_ON, "だと"},
    {WEIR_FOLLOW_GOES_ON, "だった"},
    {WEIR_FOLLOW_GOES_ON, "から"},
    {WEIR_FOLLOW_GOES_ON, "まで"},
    {WEIR_FOLLOW_ENDS, "とても"},
    {WEIR_FOLLOW_ENDS, "ところ"},
    {WEIR_FOLLOW_ENDS, "とにかく"},
    {WEIR_FOLLOW_ENDS, "ときどき"},
    {WEIR_FOLLOW_ENDS, "とりあえず"},
    {WEIR_FOLLOW_ENDS, "はい"},
    {WEIR_FOLLOW_ENDS, "はじめ"},
    {WEIR_FOLLOW_ENDS, "がんば"},
    /* Chinese; "他说：" begins the next quotation */
    {WEIR_FOLLOW_GOES_ON, "他说"},
    {WEIR_FOLLOW_GOES_ON, "她说"},
    {WEIR_FOLLOW_GOES_ON, "我说"},
    {WEIR_FOLLOW_GOES_ON, "他问"},
    {WEIR_FOLLOW_GOES_ON, "她问"},
    {WEIR_FOLLOW_GOES_ON, "我问"},
    {WEIR_FOLLOW_GOES_ON, "他喊"},
    {WEIR_FOLLOW_GOES_ON, "她喊"},
    {WEIR_FOLLOW_GOES_ON, "他答"},
    {WEIR_FOLLOW_GOES_ON, "她答"},
    {WEIR_FOLLOW_GOES_ON, "他想"},
    {WEIR_FOLLOW_GOES_ON, "她想"},
    {WEIR_FOLLOW_GOES_ON, "他回答"},
    {WEIR_FOLLOW_GOES_ON, "她回答"},
    {WEIR_FOLLOW_GOES_ON, "他们说"},
    {WEIR_FOLLOW_GOES_ON, "她们说"},
    {WEIR_FOLLOW_GOES_ON, "说道"},
    {WEIR_FOLLOW_GOES_ON, "问道"},
    {WEIR_FOLLOW_GOES_ON, "的"},
    {WEIR_FOLLOW_GOES_ON, "他說"},
    {WEIR_FOLLOW_GOES_ON, "她說"},
    {WEIR_FOLLOW_GOES_ON, "他問"},
    {WEIR_FOLLOW_GOES_ON, "她問"},
    /* Korean */
    {WEIR_FOLLOW_GOES_ON, "라고"},
    {WEIR_FOLLOW_GOES_ON, "라는"},
    {WEIR_FOLLOW_GOES_ON, "라며"},
    {WEIR_FOLLOW_GOES_ON, "라면서"},
    {WEIR_FOLLOW_GOES_ON, "이라고"},
    {WEIR_FOLLOW_GOES_ON, "이라는"},
    {WEIR_FOLLOW_GOES_ON, "하고"},
    {WEIR_FOLLOW_GOES_ON, "고"},
    {WEIR_FOLLOW_GOES_ON, "는"},
    {WEIR_FOLLOW_GOES_ON, "은"},
    {WEIR_FOLLOW_GOES_ON, "에"},
    {WEIR_FOLLOW_GOES_ON, "을"},
    {WEIR_FOLLOW_GOES_ON, "를"},
    {WEIR_FOLLOW_GOES_ON, "의"},
    /* Arabic */
    {WEIR_FOLLOW_GOES_ON, "ثم"},
    {WEIR_FOLLOW_GOES_ON, "قال"},
    {WEIR_FOLLOW_GOES_ON, "سأل"},
};

void weir_follow_words_init(struct weir_follow_words *words)
{
    *words = (struct weir_follow_words){0};
    for (size_t i = 0; i < sizeof starters / sizeof starters[0]; i++) {
        struct weir_slice rest = weir_slice_cstr(starters[i].words);
        while (rest.p != NULL) {
            struct weir_slice word = weir_slice_cut(&rest, ' ');
            if (word.n != 0 && !weir_map_has(&words->starters, word)) {
                weir_map_put(&words->starters, word, (void *)&starters[i]);
            }
        }
    }
}

void weir_follow_words_dispose(struct weir_follow_words *words)
{
    weir_map_dispose(&words->starters);
}

/* ---- the word ---- */

static struct weir_slice word_of(const struct weir_follow *f)
{
    return weir_slice_make(f->word, f->n);
}

static bool is_starter(const struct weir_follow *f, const struct weir_follow_words *words)
{
    const struct starters *list = weir_map_get(&words->starters, word_of(f));
    return list != NULL && (list->is_strong || f->mode == WEIR_FOLLOW_ANY);
}

/* By the longest entry the word begins with; waits while the word is the beginning of one. */
static enum weir_follow_verdict look_up(const struct weir_follow *f, bool is_over)
{
    bool is_quote = f->mode == WEIR_FOLLOW_QUOTE;
    const struct entry *list = is_quote ? quoted : counted;
    size_t n = is_quote ? sizeof quoted / sizeof quoted[0] : sizeof counted / sizeof counted[0];
    size_t longest = 0;
    enum weir_follow_verdict verdict = WEIR_FOLLOW_ENDS;
    for (size_t i = 0; i < n; i++) {
        struct weir_slice beginning = weir_slice_cstr(list[i].beginning);
        if (!is_over && weir_slice_starts_with(beginning, word_of(f))) {
            return WEIR_FOLLOW_WAIT;
        }
        if (beginning.n > longest && weir_slice_starts_with(word_of(f), beginning)) {
            longest = beginning.n;
            verdict = list[i].verdict;
        }
    }
    return verdict;
}

/* `next` is what stands behind the word. "J. A. Smith": a letter with a full stop starts nothing.
 */
static enum weir_follow_verdict judge_word(const struct weir_follow *f,
                                           const struct weir_follow_words *words, uint32_t next)
{
    if (f->mode == WEIR_FOLLOW_QUOTE && (next == ':' || next == WIDE_COLON)) {
        return WEIR_FOLLOW_ENDS;
    }
    if (f->mode == WEIR_FOLLOW_QUOTE || f->mode == WEIR_FOLLOW_COUNTED) {
        return look_up(f, true);
    }
    bool is_initial = next == '.' && weir_utf8_count(word_of(f)) == 1;
    return !is_initial && is_starter(f, words) ? WEIR_FOLLOW_ENDS : WEIR_FOLLOW_GOES_ON;
}

static enum weir_follow_verdict add_letter(struct weir_follow *f, uint32_t cp)
{
    char bytes[4];
    size_t n = weir_utf8_encode(cp, bytes);
    bool is_list = f->mode == WEIR_FOLLOW_QUOTE || f->mode == WEIR_FOLLOW_COUNTED;
    if (n > sizeof f->word - f->n) {
        return is_list ? look_up(f, true) : WEIR_FOLLOW_GOES_ON;
    }
    memcpy(f->word + f->n, bytes, n);
    f->n = (uint8_t)(f->n + n);
    return is_list ? look_up(f, false) : WEIR_FOLLOW_WAIT;
}

static enum weir_follow_verdict settle(struct weir_follow *f, enum weir_follow_verdict verdict)
{
    if (verdict != WEIR_FOLLOW_WAIT) {
        *f = (struct weir_follow){0};
    }
    return verdict;
}

/* An elided word ("C'est") is recognised by its apostrophe; a contracted one ("It's") by its end.
 */
enum weir_follow_verdict weir_follow_step(struct weir_follow *f,
                                          const struct weir_follow_words *words, uint32_t cp,
                                          bool is_letter)
{
    bool is_apostrophe = f->n != 0 && (cp == '\'' || cp == RIGHT_QUOTE);
    if (!is_letter && !is_apostrophe) {
        return settle(f, judge_word(f, words, cp));
    }
    enum weir_follow_verdict verdict = add_letter(f, is_apostrophe ? '\'' : cp);
    if (is_apostrophe && verdict == WEIR_FOLLOW_WAIT &&
        judge_word(f, words, 0) == WEIR_FOLLOW_ENDS) {
        verdict = WEIR_FOLLOW_ENDS;
    }
    return settle(f, verdict);
}

enum weir_follow_verdict weir_follow_end(struct weir_follow *f,
                                         const struct weir_follow_words *words)
{
    return settle(f, judge_word(f, words, 0));
}
