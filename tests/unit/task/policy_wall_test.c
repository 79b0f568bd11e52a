/* What leaves a route that blocks or redacts besides its text: log probabilities, members with a
 * form, JSON that stays JSON, and how a block is said. */
#include "unit/task/policy_stage.h"

static void play(enum weir_policy_action action, const char *output, const char *script)
{
    policy_ask = (struct policy_ask){.policy = policy_of(action)};
    policy_play_with(&POLICY_STREAM, "", output, script);
}

/* Log probabilities leave with the text they are of; those of text that was found do not, nor do
 * other candidates, nor anything else that tells tokens apart. */
#define ENTRY(token, logprob) "{\"token\":\"" token "\",\"logprob\":" logprob "}"
#define WITH_LOGPROBS(text, entries)                                                               \
    "event {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text                              \
    "\"},\"logprobs\":{\"content\":[" entries "]},\"token_ids\":[7]}]}\n"
#define LEFT(token, logprob)                                                                       \
    "{\"token\":\"" token "\",\"logprob\":" logprob ",\"bytes\":null,\"top_logprobs\":[]}"

static void test_redact_logprobs(void **state)
{
    (void)state;
    play(
        WEIR_POLICY_REDACT, "now",
        "event {\"prompt_logprobs\":[1],\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Ok\"},"
        "\"logprobs\":{\"content\":[{\"token\":\"secret\",\"logprob\":-1,\"bytes\":[79,107],"
        "\"top_logprobs\":[{\"token\":\"secret\",\"logprob\":-9}]}]},\"token_ids\":[7]}]}\n"
        /* Two that come before their text. */
        WITH_LOGPROBS(
            ".", ENTRY(".", "-2") "," ENTRY("ba", "-3") "," ENTRY(
                     "d.",
                     "-4")) "> "
                            "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
                            "\"content\":\"Ok.\"},"
                            "\"logprobs\":{\"content\":[{\"token\":\"Ok\",\"logprob\":-1,"
                            "\"bytes\":[79,107],"
                            "\"top_logprobs\":[]}," LEFT(
                                ".", "-2") "],\"refusal\":null},\"finish_reason\":null}],"
                                           "\"detections\":{\"output\":[{\"choice_index\":0,"
                                           "\"results\":[]}]}}\n"
                                           "say 0 bad\n" WITH_LOGPROBS(". So", ENTRY(" So", "-5")) "> 0 \"[Ugh].\" [now@3] !UNSUITABLE_OUTPUT\n" WITH_LOGPROBS(
                                               ". Go.",
                                               ENTRY(".", "-6") "," ENTRY(" No", "-7") "," ENTRY(
                                                   ".",
                                                   "-8")) "> "
                                                          "{\"choices\":[{\"index\":0,\"delta\":{"
                                                          "\"content\":\" "
                                                          "So.\"},\"logprobs\":{\"content\":"
                                                          "[" LEFT(" So", "-5") "," LEFT(
                                                              ".",
                                                              "-6") "],"
                                                                    "\"refusal"
                                                                    "\":null},"
                                                                    "\"finish_"
                                                                    "reason\":"
                                                                    "null}],"
                                                                    "\"detecti"
                                                                    "ons\":{"
                                                                    "\"output"
                                                                    "\":[{"
                                                                    "\"choice_"
                                                                    "index\":"
                                                                    "0,"
                                                                    "\"results"
                                                                    "\":[]}]}}"
                                                                    "\n"
                                                                    "> 0 \" "
                                                                    "Go.\" "
                                                                    "[]"
                                                                    "\n" WITH_LOGPROBS(
                                                                        " Hm.",
                                                                        ENTRY(
                                                                            " "
                                                                            "H"
                                                                            "m"
                                                                            ".",
                                                                            "-"
                                                                            "9")) "> "
                                                                                  "{\"choices\":[{"
                                                                                  "\"index\":0,"
                                                                                  "\"delta\":{"
                                                                                  "\"content\":\" "
                                                                                  "Hm.\"},"
                                                                                  "\"logprobs\":"
                                                                                  "null,"
                                                                                  "\"finish_"
                                                                                  "reason\":null}],"
                                                                                  "\"detections\":{"
                                                                                  "\"output\":[{"
                                                                                  "\"choice_"
                                                                                  "index\":0,"
                                                                                  "\"results\":[]}]"
                                                                                  "}}\n"
                                                                                  "finish 0\n"
                                                                                  "done\n"
                                                                                  "> 0 stop\n"
                                                                                  "> end\n");
}

/* ---- members with a form ---- */

