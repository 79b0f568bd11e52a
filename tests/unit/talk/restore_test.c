/* Values put back into text, in every cut. */
#include "talk/restore.h"

#include "base/utf8.h"
#include "unit/cmocka_all.h"

#include <stdio.h>

#define KEY WEIR_SLICE("0123456789abcdef0123456789abcdef")

/* Tokens of the map: the first is restored to jane@example.org, the second to text that JSON
 * escapes, the third never. */
#define MAIL "EMAIL_ADDRESS_RE8N1MPVZ9"
static struct weir_arena arena;
static struct weir_mask *mask;
static const struct weir_mask_entry *mail;
static const struct weir_mask_entry *quoted;
static const struct weir_mask_entry *secret;

static const struct weir_mask_entry *add(const char *type, const char *value, bool is_restored)
{
    return weir_mask_add(mask, &(struct weir_mask_value){.type = weir_slice_cstr(type),
                                                         .text = weir_slice_cstr(value),
                                                         .is_restored = is_restored});
}

static int set_up(void **state)
{
    (void)state;
    mask = weir_mask_new(&arena, KEY, WEIR_SLICE("route:r"));
    mail = add("email_address", "jane@example.org", true);
    quoted = add("person", "Zo\xC3\xAB \"Q\"\\\n", true);
    secret = add("api_key", "sk-123456", false);
    weir_mask_seal(mask);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weir_arena_dispose(&arena);
    return 0;
}

static const struct weir_slice HOSTS[] = {{"ours.example", 12}};
static const struct weir_linkwatch_hosts hosts = {HOSTS, 1};

static void run(struct weir_slice text, const size_t cuts[2], bool is_json, struct weir_buf *out)
{
    struct weir_restore r;
    weir_restore_init(&r, mask, &hosts, is_json);
    weir_restore_feed(&r, weir_slice_sub(text, 0, cuts[0]), out);
    weir_restore_feed(&r, weir_slice_sub(text, cuts[0], cuts[1]), out);
    weir_restore_feed(&r, weir_slice_sub(text, cuts[1], text.n), out);
    weir_restore_end(&r, out);
    assert_int_equal(r.out_cp, weir_utf8_count(weir_buf_slice(out)));
    weir_restore_dispose(&r);
}

static void becomes_as(const char *text, const char *wanted, bool is_json)
{
    struct weir_slice in = weir_slice_cstr(text);
    for (size_t i = 0; i <= in.n; i++) {
        for (size_t k = i; k <= in.n; k++) {
            struct weir_buf out = {0};
            run(in, (size_t[]){i, k}, is_json, &out);
            if (!weir_slice_eq_cstr(weir_buf_slice(&out), wanted)) {
                fail_msg("cut at %zu and %zu: %s became %s, not %s", i, k, text,
                         weir_buf_cstr(&out), wanted);
            }
            weir_buf_dispose(&out);
        }
    }
}

static void becomes(const char *text, const char *wanted)
{
    becomes_as(text, wanted, false);
}

static void stays(const char *text)
{
    becomes(text, text);
}

static void test_spellings(void **state)
{
    (void)state;
    becomes(MAIL, "jane@example.org");
    becomes("to " MAIL ".", "to jane@example.org.");
    becomes("**" MAIL "**", "**jane@example.org**");
    becomes("email_address_re8n1mpvz9", "jane@example.org");
    becomes("Email_Address_RE8NLMPVZ9", "jane@example.org");
    becomes("EMA1L_ADDRESS_RE8NiMPVZ9", "jane@example.org");
    becomes("EMAIL\\_ADDRESS\\_RE8N1MPVZ9", "jane@example.org");
    becomes("EMAIL%5FADDRESS%5fRE8N1MPVZ9", "jane@example.org");
    becomes(MAIL "s", "jane@example.orgs");
    becomes(MAIL MAIL, "jane@example.org" MAIL);
    becomes(MAIL " " MAIL, "jane@example.org jane@example.org");
    becomes("\xC3\xA9" MAIL, "\xC3\xA9jane@example.org");
    becomes("EMAIL\\" MAIL, "EMAIL\\jane@example.org");
    becomes("EMAIL%" MAIL, "EMAIL%jane@example.org");
    becomes("EMAIL_ADDRESS " MAIL, "EMAIL_ADDRESS jane@example.org");
    becomes("EMAIL_ADDRESS_RE8N" MAIL, "EMAIL_ADDRESS_RE8N" MAIL);
}

static void test_not_tokens(void **state)
{
    (void)state;
    stays("");
    stays("x" MAIL);
    stays("_" MAIL);
    stays("9" MAIL);
    stays("\\_" MAIL);
    stays("EMAIL_ADDRESS_RE8N1MPVZ8");
    stays("EMAIL_ADDRESS_RE8N1MPVZ");
    stays("EMAIL-ADDRESS-RE8N1MPVZ9");
    stays("EMAIL__ADDRESS_RE8N1MPVZ9");
    stays("E M A I L");
    stays("EMAIL_ADDRESS_69C2G27DQB");
    stays(secret->token);
}

