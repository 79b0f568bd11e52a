#include "detect/links.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"
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
};

struct settings {
    struct weir_slice allowed[MAX_ALLOWED]; /* lower case, on the heap */
    size_t n_allowed;
};

enum {
    SCHEME,
    SCHEME_ESCAPED,
    SCHEME_BACKSLASH,
    WWW,
    RELATIVE,
    BARE,
    QUOTED,
    APOSTROPHED,
    SCRIPT,
    VBSCRIPT,
    PAGE
};

static const struct weir_pattern patterns[] = {
    [SCHEME] = {"://", false, false},
    [SCHEME_ESCAPED] = {":\\/\\/", false, false}, /* as some writers of JSON do */
    [SCHEME_BACKSLASH] = {":\\\\", false, false}, /* as browsers forgive */
    [WWW] = {"www.", true, false},
    [RELATIVE] = {"](//", false, false},
    [BARE] = {"=//", false, false},
    [QUOTED] = {"=\"//", false, false},
    [APOSTROPHED] = {"='//", false, false},
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

static bool is_host_byte(char c)
{
    return weir_ascii_is_alnum(c) || c == '-' || c == '.' || c == '*' || c == '_' || c == ':' ||
           c == '[' || c == ']';
}

static bool add_allowed(struct settings *s, struct weir_slice host, struct weir_buf *why)
{
    bool is_good = host.n > 0 && host.n <= MAX_HOST;
    for (size_t i = 0; i < host.n && is_good; i++) {
        is_good = is_host_byte(host.p[i]) && (host.p[i] != '*' || (i == 0 && host.n > 2));
    }
    if (!is_good) {
        weir_buf_printf(why, "`allow` has host names, such as example.com or *.example.com");
        return false;
    }
    char *copy = weir_mem_dup(host.p, host.n);
    for (size_t i = 0; i < host.n; i++) {
        copy[i] = weir_ascii_lower(copy[i]);
    }
    s->allowed[s->n_allowed++] = weir_slice_make(copy, host.n);
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

/* ---- one link */

struct scan {
    const struct settings *settings;
    struct weir_slice text;
    struct weir_found *found;
    size_t seen;
};

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
    return (cp < 0x2E80 || is_in_name) && u_isalnum((UChar32)cp) ? n : 0;
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

static struct weir_slice host_of(struct weir_slice authority)
{
    size_t end = 0;
    while (end < authority.n && strchr("/\\?#", authority.p[end]) == NULL) {
        end++;
    }
    size_t from = 0;
    for (size_t i = 0; i < end; i++) {
        from = authority.p[i] == '@' ? i + 1 : from;
    }
    struct weir_slice host = weir_slice_sub(authority, from, end);
    if (host.n != 0 && host.p[0] == '[') {
        return weir_slice_sub(host, 0, weir_slice_find(host, ']'));
    }
    host = weir_slice_sub(host, 0, weir_slice_find(host, ':'));
    while (host.n != 0 && host.p[host.n - 1] == '.') {
        host.n--;
    }
    return host;
}

static bool is_under(struct weir_slice host, struct weir_slice domain)
{
    return host.n > domain.n && host.p[host.n - domain.n - 1] == '.' &&
           weir_slice_eq_nocase(weir_slice_sub(host, host.n - domain.n, host.n), domain);
}

static bool is_allowed(const struct settings *s, struct weir_slice host)
{
    for (size_t i = 0; i < s->n_allowed; i++) {
        struct weir_slice a = s->allowed[i];
        bool below_only = a.n > 2 && a.p[0] == '*' && a.p[1] == '.';
        struct weir_slice domain = below_only ? weir_slice_sub(a, 2, a.n) : a;
        if (is_under(host, domain) || (!below_only && weir_slice_eq_nocase(host, domain))) {
            return true;
        }
    }
    return false;
}

/* The start of `![alt](` that ends at `at`, or `at`. Alt texts may have brackets, in pairs. */
static size_t image_start(struct weir_slice t, size_t at, size_t floor)
{
    size_t i = at;
    while (i > floor && at - i < MAX_BLANKS && (t.p[i - 1] == ' ' || t.p[i - 1] == '<')) {
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

/* The HTML tag that is open at `at`, from its name to there; empty: none. */
static struct weir_slice tag_at(struct weir_slice t, size_t at)
{
    size_t from = at > MAX_TAG ? at - MAX_TAG : 0;
    size_t open = at;
    while (open > from && t.p[open - 1] != '<' && t.p[open - 1] != '>') {
        open--;
    }
    bool is_tag = open > from && t.p[open - 1] == '<' && weir_ascii_is_alpha(t.p[open]);
    return is_tag ? weir_slice_sub(t, open, at) : (struct weir_slice){0};
}

/* Is `at` the value of an <img src=? */
static bool is_img_src(struct weir_slice t, size_t at)
{
    struct weir_slice tag = tag_at(t, at);
    return tag.n > 4 && weir_slice_eq_nocase(weir_slice_sub(tag, 0, 3), WEIR_SLICE("img")) &&
           weir_ascii_contains(tag, "src");
}

/* https://ok.test\@evil.example, or with another character that only looks like a slash: where such
 * a link leads depends on who reads it. `to` is where the URL ends for us. */
static bool is_ambiguous(struct weir_slice t, size_t authority, size_t to)
{
    for (size_t i = authority; i < to; i++) {
        if (strchr("/?#", t.p[i]) != NULL) {
            return false;
        }
    }
    size_t stop = to + MAX_HOST < t.n ? to + MAX_HOST : t.n;
    for (size_t i = to; i < stop && (unsigned char)t.p[i] > ' '; i++) {
        if (t.p[i] == '@') {
            return true;
        }
        if (strchr("/?#<>()\"'`,", t.p[i]) != NULL) {
            return false;
        }
    }
    return false;
}

static int add(struct scan *s, size_t from, size_t to, const char *kind, double score)
{
    struct weir_found_span span = {.start_byte = from,
                                   .end_byte = to,
                                   .detection = weir_slice_cstr(kind),
                                   .detection_type = WEIR_SLICE("link"),
                                   .score = score};
    s->seen = to;
    return weir_found_add(s->found, &span);
}

/* `from` is the URL's first byte, `authority` the byte after its slashes. */
static int judge(struct scan *s, size_t from, size_t authority, double score)
{
    struct weir_slice t = s->text;
    size_t to = url_end(t, authority);
    struct weir_slice host = host_of(weir_slice_sub(t, authority, to));
    bool is_host = host.n != 0 && (weir_ascii_is_alnum(host.p[0]) || host.p[0] == '[' ||
                                   (unsigned char)host.p[0] >= 0x80);
    bool is_known = is_allowed(s->settings, host) && !is_ambiguous(t, authority, to);
    if (!is_host || is_known) {
        s->seen = to > s->seen ? to : s->seen;
        return 0;
    }
    size_t image = image_start(t, from, s->seen);
    if (image < from) {
        while (to < t.n && t.p[to] != ')' && t.p[to] != '\n' && to - from < MAX_ALT) {
            to++; /* a title */
        }
        to += weir_ascii_at(t, to) == ')';
        while (to < t.n && ((unsigned char)t.p[to] & 0xC0) == 0x80) {
            to++;
        }
        return add(s, image, to, "markdown_image", score);
    }
    return add(s, from, to, is_img_src(t, from) ? "html_image" : "url", score);
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

static int judge_scheme(struct scan *s, size_t end, size_t n_sign)
{
    size_t colon = end - n_sign;
    size_t from = web_scheme_start(s->text, colon, s->seen);
    if (from < colon) {
        return judge(s, from, end, 1.0);
    }
    while (from > s->seen && colon - from <= MAX_SCHEME &&
           weir_ascii_is_alpha(s->text.p[from - 1])) {
        from--;
    }
    bool is_ours = is_scheme(weir_slice_sub(s->text, from, colon));
    return is_ours ? judge(s, from, end, 1.0) : 0;
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
    return i > at && weir_ascii_at(t, i) == '.' && weir_ascii_is_alnum(weir_ascii_at(t, i + 1));
}

static int judge_www(struct scan *s, size_t end)
{
    size_t from = end - 4;
    char before = weir_ascii_before(s->text, from);
    bool is_apart = !weir_ascii_is_alnum(before) && before != '.' && before != '-' &&
                    before != '/' && before != '@' && before != '_';
    return is_apart && has_domain(s->text, end) ? judge(s, from, from, 0.9) : 0;
}

/* <img src=//evil.example/…>: as the page was fetched, so is this. */
static int judge_attribute(struct scan *s, size_t end)
{
    return tag_at(s->text, end).n != 0 ? judge(s, end - 2, end, 1.0) : 0;
}

/* Only where it is somebody's target: [x](javascript:…), href=" javascript:…". */
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
    case SCHEME:
    case SCHEME_ESCAPED:
    case SCHEME_BACKSLASH:
        return judge_scheme(s, end_byte, strlen(patterns[id].expr));
    case WWW:
        return judge_www(s, end_byte);
    case RELATIVE:
        return judge(s, end_byte - 2, end_byte, 1.0);
    case BARE:
    case QUOTED:
    case APOSTROPHED:
        return judge_attribute(s, end_byte);
    default:
        return judge_script(s, end_byte, id);
    }
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    (void)run;
    struct scan s = {.settings = settings, .text = text, .found = found};
    return weir_patterns_scan(compiled, text, on_match, &s);
}

static const char *const members[] = {"allow", NULL};

const struct weir_builtin_kind weir_detect_links = {
    .name = "links", .members = members, .make = make, .free = free_settings, .scan = scan};
