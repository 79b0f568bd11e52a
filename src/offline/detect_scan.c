#include "offline/detect_scan.h"

#include "base/mem.h"

#include <stdlib.h>

int weir_detect_scan_init(struct weir_detect_scan *s, const struct weir_detect_picked *picked)
{
    *s = (struct weir_detect_scan){.picked = picked};
    int rc = weir_loop_init(&s->loop);
    if (rc == 0) {
        s->calls = weir_mem_array(picked->n, sizeof(void *));
        s->open_until_cp = weir_mem_array(picked->n, sizeof *s->open_until_cp);
    }
    return rc;
}

void weir_detect_scan_dispose(struct weir_detect_scan *s)
{
    weir_detect_scan_clear(s);
    weir_loop_dispose(&s->loop);
    weir_buf_dispose(&s->why);
    free(s->calls);
    free(s->open_until_cp);
    free(s->found);
}

void weir_detect_scan_begin(struct weir_detect_scan *s)
{
    memset(s->open_until_cp, 0, s->picked->n * sizeof *s->open_until_cp);
}

void weir_detect_scan_clear(struct weir_detect_scan *s)
{
    for (size_t i = 0; i < s->picked->n; i++) {
        weir_detect_free(s->calls[i]);
        s->calls[i] = NULL;
    }
    s->n_found = 0;
    s->passed_cp = 0;
}

static void on_done(void *ctx, struct weir_detect_call *call)
{
    (void)call;
    weir_loop_stop(ctx);
}

/* One detector on one text, waited for. */
static const struct weir_detect_call *ask(struct weir_detect_scan *s, size_t i,
                                          const struct weir_slice *text)
{
    const struct weir_detect_picked_one *one = &s->picked->list[i];
    struct weir_detect_env env = {.loop = &s->loop};
    struct weir_detect_input input = {.type = WEIR_DETECT_CONTENTS,
                                      .contents = text,
                                      .n_contents = 1,
                                      .threshold = one->threshold};
    s->calls[i] = weir_detect_start(&one->detector.base, &env, &input, on_done, &s->loop);
    while (!s->calls[i]->is_done) {
        weir_loop_run(&s->loop);
    }
    return s->calls[i];
}

static void add(struct weir_detect_scan *s, const struct weir_detection *d)
{
    if (s->n_found == s->cap_found) {
        s->cap_found = s->cap_found != 0 ? s->cap_found * 2 : 64;
        s->found = weir_mem_realloc(s->found, s->cap_found * sizeof *s->found);
    }
    s->found[s->n_found++] = *d;
}

/*
 * A finding that begins behind what the block answers for is the next block's. One that begins in a
 * finding of the last block is the rest of that: a key whose first lines are no longer seen.
 */
static void take_block(struct weir_detect_scan *s, size_t i, const struct weir_detect_list *list,
                       const struct weir_detect_block *block)
{
    uint64_t open_until = s->open_until_cp[i];
    for (size_t k = 0; k < list->n; k++) {
        const struct weir_detection *d = &list->items[k];
        uint64_t start = block->place.at_cp + d->start_cp;
        uint64_t end = block->place.at_cp + d->end_cp;
        if (d->start_cp >= block->answers_cp || start < open_until) {
            continue;
        }
        add(s, d);
        if (d->end_cp > block->answers_cp && end > s->open_until_cp[i]) {
            s->open_until_cp[i] = end;
        }
    }
}

static int compare(const void *left, const void *right)
{
    const struct weir_detection *a = left;
    const struct weir_detection *b = right;
    if (a->start_cp != b->start_cp) {
        return a->start_cp < b->start_cp ? -1 : 1;
    }
    if (a->end_cp != b->end_cp) {
        return a->end_cp < b->end_cp ? -1 : 1;
    }
    int c = weir_slice_cmp(a->detector_id, b->detector_id);
    return c != 0 ? c : weir_slice_cmp(a->detection, b->detection);
}

/* The first reason stays. */
static void fail(struct weir_detect_scan *s, const struct weir_detect_call *call)
{
    struct weir_slice id = call->detector->id;
    struct weir_slice message = call->fault.message;
    if (s->why.n == 0) {
        weir_buf_printf(&s->why, "detector `%.*s`: %.*s", (int)id.n, id.p, (int)message.n,
                        message.p);
    }
}

/* `block` NULL: a whole document. */
static const char *scan(struct weir_detect_scan *s, struct weir_slice text,
                        const struct weir_detect_block *block)
{
    weir_detect_scan_clear(s);
    weir_buf_clear(&s->why);
    for (size_t i = 0; i < s->picked->n; i++) {
        if (s->picked->list[i].detector.kind->is_of_wholes != (block == NULL)) {
            continue;
        }
        const struct weir_detect_call *call = ask(s, i, &text);
        if (call->fault.origin != WEIR_FAULT_NONE) {
            fail(s, call);
        } else if (block != NULL) {
            take_block(s, i, &call->lists[0], block);
        } else {
            for (size_t k = 0; k < call->lists[0].n; k++) {
                add(s, &call->lists[0].items[k]);
            }
        }
    }
    if (s->n_found > 1) {
        qsort(s->found, s->n_found, sizeof *s->found, compare);
    }
    return s->why.n != 0 ? weir_buf_cstr(&s->why) : NULL;
}

const char *weir_detect_scan_block(struct weir_detect_scan *s,
                                   const struct weir_detect_block *block)
{
    return scan(s, block->text, block);
}

const char *weir_detect_scan_whole(struct weir_detect_scan *s, struct weir_slice text)
{
    return scan(s, text, NULL);
}
