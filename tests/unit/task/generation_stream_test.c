/* Streamed generation as transcripts: the messages of a generation server, guarded. */
#include "task/generation_stream.h"

#include "unit/task/script.h"

static void start(struct stage *st)
{
    struct weir_task_generation request = {.is_classification = true,
                                           .model_id = WEIR_SLICE("m"),
                                           .inputs = WEIR_SLICE("a bad question."),
                                           .input = stage_plan(st, st->input),
                                           .output = stage_plan(st, st->output)};
    weir_generation_stream_start(&st->task, &request, st->env.strategy, &st->out);
}

static const struct script_hooks HOOKS = {.start = start};
static const struct script_hooks GO_ON = {0};

static struct stage *stage_with(const char *output)
{
    struct stage *st = stage_new();
    st->output = output;
    return st;
}

static void play(const char *output, const char *script)
{
    struct stage *st = stage_with(output);
    script_run(st, &HOOKS, script);
    stage_free(st);
}

#define OBJECT(text, results, rest)                                                                \
    "> {\"generated_text\":\"" text "\",\"token_classification_results\":{" results "}," rest "}"  \
    "\n"
#define PLACE(start, end) "\"start_index\":" #start ",\"processed_index\":" #end
#define NONE "\"output\":[]"
#define FOUND(id, start, end)                                                                      \
    "\"output\":[{\"start\":" #start ",\"end\":" #end ",\"word\":\"bad\",\"entity\":\"Ugh\","      \
    "\"entity_group\":\"word\",\"detector_id\":\"" id "\",\"score\":0.5}]"
#define EOS "\"finish_reason\":\"EOS_TOKEN\",\"generated_token_count\":9,\"seed\":5,"
#define COUNT0 "\"input_token_count\":0,"
#define TOKEN1(a) "\"tokens\":[{\"text\":\"" a "\"}],"
#define TOKEN2(a, b) "\"tokens\":[{\"text\":\"" a "\"},{\"text\":\"" b "\"}],"

static void test_without_detectors(void **state)
{
    (void)state;
    play("", "gen ä b\n" OBJECT("ä b", "", COUNT0 TOKEN1("ä b") PLACE(0, 3)) "gen c\n" OBJECT(
                 "c", "",
                 COUNT0 TOKEN1("c")
                     PLACE(3, 4)) "last \n" OBJECT("", "", EOS COUNT0 PLACE(4, 4)) "done\n"
                                                                                   "> end\n");
}

static void test_batches(void **state)
{
    (void)state;
    play("a",
         "gen This is\n"
         "gen  bad.\n"
         "-\n"
         "answer a This is bad.\n" OBJECT(
             "This is bad.", FOUND("a", 8, 11),
             COUNT0 TOKEN2("This is", " bad.")
                 PLACE(0, 12)) "gen  So\n"
                               "last \n"
                               "done\n"
                               "answer a  So\n" OBJECT(
                                   " So", NONE, EOS COUNT0 TOKEN1(" So") PLACE(12, 15)) "> end\n");
}

/* A message that two batches share: its tokens and its end leave with the second. */
static void test_shared_message(void **state)
{
    (void)state;
    play("now",
         "gen A\n"
         "last b. C\n" OBJECT("Ab.", NONE,
                              "\"finish_reason\":\"NOT_FINISHED\",\"generated_token_count\":9,"
                              "\"seed\":5," COUNT0 TOKEN1("A")
                                  PLACE(0, 3)) "done\n" OBJECT(" C", NONE,
                                                               EOS COUNT0 TOKEN1("b. C")
                                                                   PLACE(3, 5)) "> end\n");
}

/* Nothing a message says is lost when its text left before it came. */
static void test_end_without_text(void **state)
{
    (void)state;
    play("now",
         "gen Hi.\n" OBJECT("Hi.", NONE,
                            COUNT0 TOKEN1("Hi.") PLACE(
                                0, 3)) "last \n"
                                       "-\n"
                                       "done\n" OBJECT("", NONE, EOS COUNT0 PLACE(3, 3)) "> end\n");
}

