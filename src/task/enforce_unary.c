/*
 * A whole answer on a route that blocks or redacts:
 *
 *   choice ─┬─ content ────┐
 *           ├─ reasoning … ┼─► guard ─► what may leave ─► the answer, written anew
 *           └─ tool calls ─┘
 *
 * All choices at once; the answer is written when the last guard is done.
 */
#include "base/err.h"
#include "base/mem.h"
#include "task/enforce.h"
#include "task/results.h"

struct run;

struct choice {
    struct run *run;
    struct weir_known known;
    struct weir_guard *guard;
    struct weir_buf said[WEIR_CHANNEL_TEXTS];      /* what may leave */
    struct weir_buf found[WEIR_CHANNEL_WHOLE + 1]; /* results, commas between them */
    bool is_changed;
    bool is_blocked;
    bool is_done;
};

struct run {
    struct weir_enforce_options o;
    struct weir_slice body_name;
    struct choice *choices;
    size_t n_choices;
    size_t n_done;
    size_t n_text_found; /* findings of text_contents detectors */
    bool is_over;
};

static bool is_chat(const struct run *r)
{
    return r->o.request->is_chat;
}

static bool keeps_unknown(const struct run *r)
{
    return r->o.request->policy->keeps_unknown;
}

/* What nobody checked does not leave with a choice that was blocked. */
static bool keeps_unknown_of(const struct choice *c)
{
    return keeps_unknown(c->run) && !c->is_blocked;
}

static void fail(struct run *r, const struct weir_fault *fault)
{
    if (!r->is_over) {
        r->is_over = true;
        struct weir_task_answer answer = {.fault = weir_fault_keep(r->o.task->arena, fault)};
        r->o.done(r->o.ctx, &answer);
    }
}

static void fail_model(struct run *r, const char *why)
{
    fail(r, &(struct weir_fault){.origin = is_chat(r) ? WEIR_FAULT_CHAT_COMPLETION
                                                      : WEIR_FAULT_COMPLETION,
                                 .id = r->o.request->model_id,
                                 .err = WEIR_EPEER,
                                 .why = weir_slice_cstr(why)});
}

/* ---- writing a message ---- */

/* An object with what is known of it, and the rest where the route passes it. */
static void write_known(const struct choice *c, uint32_t at, const char *const *names,
                        struct weir_buf *out)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_known_write(
        &w, c->known.json, at,
        &(struct weir_known_rules){.names = names, .keeps_unknown = keeps_unknown(c->run)});
    weir_json_write_end_object(&w);
}

static void write_call(const struct choice *c, struct weir_json_write *w, uint32_t at)
{
    const struct weir_json *json = c->known.json;
    struct weir_buf function = {0};
    struct weir_buf custom = {0};
    uint32_t f = weir_json_get_set(json, at, WEIR_SLICE("function"));
    uint32_t u = weir_json_get_set(json, at, WEIR_SLICE("custom"));
    if (f != WEIR_JSON_NONE) {
        write_known(c, f, weir_known_function, &function);
    }
    if (u != WEIR_JSON_NONE) {
        write_known(c, u, weir_known_custom, &custom);
    }
    struct weir_known_member changes[] = {{WEIR_SLICE("function"), weir_buf_slice(&function)},
                                          {WEIR_SLICE("custom"), weir_buf_slice(&custom)}};
    weir_json_write_begin_object(w);
    weir_known_write(w, json, at,
                     &(struct weir_known_rules){.names = weir_known_call,
                                                .keeps_unknown = keeps_unknown(c->run),
                                                .changes = changes,
                                                .n_changes = 2});
    weir_json_write_end_object(w);
    weir_buf_dispose(&function);
    weir_buf_dispose(&custom);
}

static void write_calls(const struct choice *c, struct weir_buf *out)
{
    const struct weir_json *json = c->known.json;
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    uint32_t at = weir_json_first(json, c->known.tool_calls);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, c->known.tool_calls, at)) {
        write_call(c, &w, at);
    }
    weir_json_write_end_array(&w);
}

static void write_audio(const struct choice *c, struct weir_buf *out)
{
    struct weir_slice said = weir_buf_slice(&c->said[WEIR_CHANNEL_TRANSCRIPT]);
    struct weir_buf quoted = {0};
    if (said.n == 0 && c->is_blocked) {
        return;
    }
    if (said.n != 0 || c->known.texts[WEIR_CHANNEL_TRANSCRIPT] != WEIR_JSON_NONE) {
        weir_json_write_quoted(&quoted, said);
    }
    struct weir_known_member transcript = {WEIR_SLICE("transcript"), weir_buf_slice(&quoted)};
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_known_write(&w, c->known.json, c->known.audio,
                     &(struct weir_known_rules){.names = weir_known_audio,
                                                .keeps_unknown = keeps_unknown_of(c),
                                                .changes = &transcript,
                                                .n_changes = 1});
    weir_json_write_end_object(&w);
    weir_buf_dispose(&quoted);
}

