#include "route/stream_out.h"

#include "route/env.h"
#include "route/fault_text.h"
#include "route/headers.h"
#include "route/reply.h"
#include "route/stream_dialect.h"
#include "route/stream_stats.h"
#include "talk/messages.h"
#include "wire/json_write.h"
#include "wire/sse.h"

/* Those that run on this thread: a worker that must end tells them. */
static _Thread_local struct weir_list running;

/* ---- bytes ---- */

/* What who reports on the stream must say again (route/render.h). Empty: nothing. */
static struct weir_slice settings_of(const struct weir_stream_out *o)
{
    const struct weir_batching *b = o->options.batching;
    if (b == NULL || b->settings.n == 0) {
        return (struct weir_slice){0};
    }
    char *text =
        weir_arena_printf(&o->stream->arena, "model=%.*s; settings=%.*s", (int)b->profile.n,
                          b->profile.p, (int)b->settings.n, b->settings.p);
    for (char *c = text; *c != '\0'; c++) {
        *c = *c >= ' ' && *c <= '~' ? *c : '?'; /* a pattern may be any text, a header may not */
    }
    return weir_slice_cstr(text);
}

static void start(struct weir_stream_out *o)
{
    const struct weir_request *request = weir_request_of(o->stream);
    if (!o->is_started) {
        struct weir_slice settings = settings_of(o);
        const struct weir_http_field fields[] = {
            {WEIR_SLICE("content-type"), o->options.is_ndjson ? WEIR_SLICE("application/x-ndjson")
                                                              : WEIR_SLICE("text/event-stream")},
            {WEIR_SLICE("cache-control"), WEIR_SLICE("no-cache")},
            {WEIR_SLICE("x-accel-buffering"), WEIR_SLICE("no")},
            {WEIR_SLICE("x-weir-streaming"), settings},
        };
        o->is_started = true;
        bool is_refused = request->seen != NULL &&
                          request->seen->outcome[WEIR_POLICY_INPUT] == WEIR_POLICY_BLOCKED;
        if (is_refused) {
            weir_headers_set_action(o->stream);
        }
        weir_headers_set_model(o->stream);
        weir_http_stream_respond(
            o->stream, &(struct weir_http_response){.status = 200,
                                                    .fields = fields,
                                                    .n_fields = settings.n != 0 ? 4 : 3,
                                                    .body = WEIR_HTTP_BODY_STREAM,
                                                    .keeps_writes = o->options.is_ndjson});
    }
}

/* Silence is counted from here. A full connection blocks the chain. */
static void send_bytes(struct weir_stream_out *o, struct weir_slice bytes)
{
    start(o);
    enum weir_flow flow = weir_http_stream_write(o->stream, bytes);
    o->last_sent_ms = weir_loop_now_ms(o->stream->loop);
    if (flow == WEIR_FLOW_FULL && !o->is_blocked) {
        o->is_blocked = true;
        if (o->chain != NULL) {
            weir_chain_blocked(o->chain, o->last_sent_ms, true);
        }
    }
}

/* Sends the scratch buffer, and gives it back: thousands of streams wait most of the time. */
static void flush(struct weir_stream_out *o)
{
    send_bytes(o, weir_buf_slice(&o->scratch));
    weir_buf_dispose(&o->scratch);
}

/* Events of dialects are named by their first member. */
static struct weir_slice name_of(const struct weir_stream_out *o, struct weir_slice json)
{
    struct weir_slice before = WEIR_SLICE("{\"type\":\"");
    if (o->options.dialect == NULL) {
        return WEIR_SLICE("");
    }
    if (!weir_slice_starts_with(json, before)) {
        return weir_stream_type(json);
    }
    struct weir_slice rest = weir_slice_sub(json, before.n, json.n);
    return weir_slice_cut(&rest, '"');
}

static void put_named(struct weir_stream_out *o, struct weir_slice name, struct weir_slice json)
{
    if (o->options.is_ndjson) {
        weir_buf_append(&o->scratch, json);
        weir_buf_append_byte(&o->scratch, '\n');
    } else {
        weir_sse_append_event(&o->scratch, name, json);
    }
}

/* The member that counts events, where the dialect has one. */
static struct weir_slice number_of(const struct weir_stream_out *o)
{
    return o->options.dialect != NULL ? o->options.dialect->number : (struct weir_slice){0};
}

/* Where events are counted this is: whatever was left out, joined or added before, their numbers
 * have no gaps. */
