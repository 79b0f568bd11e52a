/* Private keys that are longer than a chunk, found by the real detector through real chunkers. */
#include "detect/secrets.h"
#include "task/open.h"
#include "unit/task/policy_talk.h"

struct keys {
    struct world w;
    struct weir_builtin secrets;
    struct weir_chunk_window window;
};

static void make_key(struct weir_buf *out, size_t n_bytes)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    weir_buf_append(out, WEIR_SLICE("-----BEGIN RSA PRIVATE KEY-----\n"));
    for (size_t i = 1; i <= n_bytes; i++) {
        weir_buf_append_byte(out, letters[world_random(64)]);
        if (i % 64 == 0) {
            weir_buf_append_byte(out, '\n');
        }
    }
    weir_buf_append(out, WEIR_SLICE("\n-----END RSA PRIVATE KEY-----"));
}

static void keys_open(struct keys *k, const struct weir_chunker *chunker)
{
    struct weir_buf why = {0};
    *k = (struct keys){0};
    world_init_chunkers(&k->w);
    assert_int_equal(weir_builtin_init(&k->secrets, &weir_detect_secrets, WEIR_SLICE("keys"),
                                       WEIR_SLICE(""), &why),
                     0);
    k->w.n_choices = 1;
    k->w.n_detectors = 1;
    k->w.described[0] =
        (struct weir_task_detector){.id = k->secrets.base.id,
                                    .detector = &k->secrets.base,
                                    .chunker = chunker != NULL ? chunker : &k->w.sentence.base};
    k->w.uses[0] =
        (struct weir_plan_use){.d = &k->w.described[0], .params = WEIR_SLICE(""), .threshold = 0.5};
    /* One that finds nothing, on whole documents: with it, all detectors look at complete texts. */
    k->w.detectors[1] = (struct world_detector){
        .base = {.ops = &WORLD_DETECT_OPS, .id = WEIR_SLICE("none"), .type = WEIR_DETECT_CONTENTS},
        .world = &k->w};
    k->w.described[1] = (struct weir_task_detector){.id = k->w.detectors[1].base.id,
                                                    .detector = &k->w.detectors[1].base,
                                                    .chunker = &weir_chunk_whole};
    k->w.uses[1] = (struct weir_plan_use){.d = &k->w.described[1], .params = WEIR_SLICE("{}")};
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
}

static void keys_close(struct keys *k)
{
    world_dispose(&k->w);
    weir_builtin_dispose(&k->secrets);
}

static const struct weir_chunker *windows(struct weir_chunk_window *window, size_t size,
                                          size_t overlap)
{
    weir_chunk_window_init(window, WEIR_SLICE("w"), size, overlap);
    return &window->base;
}

/* What the route makes of the text, streamed and as a whole, chunk by chunk and of complete texts.
 */
static void expect(struct keys *k, enum weir_channel channel, struct weir_slice text,
                   struct weir_slice want)
{
    weir_buf_clear(&k->w.texts[0][channel]);
    weir_buf_append(&k->w.texts[0][channel], text);
    for (int how = 0; how < 4; how++) {
        bool is_unary = how % 2 != 0;
        struct world_said said = {0};
        k->w.n_detectors = how < 2 ? 1 : 2;
        if (is_unary) {
            world_unary(&k->w);
        } else {
            world_stream(&k->w);
        }
        world_hear(&k->w, &said);
        world_close(&k->w);
        struct weir_slice got = weir_buf_slice(&said.texts[0][channel]);
        if (!weir_slice_eq(got, want)) {
            fail_msg("%s of %zu, chunker %s:\n got  %.*s\n want %.*s",
                     is_unary ? "unary" : "streamed", k->w.n_detectors,
                     k->w.described[0].chunker->id.p, (int)got.n, got.p, (int)want.n, want.p);
        }
        world_said_dispose(&said);
    }
}

static void surround(struct weir_buf *out, const char *before, struct weir_slice what,
                     const char *after)
{
    weir_buf_append(out, weir_slice_cstr(before));
    weir_buf_append(out, what);
    weir_buf_append(out, weir_slice_cstr(after));
}

/* A key of 3 KiB through windows of 400: nothing of it leaves, in any channel. */
static void test_windows_of_400(void **state)
{
    (void)state;
    struct keys k;
    struct weir_chunk_window window;
    keys_open(&k, windows(&window, 400, 64));
    for (size_t round = 0; round < 12; round++) {
        struct weir_buf key = {0};
        struct weir_buf text = {0};
        world_seed = round + 1;
        make_key(&key, 3000 + world_random(200));
        char before[512];
        size_t n = world_random(sizeof before - 1);
        memset(before, ' ', n);
        memcpy(before, "Look: \xC3\xA4", n < 8 ? 0 : 8);
        before[n] = '\0';
        surround(&text, before, weir_buf_slice(&key), " and so on, for a while. The end.");
        struct weir_buf want = {0};
        surround(&want, before, WEIR_SLICE("[private_key]"), " and so on, for a while. The end.");
        enum weir_channel channel = (enum weir_channel)(round % WEIR_CHANNEL_TEXTS);
        expect(&k, channel, weir_buf_slice(&text), weir_buf_slice(&want));
        weir_buf_clear(&k.w.texts[0][channel]);
        weir_buf_dispose(&key);
        weir_buf_dispose(&text);
        weir_buf_dispose(&want);
    }
    keys_close(&k);
}

