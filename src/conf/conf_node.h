#ifndef WEIR_CONF_NODE_H
#define WEIR_CONF_NODE_H

#include "base/arena.h"
#include "base/slice.h"
#include "conf/conf_load.h"
#include "conf/conf_problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A YAML document as nodes with lines. Inside conf only.
 *
 * An alias is the anchored node itself, not a copy, so nodes form an acyclic graph; `weight` and
 * `n_bytes` are what a node would cost written out, and their sums are bounded, so walking the
 * graph as a tree and copying from it is safe.
 * Variables are already expanded in values, never in keys.
 */
enum {
    WEIR_CONF_MAX_FILE_BYTES = 4 * 1024 * 1024,
    WEIR_CONF_MAX_DEPTH = 64,
    WEIR_CONF_MAX_NODES = 100 * 1000,
    WEIR_CONF_MAX_TEXT_BYTES = 16 * 1024 * 1024, /* of all scalars; of all variables' values */
};

enum weir_conf_node_kind { WEIR_CONF_SCALAR, WEIR_CONF_SEQUENCE, WEIR_CONF_MAPPING };

struct weir_conf_node;

struct weir_conf_member {
    const struct weir_conf_node *key; /* a scalar */
    const struct weir_conf_node *value;
};

struct weir_conf_node {
    enum weir_conf_node_kind kind;
    int line;
    bool is_plain;    /* scalar: written without quotes, so it may be a number and so on */
    bool is_expanded; /* scalar: a variable's value is in it */
    bool is_broken;  /* scalar: could not be expanded; already reported, not to be reported again */
    uint32_t height; /* 1 for a scalar */
    uint32_t weight; /* nodes, aliases written out */
    size_t n_bytes;  /* of text, likewise */
    size_t n;        /* of items or members */
    struct weir_slice text;                 /* scalar: NUL-terminated, valid UTF-8, no NUL inside */
    const struct weir_conf_node **items;    /* sequence */
    const struct weir_conf_member *members; /* mapping */
};

/* What a plain scalar is by the YAML 1.2 core schema; a quoted one is text. */
enum weir_conf_scalar_type {
    WEIR_CONF_IS_NULL,
    WEIR_CONF_IS_BOOL,
    WEIR_CONF_IS_INT,
    WEIR_CONF_IS_FLOAT,
    WEIR_CONF_IS_TEXT,
};

struct weir_conf_yaml {
    struct weir_slice text; /* the file */
    const char *file;       /* its name in problems; must live as long as the nodes */
    struct weir_arena *arena;
    struct weir_conf_problems *problems;
    weir_conf_env_fn *env;
    void *env_ctx;
    size_t n_expanded_bytes; /* so far */
};

/*
 * The one document in `y->text`, or NULL when it cannot be read to its end; the problems say why.
 * Problems that do not hinder reading on (a key twice, a variable that is not set) are added too.
 */
const struct weir_conf_node *weir_conf__yaml_read(struct weir_conf_yaml *y);

/*
 * Replaces ${VAR} and ${VAR:-default}; $${ stands for ${. False, and a problem at `line`, when a
 * variable without default is not set or the syntax is wrong.
 */
bool weir_conf__expand(struct weir_conf_yaml *y, int line, struct weir_slice *text,
                       bool *is_expanded);

/* The value of a member, NULL when absent. */
const struct weir_conf_node *weir_conf__get(const struct weir_conf_node *mapping, const char *key);

enum weir_conf_scalar_type weir_conf__scalar_type(const struct weir_conf_node *n);
bool weir_conf__is_null(const struct weir_conf_node *n);

/*
 * The value, if the scalar is one; false otherwise. A scalar that came from a variable counts by
 * its text even when quoted, because inside { } a ${VAR} has to be quoted.
 */
bool weir_conf__as_bool(const struct weir_conf_node *n, bool *out);
bool weir_conf__as_int(const struct weir_conf_node *n, int64_t *out);   /* false also on overflow */
bool weir_conf__as_number(const struct weir_conf_node *n, double *out); /* finite */
bool weir_conf__as_text(const struct weir_conf_node *n, struct weir_slice *out);

/* For messages: printable, at most 60 code points, in `` ` ``. */
const char *weir_conf__quote(struct weir_arena *a, struct weir_slice s);

/* "a list", "a mapping", "nothing", "the number `5`", "the text `x`". */
const char *weir_conf__describe(struct weir_arena *a, const struct weir_conf_node *n);

#endif
