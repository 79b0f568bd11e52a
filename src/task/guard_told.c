#include "task/guard_told.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

struct weir_guard_told *weir_guard_told_new(const struct weir_guard_options *options)
{
    struct weir_guard_options o = *options;
    if (options->plan->telling == NULL) {
        return NULL;
    }
    struct weir_guard_told *t = weir_mem_zalloc(sizeof *t);
    weir_policy_teller_init(&t->policy, options->policy);
    o.plan = options->plan->telling;
    o.policy = &t->policy.policy;
    o.keeps_tokens = true;
    o.exposes_nothing = true;
    t->kept.account = options->task->arena->account;
    t->guard = weir_guard_new(&o);
    return t;
}

void weir_guard_told_free(struct weir_guard_told *t)
{
    if (t != NULL) {
        weir_guard_free(t->guard);
        weir_arena_dispose(&t->kept);
        free(t);
    }
}

int weir_guard_told_push(struct weir_guard_told *t, enum weir_channel channel, uint64_t frame,
                         struct weir_slice text)
{
    if (t == NULL) {
        return 0;
    }
    t->n_bytes += text.n;
    return weir_guard_push(t->guard, channel, frame, text);
}

void weir_guard_told_end(struct weir_guard_told *t, const struct weir_guard_ending *ending)
{
    if (t != NULL) {
        weir_guard_end(t->guard, ending);
    }
}

/* Text that the guard held back is counted with the piece it leaves in. */
static void forget_bytes(struct weir_guard_told *t, const struct weir_guard_piece *piece)
{
    size_t n = piece->what == WEIR_GUARD_TEXT ? piece->text.n : t->n_bytes;
    t->n_bytes -= n < t->n_bytes ? n : t->n_bytes;
}

/* It is told later, when what it borrows from is gone. It ends with the last of its findings, which
 * may reach beyond the piece. */
static void keep(struct weir_guard_told *t, const struct weir_guard_piece *piece)
{
    struct weir_arena *arena = &t->kept;
    weir_arena_dispose(arena);
    t->piece = *piece;
    t->findings = weir_arena_array(arena, piece->n_findings, sizeof *t->findings);
    t->list = weir_arena_array(arena, piece->n_findings, sizeof *t->list);
    for (size_t i = 0; i < piece->n_findings; i++) {
        struct weir_detection *d = &t->findings[i];
        *d = *piece->findings[i];
        d->text = WEIR_SLICE("");
        d->metadata = WEIR_SLICE("");
        d->detection = weir_arena_dup(arena, d->detection);
        d->detection_type = weir_arena_dup(arena, d->detection_type);
        d->detector_id = weir_arena_dup(arena, d->detector_id);
        d->evidence = weir_arena_dup(arena, d->evidence);
        d->score_raw = weir_arena_dup(arena, d->score_raw);
        t->list[i] = d;
        t->piece.end_cp = d->end_cp > t->piece.end_cp ? d->end_cp : t->piece.end_cp;
    }
    t->piece.findings = t->list;
    t->has_piece = true;
}

int weir_guard_told_next(struct weir_guard_told *t)
{
    struct weir_guard_piece piece;
    int rc = 0;
    if (t == NULL) {
        return WEIR_EAGAIN;
    }
    while (rc == 0 && !t->has_piece && !t->is_over) {
        rc = weir_guard_pop(t->guard, &piece);
        if (rc == 0) {
            forget_bytes(t, &piece);
            t->is_over = piece.what == WEIR_GUARD_CLEAR;
        }
        if (rc == 0 && piece.n_findings != 0) {
            keep(t, &piece);
        }
    }
    return t->has_piece ? 0 : rc == 0 ? WEIR_EAGAIN : rc;
}
