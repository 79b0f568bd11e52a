#ifndef WEIR_TESTS_FUZZ_STREAM_REQUEST_H
#define WEIR_TESTS_FUZZ_STREAM_REQUEST_H

/*
 * A request, from its first byte to the moment when everything that was opened for it is closed.
 */
#include "fuzz/stream_wish.h"
#include "task/completion_stream.h"
#include "task/generation_stream.h"
#include "task/message.h"
#include "task/response.h"

/* What the caller asks, in letters as the model's. */
static void choose_question(struct talk *t, bool is_bad)
{
    weir_buf_clear(&t->wire);
    say_piece(t, ID_QUESTION, is_bad ? 23 : 7, false);
    weir_buf_clear(&t->question_text);
    weir_buf_append(&t->question_text, weir_buf_slice(&t->wire));
    weir_buf_clear(&t->wire);
    t->question = (struct weir_input_text){.text = weir_buf_slice(&t->question_text)};
}

/* A request that asks it. */
static struct weir_json *ask(struct talk *t)
{
    struct weir_arena *arena = &t->stream.arena;
    struct weir_buf body = {0};
    weir_buf_append(&body, weir_slice_cstr(t->dialect->ask_begin));
    weir_json_write_quoted(&body, t->question.text);
    weir_buf_append(&body, weir_slice_cstr(t->dialect->ask_end));
    struct weir_json *json = weir_arena_zalloc(arena, sizeof *json);
    CHECK(weir_json_parse(json, weir_arena_take_buf(arena, &body), NULL, arena, NULL) == 0);
    return json;
}

/* What a route looks at in it. */
static struct weir_asked *ask_route(struct talk *t, const struct weir_json *json)
{
    struct weir_arena *arena = &t->stream.arena;
    struct weir_walk *walk = weir_arena_zalloc(arena, sizeof *walk);
    struct weir_walk_options options = {.max_document_nodes = 1000};
    weir_walk_read(walk, t->dialect->walk, json, &options, arena);
    return weir_asked_new(&(struct weir_asked_options){.arena = arena,
                                                       .json = json,
                                                       .walk = walk,
                                                       .policy = &t->policy,
                                                       .plan = &t->input,
                                                       .mask = t->policy.map});
}

static struct weir_out *open_out(struct talk *t, uint64_t heartbeat_ms)
{
    struct weir_stream_out_options options = {.is_ndjson =
                                                  t->endpoint == CONTENTS && t->env.compat.is_fms,
                                              .has_done = t->endpoint <= TEXT_ROUTE,
                                              .dialect = t->dialect->stream,
                                              .is_route = stream_is_row(t),
                                              .is_fms = t->env.compat.is_fms,
                                              .is_duplex = t->endpoint == CONTENTS,
                                              .heartbeat_ms = heartbeat_ms};
    if (stream_is_openai(t)) {
        options.batching = &t->batching;
        options.joins_findings = !t->env.compat.is_fms;
    }
    t->out = weir_stream_out_new(&t->stream, &options);
    if (options.is_duplex) {
        t->stream.handler = &DUPLEX;
    }
    return &t->out->base;
}

/* The answer to a request that was read and is looked at. */
static void start_asked(struct talk *t, const struct weir_task_completion *asked,
                        uint64_t heartbeat_ms)
{
    struct weir_task_ctx *task = &t->request.task;
    struct weir_task_response response = {.completion = *asked, .sent = asked->json};
    struct weir_out *out = t->is_unary ? NULL : open_out(t, heartbeat_ms);
    switch (t->endpoint) {
    case MESSAGES_ROUTE:
        if (t->is_unary) {
            weir_task_message_start(task, asked, on_answer, t);
        } else {
            weir_message_stream_start(task, asked, out);
        }
        break;
    case RESPONSES_ROUTE:
        if (t->is_unary) {
            weir_task_response_start(task, &response, on_answer, t);
        } else {
            weir_response_stream_start(task, &response, out);
        }
        break;
    default:
        if (t->is_unary) {
            weir_task_completion_start(task, asked, on_answer, t);
        } else {
            weir_completion_stream_start(task, asked, t->env.strategy, out);
        }
    }
}

static void start_completion(struct talk *t, uint64_t heartbeat_ms)
{
    struct weir_task_completion asked = {.is_chat = stream_is_chat(t) || stream_is_row(t),
                                         .json = ask(t),
                                         .model_id = WEIR_SLICE("m"),
                                         .output = t->plan,
                                         .prompt = t->question.text,
                                         .inputs = &t->question,
                                         .n_inputs = 1,
                                         .policy = stream_is_route(t) ? &t->policy : NULL,
                                         .n_choices = stream_is_row(t) ? 1 : t->n_choices,
                                         .may_be_given_more = t->n_choices == 1};
    if (t->asks_input && t->n_detectors != 0 && t->detectors[0].base.type == WEIR_DETECT_CONTENTS) {
        t->input = (struct weir_plan){.uses = t->uses, .n = 1};
        asked.input = t->input;
        asked.asked = stream_is_route(t) ? ask_route(t, asked.json) : NULL;
    }
    start_asked(t, &asked, heartbeat_ms);
}

static void start(struct talk *t, uint64_t heartbeat_ms)
{
    struct weir_task_generation generation = {.is_classification = true,
                                              .model_id = WEIR_SLICE("m"),
                                              .inputs = t->question.text,
                                              .output = t->plan};
    switch (t->endpoint) {
    case GENERATION:
        weir_generation_stream_start(&t->request.task, &generation, t->env.strategy,
                                     open_out(t, heartbeat_ms));
        break;
    case CONTENTS:
        t->content = weir_content_stream_new(
            &t->request.task,
            &(struct weir_content_stream_options){.plan = &t->plan,
                                                  .strategy = t->env.strategy,
                                                  .out = open_out(t, heartbeat_ms),
                                                  .set_paused = set_body_paused,
                                                  .ctx = t});
        break;
    default:
        start_completion(t, heartbeat_ms);
        break;
    }
}

