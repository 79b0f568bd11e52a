/*
 * The batching stages under arbitrary events: no input may crash them, and under settings that lose
 * nothing, nothing may be lost, doubled, split or (within a channel) reordered.
 *
 * The first bytes are settings; then lines: `T` and a byte of time, `B` blocked, `D` drain, `#` a
 * comment, `K` and a byte a block of that choice, `G` and a byte a chunk of a guarded stream, of
 * whose model that much more is said, anything else a chunk. No finding may be lost or doubled.
 */
#include "emit/chain.h"
#include "emit/findings.h"
#include "unit/emit/ledger.h"
#include "vectors/batching_counters.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SETTINGS = 12 };

struct run {
    struct ledger in;
    struct ledger out;
    size_t n_found_in;
    size_t n_found_out;
    uint64_t n_said;
};

/* How many findings a chunk has, where they have the shape of a guard's. */
static size_t n_found(struct weir_slice data)
{
    struct weir_json j;
    struct weir_arena arena = {0};
    struct weir_findings_in in = {0};
    if (weir_json_parse(&j, data, NULL, &arena, NULL) == 0) {
        uint32_t choices = weir_json_get(&j, 0, WEIR_SLICE("choices"));
        if (choices != WEIR_JSON_NONE && weir_json_type(&j, choices) == WEIR_JSON_ARRAY) {
            weir_findings_read(&j, choices, &in);
        }
    }
    size_t n = in.is_there ? j.nodes[in.results].n : 0;
    weir_arena_dispose(&arena);
    return n;
}

static void on_emit(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    struct run *r = ctx;
    (void)why;
    if (e->kind == WEIR_EVENT_CHUNK) {
        ledger_add(&r->out, e->data, e->at_ms);
        r->n_found_out += n_found(e->data);
    }
}

static struct weir_chain_options settings(const uint8_t *s)
{
    struct weir_chain_options o = {
        .adapter = weir_batch_defaults(WEIR_BATCH_ADAPTER),
        .business = weir_batch_defaults(WEIR_BATCH_BUSINESS),
        .dedup = weir_dedup_defaults(),
    };
    o.adapter.mode = (enum weir_batch_mode)(s[0] % 3);
    o.business.mode = (enum weir_batch_mode)(s[0] / 3 % 3);
    o.dedup.mode = (s[0] & 64) != 0 ? WEIR_DEDUP_METRICS : WEIR_DEDUP_OFF;
    o.adapter.min_chars_per_emit = s[1] + 1u;
    o.adapter.max_latency_ms = s[2];
    o.adapter.idle_flush_ms = s[3] == UINT8_MAX ? WEIR_BATCH_IDLE_AUTO : s[3];
    o.adapter.flush_on_sentence = (s[4] & 1) != 0;
    o.adapter.flush_on_tool_call = (s[4] & 2) != 0;
    o.adapter.first_emit_immediate = (s[4] & 4) != 0;
    o.business.first_emit_immediate = (s[4] & 8) != 0;
    o.business.tool_gate_emit_head = (s[4] & 16) != 0;
    o.business.flush_on_tool_call = (s[4] & 32) != 0;
    o.adapter.obfuscation = (enum weir_batch_obfuscation)((s[4] & 64) != 0);
    o.adapter.role_policy = (enum weir_batch_role)(s[5] % 4);
    o.business.role_policy = (enum weir_batch_role)(s[5] / 4 % 4);
    o.business.hold_from = (enum weir_batch_hold)(s[5] / 128);
    o.adapter.ramp_factor = s[6] % 4 == 1 ? 0 : s[6] % 4;
    o.business.min_delta_chars = s[7];
    o.business.max_partial_count = s[8] % 8;
    o.business.boundary = (enum weir_batch_boundary)(s[8] / 8 % 3);
    o.business.tool_call_gate = (enum weir_batch_gate)(s[8] / 32 % 3);
    o.business.max_latency_ms = s[9];
    o.business.max_tool_args_bytes = s[10];
    o.business.max_tool_hold_ms = s[11] * 4u;
    o.adapter.max_choices = o.business.max_choices = 4;
    o.adapter.max_tool_calls = o.business.max_tool_calls = 3;
    o.adapter.max_batch_bytes = 200;
    return o;
}

static uint64_t counter(const struct weir_chain *chain, const char *name)
{
    uint64_t value = 0;
    (void)batching_counter(chain, weir_slice_cstr(name), &value);
    return value;
}

/* White space behind an object and calls that come again are dropped by the gate, and counted. */
static bool has_dropped(const struct weir_chain *chain)
{
    return counter(chain, "business.tool_trailing_space") != 0 ||
           counter(chain, "business.dedup_dropped.tool_id") != 0;
}

static void feed(struct run *r, struct weir_chain *chain, struct weir_slice line, uint64_t *now)
{
    struct weir_event e = {.kind = WEIR_EVENT_CHUNK, .data = line};
    uint64_t at;
    if (line.n == 2 && line.p[0] == 'T') {
        *now += (uint8_t)line.p[1];
        if (weir_chain_next_deadline(chain, &at) && at <= *now) {
            weir_chain_tick(chain, at);
        }
        return;
    }
    if (line.n == 1 && (line.p[0] == 'B' || line.p[0] == 'D')) {
        weir_chain_blocked(chain, *now, line.p[0] == 'B');
        return;
    }
    if (line.n == 2 && line.p[0] == 'K') {
        e = (struct weir_event){.kind = WEIR_EVENT_BLOCK, .choice = (uint8_t)line.p[1]};
    } else if (line.n != 0 && line.p[0] == '#') {
        e.kind = WEIR_EVENT_COMMENT;
    } else {
        if (line.n > 1 && line.p[0] == 'G') {
            r->n_said += (uint8_t)line.p[1] % 4;
            e.is_guarded = true;
            e.n_said = r->n_said;
            e.data = weir_slice_sub(line, 2, line.n);
        }
        ledger_add(&r->in, e.data, *now);
        r->n_found_in += n_found(e.data);
    }
    weir_chain_push(chain, *now, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < SETTINGS) {
        return 0;
    }
    struct weir_chain_options o = settings(data);
    struct run r = {0};
    struct weir_chain *chain = weir_chain_new(&o, on_emit, &r);
    struct weir_slice rest = weir_slice_make((const char *)data + SETTINGS, size - SETTINGS);
    uint64_t now = 0;
    while (rest.p != NULL) {
        feed(&r, chain, weir_slice_cut(&rest, '\n'), &now);
    }
    weir_chain_blocked(chain, now, false);
    struct weir_event e = {.kind = WEIR_EVENT_DONE};
    weir_chain_push(chain, now, &e);
    bool with_tools = !r.in.is_vague && !has_dropped(chain);
    const char *wrong = ledger_compare(&r.in, &r.out, with_tools);
    if (wrong == NULL && r.n_found_in != r.n_found_out) {
        wrong = "findings differ";
    }
    if (wrong == NULL && weir_chain_buffered_bytes(chain) != 0) {
        wrong = "bytes are left behind";
    }
    if (wrong != NULL) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
    weir_chain_free(chain);
    ledger_dispose(&r.in);
    ledger_dispose(&r.out);
    return 0;
}