/* The members of a message that may have changed. */
static size_t write_changes(const struct choice *c, struct weir_buf bufs[], /* one each */
                            struct weir_known_member *changes)
{
    size_t n = 0;
    for (size_t i = 0; i < WEIR_CHANNEL_TRANSCRIPT; i++) {
        struct weir_slice name = weir_slice_cstr(weir_channel_name((enum weir_channel)i));
        bool was_there = c->known.texts[i] != WEIR_JSON_NONE;
        if (c->said[i].n != 0) {
            weir_json_write_quoted(&bufs[n], weir_buf_slice(&c->said[i]));
        } else if (was_there || (c->is_blocked && i == WEIR_CHANNEL_CONTENT)) {
            weir_buf_append(&bufs[n], c->is_blocked ? WEIR_SLICE("null") : WEIR_SLICE("\"\""));
        } else {
            continue;
        }
        changes[n] = (struct weir_known_member){name, weir_buf_slice(&bufs[n])};
        n++;
    }
    if (c->known.audio != WEIR_JSON_NONE) {
        write_audio(c, &bufs[n]);
        changes[n] = (struct weir_known_member){WEIR_SLICE("audio"), weir_buf_slice(&bufs[n])};
        n++;
    }
    if (c->known.tool_calls != WEIR_JSON_NONE) {
        if (!c->is_blocked) {
            write_calls(c, &bufs[n]);
        }
        changes[n] = (struct weir_known_member){WEIR_SLICE("tool_calls"), weir_buf_slice(&bufs[n])};
        n++;
    }
    if (c->known.function_call != WEIR_JSON_NONE) {
        if (!c->is_blocked) {
            write_known(c, c->known.function_call, weir_known_function, &bufs[n]);
        }
        changes[n] =
            (struct weir_known_member){WEIR_SLICE("function_call"), weir_buf_slice(&bufs[n])};
        n++;
    }
    return n;
}

static void write_body(const struct choice *c, struct weir_buf *out)
{
    enum { MAX_CHANGES = WEIR_CHANNEL_TEXTS + 2 };
    struct weir_buf bufs[MAX_CHANGES] = {{0}};
    struct weir_known_member changes[MAX_CHANGES];
    if (!is_chat(c->run)) {
        weir_json_write_quoted(out, weir_buf_slice(&c->said[WEIR_CHANNEL_CONTENT]));
        return;
    }
    size_t n = write_changes(c, bufs, changes);
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_known_write(&w, c->known.json, c->known.body,
                     &(struct weir_known_rules){.names = weir_known_body,
                                                .keeps_unknown = keeps_unknown_of(c),
                                                .changes = changes,
                                                .n_changes = n});
    weir_json_write_end_object(&w);
    for (size_t i = 0; i < n; i++) {
        weir_buf_dispose(&bufs[i]);
    }
}

/* ---- writing the answer ---- */

static void write_choices(const struct run *r, struct weir_buf *out)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < r->n_choices; i++) {
        const struct choice *c = &r->choices[i];
        struct weir_buf body = {0};
        write_body(c, &body);
        struct weir_enforce_choice choice = {.json = r->o.answer,
                                             .choice = c->known.choice,
                                             .body_name = r->body_name,
                                             .body = weir_buf_slice(&body),
                                             .finish = c->is_blocked ? WEIR_ENFORCE_FILTERED
                                                                     : WEIR_ENFORCE_AS_IS,
                                             .is_tainted = c->is_blocked || c->is_changed,
                                             .keeps_unknown = keeps_unknown_of(c)};
        weir_enforce_write_choice(&w, &choice);
        weir_buf_dispose(&body);
    }
    weir_json_write_end_array(&w);
}

