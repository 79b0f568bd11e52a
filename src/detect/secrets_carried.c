/* Secrets that a request, a command line or a manifest carries. */
#include "base/arena.h"
#include "detect/ascii.h"
#include "detect/secrets_int.h"
#include "wire/base64.h"

#include <stdint.h>
#include <string.h>

enum { MAX_CARRIED = 1024, MAX_OPTION = 128 };

static bool is_found(struct weir_seek_look *l, size_t from, size_t to, const char *kind)
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

bool weir_secrets__basic_header(struct weir_seek_look *l)
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

static size_t carried_end(struct weir_slice t, size_t from)
{
    size_t to = from;
    while (to - from < MAX_CARRIED && weir_ascii_has(t, to) &&
           (weir_secrets__has(WEIR_SECRET_BASE64, t.p[to]) ||
            weir_secrets__has(WEIR_SECRET_URL_DOT, t.p[to]) || t.p[to] == '~' || t.p[to] == '%')) {
        to++;
    }
    while (to > from && t.p[to - 1] == '.') {
        to--;
    }
    return to;
}

bool weir_secrets__bearer_header(struct weir_seek_look *l)
{
    size_t to = carried_end(l->text, l->end);
    is_found(l, l->end, to, "bearer_token");
    return weir_secrets__looks_like_token(weir_slice_sub(l->text, l->end, to));
}

/* `Authorization: Token …`: what stands after the name, a sign and perhaps one word. */
bool weir_secrets__authorization(struct weir_seek_look *l)
{
    enum { MAX_SIGNS = 6 };
    static const char *const schemes[] = {"token ",     "apikey ", "api-key ", "key ",
                                          "geniekey ",  "oauth ",  "ssws ",    "apitoken ",
                                          "api-token ", NULL};
    struct weir_slice t = l->text;
    size_t from = l->end;
    while (from - l->end < MAX_SIGNS && weir_ascii_at(t, from) != '\0' &&
           strchr(" \"':=,\\", t.p[from]) != NULL) {
        from++;
    }
    for (const char *const *s = schemes; *s != NULL; s++) {
        if (weir_ascii_follows(t, from, *s)) {
            from += strlen(*s);
            break;
        }
    }
    char before = weir_ascii_before(t, l->end - strlen("authorization"));
    if (from == l->end || weir_ascii_is_alnum(before) || before == ':') {
        return false;
    }
    size_t to = carried_end(t, from);
    is_found(l, from, to, "high_entropy_assignment");
    l->seen = to;
    return weir_secrets__looks_like_token(weir_slice_sub(t, from, to));
}

/* ---- shared access signatures: 32 bytes in base64, escaped for a URL */