/* Wherever chunks end: in the BEGIN line's shadow, in the body, in the END line. */
static void test_any_window(void **state)
{
    (void)state;
    struct weir_buf key = {0};
    struct weir_buf text = {0};
    world_seed = 5;
    make_key(&key, 300);
    surround(&text, "So: ", weir_buf_slice(&key), ", that is it.");
    for (size_t size = 70; size < 200; size += 3) {
        struct keys k;
        struct weir_chunk_window window;
        keys_open(&k, windows(&window, size, size % 2 == 0 ? 64 : 69));
        expect(&k, WEIR_CHANNEL_CONTENT, weir_buf_slice(&text),
               WEIR_SLICE("So: [private_key], that is it."));
        keys_close(&k);
    }
    weir_buf_dispose(&key);
    weir_buf_dispose(&text);
}

/* No overlap, and chunks that end anywhere: from the chunk where the key shows on. */
static void test_end_line_cut_in_two(void **state)
{
    (void)state;
    struct weir_buf key = {0};
    struct weir_buf text = {0};
    world_seed = 6;
    make_key(&key, 300);
    surround(&text, "", weir_buf_slice(&key), ", that is it.");
    for (size_t size = 50; size < 200; size++) {
        struct keys k;
        struct weir_chunk_window window;
        keys_open(&k, windows(&window, size, 0));
        expect(&k, WEIR_CHANNEL_CONTENT, weir_buf_slice(&text),
               WEIR_SLICE("[private_key], that is it."));
        keys_close(&k);
    }
    weir_buf_dispose(&key);
    weir_buf_dispose(&text);
}

/* A sentence ends with its line, so the BEGIN line stands alone: it leaves, the key does not. */
static void test_sentences(void **state)
{
    (void)state;
    struct keys k;
    struct weir_buf key = {0};
    struct weir_buf text = {0};
    world_seed = 7;
    make_key(&key, 1700);
    surround(&text, "Here it is.\n", weir_buf_slice(&key), "\nKeep it safe.");
    keys_open(&k, NULL);
    expect(
        &k, WEIR_CHANNEL_CONTENT, weir_buf_slice(&text),
        WEIR_SLICE("Here it is.\n-----BEGIN RSA PRIVATE KEY-----\n[private_key]\nKeep it safe."));
    static const char prose[] = "Keys begin with\n-----BEGIN RSA PRIVATE KEY-----\nand end with "
                                "a line.\nNothing of this is a key.";
    expect(&k, WEIR_CHANNEL_CONTENT, weir_slice_cstr(prose), weir_slice_cstr(prose));
    static const char last[] = "The first line is -----BEGIN RSA PRIVATE KEY-----";
    expect(&k, WEIR_CHANNEL_CONTENT, weir_slice_cstr(last), weir_slice_cstr(last));
    weir_buf_dispose(&key);
    weir_buf_dispose(&text);
    keys_close(&k);
}

/* Without an END line it is over after 16 KiB, not inside a character. */
static void test_without_end(void **state)
{
    (void)state;
    static const size_t sizes[] = {400, 1000, 20000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct keys k;
        struct weir_chunk_window window;
        struct weir_buf text = {0};
        weir_buf_printf(&text, "x-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890\n");
        while (text.n < WEIR_PEM_MAX_BYTES + 1 - 2) {
            weir_buf_append_byte(&text, ' ');
        }
        weir_buf_append(&text, WEIR_SLICE("\xE4\xBD\xA0 and here it goes on."));
        keys_open(&k, windows(&window, sizes[i], 64));
        expect(&k, WEIR_CHANNEL_CONTENT, weir_buf_slice(&text),
               WEIR_SLICE("x[private_key]\xE4\xBD\xA0 and here it goes on."));
        weir_buf_dispose(&text);
        keys_close(&k);
    }
}

/* Headers before the body, as old keys and PGP have them, and several keys in a row. */
static void test_other_shapes(void **state)
{
    (void)state;
    struct keys k;
    struct weir_chunk_window window;
    struct weir_buf text = {0};
    world_seed = 8;
    weir_buf_printf(&text, "a -----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
                           "AES-128-CBC,0123456789ABCDEF\n\n");
    struct weir_buf key = {0};
    make_key(&key, 500);
    struct weir_slice body = weir_buf_slice(&key);
    body = weir_slice_sub(body, strlen("-----BEGIN RSA PRIVATE KEY-----\n"), body.n);
    weir_buf_append(&text, body);
    surround(&text, " b ", weir_buf_slice(&key), " c ");
    surround(&text, "", weir_buf_slice(&key), "");
    for (size_t size = 65; size < 140; size += 5) {
        keys_open(&k, windows(&window, size, 64));
        expect(&k, WEIR_CHANNEL_CONTENT, weir_buf_slice(&text),
               WEIR_SLICE("a [private_key] b [private_key] c [private_key]"));
        keys_close(&k);
    }
    weir_buf_dispose(&key);
    weir_buf_dispose(&text);
}

