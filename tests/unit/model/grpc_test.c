/* TGIS and caikit-nlp over a scripted HTTP call: the bytes of requests, the frames that answers
 * become, and faults. */
#include "base/err.h"
#include "model/nlp.h"
#include "model/tgis.h"
#include "unit/client/fake_call.h"
#include "unit/cmocka_all.h"
#include "wire/grpc.h"

#define GRPC_HEAD "content-type: application/grpc"

struct fixture {
    struct weir_loop loop;
    struct weir_target target;
    struct weir_model_grpc model;
    struct weir_model_env env;
    struct weir_model_request request;
    struct weir_model_run *run;
    struct weir_buf trace;
    bool frees_at_frame;
    bool frees_at_done;
};

static void free_run(struct fixture *f)
{
    weir_model_free(f->run);
    f->run = NULL;
}

static void trace_tokens(struct fixture *f, const struct weir_model_token *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(&f->trace, " %.*s/%g/%d", (int)t[i].text.n, t[i].text.p, t[i].logprob,
                        (int)t[i].rank);
        assert_true(t[i].has_logprob && t[i].has_rank);
    }
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct fixture *f = ctx;
    const struct weir_model_generated *g = frame->generated;
    if (g == NULL) {
        weir_buf_printf(&f->trace, "<%d tokens>", (int)frame->n_tokens);
    } else {
        weir_buf_printf(&f->trace, "<'%.*s'", (int)g->text.n, g->text.p);
        if (g->has_details) {
            weir_buf_printf(&f->trace, " %s n=%d seed=%d", weir_model_finish_name(g->finish_reason),
                            (int)g->generated_token_count, (int)g->seed);
        }
        weir_buf_printf(&f->trace, " in=%d", (int)g->input_token_count);
        trace_tokens(f, g->tokens, g->n_tokens);
        weir_buf_printf(&f->trace, "%s", g->n_input_tokens != 0 ? " of" : "");
        trace_tokens(f, g->input_tokens, g->n_input_tokens);
        weir_buf_printf(&f->trace, ">");
    }
    if (f->frees_at_frame) {
        free_run(f);
    }
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct fixture *f = ctx;
    if (fault == NULL) {
        weir_buf_printf(&f->trace, "done");
    } else {
        weir_buf_printf(&f->trace, "%s %.*s %s %d '%.*s'", weir_fault_origin_name(fault->origin),
                        (int)fault->id.n, fault->id.p, weir_err_name(fault->err), fault->status,
                        (int)fault->message.n, fault->message.p);
        assert_true(fault->why.n != 0);
    }
    if (f->frees_at_done) {
        free_run(f);
    }
}

static int set_up(void **state)
{
    struct fixture *f = weir_mem_zalloc(sizeof *f);
    assert_int_equal(weir_loop_init(&f->loop), 0);
    f->target = (struct weir_target){.request_timeout_ms = 5000, .max_retries = 1};
    f->env =
        (struct weir_model_env){.loop = &f->loop, .max_body_bytes = 4096, .max_event_bytes = 1024};
    f->request = (struct weir_model_request){
        .op = WEIR_MODEL_GENERATE, .model_id = WEIR_SLICE("m"), .text = WEIR_SLICE("hi")};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    free_run(f);
    fake_forget();
    weir_loop_dispose(&f->loop);
    weir_buf_dispose(&f->trace);
    free(f);
    return 0;
}

static void start(struct fixture *f)
{
    static const struct weir_model_events events = {on_frame, on_done};
    free_run(f);
    f->run = weir_model_start(&f->model.base, &f->env, &f->request, &events, f);
}

static void tgis(struct fixture *f)
{
    weir_model_tgis_init(&f->model, &f->target);
}

static void nlp(struct fixture *f)
{
    weir_model_nlp_init(&f->model, &f->target);
}

