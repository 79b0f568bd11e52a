#ifndef WEIR_TALK_TREE_H
#define WEIR_TALK_TREE_H

#include "base/arena.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A JSON value as one text that detectors can read, a line for each leaf:
 *
 *   {"name":"Jane","mails":["jane\u0040example.org"],"age":41}
 *
 *   name: Jane
 *   mails:
 *   mails: jane@example.org
 *   age: 41
 *
 * Strings stand there decoded. What can be found, and be replaced or refused, are places: stretches
 * of the lines that belong to one node. The rest (": ", a name that is repeated, words of JSON
 * Schema, true, false, null) is there for context and can say nothing of the caller's.
 */
enum weir_tree_rule {
    WEIR_TREE_ANY,       /* members nobody here knows, metadata */
    WEIR_TREE_ARGUMENTS, /* of a tool call */
    WEIR_TREE_SCHEMA,    /* a JSON schema: names, patterns and constants are identifiers */
};

enum weir_tree_what {
    WEIR_TREE_TEXT,       /* a string or a number that may be replaced */
    WEIR_TREE_IDENTIFIER, /* a string, a number or a key that may not */
    WEIR_TREE_KEY,        /* a member's name: the member may be taken out */
    WEIR_TREE_CALL_KEY,   /* a name in the arguments of a call: the call as a whole */
    WEIR_TREE_CONSTANT,   /* of `enum` and `const`: an identifier, unless it comes back replaced */
};

struct weir_tree_place {
    uint32_t node;
    enum weir_tree_what what;
    bool is_key;     /* a member's name */
    size_t start_cp; /* in the lines */
    size_t end_cp;
};

struct weir_tree {
    const struct weir_json *json;
    uint32_t first; /* the key, if the value is looked at with its name, or the value */
    uint32_t root;  /* the value */
    struct weir_slice lines;
    struct weir_tree_place *places; /* in the order of their nodes, which is that of the lines */
    size_t n;
};

/* Reads the value `root` and, unless it is WEIR_JSON_NONE, the `key` before it. In the arena. */
void weir_tree_read(struct weir_tree *t, const struct weir_json *json, uint32_t key, uint32_t root,
                    enum weir_tree_rule rule, struct weir_arena *arena);

/* The value as it is written, its name included if it has one. */
struct weir_slice weir_tree_written(const struct weir_tree *t);

/*
 * What a stretch of a node as written, from byte `from` to `to` of the document's source, is of its
 * value, in code points: whole escapes, and all of a number. A cursor goes forward: the stretches
 * of one node must be asked for by their `from`, so that all of them cost one walk. All-zero is its
 * beginning.
 */
struct weir_tree_cursor {
    uint32_t node;
    size_t at; /* byte behind the opening quote, and the code point that stands there */
    size_t cp;
};
struct weir_tree_span {
    size_t start_cp;
    size_t end_cp;
    size_t cut_before; /* of these, characters at the beginning and … */
    size_t cut_behind; /* … at the end of which the stretch has only a part of their escapes */
};
struct weir_tree_span weir_tree_span_of(struct weir_tree_cursor *cursor,
                                        const struct weir_json *json, uint32_t node, size_t from,
                                        size_t to);

/* The keywords of JSON Schema that are known; name NULL after the last. */
struct weir_tree_keyword {
    const char *name;
    const char *kind; /* what stands there: "text", "identifier", "control" or "schema" */
    int rule;         /* its own */
};
extern const struct weir_tree_keyword weir_tree_keywords[];

#endif
