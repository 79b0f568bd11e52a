/*
 * Any bytes to the JSON reader. What it takes must hold together: both ways of parsing agree, every
 * span is JSON again, every accessor answers, the editor without changes gives the same bytes and
 * with changes JSON of the right size, and what the writer makes of it is equal.
 */
#include "base/assert.h"
#include "base/utf8.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Kept from input to input, as a stream keeps it. */
static struct weir_json_tape tape;

static void check_refusal(struct weir_slice src, const struct weir_json_error *err)
{
    WEIR_ASSERT(err->what != NULL && err->at_byte <= src.n);
    WEIR_ASSERT(err->line >= 1 && err->column >= 1 && err->column <= err->at_byte + 1);
    size_t line_start = err->at_byte + 1 - err->column;
    WEIR_ASSERT(line_start == 0 || src.p[line_start - 1] == '\n');
}

static void check_string(const struct weir_json *j, uint32_t at, struct weir_arena *arena)
{
    struct weir_slice value = weir_json_string(j, at, arena);
    WEIR_ASSERT(weir_utf8_is_valid(value));
    WEIR_ASSERT(weir_utf8_count(value) == j->nodes[at].n);
    WEIR_ASSERT(weir_json_string_eq(j, at, value));
    struct weir_buf b = {0};
    WEIR_ASSERT(weir_json_string_append(j, at, &b) == 0);
    WEIR_ASSERT(weir_slice_eq(weir_buf_slice(&b), value));
    weir_buf_dispose(&b);
    static const struct weir_slice replacement = {"\xEF\xBF\xBD", 3};
    uint16_t unit;
    if (weir_json_string_ends_high(j, at, &unit)) {
        WEIR_ASSERT(unit >= 0xD800 && unit <= 0xDBFF && weir_slice_ends_with(value, replacement));
    }
    if (weir_json_string_begins_low(j, at, &unit)) {
        WEIR_ASSERT(unit >= 0xDC00 && unit <= 0xDFFF && weir_slice_starts_with(value, replacement));
    }
}

static void check_number(const struct weir_json *j, uint32_t at)
{
    int64_t i;
    uint64_t u;
    double f;
    bool is_i = weir_json_i64(j, at, &i) == 0;
    bool is_u = weir_json_u64(j, at, &u) == 0;
    WEIR_ASSERT(!(is_i || is_u) || j->nodes[at].is_integer);
    WEIR_ASSERT(!is_i || !is_u || (uint64_t)i == u);
    if (weir_json_f64(j, at, &f) == 0) {
        WEIR_ASSERT(!is_i || f == (double)i);
        struct weir_buf b = {0};
        struct weir_json_write w;
        weir_json_write_init(&w, &b);
        weir_json_write_f64(&w, f);
        WEIR_ASSERT(weir_json_write_finish(&w) == 0);
        double back = strtod(weir_buf_cstr(&b), NULL);
        WEIR_ASSERT(back == f);
        weir_buf_dispose(&b);
    }
}

static void check_container(const struct weir_json *j, uint32_t at, struct weir_arena *arena)
{
    bool is_object = weir_json_type(j, at) == WEIR_JSON_OBJECT;
    uint32_t n = 0;
    for (uint32_t i = weir_json_first(j, at); i != WEIR_JSON_NONE; i = weir_json_after(j, at, i)) {
        n++;
        if (is_object && n < 64) {
            WEIR_ASSERT(weir_json_get(j, at, weir_json_string(j, i, arena)) == i + 1);
            bool is_null = weir_json_type(j, i + 1) == WEIR_JSON_NULL;
            uint32_t set = weir_json_get_set(j, at, weir_json_string(j, i, arena));
            WEIR_ASSERT(set == (is_null ? WEIR_JSON_NONE : i + 1));
        }
    }
    WEIR_ASSERT(n == j->nodes[at].n);
}

/* The span of one value on its own gives that part of the tape. */
static void check_span(const struct weir_json *j, uint32_t at, struct weir_arena *arena)
{
    struct weir_json part;
    WEIR_ASSERT(weir_json_parse(&part, weir_json_raw(j, at), NULL, arena, NULL) == 0);
    WEIR_ASSERT(part.n_nodes == j->nodes[at].next - at);
    WEIR_ASSERT(weir_json_equal(&part, 0, j, at));
}

static void check_node(const struct weir_json *j, uint32_t at)
{
    struct weir_arena arena = {0};
    switch (weir_json_type(j, at)) {
    case WEIR_JSON_STRING:
        check_string(j, at, &arena);
        break;
    case WEIR_JSON_NUMBER:
        check_number(j, at);
        break;
    case WEIR_JSON_ARRAY:
    case WEIR_JSON_OBJECT:
        check_container(j, at, &arena);
        break;
    default:
        break;
    }
    if (at < 200) {
        check_span(j, at, &arena);
    }
    weir_arena_dispose(&arena);
}

