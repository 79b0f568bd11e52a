#include "detect/links.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/links_int.h"
#include "detect/patterns.h"

#include <pthread.h>
#include <stdlib.h>
#include <unicode/uchar.h>

enum {
    MAX_ALLOWED = 1024,
    MAX_HOST = 253,
    MAX_SCHEME = 5,
    MAX_ALT = 512,
    MAX_TAG = 256,
    MAX_BLANKS = 16,
    MAX_CP = 1024, /* of an address that is judged */
};

struct settings {
    struct weir_slice allowed[MAX_ALLOWED]; /* lower case, on the heap */
    size_t n_allowed;
};

enum {
    HTTP,
    HTTPS,
    FTP,
    FTPS,
    WS,
    WSS,
    WWW,
    MARKDOWN,
    DEFINED,
    ATTRIBUTE,
    STYLE,
    IMPORT,
    SCRIPT,
    VBSCRIPT,
    PAGE
};

static const struct weir_pattern patterns[] = {
    [HTTP] = {"http:", true, false},
    [HTTPS] = {"https:", true, false},
    [FTP] = {"ftp:", true, false},
    [FTPS] = {"ftps:", true, false},
    [WS] = {"ws:", true, false},
    [WSS] = {"wss:", true, false},
    [WWW] = {"www.", true, false},
    [MARKDOWN] = {"](", false, false},
    [DEFINED] = {"]:", false, false},
    [ATTRIBUTE] = {"(?:href|src|srcset|poster|action|background|data|cite|ping|longdesc|manifest"
                   "|codebase|lowsrc|dynsrc|url)\\s{0,16}=",
                   true, true},
    [STYLE] = {"url(", true, false},
    [IMPORT] = {"@import", true, false},
    [SCRIPT] = {"javascript:", true, false},
    [VBSCRIPT] = {"vbscript:", true, false},
    [PAGE] = {"data:text/html", true, false},
};

static struct weir_patterns *compiled; /* as long as the process */
static pthread_mutex_t compile_lock = PTHREAD_MUTEX_INITIALIZER;

static void free_settings(void *p)
{
    struct settings *s = p;
    for (size_t i = 0; i < s->n_allowed; i++) {
        free((void *)(uintptr_t)s->allowed[i].p);
    }
    free(s);
}

/* "*.example.com" is kept with its star. */
static bool add_allowed(struct settings *s, struct weir_slice entry, struct weir_buf *why)
{
    bool is_below = weir_slice_starts_with(entry, WEIR_SLICE("*."));
    struct weir_slice name = weir_slice_sub(entry, is_below ? 2 : 0, entry.n);
    struct weir_links__host host;
    bool is_good = name.n != 0 && name.n <= MAX_HOST && weir_slice_find(name, '*') == name.n &&
                   memchr(name.p, '@', name.n) == NULL && memchr(name.p, '/', name.n) == NULL &&
                   weir_links__parse_host(name, &host) == WEIR_LINKS_HOST;
    if (!is_good) {
        weir_buf_printf(why, "`allow` has host names, such as example.com or *.example.com");
        return false;
    }
    struct weir_buf kept = {0};
    weir_buf_append(&kept, weir_slice_cstr(is_below ? "*." : ""));
    weir_buf_append(&kept, weir_slice_make(host.name, host.n));
    s->allowed[s->n_allowed++] = weir_buf_slice(&kept); /* free_settings frees it */
    return true;
}

static int prepare(struct weir_buf *why)
{
    pthread_mutex_lock(&compile_lock);
    if (compiled == NULL) {
        compiled = weir_patterns_new(patterns, sizeof patterns / sizeof patterns[0], why);
    }
    int rc = compiled != NULL ? 0 : WEIR_EUNSUPPORTED;
    pthread_mutex_unlock(&compile_lock);
    return rc;
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    struct weir_slice *hosts;
    size_t n;
    if (prepare(why) != 0 ||
        weir_builtin_strings(params, "allow", MAX_ALLOWED, why, &hosts, &n) != 0) {
        return NULL;
    }
    struct settings *s = weir_mem_zalloc(sizeof *s);
    for (size_t i = 0; i < n; i++) {
        if (!add_allowed(s, hosts[i], why)) {
            free_settings(s);
            return NULL;
        }
    }
    return s;
}

