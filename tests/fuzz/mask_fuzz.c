/*
 * Values put back: any text in any cut becomes what the whole text becomes, no more is held back
 * than one token is long, and what is held is given back at the end.
 *
 * The first byte says what it is and how it is cut; bytes from 0x01 to 0x08 stand for tokens in
 * several spellings.
 */
#include "base/assert.h"
#include "base/utf8.h"
#include "talk/restore.h"

enum { HELD_MOST = 6 * WEIR_MASK_TOKEN_MOST };

static const struct weir_slice HOSTS[] = {{"ours.example", 12}};
static const struct weir_linkwatch_hosts hosts = {HOSTS, 1};

static struct weir_mask *make_map(struct weir_arena *arena, const struct weir_mask_entry **first)
{
    static const char *const values[][2] = {{"email_address", "jane@example.org"},
                                            {"email", "\"\\\n\t"},
                                            {"_", "Zo\xC3\xAB"},
                                            {"5f", "5"},
                                            {"email_address_7", "x"}};
    struct weir_mask *m = weir_mask_new(arena, WEIR_SLICE("a key"), WEIR_SLICE("route:r"));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct weir_mask_entry *e =
            weir_mask_add(m, &(struct weir_mask_value){.type = weir_slice_cstr(values[i][0]),
                                                       .text = weir_slice_cstr(values[i][1]),
                                                       .is_restored = i != 3});
        *first = i == 0 ? e : *first;
    }
    weir_mask_seal(m);
    return m;
}

/* The text with tokens in it, as UTF-8. */
static void write_text(const uint8_t *data, size_t size, const struct weir_mask_entry *e,
                       struct weir_buf *out)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] == 0 || data[i] > 8) {
            weir_buf_append_byte(out, (char)(data[i] < 0x80 ? data[i] : 'o'));
            continue;
        }
        for (size_t k = 0; k < e->n; k++) {
            char c = e->token[k];
            bool is_letter = c >= 'A' && c <= 'Z';
            if (c == '_' && (data[i] & 1) != 0) {
                weir_buf_append(out, (data[i] & 2) != 0 ? WEIR_SLICE("\\_") : WEIR_SLICE("%5F"));
            } else {
                weir_buf_append_byte(out, is_letter && (data[i] & 4) != 0 ? (char)(c + 32) : c);
            }
        }
    }
}

static enum weir_restore_kind kind_of(uint8_t how)
{
    enum weir_restore_kind json = (how & 2) == 0 ? WEIR_RESTORE_ARGUMENTS : WEIR_RESTORE_ITEM;
    return (how & 1) == 0 ? WEIR_RESTORE_TEXT : json;
}

/* In pieces of `step` bytes; 0: in one. */
static void restore(const struct weir_mask *m, struct weir_slice text, enum weir_restore_kind kind,
                    size_t step, struct weir_buf *out)
{
    struct weir_restore r;
    weir_restore_init(&r, m, &hosts, kind);
    for (size_t at = 0; at < text.n;) {
        size_t n = step == 0 || step > text.n - at ? text.n - at : step;
        weir_restore_feed(&r, weir_slice_sub(text, at, at + n), out);
        WEIR_ASSERT(r.scan.held.n <= HELD_MOST);
        at += n;
    }
    weir_restore_end(&r, out);
    WEIR_ASSERT(!weir_restore_holds(&r));
    WEIR_ASSERT(r.in_cp == weir_utf8_count(text));
    WEIR_ASSERT(r.out_cp == weir_utf8_count(weir_buf_slice(out)));
    weir_restore_dispose(&r);
}

static size_t count_foreign(const struct weir_mask *m, struct weir_slice text, size_t step)
{
    struct weir_mask_foreign f = {0};
    size_t n_found = 0;
    for (size_t at = 0; at < text.n; at += step) {
        size_t n = step > text.n - at ? text.n - at : step;
        n_found += weir_mask_foreign_feed(&f, m, weir_slice_sub(text, at, at + n));
    }
    return n_found + weir_mask_foreign_end(&f, m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct weir_arena arena = {0};
    struct weir_buf text = {0};
    struct weir_buf whole = {0};
    struct weir_buf parts = {0};
    const struct weir_mask_entry *first = NULL;
    const struct weir_mask *m = make_map(&arena, &first);
    write_text(data + 1, size - 1, first, &text);
    restore(m, weir_buf_slice(&text), kind_of(data[0]), 0, &whole);
    restore(m, weir_buf_slice(&text), kind_of(data[0]), 1 + data[0] / 4, &parts);
    WEIR_ASSERT(weir_slice_eq(weir_buf_slice(&whole), weir_buf_slice(&parts)));
    WEIR_ASSERT(count_foreign(m, weir_buf_slice(&text), text.n + 1) ==
                count_foreign(m, weir_buf_slice(&text), 1 + data[0] / 2));
    weir_buf_dispose(&text);
    weir_buf_dispose(&whole);
    weir_buf_dispose(&parts);
    weir_arena_dispose(&arena);
    return 0;
}
