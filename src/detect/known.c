#include "detect/known.h"

#include "base/assert.h"
#include "base/hash.h"
#include "base/mem.h"
#include "detect/verdicts.h"

#include <stdlib.h>

/* A text of a call that waits for its verdict. */
struct part {
    struct weir_list link; /* in its question; unlinked: it waits for nothing */
    struct known_call *call;
    struct question *question;
    size_t index; /* of the call's lists */
    struct weir_hash_value key;
    bool is_open; /* nobody was asked yet */
};

struct known_call {
    struct weir_detect_call base;
    struct weir_list link; /* among those that are told next, or ask again */
    struct weir_verdicts *verdicts;
    struct weir_detect_env env;
    struct weir_detect_input input;
    struct weir_arena arena;
    struct weir_detect_list *lists;
    struct part *parts; /* as the lists; NULL: all were known */
    size_t n_waiting;
    bool has_asked_again;
    struct weir_detect_call *own; /* a built-in one's: not shared */
    struct weir_hash_value own_key;
    weir_detect_done_fn on_done;
    void *ctx;
};

/* One text of a flight. */
struct question {
    struct weir_hash_value key;
    struct weir_list waiters; /* parts */
    struct flight *flight;
};

/* A call under way, with its own copies of all it is about. */
struct flight {
    struct weir_verdicts *verdicts;
    struct weir_arena arena; /* counts for the verdicts, not for a caller who may leave */
    struct weir_call_context context;
    struct weir_log_ctx log;
    struct weir_detect_env env;
    struct weir_detect_input input;
    struct weir_slice *contents;
    struct question *questions; /* as the contents; one in all for other types */
    size_t n_questions;
    size_t n_waiters;
    const struct known_call *starter; /* NULL: it has left */
    struct weir_detect_call *call;
};

static bool is_contents(const struct weir_detect_input *input)
{
    return input->type == WEIR_DETECT_CONTENTS;
}

static struct weir_slice content_of(const struct weir_detect_input *input, size_t i)
{
    return is_contents(input) ? input->contents[i] : WEIR_SLICE("");
}

/* ---- what makes questions the same ---- */

static void add_context(struct weir_hash *h, const struct weir_call_context *context)
{
    weir_hash_add(h, context != NULL ? context->caller : WEIR_SLICE(""));
    size_t n = context != NULL ? context->n_passthrough : 0;
    weir_hash_add_u64(h, n);
    for (size_t i = 0; i < n; i++) {
        weir_hash_add(h, context->passthrough[i].name);
        weir_hash_add(h, context->passthrough[i].value);
    }
}

static void add_whole(struct weir_hash *h, const struct weir_detect_input *input)
{
    weir_hash_add(h, input->messages);
    weir_hash_add(h, input->tools);
    weir_hash_add(h, input->content);
    weir_hash_add(h, input->context_type);
    weir_hash_add(h, input->context);
    weir_hash_add(h, input->prompt);
    weir_hash_add(h, input->generated_text);
}

/* What all texts of a call have in common. */
static void begin_key(struct weir_hash *h, const struct known_call *c)
{
    const struct weir_detect_input *input = &c->input;
    uint64_t threshold;
    _Static_assert(sizeof threshold == sizeof input->threshold, "a double of 64 bits");
    memcpy(&threshold, &input->threshold, sizeof threshold);
    weir_hash_begin(h);
    weir_hash_add_u64(h, c->base.detector->serial);
    weir_hash_add_u64(h, (uint64_t)input->type << 2 | (uint64_t)input->is_piece << 1 |
                             (uint64_t)input->is_lenient);
    weir_hash_add_u64(h, threshold);
    weir_hash_add(h, input->params);
    add_context(h, c->env.context);
}

/* `before` is seen by built-in detectors alone. */
static struct weir_hash_value key_of(const struct weir_hash *begun, const struct known_call *c,
                                     size_t i)
{
    struct weir_hash h = *begun;
    if (!is_contents(&c->input)) {
        add_whole(&h, &c->input);
        return weir_hash_end(&h);
    }
    struct weir_slice text = c->input.contents[i];
    bool sees_before = c->base.detector->keep_from_bytes != 0 && c->input.before != NULL;
    size_t before = sees_before ? c->input.before[i] : 0;
    weir_hash_add_u64(&h, before);
    weir_hash_add(&h, weir_slice_make(text.p - before, text.n + before));
    return weir_hash_end(&h);
}

