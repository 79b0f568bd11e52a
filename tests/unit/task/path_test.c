/* One path: text and answers in any order, batches out. What leaves is written down as
 * start-end 'text' [detector@start …]. */
#include "task/path.h"

#include "unit/task/script.h"

struct subject {
    struct weir_path *path;
    uint64_t n_frames;
    bool has_failed;
};

static void drain(struct stage *st)
{
    struct subject *s = st->subject;
    struct weir_gather_batch batch;
    int rc = 0;
    while (!s->has_failed && (rc = weir_path_pop(s->path, &batch)) == 0) {
        struct weir_slice text = weir_path_text(s->path, &batch);
        weir_buf_printf(&st->lines, "%zu-%zu '%.*s' [", batch.start_cp, batch.end_cp, (int)text.n,
                        text.p);
        for (size_t i = 0; i < batch.n_findings; i++) {
            const struct weir_detection *d = batch.findings[i];
            weir_buf_printf(&st->lines, "%s%.*s@%zu", i != 0 ? " " : "", (int)d->detector_id.n,
                            d->detector_id.p, d->start_cp);
        }
        weir_buf_append(&st->lines, WEIR_SLICE("]\n"));
        weir_path_leave(s->path, &batch);
    }
    if (!s->has_failed && rc != WEIR_EAGAIN) {
        const struct weir_fault *f = weir_path_fault(s->path);
        s->has_failed = true;
        assert_int_equal(f->err, rc);
        weir_buf_printf(&st->lines, "fail %s %.*s %s %.*s\n", weir_fault_origin_name(f->origin),
                        (int)f->id.n, f->id.p, weir_err_name(rc), (int)f->why.n, f->why.p);
    }
}

static void on_progress(void *ctx)
{
    drain(ctx);
}

static void undo(void *ctx)
{
    struct subject *s = ctx;
    weir_path_free(s->path);
}

static void start(struct stage *st)
{
    struct subject *s = weir_arena_zalloc(&st->arena, sizeof *s);
    struct weir_plan *plan = weir_arena_alloc(&st->arena, sizeof *plan);
    *plan = stage_plan(st, st->output);
    s->path = weir_path_new(&(struct weir_path_options){.task = &st->task,
                                                        .plan = plan,
                                                        .strategy = st->env.strategy,
                                                        .max_held_bytes = st->env.max_held_bytes,
                                                        .on_progress = on_progress,
                                                        .ctx = st});
    st->subject = s;
    weir_arena_defer(&st->arena, undo, s);
}

static void push(struct stage *st, struct weir_slice text)
{
    struct subject *s = st->subject;
    char *copy = malloc(text.n + 1);
    memcpy(copy, text.p != NULL ? text.p : "", text.n);
    int rc = weir_path_push(s->path, s->n_frames++, weir_slice_make(copy, text.n), NULL);
    free(copy);
    if (rc != 0) {
        weir_buf_printf(&st->lines, "push %s\n", weir_err_name(rc));
        return;
    }
    drain(st);
}

static void end(struct stage *st)
{
    struct subject *s = st->subject;
    weir_path_end(s->path);
    drain(st);
}

static const struct script_hooks HOOKS = {.start = start, .line = push, .eof = end};

static struct stage *stage_with(const char *ids)
{
    struct stage *st = stage_new();
    st->output = ids;
    return st;
}

static void play(const char *ids, const char *script)
{
    struct stage *st = stage_with(ids);
    script_run(st, &HOOKS, script);
    stage_free(st);
}

static void test_one_detector(void **state)
{
    (void)state;
    play("a", "line One. Two\n"
              "calls 1\n"
              "-\n"
              "answer a One.\n"
              "> 0-4 'One.' []\n"
              "line  bad.\n"
              "answer a  Two bad.\n"
              "> 4-13 ' Two bad.' [a@9]\n"
              "eof\n");
}

static void test_answers_in_any_order(void **state)
{
    (void)state;
    play("a b", "line 1.2.3.\n"
                "calls 6\n"
                "answer a 3.\n"
                "answer b 2.\n"
                "answer a 2.\n"
                "-\n"
                "answer a 1.\n"
                "-\n"
                "answer b 1.\n"
                "> 0-2 '1.' []\n"
                "> 2-4 '2.' []\n"
                "answer b 3.\n"
                "> 4-6 '3.' []\n"
                "eof\n");
}

