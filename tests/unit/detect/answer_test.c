/* Answers of detectors: what is believed, what is kept of it, and every kind of nonsense. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/answer.h"

#include <stdlib.h>

/* "grüße, 世界!": 11 code points, not as many bytes. */
#define GREETING                                                                                   \
    "gr\xc3\xbc\xc3\x9f"                                                                           \
    "e, \xe4\xb8\x96\xe7\x95\x8c!"

static const struct weir_slice texts[] = {WEIR_SLICE("plain text"), WEIR_SLICE(GREETING),
                                          WEIR_SLICE("")};

static const struct weir_detect_input contents = {
    .type = WEIR_DETECT_CONTENTS, .contents = texts, .n_contents = 3, .threshold = 0.5};
static const struct weir_detect_input chat = {.type = WEIR_DETECT_CHAT, .threshold = 0.5};

struct answered {
    struct weir_arena arena;
    struct weir_detect_answer answer;
    int rc;
};

/* The body is gone before anybody looks at the findings. */
static struct answered read_body(const struct weir_detect_input *input, struct weir_slice body)
{
    struct answered a = {.rc = 0};
    char *copy = weir_mem_dup(body.p, body.n);
    a.rc = weir_detect_answer_read(&a.answer, weir_slice_make(copy, body.n), input,
                                   WEIR_SLICE("det"), &a.arena);
    free(copy);
    return a;
}

static void assert_slice(struct weir_slice got, const char *expected)
{
    if (!weir_slice_eq_cstr(got, expected)) {
        fail_msg("\"%.*s\", not \"%s\"", (int)got.n, got.p, expected);
    }
}

static void test_nothing_found(void **state)
{
    (void)state;
    struct answered a = read_body(&contents, WEIR_SLICE(" [[], [],[]]\n"));
    assert_int_equal(a.rc, 0);
    assert_int_equal(a.answer.n_lists, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(a.answer.lists[i].n, 0);
    }
    weir_arena_dispose(&a.arena);
}

static void test_all_members(void **state)
{
    (void)state;
    struct answered a = read_body(
        &contents,
        WEIR_SLICE("[[{\"start\":0,\"end\":5,\"text\":\"pl\\u00e4in\",\"detection\":\"d\\\"1\","
                   "\"detection_type\":\"t1\",\"score\":0.50,\"detector_id\":\"other\","
                   "\"evidence\":[ {\"name\": \"a b\", \"score\": 1.0} ],\"metadata\":{ },"
                   "\"more\":[1,2,{\"start\":99}]}],[],[]]"));
    assert_int_equal(a.rc, 0);
    assert_int_equal(a.answer.lists[0].n, 1);
    const struct weir_detection *d = &a.answer.lists[0].items[0];
    assert_true(d->has_span);
    assert_int_equal(d->start_cp, 0);
    assert_int_equal(d->end_cp, 5);
    assert_slice(d->text, "pl\xc3\xa4in");
    assert_slice(d->detection, "d\"1");
    assert_slice(d->detection_type, "t1");
    assert_slice(d->detector_id, "det");
    assert_slice(d->evidence, "[{\"name\":\"a b\",\"score\":1.0}]");
    assert_slice(d->metadata, "{}");
    assert_true(d->score == 0.5);
    assert_slice(d->score_raw, "0.50");
    weir_arena_dispose(&a.arena);
}

#define MORE "\"detection\":\"d\",\"detection_type\":\"t\",\"score\":0.9"

static void test_text_comes_from_the_content(void **state)
{
    (void)state;
    struct answered a =
        read_body(&contents, WEIR_SLICE("[[],[{\"start\":2,\"end\":4," MORE "},"
                                        "{\"start\":7,\"end\":10,\"text\":null," MORE "},"
                                        "{\"start\":10,\"end\":10," MORE "}],"
                                        "[{\"start\":0,\"end\":0," MORE "}]]"));
    assert_int_equal(a.rc, 0);
    assert_int_equal(a.answer.lists[1].n, 3);
    assert_slice(a.answer.lists[1].items[0].text, "\xc3\xbc\xc3\x9f");
    assert_slice(a.answer.lists[1].items[1].text, "\xe4\xb8\x96\xe7\x95\x8c!");
    assert_slice(a.answer.lists[1].items[2].text, "");
    assert_slice(a.answer.lists[2].items[0].text, "");
    assert_int_equal(a.answer.lists[1].items[0].evidence.n, 0);
    weir_arena_dispose(&a.arena);
}

