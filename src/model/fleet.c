/*
 * One request to a fleet. Handlers record, `ask_next` decides.
 *
 *   start ─► ASKING ──first frame──► ANSWERING ──► on_done
 *              │  ▲
 *              │  └─ the next target, or (once, when none is left) the same after its retry-after
 *              └─ none is left ─────────────────► on_done with the last fault
 *
 * The inner run is the adapter's own (model/openai.h); it is gone before the next one begins.
 */
#include "model/fleet.h"

#include "base/err.h"
#include "base/glob.h"
#include "base/mem.h"
#include "io/loop.h"
#include "model/rename.h"
#include "obs/metric.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    MAX_RETRY_AFTER_MS = 2000, /* shorter ones are obeyed when nothing else is left */
    MAX_NAMED = 20,            /* models in a message */
    MAX_WORDS_BYTES = 900,
    MAX_BODY_NODES = 16 * 1024 * 1024, /* callers' bodies have been within their limits already */
    MAX_BODY_DEPTH = 100000,
    MAX_HASHED_BYTES = 4096, /* of what a conversation begins with */
};

struct run {
    struct weir_model_run base;
    const struct weir_model_events *events;
    void *ctx;
    struct weir_model_env env;
    const struct weir_model_request *request; /* the caller's */
    struct weir_model_request asked;          /* the same towards the target */
    struct weir_model_way way;
    struct weir_fleet_choice choice;
    const struct weir_fleet_target *target; /* being asked; NULL: none */
    struct weir_model_run *inner;
    bool is_settled;  /* the target's health knows how it went */
    bool is_renamed;  /* the target knows the model by another name */
    bool has_frame;   /* the answer has begun */
    bool was_delayed; /* a retry-after was obeyed */
    bool is_paused;
    bool is_in_event;
    bool is_freed;
    struct weir_timer timer; /* patience for the first event, or the wait for a retry-after */
    struct weir_post post;   /* what fails at once fails later */
    struct weir_json body;   /* the request's, once it was needed */
    bool has_body;
    struct weir_rename rename;
    struct weir_buf sent; /* the body with another name */
    struct weir_arena arena;
    struct weir_fault fault; /* of the last target that failed */
};

/* ---- what is counted ---- */

static struct weir_metric_family *f_fallbacks;

static void declare(void)
{
    static const struct weir_metric_def def = {
        .name = "weir_model_fallbacks_total",
        .help = "Requests that asked another provider because this one failed first.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"provider"},
    };
    f_fallbacks = weir_metric_declare(&def);
}

static void count_fallback(const struct run *r)
{
    weir_metric_add(weir_metric_counter(f_fallbacks, WEIR_METRIC_LABELS(r->target->provider->name)),
                    1);
}

/* ---- the end ---- */

static void destroy(struct run *r)
{
    weir_rename_dispose(&r->rename);
    weir_buf_dispose(&r->sent);
    weir_arena_dispose(&r->arena);
    free(r);
}

/* Nothing is asked any more. */
static void leave_target(struct run *r, enum weir_breaker_outcome outcome)
{
    weir_model_free(r->inner);
    r->inner = NULL;
    weir_loop_cancel(r->env.loop, &r->timer);
    if (r->target == NULL) {
        return;
    }
    if (!r->is_settled) {
        weir_breaker_settle(r->target->health, outcome, weir_loop_now_ms(r->env.loop));
    }
    weir_fleet_leave(r->target);
    r->target = NULL;
}

static void report(struct run *r, const struct weir_fault *fault)
{
    r->is_in_event = true;
    r->events->on_done(r->ctx, fault);
    r->is_in_event = false;
    if (r->is_freed) {
        destroy(r);
    }
}

static void on_posted(struct weir_post *post)
{
    struct run *r = WEIR_LIST_ENTRY(post, struct run, post);
    report(r, &r->fault);
}

static void keep_fault(struct run *r, const struct weir_fault *fault)
{
    r->fault = weir_fault_dup(&r->arena, fault);
    r->fault.id = r->request->model_id;
    if (r->target != NULL) {
        struct weir_slice name = r->target->provider->name;
        r->fault.provider = name;
        r->fault.why =
            weir_slice_cstr(weir_arena_printf(&r->arena, "provider %.*s: %.*s", (int)name.n, name.p,
                                              (int)fault->why.n, fault->why.p));
    }
}

/* ---- the request ---- */

