/* The streaming section: values, ranges, and which layer wins. */
#include "conf/conf_stream.h"
#include "unit/conf/conf_harness.h"

#define DEMO "openai: {builtin: demo}\n"

static void expect_streaming(const char *inside, const char *lines)
{
    char text[512];
    snprintf(text, sizeof text, DEMO "streaming:\n  %s\n", inside);
    expect(text, lines);
}

static void test_defaults(void **state)
{
    (void)state;
    struct loaded l = load_clean(DEMO);
    const struct weir_conf_streaming *s = &l.conf->streaming;
    const struct weir_conf_batching *b = &s->policy.batching;
    assert_int_equal(b->mode, WEIR_BATCH_OFF);
    assert_int_equal(b->min_chars_per_emit, 120);
    assert_int_equal(b->max_latency_ms, 200);
    assert_int_equal(b->idle_flush_ms, 0);
    assert_true(b->flush_on_sentence && b->flush_on_tool_call && b->first_emit_immediate);
    assert_int_equal(b->ramp_factor, 0);
    assert_int_equal(b->ramp_initial_chars, 1);
    assert_int_equal(b->role_policy, WEIR_BATCH_ROLE_AUTO);
    assert_int_equal(b->obfuscation, WEIR_BATCH_OBFUSCATION_DROP);
    assert_int_equal(b->latest_wins_fields.n, 0);
    assert_int_equal(b->append_array_fields.n, 1);
    assert_string_equal(b->append_array_fields.items[0].s.p, "token_ids");
    assert_int_equal(b->max_batch_bytes, 65536);
    const struct weir_conf_coalescer *c = &s->policy.coalescer;
    assert_int_equal(c->mode, WEIR_BATCH_OFF);
    assert_int_equal(c->min_delta_chars, 40);
    assert_int_equal(c->max_partial_count, 8);
    assert_int_equal(c->boundary, WEIR_BATCH_BOUNDARY_MARKDOWN);
    assert_int_equal(c->max_hold_ms, 400);
    assert_int_equal(c->hold_from, WEIR_BATCH_HOLD_FIRST_TEXT);
    assert_true(c->first_emit_immediate && c->flush_on_tool_call);
    assert_int_equal(c->tool_call_gate, WEIR_BATCH_GATE_CLOSED);
    assert_false(c->tool_gate_emit_head);
    assert_int_equal(c->max_tool_args_bytes, 65536);
    assert_int_equal(c->max_tool_hold_ms, 30000);
    assert_int_equal(c->on_incomplete, WEIR_BATCH_RELEASE);
    assert_int_equal(c->tool_gate_on_abort, WEIR_BATCH_DROP);
    assert_int_equal(c->tool_index_policy, WEIR_BATCH_INDEX_VERBATIM);
    assert_int_equal(s->policy.dedup.mode, WEIR_DEDUP_OFF);
    assert_int_equal(s->policy.dedup.window, 8);
    assert_int_equal(s->policy.dedup.min_chars, 32);
    assert_int_equal(s->heartbeat_ms, 15000);
    assert_int_equal(s->max_stream_buffer_bytes, 1048576);
    assert_true(s->request_override.enabled);
    assert_int_equal(s->request_override.max_latency_ms, 1000);
    assert_int_equal(s->request_override.min_chars_per_emit, 4096);
    drop(&l);
}

