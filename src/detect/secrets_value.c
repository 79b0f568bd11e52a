/* What a value is made of, and names with values: api_key = "…". */
#include "detect/ascii.h"
#include "detect/secrets_int.h"

#include <math.h>
#include <string.h>

bool weir_secrets__has(enum weir_secret_class class, char c)
{
    switch (class) {
    case WEIR_SECRET_ALNUM:
        return weir_ascii_is_alnum(c);
    case WEIR_SECRET_UPPER:
        return weir_ascii_is_upper(c) || weir_ascii_is_digit(c);
    case WEIR_SECRET_HEX:
        return weir_ascii_is_hex(c);
    case WEIR_SECRET_WORD:
        return weir_ascii_is_alnum(c) || c == '_';
    case WEIR_SECRET_URL:
        return weir_ascii_is_alnum(c) || c == '_' || c == '-';
    case WEIR_SECRET_URL_DOT:
        return weir_ascii_is_alnum(c) || c == '_' || c == '-' || c == '.';
    case WEIR_SECRET_URL_SLASH:
        return weir_ascii_is_alnum(c) || c == '_' || c == '-' || c == '/';
    case WEIR_SECRET_BASE64:
        return weir_ascii_is_alnum(c) || c == '+' || c == '/' || c == '=';
    }
    return false;
}

size_t weir_secrets__run(struct weir_slice t, size_t at, enum weir_secret_class class, size_t max)
{
    size_t to = at;
    while (to < t.n && to - at < max && weir_secrets__has(class, t.p[to])) {
        to++;
    }
    return to;
}

size_t weir_secrets__run_back(struct weir_slice t, size_t at, enum weir_secret_class class,
                              size_t max)
{
    size_t from = at;
    while (from > 0 && at - from < max && weir_secrets__has(class, t.p[from - 1])) {
        from--;
    }
    return from;
}

double weir_secrets__entropy(struct weir_slice value)
{
    unsigned counts[256] = {0};
    for (size_t i = 0; i < value.n; i++) {
        counts[(unsigned char)value.p[i]]++;
    }
    double bits = 0;
    for (size_t i = 0; i < 256; i++) {
        if (counts[i] != 0) {
            double share = (double)counts[i] / (double)value.n;
            bits -= share * log2(share);
        }
    }
    return bits;
}

bool weir_secrets__is_placeholder(struct weir_slice value)
{
    enum { SAME = 6 };
    static const char *const words[] = {
        "your",       "placeholder", "redacted", "changeme",  "change_me", "replace",
        "insert",     "dummy",       "xxxx",     "my_secret", "my-secret", "todo",
        "not-a-real", "not_a_real",  "notareal", "fixme",     "example",   NULL};
    size_t same = 1;
    for (size_t i = 1; i < value.n; i++) {
        same = value.p[i] == value.p[i - 1] ? same + 1 : 1;
        if (same == SAME) {
            return true;
        }
    }
    for (const char *const *w = words; *w != NULL; w++) {
        if (weir_ascii_contains(value, *w)) {
            return true;
        }
    }
    return false;
}

/* ---- name = value */

enum {
    MAX_VALUE = 256,
    MAX_BLANKS = 4,
    MIN_PASSWORD = 6,
    MIN_IN_SENTENCE = 8,
    MIN_TOKEN = 16,
    MAX_NESTED = 32
};

struct value {
    struct weir_slice s;
    size_t from;
    bool is_quoted;
    bool is_sentence; /* "the password is …" */
};

