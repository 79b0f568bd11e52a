/* What stands before a content: built-in detectors know it, and tell only what begins behind it. */
#include "detect/links.h"
#include "detect/regex.h"
#include "detect/secrets.h"
#include "unit/cmocka_all.h"
#include "unit/detect/builtin_probe.h"

#include <string.h>

struct cut {
    const struct weir_builtin_kind *kind;
    const char *text;  /* `|` is where the content begins */
    const char *found; /* "START kind", or nothing */
};

static void expect(const struct cut *cut)
{
    static const char params[] = "{\"regex\":[\"email\",\"ipv4\"]}";
    struct probe p;
    char text[256];
    char got[256] = "";
    size_t before = (size_t)(strchr(cut->text, '|') - cut->text);
    snprintf(text, sizeof text, "%.*s%s", (int)before, cut->text, cut->text + before + 1);
    struct weir_slice content = weir_slice_cstr(text + before);
    probe_open(&p, cut->kind, cut->kind == &weir_detect_regex ? params : "");
    struct weir_detect_input input = {.type = WEIR_DETECT_CONTENTS,
                                      .contents = &content,
                                      .before = &before,
                                      .n_contents = 1,
                                      .threshold = 0.5};
    struct weir_detect_env env = {0};
    p.call = weir_detect_start(&p.detector.base, &env, &input, NULL, NULL);
    assert_int_equal(p.call->fault.origin, WEIR_FAULT_NONE);
    for (size_t i = 0; i < p.call->lists[0].n; i++) {
        const struct weir_detection *d = &p.call->lists[0].items[i];
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%zu %.*s", i != 0 ? ", " : "", d->start_cp,
                 (int)d->detection.n, d->detection.p);
    }
    assert_string_equal(got, cut->found);
    probe_close(&p);
}

static void test_context(void **state)
{
    (void)state;
    static const struct cut cuts[] = {
        {&weir_detect_secrets, "db_password = \"|v9#Kq2!xTf7Lw4Zp\" é", "0 password"},
        {&weir_detect_secrets, "the password| is v9#Kq2!xTf7Lw4Zp, é", "4 password"},
        {&weir_detect_secrets, "é Bearer |9fK2mQx7Lp4Zr8TbVw3N", "0 bearer_token"},
        {&weir_detect_links, "<img |src=//evil.example/x>", "4 html_image"},
        {&weir_detect_regex, "é b|ob@example.com, ann@example.com", "16 email_address"},
        {&weir_detect_regex, "bob@example.com| x", ""},
        {&weir_detect_regex, "at 19|3.168.100.200 or é 93.4.0.1", "19 ipv4"},
        {&weir_detect_regex, "|bob@example.com", "0 email_address"},
    };
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        expect(&cuts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
