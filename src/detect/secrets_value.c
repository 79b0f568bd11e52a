/* What a value is made of: could somebody have drawn it? */
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
    case WEIR_SECRET_CAPS:
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
    case WEIR_SECRET_URL_EQUAL:
        return weir_ascii_is_alnum(c) || c == '_' || c == '-' || c == '=';
    case WEIR_SECRET_DOLLAR:
        return weir_ascii_is_alnum(c) || c == '$';
    case WEIR_SECRET_BASE64:
        return weir_ascii_is_alnum(c) || c == '+' || c == '/' || c == '=';
    case WEIR_SECRET_BASE64_URL:
        return weir_ascii_is_alnum(c) || (c != '\0' && strchr("+/=_-", c) != NULL);
    }
    return false;
}

bool weir_secrets__touches_word(char c)
{
    return weir_secrets__has(WEIR_SECRET_URL, c);
}

size_t weir_secrets__run(struct weir_slice t, size_t at, enum weir_secret_class class, size_t max)
{
    size_t to = at;
    while (to - at < max && weir_ascii_has(t, to) && weir_secrets__has(class, t.p[to])) {
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

/* The longest run of one letter. Zero bytes are AAAA in base64: in long tokens they are no sign. */
static size_t longest_repeat(struct weir_slice value)
{
    enum { LONG = 40 };
    size_t same = 1;
    size_t longest = 1;
    for (size_t i = 1; i < value.n; i++) {
        same = value.p[i] == value.p[i - 1] ? same + 1 : 1;
        bool is_zero = value.p[i] == 'A' && value.n >= LONG && same < value.n / 3;
        longest = same > longest && !is_zero ? same : longest;
    }
    return longest;
}

bool weir_secrets__is_placeholder(struct weir_slice value)
{
    enum { SAME = 6 };
    static const char *const words[] = {"your", "placeholder", "redacted", "changeme", "change_me",
                                        "replace", "insert", "dummy", "xxxx", "my_secret",
                                        "my-secret", "todo", "not-a-real", "not_a_real", "notareal",
                                        "fixme", "example", "abcdefghijk",
                                        /* the ids that pages about ids show */
                                        "123e4567-e89b", "550e8400-e29b", NULL};
    if (longest_repeat(value) >= SAME) {
        return true;
    }
    for (const char *const *w = words; *w != NULL; w++) {
        if (weir_ascii_contains(value, *w)) {
            return true;
        }
    }
    return false;
}

static bool is_word_of(struct weir_slice s, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (weir_slice_eq_nocase(s, weir_slice_cstr(*words))) {
            return true;
        }
    }
    return false;
}

bool weir_secrets__is_dull(struct weir_slice password)
{
    static const char *const dull[] = {"password", "pass", "pwd", "secret",   "passwd",   "token",
                                       "user",     "port", "xxx", "p4ssw0rd", "passw0rd", NULL};
    uint64_t port;
    bool is_port = password.n <= 5 && weir_slice_u64(password, &port) == 0;
    return password.n == 0 || is_port || is_word_of(password, dull) ||
           strchr("<$*{[%", password.p[0]) != NULL || weir_secrets__is_placeholder(password);
}

enum { MIN_IN_SENTENCE = 8, MIN_TOKEN = 14 };

struct makeup {
    size_t n_digits;
    size_t n_letters;
    size_t n_upper;
    size_t n_vowels;
    size_t n_foreign; /* bytes of letters beyond ASCII */
    size_t n_signs;   /* of ASCII: other letters are letters */
};

static struct makeup make_up(struct weir_slice s)
{
    struct makeup m = {0};
    for (size_t i = 0; i < s.n; i++) {
        m.n_digits += weir_ascii_is_digit(s.p[i]);
        m.n_letters += weir_ascii_is_alpha(s.p[i]);
        m.n_upper += weir_ascii_is_upper(s.p[i]);
        m.n_vowels += s.p[i] != '\0' && strchr("aeiouyAEIOUY", s.p[i]) != NULL;
        m.n_foreign += (unsigned char)s.p[i] >= 0x80;
        m.n_signs += !weir_ascii_is_alnum(s.p[i]) && (unsigned char)s.p[i] < 0x80;
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

/* abcd1234, A1b2c3d4: letters and digits in their order, alone or taking turns. */
static bool is_sequence(struct weir_slice s)
{
    size_t n_next = 0;
    size_t n_turns = 0;
    for (size_t i = 1; i < s.n; i++) {
        char c = weir_ascii_lower(s.p[i]);
        n_next += weir_ascii_is_alnum(c) && c == weir_ascii_lower(s.p[i - 1]) + 1;
        n_turns += weir_ascii_is_alnum(c) && i > 1 && c == weir_ascii_lower(s.p[i - 2]) + 1;
    }
    return 5 * n_next >= 2 * s.n || 5 * n_turns >= 3 * s.n;
}

/* Words as code runs them together: a capital begins one, and so does a letter behind a sign. */
static size_t count_words(struct weir_slice s)
{
    size_t n = 0;
    char last = '\0';
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        n += weir_ascii_is_alpha(c) &&
             (!weir_ascii_is_alpha(last) || (weir_ascii_is_upper(c) && !weir_ascii_is_upper(last)));
        last = c;
    }
    return n;
}

/* Letters right behind a digit; or `s.n` where signs stand that no name has. */
static size_t count_drops(struct weir_slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!weir_ascii_is_alnum(s.p[i]) && strchr("._-/:$%[]#", s.p[i]) == NULL) {
            return s.n;
        }
        n += weir_ascii_is_alpha(s.p[i]) && weir_ascii_is_digit(weir_ascii_before(s, i));
    }
    return n;
}