static void test_two_chunkers(void **state)
{
    (void)state;
    play("a w", "line Hi bad one. And\n"
                "answer w Hi \n"
                "answer w bad \n"
                "answer w one. \n"
                "-\n" /* the sentence is not covered */
                "answer a Hi bad one.\n"
                "> 0-11 'Hi bad one.' [a@3 w@3]\n"
                "eof\n"
                "answer w And\n"
                "answer a  And\n"
                "> 11-15 ' And' []\n");
}

static void test_so_many_calls_at_once(void **state)
{
    (void)state;
    struct stage *st = stage_with("a b");
    st->env.max_detector_calls = 2;
    script_run(st, &HOOKS,
               "line 1.2.3.4.\n"
               "calls 4\n"
               "answer a 2.\n"
               "calls 4\n"
               "answer a 3.\n" /* the first is slow: the others go on */
               "answer a 4.\n"
               "calls 3\n"
               "answer a 1.\n"
               "calls 2\n"
               "answer b 1.\n"
               "> 0-2 '1.' []\n"
               "answer b 2.\n"
               "> 2-4 '2.' []\n"
               "answer b 4.\n"
               "answer b 3.\n"
               "> 4-6 '3.' []\n"
               "> 6-8 '4.' []\n"
               "eof\n");
    stage_free(st);
}

static void test_failed_call_takes_its_place(void **state)
{
    (void)state;
    play("a", "line 1.2.3.\n"
              "refuse a 2.\n"
              "-\n"
              "answer a 3.\n"
              "-\n"
              "answer a 1.\n"
              "> 0-2 '1.' []\n"
              "> fail detector a EPEER \n");
}

static void test_failed_chunker_comes_after_its_chunks(void **state)
{
    (void)state;
    play("f", "line One two three\n"
              "chunk far 0 3\n"
              "chunk far 3 7\n"
              "unchunked far\n"
              "-\n" /* calls on what it gave before are still under way */
              "answer f  two\n"
              "-\n"
              "answer f One\n"
              "> 0-3 'One' []\n"
              "> 3-7 ' two' []\n"
              "> fail chunker far ERESET \n");
}

static void test_chunker_nonsense(void **state)
{
    (void)state;
    play("f", "line One two\n"
              "chunk far 0 3\n"
              "answer f One\n"
              "> 0-3 'One' []\n"
              "chunk far 2 5\n"
              "> fail chunker far EPEER overlap: a chunk begins before the last one ended\n");
    play("f", "line One two\n"
              "chunk far 0 8\n"
              "> fail chunker far EPEER a chunk ends beyond the text\n");
    play("f", "line One two\n"
              "chunk far 0 3 Own\n"
              "> fail chunker far EPEER a chunk's text is not the text that was sent\n");
    play("f", "line One two\n"
              "chunk far 4 7\n"
              "answer f two\n"
              "> fail chunker far EPEER uncovered\n");
    play("f", "line One two\n"
              "chunk far 0 3\n"
              "answer f One\n"
              "> 0-3 'One' []\n"
              "eof\n"
              "chunked far\n"
              "> fail chunker far EPEER uncovered\n");
}

/* It is not sent, answers for nothing and does not move the chunker on. */
static void test_empty_chunks(void **state)
{
    (void)state;
    play("f", "line One two\n"
              "chunk far 0 0\n"
              "chunk far 7 7\n"
              "calls 0\n"
              "chunk far 0 3\n"
              "answer f One\n"
              "> 0-3 'One' []\n"
              "chunk far 2 2\n"
              "> fail chunker far EPEER overlap: a chunk begins before the last one ended\n");
}

static void test_white_space_needs_nobody(void **state)
{
    (void)state;
    play("f", "line  One \n"
              "chunk far 1 4\n"
              "answer f One\n"
              "> 0-4 ' One' []\n"
              "eof\n"
              "chunked far\n"
              "> 4-5 ' ' []\n");
}

static void test_text_after_the_end(void **state)
{
    (void)state;
    play("a f", "line One\n"
                "eof\n"
                "eof\n"
                "line Two\n"
                "chunk far 0 3\n" /* the first stream */
                "answer f One\n"
                "chunked far\n"
                "-\n"
                "answer a One\n"
                "> 0-3 'One' []\n"
                "eof\n"
                "chunk far 3 6\n"
                "chunked far\n"
                "answer a Two\n"
                "answer f Two\n"
                "> 3-6 'Two' []\n");
}

