#include "task/gather_int.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "task/textlog.h"

#include <stdlib.h>

/*
 * The core of the aggregator. Pushing and ending only record. All decisions are in pop: the
 * strategy names the end of the next batch, a failed call stands in its way or not, and every queue
 * gives up its verdicts for it while what they cover is checked. Nothing of a batch is shown before
 * all queues have passed.
 */
enum {
    RING_SMALLEST = 4,
    RING_KEEP = 64, /* entries; a larger ring shrinks when it is hardly used */
    RING_SHRINK = 8,
};

static size_t log_arrived_cp(void *ctx)
{
    return ((struct weir_textlog *)ctx)->end_cp;
}

static bool log_is_white(void *ctx, size_t start_cp, size_t end_cp)
{
    return weir_textlog_is_white(ctx, start_cp, end_cp);
}

struct weir_gather_text weir_gather_text_of(struct weir_textlog *log)
{
    return (struct weir_gather_text){log, log_arrived_cp, log_is_white};
}

static const struct {
    const char *text;
    int err;
} faults[] = {
#define FAULT_ROW(name, text, code) {text, code},
    WEIR_GATHER_FAULT_MAP(FAULT_ROW)
#undef FAULT_ROW
};

const char *weir_gather_fault_text(enum weir_gather_fault fault)
{
    return faults[fault].text;
}

/* The first fault stays: every call asks for it before it does anything. */
static int fault(struct weir_gather *g, enum weir_gather_fault what, size_t detector, size_t at_cp)
{
    g->failure = (struct weir_gather_failure){what, faults[what].err, detector, at_cp};
    return g->failure.err;
}

static void ring_resize(struct weir_gather_queue *q, size_t cap)
{
    struct weir_gather_entry *ring = weir_mem_array(cap, sizeof *ring);
    for (size_t i = 0; i < q->n; i++) {
        ring[i] = *weir_gather__entry(q, i);
    }
    free(q->ring);
    q->ring = ring;
    q->head = 0;
    q->cap = cap;
}

static void enqueue(struct weir_gather *g, struct weir_gather_queue *q,
                    struct weir_gather_entry entry)
{
    if (q->n == q->cap) {
        ring_resize(q, q->cap != 0 ? q->cap * 2 : RING_SMALLEST);
    }
    q->n++;
    *weir_gather__entry(q, q->n - 1) = entry;
    g->held_bytes += sizeof entry;
}

/* The first verdict joins the batch that is leaving. */
static void take_first(struct weir_gather *g, struct weir_gather_queue *q)
{
    struct weir_gather_entry *e = weir_gather__entry(q, 0);
    if (e->block != NULL) {
        *g->leaving_tail = e->block;
        g->leaving_tail = &e->block->next;
    }
    q->taken_cp = e->end_cp;
    q->head = (q->head + 1) & (q->cap - 1);
    q->n--;
    g->held_bytes -= sizeof *e;
    if (q->cap > RING_KEEP && q->n <= q->cap / RING_SHRINK) {
        ring_resize(q, q->cap / 2);
    }
}

struct weir_gather *weir_gather_new(const struct weir_gather_options *options)
{
    size_t n = options->n_detectors;
    struct weir_gather *g = weir_mem_zalloc(sizeof *g + n * sizeof g->queues[0]);
    g->strategy = options->strategy;
    g->text = options->text;
    g->left_cp = options->start_cp;
    g->far_cp = options->start_cp;
    g->length_cp = SIZE_MAX;
    g->waits_for = WEIR_GATHER_NOBODY;
    g->fail_by = WEIR_GATHER_NOBODY;
    g->marks.last_cp = options->start_cp;
    g->marks.stuck_on = WEIR_GATHER_NOBODY;
    g->max_bytes = options->max_bytes;
    g->spans_are_foreign = options->spans_are_foreign;
    g->leaving_tail = &g->leaving;
    g->n_queues = n;
    for (size_t i = 0; i < n; i++) {
        g->queues[i] = (struct weir_gather_queue){
            .id = options->detector_ids[i],
            .reach_cp = options->start_cp,
            .taken_cp = options->start_cp,
            .fail_cp = SIZE_MAX,
            .is_reader = options->are_readers != NULL && options->are_readers[i],
            .is_late = options->are_late != NULL && options->are_late[i],
        };
        g->n_readers += g->queues[i].is_reader;
        g->n_late += g->queues[i].is_late;
    }
    return g;
}

