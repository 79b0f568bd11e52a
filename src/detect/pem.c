#include "detect/pem.h"

#include "detect/ascii.h"
#include "detect/secrets_int.h"

#include <string.h>

enum { MAX_LABEL = 48, MIN_RUN = 16 };

size_t weir_pem_label_end(struct weir_slice t, size_t at)
{
    size_t stop = at + MAX_LABEL < t.n ? at + MAX_LABEL : t.n;
    struct weir_slice label = weir_slice_sub(t, at, stop);
    size_t dashes = weir_ascii_find(label, 0, "-----");
    struct weir_slice name = weir_slice_sub(label, 0, dashes);
    bool is_private = memmem(name.p, name.n, "PRIVATE KEY", strlen("PRIVATE KEY")) != NULL;
    return dashes < label.n && is_private ? at + dashes + 5 : 0;
}

size_t weir_pem_find_end(struct weir_slice t, size_t from)
{
    static const char marker[] = "-----END ";
    size_t end = 0;
    while (end == 0 && (from = weir_ascii_find(t, from, marker)) < t.n) {
        from += sizeof marker - 1;
        end = weir_pem_label_end(t, from);
    }
    return end;
}

size_t weir_pem_longest_run(struct weir_slice t)
{
    size_t best = 0;
    size_t from = 0;
    while (from < t.n) {
        size_t end = weir_secrets__run(t, from, WEIR_SECRET_BASE64, t.n - from);
        best = end - from > best ? end - from : best;
        from = end + 1;
    }
    return best;
}

/* Line ends, also as JSON and source code write them. */
static size_t skip_line_end(struct weir_slice t)
{
    size_t at = 0;
    for (;;) {
        char c = weir_ascii_at(t, at);
        char next = weir_ascii_at(t, at + 1);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '"' || c == '+') {
            at++;
        } else if (c == '\\' && (next == 'n' || next == 'r')) {
            at += 2;
        } else if (c == '\\' && next == '\\') {
            at++;
        } else {
            return at;
        }
    }
}

/* Some kinds of armour have lines of headers first. */
static bool begins_with_header(struct weir_slice t)
{
    static const char *const names[] = {
        "Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:", "Charset:"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (weir_slice_starts_with(t, weir_slice_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

enum weir_pem_sign weir_pem_goes_on(struct weir_slice t)
{
    struct weir_slice body = weir_slice_sub(t, skip_line_end(t), t.n);
    size_t run = weir_secrets__run(body, 0, WEIR_SECRET_BASE64, MIN_RUN);
    if (run >= MIN_RUN || begins_with_header(body)) {
        return WEIR_PEM_YES;
    }
    bool is_all = run + skip_line_end(weir_slice_sub(body, run, body.n)) == body.n;
    return is_all ? WEIR_PEM_UNSURE : WEIR_PEM_NO;
}