/* ---- where a link leads */

struct scan {
    const struct settings *settings;
    struct weir_slice text;
    struct weir_found *found;
    struct weir_buf decoded; /* used again and again */
    size_t seen;
};

static bool is_under(struct weir_slice host, struct weir_slice domain)
{
    return host.n > domain.n && host.p[host.n - domain.n - 1] == '.' &&
           weir_slice_ends_with(host, domain);
}

static bool is_allowed(const struct settings *s, const struct weir_links__host *h)
{
    struct weir_slice host = weir_slice_make(h->name, h->n);
    for (size_t i = 0; i < s->n_allowed; i++) {
        struct weir_slice a = s->allowed[i];
        bool below_only = a.n > 2 && a.p[0] == '*';
        struct weir_slice domain = below_only ? weir_slice_sub(a, 2, a.n) : a;
        if (is_under(host, domain) || (!below_only && weir_slice_eq(host, domain))) {
            return true;
        }
    }
    return false;
}

enum lead { LEADS_NOWHERE, LEADS_HOME, LEADS_AWAY };

/* `is_loose`: the text may go on after the address, so a host that nobody can have is none. */
static enum lead lead_of(const struct scan *s, struct weir_slice authority, bool is_loose)
{
    struct weir_links__host host;
    enum weir_links__place place = weir_links__parse_host(authority, &host);
    if (place == WEIR_LINKS_HOST && is_allowed(s->settings, &host)) {
        return LEADS_HOME;
    }
    bool is_none = place == WEIR_LINKS_NOWHERE || (is_loose && !host.can_exist);
    return is_none ? LEADS_NOWHERE : LEADS_AWAY;
}

/* ---- where a link ends in prose */

/* Letters of scripts with spaces between words may be part of a URL; others end it, but may name
 * the host. */
static size_t url_char(struct weir_slice t, size_t at, bool is_in_name)
{
    char c = t.p[at];
    size_t n = 1;
    if (c == '\\' && weir_ascii_at(t, at + 1) == '/') {
        return 2; /* a slash of JSON */
    }
    if ((unsigned char)c < 0x80) {
        bool ends = (unsigned char)c <= ' ' || c == 0x7f || strchr("<>\"`\\^{|}", c) != NULL;
        return ends ? 0 : 1;
    }
    uint32_t cp = weir_utf8_decode(weir_slice_sub(t, at, t.n), &n);
    return (cp < 0x2E80 || is_in_name || !weir_links__is_east_asian(cp)) && u_isalnum((UChar32)cp)
               ? n
               : 0;
}

/* Closing brackets that were not opened inside, and the sentence's punctuation, are not of it. */
static size_t url_end(struct weir_slice t, size_t from)
{
    size_t to = from;
    int round = 0;
    int square = 0;
    bool is_in_name = true; /* the first label of the host */
    for (size_t n; to < t.n && (n = url_char(t, to, is_in_name)) != 0; to += n) {
        is_in_name = is_in_name && strchr("./?#:@", t.p[to]) == NULL;
        round += (t.p[to] == '(') - (t.p[to] == ')');
        square += (t.p[to] == '[') - (t.p[to] == ']');
        if (round < 0 || square < 0) {
            break;
        }
    }
    while (to > from && strchr(".,;:!?'*_~", t.p[to - 1]) != NULL) {
        to--;
    }
    return to;
}

