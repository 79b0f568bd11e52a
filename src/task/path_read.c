/*
 * Detectors that read along. They share one reading (detect/reading.h), which is fed from the log;
 * after each part the aggregator is told how far each of them has come and what it found.
 *
 *   log       |·····························|
 *             read ────────────► fed_cp      the rest waits: for parameters, or for its turn
 *   marks     ─────────► r   ──────────► s   no further than fed_cp
 *
 * Services that read along (detect/streamed.h) have streams of their own, and tell marks and
 * findings when they like.
 *
 * Where all detectors read along, events should leave whole: a mark that lies inside of one is
 * moved back to where that event begins, unless that would hold much.
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/allow.h"
#include "detect/reader.h"
#include "task/path_int.h"

#include <stdlib.h>

enum { CLIP_CP = 32 };

static void on_ready(void *ctx)
{
    struct weir_path_segment *seg = ctx;
    struct weir_path *path = seg->path;
    weir_path__read(seg);
    path->on_progress(path->ctx);
}

static bool is_reader(const struct weir_path_lane *lane)
{
    return lane->cutter == NULL && lane->streamed == NULL;
}

static void open_streamed(struct weir_path_lane *lane);

void weir_path__open_reading(struct weir_path_segment *seg)
{
    const struct weir_task_ctx *task = seg->path->task;
    size_t n = 0;
    for (size_t i = 0; i < seg->n_lanes; i++) {
        struct weir_path_lane *lane = &seg->lanes[i];
        if (lane->cutter != NULL) {
            continue;
        }
        if (weir_streamed_is(weir_allow_inner(lane->use->d->detector))) {
            open_streamed(lane);
            continue;
        }
        seg->reading =
            seg->reading != NULL ? seg->reading : weir_reading_new(task->loop, on_ready, seg);
        weir_reading_add(seg->reading, weir_allow_inner(lane->use->d->detector), lane->use->params,
                         lane->use->threshold);
        lane->reader = n++;
        lane->open_cp = SIZE_MAX;
    }
    seg->n_readers = n;
    seg->fed_cp = seg->start_cp;
    if (seg->reading != NULL) {
        weir_reading_start(seg->reading);
    }
}

/* ---- marks */

/* The end of the last event that ends at `mark_cp` or before; the mark, where that is far away. */
static size_t clipped(const struct weir_path_segment *seg, size_t mark_cp)
{
    const struct weir_textlog *log = &seg->path->log;
    if (seg->n_readers != seg->n_lanes || mark_cp <= log->from_cp) {
        return mark_cp;
    }
    size_t end_cp = weir_textlog_floor(log, mark_cp);
    return mark_cp - end_cp <= CLIP_CP ? end_cp : mark_cp;
}

static void note_mark(const struct weir_path_lane *lane, size_t from_cp, size_t mark_cp)
{
    const struct weir_path *path = lane->segment->path;
    if (path->task->trace != NULL && mark_cp > from_cp) {
        weir_path__note(path, &(struct weir_task_step){.kind = WEIR_TASK_STEP_VERDICT,
                                                       .start_cp = from_cp,
                                                       .end_cp = mark_cp,
                                                       .detector = lane->use->d->id});
    }
}

/* What is told of a lane at a time, with the offsets that leave. */
struct told {
    struct weir_detection *items; /* NULL: nothing */
    size_t n;
};

/*
 * Long findings whose beginning decides are told in two parts, or more if their end has not come:
 * the first OPEN_CP code points, and what goes on. Always, whether or not they were open for a
 * while: what is told must not depend on how the text came.
 */
enum { OPEN_CP = WEIR_READER_OPEN, MOST_PARTS = 2 };

static void add_part(struct told *t, const struct weir_detection *d, size_t start_cp, size_t end_cp,
                     enum weir_detection_edge edge)
{
    if (start_cp >= end_cp) {
        return;
    }
    struct weir_detection *part = &t->items[t->n++];
    *part = *d;
    part->start_cp = start_cp;
    part->end_cp = end_cp;
    part->edge = edge;
    part->text = edge == WEIR_EDGE_REST
                     ? WEIR_SLICE("")
                     : weir_slice_sub(d->text, 0, weir_utf8_byte_at(d->text, end_cp - start_cp));
}

/* `d` as far as it was not told. */
static void add_parts(struct weir_path_lane *lane, struct told *t, const struct weir_detection *d)
{
    size_t first_cp = d->start_cp + OPEN_CP < d->end_cp ? d->start_cp + OPEN_CP : d->end_cp;
    if (lane->open_cp != d->start_cp) {
        add_part(t, d, d->start_cp, first_cp, WEIR_EDGE_NONE);
        lane->open_cp = d->start_cp;
        lane->opened_cp = first_cp;
    }
    add_part(t, d, lane->opened_cp, d->end_cp, WEIR_EDGE_REST);
    lane->opened_cp = d->end_cp > lane->opened_cp ? d->end_cp : lane->opened_cp;
}

