#include "route/batching.h"

#include "unit/route/fake_stream.h"

/* What a request comes to: its configuration, body, headers and model. */
struct asked {
    const char *body;
    const char *header;
    const char *header2;
    const char *model;
    const char *route; /* NULL: under /api */
    bool looks_at_tools;
};

static void add_field(struct fake *f, const char *name, const char *value)
{
    if (value != NULL) {
        f->fields[f->stream.req.n_fields++] =
            (struct weir_http_field){weir_slice_cstr(name), weir_slice_cstr(value)};
    }
}

static const struct weir_conf_route *route_of(const struct weir_conf *conf, const char *name)
{
    for (size_t i = 0; name != NULL && i < conf->n_routes; i++) {
        if (weir_slice_eq_cstr(conf->routes[i].name.s, name)) {
            return &conf->routes[i];
        }
    }
    assert_null(name);
    return NULL;
}

static struct weir_batching_request request_of(struct fake *f, const struct asked *asked,
                                               struct weir_json *json)
{
    const char *body = asked->body != NULL ? asked->body : "{\"model\":\"m\"}";
    assert_int_equal(weir_json_parse(json, weir_slice_cstr(body), NULL, &f->stream.arena, NULL), 0);
    f->stream.req.n_fields = 0;
    add_field(f, "accept", "text/event-stream");
    add_field(f, "X-Stream-Batching", asked->header);
    add_field(f, "x-stream-batching", asked->header2);
    return (struct weir_batching_request){
        .body = json,
        .model = weir_slice_cstr(asked->model != NULL ? asked->model : "m"),
        .route = route_of(f->env.conf, asked->route),
        .looks_at_tools = asked->looks_at_tools};
}

static int resolve(struct fake *f, const struct asked *asked, struct weir_batching *out,
                   struct weir_buf *why)
{
    struct weir_json json;
    struct weir_batching_request request = request_of(f, asked, &json);
    return weir_batching_resolve(&f->stream, &request, out, why);
}

static struct weir_batching get(struct fake *f, struct asked asked)
{
    struct weir_batching b;
    struct weir_buf why = {0};
    int rc = resolve(f, &asked, &b, &why);
    assert_string_equal(weir_buf_cstr(&why), "");
    assert_int_equal(rc, 0);
    weir_buf_dispose(&why);
    return b;
}

static void refused(struct fake *f, struct asked asked, const char *text)
{
    struct weir_batching b;
    struct weir_buf why = {0};
    assert_int_equal(resolve(f, &asked, &b, &why), WEIR_EINVAL);
    assert_string_equal(weir_buf_cstr(&why), text);
    assert_false(b.is_used);
    weir_buf_dispose(&why);
}

#define MODEL "openai: {service: {hostname: localhost, port: 8000}}\n"
#define ROUTES "routes: [{name: fast, unguarded: true, streaming: {batching: {"

static void nothing_configured_is_off(void **state)
{
    (void)state;
    struct fake *f = fake_new(MODEL);
    struct weir_batching b = get(f, (struct asked){0});
    assert_false(b.is_used);
    assert_int_equal(b.chain.adapter.mode, WEIR_BATCH_OFF);
    assert_int_equal(b.chain.business.mode, WEIR_BATCH_OFF);
    assert_int_equal(b.chain.dedup.mode, WEIR_DEDUP_OFF);
    assert_true(weir_slice_eq_cstr(b.route, "api"));
    assert_true(weir_slice_eq_cstr(b.model, "m"));
    fake_free(f);
}

static void any_stage_that_counts_is_used(void **state)
{
    (void)state;
    static const char *const confs[] = {
        MODEL "streaming: {batching: {mode: metrics}}",
        MODEL "streaming: {coalescer: {mode: metrics}}",
        MODEL "streaming: {dedup: {mode: metrics}}",
    };
    for (size_t i = 0; i < 3; i++) {
        struct fake *f = fake_new(confs[i]);
        assert_true(get(f, (struct asked){0}).is_used);
        fake_free(f);
    }
}

