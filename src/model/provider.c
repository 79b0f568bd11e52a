#include "model/provider.h"

#include "base/buf.h"
#include "wire/url.h"

#define ANTHROPIC_VERSION WEIR_SLICE("2023-06-01")

/* What stands behind the base URL. NULL: a server of the kind has no such path. */
struct paths {
    const char *openai;
    const char *azure;     /* behind /openai/deployments/NAME, or /openai/v1 */
    const char *anthropic; /* behind /v1 */
    const char *name;
};

static const struct paths *paths_of(enum weir_model_op op)
{
    static const struct paths table[] = {
        [WEIR_MODEL_CHAT] = {"/chat/completions", "/chat/completions", NULL, "chat completions"},
        [WEIR_MODEL_COMPLETION] = {"/completions", "/completions", NULL, "completions"},
        [WEIR_MODEL_EMBEDDINGS] = {"/embeddings", "/embeddings", NULL, "embeddings"},
        [WEIR_MODEL_RERANK] = {"/rerank", NULL, NULL, "rerank"},
        [WEIR_MODEL_SCORE] = {"/score", NULL, NULL, "score"},
        [WEIR_MODEL_MESSAGES] = {"/messages", NULL, "/messages", "messages"},
        [WEIR_MODEL_COUNT] = {"/messages/count_tokens", NULL, "/messages/count_tokens",
                              "token counts of messages"},
        [WEIR_MODEL_RESPONSES] = {"/responses", "/responses", NULL, "responses"},
        [WEIR_MODEL_ITEM_COUNT] = {"/responses/input_tokens", "/responses/input_tokens", NULL,
                                   "token counts of responses"},
        [WEIR_MODEL_STORED] = {"/responses", "/responses", NULL, "stored responses"},
        [WEIR_MODEL_MODELS] = {"/models", "/models", "/models", "models"},
        [WEIR_MODEL_FORWARD] = {"", "", "", "other paths"},
        [WEIR_MODEL_GENERATE] = {NULL, NULL, NULL, "generation"},
        [WEIR_MODEL_TOKENIZE] = {"/tokenize", NULL, NULL, "tokenize"},
    };
    return &table[op];
}

const char *weir_provider_op_name(enum weir_model_op op)
{
    return paths_of(op)->name;
}

static bool is_next_azure(const struct weir_provider *p)
{
    return weir_slice_eq_cstr(p->api_version, "v1");
}

/* vLLM has its tokenizer beside /v1, not below it. */
static struct weir_slice base_of(const struct weir_provider *p, enum weir_model_op op)
{
    struct weir_slice v1 = WEIR_SLICE("/v1");
    bool is_beside = op == WEIR_MODEL_TOKENIZE && weir_slice_ends_with(p->base_path, v1);
    return is_beside ? weir_slice_sub(p->base_path, 0, p->base_path.n - v1.n) : p->base_path;
}

/* Azure's list of models is not a deployment's, nor are files and the like. */
static void append_azure(struct weir_buf *out, const struct weir_provider *p, enum weir_model_op op,
                         struct weir_slice model)
{
    if (is_next_azure(p)) {
        weir_buf_append(out, WEIR_SLICE("/openai/v1"));
    } else if (op == WEIR_MODEL_MODELS || model.n == 0) {
        weir_buf_append(out, WEIR_SLICE("/openai"));
    } else {
        weir_buf_append(out, WEIR_SLICE("/openai/deployments/"));
        weir_url_append_escaped(out, model);
    }
    weir_buf_append(out, weir_slice_cstr(paths_of(op)->azure));
}

