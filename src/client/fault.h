#ifndef WEIR_CLIENT_FAULT_H
#define WEIR_CLIENT_FAULT_H

#include "base/arena.h"
#include "base/slice.h"

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
    WEIR_FAULT_LIMIT,    /* no service: a limit of ours, named in `message`, `status` set */
    WEIR_FAULT_INTERNAL, /* no service: a fault of this program */
};

struct weir_fault {
    enum weir_fault_origin origin;
    struct weir_slice id; /* the configured id of the detector or chunker, or the model's id */
    int err;              /* a WEIR_ code: WEIR_EPEER for nonsense, WEIR_ETIMEOUT, … */
    int status;           /* what the service answered, as an HTTP status; 0: nothing usable */
    bool is_unreached;    /* no connection could be made (set for gRPC services only) */
    /* The service's own words, clean (weir_fault_message): callers see them with the statuses that
     * are passed on (docs/api/endpoints.md, Errors). Empty: none. */
    struct weir_slice message;
    /* For the log only: may name addresses and times. */
    struct weir_slice why;
};

enum { WEIR_FAULT_MESSAGE_BYTES = 1024 };

/* A service's message as it may be shown: valid UTF-8, no control characters, cut at 1 KiB. */
struct weir_slice weir_fault_message(struct weir_arena *arena, struct weir_slice message);

/* "detector", "chunker", "generate", "chat completion", "completion", "tokenize". */
const char *weir_fault_origin_name(enum weir_fault_origin origin);

/* A copy whose slices live in the arena. */
struct weir_fault weir_fault_dup(struct weir_arena *arena, const struct weir_fault *fault);

/* The same, itself in the arena. */
const struct weir_fault *weir_fault_keep(struct weir_arena *arena, const struct weir_fault *fault);

#endif
