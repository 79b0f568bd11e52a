#include "server/export_send.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "obs/log.h"
#include "wire/gzip.h"
#include "wire/proto_write.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TELL_EVERY_MS = 60 * 1000,
    FIRST_WAIT_MS = 1000, /* doubles */
    MAX_ANSWER_BYTES = 64 * 1024,
};

/* The envelope has the same numbers for both signals. */
enum { RESOURCE_ENTRIES = 1, RESOURCE = 1, SCOPE_ENTRIES = 2, SCOPE = 1 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };

static void advance(struct weir_export_send *s);

static void drop_held(struct weir_export_send *s, size_t n_bytes)
{
    atomic_fetch_sub_explicit(&s->held_bytes, n_bytes, memory_order_relaxed);
}

static void count(const struct weir_export_send *s, bool is_sent, size_t n)
{
    if (s->on_entries != NULL && n != 0) {
        s->on_entries(s->ctx, is_sent, n);
    }
}

static void free_batch(struct weir_export_batch *b)
{
    weir_buf_dispose(&b->entries);
    free(b);
}

static bool has_body(const struct weir_export_send *s)
{
    return s->body.n != 0;
}

/* ---- what is sent ---- */

static void write_scope(struct weir_buf *out)
{
    size_t mark = weir_proto_write_begin(out, SCOPE);
    weir_proto_write_bytes(out, SCOPE_NAME, WEIR_SLICE("weir"));
    weir_proto_write_bytes(out, SCOPE_VERSION, WEIR_SLICE(WEIR_VERSION));
    weir_proto_write_end(out, mark);
}

/* All lengths are known, so that nothing of the entries is moved. */
static void write_envelope(struct weir_export_send *s, size_t n_bytes)
{
    struct weir_buf scope = {0};
    write_scope(&scope);
    size_t scope_bytes = scope.n + n_bytes;
    size_t all_bytes = weir_proto_write_size(RESOURCE, s->resource.n) +
                       weir_proto_write_size(SCOPE_ENTRIES, scope_bytes);
    weir_buf_reserve(&s->body, weir_proto_write_size(RESOURCE_ENTRIES, all_bytes));
    weir_proto_write_head(&s->body, RESOURCE_ENTRIES, all_bytes);
    weir_proto_write_bytes(&s->body, RESOURCE, s->resource);
    weir_proto_write_head(&s->body, SCOPE_ENTRIES, scope_bytes);
    weir_buf_append(&s->body, weir_buf_slice(&scope));
    weir_buf_dispose(&scope);
}

/* How many of the bytes that wait go together; at least the first batch. */
static size_t measure(const struct weir_export_send *s)
{
    size_t n = 0;
    for (struct weir_list *at = weir_list_first(&s->waiting); at != NULL && at != &s->waiting;
         at = at->next) {
        size_t more = WEIR_LIST_ENTRY(at, struct weir_export_batch, link)->entries.n;
        if (n != 0 && n + more > WEIR_EXPORT_MAX_BODY_BYTES) {
            break;
        }
        n += more;
    }
    return n;
}

static void fill_body(struct weir_export_send *s)
{
    s->n_bytes = measure(s);
    s->n_entries = 0;
    s->n_attempts = 0;
    write_envelope(s, s->n_bytes);
    for (size_t n = 0; n < s->n_bytes;) {
        struct weir_list *link = weir_list_pop(&s->waiting);
        struct weir_export_batch *b = WEIR_LIST_ENTRY(link, struct weir_export_batch, link);
        weir_buf_append(&s->body, weir_buf_slice(&b->entries));
        n += b->entries.n;
        s->n_entries += b->n_entries;
        free_batch(b);
    }
}

/* Once, whatever the number of attempts. */
static void compress(struct weir_export_send *s)
{
    struct weir_buf packed = {0};
    int rc = weir_gzip_pack(weir_buf_slice(&s->body), &packed);
    WEIR_ASSERT(rc == 0); /* what may be held is far below what it can take */
    weir_buf_dispose(&s->body);
    s->body = packed;
}

/* ---- how it went ---- */

