#ifndef WEIR_TESTS_DETECT_CHECK_H
#define WEIR_TESTS_DETECT_CHECK_H

/* What holds for every built-in detector on every text: shared by the fuzz targets of detect. */

#include "base/assert.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "detect/registry.h"

/* Detectors are given valid UTF-8: what is none becomes a question mark. */
static inline void detect_check_valid(struct weir_buf *out, struct weir_slice text)
{
    while (text.n != 0) {
        size_t n = weir_utf8_valid_prefix(text);
        weir_buf_append(out, weir_slice_sub(text, 0, n));
        text = weir_slice_sub(text, n, text.n);
        if (text.n != 0) {
            weir_buf_append_byte(out, '?');
            text = weir_slice_sub(text, 1, text.n);
        }
    }
}

static inline struct weir_detect_call *detect_check_ask(const struct weir_builtin *b,
                                                        const struct weir_slice *text)
{
    struct weir_detect_input input = {
        .type = WEIR_DETECT_CONTENTS, .contents = text, .n_contents = 1, .threshold = 0.0};
    struct weir_detect_env env = {0};
    struct weir_detect_call *call = weir_detect_start(&b->base, &env, &input, NULL, NULL);
    WEIR_ASSERT(call->is_done);
    return call;
}

/* In order of their beginnings, inside the text, each with the text that stands there. */
static inline void detect_check_list(const struct weir_detect_list *list, struct weir_slice text)
{
    size_t n_cp = weir_utf8_count(text);
    size_t last = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct weir_detection *d = &list->items[i];
        WEIR_ASSERT(d->start_cp >= last && d->start_cp <= d->end_cp && d->end_cp <= n_cp);
        WEIR_ASSERT(d->start_cp < d->end_cp || n_cp == 0); /* an empty text is no document */
        WEIR_ASSERT(d->score > 0 && d->score <= 1 && d->detection.n != 0);
        size_t from = weir_utf8_byte_at(text, d->start_cp);
        size_t to = weir_utf8_byte_at(text, d->end_cp);
        WEIR_ASSERT(weir_slice_eq(d->text, weir_slice_sub(text, from, to)));
        last = d->start_cp;
    }
}

static inline void detect_check_same(const struct weir_detect_list *a,
                                     const struct weir_detect_list *b)
{
    WEIR_ASSERT(a->n == b->n);
    for (size_t i = 0; i < a->n; i++) {
        WEIR_ASSERT(a->items[i].start_cp == b->items[i].start_cp);
        WEIR_ASSERT(a->items[i].end_cp == b->items[i].end_cp);
        WEIR_ASSERT(weir_slice_eq(a->items[i].detection, b->items[i].detection));
    }
}

/* All that holds for one detector and one text. A property more is a line more. */
static inline void detect_check(const struct weir_builtin *b, struct weir_slice text)
{
    struct weir_detect_call *first = detect_check_ask(b, &text);
    struct weir_detect_call *second = detect_check_ask(b, &text);
    WEIR_ASSERT(first->fault.origin == second->fault.origin);
    if (first->fault.origin == WEIR_FAULT_NONE) {
        detect_check_list(&first->lists[0], text);
        detect_check_same(&first->lists[0], &second->lists[0]);
    }
    weir_detect_free(first);
    weir_detect_free(second);
}

#endif
