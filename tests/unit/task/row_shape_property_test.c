/*
 * The short way of a token and the long one say the same, in Messages and in Responses. A stream
 * whose first events are all of different shapes makes no shapes any more (talk/shape.h), and
 * everything behind them takes the long way. So every random stream is played twice, behind a first
 * text whose events are alike and behind one whose events are not, and what leaves must be equal to
 * the letter, but for those.
 *
 * WEIR_PROPERTY_ROUNDS=100000 for more of it.
 */
#include "task/message.h"
#include "task/response.h"
#include "task/seal.h"
#include "unit/task/policy_reference.h"

static const struct weir_json_node NODES[] = {{.end = 2, .next = 1, .type = WEIR_JSON_OBJECT}};
static const struct weir_json NOTHING_ASKED = {.src = {"{}", 2}, .nodes = NODES, .n_nodes = 1};

enum { N_FIRST = 9 };        /* more than shapes that are made in a row without being seen again */
#define FIRST_MARK "\"x\":1" /* what makes them different: the digit behind it */

static struct weir_seal seal;
static bool has_logprobs;

/* ---- what a server says ---- */

/* As servers write it, or with members that nobody knows. */
static const char *extra(void)
{
    static const char *const extras[] = {",\"y\":[1,{\"z\":\"text\"}]", ",\"delta2\":\"text\"",
                                         ",\"y\":null"};
    return world_random(6) == 0 ? extras[world_random(3)] : "";
}

/* The next bit of the text as a string, sometimes spelled in a way of its own. */
static void cut(struct weir_slice *rest, bool *has_half, struct weir_buf *quoted)
{
    if (world_random(2) == 0 && !*has_half && rest->p[0] == 'a') {
        bool is_spelled = world_random(10) == 0;
        weir_buf_append(quoted, is_spelled ? WEIR_SLICE("\"\\u0061\"") : WEIR_SLICE("\"a\""));
        *rest = weir_slice_sub(*rest, 1, rest->n);
    } else if (world_random(30) == 0 && !*has_half) {
        weir_buf_append(quoted, WEIR_SLICE("\"\""));
    } else if (world_random(30) == 0 && !*has_half) { /* half a character whose other never comes */
        weir_buf_append(quoted, WEIR_SLICE("\"z\\ud83d\""));
    } else {
        world_cut(rest, has_half, quoted);
    }
}

static void write_block_delta(size_t index, bool is_thinking, struct weir_slice quoted,
                              struct weir_buf *out)
{
    const char *name = is_thinking ? "thinking" : "text";
    const char *more = extra();
    if (world_random(8) == 0) {
        weir_buf_printf(out,
                        "{\"index\":%zu,\"delta\":{\"%s\":%.*s,\"type\":\"%s_delta\"},\"type\":"
                        "\"content_block_delta\"%s}\n",
                        index, name, (int)quoted.n, quoted.p, name, more);
    } else {
        weir_buf_printf(out,
                        "{\"type\":\"content_block_delta\",\"index\":%zu,\"delta\":{\"type\":"
                        "\"%s_delta\",\"%s\":%.*s}%s}\n",
                        index, name, name, (int)quoted.n, quoted.p, more);
    }
    if (world_random(20) == 0) {
        weir_buf_printf(out, "{\"type\":\"ping\"}\n");
    }
    if (world_random(200) == 0) { /* of a block that is not open: the answer fails */
        weir_buf_printf(out,
                        "{\"type\":\"content_block_delta\",\"index\":%zu,\"delta\":"
                        "{\"type\":\"text_delta\",\"text\":\"x\"}}\n",
                        index - world_random(2));
    }
    for (size_t i = world_random(60) == 0 ? 3 : 0; i > 0; i--) { /* of another kind */
        const char *other = is_thinking ? "text" : "thinking";
        weir_buf_printf(out,
                        "{\"type\":\"content_block_delta\",\"index\":%zu,\"delta\":{\"type\":"
                        "\"%s_delta\",\"%s\":\"q%zu\"}}\n",
                        index, other, other, i);
    }
}

