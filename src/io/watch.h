#ifndef WEIR_IO_WATCH_H
#define WEIR_IO_WATCH_H

#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/*
 * Tells when a file's content was replaced: written in place, renamed over, or reached through a
 * symbolic link that was swapped (a mounted ConfigMap's `..data`).
 *
 *   directory event ─► quiet for 100 ms ─► does the file differ? ─► on_change
 *   every 2 s: does it differ? ─┘
 *
 * It differs when device, inode, size or time of change of what the path leads to are not those
 * last seen. A file that is missing is waited for; when it comes back unchanged on_change does not
 * come.
 */
struct weir_watch_stamp {
    uint64_t dev;
    uint64_t ino;
    uint64_t size;
    int64_t mtime_ns;
};

struct weir_watch {
    uv_fs_event_t event; /* on the file's directory */
    struct weir_loop *loop;
    char *path;
    void (*on_change)(void *ctx);
    void *ctx;
    struct weir_watch_stamp seen; /* all-zero: there was no file */
    struct weir_timer quiet;
    struct weir_timer poll;
    uint64_t quiet_ms;
    uint64_t poll_ms;
    uint64_t first_event_ms; /* of those that `quiet` waits out */
    void (*close_fn)(void *ctx);
    void *close_ctx;
};

/* What the path leads to now counts as seen. on_change comes from the top of the loop. Cannot fail:
 * where the kernel gives no events, the file is looked at every two seconds. */
void weir_watch_open(struct weir_watch *w, struct weir_loop *loop, const char *path,
                     void (*on_change)(void *ctx), void *ctx);

/* No on_change any more; the memory is free again in fn, which may be NULL. */
void weir_watch_close(struct weir_watch *w, void (*fn)(void *ctx), void *ctx);

#endif
