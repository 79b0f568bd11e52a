/* Detectors over whole texts: which calls are made with which contents, what is found where. */
#include "task/scan.h"

#include "unit/task/script.h"

struct subject {
    struct weir_scan *scan;
    struct weir_scan_group *groups[2];
    size_t n_groups;
    size_t n_done;
};

static void on_done(void *ctx, struct weir_scan *scan)
{
    struct stage *st = ctx;
    struct subject *s = st->subject;
    const struct weir_fault *fault = weir_scan_fault(scan);
    s->n_done++;
    if (fault != NULL) {
        weir_buf_printf(&st->lines, "fail %s %.*s %.*s\n", weir_fault_origin_name(fault->origin),
                        (int)fault->id.n, fault->id.p, (int)fault->why.n, fault->why.p);
        return;
    }
    weir_buf_append(&st->lines, WEIR_SLICE("done"));
    for (size_t i = 0; i < s->n_groups; i++) {
        weir_buf_append(&st->lines, WEIR_SLICE(" ["));
        for (size_t k = 0; k < s->groups[i]->n_found; k++) {
            const struct weir_detection *d = s->groups[i]->found[k];
            weir_buf_printf(&st->lines, "%s%.*s@%zu", k != 0 ? " " : "", (int)d->detector_id.n,
                            d->detector_id.p, d->start_cp);
        }
        weir_buf_printf(&st->lines, "]%zu", s->groups[i]->n_text_found);
    }
    weir_buf_append_byte(&st->lines, '\n');
}

static struct subject *begin(struct stage *st)
{
    struct subject *s = weir_arena_zalloc(&st->arena, sizeof *s);
    s->scan = weir_scan_new(&st->task, on_done, st);
    st->subject = s;
    return s;
}

static void add(struct stage *st, const char *ids, const char *text,
                const struct weir_scan_mask *masks, size_t n_masks)
{
    struct subject *s = st->subject;
    struct weir_plan *plan = weir_arena_alloc(&st->arena, sizeof *plan);
    *plan = stage_plan(st, ids);
    s->groups[s->n_groups] = weir_scan_add_group(s->scan, WEIR_RESULTS_NONE);
    weir_scan_add_masked(s->groups[s->n_groups++], plan, weir_slice_cstr(text), masks, n_masks);
}

static void go(struct stage *st, const char *script)
{
    struct subject *s = st->subject;
    weir_scan_start(s->scan);
    assert_int_equal(s->n_done, 0); /* never from inside */
    stage_turn(st);
    script_run(st, &(struct script_hooks){0}, script);
    stage_free(st);
}

static void test_all_chunks_in_one_call(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    begin(st);
    add(st, "a w now", "One bad. Two.", NULL, 0);
    go(st, "calls 2\n"
           "answer a One bad.| Two.\n"
           "-\n"
           "answer w One |bad. |Two.\n"
           "> done [a@4 now@4 w@4]3\n");
}

static void test_groups(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    begin(st);
    add(st, "a", "bad", NULL, 0);
    add(st, "a b", "so bad", NULL, 0);
    go(st, "answer a so bad\n"
           "answer b\n"
           "answer a\n"
           "> done [a@0]1 [a@3 b@3]2\n");
}

static void test_masks(void **state)
{
    (void)state;
    static const struct weir_scan_mask masks[] = {{9, 13}, {0, 3}, {4, 7}};
    struct stage *st = stage_new();
    begin(st);
    add(st, "a", "bäd bad. bad.", masks, 3);
    go(st, "answer a bad.|bäd|bad\n"
           "> done [a@4 a@9]2\n");
}