static bool tells_in_parts(const struct weir_path_lane *lane)
{
    return lane->segment->path->tells_open;
}

/* Without what the route allows. `d` has the offsets that leave. */
static void add_found(struct weir_path_lane *lane, struct told *t, const struct weir_detection *d)
{
    if (d->edge == WEIR_EDGE_SURE && tells_in_parts(lane)) {
        add_parts(lane, t, d);
        lane->open_cp = SIZE_MAX;
        return;
    }
    t->items[t->n] = *d;
    t->items[t->n++].edge = WEIR_EDGE_NONE;
}

static struct weir_detection moved(const struct weir_path_lane *lane,
                                   const struct weir_detection *d)
{
    struct weir_detection m = *d;
    m.start_cp += lane->segment->start_cp;
    m.end_cp += lane->segment->start_cp;
    return m;
}

static struct told move_found(struct weir_path_lane *lane, const struct weir_detect_list *list)
{
    struct told t = {0};
    if (list->n != 0) {
        t.items = weir_mem_array(MOST_PARTS * list->n, sizeof *t.items);
    }
    for (size_t i = 0; i < list->n; i++) {
        if (!weir_allow_drops(lane->use->d->detector, &list->items[i])) {
            struct weir_detection d = moved(lane, &list->items[i]);
            add_found(lane, &t, &d);
        }
    }
    return t;
}

/*
 * A finding whose end has not come: its text counts as looked at. Where nothing but its name
 * would be hidden of it (routes that only report) it is told when it ends; elsewhere what has come
 * of it is told now. What a route allows is known by its whole text. The mark that follows.
 */
static size_t tell_open(struct weir_path_lane *lane, struct told *t, size_t mark_cp)
{
    struct weir_detection d;
    bool has_allowed = weir_allow_inner(lane->use->d->detector) != lane->use->d->detector;
    if (has_allowed || !weir_reading_open(lane->segment->reading, lane->reader, &d)) {
        return mark_cp;
    }
    d = moved(lane, &d);
    if (tells_in_parts(lane)) {
        t->items = weir_mem_realloc(t->items, (t->n + MOST_PARTS) * sizeof *t->items);
        add_parts(lane, t, &d);
    } else {
        d.end_cp--; /* if the text ends here, the finding is told with its last code point */
    }
    return d.end_cp > mark_cp ? d.end_cp : mark_cp;
}

/* What this reader has to say after the last part; offsets are the segment's. */
static void tell_mark(struct weir_path_lane *lane)
{
    struct weir_path_segment *seg = lane->segment;
    struct weir_detect_list list = weir_reading_found(seg->reading, lane->reader);
    size_t mark_cp = seg->start_cp + weir_reading_mark_cp(seg->reading, lane->reader);
    struct told told = move_found(lane, &list);
    mark_cp = tell_open(lane, &told, mark_cp);
    if (mark_cp > lane->judged_cp) {
        note_mark(lane, lane->judged_cp, mark_cp);
        lane->judged_cp = mark_cp;
    }
    size_t told_cp = clipped(seg, lane->judged_cp);
    lane->told_cp = told_cp > lane->told_cp ? told_cp : lane->told_cp;
    struct weir_gather_mark m = {
        .mark_cp = lane->told_cp, .findings = told.items, .n_findings = told.n};
    weir_gather_mark(seg->gather, lane->index, &m);
    free(told.items);
}

static void tell_fault(struct weir_path_lane *lane, const struct weir_fault *fault)
{
    weir_path__fail_lane(lane, fault, lane->judged_cp);
}

/* What all have come to together becomes what each of them has. */
static void settle_even(struct weir_path_segment *seg)
{
    for (size_t i = 0; i < seg->n_lanes && seg->even_cp != 0; i++) {
        struct weir_path_lane *lane = &seg->lanes[i];
        lane->judged_cp = weir_path__judged_cp(lane);
        lane->told_cp = lane->told_cp > seg->even_told_cp ? lane->told_cp : seg->even_told_cp;
    }
    seg->even_cp = 0;
    seg->even_told_cp = 0;
}

