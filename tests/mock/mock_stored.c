/*
 * Responses that stay with the server: the answer, its events, what was asked. Kept by provider, so
 * that one mock that plays several shows which of them was asked again. All workers share them.
 */
#include "base/mem.h"
#include "mock/mock_reply.h"
#include "mock/mock_responses.h"
#include "route/reply.h"
#include "wire/json_write.h"

#include <stdlib.h>

enum { MAX_STORED = 1000, MAX_STORED_BYTES = 4 * 1024 * 1024 };

struct weir_mock_stored {
    struct weir_mock_server *server;
    struct weir_mock_stored **owner; /* until it is in the server's map */
    struct weir_buf key;             /* PROVIDER/ID */
    struct weir_buf object;
    struct weir_buf events;
    struct weir_buf input; /* members of the list */
    bool is_background;
};

/* ---- the map; under the server's lock ---- */

static void free_stored(struct weir_mock_stored *st)
{
    weir_buf_dispose(&st->key);
    weir_buf_dispose(&st->object);
    weir_buf_dispose(&st->events);
    weir_buf_dispose(&st->input);
    free(st);
}

static void drop_oldest(struct weir_map *map)
{
    size_t i = 0;
    const struct weir_map_entry *e = weir_map_next(map, &i);
    free_stored(weir_map_remove(map, e->key));
}

void weir_mock_stored_free_all(struct weir_mock_server *sv)
{
    while (sv->stored.n != 0) {
        drop_oldest(&sv->stored);
    }
    weir_map_dispose(&sv->stored);
}

static struct weir_slice key_of(const struct weir_mock_request *r, struct weir_slice id,
                                struct weir_buf *out)
{
    weir_buf_append(out, r->provider);
    weir_buf_append_byte(out, '/');
    weir_buf_append(out, id);
    return weir_buf_slice(out);
}

bool weir_mock_stored_has(const struct weir_mock_request *r, struct weir_slice id)
{
    struct weir_mock_server *sv = r->worker->server;
    struct weir_buf key = {0};
    key_of(r, id, &key);
    pthread_mutex_lock(&sv->lock);
    bool has = weir_map_has(&sv->stored, weir_buf_slice(&key));
    pthread_mutex_unlock(&sv->lock);
    weir_buf_dispose(&key);
    return has;
}

/* ---- keeping ---- */

