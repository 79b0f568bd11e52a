/* Secrets whose shape is more than a prefix: private keys, JWTs, logins in URLs, a few vendors. */
#include "base/arena.h"
#include "detect/ascii.h"
#include "detect/pem.h"
#include "detect/secrets_int.h"
#include "wire/base64.h"
#include "wire/json.h"

#include <stdint.h>
#include <string.h>

static bool is_found(struct weir_seek_look *l, size_t from, size_t to, const char *kind)
{
    l->from = from;
    l->to = to;
    l->kind = kind;
    l->score = 0.9;
    return true;
}

/* ---- private keys */

enum { MIN_BODY_RUN = 32, MIN_OPEN_RUN = 16 };

/* A key whose END line is not in the text: it goes on, or somebody talks about keys. */
static bool judge_open_key(struct weir_seek_look *l, struct weir_slice rest, bool is_at_end)
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

/* Where the search for its end goes on; all before it is body. */
static size_t search_from(const struct weir_seek_look *l, size_t body)
{
    return l->resume > body ? l->resume : body;
}

/*
 * From its BEGIN line to its END line; without one, to the next BEGIN line, the end of the text or
 * of what a finding may be. It is certain once there is a line of the body.
 */
static bool judge_private_key(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    size_t begin = l->end - strlen("-----BEGIN ");
    size_t body = weir_pem_label_end(t, l->end);
    l->from = begin;
    if (body == 0) {
        return false;
    }
    size_t from = search_from(l, body);
    size_t limit = begin + WEIR_PEM_MAX_BYTES < t.n ? begin + WEIR_PEM_MAX_BYTES : t.n;
    limit = weir_ascii_find(weir_slice_sub(t, 0, limit), from, "-----BEGIN ");
    size_t after = weir_pem_find_end(weir_slice_sub(t, 0, limit), from);
    size_t to = after != 0 ? after : limit;
    while (to < t.n && (unsigned char)t.p[to] >> 6 == 2) {
        to--; /* not inside a character */
    }
    is_found(l, begin, to, "private_key");
    l->score = 1.0;
    l->is_sure =
        l->resume != 0 || weir_pem_longest_run(weir_slice_sub(t, body, to)) >= MIN_BODY_RUN;
    l->resume = l->is_sure && to > body + WEIR_PEM_MAX_LINE ? to - WEIR_PEM_MAX_LINE : 0;
    bool is_open =
        after == 0 && judge_open_key(l, weir_slice_sub(t, body, to), l->is_piece && limit == t.n);
    return l->is_sure || is_open;
}

static bool is_body_byte(char c)
{
    return weir_secrets__has(WEIR_SECRET_BASE64, c) || c == '\n' || c == '\r' || c == ' ' ||
           c == '\\';
}

size_t weir_secrets__key_rest(struct weir_slice t)
{
    size_t n = weir_secrets__run(t, 0, WEIR_SECRET_BASE64, MIN_OPEN_RUN);
    if (n < MIN_OPEN_RUN && n < t.n) {
        return 0;
    }
    while (n < t.n && is_body_byte(t.p[n])) {
        n++;
    }
    return n;
}

/* The rest of a key whose BEGIN line is not in this text: it is at the very beginning. */
static bool judge_key_end(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    size_t line = l->end - strlen("-----END ");
    size_t to = weir_pem_label_end(t, l->end);
    bool is_rest = l->is_start && (l->is_piece || line <= WEIR_READER_REACH) &&
                   weir_secrets__key_rest(weir_slice_sub(t, 0, line)) == line;
    is_found(l, is_rest ? 0 : line, to, "private_key");
    l->edge = l->is_piece ? WEIR_EDGE_REST : WEIR_EDGE_NONE;
    return to != 0 && is_rest && weir_pem_longest_run(weir_slice_sub(t, 0, line)) >= MIN_BODY_RUN;
}

