/* Secrets that a request or a command line carries: headers, signatures of URLs, options. */
#include "base/arena.h"
#include "detect/ascii.h"
#include "detect/secrets_int.h"
#include "wire/base64.h"

#include <string.h>

enum { MAX_CARRIED = 512, MAX_OPTION = 128 };

static bool is_found(struct weir_secret_look *l, size_t from, size_t to, const char *kind)
{
    l->from = from;
    l->to = to;
    l->kind = kind;
    l->score = 0.7;
    return true;
}

/* ---- headers */

/* name:password, all of it readable. */
static bool is_login(struct weir_slice s)
{
    size_t colon = weir_slice_find(s, ':');
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) {
            return false;
        }
    }
    if (colon == 0 || colon == s.n) {
        return false;
    }
    struct weir_slice password = weir_slice_sub(s, colon + 1, s.n);
    return weir_slice_find(password, ' ') == password.n && !weir_secrets__is_dull(password);
}

/* Authorization: Basic …, {"Authorization": "Basic …"}; in prose `basic` is a word. */
static bool is_header_value(struct weir_slice t, size_t at)
{
    enum { REACH = 8 };
    for (size_t n = 0; n < REACH && at > 0 && strchr(" \"'", t.p[at - 1]) != NULL; n++) {
        at--;
    }
    return weir_ascii_before(t, at) == ':' || weir_ascii_before(t, at) == '=';
}

bool weir_secrets__basic_header(struct weir_secret_look *l)
{
    enum { LEAST = 8 };
    if (!is_header_value(l->text, l->end - strlen("basic "))) {
        return false;
    }
    size_t to = weir_secrets__run(l->text, l->end, WEIR_SECRET_BASE64, MAX_CARRIED);
    struct weir_slice coded = weir_slice_sub(l->text, l->end, to);
    struct weir_arena arena = {0};
    struct weir_slice login;
    bool is_good = coded.n >= LEAST &&
                   weir_base64_decode(&arena, WEIR_BASE64_STANDARD, coded, &login) == 0 &&
                   is_login(login);
    weir_arena_dispose(&arena);
    is_found(l, l->end, to, "basic_auth_header");
    l->score = 0.9;
    return is_good;
}

bool weir_secrets__bearer_header(struct weir_secret_look *l)
{
    size_t to = l->end;
    while (to < l->text.n && to - l->end < MAX_CARRIED &&
           (weir_secrets__has(WEIR_SECRET_BASE64, l->text.p[to]) ||
            weir_secrets__has(WEIR_SECRET_URL_DOT, l->text.p[to]) || l->text.p[to] == '~')) {
        to++;
    }
    while (to > l->end && l->text.p[to - 1] == '.') {
        to--;
    }
    is_found(l, l->end, to, "bearer_token");
    return weir_secrets__looks_like_token(weir_slice_sub(l->text, l->end, to));
}

/* ---- shared access signatures: 32 bytes in base64, escaped for a URL */

bool weir_secrets__signature(struct weir_secret_look *l)
{
    enum { N_DIGITS = 43 };
    struct weir_slice t = l->text;
    size_t n = 0;
    size_t to = l->end;
    for (; to < t.n && n < N_DIGITS; n++) {
        bool is_escaped = t.p[to] == '%' && weir_ascii_is_hex(weir_ascii_at(t, to + 1)) &&
                          weir_ascii_is_hex(weir_ascii_at(t, to + 2));
        if (!is_escaped && (!weir_secrets__has(WEIR_SECRET_BASE64, t.p[to]) || t.p[to] == '=')) {
            return false;
        }
        to += is_escaped ? 3 : 1;
    }
    bool is_padded = weir_ascii_at(t, to) == '%' && weir_ascii_at(t, to + 1) == '3' &&
                     weir_ascii_lower(weir_ascii_at(t, to + 2)) == 'd';
    struct weir_slice body = weir_slice_sub(t, l->end, to);
    to += is_padded ? 3 : weir_ascii_at(t, to) == '=';
    is_found(l, l->end, to, "azure_sas_signature");
    l->score = 1.0;
    return n == N_DIGITS && to > l->end + body.n && !weir_secrets__is_placeholder(body) &&
           weir_secrets__entropy(body) >= 3.0;
}

/* ---- options */

static bool ends_word(char c)
{
    return c == '\0' || weir_ascii_is_space(c) || c == '"' || c == '\'' || c == '`';
}

static size_t word_end(struct weir_slice t, size_t at)
{
    size_t to = at;
    while (to < t.n && to - at < MAX_OPTION && !ends_word(t.p[to])) {
        to++;
    }
    return to;
}

static bool is_given(struct weir_secret_look *l, size_t from, size_t to)
{
    struct weir_slice value = weir_slice_sub(l->text, from, to);
    is_found(l, from, to, "password");
    return !weir_secrets__is_dull(value) && weir_secrets__looks_like_password(value);
}

/* -u name:password */
bool weir_secrets__user_option(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    char quote = weir_ascii_at(t, l->end);
    size_t from = l->end + (quote == '"' || quote == '\'');
    size_t to = word_end(t, from);
    size_t colon = from + weir_slice_find(weir_slice_sub(t, from, to), ':');
    return colon > from && colon < to && is_given(l, colon + 1, to);
}

/* mysql … -pPASSWORD, sshpass -p PASSWORD: on the same line. */
bool weir_secrets__password_option(struct weir_secret_look *l)
{
    struct weir_slice t = l->text;
    size_t stop = l->end + MAX_OPTION < t.n ? l->end + MAX_OPTION : t.n;
    for (size_t i = l->end; i + 3 < stop && t.p[i] != '\n'; i++) {
        if (memcmp(t.p + i, " -p", 3) != 0) {
            continue;
        }
        size_t from = i + 3;
        from += weir_ascii_at(t, from) == ' ';
        from += weir_ascii_at(t, from) == '"' || weir_ascii_at(t, from) == '\'';
        return is_given(l, from, word_end(t, from));
    }
    return false;
}
