#ifndef WEIR_TESTS_FUZZ_STREAM_WISH_H
#define WEIR_TESTS_FUZZ_STREAM_WISH_H

/*
 * What a request is like: six bytes of the input choose it.
 */
#include "fuzz/stream_world.h"

struct wish { /* the six bytes */
    uint8_t what;
    uint8_t how;
    uint8_t who;
    uint8_t when;
    uint8_t batching;
    uint8_t around;
};

/* Bits of the sixth: around the way of an answer. */
enum around {
    IS_MESSAGES = 1, /* on a route, whichever it would be */
    IS_RESPONSES = 2,
    MASKS = 4, /* where it redacts */
    KEEPS_VERDICTS = 8,
    HAS_DESK = 16,
    HAS_FLEET = 32,
    FIRST_FAILS = 64, /* of its servers */
    ALL_FAIL = 128,   /* with the one before */
};

static struct wish wishes[N_TALKS];

static void choose_endpoint(struct talk *t, struct wish w)
{
    static const enum endpoint endpoints[8] = {CHAT_API,   TEXT_API,   CHAT_ROUTE, CHAT_ROUTE,
                                               CHAT_ROUTE, TEXT_ROUTE, GENERATION, CONTENTS};
    static const enum weir_policy_action actions[3] = {WEIR_POLICY_ANNOTATE, WEIR_POLICY_BLOCK,
                                                       WEIR_POLICY_REDACT};
    size_t at = w.what & 7;
    bool is_row = (w.around & (IS_MESSAGES | IS_RESPONSES)) != 0;
    enum endpoint row = (w.around & IS_MESSAGES) != 0 ? MESSAGES_ROUTE : RESPONSES_ROUTE;
    t->endpoint = is_row ? row : endpoints[at];
    t->dialect = &DIALECTS[t->endpoint];
    t->policy =
        (struct weir_policy){.action = at == 5 || is_row ? actions[(w.what >> 3 & 3) % 3]
                                                         : actions[at >= 2 && at <= 4 ? at - 2 : 0],
                             .redact_with = WEIR_SLICE("[{detection}]"),
                             .input_roles = 1u << WEIR_WALK_USER};
    if ((w.batching & 128) != 0) {
        t->policy.fallback = WEIR_SLICE("No.");
    }
    t->is_unary = stream_is_openai(t) && w.what >> 5 == 7;
    t->repeats_little = (w.how & 2) != 0;
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
    bool looks_at_more = is_whole && (w.when & 128) != 0 && stream_is_openai(t);
    bool is_chat = stream_is_chat(t) || stream_is_row(t);
    enum weir_detect_type type = is_chat ? WEIR_DETECT_CHAT : WEIR_DETECT_GENERATION;
    const struct weir_chunker *const chunkers[] = {&windows.base, &dots[self].base,
                                                   &far_away[self].base, &weir_chunk_whole};
    if (t->env.compat.is_fms && is_whole && t->endpoint >= GENERATION) {
        kind = KIND_DOTS; /* whole documents are refused there */
        looks_at_more = false;
    }
    *d = (struct fake_detector){.base = {.ops = &FAKE_DETECT_OPS,
                                         .id = weir_slice_cstr(DETECTOR_IDS[i]),
                                         .takes_many = t->is_served,
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

/* Masking needs somebody who looks at the question and tells where something is. */
static void choose_mask(struct talk *t, struct wish w)
{
    static const struct weir_policy_mask mask = {.key = {"a key of some bytes", 19},
                                                 .scope = WEIR_POLICY_SCOPE_ROUTE,
                                                 .unknown_output = WEIR_POLICY_REDACT};
    t->masks = (w.around & MASKS) != 0 && t->enforces && t->policy.action == WEIR_POLICY_REDACT &&
               t->detectors[0].base.type == WEIR_DETECT_CONTENTS;
    if (t->masks) {
        t->asks_input = true;
        t->policy.mask = &mask;
        t->policy.map = weir_mask_new(&t->stream.arena, mask.key, WEIR_SLICE("route:r"));
    }
}

/* One server, or two of which some fail before they say anything. */
static void choose_servers(struct talk *t, struct wish w)
{
    static const char *const names[2] = {"a", "b"};
    if ((w.around & HAS_FLEET) == 0 || !stream_is_route(t)) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        t->providers[i] = (struct weir_provider){.name = weir_slice_cstr(names[i]),
                                                 .kind = WEIR_PROVIDER_OPENAI,
                                                 .ops = UINT32_MAX,
                                                 .model = &t->model,
                                                 .patience_ms = 20000,
                                                 .n_running = &t->n_at_provider[i]};
        t->targets[i] = (struct weir_fleet_target){
            .provider = &t->providers[i], .model = WEIR_SLICE("theirs"), .health = &t->health[i]};
        weir_breaker_init(&t->health[i]);
    }
    t->entry = (struct weir_fleet_entry){
        .glob = WEIR_SLICE("m"), .targets = t->targets, .n_targets = 2, .n_replicas = 1};
    t->fleet = (struct weir_fleet){.entries = &t->entry, .n_entries = 1};
    weir_fleet_init(&t->fleet);
    t->env.openai = &t->fleet.base;
    t->env.fleet = &t->fleet;
    t->n_failing = (w.around & FIRST_FAILS) == 0 ? 0 : (w.around & ALL_FAIL) == 0 ? 1 : 2;
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
                                    .max_remembered_bytes = REMEMBERED_BYTES,
                                    .max_choices = N_CHOICES,
                                    .max_tool_calls = 4,
                                    .strategy = weir_gather_strategy_at((w.when >> 5 & 3) % 3)};
    t->is_served = (w.around & (KEEPS_VERDICTS | HAS_DESK)) != 0;
    bool needs_one = t->endpoint == GENERATION || t->endpoint == CONTENTS;
    t->n_detectors = w.who == 0 && !needs_one ? 0u : 1u + (w.who & 3u) % N_DETECTORS;
    for (size_t i = 0; i < t->n_detectors; i++) {
        choose_detector(t, i, w);
    }
    t->plan = (struct weir_plan){.uses = t->uses, .n = t->n_detectors};
    t->enforces =
        stream_is_route(t) && t->policy.action != WEIR_POLICY_ANNOTATE && t->n_detectors != 0;
    t->repeats_lies = (w.how & 4) != 0 && t->enforces && !t->is_unary;
    choose_batching(t, w);
    choose_mask(t, w);
    choose_servers(t, w);
}

#endif
