/*
 * A run of a fleet over scripted servers, on a clock of its own. What servers do is drawn by
 * chance, and so is what the owner does; what must hold always is checked always.
 */
#include "base/err.h"
#include "base/mem.h"
#include "io/loop.h"
#include "model/fleet.h"
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 4, MAX_STEPS = 60, N_ROUNDS = 4000, PATIENCE_MS = 20000 };

struct fake_run {
    struct weir_model_run base;
    const struct weir_model_events *events;
    void *ctx;
    bool is_paused;
};

/* A server: at most one run at a time, since a request asks one after the other. */
struct server {
    struct weir_model base;
    struct fake_run *run; /* NULL: not asked just now */
    unsigned n_asked;
    struct weir_buf body; /* of the last request */
};

struct world {
    struct weir_loop loop;
    struct server servers[N];
    atomic_uint n_running[N];
    struct weir_provider providers[N];
    struct weir_breaker health[N];
    struct weir_fleet_target targets[N];
    struct weir_fleet_entry entry;
    struct weir_fleet fleet;
    struct weir_model_report report;
    struct weir_call_context context;

    struct weir_model_request request;
    struct weir_model_run *run; /* NULL: freed */
    struct weir_buf said;       /* texts of frames */
    unsigned n_frames;
    unsigned n_done;
    struct weir_fault fault; /* of the end; origin NONE: it was a good one */
    bool frees_at_frame;
    bool frees_at_done;
};

/* ---- the servers ---- */

static struct server *server_of(const struct weir_model *m)
{
    return (struct server *)m;
}

static struct weir_model_run *start(const struct weir_model *m, const struct weir_model_env *env,
                                    const struct weir_model_request *request,
                                    const struct weir_model_events *events, void *ctx)
{
    struct server *s = server_of(m);
    (void)env;
    assert_null(s->run);
    assert_non_null(request->way);
    s->run = weir_mem_zalloc(sizeof *s->run);
    *s->run = (struct fake_run){.base = {.model = m}, .events = events, .ctx = ctx};
    s->n_asked++;
    weir_buf_clear(&s->body);
    weir_buf_append(&s->body, request->body);
    return &s->run->base;
}

static void set_paused(struct weir_model_run *run, bool paused)
{
    ((struct fake_run *)run)->is_paused = paused;
}

static void free_run(struct weir_model_run *run)
{
    server_of(run->model)->run = NULL;
    free(run);
}

static const struct weir_model_ops OPS = {
    .start = start, .set_paused = set_paused, .free = free_run};

static void say(struct server *s, const char *text)
{
    char json[120];
    char raw[140];
    snprintf(json, sizeof json, "{\"model\":\"theirs\",\"text\":\"%s\"}", text);
    snprintf(raw, sizeof raw, "data: %s\n\n", json);
    struct weir_model_frame frame = {.json = weir_slice_cstr(json), .raw = weir_slice_cstr(raw)};
    s->run->events->on_frame(s->run->ctx, &frame);
}

static void done(struct server *s, const struct weir_fault *fault)
{
    s->run->events->on_done(s->run->ctx, fault);
}

static void fail_with(struct server *s, int status, uint64_t retry_after_ms)
{
    done(s, &(struct weir_fault){.origin = WEIR_FAULT_CHAT_COMPLETION,
                                 .id = WEIR_SLICE("theirs"),
                                 .err = WEIR_EPEER,
                                 .status = status,
                                 .retry_after_ms = retry_after_ms,
                                 .why = WEIR_SLICE("the script says so")});
}

/* ---- the owner ---- */

static void let_go(struct world *w)
{
    weir_model_free(w->run);
    w->run = NULL;
}

static void on_frame(void *ctx, const struct weir_model_frame *frame)
{
    struct world *w = ctx;
    assert_int_equal(w->n_done, 0);
    w->n_frames++;
    weir_buf_append(&w->said, frame->json);
    if (w->frees_at_frame) {
        let_go(w);
    }
    /* What is given lives until the call returns, whatever was done meanwhile. */
    assert_true(frame->json.n == 0 || frame->json.p[0] == '{');
    assert_true(frame->raw.n == 0 || frame->raw.p[0] == 'd');
}

static void on_done(void *ctx, const struct weir_fault *fault)
{
    struct world *w = ctx;
    w->n_done++;
    w->fault = fault != NULL ? *fault : (struct weir_fault){0};
    w->fault.id = (struct weir_slice){0};
    w->fault.why = (struct weir_slice){0};
    if (fault != NULL) {
        assert_true(weir_slice_eq_cstr(fault->id, "mine"));
    }
    if (w->frees_at_done) {
        let_go(w);
    }
}

