/*
 * The output detectors of the embedded default (detect/reading.h) on streams of tokens: how long a
 * token is held, in tokens and code points, on English, dense and not, German, Japanese and code;
 * what a token costs; what the readers of a channel take. Usage: read_bench [ROUNDS [TEXT]], TEXT
 * being 0 to 4; read_bench 0 TEXT tells which tokens leave later than with the next one, and who
 * holds them
 *
 * Tokens are cut as tokenizers do it: a word with the blank or sign before it, at most eight
 * letters of it, signs together, two letters of Japanese; and once more with each sign by itself.
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/reading.h"
#include "detect/registry.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_BYTES = 100 * 1024, MAX_TOKENS = TEXT_BYTES, MAX_LETTERS = 8, N_READERS = 5 };

static const struct {
    const char *name;
    const char *text;
} texts[] = {
    {"English",
     "The gateway reads what the model says as it says it, a few letters at a time. It holds each "
     "word until every detector has looked at it, and lets it go when none of them objects. Dr. "
     "Weir, who built the first one in 1871, called that \"keeping the gate\"; nobody has found a "
     "better word since. Does it cost much? About 3.5 percent, i.e. less than the network. The "
     "password to the old house was written on paper, and the token of thanks was a secret between "
     "two people at 12:30. See section 4.2 and call the office before Friday, or visit "
     "https://www.example.org/help for more.\n\n"},
    {"an answer",
     "Sure, I can help with that. The short version is that a proxy sits between your application "
     "and the model, and reads both what goes in and what comes out. When a user asks a question, "
     "the proxy looks at it first and passes it on if nothing is wrong. The answer then arrives "
     "word by word, and most of those words are harmless, so they should reach the reader without "
     "any delay that a person would notice.\n\nThere are a few things to keep in mind before you "
     "start:\n\n- Decide which topics matter to you, since every rule costs a little time.\n- Try "
     "the rules on real conversations and look at what they find.\n- Keep the list of exceptions "
     "short, because nobody remembers why an old one was added.\n\nIf the model writes something "
     "that must not leave, the proxy can either mask that part or stop the whole answer. Masking "
     "is "
     "friendlier, while stopping is safer when you cannot tell what else might follow. Many teams "
     "begin by only watching for a week or two, and turn on masking once they trust the results. "
     "Would you like an example of such a setup for a small shop that answers questions about "
     "orders and deliveries?\n\n"},
    {"German",
     "Die Übertragung beginnt, sobald das erste Wort geprüft ist; niemand wartet auf das Ende des "
     "Satzes. Am 3. Oktober 1990 waren es 12.500 Zeichen pro Sekunde, heute sind es mehr. Das "
     "Kennwort für das alte Haus stand auf einem Zettel, und die Geschwindigkeitsbegrenzung von 50 "
     "km/h galt überall. Wer fragt, bekommt eine Antwort: zum Beispiel per Brief oder "
     "persönlich.\n\n"},
    {"Japanese",
     "ゲートウェイはモデルの言葉を少しずつ読みます。どの検出器も反対しなければ、その言葉はすぐに"
     "送られます。2024年3月15日の会議で決まったとおり、パスワードは紙に書かないでください。詳しくは"
     "担当者に聞いてください。"},
    {"code",
     "def read_along(self, text: str) -> list[Finding]:\n    \"\"\"Reads what has come.\"\"\"\n    "
     "for i, token in enumerate(self.tokens):\n        if token.kind == Kind.NUMBER and "
     "len(token.text) > 12:\n            self.found.append(Finding(token.start, token.end, "
     "score=0.9))\n    return [f for f in self.found if f.score >= self.threshold]\n\nint main(int "
     "argc, char **argv)\n{\n    size_t n = strlen(argv[1]);\n    for (size_t i = 0; i < n; i++) "
     "{\n        total += values[i] * 2;\n    }\n    printf(\"%zu\\n\", total);\n    return 0;\n}\n"
     "\n"},
};

static const struct {
    const char *kind;
    const char *params;
} kinds[N_READERS] = {
    {"regex",
     "{\"regex\":[\"email\",\"credit-card\",\"phone\",\"us-ssn\",\"ipv4\",\"ipv6\",\"iban\"]}"},
    {"secrets", "{}"},
    {"keywords",
     "{\"deny\":[\"idiot\",\"idiots\",\"stupid\",\"moron\",\"fool\",\"shut up\",\"get lost\"]}"},
    {"unicode", "{}"},
    {"links", "{}"},
};

static struct weir_builtin builtins[N_READERS];

static bool is_letter(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 0xC2 && c <= 0xDF) ||
           (c >= 0x80 && c < 0xC0);
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_sign(unsigned char c)
{
    return c < 0x80 && !is_letter(c) && !is_digit(c) && c != ' ' && c != '\n';
}

/* Letters, at most eight of them and whole code points; two of scripts without blanks. */
static size_t letters_length(struct weir_slice s)
{
    size_t n = 0;
    if (s.n != 0 && (unsigned char)s.p[0] >= 0xE0) {
        return weir_utf8_byte_at(s, 2);
    }
    while (n < s.n && n < MAX_LETTERS && is_letter((unsigned char)s.p[n])) {
        n++;
    }
    while (n < s.n && ((unsigned char)s.p[n] & 0xC0) == 0x80) {
        n++;
    }
    return n;
}

