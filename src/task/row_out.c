/* What of a row leaves, and when. */
#include "base/assert.h"
#include "base/err.h"
#include "base/utf8.h"
#include "task/row_int.h"

/* ---- texts ---- */

static struct weir_row_found found_of(const struct weir_row_place *place,
                                      const struct weir_guard_piece *piece)
{
    return (struct weir_row_found){.number = place->o.number,
                                   .channel = piece->channel,
                                   .findings = piece->findings,
                                   .n_findings = piece->n_findings};
}

/* The guard's next piece. False: it has none yet, has said its last, or the row is over. */
static bool pop(struct weir_row_place *place, struct weir_guard_piece *piece)
{
    struct weir_row *row = place->row;
    if (place->is_over || row->is_over) {
        return false;
    }
    int rc = weir_guard_pop(place->guard, piece);
    if (rc == WEIR_EAGAIN) {
        return false;
    }
    if (rc != 0) {
        weir_row__fail(row, weir_guard_fault(place->guard));
        return false;
    }
    bool is_text = piece->what == WEIR_GUARD_TEXT && piece->channel < WEIR_CHANNEL_TEXTS;
    if (is_text && !weir_row__is_annotating(row) && !weir_guard_has_judged(place->guard, piece)) {
        weir_row__fail_promise(place, weir_channel_name(piece->channel));
        return false;
    }
    place->is_over = piece->what != WEIR_GUARD_TEXT;
    return true;
}

static void block(struct weir_row_place *place, const struct weir_guard_piece *piece)
{
    struct weir_row *row = place->row;
    struct weir_row_found found = found_of(place, piece);
    weir_row__finish(row);
    row->o.ops->blocked(row->o.ctx, &found);
}

void weir_row__send_line(struct weir_row *row, const struct weir_row_item *item, bool is_touched)
{
    row->o.ops->line(row->o.ctx, &(struct weir_row_line){.tag = item->tag,
                                                         .number = item->number,
                                                         .json = weir_row__json_of(item),
                                                         .raw = weir_row__raw_of(item),
                                                         .is_touched = is_touched});
}

/* An event that says nothing, as it came. */
static void send_empty(struct weir_row *row, const struct weir_row_item *item)
{
    row->o.ops->text(row->o.ctx,
                     &(struct weir_row_text){
                         .found = {.number = item->number, .channel = item->place->o.channel},
                         .json = weir_row__json_of(item),
                         .raw = weir_row__raw_of(item)});
}

/* An event whose end is not judged yet leaves as it came when it is: nothing was found up to there,
 * and it is not long. */
static bool is_kept(const struct weir_row_item *item, const struct weir_guard_piece *piece,
                    bool is_begun)
{
    enum { WHOLE_CP = 32 };
    return item->end_cp > piece->end_cp && piece->n_findings == 0 && is_begun &&
           weir_row__json_of(item).n != 0 && item->end_cp - item->start_cp <= WHOLE_CP;
}

/* As much of the piece as lies in the item, as it came if that is all of it; else what it says
 * besides its text leaves with the last of that. What was found rides on the piece's last event.
 * Returns how many bytes that were. */
static size_t send_part(const struct weir_row_item *item, const struct weir_guard_piece *piece,
                        struct weir_slice rest, size_t at_cp)
{
    struct weir_row_place *place = item->place;
    size_t end_cp = item->end_cp < piece->end_cp ? item->end_cp : piece->end_cp;
    bool is_begun = item->start_cp == at_cp || place->kept.n != 0; /* none of it has left */
    bool is_last = item->end_cp == end_cp;
    bool is_whole = is_begun && is_last;
    size_t n_whole = item->n_text - (is_whole ? place->kept.n : 0);
    size_t n = is_whole ? n_whole : weir_utf8_byte_at(rest, end_cp - at_cp);
    struct weir_slice part = weir_slice_sub(rest, 0, n);
    bool waits = is_kept(item, piece, is_begun);
    if (waits || place->kept.n != 0) {
        weir_buf_append(&place->kept, part);
    }
    if (!waits) {
        struct weir_row_text text = {.found = found_of(place, piece),
                                     .text =
                                         place->kept.n != 0 ? weir_buf_slice(&place->kept) : part,
                                     .json = is_last ? weir_row__json_of(item) : WEIR_SLICE(""),
                                     .raw = is_whole ? weir_row__raw_of(item) : WEIR_SLICE(""),
                                     .is_rest = is_last && !is_whole};
        text.found.n_findings = end_cp == piece->end_cp ? piece->n_findings : 0;
        place->row->o.ops->text(place->row->o.ctx, &text);
        weir_buf_clear(&place->kept);
    }
    return part.n;
}

