#include "task/guard.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "io/loop.h"
#include "task/called.h"
#include "task/guard_told.h"
#include "task/guard_values.h"
#include "task/redact.h"
#include "task/scan.h"
#include "task/seen.h"
#include "task/source.h"

#include <stdlib.h>
#include <string.h>

enum { N_GROUPS = WEIR_CHANNEL_WHOLE + 1, NO_CHANNEL = -1 };

/* Models think before they speak. */
static const enum weir_channel SPEAKING_ORDER[WEIR_CHANNEL_TEXTS] = {
    WEIR_CHANNEL_REASONING, WEIR_CHANNEL_REASONING_CONTENT, WEIR_CHANNEL_CONTENT,
    WEIR_CHANNEL_REFUSAL, WEIR_CHANNEL_TRANSCRIPT};

struct channel {
    struct weir_path *path; /* NULL: nothing was said here, or all is held */
    struct weir_buf whole;  /* all is held: the text */
    size_t n_whole_cp;
    struct weir_redact redact;
    size_t left_cp; /* that was let go, for the promise */
};

struct weir_guard {
    struct weir_guard_options options;
    bool holds_all;
    struct channel *channels[WEIR_CHANNEL_TEXTS]; /* NULL: nothing was said there so far */
    struct weir_keep_json *keep; /* of the content, where it is JSON; NULL: it is any text */
    bool is_kept_told;           /* what that held back has left */
    struct weir_scan *scan; /* what is looked at when the choice has ended; NULL: nothing yet */
    struct weir_scan_group *groups[N_GROUPS];
    struct weir_called *called;          /* the tool calls; NULL: none, or not yet */
    struct weir_guard_told *told_beside; /* by those that only tell; NULL: none does */
    struct weir_buf out;
    /* Of the piece popped last. */
    struct weir_detection *told;
    const struct weir_detection **told_list;
    struct weir_redact_span *spans;
    size_t cap_told;
    struct weir_guard_values *values; /* on routes that mask; NULL elsewhere */
    struct weir_detection *sifted;    /* findings that are not in tokens */
    const struct weir_detection **sifted_list;
    size_t cap_sifted;
    struct weir_guard_stretch *stretches;
    size_t n_stretches;
    size_t cap_stretches;
    struct weir_guard_piece stop; /* the text before it has left: the choice ends with this one */
    bool has_stop;
    const struct weir_fault *fault; /* NULL: none */
    struct weir_post drop; /* blocked: what runs is stopped, but not from inside its own call */
    int releasing;         /* the channel whose batch was popped last; NO_CHANNEL: none */
    size_t releasing_cp;
    size_t next_whole; /* all is held: the place in the order of the channel to tell next */
    bool has_ended;
    bool is_scanning;
    bool is_blocked;
    bool is_clear;
};

/* ---- making ---- */

static struct channel *channel_of(struct weir_guard *g, enum weir_channel channel)
{
    if (g->channels[channel] == NULL) {
        struct channel *c = weir_mem_zalloc(sizeof *c);
        weir_buf_init(&c->whole, g->options.max_held_bytes);
        c->redact.keeps_runs = g->told_beside != NULL;
        c->redact.keep = channel == WEIR_CHANNEL_CONTENT ? g->keep : NULL;
        g->channels[channel] = c;
    }
    return g->channels[channel];
}

/* To read of it, said or not. */
static const struct channel *peek(const struct weir_guard *g, enum weir_channel channel)
{
    static const struct channel SILENT = {0};
    return g->channels[channel] != NULL ? g->channels[channel] : &SILENT;
}

static void drop_channels(struct weir_guard *g)
{
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        struct channel *c = g->channels[i];
        if (c != NULL) {
            weir_path_free(c->path);
            c->path = NULL;
            weir_buf_dispose(&c->whole);
            weir_redact_dispose(&c->redact);
        }
    }
}

static void on_drop(struct weir_post *post)
{
    struct weir_guard *g = WEIR_LIST_ENTRY(post, struct weir_guard, drop);
    weir_scan_cancel(g->scan);
    weir_guard_told_free(g->told_beside);
    g->told_beside = NULL;
    drop_channels(g);
    g->options.on_progress(g->options.ctx); /* a chunker that was full holds nobody any more */
}

static void on_path(void *ctx)
{
    struct weir_guard *g = ctx;
    if (!g->is_blocked) {
        g->options.on_progress(g->options.ctx);
    }
}

static void open_told(struct weir_guard *g)
{
    struct weir_guard_options options = g->options;
    options.on_progress = on_path;
    options.ctx = g;
    g->told_beside = weir_guard_told_new(&options);
}