/*
 * The bytes of the next token, by the rules that tokenizers cut words with before anything else: a
 * blank or a sign belongs to the letters behind it, digits come by three, signs together with a
 * blank before and the line's end behind them. `is_fine`: signs by themselves, as the worst of
 * tokenizers would.
 */
static size_t token_length(struct weir_slice s, bool is_fine)
{
    unsigned char first = (unsigned char)s.p[0];
    size_t lead = !is_letter(first) && !is_digit(first) && first != '\n' && first < 0x80 &&
                  (!is_fine || first == ' ');
    size_t n_letters = letters_length(weir_slice_sub(s, lead, s.n));
    if (n_letters != 0) {
        return lead + n_letters;
    }
    size_t n = 0;
    while (n < s.n && n < 3 && is_digit((unsigned char)s.p[n])) {
        n++;
    }
    if (n != 0) {
        return n;
    }
    n = first == ' ' && s.n > 1 && is_sign((unsigned char)s.p[1]);
    size_t from = n;
    while (n < s.n && (n == from || !is_fine) && is_sign((unsigned char)s.p[n])) {
        n++;
    }
    if (n > from) {
        n += n < s.n && s.p[n] == '\n' && !is_fine;
        return n;
    }
    while (n < s.n && (s.p[n] == ' ' || s.p[n] == '\n') &&
           !(n != 0 && s.p[n] == ' ' && n + 1 < s.n && s.p[n + 1] != ' ')) {
        n++; /* the last blank belongs to what follows */
    }
    return n != 0 ? n : 1;
}

static struct weir_slice tokens[MAX_TOKENS];
static size_t ends_cp[MAX_TOKENS];

