#include "server/access_log.h"

#include "obs/log.h"
#include "route/env.h"

enum { MAX_FIELDS = 32 };

struct line {
    struct weir_log_field fields[MAX_FIELDS];
    size_t n;
    struct weir_buf found[WEIR_POLICY_SIDES];
    struct weir_buf skipped;
};

static void add(struct line *l, struct weir_log_field field)
{
    l->fields[l->n++] = field;
}

static void add_side(struct line *l, const struct weir_seen *seen, enum weir_policy_side side)
{
    static const char *const keys[WEIR_POLICY_SIDES] = {"input", "output"};
    static const char *const found_keys[WEIR_POLICY_SIDES] = {"input_found", "output_found"};
    if (!seen->has_outcome[side]) {
        return;
    }
    add(l, weir_log_cstr(keys[side], weir_policy_outcome_name(seen->outcome[side])));
    weir_seen_write_detectors(seen, side, &l->found[side]);
    if (l->found[side].n != 0) {
        add(l, weir_log_str(found_keys[side], weir_buf_slice(&l->found[side])));
    }
}

/* The longer of two waits: of the answer's first piece, and of its last, from when the model server
 * had said it until it could leave. */
static uint64_t held_ms(const struct weir_http_stream *s, const struct weir_call_times *model)
{
    uint64_t first = s->head_ms > model->first_ms ? s->head_ms - model->first_ms : 0;
    uint64_t last = s->end_ms > model->last_ms ? s->end_ms - model->last_ms : 0;
    return first > last ? first : last;
}

static void add_route(struct line *l, const struct weir_http_stream *s)
{
    const struct weir_request *r = weir_request_of(s);
    if (r->seen == NULL) {
        return;
    }
    add(l, weir_log_str("route", r->seen->route));
    add_side(l, r->seen, WEIR_POLICY_INPUT);
    add_side(l, r->seen, WEIR_POLICY_OUTPUT);
    weir_skips_write_ids(&r->task.skips, &l->skipped);
    if (l->skipped.n != 0) {
        add(l, weir_log_str("skipped", weir_buf_slice(&l->skipped)));
    }
    if (weir_seen_is_model_name(r->model)) {
        add(l, weir_log_str("model", r->model));
    }
    if (r->seen->has_usage) {
        add(l, weir_log_u64("input_tokens", r->seen->input_tokens));
        add(l, weir_log_u64("output_tokens", r->seen->output_tokens));
    }
    if (r->model_times.first_ms != 0) {
        add(l, weir_log_u64("held_ms", held_ms(s, &r->model_times)));
    }
}

/* Which server was asked, and by which name it knows the model where that is another. */
static void add_model(struct line *l, const struct weir_request *r)
{
    const struct weir_model_report *m = &r->model_report;
    if (m->provider.n == 0) {
        return;
    }
    add(l, weir_log_str("provider", m->provider));
    if (weir_seen_is_model_name(m->model) && !weir_slice_eq(m->model, r->model)) {
        add(l, weir_log_str("provider_model", m->model));
    }
    add(l, weir_log_u64("attempts", m->n_attempts));
}

void weir_access_log_write(const struct weir_http_stream *s, uint64_t now_ms)
{
    const struct weir_request *r = weir_request_of(s);
    bool is_cut = s->is_gone && !s->response_ended;
    struct line l = {0};
    if (!weir_log_is_on(WEIR_LOG_LEVEL_INFO)) {
        return;
    }
    add(&l, weir_log_cstr(NULL, is_cut ? "caller gone" : "request"));
    add(&l, weir_log_str("method", s->req.method_name));
    add(&l, weir_log_str("path", s->req.path));
    add(&l, weir_log_i64("status", s->status));
    add(&l, weir_log_u64("took_ms", now_ms - s->started_ms));
    if (s->status != 0) {
        add(&l, weir_log_u64("first_byte_ms", s->head_ms - s->started_ms));
    }
    add(&l, weir_log_u64("in_bytes", s->body_bytes));
    add(&l, weir_log_u64("out_bytes", s->sent_bytes));
    add(&l, weir_log_cstr("caller", s->peer));
    if (r != NULL && r->key != NULL) {
        add(&l, weir_log_str("key", r->key->name.s));
    }
    if (r != NULL) {
        add_route(&l, s);
        add_model(&l, r);
    }
    weir_log_emit(WEIR_LOG_LEVEL_INFO, "http", r != NULL ? &r->log : NULL, l.fields, l.n);
    weir_buf_dispose(&l.found[WEIR_POLICY_INPUT]);
    weir_buf_dispose(&l.found[WEIR_POLICY_OUTPUT]);
    weir_buf_dispose(&l.skipped);
}
