/* Responses of servers that write them in ways of their own: nothing of them is lost, and what is
 * found in them does not leave. */
#include "task/response.h"
#include "unit/task/policy_stage.h"

static const struct weir_json_node NODES[] = {{.end = 2, .next = 1, .type = WEIR_JSON_OBJECT}};
static const struct weir_json NOTHING_ASKED = {.src = {"{}", 2}, .nodes = NODES, .n_nodes = 1};

#define CREATED "{\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n"
#define COMPLETED "{\"type\":\"response.completed\",\"response\":{\"id\":\"r\"}}\n"
#define DELTA(text)                                                                                \
    "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":"   \
    "\"" text "\"}\n"
#define DONE(text)                                                                                 \
    "{\"type\":\"response.output_text.done\",\"output_index\":0,\"content_index\":0,\"text\":"     \
    "\"" text "\"}\n"
#define ITEM_DONE(item)                                                                            \
    "{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" item "}\n"

struct odd {
    enum weir_policy_action action;
    bool is_unary;
    bool is_stored;   /* the request is not at hand */
    const char *said; /* events, a line each, or the answer */
};

static struct stage *play(const struct odd *odd)
{
    struct stage *st = policy_stage("", "now");
    policy_ask = (struct policy_ask){.policy = policy_of(odd->action)};
    struct weir_task_response request = {.sent = odd->is_stored ? NULL : &NOTHING_ASKED,
                                         .completion = policy_request(st)};
    struct weir_slice rest = weir_slice_cstr(odd->said);
    st->env.max_remembered_bytes = 1 << 20;
    if (odd->is_unary) {
        weir_task_response_start(&st->task, &request, policy_answered, st);
    } else {
        weir_response_stream_start(&st->task, &request, &st->out);
    }
    stage_turn(st);
    while (rest.n != 0 && !st->is_over && st->run != NULL) {
        script_event(st, weir_slice_cut(&rest, '\n'));
        stage_turn(st);
    }
    if (!st->is_over && st->run != NULL) {
        script_done(st, 0);
        stage_turn(st);
    }
    assert_true(st->is_over);
    return st;
}

static size_t count(const struct stage *st, const char *text)
{
    struct weir_slice rest = weir_buf_slice(&st->lines);
    const char *at;
    size_t n = 0;
    while ((at = memmem(rest.p, rest.n, text, strlen(text))) != NULL) {
        n++;
        rest = weir_slice_sub(rest, (size_t)(at - rest.p) + 1, rest.n);
    }
    return n;
}

static void expect(const struct odd *odd, const char *text, size_t n)
{
    struct stage *st = play(odd);
    if (count(st, text) != n || count(st, "fail ") != 0) {
        fail_msg("not %zu times %s in\n%.*s", n, text, (int)st->lines.n, st->lines.p);
    }
    stage_free(st);
}

#define AS_STRING(words) "{\"type\":\"message\",\"id\":\"m\",\"content\":\"" words "\"}"
#define AS_STRINGS(words) "{\"type\":\"message\",\"id\":\"m\",\"content\":[\"" words "\"]}"
#define AS_THOUGHT(words) "{\"type\":\"reasoning\",\"id\":\"t\",\"summary\":\"" words "\"}"

/* A string in the place of a list of parts. A stream says it in its delta, its part, its item and
 * the response; a whole answer once. */
static void test_content_that_is_a_string(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "{\"id\":\"r\",\"output\":[" AS_STRING("a bad word.") "]}",
        "{\"id\":\"r\",\"output\":[" AS_STRINGS("a bad word.") "]}",
        "{\"id\":\"r\",\"output\":[" AS_THOUGHT("a bad word.") "]}",
    };
    static const char *const streams[] = {
        CREATED ITEM_DONE(AS_STRING("a bad word.")) COMPLETED,
        CREATED ITEM_DONE(AS_STRINGS("a bad word.")) COMPLETED,
        CREATED ITEM_DONE(AS_THOUGHT("a bad word.")) COMPLETED,
    };
    for (size_t i = 0; i < 3; i++) {
        struct odd unary = {.action = WEIR_POLICY_REDACT, .is_unary = true, .said = whole[i]};
        struct odd stream = {.action = WEIR_POLICY_REDACT, .said = streams[i]};
        expect(&unary, "\"text\":\"a [Ugh] word.\"", 1);
        expect(&stream, "\"a [Ugh] word.\"", 5);
        unary.action = WEIR_POLICY_ANNOTATE;
        stream.action = WEIR_POLICY_ANNOTATE;
        expect(&unary, "\"detection\":\"Ugh\"", 1);
        expect(&stream, "\"detection\":\"Ugh\"", 1);
    }
}

