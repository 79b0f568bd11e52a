/*
 * Finds stems that begin words, whatever their number, in the time it takes to find the words:
 *
 *   "Ignore all …"   ign ──► first[ign] ──► ignor, ignore, ignroe …   compared one by one
 *
 * A table of the first three letters tells which stems a word can have; most have none. What is
 * left (signs, other scripts, the inside of words) is Vectorscan's.
 */
#include "base/mem.h"
#include "detect/ascii.h"
#include "detect/injection_int.h"

#include <stdlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a word's first byte is the lowest");

enum { SLOT_BITS = 13, N_LETTERS = 4 };

struct weir_injection_words {
    bool is_word[256];
    char lower[256];
    unsigned short slots[1 << SLOT_BITS]; /* into `stems`, 1 for the first; 0: none */
    struct weir_injection_literal *stems; /* by slot */
};

static bool is_word_at(const struct weir_injection_words *w, struct weir_slice t, size_t at)
{
    return at < t.n && w->is_word[(unsigned char)t.p[at]];
}

/* Bytes in lower case; signs that differ in that bit from others too are the rules' to tell apart.
 */
static uint64_t lower_bytes(const char *p, size_t n)
{
    uint64_t x = 0;
    memcpy(&x, p, n < sizeof x ? n : sizeof x);
    return x | 0x2020202020202020u;
}

/* The first letters of a word of `n_word` bytes, which begins with `head`. */
static uint32_t code_of(uint64_t head, size_t n_word)
{
    return (uint32_t)(head & (n_word >= N_LETTERS ? UINT32_MAX : (1u << (8 * n_word)) - 1));
}

static size_t slot_of(uint32_t code)
{
    return (code * 2654435761u) >> (32 - SLOT_BITS);
}

static void fill_letters(struct weir_injection_words *w)
{
    for (int c = 0; c < 256; c++) {
        w->lower[c] = weir_ascii_lower((char)c);
        w->is_word[c] = weir_ascii_is_alnum((char)c) || c == '_';
    }
}

