/*
 * Calls one gRPC service through the program's own client, and prints what comes as JSON lines.
 * Usage: grpc_probe KEY=VALUE...
 *
 *   port=N do=chunk|tgis|nlp id=NAME text=TEXT     text may come several times: frames of a stream
 *   whole=1 lenient=1 start=N                      chunk: as in weir_chunk_options
 *   pingpong=1                                     chunk: the next frame goes out when a chunk came
 *   stream=1 tokenize=1 params=none|empty|all      models
 *   timeout_ms=N retries=N max_bytes=N             of the target and the answer
 *   stop_after=N                                   closes after so many chunks or frames
 *   repeat=N                                       the same again and again, for measurements
 *
 * {"chunk":[start,end,first,last],"text":…}  {"frame":…}  {"fault":[origin,id,err,status],…}
 * {"end":…}
 */
#include "base/err.h"
#include "base/mem.h"
#include "chunk/remote.h"
#include "client/client.h"
#include "io/loop.h"
#include "model/nlp.h"
#include "model/tgis.h"
#include "wire/json_write.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_TEXTS = 4096 };

struct probe {
    struct weir_loop loop;
    struct weir_client *client;
    struct weir_target target;
    struct weir_slice what;
    struct weir_slice id;
    struct weir_slice texts[MAX_TEXTS];
    size_t n_texts;
    size_t n_sent;
    struct weir_chunk_options options;
    bool is_pingpong;
    bool is_quiet;
    uint64_t max_bytes;
    uint64_t stop_after;
    uint64_t n_got;
    uint64_t n_left; /* runs to come */

    struct weir_chunk_remote chunker;
    struct weir_chunk_stream *chunks;
    bool has_ended;
    struct weir_model_grpc model;
    struct weir_model_request request;
    struct weir_model_run *run;
    struct weir_post next;
};

static void begin(struct probe *p);

static void print_line(struct weir_buf *line)
{
    printf("%.*s\n", (int)line->n, line->p);
    fflush(stdout);
    weir_buf_dispose(line);
}

/* The end of a run; the next one begins in another turn. */
static void finish(struct probe *p, const char *how)
{
    if (!p->is_quiet) {
        printf("{\"end\":\"%s\"}\n", how);
        fflush(stdout);
    }
    weir_loop_post(&p->loop, &p->next);
}

static void print_fault(struct probe *p, const struct weir_fault *f)
{
    struct weir_buf line = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &line);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("fault"));
    weir_json_write_begin_array(&w);
    weir_json_write_string(&w, weir_slice_cstr(weir_fault_origin_name(f->origin)));
    weir_json_write_string(&w, f->id);
    weir_json_write_string(&w, weir_slice_cstr(weir_err_name(f->err)));
    weir_json_write_i64(&w, f->status);
    weir_json_write_end_array(&w);
    weir_json_write_key(&w, WEIR_SLICE("message"));
    weir_json_write_string(&w, f->message);
    weir_json_write_key(&w, WEIR_SLICE("why"));
    weir_json_write_string(&w, f->why);
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    print_line(&line);
    finish(p, "fault");
}

static void print_chunk(const struct weir_chunk *c)
{
    struct weir_buf line = {0};
    weir_buf_printf(&line, "{\"chunk\":[%zu,%zu,%zu,%zu],\"text\":", c->start_cp, c->end_cp,
                    (size_t)c->first_frame, (size_t)c->last_frame);
    weir_json_write_quoted(&line, c->text);
    weir_buf_append_byte(&line, '}');
    print_line(&line);
}

/* Frames until told to wait. */
static void send_texts(struct probe *p)
{
    enum weir_flow flow = WEIR_FLOW_OK;
    while (flow == WEIR_FLOW_OK && p->n_sent < p->n_texts) {
        size_t at = p->n_sent++;
        flow = weir_chunk_push(p->chunks, at, p->texts[at]);
        if (p->is_pingpong) {
            break;
        }
    }
    if (p->n_sent == p->n_texts && !p->has_ended) {
        p->has_ended = true;
        weir_chunk_end(p->chunks);
    }
}

static void on_chunks(void *ctx, struct weir_chunk_stream *s)
{
    struct probe *p = ctx;
    struct weir_chunk c;
    int rc;
    bool has_new = false;
    while ((rc = weir_chunk_next(s, &c)) == 0) {
        has_new = true;
        if (!p->is_quiet) {
            print_chunk(&c);
        }
        if (++p->n_got == p->stop_after) {
            finish(p, "stopped");
            return;
        }
    }
    if (rc == WEIR_ECLOSED) {
        finish(p, "done");
    } else if (rc != WEIR_EAGAIN) {
        print_fault(p, s->fault);
    } else if ((has_new || !p->is_pingpong) && !p->has_ended) {
        send_texts(p);
    }
}

