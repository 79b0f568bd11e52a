#include "mock/mock_provider.h"

#include "mock/mock_openai.h"
#include "mock/mock_reply.h"
#include "mock/mock_server.h"
#include "route/reply.h"
#include "wire/json_write.h"

/* ---- who it is ---- */

void weir_mock_provider_enter(struct weir_http_stream *s)
{
    struct weir_slice prefix = WEIR_SLICE("/providers/");
    if (!weir_slice_starts_with(s->req.path, prefix)) {
        return;
    }
    struct weir_slice rest = weir_slice_sub(s->req.path, prefix.n, s->req.path.n);
    size_t n = weir_slice_find(rest, '/');
    weir_mock_request_of(s)->provider = weir_slice_sub(rest, 0, n);
    s->req.path = n < rest.n ? weir_slice_sub(rest, n, rest.n) : WEIR_SLICE("/");
}

static bool has_key(const struct weir_http_stream *s, struct weir_slice key)
{
    static const char *const names[] = {"api-key", "x-api-key"};
    struct weir_slice value = weir_http_request_get(&s->req, WEIR_SLICE("authorization"));
    struct weir_slice bearer = WEIR_SLICE("Bearer ");
    if (weir_slice_starts_with(value, bearer) &&
        weir_slice_eq(weir_slice_sub(value, bearer.n, value.n), key)) {
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (weir_slice_eq(weir_http_request_get(&s->req, weir_slice_cstr(names[i])), key)) {
            return true;
        }
    }
    return false;
}

bool weir_mock_provider_knows(struct weir_http_stream *s)
{
    struct weir_slice key = weir_mock_request_of(s)->set.api_key;
    if (key.p == NULL || has_key(s, key)) {
        return true;
    }
    struct weir_http_field type = {WEIR_SLICE("content-type"), WEIR_SLICE("application/json")};
    weir_http_stream_reply(
        s, 401, &type, 1,
        WEIR_SLICE("{\"error\":{\"code\":\"invalid_api_key\",\"type\":\"invalid_request_error\","
                   "\"param\":null,\"message\":\"Incorrect API key provided.\"}}"));
    return false;
}

/* ---- Azure ---- */

static void fail_azure(struct weir_http_stream *s, int status, const char *code,
                       const char *message)
{
    struct weir_buf body = {0};
    struct weir_http_field type = {WEIR_SLICE("content-type"), WEIR_SLICE("application/json")};
    weir_buf_printf(&body, "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}", code, message);
    weir_http_stream_reply(s, status, &type, 1, weir_buf_slice(&body));
    weir_buf_dispose(&body);
}

/* The names in the setting, separated by commas; without it there is every deployment. */
static bool is_deployed(const struct weir_mock_settings *set, struct weir_slice name)
{
    for (struct weir_slice rest = set->deployments; rest.p != NULL;) {
        if (weir_slice_eq(weir_slice_trim(weir_slice_cut(&rest, ',')), name)) {
            return true;
        }
    }
    return set->deployments.p == NULL;
}

void weir_mock_provider_begin_deployment(void *env, struct weir_http_stream *s)
{
    struct weir_mock_settings *set = &weir_mock_request_of(s)->set;
    struct weir_slice rest =
        weir_slice_sub(s->req.path, sizeof "/openai/deployments/" - 1, s->req.path.n);
    size_t n = weir_slice_find(rest, '/');
    struct weir_slice name = weir_slice_sub(rest, 0, n);
    struct weir_slice below = weir_slice_sub(rest, n, rest.n);
    if (!weir_slice_starts_with(s->req.query, WEIR_SLICE("api-version="))) {
        fail_azure(s, 404, "404", "Resource not found");
    } else if (!is_deployed(set, name)) {
        fail_azure(s, 404, "DeploymentNotFound",
                   "The API deployment for this resource does not exist.");
    } else {
        if (!weir_mock_settings_has(set, WEIR_MOCK_AZURE_ASYNC)) {
            set->scenario |= UINT64_C(1) << WEIR_MOCK_AZURE;
        }
        if (weir_slice_eq_cstr(below, "/chat/completions")) {
            weir_mock_openai_begin_chat(env, s);
        } else if (weir_slice_eq_cstr(below, "/completions")) {
            weir_mock_openai_begin_completion(env, s);
        } else if (weir_slice_eq_cstr(below, "/embeddings")) {
            weir_mock_provider_begin_embeddings(env, s);
        } else {
            fail_azure(s, 404, "404", "Resource not found");
        }
    }
}

#define FILTERED                                                                                   \
    "{\"hate\":{\"filtered\":false,\"severity\":\"safe\"},"                                        \
    "\"violence\":{\"filtered\":true,\"severity\":\"high\"}}"

