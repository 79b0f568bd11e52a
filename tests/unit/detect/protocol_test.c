/* Each protocol by itself: what is sent for two texts, what answers become, and that whatever does
 * not fit the contract is a fault with a reason. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "conf/conf.h"
#include "detect/protocol.h"

#include <stdio.h>

static struct weir_arena arena;
static struct weir_slice texts[] = {WEIR_SLICE("one \"1\""), WEIR_SLICE("zw\xc3\xb6lf")};
static struct weir_detect_input input;
static struct weir_protocol_options options;
static const struct weir_protocol *protocol;

static const struct weir_protocol_label LABELS[] = {
    {.name = WEIR_SLICE("SAFE"), .is_dropped = true},
    {.name = WEIR_SLICE("INJECTION"),
     .detection = WEIR_SLICE("prompt_injection"),
     .detection_type = WEIR_SLICE("security")},
};

static int setup(void **state)
{
    (void)state;
    input = (struct weir_detect_input){
        .type = WEIR_DETECT_CONTENTS, .contents = texts, .n_contents = 2, .threshold = 0.5};
    options = (struct weir_protocol_options){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    weir_arena_dispose(&arena);
    return 0;
}

static struct weir_protocol_ask ask(void)
{
    return (struct weir_protocol_ask){
        .options = &options, .input = &input, .id = WEIR_SLICE("det"), .arena = &arena};
}

static void assert_slice(struct weir_slice got, const char *expected)
{
    if (!weir_slice_eq_cstr(got, expected)) {
        fail_msg("\"%.*s\", not \"%s\"", (int)got.n, got.p, expected);
    }
}

static void expect_request(const char *path, const char *body)
{
    struct weir_protocol_ask a = ask();
    struct weir_buf out = {0};
    assert_slice(protocol->path(&a), path);
    protocol->write(&a, &out);
    assert_slice(weir_buf_slice(&out), body);
    weir_buf_dispose(&out);
}

/* "0:label/type@0-5=0.9;…": text, detection, type, place, score as it would be printed. */
static void expect_answer(const char *body, const char *expected)
{
    struct weir_protocol_ask a = ask();
    struct weir_detect_answer answer;
    int rc = weir_protocol_read(protocol, &answer, weir_slice_cstr(body), &a);
    if (rc != 0) {
        fail_msg("%s: %s", body, answer.why);
    }
    assert_int_equal(answer.n_lists, input.n_contents);
    struct weir_buf out = {0};
    for (size_t i = 0; i < answer.n_lists; i++) {
        for (size_t k = 0; k < answer.lists[i].n; k++) {
            const struct weir_detection *d = &answer.lists[i].items[k];
            assert_slice(d->detector_id, "det");
            assert_true(d->has_span);
            weir_buf_printf(&out, "%zu:%.*s/%.*s@%zu-%zu", i, (int)d->detection.n, d->detection.p,
                            (int)d->detection_type.n, d->detection_type.p, d->start_cp, d->end_cp);
            if (d->score_raw.n != 0) {
                weir_buf_printf(&out, "=%.*s;", (int)d->score_raw.n, d->score_raw.p);
            } else {
                weir_buf_printf(&out, "=%.3f;", d->score);
            }
        }
    }
    assert_slice(weir_buf_slice(&out), expected);
    weir_buf_dispose(&out);
}

static void expect_nonsense(const char *body, const char *why)
{
    struct weir_protocol_ask a = ask();
    struct weir_detect_answer answer;
    assert_int_equal(weir_protocol_read(protocol, &answer, weir_slice_cstr(body), &a), WEIR_EPEER);
    assert_int_equal(answer.n_lists, 0);
    assert_slice(weir_slice_cstr(answer.why), why);
}

static void expect_error(const char *body, const char *message)
{
    struct weir_fault fault = {0};
    protocol->error(&fault, 424, weir_slice_cstr(body), &arena);
    assert_int_equal(fault.status, 424);
    assert_slice(fault.message, message);
}

static void use_labels(void)
{
    options.labels = LABELS;
    options.n_labels = 2;
}

