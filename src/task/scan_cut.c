/*
 * Texts to chunks. A chunker answers for ranges of a piece; unless it is believed as it is (compat
 * fms), every code point must lie in a chunk or be white space, and chunks come in order.
 */
#include "base/err.h"
#include "base/utf8.h"
#include "task/blank.h"
#include "task/scan_int.h"
#include "task/textlog.h"

/* Pushed at a time to a chunker that looks at once: sentences cost up to 10 ms a MiB. */
enum { PUSH_BYTES = 32 * 1024 };

static void blame(struct weir_scan_piece *p, const char *why)
{
    struct weir_fault fault = {.origin = WEIR_FAULT_CHUNKER,
                               .id = p->cutting->chunker->id,
                               .err = WEIR_EPEER,
                               .why = weir_slice_cstr(why)};
    weir_scan__fail(p->cutting->scan, &fault);
}

/* Byte offset of a code point of the piece. Chunks come in order, so the way is short. */
static size_t byte_at(struct weir_scan_piece *p, size_t cp)
{
    if (cp == p->n_cp) {
        return p->text.n;
    }
    if (cp < p->at_cp) {
        p->at_cp = 0;
        p->at_byte = 0;
    }
    struct weir_slice rest = weir_slice_sub(p->text, p->at_byte, p->text.n);
    p->at_byte += weir_utf8_byte_at(rest, cp - p->at_cp);
    p->at_cp = cp;
    return p->at_byte;
}

static struct weir_slice slice_of(struct weir_scan_piece *p, size_t start_cp, size_t end_cp)
{
    size_t start = byte_at(p, start_cp);
    struct weir_slice rest = weir_slice_sub(p->text, start, p->text.n);
    if (end_cp == p->n_cp) {
        return rest;
    }
    return weir_slice_sub(rest, 0, weir_utf8_byte_at(rest, end_cp - start_cp));
}

static void add_chunk(struct weir_scan_piece *p, const struct weir_scan_chunk *chunk)
{
    if (p->n_chunks == p->cap_chunks) {
        size_t cap = p->cap_chunks != 0 ? p->cap_chunks * 2 : 1;
        struct weir_arena *arena = p->cutting->scan->task->arena;
        struct weir_scan_chunk *grown = weir_arena_array(arena, cap, sizeof *grown);
        if (p->n_chunks != 0) {
            memcpy(grown, p->chunks, p->n_chunks * sizeof *grown);
        }
        p->chunks = grown;
        p->cap_chunks = cap;
    }
    p->chunks[p->n_chunks] = *chunk;
    p->chunks[p->n_chunks].is_first = p->n_chunks == 0;
    p->n_chunks++;
}

/* As the chunker said it, its own text included. */
static void take_lenient(struct weir_scan_piece *p, const struct weir_chunk *chunk)
{
    struct weir_slice text = chunk->text;
    if (text.p == NULL) {
        text = slice_of(p, chunk->start_cp, chunk->seen_end_cp);
    } else {
        text = weir_arena_dup(p->cutting->scan->task->arena, text);
    }
    add_chunk(p, &(struct weir_scan_chunk){.text = text,
                                           .start_cp = p->start_cp + chunk->start_cp,
                                           .answers_cp = SIZE_MAX});
}

/* NULL: fine so far. */
static const char *fault_of(struct weir_scan_piece *p, const struct weir_chunk *chunk)
{
    if (chunk->start_cp < p->covered_cp || chunk->end_cp < chunk->start_cp) {
        return "overlap: a chunk begins before the last one ended";
    }
    if (chunk->end_cp > p->n_cp || chunk->seen_end_cp > p->n_cp) {
        return "a chunk ends beyond the text";
    }
    if (!weir_blank_is(slice_of(p, p->covered_cp, chunk->start_cp))) {
        return "uncovered: text between two chunks is not white space";
    }
    return NULL;
}

