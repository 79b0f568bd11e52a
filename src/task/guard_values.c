#include "task/guard_values.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>

struct weir_guard_values *weir_guard_values_new(const struct weir_unmask_options *options)
{
    struct weir_guard_values *v = weir_mem_zalloc(sizeof *v);
    v->unmask = weir_unmask_new(options);
    return v;
}

void weir_guard_values_free(struct weir_guard_values *v)
{
    if (v == NULL) {
        return;
    }
    weir_unmask_free(v->unmask);
    weir_buf_dispose(&v->out);
    free(v->moved);
    free(v->moved_list);
    free(v->stretches);
    free(v);
}

/* ---- stretches ---- */

static void add_stretch(struct weir_guard_values *v, struct weir_slice text, bool is_replaced)
{
    if (v->n_stretches == v->cap_stretches) {
        v->cap_stretches = v->cap_stretches != 0 ? v->cap_stretches * 2 : 8;
        v->stretches = weir_mem_realloc(v->stretches, v->cap_stretches * sizeof *v->stretches);
    }
    v->stretches[v->n_stretches++] = (struct weir_guard_stretch){text, is_replaced};
}

/* One that leaves as it is, but for its tokens. Returns where it ends. */
static size_t split(struct weir_guard_values *v, enum weir_channel channel, struct weir_slice text,
                    size_t at_cp)
{
    size_t end_cp = at_cp + weir_utf8_count(text);
    size_t from;
    size_t to;
    while (at_cp < end_cp) {
        bool has_token = weir_unmask_token_at(v->unmask, channel, at_cp, &from, &to);
        bool is_in = has_token && from <= at_cp;
        size_t until = !has_token ? end_cp : is_in ? to : from;
        until = until < end_cp ? until : end_cp;
        size_t n = weir_utf8_byte_at(text, until - at_cp);
        add_stretch(v, weir_slice_sub(text, 0, n), is_in);
        text = weir_slice_sub(text, n, text.n);
        at_cp = until;
    }
    return at_cp;
}

/* Tokens leave as values, or as what they are: either way not as something the model said. */
static void split_all(struct weir_guard_values *v, struct weir_guard_piece *piece)
{
    size_t at_cp = piece->start_cp;
    v->n_stretches = 0;
    for (size_t i = 0; i < piece->n_stretches; i++) {
        const struct weir_guard_stretch *s = &piece->stretches[i];
        if (s->is_replaced) {
            add_stretch(v, s->text, true);
            at_cp += weir_utf8_count(s->text);
        } else {
            at_cp = split(v, piece->channel, s->text, at_cp);
        }
    }
    piece->stretches = v->stretches;
    piece->n_stretches = v->n_stretches;
}

/* ---- findings ---- */

/* They stand where they are in the text with values. */
static void move_findings(struct weir_guard_values *v, struct weir_guard_piece *piece)
{
    if (piece->n_findings > v->cap_moved) {
        v->cap_moved = piece->n_findings * 2;
        v->moved = weir_mem_realloc(v->moved, v->cap_moved * sizeof *v->moved);
        v->moved_list = weir_mem_realloc(v->moved_list, v->cap_moved * sizeof(void *));
    }
    for (size_t i = 0; i < piece->n_findings; i++) {
        struct weir_detection *d = &v->moved[i];
        *d = *piece->findings[i];
        d->start_cp = weir_unmask_map(v->unmask, piece->channel, d->start_cp);
        d->end_cp = weir_unmask_map(v->unmask, piece->channel, d->end_cp);
        v->moved_list[i] = d;
    }
    piece->findings = v->moved_list;
}

static void tell_foreign(struct weir_guard_values *v, struct weir_guard_piece *piece)
{
    piece->has_foreign = weir_unmask_n_foreign(v->unmask) != 0 && !v->has_told_foreign;
    v->has_told_foreign = v->has_told_foreign || piece->has_foreign;
}

/* ---- pieces ---- */

void weir_guard_values_put(struct weir_guard_values *v, struct weir_guard_piece *piece)
{
    split_all(v, piece);
    weir_buf_clear(&v->out);
    weir_unmask_leave(v->unmask, piece->channel, piece->text, piece->taken_back_cp, &v->out);
    weir_unmask_forget(v->unmask, piece->channel, piece->end_cp);
    piece->text = weir_buf_slice(&v->out);
    if (piece->n_findings != 0) {
        move_findings(v, piece);
    }
    tell_foreign(v, piece);
}

void weir_guard_values_end(struct weir_guard_values *v, const struct weir_guard_piece *last)
{
    if (last->taken_back_cp != 0) {
        weir_unmask_leave(v->unmask, last->channel, WEIR_SLICE(""), last->taken_back_cp, &v->out);
    }
    v->last = *last;
    v->has_last = true;
}

void weir_guard_values_next(struct weir_guard_values *v, const struct weir_guard *guard,
                            struct weir_guard_piece *piece)
{
    weir_buf_clear(&v->out);
    while (v->n_flushed < WEIR_CHANNEL_TEXTS) {
        enum weir_channel channel = (enum weir_channel)v->n_flushed++;
        if (weir_unmask_flush(v->unmask, channel, &v->out)) {
            size_t end_cp = weir_guard_length_cp(guard, channel);
            *piece = (struct weir_guard_piece){.what = WEIR_GUARD_TEXT,
                                               .channel = channel,
                                               .text = weir_buf_slice(&v->out),
                                               .start_cp = end_cp,
                                               .end_cp = end_cp};
            return;
        }
    }
    *piece = v->last;
    v->has_last = false;
    tell_foreign(v, piece);
}
