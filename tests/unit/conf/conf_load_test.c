/* Whole files: the embedded default, the example, files in the style of the public orchestrator. */
#include "unit/conf/conf_harness.h"

static void test_embedded_default_is_clean(void **state)
{
    (void)state;
    struct loaded l = load_with((struct weir_conf_load_options){0});
    assert_string_equal(weir_buf_cstr(&l.lines), "");
    assert_true(l.conf->is_embedded);
    assert_true(l.conf->playground);
    assert_int_equal(l.conf->openai.kind, WEIR_CONF_OPENAI_DEMO);
    assert_int_equal(l.conf->n_detectors, 7);
    assert_int_equal(l.conf->n_chunkers, 4);
    const char *names[] = {"regex",   "secrets",          "file_type", "keywords",
                           "unicode", "prompt_injection", "links"};
    for (size_t i = 0; i < 7; i++) {
        const struct weir_conf_detector *d = weir_conf_detector(l.conf, weir_slice_cstr(names[i]));
        assert_non_null(d);
        assert_string_equal(d->builtin.s.p, names[i]);
    }
    const struct weir_conf_route *redact = weir_conf_route(l.conf, WEIR_SLICE("redact"));
    assert_non_null(redact);
    assert_int_equal(redact->on_detection, WEIR_CONF_REDACT);
    assert_int_equal(weir_conf_route(l.conf, WEIR_SLICE("block"))->on_detection, WEIR_CONF_BLOCK);
    assert_int_equal(weir_conf_route(l.conf, WEIR_SLICE("default"))->on_detection,
                     WEIR_CONF_ANNOTATE);
    drop(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedded_default_is_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
