#include "base/err.h"
#include "base/mem.h"
#include "detect/builtin_int.h"
#include "detect/verdicts.h"
#include "detect/views.h"

#include <stdlib.h>

enum {
    HTTP_UNPROCESSABLE = 422,
    PATTERN_BUDGET_US = 6000,
    LARGE_BUDGET_US = 60000,  /* off the loop for the text's size */
    HEAVY_BUDGET_US = 500000, /* of kinds that leave the loop for it */
    LIGHT_BYTES = 16 * 1024,  /* a text made for it costs a detector up to 60 ms a MiB */
};

struct builtin_call {
    struct weir_detect_call base;
    struct weir_detect_list one; /* the lists of a call with one content */
    struct weir_arena arena;
    struct weir_builtin_wait wait;  /* for new parameters, with the next two */
    struct weir_detect_input input; /* what it points to is borrowed until the call is freed */
    struct weir_loop *loop;
    struct weir_builtin_job *job; /* NULL: on the loop */
    weir_detect_done_fn on_done;
    void *ctx;
};

static atomic_uint_fast64_t last_serial;

static void fail(struct builtin_call *c, int err, struct weir_slice message)
{
    struct weir_slice shown = weir_fault_message(&c->arena, message);
    c->base.fault = (struct weir_fault){
        .origin = WEIR_FAULT_DETECTOR,
        .id = c->base.detector->id,
        .err = err,
        .status = HTTP_UNPROCESSABLE,
        .message = shown,
        .why = shown,
    };
    c->base.lists = NULL;
    c->base.n_lists = 0;
}

static int64_t budget_us(const struct weir_builtin_scan *scan)
{
    if (scan->made->kind->is_heavy != NULL) {
        return HEAVY_BUDGET_US;
    }
    return scan->job != NULL ? LARGE_BUDGET_US : PATTERN_BUDGET_US;
}

int weir_builtin__scan(const struct weir_builtin_scan *scan, const char **why)
{
    const struct weir_builtin_kind *kind = scan->made->kind;
    struct weir_found found = {0};
    struct weir_builtin_run run = {
        .why = "too much was found",
        .budget_us = budget_us(scan),
        .job = scan->job,
        .is_piece = scan->is_piece,
    };
    int rc = 0;
    size_t n_found = 0;
    for (size_t i = 0; i < scan->n_contents && rc == 0; i++) {
        size_t before = scan->before != NULL ? scan->before[i] : 0;
        struct weir_slice text =
            weir_slice_make(scan->contents[i].p - before, scan->contents[i].n + before);
        struct weir_found_finish finish = {.text = text,
                                           .from_byte = before,
                                           .detector_id = scan->detector_id,
                                           .threshold = scan->threshold,
                                           .across_kinds = kind->across_kinds};
        rc = kind->scan(scan->made->settings, text, &found, &run);
        if (rc == 0 && kind->has_views) {
            rc = weir_views_scan(text, kind, scan->made->settings, &found);
        }
        if (rc == 0) {
            scan->lists[i] = weir_found_finish(&found, &finish, scan->arena);
            n_found += scan->lists[i].n;
            rc = n_found > WEIR_FOUND_MAX ? WEIR_ELIMIT : 0; /* they may be chunks of one text */
        }
    }
    weir_found_dispose(&found);
    *why = run.why;
    return rc;
}

static void scan_here(struct builtin_call *c, struct weir_builtin_made *made,
                      const struct weir_detect_input *input)
{
    struct weir_detect_list *lists =
        input->n_contents == 1 ? &c->one
                               : weir_arena_array(&c->arena, input->n_contents, sizeof *lists);
    struct weir_builtin_scan scan = {.made = made,
                                     .detector_id = c->base.detector->id,
                                     .contents = input->contents,
                                     .before = input->before,
                                     .n_contents = input->n_contents,
                                     .threshold = input->threshold,
                                     .is_piece = input->is_piece,
                                     .arena = &c->arena,
                                     .lists = lists};
    const char *why;
    int rc = weir_builtin__scan(&scan, &why);
    c->base.lists = lists;
    c->base.n_lists = input->n_contents;
    if (rc != 0) {
        fail(c, rc, weir_slice_cstr(why));
    }
}

static void on_job_done(void *ctx, struct weir_builtin_job *job)
{
    struct builtin_call *c = ctx;
    struct weir_slice why;
    int rc = weir_builtin__job_result(job, &why, &c->base.lists);
    if (rc != 0) {
        fail(c, rc, why);
    }
    c->base.is_done = true;
    c->on_done(c->ctx, &c->base);
}

static bool is_heavy(const struct weir_builtin_made *made, const struct weir_detect_input *input)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < input->n_contents; i++) {
        n_bytes += input->contents[i].n;
    }
    return made->kind->is_heavy == NULL ? n_bytes > LIGHT_BYTES
                                        : made->kind->is_heavy(made->settings, n_bytes);
}

/* Is it done when this returns? Otherwise a job has it. */
static bool look(struct builtin_call *c, struct weir_builtin_made *made, struct weir_loop *loop,
                 const struct weir_detect_input *input)
{
    if (loop == NULL || !is_heavy(made, input)) {
        scan_here(c, made, input);
        return true;
    }
    const struct weir_builtin *b = (const struct weir_builtin *)c->base.detector;
    c->base.n_lists = input->n_contents;
    c->job = weir_builtin__job_start(b, made, loop, input, on_job_done, c);
    return false;
}