/* The caller's body as JSON; false: there is none. */
static bool read_body(struct run *r)
{
    static const struct weir_json_limits limits = {.max_depth = MAX_BODY_DEPTH,
                                                   .max_nodes = MAX_BODY_NODES};
    if (!r->has_body && r->request->body.n != 0) {
        r->has_body = weir_json_parse(&r->body, r->request->body, &limits, &r->arena, NULL) == 0;
    }
    return r->has_body;
}

static uint64_t hash_bytes(uint64_t hash, struct weir_slice s)
{
    size_t n = s.n < MAX_HASHED_BYTES ? s.n : MAX_HASHED_BYTES;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static bool is_user(const struct weir_json *j, uint32_t message)
{
    uint32_t role = weir_json_get_set(j, message, WEIR_SLICE("role"));
    return role != WEIR_JSON_NONE && weir_json_type(j, role) == WEIR_JSON_STRING &&
           weir_json_string_eq(j, role, WEIR_SLICE("user"));
}

/* A conversation is known by its messages up to the first of the user's, which every later turn
 * sends again. */
static uint64_t hash_messages(const struct weir_json *j, uint32_t messages, uint64_t hash)
{
    uint32_t at = weir_json_first(j, messages);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, messages, at)) {
        hash = hash_bytes(hash, weir_json_raw(j, at));
        if (is_user(j, at)) {
            break;
        }
    }
    return hash;
}

static void find_conversation(struct run *r)
{
    const uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const struct weir_json *j = &r->body;
    bool is_talk = weir_model_op_talks(r->request->op);
    if (r->choice.entry->n_replicas < 2 || !is_talk || !read_body(r)) {
        return;
    }
    uint32_t key = weir_json_get_set(j, 0, WEIR_SLICE("prompt_cache_key"));
    uint32_t messages = weir_json_get_set(j, 0, WEIR_SLICE("messages"));
    uint32_t prompt = weir_json_get_set(j, 0, WEIR_SLICE("prompt"));
    if (key != WEIR_JSON_NONE) {
        r->choice.conversation = hash_bytes(hash, weir_json_raw(j, key));
    } else if (messages != WEIR_JSON_NONE && weir_json_type(j, messages) == WEIR_JSON_ARRAY) {
        r->choice.conversation = hash_messages(j, messages, hash);
    } else if (prompt != WEIR_JSON_NONE) {
        r->choice.conversation = hash_bytes(hash, weir_json_raw(j, prompt));
    }
    r->choice.has_conversation = r->choice.conversation != 0;
}

/* The body with the target's name of the model. */
static bool rename_body(struct run *r, struct weir_slice name)
{
    struct weir_json_edit e = {0};
    struct weir_buf quoted = {0};
    if (!read_body(r) || weir_json_type(&r->body, 0) != WEIR_JSON_OBJECT) {
        return false;
    }
    weir_json_write_quoted(&quoted, name);
    weir_buf_clear(&r->sent);
    weir_json_edit_begin(&e, &r->body);
    weir_json_edit_set(&e, 0, WEIR_SLICE("model"), weir_buf_slice(&quoted));
    int rc = weir_json_edit_write(&e, &r->sent);
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&quoted);
    r->asked.body = weir_buf_slice(&r->sent);
    return rc == 0;
}

/* Is it for a server rather than for one of its models? */
static bool names_no_model(const struct weir_model_request *request)
{
    return request->op == WEIR_MODEL_STORED ||
           (request->op == WEIR_MODEL_FORWARD && request->model_id.n == 0);
}

/* Fills in `asked` and `way`. False: the request cannot be put. */
static bool prepare(struct run *r)
{
    const struct weir_fleet_target *t = r->target;
    bool has_own = t->model.p != NULL && !names_no_model(r->request);
    struct weir_slice name = has_own ? t->model : r->request->model_id;
    r->is_renamed = !weir_slice_eq(name, r->request->model_id);
    r->asked = *r->request;
    r->asked.model_id = name;
    r->asked.way = &r->way;
    r->way = weir_provider_way(t->provider, r->request->op, name, r->env.context, &r->arena);
    r->way.keeps_credentials_back = r->way.keeps_credentials_back || t->stands_in;
    if (weir_fleet_has_more(&r->choice)) {
        r->way.is_asked_once = true;
        r->way.first_byte_timeout_ms = t->provider->patience_ms;
    }
    struct weir_model_report *report = r->env.context != NULL ? r->env.context->model_report : NULL;
    if (report != NULL) {
        report->provider = t->provider->name;
        report->model = name;
        report->system = weir_provider_system(t->provider);
        report->n_attempts++;
    }
    return !r->is_renamed || r->request->body.n == 0 || rename_body(r, name);
}

static void ask(struct run *r);

