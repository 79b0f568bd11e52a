#ifndef WEIR_TESTS_UNIT_FLOW_WATCH_H
#define WEIR_TESTS_UNIT_FLOW_WATCH_H

/*
 * A producer that holds its taker to the flow contract (base/flow.h). The test, or the harness it
 * uses, reports each write and each resume; what breaks the contract fails the test:
 *
 *   - after FULL every write answers FULL until the resume;
 *   - a resume comes after a FULL, once, and never from inside a call of the producer's;
 *   - after the end none comes;
 *   - flow_watch_settled: whoever was answered FULL has been resumed.
 */
#include "base/flow.h"
#include "unit/cmocka_all.h"

#include <stdbool.h>

struct flow_watch {
    bool is_calling; /* inside a call of the producer's */
    bool is_waiting; /* FULL was answered, no resume came yet */
    bool is_over;
    unsigned n_fulls; /* without those that a waiting producer gets again */
    unsigned n_resumes;
};

/* Before and after a call of the producer's. */
static inline void flow_watch_calls(struct flow_watch *w)
{
    assert_false(w->is_calling);
    w->is_calling = true;
}

static inline void flow_watch_returned(struct flow_watch *w)
{
    assert_true(w->is_calling);
    w->is_calling = false;
}

static inline enum weir_flow flow_watch_answered(struct flow_watch *w, enum weir_flow flow)
{
    flow_watch_returned(w);
    if (w->is_waiting) {
        assert_int_equal(flow, WEIR_FLOW_FULL);
    } else if (flow == WEIR_FLOW_FULL) {
        assert_false(w->is_over);
        w->is_waiting = true;
        w->n_fulls++;
    }
    return flow;
}

/* `write` is the call, an expression. */
#define FLOW_WATCH_WRITE(w, write) (flow_watch_calls(w), flow_watch_answered((w), (write)))

static inline void flow_watch_resumed(struct flow_watch *w)
{
    assert_false(w->is_calling);
    assert_false(w->is_over);
    assert_true(w->is_waiting);
    w->is_waiting = false;
    w->n_resumes++;
}

/* The producer has ended or given up, or was told that the taker is gone. */
static inline void flow_watch_ended(struct flow_watch *w)
{
    w->is_over = true;
    w->is_waiting = false;
}

/* All that was written has left, and posted work has run. */
static inline void flow_watch_settled(const struct flow_watch *w)
{
    assert_false(w->is_waiting);
    assert_true(w->is_over || w->n_fulls == w->n_resumes);
}

#endif
