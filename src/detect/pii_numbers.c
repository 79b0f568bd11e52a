/* Validators of what is made of digits and dots, and of e-mail addresses. */
#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/pii_int.h"

#include <arpa/inet.h>
#include <string.h>
#include <unicode/uchar.h>

bool weir_pii__is_after(struct weir_slice text, size_t at, const char *const *words)
{
    enum { REACH = 32 };
    size_t from = at > REACH ? at - REACH : 0;
    for (size_t i = at; i > from; i--) {
        if (text.p[i - 1] == ';') {
            from = i; /* another matter */
        }
    }
    struct weir_slice near = weir_slice_sub(text, from, at);
    for (; *words != NULL; words++) {
        if (weir_ascii_contains(near, *words)) {
            return true;
        }
    }
    return false;
}

/* ---- e-mail */

enum { MAX_LOCAL = 64, MAX_DOMAIN = 253, MAX_TLD = 24 };

static bool is_local(char c)
{
    return weir_ascii_is_alnum(c) || (c != '\0' && strchr("._%+-'", c) != NULL);
}

/* The bytes of the letter beyond ASCII that begins at `at`, or 0; only of scripts that put spaces
 * between words: in others the letters before an address are the sentence's. */
static size_t foreign_letter(struct weir_slice t, size_t at)
{
    size_t n = 1;
    if (at >= t.n || (unsigned char)t.p[at] < 0xC0) {
        return 0;
    }
    uint32_t cp = weir_utf8_decode(weir_slice_sub(t, at, t.n), &n);
    bool is_spaced = cp < 0x0E00 || (cp >= 0x10A0 && cp < 0x1200) || (cp >= 0x1E00 && cp < 0x2000);
    return is_spaced && u_isalpha((UChar32)cp) ? n : 0;
}

static size_t local_char_before(struct weir_slice t, size_t at)
{
    enum { LONGEST = 3 };
    if ((unsigned char)t.p[at - 1] < 0x80) {
        return is_local(t.p[at - 1]);
    }
    for (size_t n = 2; n <= LONGEST && n <= at; n++) {
        if (foreign_letter(t, at - n) == n) {
            return n;
        }
    }
    return 0;
}

static size_t local_start(const struct weir_pii_look *l, size_t at)
{
    struct weir_slice t = l->text;
    size_t from = at;
    for (size_t n; from > l->floor && at - from < MAX_LOCAL; from -= n) {
        n = local_char_before(t, from);
        bool is_two_dots = t.p[from - 1] == '.' && weir_ascii_at(t, from) == '.';
        if (n == 0 || n > from - l->floor || is_two_dots) {
            break;
        }
    }
    while (from < at && (unsigned char)t.p[from] < 0x80 && !weir_ascii_is_alnum(t.p[from]) &&
           t.p[from] != '_') {
        from++;
    }
    return from;
}

/* The end of the last label that is a top-level domain, or `at`. */
static size_t domain_end(struct weir_slice t, size_t at)
{
    size_t good = at;
    size_t label = at;
    bool is_alpha = true;
    for (size_t i = at; i < t.n + 1 && i - at <= MAX_DOMAIN; i++) {
        char c = weir_ascii_at(t, i);
        size_t n_foreign = foreign_letter(t, i);
        if (weir_ascii_is_alnum(c) || c == '-' || n_foreign != 0) {
            is_alpha = is_alpha && (weir_ascii_is_alpha(c) || n_foreign != 0);
            i += n_foreign != 0 ? n_foreign - 1 : 0;
            continue;
        }
        size_t n = i - label;
        if (n == 0 || t.p[label] == '-' || t.p[i - 1] == '-') {
            break;
        }
        if (label != at && is_alpha && n >= 2 && n <= MAX_TLD) {
            good = i;
        }
        if (c != '.') {
            break;
        }
        label = i + 1;
        is_alpha = true;
    }
    return good;
}

/* icon@2x.png is a file, not somebody. */
static bool is_file_name(struct weir_slice domain)
{
    static const char *const endings[] = {".png",  ".jpg", ".jpeg", ".gif", ".svg",
                                          ".webp", ".pdf", ".css",  NULL};
    for (const char *const *e = endings; *e != NULL; e++) {
        size_t n = strlen(*e);
        if (domain.n > n && weir_slice_eq_nocase(weir_slice_sub(domain, domain.n - n, domain.n),
                                                 weir_slice_cstr(*e))) {
            return true;
        }
    }
    return false;
}

