/*
 * What may be the beginning of a secret, at the end of a text that goes on: the word being written,
 * and what must stand before it in shapes that are more than a word. Names are no part of findings.
 */
#include "base/assert.h"
#include "detect/ascii.h"
#include "detect/secrets_int.h"

#include <string.h>

static size_t word_start(struct weir_slice t, size_t end, size_t max)
{
    return weir_secrets__run_back(t, end, WEIR_SECRET_URL, max);
}

/* How many bytes at the end of `t` are the beginning of `s`, but not all of it. */
static size_t begun(struct weir_slice t, const char *s)
{
    size_t n = strlen(s) - 1;
    n = n < t.n ? n : t.n;
    while (n > 0 && (s[n - 1] != t.p[t.n - 1] || memcmp(t.p + t.n - n, s, n) != 0)) {
        n--;
    }
    return n;
}

/* The prefixes that are more than a word and part of the finding: https://hooks…, ya29., sha256~ */
enum { MAX_PREFIXES = 64 };

static const char *prefixes[MAX_PREFIXES];
static size_t n_prefixes;

void weir_secrets__prepare_tail(void)
{
    const struct weir_secret_shapes *shapes = weir_secrets__shapes();
    for (size_t i = 0; i < shapes->n; i++) {
        struct weir_slice prefix = weir_slice_cstr(shapes->items[i].prefix);
        char last = prefix.p[prefix.n - 1];
        bool is_word_only = weir_secrets__run(prefix, 0, WEIR_SECRET_URL, prefix.n) == prefix.n;
        if (!is_word_only && last != '=' && last != ' ') {
            WEIR_ASSERT(n_prefixes < MAX_PREFIXES);
            prefixes[n_prefixes++] = prefix.p;
        }
    }
}

/* A prefix that begins at `at` and is not all there? */
static bool is_begun(struct weir_slice t, size_t at)
{
    for (size_t i = 0; i < n_prefixes; i++) {
        if (prefixes[i][0] == t.p[at] && strlen(prefixes[i]) > t.n - at &&
            memcmp(prefixes[i], t.p + at, t.n - at) == 0) {
            return true;
        }
    }
    return false;
}

/* No letter stands before a prefix. */
static size_t prefix_start(struct weir_slice t)
{
    enum { LONGEST = 40 };
    size_t stop = t.n > LONGEST ? t.n - LONGEST : 0;
    size_t from = t.n;
    for (size_t at = t.n; at > stop && !weir_ascii_is_space(t.p[at - 1]); at--) {
        if (!weir_secrets__touches_word(weir_ascii_before(t, at - 1)) && is_begun(t, at - 1)) {
            from = at - 1;
        }
    }
    return from;
}

/* name://, as far as it has come. */
static size_t scheme_start(struct weir_slice t)
{
    enum { MAX_SCHEME = 32 };
    size_t at = t.n;
    for (size_t i = 0; i < 2 && weir_ascii_before(t, at) == '/'; i++) {
        at--;
    }
    bool has_slashes = at < t.n;
    if (weir_ascii_before(t, at) == ':') {
        at--;
    } else if (has_slashes) {
        return t.n;
    }
    size_t from = at;
    while (from > 0 && at - from < MAX_SCHEME &&
           (weir_secrets__has(WEIR_SECRET_URL_DOT, t.p[from - 1]) || t.p[from - 1] == '+')) {
        from--;
    }
    return from;
}

/* https://name.webhook.office.com/webhookb2/: host and all */
static size_t teams_start(struct weir_slice t)
{
    enum { MAX_HOST = 48 };
    size_t n = begun(t, "webhook.office.com/webhookb2/");
    size_t from = n > strlen("webhook.office.com") ? t.n - n : t.n;
    size_t start =
        from < t.n ? weir_secrets__run_back(t, from, WEIR_SECRET_URL_DOT, MAX_HOST) : t.n;
    return start < t.n && start >= strlen("https://") ? start - strlen("https://") : start;
}

