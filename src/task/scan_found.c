/*
 * What the detectors found, put together when all have answered: a group's findings in one list, in
 * order, and as JSON. There may be a hundred thousand, so it is done in steps:
 *
 *   next group ─► take chunk by chunk ─► sort ─► write ─► next group … ─► done
 */
#include "task/scan_int.h"

enum { STEP = 512 }; /* findings looked at, and chunks, before others have their turn */

/* ---- taking ---- */

static void point_at(struct weir_scan_group *group, const struct weir_detection *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        group->found[group->n_found++] = &items[i];
    }
}

/* What is longer than a chunk goes on in the next. */
static void take_chunk(struct weir_scan_finish *f, size_t at)
{
    struct weir_scan_group *group = f->group;
    const struct weir_scan_chunk *c = &f->job->cutting->chunks[at];
    const struct weir_detect_list *list = &f->job->lists[at];
    struct weir_arena *arena = group->scan->task->arena;
    if (c->is_first) {
        weir_open_init(&f->open, arena);
    }
    if (list->n == 0 && weir_open_is_quiet(&f->open)) {
        return;
    }
    struct weir_open_chunk chunk = {.text = c->text,
                                    .start_cp = c->start_cp,
                                    .from_cp = c->from_cp,
                                    .answers_cp = c->answers_cp,
                                    .list = list};
    struct weir_detection *moved = weir_arena_alloc(arena, (list->n + 1) * sizeof *moved);
    size_t n = weir_open_take(&f->open, &chunk, moved);
    point_at(group, moved, n);
    group->n_text_found += n;
}

/* One chunk's, or all of a detector that looks at the whole. */
static void take_one(struct weir_scan_finish *f, size_t *left)
{
    const struct weir_scan_job *job = f->job;
    size_t n = job->lists[f->n_taken].n + 1;
    *left -= n < *left ? n : *left;
    if (job->cutting != NULL) {
        take_chunk(f, f->n_taken);
    } else {
        point_at(f->group, job->lists[f->n_taken].items, job->lists[f->n_taken].n);
    }
    f->n_taken++;
}

static bool take_some(struct weir_scan_finish *f, size_t *left)
{
    while (f->job != NULL && *left != 0) {
        if (f->job->n_found == 0 || f->n_taken == f->job->n_lists) {
            f->job = f->job->next;
            f->n_taken = 0;
        } else {
            take_one(f, left);
        }
    }
    return f->job == NULL;
}

/* ---- writing ---- */

static bool write_some(struct weir_scan_finish *f, size_t *left)
{
    struct weir_scan_group *group = f->group;
    if (group->shape == WEIR_RESULTS_NONE) {
        return true;
    }
    for (; f->n_written < group->n_found && *left != 0; --*left) {
        weir_results_append(&group->results, group->shape, group->found[f->n_written],
                            f->n_written != 0);
        f->n_written++;
    }
    return f->n_written == group->n_found;
}

/* ---- one group after the other ---- */

/* How many there can be: one more per chunk may go on from the last. */
static size_t room_for(const struct weir_scan_group *group)
{
    size_t n = 0;
    for (const struct weir_scan_job *job = group->jobs; job != NULL; job = job->next) {
        if (job->n_found != 0) {
            n += job->n_found + (job->cutting != NULL ? job->n_lists : 0);
        }
    }
    return n;
}

static void begin_group(struct weir_scan_finish *f, struct weir_scan_group *group)
{
    size_t n = group != NULL ? room_for(group) : 0;
    *f = (struct weir_scan_finish){.has_begun = true, .group = group};
    if (n != 0) {
        group->found = weir_arena_alloc(group->scan->task->arena, n * sizeof(void *));
        f->job = group->jobs;
    }
}

bool weir_scan__finish_some(struct weir_scan *scan)
{
    struct weir_scan_finish *f = &scan->finish;
    size_t left = STEP;
    if (!f->has_begun) {
        begin_group(f, scan->groups);
    }
    while (f->group != NULL) {
        if (!take_some(f, &left)) {
            return false;
        }
        if (f->sort.items == NULL && f->group->n_found > 1) {
            weir_order_sort_begin(&f->sort, f->group->found, f->group->n_found, scan->task->arena);
        }
        if (f->group->n_found > 1) {
            if (!weir_order_sort_some(&f->sort, &left)) {
                return false;
            }
            f->group->found = f->sort.items;
        }
        if (!write_some(f, &left)) {
            return false;
        }
        begin_group(f, f->group->next);
    }
    return true;
}
