#include "route/decode.h"

#include "base/buf.h"
#include "base/err.h"
#include "route/reply.h"

struct decoder {
    struct weir_buf body;
    struct weir_decode_limits limits;
    weir_decode_done_fn done; /* one of these two */
    weir_decode_bytes_fn done_bytes;
    void *ctx;
};

/* A body of announced length gets its memory at once, up to this; then it grows as bytes come. */
enum { FIRST_BYTES = 64 * 1024 };

bool weir_decode_has_type(const struct weir_http_stream *s, struct weir_slice type)
{
    struct weir_slice value = weir_http_request_get(&s->req, WEIR_SLICE("content-type"));
    if (value.p == NULL) {
        return false;
    }
    struct weir_slice media = weir_slice_trim(weir_slice_cut(&value, ';'));
    return weir_slice_eq_nocase(media, type);
}

/* Compressed bodies are not unpacked: a few bytes could become any number. */
static bool is_encoded(const struct weir_http_stream *s)
{
    struct weir_slice encoding = weir_http_request_get(&s->req, WEIR_SLICE("content-encoding"));
    return encoding.n != 0 && !weir_slice_eq_nocase(encoding, WEIR_SLICE("identity"));
}

static bool refuses_encoding(struct weir_http_stream *s)
{
    if (is_encoded(s)) {
        weir_reply_error(s, 415, WEIR_SLICE("expected a body without `content-encoding`"));
        return true;
    }
    return false;
}

bool weir_decode_refuses_type(struct weir_http_stream *s, struct weir_slice type)
{
    if (!weir_decode_has_type(s, type)) {
        weir_reply_errorf(s, 415, "expected `content-type: %.*s`", (int)type.n, type.p);
        return true;
    }
    return refuses_encoding(s);
}

static void too_large(struct weir_http_stream *s, struct decoder *d)
{
    weir_buf_dispose(&d->body);
    weir_reply_errorf(s, 413, "the request body is larger than %llu bytes: limits.max_body_bytes",
                      (unsigned long long)d->limits.max_body_bytes);
}

/* What was read is given back at once: the next caller may need less. */
static void no_room(struct weir_http_stream *s, struct decoder *d)
{
    weir_buf_dispose(&d->body);
    weir_reply_full(s);
}

/* How much memory taking `n` more bytes needs: a buffer doubles, up to its ceiling. */
static size_t growth(const struct weir_buf *b, size_t n)
{
    size_t cap = b->cap * 2 < b->max ? b->cap * 2 : b->max;
    cap = cap < b->n + n ? b->n + n : cap;
    return n > b->cap - b->n ? cap - b->cap : 0;
}

static void on_body(struct weir_http_stream *s, struct weir_slice bytes)
{
    struct decoder *d = s->ctx;
    if (bytes.n > d->limits.max_body_bytes - d->body.n) {
        too_large(s, d);
    } else if (!weir_account_has_room(d->body.account, growth(&d->body, bytes.n))) {
        no_room(s, d);
    } else {
        weir_buf_append(&d->body, bytes);
    }
}

/* As many values as are allowed, or as there is memory for. */
static uint32_t max_nodes(const struct decoder *d)
{
    size_t room = weir_account_room(d->body.account) / sizeof(struct weir_json_node);
    return room < d->limits.max_json_nodes ? (uint32_t)room + 1 : d->limits.max_json_nodes;
}

static void refuse_limit(struct weir_http_stream *s, struct decoder *d,
                         const struct weir_json_error *err, uint32_t n_nodes)
{
    if (err->limit == WEIR_JSON_NODES && n_nodes < d->limits.max_json_nodes) {
        no_room(s, d);
    } else if (err->limit == WEIR_JSON_NODES) {
        weir_reply_errorf(s, 413,
                          "the request body has more than %u JSON values: limits.max_json_nodes",
                          (unsigned)n_nodes);
    } else {
        weir_reply_errorf(s, 400, "the request body cannot be read: %s at byte %zu (limits.%s)",
                          err->what, err->at_byte, "max_json_depth");
    }
}

static void read_json(struct weir_http_stream *s, struct decoder *d)
{
    struct weir_json *json = weir_arena_alloc(&s->arena, sizeof *json);
    struct weir_json_limits limits = {.max_depth = d->limits.max_json_depth,
                                      .max_nodes = max_nodes(d)};
    struct weir_json_error err;
    int rc = weir_json_parse(json, weir_buf_slice(&d->body), &limits, &s->arena, &err);
    if (rc == 0) {
        d->done(d->ctx, s, json);
    } else if (rc == WEIR_ELIMIT) {
        refuse_limit(s, d, &err, limits.max_nodes);
    } else {
        weir_reply_errorf(s, 400, "the request body is not JSON: %s at line %zu, column %zu",
                          err.what, err.line, err.column);
    }
}

static void on_body_end(struct weir_http_stream *s)
{
    struct decoder *d = s->ctx;
    if (d->done_bytes != NULL) {
        d->done_bytes(d->ctx, s, weir_buf_slice(&d->body));
    } else {
        read_json(s, d);
    }
}

static const struct weir_http_handler HANDLER = {
    .on_body = on_body,
    .on_body_end = on_body_end,
};

static void dispose_body(void *ctx)
{
    weir_buf_dispose(ctx);
}

static void begin(struct weir_http_stream *s, const struct decoder *what)
{
    const struct weir_decode_limits *limits = &what->limits;
    struct decoder *d = weir_arena_alloc(&s->arena, sizeof *d);
    *d = *what;
    weir_buf_init(&d->body, limits->max_body_bytes);
    d->body.account = s->arena.account;
    if (s->req.has_length && s->req.length > limits->max_body_bytes) {
        too_large(s, d);
        return;
    }
    if (s->req.has_length && !weir_account_has_room(s->arena.account, s->req.length)) {
        no_room(s, d);
        return;
    }
    weir_arena_defer(&s->arena, dispose_body, &d->body);
    if (s->req.has_length) {
        size_t first = s->req.length < FIRST_BYTES ? (size_t)s->req.length : FIRST_BYTES;
        weir_buf_reserve_exact(&d->body, first);
    }
    s->ctx = d;
    s->handler = &HANDLER;
}

void weir_decode_json_body(struct weir_http_stream *s, const struct weir_decode_limits *limits,
                           weir_decode_done_fn done, void *ctx)
{
    if (!weir_decode_refuses_type(s, WEIR_SLICE("application/json"))) {
        begin(s, &(struct decoder){.limits = *limits, .done = done, .ctx = ctx});
    }
}

void weir_decode_bytes(struct weir_http_stream *s, const struct weir_decode_limits *limits,
                       weir_decode_bytes_fn done, void *ctx)
{
    if (!refuses_encoding(s)) {
        begin(s, &(struct decoder){.limits = *limits, .done_bytes = done, .ctx = ctx});
    }
}