static void test_tei(void **state)
{
    (void)state;
    protocol = &weir_protocol_tei;
    expect_request("/predict", "{\"inputs\":[[\"one \\\"1\\\"\"],[\"zw\xc3\xb6lf\"]]}");
    options.params = WEIR_SLICE("{\"truncate\":true,\"inputs\":1,\"raw_scores\":true}");
    input.params = WEIR_SLICE("{\"raw_scores\":false}");
    expect_request("/predict", "{\"inputs\":[[\"one \\\"1\\\"\"],[\"zw\xc3\xb6lf\"]],"
                               "\"truncate\":true,\"raw_scores\":false}");
    expect_answer("[[{\"score\":0.93,\"label\":\"A\"},{\"score\":0.07,\"label\":\"B\"}],"
                  "[{\"score\":0.5,\"label\":\"B\"},{\"score\":0.50,\"label\":\"A\"}]]",
                  "0:A/classification@0-7=0.93;1:B/classification@0-5=0.5;"
                  "1:A/classification@0-5=0.50;");
    use_labels();
    expect_answer("[[{\"score\":0.93,\"label\":\"SAFE\"}],[{\"score\":1e0,\"label\":"
                  "\"INJECTION\"},{\"score\":0.6,\"label\":\"x\"}]]",
                  "1:prompt_injection/security@0-5=1e0;1:x/classification@0-5=0.6;");
    expect_nonsense("[[{\"score\":0.93,\"label\":\"A\"}]]",
                    "text 0: the answer has 1 entries, not 2");
    expect_nonsense("{}", "text 0: the answer is not a list");
    expect_nonsense("[[],[]]", "text 0: no list of labels");
    expect_nonsense("[[{\"score\":1,\"label\":\"A\"}],{}]", "text 1: no list of labels");
    expect_nonsense("[[{\"score\":1}],[]]", "text 0: `label` is missing");
    expect_nonsense("[[{\"score\":\"1\",\"label\":\"A\"}],[]]", "text 0: `score` is not a number");
    expect_nonsense("[[{\"score\":1e999,\"label\":\"A\"}],[]]",
                    "text 0: `score` is not a finite number");
    expect_nonsense("[[{\"score\":1,\"label\":null}],[]]", "text 0: `label` is missing");
    expect_nonsense("[[1],[]]", "text 0: no object where `label` should be");
    expect_nonsense("[[", "not JSON that can be read: unterminated array at byte 2 of 2");
    expect_error("{\"error\":\"model is overloaded\",\"error_type\":\"Overloaded\"}",
                 "model is overloaded");
    expect_error("oops", "");
}

static void test_vllm_classify(void **state)
{
    (void)state;
    protocol = &weir_protocol_vllm_classify;
    expect_request("/classify", "{\"input\":[\"one \\\"1\\\"\",\"zw\xc3\xb6lf\"]}");
    options.model = WEIR_SLICE("m");
    expect_request("/classify", "{\"model\":\"m\",\"input\":[\"one \\\"1\\\"\",\"zw\xc3\xb6lf\"]}");
    expect_answer("{\"data\":[{\"index\":0,\"label\":\"A\",\"probs\":[0.1,0.9]},"
                  "{\"index\":1,\"label\":\"B\",\"probs\":[0.3,0.4]}]}",
                  "0:A/classification@0-7=0.9;");
    expect_nonsense("{\"data\":[{\"index\":0,\"label\":null,\"probs\":[0.1,0.9]},{}]}",
                    "text 0: `label` is missing, and `labels` are not configured");
    use_labels();
    expect_answer("{\"data\":[{\"index\":0,\"label\":\"INJECTION\",\"probs\":[0.1,0.9]},"
                  "{\"index\":1,\"label\":null,\"probs\":[0.5,0.5]}]}",
                  "0:prompt_injection/security@0-7=0.9;1:prompt_injection/security@0-5=0.5;");
    expect_nonsense("{\"data\":[{\"index\":0,\"label\":\"SAFE\",\"probs\":[0.1,0.9]},{}]}",
                    "text 0: class 1 is not called `INJECTION`, as `labels` has it");
    expect_nonsense("{\"data\":[{\"index\":0,\"probs\":[0.1,0.2,0.7]},{}]}",
                    "text 0: `probs` has 3 entries, not 2");
    expect_nonsense("{\"data\":[{\"index\":0,\"probs\":[]},{}]}", "text 0: `probs` is empty");
    expect_nonsense("{\"data\":[{\"index\":1,\"probs\":[1,0]},{}]}",
                    "text 0: `index` is out of order");
    expect_nonsense("{\"data\":[{\"index\":0,\"probs\":[1,\"\"]},{}]}",
                    "text 0: an entry of `probs` is not a finite number");
    expect_nonsense("{\"data\":[]}", "text 0: `data` has 0 entries, not 2");
    expect_nonsense("{}", "text 0: `data` is missing");
    expect_nonsense("[]", "text 0: no object where `data` should be");
    expect_error("{\"error\":{\"message\":\"too long\",\"type\":\"BadRequestError\"}}", "too long");
    expect_error("{\"object\":\"error\",\"message\":\"older\"}", "older");
}