static int by_slot(const void *pa, const void *pb)
{
    const struct weir_injection_literal *a = pa;
    const struct weir_injection_literal *b = pb;
    size_t slot_a = slot_of(a->code);
    size_t slot_b = slot_of(b->code);
    if (slot_a != slot_b) {
        return slot_a < slot_b ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

bool weir_injection__is_word_stem(const struct weir_injection_stem *stem)
{
    bool is_long = stem->n >= N_LETTERS || (stem->n >= 2 && stem->ends_word);
    return stem->begins_word && weir_ascii_is_alpha(stem->bytes[0]) && is_long;
}

static void prepare_stem(const struct weir_injection_words *w, struct weir_injection_literal *stem)
{
    size_t n_word = 0;
    while (n_word < stem->n && w->is_word[(unsigned char)stem->bytes[n_word]]) {
        n_word++;
    }
    for (size_t i = 0; i < stem->n; i++) {
        stem->bytes[i] = w->lower[(unsigned char)stem->bytes[i]];
    }
    stem->head = lower_bytes(stem->bytes, stem->n);
    stem->head_mask = stem->n < 8 ? ((uint64_t)1 << (8 * stem->n)) - 1 : ~(uint64_t)0;
    stem->code = code_of(stem->head, n_word);
}

struct weir_injection_words *weir_injection__words_new(struct weir_injection_literal *stems,
                                                       size_t n)
{
    struct weir_injection_words *w = weir_mem_zalloc(sizeof *w);
    fill_letters(w);
    for (size_t i = 0; i < n; i++) {
        prepare_stem(w, &stems[i]);
    }
    qsort(stems, n, sizeof *stems, by_slot);
    for (size_t i = n; i > 0; i--) {
        size_t slot = slot_of(stems[i - 1].code);
        stems[i - 1].is_last = w->slots[slot] == 0;
        w->slots[slot] = (unsigned short)i;
    }
    w->stems = stems;
    return w;
}

void weir_injection__words_free(struct weir_injection_words *w)
{
    if (w != NULL) {
        free(w->stems);
        free(w);
    }
}

/* Is the stem at `at`, where the text goes on with `head`? */
static bool is_at(const struct weir_injection_words *w, const struct weir_injection_literal *stem,
                  struct weir_slice t, size_t at, uint64_t head)
{
    if (((head ^ stem->head) & stem->head_mask) != 0 || stem->n > t.n - at) {
        return false;
    }
    for (size_t i = 8; i < stem->n; i++) {
        if (w->lower[(unsigned char)t.p[at + i]] != stem->bytes[i]) {
            return false;
        }
    }
    return !stem->ends_word || !is_word_at(w, t, at + stem->n);
}

/* The stems of a word of `n_word` bytes, or of at least four. */
static int match_word(const struct weir_injection_words *w, struct weir_slice t, size_t at,
                      size_t n_word, struct weir_injection_taker taker)
{
    uint64_t head = t.n - at >= 8 ? lower_bytes(t.p + at, 8) : lower_bytes(t.p + at, t.n - at);
    uint32_t code = code_of(head, n_word);
    size_t i = w->slots[slot_of(code)];
    int rc = 0;
    for (bool is_more = i != 0; is_more && rc == 0; i++) {
        const struct weir_injection_literal *stem = &w->stems[i - 1];
        if (stem->code == code && is_at(w, stem, t, at, head)) {
            rc = taker.on_stem(taker.ctx, stem, at);
        }
        is_more = !stem->is_last;
    }
    return rc;
}

/* A bit for each byte of eight that is a letter, a digit or a line; those beyond ASCII are none. */
static inline uint64_t word_bits(const char *p)
{
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t tops = ones << 7;
    uint64_t x;
    memcpy(&x, p, sizeof x);
    uint64_t wide = x & tops;
    uint64_t low = (x & ~tops) | (0x20 * ones);
    uint64_t letters = (low + (0x80 - 'a') * ones) & ~(low + (0x7F - 'z') * ones);
    uint64_t seven = x & ~tops;
    uint64_t digits = (seven + (0x80 - '0') * ones) & ~(seven + (0x7F - '9') * ones);
    uint64_t lines = ~((seven ^ ('_' * ones)) + 0x7F * ones);
    uint64_t found = (letters | digits | lines) & tops & ~wide;
    return (found >> 7) * 0x0102040810204080u >> 56;
}

/* The same as a bit for each byte of up to 64 at `at`, the first as the lowest. */
static uint64_t word_mask(const struct weir_injection_words *w, struct weir_slice t, size_t at)
{
    uint64_t mask = 0;
    if (t.n - at < 64) {
        for (size_t i = 0; at + i < t.n; i++) {
            mask |= (uint64_t)is_word_at(w, t, at + i) << i;
        }
        return mask;
    }
    const char *p = t.p + at;
    uint64_t low = word_bits(p) | word_bits(p + 8) << 8 | word_bits(p + 16) << 16;
    uint64_t middle = word_bits(p + 24) << 24 | word_bits(p + 32) << 32 | word_bits(p + 40) << 40;
    return low | middle | word_bits(p + 48) << 48 | word_bits(p + 56) << 56;
}

/* How long the word at bit `i` of the mask is; what follows the mask is not known to go on. */
static size_t word_length(const struct weir_injection_words *w, struct weir_slice t, size_t at,
                          uint64_t rest)
{
    size_t n = rest == UINT64_MAX ? 64 : (size_t)__builtin_ctzll(~rest);
    while (n < N_LETTERS && is_word_at(w, t, at + n)) {
        n++; /* it goes on in the next 64 bytes */
    }
    return n;
}

int weir_injection__words_scan(const struct weir_injection_words *w, struct weir_slice t,
                               size_t *from, size_t to, struct weir_injection_taker taker)
{
    int rc = 0;
    for (size_t at = *from & ~(size_t)63; at < to && rc == 0; at += 64) {
        uint64_t mask = word_mask(w, t, at);
        uint64_t before = at > 0 && is_word_at(w, t, at - 1);
        uint64_t starts = mask & ~(mask << 1 | before);
        starts &= *from > at ? ~(uint64_t)0 << (*from - at) : ~(uint64_t)0;
        starts &= to - at < 64 ? ((uint64_t)1 << (to - at)) - 1 : ~(uint64_t)0;
        for (; starts != 0 && rc == 0; starts &= starts - 1) {
            int i = __builtin_ctzll(starts);
            size_t word = at + (size_t)i;
            rc = match_word(w, t, word, word_length(w, t, word, mask >> i), taker);
        }
    }
    *from = to;
    return rc;
}
