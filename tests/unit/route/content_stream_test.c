/* D over a stream: lines in, events or lines out, and everything a line can have wrong. */
#include "route/content_stream.h"

#include "http/http_int.h"
#include "unit/route/exchange.h"

static struct exchange *begin(const char *accept, bool is_fms)
{
    struct exchange *x = exchange_new("application/x-ndjson; charset=utf-8");
    x->env.tasks.compat = is_fms ? weir_compat_fms : (struct weir_compat){0};
    if (accept != NULL) {
        exchange_accept(x, accept);
    }
    weir_content_stream_begin(&x->env, &x->s);
    return x;
}

#define FIRST "{\"detectors\":{\"now\":{}},\"content\":\"One.\"}\\"
#define NDJSON "> 200 application/x-ndjson framed\n"
#define SSE "> 200 text/event-stream\n"
#define EMPTY(start, end)                                                                          \
    "{\"detections\":[],\"start_index\":" #start ",\"processed_index\":" #end "}"

static void test_both_directions(void **state)
{
    (void)state;
    struct exchange *x = begin(NULL, false);
    exchange_body(x, FIRST);
    exchange_play(x, SSE "> data: " EMPTY(0, 4) "\\\\\n");
    exchange_body(x, "{\"content\":\" Two\"}\\\\{\"con");
    exchange_play(x, "");
    exchange_body(x, "tent\":\".\"}\\");
    exchange_play(x, "> data: " EMPTY(4, 9) "\\\\\n");
    exchange_body(x, "{\"content\":\" Rest\"}"); /* the last line needs no end */
    exchange_body_end(x);
    exchange_play(x, "> data: " EMPTY(9, 14) "\\\\\n> end\n");
    exchange_free(x);
}

static void test_lines_out(void **state)
{
    (void)state;
    struct exchange *x = begin("application/x-ndjson", false);
    exchange_body(x, "{\"detectors\":{\"a\":{}},\"content\":\"One.Two.\"}\\");
    exchange_play(x, "calls 2\nanswer a Two.\nanswer a One.\n" NDJSON
                     "> " EMPTY(0, 4) "\\\n> " EMPTY(4, 8) "\\\n");
    exchange_body_end(x);
    exchange_play(x, "> end\n");
    exchange_free(x);
}

static void test_kinds_of_answer(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        bool is_fms, is_ndjson;
    } cases[] = {
        {NULL, false, false},
        {NULL, true, true},
        {"*/*", false, false},
        {"*/*", true, true},
        {"text/event-stream", true, false},
        {"application/x-ndjson;q=0", false, false},
        {"text/event-stream;q=0.5, Application/X-NDJSON;q=0.8", false, true},
        {"text/event-stream, application/x-ndjson", true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exchange *x = begin(cases[i].accept, cases[i].is_fms);
        exchange_body(x, FIRST);
        script_expect(x->st, cases[i].is_ndjson ? WEIR_SLICE("200 application/x-ndjson framed")
                                                : WEIR_SLICE("200 text/event-stream"));
        exchange_free(x);
    }
}

static void test_wrong_type(void **state)
{
    (void)state;
    struct exchange *x = exchange_new("application/json");
    weir_content_stream_begin(&x->env, &x->s);
    exchange_send(x, "{}");
    exchange_play(x, "> 415 application/json\n"
                     "> {\"code\":415,\"details\":\"expected `content-type: "
                     "application/x-ndjson`\"}\n> end\n");
    exchange_free(x);
}

