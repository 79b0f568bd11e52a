#include "unit/cmocka_all.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "obs/log.h"
#include "obs/metric.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int64_t fixed_clock(void)
{
    return 1714979289123456; /* 2024-05-06T07:08:09.123456Z */
}

static struct weir_buf lines;

static void on_line(void *ctx, struct weir_slice line)
{
    (void)ctx;
    weir_buf_append(&lines, line);
}

static void use(enum weir_log_format format, enum weir_log_level level)
{
    weir_log_setup(&(struct weir_log_options){
        .fd = STDERR_FILENO, .level = level, .format = format, .colour = WEIR_LOG_COLOUR_NEVER});
    weir_buf_clear(&lines);
}

static int setup(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    weir_log_set_clock(fixed_clock);
    weir_log_set_capture(on_line, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    weir_log_set_capture(NULL, NULL);
    weir_buf_dispose(&lines);
    return 0;
}

static void assert_lines(const char *expected)
{
    assert_string_equal(weir_buf_cstr(&lines), expected);
    weir_buf_clear(&lines);
}

static const struct weir_log_ctx request = {
    .request_id = {"req-1", 5},
    .trace = {.trace_id = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d,
                           0x0e, 0x0e, 0x47, 0x36},
              .span_id = {1}},
};

static void log_everything(void)
{
    WEIR_LOG_WARN("client", &request, "service failed", weir_log_str("service", WEIR_SLICE("hap")),
                  weir_log_cstr("text", "two words"), weir_log_i64("delta", -5),
                  weir_log_u64("bytes", UINT64_MAX), weir_log_f64("score", 0.25),
                  weir_log_f64("took_ms", 1234.567), weir_log_bool("retry", true),
                  weir_log_err("error", WEIR_ETIMEOUT), weir_log_cstr("empty", ""));
}

static void test_formats_exact(void **state)
{
    (void)state;
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
    log_everything();
    assert_lines("2024-05-06T07:08:09.123456Z  WARN client: service failed request_id=req-1 "
                 "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 service=hap text=\"two words\" "
                 "delta=-5 bytes=18446744073709551615 score=0.25 took_ms=1234.567 retry=true "
                 "error=ETIMEOUT empty=\"\"\n");
    use(WEIR_LOG_COMPACT, WEIR_LOG_LEVEL_INFO);
    log_everything();
    assert_lines("2024-05-06T07:08:09.123456Z W client: service failed req=req-1 "
                 "trace=4bf92f3577b34da6a3ce929d0e0e4736 service=hap text=\"two words\" delta=-5 "
                 "bytes=18446744073709551615 score=0.25 took_ms=1234.567 retry=true "
                 "error=ETIMEOUT empty=\"\"\n");
    use(WEIR_LOG_PRETTY, WEIR_LOG_LEVEL_INFO);
    log_everything();
    assert_lines("2024-05-06T07:08:09.123456Z  WARN client: service failed\n"
                 "    request_id: req-1\n"
                 "    trace_id: 4bf92f3577b34da6a3ce929d0e0e4736\n"
                 "    service: hap\n"
                 "    text: \"two words\"\n"
                 "    delta: -5\n"
                 "    bytes: 18446744073709551615\n"
                 "    score: 0.25\n"
                 "    took_ms: 1234.567\n"
                 "    retry: true\n"
                 "    error: ETIMEOUT\n"
                 "    empty: \"\"\n");
    use(WEIR_LOG_JSON, WEIR_LOG_LEVEL_INFO);
    log_everything();
    assert_lines(
        "{\"timestamp\":\"2024-05-06T07:08:09.123456Z\",\"level\":\"WARN\",\"target\":\"client\","
        "\"message\":\"service failed\",\"request_id\":\"req-1\","
        "\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\"fields\":{\"service\":\"hap\","
        "\"text\":\"two words\",\"delta\":-5,\"bytes\":18446744073709551615,\"score\":0.25,"
        "\"took_ms\":1234.567,\"retry\":true,\"error\":\"ETIMEOUT\",\"empty\":\"\"}}\n");
}

