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

static bool touches_word(char c)
{
    return weir_ascii_is_alnum(c) || c == '_' || c == '-';
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
    if (touches_word(weir_ascii_before(t, from))) {
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

/* ---- logins in URLs */

enum { MAX_LOGIN = 256 };

static bool is_word_of(struct weir_slice s, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (weir_slice_eq_nocase(s, weir_slice_cstr(*words))) {
            return true;
        }
    }
    return false;
}

static bool is_dull_password(struct weir_slice s)
{
    static const char *const dull[] = {"password", "pass", "pwd",  "secret", "passwd",
                                       "token",    "user", "port", "xxx",    NULL};
    uint64_t port;
    bool is_port = s.n <= 5 && weir_slice_u64(s, &port) == 0;
    return s.n == 0 || is_port || is_word_of(s, dull) || strchr("<$*{[%", s.p[0]) != NULL ||
           weir_secrets__is_placeholder(s);
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
    return !is_dull_password(weir_slice_sub(t, colon + 1, at));
}

/* A name and a password, as HTTP's Basic scheme spells them. */
static bool has_login(struct weir_slice encoded)
{
    struct weir_arena arena = {0};
    struct weir_slice login = {0};
    bool is_good = weir_base64_decode(&arena, WEIR_BASE64_STANDARD, encoded, &login) == 0;
    for (size_t i = 0; i < login.n && is_good; i++) {
        is_good = (unsigned char)login.p[i] >= ' ' && login.p[i] != 0x7f;
    }
    size_t colon = weir_slice_find(login, ':');
    is_good = is_good && colon > 0 && colon < login.n &&
              !is_dull_password(weir_slice_sub(login, colon + 1, login.n));
    weir_arena_dispose(&arena);
    return is_good;
}

static bool judge_basic(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t to = weir_secrets__run(t, l->end, WEIR_SECRET_BASE64, MAX_LOGIN + 1);
    size_t n = to - l->end;
    is_found(l, l->end, to, "basic_auth_header");
    return n >= 8 && n <= MAX_LOGIN && has_login(weir_slice_sub(t, l->end, to));
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
    return dash - from == 32 && !touches_word(weir_ascii_before(t, from)) &&
           !touches_word(weir_ascii_at(t, to)) && !weir_secrets__is_placeholder(hex) &&
           weir_secrets__entropy(hex) >= 2.5;
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
           (!touches_word(weir_ascii_before(t, from)) || weir_ascii_before(t, from) == 't') &&
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
           mac.n <= 38 && !touches_word(weir_ascii_before(t, from)) &&
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
        {word, true, false}, weir_secrets__assigned_password                                       \
    }
#define TOKEN(word)                                                                                \
    {                                                                                              \
        {word, true, false}, weir_secrets__assignment                                              \
    }

const struct weir_secret_judge weir_secrets__judges[] = {
    {{"-----BEGIN ", false, false}, judge_private_key},
    {{"-----END ", false, false}, judge_key_end},
    {{"eyJ", false, false}, judge_jwt},
    {{"://", false, false}, judge_url},
    {{"authorization: basic ", true, false}, judge_basic},
    {{"bearer ", true, false}, weir_secrets__bearer},
    {{"[0-9a-f]-us\\d", false, true}, judge_mailchimp},
    {{"\\d:AA", false, true}, judge_telegram},
    {{"[\\w-]\\.[\\w-]{6}\\.", false, true}, judge_discord},
    {{".atlasv1.", false, false}, judge_terraform},
    {{"\\dQ~", false, true}, judge_azure_client},
    {{"\"service_account\"", false, false}, judge_service_account},
    PASSWORD("password"),
    PASSWORD("passwd"),
    PASSWORD("passphrase"),
    PASSWORD("pwd"),
    PASSWORD("passwort"),
    TOKEN("secret"),
    TOKEN("token"),
    TOKEN("apikey"),
    TOKEN("api_key"),
    TOKEN("api-key"),
    TOKEN("api key"),
    TOKEN("access_key"),
    TOKEN("accesskey"),
    TOKEN("access-key"),
    TOKEN("private_key"),
    TOKEN("auth_key"),
    TOKEN("app_key"),
    TOKEN("encryption_key"),
    TOKEN("signing_key"),
    TOKEN("credential"),
};

const size_t weir_secrets__n_judges = sizeof weir_secrets__judges / sizeof weir_secrets__judges[0];
