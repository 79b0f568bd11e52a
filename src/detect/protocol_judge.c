/*
 * A language model as a judge, behind any OpenAI-compatible server: one question each.
 *
 *   POST /v1/chat/completions {"model","messages":[…],"temperature":0,"max_tokens":128}
 *   200  {"choices":[{"message":{"content":"Safety: Unsafe\nCategories: Violent"}}]}
 *
 * text_contents   the configured messages, `{text}` in them replaced by the text; of qwen3guard:
 * the text as the user's message text_chat       the conversation as it stands, the configured
 * messages behind it
 *
 * What the model says must have a verdict in it; an answer without one is a fault.
 */
#include "base/err.h"
#include "base/mem.h"
#include "detect/pcre_heap.h"
#include "detect/protocol_int.h"

#include <stdlib.h>

enum {
    MAX_TOKENS = 128,
    MAX_SAID_BYTES = 64 * 1024,
    MATCH_LIMIT = 100000,
    GROUPS = 2, /* the whole match, and the word */
};

struct weir_judge_pattern {
    pcre2_code *code;
    pcre2_match_context *context;
};

struct weir_judge_pattern *weir_judge_pattern_new(struct weir_slice pattern, struct weir_buf *why)
{
    int error;
    PCRE2_SIZE at;
    uint32_t n_groups = 0;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n,
                      PCRE2_UTF | PCRE2_CASELESS | PCRE2_NEVER_BACKSLASH_C, &error, &at, NULL);
    if (code == NULL) {
        PCRE2_UCHAR text[128] = {0};
        pcre2_get_error_message(error, text, sizeof text);
        weir_buf_printf(why, "`verdict` is not a regular expression: %s at offset %zu",
                        (const char *)text, (size_t)at);
        return NULL;
    }
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &n_groups);
    if (n_groups != 1) {
        weir_buf_printf(why, "`verdict` must have one group, the word: %u", (unsigned)n_groups);
        pcre2_code_free(code);
        return NULL;
    }
    struct weir_judge_pattern *p = weir_mem_zalloc(sizeof *p);
    p->code = code;
    p->context = pcre2_match_context_create(weir_pcre_heap_get());
    pcre2_set_match_limit(p->context, MATCH_LIMIT);
    return p;
}

void weir_judge_pattern_free(struct weir_judge_pattern *p)
{
    if (p != NULL) {
        pcre2_match_context_free(p->context);
        pcre2_code_free(p->code);
        free(p);
    }
}

/* False: there is no verdict in it, or finding one takes too long. */
static bool find_word(const struct weir_judge_pattern *p, struct weir_slice said,
                      struct weir_slice *word)
{
    pcre2_match_data *match = pcre2_match_data_create(GROUPS, weir_pcre_heap_get());
    int rc = pcre2_match(p->code, (PCRE2_SPTR)said.p, said.n, 0, 0, match, p->context);
    bool is_found = rc == GROUPS;
    if (is_found) {
        const PCRE2_SIZE *at = pcre2_get_ovector_pointer(match);
        *word = weir_slice_sub(said, at[2], at[3]);
    }
    pcre2_match_data_free(match);
    return is_found;
}

/* ---- the question ---- */

static const char *check(const struct weir_protocol_options *o)
{
    if (o->model.n == 0) {
        return "`model` is missing";
    }
    if (o->preset == WEIR_JUDGE_QWEN3GUARD) {
        bool has_own = o->n_messages != 0 || o->verdict != NULL || o->n_positive != 0;
        return has_own ? "`messages`, `verdict` and `positive` belong to `preset: custom`" : NULL;
    }
    if (o->verdict == NULL || o->n_positive == 0) {
        return "`verdict` and `positive` are missing: how the model's answer is read";
    }
    return NULL;
}

static struct weir_slice path(const struct weir_protocol_ask *ask)
{
    (void)ask;
    return WEIR_SLICE("/v1/chat/completions");
}

