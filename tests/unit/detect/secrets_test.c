/* `secrets`: every row of the shapes, the judges one by one, and what only looks like a secret. */
#include "unit/cmocka_all.h"

#include "base/mem.h"
#include "detect/secrets.h"
#include "detect/secrets_int.h"
#include "unit/detect/builtin_probe.h"

#include <string.h>

/* Drawn here, so that no token that looks real stands in the tree. */
static void draw(char *out, size_t n, enum weir_secret_class class, uint32_t seed)
{
    for (size_t i = 0; i < n;) {
        seed = seed * 1664525 + 1013904223;
        char c = (char)(33 + (seed >> 16) % 94);
        if (weir_secrets__has(class, c) && c != '.' && c != '/' && c != '=' && c != '-') {
            out[i++] = c;
        }
    }
    out[n] = '\0';
}

static bool finds(struct probe *p, const char *text, const char *kind)
{
    const struct weir_detect_call *call = probe_ask(p, weir_slice_cstr(text), "");
    assert_int_equal(call->fault.origin, WEIR_FAULT_NONE);
    for (size_t i = 0; i < call->lists[0].n; i++) {
        if (weir_slice_eq_cstr(call->lists[0].items[i].detection, kind)) {
            return true;
        }
    }
    return false;
}

static void test_shapes(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_secrets, "{}");
    const struct weir_secret_shapes *shapes = weir_secrets__shapes();
    for (size_t i = 0; i < shapes->n; i++) {
        const struct weir_secret_shape *s = &shapes->items[i];
        char body[600];
        char text[800];
        draw(body, s->min, s->class, (uint32_t)i + 7);
        snprintf(text, sizeof text, "Use %s%s, ok?", s->prefix, body);
        if (!finds(&p, text, s->kind)) {
            fail_msg("%s: %s", s->kind, text);
        }
        snprintf(text, sizeof text, "Use a%s%s, ok?", s->prefix, body);
        bool is_url = strstr(s->prefix, "://") != NULL;
        if (!is_url && finds(&p, text, s->kind)) {
            fail_msg("%s inside a word: %s", s->kind, text);
        }
        body[s->min - 1] = '\0';
        snprintf(text, sizeof text, "Use %s%s, ok?", s->prefix, body);
        if (finds(&p, text, s->kind)) {
            fail_msg("%s too short: %s", s->kind, text);
        }
        memset(body, 'x', s->min);
        body[s->min] = '\0';
        snprintf(text, sizeof text, "Use %s%s, ok?", s->prefix, body);
        assert_false(finds(&p, text, s->kind));
    }
    probe_close(&p);
}

#define KEY_LINE "MIIEpAIBAAKCAQEA7bq9kS3vXn1pQ0Zr5tYc8uWd2fGh4jKl6zXc9vBn3mQw"

