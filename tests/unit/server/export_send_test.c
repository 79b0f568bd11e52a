/* One signal's way to its collector, which the test plays; the clock is the test's, too. */
#include "base/err.h"
#include "obs/log.h"
#include "server/export_send.h"
#include "unit/client/fake_call.h"
#include "unit/cmocka_all.h"
#include "unit/server/otlp_read.h"

#include <string.h>
#include <zlib.h>

struct fixture {
    struct weir_loop loop;
    struct weir_export_send send;
    size_t n_sent;
    size_t n_dropped;
    size_t n_idle;
    size_t n_warned;
};

static void on_entries(void *ctx, bool is_sent, size_t n)
{
    struct fixture *f = ctx;
    *(is_sent ? &f->n_sent : &f->n_dropped) += n;
}

static void on_idle(void *ctx)
{
    ((struct fixture *)ctx)->n_idle++;
}

static void on_line(void *ctx, struct weir_slice line)
{
    struct fixture *f = ctx;
    f->n_warned += memmem(line.p, line.n, "cannot be sent", 14) != NULL;
}

static int setup(void **state)
{
    struct fixture *f = weir_mem_zalloc(sizeof *f);
    assert_int_equal(weir_loop_init(&f->loop), 0);
    f->loop.held_ms = 1000;
    f->send = (struct weir_export_send){
        .loop = &f->loop,
        .target = {.id = WEIR_SLICE("otlp"), .hostname = "c", .request_timeout_ms = 10000},
        .signal = "traces",
        .path = WEIR_SLICE("/v1/traces"),
        .resource = WEIR_SLICE("\x0a\1r"),
        .is_repeated = true,
        .on_entries = on_entries,
        .on_idle = on_idle,
        .ctx = f,
    };
    weir_export_send_init(&f->send);
    weir_log_set_capture(on_line, f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    weir_export_send_close(&f->send);
    weir_loop_dispose(&f->loop);
    weir_log_set_capture(NULL, NULL);
    fake_forget();
    free(f);
    return 0;
}

/* An entry is field 2 with `n` bytes of `c`. */
static void add(struct fixture *f, char c, size_t n)
{
    struct weir_buf entry = {0};
    char *content = weir_mem_alloc(n);
    memset(content, c, n);
    struct weir_slice head = n < 128 ? weir_slice_make((char[]){0x12, (char)n}, 2) : WEIR_SLICE("");
    weir_buf_append(&entry, head);
    weir_buf_append(&entry, weir_slice_make(content, n));
    weir_export_send_add(&f->send, &entry, 1);
    assert_null(entry.p);
    free(content);
}

static void pass(struct fixture *f, uint64_t ms)
{
    f->loop.held_ms += ms;
    weir_timers_run(&f->loop.timers, f->loop.held_ms);
}

static void test_batches_share_an_envelope(void **state)
{
    struct fixture *f = *state;
    add(f, 'a', 3);
    add(f, 'b', 2);
    assert_int_equal(fake_n_calls, 0);
    assert_false(weir_export_send_is_idle(&f->send));
    weir_export_send_go(&f->send);
    assert_int_equal(fake_n_calls, 1);
    assert_string_equal(weir_buf_cstr(&fake_last()->head),
                        "POST /v1/traces\ncontent-type: application/x-protobuf\n");
    struct weir_slice resource = otlp_bytes(weir_buf_slice(&fake_last()->body), 1);
    assert_true(weir_slice_eq_cstr(otlp_bytes(otlp_bytes(resource, 1), 1), "r"));
    struct weir_slice scope = otlp_bytes(resource, 2);
    assert_true(weir_slice_eq_cstr(otlp_bytes(otlp_bytes(scope, 1), 1), "weir"));
    assert_true(weir_slice_eq_cstr(otlp_nth(scope, 2, 0).bytes, "aaa"));
    assert_true(weir_slice_eq_cstr(otlp_nth(scope, 2, 1).bytes, "bb"));
    assert_false(otlp_nth(scope, 2, 2).is_there);
    fake_answer(200, WEIR_SLICE(""));
    assert_int_equal(f->n_sent, 2);
    assert_int_equal(f->n_idle, 1);
    assert_true(weir_export_send_is_idle(&f->send));
    assert_int_equal(atomic_load(&f->send.held_bytes), 0);
}

static size_t unzip(struct weir_slice packed, char *out, size_t n)
{
    z_stream z = {.next_in = (z_const Bytef *)packed.p,
                  .avail_in = (uInt)packed.n,
                  .next_out = (Bytef *)out,
                  .avail_out = (uInt)n};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    return n - z.avail_out;
}

static void test_compressed_and_the_same_again(void **state)
{
    struct fixture *f = *state;
    f->send.is_gzip = true;
    add(f, 'a', 100);
    weir_export_send_go(&f->send);
    assert_string_equal(weir_buf_cstr(&fake_last()->head),
                        "POST /v1/traces\ncontent-type: application/x-protobuf\n"
                        "content-encoding: gzip\n");
    char room[400];
    struct weir_slice sent = weir_buf_slice(&fake_last()->body);
    size_t n = unzip(sent, room, sizeof room);
    struct weir_slice scope = otlp_bytes(otlp_bytes(weir_slice_make(room, n), 1), 2);
    assert_int_equal(otlp_nth(scope, 2, 0).bytes.n, 100);
    struct weir_buf first = {0};
    weir_buf_append(&first, sent);
    fake_answer(503, WEIR_SLICE(""));
    pass(f, 1000);
    assert_int_equal(fake_n_calls, 2);
    assert_true(weir_slice_eq(weir_buf_slice(&fake_last()->body), weir_buf_slice(&first)));
    fake_answer(200, WEIR_SLICE(""));
    assert_int_equal(f->n_sent, 1);
    assert_int_equal(atomic_load(&f->send.held_bytes), 0);
    weir_buf_dispose(&first);
}

static void test_other_certificates_for_the_next_request(void **state)
{
    struct fixture *f = *state;
    struct weir_tls *tls = (struct weir_tls *)&f->n_sent; /* nobody looks inside */
    f->send.tls = &tls;
    add(f, 'a', 1);
    weir_export_send_go(&f->send);
    assert_ptr_equal(f->send.target.tls, &f->n_sent);
    add(f, 'b', 1);
    tls = (struct weir_tls *)&f->n_idle;
    assert_ptr_equal(f->send.target.tls, &f->n_sent);
    fake_answer(200, WEIR_SLICE(""));
    assert_int_equal(fake_n_calls, 2);
    assert_ptr_equal(f->send.target.tls, &f->n_idle);
    fake_answer(200, WEIR_SLICE(""));
}

static void test_one_request_at_a_time(void **state)
{
    struct fixture *f = *state;
    add(f, 'a', 1);
    weir_export_send_go(&f->send);
    add(f, 'b', 1);
    weir_export_send_go(&f->send);
    assert_int_equal(fake_n_calls, 1);
    fake_answer(204, WEIR_SLICE(""));
    assert_int_equal(fake_n_calls, 2);
    assert_int_equal(f->n_idle, 0);
    fake_answer(200, WEIR_SLICE(""));
    assert_int_equal(f->n_sent, 2);
}

static void test_a_request_is_not_larger_than_it_must(void **state)
{
    struct fixture *f = *state;
    size_t n = WEIR_EXPORT_MAX_BODY_BYTES / 2;
    add(f, 'a', n);
    add(f, 'b', n);
    add(f, 'c', n);
    add(f, 'd', 3 * n);
    weir_export_send_go(&f->send);
    size_t more = 200;
    assert_in_range(fake_last()->body.n, 2 * n, 2 * n + more);
    fake_answer(200, WEIR_SLICE(""));
    assert_in_range(fake_last()->body.n, n, n + more);
    fake_answer(200, WEIR_SLICE(""));
    assert_in_range(fake_last()->body.n, 3 * n, 3 * n + more);
    fake_answer(200, WEIR_SLICE(""));
    assert_int_equal(f->n_sent, 4);
}

static void test_what_may_be_held_is_bounded(void **state)
{
    struct fixture *f = *state;
    size_t n = WEIR_EXPORT_MAX_HELD_BYTES / 4;
    for (size_t i = 0; i < 6; i++) {
        add(f, 'a', n);
    }
    assert_int_equal(f->n_dropped, 2);
    weir_export_send_go(&f->send);
    add(f, 'b', n); /* what is under way counts, too */
    assert_int_equal(f->n_dropped, 3);
    fake_answer(200, WEIR_SLICE(""));
    add(f, 'c', n);
    assert_int_equal(f->n_dropped, 3);
    assert_int_equal(atomic_load(&f->send.held_bytes), 4 * n);
}

static void test_again_and_given_up(void **state)
{
    struct fixture *f = *state;
    static const uint64_t waits_ms[] = {1000, 2000, 4000, 8000};
    add(f, 'a', 1);
    weir_export_send_go(&f->send);
    struct weir_slice first = weir_buf_slice(&fake_last()->body);
    for (size_t i = 0; i < 4; i++) {
        fake_answer(503, WEIR_SLICE("busy"));
        assert_int_equal(fake_n_calls, i + 1);
        pass(f, waits_ms[i] - 1);
        assert_int_equal(fake_n_calls, i + 1);
        pass(f, 1);
        assert_int_equal(fake_n_calls, i + 2);
        assert_true(weir_slice_eq(weir_buf_slice(&fake_last()->body), first));
    }
    add(f, 'b', 1);
    fake_done(WEIR_ETIMEOUT, NULL);
    assert_int_equal(f->n_dropped, 1);
    assert_int_equal(fake_n_calls, 6); /* the next one has its own attempts */
    assert_int_equal(f->n_warned, 1);
    fake_answer(200, WEIR_SLICE(""));
    assert_int_equal(f->n_sent, 1);
}

static void test_a_refusal_is_final(void **state)
{
    struct fixture *f = *state;
    add(f, 'a', 1);
    weir_export_send_go(&f->send);
    fake_answer(400, WEIR_SLICE(""));
    assert_int_equal(f->n_dropped, 1);
    assert_int_equal(f->n_idle, 1);
    pass(f, 100000);
    assert_int_equal(fake_n_calls, 1);
}

static void test_failures_are_told_once_a_minute(void **state)
{
    struct fixture *f = *state;
    f->send.is_repeated = false;
    for (size_t i = 0; i < 13; i++) {
        add(f, 'a', 1);
        weir_export_send_go(&f->send);
        fake_answer(503, WEIR_SLICE(""));
        pass(f, 10000);
    }
    assert_int_equal(f->n_warned, 3); /* at 0, 60 and 120 s */
    assert_int_equal(f->n_dropped, 13);
}

static void answer_grpc(const char *trailers)
{
    fake_head(200, "content-type: application/grpc");
    fake_body(WEIR_SLICE("\0\0\0\0\0"));
    fake_done(0, trailers);
}

static void test_grpc(void **state)
{
    struct fixture *f = *state;
    f->send.grpc_path = "/service/Export";
    add(f, 'a', 3);
    weir_export_send_go(&f->send);
    assert_int_equal(strncmp(weir_buf_cstr(&fake_last()->head), "POST /service/Export\n", 21), 0);
    struct weir_slice body = weir_buf_slice(&fake_last()->body);
    struct weir_slice prefix = otlp_take(&body, 5);
    assert_int_equal(prefix.p[0], 0);
    assert_int_equal(prefix.p[4], body.n);
    struct weir_slice scope = otlp_bytes(otlp_bytes(body, 1), 2);
    assert_true(weir_slice_eq_cstr(otlp_bytes(scope, 2), "aaa"));
    answer_grpc("grpc-status: 14");
    pass(f, 1000);
    assert_int_equal(fake_n_calls, 2);
    answer_grpc("grpc-status: 0");
    assert_int_equal(f->n_sent, 1);
    add(f, 'b', 1);
    weir_export_send_go(&f->send);
    answer_grpc("grpc-status: 3");
    assert_int_equal(f->n_dropped, 1);
    assert_true(weir_export_send_is_idle(&f->send));
}

static void test_the_end_does_not_wait(void **state)
{
    struct fixture *f = *state;
    add(f, 'a', 1);
    weir_export_send_go(&f->send);
    fake_answer(503, WEIR_SLICE(""));
    add(f, 'b', 1);
    weir_export_send_finish(&f->send); /* the wait is over, and there is no other */
    assert_int_equal(fake_n_calls, 2);
    fake_answer(503, WEIR_SLICE(""));
    assert_int_equal(fake_n_calls, 3);
    fake_answer(503, WEIR_SLICE(""));
    assert_int_equal(f->n_dropped, 2);
    assert_int_equal(f->n_idle, 1);
}

static void test_closed_in_the_middle(void **state)
{
    struct fixture *f = *state;
    add(f, 'a', 1);
    weir_export_send_go(&f->send);
    add(f, 'b', 1);
    weir_export_send_close(&f->send);
    assert_true(fake_last()->is_cancelled);
    assert_int_equal(f->n_dropped, 2);
    struct weir_buf late = {0};
    weir_buf_append(&late, WEIR_SLICE("x"));
    weir_export_send_offer(&f->send, &late, 1);
    uv_run(&f->loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(f->n_dropped, 3);
}

static void test_offered_from_elsewhere(void **state)
{
    struct fixture *f = *state;
    struct weir_buf entry = {0};
    weir_buf_append(&entry, WEIR_SLICE("\x12\1x"));
    weir_export_send_offer(&f->send, &entry, 1);
    assert_null(entry.p);
    assert_int_equal(fake_n_calls, 0);
    uv_run(&f->loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(fake_n_calls, 1);
    fake_answer(200, WEIR_SLICE(""));
    assert_int_equal(f->n_sent, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_batches_share_an_envelope),
        TEST(test_compressed_and_the_same_again),
        TEST(test_other_certificates_for_the_next_request),
        TEST(test_one_request_at_a_time),
        TEST(test_a_request_is_not_larger_than_it_must),
        TEST(test_what_may_be_held_is_bounded),
        TEST(test_again_and_given_up),
        TEST(test_a_refusal_is_final),
        TEST(test_failures_are_told_once_a_minute),
        TEST(test_grpc),
        TEST(test_the_end_does_not_wait),
        TEST(test_closed_in_the_middle),
        TEST(test_offered_from_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