/* One entry per choice and channel with findings. False: there is none. */
static bool write_output(const struct run *r, struct weir_buf *out)
{
    struct weir_json_write w;
    bool has_any = false;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < r->n_choices * (WEIR_CHANNEL_WHOLE + 1); i++) {
        const struct choice *c = &r->choices[i / (WEIR_CHANNEL_WHOLE + 1)];
        enum weir_channel channel = (enum weir_channel)(i % (WEIR_CHANNEL_WHOLE + 1));
        if (c->found[channel].n == 0) {
            continue;
        }
        has_any = true;
        weir_json_write_begin_object(&w);
        weir_json_write_key(&w, WEIR_SLICE("choice_index"));
        weir_json_write_u64(&w, c->known.index);
        if (channel != WEIR_CHANNEL_CONTENT && channel != WEIR_CHANNEL_WHOLE) {
            weir_json_write_key(&w, WEIR_SLICE("channel"));
            weir_json_write_string(&w, weir_slice_cstr(weir_channel_name(channel)));
        }
        weir_json_write_key(&w, WEIR_SLICE("results"));
        weir_json_write_begin_array(&w);
        weir_json_write_raw(&w, weir_buf_slice(&c->found[channel]));
        weir_json_write_end_array(&w);
        weir_json_write_end_object(&w);
    }
    weir_json_write_end_array(&w);
    return has_any;
}

static bool write_detections(const struct run *r, struct weir_buf *out)
{
    struct weir_buf input = {0};
    struct weir_buf output = {0};
    struct weir_json_write w;
    bool has_input = weir_completion_write_input(r->o.request, r->o.input, &input);
    bool has_output = write_output(r, &output);
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    if (has_input) {
        weir_json_write_key(&w, WEIR_SLICE("input"));
        weir_json_write_raw(&w, weir_buf_slice(&input));
    }
    if (has_output) {
        weir_json_write_key(&w, WEIR_SLICE("output"));
        weir_json_write_raw(&w, weir_buf_slice(&output));
    }
    weir_json_write_end_object(&w);
    weir_buf_dispose(&input);
    weir_buf_dispose(&output);
    return has_input || has_output;
}

static bool has_content(const struct choice *c)
{
    return c->known.texts[WEIR_CHANNEL_CONTENT] != WEIR_JSON_NONE;
}

static bool write_warnings(const struct run *r, struct weir_buf *out)
{
    struct weir_buf input = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    size_t before = out->n;
    if (weir_completion_write_input_warnings(r->o.request, r->o.input, &input)) {
        weir_json_write_raw(&w, weir_slice_sub(weir_buf_slice(&input), 1, input.n - 1));
    }
    for (size_t i = 0; i < r->n_choices; i++) {
        if (!has_content(&r->choices[i]) && !r->choices[i].is_blocked) {
            weir_results_write_empty_output(&w, r->choices[i].known.index, is_chat(r));
        }
    }
    if (r->n_text_found != 0) {
        weir_results_write_warning(&w, WEIR_SLICE("type"), WEIR_WARN_UNSUITABLE_OUTPUT);
    }
    bool has_any = out->n != before;
    weir_json_write_end_array(&w);
    weir_buf_dispose(&input);
    return has_any;
}

static struct weir_slice compose(const struct run *r)
{
    struct weir_buf choices = {0};
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    struct weir_buf out = {0};
    bool is_tainted = false;
    for (size_t i = 0; i < r->n_choices; i++) {
        is_tainted = is_tainted || r->choices[i].is_changed || r->choices[i].is_blocked;
    }
    write_choices(r, &choices);
    bool has_detections = write_detections(r, &detections);
    bool has_warnings = write_warnings(r, &warnings);
    struct weir_enforce_answer answer = {
        .json = r->o.answer,
        .choices = weir_buf_slice(&choices),
        .with_usage = true,
        .is_tainted = is_tainted,
        .keeps_unknown = keeps_unknown(r),
        .detections = has_detections ? weir_buf_slice(&detections) : WEIR_SLICE(""),
        .warnings = has_warnings ? weir_buf_slice(&warnings) : WEIR_SLICE("")};
    weir_enforce_write_answer(&out, &answer);
    struct weir_slice body = weir_arena_dup(r->o.task->arena, weir_buf_slice(&out));
    weir_buf_dispose(&choices);
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
    weir_buf_dispose(&out);
    return body;
}

/* ---- the guards ---- */

static void count_outcome(const struct run *r)
{
    enum weir_policy_outcome outcome = WEIR_POLICY_PASSED;
    for (size_t i = 0; i < r->n_choices; i++) {
        if (r->choices[i].is_blocked) {
            outcome = WEIR_POLICY_BLOCKED;
        } else if (r->choices[i].is_changed && outcome == WEIR_POLICY_PASSED) {
            outcome = WEIR_POLICY_REDACTED;
        }
    }
    weir_policy_count(r->o.request->policy, WEIR_POLICY_OUTPUT, outcome);
}

