/*
 * Two automata (Aho and Corasick's), each over its own reading of the text:
 *
 *   text      The  W-o-r-d  is  …  V29yZA==
 *   letters   the  w o r d  is     v29yzq         letters and digits alone, small
 *   base64    …                    V29yZA         its alphabet, white space left out
 *
 * A state is how much of some pattern has just been read: where that began, a finding may begin,
 * and nothing behind it is let go. Patterns are the words and the words backwards; in base64 what
 * is the same of them whatever stands before and behind, for each of the three ways to cut them
 * into groups.
 */
#include "detect/canary.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_WORDS = 16,
    MIN_LETTERS = 8,
    MAX_LETTERS = 64,
    MAX_BASE64 = (MAX_LETTERS + 2) * 4 / 3 + 4,
    MAX_GAP = 16, /* bytes between characters of a word */
    N_LETTERS = 36,
    N_BASE64 = 64,
    NONE = 255, /* not in the alphabet, … */
    BLANK = 254 /* … and does not end a run */
};

struct node {
    uint16_t depth;
    uint16_t found; /* length of the pattern that ends here; 0: none does */
};

struct automaton {
    uint16_t n_symbols;
    uint16_t *next; /* by node and symbol */
    struct node *nodes;
    size_t n_nodes;
    size_t cap_nodes;
    size_t longest; /* pattern */
};

struct settings {
    struct automaton letters;
    struct automaton base64;
};

/* ---- making ---- */

static void free_automaton(struct automaton *a)
{
    free(a->next);
    free(a->nodes);
}

static void free_settings(void *p)
{
    struct settings *s = p;
    free_automaton(&s->letters);
    free_automaton(&s->base64);
    free(s);
}

static size_t add_node(struct automaton *a, size_t depth)
{
    size_t at = a->n_nodes++;
    if (at == a->cap_nodes) {
        a->cap_nodes = 2 * a->cap_nodes + 32;
        a->next = weir_mem_realloc(a->next, a->cap_nodes * a->n_symbols * sizeof *a->next);
        a->nodes = weir_mem_realloc(a->nodes, a->cap_nodes * sizeof *a->nodes);
    }
    memset(&a->next[at * a->n_symbols], 0, a->n_symbols * sizeof *a->next);
    a->nodes[at] = (struct node){.depth = (uint16_t)depth};
    return at;
}

static void init_automaton(struct automaton *a, size_t n_symbols)
{
    a->n_symbols = (uint16_t)n_symbols;
    add_node(a, 0);
}

static void add_pattern(struct automaton *a, const unsigned char *symbols, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        size_t edge = at * a->n_symbols + symbols[i];
        if (a->next[edge] == 0) {
            size_t made = add_node(a, i + 1);
            a->next[edge] = (uint16_t)made;
        }
        at = a->next[edge];
    }
    a->nodes[at].found = (uint16_t)n;
    a->longest = n > a->longest ? n : a->longest;
}

/* Fills in where a node without such an edge goes on: what its longest other ending would do. */
static void close_automaton(struct automaton *a)
{
    size_t *queue = weir_mem_array(a->n_nodes, sizeof *queue);
    uint16_t *back = weir_mem_array(a->n_nodes, sizeof *back);
    size_t head = 0;
    size_t tail = 0;
    queue[tail++] = 0;
    back[0] = 0;
    while (head < tail) {
        size_t at = queue[head++];
        for (size_t c = 0; c < a->n_symbols; c++) {
            uint16_t *edge = &a->next[at * a->n_symbols + c];
            uint16_t other = at == 0 ? 0 : a->next[(size_t)back[at] * a->n_symbols + c];
            if (*edge == 0) {
                *edge = other;
                continue;
            }
            back[*edge] = other;
            if (a->nodes[*edge].found == 0) {
                a->nodes[*edge].found = a->nodes[other].found;
            }
            queue[tail++] = *edge;
        }
    }
    free(queue);
    free(back);
}

static unsigned char letter_of(unsigned char c)
{
    if (c >= '0' && c <= '9') {
        return (unsigned char)(c - '0');
    }
    c |= 0x20;
    return c >= 'a' && c <= 'z' ? (unsigned char)(c - 'a' + 10) : NONE;
}

