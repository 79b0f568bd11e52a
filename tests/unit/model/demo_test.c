/* The demonstration model: what is asked, what is said, and how a run behaves on a virtual clock.
 */
#include "model/demo.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "io/loop.h"
#include "model/demo_answer.h"
#include "unit/cmocka_all.h"
#include "wire/json.h"

#include <stdlib.h>

struct owner {
    struct weir_loop loop;
    struct weir_model_demo model;
    struct weir_model_request request;
    struct weir_model_run *run; /* NULL: freed */
    struct weir_arena arena;
    struct weir_buf last;    /* the last frame's JSON */
    struct weir_buf content; /* of choice 0, joined */
    struct weir_buf reasoning;
    struct weir_buf arguments;
    struct weir_buf finish; /* of all choices, in order */
    struct weir_fault fault;
    size_t n_frames;
    size_t n_done;
    uint64_t n_tokens;
    size_t pauses_at; /* frame */
    size_t frees_at;
    bool flaps; /* pauses and resumes in every frame */
    bool frees_at_done;
};

static void let_go(struct owner *o)
{
    weir_model_free(o->run);
    o->run = NULL;
}

static uint32_t get(const struct weir_json *j, uint32_t at, const char *name)
{
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_OBJECT
               ? weir_json_get_set(j, at, weir_slice_cstr(name))
               : WEIR_JSON_NONE;
}

static uint32_t first(const struct weir_json *j, uint32_t at)
{
    return at != WEIR_JSON_NONE ? weir_json_first(j, at) : WEIR_JSON_NONE;
}

static void join(const struct weir_json *j, uint32_t at, struct weir_buf *out)
{
    if (at != WEIR_JSON_NONE) {
        assert_int_equal(weir_json_type(j, at), WEIR_JSON_STRING);
        weir_json_string_append(j, at, out);
    }
}

static void read_choice(struct owner *o, const struct weir_json *j, uint32_t choice)
{
    uint64_t index;
    join(j, get(j, choice, "finish_reason"), &o->finish);
    assert_int_equal(weir_json_u64(j, get(j, choice, "index"), &index), 0);
    if (index != 0) {
        return;
    }
    uint32_t delta = get(j, choice, "delta");
    delta = delta != WEIR_JSON_NONE ? delta : get(j, choice, "message");
    join(j, get(j, choice, "text"), &o->content);
    join(j, get(j, delta, "content"), &o->content);
    join(j, get(j, delta, "reasoning_content"), &o->reasoning);
    uint32_t call = first(j, get(j, delta, "tool_calls"));
    join(j, get(j, get(j, call, "function"), "arguments"), &o->arguments);
}

static void on_frame(void *ctx, const struct weir_model_frame *f)
{
    struct owner *o = ctx;
    o->n_frames++;
    o->n_tokens = f->n_tokens;
    weir_buf_clear(&o->last);
    weir_buf_append(&o->last, f->json);
    if (f->json.n != 0) {
        struct weir_json j;
        assert_int_equal(weir_json_parse(&j, f->json, NULL, &o->arena, NULL), 0);
        uint32_t list = get(&j, 0, "choices");
        for (uint32_t at = first(&j, list); at != WEIR_JSON_NONE;
             at = weir_json_after(&j, list, at)) {
            read_choice(o, &j, at);
        }
    }
    if (o->request.is_stream) {
        assert_true(weir_slice_starts_with(f->raw, WEIR_SLICE("data: {")));
        assert_true(weir_slice_ends_with(f->raw, WEIR_SLICE("}\n\n")));
        assert_int_equal(f->raw.n, f->json.n + 8);
    }
    if (o->flaps) {
        weir_model_pause(o->run);
        weir_model_resume(o->run);
    }
    if (o->n_frames == o->pauses_at) {
        weir_model_pause(o->run);
    }
    if (o->n_frames == o->frees_at) {
        let_go(o);
    }
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct owner *o = ctx;
    o->n_done++;
    if (fault != NULL) {
        o->fault = weir_fault_dup(&o->arena, fault);
    }
    if (o->frees_at_done) {
        let_go(o);
    }
}

