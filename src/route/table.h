#ifndef WEIR_ROUTE_TABLE_H
#define WEIR_ROUTE_TABLE_H

#include "base/slice.h"
#include "http/stream.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Method and path to what answers: a table of exact paths, and of such with a `*`. At the end it
 * stands for anything but nothing; before the end for one segment, so the entry with more behind it
 * stands first. An entry has one method: GET (HEAD goes with it), POST, DELETE (GET and HEAD go
 * with it), or any of these; a path stands once. OPTIONS, 404 and 405 follow from the table.
 */
typedef void (*weir_route_begin_fn)(void *env, struct weir_http_stream *s);

#define WEIR_ROUTE_ANY WEIR_HTTP_OTHER

struct weir_route_entry {
    const char *path;
    enum weir_http_method method; /* WEIR_HTTP_GET, _POST, _DELETE, or WEIR_ROUTE_ANY */
    weir_route_begin_fn begin;
    bool (*exists)(const void *env); /* NULL: always; false: 404 as if it were not there */
};

/* The entry for `path`, or NULL. */
const struct weir_route_entry *weir_route_find(const struct weir_route_entry *table, size_t n,
                                               struct weir_slice path);

/* Calls the entry's begin, or answers OPTIONS and a wrong method. `entry` NULL: 404. */
void weir_route_dispatch(const struct weir_route_entry *entry, void *env,
                         struct weir_http_stream *s);

#endif
