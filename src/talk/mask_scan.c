/*
 * Tokens in text that comes in pieces. A candidate begins where a word does, and consists of bytes
 * of words and of other spellings of `_`; so only the last one can be unfinished, and it is short.
 */
#include "talk/mask.h"

/* ---- the map's tokens ---- */

static void pass(const struct weir_mask_sink *sink, struct weir_slice text)
{
    if (text.n != 0) {
        sink->on_text(sink->ctx, text);
    }
}

enum { ESCAPE_NONE, ESCAPE_BEGUN, ESCAPE_HEX }; /* and the digits that were seen */

/* In JSON `\n` is no letter, and nothing begins inside of an escape. True: the byte is of one. */
static bool read_escape(struct weir_mask_scan *s, unsigned char c)
{
    if (s->escape == ESCAPE_NONE) {
        s->escape = c == '\\' ? ESCAPE_BEGUN : ESCAPE_NONE;
        s->is_in_word = s->is_in_word && c != '\\';
        return c == '\\';
    }
    if (s->escape == ESCAPE_BEGUN) {
        s->escape = c == 'u' ? ESCAPE_HEX : ESCAPE_NONE;
        s->escaped = 0;
        return true;
    }
    bool is_digit = c >= '0' && c <= '9';
    unsigned char letter = (unsigned char)(c | 0x20);
    bool is_hex = is_digit || (letter >= 'a' && letter <= 'f');
    s->escaped = (uint16_t)(s->escaped << 4 | (is_digit ? c - '0' : letter - 'a' + 10));
    s->escape = (uint8_t)(s->escape + 1);
    if (!is_hex || s->escape == ESCAPE_HEX + 4) {
        s->escape = ESCAPE_NONE;
        s->is_in_word = is_hex && weir_mask_is_word(s->escaped < 0x80 ? (unsigned char)s->escaped
                                                                      : (unsigned char)0x80);
    }
    return true;
}

/* Gives on what is known; returns where that ends: what follows could become a token. */
static size_t run(struct weir_mask_scan *s, struct weir_slice text, bool is_end,
                  const struct weir_mask_sink *sink)
{
    size_t from = 0;
    size_t at = 0;
    while (at < text.n) {
        unsigned char c = (unsigned char)text.p[at];
        if (s->is_json && read_escape(s, c)) {
            at++;
            continue;
        }
        if (!s->is_in_word && weir_mask_may_begin(s->mask, c)) {
            const struct weir_mask_entry *entry = NULL;
            struct weir_mask_match in = {
                .text = weir_slice_sub(text, at, text.n), .is_json = s->is_json, .is_end = is_end};
            size_t n = weir_mask_match(s->mask, &in, &entry);
            if (n == WEIR_MASK_MORE) {
                break;
            }
            if (n != 0) {
                pass(sink, weir_slice_sub(text, from, at));
                sink->on_token(sink->ctx, weir_slice_sub(text, at, at + n), entry);
                at += n;
                from = at;
                s->is_in_word = true;
                continue;
            }
        }
        s->is_in_word = weir_mask_is_word(c);
        at++;
    }
    pass(sink, weir_slice_sub(text, from, at));
    return at;
}

void weir_mask_scan_feed(struct weir_mask_scan *s, struct weir_slice text,
                         const struct weir_mask_sink *sink)
{
    if (weir_mask_n(s->mask) == 0) {
        pass(sink, text);
    } else if (s->held.n == 0) {
        size_t n = run(s, text, false, sink);
        weir_buf_append(&s->held, weir_slice_sub(text, n, text.n));
    } else {
        weir_buf_append(&s->held, text);
        size_t n = run(s, weir_buf_slice(&s->held), false, sink);
        weir_buf_consume(&s->held, n);
    }
}

void weir_mask_scan_end(struct weir_mask_scan *s, const struct weir_mask_sink *sink)
{
    if (s->held.n != 0) {
        run(s, weir_buf_slice(&s->held), true, sink);
        weir_buf_clear(&s->held);
    }
}

void weir_mask_scan_dispose(struct weir_mask_scan *s)
{
    weir_buf_dispose(&s->held);
}

/* ---- tokens that are not in the map ---- */

static size_t end_word(struct weir_mask_foreign *f, const struct weir_mask *m)
{
    struct weir_slice word = {f->word, f->n};
    bool fits = f->n <= sizeof f->word && weir_mask_is_ours(m, word) && !weir_mask_has(m, word);
    f->n = 0;
    return fits;
}

size_t weir_mask_foreign_feed(struct weir_mask_foreign *f, const struct weir_mask *m,
                              struct weir_slice text)
{
    size_t n_found = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (!weir_mask_is_word((unsigned char)text.p[i])) {
            n_found += f->n != 0 ? end_word(f, m) : 0;
        } else {
            if (f->n < sizeof f->word) {
                f->word[f->n] = text.p[i];
            }
            f->n++;
        }
    }
    return n_found;
}

size_t weir_mask_foreign_end(struct weir_mask_foreign *f, const struct weir_mask *m)
{
    return f->n != 0 ? end_word(f, m) : 0;
}
