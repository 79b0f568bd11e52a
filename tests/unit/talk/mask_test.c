/* Tokens of values: their form, what is one value, and whose token a text is. */
#include "talk/mask.h"

#include "unit/cmocka_all.h"

#define KEY WEIR_SLICE("0123456789abcdef0123456789abcdef")

static const char *token_of(struct weir_mask *m, const char *type, const char *value)
{
    const struct weir_mask_entry *e = weir_mask_add(
        m, &(struct weir_mask_value){
               .type = weir_slice_cstr(type), .text = weir_slice_cstr(value), .is_restored = true});
    return e != NULL ? e->token : NULL;
}

/* The tags were made by another program: HMAC of Python's library. */
static void test_tokens(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_mask *m = weir_mask_new(&arena, KEY, WEIR_SLICE("key:team-a"));
    assert_string_equal(token_of(m, "email_address", "jane@example.org"),
                        "EMAIL_ADDRESS_69C2G27DQB");
    assert_string_equal(token_of(m, "credit-card", "4111 1111 1111 1111"),
                        "CREDIT_CARD_CA1S1GSVXQ");
    assert_string_equal(token_of(m, "person", "Jane Doe"), "PERSON_CX4CY08MNV");
    assert_string_equal(
        token_of(m, "nom et pr\xC3\xA9nom de la personne", "Zo\xC3\xAB \xE6\x9D\x8E"),
        "NOM_ET_PR__NOM_DE_LA_PER_KMB2D3QKBP");
    struct weir_mask *other = weir_mask_new(&arena, KEY, WEIR_SLICE("route:r"));
    assert_string_equal(token_of(other, "email_address", "jane@example.org"),
                        "EMAIL_ADDRESS_RE8N1MPVZ9");
    weir_arena_dispose(&arena);
}

/* The first spelling and the first type stay. */
static void test_one_value(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_mask *m = weir_mask_new(&arena, KEY, WEIR_SLICE("route:r"));
    const char *mail = token_of(m, "email_address", "Jane@Example.org");
    assert_ptr_equal(mail, token_of(m, "EMAIL", "jane@example.ORG"));
    const char *card = token_of(m, "credit_card", "4111-1111-1111-1111");
    assert_ptr_equal(card, token_of(m, "credit_card", "4111 1111 1111 1111"));
    const char *phone = token_of(m, "us-phone-number", "+1 (555) 123-4567");
    assert_ptr_equal(phone, token_of(m, "PHONE_NUMBER", "15551234567"));
    assert_ptr_not_equal(token_of(m, "person", "Jane"), token_of(m, "person", "JANE"));
    /* Too few digits to be a number: then the text itself counts. */
    assert_ptr_not_equal(token_of(m, "phone", "ext. 12"), token_of(m, "phone", "int. 12"));
    weir_mask_seal(m);
    const struct weir_mask_entry *e = NULL;
    struct weir_mask_match in = {.text = weir_slice_cstr(mail), .is_end = true};
    assert_int_equal(weir_mask_match(m, &in, &e), in.text.n);
    assert_true(weir_slice_eq_cstr(e->value, "Jane@Example.org"));
    weir_arena_dispose(&arena);
}

/* Two values with one tag, which were sought for: the request must fail. */
static void test_collision(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_mask *m = weir_mask_new(&arena, KEY, WEIR_SLICE("route:r"));
    assert_non_null(token_of(m, "user", "user1118022"));
    assert_null(token_of(m, "user", "user3257115"));
    assert_null(token_of(m, "other", "user3257115"));
    assert_non_null(token_of(m, "user", "user3257116"));
    assert_int_equal(weir_mask_n(m), 2);
    weir_arena_dispose(&arena);
}

static void test_ours(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_mask *m = weir_mask_new(&arena, KEY, WEIR_SLICE("request:1"));
    struct weir_mask *other = weir_mask_new(&arena, WEIR_SLICE("another key"), WEIR_SLICE("r"));
    static const char *const ours[] = {"EMAIL_ADDRESS_69C2G27DQB", "X_69C2G27DQB", "__69C2G27DQB",
                                       "PERSON_XNH017TB94"};
    static const char *const not_ours[] = {"EMAIL_ADDRESS_69C2G27DQC", /* the check does not fit */
                                           "EMAIL_ADDRESS_69C2G27CQB",
                                           "email_address_69C2G27DQB",
                                           "EMAIL_ADDRESS_69c2g27dqb",
                                           "_69C2G27DQB", /* no type */
                                           "69C2G27DQB",
                                           "EMAIL-69C2G27DQB",
                                           "EMAIL_ADDRESS_69C2G27DQBX",
                                           "A234567890123456789012345_69C2G27DQB",
                                           "",
                                           "X"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        assert_true(weir_mask_is_ours(m, weir_slice_cstr(ours[i])));
        assert_false(weir_mask_is_ours(other, weir_slice_cstr(ours[i])));
    }
    for (size_t i = 0; i < sizeof not_ours / sizeof not_ours[0]; i++) {
        assert_false(weir_mask_is_ours(m, weir_slice_cstr(not_ours[i])));
    }
    weir_arena_dispose(&arena);
}

/* Counted are whole words that are tokens, in any cut, and not those of the map. */
static void test_foreign(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    struct weir_mask *m = weir_mask_new(&arena, KEY, WEIR_SLICE("route:r"));
    token_of(m, "email_address", "jane@example.org"); /* …_RE8N1MPVZ9 */
    weir_mask_seal(m);
    struct weir_slice text =
        WEIR_SLICE("EMAIL_ADDRESS_69C2G27DQB, EMAIL_ADDRESS_RE8N1MPVZ9 xPERSON_CX4CY08MNV "
                   "PERSON_CX4CY08MNVs (PERSON_CX4CY08MNV) PERSON_CX4CY08MNA PERSON_CX4CY08MNV");
    for (size_t cut = 0; cut <= text.n; cut++) {
        struct weir_mask_foreign f = {0};
        size_t n = weir_mask_foreign_feed(&f, m, weir_slice_sub(text, 0, cut));
        n += weir_mask_foreign_feed(&f, m, weir_slice_sub(text, cut, text.n));
        n += weir_mask_foreign_end(&f, m);
        assert_int_equal(n, 3);
    }
    weir_arena_dispose(&arena);
}

/* What the arena's memory has after the request: nothing of the map. */
static void test_wiped(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    char *held = weir_arena_alloc(&arena, 16); /* the arena's first block begins with it */
    memset(held, 'x', 16);
    struct weir_mask *m = weir_mask_new(&arena, KEY, WEIR_SLICE("route:r"));
    const struct weir_mask_entry *e = weir_mask_add(
        m, &(struct weir_mask_value){.type = WEIR_SLICE("person"), .text = WEIR_SLICE("Jane Doe")});
    struct weir_arena_undo *wipe = arena.undos;
    assert_memory_equal(e->value.p, "Jane Doe", 8);
    struct weir_slice value = e->value;
    wipe->fn(wipe->ctx);
    for (size_t i = 0; i < value.n; i++) {
        assert_int_equal(value.p[i], 0);
    }
    for (size_t i = 0; i < sizeof *e; i++) {
        assert_int_equal(((const char *)e)[i], 0);
    }
    assert_int_equal(weir_mask_n(m), 0);
    weir_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),    cmocka_unit_test(test_one_value),
        cmocka_unit_test(test_collision), cmocka_unit_test(test_ours),
        cmocka_unit_test(test_foreign),   cmocka_unit_test(test_wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
