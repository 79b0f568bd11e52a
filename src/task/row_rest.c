#include "task/row_rest.h"

#include "detect/detection.h"

static const struct weir_detection *copy_of(struct weir_arena *arena,
                                            const struct weir_detection *from)
{
    struct weir_detection *d = weir_arena_alloc(arena, sizeof *d);
    *d = *from;
    struct weir_slice *slices[] = {&d->text,     &d->detection, &d->detection_type, &d->detector_id,
                                   &d->evidence, &d->metadata,  &d->score_raw};
    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
        *slices[i] = weir_arena_dup(arena, *slices[i]);
    }
    return d;
}

void weir_row_rest_keep(struct weir_row_rest *rest, const struct weir_guard_piece *piece,
                        struct weir_slice text, size_t start_cp)
{
    if (!rest->is_kept) {
        const struct weir_detection **findings =
            weir_arena_array(&rest->arena, piece->n_findings, sizeof *findings);
        for (size_t i = 0; i < piece->n_findings; i++) {
            findings[i] = copy_of(&rest->arena, piece->findings[i]);
        }
        rest->piece = *piece;
        rest->piece.findings = findings;
        rest->piece.stretches = NULL; /* where the route annotates nobody asks for them */
        rest->piece.n_stretches = 0;
        rest->is_kept = true;
        text = weir_arena_dup(&rest->arena, text);
    }
    rest->piece.text = text;
    rest->piece.start_cp = start_cp;
}

void weir_row_rest_drop(struct weir_row_rest *rest)
{
    weir_arena_dispose(&rest->arena);
    rest->is_kept = false;
}