bool weir_secrets__signature(struct weir_seek_look *l)
{
    enum { N_DIGITS = 43 };
    struct weir_slice t = l->text;
    size_t n = 0;
    size_t to = l->end;
    for (; n < N_DIGITS && weir_ascii_has(t, to); n++) {
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
    while (to - at < MAX_OPTION && weir_ascii_has(t, to) && !ends_word(t.p[to])) {
        to++;
    }
    return to;
}

static bool is_given(struct weir_seek_look *l, size_t from, size_t to)
{
    struct weir_slice value = weir_slice_sub(l->text, from, to);
    is_found(l, from, to, "password");
    return !weir_secrets__is_dull(value) && weir_secrets__looks_like_password(value);
}

/* -u name:password, -u"name:password", --user 'name:password'; and -u key: without a password */
bool weir_secrets__user_option(struct weir_seek_look *l)
{
    enum { LEAST = 6 };
    struct weir_slice t = l->text;
    size_t from = l->end + (weir_ascii_at(t, l->end) == ' ');
    from += weir_ascii_at(t, from) == '"' || weir_ascii_at(t, from) == '\'';
    size_t to = word_end(t, from);
    size_t colon = from + weir_slice_find(weir_slice_sub(t, from, to), ':');
    if (colon == from || colon >= to || t.p[from] == '<') {
        return false;
    }
    if (colon + 1 == to) {
        is_found(l, from, colon, "password");
        return weir_secrets__looks_like_token(weir_slice_sub(t, from, colon));
    }
    struct weir_slice value = weir_slice_sub(t, colon + 1, to);
    is_found(l, colon + 1, to, "password");
    return value.n >= LEAST && !weir_secrets__is_dull(value) &&
           !weir_secrets__is_reference(value, false) && weir_secrets__looks_chosen(value);
}

/* mysql … -pPASSWORD, sshpass -p PASSWORD: on the same line. */
bool weir_secrets__password_option(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    for (size_t i = l->end; i - l->end < MAX_OPTION && weir_ascii_has(t, i); i++) {
        l->from = i; /* not before it */
        if (t.p[i] == '\n') {
            break;
        }
        if (!weir_ascii_follows(t, i, " -p")) {
            continue;
        }
        size_t from = i + 3;
        from += weir_ascii_at(t, from) == ' ';
        from += weir_ascii_at(t, from) == '"' || weir_ascii_at(t, from) == '\'';
        return is_given(l, from, word_end(t, from));
    }
    return false;
}

/* ---- manifests of Kubernetes */

/* What is known of the line at `l->end`. */
enum line_state {
    LINE_KIND,      /* `kind: Secret` ends there */
    LINE_REST,      /* nothing to find in the rest of it */
    LINE_REST_DATA, /* the same, below `data:` */
    LINE_BEGINS,
    LINE_BEGINS_DATA,
};

/* Nine bytes in base64: shorter ones are `true` and `admin`. Of long ones the beginning decides. */
static bool is_entry(struct weir_seek_look *l, size_t at)
{
    enum { LEAST = 12, SURE = 64 };
    struct weir_slice t = l->text;
    size_t from = at + (weir_ascii_at(t, at) == '"');
    size_t to = weir_secrets__run(t, from, WEIR_SECRET_BASE64, SIZE_MAX);
    bool is_long = to - from >= SURE;
    struct weir_slice value = weir_slice_sub(t, from, is_long ? from + SURE : to);
    is_found(l, from, to, "kubernetes_secret");
    l->score = 0.9;
    char after = is_long ? '\0' : weir_ascii_at(t, to);
    bool is_all = after == '\0' || after == '\n' || after == '\r' || after == '"';
    bool is_good = is_all && value.n >= LEAST && value.n % 4 == 0 &&
                   !weir_secrets__is_placeholder(value) && weir_secrets__entropy(value) >= 2.5;
    l->is_sure = is_good && is_long;
    l->more = to;
    return is_good;
}

/* Over the `|` of a value that stands on the next line. */
static size_t skip_block(struct weir_slice t, size_t at)
{
    enum { MAX_INDENT = 32 };
    char c = weir_ascii_at(t, at);
    size_t i = at + 1;
    i += weir_ascii_at(t, i) == '-' || weir_ascii_at(t, i) == '+';
    if ((c != '|' && c != '>') || weir_ascii_at(t, i) != '\n') {
        return at;
    }
    size_t from = ++i;
    while (i - from < MAX_INDENT && weir_ascii_at(t, i) == ' ') {
        i++;
    }
    return i;
}

/* `  name: value`, below `data:`. Is the value a secret? */
static bool is_entry_line(struct weir_seek_look *l, size_t key)
{
    enum { MAX_KEY = 256 };
    struct weir_slice t = l->text;
    size_t at = key;
    while (at - key < MAX_KEY && weir_ascii_has(t, at) && t.p[at] != '\n' && t.p[at] != ':') {
        at++;
    }
    if (weir_ascii_at(t, at) != ':') {
        return false;
    }
    at++;
    while (weir_ascii_at(t, at) == ' ') {
        at++;
    }
    return is_entry(l, skip_block(t, at));
}

/* The line that begins at `l->end`: what comes after it, or an entry was found. */
static bool judge_line(struct weir_seek_look *l, bool *is_over)
{
    struct weir_slice t = l->text;
    bool is_data = l->state == LINE_BEGINS_DATA;
    size_t key = l->end;
    l->from = key;
    while (weir_ascii_at(t, key) == ' ') {
        key++;
    }
    *is_over = weir_ascii_follows(t, key, "kind:") || weir_ascii_follows(t, key, "---");
    bool is_indented = key > l->end;
    if (*is_over || (is_data && is_indented && is_entry_line(l, key))) {
        return !*is_over;
    }
    is_data = weir_ascii_follows(t, key, "data:") || (is_data && is_indented);
    if (!weir_ascii_edge.is_met) {
        l->state = is_data ? LINE_REST_DATA : LINE_REST;
    }
    return false;
}

/* Line by line: `l->end` moves along. */
static bool walk_manifest(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    bool is_over = l->state == LINE_KIND && !weir_ascii_is_space(weir_ascii_at(t, l->end));
    if (l->resume != 0) {
        l->end = l->resume;
        l->resume = 0;
        l->state = LINE_REST_DATA;
    }
    size_t first = l->end;
    while (!is_over) {
        if (l->state < LINE_BEGINS) {
            size_t newline = weir_ascii_find(t, l->end, "\n");
            l->from = newline;
            l->state = l->state == LINE_KIND ? LINE_REST : l->state;
            l->end = newline < t.n ? newline + 1 : t.n;
            l->goes_on = newline == t.n;
            if (l->goes_on) {
                return false;
            }
            l->state = l->state == LINE_REST_DATA ? LINE_BEGINS_DATA : LINE_BEGINS;
        }
        bool is_found = judge_line(l, &is_over);
        /* how far a line may be looked at counts from its own beginning */
        l->goes_on = weir_ascii_edge.is_met && l->is_cut && l->end != first;
        if (l->goes_on || is_found) {
            return is_found;
        }
        if (l->state >= LINE_BEGINS && !l->is_cut) {
            return false; /* more of the line must come */
        }
        l->state = l->state == LINE_BEGINS_DATA ? LINE_REST_DATA
                   : l->state == LINE_BEGINS    ? LINE_REST
                                                : l->state;
    }
    return false;
}

/*
 * kind: Secret
 * data:
 *   name: YmFzZTY0
 *
 * To the next kind or document. Another `kind: Secret` within a line of it says nothing new.
 */
bool weir_secrets__manifest(struct weir_seek_look *l)
{
    bool is_found = walk_manifest(l);
    l->seen = is_found ? 0 : l->end;
    l->covered = l->end;
    return is_found;
}
