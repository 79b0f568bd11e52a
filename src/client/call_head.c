/*
 * The request as it goes out: what the owner of the call gave, what the caller of the gateway
 * passed through, and what is said to every service. No field goes out twice:
 *
 *   authorization    the service's token, else the owner's, else passed through
 *   any other        the owner's, else passed through, else ours
 */
#include "client/client_int.h"

#include "base/err.h"
#include "obs/trace.h"
#include "wire/http1.h"

#define AUTHORIZATION WEIR_SLICE("authorization")

enum { N_OWN_FIELDS = 5 }; /* authorization, te, user-agent, x-request-id, traceparent */

struct head {
    struct weir_arena *arena;
    struct weir_http_field *fields;
    size_t n;
};

static bool has(const struct head *h, struct weir_slice name)
{
    return weir_http_field_get(h->fields, h->n, name).p != NULL;
}

static void add(struct head *h, struct weir_slice name, struct weir_slice value)
{
    h->fields[h->n++] = (struct weir_http_field){name, value};
}

static void add_new(struct head *h, struct weir_slice name, struct weir_slice value)
{
    if (!has(h, name)) {
        add(h, name, value);
    }
}

/* Of one hop, about a body that is ours, or set by us: never passed through. */
static bool is_reserved(struct weir_slice name)
{
    static const struct weir_slice RESERVED[] = {
        {"host", 4},
        {"connection", 10},
        {"content-length", 14},
        {"keep-alive", 10},
        {"te", 2},
        {"content-type", 12},
        {"trailer", 7},
        {"transfer-encoding", 17},
        {"content-encoding", 16},
        {"upgrade", 7},
        {"accept-encoding", 15},
        {"proxy-connection", 16},
        {"expect", 6},
        {"traceparent", 11},
        {"proxy-authorization", 19},
        {"http2-settings", 14},
        {"x-request-id", 12},
    };
    for (size_t i = 0; i < sizeof RESERVED / sizeof RESERVED[0]; i++) {
        if (weir_slice_eq_nocase(name, RESERVED[i])) {
            return true;
        }
    }
    return false;
}

/* Who the caller is towards somebody. */
static bool is_credential(struct weir_slice name)
{
    static const struct weir_slice CREDENTIALS[] = {
        {"authorization", 13},  {"x-api-key", 9}, {"api-key", 7},
        {"x-goog-api-key", 14}, {"cookie", 6},    {"x-forwarded-access-token", 24},
    };
    for (size_t i = 0; i < sizeof CREDENTIALS / sizeof CREDENTIALS[0]; i++) {
        if (weir_slice_eq_nocase(name, CREDENTIALS[i])) {
            return true;
        }
    }
    return false;
}