/* What closes the bracket or quote that stands before the link; NUL: none does. */
static char closer_of(char before)
{
    static const char open[] = "([{<\"'`";
    static const char close[] = ")]}>\"'`";
    const char *at = before != '\0' ? strchr(open, before) : NULL;
    return at != NULL ? close[at - open] : '\0';
}

/*
 * The authority as programs that make links of plain text cut it, which is later than a reader of
 * the text would: at a blank, an angle bracket or what closes the bracket before the link. Hosts
 * may have most other characters. `*is_whole`: it ended within what is judged.
 */
static size_t authority_end(struct weir_slice t, size_t from, size_t authority, bool *is_whole)
{
    char closer = closer_of(weir_ascii_before(t, from));
    size_t stop = authority + weir_utf8_byte_at(weir_slice_sub(t, authority, t.n), MAX_CP);
    size_t to = authority;
    while (to < stop && (unsigned char)t.p[to] > ' ' && strchr("/\\?#<>", t.p[to]) == NULL &&
           t.p[to] != closer) {
        to++;
    }
    *is_whole = to < stop || stop == t.n;
    return to;
}

/* Without the punctuation of any script at its end. */
static size_t trim_punctuation(struct weir_slice t, size_t from, size_t to)
{
    while (to > from) {
        size_t last = weir_utf8_back(t, to, 1);
        size_t n;
        uint32_t cp = weir_utf8_decode(weir_slice_sub(t, last, to), &n);
        bool is_kept = cp == ']' || cp == '-' || !u_ispunct((UChar32)cp);
        if (is_kept) {
            break;
        }
        to = last;
    }
    return to;
}

/* https://ok.test\@evil.example: where such a link leads depends on who reads it. */
static bool is_ambiguous(struct weir_slice t, size_t end)
{
    char c = weir_ascii_at(t, end);
    if ((c == '<' || c == '>') && weir_ascii_at(t, end + 1) == '@') {
        return true;
    }
    if (weir_ascii_at(t, end) != '\\' || weir_ascii_at(t, end + 1) == '/') {
        return false;
    }
    size_t stop = end + MAX_HOST < t.n ? end + MAX_HOST : t.n;
    for (size_t i = end; i < stop && (unsigned char)t.p[i] > ' '; i++) {
        if (t.p[i] == '@') {
            return true;
        }
        if (strchr("/?#<>()\"'`,", t.p[i]) != NULL) {
            return false;
        }
    }
    return false;
}

/* ---- findings */

static int add(struct scan *s, size_t from, size_t to, const char *kind, double score)
{
    struct weir_found_span span = {.start_byte = from,
                                   .end_byte = to,
                                   .detection = weir_slice_cstr(kind),
                                   .detection_type = WEIR_SLICE("link"),
                                   .score = score};
    s->seen = to > s->seen ? to : s->seen;
    return weir_found_add(s->found, &span);
}

/* The start of `![alt](` that ends at `at`, or `at`. Alt texts may have brackets, in pairs. */
static size_t image_start(struct weir_slice t, size_t at, size_t floor)
{
    size_t i = at;
    while (i > floor && at - i < MAX_BLANKS &&
           (weir_ascii_is_space(t.p[i - 1]) || t.p[i - 1] == '<')) {
        i--;
    }
    if (i < floor + 4 || t.p[i - 1] != '(' || t.p[i - 2] != ']') {
        return at;
    }
    size_t n_open = 1;
    for (i -= 2; i > floor + 1 && at - i < MAX_ALT; i--) {
        bool is_escaped = t.p[i - 2] == '\\';
        n_open += t.p[i - 1] == ']' && !is_escaped;
        n_open -= t.p[i - 1] == '[' && !is_escaped;
        if (n_open == 0) {
            return t.p[i - 2] == '!' ? i - 2 : at;
        }
    }
    return at;
}