bool weir_mock_provider_blocks(struct weir_http_stream *s, struct weir_slice text)
{
    struct weir_slice word = weir_mock_request_of(s)->set.blocked;
    struct weir_http_field type = {WEIR_SLICE("content-type"), WEIR_SLICE("application/json")};
    if (word.n == 0 || text.n == 0 || memmem(text.p, text.n, word.p, word.n) == NULL) {
        return false;
    }
    weir_http_stream_reply(
        s, 400, &type, 1,
        WEIR_SLICE("{\"error\":{\"message\":\"The response was filtered due to the prompt "
                   "triggering Azure OpenAI's content management policy.\",\"type\":null,"
                   "\"param\":\"prompt\",\"code\":\"content_filter\",\"status\":400,"
                   "\"innererror\":{\"code\":\"ResponsibleAIPolicyViolation\","
                   "\"content_filter_result\":" FILTERED "}}}"));
    return true;
}

/* ---- vectors ---- */

static size_t count_texts(const struct weir_json *body, struct weir_slice name)
{
    uint32_t at = weir_json_get_set(body, 0, name);
    if (at == WEIR_JSON_NONE) {
        return 0;
    }
    bool is_list = weir_json_type(body, at) == WEIR_JSON_ARRAY;
    bool is_tokens = is_list && body->nodes[at].n != 0 &&
                     weir_json_type(body, weir_json_first(body, at)) == WEIR_JSON_NUMBER;
    return is_list && !is_tokens ? body->nodes[at].n : 1;
}

static void put_model(struct weir_buf *out, const struct weir_json *body)
{
    uint32_t model = weir_json_get_set(body, 0, WEIR_SLICE("model"));
    weir_buf_append(out, WEIR_SLICE("\"model\":"));
    weir_buf_append(out,
                    model != WEIR_JSON_NONE ? weir_json_raw(body, model) : WEIR_SLICE("\"mock\""));
}

static void answer_with(struct weir_http_stream *s, struct weir_buf *out)
{
    weir_mock_reply_json(s, weir_buf_slice(out));
    weir_buf_dispose(out);
}

static void go_embeddings(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_buf out = {0};
    size_t n = count_texts(body, WEIR_SLICE("input"));
    weir_buf_append(&out, WEIR_SLICE("{\"object\":\"list\",\"data\":["));
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(&out,
                        "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":[0.25,-0.5,%zu]}",
                        i != 0 ? "," : "", i, i);
    }
    weir_buf_append(&out, WEIR_SLICE("],"));
    put_model(&out, body);
    weir_buf_printf(&out, ",\"usage\":{\"prompt_tokens\":%zu,\"total_tokens\":%zu}}", n, n);
    answer_with(s, &out);
}

static void go_rerank(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_buf out = {0};
    size_t n = count_texts(body, WEIR_SLICE("documents"));
    weir_buf_append(&out, WEIR_SLICE("{\"id\":\"rerank-1\","));
    put_model(&out, body);
    weir_buf_append(&out, WEIR_SLICE(",\"results\":["));
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(&out, "%s{\"index\":%zu,\"relevance_score\":0.%zu}", i != 0 ? "," : "", i,
                        9 - i % 9);
    }
    weir_buf_append(&out, WEIR_SLICE("]}"));
    answer_with(s, &out);
}

static void go_score(struct weir_http_stream *s, const struct weir_json *body)
{
    struct weir_buf out = {0};
    size_t n = count_texts(body, WEIR_SLICE("text_2"));
    weir_buf_append(&out, WEIR_SLICE("{\"id\":\"score-1\",\"object\":\"list\","));
    put_model(&out, body);
    weir_buf_append(&out, WEIR_SLICE(",\"data\":["));
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(&out, "%s{\"index\":%zu,\"object\":\"score\",\"score\":0.5}",
                        i != 0 ? "," : "", i);
    }
    weir_buf_append(&out, WEIR_SLICE("]}"));
    answer_with(s, &out);
}

static bool take_vectors(struct weir_http_stream *s, const struct weir_json *body)
{
    uint32_t mock = weir_json_get_set(body, 0, WEIR_SLICE("mock"));
    return mock == WEIR_JSON_NONE || weir_mock_reply_settings(s, body, mock, false);
}

void weir_mock_provider_begin_embeddings(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_vectors, .go = go_embeddings, .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}

void weir_mock_provider_begin_rerank(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_vectors, .go = go_rerank, .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}

void weir_mock_provider_begin_score(void *env, struct weir_http_stream *s)
{
    static const struct weir_mock_role role = {
        .take = take_vectors, .go = go_score, .fail = weir_mock_reply_openai_error};
    (void)env;
    weir_mock_reply_begin(s, &role);
}