/* No reader of the reading has found anything, and all have come as far. */
static void tell_each(struct weir_path_segment *seg, size_t mark_cp)
{
    size_t told_cp = clipped(seg, mark_cp);
    settle_even(seg);
    for (size_t i = 0; i < seg->n_lanes; i++) {
        struct weir_path_lane *lane = &seg->lanes[i];
        if (!is_reader(lane) || lane->has_ended) {
            continue;
        }
        if (mark_cp > lane->judged_cp) {
            note_mark(lane, lane->judged_cp, mark_cp);
            lane->judged_cp = mark_cp;
        }
        if (told_cp > lane->told_cp) {
            lane->told_cp = told_cp;
            weir_gather_mark(seg->gather, lane->index,
                             &(struct weir_gather_mark){.mark_cp = told_cp});
        }
    }
}

/* The same. Most often there is nobody else, and nobody watches: then it is told once for all. */
static void tell_even(struct weir_path_segment *seg, size_t mark_cp)
{
    bool is_all = seg->n_readers == seg->n_lanes && !seg->has_faulty;
    if (!is_all || seg->path->task->trace != NULL) {
        tell_each(seg, mark_cp);
        return;
    }
    size_t told_cp = clipped(seg, mark_cp);
    seg->even_cp = mark_cp > seg->even_cp ? mark_cp : seg->even_cp;
    if (told_cp > seg->even_told_cp) {
        seg->even_told_cp = told_cp;
        weir_gather_mark_all(seg->gather, told_cp);
    }
}

static void tell_all(struct weir_path_segment *seg, bool has_ended)
{
    size_t mark_cp;
    if (!has_ended && weir_reading_is_even(seg->reading, &mark_cp)) {
        tell_even(seg, seg->start_cp + mark_cp);
        return;
    }
    settle_even(seg);
    for (size_t i = 0; i < seg->n_lanes; i++) {
        struct weir_path_lane *lane = &seg->lanes[i];
        if (!is_reader(lane) || lane->has_ended) {
            continue;
        }
        const struct weir_fault *fault = weir_reading_fault(seg->reading, lane->reader);
        if (fault != NULL) {
            tell_fault(lane, fault);
            lane->has_ended = true;
            seg->has_faulty = true;
            continue;
        }
        tell_mark(lane);
        if (has_ended) {
            lane->has_ended = true;
            weir_gather_end(seg->gather, lane->index);
        }
    }
}

/* ---- services */

void weir_path__count_full(struct weir_path_lane *lane, bool is_full)
{
    unsigned *n_full = &lane->segment->path->task->n_full_chunkers;
    if (is_full != lane->is_full) {
        *n_full = is_full ? *n_full + 1 : *n_full - 1;
        lane->is_full = is_full;
    }
}

static void on_streamed_found(void *ctx, size_t mark_cp, const struct weir_detect_list *found)
{
    struct weir_path_lane *lane = ctx;
    struct weir_path_segment *seg = lane->segment;
    struct told told = move_found(lane, found);
    note_mark(lane, lane->judged_cp, seg->start_cp + mark_cp);
    lane->judged_cp = seg->start_cp + mark_cp;
    lane->told_cp = lane->judged_cp;
    struct weir_gather_mark m = {
        .mark_cp = lane->told_cp, .findings = told.items, .n_findings = told.n};
    weir_gather_mark(seg->gather, lane->index, &m);
    free(told.items);
}

/* One that is skipped has found nothing in what still comes: it counts as looked at. */
static void skip_on(struct weir_path_lane *lane)
{
    struct weir_path_segment *seg = lane->segment;
    lane->judged_cp = weir_path__segment_end(seg);
    lane->told_cp = lane->judged_cp;
    weir_gather_mark(seg->gather, lane->index,
                     &(struct weir_gather_mark){.mark_cp = lane->told_cp});
    if (seg->has_ended && !lane->has_ended) {
        lane->has_ended = true;
        weir_gather_end(seg->gather, lane->index);
    }
}

static void look_at_streamed(struct weir_path_lane *lane)
{
    struct weir_path_segment *seg = lane->segment;
    const struct weir_fault *fault = weir_streamed_fault(lane->streamed);
    weir_path__count_full(lane, weir_streamed_is_full(lane->streamed));
    if (lane->has_ended || lane->is_skipped) {
        return;
    }
    if (fault != NULL && weir_skips_take(seg->path->task, lane->use->d, fault)) {
        lane->is_skipped = true;
        skip_on(lane);
    } else if (fault != NULL) {
        lane->has_ended = true;
        weir_path__fail_lane(lane, fault, lane->judged_cp);
    } else if (weir_streamed_is_done(lane->streamed)) {
        lane->has_ended = true;
        weir_gather_end(seg->gather, lane->index);
    }
}

static void on_streamed_progress(void *ctx)
{
    struct weir_path_lane *lane = ctx;
    struct weir_path *path = lane->segment->path;
    look_at_streamed(lane);
    path->on_progress(path->ctx);
}