static void every_key_arrives(void **state)
{
    (void)state;
    struct fake *f = fake_new(
        MODEL
        "limits: {max_choices: 5, max_tool_calls: 6}\n"
        "streaming:\n"
        "  max_stream_buffer_bytes: 8192\n"
        "  batching: {mode: on, min_chars_per_emit: 11, max_latency_ms: 222, idle_flush_ms: 33,\n"
        "    flush_on_sentence: false, flush_on_tool_call: false, first_emit_immediate: false,\n"
        "    ramp_factor: 4, ramp_initial_chars: 5, role_policy: every, obfuscation: regenerate,\n"
        "    reasoning: {min_chars_per_emit: 66, max_latency_ms: 777},\n"
        "    latest_wins_fields: [timings], append_array_fields: [token_ids, more],\n"
        "    max_batch_bytes: 2048}\n"
        "  coalescer: {mode: metrics, min_delta_chars: 12, max_partial_count: 3,\n"
        "    boundary: sentence, max_hold_ms: 345, first_emit_immediate: false,\n"
        "    flush_on_tool_call: false, role_policy: first, tool_call_gate: finish,\n"
        "    tool_gate_emit_head: true, max_tool_args_bytes: 999, max_tool_hold_ms: 888,\n"
        "    on_incomplete: drop, tool_gate_on_abort: release, tool_index_policy: repair}\n"
        "  dedup: {mode: safe, window: 9, min_chars: 10}\n");
    struct weir_chain_options o = get(f, (struct asked){0}).chain;
    const struct weir_batch_options *a = &o.adapter;
    assert_int_equal(a->stage, WEIR_BATCH_ADAPTER);
    assert_int_equal(a->mode, WEIR_BATCH_ON);
    assert_int_equal(a->min_chars_per_emit, 11);
    assert_int_equal(a->max_latency_ms, 222);
    assert_int_equal(a->idle_flush_ms, 33);
    assert_false(a->flush_on_sentence || a->flush_on_tool_call || a->first_emit_immediate);
    assert_int_equal(a->ramp_factor, 4);
    assert_int_equal(a->ramp_initial_chars, 5);
    assert_int_equal(a->role_policy, WEIR_BATCH_ROLE_EVERY);
    assert_int_equal(a->reasoning_min_chars, 66);
    assert_int_equal(a->reasoning_max_latency_ms, 777);
    const struct weir_batch_options *b = &o.business;
    assert_int_equal(b->stage, WEIR_BATCH_BUSINESS);
    assert_int_equal(b->mode, WEIR_BATCH_METRICS);
    assert_int_equal(b->min_delta_chars, 12);
    assert_int_equal(b->max_partial_count, 3);
    assert_int_equal(b->boundary, WEIR_BATCH_BOUNDARY_SENTENCE);
    assert_int_equal(b->max_latency_ms, 345);
    assert_false(b->flush_on_tool_call || b->first_emit_immediate || b->flush_on_sentence);
    assert_int_equal(b->role_policy, WEIR_BATCH_ROLE_FIRST);
    assert_int_equal(b->tool_call_gate, WEIR_BATCH_GATE_FINISH);
    assert_true(b->tool_gate_emit_head);
    assert_int_equal(b->max_tool_args_bytes, 999);
    assert_int_equal(b->max_tool_hold_ms, 888);
    assert_int_equal(b->on_incomplete, WEIR_BATCH_DROP);
    assert_int_equal(b->tool_gate_on_abort, WEIR_BATCH_RELEASE);
    assert_int_equal(b->tool_index_policy, WEIR_BATCH_INDEX_REPAIR);
    for (size_t i = 0; i < 2; i++) {
        const struct weir_batch_options *both = i == 0 ? a : b;
        assert_int_equal(both->obfuscation, WEIR_BATCH_OBFUSCATION_REGENERATE);
        assert_int_equal(both->latest_wins.n, 1);
        assert_true(weir_slice_eq_cstr(both->latest_wins.names[0], "timings"));
        assert_int_equal(both->append_arrays.n, 2);
        assert_true(weir_slice_eq_cstr(both->append_arrays.names[1], "more"));
        assert_int_equal(both->max_batch_bytes, 2048);
        assert_int_equal(both->max_stream_buffer_bytes, 8192);
        assert_int_equal(both->max_choices, 5);
        assert_int_equal(both->max_tool_calls, 6);
    }
    assert_int_equal(o.dedup.mode, WEIR_DEDUP_SAFE);
    assert_int_equal(o.dedup.window, 9);
    assert_int_equal(o.dedup.min_chars, 10);
    fake_free(f);
}

/* Without a word the options are those the engine was tested with, but for the two that make one
 * budget of both stages' delays. */
