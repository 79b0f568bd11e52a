#include "mock/mock_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "model/demo_answer.h"
#include "wire/json_write.h"

#include <stdio.h>

const char weir_mock_text_default[] =
    "A weir is a low wall across a river. It does not stop the water: it slows it, so that "
    "whatever drifts along can be seen before it passes. Some weirs are very old; the one at "
    "Saint-Étienne was built in 1673. Ladders for fish came later 🐟. Who wants to know how much "
    "water flows looks at how high it stands above the crest.";

struct weir_slice weir_mock_text_next(struct weir_slice *rest)
{
    return weir_demo_answer_token(rest);
}

size_t weir_mock_text_count(struct weir_slice text)
{
    return weir_demo_answer_count(text);
}

/* Tokens under construction. */
struct cutter {
    struct weir_arena *arena;
    struct weir_mock_token *tokens;
    size_t n;
    uint32_t low; /* the low half that the next token begins with; 0: none */
    uint32_t pair;
};

static void append_half(struct weir_buf *out, uint32_t unit)
{
    if (unit != 0) {
        weir_buf_printf(out, "\\u%04x", unit);
    }
}

/* One token: perhaps half a character, `body`, perhaps half a character. */
static void add(struct cutter *c, struct weir_slice body, uint32_t high)
{
    struct weir_buf quoted = {0};
    struct weir_buf plain = {0};
    struct weir_buf inner = {0};
    weir_json_write_quoted(&inner, body);
    weir_buf_append_byte(&quoted, '"');
    append_half(&quoted, c->low);
    weir_buf_append(&quoted, weir_slice_sub(weir_buf_slice(&inner), 1, inner.n - 1));
    append_half(&quoted, high);
    weir_buf_append_byte(&quoted, '"');
    if (c->low != 0) {
        char utf8[4];
        weir_buf_append(&plain, weir_slice_make(utf8, weir_utf8_encode(c->pair, utf8)));
    }
    weir_buf_append(&plain, body);
    struct weir_mock_token *t = &c->tokens[c->n++];
    t->quoted = weir_arena_dup(c->arena, weir_buf_slice(&quoted));
    t->plain = weir_arena_dup(c->arena, weir_buf_slice(&plain));
    t->n_cp = weir_utf8_count(t->plain);
    c->low = 0;
    weir_buf_dispose(&quoted);
    weir_buf_dispose(&plain);
    weir_buf_dispose(&inner);
}

/* A token, cut at every character that UTF-16 writes as a pair. */
static void add_split(struct cutter *c, struct weir_slice token)
{
    size_t from = 0;
    for (size_t at = 0; at < token.n;) {
        size_t n;
        uint32_t cp = weir_utf8_decode(weir_slice_sub(token, at, token.n), &n);
        if (cp >= 0x10000) {
            add(c, weir_slice_sub(token, from, at), 0xD800 + ((cp - 0x10000) >> 10));
            c->low = 0xDC00 + ((cp - 0x10000) & 0x3FF);
            c->pair = cp;
            from = at + n;
        }
        at += n;
    }
    if (from < token.n || c->low != 0) {
        add(c, weir_slice_sub(token, from, token.n), 0);
    }
}

static size_t count_pairs(struct weir_slice text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        n += (unsigned char)text.p[i] >= 0xF0;
    }
    return n;
}

void weir_mock_text_cut(struct weir_mock_text *out, struct weir_slice text, bool is_split,
                        struct weir_arena *arena)
{
    size_t most = weir_mock_text_count(text) + (is_split ? count_pairs(text) : 0);
    struct cutter c = {.arena = arena};
    c.tokens = weir_arena_array(arena, most, sizeof *c.tokens);
    while (text.n != 0) {
        struct weir_slice token = weir_mock_text_next(&text);
        if (is_split) {
            add_split(&c, token);
        } else {
            add(&c, token, 0);
        }
    }
    out->tokens = c.tokens;
    out->n = c.n;
}

int weir_mock_text_list(struct weir_mock_text *out, const struct weir_json *j, uint32_t list,
                        struct weir_arena *arena)
{
    if (weir_json_type(j, list) != WEIR_JSON_ARRAY) {
        return WEIR_EINVAL;
    }
    struct weir_mock_token *tokens = weir_arena_array(arena, j->nodes[list].n, sizeof *tokens);
    size_t n = 0;
    for (uint32_t at = weir_json_first(j, list); at != WEIR_JSON_NONE;
         at = weir_json_after(j, list, at)) {
        if (weir_json_type(j, at) != WEIR_JSON_STRING) {
            return WEIR_EINVAL;
        }
        tokens[n].quoted = weir_json_raw(j, at);
        tokens[n].plain = weir_json_string(j, at, arena);
        tokens[n].n_cp = j->nodes[at].n;
        n++;
    }
    out->tokens = tokens;
    out->n = n;
    return 0;
}
