#include "detect/desk.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "detect/verdicts.h"
#include "io/loop.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { HTTP_TOO_MANY = 429, LOOK_AHEAD = 4 }; /* times max_items: texts of other kinds between */

/* One text of a caller's. */
struct item {
    struct weir_list link; /* in its desk's queue, or in `batch` */
    struct batch_call *call;
    struct batch *batch; /* NULL: it waits */
    size_t index;
    uint64_t since_ns; /* of the kernel's clock, for what is counted */
    uint64_t since_ms; /* of the loop's, which timers have */
    bool is_alone;     /* its batch was refused: no company this time */
};

struct batch_call {
    struct weir_detect_call base;
    struct weir_list link; /* among those to be told */
    struct desk *desk;
    struct weir_detect_env env;
    struct weir_detect_input input;
    struct weir_hash_value kind; /* equal: may share a call */
    struct weir_arena arena;
    struct weir_detect_list *lists;
    struct item *items;
    size_t n_left;
    struct weir_detect_waiter waiter;
};

/* A call under way, with copies of all it is about. */
struct batch {
    struct weir_list link; /* of the desk */
    struct desk *desk;
    struct weir_list items; /* of those who still wait */
    struct weir_arena arena;
    struct weir_call_context context;
    struct weir_log_ctx log;
    struct weir_detect_env env;
    struct weir_detect_input input;
    struct weir_slice *contents;
    struct item **places; /* whose text each is; NULL: it has left */
    struct weir_detect_call *call;
};

struct desk {
    struct weir_desks *all;
    const struct weir_detector *detector; /* lives as long as anybody waits here */
    const struct weir_desk_options *options;
    struct weir_list queue; /* items */
    size_t n_queued;
    size_t n_running;
    struct weir_timer timer; /* for wait_ms */
    bool is_armed;
};

/* ---- desks ---- */

static struct weir_slice key_of(const struct weir_detector *const *d)
{
    return weir_slice_make((const char *)d, sizeof *d);
}

static void desk_run(struct desk *desk);

static void on_timer(struct weir_timer *timer, void *ctx)
{
    struct desk *desk = ctx;
    (void)timer;
    desk->is_armed = false;
    desk_run(desk);
}

static struct desk *desk_of(struct weir_desks *all, const struct weir_detector *d)
{
    struct desk *desk = weir_map_get(&all->desks, key_of(&d));
    if (desk == NULL) {
        desk = weir_mem_zalloc(sizeof *desk);
        desk->all = all;
        desk->detector = d;
        desk->timer.fn = on_timer;
        desk->timer.ctx = desk;
        weir_list_init(&desk->queue);
        weir_map_put(&all->desks, key_of(&desk->detector), desk);
    }
    return desk;
}

static void close_if_idle(struct desk *desk)
{
    if (desk->n_running == 0 && desk->n_queued == 0) {
        weir_loop_cancel(desk->all->loop, &desk->timer);
        weir_map_remove(&desk->all->desks, key_of(&desk->detector));
        free(desk);
    }
}

void weir_desks_init(struct weir_desks *b, struct weir_loop *loop)
{
    *b = (struct weir_desks){.loop = loop};
}

void weir_desks_dispose(struct weir_desks *b)
{
    WEIR_ASSERT(b->desks.n == 0 && b->account.bytes == 0);
    weir_map_dispose(&b->desks);
}

/* ---- the end of a batch ---- */

static void batch_free(struct batch *b)
{
    struct desk *desk = b->desk;
    weir_detect_free(b->call);
    weir_arena_dispose(&b->arena);
    free(b);
    desk->n_running--;
}

static void leave_batch(struct item *item)
{
    weir_list_remove(&item->link);
    item->batch = NULL;
}

static void to_told(struct batch_call *c, struct weir_list *told)
{
    weir_list_remove(&c->link);
    weir_list_append(told, &c->link);
}

/* Its other texts are of no use any more. */
static void take_back(struct batch_call *c)
{
    for (size_t i = 0; i < c->input.n_contents; i++) {
        struct item *item = &c->items[i];
        struct batch *b = item->batch;
        if (!weir_list_is_linked(&item->link)) {
            continue;
        }
        leave_batch(item);
        if (b == NULL) {
            c->desk->n_queued--;
            continue;
        }
        for (size_t k = 0; k < b->input.n_contents; k++) {
            b->places[k] = b->places[k] == item ? NULL : b->places[k];
        }
        if (weir_list_is_empty(&b->items) && b->call != NULL && !b->call->is_done) {
            batch_free(b);
        }
    }
    c->n_left = 0;
}