static void start(struct owner *o, enum weir_model_op op, bool is_stream, const char *body)
{
    static const struct weir_model_events events = {.on_frame = on_frame, .on_done = on_done};
    struct weir_model_env env = {
        .loop = &o->loop, .max_body_bytes = 1 << 20, .max_event_bytes = 1 << 20};
    o->request = (struct weir_model_request){.op = op,
                                             .is_stream = is_stream,
                                             .model_id = WEIR_SLICE("m"),
                                             .body = weir_slice_cstr(body)};
    if (op == WEIR_MODEL_TOKENIZE) {
        o->request.text = weir_slice_cstr(body);
    }
    weir_model_demo_init(&o->model);
    o->run = weir_model_start(&o->model.base, &env, &o->request, &events, o);
    assert_int_equal(o->n_frames + o->n_done, 0);
}

/* Lets all the time pass that anybody waits for. Returns how often a timer was due. */
static size_t pass_time(struct owner *o)
{
    uint64_t at_ms;
    size_t n = 0;
    for (; weir_timers_next(&o->loop.timers, &at_ms); n++) {
        weir_timers_run(&o->loop.timers, at_ms);
    }
    return n;
}

static void forget(struct owner *o)
{
    let_go(o);
    struct weir_buf *all[] = {&o->last, &o->content, &o->reasoning, &o->arguments, &o->finish};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        weir_buf_dispose(all[i]);
    }
    weir_arena_dispose(&o->arena);
    o->fault = (struct weir_fault){0};
    o->n_frames = o->n_done = o->pauses_at = o->frees_at = 0;
    o->flaps = o->frees_at_done = false;
    assert_int_equal(pass_time(o), 0);
}

/* A request from its start to its end; its traces stay until the next one. */
static void ask(struct owner *o, enum weir_model_op op, bool is_stream, const char *body)
{
    forget(o);
    start(o, op, is_stream, body);
    pass_time(o);
    assert_int_equal(o->n_done, 1);
}

static void expect(const struct weir_buf *got, const char *expected)
{
    if (!weir_slice_eq_cstr(weir_buf_slice(got), expected)) {
        fail_msg("got `%.*s`, expected `%s`", (int)got->n, got->p, expected);
    }
}

static bool has(const struct weir_buf *got, const char *part)
{
    return got->n != 0 && memmem(got->p, got->n, part, strlen(part)) != NULL;
}

static int set_up(void **state)
{
    struct owner *o = weir_mem_zalloc(sizeof *o);
    assert_int_equal(weir_loop_init(&o->loop), 0);
    *state = o;
    return 0;
}

static int tear_down(void **state)
{
    struct owner *o = *state;
    forget(o);
    weir_loop_dispose(&o->loop);
    free(o);
    return 0;
}

#define USER(text) "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]"
#define PROMPT(text) "{\"model\":\"m\",\"prompt\":\"" text "\""
#define TOOL(name, parameters)                                                                     \
    ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"" name                            \
    "\",\"parameters\":" parameters "}}]"

static void test_answers(void **state)
{
    const struct weir_demo_answer *a;
    (void)state;
    for (size_t i = 0; (a = weir_demo_answer_at(i)) != NULL; i++) {
        struct weir_slice text = weir_slice_cstr(a->text);
        assert_true(weir_utf8_is_valid(text));
        assert_non_null(strstr(a->text, "weir's demonstration model"));
        assert_ptr_equal(weir_demo_answer_pick(weir_slice_cstr(a->name)), a);
        assert_ptr_equal(weir_demo_answer_after(weir_demo_answer_at(0), i), a);
        size_t n_bytes = 0;
        while (text.n != 0) {
            n_bytes += weir_demo_answer_token(&text).n;
        }
        assert_int_equal(n_bytes, strlen(a->text));
    }
}

static void test_picks(void **state)
{
    static const struct {
        const char *prompt;
        const char *name;
    } cases[] = {{"", "findings"},
                 {"Hello there!", "findings"},
                 {"Something CLEAN, please.", "clean"},
                 {"a long and clean one", "long"},
                 {"unclean", "findings"},
                 {"pneumonoultramicroscopicsilicovolcanoconiosis clean", "clean"},
                 {"show links", "links"},
                 {"why?", "reasoning"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct weir_demo_answer *a = weir_demo_answer_pick(weir_slice_cstr(cases[i].prompt));
        assert_string_equal(a->name, cases[i].name);
    }
    char *far = weir_mem_alloc(10000);
    memset(far, ' ', 10000);
    memcpy(far + 9000, "clean", 5);
    assert_string_equal(weir_demo_answer_pick(weir_slice_make(far, 10000))->name, "findings");
    free(far);
}

static void test_stream_says_what_the_whole_says(void **state)
{
    static const char *const bodies[] = {
        USER("hi") "}", USER("reasoning") "}", USER("languages") ",\"max_tokens\":20}",
        USER("long") ",\"stop\":[\"zzz\",\"Mills\"]}", USER("x") TOOL("f", "{}") "}"};
    struct owner *o = *state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct weir_buf *whole[] = {&o->content, &o->reasoning, &o->arguments, &o->finish};
        struct weir_buf kept[4] = {{0}};
        ask(o, WEIR_MODEL_CHAT, false, bodies[i]);
        assert_int_equal(o->n_frames, 1);
        for (size_t k = 0; k < 4; k++) {
            weir_buf_append(&kept[k], weir_buf_slice(whole[k]));
        }
        ask(o, WEIR_MODEL_CHAT, true, bodies[i]);
        for (size_t k = 0; k < 4; k++) {
            expect(whole[k], weir_buf_cstr(&kept[k]));
            weir_buf_dispose(&kept[k]);
        }
    }
}