static void test_first_object(void **state)
{
    (void)state;
    struct stage *st = stage_with("a");
    struct weir_model_token in[] = {{.text = WEIR_SLICE("q"), .logprob = -0.5, .has_logprob = true},
                                    {.text = WEIR_SLICE("r"), .rank = 3, .has_rank = true}};
    struct weir_model_generated first = {
        .text = WEIR_SLICE(""), .has_details = true, .seed = 42, .input_token_count = 2};
    struct weir_model_generated second = {.text = WEIR_SLICE("One."),
                                          .has_details = true,
                                          .generated_token_count = 1,
                                          .seed = 1,
                                          .input_tokens = in,
                                          .n_input_tokens = 2};
    struct weir_model_generated third = second;
    third.text = WEIR_SLICE(" Two.");
    third.n_input_tokens = 0;
    third.generated_token_count = 2;
    script_play(st, &HOOKS, "", 0);
    script_generated(st, &first);
    script_generated(st, &second);
    script_generated(st, &third);
    script_run(
        st, &GO_ON,
        "answer a One.\n" OBJECT(
            "One.", NONE,
            "\"finish_reason\":\"NOT_FINISHED\",\"generated_token_count\":1,"
            "\"seed\":42,\"input_token_count\":2,\"input_tokens\":[{\"text\":"
            "\"q\",\"logprob\":-0.5},{\"text\":\"r\",\"rank\":3}]," PLACE(
                0, 4)) "answer a  Two.\n" OBJECT(" Two.", NONE,
                                                 "\"finish_reason\":\"NOT_FINISHED\",\"generated_"
                                                 "token_count\":2,"
                                                 "\"seed\":1," COUNT0 PLACE(4, 9)) "done\n"
                                                                                   "> end\n");
    stage_free(st);
}

/* The first object does not wait for the second message; nor is anything said twice. */
static void test_second_message_is_late(void **state)
{
    (void)state;
    struct weir_model_token in = {.text = WEIR_SLICE("q")};
    struct weir_model_generated second = {
        .text = WEIR_SLICE("B."), .input_tokens = &in, .n_input_tokens = 1};
    struct stage *st = stage_with("a");
    script_play(st, &HOOKS, "gen A.\n", 1);
    script_generated(st, &second);
    script_run(st, &GO_ON,
               "answer a A.\n" OBJECT(
                   "A.", NONE,
                   COUNT0 TOKEN1("A.") "\"input_tokens\":[{\"text\":\"q\"}]," PLACE(
                       0, 2)) "answer a B.\n" OBJECT("B.", NONE, COUNT0 PLACE(2, 4)) "done\n"
                                                                                     "> end\n");
    stage_free(st);
    st = stage_with("now");
    script_play(st, &HOOKS, "gen A.\n" OBJECT("A.", NONE, COUNT0 TOKEN1("A.") PLACE(0, 2)), 2);
    script_generated(st, &second);
    script_run(
        st, &GO_ON,
        OBJECT("B.", NONE, COUNT0 "\"input_tokens\":[{\"text\":\"q\"}]," PLACE(2, 4)) "done\n"
                                                                                      "> end\n");
    stage_free(st);
}

static void test_whole_documents(void **state)
{
    (void)state;
    play("now doc", "gen So bad.\n" OBJECT("So bad.", FOUND("now", 3, 6),
                                           COUNT0 TOKEN1("So bad.")
                                               PLACE(0, 7)) "last \n"
                                                            "done\n"
                                                            "-\n"
                                                            "answer doc So bad.\n" OBJECT(
                                                                "", FOUND("doc", 3, 6),
                                                                EOS COUNT0 PLACE(7, 7)) "> end\n");
    play("doc",
         "last bad\n" OBJECT(
             "bad", "", EOS COUNT0 TOKEN1("bad") PLACE(0, 3)) "done\n"
                                                              "answer doc bad\n" OBJECT(
                                                                  "", FOUND("doc", 0, 3),
                                                                  COUNT0 PLACE(0, 3)) "> end\n");
    play("doc", "done\n" OBJECT("", NONE, COUNT0 PLACE(0, 0)) "> end\n");
}

static void test_fms_arrays(void **state)
{
    (void)state;
    struct stage *st = stage_with("now");
    st->env.compat = weir_compat_fms;
    script_run(st, &HOOKS,
               "gen A.\n" OBJECT("A.", NONE,
                                 COUNT0 TOKEN1("A.") "\"input_tokens\":[]," PLACE(0, 2)) "done\n"
                                                                                         "> end\n");
    stage_free(st);
}

