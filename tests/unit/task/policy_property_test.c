/*
 * What a route promises, for random answers, cuts, chunkers and arrival orders: the stream says
 * byte for byte what the unary answer says, both say what a simple reference says, and nothing that
 * a detector looks for is in it, in any channel.
 *
 * WEIR_PROPERTY_ROUNDS=100000 for more of it.
 */
#include "chunk/whole.h"
#include "talk/unescape.h"
#include "unit/task/policy_reference.h"

/* A text with all that is found in it replaced, as it stands in no chunk. */
static void redact_whole(const struct world *w, struct weir_slice text, struct weir_buf *out)
{
    struct reference r = {0};
    for (size_t i = 0; i < w->n_detectors; i++) {
        find_all(&r, &w->detectors[i], &weir_chunk_whole, text);
    }
    redact_simply(&r, text, out);
    weir_arena_dispose(&r.arena);
}

static void check_node(const struct world *w, const struct weir_json *was,
                       const struct weir_json *now, uint32_t at)
{
    struct weir_buf want = {0};
    struct weir_buf got = {0};
    assert_int_equal(weir_json_type(was, at), weir_json_type(now, at));
    if (weir_json_type(was, at) == WEIR_JSON_STRING) {
        struct weir_buf text = {0};
        weir_json_string_append(was, at, &text);
        redact_whole(w, weir_buf_slice(&text), &want);
        weir_json_string_append(now, at, &got);
        expect_same(&got, &want, "a string of the arguments");
        weir_buf_dispose(&text);
    } else if (weir_json_type(was, at) < WEIR_JSON_ARRAY) {
        assert_true(weir_slice_eq(weir_json_raw(was, at), weir_json_raw(now, at)));
    }
    weir_buf_dispose(&want);
    weir_buf_dispose(&got);
}

/* Escapes may be decoded elsewhere, so what is found may be less than what stands there. */
static void check_plain(const struct world *w, struct weir_slice said, struct weir_slice left)
{
    struct weir_arena arena = {0};
    struct weir_unescape u;
    struct weir_buf want = {0};
    redact_whole(w, said, &want);
    if (weir_slice_find(said, '\\') == said.n) {
        assert_true(weir_slice_eq(left, weir_buf_slice(&want)));
    }
    weir_unescape_read(&u, left, &arena);
    expect_no_words(w, left);
    expect_no_words(w, u.text);
    weir_buf_dispose(&want);
    weir_arena_dispose(&arena);
}

/* JSON has the same values, each string redacted by itself; other arguments are a text. */
static void check_arguments(const struct world *w, struct weir_slice said, struct weir_slice left)
{
    struct weir_arena arena = {0};
    struct weir_json was;
    struct weir_json now;
    if (said.n == 0 || said.p[0] != '{' || weir_json_parse(&was, said, NULL, &arena, NULL) != 0) {
        check_plain(w, said, left);
    } else {
        assert_int_equal(weir_json_parse(&now, left, NULL, &arena, NULL), 0);
        assert_int_equal(now.n_nodes, was.n_nodes);
        for (uint32_t at = 0; at < was.n_nodes; at++) {
            check_node(w, &was, &now, at);
        }
    }
    weir_arena_dispose(&arena);
}