static void test_limits_of_an_answer(void **state)
{
    struct owner *o = *state;
    ask(o, WEIR_MODEL_CHAT, true, USER("clean") ",\"max_tokens\":3}");
    expect(&o->content, "This is weir's");
    expect(&o->finish, "length");
    assert_int_equal(o->n_frames, 5);
    ask(o, WEIR_MODEL_CHAT, false, USER("clean") ",\"max_tokens\":9,\"max_completion_tokens\":1}");
    expect(&o->content, "This");
    ask(o, WEIR_MODEL_CHAT, true, USER("clean") ",\"stop\":\" weir's\"}");
    expect(&o->content, "This is");
    expect(&o->finish, "stop");
    ask(o, WEIR_MODEL_CHAT, true, USER("reasoning") ",\"max_tokens\":2}");
    expect(&o->reasoning, "The question");
    expect(&o->content, "");
    expect(&o->finish, "length");
    ask(o, WEIR_MODEL_COMPLETION, true, PROMPT("clean") ",\"max_tokens\":2}");
    expect(&o->content, "This is");
    assert_int_equal(o->n_frames, 3);
    ask(o, WEIR_MODEL_COMPLETION, false, PROMPT("clean") ",\"stop\":[\"This\"]}");
    expect(&o->content, "");
    expect(&o->finish, "stop");
}

static void test_usage(void **state)
{
    struct owner *o = *state;
    ask(o, WEIR_MODEL_CHAT, false, USER("two words") ",\"n\":3,\"max_tokens\":5}");
    assert_true(has(&o->last, "\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":15,"
                              "\"total_tokens\":17}"));
    ask(o, WEIR_MODEL_CHAT, true,
        USER("two words") ",\"n\":2,\"max_tokens\":1,\"stream_options\":{\"include_usage\":true}}");
    assert_true(has(&o->last, "\"choices\":[],\"usage\":{\"prompt_tokens\":2,"
                              "\"completion_tokens\":2,\"total_tokens\":4}"));
    assert_int_equal(o->n_frames, 2 * 3 + 1);
    ask(o, WEIR_MODEL_CHAT, true, USER("two words") ",\"max_tokens\":1}");
    assert_false(has(&o->last, "usage"));
    ask(o, WEIR_MODEL_TOKENIZE, false, "three small words");
    assert_int_equal(o->n_tokens, 3);
    assert_int_equal(o->last.n, 0);
    ask(o, WEIR_MODEL_CHAT, false,
        "{\"messages\":[{\"role\":\"system\",\"content\":\"be kind\"},{\"role\":\"user\","
        "\"content\":[{\"type\":\"text\",\"text\":\"one two\"},{\"type\":\"image_url\"},"
        "{\"type\":\"text\",\"text\":\"clean\"}]}]}");
    assert_true(has(&o->last, "\"prompt_tokens\":5,"));
    assert_true(has(&o->content, "nothing to find"));
}

static void test_choices_differ(void **state)
{
    struct owner *o = *state;
    ask(o, WEIR_MODEL_CHAT, true, USER("hi") ",\"n\":3}");
    expect(&o->finish, "stopstopstop");
    ask(o, WEIR_MODEL_CHAT, false, USER("hi") ",\"n\":2}");
    assert_true(has(&o->last, "maria.lopez@example.com"));
    assert_true(has(&o->last, "There is nothing to find"));
}