static void put_event(struct weir_stream_out *o, struct weir_slice name, struct weir_slice json)
{
    struct weir_buf counted = {0};
    struct weir_slice number = number_of(o);
    bool is_other =
        number.n != 0 && weir_stream_set_number(json, number, o->n_numbered++, &counted);
    put_named(o, name, is_other ? weir_buf_slice(&counted) : json);
    weir_buf_dispose(&counted);
}

/* Most events are small, and one that leaves at once needs no memory. */
enum { SMALL_BYTES = 1024 };

/* The JSON with that number in the place of the digits, which lie in it, where there is room. */
static struct weir_slice count_small(struct weir_slice json, struct weir_slice digits,
                                     uint64_t number, char small[SMALL_BYTES])
{
    char text[WEIR_SLICE_U64_MOST];
    struct weir_slice said = weir_slice_of_u64(number, text);
    size_t at = (size_t)(digits.p - json.p);
    struct weir_slice behind = weir_slice_sub(json, at + digits.n, json.n);
    if (at + said.n + behind.n > SMALL_BYTES) {
        return (struct weir_slice){0};
    }
    memcpy(small, json.p, at);
    memcpy(small + at, said.p, said.n);
    memcpy(small + at + said.n, behind.p, behind.n);
    return weir_slice_make(small, at + said.n + behind.n);
}

static void send_named(struct weir_stream_out *o, struct weir_slice name, struct weir_slice json)
{
    char small[SMALL_BYTES];
    size_t n = o->options.is_ndjson ? 0 : weir_sse_put_event(small, sizeof small, name, json);
    if (n != 0) {
        send_bytes(o, weir_slice_make(small, n));
    } else {
        put_named(o, name, json);
        flush(o);
    }
}

/* As put_event, and it leaves. */
static void send_event(struct weir_stream_out *o, struct weir_slice name, struct weir_slice json)
{
    char small[SMALL_BYTES];
    struct weir_slice digits;
    struct weir_slice number = number_of(o);
    bool is_found = number.n != 0 && weir_stream_find_number(json, number, &digits);
    struct weir_slice counted =
        is_found ? count_small(json, digits, o->n_numbered, small) : (struct weir_slice){0};
    if (number.n == 0) {
        send_named(o, name, json);
    } else if (counted.n != 0) {
        o->n_numbered++;
        send_named(o, name, counted);
    } else {
        put_event(o, name, json);
        flush(o);
    }
}

/* Sends bytes with that number in the place of the digits, which lie in them. */
static void send_counted(struct weir_stream_out *o, struct weir_slice bytes,
                         struct weir_slice digits, uint64_t number)
{
    char small[SMALL_BYTES];
    struct weir_slice counted = count_small(bytes, digits, number, small);
    if (counted.n != 0) {
        send_bytes(o, counted);
        return;
    }
    size_t at = (size_t)(digits.p - bytes.p);
    weir_buf_append(&o->scratch, weir_slice_sub(bytes, 0, at));
    weir_buf_append_u64(&o->scratch, number);
    weir_buf_append(&o->scratch, weir_slice_sub(bytes, at + digits.n, bytes.n));
    flush(o);
}

/* An event as it came, with its number wherever that stands. */
static void send_read(struct weir_stream_out *o, const struct weir_out_raw *event, uint64_t number)
{
    struct weir_buf counted = {0};
    if (weir_stream_set_number(event->json, number_of(o), number, &counted)) {
        put_named(o, name_of(o, weir_buf_slice(&counted)), weir_buf_slice(&counted));
        flush(o);
    } else {
        send_bytes(o, event->bytes);
    }
    weir_buf_dispose(&counted);
}

/* An event as it came, but for its number. */
static void send_raw(struct weir_stream_out *o, const struct weir_out_raw *event)
{
    struct weir_slice bytes = event->bytes;
    struct weir_slice digits;
    if (number_of(o).n == 0) {
        send_bytes(o, bytes);
        return;
    }
    uint64_t number = o->n_numbered++;
    bool is_found = weir_stream_find_number(event->json, number_of(o), &digits);
    if (is_found && weir_stream_is_number(digits, number)) {
        send_bytes(o, bytes);
    } else if (is_found && digits.p >= bytes.p && digits.p < bytes.p + bytes.n) {
        send_counted(o, bytes, digits, number);
    } else { /* it is elsewhere, or the event's lines were joined */
        send_read(o, event, number);
    }
}

/* ---- the timer, and who waits for whom ---- */