/* https://user:pass@host and ssh://git@host name a login, not a mailbox. */
static bool is_in_url(struct weir_slice t, size_t from)
{
    size_t stop = from > MAX_LOCAL ? from - MAX_LOCAL : 0;
    for (size_t i = from; i > stop; i--) {
        char c = t.p[i - 1];
        if (c == '/') {
            return i >= 3 && t.p[i - 2] == '/' && t.p[i - 3] == ':';
        }
        if (!is_local(c) && c != ':' && c != '!') {
            return false;
        }
    }
    return false;
}

bool weir_pii__email(struct weir_pii_look *l)
{
    size_t at = l->end - 2; /* the @ */
    l->seen = l->end;
    l->from = local_start(l, at);
    l->to = domain_end(l->text, at + 1);
    if (l->from == at || l->to == at + 1 || l->text.p[at - 1] == '.') {
        return false;
    }
    struct weir_slice domain = weir_slice_sub(l->text, at + 1, l->to);
    bool is_scp = weir_slice_eq_cstr(weir_slice_sub(l->text, l->from, at), "git") &&
                  weir_ascii_at(l->text, l->to) == ':';
    return !is_scp && !is_file_name(domain) && !is_in_url(l->text, l->from);
}

/* ---- addresses */

static bool is_quad(struct weir_slice s)
{
    int n_parts = 0;
    while (s.p != NULL) {
        struct weir_slice part = weir_slice_cut(&s, '.');
        int value = 0;
        if (part.n == 0 || part.n > 3 || (part.n > 1 && part.p[0] == '0')) {
            return false;
        }
        for (size_t i = 0; i < part.n; i++) {
            value = value * 10 + (part.p[i] - '0');
        }
        if (value > 255) {
            return false;
        }
        n_parts++;
    }
    return n_parts == 4;
}

static bool is_word_byte(char c)
{
    return weir_ascii_is_alnum(c) || c == '_';
}

/* What follows a version: " release", "-beta", "-5a1e7"; not "-10.0.0.9", which ends a range. */
static bool is_before_version(struct weir_slice t, size_t at)
{
    static const char *const words[] = {" release", " version", " beta", " alpha", NULL};
    for (const char *const *w = words; *w != NULL; w++) {
        size_t end = at + strlen(*w);
        if (end <= t.n && weir_slice_eq_nocase(weir_slice_sub(t, at, end), weir_slice_cstr(*w))) {
            return true;
        }
    }
    size_t i = at + 1;
    while (weir_ascii_is_digit(weir_ascii_at(t, i))) {
        i++;
    }
    return weir_ascii_at(t, at) == '-' && weir_ascii_is_alpha(weir_ascii_at(t, i));
}

/* nginx/1.25.3.1, but not host.example/8.8.8.8 or /from/8.8.8.8. */
static bool is_product(struct weir_slice t, size_t at)
{
    enum { LONGEST = 32 };
    size_t slash = at - 1;
    size_t from = slash;
    while (from > 0 && slash - from < LONGEST && weir_ascii_is_alpha(t.p[from - 1])) {
        from--;
    }
    char before = weir_ascii_before(t, from);
    return from < slash && (before == '\0' || weir_ascii_is_space(before) || before == '(');
}

/* 10.0.0.1-10.0.0.9 is two addresses, libfoo-1.2.3.4 none. */
static bool is_range_end(struct weir_slice t, size_t at)
{
    enum { LONGEST = 15 };
    size_t dash = at - 1;
    size_t from = dash;
    while (from > 0 && dash - from <= LONGEST &&
           (weir_ascii_is_digit(t.p[from - 1]) || t.p[from - 1] == '.')) {
        from--;
    }
    return is_quad(weir_slice_sub(t, from, dash));
}

/* What stands before an address: nothing that makes it a version or part of a name. */
static bool begins_ipv4(struct weir_slice t, size_t at)
{
    char before = weir_ascii_before(t, at);
    switch (before) {
    case '.': /* so.1.2.3.4 */
        return !is_word_byte(weir_ascii_before(t, at - 1));
    case '-':
        return is_range_end(t, at);
    case '/':
        return !is_product(t, at);
    default:
        return !is_word_byte(before);
    }
}