static void take(struct weir_scan_piece *p, const struct weir_chunk *chunk)
{
    const char *why = fault_of(p, chunk);
    if (why != NULL) {
        blame(p, why);
        return;
    }
    p->covered_cp = chunk->end_cp;
    if (chunk->end_cp == chunk->start_cp) {
        return;
    }
    size_t seen_cp = chunk->start_cp - chunk->back_cp;
    struct weir_slice text = slice_of(p, seen_cp, chunk->seen_end_cp);
    if (chunk->text.p != NULL && !weir_blank_same(chunk->text, text)) {
        blame(p, "a chunk's text is not the text that was sent");
        return;
    }
    size_t n_cp = chunk->end_cp - seen_cp;
    bool is_window = chunk->seen_end_cp != chunk->end_cp;
    size_t at = (size_t)(text.p - p->text.p);
    size_t from = weir_utf8_back(p->text, at, p->cutting->chunker->before_cp);
    add_chunk(p, &(struct weir_scan_chunk){.text = text,
                                           .n_before = at - from,
                                           .start_cp = p->start_cp + seen_cp,
                                           .from_cp = chunk->back_cp,
                                           .answers_cp = is_window ? n_cp : SIZE_MAX});
}

/* The chunks of all pieces in the order of the pieces, whichever was done first. */
static void join_pieces(struct weir_scan_cutting *c)
{
    if (c->n_pieces == 1) {
        c->chunks = c->pieces[0].chunks;
        c->n_chunks = c->pieces[0].n_chunks;
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < c->n_pieces; i++) {
        n += c->pieces[i].n_chunks;
    }
    struct weir_scan_chunk *all = weir_arena_array(c->scan->task->arena, n, sizeof *all);
    c->chunks = all;
    for (size_t i = 0; i < c->n_pieces; i++) {
        const struct weir_scan_piece *p = &c->pieces[i];
        if (p->n_chunks != 0) {
            memcpy(all + c->n_chunks, p->chunks, p->n_chunks * sizeof *all);
            c->n_chunks += p->n_chunks;
        }
    }
}

static void finish_piece(struct weir_scan_piece *p)
{
    struct weir_scan_cutting *c = p->cutting;
    bool is_lenient = c->scan->task->env->compat.is_lenient;
    if (!is_lenient && !weir_blank_is(slice_of(p, p->covered_cp, p->n_cp))) {
        blame(p, "uncovered: text after the last chunk is not white space");
        return;
    }
    weir_chunk_close(p->stream);
    p->stream = NULL;
    weir_scan__leave(c->scan, c->lane);
    c->n_open--;
    if (c->n_open == 0) {
        join_pieces(c);
        weir_scan__cut_done(c);
    }
}

/* Takes what the chunker has ready. */
static void pull(struct weir_scan_piece *p)
{
    struct weir_scan *scan = p->cutting->scan;
    struct weir_chunk chunk;
    int rc = 0;
    while (scan->fault.origin == WEIR_FAULT_NONE &&
           (rc = weir_chunk_next(p->stream, &chunk)) == 0) {
        if (scan->task->env->compat.is_lenient) {
            take_lenient(p, &chunk);
        } else {
            take(p, &chunk);
        }
    }
    if (scan->fault.origin != WEIR_FAULT_NONE || rc == WEIR_EAGAIN) {
        return;
    }
    if (rc == WEIR_ECLOSED) {
        finish_piece(p);
    } else {
        weir_scan__fail(scan, p->stream->fault);
    }
}

/* The next of the text; all of it to a service, which is asked once. */
static struct weir_slice next_part(const struct weir_scan_piece *p)
{
    struct weir_slice rest = weir_slice_sub(p->text, p->n_pushed, p->text.n);
    if (!p->cutting->chunker->is_immediate || rest.n <= PUSH_BYTES) {
        return rest;
    }
    return weir_slice_sub(rest, 0, weir_utf8_floor(rest, PUSH_BYTES));
}

static void push_some(struct weir_scan_piece *p)
{
    struct weir_slice part = next_part(p);
    weir_chunk_push(p->stream, 0, part);
    p->n_pushed += part.n;
    if (p->n_pushed == p->text.n) {
        weir_chunk_end(p->stream);
    } else {
        weir_loop_step(p->cutting->scan->task->loop, &p->step);
    }
    pull(p);
}

