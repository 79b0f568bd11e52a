#ifndef WEIR_TESTS_UNIT_TASK_POLICY_STAGE_H
#define WEIR_TESTS_UNIT_TASK_POLICY_STAGE_H

/*
 * Transcripts of routes: the stage with a policy. What the policy counts is not looked at here.
 */
#include "task/completion.h"
#include "task/completion_stream.h"
#include "unit/task/script.h"

/* What a test asks for; all-zero: annotate, a chat, one question. */
struct policy_ask {
    struct weir_policy policy;
    bool is_text;
    uint64_t n_choices;
    bool may_be_given_more;
    bool asks_json;
    const char *body;     /* the request; NULL: one that says hi */
    const char *warnings; /* of the route */
};

static struct policy_ask policy_ask;

static struct weir_plan policy_input;

static inline struct weir_asked *policy_asked(struct stage *st, const struct weir_json *json)
{
    struct weir_walk *walk = weir_arena_zalloc(&st->arena, sizeof *walk);
    struct weir_walk_options options = {.max_document_nodes = 1000};
    weir_walk_read(walk, policy_ask.is_text ? &weir_walk_completions : &weir_walk_chat, json,
                   &options, &st->arena);
    return weir_asked_new(&(struct weir_asked_options){.arena = &st->arena,
                                                       .json = json,
                                                       .walk = walk,
                                                       .policy = &policy_ask.policy,
                                                       .plan = &policy_input});
}

static inline struct weir_task_completion policy_request(struct stage *st)
{
    const char *hi = policy_ask.is_text
                         ? "{\"model\":\"m\",\"prompt\":\"a bad question.\"}"
                         : "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a bad "
                           "question.\"}]}";
    const char *body = policy_ask.body != NULL ? policy_ask.body : hi;
    struct weir_json *json = weir_arena_alloc(&st->arena, sizeof *json);
    assert_int_equal(weir_json_parse(json, weir_slice_cstr(body), NULL, &st->arena, NULL), 0);
    uint32_t prompt = weir_json_get(json, 0, WEIR_SLICE("prompt"));
    bool is_string = policy_ask.is_text && weir_json_type(json, prompt) == WEIR_JSON_STRING;
    policy_ask.policy.input_roles = 1u << WEIR_WALK_USER;
    policy_input = stage_plan(st, st->input);
    return (struct weir_task_completion){
        .is_chat = !policy_ask.is_text,
        .json = json,
        .model_id = WEIR_SLICE("m"),
        .input = policy_input,
        .output = stage_plan(st, st->output),
        .asked = policy_asked(st, json),
        .prompt = is_string ? weir_json_string(json, prompt, &st->arena) : WEIR_SLICE(""),
        .policy = &policy_ask.policy,
        .warnings = weir_slice_cstr(policy_ask.warnings),
        .n_choices = policy_ask.n_choices,
        .may_be_given_more = policy_ask.may_be_given_more,
        .asks_json = policy_ask.asks_json};
}

static inline void policy_start(struct stage *st)
{
    struct weir_task_completion request = policy_request(st);
    weir_completion_stream_start(&st->task, &request, st->env.strategy, &st->out);
}

/* A unary answer is one line: its JSON, or the failure as streams tell it. */
static inline void policy_answered(void *ctx, const struct weir_task_answer *answer)
{
    struct stage *st = ctx;
    if (answer->fault != NULL) {
        stage_out_fail(&st->out, answer->fault);
        return;
    }
    stage_line(st, answer->body);
    st->is_over = true;
}

static inline void policy_start_unary(struct stage *st)
{
    struct weir_task_completion request = policy_request(st);
    weir_task_completion_start(&st->task, &request, policy_answered, st);
}

/* What the stage's detector `now` has found, and the warning that comes with it. */
#define FOUND_AT(start, end)                                                                       \
    "{\"start\":" #start ",\"end\":" #end ",\"detector_id\":\"now\",\"detection_type\":\"word\","  \
    "\"detection\":\"Ugh\",\"score\":0.5}"
#define UNSUITABLE                                                                                 \
    "\"warnings\":[{\"type\":\"UNSUITABLE_OUTPUT\",\"message\":\"Unsuitable output detected.\"}]"

static const struct script_hooks POLICY_STREAM = {.start = policy_start};
static const struct script_hooks POLICY_UNARY = {.start = policy_start_unary};

static inline struct weir_policy policy_of(enum weir_policy_action action)
{
    return (struct weir_policy){.action = action,
                                .fallback = WEIR_SLICE("No."),
                                .redact_with = WEIR_SLICE("[{detection}]")};
}

static inline struct stage *policy_stage(const char *input, const char *output)
{
    struct stage *st = stage_new();
    st->input = input;
    st->output = output;
    brief_is_route = true;
    return st;
}

static inline void policy_play_with(const struct script_hooks *hooks, const char *input,
                                    const char *output, const char *script)
{
    struct stage *st = policy_stage(input, output);
    script_run(st, hooks, script);
    stage_free(st);
}

#endif