/* The guard of those that only tell; NULL: there is none. */
static const struct weir_guard *teller_of(const struct weir_guard *g)
{
    return g->told_beside != NULL ? g->told_beside->guard : NULL;
}

static bool only_tells(const struct weir_guard *g)
{
    return g->options.policy->only_tells;
}

struct weir_guard *weir_guard_new(const struct weir_guard_options *options)
{
    WEIR_ASSERT(options->policy != NULL);
    struct weir_guard *g = weir_mem_zalloc(sizeof *g);
    g->options = *options;
    open_told(g);
    g->options.plan = weir_plan_judging(options->plan);
    g->holds_all = weir_path_has_whole(g->options.plan);
    g->releasing = NO_CHANNEL;
    g->drop.fn = on_drop;
    if (options->policy->map != NULL) {
        g->values = weir_guard_values_new(
            &(struct weir_unmask_options){.mask = options->policy->map,
                                          .policy = options->policy->mask,
                                          .is_json = options->keeps_json,
                                          .keeps_tokens = options->keeps_tokens,
                                          .keeps_places = g->told_beside != NULL});
    }
    if (options->keeps_json && weir_policy_on_output(options->policy)->fills) {
        g->keep = weir_mem_zalloc(sizeof *g->keep);
    }
    return g;
}

void weir_guard_free(struct weir_guard *g)
{
    if (g == NULL) {
        return;
    }
    weir_loop_unpost(&g->drop);
    weir_scan_cancel(g->scan);
    weir_guard_told_free(g->told_beside);
    drop_channels(g);
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        free(g->channels[i]);
    }
    weir_buf_dispose(&g->out);
    if (g->keep != NULL) {
        weir_keep_json_dispose(g->keep);
        free(g->keep);
    }
    free(g->told);
    free(g->told_list);
    free(g->spans);
    weir_guard_values_free(g->values);
    free(g->sifted);
    free(g->sifted_list);
    free(g->stretches);
    free(g);
}

/* ---- text ---- */

static struct weir_path *path_of(struct weir_guard *g, enum weir_channel channel)
{
    struct channel *c = channel_of(g, channel);
    if (c->path == NULL) {
        c->path = weir_path_new(&(struct weir_path_options){
            .task = g->options.task,
            .plan = weir_plan_on(g->options.plan, channel),
            .strategy = weir_gather_strategy_find(WEIR_SLICE("aligned")),
            .max_held_bytes = g->options.max_held_bytes,
            .leaves_nothing = only_tells(g),
            .exposes_nothing = g->options.exposes_nothing || g->options.is_unary,
            .tells_open = weir_policy_on_output(g->options.policy)->enforces,
            .choice = g->options.choice,
            .channel = channel,
            .on_progress = on_path,
            .ctx = g});
    }
    return c->path;
}

/* The batch popped last has left. */
static void release(struct weir_guard *g)
{
    if (g->releasing != NO_CHANNEL) {
        weir_path_release(g->channels[g->releasing]->path, g->releasing_cp);
        g->releasing = NO_CHANNEL;
    }
}

/* Reports to the watcher where all is held; otherwise the path does. */
static void note_whole(const struct weir_guard *g, enum weir_task_step_kind kind,
                       enum weir_channel channel, size_t start_cp)
{
    const struct weir_task_trace *trace = g->options.task->trace;
    if (trace != NULL && !only_tells(g)) {
        trace->note(trace, &(struct weir_task_step){.kind = kind,
                                                    .choice = g->options.choice,
                                                    .channel = channel,
                                                    .start_cp = start_cp,
                                                    .end_cp = peek(g, channel)->n_whole_cp});
    }
}

static int push_text(struct weir_guard *g, enum weir_channel channel, uint64_t frame,
                     struct weir_slice text)
{
    if (text.n == 0) {
        return 0;
    }
    release(g);
    if (!g->holds_all) {
        return weir_path_push(path_of(g, channel), frame, text, NULL);
    }
    if (!weir_utf8_is_valid(text)) {
        return WEIR_EBAD;
    }
    struct channel *c = channel_of(g, channel);
    size_t start_cp = c->n_whole_cp;
    c->n_whole_cp += weir_utf8_count(text);
    note_whole(g, WEIR_TASK_STEP_RAW, channel, start_cp);
    return weir_buf_append(&c->whole, text);
}

