#include "task/generated.h"

#include "task/results.h"

static void write_token(struct weir_json_write *w, const struct weir_model_token *token)
{
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("text"));
    weir_json_write_string(w, token->text);
    if (token->has_logprob) {
        weir_json_write_key(w, WEIR_SLICE("logprob"));
        weir_json_write_f64(w, token->logprob);
    }
    if (token->has_rank) {
        weir_json_write_key(w, WEIR_SLICE("rank"));
        weir_json_write_i64(w, token->rank);
    }
    weir_json_write_end_object(w);
}

void weir_generated_append_tokens(struct weir_buf *out, const struct weir_model_token *tokens,
                                  size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct weir_json_write w;
        weir_json_write_init(&w, out);
        write_token(&w, &tokens[i]);
        if (i + 1 < n) {
            weir_buf_append_byte(out, ',');
        }
    }
}

void weir_generated_write_array(struct weir_json_write *w, struct weir_slice name,
                                struct weir_slice elements)
{
    struct weir_buf array = {0};
    weir_buf_append_byte(&array, '[');
    weir_buf_append(&array, elements);
    weir_buf_append_byte(&array, ']');
    weir_json_write_key(w, name);
    weir_json_write_raw(w, weir_buf_slice(&array));
    weir_buf_dispose(&array);
}

void weir_generated_write_details(struct weir_json_write *w, const struct weir_model_generated *m)
{
    weir_json_write_key(w, WEIR_SLICE("finish_reason"));
    weir_json_write_string(w, weir_slice_cstr(weir_model_finish_name(m->finish_reason)));
    weir_json_write_key(w, WEIR_SLICE("generated_token_count"));
    weir_json_write_u64(w, m->generated_token_count);
    weir_json_write_key(w, WEIR_SLICE("seed"));
    weir_json_write_u64(w, m->seed);
}

struct weir_slice weir_generated_unsuitable_input(struct weir_arena *arena,
                                                  const struct weir_scan_group *found,
                                                  uint64_t n_tokens)
{
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("token_classification_results"));
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("input"));
    weir_scan_write_results(&w, found);
    weir_json_write_end_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("input_token_count"));
    weir_json_write_u64(&w, n_tokens);
    weir_json_write_key(&w, WEIR_SLICE("warnings"));
    weir_json_write_begin_array(&w);
    weir_results_write_warning(&w, WEIR_SLICE("id"), WEIR_WARN_UNSUITABLE_INPUT);
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
    struct weir_slice text = weir_arena_take_buf(arena, &out);
    return text;
}