static void on_made(void *ctx, struct weir_builtin_made *made, struct weir_slice why)
{
    struct builtin_call *c = ctx;
    if (made == NULL) {
        fail(c, WEIR_EINVAL, why);
    } else if (!look(c, made, c->loop, &c->input)) {
        return;
    }
    c->base.is_done = true;
    c->on_done(c->ctx, &c->base);
}

/* Whatever they are: a few words can be a pattern that takes milliseconds to compile. */
static void await_made(struct builtin_call *c, struct weir_loop *loop,
                       const struct weir_detect_input *input)
{
    c->input = *input;
    c->loop = loop;
    c->wait = (struct weir_builtin_wait){.fn = on_made, .ctx = c};
    weir_builtin__await((const struct weir_builtin *)c->base.detector, input->params, loop,
                        &c->wait);
}

/* NULL with the call failed. */
static struct weir_builtin_made *make_here(struct builtin_call *c, const struct weir_builtin *b,
                                           struct weir_slice params)
{
    struct weir_buf why = {0};
    struct weir_arena arena = {0};
    struct weir_builtin_made *made =
        weir_builtin__make(b->kind, weir_builtin__merge(b, params, &arena), &why);
    if (made != NULL) {
        weir_builtin__keep(b->serial, params, made);
    } else {
        fail(c, WEIR_EINVAL, weir_buf_slice(&why));
    }
    weir_arena_dispose(&arena);
    weir_buf_dispose(&why);
    return made;
}

static void run(struct builtin_call *c, const struct weir_detect_env *env,
                const struct weir_detect_input *input)
{
    const struct weir_builtin *b = (const struct weir_builtin *)c->base.detector;
    struct weir_builtin_made *made = weir_builtin__find(b, input->params);
    if (made == NULL && env->loop != NULL) {
        c->base.is_done = false;
        await_made(c, env->loop, input);
        return;
    }
    made = made != NULL ? made : make_here(c, b, input->params);
    c->base.is_done = made == NULL || look(c, made, env->loop, input);
    weir_builtin__unref(made);
}

static struct weir_detect_call *start(const struct weir_detector *d,
                                      const struct weir_detect_env *env,
                                      const struct weir_detect_input *input,
                                      weir_detect_done_fn on_done, void *ctx)
{
    struct builtin_call *c = weir_mem_zalloc(sizeof *c);
    c->base.detector = d;
    c->base.is_done = true;
    c->on_done = on_done;
    c->ctx = ctx;
    if (input->type != WEIR_DETECT_CONTENTS) {
        fail(c, WEIR_EUNSUPPORTED, WEIR_SLICE("a built-in detector looks at contents only"));
    } else {
        run(c, env, input);
    }
    return &c->base;
}

static void free_call(struct weir_detect_call *call)
{
    struct builtin_call *c = (struct builtin_call *)call;
    weir_builtin__leave(&c->wait);
    if (c->job != NULL) {
        weir_builtin__job_free(c->job);
    }
    weir_arena_dispose(&c->arena);
    free(c);
}

static const struct weir_detect_ops OPS = {.start = start, .free = free_call};

int weir_builtin_init(struct weir_builtin *b, const struct weir_builtin_kind *kind,
                      struct weir_slice id, struct weir_slice params, struct weir_buf *why)
{
    *b = (struct weir_builtin){
        .base = {.ops = &OPS, .id = id, .type = WEIR_DETECT_CONTENTS},
        .kind = kind,
        .params = params,
        .serial = atomic_fetch_add(&last_serial, 1) + 1,
    };
    b->made = weir_builtin__make(kind, params, why);
    return b->made != NULL ? 0 : WEIR_EINVAL;
}

int weir_builtin_init_like(struct weir_builtin *b, const struct weir_builtin *of,
                           struct weir_slice params, struct weir_arena *arena, struct weir_buf *why)
{
    struct weir_slice merged = weir_builtin__merge(of, params, arena);
    int rc = weir_builtin_init(b, of->kind, of->base.id, merged, why);
    if (rc == 0 && of->base.serial != 0) {
        b->base.serial = weir_verdicts_serial();
        b->base.keep_from_bytes = of->base.keep_from_bytes;
        b->base.counts = of->base.counts;
    }
    return rc;
}

const struct weir_builtin *weir_builtin_of(const struct weir_detector *d)
{
    return d->ops == &OPS ? (const struct weir_builtin *)d : NULL;
}

bool weir_builtin_has_param(struct weir_slice params, const char *name)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    bool has = false;
    if (weir_json_parse(&j, params, NULL, &arena, NULL) == 0) {
        uint32_t at = weir_json_get_set(&j, 0, weir_slice_cstr(name));
        has = at != WEIR_JSON_NONE && j.nodes[at].n != 0;
    }
    weir_arena_dispose(&arena);
    return has;
}

void weir_builtin_dispose(struct weir_builtin *b)
{
    weir_builtin__unref(b->made);
    *b = (struct weir_builtin){0};
}
