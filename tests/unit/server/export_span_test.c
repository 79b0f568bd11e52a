#include "base/err.h"
#include "server/export_span.h"
#include "unit/cmocka_all.h"
#include "unit/server/otlp_read.h"

#include <stdlib.h>

enum { NAME = 5, KIND = 6, START = 7, END = 8, ATTR = 9, STATUS = 15 };

static const struct weir_trace TRACE = {
    .trace_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
    .span_id = {21, 22, 23, 24, 25, 26, 27, 28},
    .flags = WEIR_TRACE_SAMPLED,
};
static const uint8_t PARENT[8] = {31, 32, 33, 34, 35, 36, 37, 38};
static const struct weir_export_times TIMES = {1700000000123456789u, 1700000001123456789u};

static struct weir_export_request request_of(const struct weir_http_request *req)
{
    return (struct weir_export_request){
        .trace = &TRACE,
        .times = TIMES,
        .req = req,
        .pattern = "/v1/models",
        .request_id = WEIR_SLICE("rid"),
        .status = 200,
    };
}

static struct weir_slice write_request(struct weir_buf *out, const struct weir_export_request *r)
{
    weir_export_span_request(out, r);
    return otlp_bytes(weir_buf_slice(out), 2);
}

static void test_a_request(void **state)
{
    (void)state;
    struct weir_http_request req = {.method = WEIR_HTTP_GET,
                                    .method_name = WEIR_SLICE("GET"),
                                    .path = WEIR_SLICE("/v1/models")};
    struct weir_export_request r = request_of(&req);
    struct weir_buf out = {0};
    struct weir_slice span = write_request(&out, &r);
    assert_memory_equal(otlp_bytes(span, 1).p, TRACE.trace_id, 16);
    assert_memory_equal(otlp_bytes(span, 2).p, TRACE.span_id, 8);
    assert_false(otlp_has(span, 4));
    assert_true(weir_slice_eq_cstr(otlp_bytes(span, NAME), "GET /v1/models"));
    assert_int_equal(otlp_number(span, KIND), 2);
    assert_int_equal(otlp_number(span, START), TIMES.start_ns);
    assert_int_equal(otlp_number(span, END), TIMES.end_ns);
    assert_true(otlp_attr_is(span, ATTR, "url.path", "/v1/models"));
    assert_true(otlp_attr_is(span, ATTR, "http.request.method", "GET"));
    assert_true(otlp_attr_is(span, ATTR, "weir.request_id", "rid"));
    struct weir_slice status = otlp_attr(span, ATTR, "http.response.status_code");
    assert_int_equal(otlp_number(status, 3), 200);
    assert_false(otlp_has(span, STATUS));
    weir_buf_dispose(&out);
}

static void test_parent_and_route(void **state)
{
    (void)state;
    struct weir_http_request req = {.method = WEIR_HTTP_GET,
                                    .method_name = WEIR_SLICE("GET"),
                                    .path = WEIR_SLICE("/strict/v1/models")};
    struct weir_export_request r = request_of(&req);
    r.parent_id = PARENT;
    r.route = WEIR_SLICE("strict");
    r.status = 503;
    struct weir_buf out = {0};
    struct weir_slice span = write_request(&out, &r);
    assert_memory_equal(otlp_bytes(span, 4).p, PARENT, 8);
    assert_true(weir_slice_eq_cstr(otlp_bytes(span, NAME), "GET /{route}/v1/models"));
    assert_true(otlp_attr_is(span, ATTR, "weir.route", "strict"));
    assert_true(otlp_attr_is(span, ATTR, "error.type", "503"));
    assert_int_equal(otlp_number(otlp_bytes(span, STATUS), 3), 2);
    weir_buf_dispose(&out);
}

static void test_what_callers_choose_is_cut_and_kept_out_of_names(void **state)
{
    (void)state;
    char *path = malloc(100000);
    memset(path, 0xFF, 100000);
    path[0] = '/';
    struct weir_http_request req = {.method = WEIR_HTTP_OTHER,
                                    .method_name = weir_slice_make(path, 3000),
                                    .path = weir_slice_make(path, 100000)};
    struct weir_export_request r = request_of(&req);
    r.pattern = NULL;
    r.status = 0;
    r.is_cut = true;
    struct weir_buf out = {0};
    struct weir_slice span = write_request(&out, &r);
    assert_true(span.n < 4096);
    assert_true(weir_slice_eq_cstr(otlp_bytes(span, NAME), "HTTP"));
    assert_true(otlp_attr_is(span, ATTR, "http.request.method", "_OTHER"));
    assert_true(otlp_attr_is(span, ATTR, "error.type", "caller_gone"));
    assert_int_equal(otlp_attr(span, ATTR, "http.response.status_code").n, 0);
    assert_int_equal(otlp_attr(span, ATTR, "http.route").n, 0);
    assert_false(otlp_has(span, STATUS));
    struct weir_slice shown = otlp_bytes(otlp_attr(span, ATTR, "url.path"), 1);
    assert_memory_equal(shown.p, "/\xEF\xBF\xBD\xEF\xBF\xBD", 7);
    weir_buf_dispose(&out);
    free(path);
}