static size_t skip_blanks(struct weir_slice t, size_t at)
{
    size_t stop = at + MAX_BLANKS;
    while (at < stop && (weir_ascii_at(t, at) == ' ' || weir_ascii_at(t, at) == '\t')) {
        at++;
    }
    return at;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

static bool follows(struct weir_slice t, size_t at, const char *word)
{
    size_t n = strlen(word);
    return at + n <= t.n &&
           weir_slice_eq_nocase(weir_slice_sub(t, at, at + n), weir_slice_cstr(word));
}

/* The rest of the name: secret_key, token-value, SecretAccessKey. */
static size_t skip_suffix(struct weir_slice t, size_t at)
{
    static const char *const suffixes[] = {"_access_key", "accesskey", "-access-key", "_key",
                                           "-key",        "key",       "_value",      NULL};
    for (const char *const *s = suffixes; *s != NULL; s++) {
        if (follows(t, at, *s)) {
            return at + strlen(*s);
        }
    }
    return at;
}

/* Moves over `":`, ` = `, ` => `, `: ` and " is "; 0: no assignment. */
static size_t skip_sign(struct weir_slice t, size_t at, bool *is_sentence)
{
    at += is_quote(weir_ascii_at(t, at)) || weir_ascii_at(t, at) == ']';
    at = skip_blanks(t, at);
    char c = weir_ascii_at(t, at);
    *is_sentence = follows(t, at, "is ") || follows(t, at, "is: ");
    if (*is_sentence) {
        at += follows(t, at, "is: ") ? 4 : 3;
    } else if (c == '=' || c == ':') {
        at++;
        c = weir_ascii_at(t, at);
        at += c == '=' || c == '>';
    } else {
        return 0;
    }
    return skip_blanks(t, at);
}

static bool ends_bare(char c)
{
    return weir_ascii_is_space(c) || is_quote(c) || c == ',' || c == ';' || c == '<' || c == '>' ||
           (unsigned char)c >= 0x80;
}

/* In a query the next member follows: &name= */
static bool ends_member(struct weir_slice t, size_t at)
{
    enum { MAX_NAME = 32 };
    if (t.p[at] != '&') {
        return false;
    }
    size_t end = weir_secrets__run(t, at + 1, WEIR_SECRET_URL_DOT, MAX_NAME);
    return end == at + 1 || weir_ascii_at(t, end) == '=';
}

static bool read_value(struct weir_slice t, size_t at, struct value *v)
{
    char quote = weir_ascii_at(t, at);
    v->is_quoted = is_quote(quote);
    at += v->is_quoted;
    v->from = at;
    size_t to = at;
    while (to < t.n && to - at <= MAX_VALUE &&
           (v->is_quoted ? t.p[to] != quote && t.p[to] != '\n'
                         : !ends_bare(t.p[to]) && !ends_member(t, to))) {
        to++;
    }
    if (v->is_quoted && weir_ascii_at(t, to) != quote) {
        return false;
    }
    while (!v->is_quoted && to > at && strchr(".?)", t.p[to - 1]) != NULL) {
        to--; /* the sentence's */
    }
    v->s = weir_slice_sub(t, at, to);
    return v->s.n <= MAX_VALUE;
}

struct makeup {
    size_t n_digits;
    size_t n_letters;
    size_t n_upper;
    size_t n_signs;
};

static struct makeup make_up(struct weir_slice s)
{
    struct makeup m = {0};
    for (size_t i = 0; i < s.n; i++) {
        m.n_digits += weir_ascii_is_digit(s.p[i]);
        m.n_letters += weir_ascii_is_alpha(s.p[i]);
        m.n_upper += weir_ascii_is_upper(s.p[i]);
        m.n_signs += !weir_ascii_is_alnum(s.p[i]);
    }
    return m;
}

/* Words and numbers joined by signs: an identifier, a date, a version; nobody drew it. */
static bool is_wordy(struct weir_slice s)
{
    bool has_letter = false;
    bool has_digit = false;
    for (size_t i = 0; i <= s.n; i++) {
        char c = weir_ascii_at(s, i);
        if (weir_ascii_is_alnum(c)) {
            has_letter = has_letter || weir_ascii_is_alpha(c);
            has_digit = has_digit || weir_ascii_is_digit(c);
        } else if (i < s.n && strchr("._-/: ", c) == NULL) {
            return false;
        } else if (has_letter && has_digit) {
            return false;
        } else {
            has_letter = false;
            has_digit = false;
        }
    }
    return true;
}

static bool is_uuid(struct weir_slice s)
{
    if (s.n != 36) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool is_joint = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_joint ? s.p[i] != '-' : !weir_ascii_is_hex(s.p[i])) {
            return false;
        }
    }
    return true;
}

/* Code that gets the secret from elsewhere, templates, paths, rules. */
static bool is_reference(struct weir_slice s)
{
    static const char *const marks[] = {"environ", "getenv", "process.env", "://",
                                        "***",     "vault:", "...",         NULL};
    if (s.n == 0 || strchr("$%*/~", s.p[0]) != NULL) {
        return true;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '\0' && strchr("(<|[{\\", s.p[i]) != NULL) {
            return true;
        }
    }
    for (const char *const *m = marks; *m != NULL; m++) {
        if (weir_ascii_contains(s, *m)) {
            return true;
        }
    }
    return false;
}

