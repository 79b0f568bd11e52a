/*
 * The text that readers still need is in one buffer: WEIR_READER_CONTEXT bytes before the lowest
 * of their low_bytes, and all that has come since. It is moved to the front only now and then.
 *
 * A reader that rests (detect/rest.h) is not shown what comes; its mark is the beginning of the
 * word being written. Most often all rest: then there is one mark for all.
 */
#include "detect/reading.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/builtin_int.h"
#include "detect/rest.h"
#include "detect/views.h"
#include "io/loop.h"

#include <stdlib.h>

enum { HTTP_UNPROCESSABLE = 422, SLACK_BYTES = 64, MAX_REST = 128, MAX_LISTS = 8 };

/* What a reader has once it has found something, which is rare. */
struct finds {
    struct weir_found raw;     /* told by the reader, but not certain to stay */
    struct weir_found settled; /* certain: with the last push */
    struct weir_detection *items;
    size_t cap_items;
    struct weir_reader_open open; /* what may be told before its end; kind NULL: nothing */
    size_t open_start_cp;
    size_t open_to_cp;
};

struct one {
    struct weir_reading *reading;
    const struct weir_builtin *builtin;
    struct weir_slice params;
    double threshold;
    struct weir_builtin_made *made;
    struct weir_builtin_wait *wait; /* for its parameters; in the arena, or NULL */
    void *state;
    struct finds *finds; /* NULL: nothing */
    size_t low_byte;     /* the reader's */
    size_t mark_byte;
    size_t mark_cp;
    size_t quiet_byte;        /* if the text ended here, nothing more would begin before it */
    size_t n_raw;             /* ever */
    size_t read_byte;         /* it has read up to there */
    bool can_rest;            /* as the text stands */
    unsigned char class;      /* of what it rests on; 0: it wants to see all */
    unsigned list;            /* its bit in what was found of lists; 0: it has none */
    struct weir_views views;  /* if its kind has them */
    struct weir_fault *fault; /* in the arena; NULL: none */
};

struct weir_reading {
    struct weir_loop *loop;
    weir_reading_ready_fn on_ready;
    void *ctx;
    struct weir_buf text;
    size_t from_byte; /* of the text kept */
    struct one *ones;
    size_t n;
    size_t n_waiting; /* for their parameters */
    struct weir_arena arena;
    struct weir_rest rest;
    size_t rest_byte;    /* the first of them has read up to there */
    size_t rest_mark;    /* the mark of all */
    size_t rest_mark_cp; /* the same in code points */
    bool can_rest;       /* all of them, as the text stands */
    bool is_resting;     /* with the last push */
    bool is_gathered;    /* what they want to see */
    bool has_found;      /* some, as of the last push that was read */
    unsigned char n_lists;
    const struct weir_rest_words *lists[MAX_LISTS];
    bool has_ended;
};

bool weir_reading_can(const struct weir_detector *detector)
{
    const struct weir_builtin *b = weir_builtin_of(detector);
    const struct weir_reader_ops *ops = b != NULL ? b->kind->reader : NULL;
    return ops != NULL && (ops->can_read == NULL || ops->can_read(b->made->settings));
}

/* ---- making */

struct weir_reading *weir_reading_new(struct weir_loop *loop, weir_reading_ready_fn on_ready,
                                      void *ctx)
{
    struct weir_reading *r = weir_mem_zalloc(sizeof *r);
    r->loop = loop;
    r->on_ready = on_ready;
    r->ctx = ctx;
    return r;
}

static void fail(struct one *o, int err, struct weir_slice message)
{
    struct weir_slice shown = weir_fault_message(&o->reading->arena, message);
    o->fault = weir_arena_alloc(&o->reading->arena, sizeof *o->fault);
    *o->fault = (struct weir_fault){
        .origin = WEIR_FAULT_DETECTOR,
        .id = o->builtin->base.id,
        .err = err,
        .status = HTTP_UNPROCESSABLE,
        .message = shown,
        .why = shown,
    };
}