static void send_message(struct weir_slice message)
{
    struct weir_buf framed = {0};
    char prefix[WEIR_GRPC_PREFIX_BYTES];
    weir_grpc_put_prefix(prefix, (uint32_t)message.n);
    weir_buf_append(&framed, weir_slice_make(prefix, sizeof prefix));
    weir_buf_append(&framed, message);
    fake_body(weir_buf_slice(&framed));
    weir_buf_dispose(&framed);
}

static void answer(struct weir_slice message)
{
    fake_head(200, GRPC_HEAD);
    send_message(message);
    fake_done(0, "grpc-status: 0");
}

#define assert_trace(f, want)                                                                      \
    do {                                                                                           \
        assert_string_equal(weir_buf_cstr(&(f)->trace), want);                                     \
        weir_buf_clear(&(f)->trace);                                                               \
    } while (0)

/* What was sent: path, message. The model's name goes in a header of nlp and in TGIS's messages. */
static void assert_sent(struct fixture *f, const char *path, struct weir_slice message)
{
    start(f);
    struct weir_call *c = fake_last();
    assert_true(weir_slice_eq_cstr(c->request.path, path));
    bool has_header = strstr(weir_buf_cstr(&c->head), "\nmm-model-id: m\n") != NULL;
    assert_int_equal(has_header, strstr(path, "/caikit") != NULL);
    assert_int_equal(c->body.n, WEIR_GRPC_PREFIX_BYTES + message.n);
    assert_memory_equal(c->body.p + WEIR_GRPC_PREFIX_BYTES, message.p, message.n);
}

static void give_all(struct weir_model_params *p)
{
    static const struct weir_slice stops[] = {WEIR_SLICE("x"), WEIR_SLICE("")};
    *p = (struct weir_model_params){
        .given = (WEIR_PARAM_INCLUDE_STOP_SEQUENCE << 1) - 1,
        .max_new_tokens = 1,
        .min_new_tokens = 2,
        .truncate_input_tokens = 3,
        .decoding_method = WEIR_SLICE("SAMPLE"),
        .top_k = 4,
        .top_p = 0.5,
        .typical_p = 0.25,
        .temperature = 2.0,
        .repetition_penalty = 1.5,
        .max_time = 7.9,
        .length_penalty_start_index = 6,
        .length_penalty_decay_factor = 1.0,
        .stop_sequences = stops,
        .n_stop_sequences = 2,
        .seed = 300,
        .preserve_input_text = true,
        .input_tokens = true,
        .generated_tokens = true,
        .token_logprobs = true,
        .token_ranks = true,
        .include_stop_sequence = true,
    };
}

