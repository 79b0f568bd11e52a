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

static inline struct weir_task_completion policy_request(struct stage *st)
{
    const char *hi = policy_ask.is_text
                         ? "{\"model\":\"m\",\"prompt\":\"a bad question.\"}"
                         : "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a bad "
                           "question.\"}]}";
    const char *body = policy_ask.body != NULL ? policy_ask.body : hi;
    struct weir_json *json = weir_arena_alloc(&st->arena, sizeof *json);
    assert_int_equal(weir_json_parse(json, weir_slice_cstr(body), NULL, &st->arena, NULL), 0);
    struct weir_input_text *question = weir_arena_zalloc(&st->arena, sizeof *question);
    uint32_t prompt = weir_json_get(json, 0, WEIR_SLICE("prompt"));
    if (!policy_ask.is_text) {
        uint32_t messages = weir_json_get(json, 0, WEIR_SLICE("messages"));
        prompt = weir_json_get(json, weir_json_first(json, messages), WEIR_SLICE("content"));
    }
    *question = (struct weir_input_text){.text = weir_json_string(json, prompt, &st->arena),
                                         .part_index = WEIR_INPUT_NO_PART,
                                         .node = prompt};
    return (struct weir_task_completion){.is_chat = !policy_ask.is_text,
                                         .json = json,
                                         .model_id = WEIR_SLICE("m"),
                                         .input = stage_plan(st, st->input),
                                         .output = stage_plan(st, st->output),
                                         .inputs = question,
                                         .n_inputs = 1,
                                         .prompt = question->text,
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