static struct stage *fms_with(const char *output)
{
    struct stage *st = stage_with(output);
    st->env.compat = weir_compat_fms;
    return st;
}

#define NO_INPUT "\"input_tokens\":[],"

/* compat fms: an object speaks for the messages its chunk names, all their tokens with it; the one
 * that begins with message 0 has what that says of the input. Nothing follows the last chunk. */
static void test_fms_named_messages(void **state)
{
    (void)state;
    struct stage *st = fms_with("f");
    script_run(st, &HOOKS,
               "gen One\n"
               "gen  bad. T\n"
               "gen wo.\n"
               "tell far 0 8 0 1 One bad.\n"
               "answer f\n" OBJECT("One bad.", FOUND("f", 4, 7),
                                   COUNT0 TOKEN2("One", " bad. T") NO_INPUT PLACE(
                                       0, 8)) "tell far 8 13 1 2  Two.\n"
                                              "last \n"
                                              "answer f\n" OBJECT(
                                                  " Two.", NONE,
                                                  COUNT0 TOKEN2(" bad. T", "wo.") NO_INPUT PLACE(
                                                      8, 13)) "done\n"
                                                              "tell far 13 13 3 3 \n"
                                                              "answer f\n" OBJECT(
                                                                  "", NONE,
                                                                  EOS COUNT0
                                                                  "\"tokens\":[]," NO_INPUT PLACE(
                                                                      13, 13)) "chunked far\n"
                                                                               "> end\n");
    stage_free(st);
}

/* A chunker that numbers nothing names message 0 each time; one that names what never came speaks
 * for nothing. */
static void test_fms_zeros(void **state)
{
    (void)state;
    struct stage *st = fms_with("f");
    script_run(st, &HOOKS,
               "gen One.\n"
               "gen Two.\n"
               "tell far 0 4 0 0 One.\n"
               "answer f\n" OBJECT("One.", NONE,
                                   COUNT0 TOKEN1("One.") NO_INPUT PLACE(
                                       0, 4)) "tell far 4 8 0 0 Two.\n"
                                              "answer f\n" OBJECT(
                                                  "Two.", NONE,
                                                  COUNT0 TOKEN1("One.") NO_INPUT PLACE(
                                                      4, 8)) "last Three\n"
                                                             "tell far 8 13 7 9 Three\n"
                                                             "answer f\n" OBJECT(
                                                                 "Three", NONE,
                                                                 COUNT0
                                                                 "\"tokens\":[]," NO_INPUT PLACE(
                                                                     8, 13)) "done\n"
                                                                             "-\n"
                                                                             "chunked far\n"
                                                                             "> end\n");
    stage_free(st);
}

static void test_fms_first_object(void **state)
{
    (void)state;
    struct stage *st = fms_with("f");
    struct weir_model_token token = {.text = WEIR_SLICE("q")};
    struct weir_model_generated first = {
        .text = WEIR_SLICE(""), .has_details = true, .seed = 77, .input_token_count = 3};
    struct weir_model_generated second = {.text = WEIR_SLICE("Hi."),
                                          .has_details = true,
                                          .seed = 5,
                                          .input_tokens = &token,
                                          .n_input_tokens = 1};
    script_play(st, &HOOKS, "", SIZE_MAX);
    script_generated(st, &first);
    script_generated(st, &second);
    script_run(
        st, &GO_ON,
        "tell far 0 3 0 1 Hi.\n"
        "answer f\n" OBJECT("Hi.", NONE,
                            "\"finish_reason\":\"NOT_FINISHED\","
                            "\"generated_token_count\":0,\"seed\":77,"
                            "\"input_token_count\":3,\"tokens\":[],"
                            "\"input_tokens\":[{\"text\":\"q\"}]," PLACE(0, 3)) "done\n"
                                                                                "chunked far\n"
                                                                                "> end\n");
    stage_free(st);
}

static struct stage *new_fms(void)
{
    return fms_with("f");
}

static void test_fms_dropped_anywhere(void **state)
{
    (void)state;
    script_drop_anywhere(&HOOKS, new_fms,
                         "gen One\n"
                         "gen .\n"
                         "tell far 0 0 0 0 One\n"
                         "answer f One\n"
                         "gen More.\n"
                         "tell far 4 9 2 2 More.\n"
                         "done\n"
                         "answer f More.\n"
                         "chunked far\n");
}