void weir_gather_free(struct weir_gather *g)
{
    if (g == NULL) {
        return;
    }
    weir_gather__release(g);
    for (size_t i = 0; i < g->n_queues; i++) {
        struct weir_gather_queue *q = &g->queues[i];
        for (size_t k = 0; k < q->n; k++) {
            free(weir_gather__entry(q, k)->block);
        }
        free(q->ring);
    }
    free(g->sorted);
    free(g->marks.cp);
    free(g);
}

size_t weir_gather_left_cp(const struct weir_gather *g)
{
    return g->left_cp;
}

bool weir_gather_is_done(const struct weir_gather *g)
{
    return g->failure.err == 0 && g->n_ended == g->n_queues && g->left_cp == g->length_cp;
}

const struct weir_gather_failure *weir_gather_failure(const struct weir_gather *g)
{
    return &g->failure;
}

size_t weir_gather_footprint(const struct weir_gather *g)
{
    size_t bytes = sizeof *g + g->held_bytes + g->cap_sorted * sizeof(void *) +
                   g->marks.cap * sizeof g->marks.cp[0];
    for (size_t i = 0; i < g->n_queues; i++) {
        const struct weir_gather_queue *q = &g->queues[i];
        bytes += sizeof *q + (q->cap - q->n) * sizeof q->ring[0];
    }
    return bytes;
}

static struct weir_gather_queue *queue_of(struct weir_gather *g, size_t detector)
{
    WEIR_ASSERT(detector < g->n_queues);
    return &g->queues[detector];
}

/* A step of the one everybody waits for calls for a new decision. */
static void stir(struct weir_gather *g, size_t who)
{
    if (g->waits_for == who) {
        g->waits_for = WEIR_GATHER_NOBODY;
    }
    g->has_low = false;
    if (g->strategy->note != NULL) {
        g->strategy->note(g, who);
    }
}

static int check_verdict(struct weir_gather *g, size_t detector,
                         const struct weir_gather_verdict *v)
{
    const struct weir_gather_queue *q = &g->queues[detector];
    if (q->has_ended) {
        return fault(g, WEIR_GATHER_AFTER_END, detector, v->start_cp);
    }
    if (v->start_cp < q->reach_cp || v->end_cp < v->start_cp) {
        return fault(g, WEIR_GATHER_OVERLAP, detector, v->start_cp);
    }
    size_t known_cp = g->length_cp != SIZE_MAX ? g->length_cp : g->text.arrived_cp(g->text.ctx);
    if (v->end_cp > known_cp) {
        return fault(g, WEIR_GATHER_BEYOND, detector, v->end_cp);
    }
    return 0;
}

int weir_gather_push(struct weir_gather *g, size_t detector, const struct weir_gather_verdict *v)
{
    struct weir_gather_queue *q = queue_of(g, detector);
    if (g->failure.err != 0 || q->fail_cp != SIZE_MAX) {
        return g->failure.err;
    }
    int rc = check_verdict(g, detector, v);
    if (rc != 0 || v->start_cp == v->end_cp) {
        return rc;
    }
    size_t bytes = v->n_findings != 0 ? weir_gather__block_bytes(v) : 0;
    size_t more_bytes = bytes + sizeof(struct weir_gather_entry);
    if (g->max_bytes != 0 && more_bytes > g->max_bytes - g->held_bytes) {
        return fault(g, WEIR_GATHER_LIMIT, detector, v->start_cp);
    }
    struct weir_gather_entry entry = {.start_cp = v->start_cp, .end_cp = v->end_cp};
    if (bytes != 0) {
        entry.block = weir_gather__block_new(g, detector, v, bytes);
        g->held_bytes += bytes;
    }
    enqueue(g, q, entry);
    q->reach_cp = v->end_cp;
    if (v->end_cp > g->far_cp) {
        g->far_cp = v->end_cp;
        g->far_by = detector;
    }
    stir(g, detector);
    return 0;
}