/* HTTP/2 wants lower case, and the caller may have spoken HTTP/1. */
static struct weir_slice lower(struct weir_arena *arena, struct weir_slice name)
{
    size_t i = 0;
    while (i < name.n && !(name.p[i] >= 'A' && name.p[i] <= 'Z')) {
        i++;
    }
    if (i == name.n) {
        return name;
    }
    char *copy = weir_arena_alloc(arena, name.n);
    for (i = 0; i < name.n; i++) {
        char c = name.p[i];
        copy[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    return weir_slice_make(copy, name.n);
}

static void add_passthrough(struct head *h, const struct weir_call_request *request)
{
    const struct weir_call_context *context = request->context;
    for (size_t i = 0; i < context->n_passthrough; i++) {
        const struct weir_http_field *f = &context->passthrough[i];
        bool is_kept_back = request->keeps_credentials_back && is_credential(f->name);
        if (!is_reserved(f->name) && !is_kept_back) {
            add_new(h, lower(h->arena, f->name), f->value);
        }
    }
}

static void add_token(struct head *h, struct weir_slice token)
{
    static const struct weir_slice BEARER = {"Bearer ", 7};
    char *value = weir_arena_alloc(h->arena, BEARER.n + token.n);
    memcpy(value, BEARER.p, BEARER.n);
    memcpy(value + BEARER.n, token.p, token.n);
    add(h, AUTHORIZATION, weir_slice_make(value, BEARER.n + token.n));
}

/* Every call is a span of its own. */
static void add_trace(struct head *h, struct weir_call *call)
{
    const struct weir_call_context *context = call->request.context;
    if (context != NULL && context->log != NULL && weir_trace_is_set(&context->log->trace)) {
        weir_trace_child(&context->log->trace, &call->trace);
        memcpy(call->parent_id, context->log->trace.span_id, sizeof call->parent_id);
    } else {
        weir_trace_start(&call->trace, false);
    }
    weir_trace_format(&call->trace, call->trace_parent);
    add_new(h, WEIR_SLICE("traceparent"),
            weir_slice_make(call->trace_parent, WEIR_TRACE_PARENT_BYTES));
}

/* By it a service's log lines are found that belong to one of ours. */
static void add_request_id(struct head *h, const struct weir_call_context *context)
{
    bool has_id = context != NULL && context->log != NULL && context->log->request_id.n != 0;
    if (has_id) {
        add_new(h, WEIR_SLICE("x-request-id"), context->log->request_id);
    }
}

static struct weir_slice path_of(struct weir_call *call)
{
    struct weir_slice prefix = call->pool->target.path_prefix;
    struct weir_slice path = call->request.path;
    if (prefix.n == 0) {
        return path;
    }
    char *joined = weir_arena_alloc(&call->arena, prefix.n + path.n);
    memcpy(joined, prefix.p, prefix.n);
    memcpy(joined + prefix.n, path.p, path.n);
    return weir_slice_make(joined, prefix.n + path.n);
}

/* Nothing that was put together from ids and names may break out of its line. */
static bool is_sound(const struct head *h, struct weir_slice path)
{
    for (size_t i = 0; i < h->n; i++) {
        if (!weir_http1_is_token(h->fields[i].name) ||
            !weir_http1_is_field_value(h->fields[i].value)) {
            return false;
        }
    }
    for (size_t i = 0; i < path.n; i++) {
        if ((unsigned char)path.p[i] <= ' ' || path.p[i] == 0x7f) {
            return false;
        }
    }
    return path.n != 0 && path.p[0] == '/';
}

int weir_call__build(struct weir_call *call)
{
    const struct weir_call_request *r = &call->request;
    const struct weir_target *target = &call->pool->target;
    size_t n_passthrough = r->context != NULL ? r->context->n_passthrough : 0;
    struct head h = {.arena = &call->arena};
    size_t max = r->n_fields + n_passthrough + N_OWN_FIELDS;
    h.fields = weir_arena_alloc(h.arena, max * sizeof *h.fields);
    bool has_token = target->api_token.n != 0;
    if (has_token) {
        add_token(&h, target->api_token);
    }
    for (size_t i = 0; i < r->n_fields; i++) {
        if (!has_token || !weir_slice_eq(r->fields[i].name, AUTHORIZATION)) {
            add(&h, r->fields[i].name, r->fields[i].value);
        }
    }
    if (r->context != NULL) {
        add_passthrough(&h, r);
    }
    if (target->protocol == WEIR_TARGET_H2) {
        add_new(&h, WEIR_SLICE("te"), WEIR_SLICE("trailers"));
    }
    add_new(&h, WEIR_SLICE("user-agent"), WEIR_SLICE("weir/" WEIR_VERSION));
    add_request_id(&h, r->context);
    add_trace(&h, call);
    call->wire = (struct weir_http_up_request){
        .method = r->method,
        .authority = call->pool->authority,
        .path = path_of(call),
        .fields = h.fields,
        .n_fields = h.n,
        .body = r->body,
        .has_stream_body = r->has_stream_body,
    };
    return is_sound(&h, call->wire.path) ? 0 : WEIR_EINVAL;
}