/* Levels, targets, messages and fields stand below each other; ids are last. */
static void test_lines_of_a_terminal(void **state)
{
    (void)state;
    setenv("TZ", "UTC-2", 1); /* two hours ahead */
    tzset();
    use(WEIR_LOG_TERMINAL, WEIR_LOG_LEVEL_INFO);
    WEIR_LOG_INFO("server", NULL, "listening", weir_log_cstr("listener", "api"));
    WEIR_LOG_WARN("client", &request, "service failed", weir_log_cstr("text", "two\nwords"));
    WEIR_LOG_INFO("io", &request, "é");
    WEIR_LOG_ERROR("conf", NULL, "a message that is longer than its column", weir_log_u64("n", 1));
    WEIR_LOG_INFO("server", NULL, "stopped");
    assert_lines("09:08:09  INFO server  listening                 listener=api\n"
                 "09:08:09  WARN client  service failed            text=\"two\\nwords\"  "
                 "request_id=req-1\n"
                 "09:08:09  INFO io      é                         request_id=req-1\n"
                 "09:08:09 ERROR conf    a message that is longer than its column  n=1\n"
                 "09:08:09  INFO server  stopped\n");
    weir_log_setup(&(struct weir_log_options){
        .fd = STDERR_FILENO, .format = WEIR_LOG_TERMINAL, .colour = WEIR_LOG_COLOUR_ALWAYS});
    WEIR_LOG_ERROR("a", NULL, "m", weir_log_u64("k", 1));
    assert_lines("\033[2m09:08:09\033[0m \033[31mERROR\033[0m \033[2ma      \033[0m "
                 "\033[1mm                       \033[0m  \033[2mk=\033[0m1\n");
    unsetenv("TZ");
    tzset();
}

static void test_bare_lines(void **state)
{
    (void)state;
    struct weir_log_ctx nobody = {0};
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_TRACE);
    WEIR_LOG_TRACE("a", NULL, "one");
    WEIR_LOG_DEBUG("a", &nobody, "two");
    WEIR_LOG_INFO("a", NULL, "three");
    WEIR_LOG_ERROR("a", NULL, "four");
    assert_lines("2024-05-06T07:08:09.123456Z TRACE a: one\n"
                 "2024-05-06T07:08:09.123456Z DEBUG a: two\n"
                 "2024-05-06T07:08:09.123456Z  INFO a: three\n"
                 "2024-05-06T07:08:09.123456Z ERROR a: four\n");
    use(WEIR_LOG_JSON, WEIR_LOG_LEVEL_TRACE);
    WEIR_LOG_INFO("a", &nobody, "one");
    assert_lines("{\"timestamp\":\"2024-05-06T07:08:09.123456Z\",\"level\":\"INFO\","
                 "\"target\":\"a\",\"message\":\"one\"}\n");
}

static void test_colours(void **state)
{
    (void)state;
    weir_log_setup(&(struct weir_log_options){
        .fd = STDERR_FILENO, .format = WEIR_LOG_FULL, .colour = WEIR_LOG_COLOUR_ALWAYS});
    WEIR_LOG_ERROR("a", NULL, "m", weir_log_u64("k", 1));
    assert_lines("\033[2m2024-05-06T07:08:09.123456Z\033[0m \033[31mERROR\033[0m "
                 "\033[2ma:\033[0m m k=1\n");
    weir_log_setup(&(struct weir_log_options){
        .fd = STDERR_FILENO, .format = WEIR_LOG_JSON, .colour = WEIR_LOG_COLOUR_ALWAYS});
    WEIR_LOG_ERROR("a", NULL, "m");
    assert_null(memchr(lines.p, '\033', lines.n));
    /* Automatic means a terminal, and this is none. */
    int fd = open("/dev/null", O_WRONLY);
    weir_log_setup(&(struct weir_log_options){.fd = fd, .format = WEIR_LOG_PRETTY});
    weir_buf_clear(&lines);
    WEIR_LOG_ERROR("a", NULL, "m");
    assert_lines("2024-05-06T07:08:09.123456Z ERROR a: m\n");
    close(fd);
}

/* In place of the C library's: one descriptor is a terminal because a test says so. */
static int said_terminal = -1;

int isatty(int fd)
{
    struct termios settings;
    return fd == said_terminal || tcgetattr(fd, &settings) == 0;
}

static void test_colours_on_a_terminal(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_WRONLY);
    assert_true(fd >= 0);
    said_terminal = fd;
    static const struct {
        const char *term;
        const char *no_color;
        bool is_coloured;
    } cases[] = {{"xterm", NULL, true},
                 {"xterm", "", true},
                 {"xterm", "1", false},
                 {"dumb", NULL, false},
                 {NULL, NULL, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsetenv("TERM");
        unsetenv("NO_COLOR");
        if (cases[i].term != NULL) {
            setenv("TERM", cases[i].term, 1);
        }
        if (cases[i].no_color != NULL) {
            setenv("NO_COLOR", cases[i].no_color, 1);
        }
        weir_log_setup(&(struct weir_log_options){.fd = fd, .format = WEIR_LOG_PRETTY});
        weir_buf_clear(&lines);
        WEIR_LOG_INFO("a", NULL, "m", weir_log_cstr("k", "\033[0m"));
        assert_int_equal(memchr(lines.p, '\033', lines.n) != NULL, cases[i].is_coloured);
    }
    said_terminal = -1;
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
    close(fd);
}

