/*
 * What the batching stages promise, on random streams under random settings: nothing lost, doubled,
 * split or reordered; no text late; merged chunks of one choice and one channel; memory given back;
 * and a stage in metrics mode counts exactly what the same stage does when it is on.
 */
#include "emit/chain.h"
#include "unit/cmocka_all.h"
#include "unit/emit/founds.h"
#include "unit/emit/ledger.h"
#include "unit/emit/script.h"

enum { STREAMS = 1500, SERIALS_MOST = 512 };

struct run {
    const struct script *script;
    struct weir_chain *chain;
    struct ledger in;
    struct ledger out;
    size_t text_before[SERIALS_MOST]; /* text bytes that came before a usage chunk */
    bool is_ended;
    bool is_strict; /* look at the shape of merged chunks */
    struct weir_buf emitted;
    struct founds *found_in; /* of guarded streams */
    struct founds *found_out;
};

static void assert_indices_once(const struct weir_json *j, uint32_t calls)
{
    uint32_t seen = 0;
    for (uint32_t c = weir_json_first(j, calls); c != WEIR_JSON_NONE;
         c = weir_json_after(j, calls, c)) {
        uint64_t index;
        assert_int_equal(weir_json_u64(j, weir_json_get(j, c, WEIR_SLICE("index")), &index), 0);
        assert_true((seen >> index & 1) == 0);
        seen |= UINT32_C(1) << index;
    }
}

static void assert_one_view(struct weir_slice data)
{
    static const char *const channels[] = {"content", "refusal", "reasoning_content"};
    struct weir_json j;
    struct weir_arena arena = {0};
    assert_int_equal(weir_json_parse(&j, data, NULL, &arena, NULL), 0);
    uint32_t choices = weir_json_get(&j, 0, WEIR_SLICE("choices"));
    assert_int_equal(j.nodes[choices].n, 1);
    uint32_t delta = weir_json_get_set(&j, choices + 1, WEIR_SLICE("delta"));
    unsigned n_channels = 0;
    for (size_t i = 0; i < 3; i++) {
        uint32_t at = weir_json_get_set(&j, delta, weir_slice_cstr(channels[i]));
        n_channels += at != WEIR_JSON_NONE && j.nodes[at].n != 0;
    }
    uint32_t calls = weir_json_get_set(&j, delta, WEIR_SLICE("tool_calls"));
    n_channels += calls != WEIR_JSON_NONE;
    assert_true(n_channels <= 1);
    if (calls != WEIR_JSON_NONE) {
        assert_indices_once(&j, calls);
    }
    weir_arena_dispose(&arena);
}

/* A usage chunk may not overtake text, nor be overtaken. */
static void assert_in_place(struct run *r, struct weir_slice data)
{
    const char *serial = memmem(data.p, data.n, "\"serial\":", 9);
    if (serial != NULL) {
        unsigned long n = strtoul(serial + 9, NULL, 10);
        assert_true(n < SERIALS_MOST);
        assert_int_equal(r->out.n_text_bytes, r->text_before[n]);
    }
}

static void on_emit(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    struct run *r = ctx;
    assert_false(r->is_ended);
    r->is_ended = e->kind == WEIR_EVENT_DONE;
    if (e->kind != WEIR_EVENT_CHUNK) {
        return;
    }
    assert_in_place(r, e->data);
    ledger_add(&r->out, e->data, e->at_ms);
    if (r->found_out != NULL) {
        founds_add(r->found_out, &r->out, e->data);
    }
    (void)weir_buf_append(&r->emitted, e->data);
    if (r->is_strict && why != WEIR_BATCH_PASSTHROUGH && why != WEIR_BATCH_ROLE) {
        assert_one_view(e->data);
    }
}

static void note_input(struct run *r, struct weir_slice data, uint64_t t)
{
    const char *serial = memmem(data.p, data.n, "\"usage\":{\"serial\":", 18);
    if (serial != NULL) {
        unsigned long n = strtoul(serial + 18, NULL, 10);
        assert_true(n < SERIALS_MOST);
        r->text_before[n] = r->in.n_text_bytes;
    }
    ledger_add(&r->in, data, t);
    if (r->found_in != NULL) {
        founds_add(r->found_in, &r->in, data);
    }
}

static void play(struct run *r, const struct weir_chain_options *o)
{
    r->chain = weir_chain_new(o, on_emit, r);
    for (size_t i = 0; i < r->script->n; i++) {
        const struct script_item *item = &r->script->items[i];
        uint64_t at;
        if (item->kind != SCRIPT_EVENT) {
            weir_chain_blocked(r->chain, item->t, item->kind == SCRIPT_BLOCKED);
            continue;
        }
        /* Half of the time the timer is on time, otherwise the next event makes it up. */
        if (i % 2 == 0 && weir_chain_next_deadline(r->chain, &at) && at <= item->t) {
            weir_chain_tick(r->chain, at);
        }
        struct weir_event e = {.kind = item->event,
                               .is_guarded = item->is_guarded,
                               .n_said = item->n_said,
                               .choice = item->choice};
        e.data = weir_slice_make(r->script->bytes.p + item->from, item->n);
        if (e.kind == WEIR_EVENT_CHUNK) {
            note_input(r, e.data, item->t);
        }
        weir_chain_push(r->chain, item->t, &e);
    }
}