static const struct weir_model_events EVENTS = {.on_frame = on_frame, .on_done = on_done};

static void ask(struct world *w, bool is_stream)
{
    struct weir_model_env env = {.loop = &w->loop, .context = &w->context};
    w->request = (struct weir_model_request){
        .op = WEIR_MODEL_CHAT,
        .is_stream = is_stream,
        .model_id = WEIR_SLICE("mine"),
        .body = WEIR_SLICE("{\"model\":\"mine\",\"messages\":[{\"role\":\"user\"}]}")};
    w->run = weir_model_start(&w->fleet.base, &env, &w->request, &EVENTS, w);
}

static struct server *asked(struct world *w)
{
    struct server *found = NULL;
    for (size_t i = 0; i < N; i++) {
        assert_true(found == NULL || w->servers[i].run == NULL); /* one at a time */
        found = w->servers[i].run != NULL ? &w->servers[i] : found;
    }
    return found;
}

static void pass(struct world *w, uint64_t ms)
{
    w->loop.held_ms += ms;
    weir_timers_run(&w->loop.timers, w->loop.held_ms);
}

static struct world *new_world(size_t n_targets, size_t n_replicas)
{
    static const char *const names[N] = {"a", "b", "c", "d"};
    struct world *w = weir_mem_zalloc(sizeof *w);
    assert_int_equal(weir_loop_init(&w->loop), 0);
    w->loop.held_ms = 1000;
    for (size_t i = 0; i < N; i++) {
        w->servers[i].base.ops = &OPS;
        w->providers[i] = (struct weir_provider){.name = weir_slice_cstr(names[i]),
                                                 .kind = WEIR_PROVIDER_OPENAI,
                                                 .ops = UINT32_MAX,
                                                 .model = &w->servers[i].base,
                                                 .patience_ms = PATIENCE_MS,
                                                 .n_running = &w->n_running[i]};
        w->targets[i] = (struct weir_fleet_target){
            .provider = &w->providers[i], .model = WEIR_SLICE("theirs"), .health = &w->health[i]};
    }
    w->entry = (struct weir_fleet_entry){.glob = WEIR_SLICE("mine"),
                                         .targets = w->targets,
                                         .n_targets = n_targets,
                                         .n_replicas = n_replicas};
    w->fleet.entries = &w->entry;
    w->fleet.n_entries = 1;
    w->context.model_report = &w->report;
    weir_fleet_init(&w->fleet);
    return w;
}

static void end(struct world *w)
{
    let_go(w);
    for (size_t i = 0; i < N; i++) {
        assert_null(w->servers[i].run);
        assert_int_equal(w->n_running[i], 0);
        weir_buf_dispose(&w->servers[i].body);
    }
    weir_buf_dispose(&w->said);
    weir_loop_dispose(&w->loop);
    free(w);
}

/* ---- stories ---- */

static void test_names_both_ways(void **state)
{
    (void)state;
    struct world *w = new_world(1, 1);
    ask(w, true);
    assert_string_equal(weir_buf_cstr(&w->servers[0].body),
                        "{\"model\":\"theirs\",\"messages\":[{\"role\":\"user\"}]}");
    say(&w->servers[0], "hi");
    done(&w->servers[0], NULL);
    assert_string_equal(weir_buf_cstr(&w->said), "{\"model\":\"mine\",\"text\":\"hi\"}");
    assert_int_equal(w->n_done, 1);
    assert_true(weir_slice_eq_cstr(w->report.provider, "a"));
    assert_true(weir_slice_eq_cstr(w->report.model, "theirs"));
    assert_int_equal(w->report.n_attempts, 1);
    end(w);
}

static void test_silence_is_not_waited_for_where_there_are_others(void **state)
{
    (void)state;
    struct world *w = new_world(2, 1);
    ask(w, true);
    pass(w, PATIENCE_MS - 1);
    assert_ptr_equal(asked(w), &w->servers[0]);
    pass(w, 1);
    assert_ptr_equal(asked(w), &w->servers[1]);
    pass(w, 10 * PATIENCE_MS); /* the last one is waited for as its own time-outs say */
    assert_ptr_equal(asked(w), &w->servers[1]);
    say(asked(w), "late");
    pass(w, 10 * PATIENCE_MS);
    done(asked(w), NULL);
    assert_int_equal(w->n_done, 1);
    assert_int_equal(w->fault.origin, WEIR_FAULT_NONE);
    end(w);
}

static void test_our_own_pause_is_no_silence(void **state)
{
    (void)state;
    struct world *w = new_world(2, 1);
    ask(w, true);
    weir_model_pause(w->run);
    assert_true(w->servers[0].run->is_paused);
    pass(w, 2 * PATIENCE_MS);
    assert_ptr_equal(asked(w), &w->servers[0]);
    weir_model_resume(w->run);
    pass(w, PATIENCE_MS);
    assert_ptr_equal(asked(w), &w->servers[1]);
    end(w);
}

