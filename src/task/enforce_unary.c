/*
 * A whole answer on a route that blocks or redacts:
 *
 *   choice ─┬─ content ────┐
 *           ├─ reasoning … ┼─► checked choice ─► what may leave ─► the answer, written anew
 *           └─ tool calls ─┘
 *
 * All choices at once; the answer is written when the last one is done. A choice that was blocked
 * says no and nothing else.
 */
#include "task/enforce_unary.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/found.h"
#include "io/loop.h"
#include "talk/form.h"
#include "talk/known.h"
#include "talk/unknown.h"
#include "task/checked.h"
#include "task/results.h"
#include "task/unmask.h"
#include "wire/json_write.h"

enum {
    LARGE_BYTES = 256 * 1024,
    FEED_BYTES = 64 * 1024, /* given to the guards before others have their turn */
    N_FOUND = WEIR_CHANNEL_WHOLE + 1,
};

struct run;

/* A choice and what may leave of it. */
struct said {
    struct run *run;
    struct weir_delta delta;
    struct weir_checked checked;
    bool has_checked;
    struct weir_buf texts[WEIR_CHANNEL_TEXTS]; /* what may leave */
    struct weir_buf logprobs[2];               /* entries of the content's, and of the refusal's */
    struct weir_buf found[N_FOUND];            /* results, of tool calls entries, and commas */
    size_t channel;                            /* whose text is given to the guard … */
    struct weir_slice rest;                    /* … and what is left of it */
    struct weir_post step;                     /* gives more */
    bool has_rest;
    bool is_fed; /* the guard has all */
    bool is_changed;
    bool is_told; /* something was found that is only told */
    bool is_done;
};

struct run {
    struct weir_enforce_options o;
    const struct weir_dialect *dialect;
    struct said *choices;
    size_t n_choices;
    size_t n_done;
    size_t n_text_found; /* findings in texts */
    size_t n_found;      /* findings at all */
    bool is_over;
    bool has_detections;
    bool has_foreign;           /* see weir_checked_piece */
    struct weir_buf detections; /* of the answer */
    struct weir_post step;      /* composes it */
};

/* As a built-in detector says of a whole text; here each is asked chunk by chunk. */
static const struct weir_fault TOO_MUCH = {.origin = WEIR_FAULT_LIMIT,
                                           .err = WEIR_ELIMIT,
                                           .status = 422,
                                           .message = {"too much was found", 18}};

static const struct weir_policy *policy_of(const struct run *r)
{
    return r->o.request->policy;
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
    fail(r, &(struct weir_fault){.origin = r->o.request->is_chat ? WEIR_FAULT_CHAT_COMPLETION
                                                                 : WEIR_FAULT_COMPLETION,
                                 .id = r->o.request->model_id,
                                 .err = WEIR_EPEER,
                                 .why = weir_slice_cstr(why)});
}

/* ---- writing ---- */