static void arm(struct weir_stream_out *o)
{
    uint64_t at_ms = UINT64_MAX;
    if (o->options.heartbeat_ms != 0) {
        at_ms = o->last_sent_ms + o->options.heartbeat_ms;
    }
    uint64_t deadline_ms;
    if (o->chain != NULL && weir_chain_next_deadline(o->chain, &deadline_ms) &&
        deadline_ms < at_ms) {
        at_ms = deadline_ms;
    }
    if (o->is_over || at_ms == UINT64_MAX) {
        weir_loop_cancel(o->stream->loop, &o->timer);
    } else {
        weir_timers_set(&o->stream->loop->timers, &o->timer, at_ms);
    }
}

/* Can some stage keep what the caller does not take? */
static bool can_hold(const struct weir_stream_out *o)
{
    const struct weir_chain_options *chain = &o->options.batching->chain;
    return chain->adapter.mode == WEIR_BATCH_ON || chain->business.mode == WEIR_BATCH_ON;
}

static bool is_full(const struct weir_stream_out *o)
{
    if (o->chain == NULL || !can_hold(o)) {
        return o->is_blocked;
    }
    return weir_chain_is_full(o->chain);
}

/* After anything that may have filled or emptied the chain. */
static void settle(struct weir_stream_out *o)
{
    size_t n = o->chain != NULL ? weir_chain_buffered_bytes(o->chain) : 0;
    if (n != o->buffered.bytes) {
        weir_stream_stats_buffered(n, o->buffered.bytes);
        weir_account_set(&o->buffered, n);
    }
    if (!o->is_over) {
        arm(o);
    }
}

/* The last thing done: the task may go on, and even end, inside. */
static void resume_task(struct weir_stream_out *o)
{
    if (is_full(o)) {
        return;
    }
    weir_flow_gate_has_room(&o->gate);
    if (weir_flow_gate_resume(&o->gate)) {
        o->base.on_resume(o->base.ctx);
    }
}

static void on_room(struct weir_post *post)
{
    resume_task(WEIR_LIST_ENTRY(post, struct weir_stream_out, room));
}

/* An event that the task sends after FULL may itself empty the chain. */
static enum weir_flow answer(struct weir_stream_out *o)
{
    bool full = is_full(o);
    if (!full && weir_flow_gate_has_room(&o->gate)) {
        weir_loop_post(o->stream->loop, &o->room);
    }
    return weir_flow_gate_answer(&o->gate, full);
}

/* A comment tells a caller that takes no bytes nothing, and would only pile up. */
static void say_something(struct weir_stream_out *o)
{
    o->last_sent_ms = weir_loop_now_ms(o->stream->loop);
    if (o->options.is_ndjson) {
        start(o);
    } else if (!o->is_blocked && o->options.dialect != NULL && o->options.dialect->ping != NULL) {
        put_event(o, WEIR_SLICE("ping"), weir_slice_cstr(o->options.dialect->ping));
        flush(o);
    } else if (!o->is_blocked) {
        weir_buf_append(&o->scratch, WEIR_SLICE(": keep-alive\n\n"));
        flush(o);
    }
}

static void on_timer(struct weir_timer *t, void *ctx)
{
    struct weir_stream_out *o = ctx;
    uint64_t now_ms = weir_loop_now_ms(o->stream->loop);
    (void)t;
    if (o->chain != NULL) {
        weir_chain_tick(o->chain, now_ms);
    }
    bool is_silent =
        o->options.heartbeat_ms != 0 && now_ms >= o->last_sent_ms + o->options.heartbeat_ms;
    if (is_silent) {
        say_something(o);
    }
    settle(o);
    resume_task(o);
}

/* ---- the end ---- */

static void finish(struct weir_stream_out *o, enum weir_stream_out_end how)
{
    if (o->options.has_done && !(o->options.is_route && how == WEIR_STREAM_OUT_FAILED)) {
        weir_buf_append(&o->scratch, WEIR_SLICE("data: [DONE]\n\n"));
    }
    if (o->scratch.n != 0 || !o->is_started) {
        flush(o);
    }
    o->is_over = true;
    weir_loop_cancel(o->stream->loop, &o->timer);
    weir_stream_stats_report(o, how);
    o->stream->handler = NULL;
    weir_http_stream_end(o->stream);
}

