/*
 * The order of a stream's events.
 *
 *   [prompt filters] ─► parts of the choices, by turns ─► [offsets] ─► [usage] ─► [DONE]
 *                              └─ fail_at ─► the error ────────────────────────────┘
 */
#include "base/mem.h"
#include "mock/mock_script.h"
#include "wire/json_write.h"

#include <stdlib.h>

static bool has(const struct weir_mock_script *sc, enum weir_mock_scenario scenario)
{
    return weir_mock_settings_has(sc->set, scenario);
}

static bool is_over(const struct weir_mock_script *sc, uint32_t choice)
{
    return sc->choices[choice].phase == WEIR_MOCK_PHASE_OVER;
}

/* ---- the choices ---- */

/* Whose turn it is, among those that are not over. */
static uint32_t pick(struct weir_mock_script *sc)
{
    if (has(sc, WEIR_MOCK_SHUFFLED)) {
        sc->turn = (uint32_t)(weir_mock_request_random(sc->r) % sc->ask->n);
    }
    while (is_over(sc, sc->turn)) {
        sc->turn = (sc->turn + 1) % sc->ask->n;
    }
    uint32_t picked = sc->turn;
    if (!has(sc, WEIR_MOCK_SEQUENTIAL)) {
        sc->turn = (sc->turn + 1) % sc->ask->n;
    }
    return picked;
}

/* What stands before and behind the token of a content event, where that never changes. */
static void make_template(struct weir_mock_script *sc, const struct weir_mock_part *like)
{
    struct weir_slice mark = WEIR_SLICE("\"\x01\"");
    struct weir_mock_part part = *like;
    struct weir_buf event = {0};
    part.token = (struct weir_mock_token){.quoted = mark};
    weir_mock_event_parts(sc, &part, 1, &event);
    struct weir_slice all = weir_arena_dup(sc->arena, weir_buf_slice(&event));
    weir_buf_dispose(&event);
    const char *at = memmem(all.p, all.n, mark.p, mark.n);
    size_t n_before = (size_t)(at - all.p);
    struct weir_mock_choice *ch = &sc->choices[like->choice];
    ch->before = weir_slice_sub(all, 0, n_before);
    ch->behind = weir_slice_sub(all, n_before + mark.n, all.n);
}

/* Most events are a token in a template; the others are composed. */
static bool fits_template(const struct weir_mock_script *sc, const struct weir_mock_part *part)
{
    bool is_plain = part->say == WEIR_MOCK_SAY_CONTENT && !part->is_opening &&
                    part->finish.p == NULL && part->has_role == has(sc, WEIR_MOCK_ROLE_EACH);
    bool varies = sc->ask->wants_logprobs || sc->ask->wants_usage_each;
    return is_plain && !varies;
}

static void write_part(struct weir_mock_script *sc, const struct weir_mock_part *part,
                       struct weir_buf *out)
{
    const struct weir_mock_choice *ch = &sc->choices[part->choice];
    if (!fits_template(sc, part)) {
        weir_mock_event_parts(sc, part, 1, out);
        return;
    }
    if (ch->before.p == NULL) {
        make_template(sc, part);
    }
    weir_buf_append(out, ch->before);
    weir_buf_append(out, part->token.quoted);
    weir_buf_append(out, ch->behind);
}

static bool is_token(const struct weir_mock_part *part)
{
    return !part->is_opening && part->say != WEIR_MOCK_SAY_NOTHING;
}

/* An event of one choice. False: the choices are over. */
static bool next_single(struct weir_mock_script *sc, struct weir_buf *out, bool *is_step)
{
    struct weir_mock_part part;
    do {
        if (sc->n_open == 0) {
            return false;
        }
    } while (!weir_mock_script_next(sc, pick(sc), &part));
    write_part(sc, &part, out);
    bool is_alone = has(sc, WEIR_MOCK_SEQUENTIAL) || has(sc, WEIR_MOCK_SHUFFLED);
    *is_step = is_token(&part) && (is_alone || sc->turn == 0 || sc->n_open == 1);
    return true;
}

