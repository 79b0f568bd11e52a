/*
 * No spelling leads past `allow`: tests/quality/link_hosts.jsonl has addresses in the places where
 * pages and markdown have them, each with the host that a browser's URL parser made of it
 * (tests/integration/node/link_hosts.cjs). A host that is not allowed must be found, whatever it is
 * written with; of the others few may be.
 */
#include "unit/cmocka_all.h"

#include "base/mem.h"
#include "detect/links.h"
#include "unit/detect/builtin_probe.h"
#include "wire/json.h"

struct tally {
    size_t n_away;
    size_t n_missed;
    size_t n_home;
    size_t n_wrong;
};

static bool is_home(struct weir_slice host)
{
    host.n -= host.n != 0 && host.p[host.n - 1] == '.';
    return weir_slice_eq_cstr(host, "ok.test") ||
           weir_slice_ends_with(host, WEIR_SLICE(".ok.test"));
}

static void judge_line(struct probe *p, struct weir_slice line, struct tally *t)
{
    struct weir_json json;
    struct weir_arena arena = {0};
    assert_int_equal(weir_json_parse(&json, line, NULL, &arena, NULL), 0);
    struct weir_slice text =
        weir_json_string(&json, weir_json_get(&json, 0, WEIR_SLICE("text")), &arena);
    struct weir_slice host =
        weir_json_string(&json, weir_json_get(&json, 0, WEIR_SLICE("host")), &arena);
    const struct weir_detect_call *call = probe_ask(p, text, "");
    assert_int_equal(call->fault.origin, WEIR_FAULT_NONE);
    bool is_found = call->lists[0].n != 0;
    if (is_home(host)) {
        t->n_home++;
        t->n_wrong += is_found;
    } else {
        t->n_away++;
        t->n_missed += !is_found;
    }
    if (is_found == is_home(host)) {
        print_message("  %s %.*s -> %.*s\n", is_found ? "wrong" : "missed", (int)text.n, text.p,
                      (int)host.n, host.p);
    }
    weir_arena_dispose(&arena);
}

static void test_no_spelling_passes(void **state)
{
    (void)state;
    struct probe p;
    struct tally t = {0};
    char line[4096];
    const char *path = getenv("WEIR_LINK_HOSTS");
    FILE *f = fopen(path != NULL ? path : WEIR_SOURCE_DIR "/tests/quality/link_hosts.jsonl", "r");
    assert_non_null(f);
    probe_open(&p, &weir_detect_links, "{\"allow\":[\"ok.test\"]}");
    while (fgets(line, sizeof line, f) != NULL) {
        judge_line(&p, weir_slice_cstr(line), &t);
    }
    fclose(f);
    probe_close(&p);
    print_message("%zu of %zu hosts pass, %zu of %zu allowed ones are found\n", t.n_missed,
                  t.n_away, t.n_wrong, t.n_home);
    assert_true(t.n_away > 1000 && t.n_home > 100);
    assert_int_equal(t.n_missed, 0);
    assert_true(t.n_wrong * 10 <= t.n_home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_spelling_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