bool weir_pii__ipv4(struct weir_pii_look *l)
{
    static const char *const versions[] = {"version",  "release",  "build ", "section", "chapter",
                                           "firmware", "revision", "clause", "ver. ",   "paragraph",
                                           "oid ",     ",v ",      NULL};
    struct weir_slice t = l->text;
    size_t from = l->end;
    size_t to = l->end;
    while (from > l->floor && (weir_ascii_is_digit(t.p[from - 1]) || t.p[from - 1] == '.')) {
        from--;
    }
    while (to < t.n && (weir_ascii_is_digit(t.p[to]) || t.p[to] == '.')) {
        to++;
    }
    l->seen = to;
    while (to > from && t.p[to - 1] == '.') {
        to--;
    }
    while (from < to && t.p[from] == '.') {
        from++;
    }
    l->from = from;
    l->to = to;
    return begins_ipv4(t, from) && !is_word_byte(weir_ascii_at(t, to)) &&
           is_quad(weir_slice_sub(t, from, to)) && !weir_pii__is_after(t, from, versions) &&
           !is_before_version(t, to);
}

static bool is_ipv6_byte(char c)
{
    return weir_ascii_is_hex(c) || c == ':' || c == '.';
}

/* Eight pairs of digits are an EUI-64; something::other is code. */
static bool is_plain_ipv6(const char *s)
{
    bool has_digit = false;
    bool all_pairs = true;
    size_t run = 0;
    for (const char *c = s;; c++) {
        has_digit = has_digit || weir_ascii_is_digit(*c);
        if (*c == ':' || *c == '\0') {
            all_pairs = all_pairs && run == 2;
            run = 0;
        } else {
            run++;
        }
        if (*c == '\0') {
            return has_digit && !all_pairs;
        }
    }
}

/* args[1::2] is a slice in Python. */
static bool is_subscript(struct weir_slice t, size_t at)
{
    char owner = weir_ascii_before(t, at - (at != 0));
    return weir_ascii_before(t, at) == '[' && (is_word_byte(owner) || owner == ')' || owner == ']');
}

bool weir_pii__ipv6(struct weir_pii_look *l)
{
    struct weir_slice t = l->text;
    size_t from = l->end;
    size_t to = l->end;
    while (from > l->floor && is_ipv6_byte(t.p[from - 1])) {
        from--;
    }
    while (to < t.n && is_ipv6_byte(t.p[to])) {
        to++;
    }
    l->seen = to;
    while (to > from &&
           (t.p[to - 1] == '.' || (t.p[to - 1] == ':' && to - from > 1 && t.p[to - 2] != ':'))) {
        to--;
    }
    char spelled[INET6_ADDRSTRLEN];
    struct in6_addr address;
    l->from = from;
    l->to = to;
    if (to - from < 3 || to - from >= sizeof spelled || is_word_byte(weir_ascii_before(t, from)) ||
        is_word_byte(weir_ascii_at(t, to)) || is_subscript(t, from)) {
        return false;
    }
    memcpy(spelled, t.p + from, to - from);
    spelled[to - from] = '\0';
    return is_plain_ipv6(spelled) && inet_pton(AF_INET6, spelled, &address) == 1;
}

/* ---- telephone and social security numbers */

static bool are_digits(struct weir_slice t, size_t from, size_t to)
{
    if (to > t.n || from > to) {
        return false;
    }
    while (from < to && weir_ascii_is_digit(t.p[from])) {
        from++;
    }
    return from == to;
}

/* A number goes on where a digit follows, or a separator and then a digit. */
static bool ends_number(struct weir_slice t, size_t at)
{
    char c = weir_ascii_at(t, at);
    bool is_joint = c == '-' || c == '.' || c == '/' || c == ':';
    return !is_word_byte(c) && !(is_joint && weir_ascii_is_digit(weir_ascii_at(t, at + 1)));
}

