#include "base/err.h"
#include "emit/override.h"
#include "unit/cmocka_all.h"

#include <stdio.h>

static const struct weir_override_limits limits = {
    .is_enabled = true, .max_latency_ms = 1000, .min_chars_per_emit = 4096};

static int parse_body(struct weir_override *o, const char *text, struct weir_buf *why)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    assert_int_equal(weir_json_parse(&j, weir_slice_cstr(text), NULL, &arena, NULL), 0);
    int rc = weir_override_parse_body(o, &j, 0, why);
    weir_arena_dispose(&arena);
    return rc;
}

static void assert_why(struct weir_buf *why, const char *text)
{
    assert_string_equal(weir_buf_cstr(why), text);
    weir_buf_dispose(why);
}

static void assert_bad_body(const char *text, const char *message)
{
    struct weir_override o = {0};
    struct weir_buf why = {0};
    assert_int_equal(parse_body(&o, text, &why), WEIR_EINVAL);
    assert_why(&why, message);
}

static void assert_bad_header(const char *text, const char *message)
{
    struct weir_override o = {0};
    struct weir_buf why = {0};
    assert_int_equal(weir_override_parse_header(&o, weir_slice_cstr(text), &why), WEIR_EINVAL);
    assert_why(&why, message);
}

static struct weir_batch_options with_body(const char *text)
{
    struct weir_override o = {0};
    struct weir_buf why = {0};
    struct weir_batch_options options = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    assert_int_equal(parse_body(&o, text, &why), 0);
    assert_int_equal(weir_override_apply(&o, &limits, &options, &why), 0);
    assert_int_equal(why.n, 0);
    return options;
}

static struct weir_batch_options with_header(const char *text)
{
    struct weir_override o = {0};
    struct weir_buf why = {0};
    struct weir_batch_options options = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    assert_int_equal(weir_override_parse_header(&o, weir_slice_cstr(text), &why), 0);
    assert_int_equal(weir_override_apply(&o, &limits, &options, &why), 0);
    return options;
}

static void bodies_override(void **state)
{
    (void)state;
    struct weir_batch_options o = with_body(
        "{\"mode\":\"on\",\"min_chars_per_emit\":60,\"max_latency_ms\":80,\"idle_flush_ms\":20,"
        "\"flush_on_sentence\":false,\"first_emit_immediate\":false,\"flush_on_tool_call\":null,"
        "\"ramp_factor\":2,\"ramp_initial_chars\":4,\"reasoning\":{\"min_chars_per_emit\":9,"
        "\"max_latency_ms\":0}}");
    assert_int_equal(o.mode, WEIR_BATCH_ON);
    assert_int_equal(o.min_chars_per_emit, 60);
    assert_int_equal(o.max_latency_ms, 80);
    assert_int_equal(o.idle_flush_ms, 20);
    assert_false(o.flush_on_sentence);
    assert_false(o.first_emit_immediate);
    assert_true(o.flush_on_tool_call);
    assert_int_equal(o.ramp_factor, 2);
    assert_int_equal(o.ramp_initial_chars, 4);
    assert_int_equal(o.reasoning_min_chars, 9);
    assert_int_equal(o.reasoning_max_latency_ms, 0);
    o = with_body("{}");
    assert_int_equal(o.mode, WEIR_BATCH_OFF);
    assert_int_equal(o.min_chars_per_emit, 120);
}

static void headers_override(void **state)
{
    (void)state;
    struct weir_batch_options o = with_header("min_chars=60;max_latency_ms=80");
    assert_int_equal(o.min_chars_per_emit, 60);
    assert_int_equal(o.max_latency_ms, 80);
    o = with_header(" on ; min_chars_per_emit = 7 ; flush_on_sentence=false ;");
    assert_int_equal(o.mode, WEIR_BATCH_ON);
    assert_int_equal(o.min_chars_per_emit, 7);
    assert_false(o.flush_on_sentence);
    assert_int_equal(with_header("mode=metrics").mode, WEIR_BATCH_METRICS);
    assert_int_equal(with_header("off").mode, WEIR_BATCH_OFF);
}

static void values_are_clamped(void **state)
{
    (void)state;
    struct weir_batch_options o =
        with_body("{\"min_chars_per_emit\":65536,\"max_latency_ms\":10000,\"idle_flush_ms\":5000,"
                  "\"reasoning\":{\"min_chars_per_emit\":5000,\"max_latency_ms\":2000}}");
    assert_int_equal(o.min_chars_per_emit, 4096);
    assert_int_equal(o.max_latency_ms, 1000);
    assert_int_equal(o.idle_flush_ms, 1000);
    assert_int_equal(o.reasoning_min_chars, 4096);
    assert_int_equal(o.reasoning_max_latency_ms, 1000);
}

