#include "talk/mask.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/map.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

enum {
    DIGEST_BYTES = 32,
    UNIQUE_BYTES = WEIR_MASK_TAG_BYTES - 2, /* of the tag, without the check */
    LEAST_DIGITS = 4,
};

static const char ALPHABET[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

struct weir_mask {
    struct weir_arena *arena;
    struct weir_slice key;
    struct weir_slice scope;
    struct weir_mask_entry **entries; /* sealed: by their folded tokens */
    struct weir_slice *norms;         /* the normalised values, as entries were added */
    size_t n;
    size_t cap;
    struct weir_map by_norm; /* values to entries */
    struct weir_map by_tag;
    bool may_begin[256];
    bool is_sealed;
};

/* ---- tokens ---- */

static unsigned char fold(unsigned char c)
{
    c = c >= 'a' && c <= 'z' ? (unsigned char)(c - 'a' + 'A') : c;
    return c == 'O' ? '0' : c == 'I' || c == 'L' ? '1' : c;
}

static void digest_of(const struct weir_mask *m, struct weir_slice text,
                      unsigned char out[DIGEST_BYTES])
{
    unsigned n = 0;
    const unsigned char *made =
        HMAC(EVP_sha256(), m->key.p, (int)m->key.n, (const unsigned char *)text.p, text.n, out, &n);
    WEIR_ASSERT(made != NULL && n == DIGEST_BYTES);
}

/* `n` characters of five bits each. */
static void write_bits(const unsigned char *bytes, size_t n, char *out)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < 5; i++) {
        bits = bits << 8 | bytes[i];
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = ALPHABET[bits >> (35 - 5 * i) & 31];
    }
}

static void write_check(const struct weir_mask *m, struct weir_slice unique, char out[2])
{
    unsigned char digest[DIGEST_BYTES];
    digest_of(m, unique, digest);
    write_bits(digest, 2, out);
}

/* The scope ends with a NUL: no scope and value look like another scope and value. */
static void write_tag(const struct weir_mask *m, struct weir_slice norm, char *out)
{
    unsigned char digest[DIGEST_BYTES];
    struct weir_buf text = {0};
    weir_buf_append(&text, m->scope);
    weir_buf_append_byte(&text, '\0');
    weir_buf_append(&text, norm);
    digest_of(m, weir_buf_slice(&text), digest);
    OPENSSL_cleanse(text.p, text.n);
    weir_buf_dispose(&text);
    write_bits(digest, UNIQUE_BYTES, out);
    write_check(m, weir_slice_make(out, UNIQUE_BYTES), out + UNIQUE_BYTES);
}

static size_t write_type(struct weir_slice type, char *out)
{
    size_t n = 0;
    for (; n < type.n && n < WEIR_MASK_TYPE_MOST; n++) {
        char c = type.p[n];
        c = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
        out[n] = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
    }
    if (n == 0) {
        out[n++] = 'X';
    }
    return n;
}

static bool has_word(struct weir_slice text, struct weir_slice word)
{
    for (size_t i = 0; i + word.n <= text.n; i++) {
        if (weir_slice_eq_nocase(weir_slice_sub(text, i, i + word.n), word)) {
            return true;
        }
    }
    return false;
}

bool weir_mask_covers(const struct weir_mask *m, struct weir_slice text)
{
    for (size_t i = 0; i < m->n && text.n != 0; i++) {
        if (has_word(weir_slice_make(m->entries[i]->token, m->entries[i]->n), text)) {
            return true;
        }
    }
    return false;
}

bool weir_mask_is_ours(const struct weir_mask *m, struct weir_slice text)
{
    if (text.n < 1 + 1 + WEIR_MASK_TAG_BYTES || text.n > WEIR_MASK_TOKEN_MOST) {
        return false;
    }
    size_t n_type = text.n - 1 - WEIR_MASK_TAG_BYTES;
    struct weir_slice tag = weir_slice_sub(text, n_type + 1, text.n);
    for (size_t i = 0; i < n_type; i++) {
        char c = text.p[i];
        if (!weir_mask_is_word((unsigned char)c) || (c >= 'a' && c <= 'z')) {
            return false;
        }
    }
    for (size_t i = 0; i < tag.n; i++) {
        if (tag.p[i] == '\0' || strchr(ALPHABET, tag.p[i]) == NULL) {
            return false;
        }
    }
    char check[2];
    if (text.p[n_type] != '_') {
        return false;
    }
    write_check(m, weir_slice_sub(tag, 0, UNIQUE_BYTES), check);
    return weir_slice_eq_secret(weir_slice_make(check, 2),
                                weir_slice_sub(tag, UNIQUE_BYTES, tag.n));
}