static void finish(struct run *r)
{
    r->is_over = true;
    count_outcome(r);
    struct weir_task_answer answer = {.body = compose(r)};
    r->o.done(r->o.ctx, &answer);
}

static void note_findings(struct choice *c, const struct weir_guard_piece *piece)
{
    struct weir_buf *out = &c->found[piece->channel];
    for (size_t i = 0; i < piece->n_findings; i++) {
        struct weir_json_write w;
        if (out->n != 0) {
            weir_buf_append_byte(out, ',');
        }
        weir_json_write_init(&w, out);
        weir_results_write_one(&w, WEIR_RESULTS_TERSE, piece->findings[i]);
    }
    c->run->n_text_found += piece->channel != WEIR_CHANNEL_WHOLE ? piece->n_findings : 0;
}

static void say_no(struct choice *c)
{
    const struct weir_policy *policy = c->run->o.request->policy;
    bool is_refusal = policy->fallback.p == NULL && is_chat(c->run);
    enum weir_channel channel = is_refusal ? WEIR_CHANNEL_REFUSAL : WEIR_CHANNEL_CONTENT;
    weir_buf_append(&c->said[channel],
                    policy->fallback.p != NULL ? policy->fallback : WEIR_POLICY_REFUSAL);
}

static void take_piece(struct choice *c, const struct weir_guard_piece *piece)
{
    note_findings(c, piece);
    switch (piece->what) {
    case WEIR_GUARD_TEXT:
        c->is_changed = c->is_changed || piece->is_changed;
        weir_buf_append(&c->said[piece->channel], piece->text);
        break;
    case WEIR_GUARD_BLOCKED:
        c->is_blocked = true;
        say_no(c);
        break;
    case WEIR_GUARD_CLEAR:
        break;
    }
}

static void drain(struct choice *c)
{
    struct run *r = c->run;
    struct weir_guard_piece piece;
    int rc = 0;
    while (!r->is_over && (rc = weir_guard_pop(c->guard, &piece)) == 0) {
        take_piece(c, &piece);
    }
    if (r->is_over) {
        return;
    }
    if (rc != WEIR_EAGAIN) {
        fail(r, weir_guard_fault(c->guard));
    } else if (weir_guard_is_done(c->guard) && !c->is_done) {
        c->is_done = true;
        r->n_done++;
    }
}

static void on_progress(void *ctx)
{
    struct choice *c = ctx;
    struct run *r = c->run;
    drain(c);
    if (!r->is_over && r->n_done == r->n_choices) {
        finish(r);
    }
}

static void add_text(struct weir_guard_ending *ending, struct weir_slice *texts,
                     const struct weir_known *k, uint32_t object, const char *name,
                     struct weir_arena *arena)
{
    uint32_t at = weir_json_get_set(k->json, object, weir_slice_cstr(name));
    if (at == WEIR_JSON_NONE) {
        return;
    }
    struct weir_slice text = weir_json_string(k->json, at, arena); /* known: it is a string */
    if (text.n != 0) {
        texts[ending->n_tool_texts++] = text;
    }
}

/* Names and arguments, one text each. */
static void collect_calls(const struct choice *c, struct weir_guard_ending *ending)
{
    const struct weir_known *k = &c->known;
    struct weir_arena *arena = c->run->o.task->arena;
    size_t n = k->tool_calls != WEIR_JSON_NONE ? k->json->nodes[k->tool_calls].n : 0;
    struct weir_slice *texts = weir_arena_array(arena, 4 * n + 2, sizeof *texts);
    ending->tool_texts = texts;
    uint32_t at = n != 0 ? weir_json_first(k->json, k->tool_calls) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(k->json, k->tool_calls, at)) {
        uint32_t function = weir_json_get_set(k->json, at, WEIR_SLICE("function"));
        uint32_t custom = weir_json_get_set(k->json, at, WEIR_SLICE("custom"));
        if (function != WEIR_JSON_NONE) {
            add_text(ending, texts, k, function, "name", arena);
            add_text(ending, texts, k, function, "arguments", arena);
        }
        if (custom != WEIR_JSON_NONE) {
            add_text(ending, texts, k, custom, "name", arena);
            add_text(ending, texts, k, custom, "input", arena);
        }
    }
    if (k->function_call != WEIR_JSON_NONE) {
        add_text(ending, texts, k, k->function_call, "name", arena);
        add_text(ending, texts, k, k->function_call, "arguments", arena);
    }
}

