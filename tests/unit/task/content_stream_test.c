/* Streamed content as transcripts: the caller's lines in, findings out while they still come. */
#include "task/content_stream.h"

#include "unit/task/script.h"

static void set_paused(void *ctx, bool is_paused)
{
    struct stage *st = ctx;
    assert_true(st->is_body_paused != is_paused);
    st->is_body_paused = is_paused;
}

static void start(struct stage *st)
{
    struct weir_plan *plan = weir_arena_alloc(&st->arena, sizeof *plan);
    *plan = stage_plan(st, st->output);
    st->subject = weir_content_stream_new(&st->task, &(struct weir_content_stream_options){
                                                         .plan = plan,
                                                         .strategy = st->env.strategy,
                                                         .out = &st->out,
                                                         .set_paused = set_paused,
                                                         .ctx = st,
                                                     });
}

static void push(struct stage *st, struct weir_slice text)
{
    char *copy = malloc(text.n + 1);
    memcpy(copy, text.p, text.n);
    weir_content_stream_push(st->subject, weir_slice_make(copy, text.n), text.n + 10);
    free(copy);
}

static void end(struct stage *st)
{
    weir_content_stream_end(st->subject);
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

#define ANSWER(found, start, end)                                                                  \
    "> {\"detections\":[" found "],\"start_index\":" #start ",\"processed_index\":" #end "}\n"
#define BAD(id, start, end)                                                                        \
    "{\"start\":" #start ",\"end\":" #end ",\"text\":\"bad\",\"detection\":\"Ugh\","               \
    "\"detection_type\":\"word\",\"detector_id\":\"" id "\",\"score\":0.5}"

static void test_lines(void **state)
{
    (void)state;
    play("a",
         "line Hi. So\n"
         "answer a Hi.\n" ANSWER("", 0, 3) "line  bad.\n"
                                           "answer a  So bad.\n" ANSWER(
                                               BAD("a", 7, 10), 3,
                                               11) "line Rest\n"
                                                   "-\n"
                                                   "eof\n"
                                                   "answer a Rest\n" ANSWER("", 11, 15) "> end\n");
}

static void test_two_detectors(void **state)
{
    (void)state;
    play("now w", "line bad it.\n"
                  "answer w bad \n"
                  "eof\n"
                  "answer w it.\n" ANSWER(BAD("now", 0, 3) "," BAD("w", 0, 3), 0, 7) "> end\n");
}

static void test_whole_documents(void **state)
{
    (void)state;
    play("doc now",
         "line A.\n" ANSWER("", 0, 2) "line bad\n"
                                      "eof\n" ANSWER(BAD("now", 2, 5), 2,
                                                     5) "-\n"
                                                        "answer doc A.bad\n" ANSWER(
                                                            BAD("doc", 2, 5), 5, 5) "> end\n");
    play("doc", "line fine\n"
                "eof\n"
                "answer doc fine\n" ANSWER("", 0, 4) "> end\n");
    play("doc", "line So \n"
                "line bad\n"
                "eof\n"
                "answer doc So bad\n" ANSWER(BAD("doc", 3, 6), 0, 6) "> end\n");
}

static void test_failures(void **state)
{
    (void)state;
    play("a", "line A.B.\n"
              "refuse a B.\n"
              "-\n"
              "answer a A.\n" ANSWER("", 0, 2) "> fail detector a EPEER\n"
                                               "calls 0\n"
                                               "line more.\n"
                                               "eof\n");
    play("doc", "line A\neof\nrefuse doc\n> fail detector doc EPEER\n");
    play("f", "line A B\nchunk far 2 3\nanswer f B\n> fail chunker far EPEER\n");
}

static void test_stopped(void **state)
{
    (void)state;
    struct stage *st = stage_with("a");
    script_play(st, &HOOKS, "line A.\n", 1);
    weir_content_stream_stop(st->subject);
    stage_turn(st);
    assert_null(st->calls);
    assert_null(st->chunks);
    script_run(st, &(struct script_hooks){.line = push, .eof = end}, "line B.\neof\n-\n");
    stage_free(st);
}

static void test_body_waits(void **state)
{
    (void)state;
    struct stage *st = stage_with("a");
    st->env.max_held_bytes = 24;
    script_run(
        st, &HOOKS,
        "line A.\n"
        "reading\n"
        "line B.\n"
        "paused\n"
        "line C.\n" /* was under way */
        "clock 60000\n"
        "answer a A.\n" ANSWER("", 0, 2) "paused\n"
                                         "answer a B.\n" ANSWER(
                                             "", 2, 4) "reading\n"
                                                       "full\n"
                                                       "answer a C.\n" ANSWER(
                                                           "", 4, 6) "paused\n"
                                                                     "room\n"
                                                                     "reading\n"
                                                                     "line D\n"
                                                                     "reading\n"
                                                                     "line E\n"
                                                                     "line F\n"
                                                                     "> fail limit  ELIMIT\n");
    stage_free(st);
    st = stage_with("doc");
    st->env.max_held_bytes = 4;
    script_run(st, &HOOKS, "line ABCD\nline E\n> fail limit  ELIMIT\n");
    stage_free(st);
}

static struct stage *new_long(void)
{
    return stage_with("a f now doc");
}

static void test_dropped_anywhere(void **state)
{
    (void)state;
    script_drop_anywhere(&HOOKS, new_long,
                         "line One. bad\n"
                         "chunk far 0 4\n"
                         "answer a One.\n"
                         "full\n"
                         "answer f One.\n"
                         "room\n"
                         "line  Two\n"
                         "eof\n"
                         "answer doc\n"
                         "answer a\n"
                         "chunk far 4 12\n"
                         "chunked far\n"
                         "answer f\n");
}

/* compat fms: places as the chunker tells them, spans relative to their chunk, nothing behind. */
static void test_fms(void **state)
{
    (void)state;
    struct stage *st = stage_with("f");
    st->env.compat = weir_compat_fms;
    script_run(st, &HOOKS,
               "line One bad.\n"
               "line And\n"
               "tell far 0 8 0 0 One bad.\n"
               "answer f\n" ANSWER(BAD("f", 4, 7), 0, 8) "tell far 40 0 0 0 bad\n"
                                                         "answer f\n" ANSWER(BAD("f", 0, 3), 40,
                                                                             0) "line more\n"
                                                                                "eof\n"
                                                                                "-\n"
                                                                                "chunked far\n"
                                                                                "> end\n");
    stage_free(st);
}

/* Lines are held until the chunker has told of them, by numbers or by places. */
static void test_fms_body_waits(void **state)
{
    (void)state;
    struct stage *st = stage_with("f");
    st->env.compat = weir_compat_fms;
    st->env.max_held_bytes = 40;
    script_run(
        st, &HOOKS,
        "line 1234567890\n"
        "reading\n"
        "line 1234567890\n"
        "paused\n"
        "tell far 0 0 0 0 1234567890\n"
        "answer f\n" ANSWER("", 0, 0) "paused\n"
                                      "tell far 0 0 1 1 1234567890\n"
                                      "answer f\n" ANSWER(
                                          "", 0, 0) "reading\n"
                                                    "line 1234567890\n"
                                                    "paused\n"
                                                    "tell far 20 30 0 0 1234567890\n"
                                                    "answer f\n" ANSWER("", 20, 30) "reading\n"
                                                                                    "eof\n"
                                                                                    "chunked far\n"
                                                                                    "> end\n");
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_two_detectors),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_whole_documents),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_body_waits),
        cmocka_unit_test(test_dropped_anywhere),
        cmocka_unit_test(test_fms),
        cmocka_unit_test(test_fms_body_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