int weir_guard_push(struct weir_guard *g, enum weir_channel channel, uint64_t frame,
                    struct weir_slice text)
{
    if (g->is_blocked || g->has_stop) {
        return 0;
    }
    WEIR_ASSERT(!g->has_ended || text.n == 0);
    int rc = weir_guard_told_push(g->told_beside, channel, frame, text);
    if (rc != 0) {
        return rc;
    }
    if (g->values != NULL && text.n != 0) {
        if (!weir_utf8_is_valid(text)) {
            return WEIR_EBAD;
        }
        text = weir_unmask_take(g->values->unmask, channel, text);
    }
    return push_text(g, channel, frame, text);
}

static void note_fault(struct weir_guard *g, const struct weir_fault *fault)
{
    g->fault = weir_fault_keep(g->options.task->arena, fault);
}

/* The beginnings of tokens that were none. */
static void push_rest(struct weir_guard *g)
{
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        enum weir_channel channel = (enum weir_channel)i;
        struct weir_slice rest = weir_unmask_rest(g->values->unmask, channel);
        if (push_text(g, channel, 0, rest) != 0) {
            struct weir_fault fault =
                weir_source_limit_fault(g->options.task->arena, g->options.max_held_bytes);
            note_fault(g, &fault);
        }
    }
}

size_t weir_guard_length_cp(const struct weir_guard *g, enum weir_channel channel)
{
    const struct channel *c = peek(g, channel);
    if (g->holds_all) {
        return c->n_whole_cp;
    }
    return c->path != NULL ? weir_path_length_cp(c->path) : 0;
}

struct weir_slice weir_guard_whole(const struct weir_guard *g, enum weir_channel channel)
{
    const struct weir_guard *teller = teller_of(g);
    return g->holds_all || teller == NULL ? weir_buf_slice(&peek(g, channel)->whole)
                                          : weir_guard_whole(teller, channel);
}

/* ---- the end of a choice ---- */

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct weir_guard *g = ctx;
    const struct weir_fault *fault = weir_scan_fault(scan);
    g->is_scanning = false;
    if (fault != NULL) {
        note_fault(g, fault);
    } else if (g->called != NULL) {
        weir_called_collect(g->called);
    }
    if (!g->is_blocked) {
        g->options.on_progress(g->options.ctx);
    }
}

/* All is held: every detector looks at every channel, and some at the whole exchange. */
static bool add_wholes(struct weir_guard *g, const struct weir_guard_ending *ending)
{
    const struct weir_plan *plan = g->options.plan;
    struct weir_slice content = weir_buf_slice(&peek(g, WEIR_CHANNEL_CONTENT)->whole);
    bool has_any = false;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        const struct channel *c = peek(g, (enum weir_channel)i);
        struct weir_slice text = weir_buf_slice(&c->whole);
        if (text.n != 0) {
            g->groups[i] = weir_scan_add_group(g->scan, WEIR_RESULTS_NONE);
            g->groups[i]->watched = (struct weir_task_step){.kind = WEIR_TASK_STEP_VERDICT,
                                                            .choice = g->options.choice,
                                                            .channel = (enum weir_channel)i,
                                                            .end_cp = c->n_whole_cp};
            weir_scan_add_text(g->groups[i], weir_plan_on(plan, (enum weir_channel)i), text);
            has_any = true;
        }
    }
    g->groups[WEIR_CHANNEL_WHOLE] = weir_scan_add_group(g->scan, WEIR_RESULTS_NONE);
    for (size_t i = 0; i < plan->n; i++) {
        struct weir_detect_input input = {0};
        enum weir_detect_type type = plan->uses[i].d->detector->type;
        if (type == WEIR_DETECT_CHAT) {
            input.messages = ending->messages;
            input.tools = ending->tools;
        } else if (type == WEIR_DETECT_GENERATION && content.n != 0) {
            input.prompt = ending->prompt;
            input.generated_text = content;
        } else {
            continue;
        }
        weir_scan_add_whole(g->groups[WEIR_CHANNEL_WHOLE], &plan->uses[i], &input);
        has_any = true;
    }
    return has_any;
}

static bool has_calls(const struct weir_guard_ending *ending)
{
    return (ending->calls != NULL && ending->calls->n != 0) || ending->unknown.n != 0;
}

static bool add_calls(struct weir_guard *g, const struct weir_guard_ending *ending)
{
    static const struct weir_tools none;
    if (!has_calls(ending)) {
        return false;
    }
    const struct weir_mask *mask = g->values != NULL ? weir_unmask_mask(g->values->unmask) : NULL;
    g->called = weir_called_new(
        &(struct weir_called_options){.arena = g->options.task->arena,
                                      .plan = weir_plan_on(g->options.plan, WEIR_CHANNEL_TOOLS),
                                      .policy = g->options.policy,
                                      .mask = mask,
                                      .choice = g->options.choice,
                                      .tools = ending->calls != NULL ? ending->calls : &none,
                                      .unknown = ending->unknown});
    return weir_called_add(g->called, g->scan);
}