/* An event of all choices that have something to say. */
static bool next_joined(struct weir_mock_script *sc, struct weir_buf *out, bool *is_step)
{
    struct weir_mock_part *parts = weir_mem_array(sc->ask->n, sizeof *parts);
    size_t n = 0;
    while (n == 0 && sc->n_open != 0) {
        for (uint32_t i = 0; i < sc->ask->n; i++) {
            n += !is_over(sc, i) && weir_mock_script_next(sc, i, &parts[n]);
        }
    }
    if (n != 0) {
        weir_mock_event_parts(sc, parts, n, out);
        *is_step = is_token(&parts[0]);
    }
    free(parts);
    return n != 0;
}

/* ---- what stands around them ---- */

/* Events with text between two annotations of the asynchronous filter. */
enum { UNFILTERED_EVENTS = 5 };

#define FINE "{\"filtered\":false,\"severity\":\"safe\"}"

static void write_prompt_filters(const struct weir_mock_script *sc, struct weir_buf *out)
{
    weir_mock_event_extra(sc,
                          WEIR_SLICE("\"prompt_filter_results\":[{\"prompt_index\":0,"
                                     "\"content_filter_results\":{\"hate\":" FINE
                                     ",\"violence\":" FINE "}}]"),
                          out);
}

static void write_offsets(const struct weir_mock_script *sc, struct weir_buf *out)
{
    struct weir_buf member = {0};
    size_t n_cp = sc->choices[0].offset_cp;
    weir_buf_printf(&member,
                    "\"content_filter_offsets\":{\"check_offset\":0,\"start_offset\":0,"
                    "\"end_offset\":%zu}",
                    n_cp);
    weir_mock_event_extra(sc, weir_buf_slice(&member), out);
    weir_buf_dispose(&member);
}

/* What Azure's asynchronous filter says, in events of their own: no delta, no id. */
static void write_annotation(struct weir_mock_script *sc, struct weir_buf *out)
{
    struct weir_buf event = {0};
    weir_buf_append(&event, WEIR_SLICE("{\"id\":\"\",\"object\":\"\",\"created\":0,\"model\":\"\","
                                       "\"choices\":["));
    for (uint32_t i = 0; i < sc->ask->n; i++) {
        size_t n_cp = sc->choices[i].offset_cp;
        weir_buf_printf(&event,
                        "%s{\"index\":%u,\"finish_reason\":null,\"content_filter_results\":"
                        "{\"hate\":" FINE ",\"violence\":" FINE "},\"content_filter_offsets\":"
                        "{\"check_offset\":0,\"start_offset\":0,\"end_offset\":%zu}}",
                        i != 0 ? "," : "", i, n_cp);
    }
    weir_buf_append(&event, WEIR_SLICE("],\"usage\":null}"));
    weir_mock_event_data(sc, WEIR_SLICE(""), weir_buf_slice(&event), out);
    weir_buf_dispose(&event);
    sc->n_unfiltered = 0;
}

static void write_usage(const struct weir_mock_script *sc, struct weir_buf *out)
{
    struct weir_buf member = {0};
    weir_buf_append(&member, WEIR_SLICE("\"usage\":"));
    weir_mock_event_usage(sc, &member);
    weir_mock_event_extra(sc, weir_buf_slice(&member), out);
    weir_buf_dispose(&member);
}

/* Moves on until there is something to say; an error leaves only [DONE]. */
static enum weir_mock_next next_of_tail(struct weir_mock_script *sc, struct weir_buf *out)
{
    enum { OFFSETS, USAGE, DONE, END };
    while (out->n == 0 && sc->tail < END) {
        unsigned at = sc->tail++;
        if (at == OFFSETS && has(sc, WEIR_MOCK_AZURE) && !sc->has_failed) {
            write_offsets(sc, out);
        } else if (at == OFFSETS && has(sc, WEIR_MOCK_AZURE_ASYNC) && !sc->has_failed) {
            write_annotation(sc, out);
        } else if (at == USAGE && sc->ask->wants_usage && !sc->has_failed) {
            write_usage(sc, out);
        } else if (at == DONE && !has(sc, WEIR_MOCK_NO_DONE)) {
            weir_mock_event_data(sc, WEIR_SLICE(""), WEIR_SLICE("[DONE]"), out);
        }
    }
    return out->n != 0 ? WEIR_MOCK_MORE : WEIR_MOCK_END;
}