static void fail_later(struct run *r)
{
    weir_loop_post(r->env.loop, &r->post);
}

static void start_inner(struct run *r, const struct weir_model_events *events)
{
    r->is_settled = false;
    if (!prepare(r)) {
        keep_fault(r, &(struct weir_fault){.origin = WEIR_FAULT_INTERNAL,
                                           .err = WEIR_EINVAL,
                                           .why = WEIR_SLICE("the request cannot be renamed")});
        leave_target(r, WEIR_BREAKER_STOPPED);
        fail_later(r);
        return;
    }
    r->inner = weir_model_start(r->target->provider->model, &r->env, &r->asked, events, r);
    if (r->is_paused) {
        weir_model_pause(r->inner);
    }
    if (r->way.first_byte_timeout_ms != 0 && r->request->is_stream) {
        weir_loop_after(r->env.loop, &r->timer, r->way.first_byte_timeout_ms);
    }
}

/* ---- failing over ---- */

/* Nothing was said, and somebody else might fare better. */
static bool can_ask_others(const struct run *r, const struct weir_fault *fault)
{
    if (r->has_frame || fault->has_begun || fault->origin == WEIR_FAULT_INTERNAL) {
        return false;
    }
    if (r->request->op == WEIR_MODEL_FORWARD) { /* nobody knows what asking twice would do */
        return fault->is_unreached;
    }
    if (fault->status != 0) {
        return fault->status == 429 || fault->status >= 500;
    }
    return fault->err != WEIR_EINVAL && fault->err != WEIR_EFULL && fault->err != WEIR_ELIMIT;
}

/* The failure of the last one is the request's, and told where that ends. */
static void log_failure(const struct run *r)
{
    const struct weir_log_ctx *log = r->env.context != NULL ? r->env.context->log : NULL;
    WEIR_LOG_WARN("model", log, "provider failed, asking another",
                  weir_log_str("provider", r->fault.provider),
                  weir_log_str("model", r->asked.model_id), weir_log_err("error", r->fault.err),
                  weir_log_i64("service_status", r->fault.status),
                  weir_log_str("why", r->fault.why));
}

static bool may_wait(const struct run *r)
{
    return !r->was_delayed && r->fault.retry_after_ms != 0 &&
           r->fault.retry_after_ms < MAX_RETRY_AFTER_MS;
}

/* The target being asked has failed, with r->fault, before it said anything. */
static void ask_next(struct run *r)
{
    const struct weir_fleet_target *failed = r->target;
    bool has_more = weir_fleet_has_more(&r->choice);
    if (has_more) {
        log_failure(r);
        count_fallback(r);
    }
    leave_target(r, WEIR_BREAKER_FAILED);
    if (has_more) {
        ask(r);
    } else if (may_wait(r)) {
        r->was_delayed = true;
        r->choice.tried &= ~(UINT64_C(1) << (failed - r->choice.entry->targets));
        weir_loop_after(r->env.loop, &r->timer, r->fault.retry_after_ms);
    } else {
        report(r, &r->fault);
    }
}

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct run *r = ctx;
    if (r->target == NULL) { /* a retry-after is over */
        ask(r);
    } else if (r->is_paused) { /* then the silence is ours */
        weir_loop_after(r->env.loop, t, r->way.first_byte_timeout_ms);
    } else {
        const char *why = weir_arena_printf(&r->arena, "said nothing for %g s",
                                            (double)r->way.first_byte_timeout_ms / 1000);
        keep_fault(r, &(struct weir_fault){.origin = WEIR_FAULT_CHAT_COMPLETION,
                                           .err = WEIR_ETIMEOUT,
                                           .why = weir_slice_cstr(why)});
        ask_next(r);
    }
}

/* ---- the answer ---- */

static void begin_answer(struct run *r)
{
    r->has_frame = true;
    r->is_settled = true;
    weir_loop_cancel(r->env.loop, &r->timer);
    weir_breaker_settle(r->target->health, WEIR_BREAKER_WORKED, weir_loop_now_ms(r->env.loop));
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct run *r = ctx;
    struct weir_model_frame ours = *frame;
    if (frame->is_error && !r->has_frame) {
        return; /* its fault follows, and perhaps another target */
    }
    if (!r->has_frame) {
        begin_answer(r);
    }
    if (r->is_renamed && frame->json.n != 0) {
        ours.json = weir_rename_json(&r->rename, frame->json, r->request->model_id);
        if (frame->raw.n != 0 && ours.json.p != frame->json.p) {
            ours.raw = weir_rename_event(&r->rename, ours.json, frame->raw, frame->sse_id);
        }
    }
    r->is_in_event = true;
    r->events->on_frame(r->ctx, &ours);
    r->is_in_event = false;
    if (r->is_freed) {
        destroy(r);
    }
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct run *r = ctx;
    if (fault == NULL) {
        leave_target(r, WEIR_BREAKER_WORKED);
        report(r, NULL);
        return;
    }
    keep_fault(r, fault);
    if (can_ask_others(r, fault)) {
        ask_next(r);
    } else {
        leave_target(r, WEIR_BREAKER_WORKED);
        report(r, &r->fault);
    }
}