/*
 * Words, a number behind some: SemicolonToken$1, Ed25519PrivateKey. Drawn letters change their case
 * and give way to digits far more often, and have fewer vowels.
 */
bool weir_secrets__is_identifier(struct weir_slice s)
{
    struct makeup m = make_up(s);
    bool has_cases = m.n_upper > 0 && m.n_upper < m.n_letters;
    size_t mean = has_cases ? 4 : 3;
    return count_drops(s) <= (has_cases ? 1 : 0) && m.n_letters >= mean * count_words(s) &&
           5 * m.n_vowels >= m.n_letters;
}

/* Letters alone, in cases that no words have. */
static bool is_scrambled(struct weir_slice s, const struct makeup *m)
{
    enum { LEAST = 20 };
    return s.n >= LEAST && m->n_letters == s.n && m->n_upper >= 4 &&
           m->n_letters < 3 * count_words(s);
}

/* Some part between the dots that nobody would call a member. */
static bool has_drawn_part(struct weir_slice s)
{
    enum { LEAST = 20 };
    while (s.p != NULL) {
        struct weir_slice part = weir_slice_cut(&s, '.');
        if (part.n >= LEAST && !weir_secrets__is_identifier(part)) {
            return true;
        }
    }
    return false;
}

/* user.password2, e.target.value: code that has the secret elsewhere. */
static bool is_member_path(struct weir_slice s)
{
    bool begins = true;
    size_t n_dots = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_start = weir_ascii_is_alpha(c) || c == '_' || c == '$';
        if (c == '.' ? begins : !is_start && (begins || !weir_ascii_is_digit(c))) {
            return false;
        }
        begins = c == '.';
        n_dots += begins;
    }
    return n_dots > 0 && !begins && !has_drawn_part(s);
}

bool weir_secrets__is_uuid(struct weir_slice s)
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

static bool contains_any(struct weir_slice s, const char *const *marks)
{
    for (; *marks != NULL; marks++) {
        if (weir_ascii_contains(s, *marks)) {
            return true;
        }
    }
    return false;
}

/* Code that gets the secret from elsewhere, templates, paths, rules. */
static bool is_reference(struct weir_slice s)
{
    static const char *const marks[] = {"environ", "getenv", "process.env",  "://", "***", "vault:",
                                        "...",     "urn:",   "aws4_request", "===", NULL};
    if (s.n == 0 || strchr("$%*/~", s.p[0]) != NULL) {
        return true;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '\0' && strchr("(<|[{\\", s.p[i]) != NULL) {
            return true;
        }
    }
    return contains_any(s, marks);
}

/* Between quotes brackets may have been drawn: only what has the form of a template is one. */
static bool is_quoted_reference(struct weir_slice s)
{
    static const char *const marks[] = {
        "environ", "getenv", "process.env", "://", "***", "vault:", "...",  "${",           "{{",
        "#{",      "%(",     "<%",          "$(",  "`+",  "+`",     "urn:", "aws4_request", NULL};
    static const char *const ranges[] = {"a-z", "0-9", "a-f", NULL}; /* of a pattern */
    if (s.n == 0 || strchr("/~%", s.p[0]) != NULL || memchr(s.p, '\\', s.n) != NULL) {
        return true;
    }
    char last = s.p[s.n - 1];
    bool is_bracketed = (s.p[0] == '<' && last == '>') || (s.p[0] == '{' && last == '}') ||
                        (s.p[0] == '[' && last == ']') ||
                        (last == ')' && memchr(s.p, '(', s.n) != NULL);
    bool is_variable = s.p[0] == '$' && weir_secrets__run(s, 1, WEIR_SECRET_WORD, s.n) == s.n;
    return is_bracketed || is_variable || contains_any(s, marks) || contains_any(s, ranges);
}

