/* Rounds of health questions over a scripted call: who is told what, and when. */
#include "server/health.h"
#include "unit/client/fake_call.h"
#include "unit/cmocka_all.h"

/* No client is needed where calls are played by hand. */
static struct weir_client *const FAKE_CLIENT = (struct weir_client *)&fake_n_calls;

struct weir_client *weir_client_new(struct weir_loop *loop)
{
    (void)loop;
    return FAKE_CLIENT;
}

void weir_client_close(struct weir_client *client, void (*fn)(void *ctx), void *ctx)
{
    assert_ptr_equal(client, FAKE_CLIENT);
    fn(ctx);
}

struct stage {
    struct weir_loop loop;
    struct weir_health health;
    struct weir_target target;
    struct weir_probe_service services[3];
    struct weir_env env;
    int n_told;
};

static int set_up(void **state)
{
    struct stage *s = weir_mem_zalloc(sizeof *s);
    assert_int_equal(weir_loop_init(&s->loop), 0);
    weir_health_open(&s->health, &s->loop);
    static const char *const ids[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++) {
        s->services[i] = (struct weir_probe_service){
            .id = weir_slice_cstr(ids[i]), .kind = &weir_probe_http, .target = &s->target};
    }
    s->env.services = s->services;
    s->env.n_services = 2;
    atomic_init(&s->env.refs, 1);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *s = *state;
    weir_health_close(&s->health);
    assert_int_equal(atomic_load(&s->env.refs), 1);
    weir_loop_dispose(&s->loop);
    weir_health_dispose(&s->health);
    fake_forget();
    free(s);
    return 0;
}

static void told(void *ctx)
{
    struct stage *s = ctx;
    s->n_told++;
}

static void answer_nth(size_t nth, int status, struct weir_slice body)
{
    struct weir_call *c = fake_calls[nth];
    struct weir_call_result result = {.has_head = true, .status = status, .body = body};
    c->is_over = true;
    c->events.on_done(c->ctx, &result);
}

static void expect(struct stage *s, const char *expected)
{
    struct weir_buf out = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &out);
    weir_health_write(&s->health, &s->env, &w);
    assert_int_equal(weir_json_write_finish(&w), 0);
    if (!weir_slice_eq_cstr(weir_buf_slice(&out), expected)) {
        fail_msg("%.*s, not %s", (int)out.n, out.p, expected);
    }
    weir_buf_dispose(&out);
}

static void test_a_round(void **state)
{
    struct stage *s = *state;
    struct weir_health_waiter waiter = {.fn = told, .ctx = s};
    expect(s, "{\"a\":{\"status\":\"UNKNOWN\"},\"b\":{\"status\":\"UNKNOWN\"}}");
    weir_health_ask(&s->health, &s->env, &waiter);
    assert_int_equal(fake_n_calls, 2);
    answer_nth(1, 503, WEIR_SLICE("{\"reason\":\"full\"}"));
    fake_turn(&s->loop);
    assert_int_equal(s->n_told, 0);
    answer_nth(0, 200, WEIR_SLICE(""));
    assert_int_equal(s->n_told, 0);
    fake_turn(&s->loop);
    assert_int_equal(s->n_told, 1);
    expect(s, "{\"a\":{\"status\":\"HEALTHY\"},"
              "\"b\":{\"status\":\"UNHEALTHY\",\"code\":503,\"reason\":\"full\"}}");
}

static void test_askers_join_and_leave(void **state)
{
    struct stage *s = *state;
    struct weir_health_waiter waiters[3];
    for (size_t i = 0; i < 3; i++) {
        waiters[i] = (struct weir_health_waiter){.fn = told, .ctx = s};
        weir_health_ask(&s->health, &s->env, &waiters[i]);
    }
    assert_int_equal(fake_n_calls, 2);
    weir_health_leave(&waiters[1]);
    answer_nth(0, 200, WEIR_SLICE(""));
    answer_nth(1, 200, WEIR_SLICE(""));
    fake_turn(&s->loop);
    assert_int_equal(s->n_told, 2);
    weir_health_leave(&waiters[0]);
    weir_health_ask(&s->health, &s->env, &waiters[0]);
    assert_int_equal(fake_n_calls, 4);
    weir_health_leave(&waiters[0]);
}

static void test_nobody_to_ask(void **state)
{
    struct stage *s = *state;
    struct weir_health_waiter waiter = {.fn = told, .ctx = s};
    s->env.n_services = 0;
    weir_health_ask(&s->health, &s->env, &waiter);
    assert_int_equal(s->n_told, 0);
    fake_turn(&s->loop);
    assert_int_equal(s->n_told, 1);
    expect(s, "{}");
}

static void test_another_environment(void **state)
{
    struct stage *s = *state;
    struct weir_env other = {.services = &s->services[1], .n_services = 2};
    struct weir_health_waiter waiters[2] = {{.fn = told, .ctx = s}, {.fn = told, .ctx = s}};
    atomic_init(&other.refs, 1);
    weir_health_ask(&s->health, &s->env, &waiters[0]);
    weir_health_ask(&s->health, &other, &waiters[1]);
    assert_int_equal(fake_n_calls, 4);
    for (size_t i = 0; i < 4; i++) {
        answer_nth(i, 200, WEIR_SLICE(""));
    }
    fake_turn(&s->loop);
    assert_int_equal(s->n_told, 2);
    assert_int_equal(atomic_load(&other.refs), 1);
    weir_health_keep_only(&s->health, &other);
    assert_int_equal(weir_health_state(&s->health, WEIR_SLICE("a")).health, WEIR_PROBE_UNKNOWN);
    assert_int_equal(weir_health_state(&s->health, WEIR_SLICE("b")).health, WEIR_PROBE_HEALTHY);
    assert_int_equal(weir_health_state(&s->health, WEIR_SLICE("c")).health, WEIR_PROBE_HEALTHY);
}

/* Both before and after the answers have come; tear_down closes twice. */
static void test_closed_in_the_middle(void **state)
{
    struct stage *s = *state;
    struct weir_health_waiter waiter = {.fn = told, .ctx = s};
    weir_health_ask(&s->health, &s->env, &waiter);
    answer_nth(0, 200, WEIR_SLICE(""));
    weir_health_close(&s->health);
    assert_true(fake_calls[1]->is_cancelled);
    weir_health_leave(&waiter);
    fake_turn(&s->loop);
    assert_int_equal(s->n_told, 0);
}

static void test_closed_with_an_answer_on_its_way(void **state)
{
    struct stage *s = *state;
    struct weir_health_waiter waiter = {.fn = told, .ctx = s};
    weir_health_ask(&s->health, &s->env, &waiter);
    answer_nth(0, 200, WEIR_SLICE(""));
    answer_nth(1, 200, WEIR_SLICE(""));
    weir_health_close(&s->health);
    fake_turn(&s->loop);
    assert_int_equal(s->n_told, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_round),
        TEST(test_askers_join_and_leave),
        TEST(test_nobody_to_ask),
        TEST(test_another_environment),
        TEST(test_closed_in_the_middle),
        TEST(test_closed_with_an_answer_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
