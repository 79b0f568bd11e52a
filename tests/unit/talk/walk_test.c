/* What a walk finds in requests: each string once, with its place, kind and speaker. */
#include "talk/walk.h"

#include "talk/pointer.h"
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {
    [WEIR_WALK_TEXT] = "text",       [WEIR_WALK_DOCUMENT] = "document",
    [WEIR_WALK_TREE] = "tree",       [WEIR_WALK_ENCODED] = "encoded",
    [WEIR_WALK_IDENTIFIER] = "name", [WEIR_WALK_CONTROL] = "control",
    [WEIR_WALK_SEALED] = "sealed",   [WEIR_WALK_MEDIA] = "media",
    [WEIR_WALK_REFUSED] = "refused", [WEIR_WALK_WRONG] = "wrong",
};

struct reading {
    struct weir_arena arena;
    struct weir_json json;
    struct weir_walk walk;
};

static const struct weir_walk_options plain = {.max_document_nodes = 10000, .fallback = {"No.", 3}};

static void read_as(struct reading *r, const struct weir_walk_dialect *dialect, const char *body)
{
    *r = (struct reading){0};
    assert_int_equal(weir_json_parse(&r->json, weir_slice_cstr(body), NULL, &r->arena, NULL), 0);
    weir_walk_read(&r->walk, dialect, &r->json, &plain, &r->arena);
}

/* "POINTER kind role[ turn][ holes]" for each item that is not control. */
static void show(struct reading *r, struct weir_buf *out)
{
    struct weir_pointer p = {.json = &r->json, .arena = &r->arena};
    for (size_t i = 0; i < r->walk.n; i++) {
        const struct weir_walk_item *item = &r->walk.items[i];
        if (item->kind == WEIR_WALK_CONTROL) {
            continue;
        }
        weir_pointer_append(&p, item->node, out);
        weir_buf_printf(out, " %s %s%s", kinds[item->kind], weir_walk_role_name(item->role),
                        item->is_turn ? " turn" : "");
        for (uint32_t bit = 1; weir_walk_hole_name(bit) != NULL; bit <<= 1) {
            if ((item->holes | item->media) & bit) {
                weir_buf_printf(out, " %s", weir_walk_hole_name(bit));
            }
        }
        weir_buf_append(out, WEIR_SLICE("\n"));
    }
}

static void walks_as(const struct weir_walk_dialect *dialect, const char *body, const char *want)
{
    struct reading r;
    struct weir_buf out = {0};
    read_as(&r, dialect, body);
    show(&r, &out);
    assert_string_equal(weir_buf_cstr(&out), want);
    weir_buf_dispose(&out);
    weir_arena_dispose(&r.arena);
}

#define CHAT(body, want) walks_as(&weir_walk_chat, body, want)

static void test_control_members(void **state)
{
    (void)state;
    CHAT("{\"model\":\"org/m-1:v2\",\"temperature\":0.5,\"stream\":true,\"reasoning_effort\":"
         "\"low\",\"logit_bias\":{\"12\":1},\"modalities\":[\"text\"],\"seed\":null,"
         "\"stream_options\":{\"include_usage\":true,\"batching\":{\"mode\":\"on\"}}}",
         "");
    CHAT("{\"model\":\"a b\",\"reasoning_effort\":\"much\",\"logit_bias\":{\"x\":1},"
         "\"modalities\":[\"smell\"],\"service_tier\":\"\\u0061uto\"}",
         "/model text nobody\n/reasoning_effort text nobody\n/logit_bias tree nobody\n"
         "/modalities tree nobody\n");
    CHAT("{\"model\":1,\"temperature\":\"x\",\"stream\":{},\"user\":[],\"messages\":{}}",
         "/model wrong nobody\n/temperature wrong nobody\n/stream wrong nobody\n"
         "/user wrong nobody\n/messages wrong nobody\n");
    CHAT("{\"model\":\"m\",\"chat_template\":{},\"prompt_embeds\":\"AA\"}",
         "/chat_template refused nobody\n/prompt_embeds refused nobody\n");
}

