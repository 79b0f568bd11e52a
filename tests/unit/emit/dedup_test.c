/* What the vectors cannot say: windows and size limits. */
#include "emit/dedup.h"
#include "unit/cmocka_all.h"

#include <stdio.h>

static struct weir_dedup *make(enum weir_dedup_mode mode, uint32_t window)
{
    struct weir_dedup_options o = weir_dedup_defaults();
    o.mode = mode;
    o.window = window;
    return weir_dedup_new(&o);
}

static enum weir_dedup_verdict see(struct weir_dedup *d, const char *id, const char *data)
{
    struct weir_event e = {.data = weir_slice_cstr(data), .sse_id = weir_slice_cstr(id)};
    return weir_dedup_see(d, &e);
}

#define TEXT(word) "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" word "\"}}]}"

static void only_chunks_are_looked_at(void **state)
{
    (void)state;
    struct weir_dedup *d = make(WEIR_DEDUP_SAFE, 8);
    struct weir_event e = {.kind = WEIR_EVENT_DONE, .sse_id = WEIR_SLICE("1")};
    assert_int_equal(weir_dedup_see(d, &e), WEIR_DEDUP_KEEP);
    assert_int_equal(weir_dedup_see(d, &e), WEIR_DEDUP_KEEP);
    assert_int_equal(see(d, "1", TEXT("a")), WEIR_DEDUP_KEEP);
    assert_int_equal(see(d, "1", TEXT("a")), WEIR_DEDUP_DROP);
    assert_int_equal(see(d, "1", "no json"), WEIR_DEDUP_DROP);
    assert_int_equal(see(d, "", "no json"), WEIR_DEDUP_KEEP);
    assert_int_equal(see(d, "", "[1]"), WEIR_DEDUP_KEEP);
    weir_dedup_free(d);
}

static void the_window_slides(void **state)
{
    (void)state;
    struct weir_dedup *d = make(WEIR_DEDUP_SAFE, 3);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 4; i++) {
            char id[16];
            snprintf(id, sizeof id, "%d", i);
            assert_int_equal(see(d, id, TEXT("a")),
                             WEIR_DEDUP_KEEP); /* four ids, three remembered */
        }
    }
    assert_int_equal(see(d, "3", TEXT("a")), WEIR_DEDUP_DROP);
    assert_int_equal(weir_dedup_stats(d)->candidates, 1);
    weir_dedup_free(d);
}

static void keys_too_large_never_drop(void **state)
{
    (void)state;
    struct weir_buf big = {0};
    assert_int_equal(weir_buf_append(&big, WEIR_SLICE("{\"choices\":[{\"index\":0,\"delta\":{"
                                                      "\"content\":\"")),
                     0);
    for (int i = 0; i < 70000; i++) {
        assert_int_equal(weir_buf_append_byte(&big, 'x'), 0);
    }
    assert_int_equal(
        weir_buf_append(&big, WEIR_SLICE("\"}}],\"usage\":{\"completion_tokens\":1}}")), 0);
    struct weir_dedup *d = make(WEIR_DEDUP_TEXT, 8);
    struct weir_event e = {.data = weir_buf_slice(&big)};
    assert_int_equal(weir_dedup_see(d, &e), WEIR_DEDUP_KEEP);
    assert_int_equal(weir_dedup_see(d, &e), WEIR_DEDUP_KEEP);
    assert_int_equal(weir_dedup_stats(d)->candidates, 1);
    assert_int_equal(weir_dedup_stats(d)->dup_text_seen, 1);
    weir_dedup_free(d);
    weir_buf_dispose(&big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_chunks_are_looked_at),
        cmocka_unit_test(the_window_slides),
        cmocka_unit_test(keys_too_large_never_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