static bool has_space(struct weir_slice s)
{
    return weir_slice_find(s, ' ') < s.n || weir_slice_find(s, '\t') < s.n;
}

static bool is_near(const struct weir_secret_look *l, const char *word)
{
    enum { REACH = 48 };
    size_t from = l->end > REACH ? l->end - REACH : 0;
    return weir_ascii_contains(weir_slice_sub(l->text, from, l->end), word);
}

static bool is_all(struct weir_slice s, enum weir_secret_class class)
{
    return weir_secrets__run(s, 0, class, s.n) == s.n;
}

/* Values whose shape says nothing, with a name that says all. */
static bool is_named_vendor(struct weir_secret_look *l, struct weir_slice s)
{
    if (s.n == 40 && is_all(s, WEIR_SECRET_BASE64) &&
        (is_near(l, "aws") || is_near(l, "secret_access_key") || is_near(l, "secretaccesskey"))) {
        l->kind = "aws_secret_access_key";
    } else if (is_uuid(s) && is_near(l, "heroku")) {
        l->kind = "heroku_api_key";
    } else if ((s.n == 32 || s.n == 40) && is_all(s, WEIR_SECRET_HEX) &&
               (is_near(l, "datadog") || is_near(l, "dd_"))) {
        l->kind = "datadog_key";
    } else {
        return false;
    }
    l->score = 1.0;
    return weir_secrets__entropy(s) >= 3.0;
}

static bool find_value(struct weir_secret_look *l, struct value *v)
{
    size_t at = skip_sign(l->text, skip_suffix(l->text, l->end), &v->is_sentence);
    if (at == 0 || !read_value(l->text, at, v) || v->s.n < MIN_PASSWORD) {
        return false;
    }
    l->from = v->from;
    l->to = v->from + v->s.n;
    l->seen = v->s.n >= MAX_NESTED ? l->to : 0;
    l->score = v->is_sentence ? 0.6 : 0.7;
    return !has_space(v->s) && !is_reference(v->s);
}

/* Long, mixed and unlike anything a person writes. */
static bool is_drawn_token(struct weir_slice s)
{
    struct makeup m = make_up(s);
    return s.n >= MIN_TOKEN && m.n_digits > 0 && m.n_letters > 0 && !is_wordy(s) && !is_uuid(s) &&
           !weir_secrets__is_placeholder(s) && weir_secrets__entropy(s) >= 3.0;
}

bool weir_secrets__assignment(struct weir_secret_look *l)
{
    struct value v = {0};
    if (!find_value(l, &v)) {
        return false;
    }
    if (is_named_vendor(l, v.s)) {
        return true;
    }
    l->kind = "high_entropy_assignment";
    return is_drawn_token(v.s);
}

bool weir_secrets__bearer(struct weir_secret_look *l)
{
    struct value v = {0};
    size_t at = skip_blanks(l->text, l->end);
    if (is_quote(weir_ascii_at(l->text, at)) || !read_value(l->text, at, &v)) {
        return false;
    }
    l->from = v.from;
    l->to = v.from + v.s.n;
    l->seen = v.s.n >= MAX_NESTED ? l->to : 0;
    l->kind = "bearer_token";
    l->score = 0.7;
    return !is_reference(v.s) && is_drawn_token(v.s);
}

bool weir_secrets__assigned_password(struct weir_secret_look *l)
{
    struct value v = {0};
    if (!find_value(l, &v)) {
        return false;
    }
    struct makeup m = make_up(v.s);
    l->kind = "password";
    bool is_strong = m.n_digits > 0 && m.n_letters > 0 && (m.n_signs > 0 || m.n_upper > 0);
    bool is_drawn = v.is_sentence ? is_strong && v.s.n >= MIN_IN_SENTENCE
                                  : m.n_letters > 0 && m.n_digits + m.n_signs > 0;
    return is_drawn && !is_wordy(v.s) && !weir_secrets__is_placeholder(v.s) &&
           weir_secrets__entropy(v.s) >= 2.5;
}