static void add_members(struct weir_buf *to, struct weir_slice members)
{
    weir_buf_append(to, to->n != 0 && members.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
    weir_buf_append(to, members);
}

/* Those of the answer itself were looked at with its first choice. */
static void write_top_unknown(const struct run *r, struct weir_buf *extras)
{
    const struct weir_checked *first = r->n_choices != 0 ? &r->choices[0].checked : NULL;
    if (first != NULL && first->unknown_left != NULL && !first->is_blocked) {
        struct weir_talk_out e = {0};
        weir_unknown_read(first->unknown_left, weir_json_first(first->unknown_left, 0), &e);
        add_members(extras, e.top_extras);
    }
}

/* What nobody checked does not leave with a choice that was blocked. */
static void write_extras(const struct said *c, struct weir_buf *members, struct weir_buf *extras)
{
    const struct weir_delta *d = &c->delta;
    const struct weir_json *left = c->checked.unknown_left;
    if (left != NULL && !c->checked.is_blocked) {
        struct weir_talk_out e = {0};
        weir_unknown_read(left, weir_json_first(left, 0), &e);
        add_members(members, e.members);
        add_members(extras, e.extras);
    }
    if (!policy_of(c->run)->keeps_unknown || c->checked.is_blocked) {
        return;
    }
    weir_known_write_others(d->json, d->choice, weir_known_choice_of(c->run->dialect->has_messages),
                            extras);
    if (c->run->dialect->has_messages) {
        weir_known_write_others(d->json, d->body, weir_known_body, members);
    }
}

static void write_logprobs(const struct said *c, struct weir_buf *out)
{
    if (c->checked.is_blocked || (c->logprobs[0].n == 0 && c->logprobs[1].n == 0)) {
        return;
    }
    weir_buf_append(out, WEIR_SLICE("{\"content\":"));
    for (size_t i = 0; i < 2; i++) {
        weir_buf_append(out, i == 0 ? WEIR_SLICE("") : WEIR_SLICE(",\"refusal\":"));
        if (c->logprobs[i].n != 0) {
            weir_buf_append_byte(out, '[');
            weir_buf_append(out, weir_buf_slice(&c->logprobs[i]));
            weir_buf_append_byte(out, ']');
        } else {
            weir_buf_append(out, WEIR_SLICE("null"));
        }
    }
    weir_buf_append_byte(out, '}');
}

static void write_blocked(const struct said *c, struct weir_buf *out)
{
    struct weir_slice texts[WEIR_CHANNEL_TEXTS] = {{0}};
    struct weir_checked_no no = weir_checked_no(&c->checked, true);
    texts[no.channel] = no.text;
    c->run->dialect->write_choice(
        &(struct weir_talk_out){
            .form = WEIR_TALK_ANSWER, .place = c->delta.place, .texts = texts, .finish = no.finish},
        out);
}

static void write_choice(struct said *c, struct weir_buf *out)
{
    struct weir_slice texts[WEIR_CHANNEL_TEXTS] = {{0}};
    struct weir_buf members = {0};
    struct weir_buf extras = {0};
    struct weir_buf logprobs = {0};
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        bool was_said = c->delta.texts[i] != WEIR_JSON_NONE;
        texts[i] = c->texts[i].n != 0 ? weir_buf_slice(&c->texts[i])
                   : was_said         ? WEIR_SLICE("")
                                      : (struct weir_slice){0};
    }
    weir_checked_write_calls(&c->checked, false, &members);
    weir_buf_append(&extras, weir_buf_slice(&c->checked.filters));
    write_extras(c, &members, &extras);
    write_logprobs(c, &logprobs);
    c->run->dialect->write_choice(
        &(struct weir_talk_out){.form = WEIR_TALK_ANSWER,
                                .place = c->delta.place,
                                .texts = texts,
                                .audio = weir_checked_take_audio(&c->checked),
                                .members = weir_buf_slice(&members),
                                .logprobs = weir_buf_slice(&logprobs),
                                .finish = weir_buf_slice(&c->checked.finish),
                                .stop_reason = weir_buf_slice(&c->checked.stop_reason),
                                .extras = weir_buf_slice(&extras)},
        out);
    weir_buf_dispose(&members);
    weir_buf_dispose(&extras);
    weir_buf_dispose(&logprobs);
}

static void write_choices(const struct run *r, struct weir_buf *out)
{
    for (size_t i = 0; i < r->n_choices; i++) {
        if (i != 0) {
            weir_buf_append_byte(out, ',');
        }
        if (r->choices[i].checked.is_blocked) {
            write_blocked(&r->choices[i], out);
        } else {
            write_choice(&r->choices[i], out);
        }
    }
}

/* One entry per choice and channel with findings. False: there are none. */
static bool write_output(struct weir_json_write *w, const struct run *r, struct weir_slice key)
{
    bool has_any = false;
    for (size_t i = 0; i < r->n_choices * N_FOUND; i++) {
        const struct said *c = &r->choices[i / N_FOUND];
        const struct weir_buf *found = &c->found[i % N_FOUND];
        if (found->n == 0) {
            continue;
        }
        if (!has_any) {
            weir_json_write_key(w, key);
            weir_json_write_begin_array(w);
            has_any = true;
        }
        weir_checked_write_found(w, &c->checked, (enum weir_channel)(i % N_FOUND),
                                 weir_buf_slice(found));
    }
    if (has_any) {
        weir_json_write_end_array(w);
    }
    return has_any;
}

static void write_detections(struct run *r)
{
    struct weir_json_write w;
    weir_json_write_init(&w, &r->detections);
    weir_json_write_begin_object(&w);
    r->has_detections = weir_input_n_found(r->o.input) != 0;
    if (r->has_detections) {
        weir_json_write_key(&w, WEIR_SLICE("input"));
        weir_input_write(&w, r->o.input);
    }
    r->has_detections |= write_output(&w, r, WEIR_SLICE("output"));
    weir_json_write_end_object(&w);
}