static void test_every_value(void **state)
{
    (void)state;
    struct loaded l = load_clean(
        DEMO
        "streaming:\n"
        "  batching: {mode: on, min_chars_per_emit: 65536, max_latency_ms: 10000,\n"
        "    idle_flush_ms: 10000, flush_on_sentence: false, flush_on_tool_call: false,\n"
        "    first_emit_immediate: false, ramp_factor: 2, ramp_initial_chars: 3,\n"
        "    reasoning: {min_chars_per_emit: 4, max_latency_ms: 5}, role_policy: verbatim,\n"
        "    obfuscation: regenerate, latest_wins_fields: [timings, x],\n"
        "    append_array_fields: [], max_batch_bytes: 1024}\n"
        "  coalescer: {mode: metrics, min_delta_chars: 6, max_partial_count: 0, boundary: none,\n"
        "    max_hold_ms: 7, hold_from: own, first_emit_immediate: false, flush_on_tool_call: "
        "false,\n"
        "    role_policy: every, tool_call_gate: finish, tool_gate_emit_head: true,\n"
        "    max_tool_args_bytes: 8, max_tool_hold_ms: 9, on_incomplete: drop,\n"
        "    tool_gate_on_abort: release, tool_index_policy: repair}\n"
        "  dedup: {mode: text, window: 10, min_chars: 11}\n"
        "  heartbeat_ms: 0\n"
        "  max_stream_buffer_bytes: 4096\n"
        "  request_override: {enabled: false, max_latency_ms: 12, min_chars_per_emit: 13}\n");
    const struct weir_conf_streaming *s = &l.conf->streaming;
    const struct weir_conf_batching *b = &s->policy.batching;
    assert_int_equal(b->mode, WEIR_BATCH_ON);
    assert_int_equal(b->min_chars_per_emit, 65536);
    assert_int_equal(b->max_latency_ms, 10000);
    assert_int_equal(b->idle_flush_ms, 10000);
    assert_false(b->flush_on_sentence || b->flush_on_tool_call || b->first_emit_immediate);
    assert_int_equal(b->ramp_factor, 2);
    assert_int_equal(b->ramp_initial_chars, 3);
    assert_int_equal(b->reasoning.min_chars_per_emit, 4);
    assert_int_equal(b->reasoning.max_latency_ms, 5);
    assert_int_equal(b->role_policy, WEIR_BATCH_ROLE_VERBATIM);
    assert_int_equal(b->obfuscation, WEIR_BATCH_OBFUSCATION_REGENERATE);
    assert_int_equal(b->latest_wins_fields.n, 2);
    assert_string_equal(b->latest_wins_fields.items[1].s.p, "x");
    assert_int_equal(b->append_array_fields.n, 0);
    assert_int_equal(b->max_batch_bytes, 1024);
    assert_int_equal(b->at.line, 3);
    const struct weir_conf_coalescer *c = &s->policy.coalescer;
    assert_int_equal(c->mode, WEIR_BATCH_METRICS);
    assert_int_equal(c->min_delta_chars, 6);
    assert_int_equal(c->max_partial_count, 0);
    assert_int_equal(c->boundary, WEIR_BATCH_BOUNDARY_NONE);
    assert_int_equal(c->max_hold_ms, 7);
    assert_false(c->first_emit_immediate || c->flush_on_tool_call);
    assert_int_equal(c->role_policy, WEIR_BATCH_ROLE_EVERY);
    assert_int_equal(c->tool_call_gate, WEIR_BATCH_GATE_FINISH);
    assert_true(c->tool_gate_emit_head);
    assert_int_equal(c->max_tool_args_bytes, 8);
    assert_int_equal(c->max_tool_hold_ms, 9);
    assert_int_equal(c->on_incomplete, WEIR_BATCH_DROP);
    assert_int_equal(c->tool_gate_on_abort, WEIR_BATCH_RELEASE);
    assert_int_equal(c->tool_index_policy, WEIR_BATCH_INDEX_REPAIR);
    assert_int_equal(s->policy.dedup.mode, WEIR_DEDUP_TEXT);
    assert_int_equal(s->policy.dedup.window, 10);
    assert_int_equal(s->policy.dedup.min_chars, 11);
    assert_int_equal(s->heartbeat_ms, 0);
    assert_int_equal(s->max_stream_buffer_bytes, 4096);
    assert_int_equal(l.conf->limits.max_stream_buffer_bytes, 4096);
    assert_false(s->request_override.enabled);
    assert_int_equal(s->request_override.max_latency_ms, 12);
    assert_int_equal(s->request_override.min_chars_per_emit, 13);
    drop(&l);
}

/* Tools that speak YAML 1.1 turn off into false on the way to us. */
static void test_off_as_false(void **state)
{
    (void)state;
    struct loaded l = load_clean(DEMO "streaming:\n"
                                      "  batching: {mode: true}\n"
                                      "  coalescer: {mode: false, tool_call_gate: false}\n");
    assert_int_equal(l.conf->streaming.policy.batching.mode, WEIR_BATCH_ON);
    assert_int_equal(l.conf->streaming.policy.coalescer.mode, WEIR_BATCH_OFF);
    assert_int_equal(l.conf->streaming.policy.coalescer.tool_call_gate, WEIR_BATCH_GATE_OFF);
    drop(&l);
    expect_streaming("coalescer: {tool_call_gate: true}",
                     "c.yaml:3: error: `tool_call_gate` must be `off`, `closed` or `finish`, not "
                     "`true`\n");
}

