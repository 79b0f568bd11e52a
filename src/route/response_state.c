#include "route/response_state.h"

#include "route/reply.h"
#include "route/response.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct weir_slice PREVIOUS = {"previous_response_id", 20};

static bool enforces(const struct weir_http_stream *s)
{
    return weir_policy_enforces(&weir_request_of(s)->guarded->policy);
}

/* The response that is gone on from; p NULL: none is. */
static struct weir_slice previous_of(struct weir_http_stream *s, const struct weir_json *json)
{
    bool is_object = weir_json_type(json, 0) == WEIR_JSON_OBJECT;
    uint32_t at = is_object ? weir_json_get_set(json, 0, PREVIOUS) : WEIR_JSON_NONE;
    bool is_text = at != WEIR_JSON_NONE && weir_json_type(json, at) == WEIR_JSON_STRING;
    return is_text ? weir_json_string(json, at, &s->arena) : (struct weir_slice){0};
}

/* Without a key for ids. */
static bool check_nothing_kept(struct weir_http_stream *s, const struct weir_json *json)
{
    static const char *const names[] = {"store", "background", "previous_response_id"};
    for (size_t i = 0; i < COUNT(names); i++) {
        uint32_t at = weir_json_get_set(json, 0, weir_slice_cstr(names[i]));
        if (at != WEIR_JSON_NONE && weir_json_type(json, at) != WEIR_JSON_FALSE) {
            weir_reply_errorf(s, 400,
                              "`/%s`: on routes that block or redact the model server keeps "
                              "responses only with a key for their ids: set `id_key_env`, or send "
                              "the conversation in `input`",
                              names[i]);
            return false;
        }
    }
    return true;
}

static void refuse_previous(struct weir_http_stream *s)
{
    static const char words[] = "`/previous_response_id`: there is no such response on this route";
    weir_reply_problem(s,
                       &(struct weir_problem){.status = 404,
                                              .details = weir_slice_cstr(words),
                                              .code = WEIR_SLICE("\"previous_response_not_found\""),
                                              .param = WEIR_SLICE("\"previous_response_id\"")});
}

bool weir_response_state_check(struct weir_http_stream *s, const struct weir_json *json)
{
    if (!enforces(s) || weir_json_type(json, 0) != WEIR_JSON_OBJECT) {
        return true;
    }
    struct weir_response_id ids = weir_response_ids(weir_request_of(s));
    if (ids.secret.n == 0) {
        return check_nothing_kept(s, json);
    }
    bool is_there = weir_json_get_set(json, 0, PREVIOUS) != WEIR_JSON_NONE;
    struct weir_slice id;
    struct weir_buf server = {0};
    bool is_ours = !is_there || weir_response_id_read(&ids, previous_of(s, json), &id, &server);
    weir_buf_dispose(&server);
    if (!is_ours) {
        refuse_previous(s);
    }
    return is_ours;
}

void weir_response_state_bind(struct weir_http_stream *s, const struct weir_json *json,
                              struct weir_task_completion *request)
{
    struct weir_response_id ids = weir_response_ids(weir_request_of(s));
    struct weir_slice said = previous_of(s, json);
    struct weir_buf server = {0};
    bool asks_beside = weir_request_of(s)->guarded->policy.asks_beside;
    request->stores_nothing = (enforces(s) && ids.secret.n == 0) || asks_beside;
    if (ids.secret.n != 0 && said.p != NULL &&
        weir_response_id_read(&ids, said, &request->previous, &server) &&
        weir_request_of(s)->task.env->fleet != NULL) {
        request->provider = weir_arena_dup(&s->arena, weir_buf_slice(&server));
    }
    weir_buf_dispose(&server);
}
