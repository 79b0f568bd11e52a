/*
 * The directory is watched, not the file: an event on a file follows its inode, and a replaced file
 * is another inode. What an event says is not used, only that something happened; the file's stamp
 * decides. The slow poll covers what the directory cannot see: a link that leads elsewhere, file
 * systems without events, a directory that did not exist yet.
 */
#include "io/watch.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    QUIET_MS = 100,
    QUIET_AT_MOST_MS = 1000, /* in a directory that is never quiet */
    POLL_MS = 2000,
};

static bool read_stamp(const char *path, struct weir_watch_stamp *stamp)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return false;
    }
    *stamp = (struct weir_watch_stamp){
        .dev = (uint64_t)st.st_dev,
        .ino = (uint64_t)st.st_ino,
        .size = (uint64_t)st.st_size,
        .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
    };
    return true;
}

/* True when there is a file other than the one last seen; it is in `*now` then. */
static bool differs(const struct weir_watch *w, struct weir_watch_stamp *now)
{
    return read_stamp(w->path, now) &&
           !(now->dev == w->seen.dev && now->ino == w->seen.ino && now->size == w->seen.size &&
             now->mtime_ns == w->seen.mtime_ns);
}

/* Waits until nothing has happened for a while: a file may be written in pieces. */
static void wait_for_quiet(struct weir_watch *w)
{
    uint64_t now = weir_loop_now_ms(w->loop);
    if (!weir_timer_is_armed(&w->quiet)) {
        w->first_event_ms = now;
    }
    uint64_t left = w->first_event_ms + QUIET_AT_MOST_MS;
    left = left > now ? left - now : 0;
    weir_loop_after(w->loop, &w->quiet, left < w->quiet_ms ? left : w->quiet_ms);
}

static void on_event(uv_fs_event_t *event, const char *name, int events, int status)
{
    (void)name;
    (void)events;
    if (status < 0) {
        uv_fs_event_stop(event); /* the poll tries again */
        return;
    }
    wait_for_quiet(event->data);
}

static void start_events(struct weir_watch *w)
{
    const char *slash = strrchr(w->path, '/');
    char *dir = slash == NULL      ? weir_mem_strdup(".")
                : slash == w->path ? weir_mem_strdup("/")
                                   : weir_mem_dup(w->path, (size_t)(slash - w->path));
    uv_fs_event_start(&w->event, on_event, dir, 0);
    free(dir);
}

static void on_quiet(struct weir_timer *t, void *ctx)
{
    (void)t;
    struct weir_watch *w = ctx;
    struct weir_watch_stamp now;
    if (differs(w, &now)) {
        w->seen = now;
        w->on_change(w->ctx);
    }
}

static void on_poll(struct weir_timer *t, void *ctx)
{
    struct weir_watch *w = ctx;
    struct weir_watch_stamp now;
    if (differs(w, &now) && !weir_timer_is_armed(&w->quiet)) {
        wait_for_quiet(w);
    }
    if (!uv_is_active((const uv_handle_t *)&w->event)) {
        start_events(w);
    }
    weir_loop_after(w->loop, t, w->poll_ms);
}

void weir_watch_open(struct weir_watch *w, struct weir_loop *loop, const char *path,
                     void (*on_change)(void *ctx), void *ctx)
{
    *w = (struct weir_watch){
        .loop = loop,
        .path = weir_mem_strdup(path),
        .on_change = on_change,
        .ctx = ctx,
        .quiet = {.fn = on_quiet, .ctx = w},
        .poll = {.fn = on_poll, .ctx = w},
        .quiet_ms = QUIET_MS,
        .poll_ms = POLL_MS,
    };
    uv_fs_event_init(&loop->uv, &w->event);
    w->event.data = w;
    start_events(w); /* before the look at the file, so that no change falls in between */
    read_stamp(path, &w->seen);
    weir_loop_after(loop, &w->poll, w->poll_ms);
}

static void on_closed(uv_handle_t *handle)
{
    struct weir_watch *w = handle->data;
    free(w->path);
    w->path = NULL;
    if (w->close_fn != NULL) {
        w->close_fn(w->close_ctx);
    }
}

void weir_watch_close(struct weir_watch *w, void (*fn)(void *ctx), void *ctx)
{
    w->close_fn = fn;
    w->close_ctx = ctx;
    weir_loop_cancel(w->loop, &w->quiet);
    weir_loop_cancel(w->loop, &w->poll);
    uv_close((uv_handle_t *)&w->event, on_closed);
}
