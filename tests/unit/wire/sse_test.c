/* text/event-stream. Every input is fed whole, byte by byte and at random cuts. */
#include "unit/cmocka_all.h"
#include "unit/wire/sse_trace.h"

static struct sse_trace_options options = {.max_event_bytes = 64};

struct row {
    const char *in;
    const char *out;
};

static void check(struct weir_slice in, const char *out)
{
    struct weir_buf trace = {0};
    cuts_check(&(struct cuts_run){&sse_trace_codec, &options, in}, 200, &trace);
    assert_string_equal(weir_buf_cstr(&trace), out);
    weir_buf_dispose(&trace);
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(weir_slice_cstr(rows[i].in), rows[i].out);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void events(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", "closed\n"},
        {"data: a\n\n", "data=a raw=data: a\n\n|\nclosed\n"},
        {"data: a\n\ndata:b\n\n", "data=a raw=data: a\n\n|\ndata=b raw=data:b\n\n|\nclosed\n"},
        {"data:  a \n\n", "data= a  raw=data:  a \n\n|\nclosed\n"},
        {"data\n\n", "data= raw=data\n\n|\nclosed\n"},
        {"data:\n\n", "data= raw=data:\n\n|\nclosed\n"},
        {"data: \n\n", "data= raw=data: \n\n|\nclosed\n"},
        {"data\ndata\n\n", "data=\n raw=data\ndata\n\n|\nclosed\n"},
        {"data: a\ndata:\ndata: c: d\n\n",
         "data=a\n\nc: d raw=data: a\ndata:\ndata: c: d\n\n|\nclosed\n"},
        {"data: a\ndata: b\n\ndata: c\ndata: d\n\n",
         "data=a\nb raw=data: a\ndata: b\n\n|\ndata=c\nd raw=data: c\ndata: d\n\n|\nclosed\n"},
        {"event: x\ndata: a\nid: 7\nretry: 10\n\n",
         "name=x data=a id=7 retry=10 raw=event: x\ndata: a\nid: 7\nretry: 10\n\n|\nclosed\n"},
        {"event: x\nevent: y\nid: 1\nid\ndata: a\n\n",
         "name=y data=a id= raw=event: x\nevent: y\nid: 1\nid\ndata: a\n\n|\nclosed\n"},
        {": c\ndata: a\n: d\n\n", "data=a raw=: c\ndata: a\n: d\n\n|\nclosed\n"},
        {"Data: a\ndata : b\n data: c\ndataa: d\ndata: e\n\n",
         "data=e raw=Data: a\ndata : b\n data: c\ndataa: d\ndata: e\n\n|\nclosed\n"},
        {"retry: 1x\nretry: -1\nretry:\ndata: a\n\n",
         "data=a raw=retry: 1x\nretry: -1\nretry:\ndata: a\n\n|\nclosed\n"},
        {"\n\n\r\n\rdata: a\n\n\n\n", "data=a raw=data: a\n\n|\nclosed\n"},
        {"data: \xc3\xa9\xff\n\n", "data=\xc3\xa9\xff raw=data: \xc3\xa9\xff\n\n|\nclosed\n"},
    };
    CHECK_ROWS(rows);
    check(WEIR_SLICE("id: a\0b\ndata: x\n\n"), "data=x raw=id: a");
}

static void line_ends(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"data: a\r\n\r\ndata: b\r\n\r\n",
         "data=a raw=data: a\r\n\r\n|\ndata=b raw=data: b\r\n\r\n|\nclosed\n"},
        {"data: a\r\rdata: b\r\r", "data=a raw=data: a\r\r|\ndata=b raw=data: b\r\r|\nclosed\n"},
        {"data: a\rdata: b\ndata: c\r\n\n",
         "data=a\nb\nc raw=data: a\rdata: b\ndata: c\r\n\n|\nclosed\n"},
        {"data: a\n\r\ndata: b\n\rdata: c\n\n",
         "data=a raw=data: a\n\r\n|\ndata=b raw=data: b\n\r|\ndata=c raw=data: c\n\n|\nclosed\n"},
        {"data: a\r\n\rdata: b\n\n",
         "data=a raw=data: a\r\n\r|\ndata=b raw=data: b\n\n|\nclosed\n"},
        {"data: a\r\r\ndata: b\n\n", "data=a raw=data: a\r\r|\ndata=b raw=data: b\n\n|\nclosed\n"},
    };
    CHECK_ROWS(rows);
}