static void fail_call(struct batch_call *c, const struct weir_fault *fault, struct weir_list *told)
{
    if (c->base.fault.origin == WEIR_FAULT_NONE) {
        c->base.fault = weir_fault_dup(&c->arena, fault);
        c->base.lists = NULL;
        c->base.n_lists = 0;
        take_back(c);
        to_told(c, told);
    }
}

static void take_list(struct item *item, const struct weir_detect_list *list,
                      struct weir_slice content)
{
    struct batch_call *c = item->call;
    if (list->n != 0) {
        struct weir_verdict *copy = weir_verdict_new(list, content);
        c->lists[item->index] = weir_verdict_list(copy, c->input.contents[item->index],
                                                  c->base.detector->id, &c->arena);
        weir_verdict_free(copy);
    }
}

static void deal_out(struct batch *b, struct weir_list *told)
{
    for (size_t i = 0; i < b->input.n_contents; i++) {
        struct item *item = b->places[i];
        if (item == NULL) {
            continue;
        }
        struct batch_call *c = item->call;
        WEIR_ASSERT(i < b->call->n_lists);
        take_list(item, &b->call->lists[i], b->contents[i]);
        leave_batch(item);
        if (--c->n_left == 0) {
            to_told(c, told);
        }
    }
}

static bool is_refusal(const struct weir_fault *fault)
{
    return fault->status >= 400 && fault->status < 500 && fault->status != HTTP_TOO_MANY;
}

/* They go before those who came later, each by itself. */
static void try_alone(struct batch *b)
{
    struct desk *desk = b->desk;
    for (size_t i = b->input.n_contents; i-- > 0;) {
        struct item *item = b->places[i];
        if (item != NULL) {
            leave_batch(item);
            item->is_alone = true;
            weir_list_prepend(&desk->queue, &item->link);
            desk->n_queued++;
        }
    }
}

static void give_up(struct batch *b, struct weir_list *told)
{
    struct weir_list *link;
    while ((link = weir_list_first(&b->items)) != NULL) {
        struct item *item = WEIR_LIST_ENTRY(link, struct item, link);
        leave_batch(item);
        for (size_t i = 0; i < b->input.n_contents; i++) {
            b->places[i] = b->places[i] == item ? NULL : b->places[i];
        }
        fail_call(item->call, &b->call->fault, told);
    }
}

/* Whoever is told may free itself and any other of them. */
static void tell(struct weir_list *told)
{
    struct weir_list *link;
    while ((link = weir_list_pop(told)) != NULL) {
        struct batch_call *c = WEIR_LIST_ENTRY(link, struct batch_call, link);
        c->base.is_done = true;
        c->waiter.on_done(c->waiter.ctx, &c->base);
    }
}

static void on_sent_done(void *ctx, struct weir_detect_call *call)
{
    struct batch *b = ctx;
    struct desk *desk = b->desk;
    struct weir_list told;
    weir_list_init(&told);
    if (call->fault.origin == WEIR_FAULT_NONE) {
        deal_out(b, &told);
    } else if (b->input.n_contents > 1 && is_refusal(&call->fault)) {
        try_alone(b);
    } else {
        give_up(b, &told);
    }
    batch_free(b);
    desk_run(desk);
    tell(&told);
}

/* ---- sending ---- */

