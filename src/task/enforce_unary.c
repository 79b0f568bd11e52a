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
#include "base/utf8.h"
#include "detect/found.h"
#include "task/enforce_int.h"
#include "task/promise.h"
#include "task/results.h"

enum {
    LARGE_BYTES = 256 * 1024,
    FEED_BYTES = 64 * 1024, /* given to the guards before others have their turn */
};

/* As a built-in detector says of a whole text; here each is asked chunk by chunk. */
static const struct weir_fault TOO_MUCH = {.origin = WEIR_FAULT_LIMIT,
                                           .err = WEIR_ELIMIT,
                                           .status = 422,
                                           .message = {"too much was found", 18}};

static void fail(struct weir_enforce_run *r, const struct weir_fault *fault)
{
    if (!r->is_over) {
        r->is_over = true;
        struct weir_task_answer answer = {.fault = weir_fault_keep(r->o.task->arena, fault)};
        r->o.done(r->o.ctx, &answer);
    }
}

static void fail_model(struct weir_enforce_run *r, const char *why)
{
    fail(r, &(struct weir_fault){.origin = weir_enforce__is_chat(r) ? WEIR_FAULT_CHAT_COMPLETION
                                                                    : WEIR_FAULT_COMPLETION,
                                 .id = r->o.request->model_id,
                                 .err = WEIR_EPEER,
                                 .why = weir_slice_cstr(why)});
}

/* ---- the guards ---- */

static void count_outcome(const struct weir_enforce_run *r)
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

static void on_step(struct weir_post *step)
{
    struct weir_enforce_run *r = WEIR_LIST_ENTRY(step, struct weir_enforce_run, step);
    struct weir_task_answer answer = {.body = weir_enforce__compose(r)};
    r->o.done(r->o.ctx, &answer);
}

/* Findings may be many megabytes: they are written in one step, the answer with them in another. */
static void finish(struct weir_enforce_run *r)
{
    r->is_over = true;
    count_outcome(r);
    weir_enforce__write_detections(r);
    if (r->detections.n > LARGE_BYTES) {
        weir_loop_step(r->o.task->loop, &r->step);
    } else {
        on_step(&r->step);
    }
}

static void note_findings(struct weir_enforce_said *c, const struct weir_guard_piece *piece)
{
    struct weir_buf *out = &c->found[piece->channel];
    for (size_t i = 0; i < piece->n_findings; i++) {
        weir_results_append(out, WEIR_RESULTS_TERSE, piece->findings[i], out->n != 0);
    }
    c->run->n_found += piece->n_findings;
    c->run->n_text_found += piece->channel != WEIR_CHANNEL_WHOLE ? piece->n_findings : 0;
}

/* True: the request has failed. */
static bool breaks_promise(struct weir_enforce_said *c, const struct weir_guard_piece *piece)
{
    if (piece->what != WEIR_GUARD_TEXT || weir_guard_has_judged(c->guard, piece)) {
        return false;
    }
    struct weir_promise promise = {.task = c->run->o.task,
                                   .what = weir_channel_name(piece->channel),
                                   .choice = c->known.index};
    struct weir_fault fault = weir_promise_broken(&promise);
    fail(c->run, &fault);
    return true;
}

static void say_no(struct weir_enforce_said *c)
{
    const struct weir_policy *policy = c->run->o.request->policy;
    bool is_refusal = policy->fallback.p == NULL && weir_enforce__is_chat(c->run);
    enum weir_channel channel = is_refusal ? WEIR_CHANNEL_REFUSAL : WEIR_CHANNEL_CONTENT;
    weir_buf_append(&c->said[channel],
                    policy->fallback.p != NULL ? policy->fallback : WEIR_POLICY_REFUSAL);
}

static void take_piece(struct weir_enforce_said *c, const struct weir_guard_piece *piece)
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

