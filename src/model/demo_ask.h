#ifndef WEIR_MODEL_DEMO_ASK_H
#define WEIR_MODEL_DEMO_ASK_H

#include "base/arena.h"
#include "model/demo_answer.h"
#include "model/model.h"

/*
 * What a request wants of the demonstration model. Read are `messages` or `prompt`, `n`,
 * `max_completion_tokens` or `max_tokens`, `stop`, `stream_options.include_usage`, `tools` with
 * `tool_choice`, and `response_format`; of Messages `stop_sequences` and `output_config.format` in
 * their place; of Responses `input`, `max_output_tokens` and `text.format`. Other members are
 * ignored, as servers do.
 */
enum { WEIR_DEMO_MAX_CHOICES = 128, WEIR_DEMO_MAX_STOPS = 16 };

struct weir_demo_ask {
    bool is_chat;      /* also in Messages and Responses */
    bool is_messages;  /* Anthropic's */
    bool is_responses; /* OpenAI's */
    bool wants_usage;
    size_t n;             /* choices */
    uint64_t max_tokens;  /* of each */
    size_t prompt_tokens; /* as TOKENIZE counts them */
    const struct weir_demo_answer *answer;
    struct weir_slice tool_name; /* JSON, quoted; with it the answer is a call of this tool */
    struct weir_slice json_text; /* tool_name's arguments, or what is said in place of the answer */
    struct weir_slice stops[WEIR_DEMO_MAX_STOPS];
    size_t n_stops;
};

/*
 * Reads the body of a CHAT, COMPLETION, MESSAGES or RESPONSES request. 0, or WEIR_EINVAL with the
 * caller's mistake in `*why`, in words for the caller. What the ask holds lives in the arena.
 */
int weir_demo_ask_read(struct weir_demo_ask *ask, const struct weir_model_request *request,
                       struct weir_arena *arena, const char **why);

#endif
