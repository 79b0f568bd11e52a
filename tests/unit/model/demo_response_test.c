/* The demonstration model in OpenAI's Responses: the order of events, numbers without gaps, and
 * that deltas, what ends them and the last event say the same as the whole answer. */
#include "model/demo_play.h"
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "wire/json.h"

struct heard {
    struct weir_arena arena;
    struct weir_demo_ask ask;
    struct weir_demo_play play;
    struct weir_buf types;   /* runs of deltas once */
    struct weir_buf deltas;  /* of text or arguments */
    struct weir_buf thought; /* of reasoning */
    struct weir_buf done;    /* what `*.done` of it says */
    struct weir_buf last;    /* the response of the last event */
    uint64_t n_events;
    size_t n_rounds;
};

static uint32_t get(const struct weir_json *j, uint32_t at, const char *name)
{
    return weir_json_get(j, at, weir_slice_cstr(name));
}

static bool has_type(const struct weir_json *j, const char *end)
{
    struct weir_slice type = weir_json_raw(j, get(j, 0, "type"));
    struct weir_slice quoted = weir_slice_sub(type, 1, type.n - 1);
    return weir_slice_ends_with(quoted, weir_slice_cstr(end));
}

static void note_type(struct heard *h, const struct weir_json *j)
{
    struct weir_slice type = weir_json_string(j, get(j, 0, "type"), &h->arena);
    struct weir_slice rest = weir_slice_sub(type, sizeof "response." - 1, type.n);
    bool is_same = weir_slice_ends_with(weir_buf_slice(&h->types), rest);
    if (!is_same) {
        weir_buf_append(&h->types, h->types.n != 0 ? WEIR_SLICE(" ") : WEIR_SLICE(""));
        weir_buf_append(&h->types, rest);
    }
}

static void hear(struct heard *h, struct weir_slice event)
{
    struct weir_json j;
    uint64_t number;
    assert_int_equal(weir_json_parse(&j, event, NULL, &h->arena, NULL), 0);
    assert_int_equal(weir_json_u64(&j, get(&j, 0, "sequence_number"), &number), 0);
    assert_int_equal(number, h->n_events++);
    note_type(h, &j);
    if (has_type(&j, ".delta")) {
        bool is_thought = has_type(&j, "reasoning_summary_text.delta");
        weir_json_string_append(&j, get(&j, 0, "delta"), is_thought ? &h->thought : &h->deltas);
    }
    if (has_type(&j, "output_text.done") || has_type(&j, "arguments.done")) {
        uint32_t text = get(&j, 0, "text");
        weir_json_string_append(&j, text != WEIR_JSON_NONE ? text : get(&j, 0, "arguments"),
                                &h->done);
    }
    if (get(&j, 0, "response") != WEIR_JSON_NONE) {
        weir_buf_clear(&h->last);
        weir_buf_append(&h->last, weir_json_raw(&j, get(&j, 0, "response")));
    }
}

static void ask(struct heard *h, const char *body)
{
    const char *why;
    struct weir_model_request request = {.op = WEIR_MODEL_RESPONSES, .body = weir_slice_cstr(body)};
    *h = (struct heard){0};
    assert_int_equal(weir_demo_ask_read(&h->ask, &request, &h->arena, &why), 0);
    weir_demo_play_init(&h->play, &h->ask, &h->arena, 1);
}

static void play(struct heard *h)
{
    struct weir_buf event = {0};
    enum weir_demo_next next;
    while ((next = weir_demo_play_next(&h->play, &event)) != WEIR_DEMO_END) {
        if (next == WEIR_DEMO_EVENT) {
            hear(h, weir_buf_slice(&event));
        }
        h->n_rounds += next == WEIR_DEMO_ROUND;
        weir_buf_clear(&event);
    }
    weir_buf_dispose(&event);
}

static void forget(struct heard *h)
{
    struct weir_buf *all[] = {&h->types, &h->deltas, &h->thought, &h->done, &h->last};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        weir_buf_dispose(all[i]);
    }
    weir_arena_dispose(&h->arena);
}

