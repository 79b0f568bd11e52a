#include "route/fault_text.h"

#include "route/env.h"
#include "route/openai.h"
#include "task/redact.h"
#include "task/scan.h"
#include "wire/json_write.h"

#define REMOVED WEIR_SLICE("[removed]")

/* message, code, param, then the header fields */
enum { MESSAGE, CODE, PARAM, FIRST_FIELD, MAX_TEXTS = FIRST_FIELD + WEIR_FAULT_MAX_FIELDS };

struct look {
    const struct weir_guarded *guarded;
    struct weir_plan output;
    struct weir_seen *seen;
    struct weir_arena *arena;
    struct weir_fault fault; /* a copy of our own */
    struct weir_slice texts[MAX_TEXTS];
    const struct weir_scan_group *groups[MAX_TEXTS]; /* NULL: there is no such text */
    size_t n_texts;
    const struct weir_scan_group
        *whole; /* of detectors of conversations; NULL: they are not asked */
    weir_fault_text_fn done;
    void *ctx;
};

static bool is_of_model(const struct weir_fault *fault)
{
    switch (fault->origin) {
    case WEIR_FAULT_GENERATE:
    case WEIR_FAULT_CHAT_COMPLETION:
    case WEIR_FAULT_COMPLETION:
    case WEIR_FAULT_TOKENIZE:
    case WEIR_FAULT_VECTORS:
        return true;
    default:
        return false;
    }
}

static struct weir_slice redacted(const struct look *l)
{
    const struct weir_scan_group *group = l->groups[MESSAGE];
    struct weir_redact redact = {0};
    struct weir_redact_piece piece = {
        .text = l->texts[MESSAGE], .findings = group->found, .n_findings = group->n_found};
    for (size_t i = 0; i < group->n_found; i++) {
        if (!weir_redact_can(group->found[i])) {
            return REMOVED;
        }
    }
    struct weir_buf out = {0};
    weir_redact_piece(&redact, l->guarded->policy.redact_with, &piece, &out);
    struct weir_slice text = weir_arena_dup(l->arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return text;
}

static bool has_finding(const struct look *l, size_t i)
{
    return l->groups[i] != NULL && l->groups[i]->n_found != 0;
}

static void clean_fields(struct look *l)
{
    struct weir_http_field *kept = weir_arena_array(l->arena, l->fault.n_fields, sizeof *kept);
    size_t n = 0;
    for (size_t i = 0; i < l->fault.n_fields; i++) {
        if (!has_finding(l, FIRST_FIELD + i)) {
            kept[n++] = l->fault.fields[i];
        }
    }
    l->fault.fields = kept;
    l->fault.n_fields = n;
}

/* Nobody has looked at it, or nobody can say where in it something is. */
static void remove_all(struct look *l, struct weir_slice message)
{
    l->fault.message = message;
    l->fault.code = WEIR_SLICE("");
    l->fault.param = WEIR_SLICE("");
    l->fault.n_fields = 0;
}

static void note_seen(const struct look *l)
{
    bool is_redact = weir_policy_rules_of(l->guarded->policy.action)->fills;
    struct weir_seen_where where = {WEIR_POLICY_OUTPUT, "error",
                                    is_redact ? WEIR_POLICY_REDACTED : WEIR_POLICY_BLOCKED};
    struct weir_policy policy = l->guarded->policy;
    policy.seen = l->seen;
    for (size_t i = 0; i < l->n_texts; i++) {
        if (has_finding(l, i)) {
            weir_seen_findings(&policy, &where, l->groups[i]->found, l->groups[i]->n_found);
        }
    }
    if (l->whole != NULL && l->whole->n_found != 0) {
        where.action = WEIR_POLICY_BLOCKED;
        weir_seen_findings(&policy, &where, l->whole->found, l->whole->n_found);
    }
}

static void clean(struct look *l)
{
    note_seen(l);
    if (has_finding(l, MESSAGE)) {
        bool is_redact = weir_policy_rules_of(l->guarded->policy.action)->fills;
        l->fault.message = is_redact ? redacted(l) : REMOVED;
    }
    if (has_finding(l, CODE)) {
        l->fault.code = WEIR_SLICE("");
    }
    if (has_finding(l, PARAM)) {
        l->fault.param = WEIR_SLICE("");
    }
    clean_fields(l);
    if (l->whole != NULL && l->whole->n_found != 0) {
        remove_all(l, REMOVED);
    }
}

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct look *l = ctx;
    if (weir_scan_fault(scan) == NULL) {
        clean(l);
    } else {
        remove_all(l, WEIR_SLICE(""));
    }
    l->done(l->ctx, &l->fault);
}