static void test_retry_after(void **state)
{
    (void)state;
    static const struct {
        uint64_t ms;
        bool is_obeyed;
    } cases[] = {{0, false}, {1000, true}, {1999, true}, {2000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = new_world(1, 1);
        ask(w, false);
        fail_with(&w->servers[0], 429, cases[i].ms);
        assert_int_equal(w->n_done, cases[i].is_obeyed ? 0 : 1);
        if (cases[i].is_obeyed) {
            pass(w, cases[i].ms - 1);
            assert_null(asked(w));
            pass(w, 1);
            fail_with(asked(w), 429, cases[i].ms); /* once is enough */
            assert_int_equal(w->n_done, 1);
        }
        assert_int_equal(w->fault.status, 429);
        end(w);
    }
}

static void test_unknown_names(void **state)
{
    (void)state;
    struct world *w = new_world(1, 1);
    w->entry.glob = WEIR_SLICE("other-*");
    ask(w, false);
    assert_int_equal(w->n_done, 0); /* never from inside start */
    struct weir_list *posted = weir_list_first(&w->loop.posted);
    assert_non_null(posted);
    let_go(w); /* and not at all when it is freed first */
    end(w);
    struct weir_arena arena = {0};
    struct weir_fleet_entry entries[40];
    struct weir_fleet fleet = {.entries = entries, .n_entries = 40};
    for (size_t i = 0; i < 40; i++) {
        entries[i].glob = weir_slice_cstr(weir_arena_printf(&arena, "m%zu", i));
    }
    struct weir_fleet_scope all = {0};
    struct weir_slice words = weir_fleet_unknown_words(&fleet, &all, WEIR_SLICE("x\n"), &arena);
    const char *text = weir_arena_dup(&arena, words).p;
    assert_non_null(strstr(text, "the model `x ` does not exist; there are `m0`, `m1`, "));
    assert_non_null(strstr(text, "`m19`, …"));
    assert_null(strstr(text, "m20"));
    struct weir_slice glob = WEIR_SLICE("m3?");
    struct weir_fleet_scope some = {.globs = &glob, .n = 1};
    words = weir_fleet_unknown_words(&fleet, &some, WEIR_SLICE("y"), &arena);
    text = weir_arena_dup(&arena, words).p;
    assert_non_null(strstr(text, "there are `m30`, `m31`"));
    weir_arena_dispose(&arena);
}

/* Bound to a server's state: only that one is asked, whatever comes of it. */
static void test_only_the_provider_that_has_it(void **state)
{
    (void)state;
    struct world *w = new_world(3, 3);
    struct weir_model_env env = {.loop = &w->loop, .context = &w->context};
    w->request = (struct weir_model_request){.op = WEIR_MODEL_RESPONSES,
                                             .model_id = WEIR_SLICE("mine"),
                                             .provider = WEIR_SLICE("b"),
                                             .body = WEIR_SLICE("{\"model\":\"mine\"}")};
    w->run = weir_model_start(&w->fleet.base, &env, &w->request, &EVENTS, w);
    assert_ptr_equal(asked(w), &w->servers[1]);
    fail_with(&w->servers[1], 503, 0);
    assert_int_equal(w->n_done, 1);
    assert_int_equal(w->fault.status, 503);
    assert_int_equal(w->servers[0].n_asked + w->servers[2].n_asked, 0);
    end(w);
}

/* What is kept has no model: the names in it are the server's own. */
static void test_what_is_stored_is_asked_of_its_provider(void **state)
{
    (void)state;
    struct world *w = new_world(2, 1);
    struct weir_model_env env = {.loop = &w->loop, .context = &w->context};
    w->request = (struct weir_model_request){.op = WEIR_MODEL_STORED,
                                             .provider = WEIR_SLICE("b"),
                                             .method = WEIR_SLICE("GET"),
                                             .tail = WEIR_SLICE("/resp_1")};
    w->run = weir_model_start(&w->fleet.base, &env, &w->request, &EVENTS, w);
    assert_ptr_equal(asked(w), &w->servers[1]);
    say(&w->servers[1], "hi");
    done(&w->servers[1], NULL);
    assert_string_equal(weir_buf_cstr(&w->said), "{\"model\":\"theirs\",\"text\":\"hi\"}");
    let_go(w);
    w->request.provider = WEIR_SLICE("gone");
    w->n_done = 0;
    w->run = weir_model_start(&w->fleet.base, &env, &w->request, &EVENTS, w);
    assert_null(asked(w));
    assert_int_equal(w->n_done, 0); /* never from inside start */
    end(w);
}

/* Nobody knows what it does there: only who was never reached leaves it to the next one. */
static void test_what_is_forwarded_is_asked_for_once(void **state)
{
    (void)state;
    for (int is_unreached = 0; is_unreached < 2; is_unreached++) {
        struct world *w = new_world(2, 1);
        struct weir_model_env env = {.loop = &w->loop, .context = &w->context};
        w->request = (struct weir_model_request){.op = WEIR_MODEL_FORWARD,
                                                 .model_id = WEIR_SLICE("mine"),
                                                 .method = WEIR_SLICE("POST"),
                                                 .tail = WEIR_SLICE("/jobs")};
        w->run = weir_model_start(&w->fleet.base, &env, &w->request, &EVENTS, w);
        assert_ptr_equal(asked(w), &w->servers[0]);
        done(&w->servers[0], &(struct weir_fault){.origin = WEIR_FAULT_CHAT_COMPLETION,
                                                  .err = WEIR_ETIMEOUT,
                                                  .is_unreached = is_unreached,
                                                  .why = WEIR_SLICE("the script says so")});
        assert_int_equal(w->n_done, is_unreached ? 0 : 1);
        assert_int_equal(w->servers[1].n_asked, is_unreached ? 1 : 0);
        end(w);
    }
}

/* ---- chance ---- */

static bool is_asked_again(int status)
{
    return status == 0 || status == 429 || status >= 500;
}

/* What one server does next. Returns whether the request must have gone on to another. */
static void act(struct world *w, struct server *s, unsigned *n_said)
{
    static const int statuses[] = {0, 400, 401, 404, 429, 500, 503};
    char text[16];
    switch (rand() % 4) {
    case 0:
    case 1:
        snprintf(text, sizeof text, "%u", ++*n_said);
        say(s, text);
        break;
    case 2: {
        int status = statuses[rand() % 7];
        unsigned n_asked = s->n_asked;
        bool could_go_on = w->n_frames == 0 && is_asked_again(status);
        unsigned n_done = w->n_done;
        fail_with(s, status, rand() % 2 == 0 ? 500 : 0);
        if (!could_go_on) {
            assert_int_equal(w->n_done, n_done + 1); /* told at once, nobody else is asked */
            assert_null(asked(w));
            assert_int_equal(s->n_asked, n_asked);
        }
        break;
    }
    default:
        done(s, NULL);
        assert_int_equal(w->n_done, 1);
    }
}

static void play(unsigned seed)
{
    srand(seed);
    size_t n_targets = 1 + (size_t)rand() % N;
    struct world *w = new_world(n_targets, 1 + (size_t)rand() % n_targets);
    struct server *speaker = NULL;
    unsigned n_said = 0;
    w->frees_at_frame = rand() % 8 == 0;
    w->frees_at_done = rand() % 2 == 0;
    ask(w, rand() % 2 == 0);
    for (int step = 0; step < MAX_STEPS && w->run != NULL && w->n_done == 0; step++) {
        struct server *s = asked(w);
        if (s == NULL || rand() % 4 == 0) {
            pass(w, (uint64_t)(rand() % 15000));
        } else {
            unsigned before = w->n_frames;
            act(w, s, &n_said);
            if (w->n_frames != before) {
                assert_true(speaker == NULL || speaker == s); /* one voice */
                speaker = s;
            }
        }
        if (rand() % 10 == 0 && w->run != NULL) {
            weir_model_pause(w->run);
            weir_model_resume(w->run);
        }
        if (rand() % 40 == 0) {
            let_go(w);
        }
    }
    unsigned n_asked = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(w->servers[i].n_asked <= 2); /* once, and once more after a retry-after */
        n_asked += w->servers[i].n_asked;
    }
    assert_true(n_asked <= n_targets + 1);
    assert_int_equal(w->report.n_attempts, n_asked);
    assert_true(w->n_done <= 1);
    end(w);
}

static void test_whatever_happens(void **state)
{
    (void)state;
    weir_log_set_level(WEIR_LOG_LEVEL_OFF);
    for (unsigned seed = 1; seed <= N_ROUNDS; seed++) {
        play(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_both_ways),
        cmocka_unit_test(test_silence_is_not_waited_for_where_there_are_others),
        cmocka_unit_test(test_our_own_pause_is_no_silence),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_only_the_provider_that_has_it),
        cmocka_unit_test(test_what_is_stored_is_asked_of_its_provider),
        cmocka_unit_test(test_what_is_forwarded_is_asked_for_once),
        cmocka_unit_test(test_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
