#ifndef WEIR_MOCK_SERVER_H
#define WEIR_MOCK_SERVER_H

#include "base/map.h"
#include "http/endpoint.h"
#include "http/stream.h"
#include "io/listener.h"
#include "io/loop.h"
#include "mock/mock_settings.h"
#include "mock/mock_text.h"
#include "obs/log.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The process of `weir-mock`: workers that share a port, each with its own loop, and what a request
 * needs to know. All roles are served on the one port, told apart by path.
 */
struct weir_mock_patterns;

struct weir_mock_server {
    struct weir_mock_settings defaults; /* from the flags; `text` is set */
    struct weir_mock_text text;         /* the same, cut */
    const char *host;
    uint16_t port; /* 0 picks one */
    unsigned n_workers;
    uint64_t seed;
    bool has_seed; /* chosen by the user: answers are the same on every run */
    /* The rest is the server's own. */
    struct weir_mock_worker *workers;
    pthread_mutex_t lock;
    struct weir_map failures; /* of fail_first: key to how often it has failed */
    struct weir_map stored;   /* responses that can be asked for again; mock_stored.c */
};

struct weir_mock_worker {
    struct weir_mock_server *server;
    struct weir_loop loop;
    struct weir_listener listener;
    struct weir_http_endpoint endpoint;
    struct weir_mock_patterns *patterns; /* compiled ones; mock_patterns.c */
    pthread_t thread;
    unsigned index;
    uint64_t n_requests;
    bool is_open;
    bool is_running;
};

enum { WEIR_MOCK_ID_BYTES = 24 };

/* One request: s->service_ctx. Lives in the stream's arena. */
struct weir_mock_request {
    struct weir_mock_worker *worker;
    struct weir_mock_settings set; /* the defaults, then header and body */
    struct weir_log_ctx log;
    char id[WEIR_MOCK_ID_BYTES + 1]; /* unique; the end of an answer's `id`, request_id in logs */
    uint64_t random_state;
    uint64_t n_events;          /* sent so far */
    bool was_cut;               /* by us */
    struct weir_slice provider; /* of /providers/NAME; or empty */
};

static inline struct weir_mock_request *weir_mock_request_of(const struct weir_http_stream *s)
{
    return s->service_ctx;
}

/* The next of the request's own random numbers, the same for the same seed. */
uint64_t weir_mock_request_random(struct weir_mock_request *r);

/* Seconds since 1970 for `created`; the same on every run where the seed was chosen. */
int64_t weir_mock_request_created(const struct weir_mock_request *r);

/* Runs until a signal. The exit status. */
int weir_mock_server_run(struct weir_mock_server *sv);

#endif
