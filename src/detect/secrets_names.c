/* Names with values: api_key = "…", "the password is …", {"name": "TOKEN", "value": "…"}. */
#include "detect/ascii.h"
#include "detect/secrets_int.h"

#include <string.h>

enum {
    MAX_VALUE = 1024,
    MAX_BLANKS = 4,
    MAX_COLUMN = 24,
    MIN_PASSWORD = 6,
    MAX_NESTED = 32,
    MAX_ENDING = 4
};

/* What binds a value to its name, the weaker the more the value has to say. */
enum sign {
    SIGN_NONE,
    SIGN_ASSIGNED, /* = and : */
    SIGN_SAID,     /* "the password is …", the next cell of a table */
    SIGN_LISTED,   /* ("password", "…") */
    SIGN_NEXT,     /* "login bob password …": nothing but a blank */
};

struct value {
    struct weir_slice s;
    size_t from;
    bool is_quoted;
    enum sign sign;
};

static size_t skip_blanks(struct weir_slice t, size_t at)
{
    size_t stop = at + MAX_BLANKS;
    while (at < stop && (weir_ascii_at(t, at) == ' ' || weir_ascii_at(t, at) == '\t')) {
        at++;
    }
    return at;
}

/* Signs that stand below each other, in a column of their own, have many blanks before them. */
static size_t skip_to_column(struct weir_slice t, size_t at)
{
    size_t to = at;
    while (to - at < MAX_COLUMN && weir_ascii_at(t, to) == ' ') {
        to++;
    }
    char c = weir_ascii_at(t, to);
    return to - at > MAX_BLANKS && (c == '=' || c == ':') ? to : at;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

/* The first letter tells nearly always. */
static bool follows(struct weir_slice t, size_t at, const char *word)
{
    if (weir_ascii_lower(weir_ascii_at(t, at)) != weir_ascii_lower(word[0])) {
        return false;
    }
    return weir_ascii_follows(t, at, word);
}

/* Bytes of the word that follows, of a list; 0: none does. */
static size_t length_of_any(struct weir_slice t, size_t at, const char *const *words)
{
    while (*words != NULL && !follows(t, at, *words)) {
        words++;
    }
    return *words != NULL ? strlen(*words) : 0;
}

/* token_2, apiKey1: several of them have numbers. */
static size_t skip_number(struct weir_slice t, size_t at)
{
    enum { MAX_DIGITS = 3 };
    char c = weir_ascii_at(t, at);
    size_t from = at + (c == '_' || c == '-');
    size_t to = from;
    while (to - from < MAX_DIGITS && weir_ascii_is_digit(weir_ascii_at(t, to))) {
        to++;
    }
    return to > from ? to : at;
}

/* The rest of the name: secret_key, token-value, SecretAccessKey. */
static size_t skip_suffix(struct weir_slice t, size_t at)
{
    static const char *const suffixes[] = {"_key_base",   "_access_key", "accesskey",
                                           "-access-key", "_key",        "-key",
                                           "key",         "_value",      NULL};
    char c = weir_ascii_lower(weir_ascii_at(t, at));
    bool may_be = c == '_' || c == '-' || c == 'k' || c == 'a';
    return skip_number(t, may_be ? at + length_of_any(t, at, suffixes) : at);
}

static bool may_begin_verb(char c)
{
    return c == 'i' || c == 'e' || (unsigned char)c >= 0x80;
}

/* "the password for the guest network is …": to its verb or colon, if it is of this clause. */
static size_t skip_owner(struct weir_slice t, size_t at)
{
    enum { REACH = 48 };
    static const char *const links[] = {"to ", "for ", "für ",  "zum ", "pour ",
                                        "du ", "de ",  "para ", "del ", "do ",
                                        "da ", "от ",  "для ",  "к ",   NULL};
    static const char *const verbs[] = {" is ", " ist ", " est ", " es ",
                                        " é ",  " è ",   " — ",   NULL};
    char first = weir_ascii_at(t, at + 1);
    bool may_link =
        (unsigned char)first >= 0x80 || (first != '\0' && strchr("tfdpz", first) != NULL);
    size_t n_link = weir_ascii_at(t, at) == ' ' && may_link ? length_of_any(t, at + 1, links) : 0;
    size_t stop = at + REACH;
    for (size_t i = n_link != 0 ? at + 1 + n_link : stop; i < stop && weir_ascii_has(t, i); i++) {
        char c = t.p[i];
        if (weir_ascii_is_alpha(c)) {
            continue;
        }
        if (c == ':' || (c == ' ' && may_begin_verb(weir_ascii_at(t, i + 1)) &&
                         length_of_any(t, i, verbs) != 0)) {
            return i;
        }
        if (c == '.' || c == ',' || c == ';' || c == '?' || c == '!' || c == '\n') {
            break;
        }
    }
    return at;
}

/* Bytes of a word that says "is", in the languages that have a word for password here. */
static size_t verb_length(struct weir_slice t, size_t at)
{
    static const char *const verbs[] = {"is ",      "is: ", "was ",  "ist ", "ist: ", "lautet ",
                                        "lautet: ", "est ", "est: ", "es ",  "es: ",  "jest ",
                                        "to ",      "er ",  "on ",   "je ",  NULL};
    static const char *const foreign[] = {"é ",  "è ",   "är ", "—",   "это ", "は",
                                          "是",  "为",   "為",  "：",  "는 ",  "은 ",
                                          "هي ", "הוא ", "है ",  "là ", NULL};
    char c = weir_ascii_at(t, at);
    if ((unsigned char)c >= 0x80 || c == 'l') {
        size_t n = length_of_any(t, at, foreign);
        return n != 0 ? n : length_of_any(t, at, verbs);
    }
    bool may_be = c != '\0' && strchr("iwlejto", weir_ascii_lower(c)) != NULL;
    return may_be ? length_of_any(t, at, verbs) : 0;
}

enum { MAX_NAME = 64 };

/* Where the name that ends at `end` begins: the words before it belong to it. */
static size_t name_start(struct weir_slice t, size_t end)
{
    return weir_secrets__run_back(t, end, WEIR_SECRET_URL_DOT, MAX_NAME);
}

/* --password, Dockerfile's ENV, C's #define and their like have the value after a space. */
static bool is_option(struct weir_slice t, size_t end)
{
    static const char *const commands[] = {"ENV ", "ARG ", "define ", "setx ", " -gx ", NULL};
    size_t from = name_start(t, end);
    for (const char *const *c = commands; *c != NULL; c++) {
        size_t n = strlen(*c);
        if (from >= n && memcmp(t.p + from - n, *c, n) == 0) {
            return true;
        }
    }
    bool is_keyword = weir_ascii_before(t, from) == ':' && /* Clojure's */
                      (from < 2 || strchr("{( ", t.p[from - 2]) != NULL);
    return is_keyword || (end - from > 2 && t.p[from] == '-' && t.p[from + 1] == '-');
}

/* <password>…</password>, but not the value of pass=<password> */
static bool is_element(struct weir_slice t, size_t end)
{
    size_t from = name_start(t, end);
    char before = weir_ascii_before(t, from);
    return before == ':' || (before == '<' && weir_ascii_before(t, from - 1) != '=');
}

static bool ends_bare(char c)
{
    return weir_ascii_is_space(c) || is_quote(c) || c == ',' || c == ';' || c == '<' || c == '>' ||
           (unsigned char)c >= 0x80;
}

/* In a query the next member follows: &name= */
static bool ends_member(struct weir_slice t, size_t at)
{
    if (t.p[at] != '&') {
        return false;
    }
    size_t end = weir_secrets__run(t, at + 1, WEIR_SECRET_URL_DOT, MAX_NAME);
    return end == at + 1 || weir_ascii_at(t, end) == '=';
}

static size_t skip_white(struct weir_slice t, size_t at)
{
    enum { MAX_WHITE = 64 };
    size_t stop = at + MAX_WHITE;
    while (at < stop && weir_ascii_is_space(weir_ascii_at(t, at))) {
        at++;
    }
    return at;
}

/* Behind a name in quotes: "NAME" value="…", "NAME", "value": "…", "NAME", "…", "NAME" { default */
static enum sign skip_member(struct weir_slice t, size_t *at)
{
    size_t i = skip_blanks(t, *at);
    if (follows(t, i, "value=")) {
        *at = i + strlen("value=");
        return SIGN_ASSIGNED;
    }
    if (weir_ascii_at(t, i) == '{') {
        i = skip_white(t, i + 1);
        *at = follows(t, i, "default") ? i + strlen("default") : *at;
        return SIGN_NONE; /* the sign comes behind it */
    }
    if (weir_ascii_at(t, i) != ',') {
        return SIGN_NONE;
    }
    i = skip_blanks(t, i + 1);
    i += weir_ascii_at(t, i) == '\n';
    i = skip_blanks(t, i);
    bool is_value = is_quote(weir_ascii_at(t, i)) && follows(t, i + 1, "value") &&
                    is_quote(weir_ascii_at(t, i + 1 + strlen("value")));
    if (!is_value) {
        *at = i;
        return is_quote(weir_ascii_at(t, i)) ? SIGN_LISTED : SIGN_NONE;
    }
    i = skip_blanks(t, i + strlen("'value'"));
    *at = i + 1;
    return weir_ascii_at(t, i) == ':' ? SIGN_ASSIGNED : SIGN_NONE;
}

static bool begins_operator(char c)
{
    return c == ':' || c == '?' || c == '.' || c == '+' || c == '|';
}

/* = := ::= :::= ?= .= += ||= and ==, ===, =>, -> and :, without the blanks around: bytes, or 0. */
static size_t operator_length(struct weir_slice t, size_t at)
{
    enum { MOST = 3 };
    size_t n = 0;
    while (n < MOST && begins_operator(weir_ascii_at(t, at + n))) {
        n++;
    }
    if (weir_ascii_at(t, at + n) != '=') {
        bool is_arrow = weir_ascii_at(t, at) == '-' && weir_ascii_at(t, at + 1) == '>';
        return is_arrow ? 2 : weir_ascii_at(t, at) == ':';
    }
    char next = weir_ascii_at(t, at + n + 1);
    bool is_third = next == '=' && weir_ascii_at(t, at + n + 2) == '=';
    return n + 1 + (next == '=' || next == '>') + is_third;
}

static bool is_type_byte(char c)
{
    return weir_ascii_is_alnum(c) || (c != '\0' && strchr("_&<>[]?.*'| ", c) != NULL);
}

/* `token: string =`, `token string =`, `token[32] =`: where the sign is, or `at`. Only with a text
 * in quotes behind it: in a sentence words and signs follow one another too. */
static size_t skip_type(struct weir_slice t, size_t at)
{
    enum { REACH = 40 };
    static const char *const bare[] = {"string ", "[]byte ", "str ", "As String ", NULL};
    char c = weir_ascii_at(t, at);
    size_t from = at + (c == '?');
    bool has_colon = weir_ascii_at(t, from) == ':' && weir_ascii_at(t, from + 1) != '=';
    char next = weir_ascii_lower(weir_ascii_at(t, at + 1));
    bool is_bare = c == '[' || c == '?' ||
                   (c == ' ' && (next == 's' || next == '[' || next == 'a') &&
                    length_of_any(t, at + 1, bare) != 0);
    if (!has_colon && !is_bare) {
        return at;
    }
    size_t to = from + has_colon;
    while (to - from < REACH && weir_ascii_has(t, to) && is_type_byte(t.p[to])) {
        to++;
    }
    size_t n_sign = weir_ascii_at(t, to) == ':' ? 0 : operator_length(t, to);
    return n_sign != 0 && is_quote(weir_ascii_at(t, skip_blanks(t, to + n_sign))) ? to : at;
}

/* <key>password</key> <string>…, <name>…</name> <value>…: to the text, or 0. */
static size_t skip_tags(struct weir_slice t, size_t at)
{
    enum { MAX_TAG = 16 };
    static const char *const tags[] = {"<value>", "<string>", NULL};
    size_t to = at;
    while (to - at < MAX_TAG && weir_ascii_has(t, to) && t.p[to] != '>') {
        to++;
    }
    size_t next = skip_white(t, to + 1);
    size_t n = weir_ascii_at(t, at + 1) == '/' ? length_of_any(t, next, tags) : 0;
    return n != 0 ? skip_white(t, next + n) : 0;
}

/* YAML's `name: |` has its text on the next line. */
static size_t skip_block(struct weir_slice t, size_t at)
{
    size_t i = skip_blanks(t, at);
    char c = weir_ascii_at(t, i);
    i += c == '|' || c == '>';
    i += weir_ascii_at(t, i) == '-' || weir_ascii_at(t, i) == '+';
    bool is_block = (c == '|' || c == '>') && weir_ascii_at(t, i) == '\n';
    return is_block ? skip_white(t, i) : at;
}

/* Can a value begin here that nothing but a blank binds to its name? Words of prose have no digit.
 */
static bool has_digit_word(struct weir_slice t, size_t at)
{
    enum { REACH = 24 };
    size_t n = 0;
    bool has_digit = false;
    for (; n < REACH && weir_ascii_has(t, at + n) && !weir_ascii_is_space(t.p[at + n]); n++) {
        has_digit = has_digit || weir_ascii_is_digit(t.p[at + n]);
    }
    return has_digit && n >= MIN_PASSWORD;
}

/* Signs that stand for themselves: token{"…"}, password("…"), the next cell of a table, tags. */
static enum sign skip_bracket(struct weir_slice t, size_t end, size_t *at, size_t i)
{
    char c = weir_ascii_at(t, i);
    size_t text = c == '<' ? skip_tags(t, i) : 0;
    if (text != 0) {
        *at = text;
        return SIGN_ASSIGNED;
    }
    if ((c == '{' || c == '(') && is_quote(weir_ascii_at(t, i + 1))) {
        *at = i + 1;
        return c == '{' ? SIGN_ASSIGNED : SIGN_LISTED;
    }
    if (c == '|' && i > *at) {
        *at = i + 1;
        return SIGN_SAID;
    }
    bool is_closed = c == '>' && is_element(t, end);
    if (!is_closed && (i == end || !has_digit_word(t, i))) {
        return SIGN_NONE; /* most of prose, and of code: token.kind */
    }
    bool is_bound = is_closed || (i > end && is_option(t, end));
    bool is_next =
        i == end + 1 && i == *at + 1 && t.p[end] == ' ' && (weir_ascii_is_alnum(c) || is_quote(c));
    *at = is_closed ? skip_white(t, i + 1) : i;
    return is_bound ? SIGN_ASSIGNED : is_next ? SIGN_NEXT : SIGN_NONE;
}

/* - name: TOKEN
 *   value: … */
static size_t skip_value_line(struct weir_slice t, size_t at)
{
    if (weir_ascii_at(t, at) != '\n') {
        return 0;
    }
    size_t i = skip_white(t, at);
    return follows(t, i, "value:") ? i + strlen("value:") : 0;
}

/* Moves over ` = `, ` => `, `: `, " is " and the like; `end` is where the name itself ends. */
static enum sign skip_sign(struct weir_slice t, size_t end, size_t *at, bool may_have_owner)
{
    size_t value_line = skip_value_line(t, *at);
    if (value_line != 0) {
        *at = value_line;
        return SIGN_ASSIGNED;
    }
    size_t i = skip_to_column(t, skip_type(t, *at));
    i = skip_blanks(t, may_have_owner ? skip_owner(t, i) : i);
    size_t n_verb = verb_length(t, i);
    if (n_verb != 0) {
        *at = i + n_verb;
        return SIGN_SAID;
    }
    size_t n_sign = operator_length(t, i);
    if (n_sign != 0) {
        *at = weir_ascii_at(t, i) == ':' ? skip_block(t, i + n_sign) : i + n_sign;
        return SIGN_ASSIGNED;
    }
    return skip_bracket(t, end, at, i);
}

/* What some languages put around a text: []byte("…"), {"…"}, b"…", @"…". */
static size_t skip_wrapper(struct weir_slice t, size_t at)
{
    static const char *const calls[] = {"[]byte(", "Buffer.from(", "SecretStr(", "bytes(",
                                        "String(", "new String(",  NULL};
    size_t n = length_of_any(t, at, calls);
    n += n == 0 && (weir_ascii_at(t, at) == '{' || weir_ascii_at(t, at) == '(');
    at += is_quote(weir_ascii_at(t, at + n)) ? n : 0;
    char c = weir_ascii_at(t, at);
    bool is_marked = c == 'b' || c == 'r' || c == 'u' || c == 'f' || c == '@' || c == 'L';
    return at + (is_marked && is_quote(weir_ascii_at(t, at + 1)));
}

/* A line's end that is spelled out, in a text inside of a text. */
static bool is_escape(struct weir_slice t, size_t at)
{
    char c = weir_ascii_at(t, at + 1);
    return t.p[at] == '\\' && (c == 'n' || c == 'r' || c == 't' || is_quote(c));
}

/* "Password:", with its closing quote and code behind it. */
static bool is_label_end(struct weir_slice t, size_t at)
{
    char c = weir_ascii_at(t, at + 1);
    return is_quote(weir_ascii_at(t, at)) && weir_ascii_before(t, at) == ':' &&
           (c == '\0' || strchr(",;)+]}>&|:?=/ \n", c) != NULL);
}

static size_t quoted_end(struct weir_slice t, size_t at, char quote, bool is_escaped)
{
    size_t to = at;
    while (to - at <= MAX_VALUE && weir_ascii_has(t, to) && t.p[to] != quote && t.p[to] != '\n' &&
           !(is_escaped && t.p[to] == '\\')) {
        to++;
    }
    return to;
}

static size_t bare_end(struct weir_slice t, size_t at)
{
    size_t to = at;
    while (to - at <= MAX_VALUE && weir_ascii_has(t, to) && !ends_bare(t.p[to]) &&
           !ends_member(t, to) && !is_escape(t, to)) {
        to++;
    }
    while (to > at && strchr(".?:)}]", t.p[to - 1]) != NULL) {
        to--; /* the sentence's, or of a list around it */
    }
    return to;
}

static bool read_value(struct weir_slice t, size_t at, struct value *v)
{
    bool is_escaped = weir_ascii_at(t, at) == '\\' && is_quote(weir_ascii_at(t, at + 1));
    at += is_escaped;
    char quote = weir_ascii_at(t, at);
    v->is_quoted = is_quote(quote);
    at += v->is_quoted;
    v->from = at;
    size_t to = v->is_quoted ? quoted_end(t, at, quote, is_escaped) : bare_end(t, at);
    if (v->is_quoted && weir_ascii_at(t, to + is_escaped) != quote) {
        return false;
    }
    v->s = weir_slice_sub(t, at, to);
    return v->s.n <= MAX_VALUE;
}

static bool has_space(struct weir_slice s)
{
    return weir_slice_find(s, ' ') < s.n || weir_slice_find(s, '\t') < s.n;
}

/* In the name, the rest of it after `l->end` included, or the words before it. */
static bool is_near(const struct weir_seek_look *l, const char *word)
{
    enum { REACH = 48 };
    size_t from = l->end > REACH ? l->end - REACH : 0;
    return weir_ascii_contains(weir_slice_sub(l->text, from, skip_suffix(l->text, l->end)), word);
}

static bool is_all(struct weir_slice s, enum weir_secret_class class)
{
    return weir_secrets__run(s, 0, class, s.n) == s.n;
}

/* Values whose shape says nothing, with a name that says all. */
static bool is_named_vendor(struct weir_seek_look *l, struct weir_slice s)
{
    if (s.n == 40 && is_all(s, WEIR_SECRET_BASE64) &&
        (is_near(l, "aws") || is_near(l, "secret_access_key") || is_near(l, "secretaccesskey"))) {
        l->kind = "aws_secret_access_key";
    } else if (weir_secrets__is_uuid(s) && is_near(l, "heroku")) {
        l->kind = "heroku_api_key";
    } else if ((s.n == 32 || s.n == 40) && is_all(s, WEIR_SECRET_HEX) &&
               (is_near(l, "datadog") || is_near(l, "dd_"))) {
        l->kind = "datadog_key";
    } else {
        return false;
    }
    l->score = 1.0;
    return weir_secrets__entropy(s) >= 3.0 && !weir_secrets__is_placeholder(s);
}

/*
 * What is called a token or a secret and is none: the place in a list that goes on
 * (`nextToken`), a mark that makes a request unique (`clientToken`), a part of a resource's name
 * (arn:aws:…:secret:NAME), a type (AWS::SecretsManager::Secret).
 */
static bool is_name_of_secret(const struct weir_seek_look *l, size_t end)
{
    static const char *const marks[] = {
        "next",        "page",     "paging",   "pagina",    "continu", "starting", "sync",
        "change",      "cursor",   "resume",   "idempot",   "scroll",  "lock",     "update",
        "clienttoken", "client-t", "client_t", "clientreq", "input",   "output",   NULL};
    struct weir_slice t = l->text;
    size_t from = name_start(t, l->end);
    struct weir_slice name = weir_slice_sub(t, from, end);
    bool is_inside = weir_ascii_before(t, from) == ':' &&
                     (weir_ascii_before(t, from - 1) == ':' || weir_ascii_at(t, end) == ':');
    bool is_token = weir_ascii_contains(name, "token") && !weir_ascii_contains(name, "pagerduty");
    for (const char *const *m = marks; is_token && *m != NULL; m++) {
        if (weir_ascii_contains(name, *m)) {
            return false;
        }
    }
    return !is_inside;
}

/* Another member of a list: deviceType=router7 */
static bool begins_with_name(struct weir_slice s)
{
    size_t equal = weir_slice_find(s, '=');
    return equal < s.n && weir_ascii_is_alpha(weir_ascii_at(s, equal + 1)) &&
           weir_secrets__is_identifier(weir_slice_sub(s, 0, equal));
}

/* After a name that ends at `l->end`. */
static bool find_value_of(struct weir_seek_look *l, struct value *v, bool may_have_owner)
{
    struct weir_slice t = l->text;
    size_t end = skip_suffix(t, l->end);
    size_t at = end + (weir_ascii_at(t, end) == '\\' && is_quote(weir_ascii_at(t, end + 1)));
    bool is_quoted_name = is_quote(weir_ascii_at(t, at));
    at += is_quoted_name;
    at += weir_ascii_at(t, at) == ']';
    v->sign = is_quoted_name ? skip_member(t, &at) : SIGN_NONE;
    v->sign = v->sign == SIGN_NONE ? skip_sign(t, end, &at, may_have_owner) : v->sign;
    bool is_label = !is_quoted_name && is_label_end(t, at);
    if (v->sign == SIGN_NONE || is_label ||
        !read_value(t, skip_wrapper(t, skip_blanks(t, at)), v) || v->s.n < MIN_PASSWORD) {
        l->seen = v->s.n > MAX_VALUE ? v->from + v->s.n : 0;
        l->from = v->sign != SIGN_NONE && v->from > l->from ? v->from : l->from;
        return false;
    }
    l->from = v->from;
    l->to = v->from + v->s.n;
    l->seen = v->s.n >= MAX_NESTED ? l->to : 0;
    l->score = v->sign == SIGN_ASSIGNED ? 0.7 : 0.6;
    bool is_login = v->s.p[0] == '@' && v->from == at; /* user:password@host */
    bool is_pair = v->sign != SIGN_ASSIGNED && begins_with_name(v->s);
    return !has_space(v->s) && !is_login && !is_pair && is_name_of_secret(l, end) &&
           !weir_secrets__is_reference(v->s, v->is_quoted);
}

/*
 * "the password for the guest netw": where an owner may be going on, the value comes behind it.
 * What stands there already is held only if it would be the value without an owner.
 */
static bool find_value(struct weir_seek_look *l, struct value *v)
{
    size_t low = l->from;
    bool is_found = find_value_of(l, v, true);
    if (!weir_ascii_edge.is_met) {
        return is_found;
    }
    struct weir_seek_look plain = *l;
    struct value other = {0};
    weir_ascii_edge.is_met = false;
    plain.from = low;
    bool is_plain = find_value_of(&plain, &other, false);
    bool is_open = weir_ascii_edge.is_met;
    weir_ascii_edge.is_met = true;
    bool is_value = is_open || (is_plain && other.s.n >= MIN_PASSWORD);
    bool has_owner = v->from > other.from; /* and its verb */
    l->from = is_value    ? (plain.from < l->from ? plain.from : l->from)
              : has_owner ? v->from
                          : l->text.n;
    return is_found;
}

/* password = "confirm_password1", apiKey: SensitiveToken2: another name, or what it is called. */
static bool is_name(struct weir_slice s)
{
    return weir_secrets__is_identifier(s) &&
           (weir_ascii_contains(s, "pass") || weir_ascii_contains(s, "token") ||
            weir_ascii_contains(s, "secret") || weir_ascii_contains(s, "key"));
}

/* "the password Base64Encoder uses": what follows a password by chance. */
static bool is_said_of(struct weir_slice s)
{
    return weir_secrets__is_identifier(s) || weir_slice_find(s, '/') < s.n ||
           weir_slice_find(s, '=') < s.n || weir_slice_find(s, '\'') < s.n;
}

bool weir_secrets__assignment(struct weir_seek_look *l)
{
    struct value v = {0};
    if (!find_value(l, &v)) {
        return false;
    }
    if (is_named_vendor(l, v.s)) {
        return true;
    }
    l->kind = "high_entropy_assignment";
    bool is_request = weir_secrets__is_uuid(v.s) && is_near(l, "request");
    return !is_request && weir_secrets__looks_like_token(v.s);
}

bool weir_secrets__assigned_password(struct weir_seek_look *l)
{
    struct value v = {0};
    if (!find_value(l, &v) || is_name(v.s)) {
        return false;
    }
    l->kind = "password";
    return v.sign == SIGN_ASSIGNED ? weir_secrets__looks_chosen(v.s)
                                   : weir_secrets__looks_like_password(v.s) &&
                                         !(v.sign == SIGN_NEXT && is_said_of(v.s));
}

bool weir_secrets__assigned_pass(struct weir_seek_look *l)
{
    while (!weir_ascii_is_alpha(l->text.p[l->end - 1])) {
        l->end--; /* the sign */
    }
    size_t n = weir_ascii_lower(l->text.p[l->end - 1]) == 'w' ? strlen("pw") : strlen("pass");
    char before = weir_ascii_before(l->text, l->end - n);
    bool is_told =
        before == '_' || before == '-' || is_quote(before) || weir_ascii_at(l->text, l->end) == '=';
    if (weir_ascii_is_alpha(before) || !weir_secrets__assigned_password(l)) {
        return false;
    }
    struct weir_slice value = weir_slice_sub(l->text, l->from, l->to);
    /* PASS: path/of/a/test.sh */
    size_t stem = weir_secrets__run_back(value, value.n, WEIR_SECRET_ALNUM, MAX_ENDING + 1);
    bool is_file = value.n - stem <= MAX_ENDING && weir_ascii_before(value, stem) == '.';
    bool is_report =
        is_file || weir_slice_find(value, '/') < value.n || weir_secrets__is_identifier(value);
    return is_told || (weir_secrets__looks_like_password(value) && !is_report);
}