/* Annotate: the piece event by event, with the lines that stand between them, up to something of
 * another place: the rest of the piece waits until that has left. */
static void emit_raw(struct weir_row_place *place, const struct weir_guard_piece *piece)
{
    struct weir_row *row = place->row;
    struct weir_slice rest = piece->text;
    size_t at_cp = piece->start_cp;
    bool is_mixed = false;
    struct weir_list *link = row->items.next;
    for (; link != &row->items && at_cp < piece->end_cp && !is_mixed; link = link->next) {
        struct weir_row_item *item = WEIR_LIST_ENTRY(link, struct weir_row_item, link);
        if (item->has_left) {
            continue;
        }
        if (item->kind != WEIR_ROW_LINE && item->place != place) {
            is_mixed = true;
        } else if (item->kind == WEIR_ROW_LINE) {
            weir_row__send_line(row, item, false);
            item->has_left = true;
        } else if (item->kind == WEIR_ROW_TEXT && item->start_cp == item->end_cp) {
            send_empty(row, item);
            item->has_left = true;
        } else if (item->kind == WEIR_ROW_TEXT && item->end_cp > at_cp) {
            rest = weir_slice_sub(rest, send_part(item, piece, rest, at_cp), rest.n);
            at_cp = item->end_cp < piece->end_cp ? item->end_cp : piece->end_cp;
            item->has_left = at_cp == item->end_cp;
        }
    }
    WEIR_ASSERT(at_cp > piece->start_cp); /* the first item is one of this place's */
    place->left_cp = at_cp;
    if (at_cp < piece->end_cp) {
        weir_row_rest_keep(&place->rest, piece, rest, at_cp);
    } else {
        weir_row_rest_drop(&place->rest);
    }
}

static void emit(struct weir_row_place *place, const struct weir_guard_piece *piece)
{
    struct weir_row *row = place->row;
    if (weir_row__is_annotating(row) && piece->start_cp != piece->end_cp) {
        emit_raw(place, piece);
        return;
    }
    place->left_cp = piece->end_cp;
    if (piece->text.n != 0 || piece->n_findings != 0) {
        struct weir_row_text text = {.found = found_of(place, piece),
                                     .text = piece->text,
                                     .is_changed = piece->is_changed,
                                     .start_cp = piece->start_cp,
                                     .end_cp = piece->end_cp,
                                     .stretches = piece->stretches,
                                     .n_stretches = piece->n_stretches};
        row->o.ops->text(row->o.ctx, &text);
    }
}

static void tell(struct weir_row_place *place, const struct weir_guard_piece *piece)
{
    if (piece->n_findings != 0) {
        struct weir_row_found found = found_of(place, piece);
        place->row->o.ops->found(place->row->o.ctx, &found);
    }
}

/* What is left of the piece that the guard said last, or the next one. */
static bool next_piece(struct weir_row_place *place, struct weir_guard_piece *piece)
{
    if (place->rest.is_kept && !place->row->is_over) {
        *piece = place->rest.piece;
        return true;
    }
    return pop(place, piece);
}

/* Lets go of the place's text up to there, or to its end. False: not yet. */
static bool let_go(struct weir_row_place *place, size_t until_cp)
{
    struct weir_guard_piece piece;
    while (place->left_cp < until_cp && !place->is_over && next_piece(place, &piece)) {
        switch (piece.what) {
        case WEIR_GUARD_TEXT:
            emit(place, &piece);
            break;
        case WEIR_GUARD_BLOCKED:
            block(place, &piece);
            return false;
        case WEIR_GUARD_CLEAR:
            break;
        }
    }
    return !place->row->is_over && (place->is_over || place->left_cp >= until_cp);
}

/* ---- all of it ---- */

/* What detectors that only tell have found in the place. */
static void drain_told(struct weir_row_place *place)
{
    struct weir_row *row = place->row;
    struct weir_guard_piece piece;
    int rc = WEIR_EAGAIN;
    while (!row->is_over && (rc = weir_guard_pop_told(place->guard, &piece)) == 0) {
        struct weir_row_found found = found_of(place, &piece);
        found.only_told = true;
        row->o.ops->found(row->o.ctx, &found);
    }
    if (!row->is_over && rc != WEIR_EAGAIN) {
        weir_row__fail(row, weir_guard_fault(place->guard));
    }
    weir_row__count_told(place);
}