static bool begins_number(struct weir_slice t, size_t at)
{
    char c = weir_ascii_before(t, at);
    bool is_joint = c == '-' || c == '.' || c == '/' || c == ' ' || c == ',' || c == ':';
    return !is_word_byte(c) && c != '+' && c != '$' && c != '#' &&
           !(is_joint && c != ' ' && at >= 2 && weir_ascii_is_digit(t.p[at - 2])) &&
           !(c == ' ' && at >= 2 && weir_ascii_is_digit(t.p[at - 2]));
}

static const char *const phone_words[] = {"call",     "phone",     "tel",     "mobile", "cell",
                                          "fax",      "text ",     "contact", "dial",   "sms",
                                          "whatsapp", "number is", NULL};

/* Moves `from` over "+1 ", "1-" and the like; true where there was one. */
static bool take_country(struct weir_slice t, size_t *from)
{
    size_t at = *from;
    char c = weir_ascii_before(t, at);
    if (c == '-' || c == '.' || c == ' ') {
        at--;
    }
    if (weir_ascii_before(t, at) != '1') {
        return false;
    }
    at--;
    bool has_plus = weir_ascii_before(t, at) == '+';
    at -= has_plus;
    if (!begins_number(t, at) || (!has_plus && at == *from - 1)) {
        return false;
    }
    *from = at;
    return true;
}

/* ddd?ddd?dddd; `*area` is where the first group begins, parentheses included in [from. */
static bool split_phone(struct weir_slice t, size_t end, size_t *from, char *joint)
{
    size_t at = end - 4;
    char second = t.p[at - 1];
    at -= !weir_ascii_is_digit(second);
    if (at < 6 || !are_digits(t, at - 3, at) || t.p[at - 3] == '0') {
        return false;
    }
    at -= 3;
    char first = t.p[at - 1];
    *joint = weir_ascii_is_digit(second) ? '\0' : second;
    if ((first == ' ' || first == '-') && t.p[at - 2] == ')') {
        first = ')';
        at--;
    }
    at -= !weir_ascii_is_digit(first);
    bool is_paired = first == ')' ? at >= 4 && t.p[at - 4] == '(' : first == second;
    if (weir_ascii_is_digit(first)) {
        is_paired = weir_ascii_is_digit(second);
    }
    if (at < 3 || !is_paired || !are_digits(t, at - 3, at) || t.p[at - 3] == '0') {
        return false;
    }
    *from = at - 3 - (first == ')');
    *joint = first == ')' ? '(' : *joint;
    return true;
}

bool weir_pii__phone(struct weir_pii_look *l)
{
    struct weir_slice t = l->text;
    char joint;
    if (l->end < 10 || !ends_number(t, l->end) || !split_phone(t, l->end, &l->from, &joint)) {
        return false;
    }
    size_t area = l->from + (joint == '(');
    l->to = l->end;
    bool has_country = take_country(t, &l->from);
    if (!has_country && !begins_number(t, l->from)) {
        return false;
    }
    if (joint == '-' || joint == '(' || joint == '.' || has_country) {
        return true;
    }
    size_t exchange = area + 3 + (joint == ' ');
    bool is_given_out = t.p[area] >= '2' && t.p[exchange] >= '2';
    return weir_pii__is_after(t, l->from, phone_words) || (joint == ' ' && is_given_out);
}

bool weir_pii__ssn(struct weir_pii_look *l)
{
    static const char *const words[] = {"ssn", "social security", "soc sec", NULL};
    struct weir_slice t = l->text;
    bool is_bare = weir_ascii_is_digit(t.p[l->end - 5]) && weir_ascii_is_digit(t.p[l->end - 7]);
    size_t from = l->end - (is_bare ? 9 : 11);
    size_t group = from + (is_bare ? 3 : 4);
    size_t serial = l->end - 4;
    l->from = from;
    l->to = l->end;
    if (!is_bare && t.p[group - 1] != t.p[serial - 1]) {
        return false;
    }
    bool is_void = memcmp(t.p + from, "000", 3) == 0 || memcmp(t.p + from, "666", 3) == 0 ||
                   t.p[from] == '9' || memcmp(t.p + group, "00", 2) == 0 ||
                   memcmp(t.p + serial, "0000", 4) == 0;
    return !is_void && begins_number(t, from) && ends_number(t, l->end) &&
           (!is_bare || weir_pii__is_after(t, from, words));
}