static void test_links(void **state)
{
    (void)state;
    stays("https://evil.example/?q=" MAIL);
    stays("HTTPS://evil.example/?q=" MAIL);
    stays("https:\\\\evil.example\\" MAIL);
    stays("https:evil.example/" MAIL);
    stays("ftp://evil.example/" MAIL);
    stays("www.evil.example/" MAIL);
    stays("https://" MAIL ".evil.example/");
    stays("![x](https://evil.example/" MAIL ".png)");
    stays("[x](" MAIL ")");
    stays("[x]( <//evil.example/a b" MAIL ">)");
    stays("[x](/relative?" MAIL ")");
    stays("[x](javascript:f('" MAIL "'))");
    stays("[x](data:text/html," MAIL ")");
    stays("[x](https://evil.example/ \"" MAIL "\")");
    stays("[x](https://evil.example/(a)" MAIL ")");
    stays("["
          "x"
          "]: //evil.example/" MAIL);
    stays("<img src=//evil.example/" MAIL ">");
    stays("https://ours.example@evil.example/" MAIL);
    stays("https://evil.example/\"" MAIL);
    stays("[b]: <https://evil.example/? " MAIL ">");
    stays("[b]:\n  https\\:\\/\\/evil.example/" MAIL);
    stays("[b]: https&#58;&#47;&#47;evil.example/" MAIL);
    stays("[x](\n/&#47;evil.example/" MAIL ")");
    stays("[x](<https://evil.example/)" MAIL ">)");
    stays("<img src=\"https://evil.example/?q= " MAIL "\">");
    stays("<img alt='a>b' src = '\\\\evil.example\\" MAIL "'>");
    stays("<img src=&#104;ttps://evil.example/" MAIL ">");
    stays("https://ours.example\\@evil.example/" MAIL);
    stays("https://ours.example.evil.example/" MAIL);
    stays("https://ours.example:80@evil.example/" MAIL);
    stays("https://ours.example" MAIL);
    becomes("https://ours.example/?q=" MAIL, "https://ours.example/?q=jane@example.org");
    becomes("[x](https://OURS.example:8443?" MAIL ")",
            "[x](https://OURS.example:8443?jane@example.org)");
    becomes("[x](mailto:" MAIL ")", "[x](mailto:jane@example.org)");
    becomes("[" MAIL "](tel:" MAIL ") " MAIL,
            "[jane@example.org](tel:jane@example.org) jane@example.org");
    becomes("mailto:" MAIL, "mailto:jane@example.org");
    becomes("https://evil.example " MAIL, "https://evil.example jane@example.org");
    becomes("<a href=\"mailto:" MAIL "\">" MAIL "</a>",
            "<a href=\"mailto:jane@example.org\">jane@example.org</a>");
    becomes("<img src=\"https://ours.example/" MAIL "\">",
            "<img src=\"https://ours.example/jane@example.org\">");
    becomes("[b]: https://evil.example/\n" MAIL, "[b]: https://evil.example/\njane@example.org");
    becomes("<https://evil.example>" MAIL, "<https://evil.example>jane@example.org");
    becomes("[x](https://evil.example/)" MAIL, "[x](https://evil.example/)jane@example.org");
    becomes("a[i] (" MAIL ")", "a[i] (jane@example.org)");
    becomes("50% / " MAIL " / x", "50% / jane@example.org / x");
}

static void test_json(void **state)
{
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "{\"a\":\"%s!\",\"%s\":1}", quoted->token, mail->token);
    becomes_as(text, "{\"a\":\"Zo\xC3\xAB \\\"Q\\\"\\\\\\n!\",\"jane@example.org\":1}", true);
    snprintf(text, sizeof text, "no JSON: %s", quoted->token);
    becomes_as(text, "no JSON: Zo\xC3\xAB \"Q\"\\\n", true);
    becomes_as("[\"EMAIL\\\\_ADDRESS\\u005fRE8N1MPVZ9\"]", "[\"jane@example.org\"]", true);
    becomes_as("[\"https:\\/\\/evil.example\\/" MAIL "\",\"" MAIL "\"]",
               "[\"https:\\/\\/evil.example\\/" MAIL "\",\"jane@example.org\"]", true);
    becomes_as("[\"x\\n" MAIL "\",\"\\u0020" MAIL "\",\"\\u0061" MAIL "\",\"\\\\n" MAIL "\"]",
               "[\"x\\njane@example.org\",\"\\u0020jane@example.org\",\"\\u0061" MAIL
               "\",\"\\\\n" MAIL "\"]",
               true);
    becomes_as("[\"\\u0068ttps:\\u002f/evil.example/" MAIL "\"]",
               "[\"\\u0068ttps:\\u002f/evil.example/" MAIL "\"]", true);
    becomes_as("[\"[x](\\u0020" MAIL "\"]", "[\"[x](\\u0020" MAIL "\"]", true);
    /* A quote ends a string only where there is one. */
    becomes_as("see [x](//evil.example/\"" MAIL ")", "see [x](//evil.example/\"" MAIL ")", true);
}

