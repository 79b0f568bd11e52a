#include "task/source.h"

#include "base/err.h"

enum { GRACE_MS = 5000 };

static void on_grace(struct weir_timer *t, void *ctx)
{
    struct weir_source *s = ctx;
    (void)t;
    s->on_stuck(s->ctx);
}

void weir_source_init(struct weir_source *s)
{
    s->grace = (struct weir_timer){.fn = on_grace, .ctx = s};
    s->share.account = s->account;
}

void weir_source_set_full(struct weir_source *s, bool is_full)
{
    s->is_full = is_full;
}

/* Less being held than before is a sign of life. */
static void watch(struct weir_source *s, size_t held_bytes)
{
    bool has_moved = held_bytes < s->held_bytes;
    if (!weir_timer_is_armed(&s->grace) || has_moved) {
        weir_loop_after(s->loop, &s->grace, GRACE_MS);
    }
    s->held_bytes = held_bytes;
}

bool weir_source_decide(struct weir_source *s, size_t held_bytes, enum weir_path_wait waits)
{
    weir_account_set(&s->share, held_bytes);
    if (s->has_ended) {
        return true;
    }
    bool is_heavy = held_bytes >= s->max_held_bytes;
    bool is_behind = s->n_full_chunkers != NULL && *s->n_full_chunkers != 0;
    if (is_heavy && waits == WEIR_PATH_IDLE) {
        return false;
    }
    if (is_heavy && waits == WEIR_PATH_ON_CHUNKER && !is_behind) {
        watch(s, held_bytes);
    } else {
        weir_loop_cancel(s->loop, &s->grace);
    }
    bool must_pause = s->is_full || is_heavy || is_behind;
    if (must_pause != s->is_paused) {
        s->is_paused = must_pause;
        s->set_paused(s->ctx, must_pause);
    }
    return true;
}

void weir_source_end(struct weir_source *s)
{
    s->has_ended = true;
    weir_account_set(&s->share, 0);
    weir_loop_cancel(s->loop, &s->grace);
}

struct weir_fault weir_source_limit_fault(struct weir_arena *arena, size_t max_held_bytes)
{
    const char *text = weir_arena_printf(
        arena, "more than %zu bytes held back: limits.max_held_bytes_per_stream", max_held_bytes);
    return (struct weir_fault){.origin = WEIR_FAULT_LIMIT,
                               .err = WEIR_ELIMIT,
                               .status = 500,
                               .message = weir_slice_cstr(text)};
}
