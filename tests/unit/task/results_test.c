/* Findings and warnings as they are spelled, byte for byte. */
#include "unit/cmocka_all.h"

#include "task/results.h"

static const struct weir_detection SPAN = {
    .has_span = true,
    .start_cp = 3,
    .end_cp = 7,
    .text = WEIR_SLICE("a\"b"),
    .detection = WEIR_SLICE("d"),
    .detection_type = WEIR_SLICE("t"),
    .detector_id = WEIR_SLICE("id"),
    .evidence = WEIR_SLICE("[1]"),
    .metadata = WEIR_SLICE("{\"k\":2}"),
    .score = 0.5,
    .score_raw = WEIR_SLICE("0.50"),
};
static const struct weir_detection WHOLE = {
    .detection = WEIR_SLICE("d"),
    .detection_type = WEIR_SLICE("t"),
    .detector_id = WEIR_SLICE("id"),
    .score = 0.5,
};

static void assert_written(struct weir_buf *out, const char *expected)
{
    assert_string_equal(weir_buf_cstr(out), expected);
    weir_buf_dispose(out);
}

static void check(enum weir_results_shape shape, const struct weir_detection *d,
                  const char *expected)
{
    struct weir_buf out = {0};
    weir_results_append(&out, shape, d, false);
    assert_written(&out, expected);
}

static void test_shapes(void **state)
{
    (void)state;
    check(WEIR_RESULTS_CONTENT, &SPAN,
          "{\"start\":3,\"end\":7,\"text\":\"a\\\"b\",\"detection\":\"d\",\"detection_type\":\"t\","
          "\"detector_id\":\"id\",\"score\":0.50,\"evidence\":[1],\"metadata\":{\"k\":2}}");
    check(WEIR_RESULTS_COMPLETION, &SPAN,
          "{\"start\":3,\"end\":7,\"text\":\"a\\\"b\",\"detector_id\":\"id\",\"detection_type\":"
          "\"t\",\"detection\":\"d\",\"score\":0.50,\"evidence\":[1],\"metadata\":{\"k\":2}}");
    check(WEIR_RESULTS_COMPLETION, &WHOLE,
          "{\"detector_id\":\"id\",\"detection_type\":\"t\",\"detection\":\"d\",\"score\":0.5}");
    check(WEIR_RESULTS_WHOLE, &SPAN,
          "{\"detection_type\":\"t\",\"detection\":\"d\",\"detector_id\":\"id\",\"score\":0.50,"
          "\"evidence\":[1],\"metadata\":{\"k\":2}}");
    check(WEIR_RESULTS_CLASSIFICATION, &SPAN,
          "{\"start\":3,\"end\":7,\"word\":\"a\\\"b\",\"entity\":\"d\",\"entity_group\":\"t\","
          "\"detector_id\":\"id\",\"score\":0.50}");
}

static void test_several(void **state)
{
    (void)state;
    struct weir_buf out = {0};
    weir_results_append(&out, WEIR_RESULTS_TERSE, &WHOLE, false);
    weir_results_append(&out, WEIR_RESULTS_TERSE, &WHOLE, true);
    assert_written(
        &out,
        "{\"detector_id\":\"id\",\"detection_type\":\"t\",\"detection\":\"d\",\"score\":0.5},"
        "{\"detector_id\":\"id\",\"detection_type\":\"t\",\"detection\":\"d\",\"score\":0.5}");
}

static void test_warnings(void **state)
{
    (void)state;
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_results_write_warning(&w, WEIR_SLICE("id"), WEIR_WARN_UNSUITABLE_INPUT);
    assert_written(&out, "{\"id\":\"UNSUITABLE_INPUT\",\"message\":\"Unsuitable input detected. "
                         "Please check the detected entities on your input and try again with the "
                         "unsuitable input removed.\"}");
    weir_json_write_init(&w, &out);
    weir_results_write_warning(&w, WEIR_SLICE("type"), WEIR_WARN_UNSUITABLE_OUTPUT);
    assert_written(&out, "{\"type\":\"UNSUITABLE_OUTPUT\",\"message\":\"Unsuitable output "
                         "detected.\"}");
    weir_json_write_init(&w, &out);
    weir_results_write_empty_output(&w, 12, true);
    assert_written(&out, "{\"type\":\"EMPTY_OUTPUT\",\"message\":\"Choice of index 12 has no "
                         "content\"}");
    weir_json_write_init(&w, &out);
    weir_results_write_empty_output(&w, UINT64_MAX, false);
    assert_written(&out,
                   "{\"type\":\"EMPTY_OUTPUT\",\"message\":\"Choice of index "
                   "18446744073709551615 has no content. Output detection was not executed\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_warnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