static const struct weir_target HTTP = {.id = WEIR_SLICE("hap"),
                                        .kind = "detector",
                                        .hostname = "10.0.0.9",
                                        .port = 8000,
                                        .protocol = WEIR_TARGET_HTTP};
static const struct weir_target GRPC = {.id = WEIR_SLICE("cut"),
                                        .kind = "chunker",
                                        .hostname = "chunk",
                                        .port = 8085,
                                        .protocol = WEIR_TARGET_H2};

static struct weir_client_span call_of(const struct weir_target *target)
{
    return (struct weir_client_span){
        .target = target,
        .trace = &TRACE,
        .parent_id = PARENT,
        .method = WEIR_SLICE("POST"),
        .path = WEIR_SLICE("/x"),
        .status = 200,
        .grpc_status = -1,
    };
}

static void test_calls(void **state)
{
    (void)state;
    struct weir_client_span call = call_of(&HTTP);
    call.n_retries = 2;
    call.path = WEIR_SLICE("/x/y?key=secret");
    struct weir_buf out = {0};
    weir_export_span_call(&out, &call, TIMES);
    struct weir_slice span = otlp_bytes(weir_buf_slice(&out), 2);
    assert_memory_equal(otlp_bytes(span, 2).p, TRACE.span_id, 8);
    assert_memory_equal(otlp_bytes(span, 4).p, PARENT, 8);
    assert_true(weir_slice_eq_cstr(otlp_bytes(span, NAME), "apply_guardrail hap"));
    assert_int_equal(otlp_number(span, KIND), 3);
    assert_true(otlp_attr_is(span, ATTR, "peer.service", "hap"));
    assert_true(otlp_attr_is(span, ATTR, "url.path", "/x/y"));
    assert_true(otlp_attr_is(span, ATTR, "weir.service.kind", "detector"));
    assert_int_equal(otlp_number(otlp_attr(span, ATTR, "server.port"), 3), 8000);
    assert_int_equal(otlp_number(otlp_attr(span, ATTR, "http.request.resend_count"), 3), 2);
    assert_false(otlp_has(span, STATUS));
    weir_buf_clear(&out);

    call = call_of(&GRPC);
    call.grpc_status = 5;
    weir_export_span_call(&out, &call, TIMES);
    span = otlp_bytes(weir_buf_slice(&out), 2);
    assert_true(weir_slice_eq_cstr(otlp_bytes(span, NAME), "chunker cut"));
    assert_true(otlp_attr_is(span, ATTR, "rpc.system", "grpc"));
    assert_int_equal(otlp_number(otlp_attr(span, ATTR, "rpc.grpc.status_code"), 3), 5);
    assert_true(otlp_attr_is(span, ATTR, "error.type", "5"));
    assert_int_equal(otlp_number(otlp_bytes(span, STATUS), 3), 2);
    weir_buf_dispose(&out);
}

/* How a call that ended so is told: its error.type, and whether that is an error. */
static void assert_outcome(int err, int status, const char *type, bool is_error)
{
    struct weir_client_span call = call_of(&HTTP);
    call.err = err;
    call.why = err != 0 ? "hap did not answer" : NULL;
    call.status = status;
    struct weir_buf out = {0};
    weir_export_span_call(&out, &call, TIMES);
    struct weir_slice span = otlp_bytes(weir_buf_slice(&out), 2);
    if (type != NULL) {
        assert_true(otlp_attr_is(span, ATTR, "error.type", type));
    } else {
        assert_int_equal(otlp_attr(span, ATTR, "error.type").n, 0);
    }
    assert_int_equal(otlp_has(span, STATUS), is_error);
    if (is_error && err != 0 && err != WEIR_ECANCELED) {
        assert_true(weir_slice_eq_cstr(otlp_bytes(otlp_bytes(span, STATUS), 2), call.why));
    }
    assert_int_equal(otlp_attr(span, ATTR, "http.response.status_code").n != 0, status != 0);
    weir_buf_dispose(&out);
}

static void test_outcomes(void **state)
{
    (void)state;
    assert_outcome(0, 200, NULL, false);
    assert_outcome(0, 422, "422", true);
    assert_outcome(WEIR_ETIMEOUT, 0, "timeout", true);
    assert_outcome(WEIR_ERESET, 200, "reset", true);
    assert_outcome(WEIR_ECANCELED, 200, "canceled", false);
    assert_outcome(WEIR_ECANCELED, 0, "canceled", false);
    assert_outcome(WEIR_ECANCELED, 500, "500", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request),
        cmocka_unit_test(test_parent_and_route),
        cmocka_unit_test(test_what_callers_choose_is_cut_and_kept_out_of_names),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_outcomes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
