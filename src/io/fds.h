#ifndef WEIR_IO_FDS_H
#define WEIR_IO_FDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The process's file descriptors. They are one table for all threads, and a server that has used
 * the last one can neither take a connection nor read a file, so connections are counted and kept
 * below what the system allows:
 *
 *   │ open at start, loops, files, refusals │   room for connections             │ health │
 *                                             callers: half │ services: the rest
 *
 * A guarded stream needs two, its caller's and the model server's; so callers may have half of the
 * room, and services whatever is left of all of it. The health port keeps some of its own.
 *
 * Where the table runs full all the same (another part of the process, or the whole system), a
 * spare descriptor is closed for a moment to accept the connections that wait and close them.
 *
 * May be called from any thread. Before weir_fds_init there is no limit.
 */
enum weir_fds_use {
    WEIR_FDS_CALLER,
    WEIR_FDS_SERVICE,
    WEIR_FDS_HEALTH,
    WEIR_FDS_REFUSED, /* a caller who is being sent a 503 because there is no room */
};

/* How the table is divided. */
struct weir_fds_room {
    size_t limit;       /* descriptors the process may have */
    size_t needed;      /* for the server to start at all */
    size_t connections; /* callers' and services' together */
    size_t callers;     /* of them at most */
};

/* Divides `limit` for a server with so many loops, when so many descriptors are open already. */
struct weir_fds_room weir_fds_divide(size_t limit, size_t n_open, size_t n_loops);

/*
 * Raises the soft limit to the hard one, takes the spare and sets the room. 0, or WEIR_ELIMIT when
 * there are fewer than `room->needed`; nothing is limited then.
 */
int weir_fds_init(size_t n_loops, struct weir_fds_room *room);

/* Raises the soft limit to the hard one; all that a program without a room of its own needs. */
void weir_fds_raise_limit(void);

/* Counts one more connection. False: there is no room for it, which is counted and logged. */
bool weir_fds_take(enum weir_fds_use use);
void weir_fds_give(enum weir_fds_use use); /* call it once for each take that answered true */

/* There was room, and yet the kernel had no descriptor for a connection to a service: counts and
 * logs it. */
void weir_fds_note_unconnected(void);

/*
 * The kernel has no descriptor for the connections that wait at this listening socket: accepts them
 * in place of the spare and closes them at once. Counts and logs it.
 */
void weir_fds_turn_away(int listener_fd);

/* weir_descriptors_exhausted_total. */
void weir_fds_declare_metrics(void);

/* For tests: sets the room; NULL: no limit, and nothing counted. */
void weir_fds_set_room(const struct weir_fds_room *room);

#endif
