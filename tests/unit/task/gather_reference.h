#ifndef WEIR_TESTS_GATHER_REFERENCE_H
#define WEIR_TESTS_GATHER_REFERENCE_H

/*
 * The aggregator a second time, slow and literal: every verdict ever given is kept with a flag
 * whether it has left, every question is answered by looking at all of them, coverage is asked per
 * code point. It shares nothing with the program but the meaning of an event, and is small enough
 * to be compared with docs/internals/path.md line by line.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { REF_DETECTORS = 6, REF_VERDICTS = 96, REF_TEXT = 160, REF_FINDINGS = 3, REF_FOUND = 2048 };

struct ref_finding {
    size_t serial; /* tells findings apart */
    bool has_span;
    size_t start_cp, end_cp;
    size_t detector;
};

struct ref_event {
    enum { REF_FRAME, REF_VERDICT, REF_END, REF_SOURCE_END, REF_FAIL } kind;
    size_t n_cp; /* FRAME: more of the text; SOURCE_END: its length */
    size_t detector;
    size_t start_cp, end_cp;
    struct ref_finding findings[REF_FINDINGS];
    size_t n_findings;
};

struct ref_verdict {
    struct ref_event event;
    bool has_left;
};

struct ref {
    const char *strategy;
    const char *const *ids;
    size_t n_detectors;
    const bool *white; /* of every code point the source will ever have */
    size_t arrived_cp;
    size_t left_cp;
    bool source_has_ended;
    size_t length_cp;
    bool has_ended[REF_DETECTORS];
    struct ref_verdict verdicts[REF_DETECTORS][REF_VERDICTS];
    size_t n_verdicts[REF_DETECTORS];
};

struct ref_batch {
    size_t start_cp, end_cp;
    struct ref_finding findings[REF_FOUND];
    size_t n_findings;
};

/* The largest processed_index ever received from the detector. */
static inline size_t ref_reach(const struct ref *r, size_t d)
{
    size_t n = r->n_verdicts[d];
    return n == 0 ? 0 : r->verdicts[d][n - 1].event.end_cp;
}

/* NULL, or the words of the error. */
static inline const char *ref_feed(struct ref *r, const struct ref_event *e)
{
    size_t d = e->detector;
    switch (e->kind) {
    case REF_FRAME:
        r->arrived_cp += e->n_cp;
        return NULL;
    case REF_END:
        r->has_ended[d] = true;
        return NULL;
    case REF_SOURCE_END:
        r->source_has_ended = true;
        r->length_cp = e->n_cp;
        for (d = 0; d < r->n_detectors; d++) {
            if (ref_reach(r, d) > r->length_cp) {
                return "beyond the text";
            }
        }
        return NULL;
    case REF_FAIL: /* a failed call; see gather_pair.h */
        return NULL;
    case REF_VERDICT:
        break;
    }
    if (r->has_ended[d]) {
        return "after the end";
    }
    if (e->start_cp < ref_reach(r, d) || e->end_cp < e->start_cp) {
        return "overlap";
    }
    if (e->end_cp > (r->source_has_ended ? r->length_cp : r->arrived_cp)) {
        return "beyond the text";
    }
    if (e->start_cp < e->end_cp) {
        r->verdicts[d][r->n_verdicts[d]++] = (struct ref_verdict){.event = *e};
    }
    return NULL;
}

static inline const struct ref_verdict *ref_first_queued(const struct ref *r, size_t d)
{
    for (size_t i = 0; i < r->n_verdicts[d]; i++) {
        if (!r->verdicts[d][i].has_left) {
            return &r->verdicts[d][i];
        }
    }
    return NULL;
}

static inline bool ref_rest(const struct ref *r, size_t *end_cp)
{
    *end_cp = r->length_cp;
    return r->source_has_ended && r->length_cp > r->left_cp;
}

static inline bool ref_queue_reaches(const struct ref *r, size_t d, size_t end_cp)
{
    for (size_t i = 0; i < r->n_verdicts[d]; i++) {
        const struct ref_verdict *v = &r->verdicts[d][i];
        if (!v->has_left && v->event.end_cp >= end_cp) {
            return true;
        }
    }
    return r->has_ended[d];
}

static inline bool ref_grow_over_straddler(const struct ref *r, size_t *end_cp)
{
    for (size_t d = 0; d < r->n_detectors; d++) {
        for (size_t i = 0; i < r->n_verdicts[d]; i++) {
            const struct ref_verdict *v = &r->verdicts[d][i];
            if (!v->has_left && v->event.start_cp < *end_cp && v->event.end_cp > *end_cp) {
                *end_cp = v->event.end_cp;
                return true;
            }
        }
    }
    return false;
}