/* `made` NULL: its parameters cannot be read, for the reason in `why`. */
static void take_made(struct one *o, struct weir_builtin_made *made, struct weir_slice why)
{
    const struct weir_reader_ops *ops = o->builtin->kind->reader;
    if (made == NULL) {
        fail(o, WEIR_EINVAL, why);
        return;
    }
    if (ops == NULL || (ops->can_read != NULL && !ops->can_read(made->settings))) {
        fail(o, WEIR_EINVAL,
             WEIR_SLICE("these parameters cannot read along with a stream: the detector needs a "
                        "chunker_id"));
        return;
    }
    o->made = weir_builtin__ref(made);
    o->state = weir_mem_zalloc(ops->size(made->settings));
    ops->init(o->state, made->settings);
}

static void on_made(void *ctx, struct weir_builtin_made *made, struct weir_slice why)
{
    struct one *o = ctx;
    struct weir_reading *r = o->reading;
    take_made(o, made, why);
    if (--r->n_waiting == 0) {
        r->on_ready(r->ctx);
    }
}

static void make_here(struct one *o)
{
    struct weir_buf why = {0};
    struct weir_builtin_made *made = weir_builtin__make(
        o->builtin->kind, weir_builtin__merge(o->builtin, o->params, &o->reading->arena), &why);
    take_made(o, made, weir_buf_slice(&why));
    weir_builtin__unref(made);
    weir_buf_dispose(&why);
}

void weir_reading_add(struct weir_reading *r, const struct weir_detector *detector,
                      struct weir_slice params, double threshold)
{
    r->ones = weir_mem_realloc(r->ones, (r->n + 1) * sizeof *r->ones);
    struct one *o = &r->ones[r->n++];
    *o = (struct one){.reading = r,
                      .builtin = weir_builtin_of(detector),
                      .params = params,
                      .threshold = threshold};
    WEIR_ASSERT(o->builtin != NULL);
}

void weir_reading_start(struct weir_reading *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct one *o = &r->ones[i];
        struct weir_builtin_made *made = weir_builtin__find(o->builtin, o->params);
        if (made != NULL) {
            take_made(o, made, WEIR_SLICE(""));
            weir_builtin__unref(made);
        } else if (r->loop == NULL) {
            make_here(o);
        } else {
            r->n_waiting++;
            o->wait = weir_arena_zalloc(&r->arena, sizeof *o->wait);
            o->wait->fn = on_made;
            o->wait->ctx = o;
            weir_builtin__await(o->builtin, o->params, r->loop, o->wait);
        }
    }
}

static void drop_finds(struct one *o)
{
    if (o->finds != NULL) {
        weir_found_dispose(&o->finds->raw);
        weir_found_dispose(&o->finds->settled);
        free(o->finds->items);
        free(o->finds);
        o->finds = NULL;
    }
}

void weir_reading_free(struct weir_reading *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        struct one *o = &r->ones[i];
        if (o->wait != NULL) {
            weir_builtin__leave(o->wait);
        }
        if (o->made != NULL) {
            o->made->kind->reader->dispose(o->state);
        }
        weir_builtin__unref(o->made);
        free(o->state);
        drop_finds(o);
    }
    weir_buf_dispose(&r->text);
    weir_arena_dispose(&r->arena);
    free(r->ones);
    free(r);
}

bool weir_reading_is_ready(const struct weir_reading *r)
{
    return r->n_waiting == 0;
}

/* ---- resting */

/* Once all parameters are there. */
static void gather_words(struct weir_reading *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct one *o = &r->ones[i];
        const struct weir_reader_ops *ops = o->made != NULL ? o->made->kind->reader : NULL;
        bool can_rest = ops != NULL && ops->can_rest != NULL;
        const struct weir_rest_words *words =
            can_rest && ops->words != NULL ? ops->words(o->made->settings) : NULL;
        if (can_rest && (words == NULL || r->n_lists < MAX_LISTS)) {
            o->class = ops->rests_on;
        }
        if (words != NULL && o->class != 0) {
            o->list = 1U << r->n_lists;
            r->lists[r->n_lists++] = words;
        }
    }
}

static size_t end_byte(const struct weir_reading *r)
{
    return r->from_byte + r->text.n;
}

static size_t n_unsettled(const struct one *o)
{
    return o->finds != NULL ? o->finds->raw.n : 0;
}

