#ifndef WEIR_CONF_PROBLEM_H
#define WEIR_CONF_PROBLEM_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * What is wrong with a configuration. Problems are collected, all of them, so that one run of
 * --check-config shows everything. conf adds what it finds; parts that know more (patterns that do
 * not compile, a key that does not match its certificate) add theirs with the positions kept in
 * the tree. All-zero is a valid empty list.
 */

/* Where a value stands. `file` is NULL where nothing was written (a default). */
struct weir_conf_pos {
    const char *file;
    int line; /* from 1; 0: the file as a whole */
};

enum weir_conf_severity {
    WEIR_CONF_WARNING, /* the configuration works, but perhaps not as meant */
    WEIR_CONF_ERROR,   /* the configuration is refused */
};

struct weir_conf_problem {
    enum weir_conf_severity severity;
    struct weir_conf_pos at;
    const char *text; /* one line, printable, no final stop */
};

struct weir_conf_problems {
    struct weir_conf_problem *items; /* in order of discovery until sorted */
    size_t n;
    size_t cap;
    size_t n_errors;   /* counted even where the list was full */
    size_t n_warnings; /* likewise */
    struct weir_arena arena;
};

/* More problems than this are counted, not kept: a hostile file must not fill the memory. */
enum { WEIR_CONF_MAX_PROBLEMS = 200 };

/* `at.file` is copied. */
void weir_conf_problems_add(struct weir_conf_problems *p, enum weir_conf_severity severity,
                            struct weir_conf_pos at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void weir_conf_problems_vadd(struct weir_conf_problems *p, enum weir_conf_severity severity,
                             struct weir_conf_pos at, const char *fmt, va_list args)
    __attribute__((format(printf, 4, 0)));

/* By line, then in order of discovery. */
void weir_conf_problems_sort(struct weir_conf_problems *p);

/* "file:line: error: text" without line end. */
void weir_conf_problem_format(const struct weir_conf_problem *problem, struct weir_buf *out);

/*
 * The whole report of --check-config: sorts, one line each, then "NAME: 2 errors, 1 warning" or
 * "NAME: ok".
 */
void weir_conf_problems_report(struct weir_conf_problems *p, const char *name,
                               struct weir_buf *out);

void weir_conf_problems_dispose(struct weir_conf_problems *p);

#endif