static void let_go(struct weir_export_send *s, bool is_sent)
{
    drop_held(s, s->n_bytes);
    count(s, is_sent, s->n_entries);
    weir_buf_dispose(&s->body);
    s->n_bytes = 0;
    s->n_entries = 0;
}

static void tell_failure(struct weir_export_send *s, struct weir_slice why)
{
    uint64_t now_ms = weir_loop_now_ms(s->loop);
    s->is_failing = true;
    if (now_ms < s->quiet_until_ms) {
        return;
    }
    s->quiet_until_ms = now_ms + TELL_EVERY_MS;
    WEIR_LOG_WARN("export", NULL, "telemetry cannot be sent", weir_log_cstr("signal", s->signal),
                  weir_log_cstr("collector", s->target.hostname),
                  weir_log_u64("port", s->target.port), weir_log_str("why", why));
}

static void on_good(struct weir_export_send *s)
{
    if (s->is_failing) {
        s->is_failing = false;
        WEIR_LOG_INFO("export", NULL, "telemetry is sent again",
                      weir_log_cstr("signal", s->signal));
    }
    let_go(s, true);
    advance(s);
}

static void on_bad(struct weir_export_send *s, struct weir_slice why, bool may_help)
{
    tell_failure(s, why);
    if (may_help && s->is_repeated && !s->is_last && s->n_attempts < WEIR_EXPORT_MAX_ATTEMPTS) {
        weir_loop_after(s->loop, &s->again, (uint64_t)FIRST_WAIT_MS << (s->n_attempts - 1));
        return;
    }
    let_go(s, false);
    advance(s);
}

static void on_http_done(void *ctx, const struct weir_call_result *result)
{
    struct weir_export_send *s = ctx;
    char why[64];
    s->call = NULL;
    if (result->err != 0) {
        on_bad(s, weir_slice_cstr(result->why), true);
        return;
    }
    if (result->status >= 200 && result->status < 300) {
        on_good(s);
        return;
    }
    bool may_help = result->status == 429 || (result->status >= 502 && result->status <= 504);
    snprintf(why, sizeof why, "the collector answered %d", result->status);
    on_bad(s, weir_slice_cstr(why), may_help);
}

/* Which statuses are worth another attempt is OTLP's list. */
static bool may_help_grpc(enum weir_grpc_status status)
{
    switch (status) {
    case WEIR_GRPC_CANCELLED:
    case WEIR_GRPC_DEADLINE_EXCEEDED:
    case WEIR_GRPC_ABORTED:
    case WEIR_GRPC_OUT_OF_RANGE:
    case WEIR_GRPC_UNAVAILABLE:
    case WEIR_GRPC_DATA_LOSS:
        return true;
    default:
        return false;
    }
}

static void on_grpc_done(void *ctx, const struct weir_grpc_result *result)
{
    struct weir_export_send *s = ctx;
    s->grpc = NULL;
    if (result->status == WEIR_GRPC_OK) {
        on_good(s);
    } else {
        on_bad(s, result->why, may_help_grpc(result->status));
    }
}

/* ---- sending ---- */

static void start_http(struct weir_export_send *s)
{
    static const struct weir_call_events events = {.on_done = on_http_done};
    static const struct weir_http_field fields[] = {
        {{"content-type", 12}, {"application/x-protobuf", 22}},
        {{"content-encoding", 16}, {"gzip", 4}}, /* the last: left out where it is not */
    };
    struct weir_call_request request = {
        .target = &s->target,
        .context = &s->context,
        .method = WEIR_SLICE("POST"),
        .path = s->path,
        .fields = fields,
        .n_fields = s->is_gzip ? 2 : 1,
        .body = weir_buf_slice(&s->body),
        .max_body_bytes = MAX_ANSWER_BYTES,
    };
    s->call = weir_call_start(s->client, &request, &events, s);
}

