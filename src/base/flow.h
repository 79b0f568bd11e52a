#ifndef WEIR_BASE_FLOW_H
#define WEIR_BASE_FLOW_H

/*
 * The one contract between a producer of bytes and what takes them (docs/internals/flow.md).
 *
 *   producer ── write* ─► end                         write answers OK or FULL
 *            ◄─ resume ──────────────────             once, some time after a FULL
 *            ◄─ gone ────────────────────             the taker will take no more
 *            ── abort ───────────────►                any time instead of end
 *
 * - `write` always accepts all of it; FULL asks the producer to stop until `resume`. Bytes written
 *   after FULL are accepted too, so that a producer can finish what it is in the middle of.
 * - `end` and `abort` are the last calls; after either, and after `gone`, neither side calls again.
 * - `resume` and `gone` never come from inside a call the producer made.
 */
enum weir_flow {
    WEIR_FLOW_OK,
    WEIR_FLOW_FULL,
};

#endif