void weir_guard_end(struct weir_guard *g, const struct weir_guard_ending *ending)
{
    if (g->is_blocked || g->has_stop || g->has_ended) {
        return;
    }
    weir_guard_told_end(g->told_beside, ending);
    if (g->values != NULL) {
        push_rest(g);
        weir_unmask_count_calls(g->values->unmask, ending->calls);
    }
    release(g);
    g->has_ended = true;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        struct weir_path *path = peek(g, (enum weir_channel)i)->path;
        if (path != NULL) {
            weir_path_end(path);
        }
    }
    if (!g->holds_all && !has_calls(ending)) {
        return;
    }
    g->scan = weir_scan_new(g->options.task, on_scanned, g);
    bool has_any = g->holds_all && add_wholes(g, ending);
    g->is_scanning = add_calls(g, ending) || has_any;
    if (g->is_scanning) {
        weir_scan_start(g->scan);
    }
}

/* ---- deciding ---- */

static bool can_redact(const struct weir_guard_piece *piece)
{
    for (size_t i = 0; i < piece->n_findings; i++) {
        if (!weir_redact_can(piece->findings[i])) {
            return false;
        }
    }
    return true;
}

/* Findings as they are told. */
static void keep_told(struct weir_guard *g, struct weir_guard_piece *piece)
{
    if (piece->n_findings > g->cap_told) {
        g->cap_told = piece->n_findings * 2;
        g->told = weir_mem_realloc(g->told, g->cap_told * sizeof *g->told);
        g->told_list = weir_mem_realloc(g->told_list, g->cap_told * sizeof *g->told_list);
        g->spans = weir_mem_realloc(g->spans, g->cap_told * sizeof *g->spans);
    }
    for (size_t i = 0; i < piece->n_findings; i++) {
        g->told[i] = *piece->findings[i];
        g->told[i].detection = weir_detection_name(piece->findings[i]);
        g->told[i].detection_type = weir_detection_type_name(piece->findings[i]);
        g->told[i].metadata = WEIR_SLICE("");
        g->told_list[i] = &g->told[i];
        g->spans[i] = (struct weir_redact_span){g->told[i].start_cp, g->told[i].end_cp};
    }
    piece->findings = g->told_list;
}

/* What goes on with a finding that was told before is replaced, but no finding by itself. */
static void drop_rests(struct weir_guard *g, struct weir_guard_piece *piece)
{
    size_t n = 0;
    for (size_t i = 0; i < piece->n_findings; i++) {
        if (g->told[i].edge != WEIR_EDGE_REST) {
            g->told_list[n++] = &g->told[i];
        }
    }
    piece->n_findings = n;
}

static void block(struct weir_guard *g, struct weir_guard_piece *piece)
{
    piece->what = WEIR_GUARD_BLOCKED;
    piece->text = WEIR_SLICE("");
    g->is_blocked = true;
    weir_loop_post(g->options.task->loop, &g->drop);
}

static void add_stretch(void *ctx, struct weir_slice text, bool is_replaced)
{
    struct weir_guard *g = ctx;
    if (text.n == 0) {
        return;
    }
    if (g->n_stretches == g->cap_stretches) {
        g->cap_stretches = g->cap_stretches == 0 ? 4 : g->cap_stretches * 2;
        g->stretches = weir_mem_realloc(g->stretches, g->cap_stretches * sizeof *g->stretches);
    }
    g->stretches[g->n_stretches++] = (struct weir_guard_stretch){text, is_replaced};
}

/* Where the text ends that may leave: at the first finding. One without a place is found from the
 * beginning on. */
static size_t first_found(const struct weir_guard_piece *piece)
{
    size_t first = piece->end_cp;
    for (size_t i = 0; i < piece->n_findings; i++) {
        const struct weir_detection *d = piece->findings[i];
        size_t at = weir_redact_can(d) ? d->start_cp : piece->start_cp;
        first = at < first ? at : first;
    }
    return first > piece->start_cp ? first : piece->start_cp;
}

/* Text leaves that the path is not told of any more. */
static void note_stop(const struct weir_guard *g, const struct weir_guard_piece *piece)
{
    const struct weir_task_trace *trace = g->options.task->trace;
    if (trace != NULL && !g->holds_all) {
        trace->note(trace, &(struct weir_task_step){.kind = WEIR_TASK_STEP_BATCH,
                                                    .choice = g->options.choice,
                                                    .channel = piece->channel,
                                                    .start_cp = piece->start_cp,
                                                    .end_cp = piece->end_cp});
    }
}