static void test_frames_without_text(void **state)
{
    (void)state;
    play("now", "line \n"
                "line One.\n"
                "> 0-4 'One.' []\n"
                "line \n"
                "eof\n"
                "-\n");
}

static void test_code_points(void **state)
{
    (void)state;
    play("a", "line ä😀. bad.\n"
              "answer a  bad.\n"
              "answer a ä😀.\n"
              "> 0-3 'ä😀.' []\n"
              "> 3-8 ' bad.' [a@4]\n");
    play("a", "line \xff\n"
              "> push EBAD\n");
}

/* More chunks than a queue of ours holds, one detector far behind the other. */
static void test_far_behind(void **state)
{
    (void)state;
    enum { N = 3000 };
    struct stage *st = stage_with("a now");
    start(st);
    for (size_t i = 0; i < N; i++) {
        push(st, WEIR_SLICE("x."));
    }
    script_expect_nothing(st);
    assert_int_equal(script_n_calls(st), 128);
    for (size_t i = 0; i < N; i++) {
        char want[64];
        script_answer(st, WEIR_SLICE("a x."), false);
        snprintf(want, sizeof want, "%zu-%zu 'x.' []", i * 2, i * 2 + 2);
        script_expect(st, weir_slice_cstr(want));
    }
    script_expect_nothing(st);
    stage_free(st);
}

static size_t n_left(const struct stage *st)
{
    size_t n = 0;
    for (size_t i = 0; i < st->lines.n; i++) {
        n += st->lines.p[i] == '\n';
    }
    return n;
}

/* A text of as many chunks as characters: what was answered leaves in between, and no detector is
 * left more than so far behind. */
static void test_tiny_chunks(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct stage *st = stage_with("now");
    char *text = malloc(N);
    memset(text, '.', N);
    start(st);
    push(st, weir_slice_make(text, N));
    assert_in_range(n_left(st), 1, N - 1); /* the rest is for another turn */
    struct subject *s = st->subject;
    assert_int_equal(weir_path_waits(s->path), WEIR_PATH_ON_DETECTOR);
    stage_settle(st);
    assert_int_equal(n_left(st), N);
    assert_int_equal(weir_path_waits(s->path), WEIR_PATH_IDLE);
    stage_free(st);

    st = stage_with("a now");
    start(st);
    push(st, weir_slice_make(text, N));
    end(st);
    stage_settle(st);
    assert_true(st->n_calls < 4096);
    while (st->calls != NULL) {
        script_answer(st, WEIR_SLICE("a ."), false);
        stage_settle(st);
    }
    assert_int_equal(st->n_calls, 2 * N);
    s = st->subject;
    assert_true(weir_path_is_done(s->path));
    free(text);
    stage_free(st);
}

static void test_what_it_waits_for(void **state)
{
    (void)state;
    struct stage *st = stage_with("a f");
    start(st);
    struct subject *s = st->subject;
    assert_int_equal(weir_path_waits(s->path), WEIR_PATH_IDLE);
    script_play(st, &(struct script_hooks){.line = push}, "line One.\n", 1);
    assert_int_equal(weir_path_waits(s->path), WEIR_PATH_ON_DETECTOR);
    script_play(st, &(struct script_hooks){0}, "answer a One.\n", 1);
    assert_int_equal(weir_path_waits(s->path), WEIR_PATH_ON_CHUNKER);
    script_play(st, &(struct script_hooks){0}, "chunk far 0 4\nanswer f One.\n", 2);
    assert_int_equal(weir_path_waits(s->path), WEIR_PATH_IDLE); /* more text is needed */
    script_play(st, &(struct script_hooks){.eof = end}, "eof\n", 1);
    assert_int_equal(weir_path_waits(s->path), WEIR_PATH_ON_CHUNKER);
    script_play(st, &(struct script_hooks){0}, "chunked far\n", 1);
    assert_true(weir_path_is_done(s->path));
    stage_free(st);
}

static struct stage *new_mixed(void)
{
    return stage_with("a w f now");
}

static void test_dropped_anywhere(void **state)
{
    (void)state;
    script_drop_anywhere(&HOOKS, new_mixed,
                         "line One bad. Two\n"
                         "chunk far 0 8\n"
                         "answer a One bad.\n"
                         "answer w One \n"
                         "answer f One bad.\n"
                         "eof\n"
                         "line more\n"
                         "answer w bad. \n"
                         "answer a\n"
                         "answer w Two\n"
                         "chunk far 8 12\n"
                         "chunked far\n"
                         "answer f  Two\n"
                         "eof\n"
                         "chunk far 12 16\n"
                         "unchunked far\n"
                         "answer f more\n");
}

