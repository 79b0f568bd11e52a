#ifndef WEIR_TESTS_UNIT_CLIENT_ASKER_H
#define WEIR_TESTS_UNIT_CLIENT_ASKER_H

/*
 * The owner of a call: records what it is told, and sees to it that nothing is told from inside a
 * call of its own, twice or in the wrong order.
 */
#include "unit/client/stage.h"
#include "unit/flow_watch.h"

struct asker;
typedef void (*asker_hook_fn)(struct asker *asker);

struct asker {
    struct stage *stage;
    struct weir_call *call;
    int n_head, n_body, n_room, n_done;
    int err, status;
    bool has_head;
    char why[200];
    struct weir_buf body;
    struct weir_buf fields; /* "name: value\n" each */
    struct weir_buf trailers;
    asker_hook_fn at_head, at_body, at_done;
    bool in_call;           /* inside a call of ours: nothing may be told */
    struct flow_watch flow; /* of a streamed body, written by asker_write */
};

static inline void asker_note(struct weir_buf *to, const struct weir_http_field *f, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(to, "%.*s: %.*s\n", (int)f[i].name.n, f[i].name.p, (int)f[i].value.n,
                        f[i].value.p);
    }
}

static inline void asker_on_head(void *ctx, int status, const struct weir_http_field *fields,
                                 size_t n_fields)
{
    struct asker *p = ctx;
    assert_false(p->in_call);
    assert_int_equal(p->n_head + p->n_done, 0);
    p->n_head++;
    p->status = status;
    asker_note(&p->fields, fields, n_fields);
    if (p->at_head != NULL) {
        p->at_head(p);
    }
}

static inline void asker_on_body(void *ctx, struct weir_slice bytes)
{
    struct asker *p = ctx;
    assert_false(p->in_call);
    assert_int_equal(p->n_head, 1);
    assert_int_equal(p->n_done, 0);
    p->n_body++;
    weir_buf_append(&p->body, bytes);
    if (p->at_body != NULL) {
        p->at_body(p);
    }
}

static inline void asker_on_room(void *ctx)
{
    struct asker *p = ctx;
    assert_false(p->in_call);
    flow_watch_resumed(&p->flow);
    p->n_room++;
}

static inline void asker_on_done(void *ctx, const struct weir_call_result *r)
{
    struct asker *p = ctx;
    assert_false(p->in_call);
    assert_int_equal(p->n_done, 0);
    p->n_done++;
    p->call = NULL;
    flow_watch_ended(&p->flow);
    p->err = r->err;
    p->has_head = r->has_head;
    snprintf(p->why, sizeof p->why, "%s", r->why != NULL ? r->why : "");
    assert_int_equal(r->err != 0, r->why != NULL);
    if (p->n_head == 0) {
        p->status = r->status;
        asker_note(&p->fields, r->fields, r->n_fields);
        weir_buf_append(&p->body, r->body);
    }
    asker_note(&p->trailers, r->trailers, r->n_trailers);
    if (p->at_done != NULL) {
        p->at_done(p);
    }
}

static const struct weir_call_events ASKER_EVENTS = {
    .on_head = asker_on_head,
    .on_body = asker_on_body,
    .on_room = asker_on_room,
    .on_done = asker_on_done,
};

static inline struct weir_call_request stage_request(struct stage *s)
{
    static const struct weir_http_field JSON[] = {
        {{"content-type", 12}, {"application/json", 16}},
    };
    return (struct weir_call_request){
        .target = &s->target,
        .method = WEIR_SLICE("POST"),
        .path = WEIR_SLICE("/api/v1/text/contents"),
        .fields = JSON,
        .n_fields = 1,
        .body = WEIR_SLICE("{\"contents\":[\"a\"]}"),
        .answer = WEIR_CALL_WHOLE,
        .max_body_bytes = 1 << 20,
    };
}

static inline void asker_ask(struct asker *p, struct stage *s, const struct weir_call_request *r)
{
    p->stage = s;
    p->in_call = true;
    p->call = weir_call_start(s->client, r, &ASKER_EVENTS, p);
    assert_non_null(p->call);
    p->in_call = false;
}

static inline void asker_start(struct asker *p, struct stage *s)
{
    struct weir_call_request r = stage_request(s);
    asker_ask(p, s, &r);
}

static inline enum weir_flow asker_write(struct asker *p, struct weir_slice bytes)
{
    p->in_call = true;
    enum weir_flow flow = FLOW_WATCH_WRITE(&p->flow, weir_call_write(p->call, bytes));
    p->in_call = false;
    return flow;
}

static inline void asker_cancel(struct asker *p)
{
    p->in_call = true;
    weir_call_cancel(p->call);
    p->call = NULL;
    p->in_call = false;
}

static inline bool asker_has(const struct weir_buf *b, const char *text)
{
    return weir_slice_eq_cstr(weir_buf_slice(b), text);
}

static inline void asker_dispose(struct asker *p)
{
    weir_buf_dispose(&p->body);
    weir_buf_dispose(&p->fields);
    weir_buf_dispose(&p->trailers);
}

static inline struct weir_pool *stage_pool(struct stage *s)
{
    return weir_client__pool(s->client, &s->target);
}

/* One exchange that works, to have a connection in the pool. Returns its peer. */
static inline struct peer *stage_warm_up(struct stage *s)
{
    struct asker p = {0};
    size_t before = s->n_peers;
    asker_start(&p, s);
    stage_run(s, s->n_peers == before + 1 && peer_has_request(&s->peers[before]));
    struct peer *peer = &s->peers[before];
    peer_say(peer, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    peer_forget(peer);
    asker_dispose(&p);
    return peer;
}

#endif