static void write_warnings(const struct run *r, struct weir_buf *out)
{
    struct weir_buf input = {0};
    struct weir_json_write w;
    bool has_input = weir_completion_write_input_warnings(r->o.request, r->o.input, &input);
    if (has_input || r->n_text_found != 0 || r->has_foreign) {
        weir_json_write_init(&w, out);
        weir_json_write_begin_array(&w);
        if (has_input) {
            weir_json_write_raw(&w, weir_slice_sub(weir_buf_slice(&input), 1, input.n - 1));
        }
        if (r->n_text_found != 0) {
            weir_results_write_warning(&w, WEIR_SLICE("type"), WEIR_WARN_UNSUITABLE_OUTPUT);
        }
        if (r->has_foreign) {
            weir_json_write_raw(&w, WEIR_SLICE(WEIR_UNMASK_WARNING));
        }
        weir_json_write_end_array(&w);
    }
    weir_buf_dispose(&input);
}

static void write_usage(const struct run *r, struct weir_buf *out)
{
    uint32_t at = weir_json_get(r->o.answer, 0, WEIR_SLICE("usage"));
    if (at != WEIR_JSON_NONE) {
        weir_metric_add(policy_of(r)->dropped, weir_form_write_usage(r->o.answer, at, out));
    }
}

static struct weir_slice compose(const struct run *r)
{
    struct weir_buf choices = {0};
    struct weir_buf usage = {0};
    struct weir_buf extras = {0};
    struct weir_buf warnings = {0};
    struct weir_buf out = {0};
    struct weir_envelope *envelope = weir_envelope_of(r->o.answer, r->o.request->model_id, NULL);
    weir_metric_add(policy_of(r)->dropped, envelope->n_odd);
    write_choices(r, &choices);
    write_usage(r, &usage);
    write_warnings(r, &warnings);
    weir_metric_add(policy_of(r)->dropped,
                    weir_form_write_filters(r->o.answer, 0, weir_known_prompt_filters, &extras));
    write_top_unknown(r, &extras);
    if (policy_of(r)->keeps_unknown) {
        weir_known_write_others(r->o.answer, 0, weir_known_top, &extras);
    }
    r->dialect->write_answer(
        &(struct weir_talk_out){.envelope = envelope,
                                .form = WEIR_TALK_ANSWER,
                                .choices = weir_buf_slice(&choices),
                                .top_extras = weir_buf_slice(&extras),
                                .usage = weir_buf_slice(&usage),
                                .detections = r->has_detections ? weir_buf_slice(&r->detections)
                                                                : WEIR_SLICE(""),
                                .warnings = weir_buf_slice(&warnings)},
        &out);
    weir_envelope_unref(envelope);
    weir_buf_dispose(&choices);
    weir_buf_dispose(&usage);
    weir_buf_dispose(&extras);
    weir_buf_dispose(&warnings);
    return weir_arena_take_buf(r->o.task->arena, &out);
}

/* ---- the guards ---- */

static enum weir_policy_outcome outcome_of(const struct run *r, bool *is_all_blocked)
{
    enum weir_policy_outcome outcome = WEIR_POLICY_PASSED;
    *is_all_blocked = r->n_choices != 0;
    for (size_t i = 0; i < r->n_choices; i++) {
        *is_all_blocked = *is_all_blocked && r->choices[i].checked.is_blocked;
        if (r->choices[i].checked.is_blocked) {
            outcome = WEIR_POLICY_BLOCKED;
        } else if (r->choices[i].is_changed && outcome != WEIR_POLICY_BLOCKED) {
            outcome = WEIR_POLICY_REDACTED;
        } else if (outcome == WEIR_POLICY_PASSED &&
                   (r->choices[i].is_told ||
                    (r->n_text_found != 0 && !weir_policy_on_output(policy_of(r))->enforces))) {
            outcome = WEIR_POLICY_ANNOTATED;
        }
    }
    return outcome;
}

static void on_step(struct weir_post *step)
{
    struct run *r = WEIR_LIST_ENTRY(step, struct run, step);
    struct weir_task_answer answer = {0};
    bool is_all_blocked;
    outcome_of(r, &is_all_blocked);
    if (is_all_blocked && policy_of(r)->block_as == WEIR_POLICY_BLOCK_AS_ERROR) {
        struct weir_fault refused = weir_completion_block_fault(r->o.request);
        answer.fault = weir_fault_keep(r->o.task->arena, &refused);
    } else {
        answer.body = compose(r);
    }
    r->o.done(r->o.ctx, &answer);
}