static unsigned char base64_of(unsigned char c)
{
    if (c >= 'A' && c <= 'Z') {
        return (unsigned char)(c - 'A');
    }
    if (c >= 'a' && c <= 'z') {
        return (unsigned char)(c - 'a' + 26);
    }
    if (c >= '0' && c <= '9') {
        return (unsigned char)(c - '0' + 52);
    }
    if (c == '+' || c == '-') {
        return 62;
    }
    if (c == '/' || c == '_') {
        return 63;
    }
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' ? BLANK : NONE;
}

/* Six bits of the word with `shift` bytes before it. */
static unsigned sextet(const unsigned char *word, size_t shift, size_t at)
{
    unsigned bits = 0;
    for (size_t bit = 6 * at; bit < 6 * at + 6; bit++) {
        size_t byte = bit / 8 - shift;
        bits = bits << 1 | (word[byte] >> (7 - bit % 8) & 1);
    }
    return bits;
}

/* What does not depend on its neighbours. */
static void add_base64(struct automaton *a, const unsigned char *word, size_t n)
{
    for (size_t shift = 0; shift < 3; shift++) {
        unsigned char symbols[MAX_BASE64];
        size_t n_symbols = 0;
        size_t end = 8 * (shift + n) / 6;
        for (size_t at = (8 * shift + 5) / 6; at < end; at++) {
            symbols[n_symbols++] = (unsigned char)sextet(word, shift, at);
        }
        add_pattern(a, symbols, n_symbols);
    }
}

enum casing { AS_IS, SMALL, CAPITAL, CASINGS };

static unsigned char cased(unsigned char c, enum casing casing)
{
    bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    if (!is_letter || casing == AS_IS) {
        return c;
    }
    return casing == SMALL ? (unsigned char)(c | 0x20) : (unsigned char)(c & ~0x20);
}

/* Both ways round, in all forms. */
static void add_word(struct settings *s, const unsigned char *word, size_t n)
{
    for (int is_back = 0; is_back <= 1; is_back++) {
        unsigned char symbols[MAX_LETTERS];
        unsigned char bytes[MAX_LETTERS];
        for (size_t i = 0; i < n; i++) {
            symbols[i] = letter_of(word[is_back ? n - 1 - i : i]);
        }
        add_pattern(&s->letters, symbols, n);
        for (int casing = AS_IS; casing < CASINGS; casing++) {
            for (size_t i = 0; i < n; i++) {
                bytes[i] = cased(word[is_back ? n - 1 - i : i], (enum casing)casing);
            }
            add_base64(&s->base64, bytes, n);
        }
    }
}

static int read_word(struct settings *s, struct weir_slice text, struct weir_buf *why)
{
    unsigned char word[MAX_LETTERS];
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (letter_of(c) != NONE && n < MAX_LETTERS) {
            word[n++] = c;
        } else if (letter_of(c) != NONE || c >= 0x80) {
            n = 0;
            break;
        }
    }
    if (n < MIN_LETTERS) {
        weir_buf_printf(why, "`words`: `%.*s` has not %d to %d letters and digits of ASCII",
                        (int)(text.n < 40 ? text.n : 40), text.p, MIN_LETTERS, MAX_LETTERS);
        return WEIR_EINVAL;
    }
    add_word(s, word, n);
    return 0;
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    struct weir_slice *words;
    size_t n;
    if (weir_builtin_strings(params, "words", MAX_WORDS, why, &words, &n) != 0) {
        return NULL;
    }
    struct settings *s = weir_mem_zalloc(sizeof *s);
    init_automaton(&s->letters, N_LETTERS);
    init_automaton(&s->base64, N_BASE64);
    for (size_t i = 0; i < n; i++) {
        if (read_word(s, words[i], why) != 0) {
            free_settings(s);
            return NULL;
        }
    }
    close_automaton(&s->letters);
    close_automaton(&s->base64);
    return s;
}

/* ---- reading ---- */