/* PuTTY's form: "Private-Lines: 14" and as many lines of base64. */
static bool judge_putty_key(struct weir_seek_look *l)
{
    enum { MAX_LINES = 256, MAX_LINE = 128, MAX_DIGITS = 6, MAX_ENDS = 4 };
    struct weir_slice t = l->text;
    size_t at = l->end;
    while (at - l->end < MAX_DIGITS && weir_ascii_is_digit(weir_ascii_at(t, at))) {
        at++;
    }
    for (size_t i = 0;
         i < MAX_ENDS && (weir_ascii_at(t, at) == '\r' || weir_ascii_at(t, at) == '\n'); i++) {
        at++;
    }
    size_t from = at;
    size_t to = at;
    for (size_t i = 0; i < MAX_LINES; i++) {
        size_t end = weir_secrets__run(t, at, WEIR_SECRET_BASE64, MAX_LINE);
        char c = weir_ascii_at(t, end);
        if (end == at || (c != '\0' && c != '\n' && c != '\r')) {
            break;
        }
        to = end;
        at = end + (c == '\r');
        at += weir_ascii_at(t, at) == '\n';
    }
    is_found(l, from, to, "private_key");
    l->score = 1.0;
    l->is_sure = to - from >= MIN_BODY_RUN;
    return l->is_sure;
}

/* ---- JWT */

enum { MAX_HEADER = 1000, MIN_CLAIMS = 16, MIN_SIGNATURE = 20, MAX_SIGNATURE = 1024 };

/* A member that says how a token is to be read, as the registry of such members has it. */
static bool has_jose_member(const struct weir_json *json)
{
    static const char *const names[] = {"alg", "typ", "kid", "enc", "jku",  "jwk",   "x5u", "x5c",
                                        "x5t", "cty", "zip", "epk", "crit", "nonce", "p2s", "b64"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (weir_json_get(json, 0, weir_slice_cstr(names[i])) != WEIR_JSON_NONE) {
            return true;
        }
    }
    return false;
}

/* Claims in JSON say as much as the header's members. */
static bool is_jose_header(struct weir_slice header, bool has_claims)
{
    struct weir_arena arena = {0};
    struct weir_slice bytes;
    struct weir_json json;
    bool is_jose = weir_base64_decode(&arena, WEIR_BASE64_URL, header, &bytes) == 0 &&
                   weir_json_parse(&json, bytes, NULL, &arena, NULL) == 0 &&
                   (has_claims || has_jose_member(&json));
    weir_arena_dispose(&arena);
    return is_jose;
}

/* Header and 16 characters of claims decide; the signature belongs to it. `l->resume`: the claims
 * up to there were seen. */
static bool judge_jwt(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    size_t from = l->end - strlen("eyJ");
    if (weir_secrets__touches_word(weir_ascii_before(t, from))) {
        return false;
    }
    l->from = from;
    size_t header = weir_secrets__run(t, from, WEIR_SECRET_URL, MAX_HEADER);
    if (weir_ascii_at(t, header) != '.') {
        return false;
    }
    size_t at = l->resume > header ? l->resume : header + 1;
    size_t to = weir_secrets__run(t, at, WEIR_SECRET_URL, SIZE_MAX);
    size_t claims = to;
    bool is_signed =
        weir_ascii_at(t, to) == '.' && weir_secrets__has(WEIR_SECRET_URL, weir_ascii_at(t, to + 1));
    to = is_signed ? weir_secrets__run(t, to + 1, WEIR_SECRET_URL, MAX_SIGNATURE) : to;
    bool is_long = claims - header > MIN_CLAIMS;
    bool is_short = claims - header > 3 && to - claims > MIN_SIGNATURE;
    bool has_claims = is_long && memcmp(t.p + header + 1, "eyJ", 3) == 0;
    bool is_jose = l->resume != 0 || ((is_long || is_short) &&
                                      is_jose_header(weir_slice_sub(t, from, header), has_claims));
    is_found(l, from, to, "jwt");
    l->score = 1.0;
    l->is_sure = is_jose && is_long;
    l->resume = l->is_sure ? claims : 0;
    return is_jose;
}