static void append_path(struct weir_buf *out, const struct weir_provider *p, enum weir_model_op op,
                        struct weir_slice model)
{
    switch (p->kind) {
    case WEIR_PROVIDER_AZURE:
        append_azure(out, p, op, model);
        break;
    case WEIR_PROVIDER_ANTHROPIC:
        weir_buf_append(out, WEIR_SLICE("/v1"));
        weir_buf_append(out, weir_slice_cstr(paths_of(op)->anthropic));
        break;
    case WEIR_PROVIDER_OPENAI:
    case WEIR_PROVIDER_USUAL:
        weir_buf_append(out, weir_slice_cstr(paths_of(op)->openai));
        break;
    }
}

static void append_query(struct weir_buf *out, const struct weir_provider *p)
{
    char glue = '?';
    if (p->kind == WEIR_PROVIDER_AZURE && !is_next_azure(p)) {
        weir_buf_append(out, WEIR_SLICE("?api-version="));
        weir_url_append_escaped(out, p->api_version);
        glue = '&';
    }
    if (p->query.n != 0) {
        weir_buf_append_byte(out, glue);
        weir_buf_append(out, p->query);
    }
}

static struct weir_slice path_of(const struct weir_provider *p, enum weir_model_op op,
                                 struct weir_slice model, struct weir_arena *arena)
{
    struct weir_buf out = {0};
    weir_buf_append(&out, base_of(p, op));
    append_path(&out, p, op, model);
    append_query(&out, p);
    struct weir_slice path = weir_arena_dup(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return path;
}

static struct weir_http_field key_field(const struct weir_provider *p, struct weir_slice key,
                                        struct weir_arena *arena)
{
    switch (p->kind) {
    case WEIR_PROVIDER_AZURE:
        return (struct weir_http_field){WEIR_SLICE("api-key"), key};
    case WEIR_PROVIDER_ANTHROPIC:
        return (struct weir_http_field){WEIR_SLICE("x-api-key"), key};
    case WEIR_PROVIDER_OPENAI:
    case WEIR_PROVIDER_USUAL:
        break;
    }
    const char *bearer = weir_arena_printf(arena, "Bearer %.*s", (int)key.n, key.p);
    return (struct weir_http_field){WEIR_SLICE("authorization"), weir_slice_cstr(bearer)};
}

struct weir_model_way weir_provider_way(const struct weir_provider *p, enum weir_model_op op,
                                        struct weir_slice model,
                                        const struct weir_call_context *context,
                                        struct weir_arena *arena)
{
    enum { MAX_OWN = 2 }; /* the key, anthropic-version */
    struct weir_model_way way = {.is_asked_once = true, .keeps_credentials_back = true};
    if (p->kind == WEIR_PROVIDER_USUAL) {
        return (struct weir_model_way){0};
    }
    struct weir_http_field *fields = weir_arena_array(arena, p->n_fields + MAX_OWN, sizeof *fields);
    struct weir_slice key = p->api_key;
    if (p->passes_caller_key) {
        key = context != NULL ? context->caller_key : (struct weir_slice){0};
    }
    way.has_callers_key = p->passes_caller_key;
    if (key.n != 0) {
        fields[way.n_fields++] = key_field(p, key, arena);
    }
    if (p->kind == WEIR_PROVIDER_ANTHROPIC) {
        bool has_one = context != NULL && context->anthropic_version.n != 0;
        fields[way.n_fields++] =
            (struct weir_http_field){WEIR_SLICE("anthropic-version"),
                                     has_one ? context->anthropic_version : ANTHROPIC_VERSION};
    }
    for (size_t i = 0; i < p->n_fields; i++) {
        if (weir_http_field_get(fields, way.n_fields, p->fields[i].name).p == NULL) {
            fields[way.n_fields++] = p->fields[i];
        }
    }
    way.fields = fields;
    way.path = path_of(p, op, model, arena);
    return way;
}

const char *weir_provider_system(const struct weir_provider *p)
{
    switch (p->kind) {
    case WEIR_PROVIDER_AZURE:
        return "azure.ai.openai";
    case WEIR_PROVIDER_ANTHROPIC:
        return "anthropic";
    default:
        return "openai";
    }
}