/* One automaton on its way: the places of the characters it may be in the middle of. */
struct way {
    const struct automaton *a;
    size_t node;
    size_t *places; /* of the last `longest` characters, a ring */
    size_t n;       /* ever */
    size_t last;    /* place of the last one */
};

struct state {
    size_t at;
    struct way letters;
    struct way base64;
    size_t places[]; /* of both */
};

static size_t size_of(const void *settings)
{
    const struct settings *s = settings;
    return sizeof(struct state) + (s->letters.longest + s->base64.longest + 2) * sizeof(size_t);
}

static void init_state(void *state, const void *settings)
{
    const struct settings *s = settings;
    struct state *st = state;
    st->letters = (struct way){.a = &s->letters, .places = st->places};
    st->base64 = (struct way){.a = &s->base64, .places = st->places + s->letters.longest + 1};
}

static void dispose_state(void *state)
{
    (void)state;
}

static size_t begin_of(const struct way *w, size_t n_back)
{
    return w->places[(w->n - n_back) % (w->a->longest + 1)];
}

/* One character. A candidate that has become too long is none. */
static int step(struct way *w, unsigned char symbol, size_t at, struct weir_found *found)
{
    bool is_late =
        w->node != 0 && at - begin_of(w, w->a->nodes[w->node].depth) >= WEIR_READER_REACH - 1;
    w->node = is_late ? 0 : w->node;
    w->places[w->n % (w->a->longest + 1)] = at;
    w->n++;
    w->last = at;
    w->node = w->a->next[w->node * w->a->n_symbols + symbol];
    size_t n_found = w->a->nodes[w->node].found;
    if (n_found == 0) {
        return 0;
    }
    w->node = 0;
    return weir_found_add(found, &(struct weir_found_span){.start_byte = begin_of(w, n_found),
                                                           .end_byte = at + 1,
                                                           .detection = WEIR_SLICE("canary"),
                                                           .detection_type = WEIR_SLICE("canary"),
                                                           .score = 1.0});
}

static int take(struct state *st, unsigned char c, struct weir_found *found)
{
    unsigned char letter = letter_of(c);
    unsigned char base64 = base64_of(c);
    int rc = 0;
    if (letter != NONE) {
        rc = step(&st->letters, letter, st->at, found);
    } else if (st->letters.node != 0 && st->at - st->letters.last > MAX_GAP) {
        st->letters.node = 0;
    }
    if (base64 < N_BASE64) {
        rc = rc != 0 ? rc : step(&st->base64, base64, st->at, found);
    } else if (base64 == NONE || st->at - st->base64.last > MAX_GAP) {
        st->base64.node = 0;
    }
    return rc;
}

/* Where what is being read may begin. */
static size_t low_of(const struct way *w, size_t end)
{
    return w->node != 0 ? begin_of(w, w->a->nodes[w->node].depth) : end;
}

static int read_on(void *state, const void *settings, const struct weir_reader_text *t,
                   struct weir_reader_out *out)
{
    struct state *st = state;
    size_t end = t->from_byte + t->text.n;
    int rc = 0;
    (void)settings;
    for (; rc == 0 && st->at < end; st->at++) {
        rc = take(st, (unsigned char)t->text.p[st->at - t->from_byte], out->found);
    }
    size_t letters = low_of(&st->letters, end);
    size_t base64 = low_of(&st->base64, end);
    size_t low = letters < base64 ? letters : base64;
    out->low_byte = low > out->low_byte ? low : out->low_byte;
    return rc;
}

static const struct weir_reader_ops reader = {
    .size = size_of, .init = init_state, .dispose = dispose_state, .read = read_on};

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    struct weir_reader_out out = {.found = found};
    struct weir_reader_text t = {.text = text, .is_end = true};
    void *state = weir_mem_zalloc(size_of(settings));
    (void)run;
    init_state(state, settings);
    int rc = read_on(state, settings, &t, &out);
    free(state);
    return rc;
}

static const char *const members[] = {"words", NULL};

const struct weir_builtin_kind weir_detect_canary = {.name = "canary",
                                                     .members = members,
                                                     .across_kinds = true,
                                                     .make = make,
                                                     .free = free_settings,
                                                     .scan = scan,
                                                     .reader = &reader};
