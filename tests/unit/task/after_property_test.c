/*
 * `output_check: after`, for random answers, cuts, chunkers, bounds and detectors that answer when
 * they like, in any order, or fail: after every event and every answer no more of a text has left
 * than its late detectors have answered for and the bound allows, and nothing that a holding one
 * has not answered for. Told by a ledger that knows nothing of the gateway: which chunks of the
 * complete text were answered for.
 *
 * WEIR_PROPERTY_ROUNDS=100000 for more of it.
 */
#include "task/message.h"
#include "unit/task/policy_reference.h"

enum { MAX_CHUNKS = 1024, MAX_PIECES = 120 };

enum dialect { CHAT, TEXT, MESSAGES, DIALECTS };

/* ---- the ledger ---- */

struct chunk {
    struct weir_slice seen;
    size_t end_cp;
    bool is_answered;
};

struct ledger {
    struct weir_arena arena;
    struct chunk chunks[WORLD_DETECTORS][WORLD_CHOICES][MAX_CHUNKS];
    size_t n[WORLD_DETECTORS][WORLD_CHOICES];
    size_t length_cp[WORLD_CHOICES];
    size_t max_cp; /* the bound */
    struct weir_plan late;
    /* What was heard so far. */
    size_t at;
    struct weir_buf texts[WORLD_CHOICES];
    bool is_blocked[WORLD_CHOICES];
    bool has_calls[WORLD_CHOICES];
    bool has_failed;
    size_t n_told[WORLD_CHOICES];
    size_t exposed[WORLD_CHOICES];    /* the largest that was told … */
    size_t first_told[WORLD_CHOICES]; /* … and where the first of them begins */
};

static struct ledger *ledger;

/* The same chunks that the gateway makes of a text that comes in pieces. */
static void list_chunks(struct world *w, size_t detector, size_t choice)
{
    struct weir_slice text = weir_buf_slice(&w->texts[choice][0]);
    struct weir_chunk_env env = {0};
    struct weir_chunk_options options = {0};
    struct weir_chunk c;
    struct weir_chunk_stream *s =
        weir_chunk_open(w->described[detector].chunker, &env, &options, NULL, NULL);
    weir_chunk_push(s, 0, text);
    weir_chunk_end(s);
    while (weir_chunk_next(s, &c) == 0) {
        size_t n = ledger->n[detector][choice]++;
        assert_true(n < MAX_CHUNKS);
        ledger->chunks[detector][choice][n] = (struct chunk){
            .seen = weir_slice_sub(text, weir_utf8_byte_at(text, c.start_cp - c.back_cp),
                                   weir_utf8_byte_at(text, c.seen_end_cp)),
            .end_cp = c.end_cp};
    }
    weir_chunk_close(s);
}

static void on_answer(struct world *w, const struct world_call *call)
{
    for (size_t k = 0; k < w->n_detectors; k++) {
        for (size_t i = 0; call->base.detector == &w->detectors[k].base && i < w->n_choices; i++) {
            for (size_t c = 0; c < ledger->n[k][i]; c++) {
                struct chunk *chunk = &ledger->chunks[k][i][c];
                if (weir_slice_eq(chunk->seen, call->contents[0])) {
                    chunk->is_answered = true;
                }
            }
        }
    }
}

static size_t verified_cp(size_t detector, size_t choice)
{
    size_t n = ledger->n[detector][choice];
    size_t at = 0;
    while (at < n && ledger->chunks[detector][choice][at].is_answered) {
        at++;
    }
    if (at == n) {
        return ledger->length_cp[choice];
    }
    return at != 0 ? ledger->chunks[detector][choice][at - 1].end_cp : 0;
}

/* ---- what is heard ---- */