static void test_writes_to_a_terminal(void **state)
{
    (void)state;
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    int fd = master < 0 || grantpt(master) != 0 || unlockpt(master) != 0
                 ? -1
                 : open(ptsname(master), O_RDWR | O_NOCTTY);
    if (fd < 0) {
        skip_because("this machine has no pseudo-terminals: /dev/pts is not mounted");
    }
    weir_log_setup(&(struct weir_log_options){.fd = fd, .format = WEIR_LOG_PRETTY});
    weir_log_set_capture(NULL, NULL);
    WEIR_LOG_INFO("a", NULL, "to the screen");
    weir_log_set_capture(on_line, NULL);
    char text[200];
    ssize_t n = read(master, text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_non_null(strstr(text, "to the screen\r\n"));
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
    close(fd);
    close(master);
}

static int64_t shown_time;

static int64_t set_clock(void)
{
    return shown_time;
}

static void test_timestamps(void **state)
{
    (void)state;
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {-1, "1970-01-01T00:00:00.000000Z"},
        {0, "1970-01-01T00:00:00.000000Z"},
        {951782399999999, "2000-02-28T23:59:59.999999Z"},
        {951782400000000, "2000-02-29T00:00:00.000000Z"},
        {951868800000001, "2000-03-01T00:00:00.000001Z"},
        {1709164800000000, "2024-02-29T00:00:00.000000Z"},
        {1735689599000000, "2024-12-31T23:59:59.000000Z"},
        {1735689600000000, "2025-01-01T00:00:00.000000Z"},
        {4107542400000000, "2100-03-01T00:00:00.000000Z"},
    };
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
    weir_log_set_clock(set_clock);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[80];
        shown_time = cases[i].us;
        snprintf(expected, sizeof expected, "%s  INFO t: m\n", cases[i].text);
        WEIR_LOG_INFO("t", NULL, "m");
        assert_lines(expected);
    }
    weir_log_set_clock(fixed_clock);
}

/* The C library's calendar as the second opinion, one odd step over 200 years. */
static void test_timestamps_agree_with_gmtime(void **state)
{
    (void)state;
    use(WEIR_LOG_COMPACT, WEIR_LOG_LEVEL_INFO);
    weir_log_set_clock(set_clock);
    for (int64_t s = 0; s < (int64_t)200 * 366 * 86400; s += 1000003) {
        char expected[80];
        time_t t = (time_t)s;
        struct tm tm;
        gmtime_r(&t, &tm);
        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.000000Z I t: m\n", &tm);
        shown_time = s * 1000000;
        WEIR_LOG_INFO("t", NULL, "m");
        assert_lines(expected);
    }
    weir_log_set_clock(fixed_clock);
}

static int n_evaluated;

static uint64_t evaluate(void)
{
    n_evaluated++;
    return 1;
}

static void test_levels_suppress(void **state)
{
    (void)state;
    static const enum weir_log_level all[] = {WEIR_LOG_LEVEL_TRACE, WEIR_LOG_LEVEL_DEBUG,
                                              WEIR_LOG_LEVEL_INFO,  WEIR_LOG_LEVEL_WARN,
                                              WEIR_LOG_LEVEL_ERROR, WEIR_LOG_LEVEL_OFF};
    for (size_t t = 0; t < 6; t++) {
        use(WEIR_LOG_FULL, all[t]);
        n_evaluated = 0;
        for (size_t l = 0; l < 5; l++) {
            assert_int_equal(weir_log_is_on(all[l]), l >= t);
            WEIR_LOG(all[l], "t", NULL, "m", weir_log_u64("k", evaluate()));
        }
        assert_int_equal(n_evaluated, 5 - (int)t);
        assert_int_equal(lines.n == 0, t == 5);
    }
}

static void test_what_is_asked_for_is_told(void **state)
{
    (void)state;
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_OFF);
    WEIR_LOG_TELL(false, "a", NULL, "nobody asked");
    assert_lines("");
    WEIR_LOG_TELL(true, "a", NULL, "asked", weir_log_u64("port", 1));
    assert_lines("2024-05-06T07:08:09.123456Z  INFO a: asked port=1\n");
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
    WEIR_LOG_TELL(false, "a", NULL, "at its level");
    assert_lines("2024-05-06T07:08:09.123456Z  INFO a: at its level\n");
}

