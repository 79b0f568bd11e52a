/*
 * libuv's iteration is: timers, idle, prepare, poll, check, closing. Our end of turn is the prepare
 * step, the last thing before the poll may block:
 *
 *   poll ─► closing ─► clock ─► [prepare: posted work ─► steps ─► log ─► flush ─► clock] ─► poll
 *
 * so everything that an event caused is done and sent before we sleep, and whoever has the bytes
 * can read in the log how they came about. Work posted by posted work waits for the next turn, and
 * an active idle handle keeps the poll in between from blocking.
 */
#include "io/loop.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "io/io_int.h"
#include "obs/log.h"

#include <signal.h>
#include <stdlib.h>

int weir_io__err(int uv_err)
{
    return uv_err == UV_EOF ? WEIR_ECLOSED : weir_err_from_errno(-uv_err);
}

static void on_idle(uv_idle_t *idle)
{
    (void)idle;
}

static void run_posted(struct weir_loop *loop)
{
    struct weir_list mark = {0};
    weir_list_append(&loop->posted, &mark);
    for (;;) {
        struct weir_list *link = weir_list_pop(&loop->posted);
        if (link == &mark) {
            return;
        }
        struct weir_post *post = WEIR_LIST_ENTRY(link, struct weir_post, link);
        post->fn(post);
    }
}

/* Posted work that took the steps' time has this turn for itself, but not the next one too. */
static void run_steps(struct weir_loop *loop, uint64_t since_ns)
{
    uint64_t until_ns = since_ns + (uint64_t)WEIR_LOOP_STEPS_US * 1000;
    loop->has_skipped = !loop->has_skipped && uv_hrtime() >= until_ns;
    if (loop->has_skipped) {
        return;
    }
    do {
        struct weir_list *link = weir_list_pop(&loop->steps);
        struct weir_post *step = WEIR_LIST_ENTRY(link, struct weir_post, link);
        step->fn(step);
    } while (!weir_list_is_empty(&loop->steps) && uv_hrtime() < until_ns);
}

static bool has_work(const struct weir_loop *loop)
{
    return !weir_list_is_empty(&loop->posted) || !weir_list_is_empty(&loop->steps);
}

static void on_clock(uv_timer_t *clock)
{
    struct weir_loop *loop = clock->data;
    loop->clock_at_ms = UINT64_MAX;
    weir_timers_run(&loop->timers, weir_loop_now_ms(loop));
}

/* Only an earlier deadline moves the clock; for a later one it fires in vain once and is re-armed,
 * which is cheaper than following every time-out that is pushed back. */
static void arm_clock(struct weir_loop *loop)
{
    uint64_t at;
    if (!weir_timers_next(&loop->timers, &at) || at >= loop->clock_at_ms) {
        return;
    }
    uint64_t now = weir_loop_now_ms(loop);
    loop->clock_at_ms = at;
    uv_timer_start(&loop->clock, on_clock, at > now ? at - now : 0, 0);
}

static void on_end_of_turn(uv_prepare_t *prepare)
{
    struct weir_loop *loop = prepare->data;
    uint64_t began_ns = has_work(loop) ? uv_hrtime() : 0;
    loop->turn++;
    if (!weir_list_is_empty(&loop->posted)) {
        run_posted(loop);
    }
    if (!weir_list_is_empty(&loop->steps)) {
        run_steps(loop, began_ns);
    }
    weir_log_flush();
    if (!weir_list_is_empty(&loop->dirty)) {
        loop->flush_dirty(loop);
        weir_log_flush(); /* what sending had to say, if anything */
    }
    arm_clock(loop);
    if (has_work(loop) || !weir_list_is_empty(&loop->dirty)) {
        uv_idle_start(&loop->again, on_idle);
    } else {
        uv_idle_stop(&loop->again);
    }
}

static struct weir_loop_call *take_calls(struct weir_loop *loop)
{
    pthread_mutex_lock(&loop->calls_lock);
    struct weir_loop_call *newest = loop->calls;
    loop->calls = NULL;
    pthread_mutex_unlock(&loop->calls_lock);

    struct weir_loop_call *oldest = NULL;
    while (newest != NULL) {
        struct weir_loop_call *call = newest;
        newest = call->next;
        call->next = oldest;
        oldest = call;
    }
    return oldest;
}

static bool run_calls(struct weir_loop *loop)
{
    struct weir_loop_call *call = take_calls(loop);
    bool any = call != NULL;
    while (call != NULL) {
        struct weir_loop_call *next = call->next;
        call->fn(call->arg);
        free(call);
        call = next;
    }
    return any;
}

static void on_wake(uv_async_t *wake)
{
    run_calls(wake->data);
}