static void append_span(struct weir_buf *body, size_t at_cp)
{
    weir_buf_printf(body, "%s{\"start\":%zu,\"end\":%zu," MORE "}", at_cp != 0 ? "," : "", at_cp,
                    at_cp + 1);
}

/* Every span of a long text that is not ASCII: the marks are right on both sides of each. */
static void test_spans_of_a_long_text(void **state)
{
    enum { N_CP = 1000 };
    struct weir_buf text = {0};
    struct weir_buf body = {0};
    (void)state;
    weir_buf_append(&body, WEIR_SLICE("[["));
    for (size_t i = 0; i < N_CP; i++) {
        weir_buf_append(&text, i % 3 != 0 ? WEIR_SLICE("\xc3\xbc") : WEIR_SLICE("u"));
        append_span(&body, i);
    }
    weir_buf_append(&body, WEIR_SLICE("]]"));
    struct weir_slice content = weir_buf_slice(&text);
    struct weir_detect_input in = {
        .type = WEIR_DETECT_CONTENTS, .contents = &content, .n_contents = 1};
    struct answered a = read_body(&in, weir_buf_slice(&body));
    assert_int_equal(a.rc, 0);
    assert_int_equal(a.answer.lists[0].n, N_CP);
    const char *at = text.p;
    for (size_t i = 0; i < N_CP; i++) {
        struct weir_slice got = a.answer.lists[0].items[i].text;
        assert_ptr_equal(got.p, at);
        assert_int_equal(got.n, i % 3 != 0 ? 2 : 1);
        at += got.n;
    }
    weir_arena_dispose(&a.arena);
    weir_buf_dispose(&text);
    weir_buf_dispose(&body);
}

static void test_threshold(void **state)
{
    (void)state;
    struct answered a = read_body(
        &chat, WEIR_SLICE("[{\"detection\":\"low\",\"detection_type\":\"t\",\"score\":0.49999},"
                          "{\"detection\":\"same\",\"detection_type\":\"t\",\"score\":5e-1},"
                          "{\"detection\":\"high\",\"detection_type\":\"t\",\"score\":1}]"));
    assert_int_equal(a.rc, 0);
    assert_int_equal(a.answer.n_lists, 1);
    assert_int_equal(a.answer.lists[0].n, 2);
    assert_slice(a.answer.lists[0].items[0].detection, "same");
    assert_slice(a.answer.lists[0].items[0].score_raw, "5e-1");
    assert_slice(a.answer.lists[0].items[1].detection, "high");
    weir_arena_dispose(&a.arena);
}

static void test_others_have_no_span(void **state)
{
    (void)state;
    struct answered a =
        read_body(&chat, WEIR_SLICE("[{\"start\":-1,\"end\":\"x\",\"text\":5," MORE "}]"));
    assert_int_equal(a.rc, 0);
    const struct weir_detection *d = &a.answer.lists[0].items[0];
    assert_false(d->has_span);
    assert_int_equal(d->end_cp, 0);
    assert_int_equal(d->text.n, 0);
    weir_arena_dispose(&a.arena);
}

static void test_lenient(void **state)
{
    struct weir_detect_input in = contents;
    (void)state;
    in.is_lenient = true;
    struct answered a = read_body(&in, WEIR_SLICE("[[{\"start\":0,\"end\":1," MORE "}]]"));
    assert_int_equal(a.rc, 0);
    assert_int_equal(a.answer.n_lists, 3);
    assert_int_equal(a.answer.lists[0].n, 1);
    assert_int_equal(a.answer.lists[1].n + a.answer.lists[2].n, 0);
    weir_arena_dispose(&a.arena);
    a = read_body(&in, WEIR_SLICE("[[],[],[],[{\"start\":99}],7]"));
    assert_int_equal(a.rc, 0);
    assert_int_equal(a.answer.n_lists, 3);
    weir_arena_dispose(&a.arena);
    a = read_body(&in, WEIR_SLICE("[[],7,[]]"));
    assert_int_equal(a.rc, WEIR_EPEER);
    weir_arena_dispose(&a.arena);
}

struct nonsense {
    const struct weir_detect_input *input;
    const char *body;
    const char *why;
};