static void write_block(size_t index, struct weir_slice rest, struct weir_buf *out)
{
    bool is_thinking = world_random(3) == 0;
    bool has_half = false;
    weir_buf_printf(out,
                    "{\"type\":\"content_block_start\",\"index\":%zu,\"content_block\":{\"type\":"
                    "\"%s\",\"%s\":\"\"}}\n",
                    index, is_thinking ? "thinking" : "text", is_thinking ? "thinking" : "text");
    while (rest.n != 0) {
        struct weir_buf quoted = {0};
        cut(&rest, &has_half, &quoted);
        write_block_delta(index, is_thinking, weir_buf_slice(&quoted), out);
        weir_buf_dispose(&quoted);
    }
    if (is_thinking) {
        weir_buf_printf(out,
                        "{\"type\":\"content_block_delta\",\"index\":%zu,\"delta\":{\"type\":"
                        "\"signature_delta\",\"signature\":\"c2ln\"}}\n",
                        index);
    }
    weir_buf_printf(out, "{\"type\":\"content_block_stop\",\"index\":%zu}\n", index);
}

static void write_message(const struct world *w, bool is_alike, struct weir_buf *out)
{
    weir_buf_printf(
        out, "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":"
             "\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{}}}\n"
             "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
             "\"text\":\"\"}}\n");
    for (size_t i = 0; i < N_FIRST; i++) {
        weir_buf_printf(out,
                        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
                        "\"text_delta\",\"text\":\"p. \"}," FIRST_MARK "%zu}\n",
                        is_alike ? 0 : i);
    }
    weir_buf_printf(out, "{\"type\":\"content_block_stop\",\"index\":0}\n");
    for (size_t i = 0; i < w->n_choices; i++) {
        write_block(i + 1, weir_buf_slice(&w->texts[i][0]), out);
    }
    weir_buf_printf(out, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
                         "\"usage\":{}}\n{\"type\":\"message_stop\"}\n");
}

/* A kind of parts as events have it. */
struct kind {
    const char *item;
    const char *list;
    const char *part;
    const char *said;
    const char *index;
};
static const struct kind KINDS[] = {
    {"message", "content", "output_text", "output_text", "content_index"},
    {"message", "content", "output_text", "output_text", "content_index"},
    {"message", "content", "refusal", "refusal", "content_index"},
    {"reasoning", "content", "reasoning_text", "reasoning_text", "content_index"},
    {"reasoning", "summary", "summary_text", "reasoning_summary_text", "summary_index"},
};

static void write_noise(struct weir_buf *out)
{
    static const char *const noises[] = {"",
                                         ",\"obfuscation\":\"\"",
                                         ",\"obfuscation\":\"aB3\"",
                                         ",\"obfuscation\":\"q\\\\u0041\"",
                                         ",\"obfuscation\":\"jane@doe\"",
                                         ",\"obfuscation\":7"};
    weir_buf_append(out, weir_slice_cstr(noises[world_random(12) == 0 ? 5 : world_random(5)]));
}

/* As OpenAI orders the members, or as vLLM does. */
static void write_said(const struct kind *k, size_t at, struct weir_slice quoted,
                       struct weir_buf *out)
{
    size_t number = world_random(4) == 0 ? 0 : world_random(2000);
    if (world_random(3) == 0 && !has_logprobs) {
        weir_buf_printf(out,
                        "{\"%s\":0,\"delta\":%.*s,\"item_id\":\"i%zu\",\"output_index\":%zu,"
                        "\"sequence_number\":%zu,\"type\":\"response.%s.delta\"}\n",
                        k->index, (int)quoted.n, quoted.p, at, at, number, k->said);
        return;
    }
    weir_buf_printf(out,
                    "{\"type\":\"response.%s.delta\",\"sequence_number\":%zu,\"item_id\":\"i%zu\","
                    "\"output_index\":%zu,\"%s\":0,\"delta\":%.*s%s",
                    k->said, number, at, at, k->index, (int)quoted.n, quoted.p, extra());
    if (strcmp(k->said, "output_text") == 0 && has_logprobs) {
        weir_buf_printf(out, ",\"logprobs\":[{\"token\":%.*s,\"logprob\":-1}]", (int)quoted.n,
                        quoted.p);
    } else if (world_random(3) == 0) {
        weir_buf_printf(out, ",\"logprobs\":[]");
    }
    write_noise(out);
    weir_buf_printf(out, "}\n");
}

static void write_whole_item(const struct kind *k, size_t at, struct weir_slice text,
                             struct weir_buf *out)
{
    weir_buf_printf(out,
                    "{\"type\":\"%s\",\"id\":\"i%zu\",\"%s\":[{\"type\":\"%s\",\"%s\":", k->item,
                    at, k->list, k->part, strcmp(k->part, "refusal") == 0 ? "refusal" : "text");
    weir_json_write_quoted(out, text);
    weir_buf_printf(out, "}]}");
}

