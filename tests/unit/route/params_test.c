#include "unit/cmocka_all.h"

#include "base/err.h"
#include "route/params.h"
#include "unit/route/reading.h"

static void check(const char *text, const char *error)
{
    struct reading r;
    struct weir_model_params params;
    int rc = weir_params_read(&read_json(&r, text)->f, 0, &params);
    assert_int_equal(rc, error == NULL ? 0 : WEIR_EINVAL);
    assert_told(&r, error);
}

static void test_none(void **state)
{
    (void)state;
    struct reading r;
    struct weir_model_params params;
    read_json(&r, "{}");
    assert_int_equal(weir_params_read(&r.f, WEIR_JSON_NONE, &params), 0);
    assert_int_equal(params.given, 0);
    assert_int_equal(weir_params_read(&r.f, 0, &params), 0);
    assert_int_equal(params.given, WEIR_PARAM_GIVEN);
    assert_told(&r, NULL);
}

static void test_values(void **state)
{
    (void)state;
    struct reading r;
    struct weir_model_params p;
    read_json(&r,
              "{\"max_new_tokens\":4294967295,\"top_k\":0,\"temperature\":0.5,\"seed\":"
              "18446744073709551615,\"decoding_method\":\"S\",\"stop_sequences\":[\"\",\"\\n\"],"
              "\"token_ranks\":true,\"input_tokens\":false,\"max_time\":null,"
              "\"exponential_decay_length_penalty\":{\"decay_factor\":1.5}}");
    assert_int_equal(weir_params_read(&r.f, 0, &p), 0);
    assert_int_equal(p.given, WEIR_PARAM_GIVEN | WEIR_PARAM_MAX_NEW_TOKENS | WEIR_PARAM_TOP_K |
                                  WEIR_PARAM_TEMPERATURE | WEIR_PARAM_SEED |
                                  WEIR_PARAM_DECODING_METHOD | WEIR_PARAM_STOP_SEQUENCES |
                                  WEIR_PARAM_TOKEN_RANKS | WEIR_PARAM_INPUT_TOKENS |
                                  WEIR_PARAM_LENGTH_PENALTY);
    assert_int_equal(p.max_new_tokens, 4294967295);
    assert_true(p.seed == UINT64_MAX);
    assert_true(p.temperature == 0.5);
    assert_int_equal(p.n_stop_sequences, 2);
    assert_true(weir_slice_eq_cstr(p.stop_sequences[1], "\n"));
    assert_true(weir_slice_eq_cstr(p.decoding_method, "S"));
    assert_true(p.token_ranks);
    assert_false(p.input_tokens);
    assert_int_equal(p.length_penalty_start_index, 0);
    assert_true(p.length_penalty_decay_factor == 1.5);
    assert_told(&r, NULL);
}

static void test_what_is_told(void **state)
{
    (void)state;
    check("{\"top_p\":\"x\"}",
          "text_gen_parameters.top_p: invalid type: string \"x\", expected a number");
    check("{\"top_p\":1e400}",
          "text_gen_parameters.top_p: invalid value: number `1e400`, expected a number that fits a "
          "double");
    check("{\"top_k\":-1}", "text_gen_parameters.top_k: invalid value: number `-1`, expected a "
                            "whole number from 0 to 4294967295");
    check(
        "{\"min_new_tokens\":4294967296}",
        "text_gen_parameters.min_new_tokens: invalid value: number `4294967296`, expected a whole "
        "number from 0 to 4294967295");
    check(
        "{\"seed\":18446744073709551616}",
        "text_gen_parameters.seed: invalid value: number `18446744073709551616`, expected a whole "
        "number from 0 to 18446744073709551615");
    check("{\"stop_sequences\":[\"a\",null]}",
          "text_gen_parameters.stop_sequences[1]: invalid type: null, expected a string");
    check("{\"exponential_decay_length_penalty\":{\"start_index\":-1}}",
          "text_gen_parameters.exponential_decay_length_penalty.start_index: invalid value: number "
          "`-1`, expected a whole number from 0 to 4294967295");
    check("{\"exponential_decay_length_penalty\":{\"decay\":1}}",
          "text_gen_parameters.exponential_decay_length_penalty.decay: unknown field `decay`, "
          "expected one of `start_index`, `decay_factor`");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_what_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