static void tgis_requests(void **state)
{
    struct fixture *f = *state;
    tgis(f);
    assert_sent(f, "/fmaas.GenerationService/Generate", WEIR_SLICE("\x0a\1m\x1a\4\x12\2hi"));
    f->request.is_stream = true;
    assert_sent(f, "/fmaas.GenerationService/GenerateStream", WEIR_SLICE("\x0a\1m\x1a\4\x12\2hi"));
    /* an empty object of parameters: the four groups, empty */
    f->request.params.given = WEIR_PARAM_GIVEN;
    assert_sent(f, "/fmaas.GenerationService/GenerateStream",
                WEIR_SLICE("\x0a\1m\x1a\4\x12\2hi\x52\x08\x12\0\x1a\0\x22\0\x2a\0"));
    give_all(&f->request.params);
    assert_sent(f, "/fmaas.GenerationService/GenerateStream",
                WEIR_SLICE("\x0a\1m\x1a\4\x12\2hi\x52\x45\x08\1"
                           "\x12\x14\x0d\0\0\0\x40\x10\4\x1d\0\0\0\x3f\x25\0\0\x80\x3e\x28\xac\2"
                           "\x1a\x0d\x08\1\x10\2\x18\7\x22\1x\x22\0\x28\1"
                           "\x22\x0a\x08\1\x10\1\x18\1\x20\1\x28\1"
                           "\x2a\x0e\x0d\0\0\xc0\x3f\x12\7\x08\6\x15\0\0\x80\x3f"
                           "\x30\3"));
    /* given and zero: only what has presence is sent; what is not given does not count */
    f->request.is_stream = false;
    f->request.params = (struct weir_model_params){
        .given = WEIR_PARAM_SEED | WEIR_PARAM_INCLUDE_STOP_SEQUENCE | WEIR_PARAM_LENGTH_PENALTY |
                 WEIR_PARAM_MAX_NEW_TOKENS | WEIR_PARAM_DECODING_METHOD,
        .decoding_method = WEIR_SLICE("sample"),
        .top_k = 9,
        .temperature = 1,
        .n_stop_sequences = 3,
    };
    assert_sent(
        f, "/fmaas.GenerationService/Generate",
        WEIR_SLICE("\x0a\1m\x1a\4\x12\2hi\x52\x0e\x12\2\x28\0\x1a\2\x28\0\x22\0\x2a\2\x12\0"));
    /* what does not fit into 32 bits */
    f->request.params = (struct weir_model_params){
        .given = WEIR_PARAM_MAX_NEW_TOKENS | WEIR_PARAM_MIN_NEW_TOKENS | WEIR_PARAM_MAX_TIME,
        .max_new_tokens = INT64_MAX,
        .min_new_tokens = -1,
        .max_time = 1e30,
    };
    assert_sent(f, "/fmaas.GenerationService/Generate",
                WEIR_SLICE("\x0a\1m\x1a\4\x12\2hi\x52\x14\x12\0\x1a\x0c\x08\xff\xff\xff\xff\x0f"
                           "\x18\xff\xff\xff\xff\x0f\x22\0\x2a\0"));
    f->request.op = WEIR_MODEL_TOKENIZE;
    assert_sent(f, "/fmaas.GenerationService/Tokenize", WEIR_SLICE("\x0a\1m\x12\4\x0a\2hi"));
}

static void nlp_requests(void **state)
{
    struct fixture *f = *state;
    static const char generate[] = "/caikit.runtime.Nlp.NlpService/TextGenerationTaskPredict";
    nlp(f);
    assert_sent(f, generate, WEIR_SLICE("\x0a\2hi"));
    f->request.is_stream = true;
    assert_sent(f, "/caikit.runtime.Nlp.NlpService/ServerStreamingTextGenerationTaskPredict",
                WEIR_SLICE("\x0a\2hi"));
    f->request.is_stream = false;
    f->request.params.given = WEIR_PARAM_GIVEN;
    assert_sent(f, generate, WEIR_SLICE("\x0a\2hi"));
    give_all(&f->request.params);
    assert_sent(
        f, generate,
        WEIR_SLICE("\x0a\2hi\x10\1\x18\2\x20\3\x2a\6SAMPLE\x30\4"
                   "\x39\0\0\0\0\0\0\xe0\x3f\x41\0\0\0\0\0\0\xd0\x3f"
                   "\x49\0\0\0\0\0\0\0\x40\x51\0\0\0\0\0\0\xf8\x3f"
                   "\x59\x9a\x99\x99\x99\x99\x99\x1f\x40"
                   "\x62\x0b\x08\6\x11\0\0\0\0\0\0\xf0\x3f"
                   "\x6a\1x\x6a\0\x70\xac\2\x78\1\x80\1\1\x88\1\1\x90\1\1\x98\1\1\xa0\1\1"));
    /* given and zero is sent, but for the penalty's members */
    f->request.params =
        (struct weir_model_params){.given = WEIR_PARAM_TOP_K | WEIR_PARAM_DECODING_METHOD |
                                            WEIR_PARAM_LENGTH_PENALTY | WEIR_PARAM_INPUT_TOKENS,
                                   .seed = 5};
    assert_sent(f, generate, WEIR_SLICE("\x0a\2hi\x2a\0\x30\0\x62\0\x80\1\0"));
    f->request.op = WEIR_MODEL_TOKENIZE;
    assert_sent(f, "/caikit.runtime.Nlp.NlpService/TokenizationTaskPredict",
                WEIR_SLICE("\x0a\2hi"));
}

