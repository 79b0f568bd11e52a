/* Remote chunkers over a scripted HTTP call: what is sent, which chunks come out, and what counts
 * as nonsense. Chunks are written down as start-end/first-last:text, with <n behind the end when
 * they see n code points that others answer for. */
#include "base/err.h"
#include "chunk/remote.h"
#include "unit/client/fake_call.h"
#include "unit/cmocka_all.h"
#include "wire/grpc.h"
#include "wire/proto.h"

#include <proto/caikit_data_model.pb-c.h>

#define GRPC_HEAD "content-type: application/grpc"

struct fixture {
    struct weir_loop loop;
    struct weir_target target;
    struct weir_chunk_remote remote;
    struct weir_chunk_env env;
    struct weir_chunk_options options;
    struct weir_call_context context;
    struct weir_chunk_stream *s;
    struct weir_buf trace;
    size_t n_ready;
    bool closes_when_ready;
    bool leaves_chunks;
};

/* Takes all there is; how it stands, unless that is "none yet", ends the line. */
static void drain(struct fixture *f)
{
    struct weir_chunk c;
    int rc;
    while ((rc = weir_chunk_next(f->s, &c)) == 0) {
        assert_int_equal(c.seen_end_cp, c.end_cp);
        weir_buf_printf(&f->trace, "%zu-%zu", c.start_cp, c.end_cp);
        if (c.back_cp != 0) {
            weir_buf_printf(&f->trace, "<%zu", c.back_cp);
        }
        weir_buf_printf(&f->trace, "/%zu-%zu:%.*s|", (size_t)c.first_frame, (size_t)c.last_frame,
                        (int)c.text.n, c.text.p);
    }
    if (rc != WEIR_EAGAIN) {
        weir_buf_printf(&f->trace, "%s", weir_err_name(rc));
        assert_int_equal(weir_chunk_next(f->s, &c), rc); /* it stays so */
    }
}

static void on_ready(void *ctx, struct weir_chunk_stream *s)
{
    struct fixture *f = ctx;
    assert_ptr_equal(s, f->s);
    f->n_ready++;
    if (f->closes_when_ready) {
        weir_chunk_close(f->s);
        f->s = NULL;
    } else if (!f->leaves_chunks) {
        drain(f);
    }
}

static int set_up(void **state)
{
    struct fixture *f = weir_mem_zalloc(sizeof *f);
    assert_int_equal(weir_loop_init(&f->loop), 0);
    f->target = (struct weir_target){.request_timeout_ms = 5000, .max_retries = 3};
    f->env = (struct weir_chunk_env){
        .loop = &f->loop, .context = &f->context, .max_body_bytes = 1 << 20};
    weir_chunk_remote_init(&f->remote, WEIR_SLICE("en"), &f->target);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    weir_chunk_close(f->s);
    fake_forget();
    weir_loop_dispose(&f->loop);
    weir_buf_dispose(&f->trace);
    free(f);
    return 0;
}

static void open_stream(struct fixture *f)
{
    weir_chunk_close(f->s);
    f->s = weir_chunk_open(&f->remote.base, &f->env, &f->options, on_ready, f);
}

static void open_whole(struct fixture *f, const char *text)
{
    f->options.is_whole = true;
    open_stream(f);
    weir_chunk_push(f->s, 7, weir_slice_cstr(text));
    weir_chunk_end(f->s);
}

#define assert_trace(f, want)                                                                      \
    do {                                                                                           \
        assert_string_equal(weir_buf_cstr(&(f)->trace), want);                                     \
        weir_buf_clear(&(f)->trace);                                                               \
    } while (0)

struct token {
    int64_t start;
    int64_t end;
    const char *text;
};

static void fill_token(CaikitDataModel__Nlp__Token *t, const struct token *from)
{
    caikit_data_model__nlp__token__init(t);
    WEIR_PROTO_SET(t, start, from->start);
    WEIR_PROTO_SET(t, end, from->end);
    WEIR_PROTO_SET_TEXT(t, text, weir_slice_cstr(from->text));
}

static void answer_whole(const struct token *tokens, size_t n)
{
    CaikitDataModel__Nlp__Token made[8];
    CaikitDataModel__Nlp__Token *list[8];
    CaikitDataModel__Nlp__TokenizationResults m =
        CAIKIT_DATA_MODEL__NLP__TOKENIZATION_RESULTS__INIT;
    for (size_t i = 0; i < n; i++) {
        fill_token(&made[i], &tokens[i]);
        list[i] = &made[i];
    }
    m.results = list;
    m.n_results = n;
    struct weir_buf out = {0};
    weir_proto_append_framed(&out, &m.base);
    fake_head(200, GRPC_HEAD);
    fake_body(weir_buf_slice(&out));
    weir_buf_dispose(&out);
    fake_done(0, "grpc-status: 0");
}

