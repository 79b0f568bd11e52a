/* Secrets whose shape is more than a prefix: private keys, JWTs, logins in URLs, a few vendors. */
#include "base/arena.h"
#include "detect/ascii.h"
#include "detect/pem.h"
#include "detect/secrets_int.h"
#include "wire/base64.h"
#include "wire/json.h"

#include <string.h>

static bool is_found(struct weir_secret_look *l, size_t from, size_t to, const char *kind)
{
    l->from = from;
    l->to = to;
    l->kind = kind;
    l->score = 0.9;
    return true;
}

/* ---- private keys */

enum { MIN_BODY_RUN = 32, MIN_OPEN_RUN = 16 };

static size_t find_text(struct weir_slice t, size_t from, const char *needle)
{
    const char *at = from < t.n ? memmem(t.p + from, t.n - from, needle, strlen(needle)) : NULL;
    return at != NULL ? (size_t)(at - t.p) : t.n;
}

/* A key whose END line is not in the text: it goes on, or somebody talks about keys. */
static bool judge_open_key(struct weir_secret_look *l, struct weir_slice rest, bool is_at_end)
{
    enum weir_pem_sign sign = weir_pem_goes_on(rest);
    bool goes_on = is_at_end && l->is_piece;
    if (goes_on && sign == WEIR_PEM_UNSURE) {
        l->edge = WEIR_EDGE_MAYBE;
        return true;
    }
    l->edge = goes_on && sign == WEIR_PEM_YES ? WEIR_EDGE_OPEN : WEIR_EDGE_NONE;
    return sign == WEIR_PEM_YES || weir_pem_longest_run(rest) >= MIN_OPEN_RUN;
}

/* From its BEGIN line to its END line; without one, to the end of the text or 16 KiB. */
static bool judge_private_key(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t begin = l->end - strlen("-----BEGIN ");
    size_t body = weir_pem_label_end(t, l->end);
    if (body == 0) {
        return false;
    }
    size_t limit = begin + WEIR_PEM_MAX_BYTES < t.n ? begin + WEIR_PEM_MAX_BYTES : t.n;
    limit = find_text(weir_slice_sub(t, 0, limit), body, "-----BEGIN ");
    size_t after = weir_pem_find_end(weir_slice_sub(t, 0, limit), body);
    size_t to = after != 0 ? after : limit;
    while ((unsigned char)weir_ascii_at(t, to) >> 6 == 2) {
        to--; /* not inside a character */
    }
    is_found(l, begin, to, "private_key");
    l->score = 1.0;
    struct weir_slice rest = weir_slice_sub(t, body, to);
    return after != 0 ? weir_pem_longest_run(rest) >= MIN_BODY_RUN
                      : judge_open_key(l, rest, limit == t.n);
}

static bool is_body_byte(char c)
{
    return weir_secrets__has(WEIR_SECRET_BASE64, c) || c == '\n' || c == '\r' || c == ' ' ||
           c == '\\';
}

/* The rest of a key whose BEGIN line is not in this text. */
static bool judge_key_end(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t line = l->end - strlen("-----END ");
    size_t to = weir_pem_label_end(t, l->end);
    size_t from = line;
    while (from > l->floor && is_body_byte(t.p[from - 1])) {
        from--;
    }
    is_found(l, from, to, "private_key");
    l->edge = l->is_piece ? WEIR_EDGE_REST : WEIR_EDGE_NONE;
    return to != 0 && from == 0 && weir_pem_longest_run(weir_slice_sub(t, 0, line)) >= MIN_BODY_RUN;
}

/* PuTTY's form: "Private-Lines: 14" and as many lines of base64. */
static bool judge_putty_key(struct weir_secret_look *l)
{
    enum { MAX_LINES = 256, MAX_LINE = 128 };
    struct weir_slice t = l->text;
    size_t at = l->end;
    while (weir_ascii_is_digit(weir_ascii_at(t, at))) {
        at++;
    }
    while (weir_ascii_at(t, at) == '\r' || weir_ascii_at(t, at) == '\n') {
        at++;
    }
    size_t from = at;
    size_t to = at;
    for (size_t i = 0; i < MAX_LINES; i++) {
        size_t end = weir_secrets__run(t, at, WEIR_SECRET_BASE64, MAX_LINE);
        if (end == at || (end < t.n && t.p[end] != '\n' && t.p[end] != '\r')) {
            break;
        }
        to = end;
        at = end + (weir_ascii_at(t, end) == '\r');
        at += weir_ascii_at(t, at) == '\n';
    }
    is_found(l, from, to, "private_key");
    l->score = 1.0;
    return to - from >= MIN_BODY_RUN;
}