/* All texts as a message of an assistant, for routes on which nobody looks at texts by themselves.
 */
static void add_whole(struct look *l, const struct weir_plan *plan, struct weir_scan *scan)
{
    struct weir_buf words = {0};
    struct weir_buf json = {0};
    for (size_t i = 0; i < l->n_texts; i++) {
        weir_buf_append(&words, l->texts[i]);
        weir_buf_append(&words, l->texts[i].n != 0 ? WEIR_SLICE("\n") : WEIR_SLICE(""));
    }
    weir_buf_append(&json, WEIR_SLICE("[{\"role\":\"assistant\",\"content\":"));
    weir_json_write_quoted(&json, weir_buf_slice(&words));
    weir_buf_append(&json, WEIR_SLICE("}]"));
    struct weir_detect_input input = {.messages = weir_arena_take_buf(l->arena, &json)};
    struct weir_scan_group *group = weir_scan_add_group(scan, WEIR_RESULTS_NONE);
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->uses[i].d->detector->type == WEIR_DETECT_CHAT) {
            weir_scan_add_whole(group, &plan->uses[i], &input);
        }
    }
    l->whole = group;
    weir_buf_dispose(&words);
}

static void start(struct look *l, struct weir_task_ctx *task)
{
    const struct weir_plan *plan = weir_plan_judging(&l->output);
    bool has_lookers = weir_plan_has_type(plan, WEIR_DETECT_CONTENTS);
    if (!has_lookers && !weir_plan_has_type(plan, WEIR_DETECT_CHAT)) {
        remove_all(l, WEIR_SLICE(""));
        l->done(l->ctx, &l->fault);
        return;
    }
    struct weir_scan *scan = weir_scan_new(task, on_scanned, l);
    task->skips.may_skip = false; /* an error has no warnings: what was not looked at stays here */
    l->texts[MESSAGE] = l->fault.message;
    l->texts[CODE] = l->fault.code;
    l->texts[PARAM] = l->fault.param;
    l->n_texts = FIRST_FIELD;
    for (size_t i = 0; i < l->fault.n_fields; i++) {
        l->texts[l->n_texts++] = l->fault.fields[i].value;
    }
    for (size_t i = 0; i < l->n_texts; i++) {
        if (l->texts[i].n != 0 && has_lookers) {
            struct weir_scan_group *group = weir_scan_add_group(scan, WEIR_RESULTS_NONE);
            weir_scan_add_text(group, plan, l->texts[i]);
            l->groups[i] = group;
        }
    }
    if (!has_lookers) {
        add_whole(l, plan, scan);
    }
    weir_scan_start(scan);
}

void weir_fault_text_look(struct weir_http_stream *s, const struct weir_fault *fault,
                          weir_fault_text_fn done, void *ctx)
{
    struct weir_request *request = weir_request_of(s);
    const struct weir_guarded *g = request->guarded;
    bool is_enforced =
        g != NULL && weir_policy_enforces(&g->policy) && weir_plan_judging(&g->output)->n != 0;
    bool has_text = fault->message.n + fault->code.n + fault->param.n + fault->n_fields != 0;
    if (!is_enforced || !has_text || !is_of_model(fault)) {
        done(ctx, fault);
        return;
    }
    struct look *l = weir_arena_zalloc(&s->arena, sizeof *l);
    l->guarded = g;
    l->output = weir_openai_output(request, NULL);
    l->seen = request->seen;
    l->arena = &s->arena;
    l->fault = weir_fault_dup(&s->arena, fault);
    l->done = done;
    l->ctx = ctx;
    start(l, &request->task);
}
