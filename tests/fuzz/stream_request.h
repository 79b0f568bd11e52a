#ifndef WEIR_TESTS_FUZZ_STREAM_REQUEST_H
#define WEIR_TESTS_FUZZ_STREAM_REQUEST_H

/*
 * A request, from its first byte to the moment when everything that was opened for it is closed.
 */
#include "fuzz/stream_world.h"
#include "task/completion_stream.h"
#include "task/generation_stream.h"

struct wish { /* the five bytes */
    uint8_t what;
    uint8_t how;
    uint8_t who;
    uint8_t when;
    uint8_t batching;
};

static struct wish wishes[N_TALKS];

static void choose_endpoint(struct talk *t, struct wish w)
{
    static const enum endpoint endpoints[8] = {CHAT_API,   TEXT_API,   CHAT_ROUTE, CHAT_ROUTE,
                                               CHAT_ROUTE, TEXT_ROUTE, GENERATION, CONTENTS};
    static const enum weir_policy_action actions[3] = {WEIR_POLICY_ANNOTATE, WEIR_POLICY_BLOCK,
                                                       WEIR_POLICY_REDACT};
    size_t at = w.what & 7;
    t->endpoint = endpoints[at];
    t->policy = (struct weir_policy){.action = at == 5 ? actions[(w.what >> 3 & 3) % 3]
                                                       : actions[at >= 2 && at <= 4 ? at - 2 : 0],
                                     .redact_with = WEIR_SLICE("[{detection}]")};
    if ((w.batching & 128) != 0) {
        t->policy.fallback = WEIR_SLICE("No.");
    }
    t->is_unary = at <= 5 && w.what >> 5 == 7;
    t->n_choices = 1u + (w.how >> 1 & 3u) % N_CHOICES;
    t->is_eager = (w.how & 32) != 0;
    t->has_turns = (w.how & 64) != 0;
    t->ends_in_quiet = (w.how & 128) != 0;
    t->asks_input = (w.how & 8) != 0;
}

static void choose_detector(struct talk *t, size_t i, struct wish w)
{
    size_t self = (size_t)(t - talks);
    struct fake_detector *d = &t->detectors[i];
    enum kind kind = (enum kind)(w.who >> (2 + 2 * i) & 3);
    bool is_whole = kind == KIND_WHOLE;
    bool looks_at_more = is_whole && (w.when & 128) != 0 && t->endpoint <= TEXT_ROUTE;
    enum weir_detect_type type = stream_is_chat(t) ? WEIR_DETECT_CHAT : WEIR_DETECT_GENERATION;
    const struct weir_chunker *const chunkers[] = {&windows.base, &dots[self].base,
                                                   &far_away[self].base, &weir_chunk_whole};
    if (t->env.compat.is_fms && is_whole && t->endpoint >= GENERATION) {
        kind = KIND_DOTS; /* whole documents are refused there */
        looks_at_more = false;
    }
    *d = (struct fake_detector){.base = {.ops = &FAKE_DETECT_OPS,
                                         .id = weir_slice_cstr(DETECTOR_IDS[i]),
                                         .type = looks_at_more ? type : WEIR_DETECT_CONTENTS},
                                .talk = t,
                                .index = i,
                                .kind = kind,
                                .is_immediate = (w.when >> i & 1) != 0};
    t->described[i] = (struct weir_task_detector){
        .id = d->base.id, .detector = &d->base, .chunker = looks_at_more ? NULL : chunkers[kind]};
    if (kind == KIND_WINDOW && (w.how & 16) != 0 && !t->env.compat.is_fms) {
        t->described[i].detector = fake_reader_of(d, self);
        t->described[i].chunker = &weir_chunk_whole;
        t->described[i].reads_along = true;
    }
    t->uses[i] = (struct weir_plan_use){.d = &t->described[i], .params = WEIR_SLICE("{}")};
}