static void check_redaction(struct world *w)
{
    struct world_said streamed = {0};
    struct world_said whole = {0};
    world_stream(w);
    world_hear(w, &streamed);
    world_close(w);
    world_unary(w);
    world_hear(w, &whole);
    world_close(w);
    for (size_t i = 0; i < w->n_choices; i++) {
        for (size_t c = 0; c < WEIR_CHANNEL_TEXTS; c++) {
            struct weir_slice text = weir_buf_slice(&w->texts[i][c]);
            struct weir_buf simple = {0};
            struct reference r;
            find_in(&r, w, text);
            redact_simply(&r, text, &simple);
            expect_same(&whole.texts[i][c], &simple, "unary");
            expect_same(&streamed.texts[i][c], &simple, "streamed");
            expect_no_words(w, weir_buf_slice(&simple));
            weir_arena_dispose(&r.arena);
            weir_buf_dispose(&simple);
        }
        for (size_t k = 0; k < WORLD_CALLS; k++) {
            expect_same(&streamed.arguments[i][k], &whole.arguments[i][k], "streamed arguments");
            check_arguments(w, weir_buf_slice(&w->arguments[i][k]),
                            weir_buf_slice(&whole.arguments[i][k]));
        }
        assert_false(streamed.is_blocked[i]);
        assert_false(whole.is_blocked[i]);
    }
    world_said_dispose(&streamed);
    world_said_dispose(&whole);
}

static void test_redaction(void **state)
{
    (void)state;
    struct world w = {0};
    size_t n = n_rounds(100);
    world_init_chunkers(&w);
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    policy_ask.policy.redact_with = WEIR_SLICE("[{detection} by {detector_id}]");
    for (size_t i = 0; i < n; i++) {
        world_seed = 1 + i * 2654435761u;
        world_make(&w, WEIR_CHANNEL_TEXTS, i % 10 == 0 ? 400 : 60);
        check_redaction(&w);
    }
    world_dispose(&w);
}

/* ---- block ---- */

#define FALLBACK "\xE2\x9B\x94"

/* Streamed: the text up to the first finding, then the fallback, behind an empty line where text
 * has left. Whole: the fallback alone. Without a finding the text. */
static void check_blocked(const struct world *w, size_t choice, const struct world_said *said,
                          bool is_stream)
{
    struct weir_slice text = weir_buf_slice(&w->texts[choice][0]);
    struct weir_buf expected = {0};
    struct reference r;
    find_in(&r, w, text);
    assert_int_equal(said->is_blocked[choice], r.n != 0);
    size_t first_cp = weir_utf8_count(text);
    for (size_t i = 0; i < r.n; i++) {
        first_cp = r.found[i].start_cp < first_cp ? r.found[i].start_cp : first_cp;
    }
    if (is_stream || r.n == 0) {
        weir_buf_append(&expected, weir_slice_sub(text, 0, weir_utf8_byte_at(text, first_cp)));
    }
    if (r.n != 0) {
        weir_buf_append(&expected, expected.n != 0 ? WEIR_SLICE("\n\n") : WEIR_SLICE(""));
        weir_buf_append(&expected, WEIR_SLICE(FALLBACK));
    }
    expect_same(&said->texts[choice][0], &expected, is_stream ? "streamed" : "unary");
    weir_buf_dispose(&expected);
    weir_arena_dispose(&r.arena);
}

static void check_block(struct world *w)
{
    struct world_said streamed = {0};
    struct world_said whole = {0};
    world_stream(w);
    world_hear(w, &streamed);
    world_close(w);
    world_unary(w);
    world_hear(w, &whole);
    world_close(w);
    for (size_t i = 0; i < w->n_choices; i++) {
        check_blocked(w, i, &streamed, true);
        check_blocked(w, i, &whole, false);
    }
    world_said_dispose(&streamed);
    world_said_dispose(&whole);
}

static void test_block(void **state)
{
    (void)state;
    struct world w = {0};
    size_t n = n_rounds(100);
    world_init_chunkers(&w);
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK)};
    policy_ask.policy.fallback = WEIR_SLICE(FALLBACK);
    for (size_t i = 0; i < n; i++) {
        world_seed = 7 + i * 2654435761u;
        world_make(&w, 1, 1 + world_random(120));
        if (i % 2 == 0) { /* findings are rare where a text is to go on for long */
            w.detectors[0].words &= 1u << world_random(WORLD_N_WORDS);
            w.n_detectors = 1;
        }
        check_block(&w);
    }
    world_dispose(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redaction),
        cmocka_unit_test(test_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