static void write_item(const struct kind *k, size_t at, struct weir_slice text,
                       struct weir_buf *out)
{
    struct weir_slice rest = text;
    bool has_half = false;
    weir_buf_printf(out,
                    "{\"type\":\"response.output_item.added\",\"output_index\":%zu,\"item\":"
                    "{\"type\":\"%s\",\"id\":\"i%zu\",\"%s\":[]}}\n",
                    at, k->item, at, k->list);
    while (rest.n != 0) {
        struct weir_buf quoted = {0};
        cut(&rest, &has_half, &quoted);
        write_said(k, at, weir_buf_slice(&quoted), out);
        weir_buf_dispose(&quoted);
    }
    weir_buf_printf(out,
                    "{\"type\":\"response.output_item.done\",\"output_index\":%zu,\"item\":", at);
    write_whole_item(k, at, text, out);
    weir_buf_printf(out, "}\n");
}

static void write_first_item(bool is_alike, struct weir_buf *out)
{
    weir_buf_printf(out, "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":"
                         "{\"type\":\"message\",\"id\":\"i0\",\"content\":[]}}\n");
    for (size_t i = 0; i < N_FIRST; i++) {
        weir_buf_printf(out,
                        "{\"type\":\"response.output_text.delta\",\"item_id\":\"i0\","
                        "\"output_index\":0,\"content_index\":0,\"delta\":\"p. \"," FIRST_MARK
                        "%zu}\n",
                        is_alike ? 0 : i);
    }
    weir_buf_printf(out, "{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":"
                         "{\"type\":\"message\",\"id\":\"i0\",\"content\":[]}}\n");
}

/* Lines of both, each in its order; the first begins. */
static void mix(struct weir_slice a, struct weir_slice b, struct weir_buf *out)
{
    bool is_mixed = world_random(2) == 0;
    bool has_begun = false;
    while (a.n != 0 || b.n != 0) {
        bool is_b = a.n == 0 || (b.n != 0 && is_mixed && has_begun && world_random(2) == 0);
        weir_buf_append(out, weir_slice_cut(is_b ? &b : &a, '\n'));
        weir_buf_append_byte(out, '\n');
        has_begun = true;
    }
}

static void write_response(const struct world *w, bool is_alike, struct weir_buf *out)
{
    struct weir_buf items[WORLD_CHOICES] = {0};
    struct weir_buf output = {0};
    weir_buf_printf(out,
                    "{\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"output\":[]}}\n");
    write_first_item(is_alike, out);
    weir_buf_printf(&output, "{\"type\":\"message\",\"id\":\"i0\",\"content\":[]}");
    for (size_t i = 0; i < w->n_choices; i++) {
        const struct kind *k = &KINDS[world_random(5)];
        write_item(k, i + 1, weir_buf_slice(&w->texts[i][0]), &items[i]);
        weir_buf_append_byte(&output, ',');
        write_whole_item(k, i + 1, weir_buf_slice(&w->texts[i][0]), &output);
    }
    mix(weir_buf_slice(&items[0]), weir_buf_slice(&items[1]), out);
    weir_buf_append(out, weir_buf_slice(&items[2]));
    weir_buf_printf(out,
                    "{\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":"
                    "\"completed\",\"output\":[%.*s]}}\n",
                    (int)output.n, output.p);
    for (size_t i = 0; i < WORLD_CHOICES; i++) {
        weir_buf_dispose(&items[i]);
    }
    weir_buf_dispose(&output);
}

/* ---- playing it ---- */

static void start(struct world *w, bool is_message)
{
    w->st = policy_stage("", "");
    w->st->env.max_held_bytes = 1 << 24;
    w->st->env.max_remembered_bytes = 1 << 24;
    w->st->env.max_detector_calls = (unsigned)(1 + world_random(8));
    struct weir_task_response request = {.sent = &NOTHING_ASKED,
                                         .completion = policy_request(w->st)};
    request.completion.output = (struct weir_plan){.uses = w->uses, .n = w->n_detectors};
    if (is_message) {
        weir_message_stream_start(&w->st->task, &request.completion, &w->st->out);
    } else {
        weir_response_stream_start(&w->st->task, &request, &w->st->out);
    }
    stage_turn(w->st);
}

/* In its frame. True: it was not read. */
static bool give(struct stage *st, struct weir_slice json)
{
    struct weir_buf raw = {0};
    weir_buf_printf(&raw, "event: e\ndata: %.*s\n\n", (int)json.n, json.p);
    struct weir_slice framed = weir_buf_slice(&raw);
    struct weir_model_frame frame = {
        .json = weir_slice_sub(framed, framed.n - json.n - 2, framed.n - 2), .raw = framed};
    weir_json_tape_dispose(&st->work.event);
    st->run->events->on_frame(st->run->ctx, &frame);
    weir_buf_dispose(&raw);
    return st->work.event.cap == 0;
}