/* ---- values ---- */

enum weir_mask_form weir_mask_form_of(struct weir_slice type)
{
    if (has_word(type, WEIR_SLICE("mail"))) {
        return WEIR_MASK_LOWER;
    }
    return has_word(type, WEIR_SLICE("phone")) || has_word(type, WEIR_SLICE("card"))
               ? WEIR_MASK_DIGITS
               : WEIR_MASK_AS_IS;
}

void weir_mask_normalise(enum weir_mask_form form, struct weir_slice value, struct weir_buf *out)
{
    size_t from = out->n;
    for (size_t i = 0; form == WEIR_MASK_DIGITS && i < value.n; i++) {
        if (value.p[i] >= '0' && value.p[i] <= '9') {
            weir_buf_append_byte(out, value.p[i]);
        }
    }
    if (form == WEIR_MASK_DIGITS && out->n - from >= LEAST_DIGITS) {
        return;
    }
    out->n = from;
    weir_buf_append(out, value);
    for (size_t i = from; form == WEIR_MASK_LOWER && i < out->n; i++) {
        char c = out->p[i];
        out->p[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
}

/* ---- the map ---- */

static void wipe_slice(struct weir_slice s)
{
    OPENSSL_cleanse((char *)(uintptr_t)s.p, s.n);
}

static void wipe(void *ctx)
{
    struct weir_mask *m = ctx;
    for (size_t i = 0; i < m->n; i++) {
        wipe_slice(m->norms[i]);
        wipe_slice(m->entries[i]->value);
        OPENSSL_cleanse(m->entries[i], sizeof *m->entries[i]);
    }
    weir_map_dispose(&m->by_norm);
    weir_map_dispose(&m->by_tag);
    m->n = 0;
}

struct weir_mask *weir_mask_new(struct weir_arena *arena, struct weir_slice key,
                                struct weir_slice scope)
{
    struct weir_mask *m = weir_arena_zalloc(arena, sizeof *m);
    m->arena = arena;
    m->key = key;
    m->scope = scope;
    weir_arena_defer(arena, wipe, m);
    return m;
}

size_t weir_mask_n(const struct weir_mask *m)
{
    return m->n;
}

static void grow(struct weir_mask *m)
{
    if (m->n < m->cap) {
        return;
    }
    m->cap = m->cap != 0 ? m->cap * 2 : 16;
    struct weir_mask_entry **entries = weir_arena_array(m->arena, m->cap, sizeof(void *));
    struct weir_slice *norms = weir_arena_array(m->arena, m->cap, sizeof *norms);
    if (m->n != 0) {
        memcpy(entries, m->entries, m->n * sizeof(void *));
        memcpy(norms, m->norms, m->n * sizeof *norms);
    }
    m->entries = entries;
    m->norms = norms;
}

static int by_token(const void *x, const void *y)
{
    const struct weir_mask_entry *const *a = x;
    const struct weir_mask_entry *const *b = y;
    return strcmp((*a)->folded, (*b)->folded);
}

void weir_mask_seal(struct weir_mask *m)
{
    if (m->n > 1) {
        qsort(m->entries, m->n, sizeof(void *), by_token);
    }
    m->is_sealed = true;
}

static void insert(struct weir_mask *m, struct weir_mask_entry *entry, struct weir_slice norm)
{
    grow(m);
    m->norms[m->n] = norm;
    m->entries[m->n++] = entry;
    m->is_sealed = false;
    weir_map_put(&m->by_norm, norm, entry);
    weir_map_put(
        &m->by_tag,
        weir_slice_make(entry->token + entry->n - WEIR_MASK_TAG_BYTES, WEIR_MASK_TAG_BYTES), entry);
    for (size_t c = 0; c < 256; c++) {
        bool is_escape = (c == '\\' || c == '%') && entry->folded[0] == '_';
        m->may_begin[c] |= is_escape || fold((unsigned char)c) == (unsigned char)entry->folded[0];
    }
}

const struct weir_mask_entry *weir_mask_add(struct weir_mask *m, const struct weir_mask_value *v)
{
    struct weir_buf text = {0};
    weir_mask_normalise(weir_mask_form_of(v->type), v->text, &text);
    struct weir_mask_entry *entry = weir_map_get(&m->by_norm, weir_buf_slice(&text));
    if (entry == NULL) {
        struct weir_mask_entry *made = weir_arena_zalloc(m->arena, sizeof *made);
        made->n = write_type(v->type, made->token);
        made->token[made->n++] = '_';
        write_tag(m, weir_buf_slice(&text), made->token + made->n);
        struct weir_slice tag = {made->token + made->n, WEIR_MASK_TAG_BYTES};
        made->n += WEIR_MASK_TAG_BYTES;
        for (size_t i = 0; i < made->n; i++) {
            made->folded[i] = (char)fold((unsigned char)made->token[i]);
        }
        if (!weir_map_has(&m->by_tag, tag)) {
            made->value = weir_arena_dup(m->arena, v->text);
            made->is_restored = v->is_restored;
            insert(m, made, weir_arena_dup(m->arena, weir_buf_slice(&text)));
            entry = made;
        }
    }
    if (entry != NULL) {
        entry->is_restored = entry->is_restored && v->is_restored;
    }
    if (text.n != 0) {
        OPENSSL_cleanse(text.p, text.n);
    }
    weir_buf_dispose(&text);
    return entry;
}

/* ---- matching ---- */

bool weir_mask_may_begin(const struct weir_mask *m, unsigned char byte)
{
    return m->may_begin[byte];
}

/* The entries whose tokens begin as the text does, so far. */
struct range {
    size_t from;
    size_t to;
};

/* Of those, the ones that go on with `c`. */
static struct range narrow(const struct weir_mask *m, struct range r, size_t depth, unsigned char c)
{
    size_t from = r.from;
    size_t to = r.to;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if ((unsigned char)m->entries[middle]->folded[depth] < c) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    struct range found = {from, from};
    for (to = r.to; found.to < to;) {
        size_t middle = found.to + (to - found.to) / 2;
        if ((unsigned char)m->entries[middle]->folded[depth] <= c) {
            found.to = middle + 1;
        } else {
            to = middle;
        }
    }
    return found;
}

/* Another spelling of `_` at the beginning of the text: its bytes, 0, or WEIR_MASK_MORE. */
static size_t underscore(const struct weir_mask_match *in, struct weir_slice text)
{
    static const char *const spellings[] = {"\\_", "%5f", "\\\\_", "\\u005f"};
    size_t n = in->is_json ? 4 : 2;
    for (size_t i = 0; i < n; i++) {
        struct weir_slice s = weir_slice_cstr(spellings[i]);
        size_t both = s.n < text.n ? s.n : text.n;
        if (weir_slice_eq_nocase(weir_slice_sub(text, 0, both), weir_slice_sub(s, 0, both))) {
            return both == s.n ? s.n : in->is_end ? 0 : WEIR_MASK_MORE;
        }
    }
    return 0;
}

/* The next character of a token: its bytes, 0, or WEIR_MASK_MORE. */
static size_t next_symbol(const struct weir_mask_match *in, struct weir_slice text,
                          unsigned char *symbol)
{
    unsigned char c = (unsigned char)text.p[0];
    if (c == '\\' || c == '%') {
        *symbol = '_';
        return underscore(in, text);
    }
    *symbol = fold(c);
    return weir_mask_is_word(c) ? 1 : 0;
}

size_t weir_mask_match(const struct weir_mask *m, const struct weir_mask_match *in,
                       const struct weir_mask_entry **entry)
{
    struct range r = {0, m->n};
    size_t at = 0;
    WEIR_ASSERT(m->is_sealed || m->n == 0);
    for (size_t depth = 0; at < in->text.n; depth++) {
        unsigned char symbol;
        size_t n = next_symbol(in, weir_slice_sub(in->text, at, in->text.n), &symbol);
        r = n != 0 ? narrow(m, r, depth, symbol) : (struct range){0, 0};
        if (r.from == r.to) {
            return 0;
        }
        if (n == WEIR_MASK_MORE) {
            return WEIR_MASK_MORE;
        }
        at += n;
        if (m->entries[r.from]->n == depth + 1) {
            *entry = m->entries[r.from];
            return at;
        }
    }
    return in->is_end || m->n == 0 ? 0 : WEIR_MASK_MORE;
}

bool weir_mask_has(const struct weir_mask *m, struct weir_slice text)
{
    const struct weir_mask_entry *entry;
    struct weir_mask_match in = {.text = text, .is_end = true};
    return text.n != 0 && weir_mask_match(m, &in, &entry) == text.n;
}
