#ifndef WEIR_DETECT_YAMLDOC_H
#define WEIR_DETECT_YAMLDOC_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A text that should be one YAML document, read into nodes, and as JSON for a schema to judge.
 *
 *   text ── weir_yamldoc_read ─► root ── weir_yamldoc_json ─► JSON text
 *
 * Good is what a safe loader takes: one document, names that are scalars and stand once, aliases of
 * something complete before them, no tags but YAML's own. Scalars mean what the YAML 1.2
 * core schema says: `yes` is a text, `0o17` a number. An alias points to its node: reading never
 * writes one out.
 */
enum { WEIR_YAMLDOC_MAX_DEPTH = 256, WEIR_YAMLDOC_MAX_NODES = 500000 };

enum weir_yamldoc_kind {
    WEIR_YAMLDOC_NULL,
    WEIR_YAMLDOC_FALSE,
    WEIR_YAMLDOC_TRUE,
    WEIR_YAMLDOC_INT,
    WEIR_YAMLDOC_FLOAT,
    WEIR_YAMLDOC_TEXT,
    WEIR_YAMLDOC_SEQUENCE,
    WEIR_YAMLDOC_MAPPING,
};

struct weir_yamldoc_node {
    enum weir_yamldoc_kind kind;
    bool is_merge;                    /* the name `<<` */
    bool has_merge;                   /* a mapping with that name in it */
    uint32_t n;                       /* items, or members */
    struct weir_slice text;           /* of a scalar, as read */
    struct weir_yamldoc_node **items; /* a mapping's are name, value, name, value, … */
};

/* NULL root: an empty document. 0, WEIR_EBAD (not good YAML), WEIR_ELIMIT (too deep, too many). */
int weir_yamldoc_read(struct weir_slice text, struct weir_arena *arena,
                      const struct weir_yamldoc_node **root);

/*
 * Appends the document as JSON, aliases and merge keys (`<<`) written out, names as texts. Infinity
 * and what is not a number are texts. The buffer's ceiling is the limit: WEIR_ELIMIT at it, and
 * beyond WEIR_YAMLDOC_MAX_DEPTH. Names that JSON cannot tell apart (1 and "1") are both there.
 */
int weir_yamldoc_json(const struct weir_yamldoc_node *root, struct weir_buf *out);

/* For the reader: what a plain scalar is by its spelling. */
enum weir_yamldoc_kind weir_yamldoc__resolve(struct weir_slice s);

/* Appends an INT or FLOAT as JSON spells it. */
int weir_yamldoc__number(enum weir_yamldoc_kind kind, struct weir_slice s, struct weir_buf *out);

#endif