static void choose_batching(struct talk *t, struct wish w)
{
    struct weir_batch_options *adapter = &t->batching.chain.adapter;
    struct weir_batch_options *business = &t->batching.chain.business;
    static const enum weir_batch_gate gates[4] = {WEIR_BATCH_GATE_OFF, WEIR_BATCH_GATE_OFF,
                                                  WEIR_BATCH_GATE_CLOSED, WEIR_BATCH_GATE_FINISH};
    t->batching = (struct weir_batching){.model = WEIR_SLICE("m"), .route = WEIR_SLICE("r")};
    t->batching.chain.dedup = weir_dedup_defaults();
    *adapter = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    *business = weir_batch_defaults(WEIR_BATCH_BUSINESS);
    if (!t->env.compat.is_fms) {
        adapter->mode = (w.batching & 1) != 0 ? WEIR_BATCH_ON : WEIR_BATCH_OFF;
        business->mode = (w.batching & 2) != 0 ? WEIR_BATCH_ON : WEIR_BATCH_OFF;
    }
    adapter->min_chars_per_emit = business->min_delta_chars = 6;
    adapter->max_latency_ms = 40;
    business->max_latency_ms = 60;
    adapter->max_stream_buffer_bytes = (w.batching & 32) != 0 ? FEW_BUFFERED_BYTES : HELD_BYTES;
    business->max_stream_buffer_bytes = adapter->max_stream_buffer_bytes;
    business->tool_call_gate = gates[w.batching >> 2 & 3];
    if (business->tool_call_gate != WEIR_BATCH_GATE_OFF && t->enforces) {
        business->tool_call_gate = WEIR_BATCH_GATE_FINISH;
    }
    business->on_incomplete = WEIR_BATCH_RELEASE;
    t->batching.is_used = adapter->mode == WEIR_BATCH_ON || business->mode == WEIR_BATCH_ON;
}

static void choose(struct talk *t, struct wish w)
{
    choose_endpoint(t, w);
    bool is_fms = (w.how & 1) != 0 && !stream_is_route(t);
    t->env = (struct weir_task_env){.openai = &t->model,
                                    .compat = is_fms ? weir_compat_fms : (struct weir_compat){0},
                                    .generation = &t->model,
                                    .max_detector_calls = 1 + (w.when >> 3 & 3),
                                    .max_chunker_calls = 4,
                                    .max_service_body_bytes = 1 << 20,
                                    .max_event_bytes = 1 << 16,
                                    .max_held_bytes =
                                        (w.batching & 16) != 0 ? FEW_HELD_BYTES : HELD_BYTES,
                                    .max_choices = N_CHOICES,
                                    .max_tool_calls = 4,
                                    .strategy = weir_gather_strategy_at((w.when >> 5 & 3) % 3)};
    bool needs_one = t->endpoint == GENERATION || t->endpoint == CONTENTS;
    t->n_detectors = w.who == 0 && !needs_one ? 0u : 1u + (w.who & 3u) % N_DETECTORS;
    for (size_t i = 0; i < t->n_detectors; i++) {
        choose_detector(t, i, w);
    }
    t->plan = (struct weir_plan){.uses = t->uses, .n = t->n_detectors};
    t->enforces =
        stream_is_route(t) && t->policy.action != WEIR_POLICY_ANNOTATE && t->n_detectors != 0;
    choose_batching(t, w);
}

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

/* A request that asks it, and what a route looks at in it. */
static struct weir_asked *ask_route(struct talk *t, struct weir_task_completion *request)
{
    struct weir_arena *arena = &t->stream.arena;
    struct weir_buf body = {0};
    bool is_chat = stream_is_chat(t);
    weir_buf_append(&body, is_chat ? WEIR_SLICE("{\"messages\":[{\"role\":\"user\",\"content\":")
                                   : WEIR_SLICE("{\"prompt\":"));
    weir_json_write_quoted(&body, t->question.text);
    weir_buf_append(&body, is_chat ? WEIR_SLICE("}]}") : WEIR_SLICE("}"));
    struct weir_json *json = weir_arena_zalloc(arena, sizeof *json);
    struct weir_walk *walk = weir_arena_zalloc(arena, sizeof *walk);
    CHECK(weir_json_parse(json, weir_arena_take_buf(arena, &body), NULL, arena, NULL) == 0);
    struct weir_walk_options options = {.max_document_nodes = 1000};
    weir_walk_read(walk, is_chat ? &weir_walk_chat : &weir_walk_completions, json, &options, arena);
    request->json = json;
    t->policy.input_roles = 1u << WEIR_WALK_USER;
    return weir_asked_new(&(struct weir_asked_options){
        .arena = arena, .json = json, .walk = walk, .policy = &t->policy, .plan = &t->input});
}