/* The choice ends here, behind the text before the first finding. */
static void stop_behind(struct weir_guard *g, struct weir_slice text,
                        struct weir_guard_piece *piece)
{
    size_t first = first_found(piece);
    keep_told(g, piece);
    drop_rests(g, piece);
    if (first == piece->start_cp) {
        block(g, piece);
        return;
    }
    g->stop = *piece;
    g->has_stop = true;
    text = weir_slice_sub(text, 0, weir_utf8_byte_at(text, first - piece->start_cp));
    piece->what = WEIR_GUARD_TEXT;
    piece->end_cp = first;
    piece->findings = NULL;
    piece->n_findings = 0;
    piece->text = text;
    add_stretch(g, text, false);
    note_stop(g, piece);
}

static void replace(struct weir_guard *g, struct weir_slice text, struct weir_guard_piece *piece)
{
    struct weir_redact_piece in = {text, piece->start_cp, piece->findings, piece->n_findings,
                                   piece->end_cp - piece->start_cp};
    struct weir_redact *redact = &channel_of(g, piece->channel)->redact;
    redact->on_stretch = add_stretch;
    redact->ctx = g;
    piece->what = WEIR_GUARD_TEXT;
    if (piece->taken_back_cp == 0 && weir_redact_passes(redact, &in)) {
        piece->text = text;
        return;
    }
    weir_buf_clear(&g->out);
    redact->out_cp -= piece->taken_back_cp;
    piece->is_changed =
        weir_redact_mapped(redact, g->options.policy->redact_with, &in, g->spans, &g->out);
    piece->text = weir_buf_slice(&g->out);
    for (size_t i = 0; i < piece->n_findings; i++) {
        g->told[i].start_cp = g->spans[i].start_cp;
        g->told[i].end_cp = g->spans[i].end_cp;
    }
    drop_rests(g, piece);
}

/* What a finding reaches over of the text before the piece: the beginning of a token, unless that
 * belongs to a run that was replaced already. */
static size_t taken_back(const struct weir_guard *g, const struct weir_guard_piece *piece,
                         size_t start_cp)
{
    size_t until_cp = peek(g, piece->channel)->redact.until_cp;
    size_t from_cp = start_cp > until_cp ? start_cp : until_cp;
    return from_cp < piece->start_cp ? piece->start_cp - from_cp : 0;
}

/* On routes that mask findings in tokens of the map are none, and others take in the tokens that
 * they touch. */
static void sift(struct weir_guard *g, struct weir_guard_piece *piece)
{
    if (piece->n_findings > g->cap_sifted) {
        g->cap_sifted = piece->n_findings * 2;
        g->sifted = weir_mem_realloc(g->sifted, g->cap_sifted * sizeof *g->sifted);
        g->sifted_list = weir_mem_realloc(g->sifted_list, g->cap_sifted * sizeof(void *));
    }
    size_t n = 0;
    for (size_t i = 0; i < piece->n_findings; i++) {
        struct weir_detection *d = &g->sifted[n];
        *d = *piece->findings[i];
        if (weir_redact_can(d) && !weir_unmask_judge(g->values->unmask, piece->channel, d)) {
            continue;
        }
        bool is_grown = d->start_cp < piece->findings[i]->start_cp;
        size_t back = is_grown ? taken_back(g, piece, d->start_cp) : 0;
        piece->taken_back_cp = back > piece->taken_back_cp ? back : piece->taken_back_cp;
        g->sifted_list[n++] = d;
    }
    piece->findings = g->sifted_list;
    piece->n_findings = n;
}

/* Told, and nothing else. */
static void tell(struct weir_guard *g, struct weir_slice text, struct weir_guard_piece *piece)
{
    piece->what = WEIR_GUARD_TEXT;
    piece->text = text;
    if (g->values != NULL || only_tells(g)) {
        piece->taken_back_cp = 0;
        keep_told(g, piece);
        add_stretch(g, text, false);
    }
}

static enum weir_policy_fate fate_of(const struct weir_guard *g,
                                     const struct weir_guard_piece *piece)
{
    const struct weir_policy *policy = g->options.policy;
    if (piece->n_findings == 0) {
        return weir_policy_on_output(policy)->enforces ? WEIR_POLICY_REPLACED : WEIR_POLICY_TOLD;
    }
    return weir_policy_judge_answer(policy, can_redact(piece));
}