/* After it has read: is nothing open but the word being written? */
static void look_for_rest(struct one *o)
{
    const struct weir_reading *r = o->reading;
    bool is_plain = false;
    if (o->class != 0 && o->fault == NULL && n_unsettled(o) == 0) {
        size_t word = r->from_byte + weir_rest_word(weir_buf_slice(&r->text),
                                                    (enum weir_rest_class)o->class, &is_plain);
        is_plain = is_plain && o->low_byte >= word &&
                   o->made->kind->reader->can_rest(o->state, o->made->settings);
    }
    o->can_rest = is_plain;
}

/* After a push that not all rested on: may all rest on the next? What ends words of letters and
 * blanks ends all words, so all have come to the beginning of the one being written. */
static void look_for_common_rest(struct weir_reading *r)
{
    bool is_plain = r->n != 0;
    size_t word = r->from_byte;
    r->rest_byte = end_byte(r);
    for (size_t i = 0; i < r->n && is_plain; i++) {
        is_plain = r->ones[i].can_rest;
        r->rest_byte = r->ones[i].read_byte < r->rest_byte ? r->ones[i].read_byte : r->rest_byte;
    }
    if (is_plain) {
        word += weir_rest_word(weir_buf_slice(&r->text), WEIR_REST_WORDS, &is_plain);
    }
    r->can_rest = is_plain;
    if (is_plain) {
        const struct one *o = &r->ones[0];
        r->rest_mark = word;
        r->rest_mark_cp = o->mark_cp - (o->mark_byte - word); /* ASCII */
    }
}

/* The text that comes is words. Need nobody look at it yet? */
static bool rest_on(struct weir_reading *r, struct weir_slice part)
{
    size_t to_byte = end_byte(r) + part.n;
    size_t n = weir_rest_ended(part);
    size_t mark = n > 0 ? to_byte - part.n + n : r->rest_mark;
    if (to_byte - r->rest_byte >= MAX_REST || to_byte - mark > WEIR_REST_WORD) {
        return false;
    }
    r->rest_mark_cp += mark - r->rest_mark;
    r->rest_mark = mark;
    return true;
}

/* Not all rest any more: what was promised for them is theirs now. */
static void wake(struct weir_reading *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct one *o = &r->ones[i];
        if (r->rest_mark > o->mark_byte) {
            o->mark_byte = r->rest_mark;
            o->mark_cp = r->rest_mark_cp;
        }
    }
}

/* ---- reading */

static struct weir_slice between(const struct weir_reading *r, size_t from_byte, size_t to_byte)
{
    return weir_slice_sub(weir_buf_slice(&r->text), from_byte - r->from_byte,
                          to_byte - r->from_byte);
}

/* Spans may overlap across kinds, but their starts only grow, and none lies before the mark: a
 * reader that promised too much tells what is left of a finding. */
static void fill(struct one *o)
{
    const struct weir_reading *r = o->reading;
    struct finds *f = o->finds;
    size_t at_byte = o->mark_byte;
    size_t at_cp = o->mark_cp;
    if (f->settled.n > f->cap_items) {
        f->cap_items = f->settled.n;
        f->items = weir_mem_realloc(f->items, f->cap_items * sizeof *f->items);
    }
    for (size_t i = 0; i < f->settled.n; i++) {
        const struct weir_found_span *s = &f->settled.spans[i];
        if (s->start_byte > at_byte) {
            at_cp += weir_utf8_count(between(r, at_byte, s->start_byte));
            at_byte = s->start_byte;
        }
        size_t end_byte = s->end_byte > at_byte ? s->end_byte : at_byte;
        struct weir_slice text = between(r, at_byte, end_byte);
        f->items[i] = (struct weir_detection){
            .has_span = true,
            .start_cp = at_cp,
            .end_cp = at_cp + weir_utf8_count(text),
            .text = text,
            .detection = s->detection,
            .detection_type = s->detection_type,
            .detector_id = o->builtin->base.id,
            .score = s->score,
            .edge = s->is_sure ? WEIR_EDGE_SURE : WEIR_EDGE_NONE,
        };
    }
}