static const struct weir_model_events EVENTS = {.on_frame = on_frame, .on_done = on_done};

static void ask(struct run *r)
{
    r->choice.now_ms = weir_loop_now_ms(r->env.loop);
    int i = weir_fleet_pick(&r->choice);
    if (i < 0) {
        fail_later(r);
        return;
    }
    r->choice.tried |= UINT64_C(1) << i;
    r->target = &r->choice.entry->targets[i];
    start_inner(r, &EVENTS);
}

/* ---- the model ---- */

static void append_name(struct weir_buf *out, struct weir_slice name, size_t *n)
{
    if (*n < MAX_NAMED && out->n + name.n < MAX_WORDS_BYTES) {
        weir_buf_printf(out, "%s`%.*s`", *n == 0 ? "" : ", ", (int)name.n, name.p);
    } else if (*n == MAX_NAMED) {
        weir_buf_append(out, WEIR_SLICE(", …"));
    }
    *n += 1;
}

/* Could a model of the entry be within the scope? */
static bool is_shown(const struct weir_fleet_scope *scope, struct weir_slice glob)
{
    for (size_t i = 0; i < scope->n; i++) {
        if (weir_glob_overlaps(scope->globs[i], glob)) {
            return true;
        }
    }
    return scope->n == 0;
}

/* False: there is another one already. */
static bool note_keepers(const struct weir_fleet_entry *entry, const struct weir_provider **only)
{
    for (size_t i = 0; entry != NULL && i < entry->n_targets; i++) {
        const struct weir_provider *p = entry->targets[i].provider;
        if (!weir_provider_serves(p, WEIR_MODEL_STORED) || p == *only) {
            continue;
        }
        if (*only != NULL) {
            return false;
        }
        *only = p;
    }
    return true;
}

const struct weir_provider *weir_fleet_keeper(const struct weir_fleet *fleet,
                                              const struct weir_fleet_scope *scope)
{
    const struct weir_provider *only = NULL;
    bool is_one = note_keepers(fleet->otherwise, &only);
    for (size_t i = 0; is_one && i < fleet->n_entries; i++) {
        is_one =
            !is_shown(scope, fleet->entries[i].glob) || note_keepers(&fleet->entries[i], &only);
    }
    return is_one ? only : NULL;
}

const struct weir_provider *weir_fleet_first(const struct weir_fleet *fleet,
                                             const struct weir_fleet_scope *scope)
{
    if (fleet->otherwise != NULL) {
        return fleet->otherwise->targets[0].provider;
    }
    for (size_t i = 0; i < fleet->n_entries; i++) {
        if (is_shown(scope, fleet->entries[i].glob)) {
            return fleet->entries[i].targets[0].provider;
        }
    }
    return NULL;
}