static void test_openai_moderation(void **state)
{
    (void)state;
    protocol = &weir_protocol_openai_moderation;
    options.model = WEIR_SLICE("omni-moderation-latest");
    expect_request("/v1/moderations", "{\"model\":\"omni-moderation-latest\","
                                      "\"input\":[\"one \\\"1\\\"\",\"zw\xc3\xb6lf\"]}");
    expect_answer("{\"id\":\"modr\",\"results\":[{\"flagged\":true,\"categories\":{\"hate\":true},"
                  "\"category_scores\":{\"hate\":0.9,\"self-harm/intent\":0.7,\"violence\":0.2}},"
                  "{\"flagged\":true,\"category_scores\":{\"illicit\":null,\"violence\":0.49}}]}",
                  "0:hate/moderation@0-7=0.9;0:self-harm/intent/moderation@0-7=0.7;");
    expect_nonsense("{\"results\":[{\"flagged\":false}]}",
                    "text 0: `results` has 1 entries, not 2");
    expect_nonsense("{\"results\":[{\"flagged\":false},{}]}",
                    "text 0: `category_scores` is missing");
    expect_nonsense("{\"results\":[{\"category_scores\":{}},{}]}",
                    "text 0: `category_scores` is empty");
    expect_nonsense("{\"results\":[{\"category_scores\":{\"hate\":true}},{}]}",
                    "text 0: a score of `category_scores` is not a finite number");
    expect_error("{\"error\":{\"message\":\"Incorrect API key\",\"code\":\"invalid_api_key\"}}",
                 "Incorrect API key");
}

static void test_presidio(void **state)
{
    static const struct weir_slice entities[] = {WEIR_SLICE("PERSON"), WEIR_SLICE("IBAN_CODE")};
    (void)state;
    protocol = &weir_protocol_presidio;
    input.contents = texts + 1;
    input.n_contents = 1;
    expect_request("/analyze",
                   "{\"text\":\"zw\xc3\xb6lf\",\"language\":\"en\",\"score_threshold\":0.5}");
    options.language = WEIR_SLICE("de");
    options.entities = entities;
    options.n_entities = 2;
    options.params = WEIR_SLICE("{\"return_decision_process\":false}");
    expect_request("/analyze", "{\"text\":\"zw\xc3\xb6lf\",\"language\":\"de\",\"entities\":["
                               "\"PERSON\",\"IBAN_CODE\"],\"score_threshold\":0.5,"
                               "\"return_decision_process\":false}");
    expect_answer("[]", "");
    expect_answer("[{\"entity_type\":\"PERSON\",\"start\":2,\"end\":5,\"score\":0.85,"
                  "\"analysis_explanation\":null},{\"entity_type\":\"X\",\"start\":0,\"end\":0,"
                  "\"score\":0.4}]",
                  "0:PERSON/pii@2-5=0.85;");
    struct weir_protocol_ask a = ask();
    struct weir_detect_answer answer;
    assert_int_equal(weir_protocol_read(
                         protocol, &answer,
                         WEIR_SLICE("[{\"entity_type\":\"P\",\"start\":2,\"end\":4,\"score\":1}]"),
                         &a),
                     0);
    assert_slice(answer.lists[0].items[0].text, "\xc3\xb6l");
    expect_nonsense("[{\"entity_type\":\"P\",\"start\":2,\"end\":6,\"score\":1}]",
                    "`start` and `end` are no place in a text of 5 code points");
    expect_nonsense("[{\"entity_type\":\"P\",\"start\":3,\"end\":2,\"score\":1}]",
                    "`start` and `end` are no place in a text of 5 code points");
    expect_nonsense("[{\"entity_type\":\"P\",\"start\":-1,\"end\":2,\"score\":1}]",
                    "`start` and `end` are no place in a text of 5 code points");
    expect_nonsense("[{\"start\":3,\"end\":2,\"score\":1}]", "`entity_type` is missing");
    expect_nonsense("{\"error\":\"x\"}", "the answer is not a list");
    expect_error("{\"error\":\"No matching recognizers\"}", "No matching recognizers");
}

static void use_oip(void)
{
    protocol = &weir_protocol_oip;
    use_labels();
    options.model = WEIR_SLICE("in jection");
    options.input_name = WEIR_SLICE("text");
    options.output_name = WEIR_SLICE("logits");
}