/* A character that was cut between two events, and text that only the end of the text has. */
static void test_text_behind_half_a_character(void **state)
{
    (void)state;
    static const char *const said[] = {
        DELTA("One \\ud83d") DELTA("\\ude00 two.") DONE("One \\ud83d\\ude00 two. Three."),
        DELTA("One \\ud83d") DONE("One \\ud83d\\ude00 two. Three."),
        DELTA("One \\ud83d\\ude00") DONE("One \\ud83d\\ude00 two. Three."),
    };
    for (size_t i = 0; i < 3; i++) {
        struct weir_buf events = {0};
        weir_buf_printf(&events, CREATED "%s" COMPLETED, said[i]);
        struct odd odd = {.action = WEIR_POLICY_REDACT, .said = weir_buf_cstr(&events)};
        expect(&odd, "\"text\":\"One \xf0\x9f\x98\x80 two. Three.\"", 4);
        expect(&odd, "\xef\xbf\xbd", 0);
        weir_buf_dispose(&events);
    }
    struct odd alone = {.action = WEIR_POLICY_REDACT,
                        .said = CREATED DELTA("One \\ud83d") DONE("One ") COMPLETED};
    expect(&alone, "\"text\":\"One \xef\xbf\xbd\"", 4);
}

/* Where the route annotates, what says it again is known to be the same: it is told once. */
static void test_half_a_character_is_told_once(void **state)
{
    (void)state;
    struct odd odd = {.action = WEIR_POLICY_ANNOTATE,
                      .said = CREATED DELTA("A bad \\ud83d") DELTA("\\ude00.")
                          DONE("A bad \\ud83d\\ude00.") COMPLETED};
    expect(&odd, "\"detection\":\"Ugh\"", 2); /* on its delta, and on the response */
}

/* The id of a response is the same in all of its events. */
static void test_an_id_stays(void **state)
{
    (void)state;
    struct odd odd = {
        .action = WEIR_POLICY_REDACT,
        .said = "{\"type\":\"response.created\",\"response\":{\"id\":\"not an id\"}}\n"
                "{\"type\":\"response.in_progress\",\"response\":{\"id\":\"resp_7\"}}\n" COMPLETED};
    expect(&odd, "\"id\":\"resp_0\"", 3);
    expect(&odd, "\"id\":\"resp_7\"", 0);
}

/* A stream of a response that was kept: that JSON was asked for stands in the response. */
static void test_json_of_a_kept_response(void **state)
{
    (void)state;
    struct odd odd = {
        .action = WEIR_POLICY_REDACT,
        .is_stored = true,
        .said = "{\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"text\":{\"format\":{"
                "\"type\":\"json_schema\"}}}}\n" DELTA("{\\\"bad\\\":12,\\\"x\\\":[\\\"a bad\\\"]}")
                    COMPLETED};
    expect(&odd, "\"delta\":\"{\\\"[Ugh]\\\":12,\\\"x\\\":[\\\"a [Ugh]\\\"]}\"", 1);
    odd.action = WEIR_POLICY_BLOCK; /* half a document is of no use: nothing of it has left */
    expect(&odd, "{\\\"", 0);
    expect(&odd, "\"type\":\"refusal\"", 4);
}

/* A blocked question whose answer waits to be whole (JSON was asked for) and is more than may be
 * held: it fails, and does not end once more. */
static void test_a_refusal_that_is_too_long_ends_once(void **state)
{
    (void)state;
    struct stage *st = policy_stage("now", "now");
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .asks_json = true};
    struct weir_task_response request = {.sent = &NOTHING_ASKED, .completion = policy_request(st)};
    st->env.max_held_bytes = 100;
    st->env.max_remembered_bytes = 1 << 20;
    weir_response_stream_start(&st->task, &request, &st->out);
    for (int i = 0; i < 10 && !st->is_over; i++) {
        stage_turn(st);
    }
    assert_true(st->is_over);
    assert_int_equal(count(st, "response.created"), 1);
    assert_int_equal(count(st, "fail "), 1);
    assert_int_equal(count(st, "end\n"), 0);
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_content_that_is_a_string),
        cmocka_unit_test(test_text_behind_half_a_character),
        cmocka_unit_test(test_half_a_character_is_told_once),
        cmocka_unit_test(test_an_id_stays),
        cmocka_unit_test(test_json_of_a_kept_response),
        cmocka_unit_test(test_a_refusal_that_is_too_long_ends_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