static void test_input(void **state)
{
    (void)state;
    struct stage *st = stage_with("a");
    st->input = "doc";
    script_run(st, &HOOKS,
               "answer doc a bad question.\n"
               "tokens 4\n"
               "> {\"token_classification_results\":{\"input\":[{\"start\":2,\"end\":5,\"word\":"
               "\"bad\",\"entity\":\"Ugh\",\"entity_group\":\"word\",\"detector_id\":\"doc\","
               "\"score\":0.5}]},\"input_token_count\":4,\"warnings\":[{\"id\":"
               "\"UNSUITABLE_INPUT\",\"message\":\"Unsuitable input detected. Please check the "
               "detected entities on your input and try again with the unsuitable input "
               "removed.\"}]}\n"
               "> end\n");
    stage_free(st);
    st = stage_with("a");
    st->input = "doc";
    script_run(st, &HOOKS, "refuse doc\n> fail detector doc EPEER\n");
    stage_free(st);
}

static void test_failures(void **state)
{
    (void)state;
    play("a", "gen A.\n"
              "gen B.\n"
              "refuse a B.\n"
              "answer a A.\n" OBJECT("A.", NONE,
                                     COUNT0 TOKEN1("A.") PLACE(0, 2)) "> fail detector a EPEER\n"
                                                                      "calls 0\n");
    play("a", "gen A.\n"
              "broken\n"
              "> fail chat completion m ERESET\n"
              "calls 0\n");
    play("doc",
         "gen A\n" OBJECT("A", "", COUNT0 TOKEN1("A") PLACE(0, 1)) "done\n"
                                                                   "refuse doc\n"
                                                                   "> fail detector doc EPEER\n");
}

static void test_held_ceiling(void **state)
{
    (void)state;
    struct stage *st = stage_with("a");
    st->env.max_held_bytes = 100;
    script_run(st, &HOOKS,
               "gen A.\n"
               "paused\n"
               "clock 60000\n"
               "-\n"
               "answer a A.\n" OBJECT("A.", NONE,
                                      COUNT0 TOKEN1("A.") PLACE(0, 2)) "reading\n"
                                                                       "gen B\n"
                                                                       "> fail limit  ELIMIT\n");
    stage_free(st);
    st = stage_with("doc");
    st->env.max_held_bytes = 4;
    script_run(st, &HOOKS,
               "gen ABCD\n" OBJECT("ABCD", "",
                                   COUNT0 TOKEN1("ABCD") PLACE(0, 4)) "gen E\n"
                                                                      "> fail limit  ELIMIT\n");
    stage_free(st);
}

static void test_full_and_resume(void **state)
{
    (void)state;
    play("now", "full\n"
                "gen A.\n" OBJECT("A.", NONE, COUNT0 TOKEN1("A.") PLACE(0, 2)) "paused\n"
                                                                               "room\n"
                                                                               "reading\n"
                                                                               "done\n"
                                                                               "> end\n");
}

static struct stage *new_long(void)
{
    struct stage *st = stage_with("a f doc");
    st->input = "b";
    return st;
}

static struct stage *new_fine(void)
{
    return stage_with("a f doc");
}

static void test_dropped_anywhere(void **state)
{
    (void)state;
    script_drop_anywhere(&HOOKS, new_long, "answer b\ntokens 3\n");
    script_drop_anywhere(&HOOKS, new_fine,
                         "gen \n"
                         "gen One. Two\n"
                         "answer a One.\n"
                         "chunk far 0 4\n"
                         "full\n"
                         "answer f One.\n"
                         "room\n"
                         "gen  bad\n"
                         "last \n"
                         "done\n"
                         "answer doc\n"
                         "chunk far 4 12\n"
                         "answer a\n"
                         "chunked far\n"
                         "refuse f\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_detectors),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_shared_message),
        cmocka_unit_test(test_end_without_text),
        cmocka_unit_test(test_first_object),
        cmocka_unit_test(test_second_message_is_late),
        cmocka_unit_test(test_whole_documents),
        cmocka_unit_test(test_fms_arrays),
        cmocka_unit_test(test_fms_named_messages),
        cmocka_unit_test(test_fms_zeros),
        cmocka_unit_test(test_fms_first_object),
        cmocka_unit_test(test_fms_dropped_anywhere),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_held_ceiling),
        cmocka_unit_test(test_full_and_resume),
        cmocka_unit_test(test_dropped_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