static void the_body_wins_over_the_header(void **state)
{
    (void)state;
    struct weir_override o = {0};
    struct weir_buf why = {0};
    struct weir_batch_options options = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    assert_int_equal(
        weir_override_parse_header(&o, WEIR_SLICE("on;min_chars=60;max_latency_ms=80"), &why), 0);
    assert_int_equal(parse_body(&o, "{\"min_chars_per_emit\":70}", &why), 0);
    assert_int_equal(weir_override_apply(&o, &limits, &options, &why), 0);
    assert_int_equal(options.mode, WEIR_BATCH_ON);
    assert_int_equal(options.min_chars_per_emit, 70);
    assert_int_equal(options.max_latency_ms, 80);
}

static void bad_values_say_what_is_wrong(void **state)
{
    (void)state;
    assert_bad_body("[]", "stream_options.batching: it must be an object");
    assert_bad_body("{\"min_chars\":1}", "stream_options.batching: min_chars is not a known key");
    assert_bad_body("{\"min_chars_per_emit\":0}",
                    "stream_options.batching: min_chars_per_emit must be from 1 to 65536");
    assert_bad_body("{\"max_latency_ms\":10001}",
                    "stream_options.batching: max_latency_ms must be from 0 to 10000");
    assert_bad_body("{\"max_latency_ms\":\"80\"}",
                    "stream_options.batching: max_latency_ms must be "
                    "a whole number, not negative");
    assert_bad_body("{\"max_latency_ms\":-1}", "stream_options.batching: max_latency_ms must be a "
                                               "whole number, not negative");
    assert_bad_body("{\"max_latency_ms\":1.5}", "stream_options.batching: max_latency_ms must be a "
                                                "whole number, not negative");
    assert_bad_body("{\"mode\":\"fast\"}",
                    "stream_options.batching: mode must be off, metrics or on");
    assert_bad_body("{\"mode\":true}", "stream_options.batching: mode must be off, metrics or on");
    assert_bad_body("{\"flush_on_sentence\":1}",
                    "stream_options.batching: flush_on_sentence must be true or false");
    assert_bad_body("{\"ramp_factor\":1}",
                    "stream_options.batching: ramp_factor must be 0 or at least 2");
    assert_bad_body("{\"reasoning\":{\"mode\":\"on\"}}",
                    "stream_options.batching.reasoning: mode is not a known key");
    assert_bad_body("{\"reasoning\":3}", "stream_options.batching.reasoning: it must be an object");
    assert_bad_header("", "x-stream-batching:  is neither a mode nor key=value");
    assert_bad_header("fast", "x-stream-batching: fast is neither a mode nor key=value");
    assert_bad_header("min_chars=", "x-stream-batching: min_chars must be a whole number, not "
                                    "negative");
    assert_bad_header("min_chars=0", "x-stream-batching: min_chars_per_emit must be from 1 to "
                                     "65536");
    assert_bad_header("idle_flush_ms=soon", "x-stream-batching: idle_flush_ms must be auto or a "
                                            "whole number, not negative");
    assert_bad_body("{\"idle_flush_ms\":\"soon\"}", "stream_options.batching: idle_flush_ms must "
                                                    "be auto or a whole number, not negative");
    assert_bad_body("{\"max_latency_ms\":\"auto\"}", "stream_options.batching: max_latency_ms must "
                                                     "be a whole number, not negative");
    assert_bad_header("colour=red", "x-stream-batching: colour is not a known key");
    assert_bad_header("min_chars=5;;off", "x-stream-batching:  is neither a mode nor key=value");
}

/* Every row of the table: what says REQUEST is taken, in the body and (but for reasoning) in the
 * header; what says OPERATOR is refused. */
static void try_key(const char *key, const char *value, bool is_taken)
{
    char text[200];
    struct weir_override o = {0};
    struct weir_buf why = {0};
    (void)snprintf(text, sizeof text, "{\"%s\":%s}", key, value);
    assert_int_equal(parse_body(&o, text, &why), is_taken ? 0 : WEIR_EINVAL);
    assert_int_equal(o.set != 0, is_taken);
    struct weir_slice bare = weir_slice_cstr(value);
    bare = *value == '"' ? weir_slice_sub(bare, 1, bare.n - 1) : bare;
    (void)snprintf(text, sizeof text, "%s=%.*s", key, (int)bare.n, bare.p);
    int rc = weir_override_parse_header(&o, weir_slice_cstr(text), &why);
    assert_int_equal(rc, is_taken ? 0 : WEIR_EINVAL);
    weir_buf_dispose(&why);
}

