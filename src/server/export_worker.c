#include "server/export_worker.h"

#include "base/mem.h"
#include "route/env.h"
#include "server/export.h"
#include "server/export_span.h"

#include <stdlib.h>
#include <uv.h>

enum { MAX_BYTES = 128 * 1024 };

struct weir_export_worker {
    struct weir_export_send *send;
    struct weir_loop *loop;
    struct weir_buf entries;
    size_t n_entries;
    struct weir_timer timer; /* armed while there are entries */
};

static void on_age(struct weir_timer *t, void *ctx)
{
    (void)t;
    weir_export_worker_flush(ctx);
}

struct weir_export_worker *weir_export_worker_new(struct weir_export_send *send,
                                                  struct weir_loop *loop)
{
    struct weir_export_worker *w = weir_mem_zalloc(sizeof *w);
    w->send = send;
    w->loop = loop;
    w->timer = (struct weir_timer){.fn = on_age, .ctx = w};
    return w;
}

/* One clock tells how long it took, the other what time it is. */
static struct weir_export_times times_since(uint64_t started_ns)
{
    uint64_t end_ns = weir_export_now_ns();
    return (struct weir_export_times){end_ns - (uv_hrtime() - started_ns), end_ns};
}

static void added(struct weir_export_worker *w)
{
    w->n_entries++;
    if (w->entries.n >= MAX_BYTES) {
        weir_export_worker_flush(w);
    } else if (w->n_entries == 1) {
        weir_loop_after(w->loop, &w->timer, w->send->delay_ms);
    }
}

void weir_export_worker_request(struct weir_export_worker *w, const struct weir_http_stream *s)
{
    const struct weir_request *r = weir_request_of(s);
    if (r == NULL || (r->log.trace.flags & WEIR_TRACE_SAMPLED) == 0) {
        return;
    }
    weir_export_span_request(&w->entries, &(struct weir_export_request){
                                              .trace = &r->log.trace,
                                              .parent_id = r->has_parent ? r->parent_id : NULL,
                                              .times = times_since(r->started_ns),
                                              .req = &s->req,
                                              .pattern = r->pattern,
                                              .route = r->guarded != NULL ? r->guarded->conf->name.s
                                                                          : (struct weir_slice){0},
                                              .request_id = r->log.request_id,
                                              .provider = r->model_report.provider,
                                              .model = r->model_report.model,
                                              .system = r->model_report.system,
                                              .n_attempts = r->model_report.n_attempts,
                                              .seen = r->seen,
                                              .asked_model = r->task.call.model,
                                              .revision = r->env->conf->revision,
                                              .status = s->status,
                                              .is_cut = s->is_gone && !s->response_ended,
                                              .stream = r->stream,
                                          });
    added(w);
}

void weir_export_worker_call(void *ctx, const struct weir_client_span *span)
{
    struct weir_export_worker *w = ctx;
    if ((span->trace->flags & WEIR_TRACE_SAMPLED) == 0) {
        return;
    }
    weir_export_span_call(&w->entries, span, times_since(span->started_ns));
    added(w);
}

void weir_export_worker_flush(struct weir_export_worker *w)
{
    if (w->n_entries == 0) {
        return;
    }
    weir_loop_cancel(w->loop, &w->timer);
    weir_export_send_offer(w->send, &w->entries, w->n_entries);
    w->n_entries = 0;
}

void weir_export_worker_free(struct weir_export_worker *w)
{
    if (w != NULL) {
        weir_buf_dispose(&w->entries);
        free(w);
    }
}