static void test_ranges(void **state)
{
    (void)state;
    expect_streaming(
        "batching: {min_chars_per_emit: 0}",
        "c.yaml:3: error: `min_chars_per_emit` must be an integer from 1 to 65536, not "
        "the number `0`\n");
    expect_streaming(
        "batching: {max_latency_ms: 10001}",
        "c.yaml:3: error: `max_latency_ms` must be an integer from 0 to 10000, not the "
        "number `10001`\n");
    expect_streaming("batching: {idle_flush_ms: 201}",
                     "c.yaml:3: error: `idle_flush_ms` (201) must not exceed `max_latency_ms` "
                     "(200)\n");
    expect_streaming("batching: {idle_flush_ms: soon}",
                     "c.yaml:3: error: `idle_flush_ms` must be an integer from 0 to 10000 or "
                     "`auto`, not the text `soon`\n");
    expect_streaming("batching: {max_latency_ms: auto}",
                     "c.yaml:3: error: `max_latency_ms` must be an integer from 0 to 10000, not "
                     "the text `auto`\n");
    expect_streaming("models: {m: {max_tokens: {default: 9, cap: 8}}}",
                     "c.yaml:3: error: `max_tokens.default` (9) must not exceed `cap` (8)\n");
    expect_streaming(
        "models: {m: {max_tokens: {cap: 0}}}",
        "c.yaml:3: error: `cap` must be an integer from 1 to 1000000000, not the number `0`\n");
    expect_streaming("batching: {mode: on, max_latency_ms: 0}", "");
    expect_streaming("batching: {ramp_factor: 1}",
                     "c.yaml:3: error: `ramp_factor` must be 0 or at least 2\n");
    expect_streaming("batching: {flush_on_sentense: true}",
                     "c.yaml:3: error: unknown key `flush_on_sentense`; did you mean "
                     "`flush_on_sentence`?\n");
    expect_streaming("batching: {latest_wins_fields: timings}",
                     "c.yaml:3: error: `latest_wins_fields` must be a list, not the text "
                     "`timings`\n");
    expect_streaming("batching: {latest_wins_fields: [a, 5, '']}",
                     "c.yaml:3: error: `latest_wins_fields` must be a text, not the number `5`\n"
                     "c.yaml:3: error: `latest_wins_fields` must not be empty\n");
    expect_streaming("dedup: {mode: unsafe}",
                     "c.yaml:3: error: `mode` must be `off`, `metrics`, `safe` or `text`, not "
                     "`unsafe`; did you mean `safe`?\n");
    expect_streaming("models: {m: {dedup: {mode: safe}}}",
                     "c.yaml:3: error: unknown key `dedup`; known keys: `batching`, `coalescer`, "
                     "`max_tokens`\n");
    expect_streaming("models: {m: 5}", "c.yaml:3: error: `m` must be a mapping, not the number "
                                       "`5`\n");
    expect_streaming("models: {'': {}}", "c.yaml:3: error: a model pattern has 1 to 256 bytes\n");
}

static void test_layers_are_checked_together(void **state)
{
    (void)state;
    expect(DEMO "streaming:\n"
                "  batching: {idle_flush_ms: 100}\n"
                "  models:\n"
                "    fast: {batching: {max_latency_ms: 80}}\n"
                "routes:\n"
                "  - {name: r, unguarded: true, streaming: {batching: {max_latency_ms: 99}}}\n",
           "c.yaml:5: error: `idle_flush_ms` (100) must not exceed `max_latency_ms` (80) for model "
           "`fast`\n"
           "c.yaml:7: error: `idle_flush_ms` (100) must not exceed `max_latency_ms` (99) for route "
           "`r`\n");
    /* Each is fine alone. */
    expect(DEMO "streaming:\n"
                "  models:\n"
                "    fast: {batching: {max_latency_ms: 80}}\n"
                "routes:\n"
                "  - {name: r, unguarded: true, streaming: {batching: {idle_flush_ms: 90}}}\n",
           "c.yaml:4: error: `idle_flush_ms` (90) must not exceed `max_latency_ms` (80) for model "
           "`fast` on route `r`\n");
}

static struct weir_conf_stream_policy resolve(const struct weir_conf_streaming *streaming,
                                              const struct weir_conf_stream_policy *route,
                                              struct weir_slice model)
{
    return weir_conf_stream_resolve(streaming, route, weir_conf_stream_match(streaming, model));
}

