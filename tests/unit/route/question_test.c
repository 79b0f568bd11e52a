/* What of a request input detectors are given. */
#include "route/question.h"

#include "conf/conf.h"
#include "unit/cmocka_all.h"
#include "unit/route/reading.h"

#include <stdio.h>
#include <string.h>

/* The texts as "MESSAGE[.PART]:TEXT", `|` between them. */
static void list(const struct weir_question *q, char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; i < q->n; i++) {
        const struct weir_input_text *t = &q->texts[i];
        size_t n = strlen(out);
        n += (size_t)snprintf(out + n, size - n, "%s%zu", i != 0 ? "|" : "", t->message_index);
        if (t->part_index != WEIR_INPUT_NO_PART) {
            n += (size_t)snprintf(out + n, size - n, ".%zu", t->part_index);
        }
        snprintf(out + n, size - n, ":%.*s", (int)t->text.n, t->text.p);
    }
}

static void chat(const char *messages, uint32_t roles, bool is_strict, const char *want)
{
    struct reading r;
    struct weir_question q = {0};
    char got[1024];
    read_json(&r, messages);
    assert_int_equal(weir_question_of_chat(&q, &r.f, 0, roles, is_strict), 0);
    list(&q, got, sizeof got);
    assert_string_equal(got, want);
    weir_arena_dispose(&r.arena);
}

static void chat_fails(const char *messages, bool is_strict, const char *error)
{
    struct reading r;
    struct weir_question q = {0};
    read_json(&r, messages);
    assert_true(weir_question_of_chat(&q, &r.f, 0, WEIR_CONF_USER, is_strict) != 0);
    assert_told(&r, error);
}

#define SAY(role, content) "{\"role\":\"" role "\",\"content\":" content "}"

static void test_roles(void **state)
{
    (void)state;
    static const char all[] =
        "[" SAY("system", "\"s\"") "," SAY("developer", "\"d\"") "," SAY("user", "\"u\"") "," SAY(
            "tool", "\"t\"") "," SAY("function", "\"f\"") "," SAY("other", "\"o\"") "]";
    chat(all, WEIR_CONF_USER, true, "2:u|5:o");
    chat(all, WEIR_CONF_SYSTEM | WEIR_CONF_TOOL, true, "0:s|3:t");
    chat(all, WEIR_CONF_DEVELOPER | WEIR_CONF_FUNCTION, true, "1:d|4:f");
    chat("[{},{\"role\":\"user\"},{\"role\":\"user\",\"content\":null},{\"role\":\"user\","
         "\"content\":"
         "\"\"}]",
         WEIR_CONF_USER, true, "");
    static const char strange[] =
        "[{\"role\":1,\"content\":\"n\"},{\"role\":null,\"content\":\"z\"},"
        "{\"content\":\"a\"}," SAY("User", "\"u\"") "]";
    chat(strange, WEIR_CONF_USER, true, "0:n|1:z|2:a|3:u");
    chat(strange, WEIR_CONF_SYSTEM | WEIR_CONF_TOOL, true, "");
}

static void test_behind_the_last_answer(void **state)
{
    (void)state;
    chat("[" SAY("user", "\"a\"") "," SAY("assistant", "\"b\"") "," SAY("user", "\"c\"") "," SAY(
             "assistant", "\"d\"") "," SAY("user", "\"e\"") "," SAY("user", "\"f\"") "]",
         WEIR_CONF_USER, true, "4:e|5:f");
    chat("[" SAY("user", "\"a\"") "," SAY("assistant", "\"b\"") "]", WEIR_CONF_USER, true, "");
}

static void test_parts(void **state)
{
    (void)state;
    static const char parts[] = "[" SAY(
        "user", "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image_url\",\"image_url\":"
                "{}},{\"type\":\"text\",\"text\":\"b\"},{\"type\":\"text\",\"text\":\"\"}]") "]";
    chat(parts, WEIR_CONF_USER, false, "0.0:a|0.2:b");
    chat_fails(parts, true,
               "messages[0].content[1]: content that is not text cannot be checked, and this route "
               "blocks what it finds");
    chat_fails(
        "[" SAY("user", "[{\"type\":\"text\",\"text\":7}]") "]", true,
        "messages[0].content[0]: text that is not a string cannot be checked, and this route "
        "blocks what it finds");
    chat_fails("[" SAY("user", "7") "]", true,
               "messages[0].content: content that is neither a string nor an array cannot be "
               "checked, and this route blocks what it finds");
    static const char other[] =
        "[" SAY("user", "[{\"type\":\"input_text\",\"text\":\"a\"},{\"text\":\"b\"}]") "]";
    chat(other, WEIR_CONF_USER, false, "0.0:a|0.1:b");
    chat_fails(other, true,
               "messages[0].content[0]: content that is not text cannot be checked, and this route "
               "blocks what it finds");
    chat("[" SAY("user", "7") "]", WEIR_CONF_USER, false, "");
    chat("[" SAY("system", "7") "]", WEIR_CONF_USER, true, "");
}

/* A message that is none could be anything to the model server. */
static void test_not_objects(void **state)
{
    (void)state;
    struct reading r;
    struct weir_question q = {0};
    read_json(&r, "[" SAY("user", "\"a\"") ",\"b\"]");
    assert_true(weir_question_of_chat(&q, &r.f, 0, WEIR_CONF_USER, false) != 0);
    assert_non_null(strstr(r.f.error, "messages[1]: "));
    weir_arena_dispose(&r.arena);
    read_json(&r, "[" SAY("user", "[\"a\"]") "]");
    assert_true(weir_question_of_chat(&q, &r.f, 0, WEIR_CONF_USER, false) != 0);
    assert_non_null(strstr(r.f.error, "messages[0].content[0]: "));
    weir_arena_dispose(&r.arena);
}

static void prompt(const char *body, bool is_strict, const char *want)
{
    struct reading r;
    struct weir_question q = {0};
    char got[256];
    read_json(&r, body);
    int rc = weir_question_of_prompt(&q, &r.f, is_strict);
    if (want == NULL) {
        assert_true(rc != 0);
        assert_non_null(r.f.error);
    } else {
        assert_int_equal(rc, 0);
        list(&q, got, sizeof got);
        assert_string_equal(got, want);
    }
    weir_arena_dispose(&r.arena);
}

static void test_prompts(void **state)
{
    (void)state;
    prompt("{}", true, "");
    prompt("{\"prompt\":null}", true, "");
    prompt("{\"prompt\":\"a\",\"suffix\":\"b\"}", true, "0:a|0:b");
    prompt("{\"prompt\":[\"a\",\"\",\"b\"]}", true, "0:a|2:b");
    prompt("{\"prompt\":[1,2]}", true, NULL);
    prompt("{\"prompt\":[1,2]}", false, "");
    prompt("{\"prompt\":[[1],[2]],\"suffix\":\"b\"}", false, "0:b");
    prompt("{\"prompt\":{}}", true, NULL);
    prompt("{\"prompt\":\"a\",\"suffix\":[\"b\"]}", true, NULL);
    prompt("{\"prompt\":\"a\",\"suffix\":[\"b\"]}", false, "0:a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roles),   cmocka_unit_test(test_behind_the_last_answer),
        cmocka_unit_test(test_parts),   cmocka_unit_test(test_not_objects),
        cmocka_unit_test(test_prompts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