static void write_message(struct weir_json_write *w, struct weir_slice role,
                          struct weir_slice content)
{
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("role"));
    weir_json_write_string(w, role);
    weir_json_write_key(w, WEIR_SLICE("content"));
    weir_json_write_string(w, content);
    weir_json_write_end_object(w);
}

/* `{text}` wherever it stands; the text itself is not looked through. */
static struct weir_slice fill(const struct weir_protocol_ask *ask, struct weir_slice content)
{
    struct weir_slice mark = WEIR_SLICE("{text}");
    struct weir_slice text =
        ask->input->type == WEIR_DETECT_CONTENTS ? ask->input->contents[0] : WEIR_SLICE("");
    struct weir_buf out = {0};
    size_t from = 0;
    for (size_t i = 0; i + mark.n <= content.n;) {
        if (memcmp(content.p + i, mark.p, mark.n) == 0) {
            weir_buf_append(&out, weir_slice_sub(content, from, i));
            weir_buf_append(&out, text);
            i += mark.n;
            from = i;
        } else {
            i++;
        }
    }
    weir_buf_append(&out, weir_slice_sub(content, from, content.n));
    return weir_arena_take_buf(ask->arena, &out);
}

static void write_messages(const struct weir_protocol_ask *ask, struct weir_json_write *w)
{
    const struct weir_protocol_options *o = ask->options;
    bool is_chat = ask->input->type == WEIR_DETECT_CHAT;
    weir_json_write_begin_array(w);
    struct weir_json j;
    if (is_chat && weir_json_parse(&j, ask->input->messages, NULL, ask->arena, NULL) == 0 &&
        weir_json_type(&j, 0) == WEIR_JSON_ARRAY) {
        uint32_t at = weir_json_first(&j, 0);
        for (; at != WEIR_JSON_NONE; at = weir_json_after(&j, 0, at)) {
            weir_json_write_node(w, &j, at);
        }
    }
    for (size_t i = 0; i < o->n_messages; i++) {
        write_message(w, o->messages[i].role, fill(ask, o->messages[i].content));
    }
    if (!is_chat && o->n_messages == 0) {
        write_message(w, WEIR_SLICE("user"), ask->input->contents[0]);
    }
    weir_json_write_end_array(w);
}

/* The operator's parameters may say otherwise about temperature and length, not about the rest. */
static bool is_set(const struct weir_protocol_ask *ask, const char *name)
{
    struct weir_json j;
    struct weir_slice params = ask->options->params;
    return params.n > 2 && weir_json_parse(&j, params, NULL, ask->arena, NULL) == 0 &&
           weir_json_type(&j, 0) == WEIR_JSON_OBJECT &&
           weir_json_get(&j, 0, weir_slice_cstr(name)) != WEIR_JSON_NONE;
}

static void write_number(struct weir_protocol_body *b, const char *name, uint64_t value)
{
    if (!is_set(b->ask, name)) {
        weir_protocol__key(b, name);
        weir_json_write_u64(&b->w, value);
    }
}

static void write(const struct weir_protocol_ask *ask, struct weir_buf *out)
{
    struct weir_protocol_body b;
    weir_protocol__begin(&b, ask, out);
    weir_protocol__string(&b, "model", ask->options->model);
    weir_protocol__key(&b, "messages");
    write_messages(ask, &b.w);
    write_number(&b, "temperature", 0);
    write_number(&b, "max_tokens", MAX_TOKENS);
    weir_protocol__key(&b, "stream");
    weir_json_write_bool(&b.w, false);
    weir_protocol__end(&b);
}

/* ---- the answer ---- */