/* Is `at` the value of an <img src= or srcset=? */
static bool is_img_src(struct weir_slice t, size_t at)
{
    size_t from = at > MAX_TAG ? at - MAX_TAG : 0;
    size_t open = at;
    while (open > from && t.p[open - 1] != '<' && t.p[open - 1] != '>') {
        open--;
    }
    struct weir_slice tag = weir_slice_sub(t, open, at);
    return open > from && t.p[open - 1] == '<' && tag.n > 4 &&
           weir_slice_eq_nocase(weir_slice_sub(tag, 0, 3), WEIR_SLICE("img")) &&
           weir_ascii_contains(tag, "src");
}

/* [from, to) leads away: as an image, with its title and brackets, or as it is. */
static int add_link(struct scan *s, size_t from, size_t to, double score)
{
    struct weir_slice t = s->text;
    size_t image = image_start(t, from, s->seen);
    if (image == from) {
        return add(s, from, to, is_img_src(t, from) ? "html_image" : "url", score);
    }
    while (to < t.n && t.p[to] != ')' && t.p[to] != '\n' && to - from < MAX_ALT) {
        to++; /* a title */
    }
    to += weir_ascii_at(t, to) == ')';
    while (to < t.n && ((unsigned char)t.p[to] & 0xC0) == 0x80) {
        to++;
    }
    return add(s, image, to, "markdown_image", score);
}

/* ---- addresses in prose */

/* `from` is the URL's first byte, `authority` the byte after its slashes. */
static int judge(struct scan *s, size_t from, size_t authority, double score)
{
    struct weir_slice t = s->text;
    bool is_whole;
    size_t to = url_end(t, authority);
    size_t end = authority_end(t, from, authority, &is_whole);
    size_t far = trim_punctuation(t, authority, end);
    char first = weir_ascii_at(t, authority);
    bool is_name = weir_ascii_is_alnum(first) || first == '[' || (unsigned char)first >= 0x80;
    enum lead near_lead = to == authority || !is_name
                              ? LEADS_NOWHERE
                              : lead_of(s, weir_slice_sub(t, authority, to), false);
    enum lead far_lead = LEADS_NOWHERE;
    if (far > to || near_lead == LEADS_NOWHERE) {
        far_lead = lead_of(s, weir_slice_sub(t, authority, far), true);
    }
    bool is_away = near_lead == LEADS_AWAY || far_lead == LEADS_AWAY ||
                   (is_name && (!is_whole || is_ambiguous(t, end)));
    bool is_bad = is_name && to > authority && near_lead == LEADS_NOWHERE &&
                  far_lead != LEADS_HOME; /* half a host, or none that we understand */
    if (!is_away && !is_bad) {
        s->seen = to > s->seen ? to : s->seen;
        return 0;
    }
    return add_link(s, from, far > to && far_lead == LEADS_AWAY ? far : to, score);
}

static bool is_scheme(struct weir_slice s)
{
    static const char *const schemes[] = {"ftp", "ftps", "wss", "ws", NULL};
    for (const char *const *w = schemes; *w != NULL; w++) {
        if (weir_slice_eq_nocase(s, weir_slice_cstr(*w))) {
            return true;
        }
    }
    return false;
}

/* Nothing else ends with http or https: what stands before it without a space is a word. */
static size_t web_scheme_start(struct weir_slice t, size_t colon, size_t floor)
{
    static const char *const schemes[] = {"https", "http", NULL};
    for (const char *const *w = schemes; *w != NULL; w++) {
        size_t n = strlen(*w);
        if (colon >= floor + n &&
            weir_slice_eq_nocase(weir_slice_sub(t, colon - n, colon), weir_slice_cstr(*w))) {
            return colon - n;
        }
    }
    return colon;
}

/* A dot with something before and after it, no further than a host name goes. */
static bool has_domain(struct weir_slice t, size_t at)
{
    size_t stop = at + MAX_HOST < t.n ? at + MAX_HOST : t.n;
    size_t i = at;
    while (i < stop &&
           (weir_ascii_is_alnum(t.p[i]) || t.p[i] == '-' || (unsigned char)t.p[i] >= 0x80)) {
        i++;
    }
    char next = weir_ascii_at(t, i + 1);
    return i > at && weir_ascii_at(t, i) == '.' &&
           (weir_ascii_is_alnum(next) || (unsigned char)next >= 0x80);
}