static void end_of_input(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"data: a", "partial\n"},
        {"data: a\n", "partial\n"},
        {"data: a\r", "partial\n"},
        {"data: a\r\n\r", "data=a raw=data: a\r\n\r|\nclosed\n"},
        {"data: a\n\r", "data=a raw=data: a\n\r|\nclosed\n"},
        {"id: a\n\r", "closed\n"},
        {"data: a\n\ndata: b\n", "data=a raw=data: a\n\n|\npartial\n"},
        {": c", "partial\n"},
        {"\r\n\r\n", "closed\n"},
    };
    CHECK_ROWS(rows);
}

static void byte_order_marks(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"\xef\xbb\xbf", "closed\n"},
        {"\xef\xbb", "partial\n"},
        {"\xef\xbb\xbf"
         "data: a\n\n",
         "data=a raw=data: a\n\n|\nclosed\n"},
        {"\xef\xbb\xbf\n\ndata: a\n\n", "data=a raw=data: a\n\n|\nclosed\n"},
        /* Twice, later or cut short it is no mark but part of a name nobody knows. */
        {"\xef\xbb\xbf\xef\xbb\xbf"
         "data: a\n\n",
         "closed\n"},
        {"\n\xef\xbb\xbf"
         "data: a\n\n",
         "closed\n"},
        {"\xef\xbb"
         "data: a\ndata: b\n\n",
         "data=b raw=\xef\xbb"
         "data: a\ndata: b\n\n|\nclosed\n"},
    };
    CHECK_ROWS(rows);
}

static void blocks_without_data(void **state)
{
    (void)state;
    static const char in[] =
        ": ping\n\nevent: x\n\nid: 3\n\nretry: 5\n\n:\n:\n\nfoo\n\ndata: a\n\n";
    check(weir_slice_cstr(in), "data=a raw=data: a\n\n|\nclosed\n");
    options.wants_all = true;
    check(weir_slice_cstr(in), "comment raw=: ping\n\n|\n"
                               "name=x raw=event: x\n\n|\n"
                               "id=3 raw=id: 3\n\n|\n"
                               "retry=5 raw=retry: 5\n\n|\n"
                               "comment raw=:\n:\n\n|\n"
                               "raw=foo\n\n|\n"
                               "data=a raw=data: a\n\n|\nclosed\n");
    check(WEIR_SLICE(": bye\r\n\r"), "comment raw=: bye\r\n\r|\nclosed\n");
    options.wants_all = false;
}

static void limits(void **state)
{
    (void)state;
    options.max_event_bytes = 10;
    static const struct row rows[] = {
        {"data: ab\n\ndata: cd\n\n",
         "data=ab raw=data: ab\n\n|\ndata=cd raw=data: cd\n\n|\nclosed\n"},
        {"data: abc\n\n", "ELIMIT\npartial\n"},
        {"data: abcd", "partial\n"},
        {"data: abcde", "ELIMIT\npartial\n"},
        {"data: a\n\ndata: abcdefghijklmn\n\n", "data=a raw=data: a\n\n|\nELIMIT\npartial\n"},
        {":\n:\n:\n:\n:\n:\n", "ELIMIT\npartial\n"},
        {"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\ndata: a\n\n", "data=a raw=data: a\n\n|\nclosed\n"},
        {"data:ab\r\n\r", "data=ab raw=data:ab\r\n\r|\nclosed\n"},
    };
    CHECK_ROWS(rows);
    options.max_event_bytes = 64;
}

