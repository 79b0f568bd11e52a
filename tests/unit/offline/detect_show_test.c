/* A finding's line, for people and for programs. */
#include "offline/detect_show.h"

#include "unit/cmocka_all.h"

static void expect_text(struct weir_slice text, size_t max_cp, const char *expected)
{
    struct weir_buf out = {0};
    weir_detect_show_text(text, max_cp, &out);
    assert_string_equal(weir_buf_cstr(&out), expected);
    weir_buf_dispose(&out);
}

static void test_texts(void **state)
{
    (void)state;
    expect_text(WEIR_SLICE(""), 5, "");
    expect_text(WEIR_SLICE("gr\xC3\xBC\xC3\x9F"), 10, "gr\xC3\xBC\xC3\x9F");
    expect_text(WEIR_SLICE("\xC3\xBC\xC3\xBC\xC3\xBC"), 2, "\xC3\xBC\xC3\xBC\xE2\x80\xA6");
    expect_text(WEIR_SLICE("abc"), 3, "abc");
    expect_text(WEIR_SLICE("a\r\n\tb\x1B\x7F"), 9, "a\\r\\n\\tb\\u{1b}\\u{7f}");
    expect_text(WEIR_SLICE("\xC2\x9B\xE2\x80\xAE\xE2\x80\x8B\xEF\xBB\xBF"), 9,
                "\\u{9b}\\u{202e}\\u{200b}\\u{feff}");
    expect_text(WEIR_SLICE("\xF3\xA0\x81\x81"), 9, "\\u{e0041}");
    expect_text(WEIR_SLICE("a\xFF\xE2z"), 9, "a\xEF\xBF\xBD\xEF\xBF\xBDz");
    expect_text(WEIR_SLICE("a\0b"), 9, "a\\u{0}b");
}

static const struct weir_detection FINDING = {
    .has_span = true,
    .start_cp = 3,
    .end_cp = 8,
    .text = {"a\n\"b\"", 5},
    .detection = {"email_address", 13},
    .detection_type = {"pii", 3},
    .detector_id = {"regex", 5},
    .score = 0.875,
};

static void expect_line(struct weir_detect_show show, const char *expected)
{
    struct weir_detect_finding finding = {
        .path = WEIR_SLICE("dir/\xFF"),
        .place = {.line = 7, .column = 2, .at_cp = 103},
        .has_offsets = true,
        .detection = &FINDING,
        .fingerprint = "f00d",
    };
    struct weir_buf out = {0};
    weir_detect_show_finding(&show, &finding, &out);
    assert_string_equal(weir_buf_cstr(&out), expected);
    weir_buf_dispose(&out);
}

static void test_lines(void **state)
{
    (void)state;
    expect_line((struct weir_detect_show){0},
                "dir/\xEF\xBF\xBD:7:2: pii/email_address (regex, 0.88) a\\n\"b\"\n");
    expect_line((struct weir_detect_show){.is_coloured = true},
                "\033[35mdir/\xEF\xBF\xBD\033[0m:7:2: \033[1;33mpii/email_address\033[0m "
                "(regex, 0.88) \033[31ma\\n\"b\"\033[0m\n");
    expect_line((struct weir_detect_show){.format = WEIR_DETECT_JSONL},
                "{\"file\":\"dir/\xEF\xBF\xBD\",\"line\":7,\"column\":2,\"start\":103,\"end\":108,"
                "\"text\":\"a\\n\\\"b\\\"\",\"detection\":\"email_address\",\"detection_type\":"
                "\"pii\",\"detector_id\":\"regex\",\"score\":0.875,\"fingerprint\":\"f00d\"}\n");
    expect_line((struct weir_detect_show){.is_redacted = true},
                "dir/\xEF\xBF\xBD:7:2: pii/email_address (regex, 0.88) \xE2\x80\xA6****\n");
    expect_line((struct weir_detect_show){.format = WEIR_DETECT_GITHUB},
                "::error file=dir/\xFF,line=7,col=2,title=pii/email_address::regex found "
                "email_address: a\\n\"b\"\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