/* ---- flights ---- */

static struct weir_slice question_key(const struct question *q)
{
    return weir_slice_make((const char *)&q->key, sizeof q->key);
}

static void flight_free(struct flight *f)
{
    weir_detect_free(f->call);
    for (size_t i = 0; i < f->n_questions; i++) {
        weir_map_remove(&f->verdicts->asked, question_key(&f->questions[i]));
    }
    weir_arena_dispose(&f->arena);
    free(f);
}

static void copy_context(struct flight *f, const struct weir_call_context *from)
{
    f->context = (struct weir_call_context){.account = &f->verdicts->account, .log = &f->log};
    if (from == NULL) {
        return;
    }
    if (from->log != NULL) {
        f->log = *from->log;
        f->log.request_id = weir_arena_dup(&f->arena, f->log.request_id);
    }
    struct weir_http_field *fields =
        weir_arena_array(&f->arena, from->n_passthrough, sizeof *fields);
    for (size_t i = 0; i < from->n_passthrough; i++) {
        fields[i].name = weir_arena_dup(&f->arena, from->passthrough[i].name);
        fields[i].value = weir_arena_dup(&f->arena, from->passthrough[i].value);
    }
    f->context.passthrough = fields;
    f->context.n_passthrough = from->n_passthrough;
    f->context.deadline_ms = from->deadline_ms;
    f->context.caller = weir_arena_dup(&f->arena, from->caller);
}

static void copy_whole(struct flight *f)
{
    struct weir_slice *const parts[] = {
        &f->input.messages, &f->input.tools,  &f->input.content,       &f->input.context_type,
        &f->input.context,  &f->input.prompt, &f->input.generated_text};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        *parts[i] = weir_arena_dup(&f->arena, *parts[i]);
    }
}

/* Room for as many questions as the call has open parts. */
static struct flight *flight_new(struct known_call *c, size_t max_questions)
{
    struct flight *f = weir_mem_zalloc(sizeof *f);
    f->verdicts = c->verdicts;
    f->arena.account = &c->verdicts->account;
    f->starter = c;
    copy_context(f, c->env.context);
    f->env = c->env;
    f->env.context = &f->context;
    f->env.verdicts = NULL;
    f->input = c->input;
    f->input.params = weir_arena_dup(&f->arena, c->input.params);
    f->input.before = NULL;
    f->input.within = (struct weir_slice){0};
    f->questions = weir_arena_array(&f->arena, max_questions, sizeof *f->questions);
    if (is_contents(&c->input)) {
        f->contents = weir_arena_array(&f->arena, max_questions, sizeof *f->contents);
        f->input.contents = f->contents;
        f->input.n_contents = 0;
    } else {
        copy_whole(f);
    }
    return f;
}

static struct question *add_question(struct flight *f, const struct part *part)
{
    struct question *q = &f->questions[f->n_questions];
    *q = (struct question){.key = part->key, .flight = f};
    weir_list_init(&q->waiters);
    if (f->contents != NULL) {
        f->contents[f->n_questions] =
            weir_arena_dup(&f->arena, part->call->input.contents[part->index]);
        f->input.n_contents++;
    }
    f->n_questions++;
    weir_map_put(&f->verdicts->asked, question_key(q), q);
    return q;
}

static void wait_for(struct part *part, struct question *q)
{
    part->is_open = false;
    part->question = q;
    weir_list_append(&q->waiters, &part->link);
    q->flight->n_waiters++;
    part->call->n_waiting++;
}

/* The flight stays, though it may have lost its last waiter. */
static void stop_waiting(struct part *part)
{
    weir_list_remove(&part->link);
    part->question->flight->n_waiters--;
    part->question = NULL;
    part->call->n_waiting--;
}

/* ---- the end of a flight ---- */

/* It waits for nothing any more. */
static void leave_all(struct known_call *c)
{
    for (size_t i = 0; c->parts != NULL && i < c->base.n_lists; i++) {
        struct part *part = &c->parts[i];
        part->is_open = false;
        if (part->question == NULL) {
            continue;
        }
        struct flight *f = part->question->flight;
        stop_waiting(part);
        if (f->starter == c) {
            f->starter = NULL;
        }
        if (f->n_waiters == 0 && f->call != NULL) {
            flight_free(f);
        }
    }
}

static void fail_call(struct known_call *c, const struct weir_fault *fault)
{
    c->base.fault = weir_fault_dup(&c->arena, fault);
    leave_all(c);
    c->base.lists = NULL;
    c->base.n_lists = 0;
}