static bool is_json_slashes(struct weir_slice s)
{
    return weir_slice_eq(s, WEIR_SLICE("\\/\\/"));
}

/* A browser needs no slashes and takes any number, of either kind; where they are not two, what
 * follows must look like a host. */
static int judge_scheme(struct scan *s, size_t end)
{
    struct weir_slice t = s->text;
    size_t colon = end - 1;
    size_t from = web_scheme_start(t, colon, s->seen);
    bool is_web = from < colon;
    while (!is_web && from > s->seen && colon - from <= MAX_SCHEME &&
           weir_ascii_is_alpha(t.p[from - 1])) {
        from--;
    }
    size_t authority = end;
    while (weir_ascii_at(t, authority) == '/' || weir_ascii_at(t, authority) == '\\') {
        authority++;
    }
    bool is_ours = is_web || is_scheme(weir_slice_sub(t, from, colon));
    bool is_usual = authority - end == 2 || is_json_slashes(weir_slice_sub(t, end, authority));
    bool is_clear = is_usual || (is_web && has_domain(t, authority));
    return is_ours && is_clear ? judge(s, from, authority, 1.0) : 0;
}

static int judge_www(struct scan *s, size_t end)
{
    size_t from = end - 4;
    char before = weir_ascii_before(s->text, from);
    bool is_apart = !weir_ascii_is_alnum(before) && before != '.' && before != '-' &&
                    before != '/' && before != '@' && before != '_';
    return is_apart && has_domain(s->text, end) ? judge(s, from, from, 0.9) : 0;
}

/* ---- targets: attributes, markdown, style sheets */

/* Where a target stands, and how it ends. */
struct target {
    size_t from;
    size_t to;
    bool has_escapes;
    bool is_loose;
};

static size_t skip_blanks(struct weir_slice t, size_t at)
{
    size_t stop = at + MAX_BLANKS;
    while (at < stop && weir_ascii_is_space(weir_ascii_at(t, at))) {
        at++;
    }
    return at;
}

static size_t stop_after(struct weir_slice t, size_t from)
{
    return from + weir_utf8_byte_at(weir_slice_sub(t, from, t.n), MAX_CP);
}

/* Up to one of these bytes, or the limit. */
static size_t find_any(struct weir_slice t, size_t from, const char *bytes)
{
    size_t stop = stop_after(t, from);
    size_t to = from;
    while (to < stop && (t.p[to] == '\0' || strchr(bytes, t.p[to]) == NULL)) {
        to++;
    }
    return to;
}

/* Up to the round bracket that closes one outside, or to a blank if `ends_at_blank`. */
static size_t find_closing(struct weir_slice t, size_t from, bool ends_at_blank)
{
    size_t stop = stop_after(t, from);
    size_t to = from;
    int n_open = 0;
    for (; to < stop; to++) {
        bool is_escaped = weir_ascii_before(t, to) == '\\';
        n_open += !is_escaped && t.p[to] == '(';
        n_open -= !is_escaped && t.p[to] == ')';
        if (n_open < 0 || (ends_at_blank && (unsigned char)t.p[to] <= ' ')) {
            break;
        }
    }
    return to;
}

/* What leads home is not looked at again up to its first blank. */
static int judge_web(struct scan *s, const struct target *g, struct weir_slice authority,
                     bool *is_found)
{
    size_t blank = find_any(s->text, g->from, " \t\r\n");
    size_t to = g->to;
    while (to > g->from && (unsigned char)s->text.p[to - 1] <= ' ') {
        to--;
    }
    enum lead lead = lead_of(s, authority, g->is_loose);
    *is_found = lead == LEADS_AWAY;
    if (lead == LEADS_HOME) {
        blank = blank < to ? blank : to;
        s->seen = blank > s->seen ? blank : s->seen;
    }
    return *is_found ? add_link(s, g->from, to, 1.0) : 0;
}