static const struct probe_case cases[] = {
    {"a -----BEGIN RSA PRIVATE KEY-----\n" KEY_LINE "\n-----END RSA PRIVATE KEY----- b",
     "private_key[-----BEGIN RSA PRIVATE KEY-----\n" KEY_LINE "\n-----END RSA PRIVATE KEY-----]"},
    {"-----BEGIN PRIVATE KEY-----\n" KEY_LINE "\n",
     "private_key[-----BEGIN PRIVATE KEY-----\n" KEY_LINE "\n]"},
    {KEY_LINE "\n-----END PRIVATE KEY-----\nmore",
     "private_key[" KEY_LINE "\n-----END PRIVATE KEY-----]"},
    {"It starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.", ""},
    {"-----BEGIN PUBLIC KEY-----\n" KEY_LINE "\n-----END PUBLIC KEY-----", ""},
    {"postgres://app:s3cr3tPw@db.example.com:5432/x",
     "basic_auth_url[postgres://app:s3cr3tPw@db.example.com:5432]"},
    {"postgres://user:password@localhost/x http://a.example:8080/@b", ""},
    {"bot 123456789:AAF9cD3eGhIjKlMnOpQrStUvWxYz0123456 ok",
     "telegram_bot_token[123456789:AAF9cD3eGhIjKlMnOpQrStUvWxYz0123456]"},
    {"key 0123456789abcdef0123456789abcd3f-us12.",
     "mailchimp_api_key[0123456789abcdef0123456789abcd3f-us12]"},
    {"password = \"Tr0ub4dor&3\"", "password[Tr0ub4dor&3]"},
    {"DB_PASSWORD: hunter2", "password[hunter2]"},
    {"my password is Summer2024!", "password[Summer2024!]"},
    {"my password is very important to me", ""},
    {"api_key: 'a8f5f167f44f4964e6c998dee827110c'",
     "high_entropy_assignment[a8f5f167f44f4964e6c998dee827110c]"},
    {"AWS_SECRET_ACCESS_KEY=kQ3vXn1pZr5/YcuWd2fGh4jKl6zXc9vBn3mQw7Lt",
     "aws_secret_access_key[kQ3vXn1pZr5/YcuWd2fGh4jKl6zXc9vBn3mQw7Lt]"},
    {"HEROKU_API_KEY=12345678-abcd-4ef0-9876-0123456789ab",
     "heroku_api_key[12345678-abcd-4ef0-9876-0123456789ab]"},
    {"\"type\": \"service_account\", \"private_key_id\": \"1\"",
     "gcp_service_account[\"type\": \"service_account\"]"},
    {"(\"password\", \"kQ3vXn1pZr\") setenv('API_KEY', 'a8f5f167f44f4964e6c998dee827110c')",
     "password[kQ3vXn1pZr] high_entropy_assignment[a8f5f167f44f4964e6c998dee827110c]"},
    {"{\"name\": \"DB_PASSWORD\", \"value\": \"kQ3vXn1p\"} <password>hunter22</password>",
     "password[kQ3vXn1p] password[hunter22]"},
    {"run --password kQ3vXn1p --token a8f5f167f44f4964e6c9",
     "password[kQ3vXn1p] high_entropy_assignment[a8f5f167f44f4964e6c9]"},
    {"the password for the old server is kQ3vXn1p.", "password[kQ3vXn1p]"},
    {"| password | kQ3vXn1p |", "password[kQ3vXn1p]"},
    {"Authorization: Basic Y2ktcnVubmVyOlZxN21aMmtMcDl3WA==",
     "basic_auth_header[Y2ktcnVubmVyOlZxN21aMmtMcDl3WA==]"},
    {"Authorization: Bearer a8f5f167f44f4964e6c9", "bearer_token[a8f5f167f44f4964e6c9]"},
    {"curl -u 'admin:kQ3vXn1p' x; mysql -u root -pkQ3vXn1p db",
     "password[kQ3vXn1p] password[kQ3vXn1p]"},
    {"var apiToken string = \"a8f5f167f44f4964e6c9\"; let t_token: &str = \"b8f5f167f44f4964e6c9\"",
     "high_entropy_assignment[a8f5f167f44f4964e6c9] high_entropy_assignment[b8f5f167f44f4964e6c9]"},
    {"API_KEY ?= a8f5f167f44f4964e6c9\nAPI_KEY ::= b8f5f167f44f4964e6c9 $token .= "
     "'c8f5f167f44f4964e6c9' api_token{\"d8f5f167f44f4964e6c9\"}",
     "high_entropy_assignment[a8f5f167f44f4964e6c9] high_entropy_assignment[b8f5f167f44f4964e6c9] "
     "high_entropy_assignment[c8f5f167f44f4964e6c9] high_entropy_assignment[d8f5f167f44f4964e6c9]"},
    {"<apiToken>\n  a8f5f167f44f4964e6c9\n</apiToken> {\"env\": "
     "\"TOKEN=b8f5f167f44f4964e6c9\\nA=1\"}",
     "high_entropy_assignment[a8f5f167f44f4964e6c9] high_entropy_assignment[b8f5f167f44f4964e6c9]"},
    {"Authorization: Token a8f5f167f44f4964e6c9", "high_entropy_assignment[a8f5f167f44f4964e6c9]"},
    {"api_token: 4be1c1e0-8a71-4c4e-9a1f-2d5c0c7e9f10, id: 4be1c1e0-8a71-4c4e-9a1f-2d5c0c7e9f11",
     "high_entropy_assignment[4be1c1e0-8a71-4c4e-9a1f-2d5c0c7e9f10]"},
    {"kind: Secret\ndata:\n  a: a8f5f167f44f4964\n  b: eHl6\n  c: b8f5f167f44f4964\nkind: "
     "x\ndata:\n  "
     "d: c8f5f167f44f4964\n",
     "kubernetes_secret[a8f5f167f44f4964] kubernetes_secret[b8f5f167f44f4964]"},
    {"?sv=2022&sig=", ""},
    {"?sv=2022&sig=kQ3vXn1pZr5%2BYcuWd2fGh4jKl6zXc9vBn3mQw7LtAb%3", ""},
    /* what only looks like it */
    {"['password', 'confirm_password1'] args(pwd=None): Basic dXNlcjpwYXNzd29yZA==", ""},
    {"password: !vault | x, docker run -u 1000:1000, mysql -p, the password to the old house", ""},
    {"token = os.environ[\"TOKEN\"], secret: ${SECRET}, api_key=\"<your-key>\"", ""},
    {"password: ********, password=changeme, password: string, pwd=/home/u1", ""},
    {"max_tokens: 100000, token_count = 12345678901234567890, token: 1234567890123456", ""},
    {"token: 550e8400-e29b-41d4-a716-446655440000", ""},
    {"commit a8f5f167f44f4964e6c998dee827110ca8f5f167", ""},
    {"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", ""},
    {"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", ""},
    {"risk-averse task-force sk-your-api-key-goes-here-please", ""},
    {"secret_name = my-api-token-for-user-1 and token: release-candidate-2024", ""},
    {"PASS: gdb.base/annota1.exp, PASS: tst-cancel4_2, \"Password:\",e.value2?1:0", ""},
    {"aws_secret_access_key=s3_aws_secret_access_key, token is SemicolonToken$1", ""},
    {"apiKey: SensitiveString2048, password: e.target.value2, \"pass\": \"Übergeben!\"", ""},
    {"arn:aws:secretsmanager:us-east-1:123456789012:secret:prod-a1B2c3d4e5f6", ""},
    {"\"nextToken\": \"eyJOZXh0VG9rZW4iOiBudWxsLCAiYm90\", https://user:pass@example.com/", ""},
    {"https://cdn.example/AC0123456789abcdef0123456789abcd3f.png, https://a:b@host.test", ""},
    {"eyJub3QiOiJhIGhlYWRlciJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlc2lnbmF0dXJl", ""},
};