static void test_parse(void **state)
{
    (void)state;
    enum weir_log_level level = WEIR_LOG_LEVEL_OFF;
    enum weir_log_format format = WEIR_LOG_FULL;
    assert_int_equal(weir_log_parse_level(WEIR_SLICE("trace"), &level), 0);
    assert_int_equal(level, WEIR_LOG_LEVEL_TRACE);
    assert_int_equal(weir_log_parse_level(WEIR_SLICE("WARN"), &level), 0);
    assert_int_equal(level, WEIR_LOG_LEVEL_WARN);
    assert_int_equal(weir_log_parse_level(WEIR_SLICE("Off"), &level), 0);
    assert_int_equal(level, WEIR_LOG_LEVEL_OFF);
    assert_int_equal(weir_log_parse_level(WEIR_SLICE(""), &level), WEIR_EINVAL);
    assert_int_equal(weir_log_parse_level(WEIR_SLICE("info,h2=debug"), &level), WEIR_EINVAL);
    assert_int_equal(level, WEIR_LOG_LEVEL_OFF);
    assert_int_equal(weir_log_parse_format(WEIR_SLICE("json"), &format), 0);
    assert_int_equal(format, WEIR_LOG_JSON);
    assert_int_equal(weir_log_parse_format(WEIR_SLICE("xml"), &format), WEIR_EINVAL);
}