static void test_resolve(void **state)
{
    (void)state;
    struct loaded l = load_clean(
        DEMO
        "streaming:\n"
        "  batching: {mode: on, min_chars_per_emit: 1, max_latency_ms: 11, role_policy: first}\n"
        "  coalescer: {min_delta_chars: 1}\n"
        "  models:\n"
        "    \"*\": {batching: {max_latency_ms: 44, reasoning: {max_latency_ms: 45}}}\n"
        "    \"gpt-*\": {batching: {max_latency_ms: 33, latest_wins_fields: [t]}}\n"
        "    \"gpt-4*\": {coalescer: {mode: on}}\n"
        "routes:\n"
        "  - name: r\n"
        "    unguarded: true\n"
        "    streaming:\n"
        "      batching: {min_chars_per_emit: 2, max_latency_ms: 22, flush_on_sentence: false}\n"
        "      dedup: {mode: safe}\n");
    const struct weir_conf_streaming *s = &l.conf->streaming;
    const struct weir_conf_stream_policy *route = &l.conf->routes[0].streaming;

    struct weir_conf_stream_policy p = resolve(s, NULL, WEIR_SLICE("gpt-3"));
    assert_int_equal(p.batching.mode, WEIR_BATCH_ON);
    assert_int_equal(p.batching.min_chars_per_emit, 1);
    assert_int_equal(p.batching.max_latency_ms, 33); /* the longest pattern */
    assert_int_equal(p.batching.latest_wins_fields.n, 1);
    assert_int_equal(p.batching.append_array_fields.n, 1);
    assert_int_equal(p.batching.reasoning.min_chars_per_emit, 1); /* inherited */
    assert_int_equal(p.batching.reasoning.max_latency_ms, 33);
    assert_true(p.batching.flush_on_sentence);
    assert_int_equal(p.dedup.mode, WEIR_DEDUP_OFF);

    p = resolve(s, route, WEIR_SLICE("gpt-4o"));
    assert_int_equal(p.coalescer.mode, WEIR_BATCH_ON);
    assert_int_equal(p.coalescer.min_delta_chars, 1);
    assert_int_equal(p.batching.max_latency_ms, 22); /* one pattern wins, not three */
    assert_int_equal(p.batching.min_chars_per_emit, 2);
    assert_false(p.batching.flush_on_sentence);
    assert_int_equal(p.batching.role_policy, WEIR_BATCH_ROLE_FIRST);
    assert_int_equal(p.dedup.mode, WEIR_DEDUP_SAFE);

    p = resolve(s, route, WEIR_SLICE("llama"));
    assert_int_equal(p.batching.max_latency_ms, 44); /* the model over the route */
    assert_int_equal(p.batching.reasoning.max_latency_ms, 45);
    assert_int_equal(p.batching.reasoning.min_chars_per_emit, 2);
    drop(&l);
}

static void test_buffer_in_two_places(void **state)
{
    (void)state;
    expect(DEMO "streaming: {max_stream_buffer_bytes: 5000}\n"
                "limits: {max_stream_buffer_bytes: 6000}\n",
           "c.yaml:3: error: `max_stream_buffer_bytes` differs from the one in `streaming` on line "
           "2\n");
    struct loaded l = load_clean(DEMO "limits: {max_stream_buffer_bytes: 6000}\n");
    assert_int_equal(l.conf->streaming.max_stream_buffer_bytes, 6000);
    drop(&l);
}

static void test_idle_by_the_pace(void **state)
{
    (void)state;
    struct loaded l = load_clean(DEMO "streaming: {batching: {idle_flush_ms: auto, max_latency_ms: "
                                      "5}, models: {m: {batching: {idle_flush_ms: 3}}}}\n");
    const struct weir_conf_streaming *s = &l.conf->streaming;
    assert_int_equal(s->policy.batching.idle_flush_ms, WEIR_BATCH_IDLE_AUTO);
    assert_int_equal(resolve(s, NULL, WEIR_SLICE("m")).batching.idle_flush_ms, 3);
    drop(&l);
}

/* The model's default is before the route's; of two caps the smaller counts for both. */
static void test_max_tokens(void **state)
{
    (void)state;
    struct loaded l = load_clean(
        DEMO "streaming: {models: {both: {max_tokens: {default: 50, cap: 100}},\n"
             "  cap: {max_tokens: {cap: 10}}, wide: {max_tokens: {default: 900}}}}\n"
             "routes: [{name: r, unguarded: true, max_tokens: {default: 20, cap: 80}}]\n");
    const struct weir_conf_max_tokens *route = &l.conf->routes[0].max_tokens;
    const struct {
        const char *model;
        bool is_on_route;
        uint32_t fallback, cap;
    } cases[] = {
        {"both", false, 50, 100}, {"cap", false, 0, 10},  {"wide", false, 900, 0},
        {"x", false, 0, 0},       {"both", true, 50, 80}, {"cap", true, 10, 10},
        {"wide", true, 80, 80},   {"x", true, 20, 80},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_conf_max_tokens got =
            weir_conf_stream_max_tokens(&l.conf->streaming, cases[i].is_on_route ? route : NULL,
                                        weir_slice_cstr(cases[i].model));
        assert_int_equal(got.fallback, cases[i].fallback);
        assert_int_equal(got.cap, cases[i].cap);
    }
    drop(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_value),
        cmocka_unit_test(test_off_as_false),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_layers_are_checked_together),
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_buffer_in_two_places),
        cmocka_unit_test(test_idle_by_the_pace),
        cmocka_unit_test(test_max_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