static bool is_same(const struct weir_hash_value *a, const struct weir_hash_value *b)
{
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

static void copy_context(struct batch *b, const struct weir_call_context *from)
{
    b->context = (struct weir_call_context){.account = &b->desk->all->account, .log = &b->log};
    if (from == NULL) {
        return;
    }
    if (from->log != NULL) {
        b->log = *from->log;
        b->log.request_id = weir_arena_dup(&b->arena, b->log.request_id);
    }
    struct weir_http_field *fields =
        weir_arena_array(&b->arena, from->n_passthrough, sizeof *fields);
    for (size_t i = 0; i < from->n_passthrough; i++) {
        fields[i].name = weir_arena_dup(&b->arena, from->passthrough[i].name);
        fields[i].value = weir_arena_dup(&b->arena, from->passthrough[i].value);
    }
    b->context.passthrough = fields;
    b->context.n_passthrough = from->n_passthrough;
}

/* `first` says what all of it is like. */
static struct batch *batch_new(struct desk *desk, const struct item *first)
{
    const struct batch_call *c = first->call;
    size_t max = desk->options->max_items;
    struct batch *b = weir_mem_zalloc(sizeof *b);
    b->desk = desk;
    b->arena.account = &desk->all->account;
    weir_list_init(&b->items);
    copy_context(b, c->env.context);
    b->env = c->env;
    b->env.context = &b->context;
    b->env.verdicts = NULL;
    b->env.desks = NULL;
    b->contents = weir_arena_array(&b->arena, max, sizeof *b->contents);
    b->places = weir_arena_array(&b->arena, max, sizeof *b->places);
    b->input = c->input;
    b->input.params = weir_arena_dup(&b->arena, c->input.params);
    b->input.contents = b->contents;
    b->input.n_contents = 0;
    b->input.before = NULL;
    b->input.within = (struct weir_slice){0};
    return b;
}

static void put_in(struct batch *b, struct item *item)
{
    struct desk *desk = b->desk;
    size_t i = b->input.n_contents++;
    b->contents[i] = weir_arena_dup(&b->arena, item->call->input.contents[item->index]);
    b->places[i] = item;
    weir_list_remove(&item->link);
    desk->n_queued--;
    item->batch = b;
    weir_list_append(&b->items, &item->link);
    weir_metric_observe(desk->options->waits, (uv_hrtime() - item->since_ns) / 1000);
}

static size_t size_of(const struct item *item)
{
    return item->call->input.contents[item->index].n;
}

/* The first in the queue, and those behind it that may go along. */
static void gather(struct batch *b, struct item *first)
{
    const struct weir_desk_options *o = b->desk->options;
    size_t n_bytes = size_of(first);
    size_t n_looked = 0;
    struct weir_list *link = first->link.next;
    put_in(b, first);
    while (!first->is_alone && link != &b->desk->queue && b->input.n_contents < o->max_items &&
           n_looked++ < LOOK_AHEAD * o->max_items) {
        struct item *item = WEIR_LIST_ENTRY(link, struct item, link);
        link = link->next;
        bool fits = n_bytes + size_of(item) <= o->max_bytes;
        if (fits && !item->is_alone && is_same(&item->call->kind, &first->call->kind)) {
            n_bytes += size_of(item);
            put_in(b, item);
        }
    }
}

static void send_one(struct desk *desk)
{
    struct item *first = WEIR_LIST_ENTRY(desk->queue.next, struct item, link);
    struct batch *b = batch_new(desk, first);
    gather(b, first);
    weir_metric_observe(desk->options->sizes, b->input.n_contents);
    desk->n_running++;
    b->call = desk->options->send(desk->detector, &b->env, &b->input, on_sent_done, b);
    WEIR_ASSERT(!b->call->is_done);
}

/* Is it worth waiting for more? */
static bool may_wait(struct desk *desk)
{
    const struct weir_desk_options *o = desk->options;
    if (o->wait_ms == 0 || desk->n_queued >= o->max_items) {
        return false;
    }
    struct item *first = WEIR_LIST_ENTRY(desk->queue.next, struct item, link);
    uint64_t waited_ms = weir_loop_now_ms(desk->all->loop) - first->since_ms;
    if (first->is_alone || waited_ms >= o->wait_ms) {
        return false;
    }
    if (!desk->is_armed) {
        desk->is_armed = true;
        weir_loop_after(desk->all->loop, &desk->timer, o->wait_ms - waited_ms);
    }
    return true;
}

/* Sends what may leave. The desk may be gone afterwards. */
static void desk_run(struct desk *desk)
{
    while (desk->n_running < desk->options->in_flight && desk->n_queued != 0 && !may_wait(desk)) {
        send_one(desk);
    }
    close_if_idle(desk);
}

/* ---- a caller's call ---- */

static struct weir_hash_value kind_of(const struct batch_call *c)
{
    struct weir_hash h;
    uint64_t threshold;
    const struct weir_call_context *context = c->env.context;
    memcpy(&threshold, &c->input.threshold, sizeof threshold);
    weir_hash_begin(&h);
    weir_hash_add_u64(&h, threshold);
    weir_hash_add_u64(&h, (uint64_t)c->input.is_piece << 1 | (uint64_t)c->input.is_lenient);
    weir_hash_add(&h, c->input.params);
    for (size_t i = 0; context != NULL && i < context->n_passthrough; i++) {
        weir_hash_add(&h, context->passthrough[i].name);
        weir_hash_add(&h, context->passthrough[i].value);
    }
    return weir_hash_end(&h);
}

static void refuse_call(struct batch_call *c)
{
    c->base.fault = (struct weir_fault){.origin = WEIR_FAULT_DETECTOR,
                                        .id = c->base.detector->id,
                                        .err = WEIR_EBUSY,
                                        .why = WEIR_SLICE("too many texts wait: max_waiting")};
    c->base.lists = NULL;
    c->base.n_lists = 0;
    c->base.is_done = true;
    c->n_left = 0;
}

static void free_call(struct weir_detect_call *call)
{
    struct batch_call *c = (struct batch_call *)call;
    struct desk *desk = c->n_left != 0 ? c->desk : NULL; /* it may be gone once all is answered */
    weir_list_remove(&c->link);
    if (desk != NULL) {
        take_back(c);
        desk_run(desk);
    }
    weir_arena_dispose(&c->arena);
    free(c);
}

struct weir_detect_call *weir_desk_start(const struct weir_detector *d,
                                         const struct weir_desk_options *o,
                                         const struct weir_detect_env *env,
                                         const struct weir_detect_input *input,
                                         struct weir_detect_waiter waiter)
{
    struct batch_call *c = weir_mem_zalloc(sizeof *c);
    c->base.detector = d;
    c->base.free = free_call;
    c->env = *env;
    c->input = *input;
    c->waiter = waiter;
    c->arena.account = weir_call_account(env->context);
    c->n_left = input->n_contents;
    c->base.n_lists = input->n_contents;
    c->lists = weir_arena_array(&c->arena, input->n_contents, sizeof *c->lists);
    c->items = weir_arena_array(&c->arena, input->n_contents, sizeof *c->items);
    c->base.lists = c->lists;
    c->kind = kind_of(c);
    c->desk = desk_of(env->desks, d);
    c->desk->options = o;
    if (o->max_waiting != 0 && c->desk->n_queued >= o->max_waiting) {
        refuse_call(c);
        return &c->base;
    }
    struct item item = {
        .call = c, .since_ns = uv_hrtime(), .since_ms = weir_loop_now_ms(env->desks->loop)};
    for (size_t i = 0; i < input->n_contents; i++) {
        c->items[i] = item;
        c->items[i].index = i;
        weir_list_append(&c->desk->queue, &c->items[i].link);
        c->desk->n_queued++;
    }
    desk_run(c->desk);
    return &c->base;
}

void weir_desk_count(struct weir_desk_options *o, struct weir_slice detector_id)
{
    static const uint64_t sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
    static const uint64_t waits[] = {10,   50,    100,   250,   500,    1000,   2500,
                                     5000, 10000, 25000, 50000, 100000, 250000, 1000000};
    static const struct weir_metric_def SIZE = {
        .name = "weir_detector_batch_size",
        .help = "Texts in one call of a detector whose texts are batched.",
        .type = WEIR_METRIC_HISTOGRAM,
        .labels = {"detector"},
        .buckets = sizes,
        .n_buckets = sizeof sizes / sizeof sizes[0],
    };
    static const struct weir_metric_def WAIT = {
        .name = "weir_detector_batch_wait_seconds",
        .help = "How long texts waited for a call of their detector to leave with.",
        .type = WEIR_METRIC_HISTOGRAM,
        .decimals = 6,
        .labels = {"detector"},
        .buckets = waits,
        .n_buckets = sizeof waits / sizeof waits[0],
    };
    o->sizes = weir_metric_histogram(weir_metric_declare(&SIZE), WEIR_METRIC_LABELS(detector_id));
    o->waits = weir_metric_histogram(weir_metric_declare(&WAIT), WEIR_METRIC_LABELS(detector_id));
}
