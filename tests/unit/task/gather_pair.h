#ifndef WEIR_TESTS_GATHER_PAIR_H
#define WEIR_TESTS_GATHER_PAIR_H

/*
 * The aggregator and its reference side by side on one text: every event goes to both, and both
 * must let out the same. `PAIR_CHECK(condition)` is the user's: a unit test asserts, a fuzz target
 * traps.
 */
#include "base/err.h"
#include "base/utf8.h"
#include "task/gather.h"
#include "task/textlog.h"
#include "unit/task/gather_reference.h"

#include <stdint.h>

struct pair_batch {
    size_t start_cp, end_cp;
    size_t n_findings;
    uint16_t serials[REF_FOUND];
};

struct pair {
    struct ref ref;
    struct weir_gather *gather;
    struct weir_textlog log;
    const uint32_t *cps; /* the whole text */
    bool white[REF_TEXT];
    const char *error; /* NULL: none yet */
    bool has_failed;   /* a REF_FAIL came: the reference is left behind */
    struct pair_batch batches[REF_TEXT];
    size_t n_batches;
};

static inline void pair_open(struct pair *p, const char *strategy, const char *const *ids,
                             size_t n_ids)
{
    struct weir_slice slices[REF_DETECTORS];
    for (size_t i = 0; i < n_ids; i++) {
        slices[i] = weir_slice_cstr(ids[i]);
    }
    p->ref =
        (struct ref){.strategy = strategy, .ids = ids, .n_detectors = n_ids, .white = p->white};
    p->log = (struct weir_textlog){0};
    p->gather = weir_gather_new(&(struct weir_gather_options){
        .strategy = weir_gather_strategy_find(weir_slice_cstr(strategy)),
        .detector_ids = slices,
        .n_detectors = n_ids,
        .text = weir_gather_text_of(&p->log),
    });
    p->error = NULL;
    p->has_failed = false;
    p->n_batches = 0;
}

static inline void pair_close(struct pair *p)
{
    weir_gather_free(p->gather);
    p->gather = NULL;
    weir_textlog_dispose(&p->log);
}

static inline void pair_set_text(struct pair *p, const uint32_t *cps, size_t n_cp)
{
    p->cps = cps;
    for (size_t i = 0; i < n_cp; i++) {
        p->white[i] = weir_utf8_is_space(cps[i]);
    }
}

static inline int pair_append(struct pair *p, size_t n_cp)
{
    char utf8[REF_TEXT * 4];
    size_t n = 0;
    for (size_t i = 0; i < n_cp; i++) {
        n += weir_utf8_encode(p->cps[p->log.end_cp + i], utf8 + n);
    }
    return weir_textlog_append(&p->log, 0, weir_slice_make(utf8, n), NULL);
}

static inline int pair_push(struct pair *p, const struct ref_event *e)
{
    struct weir_detection findings[REF_FINDINGS] = {0};
    char names[REF_FINDINGS][2];
    for (size_t i = 0; i < e->n_findings; i++) {
        names[i][0] = (char)('a' + e->findings[i].serial % 26);
        findings[i] = (struct weir_detection){
            .has_span = e->findings[i].has_span,
            .start_cp = e->findings[i].start_cp,
            .end_cp = e->findings[i].end_cp,
            .detection = {names[i], 1}, /* gone after the call: the aggregator must have copied */
            .score = (double)e->findings[i].serial,
        };
    }
    return weir_gather_push(
        p->gather, e->detector,
        &(struct weir_gather_verdict){e->start_cp, e->end_cp, findings, e->n_findings});
}

static inline int pair_feed_gather(struct pair *p, const struct ref_event *e)
{
    switch (e->kind) {
    case REF_FRAME:
        return pair_append(p, e->n_cp);
    case REF_END:
        return weir_gather_end(p->gather, e->detector);
    case REF_SOURCE_END:
        return weir_gather_source_end(p->gather, e->n_cp);
    case REF_FAIL:
        p->has_failed = true;
        return weir_gather_fail(p->gather, e->detector, e->start_cp, WEIR_ETIMEOUT);
    case REF_VERDICT:
        break;
    }
    return pair_push(p, e);
}

/* The batch's text is the source's, its findings are what the reference says, in that order. */
static inline void pair_keep_batch(struct pair *p, const struct weir_gather_batch *b)
{
    PAIR_CHECK(p->n_batches < REF_TEXT);
    size_t previous_cp = p->n_batches == 0 ? 0 : p->batches[p->n_batches - 1].end_cp;
    PAIR_CHECK(b->start_cp == previous_cp && b->end_cp > b->start_cp);
    PAIR_CHECK(weir_gather_left_cp(p->gather) == b->end_cp);
    struct weir_slice text = weir_textlog_slice(&p->log, b->start_cp, b->end_cp);
    for (size_t i = b->start_cp; i < b->end_cp; i++) {
        size_t n_bytes;
        PAIR_CHECK(text.n != 0 && weir_utf8_decode(text, &n_bytes) == p->cps[i]);
        text = weir_slice_sub(text, n_bytes, text.n);
    }
    PAIR_CHECK(text.n == 0);
    struct pair_batch *kept = &p->batches[p->n_batches++];
    *kept = (struct pair_batch){b->start_cp, b->end_cp, b->n_findings, {0}};
    for (size_t i = 0; i < b->n_findings; i++) {
        const struct weir_detection *d = b->findings[i];
        kept->serials[i] = (uint16_t)d->score;
        PAIR_CHECK(d->detection.n == 1 && d->detection.p[0] == (char)('a' + kept->serials[i] % 26));
    }
    weir_textlog_trim(&p->log, b->end_cp);
}

static inline void pair_compare(struct pair *p, const struct ref_batch *want)
{
    const struct pair_batch *got = &p->batches[p->n_batches - 1];
    PAIR_CHECK(got->start_cp == want->start_cp && got->end_cp == want->end_cp);
    PAIR_CHECK(got->n_findings == want->n_findings);
    for (size_t i = 0; i < want->n_findings; i++) {
        PAIR_CHECK(got->serials[i] == want->findings[i].serial);
    }
}

/* Pops what may leave; `rc` is what the call before said. */
static inline void pair_drain(struct pair *p, int rc, const char *ref_error)
{
    struct weir_gather_batch b;
    struct ref_batch want;
    while (rc == 0 && (rc = weir_gather_pop(p->gather, &b)) == 0) {
        pair_keep_batch(p, &b);
        if (!p->has_failed) {
            bool has_batch;
            ref_error = ref_pop(&p->ref, &want, &has_batch);
            PAIR_CHECK(ref_error == NULL && has_batch);
            pair_compare(p, &want);
        }
    }
    if (!p->has_failed && ref_error == NULL) {
        bool has_batch;
        ref_error = ref_pop(&p->ref, &want, &has_batch);
        PAIR_CHECK(ref_error != NULL || !has_batch);
    }
    if (rc != WEIR_EAGAIN) {
        p->error = weir_gather_fault_text(weir_gather_failure(p->gather)->fault);
        PAIR_CHECK(weir_gather_pop(p->gather, &b) == rc); /* for ever */
    }
    if (!p->has_failed) {
        PAIR_CHECK((ref_error == NULL) == (p->error == NULL));
        PAIR_CHECK(ref_error == NULL || strcmp(ref_error, p->error) == 0);
    }
}

/* Nothing is fed after an error. */
static inline void pair_feed(struct pair *p, const struct ref_event *e)
{
    int rc = pair_feed_gather(p, e);
    pair_drain(p, rc, p->has_failed ? NULL : ref_feed(&p->ref, e));
}

#endif