static inline bool ref_next_max(const struct ref *r, size_t *end_cp)
{
    *end_cp = 0;
    for (size_t d = 0; d < r->n_detectors; d++) {
        const struct ref_verdict *first = ref_first_queued(r, d);
        if (first == NULL && !r->has_ended[d]) {
            return false;
        }
        if (first != NULL && first->event.end_cp > *end_cp) {
            *end_cp = first->event.end_cp;
        }
    }
    if (*end_cp == 0) {
        return ref_rest(r, end_cp);
    }
    do {
        for (size_t d = 0; d < r->n_detectors; d++) {
            if (!ref_queue_reaches(r, d, *end_cp)) {
                return false;
            }
        }
    } while (strcmp(r->strategy, "aligned") == 0 && ref_grow_over_straddler(r, end_cp));
    return true;
}

static inline bool ref_next_min(const struct ref *r, size_t *end_cp)
{
    bool all_ended = true;
    *end_cp = SIZE_MAX;
    for (size_t d = 0; d < r->n_detectors; d++) {
        if (!r->has_ended[d]) {
            all_ended = false;
            *end_cp = ref_reach(r, d) < *end_cp ? ref_reach(r, d) : *end_cp;
        }
    }
    return all_ended ? ref_rest(r, end_cp) : *end_cp > r->left_cp;
}

static inline bool ref_is_covered(const struct ref *r, size_t d, size_t at_cp)
{
    for (size_t i = 0; i < r->n_verdicts[d]; i++) {
        const struct ref_event *e = &r->verdicts[d][i].event;
        if (e->start_cp <= at_cp && at_cp < e->end_cp) {
            return true;
        }
    }
    return r->white[at_cp];
}

/* As in every answer: with spans by start, end, detector id; then without, by detector id. */
static inline bool ref_comes_before(const struct ref *r, const struct ref_finding *a,
                                    const struct ref_finding *b)
{
    int by_id = strcmp(r->ids[a->detector], r->ids[b->detector]);
    if (a->has_span != b->has_span) {
        return a->has_span;
    }
    if (a->has_span && a->start_cp != b->start_cp) {
        return a->start_cp < b->start_cp;
    }
    if (a->has_span && a->end_cp != b->end_cp) {
        return a->end_cp < b->end_cp;
    }
    return by_id < 0;
}

/* Puts the finding behind all that do not come after it: what is equal keeps its order. */
static inline void ref_add(const struct ref *r, struct ref_batch *b, const struct ref_finding *f)
{
    size_t i = b->n_findings++;
    for (; i > 0 && ref_comes_before(r, f, &b->findings[i - 1]); i--) {
        b->findings[i] = b->findings[i - 1];
    }
    b->findings[i] = *f;
}

/* NULL with *has_batch telling, or the words of the error. */
static inline const char *ref_pop(struct ref *r, struct ref_batch *b, bool *has_batch)
{
    bool is_min = strcmp(r->strategy, "min_processed_index") == 0;
    size_t end_cp;
    *has_batch = is_min ? ref_next_min(r, &end_cp) : ref_next_max(r, &end_cp);
    if (!*has_batch) {
        return NULL;
    }
    for (size_t d = 0; d < r->n_detectors; d++) {
        for (size_t at_cp = r->left_cp; at_cp < end_cp; at_cp++) {
            if (!ref_is_covered(r, d, at_cp)) {
                return "uncovered";
            }
        }
    }
    b->start_cp = r->left_cp;
    b->end_cp = end_cp;
    b->n_findings = 0;
    for (size_t d = 0; d < r->n_detectors; d++) {
        for (size_t i = 0; i < r->n_verdicts[d]; i++) {
            struct ref_verdict *v = &r->verdicts[d][i];
            bool leaves = is_min ? v->event.start_cp < end_cp : v->event.end_cp <= end_cp;
            for (size_t k = 0; leaves && !v->has_left && k < v->event.n_findings; k++) {
                const struct ref_finding *f = &v->event.findings[k];
                if (!f->has_span || f->start_cp < v->event.end_cp) { /* else the next chunk's */
                    ref_add(r, b, f);
                }
            }
            v->has_left = v->has_left || leaves;
        }
    }
    r->left_cp = end_cp;
    return NULL;
}

#endif