/* ---- compat fms ---- */

static struct stage *fms_with(const char *ids)
{
    struct stage *st = stage_with(ids);
    st->env.compat = weir_compat_fms;
    return st;
}

static void play_fms(const char *ids, const char *script)
{
    struct stage *st = fms_with(ids);
    script_run(st, &HOOKS, script);
    stage_free(st);
}

/* Text, offsets and order are the chunker's; gaps, overlaps, zeros and ends beyond the text are its
 * own affair; spans are relative to their chunk; what it leaves out does not leave. */
static void test_fms_believes_the_chunker(void **state)
{
    (void)state;
    play_fms("f", "line One two bad three\n"
                  "tell far 0 3 0 0 One\n"
                  "tell far 8 11 0 0 BAD bad\n"
                  "tell far 2 99 0 7 e two\n"
                  "tell far 5 0 0 0 bad\n"
                  "tell far 0 0 0 0 \n"
                  "calls 5\n"
                  "answer f One\n"
                  "> 0-3 'One' []\n"
                  "answer f BAD bad\n"
                  "> 8-11 'BAD bad' [f@4]\n"
                  "answer f e two\n"
                  "> 2-99 'e two' []\n"
                  "answer f bad\n"
                  "> 5-0 'bad' [f@0]\n"
                  "answer f\n"
                  "> 0-0 '' []\n"
                  "eof\n"
                  "chunked far\n");
}

/* A chunk leaves when all detectors have answered for it, in the order of the chunks. */
static void test_fms_lock_step(void **state)
{
    (void)state;
    play_fms("f g", "line bad one. bad two.\n"
                    "tell far 0 0 0 0 bad one.\n"
                    "tell far 0 0 0 0  bad two.\n"
                    "answer f  bad two.\n"
                    "answer g  bad two.\n"
                    "answer g bad one.\n"
                    "-\n"
                    "answer f bad one.\n"
                    "> 0-0 'bad one.' [f@0 g@0]\n"
                    "> 0-0 ' bad two.' [f@1 g@1]\n"
                    "eof\n"
                    "chunked far\n");
}

static void test_fms_failures(void **state)
{
    (void)state;
    play_fms("f g", "line a b c\n"
                    "tell far 0 0 0 0 a\n"
                    "tell far 0 0 0 0 b\n"
                    "refuse g b\n"
                    "answer f b\n"
                    "answer f a\n"
                    "-\n"
                    "answer g a\n"
                    "> 0-0 'a' []\n"
                    "> fail detector g EPEER \n");
    play_fms("f", "line a b c\n"
                  "tell far 0 0 0 0 a\n"
                  "unchunked far\n"
                  "-\n"
                  "answer f a\n"
                  "> 0-0 'a' []\n"
                  "> fail chunker far ERESET \n");
}

/* Ending early is no error; text that comes later goes nowhere, and after the end to a new stream
 * whose offsets go on where it began. */
static void test_fms_chunker_ends_early(void **state)
{
    (void)state;
    play_fms("f", "line One. \n"
                  "tell far 0 4 0 0 One.\n"
                  "chunked far\n"
                  "answer f One.\n"
                  "> 0-4 'One.' []\n"
                  "line Two.\n"
                  "eof\n"
                  "-\n"
                  "line More.\n"
                  "tell far 9 14 2 2 More.\n"
                  "eof\n"
                  "chunked far\n"
                  "answer f More.\n"
                  "> 9-14 'More.' []\n");
}

/* Built-in chunkers tell ranges, and nothing of the text is lost. */
static void test_fms_built_in(void **state)
{
    (void)state;
    play_fms("a b", "line One. Two b\n"
                    "answer b One.\n"
                    "answer a One.\n"
                    "> 0-4 'One.' []\n"
                    "line ad\n"
                    "eof\n"
                    "answer a  Two bad\n"
                    "answer b  Two bad\n"
                    "> 4-12 ' Two bad' [a@5 b@5]\n");
}

