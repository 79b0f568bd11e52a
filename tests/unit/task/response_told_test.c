/*
 * Responses on routes that annotate: events leave as they came and in the order in which they came,
 * however a model server mixes its items.
 */
#include "task/response.h"
#include "unit/task/policy_stage.h"

static const struct weir_json_node NODES[] = {{.end = 2, .next = 1, .type = WEIR_JSON_OBJECT}};
static const struct weir_json NOTHING_ASKED = {.src = {"{}", 2}, .nodes = NODES, .n_nodes = 1};

#define ADDED(item)                                                                                \
    "{\"type\":\"response.output_item.added\",\"output_index\":" #item                             \
    ",\"item\":{\"type\":\"message\",\"id\":\"m" #item "\",\"content\":[]}}"
#define DELTA(item, text)                                                                          \
    "{\"type\":\"response.output_text.delta\",\"item_id\":\"m" #item "\",\"output_index\":" #item  \
    ",\"content_index\":0,\"delta\":\"" text "\",\"logprobs\":[]}"
#define DONE(item, text)                                                                           \
    "{\"type\":\"response.output_text.done\",\"item_id\":\"m" #item "\",\"output_index\":" #item   \
    ",\"content_index\":0,\"text\":\"" text "\"}"
#define ITEM_DONE(item, text)                                                                      \
    "{\"type\":\"response.output_item.done\",\"output_index\":" #item                              \
    ",\"item\":{\"type\":\"message\",\"id\":\"m" #item                                             \
    "\",\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]}}"
#define CREATED "{\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}"
#define COMPLETED "{\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"output\":[]}}"

static struct stage *start(const char *detector)
{
    struct stage *st = policy_stage("", detector);
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_ANNOTATE)};
    struct weir_task_response request = {.sent = &NOTHING_ASKED, .completion = policy_request(st)};
    weir_response_stream_start(&st->task, &request, &st->out);
    stage_turn(st);
    return st;
}

static void say_all(struct stage *st, const char *const *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        script_event(st, weir_slice_cstr(events[i]));
        stage_turn(st);
    }
    if (!st->is_over) {
        script_done(st, 0);
        stage_turn(st);
    }
}

/* Everything that left, but for findings. */
static void expect_left(struct stage *st, const char *const *events, size_t n)
{
    struct weir_buf want = {0};
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(&want, "%s\n", events[i]);
    }
    weir_buf_printf(&want, "end\n");
    assert_true(st->is_over);
    assert_string_equal(weir_buf_cstr(&st->lines), weir_buf_cstr(&want));
    weir_buf_dispose(&want);
}

/* Two messages that are written at once, each a sentence over several events: a sentence is judged
 * when it has ended, behind events of the other. */
static void test_mixed_items_leave_in_their_order(void **state)
{
    (void)state;
    static const char *const events[] = {
        CREATED,
        ADDED(0),
        ADDED(1),
        DELTA(0, "One"),
        DELTA(1, "Two"),
        DELTA(0, " more"),
        DELTA(1, ""),
        DELTA(1, " els"),
        DELTA(0, " word."),
        DONE(0, "One more word."),
        DELTA(1, "e."),
        ITEM_DONE(0, "One more word."),
        DONE(1, "Two else."),
        ITEM_DONE(1, "Two else."),
        COMPLETED,
    };
    size_t n = sizeof events / sizeof events[0];
    struct stage *st = start("now");
    say_all(st, events, n);
    expect_left(st, events, n);
    stage_free(st);
}

/* What was found rides on the last event of its sentence, which waits for the other item's. */
static void test_findings_wait_with_their_text(void **state)
{
    (void)state;
    static const char *const events[] = {
        CREATED,
        DELTA(0, "One "),
        DELTA(1, "Two "),
        DELTA(0, "bad word."),
        DELTA(1, "is."),
        ITEM_DONE(1, "Two is."),
        ITEM_DONE(0, "One bad word."),
        COMPLETED,
    };
    struct stage *st = start("now");
    say_all(st, events, sizeof events / sizeof events[0]);
    assert_true(st->is_over);
    struct weir_slice rest = weir_buf_slice(&st->lines);
    for (size_t i = 0; i + 1 < sizeof events / sizeof events[0]; i++) {
        struct weir_slice line = weir_slice_cut(&rest, '\n');
        bool has_finding = memmem(line.p, line.n, "\"detections\"", 12) != NULL;
        assert_int_equal(has_finding, i == 3);
        size_t n = strlen(events[i]) - 1; /* without its brace */
        assert_true(line.n >= n && memcmp(line.p, events[i], n) == 0);
        if (has_finding) {
            assert_non_null(memmem(line.p, line.n, "\"text\":\"bad\"", 12));
            assert_non_null(memmem(line.p, line.n, "\"start\":4,\"end\":7", 17));
        }
    }
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed_items_leave_in_their_order),
        cmocka_unit_test(test_findings_wait_with_their_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