static void on_step(struct weir_post *step)
{
    struct weir_scan_piece *p = WEIR_LIST_ENTRY(step, struct weir_scan_piece, step);
    push_some(p);
    weir_scan__advance(p->cutting->scan);
}

static void on_ready(void *ctx, struct weir_chunk_stream *stream)
{
    struct weir_scan_piece *p = ctx;
    struct weir_scan *scan = p->cutting->scan;
    (void)stream;
    pull(p);
    weir_scan__advance(scan);
}

void weir_scan__piece_start(struct weir_scan_piece *p)
{
    const struct weir_task_ctx *task = p->cutting->scan->task;
    struct weir_chunk_env env = {.loop = task->loop,
                                 .client = task->client,
                                 .context = &task->call,
                                 .max_body_bytes = task->env->max_service_body_bytes};
    struct weir_chunk_options options = {.is_whole = true,
                                         .is_lenient = task->env->compat.is_lenient};
    p->stream = weir_chunk_open(p->cutting->chunker, &env, &options, on_ready, p);
    p->step.fn = on_step;
    push_some(p);
}

void weir_scan__cut_start(struct weir_scan_cutting *c)
{
    for (size_t i = 0; i < c->n_pieces; i++) {
        weir_scan__wait(c->scan, c->lane, &c->pieces[i].link);
    }
    if (c->n_pieces == 0) {
        weir_scan__cut_done(c);
    }
}

void weir_scan__cut_cancel(struct weir_scan_cutting *c)
{
    for (size_t i = 0; i < c->n_pieces; i++) {
        weir_loop_unpost(&c->pieces[i].step);
        weir_chunk_close(c->pieces[i].stream);
        c->pieces[i].stream = NULL;
    }
}

/* Masks may be many and in any order: the text is counted once for all of them. */
static void cut_masks(struct weir_scan_cutting *c)
{
    const struct weir_scan_text *t = c->text;
    struct weir_textlog index = {0};
    weir_textlog_append(&index, 0, t->text, NULL);
    for (size_t i = 0; i < c->n_pieces; i++) {
        const struct weir_scan_mask *mask = &t->masks[i];
        size_t from = weir_textlog_byte_at(&index, mask->start_cp);
        size_t to = weir_textlog_byte_at(&index, mask->end_cp);
        c->pieces[i] = (struct weir_scan_piece){.cutting = c,
                                                .text = weir_slice_sub(t->text, from, to),
                                                .start_cp = mask->start_cp,
                                                .n_cp = mask->end_cp - mask->start_cp};
    }
    weir_textlog_dispose(&index);
}

/* An empty text has no pieces: there is nothing a chunker could be asked. */
static void add_pieces(struct weir_scan_cutting *c)
{
    const struct weir_scan_text *t = c->text;
    c->n_pieces = t->n_masks != 0 ? t->n_masks : t->text.n != 0;
    c->n_open = c->n_pieces;
    c->pieces = weir_arena_array(c->scan->task->arena, c->n_pieces, sizeof *c->pieces);
    if (t->n_masks != 0) {
        cut_masks(c);
    } else if (c->n_pieces != 0) {
        c->pieces[0] = (struct weir_scan_piece){
            .cutting = c, .text = t->text, .n_cp = weir_utf8_count(t->text)};
    }
}

struct weir_scan_cutting *weir_scan__cutting(struct weir_scan *scan, struct weir_scan_text *text,
                                             const struct weir_chunker *chunker)
{
    struct weir_scan_cutting **at = &text->cuttings;
    for (; *at != NULL; at = &(*at)->next) {
        if ((*at)->chunker == chunker) {
            return *at;
        }
    }
    struct weir_scan_cutting *c = weir_arena_zalloc(scan->task->arena, sizeof *c);
    c->scan = scan;
    c->text = text;
    c->chunker = chunker;
    c->jobs_tail = &c->jobs;
    c->lane = weir_scan__lane(scan, chunker, scan->task->env->max_chunker_calls);
    c->lane->has_pieces = true;
    add_pieces(c);
    *at = c;
    return c;
}
