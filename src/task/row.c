#include "task/row_int.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "talk/half.h"
#include "task/promise.h"
#include "task/scratch.h"
#include "task/source.h"

#include <stdlib.h>

/* ---- making ---- */

static void free_places(struct weir_list *places)
{
    struct weir_list *link;
    while ((link = weir_list_first(places)) != NULL) {
        struct weir_row_place *place = WEIR_LIST_ENTRY(link, struct weir_row_place, link);
        weir_list_remove(&place->link);
        weir_guard_free(place->guard);
        weir_row_rest_drop(&place->rest);
        weir_buf_dispose(&place->kept);
        free(place);
    }
}

void weir_row__free_item(struct weir_row *row, struct weir_row_item *item)
{
    row->held_bytes -= item->n_held;
    weir_list_remove(&item->link);
    if (item->home != NULL) {
        weir_task_spares_give(item->home, item);
    } else {
        free(item);
    }
}

static void free_items(struct weir_row *row)
{
    struct weir_list *link;
    while ((link = weir_list_first(&row->items)) != NULL) {
        weir_row__free_item(row, WEIR_LIST_ENTRY(link, struct weir_row_item, link));
    }
}

/* What is under way there is cancelled. */
static void on_sweep(struct weir_post *post)
{
    struct weir_row *row = WEIR_LIST_ENTRY(post, struct weir_row, sweep);
    free_places(&row->done);
    weir_row__free_judged(&row->answered);
    if (row->is_over) {
        free_places(&row->places);
        weir_row__free_judged(&row->judging);
    }
}

struct weir_row *weir_row_new(const struct weir_row_options *options)
{
    struct weir_row *row = weir_mem_zalloc(sizeof *row);
    row->o = *options;
    weir_policy_teller_init(&row->telling, options->policy);
    row->blocking = *options->policy;
    row->blocking.action = weir_row__is_annotating(row) ? WEIR_POLICY_ANNOTATE : WEIR_POLICY_BLOCK;
    if (options->policy->mask != NULL) {
        row->blocking_mask = *options->policy->mask;
        row->blocking_mask.unknown_output = WEIR_POLICY_BLOCK;
        row->blocking.mask = &row->blocking_mask;
    }
    row->sweep.fn = on_sweep;
    weir_row_exchange_init(&row->exchange, options->max_held_bytes, options->task->arena->account);
    weir_list_init(&row->items);
    weir_list_init(&row->places);
    weir_list_init(&row->judging);
    weir_list_init(&row->done);
    weir_list_init(&row->answered);
    return row;
}

void weir_row_free(struct weir_row *row)
{
    if (row == NULL) {
        return;
    }
    weir_loop_unpost(&row->sweep);
    free_items(row);
    free_places(&row->done);
    free_places(&row->places);
    weir_row__free_judged(&row->answered);
    weir_row__free_judged(&row->judging);
    weir_buf_dispose(&row->text);
    weir_row_exchange_dispose(&row->exchange);
    free(row);
}

size_t weir_row_held(const struct weir_row *row)
{
    return row->held_bytes;
}

enum weir_path_wait weir_row_waits(const struct weir_row *row)
{
    enum weir_path_wait most = row->n_asked == 0 ? WEIR_PATH_IDLE : WEIR_PATH_ON_DETECTOR;
    for (struct weir_list *at = row->places.next; at != &row->places; at = at->next) {
        const struct weir_row_place *place = WEIR_LIST_ENTRY(at, struct weir_row_place, link);
        enum weir_path_wait one = weir_guard_waits(place->guard);
        most = one > most ? one : most;
    }
    return most;
}

/* ---- ending ---- */

void weir_row__finish(struct weir_row *row)
{
    row->is_over = true;
    free_items(row);
    weir_loop_post(row->o.task->loop, &row->sweep);
}

void weir_row__fail(struct weir_row *row, const struct weir_fault *fault)
{
    if (!row->is_over) {
        const struct weir_fault *kept = weir_fault_keep(row->o.task->arena, fault);
        weir_row__finish(row);
        row->o.ops->failed(row->o.ctx, kept);
    }
}

void weir_row__fail_limit(struct weir_row *row)
{
    struct weir_fault fault = weir_source_limit_fault(row->o.task->arena, row->o.max_held_bytes);
    weir_row__fail(row, &fault);
}

