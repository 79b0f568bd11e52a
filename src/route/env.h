#ifndef WEIR_ROUTE_ENV_H
#define WEIR_ROUTE_ENV_H

#include "client/probe.h"
#include "conf/conf.h"
#include "http/endpoint.h"
#include "http/stream.h"
#include "io/tls.h"
#include "obs/log.h"
#include "task/env.h"
#include "task/plan.h"
#include "task/policy.h"
#include "task/seen.h"

#include <stdatomic.h>

/*
 * One configuration and everything made from it: what a request needs to know of the world. Built
 * by the server, then const, shared by reference. A request keeps the one it began with, so a
 * reload never changes a rule in the middle of an answer.
 */
enum {
    WEIR_GUARDED_FIELDS = 3,
    WEIR_REQUEST_FIELDS = WEIR_GUARDED_FIELDS + 8, /* and x-request-id, request-id, x-weir-action,
                                                      x-weir-model, x-weir-attempts, cors */
};

/* A route of the configuration, ready for use. */
struct weir_guarded {
    const struct weir_conf_route *conf;
    struct weir_policy policy;
    struct weir_plan input;
    struct weir_plan output;
    struct weir_plan shadow_input; /* those that only watch: task/shadow.h */
    struct weir_plan shadow_output;
    struct weir_fleet_scope models; /* that it may use */
    struct weir_slice holes;        /* what it leaves open, as weir_holes_of says */
    struct weir_http_field fields[WEIR_GUARDED_FIELDS]; /* of every answer: x-weir-route, … */
    struct weir_slice guards_question; /* x-weir-guarded where answers are not looked at */
    size_t n_fields;
};

struct weir_auth_state;
struct weir_shadows;
struct weir_audit_note;

struct weir_env {
    atomic_int refs;
    struct weir_conf *conf;
    struct weir_http_limits http;
    struct weir_tls *tls;               /* of the API listener; NULL: plain */
    struct weir_task_env tasks;         /* detectors, chunkers and models, and what bounds them */
    struct weir_task_env route_tasks;   /* the same for routes, where compat does not reach */
    const struct weir_guarded *guarded; /* as conf->routes */
    struct weir_auth_state *const *key_states; /* as conf->auth.keys; NULL: without limits */
    const struct weir_probe_service *services; /* all that is remote, as /info names it */
    size_t n_services;
    bool is_local_only;      /* embedded configuration, no key, loopback: see weir_auth_is_local */
    bool has_demo_model;     /* tasks.openai is the demonstration model, not a service */
    struct weir_arena arena; /* of what the server made from `conf`; borrows from it */
};

struct weir_stream_summary; /* route/stream_stats.h */

struct weir_env *weir_env_ref(struct weir_env *env);
void weir_env_unref(struct weir_env *env); /* NULL is fine */

/* A request on the API port: s->service_ctx. Lives in the stream's arena. */
struct weir_request {
    struct weir_env *env; /* a reference */
    struct weir_log_ctx log;
    struct weir_http_field fields[WEIR_REQUEST_FIELDS]; /* of its answer: route/headers.h */
    const struct weir_guarded *guarded;    /* the route it came in by; NULL: under /api */
    struct weir_task_ctx task;             /* of this request: worker, headers to pass on, arena */
    const struct weir_conf_caller *key;    /* the caller's; NULL: it needed none */
    struct weir_slice model;               /* on routes, once it is known; the caller's word */
    struct weir_seen *seen;                /* on routes: what became of it */
    struct weir_mask *map;                 /* on routes that mask, once it was asked for */
    struct weir_call_times model_times;    /* on routes: when its answer came */
    struct weir_audit_note *audit;         /* on routes with an audit log: route/audit_note.h */
    struct weir_shadows *shadows;          /* the worker's: task/shadow.h */
    struct weir_model_report model_report; /* which server was asked */
    bool has_model_fields;                 /* and the answer's head says so */

    /* For its span, where traces are kept. */
    const char *pattern; /* the endpoint's path in the table; NULL: there is none */
    uint64_t started_ns; /* uv_hrtime */
    uint8_t parent_id[8];
    bool has_parent;                          /* a trusted caller's span */
    const struct weir_stream_summary *stream; /* of an answer that was one; NULL: it was none */
};

static inline struct weir_request *weir_request_of(const struct weir_http_stream *s)
{
    return s->service_ctx;
}

#endif