static void test_hostile_values(void **state)
{
    (void)state;
    static const struct {
        struct weir_slice value;
        const char *text;
        const char *json;
    } cases[] = {
        {WEIR_SLICE("a\nb\r\t"), "\"a\\nb\\r\\t\"", "\"a\\nb\\r\\t\""},
        {WEIR_SLICE("\033[31mred"), "\"\\u001b[31mred\"", "\"\\u001b[31mred\""},
        {WEIR_SLICE("\0\x7f"), "\"\\u0000\\u007f\"", "\"\\u0000\\u007f\""},
        {WEIR_SLICE("\xC2\x9B"), "\"\\u009b\"", "\"\\u009b\""}, /* CSI in one character */
        {WEIR_SLICE("\xFF\xC0\x80"), "\"\\xff\\xc0\\x80\"", "\"\\ufffd\\ufffd\\ufffd\""},
        {WEIR_SLICE("\xED\xA0\x80"), "\"\\xed\\xa0\\x80\"", "\"\\ufffd\\ufffd\\ufffd\""},
        {WEIR_SLICE("\xE2\x82"), "\"\\xe2\\x82\"", "\"\\ufffd\\ufffd\""},
        {WEIR_SLICE("a\"b\\c"), "\"a\\\"b\\\\c\"", "\"a\\\"b\\\\c\""},
        {WEIR_SLICE("x level=ERROR"), "\"x level=ERROR\"", "\"x level=ERROR\""},
        {WEIR_SLICE("k=v"), "\"k=v\"", "\"k=v\""},
        {WEIR_SLICE("\xE2\x80\xAE"
                    "evil"),
         "\"\\u202eevil\"", "\"\\u202eevil\""},
        {WEIR_SLICE("\xE2\x80\xA8"), "\"\\u2028\"", "\"\\u2028\""},
        {WEIR_SLICE("\xE2\x81\xA6"), "\"\\u2066\"", "\"\\u2066\""},
        {WEIR_SLICE("grüße 😀"), "\"grüße 😀\"", "\"grüße 😀\""},
        {WEIR_SLICE("/v1/chat?x:1"), "/v1/chat?x:1", "\"/v1/chat?x:1\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[400];
        use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
        snprintf(expected, sizeof expected, "2024-05-06T07:08:09.123456Z  INFO t: m k=%s\n",
                 cases[i].text);
        WEIR_LOG_INFO("t", NULL, "m", weir_log_str("k", cases[i].value));
        assert_lines(expected);
        use(WEIR_LOG_JSON, WEIR_LOG_LEVEL_INFO);
        snprintf(expected, sizeof expected,
                 "{\"timestamp\":\"2024-05-06T07:08:09.123456Z\",\"level\":\"INFO\","
                 "\"target\":\"t\",\"message\":\"m\",\"fields\":{\"k\":%s}}\n",
                 cases[i].json);
        WEIR_LOG_INFO("t", NULL, "m", weir_log_str("k", cases[i].value));
        assert_lines(expected);
    }
}

static void test_hostile_ids_and_messages(void **state)
{
    (void)state;
    struct weir_log_ctx ctx = {.request_id = WEIR_SLICE("a\nb c")};
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
    WEIR_LOG_INFO("t", &ctx, "line\n2024 ERROR \"quoted\"");
    assert_lines("2024-05-06T07:08:09.123456Z  INFO t: line\\n2024 ERROR \"quoted\" "
                 "request_id=\"a\\nb c\"\n");
    use(WEIR_LOG_JSON, WEIR_LOG_LEVEL_INFO);
    WEIR_LOG_INFO("t", &ctx, "\"}");
    assert_lines("{\"timestamp\":\"2024-05-06T07:08:09.123456Z\",\"level\":\"INFO\","
                 "\"target\":\"t\",\"message\":\"\\\"}\",\"request_id\":\"a\\nb c\"}\n");
}

static void test_odd_numbers(void **state)
{
    (void)state;
    use(WEIR_LOG_JSON, WEIR_LOG_LEVEL_INFO);
    WEIR_LOG_INFO("t", NULL, "m", weir_log_f64("a", (double)NAN), weir_log_f64("b", -HUGE_VAL),
                  weir_log_i64("c", INT64_MIN), weir_log_f64("d", 0.007), weir_log_f64("e", 1e21),
                  weir_log_err("f", 0), weir_log_err("g", 99));
    assert_lines("{\"timestamp\":\"2024-05-06T07:08:09.123456Z\",\"level\":\"INFO\","
                 "\"target\":\"t\",\"message\":\"m\",\"fields\":{\"a\":null,\"b\":null,"
                 "\"c\":-9223372036854775808,\"d\":0.007,\"e\":1e+21,\"f\":\"OK\","
                 "\"g\":\"EUNKNOWN\"}}\n");
    use(WEIR_LOG_COMPACT, WEIR_LOG_LEVEL_INFO);
    WEIR_LOG_INFO("t", NULL, "m", weir_log_f64("a", (double)NAN), weir_log_f64("b", -HUGE_VAL));
    assert_lines("2024-05-06T07:08:09.123456Z I t: m a=NaN b=-Inf\n");
}

static void test_long_value_is_cut_with_a_mark(void **state)
{
    (void)state;
    static char big[100000];
    memset(big, 'x', sizeof big);
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
    WEIR_LOG_INFO("t", NULL, "m", weir_log_str("k", weir_slice_make(big, sizeof big)),
                  weir_log_u64("after", 1));
    const char *text = weir_buf_cstr(&lines);
    assert_non_null(strstr(text, "xx…(100000 bytes)\" after=1\n"));
    assert_in_range(lines.n, WEIR_LOG_MAX_VALUE_BYTES, WEIR_LOG_MAX_VALUE_BYTES + 120);
    /* Exactly as long as allowed is not cut, one more is. */
    weir_buf_clear(&lines);
    WEIR_LOG_INFO("t", NULL, "m",
                  weir_log_str("k", weir_slice_make(big, WEIR_LOG_MAX_VALUE_BYTES)));
    assert_null(strstr(weir_buf_cstr(&lines), "…"));
    weir_buf_clear(&lines);
    WEIR_LOG_INFO("t", NULL, "m",
                  weir_log_str("k", weir_slice_make(big, WEIR_LOG_MAX_VALUE_BYTES + 1)));
    assert_non_null(strstr(weir_buf_cstr(&lines), "…(2049 bytes)"));
}

/* Quotes and braces outside strings balance, no raw control inside: enough of JSON to trust. */
static void assert_is_json_object(struct weir_slice s)
{
    int depth = 0;
    bool is_in_string = false;
    for (size_t i = 0; i < s.n; i++) {
        if (is_in_string && s.p[i] == '\\') {
            i++;
        } else if (s.p[i] == '"') {
            is_in_string = !is_in_string;
        } else if (!is_in_string && (s.p[i] == '{' || s.p[i] == '}')) {
            depth += s.p[i] == '{' ? 1 : -1;
            assert_true(depth > 0 || i + 1 == s.n);
        }
    }
    assert_false(is_in_string);
    assert_int_equal(depth, 0);
}

static void assert_is_clean_line(enum weir_log_format format)
{
    struct weir_slice s = weir_buf_slice(&lines);
    assert_in_range(s.n, 1, WEIR_LOG_MAX_LINE_BYTES);
    assert_int_equal(s.p[s.n - 1], '\n');
    s.n--;
    assert_true(weir_utf8_is_valid(s));
    for (size_t i = 0; i < s.n; i++) {
        bool is_indent = format == WEIR_LOG_PRETTY && s.p[i] == '\n';
        assert_true((unsigned char)s.p[i] >= 0x20 || is_indent);
        assert_true(!is_indent || memcmp(s.p + i + 1, "    ", 4) == 0);
        assert_int_not_equal(s.p[i], 0x7F);
    }
    if (format == WEIR_LOG_JSON) {
        assert_is_json_object(s);
    }
    weir_buf_clear(&lines);
}

/* Whatever the values are and however many, the line stays whole, short and clean. */
static void test_random_bytes(void **state)
{
    (void)state;
    static char noise[4][6000];
    srand(7);
    for (int round = 0; round < 400; round++) {
        enum weir_log_format format = (enum weir_log_format)(round % 5);
        struct weir_slice v[4];
        for (size_t i = 0; i < 4; i++) {
            size_t n = (size_t)rand() % (round < 200 ? 64 : sizeof noise[0]);
            int spread = round % 3 == 0 ? 256 : 40;
            for (size_t k = 0; k < n; k++) {
                noise[i][k] = (char)(rand() % spread);
            }
            v[i] = weir_slice_make(noise[i], n);
        }
        struct weir_log_ctx ctx = {.request_id = v[3], .trace = request.trace};
        use(format, WEIR_LOG_LEVEL_INFO);
        const struct weir_log_field fields[] = {
            weir_log_str(NULL, v[0]), weir_log_str("a", v[0]), weir_log_str("b", v[1]),
            weir_log_str("c", v[2]),  weir_log_str("d", v[3]), weir_log_str("e", v[1]),
        };
        weir_log_emit(WEIR_LOG_LEVEL_INFO, "t", &ctx, fields, 6);
        assert_is_clean_line(format);
    }
}

static void test_too_many_fields(void **state)
{
    (void)state;
    enum { N = 1000 };
    static struct weir_log_field fields[N];
    fields[0] = weir_log_cstr(NULL, "m");
    for (size_t pad = 0; pad < 120; pad++) {
        for (size_t i = 1; i < N; i++) {
            fields[i] = weir_log_str("key", WEIR_SLICE("a value with \"quotes\""));
        }
        static char filler[200];
        memset(filler, 'f', sizeof filler);
        fields[1] = weir_log_str("pad", weir_slice_make(filler, pad));
        use(WEIR_LOG_JSON, WEIR_LOG_LEVEL_INFO);
        weir_log_emit(WEIR_LOG_LEVEL_INFO, "t", NULL, fields, N);
        assert_true(
            weir_slice_ends_with(weir_buf_slice(&lines), WEIR_SLICE("},\"truncated\":true}\n")));
        assert_in_range(lines.n, WEIR_LOG_MAX_LINE_BYTES - 200, WEIR_LOG_MAX_LINE_BYTES);
        assert_is_clean_line(WEIR_LOG_JSON);
        use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
        weir_log_emit(WEIR_LOG_LEVEL_INFO, "t", NULL, fields, N);
        assert_true(weir_slice_ends_with(weir_buf_slice(&lines), WEIR_SLICE(" …\n")));
        assert_is_clean_line(WEIR_LOG_FULL);
    }
}

static void use_fd(int fd)
{
    weir_log_set_capture(NULL, NULL);
    weir_log_setup(&(struct weir_log_options){
        .fd = fd, .level = WEIR_LOG_LEVEL_INFO, .format = WEIR_LOG_COMPACT});
}

/* As where /proc is missing or forbidden: no description of our own. */
static void use_fd_as_it_is(int fd)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    use_fd(fd);
    setrlimit(RLIMIT_NOFILE, &limit);
}

