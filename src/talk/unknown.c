#include "talk/unknown.h"

#include "talk/known.h"

static const char *const DELTA = "delta";
static const char *const AUDIO = "audio";
static const char *const CHOICE = "choice";
static const char *const TOP = "top";

bool weir_unknown_is_data_url(struct weir_slice text)
{
    static const char scheme[] = "data:";
    size_t n = 0;
    for (size_t i = 0; i < text.n && n < sizeof scheme - 1; i++) {
        char c = text.p[i];
        bool is_skipped =
            c == '\t' || c == '\n' || c == '\r' || (n == 0 && (unsigned char)c <= ' ');
        if (is_skipped) {
            continue;
        }
        c = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        if (c != scheme[n++]) {
            return false;
        }
    }
    return n == sizeof scheme - 1;
}

static bool is_data_url(const struct weir_json *json, uint32_t at)
{
    struct weir_buf text = {0};
    weir_json_string_append(json, at, &text);
    bool is_one = weir_unknown_is_data_url(weir_buf_slice(&text));
    weir_buf_dispose(&text);
    return is_one;
}

static bool has_media(const struct weir_json *json, uint32_t value)
{
    for (uint32_t at = value; at < json->nodes[value].next; at++) {
        if (weir_json_type(json, at) == WEIR_JSON_STRING && is_data_url(json, at)) {
            return true;
        }
    }
    return false;
}

/* The members of one object of the answer; returns how many are left out. */
static size_t append_members(const struct weir_json *json, uint32_t object,
                             const char *const *known, struct weir_buf *out)
{
    size_t n_left_out = 0;
    uint32_t key = weir_json_first(json, object);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, object, key)) {
        bool is_null = weir_json_type(json, key + 1) == WEIR_JSON_NULL;
        if (is_null || weir_known_is_among(json, key, known)) {
            continue;
        }
        if (has_media(json, key + 1)) {
            n_left_out++;
            continue;
        }
        weir_buf_append(out, out->n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_buf_append(out, weir_json_raw(json, key));
        weir_buf_append_byte(out, ':');
        weir_buf_append(out, weir_json_raw(json, key + 1));
    }
    return n_left_out;
}

static size_t append_object(const struct weir_delta *d, uint32_t object, const char *name,
                            const char *const *known, struct weir_buf *out)
{
    struct weir_buf members = {0};
    size_t n_left_out =
        object != WEIR_JSON_NONE ? append_members(d->json, object, known, &members) : 0;
    if (members.n != 0) {
        weir_buf_printf(out, "%s\"%s\":{", out->n == 0 ? "{" : ",", name);
        weir_buf_append(out, weir_buf_slice(&members));
        weir_buf_append_byte(out, '}');
    }
    weir_buf_dispose(&members);
    return n_left_out;
}

size_t weir_unknown_append(const struct weir_delta *d, const struct weir_dialect *dialect,
                           bool with_top, struct weir_buf *out)
{
    static const char *const audio[] = {"id", "expires_at", "transcript", "data", NULL};
    struct weir_buf object = {0};
    bool is_chat = dialect->has_messages;
    bool has_data = d->audio != WEIR_JSON_NONE &&
                    weir_json_get_set(d->json, d->audio, WEIR_SLICE("data")) != WEIR_JSON_NONE;
    size_t n = has_data;
    n += append_object(d, is_chat ? d->body : WEIR_JSON_NONE, DELTA, weir_known_body, &object);
    n += append_object(d, d->audio, AUDIO, audio, &object);
    n += append_object(d, d->choice, CHOICE, weir_known_choice_of(is_chat), &object);
    n += append_object(d, with_top ? 0 : WEIR_JSON_NONE, TOP, weir_known_top, &object);
    if (object.n != 0) {
        weir_buf_append(out, weir_buf_slice(&object));
        weir_buf_append_byte(out, '}');
    }
    weir_buf_dispose(&object);
    return n;
}

static struct weir_slice members_of(const struct weir_json *json, uint32_t object, const char *name)
{
    uint32_t at = weir_json_get_set(json, object, weir_slice_cstr(name));
    if (at == WEIR_JSON_NONE) {
        return (struct weir_slice){0};
    }
    struct weir_slice raw = weir_json_raw(json, at);
    return weir_slice_sub(raw, 1, raw.n - 1);
}

void weir_unknown_read(const struct weir_json *json, uint32_t object, struct weir_talk_out *out)
{
    out->members = members_of(json, object, DELTA);
    out->audio = members_of(json, object, AUDIO);
    out->extras = members_of(json, object, CHOICE);
    out->top_extras = members_of(json, object, TOP);
}
