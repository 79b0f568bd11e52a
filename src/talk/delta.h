#ifndef WEIR_TALK_DELTA_H
#define WEIR_TALK_DELTA_H

#include "talk/channel.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What was said: one choice of one event, or of a whole answer, as the guard sees it. A reader of a
 * dialect fills it (talk/dialect.h) and names every member that can say something; what no reader
 * knows is only counted. Nodes are those of `json`, WEIR_JSON_NONE where a member is absent, null
 * or empty. Borrowed for the length of the call it is given to.
 */
struct weir_delta {
    const struct weir_json *json;
    uint32_t choice;
    uint32_t body;  /* the object that says it: message, delta, or the choice itself */
    uint64_t place; /* of the choice: its index */
    uint32_t texts[WEIR_CHANNEL_TEXTS]; /* strings that are not empty */
    uint32_t audio;                     /* the object with the transcript */
    uint32_t tool_calls;                /* an array with something in it */
    uint32_t function_call;             /* OpenAI's older form of a tool call */
    uint32_t finish;                    /* finish_reason */
    uint32_t stop_reason;
    uint32_t logprobs;         /* an object */
    size_t n_unknown;          /* members of the choice and of what it says … */
    size_t n_unknown_in_calls; /* … and of its tool calls */
};

#endif
