#ifndef WEIR_CLIENT_PROBE_H
#define WEIR_CLIENT_PROBE_H

#include "base/arena.h"
#include "base/slice.h"
#include "client/target.h"
#include "http/msg.h"
#include "io/loop.h"

/*
 * Is a service well? One question, one short answer.
 *
 *   weir_probe_http   GET /health: 200 with {"status","reason"} is believed, any other 2xx is
 *                     healthy, 5xx unhealthy, all else unknown
 *   weir_probe_models a model server's list of models: 2xx is healthy, 5xx, 401 and 403 (our key
 *                     does not open it) are unhealthy, all else is unknown
 *   weir_probe_grpc   grpc.health.v1.Health/Check; NotFound and InvalidArgument are healthy, too:
 *                     the server is there and only does not know the empty name
 *   weir_probe_tgis   fmaas.GenerationService/ModelInfo, with the same indulgence
 *
 * A service that cannot be reached, or does not answer in time (its request_timeout, 10 s at most),
 * is unhealthy. A new kind is one more `const struct weir_probe_kind`.
 */
enum weir_probe_health {
    WEIR_PROBE_UNKNOWN,
    WEIR_PROBE_HEALTHY,
    WEIR_PROBE_UNHEALTHY,
};

struct weir_probe_state {
    enum weir_probe_health health;
    int code;                 /* what it answered, as an HTTP status, where that is not 2xx; or 0 */
    struct weir_slice reason; /* clean and short; empty: not known. Never an address */
    const char *why; /* for operators only: may name addresses; NULL: the reason is all there is */
};

struct weir_probe;
struct weir_client;

struct weir_probe_kind {
    void (*start)(struct weir_probe *probe);
    void (*cancel)(struct weir_probe *probe);
};

extern const struct weir_probe_kind weir_probe_http;
extern const struct weir_probe_kind weir_probe_models;
extern const struct weir_probe_kind weir_probe_grpc;
extern const struct weir_probe_kind weir_probe_tgis;

/* A service whose health can be asked. */
struct weir_probe_service {
    struct weir_slice id; /* as /info names it */
    const struct weir_probe_kind *kind;
    const struct weir_target *target; /* the health service where there is one */
    /* weir_probe_models: what is asked, and how. */
    struct weir_slice path;
    const struct weir_http_field *fields;
    size_t n_fields;
    bool has_no_key; /* only callers have one: to be refused is as expected */
};

/* The state lives during the call; the probe is gone when it returns. */
typedef void (*weir_probe_done_fn)(void *ctx, const struct weir_probe_state *state);

/* Never answers from inside start. `service` is borrowed until the end. */
struct weir_probe *weir_probe_start(struct weir_loop *loop, struct weir_client *client,
                                    const struct weir_probe_service *service,
                                    weir_probe_done_fn on_done, void *ctx);

/* Before on_done: then it does not come any more. */
void weir_probe_cancel(struct weir_probe *probe);

/* "HEALTHY", "UNHEALTHY", "UNKNOWN". */
const char *weir_probe_health_name(enum weir_probe_health health);

/* What an HTTP answer means; the reason lives in the arena. */
struct weir_probe_state weir_probe_read_http(int status, struct weir_slice body,
                                             struct weir_arena *arena);

#endif
