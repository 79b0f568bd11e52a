/*
 * What a route promises of responses, for random items, cuts, chunkers and arrival orders: the
 * stream says what the whole response says, both say what a simple reference says, and everything
 * that a stream says twice (deltas, `done` events, items, the last event) it says alike, whatever
 * the server repeats, leaves out or mixes. Where the route annotates, events leave as they came.
 *
 * WEIR_PROPERTY_ROUNDS=100000 for more of it.
 */
#include "task/response.h"
#include "unit/task/policy_reference.h"

static const struct weir_json_node NODES[] = {{.end = 2, .next = 1, .type = WEIR_JSON_OBJECT}};
static const struct weir_json NOTHING_ASKED = {.src = {"{}", 2}, .nodes = NODES, .n_nodes = 1};

/* The choices of a world are messages here; reasoning comes before the first, and says nothing that
 * is looked for. */
#define THOUGHT                                                                                    \
    "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{\"type\":\"summary_text\",\"text\":"    \
    "\"well\"}]}"

enum { MAX_ITEMS = WORLD_CHOICES + 2 };

/* How a server writes its stream. */
struct manner {
    bool has_no_deltas; /* texts come whole, in `done` events */
    bool has_no_dones;  /* … or are never said again but at the end */
    bool lies;          /* what is said again is something else */
    bool is_mixed;      /* items come at once */
};

static void open_response(struct world *w, bool is_unary)
{
    w->st = policy_stage("", "");
    w->st->env.max_held_bytes = 1 << 24;
    w->st->env.max_remembered_bytes = 1 << 24;
    w->st->env.max_service_body_bytes = 1 << 24;
    w->st->env.max_detector_calls = (unsigned)(1 + world_random(8));
    struct weir_task_response request = {.sent = &NOTHING_ASKED,
                                         .completion = policy_request(w->st)};
    request.completion.output = (struct weir_plan){.uses = w->uses, .n = w->n_detectors};
    if (is_unary) {
        weir_task_response_start(&w->st->task, &request, policy_answered, w->st);
    } else {
        weir_response_stream_start(&w->st->task, &request, &w->st->out);
    }
    stage_turn(w->st);
}

/* ---- what the server says ---- */

/* Of a text that was never said, everything is new. */
static struct weir_slice said_again(const struct world *w, size_t i, const struct manner *how)
{
    struct weir_slice text = weir_buf_slice(&w->texts[i][0]);
    return how->lies && text.n != 0 ? WEIR_SLICE("#jane@a.org K7") : text;
}

static void write_item(const struct world *w, size_t i, const struct manner *how,
                       struct weir_buf *out)
{
    weir_buf_printf(out,
                    "{\"type\":\"message\",\"id\":\"msg_%zu\",\"role\":\"assistant\",\"status\":"
                    "\"completed\",\"content\":[{\"type\":\"output_text\",\"annotations\":[],"
                    "\"text\":",
                    i);
    weir_json_write_quoted(out, said_again(w, i, how));
    weir_buf_printf(out, "}]}");
}

/* The events of one message, a line each. */
static void write_message(struct world *w, size_t i, const struct manner *how, struct weir_buf *out)
{
    struct weir_slice rest = weir_buf_slice(&w->texts[i][0]);
    size_t at = i + 1;
    bool has_half = false;
    weir_buf_printf(out,
                    "{\"type\":\"response.output_item.added\",\"output_index\":%zu,\"item\":{"
                    "\"type\":\"message\",\"id\":\"msg_%zu\",\"content\":[]}}\n"
                    "{\"type\":\"response.content_part.added\",\"output_index\":%zu,"
                    "\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\"}}\n",
                    at, i, at);
    while (rest.n != 0 && !how->has_no_deltas) {
        struct weir_buf quoted = {0};
        world_cut(&rest, &has_half, &quoted);
        weir_buf_printf(out,
                        "{\"type\":\"response.output_text.delta\",\"item_id\":\"msg_%zu\","
                        "\"output_index\":%zu,\"content_index\":0,\"delta\":%.*s}\n",
                        i, at, (int)quoted.n, quoted.p);
        weir_buf_dispose(&quoted);
    }
    if (!how->has_no_dones) {
        struct weir_buf quoted = {0};
        weir_json_write_quoted(&quoted, said_again(w, i, how));
        weir_buf_printf(out,
                        "{\"type\":\"response.output_text.done\",\"output_index\":%zu,"
                        "\"content_index\":0,\"text\":%.*s}\n"
                        "{\"type\":\"response.content_part.done\",\"output_index\":%zu,"
                        "\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":%.*s}}\n",
                        at, (int)quoted.n, quoted.p, at, (int)quoted.n, quoted.p);
        weir_buf_dispose(&quoted);
        weir_buf_printf(
            out, "{\"type\":\"response.output_item.done\",\"output_index\":%zu,\"item\":", at);
        write_item(w, i, how, out);
        weir_buf_printf(out, "}\n");
    }
}

