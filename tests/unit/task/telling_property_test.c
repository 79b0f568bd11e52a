/*
 * A detector that only tells beside others that redact, for random answers, cuts, chunkers and
 * arrival orders, streamed and whole: what leaves is what would leave without it, in every channel
 * and in tool calls, and each of its findings in a text is told once, where it stands in what has
 * left. A reference knows nothing of the gateway.
 *
 * WEIR_PROPERTY_ROUNDS=100000 for more of it.
 */
#include "unit/task/policy_reference.h"

enum { MAX_TOLD = 4096, MAX_CP = 1 << 16 };

struct told {
    size_t choice;
    size_t channel;
    size_t start_cp;
    size_t end_cp;
    char kind; /* the last letter of its name */
};

struct list {
    struct told items[MAX_TOLD];
    size_t n;
};

static void add_told(struct list *l, const struct told *t)
{
    assert_true(l->n < MAX_TOLD);
    l->items[l->n++] = *t;
}

static int by_place(const void *x, const void *y)
{
    const struct told *a = x;
    const struct told *b = y;
    const size_t keys[][2] = {{a->choice, b->choice},
                              {a->channel, b->channel},
                              {a->start_cp, b->start_cp},
                              {a->end_cp, b->end_cp},
                              {(size_t)a->kind, (size_t)b->kind}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

/* ---- what is heard ---- */

static size_t channel_of(const struct weir_json *j, uint32_t entry)
{
    uint32_t at = world_member(j, entry, "channel");
    size_t c = 0;
    while (at != WEIR_JSON_NONE && c < WEIR_CHANNEL_TEXTS &&
           !weir_json_string_eq(j, at, weir_slice_cstr(weir_channel_name((enum weir_channel)c)))) {
        c++;
    }
    return at != WEIR_JSON_NONE ? c : WEIR_CHANNEL_CONTENT;
}

static void hear_entry(const struct weir_json *j, uint32_t entry, struct weir_slice id,
                       struct list *l)
{
    uint64_t choice = 0;
    uint32_t results = world_member(j, entry, "results");
    assert_int_equal(weir_json_u64(j, world_member(j, entry, "choice_index"), &choice), 0);
    uint32_t at = weir_json_first(j, results);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, results, at)) {
        uint64_t start = 0;
        uint64_t end = 0;
        struct weir_slice kind = weir_json_raw(j, world_member(j, at, "detection"));
        assert_int_equal(world_member(j, at, "text"), WEIR_JSON_NONE);
        if (!weir_json_string_eq(j, world_member(j, at, "detector_id"), id) ||
            channel_of(j, entry) == WEIR_CHANNEL_TEXTS) {
            continue;
        }
        assert_int_equal(weir_json_u64(j, world_member(j, at, "start"), &start), 0);
        assert_int_equal(weir_json_u64(j, world_member(j, at, "end"), &end), 0);
        add_told(l, &(struct told){.choice = choice,
                                   .channel = channel_of(j, entry),
                                   .start_cp = start,
                                   .end_cp = end,
                                   .kind = kind.p[kind.n - 2]});
    }
}

static void hear_told(const struct world *w, struct weir_slice id, struct list *l)
{
    struct weir_slice lines = weir_buf_slice(&w->st->lines);
    while (lines.n != 0) {
        struct weir_slice line = weir_slice_cut(&lines, '\n');
        struct weir_arena arena = {0};
        struct weir_json j;
        if (weir_json_parse(&j, line, NULL, &arena, NULL) == 0) {
            uint32_t output = world_member(&j, world_member(&j, 0, "detections"), "output");
            uint32_t at = output != WEIR_JSON_NONE ? weir_json_first(&j, output) : WEIR_JSON_NONE;
            for (; at != WEIR_JSON_NONE; at = weir_json_after(&j, output, at)) {
                hear_entry(&j, at, id, l);
            }
        }
        weir_arena_dispose(&arena);
    }
}

/* ---- what should be ---- */

/* Where each code point stands in what has left: of those that are replaced, what replaces them. */
static void place_all(const struct reference *r, size_t n_cp, size_t (*places)[2])
{
    size_t out_cp = 0;
    bool is_in_run = false;
    for (size_t cp = 0; cp < n_cp; cp++) {
        const struct weir_detection *first = NULL;
        for (size_t i = 0; i < r->n; i++) {
            const struct weir_detection *d = &r->found[i];
            if (d->start_cp <= cp && cp < d->end_cp && (first == NULL || ranks_before(d, first))) {
                first = d;
            }
        }
        if (first != NULL && is_in_run) {
            places[cp][0] = places[cp - 1][0];
            places[cp][1] = places[cp - 1][1];
            continue;
        }
        size_t n = first == NULL ? 1 : first->detection.n + first->detector_id.n + strlen("[ by ]");
        places[cp][0] = out_cp;
        places[cp][1] = out_cp + n;
        out_cp += n;
        is_in_run = first != NULL;
    }
}