/* ---- failures ---- */

static struct weir_slice message_of(const struct weir_mock_script *sc)
{
    return sc->set->message.p != NULL ? sc->set->message : WEIR_SLICE("the mock was told to fail");
}

static void write_error(struct weir_mock_script *sc, enum weir_mock_error error,
                        struct weir_buf *out)
{
    struct weir_buf data = {0};
    struct weir_buf message = {0};
    unsigned code = sc->set->status != 0 ? sc->set->status : 500;
    weir_json_write_quoted(&message, message_of(sc));
    if (error == WEIR_MOCK_ERROR_FLAT) {
        weir_buf_printf(&data,
                        "{\"object\":\"error\",\"message\":%s,\"type\":\"MockError\","
                        "\"param\":null,\"code\":%u}",
                        weir_buf_cstr(&message), code);
    } else {
        weir_buf_printf(&data,
                        "{\"error\":{\"message\":%s,\"type\":\"server_error\","
                        "\"param\":null,\"code\":%u}}",
                        weir_buf_cstr(&message), code);
    }
    bool is_named = error == WEIR_MOCK_ERROR_EVENT;
    weir_mock_event_data(sc, is_named ? WEIR_SLICE("error") : WEIR_SLICE(""), weir_buf_slice(&data),
                         out);
    weir_buf_dispose(&data);
    weir_buf_dispose(&message);
    sc->has_failed = true;
}

/* What comes in place of event `fail_at`. */
static enum weir_mock_next fail(struct weir_mock_script *sc, struct weir_buf *out)
{
    uint32_t chosen = sc->set->error;
    enum weir_mock_error error =
        chosen == WEIR_MOCK_UNSET ? WEIR_MOCK_ERROR_NESTED : (enum weir_mock_error)chosen;
    switch (error) {
    case WEIR_MOCK_ERROR_NESTED:
    case WEIR_MOCK_ERROR_FLAT:
    case WEIR_MOCK_ERROR_EVENT:
        write_error(sc, error, out);
        break;
    case WEIR_MOCK_ERROR_CUT:
        return WEIR_MOCK_CUT;
    case WEIR_MOCK_ERROR_END:
        return WEIR_MOCK_END;
    case WEIR_MOCK_ERROR_STALL:
        return WEIR_MOCK_STALL;
    case WEIR_MOCK_ERROR_GARBAGE:
        weir_mock_event_data(sc, WEIR_SLICE(""), WEIR_SLICE("{\"choices\":[{\"index\":0,"), out);
        break;
    case WEIR_MOCK_ERROR_NOT_OBJECT:
        weir_mock_event_data(sc, WEIR_SLICE(""), WEIR_SLICE("17"), out);
        break;
    case WEIR_MOCK_ERROR_NO_CHOICES:
        weir_mock_event_data(sc, WEIR_SLICE(""), WEIR_SLICE("{\"object\":\"surprise\"}"), out);
        break;
    case WEIR_MOCK_ERROR_BAD_UTF8:
        weir_mock_event_data(sc, WEIR_SLICE(""),
                             WEIR_SLICE("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\""
                                        "\xC3\x28\"}}]}"),
                             out);
        break;
    }
    return WEIR_MOCK_MORE;
}

/* ---- the source ---- */