/* Texts of which nothing was said have nothing to forget. */
static void forget(struct talk *t)
{
    for (size_t id = 0; id < N_IDS; id++) {
        size_t n = t->n_said[id];
        for (size_t d = 0; d < N_DETECTORS && n != 0; d++) {
            memset(t->judged[d][id], 0, n);
            memset(t->found[d][id], 0, n);
            memset(t->heard_found[d][id], 0, n);
            memset(t->summed_found[d][id], 0, n);
        }
        weir_buf_clear(&t->heard[id]);
        t->n_said[id] = 0;
        t->n_heard[id] = 0;
    }
}

static void clear_rows(struct talk *t)
{
    for (size_t i = 0; i < N_PLACES; i++) {
        weir_buf_dispose(&t->rows[i].heard_input);
        t->rows[i] = (struct row){0};
    }
    t->n_rows = t->n_events = t->n_heard_ends = 0;
    t->n_numbered = 0;
    t->has_begun = false;
    t->n_order = t->heard_order = 0;
}

static void clear(struct talk *t)
{
    forget(t);
    clear_rows(t);
    t->token[0] = '\0';
    t->token_place = t->token_at = 0;
    t->n_failing = t->n_attempts = 0;
    t->has_framed = false;
    weir_buf_clear(&t->wire);
    weir_sse_dispose(&t->reader);
    weir_sse_init(&t->reader, 1 << 16);
    weir_list_init(&t->calls);
    weir_list_init(&t->chunks);
    t->arrived = t->at = 0;
    t->op = WEIR_MODEL_CHAT;
    t->is_paused = t->has_said_end = t->is_broken = t->is_end_read = false;
    t->n_usages = t->last_usage = t->heard_usage = 0;
    t->is_usage_last = t->is_asked = t->has_fault = t->is_lied = false;
    t->is_stuffed = t->has_failed = t->has_ended = false;
    t->processed_cp = 0;
    t->content = NULL;
    t->out = NULL;
    memset(t->n_spanless, 0, sizeof t->n_spanless);
    memset(t->n_heard_spanless, 0, sizeof t->n_heard_spanless);
    memset(t->n_heard_found, 0, sizeof t->n_heard_found);
    for (size_t c = 0; c < N_PLACES; c++) {
        t->is_seen[c] = t->is_finish_last[c] = t->is_blocked[c] = false;
        memset(t->cuts[c], 0, sizeof t->cuts[c]);
        t->finish[c] = t->heard_finish[c] = 0;
        t->n_finish[c] = t->n_heard_finish[c] = t->n_heard_role[c] = 0;
    }
}

static void tell_wish(const struct talk *t)
{
    static const char *const endpoints[] = {"H",        "I",         "chat", "text",
                                            "messages", "responses", "A",    "D"};
    static const char *const actions[] = {"annotate", "block", "redact"};
    static const char *const kinds[] = {"window", "dots", "far", "whole"};
    struct weir_buf line = {0};
    weir_buf_printf(&line, "%s%s %s%s%s%s choices %zu held %zu chain %d%d", endpoints[t->endpoint],
                    t->is_unary ? " unary" : "", actions[t->policy.action],
                    t->env.compat.is_fms ? " fms" : "", t->masks ? " masks" : "",
                    t->is_served ? " served" : "", t->n_choices, t->env.max_held_bytes,
                    t->batching.chain.adapter.mode, t->batching.chain.business.mode);
    for (size_t i = 0; i < t->n_detectors; i++) {
        weir_buf_printf(&line, " %s%s", kinds[t->detectors[i].kind],
                        t->detectors[i].is_immediate ? "!" : "");
    }
    stream_tell("open", weir_buf_slice(&line));
    weir_buf_dispose(&line);
}

static void open_talk(struct talk *t, struct wish w)
{
    clear(t);
    t->is_open = true;
    t->model.ops = &MODEL_OPS;
    t->stream = (struct weir_http_stream){
        .ops = &HTTP_OPS, .loop = &loop, .service_ctx = &t->request, .body_ended = true};
    t->stream.arena.account = &t->account;
    choose(t, w);
    t->is_asked = t->endpoint == CONTENTS;
    choose_question(t, (w.how & 16) != 0);
    t->request = (struct weir_request){
        .task = {.env = &t->env, .loop = &loop, .arena = &t->stream.arena, .scratch = &scratch}};
    t->request.task.verdicts = (w.around & KEEPS_VERDICTS) != 0 ? &verdicts : NULL;
    t->request.task.desks = (w.around & HAS_DESK) != 0 ? &desks : NULL;
    tell_wish(t);
    start(t, (w.batching & 64) != 0 ? 15000 : 0);
}

/* The caller goes, or all is said: whatever was opened is closed in that moment. */
static void close_talk(struct talk *t)
{
    if (!t->is_open) {
        return;
    }
    if (t->stream.handler != NULL && !t->has_ended) {
        t->stream.handler->on_gone(&t->stream, WEIR_ECLOSED);
    }
    weir_arena_dispose(&t->stream.arena);
    CHECK(!t->is_running && t->n_calls == 0);
    CHECK(weir_list_is_empty(&t->calls) && weir_list_is_empty(&t->chunks));
    CHECK(t->account.bytes == 0);
    t->is_open = false;
}

#endif