/* text "yo", 2 tokens of 5, EOS_TOKEN, seed 9, token y with its numbers, input token i */
#define TGIS_RESPONSE                                                                              \
    "\x10\2\x22\2yo\x30\5\x38\2\x42\x0a\x12\1y\x1d\0\0\0\xbf\x20\1\x4a\3\x12\1i\x50\x09"

static void tgis_answers(void **state)
{
    struct fixture *f = *state;
    tgis(f);
    start(f);
    answer(WEIR_SLICE("\x0a\x1d" TGIS_RESPONSE));
    assert_trace(f, "<'yo' EOS_TOKEN n=2 seed=9 in=5 y/-0.5/1 of i/0/0>done");
    f->request.is_stream = true;
    start(f);
    fake_head(200, GRPC_HEAD);
    send_message(WEIR_SLICE("\x30\5"));
    send_message(WEIR_SLICE(TGIS_RESPONSE));
    assert_trace(f, "<'' NOT_FINISHED n=0 seed=0 in=5>"
                    "<'yo' EOS_TOKEN n=2 seed=9 in=5 y/-0.5/1 of i/0/0>");
    fake_done(0, "grpc-status: 0");
    assert_trace(f, "done");
    start(f);
    fake_head(200, GRPC_HEAD);
    send_message(WEIR_SLICE("\x38\x63")); /* a reason nobody knows */
    assert_trace(f, "<'' NOT_FINISHED n=0 seed=0 in=0>");
    f->request.op = WEIR_MODEL_TOKENIZE;
    start(f);
    answer(WEIR_SLICE("\x0a\2\x08\x0b"));
    assert_trace(f, "<11 tokens>done");
}

static void nlp_answers(void **state)
{
    struct fixture *f = *state;
    nlp(f);
    start(f);
    answer(
        WEIR_SLICE("\x0a\2yo\x10\2\x18\1\x28\5\x30\x09\x3a\x0e\x0a\1y\x19\0\0\0\0\0\0\xe0\xbf\x20\1"
                   "\x42\3\x0a\1i"));
    assert_trace(f, "<'yo' MAX_TOKENS n=2 seed=9 in=5 y/-0.5/1 of i/0/0>done");
    f->request.is_stream = true;
    start(f);
    fake_head(200, GRPC_HEAD);
    send_message(WEIR_SLICE("\x0a\2yo\x12\3\x0a\1y\x2a\3\x0a\1i"));
    send_message(WEIR_SLICE("\x1a\x08\x08\5\x10\2\x18\x09\x20\5"));
    fake_done(0, "grpc-status: 0");
    assert_trace(f, "<'yo' in=0 y/0/0 of i/0/0><'' STOP_SEQUENCE n=2 seed=9 in=5>done");
    f->request.op = WEIR_MODEL_TOKENIZE; /* has no stream */
    start(f);
    answer(WEIR_SLICE("\x20\x0b"));
    assert_trace(f, "<11 tokens>done");
}

