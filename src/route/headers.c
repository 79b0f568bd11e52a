#include "route/headers.h"

#include "base/assert.h"
#include "obs/trace.h"
#include "wire/url.h"

enum { MAX_ID_BYTES = 128, MAX_MODEL_BYTES = 256 };

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

void weir_headers_replace(struct weir_http_stream *s, struct weir_slice name,
                          struct weir_slice value)
{
    struct weir_http_field *fields = weir_request_of(s)->fields;
    for (size_t i = 0; i < s->n_extra; i++) {
        if (weir_slice_eq(fields[i].name, name)) {
            fields[i].value = value;
        }
    }
}

void weir_headers_begin(struct weir_http_stream *s, struct weir_http_field *fields,
                        struct weir_slice request_id)
{
    fields[0] = (struct weir_http_field){WEIR_SLICE("x-request-id"), request_id};
    s->extra = fields;
    s->n_extra = 1;
}

struct weir_slice weir_headers_said_id(const struct weir_http_stream *s)
{
    return s->n_extra != 0 ? s->extra[0].value : WEIR_SLICE("");
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

/* A name comes from the caller's body and may be anything; in a header it is escaped where it has
 * to be. */
static void append_name(struct weir_buf *out, struct weir_slice name)
{
    size_t n = name.n < MAX_MODEL_BYTES ? name.n : MAX_MODEL_BYTES;
    for (size_t i = 0; i < n; i++) {
        struct weir_slice one = weir_slice_sub(name, i, i + 1);
        bool is_visible = name.p[i] > ' ' && name.p[i] <= '~' && name.p[i] != '%';
        if (is_visible) {
            weir_buf_append(out, one);
        } else {
            weir_url_append_escaped(out, one);
        }
    }
}

void weir_headers_set_model(struct weir_http_stream *s)
{
    struct weir_request *r = weir_request_of(s);
    const struct weir_model_report *report = &r->model_report;
    struct weir_buf model = {0};
    if (r->guarded == NULL || report->provider.n == 0 || r->has_model_fields) {
        return;
    }
    r->has_model_fields = true;
    weir_buf_append(&model, report->provider);
    weir_buf_append(&model, report->model.n != 0 ? WEIR_SLICE("/") : WEIR_SLICE(""));
    append_name(&model, report->model);
    const char *attempts = weir_arena_printf(&s->arena, "%u", report->n_attempts);
    weir_headers_add(s, WEIR_SLICE("x-weir-model"),
                     weir_arena_dup(&s->arena, weir_buf_slice(&model)));
    weir_headers_add(s, WEIR_SLICE("x-weir-attempts"), weir_slice_cstr(attempts));
    weir_buf_dispose(&model);
}
