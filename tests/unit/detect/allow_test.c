/* Values that are no finding. */
#include "detect/allow.h"

#include "unit/cmocka_all.h"

static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"*@acme.com", "jane@acme.com", true},
        {"*@acme.com", "Jane@ACME.com", true},
        {"*@acme.com", "jane@acme.com.org", false},
        {"*@acme.com", "jane@other.com", false},
        {"*@acme.com", "@acme.com", true},
        {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXbYbZ", false},
        {"exact", "exact", true},
        {"exact", "exactly", false},
        {"a*", "a", true},
        {"*", "", true},
        {"", "", true},
        {"", "a", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(
            weir_allow_matches(weir_slice_cstr(cases[i].pattern), weir_slice_cstr(cases[i].text)),
            cases[i].matches);
    }
}

/* ---- a detector that finds every word ---- */

struct call {
    struct weir_detect_call base;
    struct weir_detection items[3];
    struct weir_detect_list list;
    bool *is_freed;
};

static struct call the_call;
static bool is_freed;
static weir_detect_done_fn late_fn;
static void *late_ctx;

static struct weir_detect_call *start(const struct weir_detector *d,
                                      const struct weir_detect_env *env,
                                      const struct weir_detect_input *input,
                                      weir_detect_done_fn on_done, void *ctx)
{
    (void)env;
    (void)input;
    late_fn = on_done;
    late_ctx = ctx;
    the_call = (struct call){.base = {.detector = d, .lists = &the_call.list, .n_lists = 1}};
    the_call.items[0] = (struct weir_detection){.has_span = true, .start_cp = 0, .end_cp = 3};
    the_call.items[1] = (struct weir_detection){.has_span = true, .start_cp = 4, .end_cp = 7};
    the_call.items[2] = (struct weir_detection){.detection = WEIR_SLICE("whole")};
    the_call.list = (struct weir_detect_list){.items = the_call.items, .n = 3};
    the_call.base.is_done = ctx == NULL || d->takes_many;
    return &the_call.base;
}

static void free_call(struct weir_detect_call *call)
{
    (void)call;
    is_freed = true;
}

static const struct weir_detect_ops OPS = {.start = start, .free = free_call};

static size_t n_done;

static void on_done(void *ctx, struct weir_detect_call *call)
{
    assert_ptr_equal(ctx, &n_done);
    assert_true(call->is_done);
    n_done++;
}

static void looks(bool is_late)
{
    struct weir_detector inner = {.ops = &OPS, .id = WEIR_SLICE("d"), .takes_many = !is_late};
    struct weir_slice patterns[] = {WEIR_SLICE("f*")};
    struct weir_slice content = WEIR_SLICE("foo bar");
    struct weir_detect_input input = {.contents = &content, .n_contents = 1};
    struct weir_allow allow;
    weir_allow_init(&allow, &inner, patterns, 1);
    n_done = 0;
    is_freed = false;
    struct weir_detect_call *call = weir_detect_start(&allow.base, NULL, &input, on_done, &n_done);
    if (is_late) {
        assert_false(call->is_done);
        the_call.base.is_done = true;
        late_fn(late_ctx, &the_call.base);
    }
    assert_int_equal(n_done, is_late);
    assert_true(call->is_done);
    assert_int_equal(call->n_lists, 1);
    assert_int_equal(call->lists[0].n, 2);
    assert_int_equal(call->lists[0].items[0].start_cp, 4);
    assert_false(call->lists[0].items[1].has_span);
    weir_detect_free(call);
    assert_true(is_freed);
}

static void test_calls(void **state)
{
    (void)state;
    looks(false);
    looks(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns),
                                       cmocka_unit_test(test_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
