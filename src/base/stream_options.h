#ifndef WEIR_BASE_STREAM_OPTIONS_H
#define WEIR_BASE_STREAM_OPTIONS_H

/*
 * Every setting of batching, coalescer and dedup, once. A row says all there is to say of a key:
 *
 *   conf/conf_stream.h     a field of the configuration           emit/batch.c       its default
 *   conf/conf_stream.c     the key, its range, its default        emit/override.c    what a request
 *   docs/streaming.md      a row of the manual: a test compares                      may set itself
 *                                                                 route/batching.c   the way there
 *
 * A new key is a row here and a member of the engine's options, where it is used.
 *
 *   NUMBER(key, member, default, least, most, who, manual)         a uint32_t
 *   AUTO  (key, member, default, least, most, who, manual)         the same, or the word auto
 *   FLAG  (key, member, default, who, manual)                      a bool
 *   WORD  (key, member, enum, default, who, manual)                an enum, and <ENUM>_WORDS
 *   LIST  (key, member, default, manual)                           names; default is one, or ""
 *
 * `key` is the name in the configuration, `member` that in the engine's options (emit/batch.h,
 * emit/dedup.h). `who` may set it: OPERATOR in the configuration only, REQUEST the caller too.
 */

#include <stdint.h>

enum weir_batch_mode {
    WEIR_BATCH_OFF,     /* nothing is parsed, only bytes and chunks are counted */
    WEIR_BATCH_METRICS, /* bytes untouched; a shadow that keeps no text counts `would` */
    WEIR_BATCH_ON,
};

enum weir_batch_role {
    WEIR_BATCH_ROLE_AUTO,     /* what the composer decided: kept where an input had it */
    WEIR_BATCH_ROLE_FIRST,    /* once per choice */
    WEIR_BATCH_ROLE_EVERY,    /* on every single-choice chunk with a delta */
    WEIR_BATCH_ROLE_VERBATIM, /* kept where an input had it */
};

enum weir_batch_obfuscation { WEIR_BATCH_OBFUSCATION_DROP, WEIR_BATCH_OBFUSCATION_REGENERATE };
enum weir_batch_boundary {
    WEIR_BATCH_BOUNDARY_NONE,
    WEIR_BATCH_BOUNDARY_SENTENCE,
    WEIR_BATCH_BOUNDARY_MARKDOWN,
};
enum weir_batch_gate {
    WEIR_BATCH_GATE_OFF,
    WEIR_BATCH_GATE_CLOSED, /* a call leaves when its object is closed */
    WEIR_BATCH_GATE_FINISH, /* calls leave when the choice finishes */
};
enum weir_batch_drop { WEIR_BATCH_RELEASE, WEIR_BATCH_DROP };
enum weir_batch_index { WEIR_BATCH_INDEX_VERBATIM, WEIR_BATCH_INDEX_REPAIR };
enum weir_batch_hold {
    WEIR_BATCH_HOLD_OWN,        /* max_latency_ms counts from when text comes to this stage */
    WEIR_BATCH_HOLD_FIRST_TEXT, /* from when it came to the stage before */
};
enum weir_dedup_mode {
    WEIR_DEDUP_OFF,
    WEIR_DEDUP_METRICS,
    WEIR_DEDUP_SAFE,
    WEIR_DEDUP_TEXT, /* unsafe: a model may repeat a line */
};

/* clang-format off */

/* The words of an enum in the order of its values. */
#define WEIR_WORDS_weir_batch_mode        "off", "metrics", "on"
#define WEIR_WORDS_weir_batch_role        "auto", "first", "every", "verbatim"
#define WEIR_WORDS_weir_batch_obfuscation "drop", "regenerate"
#define WEIR_WORDS_weir_batch_boundary    "none", "sentence", "markdown"
#define WEIR_WORDS_weir_batch_gate        "off", "closed", "finish"
#define WEIR_WORDS_weir_batch_drop        "release", "drop"
#define WEIR_WORDS_weir_batch_index       "verbatim", "repair"
#define WEIR_WORDS_weir_batch_hold        "own", "first_text"
#define WEIR_WORDS_weir_dedup_mode        "off", "metrics", "safe", "text"