static void settle(struct one *o, size_t low_byte)
{
    const struct weir_reading *r = o->reading;
    size_t mark_byte = low_byte;
    if (n_unsettled(o) != 0) {
        struct weir_found_settle options = {.low_byte = low_byte,
                                            .threshold = o->threshold,
                                            .across_kinds = o->made->kind->across_kinds};
        size_t first_byte = weir_found_settle(&o->finds->raw, &options, &o->finds->settled);
        mark_byte = first_byte < mark_byte ? first_byte : mark_byte;
        o->quiet_byte = first_byte < o->quiet_byte ? first_byte : o->quiet_byte;
        fill(o);
    }
    if (mark_byte > o->mark_byte) { /* where it rested, a reader may hold more than it needs */
        o->mark_cp += weir_utf8_count(between(r, o->mark_byte, mark_byte));
        o->mark_byte = mark_byte;
    }
}

/* Parts that are written in another way are looked at when they are over, and held until then. */
static int read_views(struct one *o, const struct weir_reader_text *t, struct weir_reader_out *out)
{
    struct weir_view view;
    int rc = 0;
    weir_views_pass(&o->views, t->text, t->from_byte,
                    (struct weir_views_rested){o->read_byte, t->rested_byte});
    while (rc == 0 && weir_views_next(&o->views, t->text, t->from_byte, t->is_end, &view)) {
        rc = weir_views_look(&view, t->text, t->from_byte, o->made->kind, o->made->settings,
                             out->found);
    }
    size_t low = weir_views_low(&o->views, t->text, t->from_byte);
    low = low > o->low_byte ? low : o->low_byte;
    out->low_byte = low < out->low_byte ? low : out->low_byte;
    return rc;
}

/* ---- open findings */

/* Might something that was told before, or stands in a view, have its place? */
static bool has_rival(const struct one *o, const struct weir_reader_text *t,
                      const struct weir_reader_open *open)
{
    for (size_t i = 0; i < n_unsettled(o); i++) {
        const struct weir_found_span *s = &o->finds->raw.spans[i];
        if (s->start_byte <= open->start_byte && s->end_byte > open->start_byte &&
            s->score >= 1.0) {
            return true;
        }
    }
    return o->made->kind->has_views &&
           weir_views_low(&o->views, t->text, t->from_byte) <= open->start_byte;
}

static struct finds *finds_of(struct one *o)
{
    o->finds = o->finds != NULL ? o->finds : weir_mem_zalloc(sizeof *o->finds);
    return o->finds;
}

/* Counts no code point twice: tokens are long, and come byte by byte. */
static void look_for_open(struct one *o, const struct weir_reader_text *t)
{
    const struct weir_reader_ops *ops = o->made->kind->reader;
    struct weir_reader_open open =
        ops->open != NULL && !t->is_end ? ops->open(o->state) : (struct weir_reader_open){0};
    bool is_next = open.start_byte == o->mark_byte; /* all before it is settled */
    bool is_told = open.kind != NULL && is_next &&
                   open.to_byte >= open.start_byte + WEIR_READER_OPEN && !has_rival(o, t, &open);
    if (!is_told && o->finds == NULL) {
        return;
    }
    struct finds *f = finds_of(o);
    if (!is_told) {
        f->open.kind = NULL;
        return;
    }
    const struct weir_reading *r = o->reading;
    if (f->open.kind == NULL || f->open.start_byte != open.start_byte) {
        f->open_start_cp = o->mark_cp + weir_utf8_count(between(r, o->mark_byte, open.start_byte));
        f->open_to_cp = f->open_start_cp;
        f->open.to_byte = open.start_byte;
    }
    if (open.to_byte > f->open.to_byte) {
        f->open_to_cp += weir_utf8_count(between(r, f->open.to_byte, open.to_byte));
    } else {
        open.to_byte = f->open.to_byte;
    }
    f->open = open;
}