static const struct {
    const char *line;
    const char *details;
} BAD_FIRST[] = {
    {"?\\", "line 1 is not JSON: expected a value at column 1"},
    {"[]\\", "invalid type: array, expected an object"},
    {"{\"content\":\"x\"}\\", "`detectors` is required for the first message"},
    {"{\"detectors\":null,\"content\":\"x\"}\\", "`detectors` is required for the first message"},
    {"{\"detectors\":{},\"content\":\"x\"}\\", "`detectors` must not be empty"},
    {"{\"detectors\":{\"a\":{}},\"content\":\"\"}\\", "`content` cannot be empty"},
    {"{\"detectors\":{\"a\":{}}}\\", "missing field `content`"},
    {"{\"detectors\":{\"a\":{}},\"content\":5}\\", "invalid type: number `5`, expected a string"},
    {"{\"detectors\":{\"a\":{}},\"content\":\"x\",\"extra\":1}\\",
     "unknown field `extra`, expected one of `detectors`, `content`, `aggregation`"},
    {"{\"detectors\":{\"a\":{}},\"content\":\"x\",\"aggregation\":\"best\"}\\",
     "unknown variant `best`, expected one of `max_processed_index`, `aligned`, "
     "`min_processed_index`"},
    {"{\"detectors\":{\"chat\":{}},\"content\":\"x\"}\\",
     "detector `chat` is not supported by this endpoint"},
    {"{\"detectors\":{\"a\":{\"threshold\":\"x\"}},\"content\":\"x\"}\\",
     "`threshold` parameter specified for model `a` must be a number"},
};

/* Before the first answer an error is a status, and it does not wait for the body's end. */
static void test_bad_first_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof BAD_FIRST / sizeof BAD_FIRST[0]; i++) {
        struct exchange *x = begin(NULL, false);
        char want[512];
        exchange_body(x, BAD_FIRST[i].line);
        snprintf(want, sizeof want,
                 "> 422 application/json\n> {\"code\":422,\"details\":\"%s\"}\n> end\n",
                 BAD_FIRST[i].details);
        exchange_play(x, want);
        assert_null(x->s.handler);
        exchange_free(x);
    }
    struct exchange *x = begin(NULL, false);
    exchange_body(x, "{\"detectors\":{\"zz\":{}},\"content\":\"x\"}\\");
    exchange_play(x, "> 404 application/json\n> {\"code\":404,\"details\":\"detector `zz` not "
                     "found\"}\n> end\n");
    exchange_free(x);
    x = begin(NULL, false);
    exchange_body_end(x);
    exchange_play(x,
                  "> 422 application/json\n> {\"code\":422,\"details\":\"`detectors` is required "
                  "for the first message\"}\n> end\n");
    exchange_free(x);
}

static void test_bad_first_line_fms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof BAD_FIRST / sizeof BAD_FIRST[0]; i++) {
        struct exchange *x = begin(NULL, true);
        char want[512];
        exchange_body(x, BAD_FIRST[i].line);
        snprintf(want, sizeof want, NDJSON "> {\"code\":422,\"details\":\"%s\"}\\\n> end\n",
                 BAD_FIRST[i].details);
        exchange_play(x, want);
        exchange_free(x);
    }
    struct exchange *x = begin(NULL, true);
    exchange_body(x, "{\"detectors\":{\"doc\":{}},\"content\":\"x\"}\\");
    exchange_play(x, NDJSON "> {\"code\":422,\"details\":\"detector `doc` uses chunker "
                            "`whole_doc_chunker`, which is not supported by this endpoint\"}\\\n"
                            "> end\n");
    exchange_free(x);
}

static void test_bad_later_line(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *details;
    } cases[] = {
        {"{]\\", "line 2 is not JSON: expected a name in double quotes at column 2"},
        {"{\"content\":\"\"}\\", "`content` cannot be empty"},
        {"{\"content\":\"x\",\"detectors\":{}}\\",
         "`detectors` is only allowed in the first message"},
        {"{\"content\":\"x\",\"aggregation\":\"aligned\"}\\",
         "`aggregation` is only allowed in the first message"},
        {"{\"contents\":\"x\"}\\",
         "unknown field `contents`, expected one of `detectors`, `content`, `aggregation`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct exchange *x = begin("application/x-ndjson", false);
        char body[256];
        char want[512];
        /* in one go: what was complete before it leaves first */
        snprintf(body, sizeof body, FIRST "%s{\"content\":\"unread\"}\\", cases[i].line);
        exchange_body(x, body);
        snprintf(want, sizeof want,
                 NDJSON "> " EMPTY(0, 4) "\\\n> {\"code\":422,\"details\":\"%s\"}\\\n> end\n",
                 cases[i].details);
        exchange_play(x, want);
        assert_true(x->s.response_ended);
        exchange_free(x);
    }
}