/* A whole JWT in base64: "eyJ" begins as "ZXlK". Its beginning decides here too. */
static bool judge_coded_jwt(struct weir_seek_look *l)
{
    enum { LEAST = 64, LOOKED_AT = 1000 };
    struct weir_slice t = l->text;
    size_t from = l->end - strlen("ZXlK");
    if (weir_secrets__touches_word(weir_ascii_before(t, from))) {
        return false;
    }
    l->from = from;
    size_t at = l->resume > from ? l->resume : from;
    size_t to = weir_secrets__run(t, at, WEIR_SECRET_BASE64, SIZE_MAX);
    is_found(l, from, to, "jwt");
    l->score = 1.0;
    l->seen = to;
    if (l->resume != 0) {
        l->resume = to;
        l->is_sure = true;
        return true;
    }
    struct weir_arena arena = {0};
    struct weir_slice token;
    size_t n = weir_slice_find(weir_slice_sub(t, from, to), '=');
    n = n < LOOKED_AT ? n : LOOKED_AT;
    n -= n % 4; /* so that it can be decoded, and what follows cannot change that */
    bool is_jwt = false;
    if (n >= LEAST && weir_base64_decode(&arena, WEIR_BASE64_STANDARD,
                                         weir_slice_sub(t, from, from + n), &token) == 0) {
        struct weir_seek_look inner = {.text = token, .end = strlen("eyJ")};
        is_jwt = token.n > inner.end && judge_jwt(&inner);
    }
    weir_arena_dispose(&arena);
    l->is_sure = is_jwt;
    l->resume = is_jwt ? to : 0;
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

/* aws_secret_access_key where the key would stand, and the demonstration login scott:tiger. */
static bool is_stand_in(struct weir_slice password)
{
    bool is_name =
        weir_slice_find(password, '_') < password.n &&
        (weir_ascii_contains(password, "secret") || weir_ascii_contains(password, "pass"));
    return weir_slice_eq_cstr(password, "tiger") ||
           (is_name && weir_secrets__is_identifier(password));
}

static bool judge_url(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    size_t colon = 0;
    size_t at = 0;
    size_t i = l->end;
    size_t from = scheme_start(t, l->end - 3);
    l->from = from;
    for (; i - l->end < MAX_LOGIN && weir_ascii_has(t, i) && !ends_authority(t.p[i]); i++) {
        if (t.p[i] == ':' && colon == 0) {
            colon = i;
        } else if (t.p[i] == '@') {
            at = i;
        }
    }
    if (colon == 0 || at < colon + 2 || at + 1 >= i || from == l->end - 3) {
        return false;
    }
    is_found(l, from, i, "basic_auth_url");
    struct weir_slice user = weir_slice_sub(t, l->end, colon);
    struct weir_slice password = weir_slice_sub(t, colon + 1, at);
    bool is_same = weir_slice_eq(user, password); /* guest:guest, which keeps nobody out */
    bool is_syntax = weir_slice_find(weir_slice_sub(t, l->end, at), '[') < at - l->end;
    return password.n >= MIN_LOGIN && !is_same && !is_syntax && !weir_secrets__is_dull(password) &&
           !is_stand_in(password) &&
           (!is_example_host(weir_slice_sub(t, at + 1, i)) || weir_secrets__looks_chosen(password));
}

/* ---- vendors without a prefix */

static bool judge_mailchimp(struct weir_seek_look *l)
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

static bool judge_telegram(struct weir_seek_look *l)
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

static bool judge_discord(struct weir_seek_look *l)
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

static bool judge_terraform(struct weir_seek_look *l)
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

static bool judge_azure_client(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    size_t from = l->end - 3; /* 8Q~ */
    size_t to = l->end;
    while (from > 0 && l->end - from < 7 && is_azure(t.p[from - 1])) {
        from--;
    }
    l->from = from;
    while (to - l->end < 36 && weir_ascii_has(t, to) && is_azure(t.p[to])) {
        to++;
    }
    to -= to > l->end && t.p[to - 1] == '.';
    is_found(l, from, to, "azure_client_secret");
    l->score = 1.0;
    return l->end - from == 6 && to - l->end >= 31 && to - l->end <= 34 &&
           !weir_secrets__is_placeholder(weir_slice_sub(t, l->end, to));
}

static bool judge_airtable(struct weir_seek_look *l)
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

/* 123456789012345|… of Facebook: an application's number and its secret. */
static bool judge_facebook_app(struct weir_seek_look *l)
{
    enum { LEAST_ID = 15, MOST_ID = 17, LEAST = 27, MOST = 40 };
    struct weir_slice t = l->text;
    size_t bar = l->end - 1;
    size_t from = weir_secrets__run_back(t, bar, WEIR_SECRET_ALNUM, MOST_ID + 1);
    size_t to = weir_secrets__run(t, l->end, WEIR_SECRET_URL, MOST + 1);
    is_found(l, from, to, "facebook_access_token");
    struct weir_slice id = weir_slice_sub(t, from, bar);
    struct weir_slice key = weir_slice_sub(t, l->end, to);
    uint64_t number;
    return id.n >= LEAST_ID && id.n <= MOST_ID && weir_slice_u64(id, &number) == 0 &&
           key.n >= LEAST && key.n <= MOST && weir_secrets__looks_like_token(key);
}

/* Twitter's application tokens begin with zero bytes. */
static bool judge_twitter(struct weir_seek_look *l)
{
    enum { LEAST = 80, MOST = 140 };
    struct weir_slice t = l->text;
    if (weir_ascii_at(t, l->end) == 'A') {
        return false; /* there will be a later one */
    }
    size_t from = weir_secrets__run_back(t, l->end, WEIR_SECRET_ALNUM, 32);
    size_t to = l->end;
    l->from = from;
    while (to - from <= MOST && weir_ascii_has(t, to) &&
           (weir_ascii_is_alnum(t.p[to]) || t.p[to] == '%')) {
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
static bool judge_messaging(struct weir_seek_look *l)
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

static bool judge_maxmind(struct weir_seek_look *l)
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
static bool judge_teams(struct weir_seek_look *l)
{
    enum { LEAST = 90, MOST = 300, MAX_HOST = 40 };
    struct weir_slice t = l->text;
    size_t host = l->end - strlen("webhook.office.com/webhookb2/");
    size_t from = weir_secrets__run_back(t, host, WEIR_SECRET_URL_DOT, MAX_HOST);
    size_t n_scheme = strlen("https://");
    size_t to = l->end;
    while (to - l->end <= MOST && weir_ascii_has(t, to) &&
           (weir_secrets__has(WEIR_SECRET_URL_SLASH, t.p[to]) || t.p[to] == '@')) {
        to++;
    }
    bool is_web = from >= n_scheme && memcmp(t.p + from - n_scheme, "https://", n_scheme) == 0;
    is_found(l, is_web ? from - n_scheme : from, to, "teams_webhook");
    l->score = 1.0;
    return is_web && to - l->end >= LEAST && to - l->end <= MOST;
}

/* "type": "service_account", with a key in the same object. */
static bool judge_service_account(struct weir_seek_look *l)
{
    enum { REACH = 512 };
    struct weir_slice t = l->text;
    size_t n_type = strlen("\"type\"");
    size_t at = l->end - strlen("\"service_account\"");
    while (at > 0 && l->end - at < WEIR_SECRETS_SERVICE_BACK - n_type &&
           (weir_ascii_is_space(t.p[at - 1]) || t.p[at - 1] == ':')) {
        at--;
    }
    if (at < n_type || memcmp(t.p + at - n_type, "\"type\"", n_type) != 0) {
        return false;
    }
    size_t stop = l->end + REACH < t.n ? l->end + REACH : t.n;
    is_found(l, at - n_type, l->end, "gcp_service_account");
    return weir_ascii_find(weir_slice_sub(t, 0, stop), l->end, "\"private_key") < stop;
}

#define PASSWORD(word)                                                                             \
    {                                                                                              \
        {word, true, false}, weir_secrets__assigned_password,                                      \
        {                                                                                          \
            WEIR_SECRETS_ASSIGNED, 0                                                               \
        }                                                                                          \
    }
#define PASS(word)                                                                                 \
    {                                                                                              \
        {word, true, false}, weir_secrets__assigned_pass,                                          \
        {                                                                                          \
            WEIR_SECRETS_ASSIGNED, 0                                                               \
        }                                                                                          \
    }
#define TOKEN(word)                                                                                \
    {                                                                                              \
        {word, true, false}, weir_secrets__assignment,                                             \
        {                                                                                          \
            WEIR_SECRETS_ASSIGNED, 0                                                               \
        }                                                                                          \
    }

const struct weir_secret_judge weir_secrets__judges[] = {
    {{"-----BEGIN ", false, false}, judge_private_key, {WEIR_SECRETS_VENDOR, 11}},
    {{"-----END ", false, false}, judge_key_end, {WEIR_SEEK_ALONE, 9}},
    {{"Private-Lines: ", false, false}, judge_putty_key, {WEIR_SECRETS_VENDOR, 0}},
    {{"eyJ", false, false}, judge_jwt, {WEIR_SECRETS_VENDOR, 3}},
    {{"ZXlK", false, false}, judge_coded_jwt, {WEIR_SECRETS_VENDOR, 4}},
    {{ZEROS, false, false}, judge_twitter, {WEIR_SECRETS_VENDOR, 32}},
    {{":APA91b", false, false}, judge_messaging, {WEIR_SECRETS_VENDOR, 19}},
    {{"_mmk", false, false}, judge_maxmind, {WEIR_SECRETS_VENDOR, 41}},
    {{"webhook.office.com/webhookb2/", false, false}, judge_teams, {WEIR_SECRETS_VENDOR, 77}},
    {{"kind: Secret", false, false}, weir_secrets__manifest, {WEIR_SECRETS_MANIFEST, 0}},
    {{"://", false, false}, judge_url, {WEIR_SECRETS_VENDOR, 35}},
    {{"[0-9a-f]-us\\d", false, true}, judge_mailchimp, {WEIR_SECRETS_VENDOR, 37}},
    {{"\\d:AA", false, true}, judge_telegram, {WEIR_SECRETS_VENDOR, 14}},
    {{"[\\w-]\\.[\\w-]{6}\\.", false, true}, judge_discord, {WEIR_SECRETS_VENDOR, 41}},
    {{"\\d{15}\\|", false, true}, judge_facebook_app, {WEIR_SECRETS_VENDOR, 19}},
    {{".atlasv1.", false, false}, judge_terraform, {WEIR_SECRETS_VENDOR, 24}},
    {{"\\dQ~", false, true}, judge_azure_client, {WEIR_SECRETS_VENDOR, 10}},
    {{"pat[A-Za-z0-9]{14}\\.", false, true}, judge_airtable, {WEIR_SECRETS_VENDOR, 18}},
    {{"\"service_account\"", false, false},
     judge_service_account,
     {WEIR_SECRETS_VENDOR, WEIR_SECRETS_SERVICE_BACK}},
    {{"basic ", true, false}, weir_secrets__basic_header, {WEIR_SECRETS_ASSIGNED, 0}},
    {{"bearer ", true, false}, weir_secrets__bearer_header, {WEIR_SECRETS_ASSIGNED, 0}},
    {{"[?&;]sig=", false, true}, weir_secrets__signature, {WEIR_SECRETS_ASSIGNED, 0}},
    {{"authorization", true, false}, weir_secrets__authorization, {WEIR_SECRETS_ASSIGNED, 0}},
    {{" -u", false, false}, weir_secrets__user_option, {WEIR_SECRETS_ASSIGNED, 0}},
    {{"-user ", false, false}, weir_secrets__user_option, {WEIR_SECRETS_ASSIGNED, 0}},
    {{"-user=", false, false}, weir_secrets__user_option, {WEIR_SECRETS_ASSIGNED, 0}},
    {{"mysql", false, false}, weir_secrets__password_option, {WEIR_SECRETS_ASSIGNED, 0}},
    {{"mariadb", false, false}, weir_secrets__password_option, {WEIR_SECRETS_ASSIGNED, 0}},
    {{"sshpass", false, false}, weir_secrets__password_option, {WEIR_SECRETS_ASSIGNED, 0}},
    {{"docker login", false, false}, weir_secrets__password_option, {WEIR_SECRETS_ASSIGNED, 0}},
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
     {WEIR_SECRETS_ASSIGNED, 0}},
    {{"(?:adafruit|alchemy|algolia|amplitude|anthropic|asana|azure|beamer|binance|bittrex|"
      "cloudflare|codecov|cohere|coinbase|confluent|contentful|datadog|discord|drone|dropbox|"
      "etherscan|etsy|facebook|fastly|finicity|finnhub|flickr|freshbooks|github|gitlab|gitter|"
      "google|heroku|hubspot|infura|intercom|jfrog|kraken|kucoin|launchdarkly|linkedin|looker|"
      "mailchimp|mailgun|mapbox|mattermost|meraki|messagebird|mixpanel|netlify|newrelic|nytimes|"
      "okta|openai|openweather|opsgenie|pagerduty|plaid|privateai|rapidapi|segment|sendbird|"
      "sendgrid|sentry|shodan|sidekiq|slack|snyk|sonar|squarespace|stripe|sumologic|telegram|"
      "travis|trello|twilio|twitch|twitter|virustotal|yandex|zendesk)[_ -]?key",
      true, true},
     weir_secrets__assignment,
     {WEIR_SECRETS_ASSIGNED, 0}},
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