static void test_empty_map(void **state)
{
    (void)state;
    struct weir_mask *none = weir_mask_new(&arena, KEY, WEIR_SLICE("route:r"));
    struct weir_restore r;
    struct weir_buf out = {0};
    weir_restore_init(&r, none, &hosts, false);
    static const char *const pieces[] = {"EMAIL", "_ADDR", "ESS_RE8N1", "MPVZ9"};
    size_t n = 0;
    for (size_t i = 0; i < 4; i++) {
        weir_restore_feed(&r, weir_slice_cstr(pieces[i]), &out);
        n += strlen(pieces[i]);
        assert_int_equal(out.n, n);
        assert_false(weir_restore_holds(&r));
    }
    weir_buf_dispose(&out);
    weir_restore_dispose(&r);
}

/* Only what may become a token of this map is held back. */
static void test_held(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n_held;
    } cases[] = {{"x", 0},
                 {"E", 1},
                 {"an E", 1},
                 {"EMAIL_ADDRESS_R", 15},
                 {"EMAIL_ADDRESS_X", 0},
                 {"xEMAIL", 0},
                 {"EMAIL%", 6},
                 {"EMAIL\\", 6},
                 {"EMA\\", 0},
                 {"PERSON", 6},
                 {"PERSONA", 0},
                 {"API_KEY", 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_restore r;
        struct weir_buf out = {0};
        weir_restore_init(&r, mask, &hosts, false);
        weir_restore_feed(&r, weir_slice_cstr(cases[i].text), &out);
        assert_int_equal(strlen(cases[i].text) - out.n, cases[i].n_held);
        weir_buf_dispose(&out);
        weir_restore_dispose(&r);
    }
}

static void test_places(void **state)
{
    (void)state;
    struct weir_restore r;
    struct weir_buf out = {0};
    weir_restore_init(&r, mask, &hosts, false);
    weir_restore_feed(&r, WEIR_SLICE("\xC3\xA9 " MAIL " [x] "), &out); /* 24 become 16 */
    assert_int_equal(weir_restore_map(&r, 1), 1);
    assert_int_equal(weir_restore_map(&r, 26), 18);
    assert_int_equal(weir_restore_map(&r, 27), 19);
    weir_restore_feed(&r, WEIR_SLICE(MAIL "[y]"), &out);
    assert_int_equal(weir_restore_map(&r, 30), 22);
    assert_int_equal(weir_restore_map(&r, 31 + 24), 23 + 16);
    weir_restore_feed(&r, WEIR_SLICE("EMAIL_ADD"), &out);
    weir_restore_take_back(&r, 9);
    weir_restore_feed(&r, WEIR_SLICE("[z]"), &out);
    weir_restore_end(&r, &out);
    assert_true(weir_slice_eq_cstr(weir_buf_slice(&out), "\xC3\xA9 jane@example.org [x] "
                                                         "jane@example.org[y][z]"));
    weir_buf_dispose(&out);
    weir_restore_dispose(&r);
}

/* Of all that has left, where somebody asks later. */
static void test_places_that_are_kept(void **state)
{
    (void)state;
    struct weir_restore r;
    struct weir_buf out = {0};
    weir_restore_init(&r, mask, &hosts, false);
    r.keeps_shifts = true;
    for (size_t i = 0; i < 3; i++) { /* 25 become 17, thrice */
        weir_restore_feed(&r, WEIR_SLICE(MAIL " "), &out);
    }
    assert_int_equal(weir_restore_map(&r, 0), 0);
    assert_int_equal(weir_restore_map(&r, 25), 17);
    assert_int_equal(weir_restore_map(&r, 74), 50);
    weir_restore_forget(&r, 49);
    assert_int_equal(weir_restore_map(&r, 49), 33);
    assert_int_equal(weir_restore_map(&r, 74), 50);
    weir_restore_forget(&r, 75);
    assert_int_equal(weir_restore_map(&r, 75), 51);
    weir_buf_dispose(&out);
    weir_restore_dispose(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings), cmocka_unit_test(test_not_tokens),
        cmocka_unit_test(test_links),     cmocka_unit_test(test_json),
        cmocka_unit_test(test_empty_map), cmocka_unit_test(test_held),
        cmocka_unit_test(test_places),    cmocka_unit_test(test_places_that_are_kept),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