static void test_detectors_in_later_line_fms(void **state)
{
    (void)state;
    struct exchange *x = begin(NULL, true);
    exchange_send(x, FIRST "{\"content\":\"Two.\",\"detectors\":{\"zz\":{}}}\\");
    exchange_play(x, NDJSON "> " EMPTY(0, 4) "\\\n> " EMPTY(4, 8) "\\\n> end\n");
    exchange_free(x);
}

static void test_error_event(void **state)
{
    (void)state;
    struct exchange *x = begin(NULL, false);
    exchange_body(x, "{\"detectors\":{\"a\":{}},\"content\":\"One.Two.\"}\\");
    exchange_play(x, "answer a One.\n" SSE "> data: " EMPTY(0, 4) "\\\\\n");
    exchange_play(x,
                  "refuse a Two.\n"
                  "> event: error\\data: {\"code\":503,\"details\":\"detector request failed for "
                  "`a`: Service Unavailable\",\"error\":{\"message\":\"detector request failed "
                  "for `a`: Service Unavailable\",\"type\":\"server_error\",\"code\":503}}\\\\\n"
                  "> end\n");
    exchange_body(x, "{\"content\":\"more\"}\\");
    exchange_body_end(x);
    exchange_play(x, "");
    exchange_free(x);
}

static void test_line_too_large(void **state)
{
    (void)state;
    struct exchange *x = exchange_new("application/x-ndjson");
    x->env.tasks.max_event_bytes = 64;
    weir_content_stream_begin(&x->env, &x->s);
    exchange_body(x,
                  "{\"detectors\":{\"now\":{}},\"content\":\"0123456789012345678901234567890\"}\\");
    exchange_play(x,
                  "> 413 application/json\n> {\"code\":413,\"details\":\"line 1 is larger than 64 "
                  "bytes: limits.max_event_bytes\"}\n> end\n");
    exchange_free(x);
}

static void test_pressure(void **state)
{
    (void)state;
    struct exchange *x = begin(NULL, false);
    x->st->is_full = true;
    exchange_body(x, FIRST);
    exchange_play(x, SSE "> data: " EMPTY(0, 4) "\\\\\npaused\n");
    x->st->is_full = false;
    weir_http__stream_has_room(&x->s);
    exchange_play(x, "reading\n");
    exchange_free(x);
}

/* The connection gave up on the caller and answered itself; detectors may still answer. */
static void test_gone(void **state)
{
    (void)state;
    struct exchange *x = begin(NULL, false);
    exchange_body(x, "{\"detectors\":{\"a\":{},\"b\":{}},\"content\":\"One.\"}\\");
    const struct weir_http_handler *handler = x->s.handler;
    x->s.handler = NULL;
    handler->on_gone(&x->s, WEIR_ETIMEOUT);
    weir_http_stream_reply(&x->s, 408, NULL, 0, WEIR_SLICE(""));
    exchange_play(x, "> 408 \n> end\nanswer a One.\nanswer b One.\nclock 20000\n");
    exchange_free(x);
}

/* After a while of silence the head must go; what fails then is a line. */
static void test_silence(void **state)
{
    (void)state;
    struct exchange *x = begin("application/x-ndjson", false);
    exchange_body(x, "{\"detectors\":{\"a\":{}},\"content\":\"One.\"}\\");
    exchange_play(x, "clock 14999\n-\nclock 15001\n" NDJSON);
    exchange_body(x, "{}\\");
    exchange_play(x, "> {\"code\":422,\"details\":\"missing field `content`\"}\\\n> end\n");
    exchange_free(x);
    x = begin(NULL, false);
    exchange_body(x, "{\"detectors\":{\"a\":{}},\"content\":\"One.\"}\\");
    exchange_play(x, "clock 15001\n" SSE "> : keep-alive\\\\\nanswer a One.\n"
                     "> data: " EMPTY(0, 4) "\\\\\n");
    exchange_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_directions), cmocka_unit_test(test_lines_out),
        cmocka_unit_test(test_kinds_of_answer), cmocka_unit_test(test_wrong_type),
        cmocka_unit_test(test_bad_first_line),  cmocka_unit_test(test_bad_first_line_fms),
        cmocka_unit_test(test_bad_later_line),  cmocka_unit_test(test_detectors_in_later_line_fms),
        cmocka_unit_test(test_error_event),     cmocka_unit_test(test_line_too_large),
        cmocka_unit_test(test_pressure),        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