void weir_row__fail_promise(struct weir_row_place *place, const char *what)
{
    struct weir_fault fault = weir_promise_broken(&(struct weir_promise){
        .task = place->row->o.task, .what = what, .choice = place->o.number});
    weir_row__fail(place->row, &fault);
}

/* What waits for detectors that only tell: text, and places that are kept for them alone. */
void weir_row__count_told(struct weir_row_place *place)
{
    enum { PLACE_BYTES = 8192 }; /* what one costs with its guards, about */
    size_t now = weir_guard_told_bytes(place->guard) + (place->has_left ? PLACE_BYTES : 0);
    place->row->held_bytes += now;
    place->row->held_bytes -= place->told_held;
    place->told_held = now;
}

void weir_row__retire(struct weir_row_place *place)
{
    place->row->held_bytes -= place->told_held;
    place->told_held = 0;
    place->row->n_asides -= place->o.is_aside ? 1 : 0;
    weir_list_remove(&place->link);
    weir_list_append(&place->row->done, &place->link);
    weir_loop_post(place->row->o.task->loop, &place->row->sweep);
}

/* ---- what came ---- */

enum { FRAMED_ROOM = 384 }; /* most events that say a token are shorter */

/* Without its place in the row. */
static struct weir_row_item *new_item(struct weir_row *row, size_t n_bytes)
{
    struct weir_task_scratch *scratch = row->o.task->scratch;
    struct weir_task_spares *home = NULL;
    size_t n_room = n_bytes;
    if (n_bytes == 0) {
        home = &scratch->row_items;
    } else if (n_bytes <= FRAMED_ROOM) {
        home = &scratch->framed_items;
        n_room = FRAMED_ROOM;
    }
    size_t size = sizeof(struct weir_row_item) + n_room;
    struct weir_row_item *item =
        home != NULL ? weir_task_spares_take(home, size) : weir_mem_alloc(size);
    *item = (struct weir_row_item){.n_held = size, .home = home};
    row->held_bytes += size;
    return item;
}

/* A frame is kept where the JSON lies in it as it is, and is else of no use. */
struct weir_row_item *weir_row__add_item(struct weir_row *row, enum weir_row_kind kind,
                                         struct weir_slice json, struct weir_slice raw)
{
    bool is_framed = raw.n != 0 && json.p >= raw.p && json.p + json.n <= raw.p + raw.n;
    struct weir_slice bytes = is_framed ? raw : json;
    struct weir_row_item *item = new_item(row, bytes.n);
    item->kind = kind;
    item->from = is_framed ? (size_t)(json.p - raw.p) : 0;
    item->n = json.n;
    item->n_bytes = bytes.n;
    if (bytes.n != 0) {
        memcpy(item->bytes, bytes.p, bytes.n);
    }
    weir_list_append(&row->items, &item->link);
    return item;
}

static void on_progress(void *ctx)
{
    struct weir_row_place *place = ctx;
    struct weir_row *row = place->row;
    if (!row->is_over) {
        row->o.ops->progress(row->o.ctx);
    }
}

static struct weir_row_place *new_place(struct weir_row *row,
                                        const struct weir_row_place_options *options)
{
    struct weir_row_place *place = weir_mem_zalloc(sizeof *place);
    place->row = row;
    place->o = *options;
    place->rest.arena.account = row->o.task->arena->account;
    place->guard = weir_guard_new(
        &(struct weir_guard_options){.task = row->o.task,
                                     .plan = row->o.plan,
                                     .policy = options->blocks ? &row->blocking : row->o.policy,
                                     .max_held_bytes = row->o.max_held_bytes,
                                     .choice = options->number,
                                     .keeps_json = options->keeps_json,
                                     .keeps_tokens = options->is_signed,
                                     .is_unary = row->o.is_unary,
                                     .exposes_nothing = options->keeps_json || options->is_aside,
                                     .on_progress = on_progress,
                                     .ctx = place});
    weir_list_append(&row->places, &place->link);
    row->n_asides += options->is_aside ? 1 : 0;
    return place;
}

struct weir_row_place *weir_row_open(struct weir_row *row,
                                     const struct weir_row_place_options *options)
{
    return new_place(row, options);
}

int weir_row__keep_said(struct weir_row *row, enum weir_channel channel, uint64_t number,
                        struct weir_slice text)
{
    bool is_kept = row->o.conversation != NULL && !row->is_shown;
    return is_kept ? weir_row_exchange_say(&row->exchange, channel, number, text) : 0;
}