/* The whole answer is the response of the last event, whose text is what was said. */
static void expect_whole(struct heard *h)
{
    struct weir_buf whole = {0};
    struct weir_json j;
    assert_int_equal(weir_demo_play_whole(&h->play, &whole), 0);
    assert_string_equal(weir_buf_cstr(&whole), weir_buf_cstr(&h->last));
    assert_string_equal(weir_buf_cstr(&h->deltas), weir_buf_cstr(&h->done));
    assert_int_equal(weir_json_parse(&j, weir_buf_slice(&whole), NULL, &h->arena, NULL), 0);
    uint32_t output = get(&j, 0, "output");
    uint32_t item = weir_json_first(&j, output);
    uint32_t next = weir_json_after(&j, output, item);
    assert_int_equal(next != WEIR_JSON_NONE, h->thought.n != 0);
    item = next != WEIR_JSON_NONE ? next : item;
    uint32_t content = get(&j, item, "content");
    uint32_t text = content != WEIR_JSON_NONE ? get(&j, weir_json_first(&j, content), "text")
                                              : get(&j, item, "arguments");
    assert_true(weir_json_string_eq(&j, text, weir_buf_slice(&h->deltas)));
    weir_buf_dispose(&whole);
}

#define SAID                                                                                       \
    "output_item.added content_part.added output_text.delta output_text.done content_part.done "   \
    "output_item.done"
#define THOUGHT                                                                                    \
    "output_item.added reasoning_summary_part.added reasoning_summary_text.delta "                 \
    "reasoning_summary_text.done reasoning_summary_part.done output_item.done"

static void test_streams_say_what_the_whole_says(void **state)
{
    static const struct {
        const char *body;
        const char *types;
    } cases[] = {
        {"{\"input\":\"hi\"}", "created in_progress " SAID " completed"},
        {"{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"why\"}]}"
         "]}",
         "created in_progress " THOUGHT " " SAID " completed"},
        {"{\"input\":\"clean\",\"max_output_tokens\":4}",
         "created in_progress " SAID " incomplete"},
        {"{\"input\":\"x\",\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{"
         "\"properties\":{\"mail\":{\"type\":\"string\"}}}}]}",
         "created in_progress output_item.added function_call_arguments.delta "
         "function_call_arguments.done output_item.done completed"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct heard h;
        ask(&h, cases[i].body);
        play(&h);
        assert_string_equal(weir_buf_cstr(&h.types), cases[i].types);
        assert_true(h.n_rounds > 1);
        expect_whole(&h);
        forget(&h);
    }
}

static void test_what_is_asked(void **state)
{
    struct heard h;
    (void)state;
    ask(&h, "{\"input\":[{\"role\":\"user\",\"content\":\"x\"},{\"type\":\"function_call_output\","
            "\"output\":\"y\"}],\"tools\":[{\"type\":\"function\",\"name\":\"f\"}]}");
    assert_ptr_equal(h.ask.answer, &weir_demo_answer_tool_result);
    assert_int_equal(h.ask.tool_name.n, 0);
    assert_int_equal(h.ask.prompt_tokens, 2);
    forget(&h);
    ask(&h, "{\"input\":\"x\",\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"n\","
            "\"schema\":{\"properties\":{\"mail\":{\"type\":\"string\"}}}}}}");
    assert_true(weir_slice_eq_cstr(h.ask.json_text, "{\"mail\":\"demo@example.com\"}"));
    forget(&h);
    ask(&h,
        "{\"input\":\"x\",\"tools\":[{\"type\":\"function\",\"name\":\"f\"},{\"type\":"
        "\"function\",\"name\":\"g\"}],\"tool_choice\":{\"type\":\"function\",\"name\":\"g\"}}");
    assert_true(weir_slice_eq_cstr(h.ask.tool_name, "\"g\""));
    forget(&h);
}

static void test_mistakes(void **state)
{
    static const char *const bodies[] = {"{}", "{\"input\":[]}", "{\"input\":7}",
                                         "{\"input\":\"x\",\"max_output_tokens\":0}"};
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct weir_arena arena = {0};
        struct weir_demo_ask read;
        const char *why = NULL;
        struct weir_model_request request = {.op = WEIR_MODEL_RESPONSES,
                                             .body = weir_slice_cstr(bodies[i])};
        assert_int_equal(weir_demo_ask_read(&read, &request, &arena, &why), WEIR_EINVAL);
        assert_non_null(why);
        weir_arena_dispose(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams_say_what_the_whole_says),
        cmocka_unit_test(test_what_is_asked),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
