#include "task/open.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <string.h>

void weir_open_init(struct weir_open *o, struct weir_arena *arena)
{
    *o = (struct weir_open){.arena = arena};
}

struct weir_open *weir_open_new(struct weir_arena *arena)
{
    struct weir_open *o = weir_arena_alloc(arena, sizeof *o);
    weir_open_init(o, arena);
    return o;
}

/* What it saw, as far as it answers. */
static struct weir_slice own_text(const struct weir_open_chunk *chunk)
{
    size_t n = chunk->answers_cp != SIZE_MAX ? weir_utf8_byte_at(chunk->text, chunk->answers_cp)
                                             : chunk->text.n;
    return weir_slice_sub(chunk->text, 0, n);
}

/* ---- the open finding ---- */

static void keep_tail(struct weir_open *o, struct weir_slice text)
{
    size_t max = sizeof o->tail;
    if (text.n >= max) { /* so there is one */
        memcpy(o->tail, text.p + text.n - max, max);
        o->n_tail = max;
        return;
    }
    size_t n_old = o->n_tail + text.n > max ? max - text.n : o->n_tail;
    memmove(o->tail, o->tail + o->n_tail - n_old, n_old);
    if (text.n != 0) {
        memcpy(o->tail + n_old, text.p, text.n);
    }
    o->n_tail = n_old + text.n;
}

/* One past the END line, in bytes of the text, or SIZE_MAX. The line may have begun before it. */
static size_t end_line(const struct weir_open *o, struct weir_slice text)
{
    struct weir_buf joined = {0};
    weir_buf_append(&joined, weir_slice_make(o->tail, o->n_tail));
    weir_buf_append(&joined, text);
    size_t end = weir_pem_find_end(weir_buf_slice(&joined), 0);
    weir_buf_dispose(&joined);
    if (end == 0) {
        return SIZE_MAX;
    }
    return end > o->n_tail ? end - o->n_tail : 0;
}

/* How many bytes of the text belong to the open finding; ends it where it ends. */
static size_t continue_open(struct weir_open *o, struct weir_slice text)
{
    size_t n = end_line(o, text);
    bool is_over = n != SIZE_MAX;
    n = is_over ? n : text.n;
    if (n > o->left_bytes) {
        is_over = true;
        n = weir_utf8_floor(text, o->left_bytes);
    }
    o->left_bytes -= n;
    o->state = is_over ? WEIR_OPEN_NOTHING : o->state;
    keep_tail(o, text);
    return n;
}

/* Only a beginning was seen so far: what is new in this chunk says whether it is one. */
static void bear_out(struct weir_open *o, const struct weir_open_chunk *chunk,
                     struct weir_slice text)
{
    size_t known_cp = o->seen_cp > chunk->start_cp ? o->seen_cp - chunk->start_cp : 0;
    size_t known = weir_utf8_byte_at(chunk->text, known_cp);
    switch (weir_pem_goes_on(weir_slice_sub(chunk->text, known, chunk->text.n))) {
    case WEIR_PEM_YES:
        o->state = WEIR_OPEN_FINDING;
        break;
    case WEIR_PEM_NO:
        o->state = WEIR_OPEN_NOTHING;
        break;
    case WEIR_PEM_UNSURE:
        o->left_bytes -= text.n < o->left_bytes ? text.n : o->left_bytes;
        keep_tail(o, text);
        break;
    }
}

/* True: `part` is what the open finding has of this chunk. */
static bool take_part(struct weir_open *o, const struct weir_open_chunk *chunk,
                      struct weir_slice text, struct weir_detection *part)
{
    if (o->state == WEIR_OPEN_BEGUN) {
        bear_out(o, chunk, text);
    }
    if (o->state != WEIR_OPEN_FINDING) {
        return false;
    }
    size_t n = continue_open(o, text);
    size_t start_cp = chunk->start_cp + chunk->from_cp;
    *part = o->like;
    part->has_span = true;
    part->start_cp = o->at_cp < start_cp ? o->at_cp : start_cp;
    part->text = weir_slice_sub(text, 0, n);
    part->end_cp = start_cp + weir_utf8_count(part->text);
    return n != 0;
}