/* Entries of a reader stand in the order of their starts. A service may tell a later finding first,
 * as long as its mark has not passed the earlier one. */
static void sort_last(struct weir_gather_queue *q)
{
    size_t i = q->n - 1;
    while (i > 0 && weir_gather__entry(q, i - 1)->start_cp > weir_gather__entry(q, i)->start_cp) {
        struct weir_gather_entry later = *weir_gather__entry(q, i - 1);
        *weir_gather__entry(q, i - 1) = *weir_gather__entry(q, i);
        *weir_gather__entry(q, i) = later;
        i--;
    }
    q->cursor = q->cursor < i ? q->cursor : i;
}

/* Each finding waits for the batch in which it begins. */
static int enqueue_findings(struct weir_gather *g, size_t detector,
                            const struct weir_gather_mark *m)
{
    for (size_t i = 0; i < m->n_findings; i++) {
        const struct weir_detection *d = &m->findings[i];
        struct weir_gather_verdict one = {
            .start_cp = d->start_cp, .end_cp = SIZE_MAX, .findings = d, .n_findings = 1};
        size_t bytes = weir_gather__block_bytes(&one);
        size_t more_bytes = bytes + sizeof(struct weir_gather_entry);
        if (g->max_bytes != 0 && more_bytes > g->max_bytes - g->held_bytes) {
            return fault(g, WEIR_GATHER_LIMIT, detector, d->start_cp);
        }
        size_t start_cp = d->has_span ? d->start_cp : m->from_cp;
        struct weir_gather_entry entry = {.start_cp = start_cp, .end_cp = d->end_cp};
        entry.block = weir_gather__block_new(g, detector, &one, bytes);
        g->held_bytes += bytes;
        enqueue(g, &g->queues[detector], entry);
        sort_last(&g->queues[detector]);
    }
    return 0;
}

int weir_gather_mark(struct weir_gather *g, size_t detector, const struct weir_gather_mark *m)
{
    struct weir_gather_queue *q = queue_of(g, detector);
    if (g->failure.err != 0 || q->fail_cp != SIZE_MAX) {
        return g->failure.err;
    }
    WEIR_ASSERT(q->is_reader && m->mark_cp >= q->reach_cp);
    if (q->has_ended) {
        return fault(g, WEIR_GATHER_AFTER_END, detector, m->mark_cp);
    }
    size_t known_cp = g->length_cp != SIZE_MAX ? g->length_cp : g->text.arrived_cp(g->text.ctx);
    if (m->mark_cp > known_cp) {
        return fault(g, WEIR_GATHER_BEYOND, detector, m->mark_cp);
    }
    int rc = enqueue_findings(g, detector, m);
    if (rc == 0 && (m->mark_cp > q->reach_cp || m->n_findings != 0)) {
        q->reach_cp = m->mark_cp;
        stir(g, detector);
    }
    return rc;
}

int weir_gather_mark_all(struct weir_gather *g, size_t mark_cp)
{
    size_t known_cp = g->length_cp != SIZE_MAX ? g->length_cp : g->text.arrived_cp(g->text.ctx);
    WEIR_ASSERT(g->n_readers == g->n_queues);
    if (g->failure.err != 0) {
        return g->failure.err;
    }
    if (mark_cp > known_cp) {
        return fault(g, WEIR_GATHER_BEYOND, 0, mark_cp);
    }
    for (size_t i = 0; i < g->n_queues; i++) {
        struct weir_gather_queue *q = &g->queues[i];
        bool is_over = q->has_ended || q->fail_cp != SIZE_MAX;
        if (mark_cp > q->reach_cp && !is_over && !q->is_late) {
            q->reach_cp = mark_cp;
            if (g->waits_for == i || g->strategy->note != NULL) {
                stir(g, i);
            }
        }
    }
    g->has_low = false;
    return 0;
}