static enum weir_mock_next next_event(void *ctx, struct weir_buf *out, uint64_t *wait_ms)
{
    struct weir_mock_script *sc = ctx;
    bool is_step = false;
    uint32_t fail_at = weir_mock_settings_fail_at(sc->set);
    (void)wait_ms;
    if (sc->has_failed) {
        return next_of_tail(sc, out);
    }
    sc->n_events++;
    if (fail_at != WEIR_MOCK_UNSET && sc->n_events == (uint64_t)fail_at + 1) {
        return fail(sc, out);
    }
    if (!sc->has_begun) {
        sc->has_begun = true;
        if (has(sc, WEIR_MOCK_AZURE) || has(sc, WEIR_MOCK_AZURE_ASYNC)) {
            write_prompt_filters(sc, out);
            return WEIR_MOCK_MORE;
        }
    }
    if (has(sc, WEIR_MOCK_AZURE_ASYNC) && sc->n_unfiltered == UNFILTERED_EVENTS) {
        write_annotation(sc, out);
        return WEIR_MOCK_MORE;
    }
    sc->n_unfiltered++;
    bool has_part =
        has(sc, WEIR_MOCK_JOINED) ? next_joined(sc, out, &is_step) : next_single(sc, out, &is_step);
    if (!has_part) {
        return next_of_tail(sc, out);
    }
    return is_step ? WEIR_MOCK_STEP : WEIR_MOCK_MORE;
}

static const struct weir_mock_source SCRIPT = {.next = next_event};

/* ---- a stream written by the user ---- */

struct list {
    const struct weir_mock_script *sc;
    struct weir_json json;
    uint32_t at;
};

static enum weir_mock_next next_listed(void *ctx, struct weir_buf *out, uint64_t *wait_ms)
{
    struct list *l = ctx;
    uint32_t at = l->at;
    if (at == WEIR_JSON_NONE) {
        return WEIR_MOCK_END;
    }
    l->at = weir_json_after(&l->json, 0, at);
    if (weir_json_type(&l->json, at) == WEIR_JSON_NUMBER) {
        if (weir_json_u64(&l->json, at, wait_ms) != 0) {
            *wait_ms = 0;
        }
        return WEIR_MOCK_WAIT;
    }
    if (weir_json_type(&l->json, at) == WEIR_JSON_STRING) {
        weir_json_string_append(&l->json, at, out);
        return WEIR_MOCK_STEP;
    }
    struct weir_buf data = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &data);
    weir_json_write_node(&w, &l->json, at);
    bool has_types = l->sc->ask->is_messages || l->sc->ask->is_responses;
    uint32_t type =
        has_types ? weir_json_get_set(&l->json, at, WEIR_SLICE("type")) : WEIR_JSON_NONE;
    bool is_named = type != WEIR_JSON_NONE && weir_json_type(&l->json, type) == WEIR_JSON_STRING;
    struct weir_slice raw = is_named ? weir_json_raw(&l->json, type) : WEIR_SLICE("\"\"");
    weir_mock_event_data(l->sc, weir_slice_sub(raw, 1, raw.n - 1), weir_buf_slice(&data), out);
    weir_buf_dispose(&data);
    return WEIR_MOCK_STEP;
}

static const struct weir_mock_source LIST = {.next = next_listed};

void weir_mock_stream_start(struct weir_http_stream *s, struct weir_mock_script *sc)
{
    static const struct weir_http_field fields[] = {
        {{"content-type", 12}, {"text/event-stream", 17}},
        {{"cache-control", 13}, {"no-cache", 8}},
    };
    struct weir_http_response r = {
        .status = 200, .fields = fields, .n_fields = 2, .body = WEIR_HTTP_BODY_STREAM};
    weir_http_stream_respond(s, &r);
    if (sc->set->events.p == NULL) {
        weir_mock_event_make_head(sc,
                                  sc->ask->is_chat ? "chat.completion.chunk" : "text_completion");
        weir_mock_player_start(s, &SCRIPT, sc);
        return;
    }
    struct list *l = weir_arena_zalloc(&s->arena, sizeof *l);
    l->sc = sc;
    l->at = WEIR_JSON_NONE;
    bool is_list = weir_json_parse(&l->json, sc->set->events, NULL, &s->arena, NULL) == 0 &&
                   weir_json_type(&l->json, 0) == WEIR_JSON_ARRAY;
    if (is_list) {
        l->at = weir_json_first(&l->json, 0);
    }
    weir_mock_player_start(s, &LIST, l);
}