static void hear_found(const struct weir_json *j)
{
    uint32_t found = world_member(j, world_member(j, 0, "detections"), "output");
    uint32_t entry = found != WEIR_JSON_NONE ? weir_json_first(j, found) : WEIR_JSON_NONE;
    for (; entry != WEIR_JSON_NONE; entry = weir_json_after(j, found, entry)) {
        uint64_t i = 0;
        uint32_t at = world_member(j, entry, "choice_index");
        at = at != WEIR_JSON_NONE ? at : world_member(j, entry, "index");
        assert_int_equal(weir_json_u64(j, at, &i), 0);
        if (world_member(j, entry, "channel") != WEIR_JSON_NONE) {
            continue;
        }
        uint32_t results = world_member(j, entry, "results");
        /* Messages: all of it is told once more at the end. */
        uint32_t stop = world_member(j, world_member(j, 0, "delta"), "stop_reason");
        bool is_again = stop != WEIR_JSON_NONE;
        uint32_t one = weir_json_first(j, results);
        for (; one != WEIR_JSON_NONE; one = weir_json_after(j, results, one)) {
            uint64_t exposed = 0;
            uint64_t start = 0;
            uint32_t said = world_member(j, one, "exposed");
            if (said != WEIR_JSON_NONE) {
                assert_int_equal(weir_json_u64(j, said, &exposed), 0);
                assert_true(exposed != 0);
            }
            assert_int_equal(weir_json_u64(j, world_member(j, one, "start"), &start), 0);
            ledger->first_told[i] = start < ledger->first_told[i] ? start : ledger->first_told[i];
            ledger->n_told[i] += !is_again;
            ledger->exposed[i] = exposed > ledger->exposed[i] ? exposed : ledger->exposed[i];
        }
    }
}

static void hear_choices(const struct weir_json *j)
{
    uint32_t choices = world_member(j, 0, "choices");
    uint32_t at = choices != WEIR_JSON_NONE ? weir_json_first(j, choices) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, choices, at)) {
        uint64_t i = 0;
        assert_int_equal(weir_json_u64(j, world_member(j, at, "index"), &i), 0);
        uint32_t delta = world_member(j, at, "delta");
        uint32_t text = world_member(j, delta, "content");
        text = text != WEIR_JSON_NONE ? text : world_member(j, at, "text");
        if (text != WEIR_JSON_NONE) {
            weir_json_string_append(j, text, &ledger->texts[i]);
        }
        ledger->has_calls[i] =
            ledger->has_calls[i] || world_member(j, delta, "tool_calls") != WEIR_JSON_NONE;
        uint32_t finish = world_member(j, at, "finish_reason");
        ledger->is_blocked[i] =
            ledger->is_blocked[i] || (finish != WEIR_JSON_NONE &&
                                      weir_json_string_eq(j, finish, WEIR_SLICE("content_filter")));
    }
}

/* Blocks are choices here; the one behind that which was blocked says the route's words. */
static void hear_message(const struct weir_json *j)
{
    uint32_t delta = world_member(j, 0, "delta");
    uint32_t text = world_member(j, delta, "text");
    uint32_t reason = world_member(j, delta, "stop_reason");
    uint64_t i = 0;
    if (text != WEIR_JSON_NONE) {
        assert_int_equal(weir_json_u64(j, world_member(j, 0, "index"), &i), 0);
        if (i < WORLD_CHOICES) {
            weir_json_string_append(j, text, &ledger->texts[i]);
        }
    }
    if (reason != WEIR_JSON_NONE && weir_json_string_eq(j, reason, WEIR_SLICE("refusal"))) {
        ledger->is_blocked[0] = true;
    }
}