static void test_messages(void **state)
{
    (void)state;
    CHAT("{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},"
         "{\"role\":\"user\",\"content\":\"a\",\"name\":\"n\"},"
         "{\"role\":\"assistant\",\"content\":null,\"refusal\":\"r\",\"reasoning\":\"x\","
         "\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
         "\"arguments\":\"{\\\"a\\\":1}\"}}]},"
         "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"[1]\"},"
         "{\"role\":\"Robot\",\"content\":\"b\",\"mood\":\"m\"}]}",
         "/messages/0/content text system history\n"
         "/messages/1/content text user history\n"
         "/messages/1/name name user history\n"
         "/messages/2/refusal text assistant history\n"
         "/messages/2/reasoning text assistant history\n"
         "/messages/2/tool_calls/0/function/name name assistant history\n"
         "/messages/2/tool_calls/0/function/arguments document assistant history\n"
         "/messages/3/content document tool history\n"
         "/messages/4/role text user turn\n"
         "/messages/4/content text user turn\n"
         "/messages/4/mood tree user turn unknown_members\n");
    CHAT("{\"messages\":[\"hi\",{\"content\":5},{\"content\":[1,\"p\",null,{\"text\":2}]}]}",
         "/messages/0 wrong user history\n/messages/1/content wrong user history\n"
         "/messages/2/content/0 wrong user turn\n/messages/2/content/1 text user turn\n"
         "/messages/2/content/3/text wrong user turn\n");
}

static size_t turn_of(const char *roles)
{
    struct weir_buf body = {0};
    struct reading r;
    weir_buf_append(&body, WEIR_SLICE("{\"messages\":["));
    for (size_t i = 0; roles[i] != '\0'; i++) {
        const char *role = roles[i] == 'u'   ? "user"
                           : roles[i] == 's' ? "system"
                           : roles[i] == 't' ? "tool"
                           : roles[i] == 'x' ? "other"
                                             : "assistant";
        weir_buf_printf(&body, "%s{\"role\":\"%s\",\"content\":\"%s\"}", i != 0 ? "," : "", role,
                        roles[i] == 'F' ? "No." : "w");
    }
    weir_buf_append(&body, WEIR_SLICE("]}"));
    read_as(&r, &weir_walk_chat, weir_buf_cstr(&body));
    size_t n_history = 0;
    for (size_t i = 0; i < r.walk.n; i++) {
        bool is_history = (r.walk.items[i].holes & WEIR_HOLE_HISTORY) != 0;
        assert_true(is_history != r.walk.items[i].is_turn);
        n_history += r.walk.items[i].kind == WEIR_WALK_TEXT && is_history;
    }
    weir_buf_dispose(&body);
    weir_arena_dispose(&r.arena);
    return n_history;
}