/* A text with everything that is known about it: it leaves, changed or not, or ends the choice. */
static void decide(struct weir_guard *g, struct weir_slice text, struct weir_guard_piece *piece)
{
    g->n_stretches = 0;
    if (g->values != NULL && piece->n_findings != 0) {
        sift(g, piece);
    }
    switch (fate_of(g, piece)) {
    case WEIR_POLICY_TOLD:
        tell(g, text, piece);
        break;
    case WEIR_POLICY_REPLACED:
        keep_told(g, piece);
        replace(g, text, piece);
        break;
    case WEIR_POLICY_REFUSED:
    case WEIR_POLICY_STOPPED:
        stop_behind(g, text, piece);
        break;
    }
    piece->stretches = g->stretches;
    piece->n_stretches = g->n_stretches;
}

/* ---- in batches ---- */

static int pop_channel(struct weir_guard *g, enum weir_channel channel,
                       struct weir_guard_piece *piece)
{
    struct weir_path *path = peek(g, channel)->path;
    struct weir_gather_batch batch;
    int rc = path != NULL ? weir_path_pop(path, &batch) : WEIR_EAGAIN;
    if (rc != 0) {
        if (rc != WEIR_EAGAIN) {
            note_fault(g, weir_path_fault(path));
        }
        return rc;
    }
    *piece = (struct weir_guard_piece){.channel = channel,
                                       .start_cp = batch.start_cp,
                                       .end_cp = batch.end_cp,
                                       .findings = batch.findings,
                                       .n_findings = batch.n_findings};
    decide(g, weir_path_text(path, &batch), piece);
    g->releasing = (int)channel;
    g->releasing_cp = piece->end_cp;
    return 0;
}

static bool is_waiting(const struct channel *c)
{
    return c->path != NULL && !weir_path_is_done(c->path);
}

static int pop_batch(struct weir_guard *g, struct weir_guard_piece *piece)
{
    int rc = WEIR_EAGAIN;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS && rc == WEIR_EAGAIN; i++) {
        rc = pop_channel(g, SPEAKING_ORDER[i], piece);
        if (g->options.is_unary && is_waiting(peek(g, SPEAKING_ORDER[i]))) {
            break;
        }
    }
    return rc;
}

static bool has_left(const struct weir_guard *g)
{
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        if (is_waiting(peek(g, (enum weir_channel)i))) {
            return false;
        }
    }
    return !g->holds_all || g->next_whole == WEIR_CHANNEL_TEXTS;
}

/* ---- at the end ---- */

/* Does the scan say something about the choice that has no place in a text? It ends it, or is told.
 */
static bool is_refused(struct weir_guard *g, struct weir_guard_piece *piece)
{
    const struct weir_scan_group *group = g->groups[WEIR_CHANNEL_WHOLE];
    if (group == NULL || group->n_found == 0) {
        return false;
    }
    *piece = (struct weir_guard_piece){
        .channel = WEIR_CHANNEL_WHOLE, .findings = group->found, .n_findings = group->n_found};
    if (weir_policy_enforces(g->options.policy)) {
        keep_told(g, piece);
    }
    if (!weir_policy_enforces(g->options.policy) || only_tells(g)) {
        g->groups[WEIR_CHANNEL_WHOLE] = NULL; /* told once */
        return true;
    }
    block(g, piece);
    return true;
}

/* The calls, which leave as they are, leave changed, or end the choice. */
static void pop_calls(struct weir_guard *g, struct weir_guard_piece *piece)
{
    *piece = (struct weir_guard_piece){.what = WEIR_GUARD_CLEAR, .channel = WEIR_CHANNEL_TOOLS};
    if (g->called != NULL) {
        const struct weir_called_found *found = weir_called_found(g->called);
        piece->findings = found->items;
        piece->n_findings = found->n;
        piece->entries = found->entries;
        piece->is_changed = found->n != 0 && weir_policy_touches_output(g->options.policy);
    }
    if (g->called != NULL && weir_called_blocks(g->called)) {
        block(g, piece);
    } else {
        g->is_clear = true;
    }
}

static int pop_whole(struct weir_guard *g, struct weir_guard_piece *piece)
{
    while (g->next_whole < WEIR_CHANNEL_TEXTS) {
        enum weir_channel channel = SPEAKING_ORDER[g->next_whole++];
        const struct channel *c = peek(g, channel);
        if (c->whole.n != 0) {
            *piece = (struct weir_guard_piece){.channel = channel,
                                               .end_cp = c->n_whole_cp,
                                               .findings = g->groups[channel]->found,
                                               .n_findings = g->groups[channel]->n_found};
            decide(g, weir_buf_slice(&c->whole), piece);
            if (piece->what == WEIR_GUARD_TEXT) {
                note_whole(g, WEIR_TASK_STEP_BATCH, channel, 0);
            }
            return 0;
        }
    }
    return WEIR_EAGAIN;
}