static void finish(struct run *r)
{
    weir_chain_free(r->chain);
    ledger_dispose(&r->in);
    ledger_dispose(&r->out);
    weir_buf_dispose(&r->emitted);
}

static struct weir_chain_options random_options(struct script *s)
{
    struct weir_chain_options o = {
        .adapter = weir_batch_defaults(WEIR_BATCH_ADAPTER),
        .business = weir_batch_defaults(WEIR_BATCH_BUSINESS),
        .dedup = weir_dedup_defaults(),
    };
    unsigned stages = 1 + script_pick(s, 3);
    o.adapter.mode = (stages & 1) != 0 ? WEIR_BATCH_ON : WEIR_BATCH_OFF;
    o.business.mode = (stages & 2) != 0 ? WEIR_BATCH_ON : WEIR_BATCH_OFF;
    o.dedup.mode = script_pick(s, 2) == 0 ? WEIR_DEDUP_METRICS : WEIR_DEDUP_OFF;
    o.adapter.min_chars_per_emit = 1 + script_pick(s, 60);
    o.adapter.max_latency_ms = script_pick(s, 4) == 0 ? 0 : script_pick(s, 150);
    const uint32_t idle_ms[] = {0, o.adapter.max_latency_ms / 3, WEIR_BATCH_IDLE_AUTO};
    o.adapter.idle_flush_ms = idle_ms[script_pick(s, 3)];
    o.adapter.flush_on_sentence = script_pick(s, 2) == 0;
    o.adapter.flush_on_tool_call = script_pick(s, 2) == 0;
    o.adapter.first_emit_immediate = script_pick(s, 2) == 0;
    o.adapter.ramp_factor = script_pick(s, 3) == 0 ? 3 : 0;
    o.adapter.max_batch_bytes = script_pick(s, 3) == 0 ? 20 : 65536;
    o.adapter.role_policy = (enum weir_batch_role)script_pick(s, 4);
    o.business.role_policy = (enum weir_batch_role)script_pick(s, 4);
    o.business.min_delta_chars = script_pick(s, 30);
    o.business.max_partial_count = script_pick(s, 5);
    o.business.boundary = (enum weir_batch_boundary)script_pick(s, 3);
    o.business.max_latency_ms = script_pick(s, 200);
    o.business.hold_from = (enum weir_batch_hold)script_pick(s, 2);
    o.business.first_emit_immediate = script_pick(s, 2) == 0;
    o.business.tool_call_gate = (enum weir_batch_gate)script_pick(s, 3);
    o.business.tool_gate_emit_head = script_pick(s, 2) == 0;
    o.business.max_tool_args_bytes = script_pick(s, 3) == 0 ? 6 : 65536;
    o.business.max_tool_hold_ms = script_pick(s, 3) == 0 ? 60 : 30000;
    o.business.flush_on_tool_call = script_pick(s, 2) == 0;
    return o;
}

static void assert_lossless(struct run *r)
{
    const char *wrong = ledger_compare(&r->in, &r->out, true);
    if (wrong != NULL) {
        print_message("%s\n", wrong);
    }
    assert_null(wrong);
    for (uint64_t choice = 0; choice < 3; choice++) {
        assert_true(ledger_same_runs(&r->in, &r->out, choice));
    }
}

static void streams_are_lossless_and_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= STREAMS; seed++) {
        struct script s;
        script_make(&s, seed, seed % 2 == 0, false);
        struct weir_chain_options o = random_options(&s);
        struct run r = {.script = &s, .is_strict = true};
        play(&r, &o);
        assert_true(r.is_ended);
        assert_lossless(&r);
        assert_int_equal(weir_chain_buffered_bytes(r.chain), 0);
        assert_false(weir_chain_is_full(r.chain));
        finish(&r);
        script_dispose(&s);
    }
}

/* What the gate may drop, and counts. */
static bool has_dropped(const struct weir_chain *chain)
{
    const struct weir_batch_stats *stats = weir_chain_stats(chain, WEIR_BATCH_BUSINESS);
    return stats != NULL &&
           (stats->live.tool_trailing_space != 0 || stats->live.tool_dup_dropped != 0);
}

