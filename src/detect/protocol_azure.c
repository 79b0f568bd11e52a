/*
 * Azure AI Content Safety: one text a request.
 *
 *   POST /contentsafety/text:analyze?api-version=V {"text":"…","outputType":"EightSeverityLevels"}
 *   200  {"categoriesAnalysis":[{"category":"Hate","severity":2},…],
 *         "blocklistsMatch":[{"blocklistName":"…","blocklistItemId":"…",…}]}
 *
 *   POST /contentsafety/text:shieldPrompt?api-version=V {"userPrompt":"…","documents":[]}
 *   200  {"userPromptAnalysis":{"attackDetected":true},"documentsAnalysis":[]}
 *
 *   {"error":{"code":"…","message":"…"}}
 *
 * A severity of 0 to 7 is a score of a seventh each. A match on a block list, and an attack, are
 * findings with score 1.
 */
#include "detect/protocol_int.h"

#include "wire/url.h"

enum { MAX_SEVERITY = 7 };

static const char *check(const struct weir_protocol_options *o)
{
    return o->api_version.n == 0 ? "`api_version` is missing, for example `2024-09-01`" : NULL;
}

static struct weir_slice path(const struct weir_protocol_ask *ask)
{
    const struct weir_protocol_options *o = ask->options;
    struct weir_buf out = {0};
    weir_buf_append(&out, o->is_shield ? WEIR_SLICE("/contentsafety/text:shieldPrompt?api-version=")
                                       : WEIR_SLICE("/contentsafety/text:analyze?api-version="));
    weir_url_append_escaped(&out, o->api_version);
    struct weir_slice made = weir_arena_dup(ask->arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return made;
}

static void write(const struct weir_protocol_ask *ask, struct weir_buf *out)
{
    bool is_shield = ask->options->is_shield;
    struct weir_protocol_body b;
    weir_protocol__begin(&b, ask, out);
    weir_protocol__key(&b, is_shield ? "userPrompt" : "text");
    weir_json_write_string(&b.w, ask->input->contents[0]);
    if (is_shield) {
        weir_protocol__key(&b, "documents");
        weir_json_write_begin_array(&b.w);
        weir_json_write_end_array(&b.w);
    } else {
        weir_protocol__string(&b, "outputType", WEIR_SLICE("EightSeverityLevels"));
    }
    weir_protocol__end(&b);
}

static size_t fields(const struct weir_protocol_ask *ask, struct weir_http_field *fields)
{
    fields[0] =
        (struct weir_http_field){WEIR_SLICE("ocp-apim-subscription-key"), ask->options->key};
    return ask->options->key.n != 0;
}

static int read_category(struct weir_protocol_lists *l, uint32_t entry)
{
    uint32_t name;
    uint32_t severity;
    uint64_t level;
    int rc = weir_protocol__need(l, entry, "category", WEIR_JSON_STRING, &name);
    rc = rc == 0 ? weir_protocol__need(l, entry, "severity", WEIR_JSON_NUMBER, &severity) : rc;
    if (rc == 0 && (weir_json_u64(&l->json, severity, &level) != 0 || level > MAX_SEVERITY)) {
        rc = weir_protocol__bad(l, "`severity` is not a number from 0 to 7");
    }
    if (rc == 0 && level != 0) { /* 0 is "safe", whatever the threshold */
        struct weir_protocol_score score = {.value = (double)level / MAX_SEVERITY};
        weir_protocol__add(l, weir_json_string(&l->json, name, l->ask->arena), &score);
    }
    return rc;
}

static int read_match(struct weir_protocol_lists *l, uint32_t entry)
{
    static const struct weir_protocol_score CERTAIN = {.value = 1};
    uint32_t name;
    int rc = weir_protocol__need(l, entry, "blocklistName", WEIR_JSON_STRING, &name);
    if (rc == 0) {
        weir_protocol__add(l, weir_json_string(&l->json, name, l->ask->arena), &CERTAIN);
    }
    return rc;
}

static int read_each(struct weir_protocol_lists *l, uint32_t list,
                     int (*read_one)(struct weir_protocol_lists *l, uint32_t entry))
{
    int rc = 0;
    uint32_t at = weir_json_first(&l->json, list);
    for (; at != WEIR_JSON_NONE && rc == 0; at = weir_json_after(&l->json, list, at)) {
        rc = read_one(l, at);
    }
    return rc;
}

static int read_analysis(struct weir_protocol_lists *l)
{
    uint32_t categories;
    int rc = weir_protocol__need(l, 0, "categoriesAnalysis", WEIR_JSON_ARRAY, &categories);
    rc = rc == 0 ? read_each(l, categories, read_category) : rc;
    uint32_t matches =
        rc == 0 ? weir_json_get_set(&l->json, 0, WEIR_SLICE("blocklistsMatch")) : WEIR_JSON_NONE;
    if (matches != WEIR_JSON_NONE && weir_json_type(&l->json, matches) != WEIR_JSON_ARRAY) {
        rc = weir_protocol__bad(l, "`blocklistsMatch` is not a list");
    } else if (matches != WEIR_JSON_NONE) {
        rc = read_each(l, matches, read_match);
    }
    return rc;
}

static int read_shield(struct weir_protocol_lists *l)
{
    static const struct weir_protocol_score CERTAIN = {.value = 1};
    uint32_t analysis;
    int rc = weir_protocol__need(l, 0, "userPromptAnalysis", WEIR_JSON_OBJECT, &analysis);
    if (rc != 0) {
        return rc;
    }
    uint32_t attack = weir_json_get_set(&l->json, analysis, WEIR_SLICE("attackDetected"));
    enum weir_json_type type =
        attack != WEIR_JSON_NONE ? weir_json_type(&l->json, attack) : WEIR_JSON_NULL;
    if (type != WEIR_JSON_TRUE && type != WEIR_JSON_FALSE) {
        return weir_protocol__bad(l, "`attackDetected` is not a boolean");
    }
    if (type == WEIR_JSON_TRUE) {
        weir_protocol__add(l, WEIR_SLICE("UserPromptAttack"), &CERTAIN);
    }
    return 0;
}

static int read_root(struct weir_protocol_lists *l)
{
    int rc = l->ask->options->is_shield ? read_shield(l) : read_analysis(l);
    weir_protocol__next(l);
    return rc;
}

const struct weir_protocol weir_protocol_azure_content_safety = {
    .name = "azure_content_safety",
    .types = 1u << WEIR_DETECT_CONTENTS,
    .max_texts = 1,
    .finding_type = {"content_safety", 14},
    .is_hosted = true,
    .check = check,
    .path = path,
    .write = write,
    .fields = fields,
    .lists = read_root,
    .error = weir_protocol__error,
};
