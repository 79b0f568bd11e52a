/* Health probes over a scripted call: every way a service can answer, or not. */
#include "base/err.h"
#include "client/probe.h"
#include "unit/client/fake_call.h"
#include "unit/cmocka_all.h"

struct asked {
    struct weir_loop loop;
    struct weir_target target;
    struct weir_probe_service service;
    struct weir_probe *probe;
    struct weir_buf trace;
};

static void on_done(void *ctx, const struct weir_probe_state *s)
{
    struct asked *a = ctx;
    weir_buf_printf(&a->trace, "%s %d '%.*s'", weir_probe_health_name(s->health), s->code,
                    (int)s->reason.n, s->reason.p);
}

static int set_up(void **state)
{
    struct asked *a = weir_mem_zalloc(sizeof *a);
    assert_int_equal(weir_loop_init(&a->loop), 0);
    a->target.request_timeout_ms = 600 * 1000;
    a->service.target = &a->target;
    *state = a;
    return 0;
}

static int tear_down(void **state)
{
    struct asked *a = *state;
    weir_loop_dispose(&a->loop);
    weir_buf_dispose(&a->trace);
    free(a);
    return 0;
}

static void ask(struct asked *a, const struct weir_probe_kind *kind)
{
    a->service.kind = kind;
    a->probe = weir_probe_start(&a->loop, NULL, &a->service, on_done, a);
    assert_int_equal(a->trace.n, 0);
}

static void expect(struct asked *a, const char *expected)
{
    if (!weir_slice_eq_cstr(weir_buf_slice(&a->trace), expected)) {
        fail_msg("%.*s, not %s", (int)a->trace.n, a->trace.p, expected);
    }
    weir_buf_clear(&a->trace);
    fake_forget();
}

static uint64_t time_left_ms(const struct asked *a)
{
    return fake_last()->request.context->deadline_ms - weir_loop_now_ms(&a->loop);
}

static void test_http_request(void **state)
{
    struct asked *a = *state;
    ask(a, &weir_probe_http);
    assert_true(weir_slice_eq_cstr(weir_buf_slice(&fake_last()->head), "GET /health\n"));
    assert_ptr_equal(fake_last()->request.target, &a->target);
    assert_false(fake_last()->request.may_retry);
    assert_int_equal(time_left_ms(a), 10 * 1000);
    weir_probe_cancel(a->probe);
    assert_true(fake_last()->is_cancelled);
    expect(a, "");
    a->target.request_timeout_ms = 500;
    ask(a, &weir_probe_http);
    assert_int_equal(time_left_ms(a), 500);
    weir_probe_cancel(a->probe);
    expect(a, "");
}

static void test_http_answers(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *expected;
    } cases[] = {
        {200, "", "HEALTHY 0 ''"},
        {200, "OK", "HEALTHY 0 ''"},
        {200, "{}", "HEALTHY 0 ''"},
        {200, "{\"status\":\"HEALTHY\"}", "HEALTHY 0 ''"},
        {200, "{\"status\":\"UNHEALTHY\",\"reason\":\"no\\ndisk\"}", "UNHEALTHY 0 'no disk'"},
        {200, "{\"status\":\"UNKNOWN\",\"reason\":null}", "UNKNOWN 0 ''"},
        {200, "{\"status\":\"ok\",\"reason\":\"all is well\"}", "HEALTHY 0 'all is well'"},
        {200, "{\"status\":5,\"reason\":6}", "HEALTHY 0 ''"},
        {200, "{\"status\":\"UNHEALTHY\"", "HEALTHY 0 ''"},
        {200, "\"UNHEALTHY\"", "HEALTHY 0 ''"},
        {204, "", "HEALTHY 0 ''"},
        {302, "", "UNKNOWN 302 ''"},
        {401, "{\"status\":\"HEALTHY\"}", "UNKNOWN 401 ''"},
        {404, "", "UNKNOWN 404 ''"},
        {500, "", "UNHEALTHY 500 ''"},
        {503, "{\"reason\":\"loading\"}", "UNHEALTHY 503 'loading'"},
    };
    struct asked *a = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ask(a, &weir_probe_http);
        fake_answer(cases[i].status, weir_slice_cstr(cases[i].body));
        expect(a, cases[i].expected);
    }
}