static void start_grpc(struct weir_export_send *s)
{
    static const struct weir_grpc_call_events events = {.on_done = on_grpc_done};
    struct weir_grpc_request request = {
        .loop = s->loop,
        .target = &s->target,
        .context = &s->context,
        .path = s->grpc_path,
        .packed = weir_buf_slice(&s->body),
        .is_gzip = s->is_gzip,
        .max_message_bytes = MAX_ANSWER_BYTES,
    };
    s->grpc = weir_grpc_call_start(s->client, &request, &events, s);
}

static void start(struct weir_export_send *s)
{
    s->n_attempts++;
    s->target.tls = s->tls != NULL ? *s->tls : NULL;
    if (s->grpc_path != NULL) {
        start_grpc(s);
    } else {
        start_http(s);
    }
}

/* Nothing is under way: the next, or rest. */
static void advance(struct weir_export_send *s)
{
    if (weir_list_first(&s->waiting) != NULL) {
        fill_body(s);
        if (s->is_gzip) {
            compress(s);
        }
        start(s);
    } else if (s->on_idle != NULL) {
        s->on_idle(s->ctx);
    }
}

static void on_again(struct weir_timer *t, void *ctx)
{
    (void)t;
    start(ctx);
}

void weir_export_send_init(struct weir_export_send *s)
{
    weir_list_init(&s->waiting);
    s->again = (struct weir_timer){.fn = on_again, .ctx = s};
}

void weir_export_send_go(struct weir_export_send *s)
{
    if (!has_body(s) && weir_list_first(&s->waiting) != NULL) {
        advance(s);
    }
}

/* ---- what comes ---- */

static struct weir_export_batch *hold(struct weir_export_send *s, struct weir_buf *entries,
                                      size_t n_entries)
{
    size_t n = entries->n;
    size_t had = atomic_fetch_add_explicit(&s->held_bytes, n, memory_order_relaxed);
    if (had + n > WEIR_EXPORT_MAX_HELD_BYTES) {
        drop_held(s, n);
        weir_buf_dispose(entries);
        count(s, false, n_entries);
        return NULL;
    }
    struct weir_export_batch *b = weir_mem_zalloc(sizeof *b);
    b->send = s;
    b->entries = *entries;
    b->n_entries = n_entries;
    *entries = (struct weir_buf){0};
    return b;
}

static void take(void *arg)
{
    struct weir_export_batch *b = arg;
    struct weir_export_send *s = b->send;
    if (s->is_closed) {
        count(s, false, b->n_entries);
        free_batch(b);
        return;
    }
    weir_list_append(&s->waiting, &b->link);
    weir_export_send_go(s);
}

void weir_export_send_offer(struct weir_export_send *s, struct weir_buf *entries, size_t n_entries)
{
    struct weir_export_batch *b = hold(s, entries, n_entries);
    if (b != NULL) {
        weir_loop_call(s->loop, take, b);
    }
}

void weir_export_send_add(struct weir_export_send *s, struct weir_buf *entries, size_t n_entries)
{
    struct weir_export_batch *b = hold(s, entries, n_entries);
    if (b != NULL) {
        weir_list_append(&s->waiting, &b->link);
    }
}

/* ---- the end ---- */

bool weir_export_send_is_idle(const struct weir_export_send *s)
{
    return !has_body(s) && weir_list_first(&s->waiting) == NULL;
}

void weir_export_send_finish(struct weir_export_send *s)
{
    s->is_last = true;
    if (weir_timer_is_armed(&s->again)) {
        weir_loop_cancel(s->loop, &s->again);
        start(s);
    }
    weir_export_send_go(s);
}

void weir_export_send_close(struct weir_export_send *s)
{
    struct weir_list *link;
    s->is_closed = true;
    s->on_idle = NULL;
    if (s->call != NULL) {
        weir_call_cancel(s->call);
        s->call = NULL;
    }
    if (s->grpc != NULL) {
        weir_grpc_call_cancel(s->grpc);
        s->grpc = NULL;
    }
    weir_loop_cancel(s->loop, &s->again);
    let_go(s, false);
    while ((link = weir_list_pop(&s->waiting)) != NULL) {
        struct weir_export_batch *b = WEIR_LIST_ENTRY(link, struct weir_export_batch, link);
        count(s, false, b->n_entries);
        free_batch(b);
    }
}
