#ifndef WEIR_TESTS_FUZZ_STREAM_DETECTORS_H
#define WEIR_TESTS_FUZZ_STREAM_DETECTORS_H

/*
 * Detectors and chunkers that answer when they are told to: late, in any order, with a failure,
 * with nonsense. What they are given is compared with what was said.
 */
#include "base/err.h"
#include "base/mem.h"
#include "detect/builtin.h"
#include "fuzz/stream_services.h"

struct fake_call {
    struct weir_detect_call base;
    struct weir_list link;
    struct weir_detect_call *service; /* that answers; NULL: it does so itself */
    struct talk *talk;
    const struct fake_detector *detector;
    struct weir_arena arena;
    const struct weir_detect_input *input;
    weir_detect_done_fn on_done;
    void *ctx;
};

/* Notes who has seen this, and whether it is what was said. */
static inline void fake_see(struct fake_call *call, uint32_t cp)
{
    struct talk *t = call->talk;
    if (stream_is_said(cp)) {
        size_t id = stream_id(cp);
        CHECK(stream_place(cp) < t->n_said[id] && t->said[id][stream_place(cp)] == cp);
        t->judged[call->detector->index][id][stream_place(cp)] = 1;
    }
}

static inline void fake_note(struct fake_call *call, uint32_t cp)
{
    struct talk *t = call->talk;
    size_t d = call->detector->index;
    if (call->base.detector->type == WEIR_DETECT_CONTENTS) {
        t->found[d][stream_id(cp)][stream_place(cp)] = 1;
    } else {
        t->n_spanless[d]++;
    }
}

static inline struct weir_detect_list fake_look(struct fake_call *call, struct weir_slice text)
{
    struct weir_detection *items = weir_arena_array(&call->arena, text.n / 12 + 1, sizeof *items);
    uint32_t last[3] = {0};
    size_t n = 0;
    size_t used;
    stream_tell(DETECTOR_IDS[call->detector->index], text);
    for (size_t at = 0, i = 0; at < text.n; at += used, i++) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(text, at, text.n), &used);
        CHECK(used != 0);
        fake_see(call, cp);
        last[0] = last[1];
        last[1] = last[2];
        last[2] = cp;
        if (i >= 2 && stream_is_bad(last) &&
            (stream_id(cp) != ID_QUESTION || call->base.detector->type == WEIR_DETECT_CONTENTS)) {
            fake_note(call, last[0]);
            items[n++] = service_finding(call->base.detector->id, call->base.detector->type, i - 2);
        }
    }
    return (struct weir_detect_list){.items = items, .n = n};
}

/* The texts are read now: they must still be there, and the same. */
static inline void fake_look_at_all(struct fake_call *call)
{
    const struct weir_detect_input *in = call->input;
    size_t n = in->type == WEIR_DETECT_CONTENTS ? in->n_contents : 1;
    struct weir_detect_list *lists = weir_arena_array(&call->arena, n, sizeof *lists);
    for (size_t i = 0; in->type == WEIR_DETECT_CONTENTS && i < n; i++) {
        lists[i] = fake_look(call, in->contents[i]);
    }
    if (in->type == WEIR_DETECT_CHAT) {
        lists[0] = fake_look(call, in->messages);
    } else if (in->type == WEIR_DETECT_GENERATION) {
        lists[0] = fake_look(call, in->generated_text);
    }
    call->base.lists = lists;
    call->base.n_lists = n;
    call->base.is_done = true;
}

/* ---- behind a service ---- */

/* What comes back, from whomever it was kept or shared, is what this text has. */
static inline void fake_compare(const struct weir_detect_list *own,
                                const struct weir_detect_list *given)
{
    CHECK(own->n == given->n);
    for (size_t i = 0; i < own->n; i++) {
        const struct weir_detection *a = &own->items[i];
        const struct weir_detection *b = &given->items[i];
        CHECK(a->has_span == b->has_span && a->start_cp == b->start_cp && a->end_cp == b->end_cp);
        CHECK(weir_slice_eq(a->detector_id, b->detector_id));
    }
}

