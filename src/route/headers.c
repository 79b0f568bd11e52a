#include "route/headers.h"

#include "base/assert.h"
#include "obs/trace.h"

enum { MAX_ID_BYTES = 128 };

static bool is_visible_ascii(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~') {
            return false;
        }
    }
    return s.n != 0;
}

struct weir_slice weir_headers_request_id(struct weir_http_stream *s)
{
    struct weir_slice theirs = weir_http_request_get(&s->req, WEIR_SLICE("x-request-id"));
    if (theirs.p != NULL && theirs.n <= MAX_ID_BYTES && is_visible_ascii(theirs)) {
        return weir_arena_dup(&s->arena, theirs);
    }
    char *id = weir_arena_alloc(&s->arena, WEIR_TRACE_ID_BYTES + 1);
    weir_trace_request_id(id);
    return weir_slice_make(id, WEIR_TRACE_ID_BYTES);
}

void weir_headers_add(struct weir_http_stream *s, struct weir_slice name, struct weir_slice value)
{
    WEIR_ASSERT(s->n_extra < WEIR_REQUEST_FIELDS);
    weir_request_of(s)->fields[s->n_extra++] = (struct weir_http_field){name, value};
}

void weir_headers_begin(struct weir_http_stream *s, struct weir_http_field *fields,
                        struct weir_slice request_id)
{
    fields[0] = (struct weir_http_field){WEIR_SLICE("x-request-id"), request_id};
    s->extra = fields;
    s->n_extra = 1;
}

void weir_headers_set_route(struct weir_http_stream *s, const struct weir_guarded *guarded)
{
    for (size_t i = 0; i < guarded->n_fields; i++) {
        weir_headers_add(s, guarded->fields[i].name, guarded->fields[i].value);
    }
}

void weir_headers_set_action(struct weir_http_stream *s)
{
    const struct weir_request *r = weir_request_of(s);
    if (r->seen != NULL && r->model.n != 0) {
        const char *action = weir_policy_outcome_name(weir_seen_action(r->seen));
        weir_headers_add(s, WEIR_SLICE("x-weir-action"), weir_slice_cstr(action));
    }
}