static void open_streamed(struct weir_path_lane *lane)
{
    static const struct weir_streamed_events events = {.on_found = on_streamed_found,
                                                       .on_progress = on_streamed_progress};
    struct weir_path_segment *seg = lane->segment;
    seg->n_streamed++;
    lane->streamed_cp = seg->start_cp;
    lane->streamed = weir_streamed_open(
        &(struct weir_streamed_options){.detector = weir_allow_inner(lane->use->d->detector),
                                        .env = weir_task_detect_env(seg->path->task),
                                        .params = lane->use->params,
                                        .threshold = lane->use->threshold,
                                        .events = &events,
                                        .ctx = lane});
}

/* All that has come, and the end. */
static void feed_streamed(struct weir_path_segment *seg)
{
    size_t end_cp = weir_path__segment_end(seg);
    for (size_t i = 0; i < seg->n_lanes; i++) {
        struct weir_path_lane *lane = &seg->lanes[i];
        if (lane->streamed == NULL || lane->has_ended) {
            continue;
        }
        if (lane->is_skipped) {
            skip_on(lane);
            continue;
        }
        if (lane->streamed_cp < end_cp) {
            weir_streamed_push(lane->streamed,
                               weir_textlog_slice(&seg->path->log, lane->streamed_cp, end_cp));
            lane->streamed_cp = end_cp;
        }
        if (seg->has_ended && !lane->has_streamed_end) {
            lane->has_streamed_end = true;
            weir_streamed_end(lane->streamed);
        }
        if (weir_streamed_fault(lane->streamed) == NULL) {
            look_at_streamed(lane);
        }
    }
}

/* ---- feeding */

bool weir_path__can_read(const struct weir_path_segment *seg)
{
    bool has_text = seg->fed_cp < weir_path__segment_end(seg);
    return seg->reading != NULL && weir_reading_is_ready(seg->reading) && !seg->has_read &&
           (has_text || seg->has_ended);
}

/* As much as this turn has time for; `is_rest`: that is all there is. */
static struct weir_slice next_part(const struct weir_path_segment *seg, bool *is_rest)
{
    struct weir_slice rest =
        weir_textlog_slice(&seg->path->log, seg->fed_cp, weir_path__segment_end(seg));
    size_t max = seg->path->left_bytes / seg->n_readers;
    size_t n = weir_utf8_floor(rest, max);
    n = n != 0 ? n : weir_utf8_byte_at(rest, 1);
    *is_rest = n == rest.n;
    return weir_slice_sub(rest, 0, n);
}

void weir_path__read(struct weir_path_segment *seg)
{
    struct weir_path *path = seg->path;
    if (seg->n_streamed != 0) {
        feed_streamed(seg);
    }
    while (weir_path__can_read(seg) && weir_path__has_time(path)) {
        bool is_rest;
        struct weir_slice part = next_part(seg, &is_rest);
        size_t cost = part.n * seg->n_readers;
        path->left_bytes -= cost < path->left_bytes ? cost : path->left_bytes;
        if (part.n != 0) {
            seg->fed_cp =
                is_rest ? weir_path__segment_end(seg) : seg->fed_cp + weir_utf8_count(part);
            weir_reading_push(seg->reading, part);
            tell_all(seg, false);
        }
        if (seg->has_ended && seg->fed_cp == weir_path__segment_end(seg)) {
            seg->has_read = true;
            weir_reading_end(seg->reading);
            tell_all(seg, true);
        }
    }
}

/*
 * What follows is no text: where nobody is promised anything, what is only the beginning of
 * something leaves before it. A finding can come of it only with more text, and is told with that.
 */
void weir_path__cut_readers(struct weir_path_segment *seg)
{
    bool is_behind = seg->reading == NULL || !weir_reading_is_ready(seg->reading) ||
                     seg->has_ended || seg->fed_cp < seg->path->log.end_cp;
    settle_even(seg);
    for (size_t i = 0; !is_behind && i < seg->n_lanes; i++) {
        struct weir_path_lane *lane = &seg->lanes[i];
        if (!is_reader(lane) || lane->has_ended || seg->fed_cp == seg->start_cp) {
            continue;
        }
        size_t quiet_cp = seg->start_cp + weir_reading_quiet_cp(seg->reading, lane->reader);
        if (quiet_cp > lane->judged_cp) {
            note_mark(lane, lane->judged_cp, quiet_cp);
            lane->judged_cp = quiet_cp;
        }
        lane->told_cp = lane->judged_cp;
        weir_gather_mark(seg->gather, lane->index,
                         &(struct weir_gather_mark){.mark_cp = lane->told_cp});
    }
}