/* How many messages come before the turn. F: the assistant, saying the fallback. */
static void test_where_the_turn_begins(void **state)
{
    (void)state;
    static const struct {
        const char *roles;
        size_t start;
    } cases[] = {{"u", 0},   {"su", 1},   {"uu", 1},   {"uau", 2},   {"ua", 0},
                 {"uat", 2}, {"uatt", 2}, {"uata", 2}, {"uaa", 2},   {"uatu", 3},
                 {"s", 0},   {"st", 0},   {"uF", 1},   {"uFu", 2},   {"uFuF", 3},
                 {"x", 0},   {"uax", 2},  {"a", 0},    {"uatats", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(turn_of(cases[i].roles), cases[i].start);
    }
}

static void test_media(void **state)
{
    (void)state;
    CHAT("{\"messages\":[{\"role\":\"user\",\"content\":["
         "{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://x.example/a.png\"}},"
         "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}},"
         "{\"type\":\"image_url\",\"image_url\":\"data:image/png;base64,a b,c\"},"
         "{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"////\",\"format\":\"wav\"}},"
         "{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"what?\"}},"
         "{\"type\":\"file\",\"file\":{\"file_data\":\"data:text/plain;base64,SGVsbG8\","
         "\"filename\":\"f\"}},"
         "{\"type\":\"file\",\"file\":{\"file_data\":\"data:text/plain;base64,/w\"}},"
         "{\"type\":\"file\",\"file\":{\"file_data\":\"SGVsbG8=\"}}]}]}",
         "/messages/0/content/0/image_url/url name user turn images\n"
         "/messages/0/content/1/image_url/url media user turn images\n"
         "/messages/0/content/2/image_url name user turn images\n"
         "/messages/0/content/3/input_audio/data media user turn audio\n"
         "/messages/0/content/4/input_audio/data text user turn\n"
         "/messages/0/content/5/file/file_data encoded user turn\n"
         "/messages/0/content/5/file/filename text user turn\n"
         "/messages/0/content/6/file/file_data refused user turn files\n"
         "/messages/0/content/7/file/file_data encoded user turn\n");
    CHAT("{\"messages\":[{\"role\":\"assistant\",\"reasoning_details\":[{\"type\":"
         "\"reasoning.encrypted\",\"data\":\"/////w==\",\"signature\":\"not sealed\"}]},"
         "{\"role\":\"user\"}]}",
         "/messages/0/reasoning_details/0/data sealed assistant history sealed\n"
         "/messages/0/reasoning_details/0/signature text assistant history\n");
}

static void encodes(const char *url, const char *text, const char *want)
{
    struct reading r;
    char body[512];
    snprintf(body, sizeof body,
             "{\"messages\":[{\"content\":[{\"file\":{\"file_data\":\"%s\"}}]}]}", url);
    read_as(&r, &weir_walk_chat, body);
    assert_int_equal(r.walk.n, 1);
    const struct weir_walk_item *item = &r.walk.items[0];
    assert_int_equal(item->kind, WEIR_WALK_ENCODED);
    assert_true(weir_slice_eq_cstr(item->text, text));
    struct weir_slice made = weir_walk_encode(item, WEIR_SLICE("a?b"), &r.arena);
    assert_true(weir_slice_eq_cstr(made, want));
    weir_arena_dispose(&r.arena);
}

static void test_encoded_text(void **state)
{
    (void)state;
    encodes("data:text/plain;base64,SGVsbG8=", "Hello", "data:text/plain;base64,YT9i");
    encodes("DATA:;base64,SGVs bG8", "Hello", "DATA:;base64,YT9i");
    encodes("data:application/json,%7B%22a%22%3A1}", "{\"a\":1}", "data:application/json,a%3Fb");
    encodes("data:image/svg+xml;base64,PHN2Zz4_", "<svg>?", "data:image/svg+xml;base64,YT9i");
}

static void test_definitions(void **state)
{
    (void)state;
    CHAT("{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"d\","
         "\"parameters\":{\"type\":\"object\"},\"strict\":true},\"x\":1}],"
         "\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}},"
         "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\","
         "\"schema\":{}}},\"guided_json\":\"{\\\"a\\\":1}\",\"metadata\":{\"k\":\"v\"},"
         "\"documents\":[{\"text\":\"t\"}],\"prediction\":{\"type\":\"content\",\"content\":"
         "\"p\"},\"stop\":[\"s\",1],\"user\":\"u\",\"z\":\"y\"}",
         "/tools/0/function/name name nobody definitions\n"
         "/tools/0/function/description text nobody definitions\n"
         "/tools/0/function/parameters tree nobody definitions\n"
         "/tools/0/x tree nobody definitions unknown_members\n"
         "/tool_choice/function/name name nobody definitions\n"
         "/response_format/json_schema/name name nobody definitions\n"
         "/response_format/json_schema/schema tree nobody definitions\n"
         "/guided_json document nobody definitions\n"
         "/metadata tree nobody\n"
         "/documents/0 tree tool\n"
         "/prediction/content text assistant\n"
         "/stop/0 name nobody\n"
         "/stop/1 wrong nobody\n"
         "/user text nobody\n"
         "/z tree user unknown_members\n");
}

static void test_prompts(void **state)
{
    (void)state;
    const struct weir_walk_dialect *d = &weir_walk_completions;
    walks_as(d, "{\"prompt\":\"p\",\"suffix\":\"s\",\"logprobs\":1,\"messages\":[]}",
             "/prompt text user turn\n/suffix text user turn\n/messages tree user "
             "unknown_members\n");
    walks_as(d, "{\"prompt\":[\"p\",[1,2],{}]}",
             "/prompt/0 text user turn\n/prompt/1 media user turn token_ids\n"
             "/prompt/2 wrong user turn\n");
    walks_as(d, "{\"prompt\":[1,2]}", "/prompt media user turn token_ids\n");
    walks_as(d, "{\"prompt\":[]}", "");
}

/* JSON that is none for us may be some for others. */
static void test_broken_documents(void **state)
{
    (void)state;
    static const char *const words[] = {"{\\\"a\\\":1,\\\"a\\\":2}", "[NaN]", "{", "[1]]", "5"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char body[256];
        struct reading r;
        snprintf(body, sizeof body,
                 "{\"messages\":[{\"role\":\"tool\",\"content\":\"%s\"},{\"role\":\"assistant\","
                 "\"function_call\":{\"arguments\":\"%s\"}}]}",
                 words[i], words[i]);
        read_as(&r, &weir_walk_chat, body);
        assert_int_equal(r.walk.n, 4);
        assert_int_equal(r.walk.items[1].kind, WEIR_WALK_TEXT);
        assert_true(r.walk.items[1].is_broken);
        assert_int_equal(r.walk.items[3].kind, WEIR_WALK_TEXT);
        assert_true(r.walk.items[3].is_broken);
        weir_arena_dispose(&r.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_control_members),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_where_the_turn_begins),
        cmocka_unit_test(test_media),
        cmocka_unit_test(test_encoded_text),
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_broken_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