static void nonsense(void **state)
{
    struct fixture *f = *state;
    static const char generate[] = "generate m EPEER 0 ''";
    tgis(f);
    start(f);
    answer(WEIR_SLICE("")); /* no response */
    assert_trace(f, generate);
    start(f);
    answer(WEIR_SLICE("\x0a\0\x0a\0")); /* two */
    assert_trace(f, generate);
    start(f);
    answer(WEIR_SLICE("\x0a\3\x22\1\xff"));
    assert_trace(f, generate);
    start(f);
    answer(WEIR_SLICE("\x0a"));
    assert_trace(f, generate);
    f->request.is_stream = true;
    start(f);
    fake_head(200, GRPC_HEAD);
    send_message(WEIR_SLICE("\x22\1y"));
    send_message(WEIR_SLICE("\x42\3\x12\1\xff"));
    assert_true(fake_last()->is_cancelled);
    assert_trace(f, "<'y' NOT_FINISHED n=0 seed=0 in=0>generate m EPEER 0 ''");
    f->request.op = WEIR_MODEL_TOKENIZE;
    start(f);
    answer(WEIR_SLICE(""));
    assert_trace(f, "tokenize m EPEER 0 ''");
    nlp(f);
    start(f);
    answer(WEIR_SLICE("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"));
    assert_trace(f, "tokenize m EPEER 0 ''");
    f->request.op = WEIR_MODEL_GENERATE;
    start(f);
    fake_head(200, GRPC_HEAD);
    send_message(WEIR_SLICE("\x0a\1\x80"));
    assert_trace(f, generate);
}

static void faults(void **state)
{
    struct fixture *f = *state;
    nlp(f);
    f->request.is_stream = true;
    start(f);
    fake_head(200, GRPC_HEAD "\ngrpc-status: 5\ngrpc-message: no model");
    fake_done(0, NULL);
    assert_trace(f, "generate m EPEER 404 'no model'");
    start(f);
    fake_head(200, GRPC_HEAD);
    send_message(WEIR_SLICE("\x0a\1y"));
    fake_done(WEIR_ERESET, NULL);
    assert_trace(f, "<'y' in=0>generate m ERESET 0 ''");
    /* the opening of a stream is tried again */
    start(f);
    fake_done(WEIR_EREFUSED, NULL);
    size_t n = fake_n_calls;
    weir_timers_run(&f->loop.timers, weir_loop_now_ms(&f->loop) + 100);
    assert_int_equal(fake_n_calls, n + 1);
    fake_done(WEIR_EREFUSED, NULL);
    assert_trace(f, "generate m EREFUSED 0 ''");
    /* longer than an event of a stream may be */
    start(f);
    fake_head(200, GRPC_HEAD);
    fake_body(WEIR_SLICE("\0\0\0\4\1"));
    assert_trace(f, "generate m ELIMIT 0 ''");
}

static void pausing_and_freeing(void **state)
{
    struct fixture *f = *state;
    nlp(f);
    f->request.is_stream = true;
    start(f);
    weir_model_pause(f->run);
    assert_true(fake_last()->is_paused);
    weir_model_resume(f->run);
    assert_false(fake_last()->is_paused);
    f->frees_at_frame = true;
    fake_head(200, GRPC_HEAD);
    send_message(WEIR_SLICE("\x0a\1y"));
    assert_null(f->run);
    assert_true(fake_last()->is_cancelled);
    assert_trace(f, "<'y' in=0>");
    /* a whole answer: no on_done after the free */
    f->request.is_stream = false;
    start(f);
    answer(WEIR_SLICE("\x0a\1y"));
    assert_trace(f, "<'y' NOT_FINISHED n=0 seed=0 in=0>");
    f->frees_at_frame = false;
    f->frees_at_done = true;
    start(f);
    answer(WEIR_SLICE("\x0a\1y"));
    assert_null(f->run);
    start(f);
    fake_done(WEIR_ETIMEOUT, NULL);
    assert_null(f->run);
    f->request.is_stream = true;
    start(f);
    fake_head(200, GRPC_HEAD);
    send_message(WEIR_SLICE("\x0a"));
    assert_null(f->run);
    /* over: nothing to pause */
    f->frees_at_done = false;
    start(f);
    fake_done(WEIR_ETIMEOUT, NULL);
    weir_model_pause(f->run);
    weir_model_resume(f->run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tgis_requests), TEST(nlp_requests), TEST(tgis_answers),        TEST(nlp_answers),
        TEST(nonsense),      TEST(faults),       TEST(pausing_and_freeing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