/* An item as the list of input has it: with an id. */
static void put_input_item(struct weir_mock_stored *st, const struct weir_json *j, uint32_t item,
                           unsigned i)
{
    struct weir_json_write w;
    bool has_id = item != WEIR_JSON_NONE && weir_json_type(j, item) == WEIR_JSON_OBJECT &&
                  weir_json_get_set(j, item, WEIR_SLICE("id")) != WEIR_JSON_NONE;
    weir_buf_append(&st->input, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
    size_t at = st->input.n;
    weir_json_write_init(&w, &st->input);
    weir_json_write_node(&w, j, item);
    if (has_id || st->input.p[at] != '{') {
        return;
    }
    struct weir_buf rest = {0};
    weir_buf_append(&rest, weir_slice_sub(weir_buf_slice(&st->input), at + 1, st->input.n));
    st->input.n = at;
    weir_buf_printf(&st->input, "{\"id\":\"msg_in%03u\"%s", i,
                    rest.n > 1 && rest.p[0] != '}' ? "," : "");
    weir_buf_append(&st->input, weir_buf_slice(&rest));
    weir_buf_dispose(&rest);
}

static void take_input(struct weir_mock_stored *st, const struct weir_json *j)
{
    uint32_t input = weir_json_get_set(j, 0, WEIR_SLICE("input"));
    if (input == WEIR_JSON_NONE) {
        return;
    }
    if (weir_json_type(j, input) == WEIR_JSON_STRING) {
        struct weir_json_write w;
        weir_buf_append(&st->input,
                        WEIR_SLICE("{\"id\":\"msg_in000\",\"type\":\"message\",\"role\":\"user\","
                                   "\"status\":\"completed\",\"content\":[{\"type\":"
                                   "\"input_text\",\"text\":"));
        weir_json_write_init(&w, &st->input);
        weir_json_write_node(&w, j, input);
        weir_buf_append(&st->input, WEIR_SLICE("}]}"));
        return;
    }
    unsigned i = 0;
    for (uint32_t at = weir_json_first(j, input); at != WEIR_JSON_NONE;
         at = weir_json_after(j, input, at)) {
        put_input_item(st, j, at, i++);
    }
}

static void drop_unkept(void *ctx)
{
    struct weir_mock_stored *st = *(struct weir_mock_stored **)ctx;
    if (st != NULL) {
        free_stored(st);
    }
}

struct weir_mock_stored *weir_mock_stored_new(struct weir_mock_script *sc)
{
    if (!sc->ask->is_stored) {
        return NULL;
    }
    struct weir_mock_stored **own = weir_arena_alloc(sc->arena, sizeof *own);
    struct weir_mock_stored *st = weir_mem_zalloc(sizeof *st);
    weir_buf_init(&st->events, MAX_STORED_BYTES);
    weir_buf_init(&st->input, MAX_STORED_BYTES);
    st->server = sc->r->worker->server;
    st->is_background = sc->ask->is_background;
    st->owner = own;
    weir_buf_append(&st->key, sc->r->provider);
    weir_buf_printf(&st->key, "/resp_%s", sc->r->id);
    take_input(st, sc->ask->body);
    *own = st;
    weir_arena_defer(sc->arena, drop_unkept, own);
    return st;
}

void weir_mock_stored_add(struct weir_mock_stored *st, struct weir_slice event)
{
    weir_buf_append(&st->events, event); /* past the limit they are not there later */
}

void weir_mock_stored_keep(struct weir_mock_stored *st, struct weir_slice object)
{
    struct weir_mock_server *sv = st->server;
    weir_buf_append(&st->object, object);
    *st->owner = NULL;
    pthread_mutex_lock(&sv->lock);
    if (sv->stored.n == MAX_STORED) {
        drop_oldest(&sv->stored);
    }
    weir_map_put(&sv->stored, weir_buf_slice(&st->key), st);
    pthread_mutex_unlock(&sv->lock);
}

/* ---- asking for them ---- */

/* What a request wants of a record: copied while nobody else changes it. */
enum part { OBJECT, EVENTS, INPUT, REMOVED, CANCELLED };

static struct weir_slice id_of(const struct weir_http_stream *s)
{
    struct weir_slice rest =
        weir_slice_sub(s->req.path, sizeof "/v1/responses/" - 1, s->req.path.n);
    return weir_slice_sub(rest, 0, weir_slice_find(rest, '/'));
}

/* "completed" becomes "cancelled". */
static void cancel(struct weir_mock_stored *st)
{
    static const char before[] = "\"status\":\"";
    struct weir_buf changed = {0};
    struct weir_slice object = weir_buf_slice(&st->object);
    const char *found = memmem(object.p, object.n, before, sizeof before - 1);
    size_t at = (size_t)(found - object.p) + sizeof before - 1;
    size_t end = at + weir_slice_find(weir_slice_sub(object, at, object.n), '"');
    weir_buf_append(&changed, weir_slice_sub(object, 0, at));
    weir_buf_append(&changed, WEIR_SLICE("cancelled"));
    weir_buf_append(&changed, weir_slice_sub(object, end, object.n));
    weir_buf_clear(&st->object);
    weir_buf_append(&st->object, weir_buf_slice(&changed));
    weir_buf_dispose(&changed);
}

static void copy_part(struct weir_mock_server *sv, struct weir_mock_stored *st, enum part part,
                      struct weir_buf *out)
{
    switch (part) {
    case EVENTS:
        weir_buf_append(out, weir_buf_slice(&st->events));
        break;
    case INPUT:
        weir_buf_append(out, weir_buf_slice(&st->input));
        break;
    case REMOVED:
        weir_map_remove(&sv->stored, weir_buf_slice(&st->key));
        free_stored(st);
        break;
    case CANCELLED:
        if (!st->is_background) {
            break; /* nothing is appended: it cannot be */
        }
        cancel(st);
        weir_buf_append(out, weir_buf_slice(&st->object));
        break;
    case OBJECT:
        weir_buf_append(out, weir_buf_slice(&st->object));
        break;
    }
}

/* False: there is no such response; answered with 404, as OpenAI does. */
static bool fetch(struct weir_http_stream *s, enum part part, struct weir_buf *out)
{
    const struct weir_mock_request *r = weir_mock_request_of(s);
    struct weir_mock_server *sv = r->worker->server;
    struct weir_buf key = {0};
    key_of(r, id_of(s), &key);
    pthread_mutex_lock(&sv->lock);
    struct weir_mock_stored *st = weir_map_get(&sv->stored, weir_buf_slice(&key));
    if (st != NULL) {
        copy_part(sv, st, part, out);
    }
    pthread_mutex_unlock(&sv->lock);
    weir_buf_dispose(&key);
    if (st == NULL) {
        struct weir_buf words = {0};
        weir_buf_printf(&words, "Response with id '%.*s' not found.", (int)id_of(s).n, id_of(s).p);
        weir_mock_reply_openai_error(s, 404, weir_buf_slice(&words));
        weir_buf_dispose(&words);
    }
    return st != NULL;
}

/* A member of the query, or p NULL. */
static struct weir_slice query_of(const struct weir_http_stream *s, const char *name)
{
    for (struct weir_slice rest = s->req.query; rest.n != 0;) {
        struct weir_slice value = weir_slice_cut(&rest, '&');
        struct weir_slice key = weir_slice_cut(&value, '=');
        if (weir_slice_eq_cstr(key, name)) {
            return value;
        }
    }
    return (struct weir_slice){0};
}

/* ---- a stream again ---- */

struct replay {
    struct weir_buf events;
    size_t at;
};

static void drop_replay(void *ctx)
{
    weir_buf_dispose(&((struct replay *)ctx)->events);
}

/* The next event, with its empty line. */
static struct weir_slice next_of(struct replay *p)
{
    struct weir_slice rest = weir_slice_sub(weir_buf_slice(&p->events), p->at, p->events.n);
    const char *end = rest.n != 0 ? memmem(rest.p, rest.n, "\n\n", 2) : NULL;
    const char *crlf = rest.n != 0 ? memmem(rest.p, rest.n, "\r\n\r\n", 4) : NULL;
    size_t n = crlf != NULL && (end == NULL || crlf < end) ? (size_t)(crlf - rest.p) + 4
               : end != NULL                               ? (size_t)(end - rest.p) + 2
                                                           : rest.n;
    p->at += n;
    return weir_slice_sub(rest, 0, n);
}

static enum weir_mock_next replay_next(void *ctx, struct weir_buf *out, uint64_t *wait_ms)
{
    struct weir_slice event = next_of(ctx);
    (void)wait_ms;
    weir_buf_append(out, event);
    return event.n != 0 ? WEIR_MOCK_MORE : WEIR_MOCK_END;
}

static const struct weir_mock_source REPLAY = {.next = replay_next};

static void go_replay(struct weir_http_stream *s)
{
    static const struct weir_http_field type = {{"content-type", 12}, {"text/event-stream", 17}};
    struct replay *p = weir_arena_zalloc(&s->arena, sizeof *p);
    uint64_t after;
    weir_arena_defer(&s->arena, drop_replay, p);
    if (!fetch(s, EVENTS, &p->events)) {
        return;
    }
    struct weir_slice from = query_of(s, "starting_after");
    if (from.p != NULL && weir_slice_u64(from, &after) == 0) {
        for (uint64_t i = 0; i <= after && p->at < p->events.n; i++) {
            next_of(p);
        }
    }
    struct weir_http_response r = {
        .status = 200, .fields = &type, .n_fields = 1, .body = WEIR_HTTP_BODY_STREAM};
    weir_http_stream_respond(s, &r);
    weir_mock_player_start(s, &REPLAY, p);
}

/* ---- paths ---- */

static void go_delete(struct weir_http_stream *s)
{
    struct weir_buf answer = {0};
    if (fetch(s, REMOVED, &answer)) {
        weir_buf_printf(&answer, "{\"id\":\"%.*s\",\"object\":\"response\",\"deleted\":true}",
                        (int)id_of(s).n, id_of(s).p);
        weir_mock_reply_json(s, weir_buf_slice(&answer));
    }
    weir_buf_dispose(&answer);
}

static void go(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_buf answer = {0};
    (void)body;
    if (s->req.method == WEIR_HTTP_DELETE) {
        go_delete(s);
    } else if (weir_slice_eq_cstr(query_of(s, "stream"), "true")) {
        go_replay(s);
    } else if (fetch(s, OBJECT, &answer)) {
        weir_mock_reply_json(s, weir_buf_slice(&answer));
    }
    weir_buf_dispose(&answer);
}

void weir_mock_stored_begin(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {.go = go, .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_wait(s, &role);
}

static void go_cancel(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_buf answer = {0};
    (void)body;
    if (fetch(s, CANCELLED, &answer)) {
        if (answer.n != 0) {
            weir_mock_reply_json(s, weir_buf_slice(&answer));
        } else {
            weir_mock_reply_openai_error(s, 400,
                                         WEIR_SLICE("Cannot cancel a synchronous response."));
        }
    }
    weir_buf_dispose(&answer);
}

void weir_mock_stored_begin_cancel(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {.go = go_cancel,
                                               .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_wait(s, &role);
}

static void go_input(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_buf items = {0};
    struct weir_buf answer = {0};
    (void)body;
    if (fetch(s, INPUT, &items)) {
        weir_buf_append(&answer, WEIR_SLICE("{\"object\":\"list\",\"data\":["));
        weir_buf_append(&answer, weir_buf_slice(&items));
        weir_buf_append(&answer, WEIR_SLICE("],\"first_id\":\"msg_in000\",\"last_id\":"
                                            "\"msg_in000\",\"has_more\":false}"));
        weir_mock_reply_json(s, weir_buf_slice(&answer));
    }
    weir_buf_dispose(&items);
    weir_buf_dispose(&answer);
}

void weir_mock_stored_begin_input(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {.go = go_input,
                                               .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_wait(s, &role);
}
