/*
 * A batch with an event that is no text inside of it. Built-in chunkers end their chunk there,
 * those of a service do not:
 *
 *   items   [text 0..4) [tool call] [text 4..9)
 *   batch   0 ──────────────────────────────► 9
 *   leaves  text 0..4    tool call    text 4..9
 *
 * Findings go with the part in which they begin; those without a place with the last one.
 */
#include "task/completion_stream_int.h"

/* Where the first such event stands; the batch's end: nowhere. */
static size_t first_cut(const struct weir_cs_choice *choice, const struct weir_gather_batch *batch)
{
    for (struct weir_list *at = choice->items.next; at != &choice->items; at = at->next) {
        const struct weir_cs_item *item = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
        if (item->start_cp >= batch->end_cp) {
            break;
        }
        if (!item->has_text && !item->is_hollow && item->start_cp > batch->start_cp) {
            return item->start_cp;
        }
    }
    return batch->end_cp;
}

/* The last event with text before the cut, and the first behind it; false: one is missing. */
static bool neighbours(const struct weir_cs_choice *choice, size_t cut_cp, uint64_t *before,
                       uint64_t *behind)
{
    bool has_before = false;
    for (struct weir_list *at = choice->items.next; at != &choice->items; at = at->next) {
        const struct weir_cs_item *item = WEIR_LIST_ENTRY(at, struct weir_cs_item, link);
        if (item->has_text && item->start_cp >= cut_cp) {
            *behind = item->frame;
            return has_before;
        }
        if (item->has_text) {
            *before = item->frame;
            has_before = true;
        }
    }
    return false;
}

/* A chunker that is believed may tell anything: only what is our text, at its place and made of the
 * events that it is of, can be cut in two. */
static bool split_told(const struct weir_cs_choice *choice, const struct weir_gather_batch *rest,
                       size_t cut_cp, struct weir_path_told told[2])
{
    const struct weir_textlog *log = weir_path_log(choice->path);
    const struct weir_path_told *whole = rest->told;
    uint64_t before;
    uint64_t behind;
    if (rest->start_cp < log->from_cp || rest->end_cp > log->end_cp ||
        !weir_slice_eq(whole->text, weir_textlog_slice(log, rest->start_cp, rest->end_cp)) ||
        !neighbours(choice, cut_cp, &before, &behind) || before < whole->first_frame ||
        behind > whole->last_frame) {
        return false;
    }
    size_t n = weir_textlog_slice(log, rest->start_cp, cut_cp).n;
    told[0] = (struct weir_path_told){.text = weir_slice_sub(whole->text, 0, n),
                                      .first_frame = whole->first_frame,
                                      .last_frame = before};
    told[1] = (struct weir_path_told){.text = weir_slice_sub(whole->text, n, whole->text.n),
                                      .first_frame = behind,
                                      .last_frame = whole->last_frame};
    return true;
}

/* How many begin before there; `from_cp` is what their spans count from. */
static size_t n_found_before(const struct weir_gather_batch *batch, size_t from_cp, size_t cut_cp)
{
    size_t n = 0;
    while (n < batch->n_findings && batch->findings[n]->has_span &&
           batch->findings[n]->start_cp + from_cp < cut_cp) {
        n++;
    }
    return n;
}

bool weir_cs__split(const struct weir_cs_choice *choice, struct weir_gather_batch *rest,
                    struct weir_cs_part *part)
{
    size_t cut_cp = first_cut(choice, rest);
    if (cut_cp >= rest->end_cp) {
        return false;
    }
    part->batch = *rest;
    struct weir_path_told told[2];
    if (rest->told != NULL) {
        if (!split_told(choice, rest, cut_cp, told)) {
            return false;
        }
        memcpy(part->told, told, sizeof told);
        part->batch.told = &part->told[0];
        rest->told = &part->told[1];
    }
    /* With compat fms spans count from their chunk, which mostly begins where the batch does. */
    size_t from_cp =
        choice->cs->stream.task->env->compat.spans_in_chunks ? part->whole_start_cp : 0;
    size_t n = n_found_before(rest, from_cp, cut_cp);
    part->batch.end_cp = cut_cp;
    part->batch.n_findings = n;
    rest->start_cp = cut_cp;
    rest->findings = n != 0 ? rest->findings + n : rest->findings;
    rest->n_findings -= n;
    return true;
}
