/* What is kept of a request's findings: names and counts, bounded, never what was matched. */
#include "unit/cmocka_all.h"

#include "talk/form.h"
#include "task/seen.h"

#include <stdio.h>

static void expect_name(const char *detection, const char *type, const char *text,
                        const char *expected)
{
    struct weir_detection d = {.detection = weir_slice_cstr(detection),
                               .detection_type = weir_slice_cstr(type),
                               .text = weir_slice_cstr(text)};
    struct weir_slice name = weir_detection_name(&d);
    if (!weir_slice_eq_cstr(name, expected)) {
        fail_msg("%s, %s: %.*s", detection, type, (int)name.n, name.p);
    }
}

static void test_names(void **state)
{
    (void)state;
    expect_name("email_address", "pii", "a@b.c", "email_address");
    expect_name("S1: Violent Crimes", "risk", "", "S1: Violent Crimes");
    expect_name("zanzibar", "keyword", "Zanzibar", "keyword");
    expect_name("a@b.c", "pii", "x", "pii");
    expect_name("", "pii", "x", "pii");
    expect_name("", "", "x", "other");
    expect_name("caf\xc3\xa9", "na\nme", "x", "other");
    expect_name("secret", "secret", "secret", "other");
    char longest[WEIR_FORM_DETECTION_MOST + 2];
    memset(longest, 'n', sizeof longest);
    longest[WEIR_FORM_DETECTION_MOST + 1] = '\0';
    expect_name(longest, "t", "", "t");
    longest[WEIR_FORM_DETECTION_MOST] = '\0';
    expect_name(longest, "t", "", longest);
}

static void find(const struct weir_policy *p, enum weir_policy_side side, const char *detector,
                 const char *detection)
{
    struct weir_detection d = {.detection = weir_slice_cstr(detection),
                               .detector_id = weir_slice_cstr(detector)};
    const struct weir_detection *found[] = {&d};
    weir_seen_findings(p, &(struct weir_seen_where){side, "content", WEIR_POLICY_REDACTED}, found,
                       1);
}

static void test_counts_are_bounded(void **state)
{
    struct weir_arena arena = {0};
    struct weir_seen seen = {.arena = &arena};
    struct weir_policy policy = {.seen = &seen};
    struct weir_buf out = {0};
    (void)state;
    find(&policy, WEIR_POLICY_INPUT, "pii", "email");
    find(&policy, WEIR_POLICY_OUTPUT, "pii", "email");
    find(&policy, WEIR_POLICY_OUTPUT, "pii", "card");
    find(&policy, WEIR_POLICY_OUTPUT, "secrets", "key");
    weir_seen_write_detectors(&seen, WEIR_POLICY_OUTPUT, &out);
    assert_string_equal(weir_buf_cstr(&out), "pii=2 secrets=1");
    for (int i = 0; i < 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        find(&policy, WEIR_POLICY_INPUT, "far", name);
    }
    assert_int_equal(seen.n_kinds, WEIR_SEEN_MAX_KINDS);
    uint64_t n = 0;
    for (size_t i = 0; i < seen.n_kinds; i++) {
        n += seen.kinds[i].n;
    }
    assert_int_equal(n, 1004);
    find(NULL, WEIR_POLICY_INPUT, "pii", "email"); /* nobody asks */
    weir_buf_dispose(&out);
    weir_arena_dispose(&arena);
}

static void test_the_action_is_the_hardest(void **state)
{
    struct weir_seen seen = {0};
    (void)state;
    assert_int_equal(weir_seen_action(&seen), WEIR_POLICY_PASSED);
    weir_seen_note_outcome(&seen, WEIR_POLICY_OUTPUT, WEIR_POLICY_ANNOTATED);
    assert_int_equal(weir_seen_action(&seen), WEIR_POLICY_ANNOTATED);
    weir_seen_note_outcome(&seen, WEIR_POLICY_INPUT, WEIR_POLICY_REDACTED);
    assert_int_equal(weir_seen_action(&seen), WEIR_POLICY_REDACTED);
    weir_seen_note_outcome(&seen, WEIR_POLICY_OUTPUT, WEIR_POLICY_BLOCKED);
    assert_int_equal(weir_seen_action(&seen), WEIR_POLICY_BLOCKED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_counts_are_bounded),
        cmocka_unit_test(test_the_action_is_the_hardest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