static int read_said(struct weir_protocol_lists *l, struct weir_slice *said)
{
    uint32_t choices;
    uint32_t message;
    uint32_t content;
    int rc = weir_protocol__need(l, 0, "choices", WEIR_JSON_ARRAY, &choices);
    if (rc == 0 && l->json.nodes[choices].n == 0) {
        rc = weir_protocol__bad(l, "`choices` is empty");
    }
    rc = rc == 0 ? weir_protocol__need(l, weir_json_first(&l->json, choices), "message",
                                       WEIR_JSON_OBJECT, &message)
                 : rc;
    rc = rc == 0 ? weir_protocol__need(l, message, "content", WEIR_JSON_STRING, &content) : rc;
    if (rc == 0) {
        *said = weir_json_string(&l->json, content, l->ask->arena);
    }
    if (rc == 0 && said->n > MAX_SAID_BYTES) {
        rc = weir_protocol__bad(l, "the judge said more than %d bytes", MAX_SAID_BYTES);
    }
    return rc;
}

/* What stands behind `name` on a line of its own. */
static struct weir_slice line_of(struct weir_slice said, struct weir_slice name)
{
    while (said.n != 0) {
        struct weir_slice line = weir_slice_trim(weir_slice_cut(&said, '\n'));
        if (weir_slice_starts_with(line, name)) {
            return weir_slice_trim(weir_slice_sub(line, name.n, line.n));
        }
    }
    return (struct weir_slice){0};
}

/* "Safety: Unsafe\nCategories: Violent, PII": the model's card. */
static int read_qwen3guard(struct weir_protocol_lists *l, struct weir_slice said)
{
    struct weir_slice safety = line_of(said, WEIR_SLICE("Safety:"));
    struct weir_protocol_score score = {0};
    if (weir_slice_eq_cstr(safety, "Unsafe")) {
        score.value = 1;
    } else if (weir_slice_eq_cstr(safety, "Controversial")) {
        score.value = 0.5;
    } else if (!weir_slice_eq_cstr(safety, "Safe")) {
        return weir_protocol__bad(l, "no verdict in what the judge said");
    }
    struct weir_slice categories = line_of(said, WEIR_SLICE("Categories:"));
    size_t n = 0;
    while (score.value > 0 && categories.n != 0) {
        struct weir_slice name = weir_slice_trim(weir_slice_cut(&categories, ','));
        if (name.n != 0 && !weir_slice_eq_cstr(name, "None")) {
            weir_protocol__add(l, name, &score);
            n++;
        }
    }
    if (score.value > 0 && n == 0) {
        weir_protocol__add(l, safety, &score);
    }
    return 0;
}

static int read_custom(struct weir_protocol_lists *l, struct weir_slice said)
{
    static const struct weir_protocol_score CERTAIN = {.value = 1};
    const struct weir_protocol_options *o = l->ask->options;
    struct weir_slice word;
    if (!find_word(o->verdict, said, &word)) {
        return weir_protocol__bad(l, "no verdict in what the judge said");
    }
    for (size_t i = 0; i < o->n_positive; i++) {
        if (weir_slice_eq_nocase(o->positive[i], word)) {
            weir_protocol__add(l, o->positive[i], &CERTAIN);
        }
    }
    return 0;
}

static int read_root(struct weir_protocol_lists *l)
{
    struct weir_slice said;
    int rc = read_said(l, &said);
    if (rc == 0 && l->ask->options->preset == WEIR_JUDGE_QWEN3GUARD) {
        rc = read_qwen3guard(l, said);
    } else if (rc == 0) {
        rc = read_custom(l, said);
    }
    weir_protocol__next(l);
    return rc;
}

const struct weir_protocol weir_protocol_chat_judge = {
    .name = "chat_judge",
    .types = 1u << WEIR_DETECT_CONTENTS | 1u << WEIR_DETECT_CHAT,
    .max_texts = 1,
    .health = "/v1/models",
    .finding_type = {"judge", 5},
    .is_hosted = true,
    .check = check,
    .path = path,
    .write = write,
    .lists = read_root,
    .error = weir_protocol__error,
};