/* Every value written anew; depth is bounded by the parser's default. */
static void rewrite(const struct weir_json *j, uint32_t at, struct weir_json_write *w)
{
    enum weir_json_type type = weir_json_type(j, at);
    struct weir_arena arena = {0};
    if (type == WEIR_JSON_STRING && !j->nodes[at].has_lone_surrogate) {
        weir_json_write_string(w, weir_json_string(j, at, &arena));
    } else if (type != WEIR_JSON_ARRAY && type != WEIR_JSON_OBJECT) {
        weir_json_write_node(w, j, at);
    } else {
        bool is_object = type == WEIR_JSON_OBJECT;
        is_object ? weir_json_write_begin_object(w) : weir_json_write_begin_array(w);
        for (uint32_t i = weir_json_first(j, at); i != WEIR_JSON_NONE;
             i = weir_json_after(j, at, i)) {
            if (is_object) {
                weir_json_write_key(w, weir_json_string(j, i, &arena));
            }
            rewrite(j, i + is_object, w);
        }
        is_object ? weir_json_write_end_object(w) : weir_json_write_end_array(w);
    }
    weir_arena_dispose(&arena);
}

static bool has_halves(const struct weir_json *j)
{
    for (uint32_t i = 0; i < j->n_nodes; i++) {
        if (j->nodes[i].has_lone_surrogate) {
            return true;
        }
    }
    return false;
}

static void check_writer(const struct weir_json *j)
{
    struct weir_arena arena = {0};
    struct weir_buf b = {0};
    struct weir_json_write w;
    struct weir_json again;
    weir_json_write_init(&w, &b);
    weir_json_write_node(&w, j, 0);
    WEIR_ASSERT(weir_json_write_finish(&w) == 0);
    WEIR_ASSERT(weir_json_parse(&again, weir_buf_slice(&b), NULL, &arena, NULL) == 0);
    WEIR_ASSERT(again.n_nodes == j->n_nodes && weir_json_equal(j, 0, &again, 0));
    weir_buf_clear(&b);
    weir_json_write_init(&w, &b);
    rewrite(j, 0, &w);
    WEIR_ASSERT(weir_json_write_finish(&w) == 0);
    WEIR_ASSERT(weir_json_parse(&again, weir_buf_slice(&b), NULL, &arena, NULL) == 0);
    WEIR_ASSERT(has_halves(j) || weir_json_equal(&again, 0, j, 0));
    weir_buf_dispose(&b);
    weir_arena_dispose(&arena);
}

/* Takes out some items of the root, chosen by `mask`, replaces others, adds one to an object. */
static void check_changes(struct weir_json_edit *e, const struct weir_json *j, unsigned mask)
{
    bool is_object = weir_json_type(j, 0) == WEIR_JSON_OBJECT;
    uint32_t n_left = j->nodes[0].n;
    unsigned k = 0;
    weir_json_edit_begin(e, j);
    if (is_object && weir_json_get(j, 0, WEIR_SLICE("new")) == WEIR_JSON_NONE) {
        weir_json_edit_add(e, 0, WEIR_SLICE("new"), WEIR_SLICE("{}"));
        n_left++;
    }
    for (uint32_t i = weir_json_first(j, 0); i != WEIR_JSON_NONE; i = weir_json_after(j, 0, i)) {
        unsigned choice = (mask >> (k++ % 8)) & 1;
        if (choice != 0) {
            weir_json_edit_remove(e, i);
            n_left--;
        } else if (k % 2 == 0) {
            weir_json_edit_replace_string(e, i + is_object, WEIR_SLICE("\"\n"));
        }
    }
    struct weir_buf b = {0};
    struct weir_json again;
    struct weir_arena arena = {0};
    WEIR_ASSERT(weir_json_edit_write(e, &b) == 0);
    WEIR_ASSERT(weir_json_parse(&again, weir_buf_slice(&b), NULL, &arena, NULL) == 0);
    bool is_scalar = weir_json_type(j, 0) < WEIR_JSON_ARRAY;
    WEIR_ASSERT(is_scalar || again.nodes[0].n == n_left);
    weir_arena_dispose(&arena);
    weir_buf_dispose(&b);
}

static void check_editor(const struct weir_json *j)
{
    struct weir_json_edit e = {0};
    struct weir_buf b = {0};
    weir_json_edit_begin(&e, j);
    WEIR_ASSERT(weir_json_edit_write(&e, &b) == 0);
    WEIR_ASSERT(weir_slice_eq(weir_buf_slice(&b), j->src));
    weir_buf_dispose(&b);
    static const unsigned masks[] = {0x00, 0xFF, 0x01, 0x80, 0x81, 0x6D, 0xB2};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        check_changes(&e, j, masks[i]);
    }
    weir_json_edit_dispose(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice src = weir_slice_make((const char *)data, size);
    struct weir_arena arena = {0};
    struct weir_json_error err = {0};
    struct weir_json j;
    struct weir_json reused;
    int rc = weir_json_parse(&j, src, NULL, &arena, &err);
    int rc_reused = weir_json_parse_reuse(&reused, src, NULL, &tape, NULL);
    WEIR_ASSERT(rc == rc_reused && j.n_nodes == reused.n_nodes);
    if (rc != 0) {
        check_refusal(src, &err);
        weir_arena_dispose(&arena);
        return 0;
    }
    WEIR_ASSERT(memcmp(j.nodes, reused.nodes, j.n_nodes * sizeof *j.nodes) == 0);
    WEIR_ASSERT(weir_json_equal(&j, 0, &reused, 0));
    for (uint32_t at = 0; at < j.n_nodes; at++) {
        check_node(&j, at);
    }
    check_writer(&j);
    check_editor(&j);
    weir_arena_dispose(&arena);
    return 0;
}