static void calls_that_make_no_sense_are_not_lost(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2 * STREAMS; seed++) {
        struct script s;
        script_make(&s, seed, seed % 3 == 0, true);
        struct weir_chain_options o = random_options(&s);
        o.adapter.max_tool_calls = o.business.max_tool_calls = 1 + script_pick(&s, 4);
        struct run r = {.script = &s, .is_strict = true};
        play(&r, &o);
        assert_true(r.is_ended);
        bool with_tools = !has_dropped(r.chain);
        const char *wrong = ledger_compare(&r.in, &r.out, with_tools);
        if (wrong != NULL) {
            print_message("seed %llu: %s\n", (unsigned long long)seed, wrong);
        }
        assert_null(wrong);
        assert_int_equal(weir_chain_buffered_bytes(r.chain), 0);
        finish(&r);
        script_dispose(&s);
    }
}

static void text_is_never_late(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= STREAMS / 2; seed++) {
        struct script s;
        script_make(&s, seed, false, false);
        struct weir_chain_options o = random_options(&s);
        struct run r = {.script = &s};
        play(&r, &o);
        uint64_t adapter_ms = o.adapter.mode == WEIR_BATCH_ON ? o.adapter.max_latency_ms : 0;
        uint64_t business_ms = o.business.mode == WEIR_BATCH_ON ? o.business.max_latency_ms : 0;
        uint64_t larger_ms = adapter_ms > business_ms ? adapter_ms : business_ms;
        bool is_shared = o.business.hold_from == WEIR_BATCH_HOLD_FIRST_TEXT;
        uint64_t most = is_shared ? larger_ms : adapter_ms + business_ms;
        for (size_t i = 0; i < r.in.n; i++) {
            const struct ledger_entry *a = &r.in.entries[i];
            const struct ledger_entry *b = ledger_find(&r.out, a->choice, a->channel, a->tool);
            if (a->channel != 'a' && b != NULL) {
                assert_in_range(ledger_longest_wait(a, b), 0, most);
            }
        }
        finish(&r);
        script_dispose(&s);
    }
}

static void an_idle_chain_is_byte_for_byte(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= STREAMS / 4; seed++) {
        struct script s;
        script_make(&s, seed, false, false);
        struct weir_chain_options o = random_options(&s);
        o.adapter.mode = o.adapter.mode == WEIR_BATCH_ON ? WEIR_BATCH_METRICS : WEIR_BATCH_OFF;
        o.business.mode = o.business.mode == WEIR_BATCH_ON ? WEIR_BATCH_METRICS : WEIR_BATCH_OFF;
        struct run r = {.script = &s};
        play(&r, &o);
        assert_int_equal(r.emitted.n, s.bytes.n);
        assert_memory_equal(r.emitted.p, s.bytes.p, s.bytes.n);
        finish(&r);
        script_dispose(&s);
    }
}

/* With nothing to wait for, a chunk of one choice passes as its own bytes or is absorbed. */
static void chunks_alone_are_their_own_bytes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= STREAMS / 4; seed++) {
        struct script s;
        script_make(&s, seed, false, false);
        struct weir_chain_options o = random_options(&s);
        o.adapter.mode = WEIR_BATCH_ON;
        o.business.mode = WEIR_BATCH_OFF;
        o.adapter.max_latency_ms = 0;
        o.adapter.role_policy = WEIR_BATCH_ROLE_VERBATIM;
        struct run r = {.script = &s};
        play(&r, &o);
        size_t at = 0;
        for (size_t i = 0; i < s.n && at < r.emitted.n; i++) {
            const char *bytes = s.bytes.p + s.items[i].from;
            size_t n = s.items[i].n;
            bool is_split = n != 0 && memmem(bytes, n, "},{\"index\"", 10) != NULL;
            if (is_split) {
                break; /* pieces are not the bytes of anything that came */
            }
            if (n != 0 && r.emitted.n - at >= n && memcmp(r.emitted.p + at, bytes, n) == 0) {
                at += n;
            } else if (n != 0) {
                assert_true(memmem(bytes, n, "null}", 5) != NULL ||
                            memmem(bytes, n, "\"\"", 2) != NULL);
            }
        }
        finish(&r);
        script_dispose(&s);
    }
}