/* Before the first byte an error is an ordinary one, after it an event. */
static void finish_failed(struct weir_stream_out *o, struct weir_slice json)
{
    if (o->is_started || o->options.is_fms) {
        bool is_named = !o->options.is_route || o->options.dialect != NULL;
        put_event(o, is_named ? WEIR_SLICE("error") : WEIR_SLICE(""), json);
        finish(o, WEIR_STREAM_OUT_FAILED);
        return;
    }
    o->is_over = true;
    weir_loop_cancel(o->stream->loop, &o->timer);
    if (o->options.is_duplex) {
        weir_reply_error_at_once(o->stream, o->problem.status, o->problem.details);
    } else {
        weir_reply_problem(o->stream, &o->problem);
    }
}

/* ---- through the chain ---- */

static bool is_untouched(const struct weir_stream_out *o, struct weir_slice data)
{
    return o->raw != NULL && data.p == o->raw->json.p && data.n == o->raw->json.n;
}

static void send_chunk(struct weir_stream_out *o, const struct weir_event *e)
{
    if (is_untouched(o, e->data)) {
        send_raw(o, o->raw);
        return;
    }
    if (e->sse_id.n != 0 && !o->options.is_ndjson) {
        weir_buf_append(&o->scratch, WEIR_SLICE("id: "));
        weir_buf_append(&o->scratch, e->sse_id);
        weir_buf_append_byte(&o->scratch, '\n');
    }
    if (o->options.dialect != NULL && !e->is_opaque) {
        struct weir_buf event = {0};
        o->options.dialect->unpack(&o->lanes, e->data, &event);
        put_event(o, name_of(o, weir_buf_slice(&event)), weir_buf_slice(&event));
        weir_buf_dispose(&event);
    } else {
        put_event(o, name_of(o, e->data), e->data);
    }
    flush(o);
}

static void on_chain(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    struct weir_stream_out *o = ctx;
    (void)why;
    switch (e->kind) {
    case WEIR_EVENT_CHUNK:
        send_chunk(o, e);
        break;
    case WEIR_EVENT_COMMENT:
        weir_sse_append_comment(&o->scratch, e->data);
        flush(o);
        break;
    case WEIR_EVENT_BLOCK:
        break;
    case WEIR_EVENT_ERROR:
        finish_failed(o, e->data);
        break;
    case WEIR_EVENT_DONE:
    case WEIR_EVENT_EOF:
    case WEIR_EVENT_DISCARD:
        finish(o, WEIR_STREAM_OUT_DONE);
        break;
    }
}

static enum weir_flow push(struct weir_stream_out *o, const struct weir_event *e)
{
    weir_chain_push(o->chain, weir_loop_now_ms(o->stream->loop), e);
    settle(o);
    return answer(o);
}

/* ---- what the task calls ---- */

/* An event that goes through no chain has been sent. The timer, which only listens for silence
 * then, is left alone: when it fires it looks at when the last one was. */
static enum weir_flow sent_plain(struct weir_stream_out *o, size_t n_bytes)
{
    o->first_event_ms = o->n_events == 0 ? o->last_sent_ms : o->first_event_ms;
    o->n_events++;
    o->n_bytes += n_bytes;
    return answer(o);
}

/* The chain joins OpenAI's chunks: texts of a dialect travel through it as such, and everything
 * else is opaque to it. */
static enum weir_flow push_packed(struct weir_stream_out *o, struct weir_slice json)
{
    struct weir_buf chunk = {0};
    bool is_text = o->options.dialect->pack(&o->lanes, json, &chunk);
    enum weir_flow flow =
        push(o, &(struct weir_event){.kind = WEIR_EVENT_CHUNK,
                                     .is_opaque = !is_text,
                                     .is_guarded = is_text && o->options.joins_findings,
                                     .n_said = o->options.joins_findings ? o->base.n_said : 0,
                                     .data = is_text ? weir_buf_slice(&chunk) : json});
    weir_buf_dispose(&chunk);
    return flow;
}

static enum weir_flow push_dialect(struct weir_stream_out *o, struct weir_slice json)
{
    struct weir_slice start;
    struct weir_buf delta = {0};
    const struct weir_out_raw *raw = o->raw;
    switch (weir_stream_gate_look(&o->calls, json)) {
    case WEIR_STREAM_GATE_HELD:
        return answer(o);
    case WEIR_STREAM_GATE_RELEASE:
        o->raw = NULL;
        weir_stream_gate_release(&o->calls, &start, &delta);
        push_packed(o, start);
        if (delta.n != 0) {
            push_packed(o, weir_buf_slice(&delta));
        }
        weir_buf_dispose(&delta);
        o->raw = raw;
        break;
    case WEIR_STREAM_GATE_PASS:
        break;
    }
    return push_packed(o, json);
}