static bool push(struct weir_row_place *place, struct weir_slice text)
{
    struct weir_row *row = place->row;
    int rc = weir_row__keep_said(row, place->o.channel, place->o.number, text);
    rc = rc == 0 ? weir_guard_push(place->guard, place->o.channel, 0, text) : rc;
    if (rc == WEIR_ELIMIT) {
        weir_row__fail_limit(row);
    } else if (rc != 0) {
        weir_row__fail(row,
                       &(struct weir_fault){.origin = WEIR_FAULT_CHAT_COMPLETION,
                                            .id = row->o.model_id,
                                            .err = WEIR_EPEER,
                                            .why = WEIR_SLICE("an event's text is not UTF-8")});
    }
    return rc == 0;
}

/* Text on its way, with the event that says it if that may leave as it came. */
static bool add_text(struct weir_row_place *place, struct weir_slice text, struct weir_slice json,
                     struct weir_slice raw)
{
    struct weir_row *row = place->row;
    size_t start_cp = weir_guard_length_cp(place->guard, place->o.channel);
    if (text.n != 0 && !push(place, text)) {
        return false;
    }
    weir_row__count_told(place);
    if (place->o.is_aside || (text.n == 0 && json.n == 0)) {
        return true;
    }
    struct weir_row_item *item = weir_row__add_item(row, WEIR_ROW_TEXT, json, raw);
    item->place = place;
    item->number = place->o.number;
    item->start_cp = start_cp;
    item->end_cp = weir_guard_length_cp(place->guard, place->o.channel);
    item->n_text = text.n;
    item->n_held += text.n;
    row->held_bytes += text.n;
    return true;
}

bool weir_row_say(struct weir_row *row, struct weir_row_place *place,
                  const struct weir_row_said *said)
{
    bool is_kept = said->is_all && weir_row__is_annotating(row);
    if (row->is_over) {
        return false;
    }
    weir_buf_clear(&row->text);
    weir_json_string_append(said->json, said->at, &row->text);
    if (place->half != 0) {
        weir_half_join(said->json, said->at, &place->half, &row->text);
        is_kept = false; /* a character of it came in two events: it leaves in one */
    }
    if (weir_half_cut(said->json, said->at, &place->half, &row->text)) {
        is_kept = false;
    }
    return add_text(place, weir_buf_slice(&row->text), is_kept ? said->json->src : WEIR_SLICE(""),
                    said->raw);
}

bool weir_row_waits_for_half(const struct weir_row_place *place)
{
    return place->half != 0;
}

bool weir_row_say_text(struct weir_row *row, struct weir_row_place *place,
                       const struct weir_row_words *words)
{
    WEIR_ASSERT(place->half == 0);
    struct weir_slice json = weir_row__is_annotating(row) ? words->json : WEIR_SLICE("");
    return !row->is_over && add_text(place, words->text, json, words->raw);
}

struct weir_slice weir_row_last(const struct weir_row *row)
{
    return weir_buf_slice(&row->text);
}

bool weir_row_add(struct weir_row *row, struct weir_row_place *place, struct weir_slice text)
{
    place->half = 0;
    return !row->is_over && add_text(place, text, WEIR_SLICE(""), WEIR_SLICE(""));
}

void weir_row_close(struct weir_row *row, struct weir_row_place *place)
{
    if (row->is_over) {
        return;
    }
    if (place->half != 0) {
        place->half = 0;
        if (!add_text(place, WEIR_HALF_ALONE, WEIR_SLICE(""), WEIR_SLICE(""))) {
            return;
        }
    }
    weir_guard_end(place->guard, &(struct weir_guard_ending){0});
    if (!place->o.is_aside) {
        weir_row__add_item(row, WEIR_ROW_CLOSE, WEIR_SLICE(""), WEIR_SLICE(""))->place = place;
    }
}

void weir_row_line(struct weir_row *row, const struct weir_row_line *line)
{
    if (!row->is_over) {
        struct weir_row_item *item = weir_row__add_item(row, WEIR_ROW_LINE, line->json, line->raw);
        item->tag = line->tag;
        item->number = line->number;
    }
}

void weir_row_wait(struct weir_row *row)
{
    weir_row__show_exchange(row);
    if (!row->is_over) {
        weir_row__add_item(row, WEIR_ROW_WAIT, WEIR_SLICE(""), WEIR_SLICE(""));
    }
}

void weir_row_end(struct weir_row *row)
{
    weir_row__show_exchange(row);
    row->has_ended = true;
}