/* In a question, before the model server sees it. */
static void test_input(void **state)
{
    (void)state;
    struct keys k;
    struct weir_chunk_window window;
    struct weir_buf key = {0};
    struct weir_buf quoted = {0};
    struct weir_buf body = {0};
    world_seed = 10;
    make_key(&key, 2000);
    weir_json_write_quoted(&quoted, weir_buf_slice(&key));
    weir_buf_printf(&body, "{\"messages\":[{\"content\":\"Is %.*s good?\"}]}", (int)quoted.n - 2,
                    quoted.p + 1);
    keys_open(&k, windows(&window, 400, 64));
    policy_ask.body = weir_buf_cstr(&body);
    struct stage *st = policy_stage("", "");
    struct weir_task_completion request = policy_request(st);
    policy_input = (struct weir_plan){.uses = k.w.uses, .n = 1};
    request.input = policy_input;
    weir_task_completion_start(&st->task, &request, policy_answered, st);
    stage_turn(st);
    assert_non_null(st->run);
    assert_true(weir_slice_eq_cstr(st->run->body,
                                   "{\"messages\":[{\"content\":\"Is [private_key] good?\"}]}"));
    stage_free(st);
    keys_close(&k);
    weir_buf_dispose(&key);
    weir_buf_dispose(&quoted);
    weir_buf_dispose(&body);
}

/* ---- what is told ---- */

/* The parts lie side by side, each in the text its chunk answers for, and together are the key. */
static void test_parts(void **state)
{
    (void)state;
    static const size_t overlaps[] = {0, 64, 100};
    struct weir_buf text = {0};
    struct weir_builtin secrets;
    struct weir_buf why = {0};
    world_seed = 9;
    assert_int_equal(
        weir_builtin_init(&secrets, &weir_detect_secrets, WEIR_SLICE("keys"), WEIR_SLICE(""), &why),
        0);
    weir_buf_append(&text, WEIR_SLICE("\xC3\xA4\xC3\xA4 "));
    make_key(&text, 900);
    size_t end_cp = weir_utf8_count(weir_buf_slice(&text));
    weir_buf_append(&text, WEIR_SLICE(" and more of it"));
    struct weir_slice all = weir_buf_slice(&text);
    for (size_t i = 0; i < 3; i++) {
        struct weir_chunk_window window;
        struct weir_arena arena = {0};
        struct weir_open open;
        struct weir_chunk chunk;
        struct weir_chunk_env env = {0};
        struct weir_chunk_options options = {0};
        size_t at_cp = 3; /* where the key begins */
        weir_open_init(&open, &arena);
        struct weir_chunk_stream *s =
            weir_chunk_open(windows(&window, 200, overlaps[i]), &env, &options, NULL, NULL);
        weir_chunk_push(s, 0, all);
        weir_chunk_end(s);
        while (weir_chunk_next(s, &chunk) == 0) {
            size_t from = weir_utf8_byte_at(all, chunk.start_cp);
            size_t to = weir_utf8_byte_at(all, chunk.seen_end_cp);
            struct weir_slice seen = weir_slice_sub(all, from, to);
            struct weir_detect_input input = {.type = WEIR_DETECT_CONTENTS,
                                              .contents = &seen,
                                              .n_contents = 1,
                                              .threshold = 0.5,
                                              .is_piece = true};
            struct weir_detect_env world = {0};
            struct weir_detect_call *call =
                weir_detect_start(&secrets.base, &world, &input, NULL, NULL);
            struct weir_detection found[8];
            bool is_window = chunk.seen_end_cp != chunk.end_cp;
            size_t n = weir_open_take(
                &open,
                &(struct weir_open_chunk){.text = seen,
                                          .start_cp = chunk.start_cp,
                                          .answers_cp =
                                              is_window ? chunk.end_cp - chunk.start_cp : SIZE_MAX,
                                          .list = call->lists},
                found);
            assert_true(n <= 1);
            if (n == 1) {
                assert_int_equal(found[0].start_cp, at_cp);
                assert_true(found[0].end_cp <= chunk.end_cp || found[0].end_cp == end_cp);
                assert_int_equal(weir_utf8_count(found[0].text), found[0].end_cp - at_cp);
                assert_true(weir_slice_eq_cstr(found[0].detection, "private_key"));
                assert_int_equal(found[0].edge, WEIR_EDGE_NONE);
                at_cp = found[0].end_cp;
            }
            weir_detect_free(call);
        }
        assert_int_equal(at_cp, end_cp);
        weir_chunk_close(s);
        weir_arena_dispose(&arena);
    }
    weir_builtin_dispose(&secrets);
    weir_buf_dispose(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_of_400),
        cmocka_unit_test(test_any_window),
        cmocka_unit_test(test_end_line_cut_in_two),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_without_end),
        cmocka_unit_test(test_other_shapes),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
