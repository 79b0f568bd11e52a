#ifndef WEIR_DETECT_REMOTE_H
#define WEIR_DETECT_REMOTE_H

#include "client/breaker.h"
#include "client/target.h"
#include "detect/desk.h"
#include "detect/detect.h"
#include "detect/protocol.h"

/*
 * A detector that is a service, asked by one of the protocols of detect/protocol.h. What it answers
 * is checked: the number of lists, places inside their text, scores that are numbers. Nonsense is a
 * fault that names the detector, never a silent pass.
 *
 * A call about more texts than a request may have is several requests, a few at a time; the first
 * that fails fails the call.
 *
 * A service that cannot be reached, is late, answers 429 or 5xx five times in a row rests
 * (client/breaker.h): until it was tried again calls fail at once. What a single text can provoke,
 * a refusal or nonsense, does not count.
 */
struct weir_detect_remote {
    struct weir_detector base;
    const struct weir_target *target;
    const struct weir_protocol *protocol;
    struct weir_protocol_options options;
    size_t max_texts; /* of one request; 0: any number */
    struct weir_desk_options batch;
    struct weir_breaker *breaker; /* the process's; NULL: it is always asked */
};

/* Speaks `fms`. All is borrowed. */
void weir_detect_remote_init(struct weir_detect_remote *r, struct weir_slice id,
                             enum weir_detect_type type, const struct weir_target *target);
/* Another protocol than fms. */
void weir_detect_remote_set(struct weir_detect_remote *r, const struct weir_protocol *protocol,
                            const struct weir_protocol_options *options);
/* Texts of different requests go together from now on; max_items is also how many texts a request
 * has at most. `send` is set here. */
void weir_detect_remote_batch(struct weir_detect_remote *r, const struct weir_desk_options *batch);

/* May the service be asked now, for the request that `env` is of? */
bool weir_detect_let_in(struct weir_breaker *b, const struct weir_detect_env *env);

#endif