/* Lines of several messages, each in its order. */
static void mix(struct weir_buf *parts, size_t n, bool is_mixed, struct weir_buf *out)
{
    struct weir_slice rest[WORLD_CHOICES];
    size_t n_left = 0;
    size_t n_begun = 0;
    for (size_t i = 0; i < n; i++) {
        rest[i] = weir_buf_slice(&parts[i]);
        n_left += rest[i].n != 0;
    }
    while (n_left != 0) {
        /* They begin in their order. */
        size_t i = is_mixed ? world_random(n_begun < n ? n_begun + 1 : n) : 0;
        while (rest[i].n == 0) {
            i = (i + 1) % n;
        }
        i = i > n_begun ? n_begun : i;
        n_begun += i == n_begun;
        weir_buf_append(out, weir_slice_cut(&rest[i], '\n'));
        weir_buf_append_byte(out, '\n');
        n_left -= rest[i].n == 0;
    }
}

static void write_output(struct world *w, const struct manner *how, struct weir_buf *out)
{
    weir_buf_printf(out, "\"output\":[" THOUGHT);
    for (size_t i = 0; i < w->n_choices; i++) {
        weir_buf_printf(out, ",");
        write_item(w, i, how, out);
    }
    weir_buf_printf(out, "]");
}

static void write_events(struct world *w, const struct manner *how, struct weir_buf *out)
{
    struct weir_buf parts[WORLD_CHOICES] = {0};
    weir_buf_printf(
        out, "{\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"output\":[]}}\n"
             "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":"
             "\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}}\n"
             "{\"type\":\"response.reasoning_summary_text.delta\",\"item_id\":\"rs_1\","
             "\"output_index\":0,\"summary_index\":0,\"delta\":\"well\"}\n"
             "{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" THOUGHT "}\n");
    for (size_t i = 0; i < w->n_choices; i++) {
        write_message(w, i, how, &parts[i]);
    }
    mix(parts, w->n_choices, how->is_mixed && !how->has_no_dones, out);
    weir_buf_printf(out, "{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\","
                         "\"status\":\"completed\",");
    write_output(w, how, out);
    weir_buf_printf(out, "}}\n");
    for (size_t i = 0; i < w->n_choices; i++) {
        weir_buf_dispose(&parts[i]);
    }
}

static void stream_response(struct world *w, struct weir_slice events)
{
    size_t haste = world_random(4);
    open_response(w, false);
    while (events.n != 0 && !w->st->is_over && w->st->run != NULL) {
        script_event(w->st, weir_slice_cut(&events, '\n'));
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
}

static void answer_response(struct world *w)
{
    struct weir_buf answer = {0};
    struct manner how = {0};
    weir_buf_printf(&answer, "{\"id\":\"resp_1\",\"status\":\"completed\",");
    write_output(w, &how, &answer);
    weir_buf_printf(&answer, "}");
    open_response(w, true);
    script_event(w->st, weir_buf_slice(&answer));
    script_done(w->st, 0);
    stage_turn(w->st);
    world_settle(w);
    weir_buf_dispose(&answer);
}

/* ---- what is heard ---- */

enum way { DELTAS, DONES, PARTS, ITEMS, END, WAYS };

struct heard {
    struct weir_buf texts[WAYS][MAX_ITEMS]; /* parts of an item, each behind the other */
    size_t n_items;
    bool is_refused;
    bool is_ended;
};

static void hear_string(struct heard *h, enum way way, size_t index, const struct weir_json *j,
                        uint32_t at)
{
    assert_true(index < MAX_ITEMS);
    h->n_items = index + 1 > h->n_items ? index + 1 : h->n_items;
    if (at != WEIR_JSON_NONE) {
        weir_json_string_append(j, at, &h->texts[way][index]);
    }
}

static void hear_item(struct heard *h, enum way way, size_t index, const struct weir_json *j,
                      uint32_t item)
{
    static const char *const lists[] = {"summary", "content"};
    for (size_t i = 0; i < 2; i++) {
        uint32_t list = weir_json_get_set(j, item, weir_slice_cstr(lists[i]));
        uint32_t part = list != WEIR_JSON_NONE ? weir_json_first(j, list) : WEIR_JSON_NONE;
        for (; part != WEIR_JSON_NONE; part = weir_json_after(j, list, part)) {
            hear_string(h, way, index, j, weir_json_get(j, part, WEIR_SLICE("text")));
        }
    }
}

static void hear_response(struct heard *h, const struct weir_json *j, uint32_t response)
{
    uint32_t output = weir_json_get(j, response, WEIR_SLICE("output"));
    uint32_t details = weir_json_get_set(j, response, WEIR_SLICE("incomplete_details"));
    uint32_t at = weir_json_first(j, output);
    size_t index = 0;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, output, at)) {
        hear_item(h, END, index++, j, at);
    }
    h->is_refused = details != WEIR_JSON_NONE;
}

