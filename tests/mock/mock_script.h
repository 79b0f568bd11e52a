#ifndef WEIR_MOCK_SCRIPT_H
#define WEIR_MOCK_SCRIPT_H

#include "base/buf.h"
#include "mock/mock_player.h"
#include "mock/mock_server.h"
#include "mock/mock_text.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a model says to one request, part by part. Each choice goes through its phases by itself; an
 * event is a part of one choice, or of several in the scenario `joined`.
 *
 *   ROLE ─► REASONING ─► CONTENT ─► REFUSAL ─► TOOLS ─► FINISH ─► AFTER ─► OVER
 *
 * Memory does not grow with the number of tokens: a part points at a token of the text.
 */
enum weir_mock_say {
    WEIR_MOCK_SAY_NOTHING, /* a finish_reason of its own */
    WEIR_MOCK_SAY_CONTENT,
    WEIR_MOCK_SAY_REASONING,
    WEIR_MOCK_SAY_REFUSAL,
    WEIR_MOCK_SAY_TOOL,      /* a call begins: id and name */
    WEIR_MOCK_SAY_ARGUMENTS, /* a fragment of its arguments */
};

struct weir_mock_part {
    uint32_t choice;
    enum weir_mock_say say;
    struct weir_mock_token token; /* but for SAY_NOTHING and SAY_TOOL */
    uint32_t tool;
    bool has_role;
    bool is_opening;          /* the role's own event */
    struct weir_slice finish; /* p == NULL: not yet */
    size_t at;                /* number of the token */
    size_t offset_cp;         /* in its choice's content, of a content token */
};

/* What the request asks for. */
struct weir_mock_ask {
    bool is_chat;      /* also in Messages and Responses */
    bool is_messages;  /* Anthropic's */
    bool is_responses; /* OpenAI's */
    bool is_stream;
    struct weir_slice model; /* as JSON */
    uint32_t n;              /* choices */
    bool wants_logprobs;
    uint32_t top_logprobs;
    bool wants_usage;
    bool wants_usage_each;
    uint32_t max_tokens; /* WEIR_MOCK_UNSET */
    size_t prompt_tokens;
    struct weir_slice last_text;   /* the last message, or the prompt */
    struct weir_slice *tool_names; /* as JSON; at least one */
    size_t n_tool_names;
    /* Responses: */
    const struct weir_json *body; /* the request, much of which is told back */
    bool is_stored;
    bool is_background;
    bool wants_obfuscation;
};

enum weir_mock_phase {
    WEIR_MOCK_PHASE_ROLE,
    WEIR_MOCK_PHASE_REASONING,
    WEIR_MOCK_PHASE_CONTENT,
    WEIR_MOCK_PHASE_REFUSAL,
    WEIR_MOCK_PHASE_TOOLS,
    WEIR_MOCK_PHASE_FINISH,
    WEIR_MOCK_PHASE_AFTER,
    WEIR_MOCK_PHASE_OVER,
};

struct weir_mock_choice {
    struct weir_mock_text text;
    size_t first;    /* token it begins with */
    size_t n_tokens; /* of content */
    struct weir_slice finish;
    enum weir_mock_phase phase;
    size_t at;        /* token of the phase */
    size_t offset_cp; /* content so far */
    uint32_t tool;
    bool has_role; /* it was told */
    /* A content event around its token, where all of them look alike; empty: they do not. */
    struct weir_slice before;
    struct weir_slice behind;
};

struct weir_mock_script {
    struct weir_mock_request *r;
    const struct weir_mock_settings *set;
    const struct weir_mock_ask *ask;
    struct weir_arena *arena;
    struct weir_mock_choice *choices;
    uint32_t n_open; /* choices that are not over */
    uint32_t turn;   /* whose turn it is */
    struct weir_mock_text reasoning;
    struct weir_mock_text refusal;
    struct weir_mock_text arguments;
    struct weir_slice head; /* {"id":…,"model":…, */
    struct weir_slice eol;
    uint64_t n_events;
    uint64_t n_said;       /* tokens, for usage */
    unsigned n_unfiltered; /* events since the last annotation */
    unsigned tail;         /* how far the events behind the choices are */
    bool has_begun;
    bool has_failed;
};

/*
 * Prepares it in the stream's arena: texts are cut, phases chosen. `ask` is borrowed. 0, or
 * WEIR_EINVAL with the mistake when `pieces` cannot be read.
 */
int weir_mock_script_init(struct weir_mock_script *sc, struct weir_http_stream *s,
                          const struct weir_mock_ask *ask, struct weir_mock_mistake *mistake);

/* The next part of a choice. False: it is over. */
bool weir_mock_script_next(struct weir_mock_script *sc, uint32_t choice,
                           struct weir_mock_part *part);

/* mock_stream.c: plays it as a stream of events; the setting `events` in its place, if given. */
void weir_mock_stream_start(struct weir_http_stream *s, struct weir_mock_script *sc);

/* mock_unary.c: the same in one body. 0, or WEIR_ELIMIT when it would be too large. */
int weir_mock_unary_write(struct weir_mock_script *sc, struct weir_buf *out);

/* mock_messages.c: both, in Anthropic's Messages. */
void weir_mock_messages_start(struct weir_http_stream *s, struct weir_mock_script *sc);
int weir_mock_messages_write(struct weir_mock_script *sc, struct weir_buf *out);

/*
 * mock_event.c: the text of events. `head` is everything up to the choices and must be made first.
 */
void weir_mock_event_make_head(struct weir_mock_script *sc, const char *object);
void weir_mock_event_parts(const struct weir_mock_script *sc, const struct weir_mock_part *parts,
                           size_t n, struct weir_buf *out);
/* An event with any data, [DONE] for one; `name` may be empty. */
void weir_mock_event_data(const struct weir_mock_script *sc, struct weir_slice name,
                          struct weir_slice data, struct weir_buf *out);
/* An event without choices that has this member: `"usage":{…}`. */
void weir_mock_event_extra(const struct weir_mock_script *sc, struct weir_slice member,
                           struct weir_buf *out);

/* Their parts, for unary answers too: JSON values. */
void weir_mock_event_usage(const struct weir_mock_script *sc, struct weir_buf *out);
void weir_mock_event_logprobs(const struct weir_mock_script *sc, const struct weir_mock_part *parts,
                              size_t n, struct weir_buf *out);
/* The entries of a list of a chat's logprobs. */
void weir_mock_event_logprob_list(const struct weir_mock_script *sc,
                                  const struct weir_mock_part *parts, size_t n,
                                  struct weir_buf *out);
void weir_mock_event_tool(const struct weir_mock_script *sc, const struct weir_mock_part *part,
                          struct weir_slice arguments, struct weir_buf *out);

/* Members, each with the comma before it: what Azure says of a choice; what nobody knows. */
extern const struct weir_slice weir_mock_event_filters;
extern const struct weir_slice weir_mock_event_unknown;

#endif
