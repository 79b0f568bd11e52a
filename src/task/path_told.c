/*
 * compat fms with one chunker: what it tells is believed.
 *
 *   rows     [0,9) "Hi. " 0..2   [9,9) "you" 0..0   …        as told, in the order told
 *   verdicts [0,1)               [1,2)              …        the aggregator counts rows
 *
 * Offsets that may be anything cannot be compared, so the aggregator is given the chunks' places in
 * their order instead: every chunk is a batch of its own and leaves when all detectors have
 * answered for it. Its text is kept from the chunk, not taken from the log.
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "task/path_int.h"

#include <stdlib.h>

static size_t n_rows(void *ctx)
{
    return ((const struct weir_path_segment *)ctx)->n_told;
}

/* Rows leave no holes. */
static bool never_white(void *ctx, size_t start, size_t end)
{
    (void)ctx;
    (void)start;
    (void)end;
    return false;
}

struct weir_gather_text weir_path__told_text(struct weir_path_segment *seg)
{
    return (struct weir_gather_text){.ctx = seg, .arrived_cp = n_rows, .is_white = never_white};
}

/* What leaves of it: a window's detectors see more than the chunk. */
static struct weir_slice shown(const struct weir_chunk *chunk, struct weir_slice text)
{
    if (chunk->seen_end_cp == chunk->end_cp) {
        return text;
    }
    return weir_slice_sub(text, 0, weir_utf8_byte_at(text, chunk->end_cp - chunk->start_cp));
}

void weir_path__add_row(struct weir_path_segment *seg, const struct weir_chunk *chunk,
                        struct weir_path_text *text)
{
    struct weir_path_row *row = weir_mem_alloc(sizeof *row);
    *row = (struct weir_path_row){.start_cp = chunk->start_cp,
                                  .end_cp = chunk->end_cp,
                                  .told = {.text = shown(chunk, text->text),
                                           .first_frame = chunk->first_frame,
                                           .last_frame = chunk->last_frame},
                                  .text = text};
    text->refs++;
    weir_list_append(&seg->rows, &row->link);
    seg->row_bytes += text->text.n;
    seg->n_told++;
}

static void free_row(struct weir_path_row *row)
{
    weir_path__text_unref(row->text);
    free(row);
}

void weir_path__drop_leaving(struct weir_path *path)
{
    if (path->leaving != NULL) {
        free_row(path->leaving);
        path->leaving = NULL;
    }
}

void weir_path__drop_rows(struct weir_path_segment *seg)
{
    struct weir_list *link;
    while ((link = weir_list_first(&seg->rows)) != NULL) {
        weir_list_remove(link);
        free_row(WEIR_LIST_ENTRY(link, struct weir_path_row, link));
    }
}

void weir_path__take_row(struct weir_path_segment *seg, struct weir_gather_batch *batch)
{
    struct weir_path *path = seg->path;
    struct weir_path_row *row =
        WEIR_LIST_ENTRY(weir_list_first(&seg->rows), struct weir_path_row, link);
    weir_list_remove(&row->link);
    seg->row_bytes -= row->text->text.n;
    weir_path__drop_leaving(path);
    path->leaving = row;
    batch->start_cp = row->start_cp;
    batch->end_cp = row->end_cp;
    batch->told = &row->told;
}

void weir_path__count_rows(struct weir_path_segment *seg)
{
    if (!seg->is_counted) {
        seg->is_counted = true;
        weir_gather_source_end(seg->gather, seg->n_told);
    }
}

bool weir_path_is_told(const struct weir_path *path)
{
    return path->is_told;
}

/* The part of the log that is the last frame; all of it where the chunker numbers none. */
static void last_frame(const struct weir_textlog *log, uint64_t number, size_t *from_cp,
                       size_t *to_cp)
{
    size_t n = weir_textlog_n_frames(log);
    *from_cp = log->from_cp;
    *to_cp = log->end_cp;
    if (number == 0) {
        return;
    }
    size_t n_below = weir_textlog_frames_below(log, number);
    size_t n_upto = weir_textlog_frames_below(log, number + 1);
    if (n_below != 0) {
        *from_cp = weir_textlog_frame(log, n_below - 1).end_cp;
    }
    if (n_upto != n) {
        size_t next_cp = weir_textlog_frame(log, n_upto).start_cp;
        *to_cp = next_cp > *from_cp ? next_cp : *from_cp;
    }
}

size_t weir_path_leaves_cp(const struct weir_path *path, const struct weir_gather_batch *batch)
{
    if (batch->told == NULL) {
        return batch->end_cp;
    }
    size_t from_cp;
    size_t to_cp;
    last_frame(&path->log, batch->told->last_frame, &from_cp, &to_cp);
    size_t end_cp = batch->end_cp > from_cp ? batch->end_cp : from_cp;
    return end_cp < to_cp ? end_cp : to_cp;
}

size_t weir_path_n_ended(const struct weir_path *path, const struct weir_gather_batch *batch)
{
    size_t n_ended = weir_textlog_cut(&path->log, weir_path_leaves_cp(path, batch)).n_ended;
    if (batch->told == NULL || batch->told->last_frame == 0) {
        return n_ended;
    }
    size_t n_named = weir_textlog_frames_below(&path->log, batch->told->last_frame + 1);
    return n_named < n_ended ? n_named : n_ended;
}

void weir_path_leave(struct weir_path *path, const struct weir_gather_batch *batch)
{
    if (batch->told == NULL) {
        weir_path_release(path, batch->end_cp);
        return;
    }
    weir_textlog_trim_some(&path->log, weir_path_leaves_cp(path, batch),
                           weir_path_n_ended(path, batch));
}