static void test_oip(void **state)
{
    (void)state;
    use_oip();
    assert_null(protocol->check(&options));
    expect_request("/v2/models/in%20jection/infer",
                   "{\"inputs\":[{\"name\":\"text\",\"shape\":[2],\"datatype\":\"BYTES\","
                   "\"data\":[\"one \\\"1\\\"\",\"zw\xc3\xb6lf\"]}],"
                   "\"outputs\":[{\"name\":\"logits\"}]}");
    expect_answer("{\"outputs\":[{\"name\":\"other\"},{\"name\":\"logits\",\"shape\":[2,2],"
                  "\"datatype\":\"FP32\",\"data\":[0.9,0.1,0.25,0.75]}]}",
                  "1:prompt_injection/security@0-5=0.75;");
    expect_answer("{\"outputs\":[{\"name\":\"logits\",\"shape\":[2,2],\"data\":[[0.9,0.1],"
                  "[0.25,0.75]]}]}",
                  "1:prompt_injection/security@0-5=0.75;");
    options.activation = WEIR_ACTIVATION_SOFTMAX;
    expect_answer("{\"outputs\":[{\"name\":\"logits\",\"shape\":[2,2],\"data\":[2,-2,1000,1000]}]}",
                  "1:prompt_injection/security@0-5=0.500;");
    options.activation = WEIR_ACTIVATION_SIGMOID;
    expect_answer("{\"outputs\":[{\"name\":\"logits\",\"shape\":[2,2],\"data\":[2,2,3,-3]}]}",
                  "0:prompt_injection/security@0-7=0.881;");
    expect_nonsense("{\"outputs\":[{\"name\":\"logits\",\"shape\":[4],\"data\":[1,2,3,4]}]}",
                    "text 0: `shape` is not 2 by 2");
    expect_nonsense("{\"outputs\":[{\"name\":\"logits\",\"shape\":[2,3],\"data\":[1,2,3,4]}]}",
                    "text 0: `shape` is not 2 by 2");
    expect_nonsense(
        "{\"outputs\":[{\"name\":\"logits\",\"shape\":[2,99999999999],\"data\":[1,2]}]}",
        "text 0: `shape` is not 2 by 2");
    expect_nonsense("{\"outputs\":[{\"name\":\"logits\",\"shape\":[2,2],\"data\":[1,2,3]}]}",
                    "text 0: `data` has 3 numbers, not 4");
    expect_nonsense("{\"outputs\":[{\"name\":\"logits\",\"shape\":[2,2],\"data\":[1,2,3,4,5]}]}",
                    "text 0: `data` is not 4 numbers");
    expect_nonsense("{\"outputs\":[{\"name\":\"logits\",\"shape\":[2,2],\"data\":[1,2,3,\"4\"]}]}",
                    "text 0: `data` is not 4 numbers");
    expect_nonsense("{\"outputs\":[{\"name\":\"other\",\"shape\":[2,2],\"data\":[1,2,3,4]}]}",
                    "text 0: no output `logits`");
    expect_error("{\"error\":\"unknown model\"}", "unknown model");
    options.n_labels = 0;
    assert_non_null(protocol->check(&options));
    use_labels();
    options.input_name = WEIR_SLICE("");
    assert_non_null(protocol->check(&options));
    options.model = WEIR_SLICE("");
    assert_non_null(protocol->check(&options));
}