struct result {
    int64_t start;
    int64_t end;
    int64_t first;
    int64_t last;
    const char *text;
};

/* The text in two tokens, as some chunkers do. */
static void append_result(struct weir_buf *out, const struct result *r)
{
    size_t half = strlen(r->text) / 2;
    CaikitDataModel__Nlp__Token a = CAIKIT_DATA_MODEL__NLP__TOKEN__INIT;
    CaikitDataModel__Nlp__Token b = CAIKIT_DATA_MODEL__NLP__TOKEN__INIT;
    CaikitDataModel__Nlp__Token *list[] = {&a, &b};
    CaikitDataModel__Nlp__ChunkerTokenizationStreamResult m =
        CAIKIT_DATA_MODEL__NLP__CHUNKER_TOKENIZATION_STREAM_RESULT__INIT;
    WEIR_PROTO_SET_TEXT(&a, text, weir_slice_make(r->text, half));
    WEIR_PROTO_SET_TEXT(&b, text, weir_slice_cstr(r->text + half));
    m.results = list;
    m.n_results = 2;
    WEIR_PROTO_SET(&m, start_index, r->start);
    WEIR_PROTO_SET(&m, processed_index, r->end);
    WEIR_PROTO_SET(&m, input_start_index, r->first);
    WEIR_PROTO_SET(&m, input_end_index, r->last);
    weir_proto_append_framed(out, &m.base);
}

static void answer(struct result r)
{
    struct weir_buf out = {0};
    append_result(&out, &r);
    fake_body(weir_buf_slice(&out));
    weir_buf_dispose(&out);
}

static void a_whole_text(void **state)
{
    struct fixture *f = *state;
    f->options.start_cp = 100;
    open_whole(f, "One. T\xc3\xa4o.");
    struct weir_call *c = fake_last();
    assert_true(weir_slice_eq(weir_buf_slice(&c->body),
                              WEIR_SLICE("\0\0\0\0\x0c\x0a\x0aOne. T\xc3\xa4o.")));
    assert_non_null(strstr(weir_buf_cstr(&c->head), "/ChunkerTokenizationTaskPredict\n"));
    assert_non_null(strstr(weir_buf_cstr(&c->head), "\nmm-model-id: en\n"));
    assert_non_null(strstr(weir_buf_cstr(&c->head), "\ngrpc-timeout: 5000m\n"));
    drain(f);
    assert_trace(f, "");
    answer_whole((struct token[]){{0, 4, "One."}, {5, 9, "T\xc3\xa4o."}}, 2);
    assert_trace(f, "100-104/7-7:One.|105-109/7-7:T\xc3\xa4o.|ECLOSED");
    assert_int_equal(f->n_ready, 1);
}

