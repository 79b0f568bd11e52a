#ifndef WEIR_TESTS_FUZZ_STREAM_DIALECTS_H
#define WEIR_TESTS_FUZZ_STREAM_DIALECTS_H

/*
 * The dialects, by endpoint. A new one is one more row.
 */
#include "fuzz/stream_heard.h"
#include "fuzz/stream_rows_heard.h"

/* An event of chat completions or completions. */
static inline void choices_say(struct talk *t, const struct say *s)
{
    say_begin(t);
    say_choice(t, s);
    say_end(t, s->has_usage);
}

/* A frame of a generation server, a line of the caller's. */
static inline void line_say(struct talk *t, const struct say *s)
{
    size_t n = t->n_said[0];
    size_t before = t->wire.n;
    weir_buf_append(&t->wire, WEIR_SLICE("data: "));
    say_piece(t, 0, s->piece, false);
    weir_buf_append(&t->wire, WEIR_SLICE("\n\n"));
    if (t->n_said[0] == n) {
        t->wire.n = before;
    }
}

static inline void message_say_halves(struct talk *t, size_t choice)
{
    (void)choice;
    row_say_halves(t, message_say);
}

static inline void response_say_halves(struct talk *t, size_t choice)
{
    (void)choice;
    row_say_halves(t, response_say);
}

#define CHAT_DIALECT                                                                               \
    {                                                                                              \
        .walk = &weir_walk_chat,                                                                   \
        .ask_begin = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":",             \
        .ask_end = "}]}", .say = choices_say, .say_halves = say_halves, .say_whole = say_whole,    \
        .hear = hear_completion, .nonsense = {                                                     \
            "data: {\"choices\":3}\n\n",                                                           \
            "data: {\"choices\":[3]}\n\n"                                                          \
        }                                                                                          \
    }
#define TEXT_DIALECT                                                                               \
    {                                                                                              \
        .walk = &weir_walk_completions,                                                            \
        .ask_begin = "{\"model\":\"m\",\"prompt\":", .ask_end = "}", .say = choices_say,           \
        .say_halves = say_halves, .say_whole = say_whole, .hear = hear_completion, .nonsense = {   \
            "data: {\"choices\":3}\n\n",                                                           \
            "data: {\"choices\":[{\"index\":\"a\"}]}\n\n"                                          \
        }                                                                                          \
    }

static const struct dialect DIALECTS[] = {
    [CHAT_API] = CHAT_DIALECT,
    [TEXT_API] = TEXT_DIALECT,
    [CHAT_ROUTE] = CHAT_DIALECT,
    [TEXT_ROUTE] = TEXT_DIALECT,
    [MESSAGES_ROUTE] = {.walk = &weir_walk_messages,
                        .ask_begin =
                            "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":",
                        .ask_end = "}]}",
                        .stream = &weir_stream_messages,
                        .say = message_say,
                        .say_halves = message_say_halves,
                        .say_end = message_say_end,
                        .say_whole = message_whole,
                        .hear = message_hear,
                        .nonsense = {"data: {\"type\":\"content_block_delta\",\"index\":9,"
                                     "\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n",
                                     "data: {\"type\":\"content_block_start\",\"index\":9}\n\n"}},
    [RESPONSES_ROUTE] = {.walk = &weir_walk_responses,
                         .ask_begin = "{\"model\":\"m\",\"input\":",
                         .ask_end = "}",
                         .stream = &weir_stream_responses,
                         .say = response_say,
                         .say_halves = response_say_halves,
                         .say_end = response_say_end,
                         .say_whole = response_whole,
                         .hear = response_hear,
                         .nonsense = {"data: {\"type\":\"response.output_text.delta\","
                                      "\"delta\":\"x\"}\n\n",
                                      "data: {\"type\":\"response.output_item.added\","
                                      "\"output_index\":\"x\"}\n\n"}},
    [GENERATION] = {.say = line_say, .hear = hear_generated},
    [CONTENTS] = {.say = line_say, .hear = hear_contents},
};

#endif
