#ifndef WEIR_BASE_FLOW_H
#define WEIR_BASE_FLOW_H

#include <stdbool.h>

/*
 * The one contract between a producer of bytes and what takes them (docs/internals/flow.md).
 *
 *   producer ── write* ─► end                         write answers OK or FULL
 *            ◄─ resume ──────────────────             once, some time after a FULL
 *            ◄─ gone ────────────────────             the taker will take no more
 *            ── abort ───────────────►                any time instead of end
 *
 * - `write` always accepts all of it; FULL asks the producer to stop until `resume`. Bytes written
 *   after FULL are accepted too, so that a producer can finish what it is in the middle of; those
 *   writes answer FULL again, and one `resume` follows them all.
 * - `end` and `abort` are the last calls; after either, and after `gone`, neither side calls again.
 * - `resume` and `gone` never come from inside a call the producer made.
 */
enum weir_flow {
    WEIR_FLOW_OK,
    WEIR_FLOW_FULL,
};

/*
 * The taker's side of that contract: what writes answer, and when the producer is to be resumed.
 *
 *            answer(full)              has_room                resume
 *   OPEN ──────────────────► FULL ───────────────► DUE ──────────────────► OPEN
 *                              ◄──────────────────── answer(full)
 *
 * A taker that keeps one for each producer and asks it at these four places keeps the contract:
 *
 *   a write                  return weir_flow_gate_answer(&gate, is it full now?);
 *   bytes have left          if (at most half full && weir_flow_gate_has_room(&gate)) post;
 *   the posted function      if (weir_flow_gate_resume(&gate)) call the producer;
 *   end, abort, gone         weir_flow_gate_close(&gate);
 *
 * All-zero is an open gate.
 */
enum weir_flow_gate_state {
    WEIR_FLOW_GATE_OPEN,   /* the producer may write */
    WEIR_FLOW_GATE_FULL,   /* it was answered FULL and waits; there is no room yet */
    WEIR_FLOW_GATE_DUE,    /* it waits, there is room: a resume is under way to it */
    WEIR_FLOW_GATE_CLOSED, /* neither calls the other any more */
};

struct weir_flow_gate {
    enum weir_flow_gate_state state;
};

/* Has the producer been answered FULL, and not been resumed since? */
static inline bool weir_flow_gate_is_owed(const struct weir_flow_gate *g)
{
    return g->state == WEIR_FLOW_GATE_FULL || g->state == WEIR_FLOW_GATE_DUE;
}

/* What a write answers, when the taker is full now or is not. A producer that was answered FULL
 * gets the same answer until it has been resumed, whatever room there is in between. */
static inline enum weir_flow weir_flow_gate_answer(struct weir_flow_gate *g, bool is_full)
{
    if (is_full && g->state != WEIR_FLOW_GATE_CLOSED) {
        g->state = WEIR_FLOW_GATE_FULL;
    }
    return weir_flow_gate_is_owed(g) ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

/* There is room. True: the producer waits for it; call weir_flow_gate_resume soon, from outside of
 * the producer's calls. False: it does not wait, or a resume is under way already. */
static inline bool weir_flow_gate_has_room(struct weir_flow_gate *g)
{
    bool is_awaited = g->state == WEIR_FLOW_GATE_FULL;
    if (is_awaited) {
        g->state = WEIR_FLOW_GATE_DUE;
    }
    return is_awaited;
}

/* Outside of the producer's calls. True: tell it now that it may go on. False: it does not wait, or
 * has filled the room in the meantime. */
static inline bool weir_flow_gate_resume(struct weir_flow_gate *g)
{
    bool is_due = g->state == WEIR_FLOW_GATE_DUE;
    if (is_due) {
        g->state = WEIR_FLOW_GATE_OPEN;
    }
    return is_due;
}

/* The end: every answer is OK from here on, and the producer is not resumed any more. */
static inline void weir_flow_gate_close(struct weir_flow_gate *g)
{
    g->state = WEIR_FLOW_GATE_CLOSED;
}

#endif