static void write_tokens(struct weir_json_write *w, const char *key,
                         const struct weir_model_token *t, size_t n)
{
    weir_json_write_key(w, weir_slice_cstr(key));
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        weir_json_write_begin_array(w);
        weir_json_write_string(w, t[i].text);
        weir_json_write_f64(w, t[i].logprob);
        weir_json_write_i64(w, t[i].rank);
        weir_json_write_end_array(w);
    }
    weir_json_write_end_array(w);
}

static void print_generated(const struct weir_model_generated *g)
{
    struct weir_buf line = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &line);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("frame"));
    weir_json_write_string(&w, g->text);
    if (g->has_details) {
        weir_json_write_key(&w, WEIR_SLICE("details"));
        weir_json_write_begin_array(&w);
        weir_json_write_string(&w, weir_slice_cstr(weir_model_finish_name(g->finish_reason)));
        weir_json_write_u64(&w, g->generated_token_count);
        weir_json_write_u64(&w, g->seed);
        weir_json_write_end_array(&w);
    }
    weir_json_write_key(&w, WEIR_SLICE("input_token_count"));
    weir_json_write_i64(&w, g->input_token_count);
    write_tokens(&w, "tokens", g->tokens, g->n_tokens);
    write_tokens(&w, "input_tokens", g->input_tokens, g->n_input_tokens);
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    print_line(&line);
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct probe *p = ctx;
    if (frame->generated != NULL && !p->is_quiet) {
        print_generated(frame->generated);
    } else if (!p->is_quiet) {
        printf("{\"n_tokens\":%zu}\n", (size_t)frame->n_tokens);
    }
    if (++p->n_got == p->stop_after) {
        weir_model_free(p->run);
        p->run = NULL;
        finish(p, "stopped");
    }
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct probe *p = ctx;
    if (fault != NULL) {
        print_fault(p, fault);
    } else {
        finish(p, "done");
    }
}

static void begin_chunks(struct probe *p)
{
    struct weir_chunk_env env = {
        .loop = &p->loop, .client = p->client, .max_body_bytes = p->max_bytes};
    weir_chunk_remote_init(&p->chunker, p->id, &p->target);
    p->n_sent = 0;
    p->has_ended = false;
    p->chunks = weir_chunk_open(&p->chunker.base, &env, &p->options, on_chunks, p);
    send_texts(p);
}

static void begin_run(struct probe *p)
{
    static const struct weir_model_events events = {on_frame, on_done};
    struct weir_model_env env = {.loop = &p->loop,
                                 .client = p->client,
                                 .max_body_bytes = p->max_bytes,
                                 .max_event_bytes = p->max_bytes};
    if (weir_slice_eq_cstr(p->what, "tgis")) {
        weir_model_tgis_init(&p->model, &p->target);
    } else {
        weir_model_nlp_init(&p->model, &p->target);
    }
    p->request.model_id = p->id;
    p->request.text = p->texts[0];
    p->run = weir_model_start(&p->model.base, &env, &p->request, &events, p);
}

static void stop_loop(void *ctx)
{
    weir_loop_stop(ctx);
}

static void begin(struct probe *p)
{
    if (weir_slice_eq_cstr(p->what, "chunk")) {
        begin_chunks(p);
    } else {
        begin_run(p);
    }
}

static void on_next(struct weir_post *post)
{
    struct probe *p = WEIR_LIST_ENTRY(post, struct probe, next);
    weir_chunk_close(p->chunks);
    weir_model_free(p->run);
    p->chunks = NULL;
    p->run = NULL;
    p->n_got = 0;
    if (--p->n_left == 0) {
        weir_client_close(p->client, stop_loop, &p->loop);
    } else {
        begin(p);
    }
}

