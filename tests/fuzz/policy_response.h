#ifndef WEIR_TESTS_FUZZ_POLICY_RESPONSE_H
#define WEIR_TESTS_FUZZ_POLICY_RESPONSE_H

/*
 * What leaves of OpenAI's Responses (policy_fuzz.c): no event and no response says the word in any
 * string, nor do the deltas of one part together.
 */
#include "task/response.h"

/* Members whose value has a form and is no text; sealed ones are base64. */
static bool has_form(const struct weir_json *j, uint32_t key)
{
    static const char *const names[] = {"id",
                                        "type",
                                        "item_id",
                                        "call_id",
                                        "status",
                                        "role",
                                        "model",
                                        "object",
                                        "reason",
                                        "code",
                                        "phase",
                                        "service_tier",
                                        "encrypted_content",
                                        "obfuscation",
                                        NULL};
    for (size_t i = 0; names[i] != NULL; i++) {
        if (weir_json_type(j, key) == WEIR_JSON_STRING &&
            weir_json_string_eq(j, key, weir_slice_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

/* Numbers under plain names, whatever the names are. */
static bool is_usage(const struct weir_json *j, uint32_t key)
{
    return weir_json_type(j, key) == WEIR_JSON_STRING &&
           weir_json_string_eq(j, key, WEIR_SLICE("usage"));
}

static void check_strings(const struct weir_json *j)
{
    for (uint32_t i = 1; i < j->n_nodes; i++) {
        struct weir_buf text = {0};
        if (is_usage(j, i - 1)) {
            i = j->nodes[i].next - 1;
            continue;
        }
        if (weir_json_type(j, i) == WEIR_JSON_STRING && !has_form(j, i - 1)) {
            weir_json_string_append(j, i, &text);
            CHECK(text.n == 0 || memmem(text.p, text.n, "bad", 3) == NULL);
        }
        weir_buf_dispose(&text);
    }
}

static uint64_t number_of(const struct weir_json *j, const char *name)
{
    uint64_t n = 0;
    uint32_t at = weir_json_get_set(j, 0, weir_slice_cstr(name));
    return at != WEIR_JSON_NONE && weir_json_u64(j, at, &n) == 0 ? n : 0;
}

/* Where deltas of this kind are put together: parts of one item have numbers of their own. */
static struct weir_buf *said_in(struct world *w, const struct weir_json *j)
{
    uint64_t item = number_of(j, "output_index");
    uint64_t part = number_of(j, "content_index") + number_of(j, "summary_index");
    return item < MAX_CHOICES && part < N_WORDS ? &w->words[item][part] : NULL;
}

static void check_response(struct world *w, const struct weir_json *j)
{
    uint32_t type = weir_json_get_set(j, 0, WEIR_SLICE("type"));
    if (w->passes_unknown) {
        return; /* events nobody knows leave as they are */
    }
    check_strings(j);
    if (type != WEIR_JSON_NONE &&
        weir_json_string_eq(j, type, WEIR_SLICE("response.output_text.delta"))) {
        check_text(j, 0, "delta", said_in(w, j));
    }
}

static void start_response(struct world *w, struct weir_task_ctx *task,
                           const struct weir_task_completion *asked)
{
    struct weir_task_response request = {.completion = *asked, .sent = asked->json};
    if (w->is_stream) {
        weir_response_stream_start(task, &request, &w->out);
    } else {
        weir_task_response_start(task, &request, on_answer, w);
    }
}

#endif