typedef void (*use_fn)(int fd);

static void stop_using_fd(void)
{
    weir_log_set_capture(on_line, NULL);
    use(WEIR_LOG_FULL, WEIR_LOG_LEVEL_INFO);
}

/* Everything that can be read now without waiting. */
static void drain(int fd, struct weir_buf *all)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (;;) {
        weir_buf_reserve(all, 65536);
        ssize_t n = read(fd, all->p + all->n, 65536);
        if (n <= 0) {
            return;
        }
        all->n += (size_t)n;
    }
}

static size_t count_lines(const struct weir_buf *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        n += all->p[i] == '\n';
    }
    return n;
}

/* Logs into a full pipe or socket without ever waiting, then says how many lines are missing. */
static void check_full_reader(int read_fd, int write_fd, use_fn use_it)
{
    enum { N = 50000 };
    struct weir_buf all = {0};
    uint64_t before = weir_log_n_dropped();
    use_it(write_fd);
    for (uint64_t i = 0; i < N; i++) {
        WEIR_LOG_INFO("t", NULL, "filling", weir_log_u64("i", i));
    }
    weir_log_flush();
    uint64_t lost = weir_log_n_dropped() - before;
    assert_in_range(lost, 1, N - 1);
    drain(read_fd, &all);
    assert_int_equal(count_lines(&all) + lost, N);
    weir_buf_clear(&all);
    WEIR_LOG_INFO("t", NULL, "again");
    weir_log_flush();
    drain(read_fd, &all);
    char expected[300];
    snprintf(expected, sizeof expected,
             "2024-05-06T07:08:09.123456Z W log: log lines were dropped, the reader is too slow "
             "lines=%llu\n2024-05-06T07:08:09.123456Z I t: again\n",
             (unsigned long long)lost);
    assert_string_equal(weir_buf_cstr(&all), expected);
    assert_int_equal(fcntl(write_fd, F_GETFL) & O_NONBLOCK, 0);
    weir_buf_dispose(&all);
    stop_using_fd();
}