static enum weir_flow out_event(struct weir_out *base, struct weir_slice json)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    if (o->is_over) {
        return WEIR_FLOW_OK;
    }
    if (o->chain != NULL && o->options.dialect != NULL) {
        return push_dialect(o, json);
    }
    if (o->chain != NULL) {
        return push(o, &(struct weir_event){.kind = WEIR_EVENT_CHUNK,
                                            .is_guarded = o->options.joins_findings,
                                            .n_said = o->options.joins_findings ? base->n_said : 0,
                                            .data = json});
    }
    send_event(o, name_of(o, json), json);
    return sent_plain(o, json.n);
}

static enum weir_flow out_raw(struct weir_out *base, const struct weir_out_raw *event)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    if (o->is_over) {
        return WEIR_FLOW_OK;
    }
    if (o->chain == NULL) {
        send_raw(o, event);
        return sent_plain(o, event->json.n);
    }
    o->raw = event;
    enum weir_flow flow =
        o->options.dialect != NULL
            ? push_dialect(o, event->json)
            : push(o, &(struct weir_event){
                          .kind = WEIR_EVENT_CHUNK, .data = event->json, .sse_id = event->sse_id});
    o->raw = NULL;
    return flow;
}

/* Where nothing is joined, named or counted its bytes are what is sent. */
static enum weir_flow out_framed(struct weir_out *base, const struct weir_out_raw *event)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    if (o->is_over || o->chain != NULL || o->options.dialect != NULL || o->options.is_ndjson) {
        return out_event(base, event->json);
    }
    send_bytes(o, event->bytes);
    return sent_plain(o, event->json.n);
}

static void out_blocked(struct weir_out *base, uint64_t choice)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    if (!o->is_over && o->chain != NULL && choice < UINT32_MAX) {
        push(o, &(struct weir_event){.kind = WEIR_EVENT_BLOCK, .choice = (uint32_t)choice});
    }
}

static void out_end(struct weir_out *base)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    weir_flow_gate_close(&o->gate);
    if (o->is_over) {
        return;
    }
    if (o->chain != NULL) {
        push(o, &(struct weir_event){.kind = WEIR_EVENT_DONE});
    } else {
        finish(o, WEIR_STREAM_OUT_DONE);
    }
}

/* OpenAI clients raise what has an `error` member; the rest is the shape of all our errors. */
static void write_error(struct weir_buf *out, const struct weir_problem *problem, bool is_plain)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("code"));
    weir_json_write_i64(&w, problem->status);
    weir_json_write_key(&w, WEIR_SLICE("details"));
    weir_json_write_string(&w, problem->details);
    if (!is_plain) {
        weir_json_write_key(&w, WEIR_SLICE("error"));
        weir_json_write_begin_object(&w);
        weir_json_write_key(&w, WEIR_SLICE("message"));
        weir_json_write_string(&w, problem->details);
        weir_json_write_key(&w, WEIR_SLICE("type"));
        weir_json_write_string(&w, weir_slice_cstr(weir_reply_error_type(problem->status)));
        weir_json_write_key(&w, WEIR_SLICE("code"));
        weir_json_write_i64(&w, problem->status);
        weir_json_write_end_object(&w);
    }
    weir_json_write_end_object(&w);
}

static void fail(struct weir_stream_out *o)
{
    struct weir_buf json = {0};
    weir_flow_gate_close(&o->gate);
    if (o->options.dialect != NULL) {
        o->options.dialect->write_error(&o->problem, &json);
    } else if (o->options.is_route) {
        weir_problem_write(&json, &o->problem);
    } else {
        write_error(&json, &o->problem, o->options.is_fms || o->options.is_ndjson);
    }
    if (o->chain != NULL) {
        push(o, &(struct weir_event){.kind = WEIR_EVENT_ERROR, .data = weir_buf_slice(&json)});
    } else {
        finish_failed(o, weir_buf_slice(&json));
    }
    weir_buf_dispose(&json);
}

static void tell_fault(void *ctx, const struct weir_fault *fault)
{
    struct weir_stream_out *o = ctx;
    if (!o->is_over) {
        o->problem = weir_reply_problem_of(o->stream, fault);
        weir_reply_log_fault(fault, o->problem.status, &weir_request_of(o->stream)->log);
        fail(o);
    }
}