static void become(struct known_call *c, struct weir_list *list)
{
    weir_list_remove(&c->link);
    weir_list_append(list, &c->link);
}

/* Everybody who waits for `q` gets its findings; `ready` are those who have all of theirs. */
static void deal_out(const struct flight *f, struct question *q, size_t i, struct weir_list *ready)
{
    static const struct weir_detect_list NOTHING = {0};
    const struct weir_detect_list *list = i < f->call->n_lists ? &f->call->lists[i] : &NOTHING;
    struct weir_verdict *verdict = weir_verdict_new(list, content_of(&f->input, i));
    struct weir_list *link;
    while ((link = weir_list_first(&q->waiters)) != NULL) {
        struct part *part = WEIR_LIST_ENTRY(link, struct part, link);
        struct known_call *c = part->call;
        stop_waiting(part);
        c->lists[part->index] = weir_verdict_list(verdict, content_of(&c->input, part->index),
                                                  c->base.detector->id, &c->arena);
        if (c->n_waiting == 0) {
            become(c, ready);
        }
    }
    weir_verdicts_take(f->verdicts, &q->key, verdict);
}

/* Whose fault it was is not known: who waited for one text of several asks again. */
static void give_up(struct flight *f, struct question *q, struct weir_list *failed,
                    struct weir_list *again)
{
    struct weir_list *link;
    while ((link = weir_list_first(&q->waiters)) != NULL) {
        struct part *part = WEIR_LIST_ENTRY(link, struct part, link);
        struct known_call *c = part->call;
        bool may_ask = c != f->starter && f->n_questions > 1 && !c->has_asked_again;
        stop_waiting(part);
        part->is_open = may_ask;
        become(c, may_ask ? again : failed);
    }
}

static void ask(struct known_call *c, struct weir_list *ready);

/* Ends the flight. Those in `ready` are to be told, once nothing here is in use. */
static void land(struct flight *f, struct weir_list *ready)
{
    struct weir_list failed;
    struct weir_list again;
    weir_list_init(&failed);
    weir_list_init(&again);
    bool is_good = f->call->fault.origin == WEIR_FAULT_NONE;
    for (size_t i = 0; i < f->n_questions; i++) {
        if (is_good) {
            deal_out(f, &f->questions[i], i, ready);
        } else {
            give_up(f, &f->questions[i], &failed, &again);
        }
    }
    struct weir_list *link;
    while ((link = weir_list_first(&failed)) != NULL) {
        struct known_call *c = WEIR_LIST_ENTRY(link, struct known_call, link);
        fail_call(c, &f->call->fault);
        become(c, ready);
    }
    flight_free(f);
    while ((link = weir_list_pop(&again)) != NULL) {
        struct known_call *c = WEIR_LIST_ENTRY(link, struct known_call, link);
        c->has_asked_again = true;
        ask(c, ready);
    }
}

/* Whoever is told may free itself and any other of them. */
static void tell(struct weir_list *ready)
{
    struct weir_list *link;
    while ((link = weir_list_pop(ready)) != NULL) {
        struct known_call *c = WEIR_LIST_ENTRY(link, struct known_call, link);
        c->base.is_done = true;
        c->on_done(c->ctx, &c->base);
    }
}

static void on_flight_done(void *ctx, struct weir_detect_call *call)
{
    struct weir_list ready;
    (void)call;
    weir_list_init(&ready);
    land(ctx, &ready);
    tell(&ready);
}

/* ---- asking ---- */

static size_t count_open(const struct known_call *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->base.n_lists; i++) {
        n += c->parts[i].is_open;
    }
    return n;
}

/* Open parts wait for questions under way, or become a flight. */
static void ask(struct known_call *c, struct weir_list *ready)
{
    const struct weir_detector *d = c->base.detector;
    struct flight *f = NULL;
    for (size_t i = 0; i < c->base.n_lists; i++) {
        struct part *part = &c->parts[i];
        if (!part->is_open) {
            continue;
        }
        struct weir_slice key = weir_slice_make((const char *)&part->key, sizeof part->key);
        struct question *q = weir_map_get(&c->verdicts->asked, key);
        weir_metric_add(q != NULL ? d->counts.joined : d->counts.miss, 1);
        if (q == NULL) {
            f = f != NULL ? f : flight_new(c, count_open(c));
            q = add_question(f, part);
        }
        wait_for(part, q);
    }
    if (f == NULL) {
        return;
    }
    f->call = d->ops->start(d, &f->env, &f->input, on_flight_done, f);
    if (f->call->is_done) {
        land(f, ready);
    }
}