/* 123456789:AA, AAAAabcdefg:APA91b: what stands before a colon belongs to it. */
static size_t colon_start(struct weir_slice t)
{
    enum { MAX_BEGUN = 7, MAX_ID = 12 };
    size_t word = word_start(t, t.n, MAX_BEGUN);
    if (weir_ascii_before(t, word) != ':') {
        return t.n;
    }
    struct weir_slice after = weir_slice_sub(t, word, t.n);
    bool is_key = weir_slice_starts_with(WEIR_SLICE("AA"), after) ||
                  weir_slice_starts_with(WEIR_SLICE("APA91b"), after);
    return is_key ? word_start(t, word - 1, MAX_ID) : t.n;
}

/* MTxx….abcdef. of Discord, xxxx.atlasv1. of Terraform. */
static size_t dotted_start(struct weir_slice t)
{
    enum { MAX_MIDDLE = 8, LEAST_ID = 14, MAX_ID = 33 };
    size_t word = word_start(t, t.n, MAX_MIDDLE);
    if (weir_ascii_before(t, word) != '.') {
        return t.n;
    }
    size_t from = word_start(t, word - 1, MAX_ID);
    return word - 1 - from >= LEAST_ID ? from : t.n;
}

/* abc8Q~ of Azure: six characters that nothing touches. */
static size_t azure_start(struct weir_slice t)
{
    enum { BEFORE_TILDE = 5 };
    size_t from = t.n;
    while (from > 0 && t.n - from <= BEFORE_TILDE &&
           (weir_secrets__has(WEIR_SECRET_URL_DOT, t.p[from - 1]) || t.p[from - 1] == '~')) {
        from--;
    }
    return t.n - from <= BEFORE_TILDE ? from : t.n;
}

static bool is_between(char c)
{
    return weir_ascii_is_space(c) || c == ':';
}

/* "type": "service_account", from a quote on: is it that as far as it goes? */
static bool is_service_type(struct weir_slice t)
{
    static const char type[] = "\"type\"";
    if (t.n < sizeof type - 1) {
        return memcmp(t.p, type, t.n) == 0;
    }
    size_t at = sizeof type - 1;
    while (at < t.n && is_between(t.p[at])) {
        at++;
    }
    return memcmp(t.p, type, sizeof type - 1) == 0 &&
           weir_slice_starts_with(WEIR_SLICE("\"service_account\""), weir_slice_sub(t, at, t.n));
}

static size_t service_start(struct weir_slice t)
{
    size_t stop = t.n > WEIR_SECRETS_SERVICE_BACK ? t.n - WEIR_SECRETS_SERVICE_BACK : 0;
    size_t from = t.n;
    const char *quote;
    for (size_t end = t.n; end > stop; end = (size_t)(quote - t.p)) {
        quote = memrchr(t.p + stop, '"', end - stop);
        if (quote == NULL) {
            break;
        }
        size_t at = (size_t)(quote - t.p);
        from = is_service_type(weir_slice_sub(t, at, t.n)) ? at : from;
    }
    return from;
}

/* A text that begins with the rest of a private key. */
static size_t key_rest_start(struct weir_slice t)
{
    static const char end_line[] = "-----END ";
    size_t n = begun(t, end_line);
    bool may_be = t.n <= WEIR_READER_REACH + sizeof end_line &&
                  weir_secrets__key_rest(weir_slice_sub(t, 0, t.n - n)) == t.n - n;
    return may_be ? 0 : t.n;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t weir_secrets__tail(struct weir_slice t, bool is_start)
{
    enum { MAX_WORD = 128 };
    size_t from = word_start(t, t.n, MAX_WORD);
    char before = weir_ascii_before(t, from);
    bool is_bare = before == '\0' || strchr(".:/$~+", before) == NULL; /* most often */
    size_t low = least(from, service_start(t));
    low = is_start ? least(low, key_rest_start(t)) : low;
    if (is_bare) {
        return low;
    }
    low = least(low, least(azure_start(t), prefix_start(t)));
    low = least(low, least(scheme_start(t), teams_start(t)));
    return least(low, least(colon_start(t), dotted_start(t)));
}