/* What is random in what leaves, or differs on purpose, is made the same. */
static void append_even(struct weir_slice lines, struct weir_buf *out)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    for (size_t at = 0; at < lines.n; at++) {
        struct weir_slice rest = weir_slice_sub(lines, at, lines.n);
        bool is_sealed = weir_slice_starts_with(rest, WEIR_SLICE("weir1."));
        bool is_id = weir_slice_starts_with(rest, WEIR_SLICE("msg_"));
        weir_buf_append_byte(out, lines.p[at]);
        if (weir_slice_starts_with(rest, WEIR_SLICE(FIRST_MARK))) {
            weir_buf_append(out, WEIR_SLICE(FIRST_MARK));
            at += sizeof FIRST_MARK - 1;
        } else if (is_sealed || is_id) {
            size_t n = strspn(rest.p, name);
            struct weir_arena arena = {0};
            struct weir_slice text;
            struct weir_slice signature;
            if (is_sealed) {
                assert_true(
                    weir_seal_open(&seal, weir_slice_sub(rest, 0, n), &arena, &text, &signature));
                weir_buf_append(out, text);
                weir_buf_append(out, signature);
            }
            weir_arena_dispose(&arena);
            at += n - 1;
        }
    }
}

/* Everything that leaves of the stream that `seed` makes. Returns how many events were not read. */
static size_t play(struct world *w, uint64_t seed, bool is_alike, struct weir_buf *out)
{
    static const enum weir_policy_action actions[] = {WEIR_POLICY_ANNOTATE, WEIR_POLICY_REDACT,
                                                      WEIR_POLICY_BLOCK};
    struct weir_buf events = {0};
    size_t n_unread = 0;
    world_seed = seed;
    policy_ask = (struct policy_ask){.policy = policy_of(actions[world_random(3)])};
    policy_ask.policy.seal = world_random(2) == 0 ? &seal : NULL;
    policy_ask.asks_json = world_random(8) == 0;
    bool is_message = world_random(2) == 0;
    has_logprobs = world_random(4) == 0;
    world_make(w, 1, 60);
    if (is_message) {
        write_message(w, is_alike, &events);
    } else {
        write_response(w, is_alike, &events);
    }
    size_t haste = world_random(4);
    start(w, is_message);
    struct weir_slice rest = weir_buf_slice(&events);
    for (size_t i = 0; rest.n != 0 && !w->st->is_over && w->st->run != NULL; i++) {
        n_unread += give(w->st, weir_slice_cut(&rest, '\n'));
        if (world_random(3) != 0) { /* else several events are read at once */
            stage_turn(w->st);
        }
        while (world_random(4) < haste && world_answer(w)) {
        }
    }
    if (!w->st->is_over && w->st->run != NULL) {
        script_done(w->st, 0);
        stage_turn(w->st);
    }
    world_settle(w);
    append_even(weir_buf_slice(&w->st->lines), out);
    world_close(w);
    weir_buf_dispose(&events);
    return n_unread;
}

static void test_the_same_either_way(void **state)
{
    (void)state;
    struct world w = {0};
    size_t n = n_rounds(400);
    size_t n_unread = 0;
    weir_seal_init(&seal, WEIR_SLICE("secret"), WEIR_SLICE("r"));
    world_init_chunkers(&w);
    for (size_t i = 0; i < n; i++) {
        uint64_t seed = 5 + i * 2654435761u;
        struct weir_buf short_way = {0};
        struct weir_buf long_way = {0};
        n_unread += play(&w, seed, true, &short_way);
        assert_int_equal(play(&w, seed, false, &long_way), 0);
        size_t at = 0;
        while (at < short_way.n && at < long_way.n && short_way.p[at] == long_way.p[at]) {
            at++;
        }
        if (at != short_way.n || at != long_way.n) {
            size_t from = at < 200 ? 0 : at - 200;
            fail_msg("stream %zu differs at byte %zu:\n%.400s\n--- read:\n%.400s", i, at,
                     weir_buf_cstr(&short_way) + from, weir_buf_cstr(&long_way) + from);
        }
        weir_buf_dispose(&short_way);
        weir_buf_dispose(&long_way);
    }
    assert_true(n_unread > 10 * n); /* the short way was taken */
    world_dispose(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_same_either_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