/* On a route a model server's words are looked at first; meanwhile nothing else comes. */
static void out_fail(struct weir_out *base, const struct weir_fault *fault)
{
    struct weir_stream_out *o = (struct weir_stream_out *)base;
    weir_flow_gate_close(&o->gate);
    if (!o->is_over) {
        weir_fault_text_look(o->stream, fault, tell_fault, o);
    }
}

void weir_stream_out_refuse(struct weir_stream_out *o, int status, struct weir_slice details)
{
    if (!o->is_over) {
        o->problem = (struct weir_problem){.status = status,
                                           .details = weir_arena_dup(&o->stream->arena, details)};
        fail(o);
    }
}

void weir_stream_out_aside(struct weir_stream_out *o, struct weir_slice name,
                           struct weir_slice json)
{
    if (!o->is_over && !o->is_blocked) {
        weir_sse_append_event(&o->scratch, name, json);
        flush(o);
    }
}

void weir_stream_out_end_all(void)
{
    struct weir_list *link;
    while ((link = weir_list_first(&running)) != NULL) {
        weir_list_remove(link);
        weir_stream_out_refuse(WEIR_LIST_ENTRY(link, struct weir_stream_out, link), 503,
                               WEIR_SLICE("the server is stopping"));
    }
}

static const struct weir_out_ops OPS = {
    .event = out_event,
    .raw = out_raw,
    .framed = out_framed,
    .blocked = out_blocked,
    .end = out_end,
    .fail = out_fail,
};

/* ---- what the connection calls ---- */

void weir_stream_out_resumed(struct weir_stream_out *o)
{
    if (!o->is_blocked) {
        return;
    }
    o->is_blocked = false;
    if (o->chain != NULL) {
        weir_chain_blocked(o->chain, weir_loop_now_ms(o->stream->loop), false);
        settle(o);
    }
    resume_task(o);
}

/* The task learns of it when the arena goes, which may be a moment later. */
void weir_stream_out_gone(struct weir_stream_out *o)
{
    o->is_over = true;
    weir_flow_gate_close(&o->gate);
    weir_loop_cancel(o->stream->loop, &o->timer);
    if (o->is_started) {
        weir_stream_stats_report(o, WEIR_STREAM_OUT_GONE);
    }
}

static void on_resume(struct weir_http_stream *s)
{
    weir_stream_out_resumed(s->ctx);
}

static void on_gone(struct weir_http_stream *s, int err)
{
    (void)err;
    weir_stream_out_gone(s->ctx);
}

static const struct weir_http_handler HANDLER = {.on_resume = on_resume, .on_gone = on_gone};

static void undo(void *ctx)
{
    struct weir_stream_out *o = ctx;
    weir_list_remove(&o->link);
    weir_loop_cancel(o->stream->loop, &o->timer);
    weir_loop_unpost(&o->room);
    weir_chain_free(o->chain);
    o->chain = NULL;
    weir_stream_gate_dispose(&o->calls);
    weir_stream_lanes_dispose(&o->lanes);
    weir_stream_stats_buffered(0, o->buffered.bytes);
    weir_account_set(&o->buffered, 0);
    weir_buf_dispose(&o->scratch);
}

struct weir_stream_out *weir_stream_out_new(struct weir_http_stream *s,
                                            const struct weir_stream_out_options *options)
{
    struct weir_stream_out *o = weir_arena_zalloc(&s->arena, sizeof *o);
    o->base.ops = &OPS;
    o->stream = s;
    o->options = *options;
    o->buffered.account = s->arena.account;
    o->timer.fn = on_timer;
    o->timer.ctx = o;
    o->room.fn = on_room;
    o->last_sent_ms = weir_loop_now_ms(s->loop);
    if (options->batching != NULL && options->batching->is_used) {
        const struct weir_batch_options *business = &options->batching->chain.business;
        o->chain = weir_chain_new(&options->batching->chain, on_chain, o);
        bool has_gate =
            business->mode == WEIR_BATCH_ON && business->tool_call_gate != WEIR_BATCH_GATE_OFF;
        o->calls.dialect = has_gate ? options->dialect : NULL;
        o->calls.max_bytes = business->max_tool_args_bytes;
    }
    weir_list_append(&running, &o->link);
    weir_arena_defer(&s->arena, undo, o);
    if (!options->is_duplex) {
        s->handler = &HANDLER;
        s->ctx = o;
    }
    arm(o);
    return o;
}