static void keep_words(struct weir_open *o, const struct weir_detection *d)
{
    bool is_same = weir_slice_eq(o->like.detection, d->detection) &&
                   weir_slice_eq(o->like.detection_type, d->detection_type);
    if (!is_same) { /* detectors have few: this does not grow with the text */
        o->like.detection = weir_arena_dup(o->arena, d->detection);
        o->like.detection_type = weir_arena_dup(o->arena, d->detection_type);
    }
    o->like.detector_id = d->detector_id;
    o->like.score = d->score;
}

/* A finding that goes on behind the chunk; `d` is cut where the chunk's own text ends. */
static void open_with(struct weir_open *o, struct weir_slice own, struct weir_detection *d)
{
    size_t from = weir_utf8_byte_at(own, d->start_cp);
    size_t n = own.n - from;
    keep_words(o, d);
    o->state = d->edge == WEIR_EDGE_OPEN ? WEIR_OPEN_FINDING : WEIR_OPEN_BEGUN;
    o->left_bytes = n < WEIR_PEM_MAX_BYTES ? WEIR_PEM_MAX_BYTES - n : 0;
    d->text = weir_slice_sub(own, from, own.n);
    o->n_tail = 0;
    keep_tail(o, d->text); /* an END line before it is another key's */
    d->end_cp = d->start_cp + weir_utf8_count(d->text);
}

/* ---- what the detector found ---- */

/* Was this reported already, with an earlier chunk? */
static bool is_told(const struct weir_open *o, const struct weir_detection *d,
                    const struct weir_detection *part)
{
    if (!d->has_span) {
        return false;
    }
    if (part != NULL && d->start_cp >= part->start_cp && d->end_cp <= part->end_cp) {
        return true;
    }
    return d->edge == WEIR_EDGE_REST && (part != NULL || d->end_cp <= o->reach_cp);
}

size_t weir_open_take(struct weir_open *o, const struct weir_open_chunk *chunk,
                      struct weir_detection *out)
{
    struct weir_slice own = {0};
    struct weir_detection part;
    bool has_part = false;
    size_t n = 0;
    if (o->state != WEIR_OPEN_NOTHING) {
        own = own_text(chunk);
        size_t from = weir_utf8_byte_at(own, chunk->from_cp);
        has_part = take_part(o, chunk, weir_slice_sub(own, from, own.n), &part);
    }
    if (has_part) {
        out[n++] = part;
    }
    for (size_t i = 0; i < chunk->list->n; i++) {
        struct weir_detection d = chunk->list->items[i];
        bool is_before = d.has_span && d.end_cp <= chunk->from_cp && chunk->from_cp != 0;
        if (is_before || d.start_cp >= chunk->answers_cp) {
            continue;
        }
        if (d.edge == WEIR_EDGE_OPEN || d.edge == WEIR_EDGE_MAYBE) {
            own = own_text(chunk);
            open_with(o, own, &d);
        }
        d.start_cp += chunk->start_cp;
        d.end_cp += chunk->start_cp;
        if (d.edge != WEIR_EDGE_MAYBE && !is_told(o, &d, has_part ? &part : NULL)) {
            out[n++] = d;
        }
    }
    for (size_t i = 0; i < n; i++) {
        out[i].edge = WEIR_EDGE_NONE;
        o->reach_cp = out[i].end_cp > o->reach_cp ? out[i].end_cp : o->reach_cp;
    }
    if (o->state != WEIR_OPEN_NOTHING) {
        o->at_cp = chunk->start_cp + weir_utf8_count(own);
        o->seen_cp = chunk->start_cp + weir_utf8_count(chunk->text);
    }
    return n;
}