/* streaming.batching: when a batch leaves. */
#define WEIR_STREAM_PACE(NUMBER, AUTO, FLAG, WORD)                                                 \
    WORD(mode, mode, weir_batch_mode, WEIR_BATCH_OFF, REQUEST,                                     \
        "`off`, `metrics` (counts what it would do, touches nothing), `on`")                       \
    NUMBER(min_chars_per_emit, min_chars_per_emit, 120, 1, 65536, REQUEST,                         \
        "a batch leaves at this many code points")                                                 \
    NUMBER(max_latency_ms, max_latency_ms, 200, 0, 10000, REQUEST,                                 \
        "and at this age at the latest; 0 lets every event leave at once")                         \
    AUTO(idle_flush_ms, idle_flush_ms, 0, 0, 10000, REQUEST,                                       \
        "and after a pause this long; 0 is off, and it is never more than `max_latency_ms`. Keep " \
        "it above the gap between two tokens, or every token leaves alone; or write `auto`: twice "\
        "the running mean of the gaps, from 20 ms to half of `max_latency_ms`")                    \
    FLAG(flush_on_sentence, flush_on_sentence, true, REQUEST,                                      \
        "and at the end of a sentence or a line")                                                  \
    FLAG(flush_on_tool_call, flush_on_tool_call, true, REQUEST,                                    \
        "and before a tool call")                                                                  \
    FLAG(first_emit_immediate, first_emit_immediate, true, REQUEST,                                \
        "the first text of each choice and channel does not wait")                                 \
    NUMBER(ramp_factor, ramp_factor, 0, 0, 65536, REQUEST,                                         \
        "from 2 on, the k-th batch needs `ramp_initial_chars` × `ramp_factor`^k code points "      \
        "until that is `min_chars_per_emit`: quick first, then calm; 0 is off")                    \
    NUMBER(ramp_initial_chars, ramp_initial_chars, 1, 1, 65536, REQUEST,                           \
        "see `ramp_factor`")                                                                       \
    WORD(role_policy, role_policy, weir_batch_role, WEIR_BATCH_ROLE_AUTO, OPERATOR,                \
        "which events carry `role`: as they came (`auto`, `verbatim`), `first`, `every`")

/* streaming.batching, too: how events are joined, in both stages. */
#define WEIR_STREAM_JOINING(NUMBER, FLAG, WORD, LIST)                                              \
    WORD(obfuscation, obfuscation, weir_batch_obfuscation, WEIR_BATCH_OBFUSCATION_DROP, OPERATOR,  \
        "padding on joined events: `drop`, or `regenerate` to the next multiple of 32 bytes")      \
    LIST(latest_wins_fields, latest_wins, "",                                                      \
        "unknown members of which the last counts; otherwise one that changes ends the batch")     \
    LIST(append_array_fields, append_arrays, "token_ids",                                          \
        "unknown members that are lists and are joined")                                           \
    NUMBER(max_batch_bytes, max_batch_bytes, 65536, 1024, 16777216, OPERATOR,                      \
        "most bytes of text in one batch, and of findings, also after a slow reader; only a "      \
        "single event of the model may be larger")

/* streaming.batching.reasoning: each is that of batching where it is not given. */
#define WEIR_STREAM_REASONING(NUMBER)                                                              \
    NUMBER(min_chars_per_emit, reasoning_min_chars, WEIR_BATCH_INHERIT, 1, 65536, REQUEST,         \
        "as above, of reasoning text")                                                             \
    NUMBER(max_latency_ms, reasoning_max_latency_ms, WEIR_BATCH_INHERIT, 0, 10000, REQUEST,        \
        "as above, of reasoning text")