/* Adds what the target leads to; `*is_found` if it leads away. */
static int judge_target(struct scan *s, const struct target *g, bool *is_found)
{
    size_t authority;
    weir_links__decode(weir_slice_sub(s->text, g->from, g->to), g->has_escapes, &s->decoded);
    struct weir_slice address = weir_buf_slice(&s->decoded);
    *is_found = false;
    switch (weir_links__parse_scheme(address, &authority)) {
    case WEIR_LINKS_SCRIPT:
        *is_found = !g->is_loose;
        return *is_found ? add(s, g->from, g->to, "script_url", 1.0) : 0;
    case WEIR_LINKS_WEB:
        return judge_web(s, g, weir_slice_sub(address, authority, address.n), is_found);
    default:
        return 0;
    }
}

/* Could an address begin here that a browser would take for one with a host or a script? Most
 * targets are names of files and anchors. */
static bool is_worth_it(struct weir_slice t, size_t at)
{
    char c = weir_ascii_lower(weir_ascii_at(t, at));
    return c != '\0' && strchr("/\\&hfwjvd", c) != NULL;
}

/* [x](target) and [x](<target>); then once more up to the bracket, as browsers leave out tabs and
 * newlines, and readers of markdown differ. */
static int judge_markdown(struct scan *s, size_t end)
{
    struct weir_slice t = s->text;
    struct target g = {.from = skip_blanks(t, end), .has_escapes = true};
    bool is_found;
    if (weir_ascii_at(t, g.from) == '<') {
        g.from = skip_blanks(t, g.from + 1);
        g.to = find_any(t, g.from, ">");
    } else {
        g.to = find_closing(t, g.from, true);
    }
    if (!is_worth_it(t, g.from)) {
        return 0;
    }
    int rc = judge_target(s, &g, &is_found);
    if (rc != 0 || is_found || (unsigned char)weir_ascii_at(t, g.to) > ' ') {
        return rc;
    }
    g.to = find_closing(t, g.from, false);
    g.is_loose = true;
    return weir_ascii_at(t, g.to) == ')' ? judge_target(s, &g, &is_found) : 0;
}

/* [x]: target */
static int judge_defined(struct scan *s, size_t end)
{
    struct target g = {.from = skip_blanks(s->text, end), .has_escapes = true};
    bool is_bracketed = weir_ascii_at(s->text, g.from) == '<';
    g.from += is_bracketed;
    g.to = find_any(s->text, g.from, is_bracketed ? ">\n" : " \t\r\n");
    bool is_found;
    return is_worth_it(s->text, g.from) ? judge_target(s, &g, &is_found) : 0;
}

/* A quoted value, or one up to a blank or one of `ends`. */
static struct target read_value(struct weir_slice t, size_t at, const char *ends)
{
    struct target g = {.from = skip_blanks(t, at)};
    g.has_escapes = weir_ascii_at(t, g.from) == '\\' &&
                    (weir_ascii_at(t, g.from + 1) == '"' || weir_ascii_at(t, g.from + 1) == '\'');
    g.from += g.has_escapes;
    char quote = weir_ascii_at(t, g.from);
    if (quote == '"' || quote == '\'' || quote == '`') {
        char quotes[] = {quote, '\0'};
        g.from = skip_blanks(t, g.from + 1);
        g.to = find_any(t, g.from, quotes);
        g.to -= g.has_escapes && g.to > g.from && t.p[g.to - 1] == '\\';
    } else {
        g.to = find_any(t, g.from, ends);
    }
    return g;
}