struct weir_slice weir_fleet_unknown_words(const struct weir_fleet *fleet,
                                           const struct weir_fleet_scope *scope,
                                           struct weir_slice model, struct weir_arena *arena)
{
    enum { MAX_SHOWN_BYTES = 100 };
    struct weir_buf out = {0};
    size_t n = 0;
    struct weir_slice shown =
        weir_slice_sub(model, 0, model.n < MAX_SHOWN_BYTES ? model.n : MAX_SHOWN_BYTES);
    weir_buf_printf(&out, "the model `%.*s` does not exist; there are ", (int)shown.n, shown.p);
    for (size_t i = 0; i < fleet->n_entries; i++) {
        if (is_shown(scope, fleet->entries[i].glob)) {
            append_name(&out, fleet->entries[i].glob, &n);
        }
    }
    for (size_t i = 0; n == 0 && i < scope->n; i++) { /* of a server that has them all */
        append_name(&out, scope->globs[i], &n);
    }
    struct weir_slice words = weir_fault_message(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return words;
}

struct weir_slice weir_fleet_unserved_words(const struct weir_fleet_entry *entry,
                                            enum weir_model_op op, struct weir_arena *arena)
{
    const struct weir_provider *p = entry->targets[0].provider;
    return weir_slice_cstr(
        weir_arena_printf(arena, "provider `%.*s`, which has this model, does not serve %s",
                          (int)p->name.n, p->name.p, weir_provider_op_name(op)));
}

static void refuse(struct run *r, struct weir_slice words)
{
    r->fault = (struct weir_fault){.origin = weir_model_origin(r->request->op),
                                   .id = r->request->model_id,
                                   .err = WEIR_ENOTFOUND,
                                   .status = 404,
                                   .code = r->request->provider.p != NULL
                                               ? WEIR_SLICE("\"not_found\"")
                                               : WEIR_SLICE("\"model_not_found\""),
                                   .message = words,
                                   .why = words};
    fail_later(r);
}

/* The target of an entry at this provider; NULL: it has none. */
static const struct weir_fleet_target *target_at(const struct weir_fleet_entry *entry,
                                                 struct weir_slice provider)
{
    for (size_t i = 0; entry != NULL && i < entry->n_targets; i++) {
        if (weir_slice_eq(entry->targets[i].provider->name, provider)) {
            return &entry->targets[i];
        }
    }
    return NULL;
}

/* What is kept, and what names no model, belongs to none: any target at the provider will do. */
static const struct weir_fleet_target *find_bound(const struct weir_fleet *fleet,
                                                  const struct weir_model_request *request)
{
    if (!names_no_model(request)) {
        return target_at(weir_fleet_find(fleet, request->model_id), request->provider);
    }
    const struct weir_fleet_target *found = target_at(fleet->otherwise, request->provider);
    for (size_t i = 0; found == NULL && i < fleet->n_entries; i++) {
        found = target_at(&fleet->entries[i], request->provider);
    }
    return found;
}

/* Who may be asked. NULL: nobody. */
static const struct weir_fleet_entry *find_entry(struct run *r, const struct weir_fleet *fleet)
{
    const struct weir_model_request *request = r->request;
    if (request->provider.p == NULL) {
        return weir_fleet_find(fleet, request->model_id);
    }
    const struct weir_fleet_target *target = find_bound(fleet, request);
    struct weir_fleet_entry *only = weir_arena_zalloc(&r->arena, sizeof *only);
    *only = (struct weir_fleet_entry){.targets = target, .n_targets = 1, .n_replicas = 1};
    return target != NULL ? only : NULL;
}

static struct weir_model_run *start(const struct weir_model *m, const struct weir_model_env *env,
                                    const struct weir_model_request *request,
                                    const struct weir_model_events *events, void *ctx)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, declare);
    const struct weir_fleet *fleet = (const struct weir_fleet *)m;
    struct run *r = weir_mem_zalloc(sizeof *r);
    r->base.model = m;
    r->events = events;
    r->ctx = ctx;
    r->env = *env;
    r->request = request;
    r->post.fn = on_posted;
    r->timer = (struct weir_timer){.fn = on_timer, .ctx = r};
    struct weir_account *account = weir_call_account(env->context);
    r->arena.account = account;
    r->sent.account = account;
    r->choice = (struct weir_fleet_choice){.entry = find_entry(r, fleet), .op = request->op};
    static const struct weir_fleet_scope all = {0};
    if (r->choice.entry == NULL && request->provider.p != NULL) {
        refuse(r, WEIR_SLICE("the provider that has it is not there any more"));
    } else if (r->choice.entry == NULL) {
        refuse(r, weir_fleet_unknown_words(fleet, &all, request->model_id, &r->arena));
    } else if (!weir_fleet_serves(r->choice.entry, request->op)) {
        refuse(r, weir_fleet_unserved_words(r->choice.entry, request->op, &r->arena));
    } else {
        find_conversation(r);
        ask(r);
    }
    return &r->base;
}

static void set_paused(struct weir_model_run *run, bool paused)
{
    struct run *r = (struct run *)run;
    r->is_paused = paused;
    if (r->inner != NULL && paused) {
        weir_model_pause(r->inner);
    } else if (r->inner != NULL) {
        weir_model_resume(r->inner);
    }
}

static void free_run(struct weir_model_run *run)
{
    struct run *r = (struct run *)run;
    leave_target(r, WEIR_BREAKER_STOPPED);
    weir_loop_unpost(&r->post);
    if (r->is_in_event) {
        r->is_freed = true;
    } else {
        destroy(r);
    }
}

void weir_fleet_init(struct weir_fleet *fleet)
{
    static const struct weir_model_ops ops = {
        .start = start, .set_paused = set_paused, .free = free_run};
    fleet->base.ops = &ops;
}