static const struct nonsense nonsenses[] = {
    {&contents, "", "not JSON that can be read: expected a value at byte 0 of 0"},
    {&contents, "{\"code\":1}", "an object instead of a list"},
    {&chat, "null", "null instead of a list"},
    {&contents, "[[],[]]", "2 lists for 3 contents"},
    {&contents, "[[],[],[],[]]", "4 lists for 3 contents"},
    {&contents, "[[],{},[]]", "list 1 is an object"},
    {&contents, "[[],[],[3]]", "list 2, finding 0: is a number, not an object"},
    {&chat, "[{" MORE "},[]]", "finding 1: is a list, not an object"},
    {&contents, "[[{\"end\":1," MORE "}],[],[]]", "list 0, finding 0: `start` is missing"},
    {&contents, "[[{\"start\":0,\"end\":null," MORE "}],[],[]]",
     "list 0, finding 0: `end` is missing"},
    {&contents, "[[{\"start\":-1,\"end\":1," MORE "}],[],[]]",
     "list 0, finding 0: `start` is not a whole number from 0"},
    {&contents, "[[{\"start\":0,\"end\":1.0," MORE "}],[],[]]",
     "list 0, finding 0: `end` is not a whole number from 0"},
    {&contents, "[[{\"start\":0,\"end\":1e0," MORE "}],[],[]]",
     "list 0, finding 0: `end` is not a whole number from 0"},
    {&contents, "[[{\"start\":\"0\",\"end\":1," MORE "}],[],[]]",
     "list 0, finding 0: `start` is not a whole number from 0"},
    {&contents, "[[{\"start\":0,\"end\":18446744073709551616," MORE "}],[],[]]",
     "list 0, finding 0: `end` is not a whole number from 0"},
    {&contents, "[[],[{\"start\":0,\"end\":11," MORE "}],[]]",
     "list 1, finding 0: `end` is 11, the text has 10 code points"},
    {&contents, "[[{\"start\":18446744073709551615,\"end\":1," MORE "}],[],[]]",
     "list 0, finding 0: `start` is 18446744073709551615, the text has 10 code points"},
    {&contents, "[[{\"start\":5,\"end\":4," MORE "}],[],[]]",
     "list 0, finding 0: `start` 5 is behind `end` 4"},
    {&contents, "[[{\"start\":0,\"end\":1,\"text\":5," MORE "}],[],[]]",
     "list 0, finding 0: `text` is a number, not a string"},
    {&chat, "[{\"detection\":\"d\",\"score\":1}]", "finding 0: `detection_type` is missing"},
    {&chat, "[{\"detection_type\":\"t\",\"score\":1}]", "finding 0: `detection` is missing"},
    {&chat, "[{\"detection\":true,\"detection_type\":\"t\",\"score\":1}]",
     "finding 0: `detection` is a boolean, not a string"},
    {&chat, "[{\"detection\":\"d\",\"detection_type\":\"t\"}]", "finding 0: `score` is missing"},
    {&chat, "[{\"detection\":\"d\",\"detection_type\":\"t\",\"score\":\"1\"}]",
     "finding 0: `score` is not a finite number"},
    {&chat, "[{\"detection\":\"d\",\"detection_type\":\"t\",\"score\":1e999}]",
     "finding 0: `score` is not a finite number"},
    /* What is below the threshold is checked all the same. */
    {&contents,
     "[[{\"start\":9,\"end\":3,\"detection\":\"d\",\"detection_type\":\"t\",\"score\":0}],[],[]]",
     "list 0, finding 0: `start` 9 is behind `end` 3"},
};

static void test_nonsense(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nonsenses / sizeof nonsenses[0]; i++) {
        const struct nonsense *n = &nonsenses[i];
        struct answered a = read_body(n->input, weir_slice_cstr(n->body));
        if (a.rc != WEIR_EPEER || strcmp(a.answer.why, n->why) != 0) {
            fail_msg("%s: %d %s, not %s", n->body, a.rc, a.answer.why, n->why);
        }
        assert_null(a.answer.lists);
        weir_arena_dispose(&a.arena);
    }
}