bool weir_reading_open(const struct weir_reading *r, size_t index, struct weir_detection *d)
{
    const struct one *o = &r->ones[index];
    const struct finds *f = o->finds;
    if (r->is_resting || f == NULL || f->open.kind == NULL) {
        return false;
    }
    *d = (struct weir_detection){.edge = WEIR_EDGE_SURE,
                                 .has_span = true,
                                 .start_cp = f->open_start_cp,
                                 .end_cp = f->open_to_cp,
                                 .text = between(r, f->open.start_byte, f->open.to_byte),
                                 .detection = weir_slice_cstr(f->open.kind),
                                 .detection_type = weir_slice_cstr(f->open.type),
                                 .detector_id = o->builtin->base.id,
                                 .score = 1.0};
    return true;
}

/* What was certain with the last push was taken. */
static void unsettle(struct one *o)
{
    if (o->finds != NULL) {
        o->finds->settled.n = 0;
    }
}

static int read_on(struct one *o, const struct weir_reader_text *t)
{
    struct weir_found first = {0};
    size_t n_before = n_unsettled(o);
    size_t to_byte = t->from_byte + t->text.n;
    struct weir_reader_out out = {.found = o->finds != NULL ? &o->finds->raw : &first,
                                  .low_byte = o->low_byte,
                                  .quiet_byte = to_byte,
                                  .threshold = o->threshold,
                                  .why = "too much was found"};
    unsettle(o);
    int rc = o->made->kind->reader->read(o->state, o->made->settings, t, &out);
    rc = rc == 0 && o->made->kind->has_views ? read_views(o, t, &out) : rc;
    if (first.n != 0) {
        finds_of(o)->raw = first;
    } else {
        weir_found_dispose(&first);
    }
    o->n_raw += n_unsettled(o) - n_before;
    if (rc != 0 || o->n_raw > WEIR_FOUND_MAX) {
        fail(o, WEIR_ELIMIT, weir_slice_cstr(out.why));
        return WEIR_ELIMIT;
    }
    WEIR_ASSERT(out.low_byte >= o->low_byte && out.low_byte <= to_byte);
    o->low_byte = t->is_end ? to_byte : out.low_byte;
    o->quiet_byte = t->is_end ? to_byte : out.quiet_byte;
    o->read_byte = to_byte;
    settle(o, o->low_byte);
    look_for_open(o, t);
    return 0;
}

/* What has come, of which `part` tells, says nothing to one that rests: its words may leave. False:
 * it must read. */
static bool rest_alone(struct one *o, struct weir_rest_part part)
{
    struct weir_reading *r = o->reading;
    size_t to_byte = end_byte(r);
    bool has_views = o->made != NULL && o->made->kind->has_views;
    if (!o->can_rest || (part.classes & o->class) == 0 || (part.lists & o->list) != 0 ||
        (part.has_run && has_views) || to_byte - o->read_byte >= MAX_REST) {
        return false;
    }
    bool is_plain;
    size_t word_byte = r->from_byte + weir_rest_word(weir_buf_slice(&r->text),
                                                     (enum weir_rest_class)o->class, &is_plain);
    if (has_views && to_byte - r->rest.run < word_byte) {
        word_byte = to_byte - r->rest.run; /* it may become a view */
    }
    if (is_plain && word_byte > o->mark_byte) {
        o->mark_cp += weir_utf8_count(between(r, o->mark_byte, word_byte));
        o->mark_byte = word_byte;
    }
    unsettle(o);
    o->quiet_byte = to_byte;
    return is_plain;
}

static int read_all(struct weir_reading *r, struct weir_rest_part part)
{
    struct weir_reader_text t = {
        .text = weir_buf_slice(&r->text), .from_byte = r->from_byte, .is_end = r->has_ended};
    int rc = 0;
    for (size_t i = 0; i < r->n; i++) {
        struct one *o = &r->ones[i];
        if (rest_alone(o, part)) {
            continue;
        }
        t.rested_byte = o->mark_byte;
        int one_rc = o->fault != NULL ? o->fault->err : read_on(o, &t);
        rc = rc == 0 ? one_rc : rc;
        look_for_rest(o);
    }
    return rc;
}

static int read_again(struct weir_reading *r, struct weir_rest_part part)
{
    if (r->is_resting) {
        wake(r);
    }
    int rc = read_all(r, part);
    r->is_resting = false;
    return rc;
}

