#include "mock/mock_player.h"

#include "base/list.h"
#include "io/loop.h"
#include "mock/mock_server.h"

enum {
    TURN_BYTES = 64 * 1024, /* of one stream in one turn of the loop */
    CUT_AFTER_MS = 20,      /* what was written before a cut should still arrive */
};

struct player {
    struct weir_http_stream *s;
    const struct weir_mock_settings *set;
    const struct weir_mock_source *source;
    void *ctx;
    struct weir_buf event; /* being sent, from `at` on */
    size_t at;
    uint64_t start_ms; /* when the first event is due */
    uint64_t n_steps;
    struct weir_timer timer;
    struct weir_post post;
    enum weir_mock_next ending; /* WEIR_MOCK_CUT: the timer breaks off */
    bool is_full;
};

static void advance(struct player *p);

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct player *p = ctx;
    (void)t;
    if (p->ending == WEIR_MOCK_CUT) {
        weir_mock_request_of(p->s)->was_cut = true;
        weir_http_stream_abort(p->s);
        return;
    }
    advance(p);
}

static void on_post(struct weir_post *post)
{
    advance(WEIR_LIST_ENTRY(post, struct player, post));
}

static void dispose(void *ctx)
{
    struct player *p = ctx;
    weir_loop_cancel(p->s->loop, &p->timer);
    weir_loop_unpost(&p->post);
    weir_buf_dispose(&p->event);
}

/* When the event behind `n_steps` steps is due. */
static uint64_t due_ms(const struct player *p)
{
    const struct weir_mock_settings *set = p->set;
    if (set->rate == 0) {
        return p->start_ms;
    }
    uint64_t group = p->n_steps / set->burst;
    return p->start_ms + group * set->burst * 1000 / set->rate;
}

static void write_bytes(struct player *p, size_t n)
{
    struct weir_slice rest = weir_slice_sub(weir_buf_slice(&p->event), p->at, p->event.n);
    n = n < rest.n ? n : rest.n;
    p->at += n;
    p->is_full = weir_http_stream_write(p->s, weir_slice_sub(rest, 0, n)) == WEIR_FLOW_FULL;
}

/* A piece of an event, each in a turn of its own: the loop sends once per turn. */
static void write_piece(struct player *p)
{
    write_bytes(p, p->set->cut_bytes);
    if (p->set->cut_ms != 0) {
        weir_loop_after(p->s->loop, &p->timer, p->set->cut_ms);
    } else if (!p->is_full) {
        weir_loop_post(p->s->loop, &p->post);
    }
}

static void finish(struct player *p, enum weir_mock_next how)
{
    p->ending = how;
    if (how == WEIR_MOCK_CUT) {
        weir_loop_after(p->s->loop, &p->timer, CUT_AFTER_MS);
    } else if (how == WEIR_MOCK_END && p->source->end != NULL) {
        p->source->end(p->ctx, p->s);
    } else if (how == WEIR_MOCK_END) {
        weir_http_stream_end(p->s);
    }
}

/* Makes the next event. False: not now, or never again. */
static bool take_next(struct player *p)
{
    uint64_t now_ms = weir_loop_now_ms(p->s->loop);
    uint64_t at_ms = due_ms(p);
    uint64_t wait_ms = 0;
    if (now_ms < at_ms) {
        weir_loop_after(p->s->loop, &p->timer, at_ms - now_ms);
        return false;
    }
    weir_buf_clear(&p->event);
    p->at = 0;
    enum weir_mock_next next = p->source->next(p->ctx, &p->event, &wait_ms);
    switch (next) {
    case WEIR_MOCK_STEP:
        p->n_steps++;
        /* fall through */
    case WEIR_MOCK_MORE:
        weir_mock_request_of(p->s)->n_events++;
        return true;
    case WEIR_MOCK_WAIT:
        weir_loop_after(p->s->loop, &p->timer, wait_ms);
        return false;
    case WEIR_MOCK_END:
    case WEIR_MOCK_CUT:
    case WEIR_MOCK_STALL:
        break;
    }
    finish(p, next);
    return false;
}

static void advance(struct player *p)
{
    size_t n_bytes = 0;
    if (p->ending != WEIR_MOCK_MORE) {
        return;
    }
    while (!p->is_full && n_bytes < TURN_BYTES) {
        bool has_rest = p->at < p->event.n;
        if (!has_rest && !take_next(p)) {
            return;
        }
        if (p->set->cut_bytes != 0) {
            write_piece(p);
            return;
        }
        n_bytes += p->event.n;
        write_bytes(p, p->event.n);
    }
    if (!p->is_full) {
        weir_loop_post(p->s->loop, &p->post);
    }
}

static void on_resume(struct weir_http_stream *s)
{
    struct player *p = s->ctx;
    p->is_full = false;
    if (!weir_timer_is_armed(&p->timer)) {
        advance(p);
    }
}

static const struct weir_http_handler HANDLER = {.on_resume = on_resume};

void weir_mock_player_start(struct weir_http_stream *s, const struct weir_mock_source *source,
                            void *ctx)
{
    struct player *p = weir_arena_zalloc(&s->arena, sizeof *p);
    p->s = s;
    p->set = &weir_mock_request_of(s)->set;
    p->source = source;
    p->ctx = ctx;
    p->start_ms = weir_loop_now_ms(s->loop) + p->set->first_ms;
    p->timer.fn = on_timer;
    p->timer.ctx = p;
    p->post.fn = on_post;
    weir_arena_defer(&s->arena, dispose, p);
    s->ctx = p;
    s->handler = &HANDLER;
    advance(p);
}