static void assert_same_counts(const struct weir_batch_counts *on,
                               const struct weir_batch_counts *would)
{
    for (size_t i = 0; i < WEIR_BATCH_REASONS; i++) {
        if (on->flush[i] != would->flush[i]) {
            print_message("%s: on %llu, metrics %llu\n",
                          weir_batch_reason_text((enum weir_batch_reason)i),
                          (unsigned long long)on->flush[i], (unsigned long long)would->flush[i]);
        }
        assert_int_equal(on->flush[i], would->flush[i]);
    }
    assert_int_equal(on->chunks, would->chunks);
    assert_int_equal(on->chars, would->chars);
    assert_int_equal(on->flush_chars, would->flush_chars);
    assert_int_equal(on->absorbed_empty, would->absorbed_empty);
    assert_int_equal(on->post_finish_deltas, would->post_finish_deltas);
    assert_int_equal(on->opaque_chunks, would->opaque_chunks);
    assert_int_equal(on->tool_released, would->tool_released);
    assert_int_equal(on->tool_finished, would->tool_finished);
    assert_int_equal(on->tool_limited, would->tool_limited);
    assert_int_equal(on->tool_heads, would->tool_heads);
    assert_int_equal(on->tool_incomplete_attempts, would->tool_incomplete_attempts);
    assert_int_equal(on->tool_incomplete_released, would->tool_incomplete_released);
    assert_int_equal(on->tool_post_close, would->tool_post_close);
    assert_memory_equal(&on->hold_ms, &would->hold_ms, sizeof on->hold_ms);
}

static void metrics_counts_what_on_would_do(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= STREAMS; seed++) {
        struct script s;
        script_make(&s, seed, false, seed % 3 == 0);
        struct weir_chain_options o = random_options(&s);
        o.business.max_tool_calls = 1 + script_pick(&s, 8);
        enum weir_batch_stage stage = seed % 2 == 0 ? WEIR_BATCH_ADAPTER : WEIR_BATCH_BUSINESS;
        struct weir_batch_options *one = stage == WEIR_BATCH_ADAPTER ? &o.adapter : &o.business;
        o.business.mode = WEIR_BATCH_OFF; /* the adapter may be on before it */
        one->mode = WEIR_BATCH_ON;
        struct run on = {.script = &s};
        play(&on, &o);
        one->mode = WEIR_BATCH_METRICS;
        struct run shadow = {.script = &s};
        play(&shadow, &o);
        assert_same_counts(&weir_chain_stats(on.chain, stage)->live,
                           &weir_chain_stats(shadow.chain, stage)->would);
        assert_int_equal(weir_chain_buffered_bytes(shadow.chain), 0);
        finish(&on);
        finish(&shadow);
        script_dispose(&s);
    }
}

static void guarded_streams_lose_no_finding(void **state)
{
    (void)state;
    size_t n_in = 0;
    size_t n_out = 0;
    for (uint64_t seed = 1; seed <= 2 * STREAMS; seed++) {
        static struct founds in;
        static struct founds out;
        struct script s;
        script_make_guarded(&s, seed, seed % 2 == 0);
        struct weir_chain_options o = random_options(&s);
        struct run r = {.script = &s, .is_strict = true, .found_in = &in, .found_out = &out};
        play(&r, &o);
        assert_true(r.is_ended);
        assert_lossless(&r);
        founds_compare(&in, &out);
        assert_int_equal(weir_chain_buffered_bytes(r.chain), 0);
        n_in += weir_chain_counts(r.chain).raw_chunks;
        n_out += weir_chain_counts(r.chain).business_chunks;
        founds_dispose(&in);
        founds_dispose(&out);
        finish(&r);
        script_dispose(&s);
    }
    assert_true(n_out * 5 < n_in * 4); /* they are joined, and not only passed */
}

static void metrics_counts_what_guarded_streams_would_be(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= STREAMS; seed++) {
        struct script s;
        script_make_guarded(&s, seed, false);
        struct weir_chain_options o = random_options(&s);
        enum weir_batch_stage stage = seed % 2 == 0 ? WEIR_BATCH_ADAPTER : WEIR_BATCH_BUSINESS;
        struct weir_batch_options *one = stage == WEIR_BATCH_ADAPTER ? &o.adapter : &o.business;
        o.business.mode = WEIR_BATCH_OFF; /* the adapter may be on before it */
        one->max_batch_bytes = script_pick(&s, 3) == 0 ? 900 : 65536;
        one->mode = WEIR_BATCH_ON;
        struct run on = {.script = &s};
        play(&on, &o);
        one->mode = WEIR_BATCH_METRICS;
        struct run shadow = {.script = &s};
        play(&shadow, &o);
        assert_same_counts(&weir_chain_stats(on.chain, stage)->live,
                           &weir_chain_stats(shadow.chain, stage)->would);
        assert_int_equal(weir_chain_buffered_bytes(shadow.chain), 0);
        finish(&on);
        finish(&shadow);
        script_dispose(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_lossless_and_in_order),
        cmocka_unit_test(calls_that_make_no_sense_are_not_lost),
        cmocka_unit_test(text_is_never_late),
        cmocka_unit_test(an_idle_chain_is_byte_for_byte),
        cmocka_unit_test(chunks_alone_are_their_own_bytes),
        cmocka_unit_test(metrics_counts_what_on_would_do),
        cmocka_unit_test(guarded_streams_lose_no_finding),
        cmocka_unit_test(metrics_counts_what_guarded_streams_would_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
