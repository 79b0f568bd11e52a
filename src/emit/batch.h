#ifndef WEIR_EMIT_BATCH_H
#define WEIR_EMIT_BATCH_H

#include "base/flow.h"
#include "base/slice.h"
#include "base/stream_options.h"
#include "emit/batch_stats.h"
#include "emit/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The batching engine: fewer and larger messages without losing, changing or noticeably delaying
 * anything. One engine serves two stages that differ only in their options:
 *
 *   chunks ─► ADAPTER (size, sentence, time) ─► BUSINESS (boundaries, tool-call gate) ─► writer
 *
 * Chaining is the first one's emit calling the second one's push (emit/chain.h does it).
 *
 *   per choice:   IDLE ──text──► FILLING ──trigger, barrier──► IDLE
 *                                  └─ soft trigger while blocked ─► DEFERRED ──drain──► IDLE
 *
 * What may be relied on:
 * - per choice and channel the joined text that leaves is the joined text that came; a delta is
 *   never split; order is kept, except that text may overtake a held tool call;
 * - a chunk that leaves alone and unchanged leaves as its own bytes, without allocation;
 * - findings that the guard attached leave with their text, each once;
 * - text waits at most max_latency_ms while the downstream takes bytes; two stages one after the
 *   other at most the sum of theirs, with `hold_from: first_text` at most the larger;
 * - a batch of several deltas has at most max_batch_bytes of text, however long it had to wait;
 * - memory is bounded: push answers FULL at max_stream_buffer_bytes, unless held tool calls can
 *   make room by leaving in pieces.
 *
 * The engine does no I/O and reads no clock: `now_ms` comes with each call and never goes back (an
 * earlier value counts as the latest seen). Timers that are due fire first, whatever the call.
 * The options' lists are borrowed and must outlive the engine.
 */

enum weir_batch_stage { WEIR_BATCH_ADAPTER, WEIR_BATCH_BUSINESS };

struct weir_batch_fields {
    const struct weir_slice *names;
    size_t n;
};

struct weir_batch_options {
    enum weir_batch_stage stage;
    enum weir_batch_mode mode;
    bool first_emit_immediate;
    bool flush_on_tool_call; /* where the gate is off */
    enum weir_batch_role role_policy;
    enum weir_batch_obfuscation obfuscation;
    struct weir_batch_fields latest_wins;
    struct weir_batch_fields append_arrays;
    uint32_t max_latency_ms;  /* business: max_hold_ms */
    uint32_t max_batch_bytes; /* of text; only a single delta may be larger */
    uint64_t max_stream_buffer_bytes;
    uint32_t max_choices;    /* chunks of further choices pass as they are */
    uint32_t max_tool_calls; /* per choice; calls beyond it pass as they are */

    /* adapter */
    uint32_t min_chars_per_emit;
    uint32_t reasoning_min_chars;      /* or WEIR_BATCH_INHERIT */
    uint32_t reasoning_max_latency_ms; /* or WEIR_BATCH_INHERIT */
    uint32_t idle_flush_ms;            /* 0: off; or WEIR_BATCH_IDLE_AUTO */
    bool flush_on_sentence;
    uint32_t ramp_factor; /* 0: off */
    uint32_t ramp_initial_chars;

    /* business */
    enum weir_batch_hold hold_from;
    uint32_t min_delta_chars;
    uint32_t max_partial_count; /* 0: no limit */
    enum weir_batch_boundary boundary;
    enum weir_batch_gate tool_call_gate;
    bool tool_gate_emit_head;
    uint32_t max_tool_args_bytes;
    uint32_t max_tool_hold_ms;
    enum weir_batch_drop on_incomplete;
    enum weir_batch_drop tool_gate_on_abort;
    enum weir_batch_index tool_index_policy;
};

/* The defaults of a stage; its mode is off. */
struct weir_batch_options weir_batch_defaults(enum weir_batch_stage stage);

/* 0, or WEIR_EINVAL and in `*why` what is wrong, naming the key. */
int weir_batch_check(const struct weir_batch_options *o, const char **why);

/*
 * Called for everything that leaves: chunks, comments and, in their place, the ends. Must not call
 * the engine, but for weir_batch_blocked.
 */
typedef void (*weir_batch_emit_fn)(void *ctx, enum weir_batch_reason why,
                                   const struct weir_event *e);

struct weir_batch; /* one per stream and stage */

struct weir_batch *weir_batch_new(const struct weir_batch_options *options, weir_batch_emit_fn emit,
                                  void *ctx);
void weir_batch_free(struct weir_batch *b);

/* Takes an event of any kind, the ends included. FULL: stop reading until is_full says no. */
enum weir_flow weir_batch_push(struct weir_batch *b, uint64_t now_ms, const struct weir_event *e);

/* For tests: the end without an event. */
void weir_batch_end(struct weir_batch *b, uint64_t now_ms, enum weir_event_kind how);

/* Fires what is due. False: no timer is needed. */
void weir_batch_tick(struct weir_batch *b, uint64_t now_ms);
bool weir_batch_next_deadline(const struct weir_batch *b, uint64_t *at_ms);

/* The downstream takes no more bytes, or takes them again (which sends what waited). Tick before
 * saying blocked, so that what was due has left; emit may say blocked at any time. */
void weir_batch_blocked(struct weir_batch *b, uint64_t now_ms, bool is_blocked);

/* At the ceiling; from there on until half of it. */
bool weir_batch_is_full(const struct weir_batch *b);
size_t weir_batch_buffered_bytes(const struct weir_batch *b);

const struct weir_batch_stats *weir_batch_stats(const struct weir_batch *b);

#endif
