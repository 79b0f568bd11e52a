#include "task/unmask.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>

struct channel {
    struct weir_mask_scan scan; /* of what the model said */
    struct weir_mask_foreign foreign;
    struct weir_buf taken;           /* what may go to the guard */
    size_t taken_cp;                 /* of all that has gone there */
    struct weir_unmask_spans tokens; /* in it */
    struct weir_restore restore;     /* of what leaves */
};

struct weir_unmask {
    struct weir_unmask_options o;
    struct channel channels[WEIR_CHANNEL_TEXTS];
    size_t n_foreign;
};

struct weir_unmask *weir_unmask_new(const struct weir_unmask_options *o)
{
    struct weir_unmask *u = weir_mem_zalloc(sizeof *u);
    u->o = *o;
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        struct channel *c = &u->channels[i];
        bool is_json = o->is_json && i == WEIR_CHANNEL_CONTENT;
        c->scan.mask = o->mask;
        c->scan.is_json = is_json;
        weir_restore_init(&c->restore, o->mask, &o->policy->hosts,
                          is_json ? WEIR_RESTORE_ARGUMENTS : WEIR_RESTORE_TEXT);
        c->restore.keeps_shifts = o->keeps_places;
    }
    return u;
}

void weir_unmask_free(struct weir_unmask *u)
{
    for (size_t i = 0; u != NULL && i < WEIR_CHANNEL_TEXTS; i++) {
        struct channel *c = &u->channels[i];
        weir_mask_scan_dispose(&c->scan);
        weir_restore_dispose(&c->restore);
        weir_buf_dispose(&c->taken);
        weir_unmask_spans_dispose(&c->tokens);
    }
    free(u);
}

/* ---- where tokens are ---- */

void weir_unmask_spans_dispose(struct weir_unmask_spans *s)
{
    free(s->items);
    *s = (struct weir_unmask_spans){0};
}

void weir_unmask_spans_add(struct weir_unmask_spans *s, size_t start_cp, size_t end_cp)
{
    if (s->n == s->cap && s->first != 0) {
        s->n -= s->first;
        memmove(s->items, s->items + s->first, s->n * sizeof *s->items);
        s->first = 0;
    }
    if (s->n == s->cap) {
        s->cap = s->cap != 0 ? s->cap * 2 : 8;
        s->items = weir_mem_realloc(s->items, s->cap * sizeof *s->items);
    }
    s->items[s->n++] = (struct weir_unmask_span){start_cp, end_cp};
}

struct reading {
    struct weir_unmask_spans *spans;
    size_t at_cp;
};

static void on_other(void *ctx, struct weir_slice text)
{
    struct reading *r = ctx;
    r->at_cp += weir_utf8_count(text);
}

static void on_span(void *ctx, struct weir_slice text, const struct weir_mask_entry *entry)
{
    struct reading *r = ctx;
    size_t start_cp = r->at_cp;
    (void)entry;
    on_other(ctx, text);
    weir_unmask_spans_add(r->spans, start_cp, r->at_cp);
}

void weir_unmask_spans_read(struct weir_unmask_spans *s, const struct weir_mask *mask,
                            struct weir_slice text)
{
    struct reading r = {.spans = s};
    struct weir_mask_scan scan = {.mask = mask};
    struct weir_mask_sink sink = {on_other, on_span, &r};
    weir_mask_scan_feed(&scan, text, &sink);
    weir_mask_scan_end(&scan, &sink);
    weir_mask_scan_dispose(&scan);
}

/* ---- before the guard ---- */

static void on_text(void *ctx, struct weir_slice text)
{
    struct channel *c = ctx;
    weir_buf_append(&c->taken, text);
    c->taken_cp += weir_utf8_count(text);
}

static void on_token(void *ctx, struct weir_slice text, const struct weir_mask_entry *entry)
{
    struct channel *c = ctx;
    (void)entry;
    size_t start_cp = c->taken_cp;
    on_text(c, text);
    weir_unmask_spans_add(&c->tokens, start_cp, c->taken_cp);
}

static void count(struct weir_unmask *u, size_t n)
{
    if (n != 0) {
        u->n_foreign += n;
        weir_metric_add(u->o.policy->foreign, n);
    }
}

struct weir_slice weir_unmask_take(struct weir_unmask *u, enum weir_channel channel,
                                   struct weir_slice text)
{
    struct channel *c = &u->channels[channel];
    weir_buf_clear(&c->taken);
    count(u, weir_mask_foreign_feed(&c->foreign, u->o.mask, text));
    weir_mask_scan_feed(&c->scan, text, &(struct weir_mask_sink){on_text, on_token, c});
    return weir_buf_slice(&c->taken);
}

struct weir_slice weir_unmask_rest(struct weir_unmask *u, enum weir_channel channel)
{
    struct channel *c = &u->channels[channel];
    weir_buf_clear(&c->taken);
    count(u, weir_mask_foreign_end(&c->foreign, u->o.mask));
    weir_mask_scan_end(&c->scan, &(struct weir_mask_sink){on_text, on_token, c});
    return weir_buf_slice(&c->taken);
}

const struct weir_mask *weir_unmask_mask(const struct weir_unmask *u)
{
    return u->o.mask;
}

size_t weir_unmask_n_foreign(const struct weir_unmask *u)
{
    return u->n_foreign;
}

/* ---- findings ---- */