static void check(struct world *w, enum dialect dialect)
{
    struct weir_slice rest =
        weir_slice_sub(weir_buf_slice(&w->st->lines), ledger->at, w->st->lines.n);
    while (rest.n != 0) {
        struct weir_slice line = weir_slice_cut(&rest, '\n');
        struct weir_arena arena = {0};
        struct weir_json j;
        if (weir_slice_starts_with(line, WEIR_SLICE("raw "))) {
            line = weir_slice_sub(line, 4, line.n);
        }
        if (weir_slice_starts_with(line, WEIR_SLICE("fail "))) {
            ledger->has_failed = true;
        } else if (!weir_slice_eq_cstr(line, "end")) {
            assert_int_equal(weir_json_parse(&j, line, NULL, &arena, NULL), 0);
            hear_found(&j);
            if (dialect == MESSAGES) {
                hear_message(&j);
            } else {
                hear_choices(&j);
            }
        }
        weir_arena_dispose(&arena);
    }
    ledger->at = w->st->lines.n;
    for (size_t i = 0; i < w->n_choices; i++) {
        bool is_ours = dialect == MESSAGES ? ledger->is_blocked[0] : ledger->is_blocked[i];
        size_t left_cp = weir_utf8_count(weir_buf_slice(&ledger->texts[i]));
        for (size_t k = 0; k < w->n_detectors && !is_ours; k++) {
            size_t may_cp = verified_cp(k, i);
            assert_false(ledger->has_calls[i] && may_cp < ledger->length_cp[i] &&
                         policy_ask.policy.action == WEIR_POLICY_BLOCK);
            may_cp += w->uses[k].is_late ? ledger->max_cp : 0;
            if (left_cp > may_cp) {
                fail_msg("%zu have left of choice %zu, %s answered for %zu", left_cp, i,
                         WORLD_IDS[k], may_cp);
            }
        }
    }
}

/* ---- the model server's part ---- */

/* Every chunk of it is unlike every other: so it is known which was answered for. */
static void make_texts(struct world *w)
{
    static const char *const ends[] = {" ", " ", " ", ". ", "! ", "\n", "\n\n", "   "};
    w->n_choices = 1 + world_random(WORLD_CHOICES);
    for (size_t i = 0; i < w->n_choices; i++) {
        size_t n = 1 + world_random(MAX_PIECES);
        weir_buf_clear(&w->texts[i][0]);
        for (size_t k = 0; k < n; k++) {
            weir_buf_printf(&w->texts[i][0], "%c%03zu%s", (int)('A' + i), k,
                            ends[world_random(sizeof ends / sizeof *ends)]);
            if (world_random(30) == 0) {
                size_t word = world_random(WORLD_N_WORDS);
                weir_buf_append(&w->texts[i][0], weir_slice_cstr(WORLD_WORDS[word]));
            }
        }
        ledger->first_told[i] = SIZE_MAX;
        ledger->length_cp[i] = weir_utf8_count(weir_buf_slice(&w->texts[i][0]));
    }
}

static void make(struct world *w)
{
    struct weir_plan all = {.uses = w->uses};
    make_texts(w);
    world_make_detectors(w, false);
    all.n = w->n_detectors;
    for (size_t k = 0; k < w->n_detectors; k++) {
        w->uses[k].is_late = k == 0 || world_random(2) == 0;
        for (size_t i = 0; i < w->n_choices; i++) {
            list_chunks(w, k, i);
        }
    }
    static const size_t bounds[] = {1, 5, 20, 200, 100000};
    ledger->max_cp = bounds[world_random(5)];
    all.max_exposed_cp = ledger->max_cp;
    weir_plan_split(&all, &ledger->arena);
    w->late = all.late;
    w->on_answer = on_answer;
    w->n_until_fault = world_random(3) == 0 ? 1 + world_random(20) : 0;
}

static void open_stream(struct world *w, enum dialect dialect)
{
    policy_ask.is_text = dialect == TEXT;
    if (dialect != MESSAGES) {
        world_open(w, false);
        return;
    }
    w->st = policy_stage("", "");
    w->st->env.max_held_bytes = 1 << 24;
    w->st->env.max_detector_calls = (unsigned)(1 + world_random(8));
    struct weir_task_completion request = policy_request(w->st);
    request.output = (struct weir_plan){.uses = w->uses, .n = w->n_detectors, .late = w->late};
    weir_message_stream_start(&w->st->task, &request, &w->st->out);
    stage_turn(w->st);
}

