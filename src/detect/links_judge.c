#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/links_int.h"

#include <unicode/uchar.h>

enum {
    MAX_HOST = 253,
    MAX_SCHEME = 5,
    MAX_TAG = 256,
    MAX_BLANKS = 16,
    MAX_ALT = WEIR_LINKS_MAX_ALT,
    /* from a target back to its image: brackets and blanks too */
    MAX_BACK = MAX_ALT + 2 * MAX_BLANKS + 4,
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

const struct weir_links__sign weir_links__signs[] = {
    [HTTP] = {{"http:", true, false}, MAX_BACK},
    [HTTPS] = {{"https:", true, false}, MAX_BACK},
    [FTP] = {{"ftp:", true, false}, MAX_BACK},
    [FTPS] = {{"ftps:", true, false}, MAX_BACK},
    [WS] = {{"ws:", true, false}, MAX_BACK},
    [WSS] = {{"wss:", true, false}, MAX_BACK},
    [WWW] = {{"www.", true, false}, MAX_BACK},
    [MARKDOWN] = {{"](", false, false}, MAX_BACK},
    [DEFINED] = {{"]:", false, false}, 0},
    [ATTRIBUTE] = {{"(?:href|src|srcset|poster|action|background|data|cite|ping|longdesc|manifest"
                    "|codebase|lowsrc|dynsrc|url)\\s{0,16}=",
                    true, true},
                   0},
    [STYLE] = {{"url(", true, false}, 0},
    [IMPORT] = {{"@import", true, false}, 0},
    [SCRIPT] = {{"javascript:", true, false}, 11},
    [VBSCRIPT] = {{"vbscript:", true, false}, 9},
    [PAGE] = {{"data:text/html", true, false}, 14},
};

const size_t weir_links__n_signs = sizeof weir_links__signs / sizeof weir_links__signs[0];

static const double WWW_SCORE = 0.9;

/* ---- one look at a candidate */

/*
 * What decides is the text up to `head.n`, WEIR_READER_REACH bytes behind the sign: whether the
 * text goes on there or has not come yet makes no difference to the answer, once they have come.
 */
struct look {
    const struct weir_links__settings *settings;
    struct weir_seek_look *l;
    struct weir_slice head;
    bool is_long; /* there is more text than `head` */
};

/* ---- where a link leads */

static bool is_under(struct weir_slice host, struct weir_slice domain)
{
    return host.n > domain.n && host.p[host.n - domain.n - 1] == '.' &&
           weir_slice_ends_with(host, domain);
}

static bool is_allowed(const struct weir_links__settings *s, const struct weir_links__host *h)
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
static enum lead lead_of(const struct look *k, struct weir_slice authority, bool is_loose)
{
    struct weir_links__host host;
    enum weir_links__place place = weir_links__parse_host(authority, &host);
    if (place == WEIR_LINKS_HOST && is_allowed(k->settings, &host)) {
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
    for (size_t n; weir_ascii_has(t, to) && (n = url_char(t, to, is_in_name)) != 0; to += n) {
        is_in_name = is_in_name && strchr("./?#:@", t.p[to]) == NULL;
        round += (t.p[to] == '(') - (t.p[to] == ')');
        square += (t.p[to] == '[') - (t.p[to] == ']');
        if (round < 0 || square < 0) {
            break;
        }
    }
    return to;
}

static size_t trim_signs(struct weir_slice t, size_t from, size_t to)
{
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
 * may have most other characters.
 */
static size_t authority_end(struct weir_slice t, size_t from, size_t authority)
{
    char closer = closer_of(weir_ascii_before(t, from));
    size_t to = authority;
    while (weir_ascii_has(t, to) && (unsigned char)t.p[to] > ' ' &&
           strchr("/\\?#<>", t.p[to]) == NULL && t.p[to] != closer) {
        to++;
    }
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
    if (c != '\\' || weir_ascii_at(t, end + 1) == '/') {
        return false;
    }
    for (size_t i = end; i < end + MAX_HOST && (unsigned char)weir_ascii_at(t, i) > ' '; i++) {
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

/* What a finding is that goes on behind what decides: its candidate's state, if it is not 0. */
enum kind { DECIDING, URL, MARKDOWN_IMAGE, HTML_IMAGE, SCRIPT_URL };

static const char *const kinds[] = {
    [URL] = "url",
    [MARKDOWN_IMAGE] = "markdown_image",
    [HTML_IMAGE] = "html_image",
    [SCRIPT_URL] = "script_url",
};

/* Something that goes on behind what decides goes on to the next byte that no address has. */
static void follow(struct look *k, size_t first)
{
    struct weir_seek_look *l = k->l;
    size_t at = l->resume > first ? l->resume : first;
    for (size_t n; weir_ascii_has(l->text, at) && (n = url_char(l->text, at, false)) != 0;) {
        at += n;
    }
    l->resume = at;
    l->to = trim_signs(l->text, first, at);
    l->covered = l->to;
}

static bool add(struct look *k, size_t from, size_t to, enum kind kind)
{
    struct weir_seek_look *l = k->l;
    l->is_sure = l->is_cut;
    l->from = from;
    l->to = to;
    l->kind = kinds[kind];
    if (to >= k->head.n && k->is_long) {
        follow(k, to);
        l->state = (unsigned char)kind;
    }
    return true;
}

/* All but the end was decided at an earlier look. */
static bool add_rest(struct look *k, unsigned id)
{
    struct weir_seek_look *l = k->l;
    l->is_sure = true;
    l->kind = kinds[l->state];
    l->score = id == WWW ? WWW_SCORE : 1.0;
    follow(k, k->head.n);
    return true;
}

/* The start of `![alt](` that ends at `at`, or `at`. Alt texts may have brackets, in pairs. */
static size_t image_start(struct weir_slice t, size_t at, size_t floor)
{
    size_t i = at;
    size_t n_angles = 0;
    while (i > floor && at - i < MAX_BLANKS &&
           (weir_ascii_is_space(t.p[i - 1]) || (t.p[i - 1] == '<' && n_angles++ == 0))) {
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

bool weir_links__is_open_image(struct weir_slice t, size_t at)
{
    size_t n_open = 1;
    for (size_t i = at + 2; i < at + MAX_BACK; i++) {
        if (i >= t.n) {
            return true;
        }
        bool is_escaped = t.p[i - 1] == '\\';
        n_open += t.p[i] == '[' && !is_escaped;
        n_open -= t.p[i] == ']' && !is_escaped;
        if (n_open == 0) {
            return i + 1 >= t.n; /* else the sign `](` holds it, or it is no image */
        }
    }
    return false;
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
static bool add_link(struct look *k, size_t from, size_t to)
{
    struct weir_slice t = k->head;
    size_t image = image_start(t, from, k->l->floor);
    if (image == from) {
        return add(k, from, to, is_img_src(t, from) ? HTML_IMAGE : URL);
    }
    while (to - from < MAX_ALT && weir_ascii_has(t, to) && t.p[to] != ')' && t.p[to] != '\n') {
        to++; /* a title */
    }
    to += to < t.n && t.p[to] == ')';
    while (to < t.n && ((unsigned char)t.p[to] & 0xC0) == 0x80) {
        to++;
    }
    return add(k, image, to, MARKDOWN_IMAGE);
}

/* ---- addresses in prose */

static void have_seen(struct look *k, size_t to)
{
    k->l->seen = to > k->l->seen ? to : k->l->seen;
}

/* `from` is the URL's first byte, `authority` the byte after its slashes. */
static bool judge(struct look *k, size_t from, size_t authority)
{
    struct weir_slice t = k->head;
    size_t whole = url_end(t, authority);
    size_t to = trim_signs(t, authority, whole);
    size_t end = authority_end(t, from, authority);
    size_t far = trim_punctuation(t, authority, end);
    char first = weir_ascii_at(t, authority);
    bool is_name = weir_ascii_is_alnum(first) || first == '[' || (unsigned char)first >= 0x80;
    enum lead near_lead = to == authority || !is_name
                              ? LEADS_NOWHERE
                              : lead_of(k, weir_slice_sub(t, authority, to), false);
    enum lead far_lead = LEADS_NOWHERE;
    if (far > to || near_lead == LEADS_NOWHERE) {
        far_lead = lead_of(k, weir_slice_sub(t, authority, far), true);
    }
    bool goes_on = end == t.n && k->is_long;
    bool is_away = near_lead == LEADS_AWAY || far_lead == LEADS_AWAY ||
                   (is_name && (goes_on || is_ambiguous(t, end)));
    bool is_bad = is_name && to > authority && near_lead == LEADS_NOWHERE &&
                  far_lead != LEADS_HOME; /* half a host, or none that we understand */
    if (!is_away && !is_bad) {
        have_seen(k, to);
        return false;
    }
    to = whole == t.n && k->is_long ? whole : to;
    return add_link(k, from, far > to && far_lead == LEADS_AWAY ? far : to);
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
    size_t i = at;
    char c;
    while (i < at + MAX_HOST && (c = weir_ascii_at(t, i)) != '\0' &&
           (weir_ascii_is_alnum(c) || c == '-' || (unsigned char)c >= 0x80)) {
        i++;
    }
    if (i == at || weir_ascii_at(t, i) != '.') {
        return false;
    }
    char next = weir_ascii_at(t, i + 1);
    return weir_ascii_is_alnum(next) || (unsigned char)next >= 0x80;
}

static bool is_json_slashes(struct weir_slice s)
{
    return weir_slice_eq(s, WEIR_SLICE("\\/\\/"));
}

/* A browser needs no slashes and takes any number, of either kind; where they are not two, what
 * follows must look like a host. */
static bool judge_scheme(struct look *k)
{
    struct weir_slice t = k->head;
    size_t end = k->l->end;
    size_t colon = end - 1;
    size_t from = web_scheme_start(t, colon, k->l->floor);
    bool is_web = from < colon;
    while (!is_web && from > k->l->floor && colon - from <= MAX_SCHEME &&
           weir_ascii_is_alpha(t.p[from - 1])) {
        from--;
    }
    if (!is_web && !is_scheme(weir_slice_sub(t, from, colon))) {
        return false;
    }
    k->l->from = image_start(t, from, k->l->floor);
    k->l->score = 1.0;
    size_t authority = end;
    while (weir_ascii_at(t, authority) == '/' || weir_ascii_at(t, authority) == '\\') {
        authority++;
    }
    bool is_usual = authority - end == 2 || is_json_slashes(weir_slice_sub(t, end, authority));
    bool is_clear = is_usual || (is_web && has_domain(t, authority));
    return is_clear && judge(k, from, authority);
}

static bool judge_www(struct look *k)
{
    struct weir_slice t = k->head;
    size_t from = k->l->end - 4;
    char before = weir_ascii_before(t, from);
    bool is_apart = !weir_ascii_is_alnum(before) && before != '.' && before != '-' &&
                    before != '/' && before != '@' && before != '_';
    if (!is_apart) {
        return false;
    }
    k->l->from = image_start(t, from, k->l->floor);
    k->l->score = WWW_SCORE;
    return has_domain(t, k->l->end) && judge(k, from, from);
}

/* ---- targets: attributes, markdown, style sheets */

/* Where a target stands, and how it ends. */
struct target {
    size_t from;
    size_t to;        /* once find_end was asked */
    const char *ends; /* it ends before one of these bytes; NULL: before the closing bracket, */
    bool is_spaced;   /* and has blanks in it */
    bool has_escapes;
    bool is_escaped; /* its quotes have backslashes */
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

/* Up to one of these bytes. */
static size_t find_any(struct weir_slice t, size_t from, const char *bytes)
{
    bool is_one[256] = {false};
    for (const char *c = bytes; *c != '\0'; c++) {
        is_one[(unsigned char)*c] = true;
    }
    size_t to = from;
    while (to < t.n && !is_one[(unsigned char)t.p[to]]) {
        to++;
    }
    return weir_ascii_has(t, to) ? to : t.n;
}

/* Up to the round bracket that closes one outside, or to a blank. */
static size_t find_closing(struct weir_slice t, size_t from, bool is_spaced)
{
    size_t to = from;
    int n_open = 0;
    for (; weir_ascii_has(t, to); to++) {
        bool is_escaped = weir_ascii_before(t, to) == '\\';
        n_open += !is_escaped && t.p[to] == '(';
        n_open -= !is_escaped && t.p[to] == ')';
        if (n_open < 0 || (!is_spaced && (unsigned char)t.p[to] <= ' ')) {
            break;
        }
    }
    return to;
}

static size_t find_end(struct weir_slice t, const struct target *g)
{
    if (g->ends == NULL) {
        return find_closing(t, g->from, g->is_spaced);
    }
    size_t to = find_any(t, g->from, g->ends);
    return to - (g->is_escaped && to > g->from && t.p[to - 1] == '\\');
}

static size_t after_host(struct weir_slice authority)
{
    return find_any(authority, 0, "/\\?#");
}

/* A host that goes on behind what may be looked at is nobody's friend. */
static enum lead lead_of_target(const struct look *k, const struct target *g,
                                struct weir_slice authority)
{
    bool goes_on = g->to == k->head.n && k->is_long;
    goes_on = goes_on && after_host(authority) == authority.n;
    return goes_on ? LEADS_AWAY : lead_of(k, authority, g->is_loose);
}

/* What leads home is not looked at again up to its first blank. */
static bool judge_web(struct look *k, const struct target *g, struct weir_slice authority)
{
    struct weir_slice t = k->head;
    size_t to = g->to;
    while (to > g->from && (unsigned char)t.p[to - 1] <= ' ') {
        to--;
    }
    enum lead lead = lead_of_target(k, g, authority);
    if (lead == LEADS_HOME) {
        size_t blank = g->from;
        while (blank < to && !weir_ascii_is_space(t.p[blank])) {
            blank++;
        }
        have_seen(k, blank);
    }
    return lead == LEADS_AWAY && add_link(k, g->from, to);
}

/* Of a text that was cut: without a reference or an escape that may go on behind its end. */
static struct weir_slice whole_characters(struct weir_slice raw)
{
    const char *amp = memrchr(raw.p, '&', raw.n);
    if (amp != NULL && memchr(amp, ';', (size_t)(raw.p + raw.n - amp)) == NULL) {
        raw.n = (size_t)(amp - raw.p);
    }
    raw.n -= raw.n != 0 && raw.p[raw.n - 1] == '\\';
    return raw;
}

/* Is the host over within the target's first bytes, and none? */
static bool is_no_host(const struct look *k, const struct target *g, struct weir_buf *decoded)
{
    enum { NEAR = 96 };
    struct weir_slice t = weir_slice_sub(k->head, 0, weir_utf8_floor(k->head, g->from + NEAR));
    size_t authority;
    struct weir_slice raw = weir_slice_sub(t, g->from, find_end(t, g));
    weir_links__decode(whole_characters(raw), g->has_escapes, NEAR, decoded);
    struct weir_slice address = weir_buf_slice(decoded);
    if (weir_links__parse_scheme(address, &authority) != WEIR_LINKS_WEB) {
        return false;
    }
    struct weir_slice rest = weir_slice_sub(address, authority, address.n);
    return after_host(rest) < rest.n && lead_of(k, rest, g->is_loose) == LEADS_NOWHERE;
}

/*
 * Its first bytes tell of most targets that they lead nowhere: they are names of files and anchors,
 * or name a host that is none. So a text that is full of signs costs little, and what waits for the
 * end of a target may lead away.
 */
static bool may_lead_away(const struct look *k, const struct target *g)
{
    enum { LONGEST_SCHEME = 32 };
    struct weir_slice raw = weir_slice_sub(k->head, g->from, k->head.n);
    struct weir_buf decoded = {0};
    size_t authority;
    size_t n = weir_links__decode(raw, g->has_escapes, LONGEST_SCHEME, &decoded);
    enum weir_links__scheme scheme = weir_links__parse_scheme(weir_buf_slice(&decoded), &authority);
    bool is_known = n < raw.n;
    bool may = !is_known || scheme == WEIR_LINKS_SCRIPT ||
               (scheme == WEIR_LINKS_WEB && !is_no_host(k, g, &decoded));
    weir_buf_dispose(&decoded);
    return may;
}

/* Does the target lead away, or to a script? */
static bool judge_target(struct look *k, const struct target *g)
{
    struct weir_buf decoded = {0};
    size_t authority;
    bool is_found = false;
    weir_links__decode(weir_slice_sub(k->head, g->from, g->to), g->has_escapes, SIZE_MAX, &decoded);
    struct weir_slice address = weir_buf_slice(&decoded);
    k->l->score = 1.0;
    switch (weir_links__parse_scheme(address, &authority)) {
    case WEIR_LINKS_SCRIPT:
        is_found = !g->is_loose && add(k, g->from, g->to, SCRIPT_URL);
        break;
    case WEIR_LINKS_WEB:
        is_found = judge_web(k, g, weir_slice_sub(address, authority, address.n));
        break;
    default:
        break;
    }
    weir_buf_dispose(&decoded);
    return is_found;
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
static bool judge_markdown(struct look *k)
{
    struct weir_slice t = k->head;
    size_t end = k->l->end;
    struct target g = {.from = skip_blanks(t, end), .has_escapes = true};
    bool is_bracketed = weir_ascii_at(t, g.from) == '<';
    g.from = is_bracketed ? skip_blanks(t, g.from + 1) : g.from;
    g.ends = is_bracketed ? ">" : NULL;
    bool is_worth = is_worth_it(t, g.from) && may_lead_away(k, &g);
    if (is_worth || weir_ascii_edge.is_met) {
        k->l->from = image_start(t, end, k->l->floor);
    }
    if (!is_worth) {
        return false;
    }
    g.to = find_end(t, &g);
    if (judge_target(k, &g)) {
        return true;
    }
    if (g.to >= t.n || (unsigned char)t.p[g.to] > ' ') {
        return false;
    }
    g.ends = NULL;
    g.is_spaced = true;
    g.is_loose = true;
    g.to = find_end(t, &g);
    return g.to < t.n && t.p[g.to] == ')' && judge_target(k, &g);
}

/* [x]: target */
static bool judge_defined(struct look *k)
{
    struct weir_slice t = k->head;
    struct target g = {.from = skip_blanks(t, k->l->end), .has_escapes = true};
    k->l->from = g.from;
    bool is_bracketed = weir_ascii_at(t, g.from) == '<';
    g.from += is_bracketed;
    g.ends = is_bracketed ? ">\n" : " \t\r\n";
    if (!is_worth_it(t, g.from) || !may_lead_away(k, &g)) {
        return false;
    }
    g.to = find_end(t, &g);
    return judge_target(k, &g);
}

/* A value, up to its quote; without quotes up to a blank or one of `ends`. */
static struct target value_at(struct weir_slice t, size_t at, const char *ends)
{
    struct target g = {.from = skip_blanks(t, at)};
    char next = weir_ascii_at(t, g.from) == '\\' ? weir_ascii_at(t, g.from + 1) : '\0';
    g.has_escapes = next == '"' || next == '\'';
    g.from += g.has_escapes;
    switch (weir_ascii_at(t, g.from)) {
    case '"':
        g.ends = "\"";
        break;
    case '\'':
        g.ends = "'";
        break;
    case '`':
        g.ends = "`";
        break;
    default:
        g.ends = ends;
        return g;
    }
    g.is_escaped = g.has_escapes;
    g.from = skip_blanks(t, g.from + 1);
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

/* srcset="a.png 1x, //evil.example/b.png 2x": one finding at a time. */
static bool judge_several(struct look *k, const struct target *all)
{
    for (size_t at = k->l->resume > all->from ? k->l->resume : all->from; at < all->to;) {
        struct target g = *all;
        g.from = at;
        g.to = at;
        while (g.to < all->to && !weir_ascii_is_space(k->head.p[g.to])) {
            g.to++;
        }
        at = g.to + 1;
        g.to -= g.to > g.from && k->head.p[g.to - 1] == ',';
        size_t resume = k->l->resume;
        if (is_worth_it(k->head, g.from) && judge_target(k, &g)) {
            bool goes_on = k->l->state != DECIDING;
            k->l->resume = goes_on ? k->l->resume : resume;
            k->l->more = at < all->to ? at : 0;
            return true;
        }
    }
    return false;
}

/* A value without quotes may have some in it, or end with those of a value around it. */
static bool judge_attribute(struct look *k)
{
    struct weir_slice t = k->head;
    static const char bare_ends[] = " \t\r\n>\"'";
    struct target g = value_at(t, k->l->end, bare_ends);
    k->l->from = g.from;
    bool is_several = is_of_several(t, k->l->end);
    if (!is_several && (!is_worth_it(t, g.from) || !may_lead_away(k, &g))) {
        return false;
    }
    g.to = find_end(t, &g);
    if (is_several) {
        return judge_several(k, &g);
    }
    if (judge_target(k, &g)) {
        return true;
    }
    if (g.ends != bare_ends || g.to >= t.n || t.p[g.to] <= '!') {
        return false;
    }
    g.ends = " \t\r\n>";
    g.is_loose = true;
    g.to = find_end(t, &g);
    return judge_target(k, &g);
}

/* url(target), @import "target" */
static bool judge_style(struct look *k)
{
    struct target g = value_at(k->head, k->l->end, " \t\r\n>);");
    k->l->from = g.from;
    if (!is_worth_it(k->head, g.from) || !may_lead_away(k, &g)) {
        return false;
    }
    g.to = find_end(k->head, &g);
    return judge_target(k, &g);
}

/* Only where it is somebody's target: location = 'javascript:…'. */
static bool judge_script(struct look *k, unsigned id)
{
    struct weir_slice t = k->head;
    size_t end = k->l->end;
    size_t from = end - strlen(weir_links__signs[id].pattern.expr);
    size_t at = from;
    while (at > 0 && from - at < MAX_BLANKS &&
           (weir_ascii_is_space(t.p[at - 1]) || t.p[at - 1] == '<')) {
        at--;
    }
    char before = weir_ascii_before(t, at);
    if (before != '(' && before != '"' && before != '\'' && before != '=') {
        return false;
    }
    size_t whole = url_end(t, end);
    size_t to = whole == t.n && k->is_long ? whole : trim_signs(t, end, whole);
    k->l->score = 1.0;
    return to > end && add(k, from, to, SCRIPT_URL);
}

bool weir_links__judge(const void *settings, unsigned id, struct weir_seek_look *l)
{
    size_t n = l->is_piece ? l->text.n : weir_utf8_floor(l->text, l->end + WEIR_READER_REACH);
    struct look k = {.settings = settings,
                     .l = l,
                     .head = weir_slice_sub(l->text, 0, n),
                     .is_long = l->is_cut || n < l->text.n};
    if (l->state != DECIDING) {
        return add_rest(&k, id);
    }
    switch (id) {
    case WWW:
        return judge_www(&k);
    case MARKDOWN:
        return judge_markdown(&k);
    case DEFINED:
        return judge_defined(&k);
    case ATTRIBUTE:
        return judge_attribute(&k);
    case STYLE:
    case IMPORT:
        return judge_style(&k);
    case SCRIPT:
    case VBSCRIPT:
    case PAGE:
        return judge_script(&k, id);
    default:
        return judge_scheme(&k);
    }
}

/* ---- what no sign has pointed at */

/* Is `end`, which the text ends with, the beginning of something that a finding begins with? */
static bool is_begun(struct weir_slice end)
{
    static const char *const signs[] = {
        "https:", "ftps:", "wss:", "ws:", "www.", "javascript:", "vbscript:", "data:text/html"};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        bool is_short = end.n < strlen(signs[i]);
        if (is_short && weir_slice_eq_nocase(end, weir_slice_make(signs[i], end.n))) {
            return true;
        }
    }
    return false;
}

size_t weir_links__tail(struct weir_slice t)
{
    enum { LONGEST = 13 };
    size_t tail = t.n;
    for (size_t i = t.n; i > 0 && t.n - i < LONGEST; i--) {
        char c = weir_ascii_lower(t.p[i - 1]);
        if (!weir_ascii_is_alpha(c) && c != ':' && c != '/') {
            break;
        }
        bool is_first = c == 'h' || c == 'w' || c == 'f' || c == 'j' || c == 'v' || c == 'd';
        tail = is_first && is_begun(weir_slice_sub(t, i - 1, t.n)) ? i - 1 : tail;
    }
    return tail;
}
