#ifndef WEIR_TESTS_ROUTE_READING_H
#define WEIR_TESTS_ROUTE_READING_H

#include "route/fields.h"

/* A request body, read, and the fields over it. Dispose the arena. */
struct reading {
    struct weir_arena arena;
    struct weir_json json;
    struct weir_fields f;
};

static inline struct reading *read_json(struct reading *r, const char *text)
{
    *r = (struct reading){.arena = {0}};
    struct weir_slice copy = weir_arena_dup(&r->arena, weir_slice_cstr(text));
    assert_int_equal(weir_json_parse(&r->json, copy, NULL, &r->arena, NULL), 0);
    r->f = (struct weir_fields){.json = &r->json, .arena = &r->arena};
    return r;
}

/* What is wrong, or NULL; the reading is over. */
static inline void assert_told(struct reading *r, const char *expected)
{
    if (expected == NULL) {
        assert_null(r->f.error);
    } else {
        assert_non_null(r->f.error);
        assert_string_equal(r->f.error, expected);
    }
    weir_arena_dispose(&r->arena);
}

#endif