/* JSON that was held back because it could go on. */
static bool pop_kept(struct weir_guard *g, struct weir_guard_piece *piece)
{
    struct channel *c = g->channels[WEIR_CHANNEL_CONTENT];
    if (g->keep == NULL || c == NULL || g->is_kept_told) {
        return false;
    }
    g->is_kept_told = true;
    weir_buf_clear(&g->out);
    weir_redact_end(&c->redact, &g->out);
    *piece = (struct weir_guard_piece){.what = WEIR_GUARD_TEXT,
                                       .channel = WEIR_CHANNEL_CONTENT,
                                       .text = weir_buf_slice(&g->out),
                                       .start_cp = c->left_cp,
                                       .end_cp = c->left_cp};
    return g->out.n != 0;
}

/* Tool calls are judged after all text has left, however early their answers came: what leaves
 * must not depend on the timing. */
static int pop_end(struct weir_guard *g, struct weir_guard_piece *piece)
{
    bool is_early = !g->has_ended || g->is_scanning || (!g->holds_all && !has_left(g));
    if (is_early || g->is_clear) {
        return WEIR_EAGAIN;
    }
    if (g->fault != NULL) {
        return g->fault->err;
    }
    if (is_refused(g, piece)) {
        return 0;
    }
    int rc = g->holds_all ? pop_whole(g, piece) : WEIR_EAGAIN;
    if (rc == WEIR_EAGAIN && has_left(g)) {
        if (!pop_kept(g, piece)) {
            pop_calls(g, piece);
        }
        return 0;
    }
    return rc;
}

static void note_seen(const struct weir_guard *g, const struct weir_guard_piece *piece)
{
    struct weir_seen_where where = {.side = WEIR_POLICY_OUTPUT,
                                    .channel = weir_channel_name(piece->channel),
                                    .action = WEIR_POLICY_ANNOTATED};
    if (weir_policy_enforces(g->options.policy)) {
        bool is_blocked = piece->what == WEIR_GUARD_BLOCKED;
        where.action =
            is_blocked ? WEIR_POLICY_BLOCKED : weir_policy_on_output(g->options.policy)->outcome;
    }
    bool is_called = g->called != NULL && piece->findings == weir_called_found(g->called)->items;
    size_t n_unknown = is_called ? weir_called_found(g->called)->n_unknown : 0;
    size_t n = piece->n_findings - n_unknown;
    weir_seen_findings(g->options.policy, &where, piece->findings, n);
    if (n_unknown != 0) {
        where.channel = "unknown_members";
        weir_seen_findings(g->options.policy, &where, piece->findings + n, n_unknown);
    }
}

static int pop(struct weir_guard *g, struct weir_guard_piece *piece)
{
    if (g->is_blocked) {
        return WEIR_EAGAIN;
    }
    if (g->has_stop) {
        g->has_stop = false;
        *piece = g->stop;
        block(g, piece);
        return 0;
    }
    release(g);
    int rc = pop_batch(g, piece);
    rc = rc == WEIR_EAGAIN ? pop_end(g, piece) : rc;
    if (rc == 0 && piece->n_findings != 0) {
        note_seen(g, piece);
    }
    return rc;
}

int weir_guard_pop(struct weir_guard *g, struct weir_guard_piece *piece)
{
    struct weir_guard_values *values = g->values;
    if (values == NULL) {
        return pop(g, piece);
    }
    int rc = values->has_last ? 0 : pop(g, piece);
    if (rc == 0 && !values->has_last && piece->what == WEIR_GUARD_TEXT) {
        weir_guard_values_put(values, piece);
        return 0;
    }
    if (rc == 0 && !values->has_last) {
        weir_guard_values_end(values, piece);
    }
    if (rc == 0) {
        weir_guard_values_next(values, g, piece);
    }
    return rc;
}

const struct weir_fault *weir_guard_fault(const struct weir_guard *g)
{
    static const struct weir_fault NONE = {0};
    return g->fault != NULL ? g->fault : &NONE;
}

bool weir_guard_is_done(const struct weir_guard *g)
{
    bool has_more = g->values != NULL && g->values->has_last;
    return (g->is_blocked || g->is_clear) && !has_more;
}