/* As many masks as a body may have, from end to end of a long text and back. */
static void test_many_masks(void **state)
{
    (void)state;
    enum { N = 20000, TEXT = 200000 };
    struct stage *st = stage_new();
    struct weir_scan_mask *masks = weir_arena_array(&st->arena, N, sizeof *masks);
    char *text = weir_arena_zalloc(&st->arena, TEXT * 2 + 1);
    for (size_t i = 0; i < TEXT; i++) {
        memcpy(text + i * 2, "ä", 2);
    }
    for (size_t i = 0; i < N; i++) {
        masks[i].start_cp = i % 2 == 0 ? 0 : TEXT - 1;
        masks[i].end_cp = masks[i].start_cp + 1;
    }
    begin(st);
    add(st, "doc", text, masks, N);
    stage_free(st);
}

static void test_nothing_but_white_space(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    begin(st);
    add(st, "f", "  ", NULL, 0);
    go(st, "chunked far\n"
           "calls 0\n"
           "> done []0\n");
}

static void test_whole(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    struct subject *s = begin(st);
    struct weir_plan plan = stage_plan(st, "gen");
    struct weir_detect_input input = {.prompt = WEIR_SLICE("p"),
                                      .generated_text = WEIR_SLICE("a bad text")};
    add(st, "a", "bad", NULL, 0);
    weir_scan_add_whole(s->groups[0], &plan.uses[0], &input);
    go(st, "answer gen a bad text\n"
           "answer a bad\n"
           "> done [a@0 gen@0]1\n");
}

static void test_so_many_at_once(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    st->env.max_detector_calls = 1;
    begin(st);
    add(st, "a now", "one", NULL, 0);
    add(st, "a now", "two", NULL, 0);
    go(st, "calls 1\n"
           "answer a one\n"
           "calls 1\n"
           "answer a two\n"
           "> done []0 []0\n");
}

static void test_remote_chunker(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    begin(st);
    add(st, "f a", "One bad two", NULL, 0);
    go(st, "calls 1\n"
           "chunk far 0 3\n"
           "chunk far 4 11\n"
           "calls 1\n"
           "chunked far\n"
           "calls 2\n"
           "answer f One|bad two\n"
           "answer a\n"
           "> done [a@4 f@4]2\n");
}

static void test_chunker_nonsense(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        const char *why;
    } cases[] = {
        {"chunk far 0 3\nchunk far 2 4\n", "overlap: a chunk begins before the last one ended"},
        {"chunk far 0 12\n", "a chunk ends beyond the text"},
        {"chunk far 4 7\n", "uncovered: text between two chunks is not white space"},
        {"chunk far 0 3\nchunked far\n", "uncovered: text after the last chunk is not white space"},
        {"chunk far 0 3 own\n", "a chunk's text is not the text that was sent"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage *st = stage_new();
        char script[256];
        begin(st);
        add(st, "f a", "One two bad", NULL, 0);
        snprintf(script, sizeof script, "%s> fail chunker far %s\ncalls 0\n", cases[i].script,
                 cases[i].why);
        go(st, script);
    }
}

static void test_first_failure_cancels_the_rest(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    begin(st);
    add(st, "a b f", "One", NULL, 0);
    go(st, "calls 2\n"
           "refuse b One\n"
           "> fail detector b \n"
           "calls 0\n");
}

static void test_dropped_anywhere(void **state)
{
    (void)state;
    for (size_t n = 0; n < 4; n++) {
        struct stage *st = stage_new();
        struct subject *s = begin(st);
        add(st, "a f", "One", NULL, 0);
        if (n != 0) {
            weir_scan_start(s->scan);
        }
        if (n > 1) {
            stage_turn(st);
            script_play(st, &(struct script_hooks){0}, "chunk far 0 3\nchunked far\n", n);
        }
        weir_scan_cancel(n == 3 ? s->scan : NULL);
        stage_free(st);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_chunks_in_one_call),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_many_masks),
        cmocka_unit_test(test_nothing_but_white_space),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_so_many_at_once),
        cmocka_unit_test(test_remote_chunker),
        cmocka_unit_test(test_chunker_nonsense),
        cmocka_unit_test(test_first_failure_cancels_the_rest),
        cmocka_unit_test(test_dropped_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
