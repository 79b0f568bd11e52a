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

size_t weir_pii__digits_back(struct weir_slice t, size_t end, size_t n, const char *joints,
                             size_t max_joints)
{
    size_t at = end;
    size_t n_joints = 0;
    while (n > 0 && at > 0) {
        char c = t.p[at - 1];
        bool is_digit = weir_ascii_is_digit(c);
        if (!is_digit && (c == '\0' || strchr(joints, c) == NULL || ++n_joints > max_joints)) {
            break;
        }
        n_joints = is_digit ? 0 : n_joints;
        n -= is_digit;
        at--;
    }
    while (at < end && !weir_ascii_is_digit(t.p[at])) {
        at++;
    }
    return at;
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
    if (!weir_ascii_has(t, at) || (unsigned char)t.p[at] < 0xC0) {
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

static size_t local_start(const struct weir_seek_look *l, size_t at)
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
    for (size_t i = at; i - at <= MAX_DOMAIN; i++) {
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
        bool is_coded =
            n > 4 && weir_slice_eq_nocase(weir_slice_sub(t, label, label + 4), WEIR_SLICE("xn--"));
        if (label != at && (is_alpha || is_coded) && n >= 2 && n <= MAX_TLD) {
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

/* name%3Dann%40example.com: escapes that no mailbox has end what was before it. */
static size_t skip_escapes(struct weir_slice t, size_t from, size_t at)
{
    for (size_t i = at; i-- > from;) {
        bool is_escape = t.p[i] == '%' && i + 3 <= at && weir_ascii_is_hex(t.p[i + 1]) &&
                         weir_ascii_is_hex(t.p[i + 2]);
        bool is_mail = is_escape && t.p[i + 1] == '2' && strchr("BbDdEe", t.p[i + 2]) != NULL;
        if (is_escape && !is_mail) {
            return i + 3;
        }
    }
    return from;
}

bool weir_pii__email(struct weir_seek_look *l)
{
    bool is_escaped = l->text.p[l->end - 2] != '@'; /* %40 */
    size_t at = l->end - (is_escaped ? 4 : 2);
    size_t host = l->end - 1;
    l->seen = l->end;
    l->from = local_start(l, at);
    l->from = is_escaped ? skip_escapes(l->text, l->from, at) : l->from;
    if (l->from == at || l->text.p[at - 1] == '.') {
        return false;
    }
    l->to = domain_end(l->text, host);
    if (l->to == host) {
        return false;
    }
    struct weir_slice domain = weir_slice_sub(l->text, host, l->to);
    bool is_scp = weir_slice_eq_cstr(weir_slice_sub(l->text, l->from, at), "git") &&
                  weir_ascii_at(l->text, l->to) == ':';
    return !is_scp && !is_file_name(domain) && !is_in_url(l->text, l->from);
}

/* ---- addresses */

enum { MAX_RUN = 64 }; /* of what an address is made of: longer runs are something else */

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

/* Networks that are nobody's: this one, private, loopback, of documents, of tests, broadcast. */
static bool is_public(const unsigned char *a)
{
    static const struct {
        unsigned char net[3];
        unsigned char bits;
    } others[] = {
        {{0}, 8},         {{10}, 8},       {{100, 64}, 10},      {{127}, 8},
        {{169, 254}, 16}, {{172, 16}, 12}, {{192, 0, 0}, 24},    {{192, 0, 2}, 24},
        {{192, 168}, 16}, {{198, 18}, 15}, {{198, 51, 100}, 24}, {{203, 0, 113}, 24},
        {{224}, 3},
    };
    unsigned long address = (unsigned long)a[0] << 16 | (unsigned long)a[1] << 8 | a[2];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const unsigned char *n = others[i].net;
        unsigned long net = (unsigned long)n[0] << 16 | (unsigned long)n[1] << 8 | n[2];
        if ((address ^ net) >> (24 - others[i].bits) == 0) {
            return false;
        }
    }
    return true;
}

static bool is_public_quad(struct weir_slice s)
{
    unsigned char address[4] = {0};
    for (size_t i = 0; s.p != NULL && i < sizeof address; i++) {
        uint64_t value = 0;
        weir_slice_u64(weir_slice_cut(&s, '.'), &value);
        address[i] = (unsigned char)value;
    }
    return is_public(address);
}

/* Global unicast, without 2001:db8::/32; or a mapped address that is public. */
static bool is_public_ipv6(const unsigned char *a)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool is_document = a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0d && a[3] == 0xb8;
    return ((a[0] & 0xe0) == 0x20 && !is_document) ||
           (memcmp(a, "\x00\x64\xff\x9b", 4) == 0 && is_public(a + 12)) ||
           (memcmp(a, mapped, sizeof mapped) == 0 && is_public(a + 12));
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
        if (weir_ascii_follows(t, at, *w)) {
            return true;
        }
    }
    if (weir_ascii_at(t, at) != '-') {
        return false;
    }
    size_t i = at + 1;
    while (i - at < MAX_RUN && weir_ascii_is_digit(weir_ascii_at(t, i))) {
        i++;
    }
    return weir_ascii_is_alpha(weir_ascii_at(t, i));
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

bool weir_pii__ipv4(struct weir_seek_look *l)
{
    static const char *const versions[] = {
        "version", "release",   "build ", "section", "chapter", "firmware", "revision", "clause",
        "ver. ",   "paragraph", "oid ",   ",v ",     "\"v8\"",  "kernel",   "windows ", NULL};
    struct weir_slice t = l->text;
    size_t from = l->end;
    size_t to = l->end;
    while (from > l->floor && l->end - from < MAX_RUN &&
           (weir_ascii_is_digit(t.p[from - 1]) || t.p[from - 1] == '.')) {
        from--;
    }
    l->from = from;
    while (to - l->end < MAX_RUN &&
           (weir_ascii_is_digit(weir_ascii_at(t, to)) || weir_ascii_at(t, to) == '.')) {
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
    return is_quad(weir_slice_sub(t, from, to)) && is_public_quad(weir_slice_sub(t, from, to)) &&
           begins_ipv4(t, from) && !is_word_byte(weir_ascii_at(t, to)) &&
           !weir_pii__is_after(t, from, versions) && !is_before_version(t, to);
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

bool weir_pii__ipv6(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    size_t from = l->end;
    size_t to = l->end;
    while (from > l->floor && l->end - from < MAX_RUN && is_ipv6_byte(t.p[from - 1])) {
        from--;
    }
    l->from = from;
    while (to - l->end < MAX_RUN && is_ipv6_byte(weir_ascii_at(t, to))) {
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
    return is_plain_ipv6(spelled) && inet_pton(AF_INET6, spelled, &address) == 1 &&
           is_public_ipv6(address.s6_addr);
}

/* ---- social security numbers, and what all numbers share */

/* A number goes on where a digit follows, or a separator and then a digit. */
bool weir_pii__ends_number(struct weir_slice t, size_t at)
{
    char c = weir_ascii_at(t, at);
    bool is_joint = c == '-' || c == '.' || c == '/' || c == ':';
    return !is_word_byte(c) && !(is_joint && weir_ascii_is_digit(weir_ascii_at(t, at + 1)));
}

bool weir_pii__begins_number(struct weir_slice t, size_t at)
{
    char c = weir_ascii_before(t, at);
    bool is_joint = c == '-' || c == '.' || c == '/' || c == ' ' || c == ',' || c == ':';
    return !is_word_byte(c) && c != '+' && c != '$' && c != '#' &&
           !(is_joint && c != ' ' && at >= 2 && weir_ascii_is_digit(t.p[at - 2])) &&
           !(c == ' ' && at >= 2 && weir_ascii_is_digit(t.p[at - 2]));
}

/* 219-09-8765 and, with a word for it, nine digits in whatever groups: where they begin. */
static size_t ssn_start(struct weir_slice t, size_t end, bool *is_loose)
{
    size_t from = weir_pii__digits_back(t, end, 9, "-. ", 2);
    size_t n_joints = end - from - 9;
    char second = t.p[end - 5];
    bool is_grouped = n_joints == 2 && !weir_ascii_is_digit(second) && t.p[from + 3] == second &&
                      weir_ascii_is_digit(t.p[from + 4]);
    *is_loose = !is_grouped;
    return from;
}

/* Numbers of taxpayers who cannot have one of these: the same form, 9 and its own groups. */
static bool is_itin(const char *digits)
{
    int group = (digits[3] - '0') * 10 + (digits[4] - '0');
    bool is_shown = memcmp(digits, "98765432", 8) == 0; /* kept for advertisements */
    return digits[0] == '9' && !is_shown &&
           ((group >= 50 && group <= 65) || (group >= 70 && group <= 88) ||
            (group >= 90 && group <= 92) || group >= 94);
}

bool weir_pii__ssn(struct weir_seek_look *l)
{
    static const char *const words[] = {"ssn",  "social security", "soc sec", "social sec",
                                        "itin", "taxpayer",        "tax id",  NULL};
    struct weir_slice t = l->text;
    bool is_loose;
    size_t from = ssn_start(t, l->end, &is_loose);
    l->from = from;
    if (!weir_pii__ends_number(t, l->end)) {
        return false;
    }
    char digits[9];
    size_t n = 0;
    for (size_t i = from; i < l->end && n < sizeof digits; i++) {
        if (weir_ascii_is_digit(t.p[i])) {
            digits[n++] = t.p[i];
        }
    }
    bool is_void = n < sizeof digits || memcmp(digits, "000", 3) == 0 ||
                   memcmp(digits, "666", 3) == 0 || memcmp(digits + 3, "00", 2) == 0 ||
                   memcmp(digits + 5, "0000", 4) == 0;
    if (is_void || from < l->floor || (digits[0] == '9' && !is_itin(digits))) {
        return false;
    }
    l->from = from;
    l->to = l->end;
    l->kind = digits[0] == '9' ? "us-itin" : NULL;
    bool is_named = weir_pii__is_after(t, from, words);
    bool begins = weir_ascii_before(t, from) == '#' ? is_named : weir_pii__begins_number(t, from);
    return begins && (!is_loose || is_named);
}