static void defaults_are_the_engines(void **state)
{
    (void)state;
    struct fake *f = fake_new(MODEL);
    struct weir_chain_options o = get(f, (struct asked){0}).chain;
    struct weir_batch_options a = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    struct weir_batch_options b = weir_batch_defaults(WEIR_BATCH_BUSINESS);
    assert_int_equal(o.adapter.reasoning_min_chars, WEIR_BATCH_INHERIT);
    assert_int_equal(o.business.hold_from, WEIR_BATCH_HOLD_FIRST_TEXT);
    assert_int_equal(o.adapter.max_latency_ms, 200);
    assert_int_equal(o.business.max_latency_ms, b.max_latency_ms);
#define SAME(field)                                                                                \
    assert_int_equal(o.adapter.field, a.field);                                                    \
    assert_int_equal(o.business.field, b.field);
    SAME(first_emit_immediate)
    SAME(flush_on_tool_call)
    SAME(role_policy)
    SAME(obfuscation)
    SAME(latest_wins.n)
    SAME(append_arrays.n)
    SAME(max_batch_bytes)
    SAME(max_stream_buffer_bytes)
    SAME(max_choices)
    SAME(max_tool_calls)
    SAME(min_chars_per_emit)
    SAME(reasoning_min_chars)
    SAME(reasoning_max_latency_ms)
    SAME(idle_flush_ms)
    SAME(flush_on_sentence)
    SAME(ramp_factor)
    SAME(ramp_initial_chars)
    SAME(min_delta_chars)
    SAME(max_partial_count)
    SAME(boundary)
    SAME(tool_call_gate)
    SAME(tool_gate_emit_head)
    SAME(max_tool_args_bytes)
    SAME(max_tool_hold_ms)
    SAME(on_incomplete)
    SAME(tool_gate_on_abort)
    SAME(tool_index_policy)
#undef SAME
    fake_free(f);
}

#define LAYERS                                                                                     \
    MODEL ROUTES "min_chars_per_emit: 20, max_latency_ms: 200, idle_flush_ms: 20}}}]\n"            \
                 "streaming:\n"                                                                    \
                 "  batching: {mode: on, min_chars_per_emit: 10, max_latency_ms: 100,"             \
                 " idle_flush_ms: 10, ramp_factor: 2}\n"                                           \
                 "  models:\n"                                                                     \
                 "    \"gpt-*\": {batching: {min_chars_per_emit: 30, max_latency_ms: 300}}\n"      \
                 "    \"gpt-4*\": {batching: {min_chars_per_emit: 40}}\n"

static void request_over_model_over_route_over_global(void **state)
{
    (void)state;
    static const struct {
        struct asked asked;
        unsigned chars, latency_ms, idle_ms;
    } cases[] = {
        {{.model = "llama"}, 10, 100, 10},
        {{.model = "llama", .route = "fast"}, 20, 200, 20},
        {{.model = "gpt-3", .route = "fast"}, 30, 300, 20},
        {{.model = "gpt-3"}, 30, 300, 10},
        {{.model = "gpt-4o", .route = "fast"}, 40, 200, 20}, /* the longest glob alone */
        {{.model = "gpt-4o", .route = "fast", .header = "min_chars=50"}, 50, 200, 20},
        {{.model = "gpt-4o",
          .header = "min_chars=50; max_latency_ms=500",
          .body = "{\"stream_options\":{\"batching\":{\"max_latency_ms\":600}}}"},
         50,
         600,
         10}, /* the body over the header, key by key */
        {{.model = "llama", .header = "min_chars=50", .header2 = "idle_flush_ms=5"}, 50, 100, 5},
    };
    struct fake *f = fake_new(LAYERS);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct weir_batching b = get(f, cases[i].asked);
        assert_true(b.is_used);
        assert_int_equal(b.chain.adapter.min_chars_per_emit, cases[i].chars);
        assert_int_equal(b.chain.adapter.max_latency_ms, cases[i].latency_ms);
        assert_int_equal(b.chain.adapter.idle_flush_ms, cases[i].idle_ms);
        assert_int_equal(b.chain.adapter.ramp_factor, 2);
    }
    assert_true(weir_slice_eq_cstr(get(f, (struct asked){.route = "fast"}).route, "fast"));
    fake_free(f);
}

static void a_request_may_turn_it_on_or_off(void **state)
{
    (void)state;
    struct fake *f = fake_new(MODEL "streaming: {batching: {mode: on}}");
    assert_false(get(f, (struct asked){.header = "off"}).is_used);
    assert_true(get(f, (struct asked){.header = "metrics"}).is_used);
    fake_free(f);
    f = fake_new(MODEL);
    struct weir_batching b =
        get(f, (struct asked){.body = "{\"stream_options\":{\"batching\":{\"mode\":\"on\"}}}"});
    assert_true(b.is_used);
    assert_int_equal(b.chain.adapter.mode, WEIR_BATCH_ON);
    assert_int_equal(b.chain.business.mode, WEIR_BATCH_OFF); /* no request turns the gate on */
    fake_free(f);
}