/* !Ref and !vault of YAML. */
static bool is_tag(struct weir_slice s)
{
    size_t n = 1;
    while (n < s.n && weir_ascii_is_alpha(s.p[n])) {
        n++;
    }
    return s.p[0] == '!' && n == s.n;
}

/* @PASSWORD of a template. */
static bool is_slot(struct weir_slice s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (!weir_secrets__has(WEIR_SECRET_UPPER, s.p[i]) && s.p[i] != '_') {
            return false;
        }
    }
    return s.p[0] == '@';
}

/* !!e.password, value}get, e.method)return: an expression of code that was made small. */
static bool is_expression(struct weir_slice s)
{
    size_t from = 0;
    size_t end = s.n;
    while (from < s.n && (s.p[from] == '!' || s.p[from] == '&')) {
        from++;
    }
    while (end > from && s.p[end - 1] >= 'a' && s.p[end - 1] <= 'z') {
        end--; /* the next word of it */
    }
    char last = weir_ascii_before(s, end);
    bool is_closed = end > from + 1 && end < s.n && (last == ')' || last == '}');
    struct weir_slice name = weir_slice_sub(s, from, is_closed ? end - 1 : s.n);
    return (from > 0 || is_closed) && (is_member_path(name) || weir_secrets__is_identifier(name));
}

bool weir_secrets__is_reference(struct weir_slice value, bool is_quoted)
{
    return is_quoted ? is_quoted_reference(value)
                     : is_reference(value) || is_tag(value) || is_slot(value) ||
                           is_member_path(value) || is_expression(value);
}

/* A contract or an account of a block chain, which is public. */
static bool is_chain_address(struct weir_slice s)
{
    enum { DIGITS = 40 };
    return s.n == DIGITS + 2 && s.p[0] == '0' && s.p[1] == 'x' &&
           weir_secrets__run(s, 2, WEIR_SECRET_HEX, DIGITS) == s.n;
}

bool weir_secrets__looks_like_token(struct weir_slice value)
{
    struct makeup m = make_up(value);
    bool is_drawn = m.n_digits > 0 ? m.n_letters > 0 && !is_wordy(value) : is_scrambled(value, &m);
    return value.n >= MIN_TOKEN && is_drawn && m.n_foreign == 0 &&
           !weir_secrets__is_identifier(value) && !is_sequence(value) && !is_chain_address(value) &&
           weir_slice_find(value, ',') == value.n && !weir_secrets__is_placeholder(value) &&
           weir_secrets__entropy(value) >= 3.0;
}

static bool is_drawn_password(struct weir_slice value)
{
    struct weir_slice words = value;
    while (words.n > 0 && strchr("?:", words.p[words.n - 1]) != NULL) {
        words.n--;
    }
    struct makeup m = make_up(value);
    bool is_translated = m.n_foreign > 0 && (m.n_digits < 2 || m.n_signs == 0);
    return !is_wordy(words) && !is_translated && !is_sequence(value) &&
           !weir_secrets__is_placeholder(value) && weir_secrets__entropy(value) >= 2.5;
}

/* Without a digit it must be a sign, and capitals where no word has them. */
static bool is_strong(struct weir_slice value)
{
    struct makeup m = make_up(value);
    size_t n_inside = m.n_upper - (value.n != 0 && weir_ascii_is_upper(value.p[0]));
    return m.n_letters > 0 &&
           (m.n_digits > 0 ? m.n_signs > 0 || m.n_upper > 0
                           : m.n_signs > 0 && n_inside > 1 && m.n_letters > m.n_upper);
}

bool weir_secrets__looks_like_password(struct weir_slice value)
{
    return value.n >= MIN_IN_SENTENCE && is_strong(value) && is_drawn_password(value);
}

bool weir_secrets__looks_chosen(struct weir_slice value)
{
    struct makeup m = make_up(value);
    return m.n_letters > 0 && m.n_digits + m.n_signs > 0 && is_drawn_password(value);
}
