/* gRPC framing at every cut, statuses, message text and time-outs. */
#include "unit/cmocka_all.h"
#include "unit/wire/grpc_trace.h"

#include <stdio.h>

#define ROW(in, out)                                                                               \
    {                                                                                              \
        WEIR_SLICE(in), out                                                                        \
    }

static void messages(void **state)
{
    (void)state;
    static const struct {
        struct weir_slice in;
        const char *out;
    } rows[] = {
        ROW("", "OK"),
        ROW("\0\0\0\0\0", "<>OK"),
        ROW("\0\0\0\0\0\0\0\0\0\0", "<><>OK"),
        ROW("\0\0\0\0\1a", "<a>OK"),
        ROW("\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\2de", "<abc><><de>OK"),
        ROW("\0\0\0\0\x10"
            "0123456789abcdef",
            "<0123456789abcdef>OK"),
        /* ends within the prefix, within a message */
        ROW("\0", "EBAD"),
        ROW("\0\0\0\0", "EBAD"),
        ROW("\0\0\0\0\1", "EBAD"),
        ROW("\0\0\0\0\3abc\0\0\0\0\3de", "<abc>EBAD"),
        /* longer than allowed, by one and by very much */
        ROW("\0\0\0\0\x11", "ELIMIT ELIMIT"),
        ROW("\0\0\0\0\1a\0\0\1\0\0xyz", "<a>ELIMIT ELIMIT"),
        ROW("\0\xff\xff\xff\xff", "ELIMIT ELIMIT"),
        /* compressed, and no flag at all */
        ROW("\1\0\0\0\1a", "EUNSUPPORTED EUNSUPPORTED"),
        ROW("\0\0\0\0\1a\1", "<a>EUNSUPPORTED EUNSUPPORTED"),
        ROW("\2\0\0\0\1a", "EBAD EBAD"),
        ROW("\xff", "EBAD EBAD"),
        ROW("HTTP/1.1 400", "EBAD EBAD"),
    };
    static const size_t max_message_bytes = 16;
    struct weir_buf trace = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cuts_check(&(struct cuts_run){&grpc_trace_codec, &max_message_bytes, rows[i].in}, 60,
                   &trace);
        assert_string_equal(weir_buf_cstr(&trace), rows[i].out);
    }
    weir_buf_dispose(&trace);
}

static void a_whole_message_is_not_copied(void **state)
{
    (void)state;
    struct weir_grpc_reader r;
    size_t used;
    struct weir_slice in = WEIR_SLICE("\0\0\0\0\2ab\0\0\0\0\2cd");
    weir_grpc_init(&r, 2);
    assert_int_equal(weir_grpc_feed(&r, in, &used), 0);
    assert_int_equal(used, 7);
    assert_ptr_equal(r.message.p, in.p + 5);
    assert_int_equal(weir_grpc_feed(&r, weir_slice_sub(in, 7, in.n), &used), 0);
    assert_ptr_equal(r.message.p, in.p + 12);
    assert_null(r.held.p);
    assert_int_equal(weir_grpc_finish(&r), 0);
    weir_grpc_dispose(&r);
}

/* What is only announced costs nothing, and a large buffer does not stay. */
static void memory_follows_what_has_come(void **state)
{
    (void)state;
    struct weir_grpc_reader r;
    size_t used;
    char prefix[WEIR_GRPC_PREFIX_BYTES];
    enum { LARGE = 1 << 26 };
    weir_grpc_init(&r, LARGE);
    weir_grpc_put_prefix(prefix, LARGE);
    assert_int_equal(weir_grpc_feed(&r, weir_slice_make(prefix, sizeof prefix), &used),
                     WEIR_EAGAIN);
    assert_int_equal(weir_grpc_feed(&r, WEIR_SLICE("a"), &used), WEIR_EAGAIN);
    assert_true(r.held.cap < 4096);
    weir_grpc_dispose(&r);

    char *block = weir_mem_zalloc(8192);
    weir_grpc_init(&r, LARGE);
    weir_grpc_put_prefix(prefix, 8192);
    assert_int_equal(weir_grpc_feed(&r, weir_slice_make(prefix, sizeof prefix), &used),
                     WEIR_EAGAIN);
    assert_int_equal(weir_grpc_feed(&r, weir_slice_make(block, 8000), &used), WEIR_EAGAIN);
    assert_int_equal(weir_grpc_feed(&r, weir_slice_make(block, 192), &used), 0);
    assert_int_equal(r.message.n, 8192);
    assert_int_equal(weir_grpc_feed(&r, WEIR_SLICE(""), &used), WEIR_EAGAIN);
    assert_int_equal(r.held.cap, 0);
    weir_grpc_dispose(&r);
    free(block);
}

static void prefixes(void **state)
{
    (void)state;
    char out[WEIR_GRPC_PREFIX_BYTES];
    weir_grpc_put_prefix(out, 0x01020384);
    assert_memory_equal(out, "\0\1\2\3\x84", 5);
}

