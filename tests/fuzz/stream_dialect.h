#ifndef WEIR_TESTS_FUZZ_STREAM_DIALECT_H
#define WEIR_TESTS_FUZZ_STREAM_DIALECT_H

/*
 * How a kind of answer is asked for, said and heard. The table is in stream_dialects.h.
 */
#include "fuzz/stream_say.h"
#include "route/stream_dialect.h"
#include "talk/walk.h"
#include "wire/json.h"

struct dialect {
    const struct weir_walk_dialect *walk; /* of requests; NULL: not on routes */
    const char *ask_begin;                /* a request, around what is asked as a string */
    const char *ask_end;
    const struct weir_stream_dialect *stream; /* of events as they leave; NULL: OpenAI's chunks */
    void (*say)(struct talk *t, const struct say *s);
    void (*say_halves)(struct talk *t, size_t choice); /* of one character */
    void (*say_end)(struct talk *t); /* what stands at the end of a stream; NULL: nothing */
    void (*say_whole)(struct talk *t, struct weir_buf *out);
    void (*hear)(struct talk *t, const struct weir_json *json);
    const char *nonsense[2]; /* events that no server may say */
};

#endif