static void test_http_unreached(void **state)
{
    struct asked *a = *state;
    ask(a, &weir_probe_http);
    fake_done(WEIR_EREFUSED, NULL);
    expect(a, "UNHEALTHY 0 'connection refused'");
    ask(a, &weir_probe_http);
    fake_done(WEIR_ETIMEOUT, NULL);
    expect(a, "UNHEALTHY 0 'timed out'");
}

#define GRPC_HEAD "content-type: application/grpc"

static void answer_grpc(struct weir_slice message, const char *trailers)
{
    fake_head(200, GRPC_HEAD);
    fake_body(message);
    fake_done(0, trailers);
}

static void test_grpc_check(void **state)
{
    struct asked *a = *state;
    ask(a, &weir_probe_grpc);
    assert_true(weir_slice_starts_with(weir_buf_slice(&fake_last()->head),
                                       WEIR_SLICE("POST /grpc.health.v1.Health/Check\n")));
    assert_true(weir_slice_eq(weir_buf_slice(&fake_last()->body), WEIR_SLICE("\0\0\0\0\0")));
    answer_grpc(WEIR_SLICE("\0\0\0\0\2\x08\1"), "grpc-status: 0");
    expect(a, "HEALTHY 0 ''");
    ask(a, &weir_probe_grpc);
    answer_grpc(WEIR_SLICE("\0\0\0\0\2\x08\2"), "grpc-status: 0");
    expect(a, "UNHEALTHY 0 ''");
    ask(a, &weir_probe_grpc);
    answer_grpc(WEIR_SLICE("\0\0\0\0\2\x08\3"), "grpc-status: 0");
    expect(a, "UNKNOWN 0 ''");
    ask(a, &weir_probe_grpc);
    answer_grpc(WEIR_SLICE("\0\0\0\0\0"), "grpc-status: 0");
    expect(a, "UNKNOWN 0 ''");
    ask(a, &weir_probe_grpc);
    answer_grpc(WEIR_SLICE("\0\0\0\0\2\xff\xff"), "grpc-status: 0");
    expect(a, "UNKNOWN 0 ''");
}

static void test_grpc_errors(void **state)
{
    static const struct {
        const char *trailers;
        const char *expected;
    } cases[] = {
        {"grpc-status: 5\ngrpc-message: no such service", "HEALTHY 0 ''"},
        {"grpc-status: 3", "HEALTHY 0 ''"},
        {"grpc-status: 12\ngrpc-message: what?", "UNKNOWN 501 'what?'"},
        {"grpc-status: 16", "UNKNOWN 401 ''"},
        {"grpc-status: 14\ngrpc-message: shutting%0adown", "UNHEALTHY 503 'shutting down'"},
        {"grpc-status: 2", "UNHEALTHY 500 ''"},
    };
    const struct weir_probe_kind *kinds[] = {&weir_probe_grpc, &weir_probe_tgis};
    struct asked *a = *state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        ask(a, kinds[i % 2]);
        answer_grpc(WEIR_SLICE(""), cases[i / 2].trailers);
        expect(a, cases[i / 2].expected);
    }
    ask(a, &weir_probe_grpc);
    fake_done(WEIR_EREFUSED, NULL);
    expect(a, "UNHEALTHY 0 'connection refused'");
    ask(a, &weir_probe_grpc);
    fake_done(0, NULL);
    expect(a, "UNHEALTHY 0 'the service answered nonsense'");
}

static void test_tgis(void **state)
{
    struct asked *a = *state;
    ask(a, &weir_probe_tgis);
    assert_true(weir_slice_starts_with(weir_buf_slice(&fake_last()->head),
                                       WEIR_SLICE("POST /fmaas.GenerationService/ModelInfo\n")));
    answer_grpc(WEIR_SLICE("\0\0\0\0\0"), "grpc-status: 0");
    expect(a, "HEALTHY 0 ''");
    ask(a, &weir_probe_tgis);
    weir_probe_cancel(a->probe);
    expect(a, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_http_request), TEST(test_http_answers), TEST(test_http_unreached),
        TEST(test_grpc_check),   TEST(test_grpc_errors),  TEST(test_tgis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
