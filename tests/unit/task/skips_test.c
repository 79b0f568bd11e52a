/* Detectors that are passed over when they fail: what leaves, and what is said about it. */
#include "task/skips.h"

#include "unit/task/policy_stage.h"

static void play(enum weir_policy_action action, const char *output, const char *script)
{
    policy_ask = (struct policy_ask){.policy = policy_of(action)};
    policy_play_with(&POLICY_STREAM, "", output, script);
}

/* ---- streams ---- */

/* The text goes on, with the warning on the very event that nobody looked at; once. */
static void test_stream(void **state)
{
    (void)state;
    static const enum weir_policy_action actions[] = {WEIR_POLICY_ANNOTATE, WEIR_POLICY_BLOCK,
                                                      WEIR_POLICY_REDACT};
    for (size_t i = 0; i < 3; i++) {
        play(actions[i], "s",
             "delta 0 {\"role\":\"assistant\",\"content\":\"\"}\n"
             "> 0 role \"\"\n"
             "say 0 One. Two. Three.\n"
             "answer s One.\n"
             "> 0 \"One.\" []\n"
             "refuse s  Three.\n"
             "-\n"
             "refuse s  Two.\n"
             "> 0 \" Two.\" [] !DETECTOR_SKIPPED\n"
             "> 0 \" Three.\" []\n"
             "finish 0\n"
             "done\n"
             "> 0 stop\n"
             "> end\n");
    }
}

/* What the others find is found; who is not skipped still fails the stream. */
static void test_others_still_count(void **state)
{
    (void)state;
    play(WEIR_POLICY_BLOCK, "s a",
         "say 0 One. A bad.\n"
         "refuse s One.\n"
         "-\n"
         "answer a One.\n"
         "> 0 role \"One.\" [] !DETECTOR_SKIPPED\n"
         "refuse s  A bad.\n"
         "answer a  A bad.\n"
         "> 0 \" A \" []\n"
         "> 0 \"\\n\\nNo.\" [a@7] !UNSUITABLE_OUTPUT\n"
         "> 0 content_filter\n"
         "> end\n");
    play(WEIR_POLICY_REDACT, "s a",
         "say 0 One. Two.\n"
         "refuse s One.\n"
         "answer a One.\n"
         "> 0 role \"One.\" [] !DETECTOR_SKIPPED\n"
         "refuse a  Two.\n"
         "> fail detector a EPEER\n");
}

/* Two of them, at different times: each is told once. */
static void test_two(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "s t",
         "say 0 One. Two.\n"
         "refuse s One.\n"
         "answer t One.\n"
         "> 0 role \"One.\" [] !DETECTOR_SKIPPED\n"
         "refuse t  Two.\n"
         "refuse s  Two.\n"
         "> 0 \" Two.\" [] !DETECTOR_SKIPPED\n"
         "finish 0\n"
         "done\n"
         "> 0 stop\n"
         "> end\n");
}

/* Nobody looks at the answer: its first event tells what was not looked at in the question. */
static void test_question(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    policy_play_with(&POLICY_STREAM, "s", "",
                     "refuse s a bad question.\n"
                     "say 0 Hi\n"
                     "> 0 \"Hi\" !DETECTOR_SKIPPED\n"
                     "say 0 you\n"
                     "> raw {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":7,"
                     "\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"you\"},"
                     "\"finish_reason\":null}]}\n"
                     "done\n"
                     "> end\n");
    policy_play_with(&POLICY_STREAM, "s now", "",
                     "refuse s a bad question.\n"
                     "asked {\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
                     "\"a [Ugh] question.\"}]}\n"
                     "say 0 Hi\n"
                     "> 0 \"Hi\" [now@2] !DETECTOR_SKIPPED\n"
                     "done\n"
                     "> end\n");
}

/* ---- where it may not be ---- */

static struct weir_fault fault_of(enum weir_fault_origin origin, int err)
{
    return (struct weir_fault){.origin = origin, .err = err};
}

static void test_only_its_own_faults(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    const struct weir_task_detector *s = stage_plan(st, "s").uses[0].d;
    const struct weir_task_detector *a = stage_plan(st, "a").uses[0].d;
    struct weir_fault fault = fault_of(WEIR_FAULT_DETECTOR, WEIR_ETIMEOUT);
    assert_false(weir_skips_take(&st->task, s, &fault)); /* nobody could be told */
    st->task.skips.may_skip = true;
    assert_false(weir_skips_take(&st->task, a, &fault));
    struct weir_fault ours[] = {
        fault_of(WEIR_FAULT_DETECTOR, WEIR_EFULL), fault_of(WEIR_FAULT_CHUNKER, WEIR_EPEER),
        fault_of(WEIR_FAULT_REQUEST, WEIR_EINVAL), fault_of(WEIR_FAULT_LIMIT, WEIR_ELIMIT),
        fault_of(WEIR_FAULT_INTERNAL, WEIR_EIO)};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        assert_false(weir_skips_take(&st->task, s, &ours[i]));
    }
    assert_false(weir_skips_are_due(&st->task.skips));
    assert_true(weir_skips_take(&st->task, s, &fault));
    assert_true(weir_skips_are_due(&st->task.skips));
    stage_free(st);
}

/* ---- telling ---- */

static void tells(struct stage *st, const char *json, const char *told)
{
    struct weir_buf out = {0};
    struct weir_slice got = weir_skips_tell(&st->task.skips, weir_slice_cstr(json), &out);
    char *text = weir_mem_zalloc(got.n + 1);
    memcpy(text, got.p, got.n);
    assert_string_equal(text, told);
    free(text);
    weir_buf_dispose(&out);
}

#define SKIPPED(id)                                                                                \
    "{\"type\":\"DETECTOR_SKIPPED\",\"message\":\"Detector `" id                                   \
    "` could not answer and was skipped.\",\"detector_id\":\"" id "\"}"

static void test_telling(void **state)
{
    (void)state;
    struct stage *st = stage_new();
    struct weir_plan plan = stage_plan(st, "s t");
    struct weir_fault fault = fault_of(WEIR_FAULT_DETECTOR, WEIR_EPEER);
    struct weir_buf ids = {0};
    st->task.skips.may_skip = true;
    tells(st, "{\"a\":1}", "{\"a\":1}");
    weir_skips_take(&st->task, plan.uses[0].d, &fault);
    weir_skips_take(&st->task, plan.uses[0].d, &fault);
    tells(st, "[1]", "[1]"); /* nowhere to tell it: it stays due */
    tells(st, "nonsense", "nonsense");
    tells(st, "{\"a\":1}", "{\"a\":1,\"warnings\":[" SKIPPED("s") "]}");
    weir_skips_take(&st->task, plan.uses[0].d, &fault);
    tells(st, "{\"a\":1}", "{\"a\":1}");
    weir_skips_take(&st->task, plan.uses[1].d, &fault);
    tells(st, "{\"warnings\":[{\"x\":1}]}", "{\"warnings\":[{\"x\":1}," SKIPPED("t") "]}");
    tells(st, "{}", "{}");
    weir_skips_write_ids(&st->task.skips, &ids);
    assert_string_equal(weir_buf_cstr(&ids), "s t");
    weir_buf_dispose(&ids);
    stage_free(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_others_still_count),
        cmocka_unit_test(test_two),
        cmocka_unit_test(test_question),
        cmocka_unit_test(test_only_its_own_faults),
        cmocka_unit_test(test_telling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