static void test_judges(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_secrets, "");
    probe_cases(&p, cases, sizeof cases / sizeof cases[0]);
    probe_close(&p);
}

static void test_jwt(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_secrets, "");
    assert_true(finds(&p,
                      "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0."
                      "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U.",
                      "jwt"));
    probe_close(&p);
}

static void test_jwt_in_base64(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_secrets, "");
    assert_true(finds(&p,
                      "data: ZXlKaGJHY2lPaUpJVXpJMU5pSjkuZXlKemRXSWlPaUl4TWpNME5UWTNPRGt3SW4wLmRve"
                      "mpnTnJ5UDRKM2pWbU5IbDB3NU5fWGdMMG4zSTlQbEZVUDBUSHNSOFU=",
                      "jwt"));
    assert_false(finds(&p,
                       "data: ZXlKaGJHY2lPaUpJVXpJMU5pSjkuZXlKemRXSWlPaUl4TWpNME5UWTNPRGt3SW4wLmRv"
                       "empnTnJ5UDRKM2pWbU5IbDB3NU5fWGdMMG4zSTlQbEZVUDBUSHNSOFVB",
                       "password"));
    probe_close(&p);
}

static void test_headers(void **state)
{
    (void)state;
    static const struct probe_case headers[] = {
        {"curl -H 'Authorization: Bearer 9fK2mQx7Lp4Zr8TbVw3N'",
         "bearer_token[9fK2mQx7Lp4Zr8TbVw3N]"},
        {"authorization: bearer 7c9e6679f7425540de944be07fc1f90a",
         "bearer_token[7c9e6679f7425540de944be07fc1f90a]"},
        {"Authorization: Basic Ym9iOkh4NzJoc1BxOQ==", "basic_auth_header[Ym9iOkh4NzJoc1BxOQ==]"},
        {"Bearer ghp_4kTz9XqLm2Wv7RbNc5YhPd8JsGf3EuAo1Ki6",
         "github_token[ghp_4kTz9XqLm2Wv7RbNc5YhPd8JsGf3EuAo1Ki6]"},
        {"Bearer <token>, Bearer $TOKEN, Bearer your-token-goes-here-1", ""},
        {"the bearer of this letter, a bearer 1234567890123456 plate", ""},
        {"Authorization: Basic <credentials>, Authorization: Basic dXNlcjpwYXNz", ""},
        {"Basic authentication, basic Ym9iOkh4NzJoc1BxOQ==", ""},
    };
    struct probe p;
    probe_open(&p, &weir_detect_secrets, "");
    probe_cases(&p, headers, sizeof headers / sizeof headers[0]);
    probe_close(&p);
}

static void test_the_better_of_two(void **state)
{
    (void)state;
    struct probe p;
    char body[64];
    char text[160];
    probe_open(&p, &weir_detect_secrets, "");
    draw(body, 36, WEIR_SECRET_ALNUM, 3);
    snprintf(text, sizeof text, "token = \"ghp_%s\"", body);
    const struct weir_detect_call *call = probe_ask(&p, weir_slice_cstr(text), "");
    assert_int_equal(call->lists[0].n, 1);
    assert_true(weir_slice_eq_cstr(call->lists[0].items[0].detection, "github_token"));
    assert_true(call->lists[0].items[0].score == 1.0);
    probe_close(&p);
}

/* Candidates everywhere: each is judged, none for long. */
static void test_many_candidates(void **state)
{
    (void)state;
    static const char *const floods[] = {"eyJ",
                                         "token=a1",
                                         "-----BEGIN PRIVATE KEY-----",
                                         "glpat-",
                                         "://a:b",
                                         "password='",
                                         "EAAA",
                                         "xoxb-1.",
                                         "kind: Secret\ndata:\n a: b\n",
                                         "authorization: token ",
                                         "ZXlK",
                                         "AAAAAAAA",
                                         "token string = \"",
                                         "<token>\n",
                                         "token: |\n"};
    struct probe p;
    probe_open(&p, &weir_detect_secrets, "");
    size_t n = 200000;
    char *text = weir_mem_alloc(n);
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        size_t n_flood = strlen(floods[i]);
        for (size_t at = 0; at < n; at++) {
            text[at] = floods[i][at % n_flood];
        }
        const struct weir_detect_call *call = probe_ask(&p, weir_slice_make(text, n), "");
        assert_int_equal(call->fault.origin, WEIR_FAULT_NONE);
    }
    free(text);
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_judges),
        cmocka_unit_test(test_jwt),
        cmocka_unit_test(test_jwt_in_base64),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_the_better_of_two),
        cmocka_unit_test(test_many_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