static void expect_told(const struct world *w, size_t teller, struct list *want)
{
    static size_t places[MAX_CP][2];
    for (size_t i = 0; i < w->n_choices; i++) {
        for (size_t c = 0; c < WEIR_CHANNEL_TEXTS; c++) {
            struct weir_slice text = weir_buf_slice(&w->texts[i][c]);
            struct reference judged;
            struct reference told = {0};
            size_t n_cp = weir_utf8_count(text);
            assert_true(n_cp < MAX_CP);
            find_in(&judged, w, text);
            place_all(&judged, n_cp, places);
            find_all(&told, &w->detectors[teller], w->described[teller].chunker, text);
            for (size_t k = 0; k < told.n; k++) {
                const struct weir_detection *d = &told.found[k];
                add_told(want, &(struct told){.choice = i,
                                              .channel = c,
                                              .start_cp = places[d->start_cp][0],
                                              .end_cp = places[d->end_cp - 1][1],
                                              .kind = d->detection.p[d->detection.n - 1]});
            }
            weir_arena_dispose(&judged.arena);
            weir_arena_dispose(&told.arena);
        }
    }
}

static void compare(struct list *got, struct list *want, const char *whose)
{
    qsort(got->items, got->n, sizeof *got->items, by_place);
    qsort(want->items, want->n, sizeof *want->items, by_place);
    for (size_t i = 0; i < got->n && i < want->n; i++) {
        const struct told *a = &got->items[i];
        const struct told *b = &want->items[i];
        if (by_place(a, b) != 0) {
            fail_msg("%s: told %zu/%zu %zu-%zu K%c, not %zu/%zu %zu-%zu K%c", whose, a->choice,
                     a->channel, a->start_cp, a->end_cp, a->kind, b->choice, b->channel,
                     b->start_cp, b->end_cp, b->kind);
        }
    }
    assert_int_equal(got->n, want->n);
}

static void check(struct world *w)
{
    static struct list streamed_told;
    static struct list whole_told;
    static struct list want;
    struct world_said streamed = {0};
    struct world_said whole = {0};
    size_t teller = w->n_detectors - 1;
    struct weir_slice id = weir_slice_cstr(WORLD_IDS[teller]);
    streamed_told.n = whole_told.n = want.n = 0;
    w->uses[teller].only_tells = true;
    world_stream(w);
    world_hear(w, &streamed);
    hear_told(w, id, &streamed_told);
    world_close(w);
    world_unary(w);
    world_hear(w, &whole);
    hear_told(w, id, &whole_told);
    world_close(w);
    w->n_detectors--; /* of the reference, for which there is none that only tells */
    for (size_t i = 0; i < w->n_choices; i++) {
        for (size_t c = 0; c < WEIR_CHANNEL_TEXTS; c++) {
            struct weir_slice text = weir_buf_slice(&w->texts[i][c]);
            struct weir_buf simple = {0};
            struct reference r;
            find_in(&r, w, text);
            redact_simply(&r, text, &simple);
            expect_same(&whole.texts[i][c], &simple, "unary");
            expect_same(&streamed.texts[i][c], &simple, "streamed");
            weir_arena_dispose(&r.arena);
            weir_buf_dispose(&simple);
        }
        for (size_t k = 0; k < WORLD_CALLS; k++) {
            expect_same(&streamed.arguments[i][k], &whole.arguments[i][k], "arguments");
        }
        assert_false(streamed.is_blocked[i] || whole.is_blocked[i]);
    }
    expect_told(w, teller, &want);
    compare(&streamed_told, &want, "streamed");
    compare(&whole_told, &want, "unary");
    world_said_dispose(&streamed);
    world_said_dispose(&whole);
}

static void play(struct world *w, size_t round)
{
    world_seed = 3 + round * 2654435761u;
    do {
        world_make(w, WEIR_CHANNEL_TEXTS, round % 10 == 0 ? 400 : 60);
    } while (w->n_detectors < 2);
    check(w);
}

static void test_it_only_tells(void **state)
{
    (void)state;
    /* 110: a finding that reaches beyond its chunk, with something behind it that is replaced. */
    static const size_t found_faults[] = {110};
    struct world w = {.is_split = true};
    size_t n = n_rounds(100);
    world_init_chunkers(&w);
    policy_ask = (struct policy_ask){.policy = policy_of(WEIR_POLICY_REDACT)};
    policy_ask.policy.redact_with = WEIR_SLICE("[{detection} by {detector_id}]");
    for (size_t i = 0; i < n; i++) {
        play(&w, i);
    }
    for (size_t i = 0; i < sizeof found_faults / sizeof found_faults[0]; i++) {
        play(&w, found_faults[i]);
    }
    world_dispose(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_only_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