static void test_tools(void **state)
{
    struct owner *o = *state;
#define SCHEMA                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"email\":{\"type\":\"string\"},\"n\":{\"type\":"        \
    "\"integer\",\"minimum\":7},\"unit\":{\"enum\":[\"C\",\"F\"]},\"deep\":{\"$ref\":"             \
    "\"#/$defs/d\"},\"list\":{\"type\":\"array\",\"items\":{\"type\":[\"boolean\",\"null\"]}},"    \
    "\"when\":{\"type\":\"string\",\"format\":\"date\"}},\"$defs\":{\"d\":{\"anyOf\":["            \
    "{\"type\":\"number\"}]}}}"
    ask(o, WEIR_MODEL_CHAT, true, USER("x") TOOL("send", SCHEMA) "}");
    expect(&o->arguments, "{\"email\":\"demo@example.com\",\"n\":7,\"unit\":\"C\",\"deep\":1,"
                          "\"list\":[true],\"when\":\"2024-02-29\"}");
    expect(&o->content, "");
    expect(&o->finish, "tool_calls");
    ask(o, WEIR_MODEL_CHAT, false, USER("x") TOOL("send", SCHEMA) ",\"n\":2}");
    assert_true(has(&o->last, "\"content\":null"));
    assert_true(has(&o->last, "\"function\":{\"name\":\"send\",\"arguments\":"));
    assert_true(has(&o->last, "\"id\":\"call_0_"));
    assert_true(has(&o->last, "\"id\":\"call_1_"));
    ask(o, WEIR_MODEL_CHAT, false, USER("x") TOOL("f", "{}") ",\"tool_choice\":\"none\"}");
    expect(&o->finish, "stop");
    ask(o, WEIR_MODEL_CHAT, false,
        "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"tool\",\"content\":"
        "\"y\"}]" TOOL("f", "{}") "}");
    assert_true(has(&o->content, "The tool has answered"));
    ask(o, WEIR_MODEL_CHAT, false,
        USER("x") ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{"
                  "\"schema\":" SCHEMA "}}}");
    assert_true(has(&o->content, "{\"email\":"));
    ask(o, WEIR_MODEL_CHAT, false, USER("x") ",\"response_format\":{\"type\":\"json_object\"}}");
    assert_true(has(&o->content, "demonstration model"));
}

/* Schemas that would never end, or not soon. */
static void test_hostile_schemas(void **state)
{
    struct owner *o = *state;
    ask(o, WEIR_MODEL_CHAT, false,
        USER("x") TOOL("f", "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"properties\":{\"b\":"
                            "{\"$ref\":\"#/$defs/a\"},\"c\":{\"$ref\":\"#/$defs/a\"}}}}}") "}");
    assert_int_equal(o->fault.origin, WEIR_FAULT_NONE);
    expect(&o->finish, "tool_calls");
    struct weir_buf body = {0};
    weir_buf_printf(&body, "%s",
                    USER("x") ",\"tools\":[{\"type\":\"function\",\"function\":{"
                              "\"name\":\"f\",\"parameters\":{\"properties\":{");
    for (int i = 0; i < 5000; i++) {
        weir_buf_printf(&body, "%s\"property%d\":{}", i != 0 ? "," : "", i);
    }
    weir_buf_printf(&body, "}}}}]}");
    ask(o, WEIR_MODEL_CHAT, false, weir_buf_cstr(&body));
    assert_int_equal(o->fault.status, 400);
    weir_buf_dispose(&body);
}

static void test_mistakes(void **state)
{
    static const struct {
        enum weir_model_op op;
        const char *body;
        const char *message;
    } cases[] = {
        {WEIR_MODEL_CHAT, "[]", "the body must be a JSON object"},
        {WEIR_MODEL_CHAT, "{", "the body must be a JSON object"},
        {WEIR_MODEL_CHAT, "{\"messages\":[]}",
         "`messages` must be a list with at least one "
         "message"},
        {WEIR_MODEL_CHAT, "{\"messages\":[1]}", "every message must be an object with a `role`"},
        {WEIR_MODEL_COMPLETION, "{}",
         "`prompt` must be one text: the demonstration model takes no "
         "lists and no token ids"},
        {WEIR_MODEL_CHAT, USER("x") ",\"n\":0}", "`n` must be a whole number from 1 to 128"},
        {WEIR_MODEL_CHAT, USER("x") ",\"n\":129}", "`n` must be a whole number from 1 to 128"},
        {WEIR_MODEL_CHAT, USER("x") ",\"n\":1.5}", "`n` must be a whole number from 1 to 128"},
        {WEIR_MODEL_COMPLETION, PROMPT("x") ",\"max_tokens\":0}",
         "`max_tokens` must be a whole number, at least 1"},
        {WEIR_MODEL_COMPLETION, PROMPT("x") ",\"stop\":[\"\"]}",
         "`stop` must be a text or a list of at most 16 texts, none empty"},
        {WEIR_MODEL_CHAT, USER("x") ",\"tools\":[{}]}", "`tools` has no function with a name"},
        {WEIR_MODEL_CHAT,
         USER("x") TOOL("f", "{}") ",\"tool_choice\":{\"function\":{\"name\":\"g\"}}}",
         "`tool_choice` names a tool that is not in `tools`"},
    };
    struct owner *o = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ask(o, cases[i].op, i % 2 == 0, cases[i].body);
        assert_int_equal(o->n_frames, 0);
        assert_int_equal(o->fault.status, 400);
        assert_true(weir_slice_eq_cstr(o->fault.message, cases[i].message));
        assert_int_equal(o->fault.origin, cases[i].op == WEIR_MODEL_CHAT
                                              ? WEIR_FAULT_CHAT_COMPLETION
                                              : WEIR_FAULT_COMPLETION);
    }
    ask(o, WEIR_MODEL_GENERATE, false, "");
    assert_int_equal(o->fault.status, 0);
    assert_int_not_equal(o->fault.origin, WEIR_FAULT_NONE);
}