/* True: nothing more is told of any place that has left. */
static bool drain_all_told(struct weir_row *row)
{
    struct weir_list *link = row->places.next;
    bool is_all = true;
    while (link != &row->places && !row->is_over) {
        struct weir_row_place *place = WEIR_LIST_ENTRY(link, struct weir_row_place, link);
        link = link->next;
        drain_told(place);
        bool is_told = weir_guard_is_told(place->guard);
        is_all = is_all && (is_told || !place->has_left);
        if (place->has_left && is_told && !row->is_over) {
            weir_row__retire(place);
        }
    }
    return is_all;
}

/* What was found in asides. True: nothing is under way in any of them. */
static bool drain_places_aside(struct weir_row *row)
{
    struct weir_list *link = row->places.next;
    bool is_all = true;
    while (link != &row->places && !row->is_over) {
        struct weir_row_place *place = WEIR_LIST_ENTRY(link, struct weir_row_place, link);
        struct weir_guard_piece piece;
        link = link->next;
        if (!place->o.is_aside) {
            continue;
        }
        while (pop(place, &piece)) {
            tell(place, &piece);
        }
        is_all = is_all && place->is_over;
        if (place->is_over && !row->is_over) {
            weir_row__retire(place);
        }
    }
    return is_all;
}

/* What is found beside what leaves, as it becomes known. True: nothing is under way there any more.
 */
static bool drain_asides(struct weir_row *row)
{
    bool is_all = row->n_asides == 0 || drain_places_aside(row);
    if (row->o.plan->telling != NULL && !row->is_over) {
        is_all = drain_all_told(row) && is_all;
    }
    bool has_judged = !weir_list_is_empty(&row->judging) && !row->is_over;
    if (has_judged && (weir_row__is_annotating(row) || weir_row__has_telling(row))) {
        is_all = weir_row__tell_judged(row) && is_all;
    }
    return is_all && !row->is_over;
}

static bool let_go_item(struct weir_row *row, const struct weir_row_item *item)
{
    if (item->has_left) {
        return true;
    }
    switch (item->kind) {
    case WEIR_ROW_LINE:
        weir_row__send_line(row, item, false);
        return true;
    case WEIR_ROW_TEXT:
        if (item->start_cp == item->end_cp) {
            send_empty(row, item);
            return true;
        }
        return let_go(item->place, item->end_cp);
    case WEIR_ROW_CLOSE:
        if (!let_go(item->place, SIZE_MAX)) {
            return false;
        }
        item->place->has_left = true;
        if (weir_guard_is_told(item->place->guard)) {
            weir_row__retire(item->place);
        } else {
            weir_row__count_told(item->place);
        }
        return true;
    case WEIR_ROW_JUDGED:
        return weir_row__let_go_judged(row, item);
    case WEIR_ROW_WAIT:
        return drain_asides(row);
    }
    return false;
}

/* What late detectors say of text that has left, while nothing else waits: it may end the answer.
 */
static void hear_late(struct weir_row *row)
{
    struct weir_list *link = weir_list_first(&row->places);
    while (link != NULL && link != &row->places && !row->is_over) {
        struct weir_row_place *place = WEIR_LIST_ENTRY(link, struct weir_row_place, link);
        link = link->next;
        if (!place->o.is_aside && !place->is_over) {
            (void)let_go(place, place->left_cp + 1);
        }
    }
}

void weir_row_drain(struct weir_row *row)
{
    struct weir_list *link;
    while (!row->is_over && (link = weir_list_first(&row->items)) != NULL) {
        struct weir_row_item *item = WEIR_LIST_ENTRY(link, struct weir_row_item, link);
        if (!let_go_item(row, item)) {
            break;
        }
        weir_row__free_item(row, item);
    }
    if (!row->is_over && row->o.plan->late != NULL && weir_list_is_empty(&row->items)) {
        hear_late(row);
    }
    if (!row->is_over) {
        (void)drain_asides(row);
    }
    bool is_empty = weir_list_is_empty(&row->items) && weir_list_is_empty(&row->places) &&
                    weir_list_is_empty(&row->judging);
    if (!row->is_over && row->has_ended && is_empty) {
        row->is_over = true;
        row->o.ops->left(row->o.ctx);
    }
}