static void test_full_pipe_drops(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    check_full_reader(fds[0], fds[1], use_fd);
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(pipe(fds), 0);
    check_full_reader(fds[0], fds[1], use_fd_as_it_is);
    close(fds[0]);
    close(fds[1]);
}

static void test_full_socket_drops(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    check_full_reader(fds[0], fds[1], use_fd);
    close(fds[0]);
    close(fds[1]);
}

static void test_nobody_reads(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    use_fd(fds[1]);
    close(fds[0]);
    uint64_t before = weir_log_n_dropped();
    WEIR_LOG_INFO("t", NULL, "m");
    assert_int_equal(weir_log_n_dropped(), before + 1);
    close(fds[1]);
    stop_using_fd();
    WEIR_LOG_INFO("t", NULL, "m"); /* says what is missing, so that later tests start even */
    weir_buf_clear(&lines);
}

/* A long line meets a pipe with one free page: its end is lost, the next line starts afresh. */
static void check_torn_line(use_fn use_it)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    int size = fcntl(fds[1], F_SETPIPE_SZ, 8192);
    assert_true(size >= 8192);
    struct weir_buf all = {0};
    weir_buf_reserve(&all, (size_t)size);
    memset(all.p, '.', (size_t)size);
    assert_int_equal(write(fds[1], all.p, (size_t)size - 4096), size - 4096);
    use_it(fds[1]);
    uint64_t before = weir_log_n_dropped();
    static char big[2000];
    memset(big, 'x', sizeof big);
    struct weir_slice value = weir_slice_make(big, sizeof big);
    WEIR_LOG_INFO("t", NULL, "m", weir_log_str("a", value), weir_log_str("b", value),
                  weir_log_str("c", value));
    assert_int_equal(weir_log_n_dropped(), before + 1);
    drain(fds[0], &all);
    assert_int_equal(all.n, size);
    weir_buf_clear(&all);
    WEIR_LOG_INFO("t", NULL, "next");
    drain(fds[0], &all);
    assert_string_equal(weir_buf_cstr(&all),
                        "\n2024-05-06T07:08:09.123456Z W log: log lines were dropped, the reader "
                        "is too slow lines=1\n2024-05-06T07:08:09.123456Z I t: next\n");
    weir_buf_dispose(&all);
    close(fds[0]);
    close(fds[1]);
    stop_using_fd();
}

static void test_torn_line(void **state)
{
    (void)state;
    check_torn_line(use_fd);
    check_torn_line(use_fd_as_it_is);
}

enum { N_THREADS = 4, N_LINES = 500 };

static void *log_a_lot(void *arg)
{
    static const char letters[N_THREADS + 1] = "abcd";
    char text[3000];
    size_t me = (size_t)(uintptr_t)arg;
    memset(text, letters[me], sizeof text);
    for (size_t i = 0; i < N_LINES; i++) {
        struct weir_slice s = weir_slice_make(text, 10 + (i * 37) % 1900);
        WEIR_LOG_INFO("t", NULL, "m", weir_log_str("x", s), weir_log_str("y", s));
    }
    return NULL;
}

static void test_threads_do_not_mix(void **state)
{
    (void)state;
    char path[] = "/tmp/weir_log_test_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    use_fd(fd);
    pthread_t threads[N_THREADS];
    for (size_t i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, log_a_lot, (void *)(uintptr_t)i), 0);
    }
    for (size_t i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct weir_buf all = {0};
    lseek(fd, 0, SEEK_SET);
    drain(fd, &all);
    assert_int_equal(count_lines(&all), N_THREADS * N_LINES);
    struct weir_slice rest = weir_buf_slice(&all);
    while (rest.n != 0) {
        struct weir_slice line = weir_slice_cut(&rest, '\n');
        struct weir_slice head = WEIR_SLICE("2024-05-06T07:08:09.123456Z I t: m x=");
        assert_true(weir_slice_starts_with(line, head));
        size_t value_n = (line.n - head.n - 3) / 2;
        assert_memory_equal(line.p + head.n + value_n, " y=", 3);
        for (size_t i = head.n; i < head.n + value_n; i++) {
            assert_int_equal(line.p[i], line.p[head.n]);
            assert_int_equal(line.p[i + value_n + 3], line.p[head.n]);
        }
    }
    weir_buf_dispose(&all);
    close(fd);
    stop_using_fd();
}

static void assert_drained(int fd, const char *expected)
{
    struct weir_buf all = {0};
    drain(fd, &all);
    assert_string_equal(weir_buf_cstr(&all), expected);
    weir_buf_dispose(&all);
}