static void test_members_have_forms(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "now",
         "event {\"id\":\"a bad id\",\"object\":\"chat.completion.chunk\",\"created\":\"bad\","
         "\"model\":\"a bad model\",\"service_tier\":\"bad one\",\"system_fingerprint\":\"fp_1\","
         "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\"}}],\"usage\":{"
         "\"prompt_tokens\":5,\"note\":\"bad text\",\"a bad key\":1,\"word\":\"cached\","
         "\"list\":[1],\"details\":{\"x\":null,\"y\":\"a b\",\"z\":true}}}\n"
         "> {\"id\":null,\"object\":\"chat.completion.chunk\",\"created\":null,\"model\":\"m\","
         "\"service_tier\":null,\"system_fingerprint\":\"fp_1\",\"choices\":[{\"index\":0,"
         "\"delta\":{\"role\":\"assistant\",\"content\":\"Hi.\"},\"logprobs\":null,"
         "\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":5,\"note\":null,\"word\":"
         "\"cached\",\"list\":null,\"details\":{\"x\":null,\"y\":null,\"z\":true}},"
         "\"detections\":{\"output\":[{\"choice_index\":0,\"results\":[]}]}}\n"
         "event {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"a bad reason\","
         "\"stop_reason\":\"bad\\n\"}]}\n"
         "done\n"
         "> {\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\","
         "\"stop_reason\":\"stop\"}]}\n"
         "> end\n");
}

/* Clients send a call's id back: one that is none fails the request. */
static void test_call_ids(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "now",
         "delta 0 {\"tool_calls\":[{\"index\":0,\"id\":\"a bad id\",\"function\":{\"name\":\"f\","
         "\"arguments\":\"{}\"}}]}\n"
         "finish 0\n"
         "done\n"
         "> fail chat completion m EPEER\n");
}

/* Servers repeat the audio's id in every event: it leaves once, as it was said last. */
static void test_audio_is_told_once(void **state)
{
    (void)state;
    play(WEIR_POLICY_REDACT, "now",
         "delta 0 {\"audio\":{\"id\":\"audio_1\"}}\n"
         "delta 0 {\"audio\":{\"id\":\"audio_1\",\"expires_at\":5}}\n"
         "delta 0 {\"audio\":{\"id\":\"audio_1\",\"expires_at\":7}}\n"
         "finish 0\n"
         "done\n"
         "> 0 role \"\"\n"
         "> 0 audio:{\"id\":\"audio_1\",\"expires_at\":7}\n"
         "> 0 stop\n"
         "> end\n");
}

/* What was found is not told by the finding's own name. */
static void test_findings_do_not_tell(void **state)
{
    (void)state;
    struct weir_detection d = {.text = WEIR_SLICE("hunter2"),
                               .detection = WEIR_SLICE("hunter2"),
                               .detection_type = WEIR_SLICE("keyword")};
    assert_true(weir_slice_eq_cstr(weir_detection_name(&d), "keyword"));
    d.detection = WEIR_SLICE("EmailAddress");
    assert_true(weir_slice_eq_cstr(weir_detection_name(&d), "EmailAddress"));
    d.detection = WEIR_SLICE("call +1 (555)");
    assert_true(weir_slice_eq_cstr(weir_detection_name(&d), "keyword"));
}

/* ---- JSON ---- */

/* Half of it would be of no use: it leaves when all is clean, or not at all. */
static void test_block_of_json(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK), .asks_json = true};
    policy_play_with(&POLICY_STREAM, "", "now",
                     "delta 0 {\"content\":\"{\\\"a\\\": \\\"One. Two.\"}\n"
                     "-\n"
                     "delta 0 {\"content\":\"\\\"}\"}\n"
                     "-\n"
                     "finish 0\n"
                     "done\n"
                     "> 0 role \"{\\\"a\\\": \\\"One.\" []\n"
                     "> 0 \" Two.\" []\n"
                     "> 0 \"\\\"}\" []\n"
                     "> 0 stop\n"
                     "> end\n");
    policy_play_with(&POLICY_STREAM, "", "now",
                     "delta 0 {\"content\":\"{\\\"a\\\": \\\"One.\"}\n"
                     "-\n"
                     "delta 0 {\"content\":\" A bad.\\\"}\"}\n"
                     "> 0 role refusal:\"No.\" [now@14] !UNSUITABLE_OUTPUT\n"
                     "> 0 content_filter\n"
                     "> end\n"
                     "stopped\n");
}

static void test_redaction_of_json(void **state)
{
    (void)state;
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT), .asks_json = true};
    policy_ask.policy.redact_with = WEIR_SLICE("[\"{detection}\"]");
    policy_play_with(&POLICY_STREAM, "", "now",
                     "delta 0 {\"content\":\"{\\\"a\\\": \\\"A bad. Two.\"}\n"
                     "> 0 role \"{\\\"a\\\": \\\"A [\\\\\\\"Ugh\\\\\\\"].\" [now@9] "
                     "!UNSUITABLE_OUTPUT\n"
                     "> 0 \" Two.\" []\n"
                     "delta 0 {\"content\":\"\\\", \\\"n\\\": 12\"}\n"
                     "finish 0\n"
                     "done\n"
                     "> 0 \"\\\", \\\"n\\\": \" []\n"
                     "> 0 \"12\" []\n"
                     "> 0 stop\n"
                     "> end\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redact_logprobs),
        cmocka_unit_test(test_members_have_forms),
        cmocka_unit_test(test_call_ids),
        cmocka_unit_test(test_audio_is_told_once),
        cmocka_unit_test(test_findings_do_not_tell),
        cmocka_unit_test(test_block_of_json),
        cmocka_unit_test(test_redaction_of_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