static void statuses(void **state)
{
    (void)state;
    static const int https[] = {200, 500, 500, 400, 408, 404, 500, 403, 500,
                                500, 500, 500, 501, 500, 503, 500, 401};
    for (unsigned i = 0; i <= 16; i++) {
        assert_int_equal(weir_grpc_status_to_http((enum weir_grpc_status)i), https[i]);
    }
    assert_int_equal(weir_grpc_status_to_http((enum weir_grpc_status)17), 500);
    assert_string_equal(weir_grpc_status_name(WEIR_GRPC_OK), "OK");
    assert_string_equal(weir_grpc_status_name(WEIR_GRPC_UNAVAILABLE), "Unavailable");
    assert_string_equal(weir_grpc_status_name(WEIR_GRPC_UNAUTHENTICATED), "Unauthenticated");
    assert_string_equal(weir_grpc_status_name((enum weir_grpc_status)17), "Unknown");

    static const struct {
        const char *value;
        int status;
    } rows[] = {{"0", 0},  {"5", 5},   {"16", 16}, {"17", 2},  {"", 2},    {"-1", 2},
                {"99", 2}, {" 0", 2},  {"0 ", 2},  {"000", 2}, {"100", 2}, {"0x1", 2},
                {"1a", 2}, {"256", 2}, {"+0", 2},  {"OK", 2},  {"00", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(weir_grpc_parse_status(weir_slice_cstr(rows[i].value)), rows[i].status);
    }

    assert_int_equal(weir_grpc_status_from_http(503), WEIR_GRPC_UNAVAILABLE);
    assert_int_equal(weir_grpc_status_from_http(429), WEIR_GRPC_UNAVAILABLE);
    assert_int_equal(weir_grpc_status_from_http(401), WEIR_GRPC_UNAUTHENTICATED);
    assert_int_equal(weir_grpc_status_from_http(403), WEIR_GRPC_PERMISSION_DENIED);
    assert_int_equal(weir_grpc_status_from_http(404), WEIR_GRPC_UNIMPLEMENTED);
    assert_int_equal(weir_grpc_status_from_http(400), WEIR_GRPC_INTERNAL);
    assert_int_equal(weir_grpc_status_from_http(418), WEIR_GRPC_UNKNOWN);
}

static void message_text(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *out;
    } rows[] = {
        {"", ""},
        {"plain words", "plain words"},
        {"100%25 sure", "100% sure"},
        {"a%0Ab%0ac", "a\nb\nc"},
        {"%C3%A4", "\xc3\xa4"},
        {"%F0%9F%98%80!", "\xf0\x9f\x98\x80!"},
        {"\xc3\xa4", "\xc3\xa4"},
        {"%C3\xa4", "\xc3\xa4"},
        {"%", "%"},
        {"%4", "%4"},
        {"%zz%41", "%zzA"},
        {"%%41", "%A"},
        {"%C3", "\xef\xbf\xbd"},
        {"%C3x", "\xef\xbf\xbdx"},
        {"%FF%FE", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"%ED%A0%80.", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd."},
    };
    struct weir_buf out = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        weir_buf_clear(&out);
        assert_int_equal(weir_grpc_decode_text(weir_slice_cstr(rows[i].in), &out), 0);
        assert_string_equal(weir_buf_cstr(&out), rows[i].out);
    }
    weir_buf_clear(&out);
    assert_int_equal(weir_grpc_encode_text(WEIR_SLICE("a %\n\x7f\xc3\xa4\0~"), &out), 0);
    assert_string_equal(weir_buf_cstr(&out), "a %25%0A%7F%C3%A4%00~");
    weir_buf_dispose(&out);

    weir_buf_init(&out, 3);
    assert_int_equal(weir_grpc_decode_text(WEIR_SLICE("abcd"), &out), WEIR_ELIMIT);
    assert_string_equal(weir_buf_cstr(&out), "abc");
    assert_int_equal(weir_grpc_encode_text(WEIR_SLICE("abcd"), &out), WEIR_ELIMIT);
    weir_buf_dispose(&out);
}

static void timeouts(void **state)
{
    (void)state;
    static const struct {
        uint64_t ms;
        const char *out;
    } rows[] = {
        {0, "0m"},
        {1, "1m"},
        {600000, "600000m"},
        {99999999, "99999999m"},
        {100000000, "100000S"},
        {100000001, "100001S"},
        {99999999000, "99999999S"},
        {99999999001, "1666667M"},
        {UINT64_MAX, "99999999H"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[WEIR_GRPC_TIMEOUT_BYTES];
        assert_int_equal(weir_grpc_format_timeout(rows[i].ms, out), strlen(rows[i].out));
        assert_string_equal(out, rows[i].out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages), cmocka_unit_test(a_whole_message_is_not_copied),
        cmocka_unit_test(prefixes), cmocka_unit_test(memory_follows_what_has_come),
        cmocka_unit_test(statuses), cmocka_unit_test(message_text),
        cmocka_unit_test(timeouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
