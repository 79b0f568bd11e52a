/*
 * The short way of a token and the long one say the same. A text may be spelled with `\u` escapes:
 * then no event has a shape that is known and each takes the long way. So every random stream is
 * played twice, plain and spelled, and what leaves must be equal to the letter.
 */
#include "unit/task/policy_stage.h"

enum { N_STREAMS = 400, N_EVENTS = 40 };

static uint32_t dice;

static uint32_t roll(uint32_t n)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 16) % n;
}

/* H has no policy. */
static bool is_route;
static bool enforces;

static void append_text(struct weir_buf *out, const char *text, bool is_spelled)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (is_spelled) {
            weir_buf_printf(out, "\\u%04x", (unsigned)*p);
        } else if (*p == '"' || *p == '\n') {
            weir_buf_append(out, *p == '"' ? WEIR_SLICE("\\\"") : WEIR_SLICE("\\n"));
        } else {
            weir_buf_append_byte(out, *p);
        }
    }
}

/* An event that says one string, in one of a few envelopes. */
static void append_said(struct weir_buf *out, bool is_spelled)
{
    static const char *const tails[] = {"\"},\"finish_reason\":null}]}", "\"}}]}",
                                        "\"},\"logprobs\":null}],\"usage\":null}",
                                        "\"},\"stop_reason\":null,\"token_ids\":[1]}]}",
                                        "\"},\"token_ids\":null,\"y\":null}],\"z\":null}"};
    static const char *const words[] = {"One", " ba",  "d", ".", " bad.",      "\n",     "\"q\"",
                                        " ",   "Two.", "b", "a", " and so on", "x. y. z"};
    unsigned head = roll(3);
    unsigned place = roll(8) == 0;
    const char *channel = roll(5) == 0 ? "reasoning" : "content";
    if (head == 0) {
        weir_buf_printf(out, "{\"id\":\"c1\",\"choices\":[{\"index\":%u,\"delta\":{\"%s\":\"",
                        place, channel);
    } else if (head == 1) {
        weir_buf_printf(out,
                        "{\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"delta\":{\"role\":"
                        "\"assistant\",\"%s\":\"",
                        channel);
    } else {
        weir_buf_printf(out,
                        "{\"id\":\"c2\",\"x\":[1],\"choices\":[{\"index\":%u,\"delta\":{\"%s\":\"",
                        place, channel);
    }
    /* What is only told leaves as it is spelled. */
    bool is_rewritten = enforces || strcmp(channel, "content") == 0;
    append_text(out, words[roll(13)], is_spelled && is_rewritten);
    weir_buf_append(out, weir_slice_cstr(tails[roll(16) == 0 ? 3 : (roll(5) == 0 ? 4 : roll(3))]));
}

static void append_other(struct weir_buf *out)
{
    static const char *const others[] = {
        "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}",
        "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
        "\"content\":\"\"}}]}",
        "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":"
        "\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"x\"}}]}}]}",
        "{\"id\":\"c1\",\"choices\":[],\"usage\":{\"n\":1}}",
        "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"refusal\":\"no.\"}}]}",
        "{\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"q\"}},{\"index\":1,"
        "\"delta\":{\"content\":\"r. \"}}]}"};
    weir_buf_append(out, weir_slice_cstr(others[roll(6)]));
}

static void start(struct stage *st)
{
    struct weir_task_completion request = policy_request(st);
    request.policy = is_route ? request.policy : NULL;
    weir_completion_stream_start(&st->task, &request, st->env.strategy, &st->out);
}

static void answer_some(struct stage *st, uint32_t most)
{
    for (uint32_t n = roll(most + 1); n != 0 && script_n_calls(st) != 0; n--) {
        script_answer(st, WEIR_SLICE("a"), false);
        stage_turn(st);
    }
}

/* Everything that leaves of the stream that `seed` makes. */
static void play(uint32_t seed, bool is_spelled, struct weir_buf *out)
{
    static const enum weir_policy_action actions[] = {WEIR_POLICY_ANNOTATE, WEIR_POLICY_REDACT,
                                                      WEIR_POLICY_BLOCK};
    dice = seed;
    is_route = roll(4) != 0;
    policy_ask = (struct policy_ask){.policy = policy_of(actions[roll(3)]), .n_choices = 2};
    enforces = is_route && policy_ask.policy.action != WEIR_POLICY_ANNOTATE;
    struct stage *st = policy_stage("", roll(2) != 0 ? "now" : "a now");
    start(st);
    stage_turn(st);
    struct weir_buf event = {0};
    for (int i = 0; i < N_EVENTS && st->run != NULL && !st->is_over; i++) {
        weir_buf_clear(&event);
        if (roll(8) == 0) {
            append_other(&event);
        } else {
            append_said(&event, is_spelled);
        }
        script_event(st, weir_buf_slice(&event));
        stage_turn(st);
        answer_some(st, 3);
    }
    if (st->run != NULL && !st->is_over) {
        script_done(st, 0);
        stage_turn(st);
    }
    while (script_n_calls(st) != 0 && !st->is_over) {
        script_answer(st, WEIR_SLICE("a"), false);
        stage_turn(st);
    }
    assert_true(st->is_over);
    weir_buf_append(out, weir_buf_slice(&st->lines));
    weir_buf_dispose(&event);
    stage_free(st);
}

static void test_the_same_either_way(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= N_STREAMS; seed++) {
        struct weir_buf plain = {0};
        struct weir_buf spelled = {0};
        play(seed, false, &plain);
        play(seed, true, &spelled);
        size_t at = 0;
        while (at < plain.n && at < spelled.n && plain.p[at] == spelled.p[at]) {
            at++;
        }
        if (at != plain.n || at != spelled.n) {
            size_t from = at < 200 ? 0 : at - 200;
            fail_msg("stream %u differs at byte %zu:\n%.400s\n--- spelled:\n%.400s", seed, at,
                     weir_buf_cstr(&plain) + from, weir_buf_cstr(&spelled) + from);
        }
        weir_buf_dispose(&plain);
        weir_buf_dispose(&spelled);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_same_either_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