/* The first token that ends behind there. */
static size_t token_behind(const struct weir_unmask_spans *s, size_t cp)
{
    size_t from = s->first;
    size_t to = s->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s->items[middle].end_cp <= cp) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static bool is_quote(struct weir_slice text, bool is_first)
{
    static const char *const quotes[] = {"\"",     "'",      "`",      "\u201C", "\u201D",
                                         "\u2018", "\u2019", "\u00AB", "\u00BB", "\u201E"};
    for (size_t i = 0; i < sizeof quotes / sizeof quotes[0]; i++) {
        struct weir_slice q = weir_slice_cstr(quotes[i]);
        if (is_first ? weir_slice_starts_with(text, q) : weir_slice_ends_with(text, q)) {
            return true;
        }
    }
    return false;
}

/* Without the quotes around it. */
static struct weir_unmask_span inner_of(const struct weir_detection *d)
{
    struct weir_unmask_span inner = {d->start_cp, d->end_cp};
    inner.start_cp += is_quote(d->text, true) && inner.end_cp > inner.start_cp;
    inner.end_cp -= is_quote(d->text, false) && inner.end_cp > inner.start_cp;
    return inner;
}

bool weir_unmask_spans_judge(const struct weir_unmask_spans *s, struct weir_detection *d)
{
    struct weir_unmask_span inner = inner_of(d);
    size_t i = token_behind(s, inner.start_cp);
    if (i < s->n && s->items[i].start_cp <= inner.start_cp && s->items[i].end_cp >= inner.end_cp) {
        return false;
    }
    for (i = token_behind(s, d->start_cp); i < s->n && s->items[i].start_cp < d->end_cp; i++) {
        const struct weir_unmask_span *t = &s->items[i];
        d->start_cp = t->start_cp < d->start_cp ? t->start_cp : d->start_cp;
        d->end_cp = t->end_cp > d->end_cp ? t->end_cp : d->end_cp;
    }
    return true;
}

bool weir_unmask_judge(struct weir_unmask *u, enum weir_channel channel, struct weir_detection *d)
{
    return weir_unmask_spans_judge(&u->channels[channel].tokens, d);
}

/* ---- what leaves ---- */

bool weir_unmask_token_at(const struct weir_unmask *u, enum weir_channel channel, size_t at_cp,
                          size_t *start_cp, size_t *end_cp)
{
    const struct weir_unmask_spans *s = &u->channels[channel].tokens;
    size_t i = token_behind(s, at_cp);
    if (i == s->n) {
        return false;
    }
    *start_cp = s->items[i].start_cp;
    *end_cp = s->items[i].end_cp;
    return true;
}

void weir_unmask_forget(struct weir_unmask *u, enum weir_channel channel, size_t end_cp)
{
    struct weir_unmask_spans *s = &u->channels[channel].tokens;
    s->first = token_behind(s, end_cp);
}

void weir_unmask_leave(struct weir_unmask *u, enum weir_channel channel, struct weir_slice text,
                       size_t n_back, struct weir_buf *out)
{
    struct weir_restore *r = &u->channels[channel].restore;
    if (u->o.keeps_tokens) {
        weir_buf_append(out, text);
        return;
    }
    weir_restore_take_back(r, n_back);
    weir_restore_feed(r, text, out);
}

bool weir_unmask_flush(struct weir_unmask *u, enum weir_channel channel, struct weir_buf *out)
{
    struct weir_restore *r = &u->channels[channel].restore;
    bool has_any = weir_restore_holds(r);
    weir_restore_end(r, out);
    return has_any;
}

size_t weir_unmask_map(const struct weir_unmask *u, enum weir_channel channel, size_t at_cp)
{
    return weir_restore_map(&u->channels[channel].restore, at_cp);
}

void weir_unmask_forget_places(struct weir_unmask *u, enum weir_channel channel, size_t until_cp)
{
    weir_restore_forget(&u->channels[channel].restore, until_cp);
}

void weir_unmask_count_calls(struct weir_unmask *u, const struct weir_tools *calls)
{
    for (size_t i = 0; calls != NULL && i < calls->n; i++) {
        struct weir_mask_foreign foreign = {0};
        struct weir_slice text = weir_buf_slice(&calls->items[i].arguments);
        count(u, weir_mask_foreign_feed(&foreign, u->o.mask, text));
        count(u, weir_mask_foreign_end(&foreign, u->o.mask));
    }
}

void weir_unmask_calls(struct weir_unmask *u, struct weir_tools *calls)
{
    for (size_t i = 0; i < calls->n && !u->o.keeps_tokens; i++) {
        struct weir_tool *call = &calls->items[i];
        struct weir_restore r;
        struct weir_buf out = {0};
        weir_restore_init(&r, u->o.mask, &u->o.policy->hosts,
                          call->is_custom ? WEIR_RESTORE_TEXT : WEIR_RESTORE_ARGUMENTS);
        weir_restore_feed(&r, weir_buf_slice(&call->arguments), &out);
        weir_restore_end(&r, &out);
        calls->n_bytes -= call->arguments.n;
        calls->n_bytes += out.n;
        weir_buf_dispose(&call->arguments);
        weir_buf_init(&call->arguments, 0); /* values may be longer than tokens */
        weir_buf_append(&call->arguments, weir_buf_slice(&out));
        weir_buf_dispose(&out);
        weir_restore_dispose(&r);
    }
}