/* Where chunkers differ, offsets must mean something: everything is checked, text is ours. */
static void test_fms_two_chunkers(void **state)
{
    (void)state;
    play_fms("a w", "line Oh bad. So\n"
                    "answer w Oh \n"
                    "answer a Oh bad.\n"
                    "-\n"
                    "answer w bad. \n"
                    "> 0-7 'Oh bad.' [a@3]\n"
                    "eof\n"
                    "answer a  So\n"
                    "answer w So\n"
                    "> 7-10 ' So' [w@0]\n");
    play_fms("a f", "line One.\n"
                    "tell far 0 9 0 0 One.\n"
                    "answer a One.\n"
                    "> fail chunker far EPEER a chunk ends beyond the text\n");
}

/* A chunker that answers more than it may be given waits for its detectors. */
static void test_fms_rows_are_bounded(void **state)
{
    (void)state;
    struct stage *st = fms_with("f");
    st->env.max_held_bytes = 64;
    script_run(st, &HOOKS,
               "line abc\n"
               "tell far 0 3 0 0 a chunk of sixty-four bytes, which is as much as may wait at one\n"
               "tell far 0 3 0 0 ijk\n"
               "calls 1\n"
               "answer f a chunk of sixty-four bytes, which is as much as may wait at one\n"
               "> 0-3 'a chunk of sixty-four bytes, which is as much as may wait at one' []\n"
               "calls 1\n"
               "answer f ijk\n"
               "> 0-3 'ijk' []\n");
    stage_free(st);
}

static struct stage *new_fms(void)
{
    return fms_with("f g");
}

static void test_fms_dropped_anywhere(void **state)
{
    (void)state;
    script_drop_anywhere(&HOOKS, new_fms,
                         "line One. Two.\n"
                         "tell far 0 4 0 0 One.\n"
                         "tell far 0 4 0 0 Two.\n"
                         "answer g Two.\n"
                         "answer g One.\n"
                         "answer f One.\n"
                         "eof\n"
                         "chunked far\n"
                         "line more\n"
                         "answer f Two.\n"
                         "unchunked far\n");
}

/* Chunks of a service that overlap: all of a chunk is seen, though the text has left; findings in
 * what the chunk before answered for are that one's. */
static void test_overlapping_chunks(void **state)
{
    (void)state;
    play("f", "line a bad word. ba\n"
              "chunk far 0 11\n"
              "answer f a bad word.\n"
              "> 0-11 'a bad word.' [f@2]\n" /* it is gone from the log */
              "line d end\n"
              "again far 9 11 15\n"
              "answer f bad word. bad\n"
              "> 11-15 ' bad' [f@12]\n"
              "again far 3 15 19\n"
              "answer f bad end\n"
              "> 15-19 ' end' []\n"
              "eof\n"
              "chunked far\n");
    /* a finding that goes over the border is told by who sees it whole */
    play("f", "line so ba\n"
              "chunk far 0 5\n"
              "answer f so ba\n"
              "> 0-5 'so ba' []\n"
              "line d.\n"
              "again far 2 5 7\n"
              "answer f bad.\n"
              "> 5-7 'd.' [f@3]\n"
              "eof\n"
              "chunked far\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overlapping_chunks),
        cmocka_unit_test(test_one_detector),
        cmocka_unit_test(test_answers_in_any_order),
        cmocka_unit_test(test_two_chunkers),
        cmocka_unit_test(test_so_many_calls_at_once),
        cmocka_unit_test(test_failed_call_takes_its_place),
        cmocka_unit_test(test_failed_chunker_comes_after_its_chunks),
        cmocka_unit_test(test_chunker_nonsense),
        cmocka_unit_test(test_empty_chunks),
        cmocka_unit_test(test_white_space_needs_nobody),
        cmocka_unit_test(test_text_after_the_end),
        cmocka_unit_test(test_frames_without_text),
        cmocka_unit_test(test_code_points),
        cmocka_unit_test(test_far_behind),
        cmocka_unit_test(test_tiny_chunks),
        cmocka_unit_test(test_what_it_waits_for),
        cmocka_unit_test(test_dropped_anywhere),
        cmocka_unit_test(test_fms_believes_the_chunker),
        cmocka_unit_test(test_fms_lock_step),
        cmocka_unit_test(test_fms_failures),
        cmocka_unit_test(test_fms_chunker_ends_early),
        cmocka_unit_test(test_fms_built_in),
        cmocka_unit_test(test_fms_two_chunkers),
        cmocka_unit_test(test_fms_rows_are_bounded),
        cmocka_unit_test(test_fms_dropped_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