/* Only the adapter is a request's to change: a stage of the operator's stays. */
static void off_leaves_the_other_stages(void **state)
{
    (void)state;
    struct fake *f = fake_new(MODEL "streaming: {batching: {mode: on}, coalescer: {mode: on}}");
    struct weir_batching b = get(f, (struct asked){.header = "off"});
    assert_true(b.is_used);
    assert_int_equal(b.chain.adapter.mode, WEIR_BATCH_OFF);
    assert_int_equal(b.chain.business.mode, WEIR_BATCH_ON);
    fake_free(f);
}

static void reasoning_follows_unless_it_has_its_own(void **state)
{
    (void)state;
    struct fake *f = fake_new(MODEL "streaming: {batching: {mode: on}}");
    struct weir_batching b = get(f, (struct asked){.header = "min_chars=60;max_latency_ms=80"});
    assert_int_equal(b.chain.adapter.reasoning_min_chars, WEIR_BATCH_INHERIT);
    assert_int_equal(b.chain.adapter.reasoning_max_latency_ms, WEIR_BATCH_INHERIT);
    fake_free(f);
    /* One that is the same by chance is still its own. */
    f = fake_new(MODEL "streaming: {batching: {mode: on, reasoning: {min_chars_per_emit: 120}}}");
    b = get(f, (struct asked){.header = "min_chars=60;max_latency_ms=80"});
    assert_int_equal(b.chain.adapter.reasoning_min_chars, 120);
    assert_int_equal(b.chain.adapter.reasoning_max_latency_ms, WEIR_BATCH_INHERIT);
    fake_free(f);
}

static void wishes_are_clamped(void **state)
{
    (void)state;
    struct fake *f = fake_new(MODEL "streaming: {batching: {mode: on, max_latency_ms: 2000},"
                                    " request_override: {max_latency_ms: 500,"
                                    " min_chars_per_emit: 200}}");
    struct weir_batch_options a =
        get(f, (struct asked){.header = "min_chars=65536;max_latency_ms=10000;idle_flush_ms=900",
                              .body = "{\"stream_options\":{\"batching\":{\"reasoning\":{"
                                      "\"min_chars_per_emit\":999,\"max_latency_ms\":999}}}}"})
            .chain.adapter;
    assert_int_equal(a.min_chars_per_emit, 200);
    assert_int_equal(a.max_latency_ms, 500);
    assert_int_equal(a.idle_flush_ms, 500);
    assert_int_equal(a.reasoning_min_chars, 200);
    assert_int_equal(a.reasoning_max_latency_ms, 500);
    /* What was not asked for is the operator's own, whatever the clamp. */
    a = get(f, (struct asked){.header = "min_chars=1"}).chain.adapter;
    assert_int_equal(a.max_latency_ms, 2000);
    fake_free(f);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct asked asked;
        const char *why;
    } cases[] = {
        {{.header = "maybe"}, "x-stream-batching: maybe is neither a mode nor key=value"},
        {{.header = ""}, "x-stream-batching:  is neither a mode nor key=value"},
        {{.header = "min_chars=0"},
         "x-stream-batching: min_chars_per_emit must be from 1 to 65536"},
        {{.header = "off", .header2 = "max_latency=3"},
         "x-stream-batching: max_latency is not a known key"},
        {{.body = "{\"stream_options\":{\"batching\":true}}"},
         "stream_options.batching: it must be an object"},
        {{.body = "{\"stream_options\":{\"batching\":{\"max_latency_ms\":-1}}}"},
         "stream_options.batching: max_latency_ms must be a whole number, not negative"},
        {{.body = "{\"stream_options\":{\"batching\":{\"mode\":\"fast\"}}}"},
         "stream_options.batching: mode must be off, metrics or on"},
        {{.body = "{\"stream_options\":{\"batching\":{\"tool_call_gate\":\"off\"}}}"},
         "stream_options.batching: tool_call_gate is not a known key"},
        {{.body = "{\"stream_options\":{\"batching\":{\"max_latency_ms\":5,"
                  "\"idle_flush_ms\":10}}}"},
         "stream batching: idle_flush_ms must not be larger than max_latency_ms"},
    };
    struct fake *f = fake_new(MODEL "streaming: {batching: {mode: on}}");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(f, cases[i].asked, cases[i].why);
    }
    /* None of these asks for anything. */
    static const char *const bodies[] = {
        "{\"stream_options\":null}", "{\"stream_options\":{\"batching\":null}}",
        "{\"stream_options\":{\"include_usage\":true}}", "{\"stream_options\":{\"batching\":{}}}"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(get(f, (struct asked){.body = bodies[i]}).is_used);
    }
    fake_free(f);
}

