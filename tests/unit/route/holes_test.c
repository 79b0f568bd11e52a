/* What a route leaves open, as its header says. */
#include "route/holes.h"

#include "unit/conf/conf_harness.h"

static void opens(const char *route, const char *want)
{
    char text[1024];
    struct weir_arena arena = {0};
    snprintf(text, sizeof text,
             "openai: {builtin: demo}\n"
             "chunkers: {w: {builtin: window, overlap: 64}}\n"
             "detectors: {pii: {builtin: regex, chunker_id: w}, "
             "'a,b;c d': {builtin: prompt_injection, chunker_id: w}}\n"
             "routes: [{name: r, %s}]\n",
             route);
    struct loaded l = load_clean(text);
    struct weir_slice holes = weir_holes_of(&l.conf->routes[0], &arena);
    assert_string_equal(weir_arena_dup(&arena, holes).p, want);
    weir_arena_dispose(&arena);
    drop(&l);
}

static void test_defaults(void **state)
{
    (void)state;
    opens("input: {pii: {}}", "images,audio,files,sealed,server_history,input_scope:turn");
    opens("output: {pii: {}}", "images,audio,files,sealed,server_history");
    opens("input: {pii: {}}, on_detection: redact", "images,audio,files,sealed,server_history");
    opens("input: {pii: {}}, on_detection: block", "sealed,server_history");
    opens("unguarded: all", "all");
    opens("unguarded: true", "all");
}

static void test_lists(void **state)
{
    (void)state;
    opens("input: {pii: {}}, on_detection: block, unguarded: []", "");
    opens("input: {pii: {}}, on_detection: block, unguarded: [token_ids, history]",
          "history,token_ids");
    opens("input: {pii: {}}, on_detection: redact, unguarded: [sealed], sealed: reject", "");
    opens("input: {pii: {}}, on_detection: redact, unguarded: [], unknown_members: pass",
          "unknown_members");
    opens("input: {pii: {}}, input_scope: all, unguarded: []", "");
    opens("input: {pii: {}}, unguarded: [/v1/files, sealed, /v1/batches]",
          "sealed,/v1/files,/v1/batches,input_scope:turn");
}

static void test_when(void **state)
{
    (void)state;
    opens("input: {'a,b;c d': {}}, on_detection: block, unguarded: []", "when:a_b_c_d");
    opens("input: {pii: {when: {roles: [system]}}}, on_detection: block, unguarded: []",
          "when:pii");
    opens("input: {pii: {when: {models: [m]}}}, on_detection: block, unguarded: []", "when:pii");
    opens("output: {pii: {when: {channels: [content]}}}, on_detection: block, unguarded: []",
          "when:pii");
    opens("output: {pii: {when: {models: [m]}}}, on_detection: block, unguarded: []", "when:pii");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults),
                                       cmocka_unit_test(test_lists), cmocka_unit_test(test_when)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