#define AT "2024-05-06T07:08:09.123456Z "

static void test_held_lines(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    use_fd(fds[1]);
    weir_log_hold();
    WEIR_LOG_INFO("t", NULL, "one");
    WEIR_LOG_INFO("t", NULL, "two");
    assert_drained(fds[0], "");
    weir_log_flush();
    assert_drained(fds[0], AT "I t: one\n" AT "I t: two\n");
    weir_log_flush();
    assert_drained(fds[0], "");
    WEIR_LOG_INFO("t", NULL, "before");
    WEIR_LOG_WARN("t", NULL, "now"); /* takes along what waits */
    assert_drained(fds[0], AT "I t: before\n" AT "W t: now\n");
    WEIR_LOG_INFO("t", NULL, "last");
    weir_log_release();
    assert_drained(fds[0], AT "I t: last\n");
    WEIR_LOG_INFO("t", NULL, "at once");
    assert_drained(fds[0], AT "I t: at once\n");
    weir_log_release();
    close(fds[0]);
    close(fds[1]);
    stop_using_fd();
}

/* More than waits together, and lines longer than that: all of them, in their order. */
static void test_held_lines_keep_their_order(void **state)
{
    (void)state;
    enum { N = 2000 };
    char path[] = "/tmp/weir_log_test_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    use_fd(fd);
    weir_log_hold();
    static char big[2000];
    memset(big, 'x', sizeof big);
    for (uint64_t i = 0; i < N; i++) {
        struct weir_slice s = weir_slice_make(big, i % 7 == 0 ? sizeof big : i % 50);
        WEIR_LOG_INFO("t", NULL, "m", weir_log_u64("i", i), weir_log_str("a", s),
                      weir_log_str("b", s), weir_log_str("c", s));
    }
    weir_log_release();
    struct weir_buf all = {0};
    lseek(fd, 0, SEEK_SET);
    drain(fd, &all);
    struct weir_slice rest = weir_buf_slice(&all);
    for (unsigned i = 0; i < N; i++) {
        char head[64];
        snprintf(head, sizeof head, AT "I t: m i=%u a=", i);
        assert_true(weir_slice_starts_with(weir_slice_cut(&rest, '\n'), weir_slice_cstr(head)));
    }
    assert_int_equal(rest.n, 0);
    weir_buf_dispose(&all);
    close(fd);
    stop_using_fd();
}

static void test_held_lines_that_nobody_takes(void **state)
{
    (void)state;
    int fds[2];
    weir_log_hold();
    assert_int_equal(pipe(fds), 0);
    check_full_reader(fds[0], fds[1], use_fd);
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(pipe(fds), 0);
    check_full_reader(fds[0], fds[1], use_fd_as_it_is);
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    check_full_reader(fds[0], fds[1], use_fd);
    close(fds[0]);
    close(fds[1]);
    weir_log_release();
}

static void test_dropped_metric(void **state)
{
    (void)state;
    weir_log_declare_metrics();
    struct weir_buf out = {0};
    assert_int_equal(weir_metric_render(&out), 0);
    char expected[300];
    snprintf(expected, sizeof expected,
             "# HELP weir_log_dropped_lines_total Log lines lost because their reader was too "
             "slow.\n# TYPE weir_log_dropped_lines_total counter\n"
             "weir_log_dropped_lines_total %llu\n",
             (unsigned long long)weir_log_n_dropped());
    assert_string_equal(weir_buf_cstr(&out), expected);
    weir_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats_exact),
        cmocka_unit_test(test_lines_of_a_terminal),
        cmocka_unit_test(test_bare_lines),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_colours_on_a_terminal),
        cmocka_unit_test(test_writes_to_a_terminal),
        cmocka_unit_test(test_timestamps),
        cmocka_unit_test(test_timestamps_agree_with_gmtime),
        cmocka_unit_test(test_levels_suppress),
        cmocka_unit_test(test_what_is_asked_for_is_told),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_hostile_values),
        cmocka_unit_test(test_hostile_ids_and_messages),
        cmocka_unit_test(test_odd_numbers),
        cmocka_unit_test(test_long_value_is_cut_with_a_mark),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_too_many_fields),
        cmocka_unit_test(test_full_pipe_drops),
        cmocka_unit_test(test_full_socket_drops),
        cmocka_unit_test(test_nobody_reads),
        cmocka_unit_test(test_torn_line),
        cmocka_unit_test(test_threads_do_not_mix),
        cmocka_unit_test(test_held_lines),
        cmocka_unit_test(test_held_lines_keep_their_order),
        cmocka_unit_test(test_held_lines_that_nobody_takes),
        cmocka_unit_test(test_dropped_metric),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