/* streaming.coalescer */
#define WEIR_STREAM_COALESCER(NUMBER, FLAG, WORD)                                                  \
    WORD(mode, mode, weir_batch_mode, WEIR_BATCH_OFF, OPERATOR,                                    \
        "`off`, `metrics` (counts what it would do, touches nothing), `on`")                       \
    NUMBER(min_delta_chars, min_delta_chars, 40, 1, 65536, OPERATOR,                               \
        "a batch leaves at the first boundary behind this many code points")                       \
    WORD(boundary, boundary, weir_batch_boundary, WEIR_BATCH_BOUNDARY_MARKDOWN, OPERATOR,          \
        "`sentence`: its end or a line's; `markdown`: the same, but inside a code fence only a "   \
        "line's; `none`: nowhere")                                                                 \
    NUMBER(max_partial_count, max_partial_count, 8, 0, 1000000, OPERATOR,                          \
        "and after this many events; 0 is no limit")                                               \
    NUMBER(max_hold_ms, max_latency_ms, 400, 0, 10000, OPERATOR,                                   \
        "and at this age at the latest")                                                           \
    WORD(hold_from, hold_from, weir_batch_hold, WEIR_BATCH_HOLD_FIRST_TEXT, OPERATOR,              \
        "from when that age counts: `first_text`, when text came to batching, so that with both "  \
        "stages on it waits for the longer of the two times and not for their sum; `own`, when "   \
        "it left batching")                                                                        \
    FLAG(first_emit_immediate, first_emit_immediate, true, OPERATOR,                               \
        "the first text of each choice and channel does not wait")                                 \
    FLAG(flush_on_tool_call, flush_on_tool_call, true, OPERATOR,                                   \
        "a batch leaves before a tool call; only where the gate is off")                           \
    WORD(role_policy, role_policy, weir_batch_role, WEIR_BATCH_ROLE_AUTO, OPERATOR,                \
        "as above")                                                                                \
    WORD(tool_call_gate, tool_call_gate, weir_batch_gate, WEIR_BATCH_GATE_CLOSED, OPERATOR,        \
        "`closed`: a call leaves when its object is closed; `finish`: with the finish reason "     \
        "(always so where detectors look at tool calls); `off`")                                   \
    FLAG(tool_gate_emit_head, tool_gate_emit_head, false, OPERATOR,                                \
        "id and name leave ahead of the arguments")                                                \
    NUMBER(max_tool_args_bytes, max_tool_args_bytes, 65536, 1, 16777216, OPERATOR,                 \
        "a larger call leaves in pieces")                                                          \
    NUMBER(max_tool_hold_ms, max_tool_hold_ms, 30000, 1, 3600000, OPERATOR,                        \
        "and so does an older one, and calls that together fill `max_stream_buffer_bytes`")        \
    WORD(on_incomplete, on_incomplete, weir_batch_drop, WEIR_BATCH_RELEASE, OPERATOR,              \
        "finished, but no valid JSON: `release` it as it came, or `drop` it. It is never repaired")\
    WORD(tool_gate_on_abort, tool_gate_on_abort, weir_batch_drop, WEIR_BATCH_DROP, OPERATOR,       \
        "held when the stream breaks off: `drop` or `release`")                                    \
    WORD(tool_index_policy, tool_index_policy, weir_batch_index, WEIR_BATCH_INDEX_VERBATIM,        \
        OPERATOR,                                                                                  \
        "two calls under one index: `verbatim`, or `repair` (the second gets a new one)")

/* streaming.dedup */
#define WEIR_STREAM_DEDUP(NUMBER, WORD)                                                            \
    WORD(mode, mode, weir_dedup_mode, WEIR_DEDUP_OFF, OPERATOR,                                    \
        "`off`, `metrics` (only counts), `safe`, `text`")                                          \
    NUMBER(window, window, 8, 1, 1024, OPERATOR,                                                   \
        "events of a stream that are remembered")                                                  \
    NUMBER(min_chars, min_chars, 32, 1, 65536, OPERATOR,                                           \
        "`text`: shorter text is never dropped")

/* clang-format on */

#define WEIR_BATCH_INHERIT UINT32_MAX   /* reasoning limits: the same as for other text */
#define WEIR_BATCH_IDLE_AUTO UINT32_MAX /* idle_flush_ms: by the pace of the stream */

#endif
