/* Added lines out of git's output, however it is cut; nothing in a file is taken for the diff's
 * own. */
#include "offline/detect_diff.h"

#include "unit/cmocka_all.h"

static const char DIFF[] = "commit 1111\n"
                           "\n"
                           "diff --git a/x b/x\n"
                           "index 1..2 100644\n"
                           "--- a/x\n"
                           "+++ b/x\n"
                           "@@ -1,2 +1 @@ some function\n"
                           "-old\n"
                           "--- a/no\n"
                           "+++ b/not-a-file\n"
                           "@@ -5,0 +7,3 @@\n"
                           "+diff --git a/no b/no\n"
                           "+\n"
                           "+commit 3333\n"
                           "\\ No newline at end of file\n"
                           "diff --git a/gone b/gone\n"
                           "--- a/gone\n"
                           "+++ /dev/null\n"
                           "@@ -1 +0,0 @@\n"
                           "-gone\n"
                           "commit 2222\n"
                           "\n"
                           "diff --git a/bin b/bin\n"
                           "Binary files a/bin and b/bin differ\n"
                           "diff --git \"a/q\" \"b/q\"\n"
                           "--- /dev/null\n"
                           "+++ \"b/a\\tb \\303\\251\\\"\\\\\"\t\n"
                           "@@ -0,0 +1 @@\n"
                           "+last";

static const char EXPECTED[] = "x 1111: 1=++ b/not-a-file 7= 7=diff --git a/no b/no 8= 9=commit "
                               "3333\na\tb \xC3\xA9\"\\ 2222: 1=last\n";

static void on_text(void *ctx, struct weir_detect_diff_text *t)
{
    struct weir_buf *out = ctx;
    struct weir_slice rest = weir_buf_slice(&t->text);
    weir_buf_printf(out, "%s %s:", t->path, t->commit);
    for (size_t i = 0; i < t->n_lines; i++) {
        struct weir_slice line = weir_slice_cut(&rest, '\n');
        weir_buf_printf(out, " %llu=%.*s", (unsigned long long)t->lines[i], (int)line.n, line.p);
    }
    assert_int_equal(rest.n, 0);
    weir_buf_append_byte(out, '\n');
}

static void test_any_cut(void **state)
{
    (void)state;
    for (size_t step = 1; step < sizeof DIFF; step++) {
        struct weir_buf out = {0};
        struct weir_detect_diff d;
        weir_detect_diff_init(&d, on_text, &out);
        struct weir_slice rest = weir_slice_cstr(DIFF);
        while (rest.n != 0) {
            size_t n = rest.n < step ? rest.n : step;
            weir_detect_diff_add(&d, weir_slice_sub(rest, 0, n));
            rest = weir_slice_sub(rest, n, rest.n);
        }
        weir_detect_diff_end(&d);
        assert_string_equal(weir_buf_cstr(&out), EXPECTED);
        weir_detect_diff_dispose(&d);
        weir_buf_dispose(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