static void add_part(struct known_call *c, size_t i, const struct weir_hash_value *key)
{
    if (c->parts == NULL) {
        c->parts = weir_arena_array(&c->arena, c->base.n_lists, sizeof *c->parts);
    }
    c->parts[i] = (struct part){.call = c, .index = i, .key = *key, .is_open = true};
}

/* Takes what is known; the rest becomes parts. */
static void look_up(struct known_call *c)
{
    struct weir_hash begun;
    begin_key(&begun, c);
    for (size_t i = 0; i < c->base.n_lists; i++) {
        struct weir_hash_value key = key_of(&begun, c, i);
        const struct weir_verdict *verdict = weir_verdicts_get(c->verdicts, &key);
        if (verdict != NULL) {
            weir_metric_add(c->base.detector->counts.hit, 1);
            c->lists[i] = weir_verdict_list(verdict, content_of(&c->input, i), c->base.detector->id,
                                            &c->arena);
        } else {
            add_part(c, i, &key);
        }
    }
}

/* ---- built-in detectors: the call is the caller's own ---- */

static void take_own(struct known_call *c)
{
    c->base.fault = c->own->fault;
    c->base.lists = c->own->lists;
    c->base.n_lists = c->own->n_lists;
    c->base.is_done = true;
    if (c->own->fault.origin == WEIR_FAULT_NONE && c->own->n_lists == 1) {
        struct weir_verdict *verdict =
            weir_verdict_new(&c->own->lists[0], content_of(&c->input, 0));
        weir_verdicts_take(c->verdicts, &c->own_key, verdict);
    }
}

static void on_own_done(void *ctx, struct weir_detect_call *call)
{
    struct known_call *c = ctx;
    (void)call;
    take_own(c);
    c->on_done(c->ctx, &c->base);
}

static void ask_own(struct known_call *c)
{
    const struct weir_detector *d = c->base.detector;
    weir_metric_add(d->counts.miss, 1);
    c->own_key = c->parts[0].key;
    c->parts = NULL;
    c->own = d->ops->start(d, &c->env, &c->input, on_own_done, c);
    if (c->own->is_done) {
        take_own(c);
    }
}

/* ---- the call ---- */

bool weir_known_wants(const struct weir_detector *d, const struct weir_detect_env *env,
                      const struct weir_detect_input *input)
{
    if (env == NULL || env->verdicts == NULL || env->verdicts->max_bytes == 0 || d->serial == 0) {
        return false;
    }
    return d->keep_from_bytes == 0 || (is_contents(input) && input->n_contents == 1 &&
                                       input->contents[0].n >= d->keep_from_bytes);
}

static void free_call(struct weir_detect_call *call)
{
    struct known_call *c = (struct known_call *)call;
    weir_list_remove(&c->link);
    leave_all(c);
    weir_detect_free(c->own);
    weir_arena_dispose(&c->arena);
    free(c);
}

struct weir_detect_call *weir_known_start(const struct weir_detector *d,
                                          const struct weir_detect_env *env,
                                          const struct weir_detect_input *input,
                                          weir_detect_done_fn on_done, void *ctx)
{
    struct known_call *c = weir_mem_zalloc(sizeof *c);
    c->base.detector = d;
    c->base.free = free_call;
    c->verdicts = env->verdicts;
    c->env = *env;
    c->input = *input;
    c->on_done = on_done;
    c->ctx = ctx;
    c->arena.account = weir_call_account(env->context);
    c->base.n_lists = is_contents(input) ? input->n_contents : 1;
    c->lists = weir_arena_array(&c->arena, c->base.n_lists, sizeof *c->lists);
    c->base.lists = c->lists;
    look_up(c);
    if (c->parts == NULL) {
        c->base.is_done = true;
    } else if (d->keep_from_bytes != 0) {
        ask_own(c);
    } else {
        struct weir_list ready; /* only this call can be: nobody else waits for a new flight */
        weir_list_init(&ready);
        ask(c, &ready);
        weir_list_remove(&c->link);
        WEIR_ASSERT(weir_list_is_empty(&ready));
        c->base.is_done = c->n_waiting == 0;
    }
    return &c->base;
}