static void say(struct world *w, struct weir_buf *event)
{
    if (w->st->run != NULL && !w->st->is_over) {
        script_event(w->st, weir_buf_slice(event));
    }
    weir_buf_clear(event);
}

static void say_text(struct world *w, enum dialect dialect, size_t choice, struct weir_slice text)
{
    static const char *const heads[] = {
        "{\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":",
        "{\"id\":\"c\",\"choices\":[{\"text\":",
        "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":"};
    static const char *const feet[] = {"}", "", "}"};
    struct weir_buf event = {0};
    struct weir_buf quoted = {0};
    weir_json_write_quoted(&quoted, text);
    weir_buf_printf(&event, "%s%.*s%s,\"index\":%zu}%s", heads[dialect], (int)quoted.n, quoted.p,
                    feet[dialect], choice, dialect == MESSAGES ? "" : "]}");
    say(w, &event);
    weir_buf_dispose(&event);
    weir_buf_dispose(&quoted);
}

static void say_ends(struct world *w, enum dialect dialect, size_t choice)
{
    struct weir_buf event = {0};
    if (dialect == CHAT) {
        weir_buf_printf(&event,
                        "{\"choices\":[{\"index\":%zu,\"delta\":{\"tool_calls\":[{\"index\":0,"
                        "\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}",
                        choice);
        say(w, &event);
    }
    if (dialect != MESSAGES) {
        weir_buf_printf(&event, "{\"choices\":[{\"index\":%zu,%s,\"finish_reason\":\"stop\"}]}",
                        choice, dialect == CHAT ? "\"delta\":{}" : "\"text\":\"\"");
    } else {
        weir_buf_printf(&event, "{\"type\":\"content_block_stop\",\"index\":%zu}", choice);
    }
    say(w, &event);
    weir_buf_dispose(&event);
}

/* Some events at once, then detectors answer some, then what has left is looked at. */
static void play(struct world *w, enum dialect dialect)
{
    size_t haste = world_random(5);
    struct weir_slice rest[WORLD_CHOICES];
    struct weir_buf event = {0};
    size_t n_left = w->n_choices;
    size_t choice = 0;
    open_stream(w, dialect);
    if (dialect == MESSAGES) {
        weir_buf_printf(&event, "{\"type\":\"message_start\",\"message\":{\"id\":\"m\","
                                "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
                                "\"content\":[],\"usage\":{}}}");
        say(w, &event);
    }
    for (size_t i = 0; i < w->n_choices; i++) {
        rest[i] = weir_buf_slice(&w->texts[i][0]);
    }
    bool is_new = true;
    while (n_left != 0 && !w->st->is_over && w->st->run != NULL) {
        for (size_t burst = 1 + world_random(4); burst != 0 && n_left != 0; burst--) {
            if (dialect == MESSAGES && is_new) {
                weir_buf_printf(&event,
                                "{\"type\":\"content_block_start\",\"index\":%zu,"
                                "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}",
                                choice);
                say(w, &event);
                is_new = false;
            }
            size_t n = weir_utf8_byte_at(rest[choice], 1 + world_random(12));
            n = n < rest[choice].n ? n : rest[choice].n;
            say_text(w, dialect, choice, weir_slice_sub(rest[choice], 0, n));
            rest[choice] = weir_slice_sub(rest[choice], n, rest[choice].n);
            if (rest[choice].n == 0) {
                say_ends(w, dialect, choice);
                choice++;
                n_left--;
                is_new = true;
            }
        }
        check(w, dialect);
        stage_turn(w->st);
        check(w, dialect);
        while (world_random(5) < haste && world_answer(w)) {
            check(w, dialect);
        }
    }
    if (dialect == MESSAGES) {
        weir_buf_printf(&event, "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
                                "\"end_turn\",\"stop_sequence\":null},\"usage\":{}}");
        say(w, &event);
        weir_buf_printf(&event, "{\"type\":\"message_stop\"}");
        say(w, &event);
    }
    if (!w->st->is_over && w->st->run != NULL) {
        script_done(w->st, 0);
    }
    while (!w->st->is_over) {
        check(w, dialect);
        if (!world_answer(w)) {
            stage_turn(w->st);
        }
    }
    check(w, dialect);
    weir_buf_dispose(&event);
}

/* ---- what must have been heard in the end ---- */

static void check_choice(struct world *w, size_t i, bool is_blocked)
{
    struct weir_slice text = weir_buf_slice(&w->texts[i][0]);
    struct weir_slice left = weir_buf_slice(&ledger->texts[i]);
    struct reference r;
    find_in(&r, w, text);
    size_t first_cp = SIZE_MAX;
    for (size_t f = 0; f < r.n; f++) {
        first_cp = r.found[f].start_cp < first_cp ? r.found[f].start_cp : first_cp;
    }
    if (!is_blocked) {
        assert_true(weir_slice_eq(left, text));
        assert_int_equal(ledger->n_told[i], r.n);
    } else {
        struct weir_slice words = WEIR_SLICE("\n\nNo.");
        if (left.n >= words.n &&
            weir_slice_eq(weir_slice_sub(left, left.n - words.n, left.n), words)) {
            left = weir_slice_sub(left, 0, left.n - words.n);
        } else if (weir_slice_eq_cstr(left, "No.")) {
            left = WEIR_SLICE("");
        }
        size_t left_cp = weir_utf8_count(left);
        assert_true(r.n != 0 && weir_slice_starts_with(text, left));
        assert_true(left_cp >= first_cp);
        /* A holding detector may have ended it before a late one could say what it found. */
        assert_true(ledger->first_told[i] >= first_cp && left_cp >= ledger->first_told[i]);
        assert_int_equal(ledger->exposed[i], left_cp - ledger->first_told[i]);
    }
    weir_arena_dispose(&r.arena);
}

static void check_end(struct world *w, enum dialect dialect)
{
    bool blocks = policy_ask.policy.action == WEIR_POLICY_BLOCK;
    bool is_over = false;
    for (size_t i = 0; i < w->n_choices && !is_over && !ledger->has_failed; i++) {
        struct reference r;
        find_in(&r, w, weir_buf_slice(&w->texts[i][0]));
        bool is_blocked = blocks && r.n != 0;
        if (dialect != MESSAGES) {
            assert_int_equal(ledger->is_blocked[i], is_blocked);
        }
        is_over = dialect == MESSAGES && is_blocked;
        check_choice(w, i, is_blocked);
        weir_arena_dispose(&r.arena);
    }
    assert_true(!is_over || ledger->is_blocked[0]);
    assert_true(!ledger->has_failed || w->n_until_fault == 0);
}

static void run(enum weir_policy_action action, uint64_t seed)
{
    struct world w = {0};
    world_init_chunkers(&w);
    for (size_t i = 0; i < n_rounds(150); i++) {
        enum dialect dialect = (enum dialect)(i % DIALECTS);
        ledger = weir_mem_zalloc(sizeof *ledger);
        policy_ask = (struct policy_ask){.policy = policy_of(action)};
        world_seed = seed + i * 2654435761u;
        make(&w);
        play(&w, dialect);
        check_end(&w, dialect);
        world_close(&w);
        for (size_t k = 0; k < WORLD_CHOICES; k++) {
            weir_buf_dispose(&ledger->texts[k]);
        }
        weir_arena_dispose(&ledger->arena);
        free(ledger);
    }
    world_dispose(&w);
}

static void test_block(void **state)
{
    (void)state;
    run(WEIR_POLICY_BLOCK, 5);
}

static void test_annotate(void **state)
{
    (void)state;
    run(WEIR_POLICY_ANNOTATE, 23);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_annotate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