static void drain(struct weir_enforce_said *c)
{
    struct weir_enforce_run *r = c->run;
    struct weir_guard_piece piece;
    int rc = 0;
    while (!r->is_over && (rc = weir_guard_pop(c->guard, &piece)) == 0) {
        if (breaks_promise(c, &piece)) {
            return;
        }
        take_piece(c, &piece);
        if (r->n_found > WEIR_FOUND_MAX) {
            fail(r, &TOO_MUCH);
        }
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
    struct weir_enforce_said *c = ctx;
    struct weir_enforce_run *r = c->run;
    if (c->is_fed) {
        drain(c);
    }
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
static void collect_calls(const struct weir_enforce_said *c, struct weir_guard_ending *ending)
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

/* The next of what the choice says, at most so much. */
static struct weir_slice next_part(struct weir_enforce_said *c, size_t max)
{
    const struct weir_known *k = &c->known;
    while (!c->has_rest && c->channel < WEIR_CHANNEL_TEXTS) {
        uint32_t at = k->texts[c->channel];
        c->has_rest = at != WEIR_JSON_NONE;
        if (c->has_rest) {
            c->rest = weir_json_string(k->json, at, c->run->o.task->arena);
        } else {
            c->channel++;
        }
    }
    return weir_slice_sub(c->rest, 0, weir_utf8_floor(c->rest, max));
}

static void end_guard(struct weir_enforce_said *c)
{
    const struct weir_task_completion *request = c->run->o.request;
    const struct weir_known *k = &c->known;
    struct weir_task_ctx *task = c->run->o.task;
    struct weir_guard_ending ending = {.prompt = request->prompt};
    collect_calls(c, &ending);
    if (weir_plan_has_type(&request->output, WEIR_DETECT_CHAT)) {
        uint32_t tools = weir_json_get_set(request->json, 0, WEIR_SLICE("tools"));
        ending.messages = weir_completion_history(task, request->json, k->json, k->body);
        ending.tools =
            tools != WEIR_JSON_NONE ? weir_json_raw(request->json, tools) : WEIR_SLICE("");
    }
    weir_guard_end(c->guard, &ending);
    c->is_fed = true;
}

/* Gives the guard some of what the choice says. What leaves must not depend on how it was cut: the
 * guard is asked when it has all. */
static void feed(struct weir_enforce_said *c)
{
    size_t n_given = 0;
    while (c->channel < WEIR_CHANNEL_TEXTS && n_given < FEED_BYTES) {
        struct weir_slice part = next_part(c, FEED_BYTES);
        if (part.n != 0 && weir_guard_push(c->guard, (enum weir_channel)c->channel, 0, part) != 0) {
            fail_model(c->run, "a choice's text cannot be checked");
            return;
        }
        c->rest = weir_slice_sub(c->rest, part.n, c->rest.n);
        n_given += part.n;
        if (c->rest.n == 0) {
            c->has_rest = false;
            c->channel++;
        }
    }
    if (c->channel < WEIR_CHANNEL_TEXTS) {
        weir_loop_step(c->run->o.task->loop, &c->step);
    } else {
        end_guard(c);
        on_progress(c);
    }
}

static void on_feed(struct weir_post *step)
{
    struct weir_enforce_said *c = WEIR_LIST_ENTRY(step, struct weir_enforce_said, step);
    if (!c->run->is_over) {
        feed(c);
    }
}

static void undo(void *ctx)
{
    struct weir_enforce_run *r = ctx;
    r->is_over = true;
    weir_loop_unpost(&r->step);
    weir_buf_dispose(&r->detections);
    for (size_t i = 0; i < r->n_choices; i++) {
        struct weir_enforce_said *c = &r->choices[i];
        weir_loop_unpost(&c->step);
        weir_guard_free(c->guard);
        for (size_t j = 0; j < WEIR_CHANNEL_TEXTS; j++) {
            weir_buf_dispose(&c->said[j]);
        }
        for (size_t j = 0; j <= WEIR_CHANNEL_WHOLE; j++) {
            weir_buf_dispose(&c->found[j]);
        }
    }
}

static const char *add_choice(struct weir_enforce_run *r, uint32_t at)
{
    const char *why;
    struct weir_enforce_said *c = &r->choices[r->n_choices];
    c->run = r;
    c->step.fn = on_feed;
    if (weir_known_read(r->o.answer, at, r->body_name, &c->known, &why) != 0) {
        return why;
    }
    if (c->known.body == WEIR_JSON_NONE) {
        return "a choice has no message";
    }
    if (!r->o.request->policy->keeps_unknown) {
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
static const char *add_choices(struct weir_enforce_run *r)
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
    struct weir_enforce_run *r = weir_arena_zalloc(options->task->arena, sizeof *r);
    r->o = *options;
    r->step.fn = on_step;
    r->body_name = weir_enforce__is_chat(r) ? WEIR_SLICE("message") : WEIR_SLICE("text");
    weir_arena_defer(options->task->arena, undo, r);
    const char *why = add_choices(r);
    if (!r->o.request->policy->keeps_unknown) {
        weir_metric_add(options->request->policy->dropped, weir_known_count_top(options->answer));
    }
    if (why != NULL) {
        fail_model(r, why);
        return;
    }
    for (size_t i = 0; i < r->n_choices && !r->is_over; i++) {
        feed(&r->choices[i]);
    }
    if (!r->is_over && r->n_choices == 0) {
        finish(r);
    }
}
