#ifndef WEIR_TASK_KNOWN_H
#define WEIR_TASK_KNOWN_H

#include "base/buf.h"
#include "task/channel.h"
#include "wire/json.h"
#include "wire/json_write.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The members of a model server's answer that are known, for routes that block or redact. Whatever
 * can carry text is a guarded channel, a tool call, or not sent on: events and whole answers are
 * written anew from the members that are known.
 */

/* One choice of an answer or an event. */
struct weir_known {
    const struct weir_json *json;
    uint32_t choice;
    uint32_t body; /* message or delta; completions: the choice itself; WEIR_JSON_NONE: none */
    uint64_t index;
    uint32_t texts[WEIR_CHANNEL_TEXTS]; /* strings that are not empty; WEIR_JSON_NONE: none */
    uint32_t audio;                     /* the object with the transcript, or WEIR_JSON_NONE */
    uint32_t tool_calls;                /* an array, or WEIR_JSON_NONE */
    uint32_t function_call;             /* OpenAI's older form of a tool call, or WEIR_JSON_NONE */
    bool has_finish;
    size_t n_unknown;          /* members of the choice and what it says … */
    size_t n_unknown_in_calls; /* … and of its tool calls */
};

/* `body_name` is "message", "delta" or, for completions, "text". 0, or WEIR_EPEER with `*why`. */
int weir_known_read(const struct weir_json *json, uint32_t choice, struct weir_slice body_name,
                    struct weir_known *k, const char **why);

/* Members of the whole answer that are not known. */
size_t weir_known_count_top(const struct weir_json *json);

/* Is the key one of these? NULL at the end. */
bool weir_known_is_among(const struct weir_json *json, uint32_t key, const char *const *names);

/* How a member of an object is to be written. */
struct weir_known_member {
    struct weir_slice name;
    struct weir_slice json; /* instead of what stands there; empty: not at all */
};

/*
 * Writes the members of `object` (without its braces) that are known there, in their order, with
 * those of `changes` as they say; changes that stand nowhere are added at the end.
 */
struct weir_known_rules {
    const char *const *names; /* NULL at the end */
    bool keeps_unknown;
    const struct weir_known_member *changes;
    size_t n_changes;
};
void weir_known_write(struct weir_json_write *w, const struct weir_json *json, uint32_t object,
                      const struct weir_known_rules *rules);

/* Names known in a whole answer or event, in one of its choices, in a tool call. */
extern const char *const weir_known_top[];
extern const char *const weir_known_choice[]; /* without `message`, `delta` and `text` */
extern const char *const weir_known_body[];
extern const char *const weir_known_audio[];
extern const char *const weir_known_call[];     /* without the next two */
extern const char *const weir_known_function[]; /* in `function`, and in `function_call` */
extern const char *const weir_known_custom[];   /* in `custom` */

#endif