/* Findings may be many megabytes: they are written in one step, the answer with them in another. */
static void finish(struct run *r)
{
    bool is_all_blocked;
    r->is_over = true;
    weir_policy_count(policy_of(r), WEIR_POLICY_OUTPUT, outcome_of(r, &is_all_blocked));
    write_detections(r);
    if (r->detections.n > LARGE_BYTES) {
        weir_loop_step(r->o.task->loop, &r->step);
    } else {
        on_step(&r->step);
    }
}

static void take_piece(struct said *c, const struct weir_checked_piece *p)
{
    const struct weir_guard_piece *piece = &p->piece;
    struct weir_buf *found = &c->found[piece->channel];
    bool is_calls = piece->channel == WEIR_CHANNEL_TOOLS;
    weir_buf_append(found,
                    piece->entries.n != 0 && found->n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
    weir_buf_append(found, piece->entries);
    for (size_t i = 0; i < piece->n_findings && !is_calls; i++) {
        weir_results_append(found, WEIR_RESULTS_TERSE, piece->findings[i], found->n != 0);
    }
    c->is_changed = c->is_changed || piece->is_changed;
    c->run->has_foreign = c->run->has_foreign || p->piece.has_foreign;
    c->run->n_found += piece->n_findings;
    c->run->n_text_found += piece->channel != WEIR_CHANNEL_WHOLE ? piece->n_findings : 0;
    if (piece->what != WEIR_GUARD_TEXT || piece->channel >= WEIR_CHANNEL_TEXTS) {
        return; /* calls, and what is only told of them or of the whole, are no text */
    }
    weir_buf_append(&c->texts[piece->channel], piece->text);
    if (p->entries.n != 0) {
        struct weir_buf *out = &c->logprobs[piece->channel == WEIR_CHANNEL_REFUSAL];
        weir_buf_append(out, out->n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_buf_append(out, p->entries);
    }
}

/* The next piece, or what is only told. */
static int pop(struct said *c, struct weir_checked_piece *p)
{
    int rc = weir_checked_pop(&c->checked, p);
    if (rc == WEIR_EAGAIN) {
        rc = weir_checked_pop_told(&c->checked, p);
        c->is_told = c->is_told || rc == 0;
    }
    return rc;
}

static void drain(struct said *c)
{
    struct run *r = c->run;
    struct weir_checked_piece p;
    int rc = 0;
    while (!r->is_over && (rc = pop(c, &p)) == 0) {
        take_piece(c, &p);
        if (r->n_found > WEIR_FOUND_MAX) {
            fail(r, &TOO_MUCH);
        }
    }
    if (r->is_over) {
        return;
    }
    const struct weir_guard *guard = c->checked.guard;
    if (rc != WEIR_EAGAIN) {
        fail(r, weir_checked_fault(&c->checked));
    } else if (weir_guard_is_done(guard) && weir_guard_is_told(guard) && !c->is_done) {
        c->is_done = true;
        r->n_done++;
    }
}

static void on_progress(void *ctx)
{
    struct said *c = ctx;
    struct run *r = c->run;
    if (c->is_fed) {
        drain(c);
    }
    if (!r->is_over && r->n_done == r->n_choices) {
        finish(r);
    }
}

/* The next of what the choice says, at most so much. */
static struct weir_slice next_part(struct said *c, size_t max)
{
    const struct weir_delta *d = &c->delta;
    while (!c->has_rest && c->channel < WEIR_CHANNEL_TEXTS) {
        uint32_t at = d->texts[c->channel];
        c->has_rest = at != WEIR_JSON_NONE;
        if (c->has_rest) {
            c->rest = weir_json_string(d->json, at, c->run->o.task->arena);
        } else {
            c->channel++;
        }
    }
    return weir_slice_sub(c->rest, 0, weir_utf8_floor(c->rest, max));
}

/* Gives the guard some of what the choice says. What leaves must not depend on how it was cut: the
 * guard is asked when it has all. */
static void feed(struct said *c)
{
    size_t n_given = 0;
    while (c->channel < WEIR_CHANNEL_TEXTS && n_given < FEED_BYTES) {
        struct weir_slice part = next_part(c, FEED_BYTES);
        if (part.n != 0 &&
            weir_checked_push(&c->checked, (enum weir_channel)c->channel, 0, part) != 0) {
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
        weir_checked_end(&c->checked);
        c->is_fed = true;
        on_progress(c);
    }
}

static void on_feed(struct weir_post *step)
{
    struct said *c = WEIR_LIST_ENTRY(step, struct said, step);
    if (!c->run->is_over) {
        feed(c);
    }
}

/* ---- reading ---- */

static void undo(void *ctx)
{
    struct run *r = ctx;
    r->is_over = true;
    weir_loop_unpost(&r->step);
    weir_buf_dispose(&r->detections);
    for (size_t i = 0; i < r->n_choices; i++) {
        struct said *c = &r->choices[i];
        weir_loop_unpost(&c->step);
        if (c->has_checked) {
            weir_checked_dispose(&c->checked);
        }
        for (size_t j = 0; j < WEIR_CHANNEL_TEXTS; j++) {
            weir_buf_dispose(&c->texts[j]);
        }
        for (size_t j = 0; j < N_FOUND; j++) {
            weir_buf_dispose(&c->found[j]);
        }
        weir_buf_dispose(&c->logprobs[0]);
        weir_buf_dispose(&c->logprobs[1]);
    }
}

/* False: the request has failed. */
static bool add_choice(struct run *r, uint32_t at)
{
    const char *why;
    struct said *c = &r->choices[r->n_choices];
    c->run = r;
    c->step.fn = on_feed;
    if (r->dialect->read(r->o.answer, at, WEIR_TALK_ANSWER, &c->delta, &why) != 0) {
        fail_model(r, why);
        return false;
    }
    bool is_dropped = !policy_of(r)->keeps_unknown && !policy_of(r)->checks_unknown;
    if (is_dropped) {
        weir_metric_add(policy_of(r)->dropped, c->delta.n_unknown + c->delta.n_unknown_in_calls);
    }
    weir_checked_init(&c->checked, &(struct weir_checked_options){
                                       .task = r->o.task,
                                       .request = r->o.request,
                                       .dialect = r->dialect,
                                       .place = c->delta.place,
                                       .max_held_bytes = r->o.task->env->max_service_body_bytes,
                                       .is_unary = true,
                                       .on_progress = on_progress,
                                       .ctx = c});
    c->has_checked = true;
    r->n_choices++;
    bool is_checked = policy_of(r)->checks_unknown && !policy_of(r)->keeps_unknown;
    bool is_first = r->n_choices == 1;
    if ((is_checked && weir_checked_take_unknown(&c->checked, &c->delta, is_first) != 0) ||
        weir_checked_take(&c->checked, &c->delta) != 0) {
        fail(r, weir_checked_fault(&c->checked));
        return false;
    }
    weir_metric_add(policy_of(r)->dropped, c->checked.n_odd);
    return true;
}

/* False: the request has failed. */
static bool add_choices(struct run *r)
{
    const struct weir_json *json = r->o.answer;
    uint32_t choices = weir_json_get_set(json, 0, WEIR_SLICE("choices"));
    if (choices == WEIR_JSON_NONE || weir_json_type(json, choices) != WEIR_JSON_ARRAY) {
        fail_model(r, "the answer has no choices");
        return false;
    }
    if (json->nodes[choices].n > r->o.task->env->max_choices) {
        fail_model(r, "more choices than limits.max_choices");
        return false;
    }
    r->choices = weir_arena_array(r->o.task->arena, json->nodes[choices].n, sizeof *r->choices);
    uint32_t at = weir_json_first(json, choices);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, choices, at)) {
        if (!add_choice(r, at)) {
            return false;
        }
    }
    return true;
}

void weir_enforce_start(const struct weir_enforce_options *options)
{
    struct run *r = weir_arena_zalloc(options->task->arena, sizeof *r);
    r->o = *options;
    r->step.fn = on_step;
    r->dialect = weir_completion_dialect(options->request);
    weir_arena_defer(options->task->arena, undo, r);
    if (!policy_of(r)->keeps_unknown && !policy_of(r)->checks_unknown) {
        weir_metric_add(policy_of(r)->dropped, weir_known_count(r->o.answer, 0, weir_known_top));
    }
    if (!add_choices(r)) {
        return;
    }
    for (size_t i = 0; i < r->n_choices && !r->is_over; i++) {
        feed(&r->choices[i]);
    }
    if (!r->is_over && r->n_choices == 0) {
        finish(r);
    }
}