static void overrides_can_be_forbidden(void **state)
{
    (void)state;
    struct fake *f = fake_new(MODEL "streaming: {batching: {mode: on},"
                                    " request_override: {enabled: false}}");
    refused(f, (struct asked){.header = "off"},
            "stream batching: it cannot be changed by a request here");
    assert_true(get(f, (struct asked){0}).is_used);
    fake_free(f);
}

static void calls_wait_for_the_finish_where_detectors_look(void **state)
{
    (void)state;
    static const struct {
        const char *conf;
        enum weir_batch_gate gate, with_detectors;
    } cases[] = {
        {"closed", WEIR_BATCH_GATE_CLOSED, WEIR_BATCH_GATE_FINISH},
        {"finish", WEIR_BATCH_GATE_FINISH, WEIR_BATCH_GATE_FINISH},
        {"\"off\"", WEIR_BATCH_GATE_OFF, WEIR_BATCH_GATE_OFF},
    };
    for (size_t i = 0; i < 3; i++) {
        char conf[256];
        (void)snprintf(conf, sizeof conf,
                       MODEL "streaming: {coalescer: {mode: on, tool_call_gate: %s}}",
                       cases[i].conf);
        struct fake *f = fake_new(conf);
        assert_int_equal(get(f, (struct asked){0}).chain.business.tool_call_gate, cases[i].gate);
        assert_int_equal(
            get(f, (struct asked){.looks_at_tools = true}).chain.business.tool_call_gate,
            cases[i].with_detectors);
        fake_free(f);
    }
}

static void checked(struct fake *f, struct asked asked, const char *text)
{
    struct weir_json json;
    struct weir_buf why = {0};
    struct weir_batching_request request = request_of(f, &asked, &json);
    assert_int_equal(weir_batching_check(&f->stream, &request, &why),
                     text[0] != '\0' ? WEIR_EINVAL : 0);
    assert_string_equal(weir_buf_cstr(&why), text);
    weir_buf_dispose(&why);
}

static void nonsense_is_refused_without_a_stream_too(void **state)
{
    (void)state;
    struct fake *f = fake_new(LAYERS);
    checked(f, (struct asked){0}, "");
    checked(f, (struct asked){.header = "off", .header2 = "min_chars=60;max_latency_ms=80"}, "");
    checked(f, (struct asked){.header = "min_chars=0"},
            "x-stream-batching: min_chars_per_emit must be from 1 to 65536");
    checked(f, (struct asked){.body = "{\"stream_options\":{\"batching\":7}}", .route = "fast"},
            "stream_options.batching: it must be an object");
    fake_free(f);
    f = fake_new("compat: fms\n" LAYERS);
    checked(f, (struct asked){.header = "nonsense"}, "");
    checked(f, (struct asked){.header = "nonsense", .route = "fast"},
            "x-stream-batching: nonsense is neither a mode nor key=value");
    fake_free(f);
}

static void the_public_program_knows_nothing_of_it(void **state)
{
    (void)state;
    struct fake *f =
        fake_new("compat: fms\n" LAYERS "  coalescer: {mode: on}\n  dedup: {mode: safe}\n");
    struct weir_batching b = get(f, (struct asked){.header = "nonsense"});
    assert_false(b.is_used);
    assert_int_equal(b.chain.adapter.mode, WEIR_BATCH_OFF); /* as the log line says */
    assert_int_equal(b.chain.business.mode, WEIR_BATCH_OFF);
    assert_int_equal(b.chain.dedup.mode, WEIR_DEDUP_OFF);
    /* Routes are ours. */
    assert_true(get(f, (struct asked){.route = "fast"}).is_used);
    refused(f, (struct asked){.route = "fast", .header = "nonsense"},
            "x-stream-batching: nonsense is neither a mode nor key=value");
    fake_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_configured_is_off),
        cmocka_unit_test(any_stage_that_counts_is_used),
        cmocka_unit_test(every_key_arrives),
        cmocka_unit_test(defaults_are_the_engines),
        cmocka_unit_test(request_over_model_over_route_over_global),
        cmocka_unit_test(a_request_may_turn_it_on_or_off),
        cmocka_unit_test(off_leaves_the_other_stages),
        cmocka_unit_test(reasoning_follows_unless_it_has_its_own),
        cmocka_unit_test(wishes_are_clamped),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(nonsense_is_refused_without_a_stream_too),
        cmocka_unit_test(overrides_can_be_forbidden),
        cmocka_unit_test(calls_wait_for_the_finish_where_detectors_look),
        cmocka_unit_test(the_public_program_knows_nothing_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