static void requests_set_what_the_table_opens(void **state)
{
    (void)state;
    enum { OPERATOR, REQUEST };
#define NUMBER(key, member, default_, least, most, who, ...) try_key(#key, #most, who == REQUEST);
#define FLAG(key, member, default_, who, ...) try_key(#key, "true", who == REQUEST);
#define WORD(key, member, tag, default_, who, ...)                                                 \
    try_key(#key, FIRST_OF(WEIR_WORDS_##tag), who == REQUEST);
#define FIRST_OF(...) FIRST_OF_(__VA_ARGS__, )
#define FIRST_OF_(first, ...) "\"" first "\""
#define LIST(key, ...) try_key(#key, "[]", false);
    WEIR_STREAM_PACE(NUMBER, NUMBER, FLAG, WORD)
    WEIR_STREAM_JOINING(NUMBER, FLAG, WORD, LIST)
#undef NUMBER
#undef FLAG
#undef WORD
#undef LIST
    try_key("colour", "1", false);
}

static void results_must_make_sense(void **state)
{
    (void)state;
    struct weir_override o = {0};
    struct weir_buf why = {0};
    struct weir_batch_options options = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    assert_int_equal(parse_body(&o, "{\"idle_flush_ms\":300}", &why), 0);
    assert_int_equal(weir_override_apply(&o, &limits, &options, &why), WEIR_EINVAL);
    assert_why(&why, "stream batching: idle_flush_ms must not be larger than max_latency_ms");
    assert_int_equal(options.idle_flush_ms, 0);
    /* The operator's idle time follows a latency that a request lowers. */
    options.idle_flush_ms = 100;
    o = (struct weir_override){0};
    assert_int_equal(parse_body(&o, "{\"max_latency_ms\":50}", &why), 0);
    assert_int_equal(weir_override_apply(&o, &limits, &options, &why), 0);
    assert_int_equal(options.idle_flush_ms, 50);
}

/* `auto` is no number: it is neither clamped nor compared. */
static void an_idle_time_by_the_pace(void **state)
{
    (void)state;
    struct weir_override o = {0};
    struct weir_buf why = {0};
    struct weir_batch_options options = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    assert_int_equal(parse_body(&o, "{\"idle_flush_ms\":\"auto\"}", &why), 0);
    assert_int_equal(weir_override_apply(&o, &limits, &options, &why), 0);
    assert_int_equal(options.idle_flush_ms, WEIR_BATCH_IDLE_AUTO);
    o = (struct weir_override){0};
    assert_int_equal(parse_body(&o, "{\"max_latency_ms\":50}", &why), 0);
    assert_int_equal(weir_override_apply(&o, &limits, &options, &why), 0);
    assert_int_equal(options.idle_flush_ms, WEIR_BATCH_IDLE_AUTO);
    o = (struct weir_override){0};
    options.idle_flush_ms = 0;
    assert_int_equal(weir_override_parse_header(&o, WEIR_SLICE("idle_flush_ms=auto"), &why), 0);
    assert_int_equal(weir_override_apply(&o, &limits, &options, &why), 0);
    assert_int_equal(options.idle_flush_ms, WEIR_BATCH_IDLE_AUTO);
}

static void overrides_can_be_disabled(void **state)
{
    (void)state;
    struct weir_override o = {0};
    struct weir_buf why = {0};
    struct weir_override_limits none = {0};
    struct weir_batch_options options = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    assert_int_equal(weir_override_apply(&o, &none, &options, &why), 0);
    assert_int_equal(parse_body(&o, "{\"mode\":\"on\"}", &why), 0);
    assert_int_equal(weir_override_apply(&o, &none, &options, &why), WEIR_EINVAL);
    assert_why(&why, "stream batching: it cannot be changed by a request here");
    assert_int_equal(options.mode, WEIR_BATCH_OFF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_override),
        cmocka_unit_test(headers_override),
        cmocka_unit_test(values_are_clamped),
        cmocka_unit_test(the_body_wins_over_the_header),
        cmocka_unit_test(bad_values_say_what_is_wrong),
        cmocka_unit_test(requests_set_what_the_table_opens),
        cmocka_unit_test(results_must_make_sense),
        cmocka_unit_test(an_idle_time_by_the_pace),
        cmocka_unit_test(overrides_can_be_disabled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
