/*
 * How often judges are asked, and what waits, counted: a finding that goes on for long, in a text
 * full of signs, takes a look per piece of text and keeps no more candidates than it has to.
 */
#include "unit/cmocka_all.h"

#include "detect/ascii.h"
#include "detect/seek.h"

enum { GROUP = 0, GOES_ON = 1, N_PIECES = 20000 };

static size_t n_looks;
static size_t n_bytes; /* that judges walked over */

/* `x:` and all that follows up to a blank; the first four bytes decide. */
static bool judge(const void *settings, unsigned id, struct weir_seek_look *l)
{
    (void)settings;
    (void)id;
    n_looks++;
    size_t from = l->state == GOES_ON ? l->from : l->end - 2;
    size_t at = l->resume > l->end ? l->resume : l->end;
    for (; weir_ascii_has(l->text, at) && l->text.p[at] != ' '; at++) {
        n_bytes++;
    }
    l->is_sure = at - l->end >= 4;
    l->resume = l->is_sure ? at : 0;
    l->state = l->is_sure ? GOES_ON : 0;
    l->covered = l->is_sure ? at : 0;
    l->from = from;
    l->to = at;
    l->kind = "x";
    l->score = 1.0;
    return l->is_sure;
}

static struct weir_seek_rule rule(const void *settings, unsigned id)
{
    (void)settings;
    (void)id;
    return (struct weir_seek_rule){.group = GROUP, .back = 2};
}

static struct weir_patterns *patterns(void)
{
    static struct weir_patterns *made;
    const struct weir_pattern list[] = {{.expr = "x:"}};
    struct weir_buf why = {0};
    made = made != NULL ? made : weir_patterns_new(list, 1, &why);
    assert_non_null(made);
    return made;
}

static struct weir_seek_rules rules(void)
{
    return (struct weir_seek_rules){
        .patterns = patterns(), .rule = rule, .judge = judge, .type = "t", .n_groups = 1};
}

/* The text of `n` pieces, by one at a time; the most candidates that waited. */
static size_t read_along(const char *piece, size_t n, struct weir_found *found)
{
    struct weir_seek_rules r = rules();
    struct weir_seek s;
    struct weir_buf text = {0};
    size_t most = 0;
    weir_seek_init(&s, &r);
    for (size_t i = 0; i <= n; i++) {
        weir_buf_append(&text, weir_slice_cstr(i < n ? piece : " "));
        struct weir_reader_text t = {.text = weir_buf_slice(&text), .is_end = i == n};
        assert_int_equal(weir_seek_read(&s, &r, &t, found), 0);
        most = s.n > most ? s.n : most;
    }
    weir_seek_dispose(&s);
    weir_buf_dispose(&text);
    return most;
}

static void test_long_finding(void **state)
{
    (void)state;
    struct weir_found found = {0};
    n_looks = 0;
    n_bytes = 0;
    size_t most = read_along("x:.", N_PIECES, &found);
    assert_in_range(most, 1, 4);
    assert_true(n_looks <= 2 * N_PIECES);
    assert_true(n_bytes <= (size_t)4 * 3 * N_PIECES); /* each byte some few times */
    assert_int_equal(found.n, 1);
    assert_int_equal(found.spans[0].start_byte, 0);
    assert_int_equal(found.spans[0].end_byte, 3 * N_PIECES);
    weir_found_dispose(&found);
}

/* What goes on for more than WEIR_READER_SURE_REACH is closed, and the rest judged anew, as in a
 * whole text. */
static void test_closed_finding(void **state)
{
    (void)state;
    enum { N = WEIR_READER_SURE_REACH / 2 };
    struct weir_found found = {0};
    struct weir_found at_once = {0};
    struct weir_buf text = {0};
    struct weir_seek_rules r = rules();
    for (size_t i = 0; i < N; i++) {
        weir_buf_append(&text, WEIR_SLICE("x:."));
    }
    weir_buf_append(&text, WEIR_SLICE(" "));
    assert_int_equal(weir_seek_scan(&r, weir_buf_slice(&text), &at_once), 0);
    read_along("x:.", N, &found);
    assert_int_equal(found.n, at_once.n);
    assert_int_equal(found.n, 2);
    for (size_t i = 0; i < found.n; i++) {
        assert_int_equal(found.spans[i].start_byte, at_once.spans[i].start_byte);
        assert_int_equal(found.spans[i].end_byte, at_once.spans[i].end_byte);
    }
    weir_buf_dispose(&text);
    weir_found_dispose(&at_once);
    weir_found_dispose(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_finding),
        cmocka_unit_test(test_closed_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