static void ignore_sigpipe(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
}

int weir_loop_init(struct weir_loop *loop)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ignore_sigpipe);

    *loop = (struct weir_loop){.clock_at_ms = UINT64_MAX};
    int err = uv_loop_init(&loop->uv);
    if (err != 0) {
        return weir_io__err(err);
    }
    /* The async handle is the only one that can fail: it opens descriptors. */
    err = uv_async_init(&loop->uv, &loop->wake, on_wake);
    if (err != 0) {
        uv_loop_close(&loop->uv);
        return weir_io__err(err);
    }
    uv_prepare_init(&loop->uv, &loop->end_of_turn);
    uv_idle_init(&loop->uv, &loop->again);
    uv_timer_init(&loop->uv, &loop->clock);
    uv_tcp_init(&loop->uv, &loop->first);
    loop->end_of_turn.data = loop;
    loop->wake.data = loop;
    loop->clock.data = loop;
    uv_prepare_start(&loop->end_of_turn, on_end_of_turn);
    weir_list_init(&loop->posted);
    weir_list_init(&loop->steps);
    weir_list_init(&loop->dirty);
    pthread_mutex_init(&loop->calls_lock, NULL);
    loop->read_buf = weir_mem_alloc(WEIR_LOOP_READ_BYTES);
    return 0;
}

void weir_loop_run(struct weir_loop *loop)
{
    loop->is_running = true;
    weir_log_hold();
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    weir_log_release();
    loop->is_running = false;
}

void weir_loop_stop(struct weir_loop *loop)
{
    uv_stop(&loop->uv);
}

/* With our own handles unreferenced uv_run returns once nothing of anybody else is alive; only
 * `again` still counts, because it stands for posted work. */
static void run_out(struct weir_loop *loop)
{
    uv_unref((uv_handle_t *)&loop->end_of_turn);
    uv_unref((uv_handle_t *)&loop->wake);
    uv_unref((uv_handle_t *)&loop->clock);
    do {
        if (has_work(loop)) {
            uv_idle_start(&loop->again, on_idle);
        }
        weir_loop_run(loop);
    } while (run_calls(loop) || has_work(loop));
}

void weir_loop_dispose(struct weir_loop *loop)
{
    if (loop->read_buf == NULL) {
        return;
    }
    weir_timers_dispose(&loop->timers);
    run_out(loop);
    uv_close((uv_handle_t *)&loop->end_of_turn, NULL);
    uv_close((uv_handle_t *)&loop->again, NULL);
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->clock, NULL);
    uv_close((uv_handle_t *)&loop->first, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    WEIR_ASSERT(uv_loop_close(&loop->uv) == 0);
    weir_timers_dispose(&loop->timers);
    pthread_mutex_destroy(&loop->calls_lock);
    free(loop->read_buf);
    free(loop->tls_buf);
    *loop = (struct weir_loop){0};
}

uint64_t weir_loop_now_ms(const struct weir_loop *loop)
{
    return loop->held_ms != 0 ? loop->held_ms : uv_now(&loop->uv);
}

void weir_loop_post(struct weir_loop *loop, struct weir_post *post)
{
    if (!weir_list_is_linked(&post->link)) {
        weir_list_append(&loop->posted, &post->link);
    }
}

void weir_loop_step(struct weir_loop *loop, struct weir_post *step)
{
    if (!weir_list_is_linked(&step->link)) {
        weir_list_append(&loop->steps, &step->link);
    }
}

void weir_loop_unpost(struct weir_post *post)
{
    weir_list_remove(&post->link);
}

void weir_loop_call(struct weir_loop *loop, void (*fn)(void *arg), void *arg)
{
    struct weir_loop_call *call = weir_mem_alloc(sizeof *call);
    *call = (struct weir_loop_call){.fn = fn, .arg = arg};
    pthread_mutex_lock(&loop->calls_lock);
    call->next = loop->calls;
    loop->calls = call;
    /* Sent under the lock: once the call is visible the loop may run it and go away. */
    uv_async_send(&loop->wake);
    pthread_mutex_unlock(&loop->calls_lock);
}

void weir_loop_after(struct weir_loop *loop, struct weir_timer *t, uint64_t delay_ms)
{
    if (!loop->is_running) {
        uv_update_time(&loop->uv); /* nobody kept it fresh */
    }
    uint64_t now = weir_loop_now_ms(loop);
    weir_timers_set(&loop->timers, t, delay_ms < UINT64_MAX - now ? now + delay_ms : UINT64_MAX);
}

void weir_loop_cancel(struct weir_loop *loop, struct weir_timer *t)
{
    weir_timers_cancel(&loop->timers, t);
}
