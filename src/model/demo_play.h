#ifndef WEIR_MODEL_DEMO_PLAY_H
#define WEIR_MODEL_DEMO_PLAY_H

#include "base/buf.h"
#include "model/demo_ask.h"
#include "obs/trace.h"

#include <stdint.h>

/*
 * The demonstration model's answer in OpenAI's shapes, both of them, or in Anthropic's: whole, or
 * event by event.
 * Pure: time and pace are the caller's.
 *
 *   round 1   choice 0: role      choice 1: role      …     a round is one event of every choice
 *   round 2   choice 0: token     choice 1: token     …     that is still speaking
 *   …
 *   last      usage, where it was asked for
 *
 * `model` and `system_fingerprint` are "weir-demo" whatever name was asked for.
 */
struct weir_demo_choice {
    struct weir_slice reasoning; /* what is not said yet */
    struct weir_slice text;
    struct weir_slice arguments;
    struct weir_slice thought; /* all of its reasoning … */
    struct weir_slice whole;   /* … and of its text, or arguments */
    size_t n_tokens;           /* in all */
    const char *finish_reason;
    bool has_reasoning;
    bool is_begun;
    bool is_ended;
};

struct weir_demo_play {
    const struct weir_demo_ask *ask;
    char id[WEIR_TRACE_ID_BYTES + 1];
    int64_t created_s;
    struct weir_demo_choice *choices; /* ask->n, in the arena */
    size_t completion_tokens;
    size_t at; /* the choice whose turn it is */
    size_t n_ended;
    bool has_usage_said;
    uint64_t n_said;  /* events of a response, so far */
    unsigned step;    /* of a message or response: how far it is … */
    bool has_stopped; /* … and whether its last token has had its pause */
};

enum weir_demo_next {
    WEIR_DEMO_EVENT, /* one was appended */
    WEIR_DEMO_ROUND, /* a round is over: time for a pause */
    WEIR_DEMO_END,   /* all is said */
};

/* `ask` is borrowed. A new id with each call; the rest is the same for the same ask. */
void weir_demo_play_init(struct weir_demo_play *p, const struct weir_demo_ask *ask,
                         struct weir_arena *arena, int64_t now_s);

/* Appends the JSON of the next event, where it answers EVENT. */
enum weir_demo_next weir_demo_play_next(struct weir_demo_play *p, struct weir_buf *out);

/* Appends the whole answer; instead of next, not after it. WEIR_ELIMIT: larger than out's
 * ceiling. */
int weir_demo_play_whole(const struct weir_demo_play *p, struct weir_buf *out);

/* The same of an ask in Messages (demo_message.c) and in Responses (demo_response.c); the two above
 * call them. */
enum weir_demo_next weir_demo_message_next(struct weir_demo_play *p, struct weir_buf *out);
int weir_demo_message_whole(const struct weir_demo_play *p, struct weir_buf *out);
enum weir_demo_next weir_demo_response_next(struct weir_demo_play *p, struct weir_buf *out);
int weir_demo_response_whole(const struct weir_demo_play *p, struct weir_buf *out);

/* Appends the answer to GET /v1/models. */
void weir_demo_play_models(struct weir_buf *out);

#endif