static size_t cut(struct weir_slice text, bool is_fine)
{
    size_t n = 0;
    size_t at_cp = 0;
    while (text.n != 0) {
        tokens[n] = weir_slice_sub(text, 0, token_length(text, is_fine));
        at_cp += weir_utf8_count(tokens[n]);
        ends_cp[n] = at_cp;
        text = weir_slice_sub(text, tokens[n].n, text.n);
        n++;
    }
    return n;
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t smallest_mark(const struct weir_reading *r)
{
    size_t mark_cp = SIZE_MAX;
    for (size_t i = 0; i < N_READERS; i++) {
        size_t own_cp = weir_reading_mark_cp(r, i);
        mark_cp = own_cp < mark_cp ? own_cp : mark_cp;
    }
    return mark_cp;
}

/* Of the first time the text is said: a token that is late, and what each reader holds of it. */
static void tell_late(const struct weir_reading *r, size_t i, size_t left)
{
    enum { FIRST = 400 };
    if (i != left + 1 || i > FIRST) {
        return;
    }
    printf("    %-12.*s before %.*s:", (int)tokens[left].n, tokens[left].p,
           (int)((tokens[i].p + tokens[i].n) - (tokens[left].p + tokens[left].n)),
           tokens[left].p + tokens[left].n);
    for (size_t k = 0; k < N_READERS; k++) {
        if (weir_reading_mark_cp(r, k) < ends_cp[left]) {
            printf(" %s", kinds[k].kind);
        }
    }
    printf("\n");
}

struct hold {
    size_t with_next; /* tokens that leave with the next one, or their own */
    size_t within_three;
    size_t most_tokens;
    size_t most_cp;
    double mean_cp;
};

static struct weir_reading *open_reading(void)
{
    struct weir_reading *r = weir_reading_new(NULL, NULL, NULL);
    for (size_t i = 0; i < N_READERS; i++) {
        weir_reading_add(r, &builtins[i].base, WEIR_SLICE(""), 0.5);
    }
    weir_reading_start(r);
    return r;
}

static struct hold measure(size_t n, bool tells_late)
{
    struct hold h = {0};
    struct weir_reading *r = open_reading();
    size_t left = 0;
    double held_cp = 0;
    for (size_t i = 0; i < n; i++) {
        weir_reading_push(r, tokens[i]);
        size_t mark_cp = smallest_mark(r);
        held_cp += (double)(ends_cp[i] - mark_cp);
        h.most_cp = ends_cp[i] - mark_cp > h.most_cp ? ends_cp[i] - mark_cp : h.most_cp;
        while (left < n && ends_cp[left] <= mark_cp) {
            size_t late = i - left;
            h.with_next += late <= 1;
            h.within_three += late <= 3;
            h.most_tokens = late > h.most_tokens ? late : h.most_tokens;
            left++;
        }
        if (tells_late) {
            tell_late(r, i, left);
        }
    }
    h.mean_cp = held_cp / (double)n;
    weir_reading_free(r);
    return h;
}

static void print_hold(size_t n, bool tells_late)
{
    struct hold h = measure(n, tells_late);
    printf("  with the next %.1f %%, within three %.1f %%, at most %zu tokens, %zu code points; "
           "held on average %.1f code points\n",
           100.0 * (double)h.with_next / (double)n, 100.0 * (double)h.within_three / (double)n,
           h.most_tokens, h.most_cp, h.mean_cp);
}

/* What the readers of a channel take, in the middle of a text. */
static size_t memory(size_t n)
{
    enum { N_OPEN = 200, N_PUSHED = 200 };
    static struct weir_reading *open[N_OPEN];
    struct mallinfo2 before = mallinfo2();
    for (size_t k = 0; k < N_OPEN; k++) {
        open[k] = open_reading();
        for (size_t i = 0; i < n && i < N_PUSHED; i++) {
            weir_reading_push(open[k], tokens[i]);
        }
    }
    struct mallinfo2 after = mallinfo2();
    for (size_t k = 0; k < N_OPEN; k++) {
        weir_reading_free(open[k]);
    }
    return (after.uordblks - before.uordblks) / N_OPEN;
}

static double cost(size_t n, int rounds)
{
    double from = cpu_ns();
    for (int k = 0; k < rounds; k++) {
        struct weir_reading *r = open_reading();
        for (size_t i = 0; i < n; i++) {
            weir_reading_push(r, tokens[i]);
        }
        weir_reading_free(r);
    }
    return (cpu_ns() - from) / (double)n / rounds;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    struct weir_buf why = {0};
    for (size_t i = 0; i < N_READERS; i++) {
        if (weir_detect_builtin_init(&builtins[i], weir_slice_cstr(kinds[i].kind),
                                     weir_slice_cstr(kinds[i].kind),
                                     weir_slice_cstr(kinds[i].params), &why) != 0) {
            fprintf(stderr, "%s\n", weir_buf_cstr(&why));
            return 1;
        }
    }
    size_t n_texts = sizeof texts / sizeof texts[0];
    size_t first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    n_texts = argc > 2 && first < n_texts ? first + 1 : n_texts;
    for (size_t i = first; i < n_texts; i++) {
        struct weir_buf text = {0};
        while (text.n + strlen(texts[i].text) < TEXT_BYTES) {
            weir_buf_append(&text, weir_slice_cstr(texts[i].text));
        }
        size_t n = cut(weir_buf_slice(&text), true);
        printf("%s, %zu tokens with signs by themselves\n", texts[i].name, n);
        print_hold(n, false);
        n = cut(weir_buf_slice(&text), false);
        printf("  %zu tokens\n", n);
        print_hold(n, rounds == 0);
        printf("  %.0f ns a token, %zu bytes for the readers of a channel\n",
               rounds > 0 ? cost(n, rounds) : 0, rounds > 0 ? memory(n) : 0);
        weir_buf_dispose(&text);
    }
    for (size_t i = 0; i < N_READERS; i++) {
        weir_builtin_dispose(&builtins[i]);
    }
    weir_buf_dispose(&why);
    return 0;
}
