#include "talk/restore.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "wire/json_write.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

void weir_restore_init(struct weir_restore *r, const struct weir_mask *mask,
                       const struct weir_linkwatch_hosts *hosts, enum weir_restore_kind kind)
{
    *r = (struct weir_restore){.mask = mask, .hosts = hosts, .kind = kind};
    r->scan.mask = mask;
    r->scan.is_json = kind != WEIR_RESTORE_TEXT;
    r->links.is_json = kind != WEIR_RESTORE_TEXT;
}

void weir_restore_dispose(struct weir_restore *r)
{
    weir_mask_scan_dispose(&r->scan);
    free(r->shifts);
    r->shifts = NULL;
    r->n_shifts = 0;
    r->cap_shifts = 0;
}

static bool is_json(const struct weir_restore *r)
{
    return r->kind != WEIR_RESTORE_TEXT;
}

/* Is the member with this name a URL? A name with an escape in it may be any. */
static void judge_name(struct weir_restore *r, char c)
{
    static const char *const ends[] = {"url",  "urls", "uri",   "uris",
                                       "href", "link", "links", "source"};
    size_t n = sizeof r->name;
    memmove(r->name, r->name + 1, n - 1);
    r->name[n - 1] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    r->has_escape = r->has_escape || c == '\\';
    r->is_url = r->has_escape;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t n_end = strlen(ends[i]);
        r->is_url = r->is_url || memcmp(r->name + n - n_end, ends[i], n_end) == 0;
    }
}

static void follow_json(struct weir_restore *r, struct weir_slice byte)
{
    bool was_in_string = r->json.in_string;
    weir_argscan_feed(&r->json, byte);
    r->links.is_json = !r->json.is_bad; /* a quote ends a string only in JSON */
    weir_linkwatch_feed(&r->links, byte);
    bool begins = r->json.in_string && !was_in_string;
    if (r->json.is_bad || !r->json.in_string) {
        return;
    }
    if (begins && r->json.is_key) {
        memset(r->name, 0, sizeof r->name);
        r->is_url = false;
        r->has_escape = false;
    } else if (begins && r->is_url) {
        weir_linkwatch_begin_url(&r->links);
    } else if (r->json.is_key) {
        judge_name(r, byte.p[0]);
    }
}

/* What leaves, as whoever shows it will read it: a value may be a URL that goes on behind it. */
static void follow(struct weir_restore *r, struct weir_slice text)
{
    if (!is_json(r)) {
        weir_linkwatch_feed(&r->links, text);
    }
    for (size_t i = 0; is_json(r) && i < text.n; i++) {
        follow_json(r, weir_slice_sub(text, i, i + 1));
    }
    r->out_cp += weir_utf8_count(text);
}

/* May a value be put here? */
static bool is_open(const struct weir_restore *r)
{
    bool keeps = r->kind == WEIR_RESTORE_ITEM && (r->is_url || r->json.is_bad);
    return !keeps && weir_linkwatch_is_open(&r->links, r->hosts);
}

static void on_text(void *ctx, struct weir_slice text)
{
    struct weir_restore *r = ctx;
    size_t before_cp = r->out_cp;
    weir_buf_append(r->out, text);
    follow(r, text);
    r->in_cp += r->out_cp - before_cp;
}

static void add_shift(struct weir_restore *r)
{
    if (r->n_shifts == r->cap_shifts) {
        r->cap_shifts = r->cap_shifts != 0 ? r->cap_shifts * 2 : 8;
        r->shifts = weir_mem_realloc(r->shifts, r->cap_shifts * sizeof *r->shifts);
    }
    r->shifts[r->n_shifts++] = (struct weir_restore_shift){r->in_cp, r->out_cp};
}

/* As the content of a string, without its quotes. */
static void append_escaped(struct weir_buf *out, struct weir_slice value)
{
    struct weir_buf quoted = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &quoted);
    weir_json_write_string(&w, value);
    weir_buf_append(out, weir_slice_sub(weir_buf_slice(&quoted), 1, quoted.n - 1));
    OPENSSL_cleanse(quoted.p, quoted.n);
    weir_buf_dispose(&quoted);
}

static void on_token(void *ctx, struct weir_slice text, const struct weir_mask_entry *entry)
{
    struct weir_restore *r = ctx;
    if (!entry->is_restored || !is_open(r)) {
        on_text(r, text);
        return;
    }
    size_t before = r->out->n;
    if (is_json(r) && r->json.in_string && !r->json.is_bad) {
        append_escaped(r->out, entry->value);
    } else {
        weir_buf_append(r->out, entry->value);
    }
    follow(r, weir_slice_sub(weir_buf_slice(r->out), before, r->out->n));
    r->in_cp += weir_utf8_count(text);
    r->n_restored++;
    add_shift(r);
}

static void begin(struct weir_restore *r, struct weir_buf *out)
{
    r->out = out;
    if (r->n_shifts != 0 && !r->keeps_shifts) {
        r->base = r->shifts[r->n_shifts - 1];
        r->n_shifts = 0;
    }
}

void weir_restore_feed(struct weir_restore *r, struct weir_slice text, struct weir_buf *out)
{
    begin(r, out);
    weir_mask_scan_feed(&r->scan, text, &(struct weir_mask_sink){on_text, on_token, r});
}

void weir_restore_end(struct weir_restore *r, struct weir_buf *out)
{
    begin(r, out);
    weir_mask_scan_end(&r->scan, &(struct weir_mask_sink){on_text, on_token, r});
}

void weir_restore_take_back(struct weir_restore *r, size_t n)
{
    struct weir_buf *held = &r->scan.held;
    held->n -= n < held->n ? n : held->n;
}

/* How many of them are not behind that place. */
static size_t shifts_until(const struct weir_restore *r, size_t at_cp)
{
    size_t from = 0;
    size_t to = r->n_shifts;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (r->shifts[middle].in_cp <= at_cp) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

void weir_restore_forget(struct weir_restore *r, size_t until_cp)
{
    size_t n = shifts_until(r, until_cp);
    if (n > r->n_shifts / 2) {
        r->base = r->shifts[n - 1];
        r->n_shifts -= n;
        memmove(r->shifts, r->shifts + n, r->n_shifts * sizeof *r->shifts);
    }
}

size_t weir_restore_map(const struct weir_restore *r, size_t at_cp)
{
    size_t n = shifts_until(r, at_cp);
    struct weir_restore_shift last = n != 0 ? r->shifts[n - 1] : r->base;
    return at_cp >= last.in_cp ? at_cp - last.in_cp + last.out_cp : at_cp;
}