static struct weir_out *open_out(struct talk *t, uint64_t heartbeat_ms)
{
    struct weir_stream_out_options options = {.is_ndjson =
                                                  t->endpoint == CONTENTS && t->env.compat.is_fms,
                                              .has_done = t->endpoint <= TEXT_ROUTE,
                                              .is_fms = t->env.compat.is_fms,
                                              .is_duplex = t->endpoint == CONTENTS,
                                              .heartbeat_ms = heartbeat_ms};
    if (t->endpoint <= TEXT_ROUTE) {
        options.batching = &t->batching;
        options.joins_findings = !t->env.compat.is_fms;
    }
    t->out = weir_stream_out_new(&t->stream, &options);
    if (options.is_duplex) {
        t->stream.handler = &DUPLEX;
    }
    return &t->out->base;
}

static void start_completion(struct talk *t, uint64_t heartbeat_ms)
{
    struct weir_task_completion asked = {.is_chat = stream_is_chat(t),
                                         .json = stream_is_chat(t) ? &chat_request : &text_request,
                                         .model_id = WEIR_SLICE("m"),
                                         .output = t->plan,
                                         .prompt = t->question.text,
                                         .inputs = &t->question,
                                         .n_inputs = 1,
                                         .policy = stream_is_route(t) ? &t->policy : NULL,
                                         .n_choices = t->n_choices,
                                         .may_be_given_more = t->n_choices == 1};
    if (t->asks_input && t->n_detectors != 0 && t->detectors[0].base.type == WEIR_DETECT_CONTENTS) {
        t->input = (struct weir_plan){.uses = t->uses, .n = 1};
        asked.input = t->input;
        asked.asked = stream_is_route(t) ? ask_route(t, &asked) : NULL;
    }
    if (t->is_unary) {
        weir_task_completion_start(&t->request.task, &asked, on_answer, t);
    } else {
        weir_completion_stream_start(&t->request.task, &asked, t->env.strategy,
                                     open_out(t, heartbeat_ms));
    }
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
        }
        weir_buf_clear(&t->heard[id]);
        t->n_said[id] = 0;
        t->n_heard[id] = 0;
    }
}

static void clear(struct talk *t)
{
    forget(t);
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
    for (size_t c = 0; c < N_CHOICES; c++) {
        t->is_seen[c] = t->is_finish_last[c] = t->is_blocked[c] = false;
        memset(t->cuts[c], 0, sizeof t->cuts[c]);
        t->finish[c] = t->heard_finish[c] = 0;
        t->n_finish[c] = t->n_heard_finish[c] = t->n_heard_role[c] = 0;
    }
}

static void tell_wish(const struct talk *t)
{
    static const char *const endpoints[] = {"H", "I", "chat", "text", "A", "D"};
    static const char *const actions[] = {"annotate", "block", "redact"};
    static const char *const kinds[] = {"window", "dots", "far", "whole"};
    struct weir_buf line = {0};
    weir_buf_printf(&line, "%s%s %s%s choices %zu held %zu chain %d%d", endpoints[t->endpoint],
                    t->is_unary ? " unary" : "", actions[t->policy.action],
                    t->env.compat.is_fms ? " fms" : "", t->n_choices, t->env.max_held_bytes,
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
    choose(t, w);
    t->is_asked = t->endpoint == CONTENTS;
    choose_question(t, (w.how & 16) != 0);
    t->stream = (struct weir_http_stream){
        .ops = &HTTP_OPS, .loop = &loop, .service_ctx = &t->request, .body_ended = true};
    t->stream.arena.account = &t->account;
    t->request = (struct weir_request){
        .task = {.env = &t->env, .loop = &loop, .arena = &t->stream.arena, .scratch = &scratch}};
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
