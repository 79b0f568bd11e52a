/*
 * Guarded streams with detectors that read along: what a redacting route lets go, streamed in
 * whatever events, is what it makes of the whole text; the text before a candidate leaves at once.
 */
#include "base/utf8.h"
#include "detect/registry.h"
#include "task/redact.h"
#include "unit/detect/quality_text.h"
#include "unit/task/policy_talk.h"

enum { N_BUILTINS = 2 };

struct reading_world {
    struct world w;
    struct weir_builtin builtins[N_BUILTINS];
};

static const struct {
    const char *kind;
    const char *params;
} kinds[N_BUILTINS] = {
    {"secrets", "{}"},
    {"regex", "{\"regex\":[\"email\",\"credit-card\",\"phone\",\"us-ssn\",\"ipv4\",\"iban\"]}"},
};

static void world_of_readers(struct reading_world *r)
{
    struct weir_buf why = {0};
    *r = (struct reading_world){0};
    world_init_chunkers(&r->w);
    r->w.n_choices = 1;
    r->w.n_detectors = N_BUILTINS;
    for (size_t i = 0; i < N_BUILTINS; i++) {
        assert_int_equal(weir_detect_builtin_init(&r->builtins[i], weir_slice_cstr(kinds[i].kind),
                                                  weir_slice_cstr(kinds[i].kind),
                                                  weir_slice_cstr(kinds[i].params), &why),
                         0);
        r->w.described[i] = (struct weir_task_detector){.id = r->builtins[i].base.id,
                                                        .detector = &r->builtins[i].base,
                                                        .chunker = &weir_chunk_whole,
                                                        .reads_along = true};
        r->w.uses[i] = (struct weir_plan_use){
            .d = &r->w.described[i], .params = WEIR_SLICE(""), .threshold = 0.5};
    }
    weir_buf_dispose(&why);
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
}

static void end_of_readers(struct reading_world *r)
{
    world_dispose(&r->w);
    for (size_t i = 0; i < N_BUILTINS; i++) {
        weir_builtin_dispose(&r->builtins[i]);
    }
}

/* What the route makes of a text, by asking each detector about the whole. */
static void redact_whole(const struct reading_world *r, struct weir_slice text,
                         struct weir_buf *out)
{
    struct weir_detect_call *calls[N_BUILTINS];
    const struct weir_detection *found[512];
    size_t n = 0;
    for (size_t i = 0; i < N_BUILTINS; i++) {
        struct weir_detect_input input = {
            .type = WEIR_DETECT_CONTENTS, .contents = &text, .n_contents = 1, .threshold = 0.5};
        struct weir_detect_env env = {0};
        calls[i] = weir_detect_start(&r->builtins[i].base, &env, &input, NULL, NULL);
        for (size_t k = 0; k < calls[i]->lists[0].n; k++) {
            assert_true(n < sizeof found / sizeof found[0]);
            found[n++] = &calls[i]->lists[0].items[k];
        }
    }
    struct weir_redact redact = {0};
    struct weir_redact_piece piece = {.text = text, .findings = found, .n_findings = n};
    weir_redact_piece(&redact, policy_ask.policy.redact_with, &piece, out);
    for (size_t i = 0; i < N_BUILTINS; i++) {
        weir_detect_free(calls[i]);
    }
}

static void expect_same(struct reading_world *r, enum weir_channel channel, struct weir_slice text)
{
    struct weir_buf want = {0};
    redact_whole(r, text, &want);
    weir_buf_clear(&r->w.texts[0][channel]);
    weir_buf_append(&r->w.texts[0][channel], text);
    for (int is_unary = 0; is_unary < 2; is_unary++) {
        struct world_said said = {0};
        if (is_unary != 0) {
            world_unary(&r->w);
        } else {
            world_stream(&r->w);
        }
        world_hear(&r->w, &said);
        world_close(&r->w);
        struct weir_slice got = weir_buf_slice(&said.texts[0][channel]);
        if (!weir_slice_eq(got, weir_buf_slice(&want))) {
            fail_msg("%s:\n%.*s\n got  %.*s\n want %.*s", is_unary != 0 ? "unary" : "streamed",
                     (int)text.n, text.p, (int)got.n, got.p, (int)want.n, want.p);
        }
        world_said_dispose(&said);
    }
    weir_buf_clear(&r->w.texts[0][channel]);
    weir_buf_dispose(&want);
}

static void append_drawn(struct weir_buf *out, size_t n)
{
    draw(out, class_of(WEIR_SLICE("url")), n, world_random(1000) + 1);
}

/* What windows of 400 with an overlap of 64 lose. */
static void test_long_secrets(void **state)
{
    (void)state;
    struct reading_world r;
    world_of_readers(&r);
    for (size_t round = 0; round < 30; round++) {
        struct weir_buf text = {0};
        world_seed = round + 1;
        weir_buf_printf(&text, "Use this: Authorization: Bearer ");
        append_drawn(&text, 100 + world_random(900));
        weir_buf_printf(&text, " or eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.");
        append_drawn(&text, 16 + world_random(3000));
        weir_buf_printf(&text, ".");
        append_drawn(&text, 43);
        weir_buf_printf(&text, " and glpat-");
        append_drawn(&text, 20 + world_random(2000));
        weir_buf_printf(&text, ", then write to ann@example.com or call +1 212 555 0187.\n");
        expect_same(&r, (enum weir_channel)(round % WEIR_CHANNEL_TEXTS), weir_buf_slice(&text));
        weir_buf_dispose(&text);
    }
    end_of_readers(&r);
}

static void test_texts_of_the_sets(void **state)
{
    (void)state;
    static const char *const files[] = {"secrets", "regex", "prompt_injection"};
    enum { EVERY = 7 };
    struct reading_world r;
    world_of_readers(&r);
    world_seed = 4;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct weir_buf file = {0};
        quality_read_file(files[i], &file);
        struct weir_slice rest = weir_buf_slice(&file);
        for (size_t row = 1; rest.p != NULL; row++) {
            struct weir_slice source = weir_slice_cut(&rest, '\n');
            struct weir_arena arena = {0};
            struct weir_json json;
            if (source.n != 0 && row % EVERY == i) {
                assert_int_equal(weir_json_parse(&json, source, NULL, &arena, NULL), 0);
                uint32_t at = weir_json_get(&json, 0, WEIR_SLICE("text"));
                struct weir_slice text = weir_json_string(&json, at, &arena);
                expect_same(&r, WEIR_CHANNEL_CONTENT, quality_expand(text, row, &arena));
            }
            weir_arena_dispose(&arena);
        }
        weir_buf_dispose(&file);
    }
    end_of_readers(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_secrets),
        cmocka_unit_test(test_texts_of_the_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