/* What the reader refuses is refused here: the words are its own. */
static void test_not_json(void **state)
{
    static const char *const bodies[] = {
        "[[],[],[]",
        "[[],[],[]] x",
        "[[],[],[]][]",
        "[[],[],[],]",
        "[{" MORE ",\"detection\":\"again\"}]",
        "[{" MORE ",\"a\":1,\"\\u0061\":2}]",
        "[{\"detection\":\"\xff\",\"detection_type\":\"t\",\"score\":1}]",
        "[{\"detection\":\"\xed\xa0\x80\",\"detection_type\":\"t\",\"score\":1}]",
        "[{\"detection\":\"d\",\"detection_type\":\"t\",\"score\":NaN}]",
        "data: [[],[],[]]",
        "<html>",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct answered a = read_body(&chat, weir_slice_cstr(bodies[i]));
        assert_int_equal(a.rc, WEIR_EPEER);
        assert_non_null(strstr(a.answer.why, "not JSON that can be read: "));
        weir_arena_dispose(&a.arena);
    }
}

static void test_too_many_values(void **state)
{
    enum { N = 5 * 1024 * 1024 };
    struct weir_buf body = {0};
    (void)state;
    weir_buf_append(&body, WEIR_SLICE("["));
    for (size_t i = 0; i < N; i++) {
        weir_buf_append(&body, WEIR_SLICE("1,"));
    }
    weir_buf_append(&body, WEIR_SLICE("1]"));
    struct answered a = read_body(&chat, weir_buf_slice(&body));
    assert_int_equal(a.rc, WEIR_EPEER);
    assert_non_null(strstr(a.answer.why, "not JSON that can be read: "));
    weir_arena_dispose(&a.arena);
    weir_buf_dispose(&body);
}

static void expect_error(const char *body, int status, const char *message)
{
    struct weir_arena arena = {0};
    struct weir_fault fault = {.status = 1};
    weir_detect_answer_error(&fault, 500, weir_slice_cstr(body), &arena);
    if (fault.status != status || !weir_slice_eq_cstr(fault.message, message)) {
        fail_msg("%s: %d %.*s", body, fault.status, (int)fault.message.n, fault.message.p);
    }
    weir_arena_dispose(&arena);
}

static void test_errors(void **state)
{
    (void)state;
    expect_error("{\"code\":422,\"message\":\"bad\\ninput\"}", 422, "bad input");
    expect_error("{\"message\":\"only words\"}", 500, "only words");
    expect_error("{\"code\":404}", 404, "");
    expect_error("{\"code\":\"404\",\"message\":null}", 500, "");
    expect_error("{\"code\":99,\"message\":\"m\"}", 500, "m");
    expect_error("{\"code\":600,\"message\":\"m\"}", 500, "m");
    expect_error("{\"code\":404.0,\"message\":[\"m\"]}", 500, "");
    expect_error("{\"code\":404,\"message\":\"m\"", 500, "");
    expect_error("{\"code\":404,\"code\":422,\"message\":\"m\"}", 500, "");
    expect_error("[404]", 500, "");
    expect_error("Internal Server Error", 500, "");
    expect_error("", 500, "");
}

static void test_error_too_long(void **state)
{
    struct weir_buf body = {0};
    struct weir_arena arena = {0};
    struct weir_fault fault = {0};
    (void)state;
    weir_buf_append(&body, WEIR_SLICE("{\"code\":404,\"message\":\""));
    for (size_t i = 0; i < 3000; i++) {
        weir_buf_append_byte(&body, 'x');
    }
    weir_buf_append(&body, WEIR_SLICE("\"}"));
    weir_detect_answer_error(&fault, 400, weir_buf_slice(&body), &arena);
    assert_int_equal(fault.status, 404);
    assert_int_equal(fault.message.n, WEIR_FAULT_MESSAGE_BYTES);
    weir_buf_clear(&body);
    weir_buf_append(&body, WEIR_SLICE("{\"code\":404,\"message\":\"m\"}"));
    for (size_t i = 0; i < (size_t)64 * 1024; i++) {
        weir_buf_append_byte(&body, ' ');
    }
    weir_detect_answer_error(&fault, 400, weir_buf_slice(&body), &arena);
    assert_int_equal(fault.status, 400);
    assert_int_equal(fault.message.n, 0);
    weir_arena_dispose(&arena);
    weir_buf_dispose(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_found),
        cmocka_unit_test(test_all_members),
        cmocka_unit_test(test_text_comes_from_the_content),
        cmocka_unit_test(test_spans_of_a_long_text),
        cmocka_unit_test(test_threshold),
        cmocka_unit_test(test_others_have_no_span),
        cmocka_unit_test(test_lenient),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_not_json),
        cmocka_unit_test(test_too_many_values),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_error_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
