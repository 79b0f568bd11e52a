#ifndef WEIR_TALK_TOOLS_H
#define WEIR_TALK_TOOLS_H

#include "base/buf.h"
#include "wire/json.h"
#include "wire/json_write.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The tool calls of one choice, put together from the pieces in which they come. A call's id, type
 * and name are those of the first piece that has them; arguments are joined.
 */
#define WEIR_TOOL_FUNCTION_CALL UINT64_MAX /* the index of the one call of OpenAI's older form */

struct weir_tool {
    uint64_t index;
    bool is_custom; /* `arguments` is its input, which need not be JSON */
    struct weir_buf id;
    struct weir_buf type;
    struct weir_buf name;
    struct weir_buf arguments;
    uint16_t half;               /* of a character of the arguments: see talk/half.h */
    struct weir_buf extras;      /* members nobody knows, where they are kept: of the call … */
    struct weir_buf word_extras; /* … and of what has its name and arguments */
};

struct weir_tools { /* all-zero is empty, but for the limits */
    struct weir_tool *items;
    size_t n;
    size_t n_bytes;     /* of all text in them */
    size_t max_calls;   /* 0: no limit */
    size_t max_bytes;   /* of each text; 0: no limit */
    bool keeps_unknown; /* members nobody knows are kept, too */
};

void weir_tools_dispose(struct weir_tools *t); /* keeps the limits */

/* An array `tool_calls`; an object `function_call`. 0, WEIR_ELIMIT (one is too long, or, told by
 * weir_tools_is_full, there are too many), or WEIR_EPEER with `*why`. */
int weir_tools_take(struct weir_tools *t, const struct weir_json *json, uint32_t calls,
                    const char **why);
int weir_tools_take_function_call(struct weir_tools *t, const struct weir_json *json, uint32_t call,
                                  const char **why);

static inline bool weir_tools_is_full(const struct weir_tools *t)
{
    return t->max_calls != 0 && t->n == t->max_calls;
}

/* Nothing more comes. */
void weir_tools_end(struct weir_tools *t);

/* `tool_calls` and `function_call` as members of a message, or (with_index) of an event's delta. */
void weir_tools_write(const struct weir_tools *t, bool with_index, struct weir_json_write *w);

#endif