int weir_gather_fail(struct weir_gather *g, size_t detector, size_t start_cp, int err)
{
    WEIR_ASSERT(err < 0);
    struct weir_gather_queue *q = queue_of(g, detector);
    if (g->failure.err != 0 || q->fail_cp != SIZE_MAX) {
        return g->failure.err;
    }
    if (q->has_ended) {
        return fault(g, WEIR_GATHER_AFTER_END, detector, start_cp);
    }
    WEIR_ASSERT(start_cp < SIZE_MAX);
    q->fail_cp = start_cp;
    if (g->fail_by == WEIR_GATHER_NOBODY || start_cp < g->queues[g->fail_by].fail_cp) {
        g->fail_by = detector;
        g->fail_err = err;
    }
    g->waits_for = WEIR_GATHER_NOBODY;
    stir(g, detector);
    return 0;
}

int weir_gather_end(struct weir_gather *g, size_t detector)
{
    struct weir_gather_queue *q = queue_of(g, detector);
    if (g->failure.err != 0 || q->has_ended || q->fail_cp != SIZE_MAX) {
        return g->failure.err;
    }
    q->has_ended = true;
    g->n_ended++;
    stir(g, detector);
    return 0;
}

int weir_gather_source_end(struct weir_gather *g, size_t length_cp)
{
    if (g->failure.err != 0) {
        return g->failure.err;
    }
    WEIR_ASSERT(g->length_cp == SIZE_MAX && length_cp < SIZE_MAX);
    g->length_cp = length_cp;
    if (g->far_cp > length_cp) {
        return fault(g, WEIR_GATHER_BEYOND, g->far_by, g->far_cp);
    }
    stir(g, WEIR_GATHER_SOURCE);
    return 0;
}

/* Takes the reader's findings for a batch to end_cp. As below. */
static size_t take_marked(struct weir_gather *g, struct weir_gather_queue *q, size_t end_cp)
{
    while (q->n != 0 && weir_gather__entry(q, 0)->start_cp < end_cp) {
        const struct weir_gather_entry *e = weir_gather__entry(q, 0);
        if (q->is_late && e->start_cp < g->left_cp) {
            e->block->found[0].detection.exposed_cp = g->left_cp - e->start_cp;
        }
        take_first(g, q);
    }
    return q->has_ended || q->reach_cp >= end_cp ? SIZE_MAX : q->reach_cp;
}

/*
 * Takes the queue's verdicts for a batch to end_cp and makes sure that, together with white space,
 * they leave no hole in it. Where a hole starts, or SIZE_MAX.
 */
static size_t take_batch(struct weir_gather *g, struct weir_gather_queue *q, size_t end_cp)
{
    if (q->is_reader) {
        return take_marked(g, q, end_cp);
    }
    size_t covered_cp = q->taken_cp > g->left_cp ? q->taken_cp : g->left_cp;
    while (q->n != 0 && weir_gather__entry(q, 0)->start_cp < end_cp) {
        struct weir_gather_entry first = *weir_gather__entry(q, 0);
        if (first.start_cp > covered_cp &&
            !g->text.is_white(g->text.ctx, covered_cp, first.start_cp)) {
            return covered_cp;
        }
        covered_cp = first.end_cp;
        if (first.end_cp > end_cp && !g->strategy->takes_straddling) {
            break;
        }
        take_first(g, q);
    }
    bool is_covered = covered_cp >= end_cp || g->text.is_white(g->text.ctx, covered_cp, end_cp);
    return is_covered ? SIZE_MAX : covered_cp;
}