static void give_params(struct weir_model_params *params, struct weir_slice which)
{
    static const struct weir_slice stops[] = {{"\n", 1}, {"END", 3}};
    if (weir_slice_eq_cstr(which, "empty")) {
        params->given = WEIR_PARAM_GIVEN;
    } else if (weir_slice_eq_cstr(which, "all")) {
        *params = (struct weir_model_params){.given = (WEIR_PARAM_INCLUDE_STOP_SEQUENCE << 1) - 1,
                                             .max_new_tokens = 99,
                                             .min_new_tokens = 1,
                                             .truncate_input_tokens = 500,
                                             .decoding_method = WEIR_SLICE("SAMPLE"),
                                             .top_k = 2,
                                             .top_p = 0.9,
                                             .typical_p = 0.5,
                                             .temperature = 0.8,
                                             .repetition_penalty = 2.5,
                                             .max_time = 1234.7,
                                             .length_penalty_start_index = 2,
                                             .length_penalty_decay_factor = 1.5,
                                             .stop_sequences = stops,
                                             .n_stop_sequences = 2,
                                             .seed = UINT64_MAX,
                                             .preserve_input_text = true,
                                             .input_tokens = true,
                                             .generated_tokens = true,
                                             .token_logprobs = true,
                                             .token_ranks = true};
    }
}

static bool set_number(struct probe *p, struct weir_slice key, uint64_t n)
{
    struct weir_target *t = &p->target;
    if (weir_slice_eq_cstr(key, "port")) {
        t->port = (uint16_t)n;
    } else if (weir_slice_eq_cstr(key, "timeout_ms")) {
        t->request_timeout_ms = n;
    } else if (weir_slice_eq_cstr(key, "retries")) {
        t->max_retries = (uint32_t)n;
    } else if (weir_slice_eq_cstr(key, "max_bytes")) {
        p->max_bytes = n;
    } else if (weir_slice_eq_cstr(key, "stop_after")) {
        p->stop_after = n;
    } else if (weir_slice_eq_cstr(key, "repeat")) {
        p->n_left = n;
        p->is_quiet = n > 1;
    } else if (weir_slice_eq_cstr(key, "start")) {
        p->options.start_cp = n;
    } else {
        return false;
    }
    return true;
}

static bool set_flag(struct probe *p, struct weir_slice key, bool is_on)
{
    if (weir_slice_eq_cstr(key, "whole")) {
        p->options.is_whole = is_on;
    } else if (weir_slice_eq_cstr(key, "lenient")) {
        p->options.is_lenient = is_on;
    } else if (weir_slice_eq_cstr(key, "pingpong")) {
        p->is_pingpong = is_on;
    } else if (weir_slice_eq_cstr(key, "stream")) {
        p->request.is_stream = is_on;
    } else if (weir_slice_eq_cstr(key, "tokenize")) {
        p->request.op = is_on ? WEIR_MODEL_TOKENIZE : WEIR_MODEL_GENERATE;
    } else {
        return false;
    }
    return true;
}

static bool set_option(struct probe *p, struct weir_slice key, struct weir_slice value)
{
    uint64_t n = 0;
    bool is_number = weir_slice_u64(value, &n) == 0;
    if (weir_slice_eq_cstr(key, "do")) {
        p->what = value;
    } else if (weir_slice_eq_cstr(key, "id")) {
        p->id = value;
    } else if (weir_slice_eq_cstr(key, "params")) {
        give_params(&p->request.params, value);
    } else if (weir_slice_eq_cstr(key, "text")) {
        p->texts[p->n_texts++] = value;
        return p->n_texts < MAX_TEXTS;
    } else {
        return is_number && (set_number(p, key, n) || set_flag(p, key, n != 0));
    }
    return true;
}

int main(int argc, char **argv)
{
    struct probe *p = weir_mem_zalloc(sizeof *p);
    p->target = (struct weir_target){.id = WEIR_SLICE("probe"),
                                     .hostname = "127.0.0.1",
                                     .protocol = WEIR_TARGET_H2,
                                     .connect_timeout_ms = 60000,
                                     .first_byte_timeout_ms = 60000,
                                     .idle_timeout_ms = 60000,
                                     .request_timeout_ms = 60000,
                                     .keep_alive_interval_ms = 60000,
                                     .keep_alive_timeout_ms = 60000,
                                     .dns_interval_ms = 10000,
                                     .max_concurrent = 1000,
                                     .max_waiting = 1000};
    p->max_bytes = 1 << 20;
    p->n_left = 1;
    p->request.op = WEIR_MODEL_GENERATE;
    p->next.fn = on_next;
    for (int i = 1; i < argc; i++) {
        struct weir_slice value = weir_slice_cstr(argv[i]);
        struct weir_slice key = weir_slice_cut(&value, '=');
        if (!set_option(p, key, value)) {
            fprintf(stderr, "grpc_probe: what is %s?\n", argv[i]);
            return 2;
        }
    }
    if (weir_loop_init(&p->loop) != 0) {
        return 1;
    }
    p->client = weir_client_new(&p->loop);
    begin(p);
    weir_loop_run(&p->loop);
    weir_loop_dispose(&p->loop);
    free(p);
    return 0;
}