/* ---- JWT */

enum { MAX_HEADER = 2048, MAX_PART = 65536, MIN_SIGNATURE = 20 };

static bool has_alg(struct weir_slice header)
{
    struct weir_arena arena = {0};
    struct weir_slice bytes;
    struct weir_json json;
    bool is_jose = weir_base64_decode(&arena, WEIR_BASE64_URL, header, &bytes) == 0 &&
                   weir_json_parse(&json, bytes, NULL, &arena, NULL) == 0 &&
                   weir_json_get(&json, 0, WEIR_SLICE("alg")) != WEIR_JSON_NONE;
    weir_arena_dispose(&arena);
    return is_jose;
}

static bool judge_jwt(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t from = l->end - strlen("eyJ");
    if (weir_secrets__touches_word(weir_ascii_before(t, from))) {
        return false;
    }
    size_t header = weir_secrets__run(t, from, WEIR_SECRET_URL, MAX_HEADER);
    if (weir_ascii_at(t, header) != '.') {
        return false;
    }
    size_t claims = weir_secrets__run(t, header + 1, WEIR_SECRET_URL, MAX_PART);
    if (weir_ascii_at(t, claims) != '.' || claims < header + 4) {
        return false;
    }
    size_t to = weir_secrets__run(t, claims + 1, WEIR_SECRET_URL, MAX_PART);
    is_found(l, from, to, "jwt");
    l->score = 1.0;
    return to - claims > MIN_SIGNATURE && has_alg(weir_slice_sub(t, from, header));
}

/* A whole JWT in base64: "eyJ" begins as "ZXlK". */
static bool judge_coded_jwt(struct weir_secret_look *l)
{
    enum { LEAST = 64 };
    struct weir_slice t = l->text;
    size_t from = l->end - strlen("ZXlK");
    size_t to = weir_secrets__run(t, from, WEIR_SECRET_BASE64, MAX_PART);
    if (weir_secrets__touches_word(weir_ascii_before(t, from)) || to - from < LEAST) {
        return false;
    }
    struct weir_arena arena = {0};
    struct weir_slice token;
    bool is_jwt = false;
    if (weir_base64_decode(&arena, WEIR_BASE64_STANDARD, weir_slice_sub(t, from, to), &token) ==
        0) {
        struct weir_secret_look inner = {.text = token, .end = strlen("eyJ")};
        is_jwt = token.n > inner.end && judge_jwt(&inner) && inner.to == token.n;
    }
    weir_arena_dispose(&arena);
    l->seen = to;
    is_found(l, from, to, "jwt");
    l->score = 1.0;
    return is_jwt;
}

/* ---- logins in URLs */

enum { MAX_LOGIN = 256, MIN_LOGIN = 4 };

