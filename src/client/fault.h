#ifndef WEIR_CLIENT_FAULT_H
#define WEIR_CLIENT_FAULT_H

#include "base/arena.h"
#include "base/slice.h"
#include "http/msg.h"

#include <stdbool.h>

/*
 * Why a service could not do its part: which one it was and what it answered. Made by the caller of
 * the service, carried by the task (the first one wins), turned into an answer in route/reply.c
 * alone.
 */
enum weir_fault_origin {
    WEIR_FAULT_NONE,
    WEIR_FAULT_DETECTOR,
    WEIR_FAULT_CHUNKER,
    WEIR_FAULT_GENERATE,
    WEIR_FAULT_CHAT_COMPLETION,
    WEIR_FAULT_COMPLETION,
    WEIR_FAULT_TOKENIZE,
    WEIR_FAULT_VECTORS,  /* embeddings, rerank, score, counts of tokens */
    WEIR_FAULT_LIMIT,    /* no service: a limit of ours, named in `message`, `status` set */
    WEIR_FAULT_REQUEST,  /* no service: what the caller sent, told in `message`, `status` set */
    WEIR_FAULT_INTERNAL, /* no service: a fault of this program */
};

struct weir_fault {
    enum weir_fault_origin origin;
    struct weir_slice id; /* the configured id of the detector or chunker, or the model's id */
    int err;              /* a WEIR_ code: WEIR_EPEER for nonsense, WEIR_ETIMEOUT, … */
    int status;           /* what the service answered, as an HTTP status; 0: nothing usable */
    bool is_unreached;    /* no connection could be made (gRPC services and OpenAI's) */
    bool is_key_refused;  /* an OpenAI server's 401 for a key that is not the caller's own */
    bool has_begun;       /* a part of an answer (status 200) that is not streamed had come */
    struct weir_slice provider; /* a model server among several: its name; else empty */
    uint64_t retry_after_ms;    /* what a model server asked for; 0: nothing, or too long */
    /* The service's own words, clean (weir_fault_message): callers see them with the statuses that
     * are passed on (docs/api/endpoints.md, Errors). Empty: none. */
    struct weir_slice message;
    /* Of an OpenAI server's error object, as JSON, where they have the form of names: `code` (also
     * a small number) and `param`. Empty: none. */
    struct weir_slice code;
    struct weir_slice param;
    /* Of its answer: when to come again, and how much is left (weir_fault_take_fields). */
    const struct weir_http_field *fields;
    size_t n_fields;
    /* For the log only: may name addresses and times. */
    struct weir_slice why;
};

enum { WEIR_FAULT_MESSAGE_BYTES = 1024 };

/* A service's message as it may be shown: valid UTF-8, no control characters, cut at 1 KiB. */
struct weir_slice weir_fault_message(struct weir_arena *arena, struct weir_slice message);

enum { WEIR_FAULT_MAX_FIELDS = 16, WEIR_FAULT_FIELD_BYTES = 64 };

/* Copies what callers of routes see of a model server's header: `retry-after` and `x-ratelimit-…`,
 * short and of plain words and numbers; the rest is left out. */
void weir_fault_take_fields(struct weir_fault *fault, struct weir_arena *arena,
                            const struct weir_http_field *fields, size_t n_fields);

/* "detector", "chunker", "generate", "chat completion", "completion", "tokenize", "vectors". */
const char *weir_fault_origin_name(enum weir_fault_origin origin);

/* A copy whose slices live in the arena. */
struct weir_fault weir_fault_dup(struct weir_arena *arena, const struct weir_fault *fault);

/* The same, itself in the arena. */
const struct weir_fault *weir_fault_keep(struct weir_arena *arena, const struct weir_fault *fault);

#endif