static inline void fake_take(struct fake_call *call)
{
    const struct weir_detect_call *given = call->service;
    call->base.is_done = true;
    if (given->fault.origin != WEIR_FAULT_NONE) {
        call->talk->has_fault = true;
        call->base.fault = given->fault;
        return;
    }
    fake_look_at_all(call);
    CHECK(call->base.n_lists == given->n_lists);
    for (size_t i = 0; i < given->n_lists; i++) {
        fake_compare(&call->base.lists[i], &given->lists[i]);
    }
    call->base.lists = given->lists;
}

static inline void fake_on_service(void *ctx, struct weir_detect_call *service)
{
    struct fake_call *call = ctx;
    call->service = service;
    fake_take(call);
    call->on_done(call->ctx, &call->base);
}

static inline void fake_ask_service(struct fake_call *call, const struct weir_detect_env *env)
{
    const struct weir_detector *service = &services[call->detector->index].base;
    weir_list_init(&call->link);
    call->service = weir_detect_start(service, env, call->input, fake_on_service, call);
    if (call->service->is_done) {
        fake_take(call);
    }
}

static inline struct weir_detect_call *fake_detect(const struct weir_detector *base,
                                                   const struct weir_detect_env *env,
                                                   const struct weir_detect_input *input,
                                                   weir_detect_done_fn on_done, void *ctx)
{
    const struct fake_detector *d = (const struct fake_detector *)base;
    struct fake_call *call = weir_mem_zalloc(sizeof *call);
    *call = (struct fake_call){.base = {.detector = base},
                               .talk = d->talk,
                               .detector = d,
                               .input = input,
                               .on_done = on_done,
                               .ctx = ctx};
    CHECK(d->talk->is_open);
    d->talk->n_calls++;
    if (d->talk->is_served) {
        fake_ask_service(call, env);
    } else if (d->is_immediate) {
        weir_list_init(&call->link);
        fake_look_at_all(call);
    } else {
        weir_list_append(&d->talk->calls, &call->link);
    }
    return &call->base;
}

static inline void fake_detect_free(struct weir_detect_call *base)
{
    struct fake_call *call = (struct fake_call *)base;
    call->talk->n_calls--;
    weir_list_remove(&call->link);
    weir_detect_free(call->service);
    weir_arena_dispose(&call->arena);
    free(call);
}

static const struct weir_detect_ops FAKE_DETECT_OPS = {.start = fake_detect,
                                                       .free = fake_detect_free};

/* ---- one that reads along: a built-in detector that looks for the same word */

static inline void fake_read_cp(struct fake_detector *d, uint32_t cp)
{
    struct talk *t = d->talk;
    if (stream_is_said(cp)) {
        size_t id = stream_id(cp);
        CHECK(stream_place(cp) < t->n_said[id] && t->said[id][stream_place(cp)] == cp);
        t->judged[d->index][id][stream_place(cp)] = 1;
    }
}

static inline int fake_report(struct fake_detector *d, uint32_t first, size_t from, size_t to,
                              struct weir_found *found)
{
    struct weir_found_span span = {.start_byte = from,
                                   .end_byte = to,
                                   .detection = WEIR_SLICE("word"),
                                   .detection_type = WEIR_SLICE("word"),
                                   .score = 1};
    d->talk->found[d->index][stream_id(first)][stream_place(first)] = 1;
    return weir_found_add(found, &span);
}

/* What it has read so far: the last two characters and where they begin. */
struct fake_reader {
    uint32_t cps[2];
    size_t from[2];
    size_t at_byte;
};

static inline int fake_read_on(struct fake_reader *r, struct fake_detector *d, uint32_t cp,
                               size_t n, struct weir_found *found)
{
    uint32_t word[3] = {r->cps[0], r->cps[1], cp};
    int rc = 0;
    fake_read_cp(d, cp);
    if (stream_is_bad(word)) {
        rc = fake_report(d, word[0], r->from[0], r->at_byte + n, found);
    }
    r->cps[0] = r->cps[1];
    r->from[0] = r->from[1];
    r->cps[1] = cp;
    r->from[1] = r->at_byte;
    r->at_byte += n;
    return rc;
}

