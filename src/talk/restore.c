#include "talk/restore.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "wire/json_write.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

void weir_restore_init(struct weir_restore *r, const struct weir_mask *mask,
                       const struct weir_linkwatch_hosts *hosts, bool is_json)
{
    *r = (struct weir_restore){.mask = mask, .hosts = hosts, .is_json = is_json};
    r->scan.mask = mask;
    r->scan.is_json = is_json;
    r->links.is_json = is_json;
}

void weir_restore_dispose(struct weir_restore *r)
{
    weir_mask_scan_dispose(&r->scan);
    free(r->shifts);
    r->shifts = NULL;
    r->n_shifts = 0;
    r->cap_shifts = 0;
}

/* What the model said, whether it leaves or not. */
static void follow(struct weir_restore *r, struct weir_slice text)
{
    if (!r->is_json) {
        weir_linkwatch_feed(&r->links, text);
    }
    for (size_t i = 0; r->is_json && i < text.n; i++) { /* a quote ends a string only in JSON */
        struct weir_slice byte = weir_slice_sub(text, i, i + 1);
        weir_argscan_feed(&r->json, byte);
        r->links.is_json = !r->json.is_bad;
        weir_linkwatch_feed(&r->links, byte);
    }
    r->in_cp += weir_utf8_count(text);
}

static void on_text(void *ctx, struct weir_slice text)
{
    struct weir_restore *r = ctx;
    size_t before_cp = r->in_cp;
    weir_buf_append(r->out, text);
    follow(r, text);
    r->out_cp += r->in_cp - before_cp;
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
    if (!entry->is_restored || !weir_linkwatch_is_open(&r->links, r->hosts)) {
        on_text(r, text);
        return;
    }
    size_t before = r->out->n;
    if (r->is_json && r->json.in_string && !r->json.is_bad) {
        append_escaped(r->out, entry->value);
    } else {
        weir_buf_append(r->out, entry->value);
    }
    follow(r, text);
    r->out_cp += weir_utf8_count(weir_slice_sub(weir_buf_slice(r->out), before, r->out->n));
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
