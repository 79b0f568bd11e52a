/* Logprobs that wait for their text: as many as some megabytes, then none at all. */
#include "talk/logprobs.h"
#include "unit/cmocka_all.h"

#include <stdio.h>

static void take(struct weir_logprobs *l, const char *json)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    assert_int_equal(weir_json_parse(&j, weir_slice_cstr(json), NULL, &arena, NULL), 0);
    weir_logprobs_take(l, &j, 0);
    weir_arena_dispose(&arena);
}

static void test_without_text_they_are_given_up(void **state)
{
    (void)state;
    struct weir_logprobs l = {0};
    char entry[1200];
    snprintf(entry, sizeof entry, "[{\"token\":\"%01000d\",\"logprob\":-0.5}]", 1);
    size_t n = 0;
    while (n < 100000 && !l.is_off) {
        take(&l, entry);
        n++;
    }
    assert_in_range(n, 3500, 4300); /* four megabytes of a thousand bytes each */
    assert_int_equal(l.queue.cap, 0);
    take(&l, entry);
    assert_int_equal(l.queue.n, 0);
    weir_logprobs_dispose(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_text_they_are_given_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