static inline int fake_reader_read(void *state, const void *settings,
                                   const struct weir_reader_text *t, struct weir_reader_out *out)
{
    struct fake_reader *r = state;
    struct fake_detector *d = *(struct fake_detector *const *)settings;
    int rc = 0;
    size_t n;
    for (size_t at = r->at_byte - t->from_byte; at < t->text.n && rc == 0; at += n) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(t->text, at, t->text.n), &n);
        rc = fake_read_on(r, d, cp, n, out->found);
    }
    bool is_two = stream_is(r->cps[0], LETTER_B) && stream_is(r->cps[1], LETTER_A);
    bool is_one = stream_is(r->cps[1], LETTER_B);
    size_t low = is_two ? r->from[0] : is_one ? r->from[1] : r->at_byte;
    out->low_byte = low > out->low_byte ? low : out->low_byte;
    return rc;
}

static inline size_t fake_reader_size(const void *settings)
{
    (void)settings;
    return sizeof(struct fake_reader);
}

static inline void fake_reader_init(void *state, const void *settings)
{
    (void)state;
    (void)settings;
}

static inline void fake_reader_dispose(void *state)
{
    (void)state;
}

static inline int fake_scan(const void *settings, struct weir_slice text, struct weir_found *found,
                            struct weir_builtin_run *run)
{
    struct fake_detector *d = *(struct fake_detector *const *)settings;
    struct fake_reader r = {0};
    int rc = 0;
    size_t n;
    (void)run;
    for (size_t at = 0; at < text.n && rc == 0; at += n) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(text, at, text.n), &n);
        rc = fake_read_on(&r, d, cp, n, found);
    }
    return rc;
}

static struct fake_detector *fake_making; /* whom the next settings are for */

static inline void *fake_make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    struct fake_detector **settings = weir_mem_alloc(sizeof(struct fake_detector *));
    (void)params;
    (void)why;
    *settings = fake_making;
    return settings;
}

static const struct weir_reader_ops FAKE_READER_OPS = {.size = fake_reader_size,
                                                       .init = fake_reader_init,
                                                       .dispose = fake_reader_dispose,
                                                       .read = fake_reader_read};

static const char *const FAKE_MEMBERS[] = {NULL};

static const struct weir_builtin_kind FAKE_KIND = {.name = "fake",
                                                   .members = FAKE_MEMBERS,
                                                   .make = fake_make,
                                                   .free = free,
                                                   .scan = fake_scan,
                                                   .reader = &FAKE_READER_OPS};

/* As long as the process: its settings point to the detector of this talk and number. */
static inline const struct weir_detector *fake_reader_of(struct fake_detector *d, size_t talk)
{
    enum { MAX_TALKS = 8 };
    static struct weir_builtin all[MAX_TALKS][N_DETECTORS];
    CHECK(talk < MAX_TALKS);
    struct weir_builtin *b = &all[talk][d->index];
    if (b->kind == NULL) {
        struct weir_buf why = {0};
        fake_making = d;
        CHECK(weir_builtin_init(b, &FAKE_KIND, weir_slice_cstr(DETECTOR_IDS[d->index]),
                                WEIR_SLICE("{}"), &why) == 0);
    }
    return &b->base;
}

/* Answers one of those that wait. False: there is none. */
static inline bool fake_answer(struct talk *t, size_t which, bool fails)
{
    struct weir_list *at = weir_list_first(&t->calls);
    if (at == NULL) {
        return service_answer(which, fails);
    }
    for (; which != 0; which--) {
        at = at->next != &t->calls ? at->next : t->calls.next;
    }
    struct fake_call *call = WEIR_LIST_ENTRY(at, struct fake_call, link);
    weir_list_remove(&call->link);
    weir_list_init(&call->link);
    if (fails) {
        stream_tell(DETECTOR_IDS[call->detector->index], WEIR_SLICE("fails"));
        t->has_fault = true;
        call->base.is_done = true;
        call->base.fault = (struct weir_fault){
            .origin = WEIR_FAULT_DETECTOR, .id = call->base.detector->id, .err = WEIR_EPEER};
    } else {
        fake_look_at_all(call);
    }
    call->on_done(call->ctx, &call->base);
    return true;
}

#endif