static int feed(struct choice *c)
{
    const struct weir_task_completion *request = c->run->o.request;
    const struct weir_known *k = &c->known;
    struct weir_task_ctx *task = c->run->o.task;
    int rc = 0;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS && rc == 0; i++) {
        if (k->texts[i] != WEIR_JSON_NONE) {
            struct weir_slice text = weir_json_string(k->json, k->texts[i], task->arena);
            rc = weir_guard_push(c->guard, (enum weir_channel)i, 0, text);
        }
    }
    if (rc != 0) {
        return rc;
    }
    struct weir_guard_ending ending = {.prompt = request->prompt};
    collect_calls(c, &ending);
    if (is_chat(c->run)) {
        uint32_t tools = weir_json_get_set(request->json, 0, WEIR_SLICE("tools"));
        ending.messages = weir_completion_history(task, request->json, k->json, k->body);
        ending.tools =
            tools != WEIR_JSON_NONE ? weir_json_raw(request->json, tools) : WEIR_SLICE("");
    }
    weir_guard_end(c->guard, &ending);
    return 0;
}

static void undo(void *ctx)
{
    struct run *r = ctx;
    r->is_over = true;
    for (size_t i = 0; i < r->n_choices; i++) {
        struct choice *c = &r->choices[i];
        weir_guard_free(c->guard);
        for (size_t j = 0; j < WEIR_CHANNEL_TEXTS; j++) {
            weir_buf_dispose(&c->said[j]);
        }
        for (size_t j = 0; j <= WEIR_CHANNEL_WHOLE; j++) {
            weir_buf_dispose(&c->found[j]);
        }
    }
}

static const char *add_choice(struct run *r, uint32_t at)
{
    const char *why;
    struct choice *c = &r->choices[r->n_choices];
    c->run = r;
    if (weir_known_read(r->o.answer, at, r->body_name, &c->known, &why) != 0) {
        return why;
    }
    if (c->known.body == WEIR_JSON_NONE) {
        return "a choice has no message";
    }
    if (!keeps_unknown(r)) {
        weir_metric_add(r->o.request->policy->dropped,
                        c->known.n_unknown + c->known.n_unknown_in_calls);
    }
    c->guard = weir_guard_new(
        &(struct weir_guard_options){.task = r->o.task,
                                     .plan = &r->o.request->output,
                                     .policy = r->o.request->policy,
                                     .max_held_bytes = r->o.task->env->max_service_body_bytes,
                                     .is_unary = true,
                                     .on_progress = on_progress,
                                     .ctx = c});
    r->n_choices++;
    return NULL;
}

/* NULL, or what is wrong with the answer. */
static const char *add_choices(struct run *r)
{
    const struct weir_json *json = r->o.answer;
    uint32_t choices = weir_json_get_set(json, 0, WEIR_SLICE("choices"));
    if (choices == WEIR_JSON_NONE || weir_json_type(json, choices) != WEIR_JSON_ARRAY) {
        return "the answer has no choices";
    }
    if (json->nodes[choices].n > r->o.task->env->max_choices) {
        return "more choices than limits.max_choices";
    }
    r->choices = weir_arena_array(r->o.task->arena, json->nodes[choices].n, sizeof *r->choices);
    const char *why = NULL;
    uint32_t at = weir_json_first(json, choices);
    for (; at != WEIR_JSON_NONE && why == NULL; at = weir_json_after(json, choices, at)) {
        why = add_choice(r, at);
    }
    return why;
}

void weir_enforce_start(const struct weir_enforce_options *options)
{
    struct run *r = weir_arena_zalloc(options->task->arena, sizeof *r);
    r->o = *options;
    r->body_name = is_chat(r) ? WEIR_SLICE("message") : WEIR_SLICE("text");
    weir_arena_defer(options->task->arena, undo, r);
    const char *why = add_choices(r);
    if (!keeps_unknown(r)) {
        weir_metric_add(options->request->policy->dropped, weir_known_count_top(options->answer));
    }
    for (size_t i = 0; i < r->n_choices && why == NULL; i++) {
        if (feed(&r->choices[i]) != 0) {
            why = "a choice's text cannot be checked";
        }
    }
    if (why != NULL) {
        fail_model(r, why);
        return;
    }
    for (size_t i = 0; i < r->n_choices && !r->is_over; i++) {
        drain(&r->choices[i]);
    }
    if (!r->is_over && r->n_done == r->n_choices) {
        finish(r);
    }
}