static bool is_type(const struct weir_json *j, const char *type)
{
    uint32_t at = weir_json_get(j, 0, WEIR_SLICE("type"));
    return at != WEIR_JSON_NONE && weir_json_string_eq(j, at, weir_slice_cstr(type));
}

static void hear_line(struct heard *h, struct weir_slice line, struct weir_arena *arena)
{
    struct weir_json j;
    uint64_t index = 0;
    if (weir_slice_eq_cstr(line, "end")) {
        return;
    }
    assert_int_equal(weir_json_parse(&j, line, NULL, arena, NULL), 0);
    assert_false(h->is_ended); /* nothing comes behind the end */
    uint32_t response = weir_json_get_set(&j, 0, WEIR_SLICE("response"));
    uint32_t at = weir_json_get_set(&j, 0, WEIR_SLICE("output_index"));
    if (at != WEIR_JSON_NONE) {
        assert_int_equal(weir_json_u64(&j, at, &index), 0);
    }
    if (is_type(&j, "response.output_item.added")) {
        assert_int_equal(index, h->n_items); /* no gaps, as clients have it */
        h->n_items++;
    } else if (is_type(&j, "response.output_text.delta") ||
               is_type(&j, "response.reasoning_summary_text.delta")) {
        hear_string(h, DELTAS, index, &j, weir_json_get(&j, 0, WEIR_SLICE("delta")));
    } else if (is_type(&j, "response.output_text.done") ||
               is_type(&j, "response.reasoning_summary_text.done")) {
        hear_string(h, DONES, index, &j, weir_json_get(&j, 0, WEIR_SLICE("text")));
    } else if (is_type(&j, "response.content_part.done") ||
               is_type(&j, "response.reasoning_summary_part.done")) {
        uint32_t part = weir_json_get(&j, 0, WEIR_SLICE("part"));
        hear_string(h, PARTS, index, &j, weir_json_get(&j, part, WEIR_SLICE("text")));
    } else if (is_type(&j, "response.output_item.done")) {
        hear_item(h, ITEMS, index, &j, weir_json_get(&j, 0, WEIR_SLICE("item")));
    } else if (response == WEIR_JSON_NONE &&
               weir_json_get_set(&j, 0, WEIR_SLICE("output")) != WEIR_JSON_NONE) {
        hear_response(h, &j, 0);
    } else if (response != WEIR_JSON_NONE && !is_type(&j, "response.created")) {
        hear_response(h, &j, response);
        h->is_ended = true;
    }
}

static void hear(struct world *w, struct heard *h)
{
    struct weir_slice rest = weir_buf_slice(&w->st->lines);
    struct weir_arena arena = {0};
    while (rest.n != 0) {
        hear_line(h, weir_slice_cut(&rest, '\n'), &arena);
    }
    weir_arena_dispose(&arena);
    world_close(w);
}

static void forget(struct heard *h)
{
    for (size_t i = 0; i < MAX_ITEMS; i++) {
        for (size_t k = 0; k < WAYS; k++) {
            weir_buf_dispose(&h->texts[k][i]);
        }
    }
    *h = (struct heard){0};
}

/* All that a stream says, it says alike everywhere. */
static void expect_agreement(struct heard *h)
{
    assert_true(h->is_ended);
    for (size_t i = 0; i < h->n_items; i++) {
        for (size_t k = DONES; k < WAYS; k++) {
            expect_same(&h->texts[k][i], &h->texts[DELTAS][i], "said again");
        }
    }
}

static struct manner some_manner(void)
{
    struct manner how = {.is_mixed = world_random(2) == 0};
    switch (world_random(5)) {
    case 0:
        how.has_no_deltas = true;
        break;
    case 1:
        how.has_no_dones = true;
        break;
    case 2:
        how.lies = true;
        break;
    default:
        break;
    }
    return how;
}

/* ---- redact ---- */

