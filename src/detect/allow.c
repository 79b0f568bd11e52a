#include "detect/allow.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>

struct allow_call {
    struct weir_detect_call base;
    struct weir_detect_call *inner;
    const struct weir_detect_input *input;
    struct weir_arena arena;
    weir_detect_done_fn on_done;
    void *ctx;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* After each `*` the shortest that fits; on a mismatch the last one takes one byte more. */
bool weir_allow_matches(struct weir_slice pattern, struct weir_slice text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = SIZE_MAX;
    size_t taken = 0;
    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            taken = t;
        } else if (p < pattern.n && lower(pattern.p[p]) == lower(text.p[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++taken;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*') {
        p++;
    }
    return p == pattern.n;
}

static struct weir_slice text_of(struct weir_slice content, const struct weir_detection *d)
{
    size_t from = weir_utf8_byte_at(content, d->start_cp);
    struct weir_slice rest = weir_slice_sub(content, from, content.n);
    return weir_slice_sub(rest, 0, weir_utf8_byte_at(rest, d->end_cp - d->start_cp));
}

static bool is_allowed(const struct weir_allow *a, const struct weir_detection *d,
                       struct weir_slice text)
{
    for (size_t i = 0; d->has_span && d->edge == WEIR_EDGE_NONE && i < a->n; i++) {
        if (weir_allow_matches(a->patterns[i], text)) {
            return true;
        }
    }
    return false;
}

static bool is_dropped(const struct allow_call *c, struct weir_slice content,
                       const struct weir_detection *d)
{
    struct weir_slice text = d->text.n != 0 || !d->has_span ? d->text : text_of(content, d);
    return is_allowed((const struct weir_allow *)c->base.detector, d, text);
}

static struct weir_detect_list without_allowed(struct allow_call *c, size_t at)
{
    const struct weir_detect_list *list = &c->inner->lists[at];
    struct weir_detection *kept = weir_arena_alloc(&c->arena, list->n * sizeof *kept);
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (!is_dropped(c, c->input->contents[at], &list->items[i])) {
            kept[n++] = list->items[i];
        }
    }
    return (struct weir_detect_list){.items = kept, .n = n};
}

static void take(struct allow_call *c)
{
    const struct weir_detect_call *inner = c->inner;
    c->base.fault = inner->fault;
    c->base.is_done = true;
    if (inner->fault.origin != WEIR_FAULT_NONE || c->input->type != WEIR_DETECT_CONTENTS) {
        c->base.lists = inner->lists;
        c->base.n_lists = inner->n_lists;
        return;
    }
    struct weir_detect_list *lists = weir_arena_array(&c->arena, inner->n_lists, sizeof *lists);
    for (size_t i = 0; i < inner->n_lists; i++) {
        lists[i] = inner->lists[i].n != 0 ? without_allowed(c, i) : inner->lists[i];
    }
    c->base.lists = lists;
    c->base.n_lists = inner->n_lists;
}

static void on_inner_done(void *ctx, struct weir_detect_call *inner)
{
    struct allow_call *c = ctx;
    (void)inner;
    take(c);
    c->on_done(c->ctx, &c->base);
}

static struct weir_detect_call *start(const struct weir_detector *d,
                                      const struct weir_detect_env *env,
                                      const struct weir_detect_input *input,
                                      weir_detect_done_fn on_done, void *ctx)
{
    const struct weir_allow *a = (const struct weir_allow *)d;
    struct allow_call *c = weir_mem_zalloc(sizeof *c);
    c->base.detector = d;
    c->input = input;
    c->on_done = on_done;
    c->ctx = ctx;
    c->inner = weir_detect_start(a->inner, env, input, on_inner_done, c);
    if (c->inner->is_done) {
        take(c);
    }
    return &c->base;
}

static void free_call(struct weir_detect_call *call)
{
    struct allow_call *c = (struct allow_call *)call;
    weir_detect_free(c->inner);
    weir_arena_dispose(&c->arena);
    free(c);
}

static const struct weir_detect_ops OPS = {.start = start, .free = free_call};

void weir_allow_init(struct weir_allow *a, const struct weir_detector *inner,
                     const struct weir_slice *patterns, size_t n)
{
    *a = (struct weir_allow){.base = {.ops = &OPS,
                                      .id = inner->id,
                                      .type = inner->type,
                                      .takes_many = inner->takes_many},
                             .inner = inner,
                             .patterns = patterns,
                             .n = n};
}

const struct weir_detector *weir_allow_inner(const struct weir_detector *d)
{
    return d->ops == &OPS ? ((const struct weir_allow *)d)->inner : d;
}

bool weir_allow_drops(const struct weir_detector *d, const struct weir_detection *finding)
{
    return d->ops == &OPS && is_allowed((const struct weir_allow *)d, finding, finding->text);
}