static void test_models(void **state)
{
    struct owner *o = *state;
    ask(o, WEIR_MODEL_MODELS, false, "");
    assert_true(has(&o->last, "\"id\":\"weir-demo\""));
    assert_true(has(&o->last, "\"object\":\"list\""));
}

/* A token each time, not all at once. */
static void test_pace(void **state)
{
    struct owner *o = *state;
    forget(o);
    start(o, WEIR_MODEL_CHAT, true, USER("clean") ",\"n\":2,\"max_tokens\":4}");
    assert_int_equal(pass_time(o), 1 + 4 + 1);
    assert_int_equal(o->n_frames, 2 * (1 + 4 + 1));
}

static void test_pause_anywhere(void **state)
{
    static const char body[] = USER("clean") ",\"n\":2,\"max_tokens\":2,"
                                             "\"stream_options\":{\"include_usage\":true}}";
    enum { N_FRAMES = 2 * 4 + 1 };
    struct owner *o = *state;
    for (size_t i = 1; i <= N_FRAMES; i++) {
        forget(o);
        o->pauses_at = i;
        start(o, WEIR_MODEL_CHAT, true, body);
        pass_time(o);
        assert_int_equal(o->n_frames, i);
        assert_int_equal(o->n_done, 0);
        weir_model_resume(o->run);
        assert_int_equal(o->n_frames, i);
        pass_time(o);
        assert_int_equal(o->n_frames, N_FRAMES);
        assert_int_equal(o->n_done, 1);
    }
    forget(o);
    o->flaps = true;
    start(o, WEIR_MODEL_CHAT, true, body);
    pass_time(o);
    assert_int_equal(o->n_frames, N_FRAMES);
    assert_int_equal(o->n_done, 1);
    forget(o);
    start(o, WEIR_MODEL_CHAT, true, "{}"); /* a fault waits, too */
    weir_model_pause(o->run);
    pass_time(o);
    assert_int_equal(o->n_done, 0);
    weir_model_resume(o->run);
    pass_time(o);
    assert_int_equal(o->n_done, 1);
}

static void test_free_anywhere(void **state)
{
    static const char body[] = USER("clean") ",\"max_tokens\":2}";
    struct owner *o = *state;
    for (size_t i = 0; i <= 4; i++) {
        forget(o);
        o->frees_at = i;
        start(o, WEIR_MODEL_CHAT, true, body);
        if (i == 0) {
            let_go(o);
        }
        pass_time(o);
        assert_int_equal(o->n_frames, i);
        assert_int_equal(o->n_done, 0);
    }
    for (int is_stream = 0; is_stream < 2; is_stream++) {
        forget(o);
        o->frees_at_done = true;
        start(o, WEIR_MODEL_CHAT, is_stream != 0, body);
        pass_time(o);
        assert_int_equal(o->n_done, 1);
    }
    forget(o);
    o->frees_at = 1;
    start(o, WEIR_MODEL_CHAT, false, body);
    pass_time(o);
    assert_int_equal(o->n_done, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_picks),
        cmocka_unit_test_setup_teardown(test_stream_says_what_the_whole_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_of_an_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_usage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_choices_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tools, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_schemas, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mistakes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pause_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_free_anywhere, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