static void check_redacted(struct world *w, struct heard *h, enum way way, const char *whose)
{
    assert_false(h->is_refused);
    assert_int_equal(h->n_items, w->n_choices + 1);
    assert_true(weir_slice_eq_cstr(weir_buf_slice(&h->texts[way][0]), "well"));
    for (size_t i = 0; i < w->n_choices; i++) {
        struct weir_slice text = weir_buf_slice(&w->texts[i][0]);
        struct weir_buf simple = {0};
        struct reference r;
        find_in(&r, w, text);
        redact_simply(&r, text, &simple);
        expect_same(&h->texts[way][i + 1], &simple, whose);
        expect_no_words(w, weir_buf_slice(&simple));
        weir_arena_dispose(&r.arena);
        weir_buf_dispose(&simple);
    }
}

static void test_redaction(void **state)
{
    (void)state;
    struct world w = {0};
    struct heard h = {0};
    size_t n = n_rounds(150);
    world_init_chunkers(&w);
    for (size_t i = 0; i < n; i++) {
        struct weir_buf events = {0};
        policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
        policy_ask.policy.redact_with = WEIR_SLICE("[{detection} by {detector_id}]");
        world_seed = 3 + i * 2654435761u;
        world_make(&w, 1, i % 10 == 0 ? 300 : 50);
        struct manner how = some_manner();
        write_events(&w, &how, &events);
        stream_response(&w, weir_buf_slice(&events));
        hear(&w, &h);
        expect_agreement(&h);
        check_redacted(&w, &h, DELTAS, "streamed");
        forget(&h);
        answer_response(&w);
        hear(&w, &h);
        check_redacted(&w, &h, END, "whole");
        forget(&h);
        weir_buf_dispose(&events);
    }
    world_dispose(&w);
}

/* ---- block ---- */

/* The first message with a finding says what stands before that, then the words, and no more. */
static void test_block(void **state)
{
    (void)state;
    struct world w = {0};
    struct heard h = {0};
    size_t n = n_rounds(150);
    world_init_chunkers(&w);
    for (size_t i = 0; i < n; i++) {
        struct weir_buf events = {0};
        policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_BLOCK)};
        world_seed = 11 + i * 2654435761u;
        world_make(&w, 1, 1 + world_random(60));
        struct manner how = some_manner();
        write_events(&w, &how, &events);
        stream_response(&w, weir_buf_slice(&events));
        hear(&w, &h);
        expect_agreement(&h);
        bool is_over = false;
        bool has_text = false;
        for (size_t k = 0; k < w.n_choices && !is_over; k++) {
            struct weir_slice text = weir_buf_slice(&w.texts[k][0]);
            struct weir_buf before = {0};
            struct reference r;
            find_in(&r, &w, text);
            size_t first_cp = weir_utf8_count(text);
            for (size_t f = 0; f < r.n; f++) {
                first_cp = r.found[f].start_cp < first_cp ? r.found[f].start_cp : first_cp;
            }
            is_over = r.n != 0;
            weir_buf_append(&before, weir_slice_sub(text, 0, weir_utf8_byte_at(text, first_cp)));
            has_text = has_text || before.n != 0;
            if (is_over) {
                weir_buf_append(&before, has_text ? WEIR_SLICE("\n\nNo.") : WEIR_SLICE("No."));
                assert_int_equal(h.n_items, k + 2);
            }
            expect_same(&h.texts[DELTAS][k + 1], &before, "streamed");
            weir_arena_dispose(&r.arena);
            weir_buf_dispose(&before);
        }
        assert_int_equal(h.is_refused, is_over);
        forget(&h);
        weir_buf_dispose(&events);
    }
    world_dispose(&w);
}

/* ---- annotate ---- */

/* Everything that was said is heard; without findings every event is one that came. */
static void test_annotate(void **state)
{
    (void)state;
    struct world w = {0};
    struct heard h = {0};
    size_t n = n_rounds(150);
    world_init_chunkers(&w);
    for (size_t i = 0; i < n; i++) {
        struct weir_buf events = {0};
        struct manner how = {.is_mixed = i % 2 == 0};
        policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_ANNOTATE)};
        world_seed = 17 + i * 2654435761u;
        world_make(&w, 1, 1 + world_random(60));
        bool is_clean = i % 3 == 0;
        for (size_t k = 0; k < w.n_detectors && is_clean; k++) {
            w.detectors[k].words = 0;
        }
        write_events(&w, &how, &events);
        stream_response(&w, weir_buf_slice(&events));
        if (is_clean && !how.is_mixed) {
            expect_untouched(&w, &events);
        }
        hear(&w, &h);
        for (size_t k = 0; k < w.n_choices; k++) {
            expect_same(&h.texts[DELTAS][k + 1], &w.texts[k][0], "streamed");
            expect_same(&h.texts[END][k + 1], &w.texts[k][0], "said again");
        }
        assert_false(h.is_refused);
        forget(&h);
        weir_buf_dispose(&events);
    }
    world_dispose(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redaction),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_annotate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