static void nonsense_about_a_whole_text(void **state)
{
    struct fixture *f = *state;
    static const struct {
        struct token tokens[2];
        const char *want;
        const char *lenient;
    } rows[] = {
        {{{0, 2, "ab"}, {1, 3, "bc"}},
         "0-2/7-7:ab|2-3<1/7-7:bc|ECLOSED", /* answers from the end of the one before */
         "0-2/7-7:ab|1-3/7-7:bc|ECLOSED"},
        {{{0, 4, "abcd"}, {1, 3, "bc"}}, /* nothing left to answer for */
         "0-4/7-7:abcd|ECLOSED",
         "0-4/7-7:abcd|1-3/7-7:bc|ECLOSED"},
        {{{2, 4, "cd"}, {0, 2, "ab"}}, "2-4/7-7:cd|EPEER", "2-4/7-7:cd|0-2/7-7:ab|ECLOSED"},
        {{{0, 2, "ab"}, {2, 7, "cdefg"}}, "0-2/7-7:ab|EPEER", "0-2/7-7:ab|2-7/7-7:cdefg|ECLOSED"},
        {{{0, 2, "ab"}, {-1, 3, "x"}}, "0-2/7-7:ab|EPEER", "0-2/7-7:ab|EPEER"},
        {{{3, 2, "ab"}, {3, 4, "d"}}, "EPEER", "EPEER"},
        {{{0, 1, "\xff"}, {3, 4, "d"}}, "EPEER", "EPEER"},
        {{{2, 2, "x"}, {3, 4, "d"}}, "EPEER", "2-2/7-7:x|3-4/7-7:d|ECLOSED"},
        {{{3, 4, "d"}, {0, 0, ""}}, "3-4/7-7:d|ECLOSED", "3-4/7-7:d|0-0/7-7:|ECLOSED"},
        {{{0, 6, "abcdef"}, {INT64_MAX, INT64_MAX, " "}}, "0-6/7-7:abcdef|ECLOSED", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        f->options.is_lenient = false;
        open_whole(f, "abcdef");
        answer_whole(rows[i].tokens, 2);
        assert_trace(f, rows[i].want);
        if (strstr(rows[i].want, "EPEER") != NULL) {
            assert_int_equal(f->s->fault->origin, WEIR_FAULT_CHUNKER);
            assert_true(weir_slice_eq_cstr(f->s->fault->id, "en"));
            assert_int_equal(f->s->fault->err, WEIR_EPEER);
            assert_int_equal(f->s->fault->status, 0);
            assert_true(f->s->fault->why.n > strlen("chunker: "));
        }
        if (rows[i].lenient != NULL) {
            f->options.is_lenient = true;
            open_whole(f, "abcdef");
            answer_whole(rows[i].tokens, 2);
            assert_trace(f, rows[i].lenient);
        }
        fake_forget();
    }
}

static void a_service_that_fails(void **state)
{
    struct fixture *f = *state;
    open_whole(f, "abc");
    fake_head(200, GRPC_HEAD "\ngrpc-status: 5\ngrpc-message: no chunker%21");
    fake_done(0, NULL);
    assert_trace(f, "EPEER");
    assert_int_equal(f->s->fault->status, 404);
    assert_true(weir_slice_eq_cstr(f->s->fault->message, "no chunker!"));
    assert_true(weir_slice_eq_cstr(f->s->fault->id, "en"));

    open_whole(f, "abc");
    fake_done(WEIR_EREFUSED, NULL);
    assert_trace(f, "EREFUSED");
    assert_int_equal(f->s->fault->status, 0);
    assert_int_equal(fake_n_calls, 2); /* chunkers are not retried */

    /* a connection that closes is not the end of the chunks */
    open_whole(f, "abc");
    fake_done(WEIR_ECLOSED, NULL);
    assert_trace(f, "ERESET");
    assert_int_equal(f->s->fault->err, WEIR_ECLOSED);

    open_whole(f, "abc");
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\0\2\x0a\5"));
    fake_done(0, "grpc-status: 0");
    assert_trace(f, "EPEER");
}

static void frames_are_sent_one_by_one(void **state)
{
    struct fixture *f = *state;
    open_stream(f);
    assert_int_equal(fake_n_calls, 0); /* not before it is used */
    assert_int_equal(weir_chunk_push(f->s, 0, WEIR_SLICE("Hi")), WEIR_FLOW_OK);
    assert_int_equal(weir_chunk_push(f->s, 2, WEIR_SLICE("")), WEIR_FLOW_OK);
    struct weir_call *c = fake_last();
    c->is_full = true;
    assert_int_equal(weir_chunk_push(f->s, 3, WEIR_SLICE("!")), WEIR_FLOW_FULL);
    assert_true(f->s->is_full);
    assert_true(
        weir_slice_eq(weir_buf_slice(&c->body),
                      WEIR_SLICE("\0\0\0\0\4\x0a\2Hi\0\0\0\0\2\x10\2\0\0\0\0\5\x0a\1!\x10\3")));
    assert_non_null(
        strstr(weir_buf_cstr(&c->head), "/BidiStreamingChunkerTokenizationTaskPredict\n"));
    fake_room();
    assert_int_equal(f->n_ready, 1);
    assert_false(f->s->is_full);
    assert_false(c->has_body_end);
    weir_chunk_end(f->s);
    assert_true(c->has_body_end);
    fake_head(200, GRPC_HEAD);
    answer((struct result){0, 3, 0, 3, "Hi!"});
    assert_trace(f, "0-3/0-3:Hi!|");
    fake_done(0, "grpc-status: 0");
    assert_trace(f, "ECLOSED");
}

static void a_stream_without_text(void **state)
{
    struct fixture *f = *state;
    open_stream(f);
    weir_chunk_end(f->s);
    drain(f);
    assert_trace(f, "ECLOSED");
    assert_int_equal(fake_n_calls, 0);
}

/* Chunkers that leave both input indexes 0: by the places of the frames. */
static void frames_are_derived(void **state)
{
    struct fixture *f = *state;
    f->options.start_cp = 50;
    open_stream(f);
    weir_chunk_push(f->s, 4, WEIR_SLICE("\xc3\xa4\xc3\xb6"));
    weir_chunk_push(f->s, 5, WEIR_SLICE(""));
    weir_chunk_push(f->s, 6, WEIR_SLICE("c"));
    weir_chunk_push(f->s, 8, WEIR_SLICE("def"));
    weir_chunk_push(f->s, 9, WEIR_SLICE("g"));
    fake_head(200, GRPC_HEAD);
    answer((struct result){0, 1, 0, 0, "\xc3\xa4"});
    answer((struct result){1, 3, 0, 0,
                           "\xc3\xb6"
                           "c"});
    answer((struct result){3, 4, 0, 0, "d"});
    answer((struct result){4, 7, 0, 0, "efg"});
    assert_trace(f, "50-51/4-4:\xc3\xa4|51-53/4-6:\xc3\xb6"
                    "c|53-54/8-8:d|54-57/8-9:efg|");
    /* many, to turn the marks around */
    for (uint64_t i = 0; i < 1000; i++) {
        weir_chunk_push(f->s, 10 + i, WEIR_SLICE("x"));
        if (i % 3 == 2) {
            char want[64];
            int64_t at = 7 + (int64_t)i - 2;
            answer((struct result){at, at + 3, 0, 0, "xxx"});
            snprintf(want, sizeof want, "%zu-%zu/%zu-%zu:xxx|", (size_t)at + 50, (size_t)at + 53,
                     (size_t)i + 8, (size_t)i + 10);
            assert_trace(f, want);
        }
    }
}

static void nonsense_in_a_stream(void **state)
{
    struct fixture *f = *state;
    static const struct {
        struct result r;
        const char *want;
        const char *lenient;
    } rows[] = {
        {{2, 4, 5, 5, "cd"}, "2-4/5-5:cd|", "2-4/5-5:cd|"},
        {{1, 3, 4, 4, "bc"}, "2-3<1/4-4:bc|", "1-3/4-4:bc|"},   /* overlaps */
        {{1, 2, 4, 4, "b"}, "", "1-2/4-4:b|"},                  /* the same, for nothing */
        {{2, 9, 5, 5, "cdefghi"}, "EPEER", "2-9/5-5:cdefghi|"}, /* beyond */
        {{3, 2, 5, 5, "c"}, "EPEER", "3-2/5-5:c|"},
        {{-3, 2, 5, 5, ""}, "EPEER", "EPEER"},
        {{2, 3, 3, 5, "c"}, "EPEER", "2-3/3-5:c|"}, /* a frame never sent */
        {{2, 3, 5, 7, "c"}, "EPEER", "2-3/5-7:c|"},
        {{2, 3, 6, 5, "c"}, "EPEER", "EPEER"},
        {{2, 3, -1, 5, "c"}, "EPEER", "EPEER"},
        {{2, 3, 0, 0, "\xc3"}, "EPEER", "EPEER"},
        {{2, 3, 0, 0, "c"}, "2-3/5-5:c|", "2-3/0-0:c|"},
        {{0, 0, 0, 0, ""}, "", "0-0/0-0:|"},
        {{6, 6, 0, 0, ""}, "", "6-6/0-0:|"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int is_lenient = 0; is_lenient < 2; is_lenient++) {
            f->options.is_lenient = is_lenient != 0;
            open_stream(f);
            weir_chunk_push(f->s, 4, WEIR_SLICE("ab"));
            weir_chunk_push(f->s, 5, WEIR_SLICE("cd"));
            weir_chunk_push(f->s, 6, WEIR_SLICE("ef"));
            fake_head(200, GRPC_HEAD);
            answer((struct result){0, 2, 4, 4, "ab"});
            weir_buf_clear(&f->trace);
            answer(rows[i].r);
            bool is_bad = fake_last()->is_cancelled;
            assert_trace(f, is_lenient != 0 ? rows[i].lenient : rows[i].want);
            assert_int_equal(is_bad, f->s->fault != NULL);
            weir_chunk_push(f->s, 7, WEIR_SLICE("gh")); /* goes nowhere when it has failed */
            weir_chunk_end(f->s);
            weir_chunk_close(f->s);
            f->s = NULL;
            fake_forget();
        }
    }
}

static void chunks_before_a_fault_come_first(void **state)
{
    struct fixture *f = *state;
    f->leaves_chunks = true;
    open_stream(f);
    weir_chunk_push(f->s, 0, WEIR_SLICE("ab"));
    fake_head(200, GRPC_HEAD);
    answer((struct result){0, 1, 0, 0, "a"});
    answer((struct result){1, 2, 0, 0, "b"});
    fake_done(0, "grpc-status: 14\ngrpc-message: restarting");
    drain(f);
    assert_trace(f, "0-1/0-0:a|1-2/0-0:b|EPEER");
    assert_int_equal(f->s->fault->status, 503);
}

static void a_stream_must_not_end_before_the_text(void **state)
{
    struct fixture *f = *state;
    open_stream(f);
    weir_chunk_push(f->s, 0, WEIR_SLICE("ab"));
    fake_head(200, GRPC_HEAD);
    fake_done(0, "grpc-status: 0");
    assert_trace(f, "EPEER");
    f->options.is_lenient = true;
    open_stream(f);
    weir_chunk_push(f->s, 0, WEIR_SLICE("ab"));
    fake_head(200, GRPC_HEAD);
    fake_done(0, "grpc-status: 0");
    assert_trace(f, "ECLOSED");
}

/* An answer far longer than any about what was sent is not even unpacked. */
static void an_answer_has_a_plausible_length(void **state)
{
    struct fixture *f = *state;
    open_whole(f, "abc");
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\1\1\0")); /* 64 KiB and 256 bytes */
    assert_trace(f, "ELIMIT");
    f->options.is_whole = false;
    open_stream(f);
    weir_chunk_push(f->s, 0, WEIR_SLICE("ab"));
    fake_head(200, GRPC_HEAD);
    char *large = weir_mem_zalloc(5 + 66 * 1024);
    weir_grpc_put_prefix(large, 66 * 1024);
    fake_body(weir_slice_make(large, 5 + 66 * 1024));
    free(large);
    assert_trace(f, "EPEER");
}

static void chunks_nobody_takes_hold_the_service_back(void **state)
{
    struct fixture *f = *state;
    f->leaves_chunks = true;
    open_stream(f);
    struct weir_buf out = {0};
    for (uint64_t i = 0; i < 100; i++) {
        weir_chunk_push(f->s, i, WEIR_SLICE("x"));
        int64_t at = (int64_t)i;
        append_result(&out, &(struct result){at, at + 1, at, at, "x"});
    }
    weir_chunk_end(f->s);
    fake_head(200, GRPC_HEAD);
    fake_body(weir_buf_slice(&out));
    weir_buf_dispose(&out);
    assert_int_equal(f->n_ready, 64);
    assert_true(fake_last()->is_paused);
    fake_done(0, "grpc-status: 0");
    struct weir_chunk c;
    size_t n = 0;
    while (weir_chunk_next(f->s, &c) == 0) {
        n++;
    }
    assert_int_equal(n, 64);
    fake_turn(&f->loop);
    while (weir_chunk_next(f->s, &c) == 0) {
        n++;
    }
    assert_int_equal(n, 100);
    drain(f);
    assert_trace(f, "ECLOSED");
}

static void closing(void **state)
{
    struct fixture *f = *state;
    /* from inside on_ready, with a chunk waiting */
    f->closes_when_ready = true;
    open_stream(f);
    weir_chunk_push(f->s, 0, WEIR_SLICE("ab"));
    fake_head(200, GRPC_HEAD);
    answer((struct result){0, 1, 0, 0, "a"});
    assert_null(f->s);
    assert_true(fake_last()->is_cancelled);
    /* at the end */
    open_stream(f);
    weir_chunk_push(f->s, 0, WEIR_SLICE("ab"));
    fake_done(WEIR_ERESET, NULL);
    assert_null(f->s);
    /* before anything */
    open_stream(f);
    weir_chunk_push(f->s, 0, WEIR_SLICE("ab"));
    weir_chunk_close(f->s);
    f->s = NULL;
    assert_true(fake_last()->is_cancelled);
}

static void the_callers_headers(void **state)
{
    struct fixture *f = *state;
    struct weir_http_field field = {WEIR_SLICE("x-tenant"), WEIR_SLICE("a")};
    f->context.passthrough = &field;
    f->context.n_passthrough = 1;
    open_whole(f, "a");
    assert_int_equal(fake_last()->request.context->n_passthrough, 1);
    f->remote.no_passthrough = true;
    open_whole(f, "a");
    assert_int_equal(fake_last()->request.context->n_passthrough, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_text),
        TEST(nonsense_about_a_whole_text),
        TEST(a_service_that_fails),
        TEST(frames_are_sent_one_by_one),
        TEST(a_stream_without_text),
        TEST(frames_are_derived),
        TEST(nonsense_in_a_stream),
        TEST(chunks_before_a_fault_come_first),
        TEST(a_stream_must_not_end_before_the_text),
        TEST(an_answer_has_a_plausible_length),
        TEST(chunks_nobody_takes_hold_the_service_back),
        TEST(closing),
        TEST(the_callers_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
