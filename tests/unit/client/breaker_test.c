/* When a service is left to rest, and when it is tried again. */
#include "client/breaker.h"
#include "unit/cmocka_all.h"

#include <string.h>

static struct weir_breaker breaker;
static uint64_t now_ms;

static int begin(void **state)
{
    (void)state;
    weir_breaker_init(&breaker);
    now_ms = 1000;
    return 0;
}

static bool ask_as(const char *request_id)
{
    uint64_t who = weir_breaker_who(weir_slice_cstr(request_id));
    return weir_breaker_is_awake(&breaker, who, now_ms) && weir_breaker_claim(&breaker, who);
}

static bool ask(void)
{
    return ask_as("");
}

static void end(enum weir_breaker_outcome outcome)
{
    weir_breaker_settle(&breaker, outcome, now_ms);
}

static void fail_often(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        assert_true(ask());
        end(WEIR_BREAKER_FAILED);
    }
}

static void test_it_rests_after_five_in_a_row(void **state)
{
    (void)state;
    fail_often(4);
    assert_true(ask());
    end(WEIR_BREAKER_WORKED);
    fail_often(5);
    assert_false(ask());
    now_ms += WEIR_BREAKER_REST_MS - 1;
    assert_false(ask());
}

static void test_one_tries_it(void **state)
{
    (void)state;
    fail_often(5);
    now_ms += WEIR_BREAKER_REST_MS;
    assert_true(ask());
    assert_false(ask()); /* while the first tries it */
    end(WEIR_BREAKER_FAILED);
    assert_false(ask()); /* it rests again */
    now_ms += WEIR_BREAKER_REST_MS;
    assert_true(ask());
    end(WEIR_BREAKER_STOPPED); /* nobody knows: the next one tries it */
    assert_true(ask());
    end(WEIR_BREAKER_WORKED);
    assert_true(ask());
    assert_true(ask());
}

/* All calls of the request that tries it belong to the trial: a stream asks for each chunk. */
static void test_one_request_tries_it(void **state)
{
    (void)state;
    fail_often(5);
    now_ms += WEIR_BREAKER_REST_MS;
    assert_true(ask_as("a"));
    assert_false(ask_as("b"));
    assert_false(ask());
    assert_true(ask_as("a"));
    end(WEIR_BREAKER_FAILED); /* its first call: it rests again, for that request, too */
    assert_false(ask_as("a"));
    end(WEIR_BREAKER_STOPPED);
    now_ms += WEIR_BREAKER_REST_MS;
    assert_true(ask_as("b"));
    assert_true(ask_as("b"));
    end(WEIR_BREAKER_WORKED);
    assert_true(ask_as("c"));
    assert_true(ask());
}

/* Answers of calls that began before it opened. */
static void test_late_answers(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++) {
        assert_true(ask());
    }
    for (int i = 0; i < 6; i++) {
        end(WEIR_BREAKER_FAILED);
    }
    assert_false(ask());
    end(WEIR_BREAKER_WORKED); /* it lives after all */
    assert_true(ask());
}

static bool shows(const char *name, const char *value)
{
    struct weir_buf out = {0};
    struct weir_buf line = {0};
    assert_int_equal(weir_metric_render(&out), 0);
    weir_buf_printf(&line, "%s{detector=\"hap\"} %s\n", name, value);
    bool has = strstr(weir_buf_cstr(&out), weir_buf_cstr(&line)) != NULL;
    weir_buf_dispose(&line);
    weir_buf_dispose(&out);
    return has;
}

static void test_metrics(void **state)
{
    (void)state;
    weir_breaker_count(&breaker, WEIR_SLICE("hap"));
    assert_true(shows("weir_detector_breaker_state", "0"));
    fail_often(5);
    assert_true(shows("weir_detector_breaker_state", "1"));
    now_ms += WEIR_BREAKER_REST_MS;
    assert_true(ask());
    assert_true(shows("weir_detector_breaker_state", "2"));
    end(WEIR_BREAKER_STOPPED);
    assert_true(shows("weir_detector_breaker_state", "1"));
    fail_often(1);
    assert_true(shows("weir_detector_breaker_state", "1"));
    now_ms += WEIR_BREAKER_REST_MS;
    assert_true(ask());
    end(WEIR_BREAKER_WORKED);
    assert_true(shows("weir_detector_breaker_state", "0"));
    assert_true(shows("weir_detector_breaker_opened_total", "1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_it_rests_after_five_in_a_row, begin),
        cmocka_unit_test_setup(test_one_tries_it, begin),
        cmocka_unit_test_setup(test_one_request_tries_it, begin),
        cmocka_unit_test_setup(test_late_answers, begin),
        cmocka_unit_test_setup(test_metrics, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