/* What findings took is given back, but for those that are not settled. */
static void forget_found(struct one *o)
{
    struct finds *f = o->finds;
    if (f->raw.n == 0 && f->open.kind == NULL) {
        drop_finds(o);
        return;
    }
    weir_found_dispose(&f->settled);
    free(f->items);
    f->items = NULL;
    f->cap_items = 0;
}

/* Text that nobody needs any more. What was found points into it: not before that was taken. */
static void let_go(struct weir_reading *r)
{
    size_t keep_byte = r->from_byte + r->text.n;
    for (size_t i = 0; i < r->n; i++) {
        struct one *o = &r->ones[i];
        size_t own = o->mark_byte < o->low_byte ? o->mark_byte : o->low_byte;
        keep_byte = own < keep_byte && o->made != NULL ? own : keep_byte;
    }
    size_t n = keep_byte - r->from_byte;
    if (n > WEIR_READER_CONTEXT + SLACK_BYTES) {
        n = weir_utf8_floor(weir_buf_slice(&r->text), n - WEIR_READER_CONTEXT);
        weir_buf_consume(&r->text, n);
        r->from_byte += n;
    }
}

static bool has_found(const struct weir_reading *r)
{
    bool is_any = false;
    for (size_t i = 0; i < r->n; i++) {
        is_any = is_any || r->ones[i].finds != NULL;
    }
    return is_any;
}

static void forget_all_found(struct weir_reading *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->ones[i].finds != NULL) {
            forget_found(&r->ones[i]);
        }
    }
    r->has_found = false;
}

int weir_reading_push(struct weir_reading *r, struct weir_slice text)
{
    WEIR_ASSERT(r->n_waiting == 0 && !r->has_ended);
    if (!r->is_gathered) {
        r->is_gathered = true;
        gather_words(r);
    }
    struct weir_rest_part part = weir_rest_look(&r->rest, text, r->lists, r->n_lists);
    if (r->can_rest && (part.classes & WEIR_REST_WORDS) != 0 && part.lists == 0 && !part.has_run &&
        rest_on(r, text)) {
        weir_buf_append(&r->text, text);
        r->is_resting = true;
        return 0;
    }
    if (r->has_found) {
        forget_all_found(r);
        let_go(r);
    }
    weir_buf_append(&r->text, text);
    int rc = read_again(r, part);
    look_for_common_rest(r);
    r->has_found = has_found(r);
    if (!r->has_found) {
        let_go(r);
    }
    return rc;
}

int weir_reading_end(struct weir_reading *r)
{
    WEIR_ASSERT(r->n_waiting == 0 && !r->has_ended);
    r->has_ended = true;
    return read_again(r, (struct weir_rest_part){0});
}

size_t weir_reading_mark_cp(const struct weir_reading *r, size_t index)
{
    size_t own_cp = r->ones[index].mark_cp;
    return r->is_resting && r->rest_mark_cp > own_cp ? r->rest_mark_cp : own_cp;
}

bool weir_reading_is_even(const struct weir_reading *r, size_t *mark_cp)
{
    *mark_cp = r->rest_mark_cp;
    return r->is_resting;
}

size_t weir_reading_quiet_cp(const struct weir_reading *r, size_t index)
{
    const struct one *o = &r->ones[index];
    if (r->is_resting) {
        return r->rest_mark_cp + r->from_byte + r->text.n - r->rest_mark;
    }
    size_t more_cp =
        o->quiet_byte > o->mark_byte ? weir_utf8_count(between(r, o->mark_byte, o->quiet_byte)) : 0;
    return o->mark_cp + more_cp;
}

struct weir_detect_list weir_reading_found(const struct weir_reading *r, size_t index)
{
    const struct one *o = &r->ones[index];
    if (r->is_resting || o->finds == NULL) {
        return (struct weir_detect_list){0};
    }
    return (struct weir_detect_list){.items = o->finds->items, .n = o->finds->settled.n};
}

const struct weir_fault *weir_reading_fault(const struct weir_reading *r, size_t index)
{
    return r->ones[index].fault;
}

size_t weir_reading_kept_bytes(const struct weir_reading *r)
{
    return r->text.n;
}