static bool is_of_several(struct weir_slice t, size_t end)
{
    size_t i = end - 1;
    while (i > 0 && weir_ascii_is_space(t.p[i - 1])) {
        i--;
    }
    struct weir_slice name = weir_slice_sub(t, i >= 6 ? i - 6 : 0, i);
    return weir_slice_eq_nocase(name, WEIR_SLICE("srcset"));
}

/* srcset="a.png 1x, //evil.example/b.png 2x" */
static int judge_several(struct scan *s, const struct target *all)
{
    int rc = 0;
    bool is_found;
    for (size_t at = all->from; at < all->to && rc == 0;) {
        struct target g = *all;
        g.from = at;
        g.to = find_any(s->text, at, " \t\r\n");
        g.to = g.to < all->to ? g.to : all->to;
        at = g.to + 1;
        g.to -= g.to > g.from && s->text.p[g.to - 1] == ',';
        rc = is_worth_it(s->text, g.from) ? judge_target(s, &g, &is_found) : 0;
    }
    return rc;
}

/* A value without quotes may have some in it, or end with those of a value around it. */
static int judge_attribute(struct scan *s, size_t end)
{
    struct weir_slice t = s->text;
    struct target g = read_value(t, end, " \t\r\n>\"'");
    bool is_found;
    if (is_of_several(t, end)) {
        return judge_several(s, &g);
    }
    if (!is_worth_it(t, g.from)) {
        return 0;
    }
    char before = weir_ascii_before(t, g.from);
    bool is_bare = before != '"' && before != '\'' && before != '`';
    int rc = judge_target(s, &g, &is_found);
    if (rc != 0 || is_found || !is_bare || weir_ascii_at(t, g.to) <= '!') {
        return rc;
    }
    g.to = find_any(t, g.from, " \t\r\n>");
    g.is_loose = true;
    return judge_target(s, &g, &is_found);
}

/* url(target), @import "target" */
static int judge_style(struct scan *s, size_t end)
{
    struct target g = read_value(s->text, end, " \t\r\n>);");
    bool is_found;
    return is_worth_it(s->text, g.from) ? judge_target(s, &g, &is_found) : 0;
}

/* Only where it is somebody's target: location = 'javascript:…'. */
static int judge_script(struct scan *s, size_t end, unsigned id)
{
    size_t from = end - strlen(patterns[id].expr);
    size_t at = from;
    while (at > 0 && from - at < MAX_BLANKS &&
           (weir_ascii_is_space(s->text.p[at - 1]) || s->text.p[at - 1] == '<')) {
        at--;
    }
    char before = weir_ascii_before(s->text, at);
    bool is_target = before == '(' || before == '"' || before == '\'' || before == '=';
    size_t to = is_target ? url_end(s->text, end) : end;
    return to > end ? add(s, from, to, "script_url", 1.0) : 0;
}

static int on_match(void *ctx, unsigned id, size_t end_byte)
{
    struct scan *s = ctx;
    if (end_byte <= s->seen) {
        return 0;
    }
    switch (id) {
    case WWW:
        return judge_www(s, end_byte);
    case MARKDOWN:
        return judge_markdown(s, end_byte);
    case DEFINED:
        return judge_defined(s, end_byte);
    case ATTRIBUTE:
        return judge_attribute(s, end_byte);
    case STYLE:
    case IMPORT:
        return judge_style(s, end_byte);
    case SCRIPT:
    case VBSCRIPT:
    case PAGE:
        return judge_script(s, end_byte, id);
    default:
        return judge_scheme(s, end_byte);
    }
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    (void)run;
    struct scan s = {.settings = settings, .text = text, .found = found};
    int rc = weir_patterns_scan(compiled, text, on_match, &s);
    weir_buf_dispose(&s.decoded);
    return rc;
}

static const char *const members[] = {"allow", NULL};

const struct weir_builtin_kind weir_detect_links = {
    .name = "links", .members = members, .make = make, .free = free_settings, .scan = scan};