/* ---- what is only told ---- */

/* Spans are those of the text that has left. */
static void move_told(struct weir_guard *g)
{
    struct weir_guard_told *t = g->told_beside;
    enum weir_channel channel = t->piece.channel;
    struct weir_redact *redact = &channel_of(g, channel)->redact;
    for (size_t i = 0; i < t->piece.n_findings; i++) {
        struct weir_detection *d = &t->findings[i];
        if (!d->has_span) {
            continue;
        }
        d->start_cp = weir_redact_map(redact, d->start_cp, false);
        d->end_cp = weir_redact_map(redact, d->end_cp, true);
        if (g->values != NULL) {
            d->start_cp = weir_unmask_map(g->values->unmask, channel, d->start_cp);
            d->end_cp = weir_unmask_map(g->values->unmask, channel, d->end_cp);
        }
    }
    if (g->values != NULL) {
        weir_unmask_forget_places(g->values->unmask, channel,
                                  weir_redact_map(redact, t->piece.start_cp, false));
    }
    weir_redact_forget(redact, t->piece.start_cp);
}

int weir_guard_pop_told(struct weir_guard *g, struct weir_guard_piece *piece)
{
    struct weir_guard_told *t = g->told_beside;
    int rc = g->is_blocked || g->has_stop ? WEIR_EAGAIN : weir_guard_told_next(t);
    if (rc != 0) {
        if (rc != WEIR_EAGAIN) {
            note_fault(g, weir_guard_fault(t->guard));
        }
        return rc;
    }
    bool is_text = t->piece.channel < WEIR_CHANNEL_TEXTS;
    if (!g->is_clear && (!is_text || peek(g, t->piece.channel)->left_cp < t->piece.end_cp)) {
        return WEIR_EAGAIN;
    }
    if (is_text) {
        move_told(g);
    }
    *piece = (struct weir_guard_piece){.what = WEIR_GUARD_TEXT,
                                       .channel = t->piece.channel,
                                       .findings = t->piece.findings,
                                       .n_findings = t->piece.n_findings,
                                       .entries = t->piece.entries};
    t->has_piece = false;
    return 0;
}

bool weir_guard_is_told(const struct weir_guard *g)
{
    const struct weir_guard_told *t = g->told_beside;
    return g->is_blocked || t == NULL || (g->is_clear && t->is_over && !t->has_piece);
}

size_t weir_guard_told_bytes(const struct weir_guard *g)
{
    return g->told_beside != NULL ? g->told_beside->n_bytes : 0;
}

/* ---- the promise ---- */

bool weir_guard_has_judged(struct weir_guard *g, const struct weir_guard_piece *piece)
{
    struct channel *c = channel_of(g, piece->channel);
    bool follows = piece->start_cp == c->left_cp;
    c->left_cp = piece->end_cp;
    if (piece->start_cp == piece->end_cp) {
        return follows; /* what was held back of text that has been judged */
    }
    if (!g->holds_all) {
        return follows && c->path != NULL && weir_path_has_judged(c->path, piece->end_cp);
    }
    const struct weir_scan_group *group = g->groups[piece->channel];
    bool is_answered = group != NULL && !g->is_scanning && g->fault == NULL;
    return follows && g->has_ended && is_answered && piece->end_cp <= c->n_whole_cp;
}

bool weir_guard_let_go(struct weir_guard *g, struct weir_tools *calls, struct weir_slice unknown,
                       const struct weir_json **left)
{
    *left = NULL;
    if (calls->n == 0 && unknown.n == 0) {
        return true;
    }
    if (g->called == NULL || g->is_scanning || g->fault != NULL) {
        return false;
    }
    if (!weir_called_has_judged(g->called, calls, unknown) ||
        !weir_called_replace(g->called, calls)) {
        return false;
    }
    *left = weir_called_unknown(g->called);
    if (g->values != NULL) {
        weir_unmask_calls(g->values->unmask, calls);
    }
    return true;
}

enum weir_path_wait weir_guard_waits(const struct weir_guard *g)
{
    const struct weir_guard *teller = teller_of(g);
    enum weir_path_wait most = g->is_scanning ? WEIR_PATH_ON_DETECTOR : WEIR_PATH_IDLE;
    most = most == WEIR_PATH_IDLE && teller != NULL ? weir_guard_waits(teller) : most;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        const struct channel *c = peek(g, (enum weir_channel)i);
        enum weir_path_wait one = c->path != NULL ? weir_path_waits(c->path) : WEIR_PATH_IDLE;
        most = one > most ? one : most;
    }
    return most;
}