static void test_azure(void **state)
{
    struct weir_http_field fields[WEIR_PROTOCOL_MAX_FIELDS];
    (void)state;
    protocol = &weir_protocol_azure_content_safety;
    assert_non_null(protocol->check(&options));
    options.api_version = WEIR_SLICE("2024-09-01");
    options.key = WEIR_SLICE("secret");
    assert_null(protocol->check(&options));
    input.contents = texts + 1;
    input.n_contents = 1;
    input.threshold = 0.25;
    struct weir_protocol_ask a = ask();
    assert_int_equal(protocol->fields(&a, fields), 1);
    assert_slice(fields[0].name, "ocp-apim-subscription-key");
    assert_slice(fields[0].value, "secret");
    expect_request("/contentsafety/text:analyze?api-version=2024-09-01",
                   "{\"text\":\"zw\xc3\xb6lf\",\"outputType\":\"EightSeverityLevels\"}");
    expect_answer("{\"blocklistsMatch\":[{\"blocklistName\":\"names\",\"blocklistItemId\":\"1\","
                  "\"blocklistItemText\":\"x\"}],\"categoriesAnalysis\":[{\"category\":\"Hate\","
                  "\"severity\":2},{\"category\":\"Violence\",\"severity\":1},"
                  "{\"category\":\"Sexual\",\"severity\":0}]}",
                  "0:Hate/content_safety@0-5=0.286;0:names/content_safety@0-5=1.000;");
    input.threshold = 0;
    expect_answer("{\"categoriesAnalysis\":[{\"category\":\"Hate\",\"severity\":0}]}", "");
    expect_nonsense("{\"categoriesAnalysis\":[{\"category\":\"Hate\",\"severity\":8}]}",
                    "`severity` is not a number from 0 to 7");
    expect_nonsense("{\"categoriesAnalysis\":[{\"category\":\"Hate\"}]}", "`severity` is missing");
    expect_nonsense("{\"blocklistsMatch\":[]}", "`categoriesAnalysis` is missing");
    expect_nonsense("{\"categoriesAnalysis\":[],\"blocklistsMatch\":{}}",
                    "`blocklistsMatch` is not a list");
    expect_error("{\"error\":{\"code\":\"InvalidRequestBody\",\"message\":\"too long\"}}",
                 "too long");
    options.is_shield = true;
    expect_request("/contentsafety/text:shieldPrompt?api-version=2024-09-01",
                   "{\"userPrompt\":\"zw\xc3\xb6lf\",\"documents\":[]}");
    expect_answer("{\"userPromptAnalysis\":{\"attackDetected\":false},\"documentsAnalysis\":[]}",
                  "");
    expect_answer("{\"userPromptAnalysis\":{\"attackDetected\":true}}",
                  "0:UserPromptAttack/content_safety@0-5=1.000;");
    expect_nonsense("{\"userPromptAnalysis\":{\"attackDetected\":1}}",
                    "`attackDetected` is not a boolean");
    expect_nonsense("{\"userPromptAnalysis\":{}}", "`attackDetected` is not a boolean");
    expect_nonsense("{}", "`userPromptAnalysis` is missing");
}

/* What a judge said, as an answer: `said` is JSON without its quotes. */
static const char *said(const char *words)
{
    return weir_arena_printf(&arena,
                             "{\"id\":\"c\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
                             "\"assistant\",\"content\":\"%s\"},\"finish_reason\":\"stop\"}]}",
                             words);
}

static void test_chat_judge_qwen3guard(void **state)
{
    (void)state;
    protocol = &weir_protocol_chat_judge;
    options.preset = WEIR_JUDGE_QWEN3GUARD;
    assert_non_null(protocol->check(&options));
    options.model = WEIR_SLICE("guard");
    assert_null(protocol->check(&options));
    input.contents = texts + 1;
    input.n_contents = 1;
    expect_request("/v1/chat/completions",
                   "{\"model\":\"guard\",\"messages\":[{\"role\":\"user\",\"content\":"
                   "\"zw\xc3\xb6lf\"}],\"temperature\":0,\"max_tokens\":128,\"stream\":false}");
    expect_answer(said("Safety: Safe\\nCategories: None"), "");
    expect_answer(said("Safety: Unsafe\\nCategories: Violent, Suicide & Self-Harm"),
                  "0:Violent/judge@0-5=1.000;0:Suicide & Self-Harm/judge@0-5=1.000;");
    expect_answer(said("\\nSafety: Controversial \\nCategories: PII\\nRefusal: No"),
                  "0:PII/judge@0-5=0.500;");
    expect_answer(said("Safety: Unsafe\\nCategories: None"), "0:Unsafe/judge@0-5=1.000;");
    input.threshold = 0.6;
    expect_answer(said("Safety: Controversial\\nCategories: PII"), "");
    expect_nonsense(said("I cannot say. Safety: Safe"), "no verdict in what the judge said");
    expect_nonsense(said(""), "no verdict in what the judge said");
    expect_nonsense(said("Safety: Safeish"), "no verdict in what the judge said");
    expect_nonsense("{\"choices\":[]}", "`choices` is empty");
    expect_nonsense("{\"choices\":[{\"message\":{\"content\":null}}]}", "`content` is missing");
    expect_nonsense("{\"choices\":[{\"text\":\"Safety: Safe\"}]}", "`message` is missing");
    expect_error("{\"error\":{\"message\":\"no such model\"}}", "no such model");
    input.type = WEIR_DETECT_CHAT;
    input.messages = WEIR_SLICE("[{\"role\": \"user\", \"content\": [1e3]}]");
    expect_request("/v1/chat/completions",
                   "{\"model\":\"guard\",\"messages\":[{\"role\":\"user\",\"content\":[1e3]}],"
                   "\"temperature\":0,\"max_tokens\":128,\"stream\":false}");
    struct weir_protocol_ask a = ask();
    struct weir_detect_answer answer;
    const char *unsafe = said("Safety: Unsafe\\nCategories: Violent");
    input.threshold = 0.5;
    assert_int_equal(weir_protocol_read(protocol, &answer, weir_slice_cstr(unsafe), &a), 0);
    assert_int_equal(answer.n_lists, 1);
    assert_int_equal(answer.lists[0].n, 1);
    assert_false(answer.lists[0].items[0].has_span);
}

