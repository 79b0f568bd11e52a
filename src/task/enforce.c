#include "task/enforce.h"

/* null where the member stands, nothing where it does not. */
static struct weir_slice null_for(const struct weir_enforce_choice *c, const char *name)
{
    bool is_there = weir_json_get(c->json, c->choice, weir_slice_cstr(name)) != WEIR_JSON_NONE;
    return is_there ? WEIR_SLICE("null") : WEIR_SLICE("");
}

/* What tells tokens apart is left out where the text is not theirs, and where it says nothing. */
static bool is_left_out(const struct weir_json *json, uint32_t object, const char *name,
                        bool is_tainted)
{
    uint32_t at = weir_json_get(json, object, weir_slice_cstr(name));
    return at != WEIR_JSON_NONE && (is_tainted || weir_json_type(json, at) == WEIR_JSON_NULL);
}

void weir_enforce_write_choice(struct weir_json_write *w, const struct weir_enforce_choice *c)
{
    struct weir_known_member changes[6] = {{c->body_name, c->body}};
    size_t n = 1;
    if (c->logprobs.n != 0 || c->is_tainted) {
        changes[n++] = (struct weir_known_member){
            WEIR_SLICE("logprobs"), c->logprobs.n != 0 ? c->logprobs : null_for(c, "logprobs")};
    }
    if (is_left_out(c->json, c->choice, "token_ids", c->is_tainted)) {
        changes[n++] = (struct weir_known_member){WEIR_SLICE("token_ids"), WEIR_SLICE("")};
    }
    if (is_left_out(c->json, c->choice, "prompt_logprobs", c->is_tainted)) {
        changes[n++] = (struct weir_known_member){WEIR_SLICE("prompt_logprobs"), WEIR_SLICE("")};
    }
    if (c->finish != WEIR_ENFORCE_AS_IS) {
        bool is_filtered = c->finish == WEIR_ENFORCE_FILTERED;
        changes[n++] = (struct weir_known_member){WEIR_SLICE("finish_reason"),
                                                  is_filtered ? WEIR_SLICE("\"content_filter\"")
                                                              : WEIR_SLICE("null")};
        changes[n++] =
            (struct weir_known_member){WEIR_SLICE("stop_reason"), null_for(c, "stop_reason")};
    }
    weir_json_write_begin_object(w);
    weir_known_write(w, c->json, c->choice,
                     &(struct weir_known_rules){.names = weir_known_choice,
                                                .keeps_unknown = c->keeps_unknown,
                                                .changes = changes,
                                                .n_changes = n});
    weir_json_write_end_object(w);
}

void weir_enforce_write_answer(struct weir_buf *out, const struct weir_enforce_answer *a)
{
    struct weir_known_member changes[6] = {{WEIR_SLICE("choices"), a->choices},
                                           {WEIR_SLICE("detections"), a->detections},
                                           {WEIR_SLICE("warnings"), a->warnings}};
    size_t n = 3;
    if (!a->with_usage) {
        changes[n++] = (struct weir_known_member){WEIR_SLICE("usage"), WEIR_SLICE("")};
    }
    if (is_left_out(a->json, 0, "prompt_logprobs", a->is_tainted)) {
        changes[n++] = (struct weir_known_member){WEIR_SLICE("prompt_logprobs"), WEIR_SLICE("")};
    }
    if (is_left_out(a->json, 0, "prompt_token_ids", a->is_tainted)) {
        changes[n++] = (struct weir_known_member){WEIR_SLICE("prompt_token_ids"), WEIR_SLICE("")};
    }
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_known_write(&w, a->json, 0,
                     &(struct weir_known_rules){.names = weir_known_top,
                                                .keeps_unknown = a->keeps_unknown,
                                                .changes = changes,
                                                .n_changes = n});
    weir_json_write_end_object(&w);
}