/* Longer than the steps in which pieces are gathered and windows in which lines are searched. */
static void long_events(void **state)
{
    (void)state;
    struct sse_trace_options wide = {.max_event_bytes = 100000};
    struct weir_buf in = {0};
    struct weir_buf want = {0};
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    for (size_t k = 0; k < 3; k++) {
        weir_buf_clear(&in);
        weir_buf_append(&in, WEIR_SLICE("data: "));
        for (int i = 0; i < 3000; i++) {
            weir_buf_printf(&in, "%d,", i);
        }
        struct weir_slice data = weir_slice_sub(weir_buf_slice(&in), 6, in.n);
        weir_buf_clear(&want);
        weir_buf_append(&want, WEIR_SLICE("data="));
        weir_buf_append(&want, data);
        weir_buf_append(&want, WEIR_SLICE(" raw="));
        weir_buf_printf(&in, "%s%s", ends[k], ends[k]);
        weir_buf_append(&want, weir_buf_slice(&in));
        weir_buf_append(&want, WEIR_SLICE("|\nclosed\n"));
        struct weir_buf trace = {0};
        cuts_check(&(struct cuts_run){&sse_trace_codec, &wide, weir_buf_slice(&in)}, 40, &trace);
        assert_true(weir_slice_eq(weir_buf_slice(&trace), weir_buf_slice(&want)));
        weir_buf_dispose(&trace);
    }
    weir_buf_dispose(&want);
    weir_buf_dispose(&in);
}

static void nothing_is_copied(void **state)
{
    (void)state;
    struct weir_sse_reader r;
    size_t used;
    struct weir_slice in = WEIR_SLICE("event: e\ndata: abc\n\ndata: d\n");
    weir_sse_init(&r, 100);
    assert_int_equal(weir_sse_feed(&r, in, &used), 0);
    assert_int_equal(used, 20);
    assert_ptr_equal(r.event.raw.p, in.p);
    assert_ptr_equal(r.event.name.p, in.p + 7);
    assert_ptr_equal(r.event.data.p, in.p + 15);
    assert_null(r.held.p);
    assert_int_equal(weir_sse_feed(&r, weir_slice_sub(in, 20, in.n), &used), WEIR_EAGAIN);
    assert_int_equal(weir_sse_feed(&r, WEIR_SLICE("\nX"), &used), 0);
    assert_int_equal(used, 1);
    assert_int_equal(weir_sse_feed(&r, WEIR_SLICE("X"), &used), WEIR_EAGAIN);
    assert_int_equal(weir_sse_finish(&r), WEIR_EBAD);
    assert_int_equal(weir_sse_finish(&r), WEIR_ECLOSED);
    weir_sse_dispose(&r);
    weir_sse_dispose(&r);
}

static void writing(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *data;
        const char *out;
    } rows[] = {
        {"", "x", "data: x\n\n"},
        {"", "", "data: \n\n"},
        {"e", " x", "event: e\ndata:  x\n\n"},
        {"", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
        {"", "\n", "data: \ndata: \n\n"},
        {"", "a\r\n", "data: a\ndata: \n\n"},
        {"", "a\r", "data: a\ndata: \n\n"},
        {"", "a\r\r\nb", "data: a\ndata: \ndata: b\n\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct weir_slice name = weir_slice_cstr(rows[i].name);
        struct weir_slice data = weir_slice_cstr(rows[i].data);
        struct weir_buf out = {0};
        assert_int_equal(weir_sse_append_event(&out, name, data), 0);
        assert_string_equal(weir_buf_cstr(&out), rows[i].out);
        char put[64];
        assert_true(out.n <= sizeof put);
        assert_int_equal(weir_sse_put_event(put, out.n, name, data), out.n);
        assert_memory_equal(put, out.p, out.n);
        assert_int_equal(weir_sse_put_event(put, out.n - 1, name, data), 0);
        weir_buf_dispose(&out);
    }
}

static void writing_comments_and_limits(void **state)
{
    (void)state;
    struct weir_buf out;
    weir_buf_init(&out, 12);
    assert_int_equal(weir_sse_append_comment(&out, WEIR_SLICE("a\ndata: b")), WEIR_ELIMIT);
    assert_int_equal(out.n, 0);
    assert_int_equal(weir_sse_append_comment(&out, WEIR_SLICE("a\nb")), 0);
    assert_string_equal(weir_buf_cstr(&out), ": a\n: b\n\n");
    assert_int_equal(weir_sse_append_event(&out, WEIR_SLICE(""), WEIR_SLICE("x")), WEIR_ELIMIT);
    assert_int_equal(out.n, 9);
    weir_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events),
        cmocka_unit_test(line_ends),
        cmocka_unit_test(end_of_input),
        cmocka_unit_test(byte_order_marks),
        cmocka_unit_test(blocks_without_data),
        cmocka_unit_test(limits),
        cmocka_unit_test(long_events),
        cmocka_unit_test(nothing_is_copied),
        cmocka_unit_test(writing),
        cmocka_unit_test(writing_comments_and_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