static void test_chat_judge_custom(void **state)
{
    static const struct weir_judge_message messages[] = {
        {WEIR_SLICE("system"), WEIR_SLICE("Answer yes or no.")},
        {WEIR_SLICE("user"), WEIR_SLICE("Is {text} bad? Again: {text}")}};
    static const struct weir_slice positive[] = {WEIR_SLICE("yes")};
    static const struct weir_protocol_label labels[] = {
        {.name = WEIR_SLICE("yes"), .detection = WEIR_SLICE("bad")}};
    struct weir_buf why = {0};
    (void)state;
    protocol = &weir_protocol_chat_judge;
    options.model = WEIR_SLICE("m");
    assert_non_null(protocol->check(&options));
    assert_null(weir_judge_pattern_new(WEIR_SLICE("("), &why));
    assert_true(why.n != 0);
    weir_buf_clear(&why);
    assert_null(weir_judge_pattern_new(WEIR_SLICE("yes"), &why));
    assert_true(why.n != 0);
    weir_buf_dispose(&why);
    struct weir_judge_pattern *verdict =
        weir_judge_pattern_new(WEIR_SLICE("^\\s*(yes|no)\\b"), NULL);
    options.verdict = verdict;
    options.positive = positive;
    options.n_positive = 1;
    options.messages = messages;
    options.n_messages = 2;
    options.labels = labels;
    options.n_labels = 1;
    options.params = WEIR_SLICE("{\"max_tokens\":5,\"model\":\"other\"}");
    assert_null(protocol->check(&options));
    texts[0] = WEIR_SLICE("{text}");
    input.n_contents = 1;
    expect_request("/v1/chat/completions",
                   "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"Answer yes "
                   "or no.\"},{\"role\":\"user\",\"content\":\"Is {text} bad? Again: {text}\"}],"
                   "\"temperature\":0,\"stream\":false,\"max_tokens\":5}");
    texts[0] = WEIR_SLICE("one \"1\"");
    expect_answer(said(" YES, it is"), "0:bad/judge@0-7=1.000;");
    expect_answer(said("no"), "");
    expect_nonsense(said("nobody knows"), "no verdict in what the judge said");
    expect_nonsense(said("maybe yes"), "no verdict in what the judge said");
    options.preset = WEIR_JUDGE_QWEN3GUARD;
    assert_non_null(protocol->check(&options));
    weir_judge_pattern_free(verdict);
}

/* The configuration's words and this table are the same. */
static void test_the_table(void **state)
{
    (void)state;
    size_t n = 0;
    for (; weir_protocol_at(n) != NULL; n++) {
        const char *name = weir_conf_protocol_name((enum weir_conf_protocol)n);
        assert_string_equal(weir_protocol_at(n)->name, name);
        assert_ptr_equal(weir_protocol_find(weir_slice_cstr(name)), weir_protocol_at(n));
    }
    /* One of them is no question and answer: detect/streamed.h. */
    assert_int_equal(n, WEIR_CONF_PROTOCOL_STREAM);
    assert_string_equal(weir_conf_protocol_name(WEIR_CONF_PROTOCOL_STREAM), "stream");
    assert_null(weir_conf_protocol_name((enum weir_conf_protocol)(n + 1)));
    assert_null(weir_protocol_find(WEIR_SLICE("soap")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tei, setup, teardown),
        cmocka_unit_test_setup_teardown(test_vllm_classify, setup, teardown),
        cmocka_unit_test_setup_teardown(test_openai_moderation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_presidio, setup, teardown),
        cmocka_unit_test_setup_teardown(test_oip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_azure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_chat_judge_qwen3guard, setup, teardown),
        cmocka_unit_test_setup_teardown(test_chat_judge_custom, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_table, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