/* After a failed call: is it certain that the next batch, whatever comes, would have its text? */
static bool is_doomed(const struct weir_gather *g)
{
    for (size_t i = 0; i < g->n_queues; i++) {
        const struct weir_gather_queue *q = &g->queues[i];
        if (q->fail_cp == SIZE_MAX) {
            continue;
        }
        /* The failed chunk is next in line; where verdicts leave whole, the batch goes past it,
         * elsewhere once everything before it has left. */
        bool is_next = g->strategy->takes_straddling ? q->reach_cp <= g->left_cp : q->n == 0;
        if (q->fail_cp <= g->left_cp || is_next) {
            return true;
        }
    }
    return false;
}

static int fail_detector(struct weir_gather *g)
{
    size_t who = g->fail_by;
    g->failure = (struct weir_gather_failure){WEIR_GATHER_DETECTOR, g->fail_err, who,
                                              g->queues[who].fail_cp};
    return g->failure.err;
}

/* Where the next batch ends: 0, WEIR_EAGAIN or the failure that stands before it. */
static int decide(struct weir_gather *g, size_t *end_cp)
{
    if (g->waits_for != WEIR_GATHER_NOBODY) {
        return WEIR_EAGAIN;
    }
    if (g->fail_by == WEIR_GATHER_NOBODY) {
        return g->strategy->next(g, end_cp) ? 0 : WEIR_EAGAIN;
    }
    if (is_doomed(g)) {
        return fail_detector(g);
    }
    bool may_leave = g->strategy->next(g, end_cp);
    size_t at_least_cp = may_leave ? *end_cp : g->target_cp;
    if (at_least_cp > g->queues[g->fail_by].fail_cp) {
        return fail_detector(g);
    }
    return may_leave ? 0 : WEIR_EAGAIN;
}

/* What was found in text that has left, as a batch without text. False: nothing was. */
static bool pop_late(struct weir_gather *g, struct weir_gather_batch *batch)
{
    for (size_t i = 0; g->n_late != 0 && i < g->n_queues; i++) {
        struct weir_gather_queue *q = &g->queues[i];
        if (q->is_late && q->n != 0 && weir_gather__entry(q, 0)->start_cp < g->left_cp) {
            take_marked(g, q, g->left_cp);
            *batch = (struct weir_gather_batch){.start_cp = g->left_cp, .end_cp = g->left_cp};
            weir_gather__sort_leaving(g, batch);
            return true;
        }
    }
    return false;
}

/* Takes from all what a batch to end_cp has of them. 0, or the fault. */
static int take_batches(struct weir_gather *g, size_t end_cp)
{
    bool has_readers_only = g->n_readers == g->n_queues && g->has_low && g->low_cp >= end_cp;
    if (has_readers_only && g->held_bytes == 0) {
        return 0; /* all have come that far, and nothing was found */
    }
    for (size_t i = 0; i < g->n_queues; i++) {
        size_t hole_cp = take_batch(g, &g->queues[i], end_cp);
        if (hole_cp != SIZE_MAX) {
            return fault(g, WEIR_GATHER_UNCOVERED, i, hole_cp);
        }
        g->queues[i].cursor = 0;
    }
    return 0;
}

int weir_gather_pop(struct weir_gather *g, struct weir_gather_batch *batch)
{
    weir_gather__release(g);
    if (g->failure.err != 0) {
        return g->failure.err;
    }
    if (pop_late(g, batch)) {
        return 0;
    }
    size_t end_cp = 0;
    int rc = decide(g, &end_cp);
    if (rc != 0) {
        return rc;
    }
    WEIR_ASSERT(end_cp > g->left_cp);
    rc = take_batches(g, end_cp);
    if (rc != 0) {
        return rc;
    }
    *batch = (struct weir_gather_batch){.start_cp = g->left_cp, .end_cp = end_cp};
    weir_gather__sort_leaving(g, batch);
    g->left_cp = end_cp;
    g->target_cp = 0;
    return 0;
}