/* example.com and its kin, which documentation may use: there a password must look like one. */
static bool is_example_host(struct weir_slice host)
{
    host = weir_slice_sub(host, 0, weir_slice_find(host, ':'));
    static const char *const names[] = {"example.com", "example.org", "example.net",
                                        ".example",    ".test",       ".invalid",
                                        "localhost",   "host",        "hostname"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t n = strlen(names[i]);
        if (host.n >= n && weir_slice_eq_nocase(weir_slice_sub(host, host.n - n, host.n),
                                                weir_slice_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

static bool ends_authority(char c)
{
    return weir_ascii_is_space(c) || c == '/' || c == '"' || c == '\'' || c == '<' || c == '>' ||
           c == '\0' || c == '?' || c == '`' || c == ')';
}

/* Schemes have parts: mongodb+srv. */
static size_t scheme_start(struct weir_slice t, size_t at)
{
    enum { MAX_SCHEME = 32 };
    size_t from = at;
    while (from > 0 && at - from < MAX_SCHEME &&
           (weir_secrets__has(WEIR_SECRET_URL_DOT, t.p[from - 1]) || t.p[from - 1] == '+')) {
        from--;
    }
    while (from < at && !weir_ascii_is_alpha(t.p[from])) {
        from++;
    }
    return from;
}

static bool judge_url(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t colon = 0;
    size_t at = 0;
    size_t i = l->end;
    for (; i < t.n && i - l->end < MAX_LOGIN && !ends_authority(t.p[i]); i++) {
        if (t.p[i] == ':' && colon == 0) {
            colon = i;
        } else if (t.p[i] == '@') {
            at = i;
        }
    }
    size_t from = scheme_start(t, l->end - 3);
    if (colon == 0 || at < colon + 2 || at + 1 >= i || from == l->end - 3) {
        return false;
    }
    is_found(l, from, i, "basic_auth_url");
    struct weir_slice password = weir_slice_sub(t, colon + 1, at);
    bool is_syntax = weir_slice_find(weir_slice_sub(t, l->end, at), '[') < at - l->end;
    return password.n >= MIN_LOGIN && !is_syntax && !weir_secrets__is_dull(password) &&
           (!is_example_host(weir_slice_sub(t, at + 1, i)) || weir_secrets__looks_chosen(password));
}

/* ---- vendors without a prefix */

static bool judge_mailchimp(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t dash = l->end - strlen("-usN");
    size_t from = weir_secrets__run_back(t, dash, WEIR_SECRET_HEX, 33);
    size_t to = l->end + (size_t)weir_ascii_is_digit(weir_ascii_at(t, l->end));
    is_found(l, from, to, "mailchimp_api_key");
    struct weir_slice hex = weir_slice_sub(t, from, dash);
    return dash - from == 32 && !weir_secrets__touches_word(weir_ascii_before(t, from)) &&
           !weir_secrets__touches_word(weir_ascii_at(t, to)) &&
           !weir_secrets__is_placeholder(hex) && weir_secrets__entropy(hex) >= 2.5;
}

static bool judge_telegram(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t colon = l->end - strlen(":AA");
    size_t from = colon;
    while (from > 0 && colon - from < 11 && weir_ascii_is_digit(t.p[from - 1])) {
        from--;
    }
    size_t to = weir_secrets__run(t, colon + 1, WEIR_SECRET_URL, 36);
    is_found(l, from, to, "telegram_bot_token");
    struct weir_slice key = weir_slice_sub(t, colon + 1, to);
    return colon - from >= 8 && colon - from <= 10 && key.n == 35 &&
           (!weir_secrets__touches_word(weir_ascii_before(t, from)) ||
            weir_ascii_before(t, from) == 't') &&
           !weir_secrets__is_placeholder(key);
}

static bool judge_discord(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t dot = l->end - 8; /* .abcdef. */
    size_t from = weir_secrets__run_back(t, dot, WEIR_SECRET_URL, 33);
    size_t to = weir_secrets__run(t, l->end, WEIR_SECRET_URL, 40);
    is_found(l, from, to, "discord_token");
    struct weir_slice id = weir_slice_sub(t, from, dot);
    struct weir_slice mac = weir_slice_sub(t, l->end, to);
    return id.n >= 23 && id.n <= 30 && strchr("MNO", id.p[0]) != NULL && mac.n >= 27 &&
           mac.n <= 38 && !weir_secrets__touches_word(weir_ascii_before(t, from)) &&
           !weir_secrets__is_placeholder(mac) && weir_secrets__entropy(mac) >= 3.0;
}

static bool judge_terraform(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t dot = l->end - strlen(".atlasv1.");
    size_t from = weir_secrets__run_back(t, dot, WEIR_SECRET_ALNUM, 15);
    size_t to = weir_secrets__run(t, l->end, WEIR_SECRET_URL, 80);
    is_found(l, from, to, "terraform_token");
    l->score = 1.0;
    return dot - from == 14 && to - l->end >= 60 && to - l->end <= 70 &&
           !weir_secrets__is_placeholder(weir_slice_sub(t, l->end, to));
}

static bool is_azure(char c)
{
    return weir_secrets__has(WEIR_SECRET_URL_DOT, c) || c == '~';
}

static bool judge_azure_client(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t from = l->end - 3; /* 8Q~ */
    size_t to = l->end;
    while (from > 0 && l->end - from < 7 && is_azure(t.p[from - 1])) {
        from--;
    }
    while (to < t.n && to - l->end < 36 && is_azure(t.p[to])) {
        to++;
    }
    to -= to > l->end && t.p[to - 1] == '.';
    is_found(l, from, to, "azure_client_secret");
    l->score = 1.0;
    return l->end - from == 6 && to - l->end >= 31 && to - l->end <= 34;
}

static bool judge_airtable(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t from = l->end - strlen("pat.") - 14;
    size_t to = weir_secrets__run(t, l->end, WEIR_SECRET_HEX, 65);
    is_found(l, from, to, "airtable_token");
    l->score = 1.0;
    return to - l->end == 64 && !weir_secrets__touches_word(weir_ascii_before(t, from)) &&
           !weir_secrets__touches_word(weir_ascii_at(t, to)) &&
           weir_secrets__entropy(weir_slice_sub(t, l->end, to)) >= 2.5;
}

#define ZEROS "AAAAAAAAAAAAAAAAAAAA"

/* Twitter's application tokens begin with zero bytes. */
static bool judge_twitter(struct weir_secret_look *l)
{
    enum { LEAST = 80, MOST = 140 };
    struct weir_slice t = l->text;
    if (weir_ascii_at(t, l->end) == 'A') {
        return false; /* there will be a later one */
    }
    size_t from = weir_secrets__run_back(t, l->end, WEIR_SECRET_ALNUM, 32);
    size_t to = l->end;
    while (to < t.n && to - from <= MOST && (weir_ascii_is_alnum(t.p[to]) || t.p[to] == '%')) {
        to++;
    }
    struct weir_slice body = weir_slice_sub(t, l->end, to);
    char before = weir_ascii_before(t, from);
    is_found(l, from, to, "twitter_bearer_token");
    return to - from >= LEAST && to - from <= MOST &&
           memcmp(t.p + from, ZEROS, strlen(ZEROS)) == 0 && before != '+' && before != '/' &&
           !weir_secrets__touches_word(before) &&
           !weir_secrets__touches_word(weir_ascii_at(t, to)) && weir_secrets__entropy(body) >= 3.5;
}

/* AAAAxxxxxxx:APA91b… of Google's cloud messaging. */
static bool judge_messaging(struct weir_secret_look *l)
{
    enum { LEAST = 120, MOST = 180 };
    struct weir_slice t = l->text;
    size_t colon = l->end - strlen(":APA91b");
    size_t from = weir_secrets__run_back(t, colon, WEIR_SECRET_URL, 12);
    size_t to = weir_secrets__run(t, l->end, WEIR_SECRET_URL, MOST + 1);
    is_found(l, from, to, "firebase_server_key");
    l->score = 1.0;
    return colon - from == 11 && memcmp(t.p + from, "AAAA", 4) == 0 && to - l->end >= LEAST &&
           to - l->end <= MOST;
}

static bool judge_maxmind(struct weir_secret_look *l)
{
    enum { BODY = 36 }; /* abcdef_… 29 more */
    struct weir_slice t = l->text;
    size_t mark = l->end - strlen("_mmk");
    size_t from = weir_secrets__run_back(t, mark, WEIR_SECRET_WORD, BODY + 1);
    is_found(l, from, l->end, "maxmind_license_key");
    l->score = 1.0;
    return mark - from == BODY && t.p[from + 6] == '_' &&
           !weir_secrets__touches_word(weir_ascii_at(t, l->end)) &&
           weir_secrets__entropy(weir_slice_sub(t, from, mark)) >= 3.0;
}

/* https://NAME.webhook.office.com/webhookb2/… */
static bool judge_teams(struct weir_secret_look *l)
{
    enum { LEAST = 90, MOST = 300, MAX_HOST = 40 };
    struct weir_slice t = l->text;
    size_t host = l->end - strlen("webhook.office.com/webhookb2/");
    size_t from = weir_secrets__run_back(t, host, WEIR_SECRET_URL_DOT, MAX_HOST);
    size_t n_scheme = strlen("https://");
    size_t to = l->end;
    while (to < t.n && to - l->end <= MOST &&
           (weir_secrets__has(WEIR_SECRET_URL_SLASH, t.p[to]) || t.p[to] == '@')) {
        to++;
    }
    bool is_web = from >= n_scheme && memcmp(t.p + from - n_scheme, "https://", n_scheme) == 0;
    is_found(l, is_web ? from - n_scheme : from, to, "teams_webhook");
    l->score = 1.0;
    return is_web && to - l->end >= LEAST && to - l->end <= MOST;
}

static bool judge_service_account(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t stop = l->end + 512 < t.n ? l->end + 512 : t.n;
    size_t from =
        find_text(weir_slice_sub(t, 0, l->end), l->end > 32 ? l->end - 32 : 0, "\"type\"");
    is_found(l, from, l->end, "gcp_service_account");
    return from < l->end && find_text(weir_slice_sub(t, 0, stop), l->end, "\"private_key") < stop;
}

#define PASSWORD(word)                                                                             \
    {                                                                                              \
        {word, true, false}, weir_secrets__assigned_password, true                                 \
    }
#define PASS(word)                                                                                 \
    {                                                                                              \
        {word, true, false}, weir_secrets__assigned_pass, true                                     \
    }
#define TOKEN(word)                                                                                \
    {                                                                                              \
        {word, true, false}, weir_secrets__assignment, true                                        \
    }

const struct weir_secret_judge weir_secrets__judges[] = {
    {{"-----BEGIN ", false, false}, judge_private_key, false},
    {{"-----END ", false, false}, judge_key_end, false},
    {{"Private-Lines: ", false, false}, judge_putty_key, false},
    {{"eyJ", false, false}, judge_jwt, false},
    {{"ZXlK", false, false}, judge_coded_jwt, false},
    {{ZEROS, false, false}, judge_twitter, false},
    {{":APA91b", false, false}, judge_messaging, false},
    {{"_mmk", false, false}, judge_maxmind, false},
    {{"webhook.office.com/webhookb2/", false, false}, judge_teams, false},
    {{"kind: Secret", false, false}, weir_secrets__manifest, true},
    {{"://", false, false}, judge_url, false},
    {{"[0-9a-f]-us\\d", false, true}, judge_mailchimp, false},
    {{"\\d:AA", false, true}, judge_telegram, false},
    {{"[\\w-]\\.[\\w-]{6}\\.", false, true}, judge_discord, false},
    {{".atlasv1.", false, false}, judge_terraform, false},
    {{"\\dQ~", false, true}, judge_azure_client, false},
    {{"pat[A-Za-z0-9]{14}\\.", false, true}, judge_airtable, false},
    {{"\"service_account\"", false, false}, judge_service_account, false},
    {{"basic ", true, false}, weir_secrets__basic_header, true},
    {{"bearer ", true, false}, weir_secrets__bearer_header, true},
    {{"[?&;]sig=", false, true}, weir_secrets__signature, true},
    {{"authorization", true, false}, weir_secrets__authorization, true},
    {{" -u", false, false}, weir_secrets__user_option, true},
    {{"-user ", false, false}, weir_secrets__user_option, true},
    {{"-user=", false, false}, weir_secrets__user_option, true},
    {{"mysql", false, false}, weir_secrets__password_option, true},
    {{"mariadb", false, false}, weir_secrets__password_option, true},
    {{"sshpass", false, false}, weir_secrets__password_option, true},
    {{"docker login", false, false}, weir_secrets__password_option, true},
    PASSWORD("password"),
    PASSWORD("passwd"),
    PASSWORD("passphrase"),
    PASSWORD("passcode"),
    PASSWORD("pwd"),
    PASS("pass="),
    PASS("pass:"),
    PASS("pass ="),
    PASS("pass\""),
    PASS("pass'"),
    PASS("pw="),
    PASS("pw:"),
    TOKEN("secret"),
    TOKEN("token"),
    TOKEN("_auth"),
    TOKEN("apikey"),
    TOKEN("api_key"),
    TOKEN("api-key"),
    TOKEN("api key"),
    TOKEN("api.key"),
    TOKEN("access_key"),
    TOKEN("accesskey"),
    TOKEN("access-key"),
    TOKEN("private_key"),
    TOKEN("auth_key"),
    TOKEN("app_key"),
    TOKEN("encryption_key"),
    TOKEN("signing_key"),
    TOKEN("credential"),
    {{"(?:admin|master|service|account|server|deploy|crypt|shared|storage|hmac|jwt|webhook|"
      "application|license|subscription|root|session)[_ -]?key",
      true, true},
     weir_secrets__assignment,
     true},
    /* password, elsewhere */
    PASSWORD("passwort"),
    PASSWORD("kennwort"),
    PASSWORD("mot de passe"),
    PASSWORD("mot_de_passe"),
    PASSWORD("motdepasse"),
    PASSWORD("contraseña"),
    PASSWORD("contrasena"),
    PASSWORD("senha"),
    PASSWORD("wachtwoord"),
    PASSWORD("hasło"),
    PASSWORD("parola"),
    PASSWORD("şifre"),
    PASSWORD("heslo"),
    PASSWORD("lösenord"),
    PASSWORD("passord"),
    PASSWORD("adgangskode"),
    PASSWORD("salasana"),
    PASSWORD("jelszó"),
    PASSWORD("пароль"),
    PASSWORD("Пароль"),
    PASSWORD("密码"),
    PASSWORD("密碼"),
    PASSWORD("パスワード"),
    PASSWORD("비밀번호"),
    PASSWORD("كلمة المرور"),
    PASSWORD("كلمة السر"),
    PASSWORD("סיסמה"),
    PASSWORD("पासवर्ड"),
    PASSWORD("mật khẩu"),
};

const size_t weir_secrets__n_judges = sizeof weir_secrets__judges / sizeof weir_secrets__judges[0];
