/*
 * The short way of a token: an event that says one string and has the shape of one before it
 * (talk/shape.h) is taken without being read, and leaves in what surrounded that one's string.
 * Everything else takes the long way, through the reader and the writer.
 */
#include "base/err.h"
#include "task/completion_stream_int.h"
#include "wire/json_write.h"
#include "wire/sse.h"

/* ---- arriving ---- */

void weir_cs__item_spare(struct weir_cs *cs, struct weir_cs_item *item)
{
    weir_shape_unref(item->shape);
    weir_task_spares_give(&cs->scratch->cs_items, item);
}

struct weir_cs_item *weir_cs__item_of_shape(struct weir_cs *cs, struct weir_shape *shape,
                                            size_t text_bytes)
{
    struct weir_cs_item *item = weir_task_spares_take(&cs->scratch->cs_items, sizeof *item);
    *item = (struct weir_cs_item){.seq = cs->seq++,
                                  .frame = cs->n_frames,
                                  .shape = weir_shape_ref(shape),
                                  .n_held = sizeof *item + text_bytes};
    cs->held_bytes += item->n_held;
    return item;
}

struct weir_slice weir_cs__item_json(struct weir_cs *cs, const struct weir_cs_item *item)
{
    if (item->shape == NULL) {
        return weir_slice_make(item->json, item->n);
    }
    weir_buf_clear(&cs->scratch->kept);
    weir_buf_append(&cs->scratch->kept, item->shape->parts[0]);
    weir_buf_append(&cs->scratch->kept, item->shape->parts[1]);
    return weir_buf_slice(&cs->scratch->kept);
}

static struct weir_cs_choice *known_choice(const struct weir_cs *cs, uint64_t index)
{
    for (struct weir_list *at = cs->choices.next; at != &cs->choices; at = at->next) {
        struct weir_cs_choice *choice = WEIR_LIST_ENTRY(at, struct weir_cs_choice, link);
        if (choice->index == index) {
            return choice;
        }
    }
    return NULL;
}

/* Half a character waits for its other half: for the reader. */
static bool waits_for_half(const struct weir_cs_choice *choice, const struct weir_shape *shape)
{
    return choice->enforced != NULL ? choice->enforced->checked.halves[shape->channel] != 0
                                    : choice->high != 0;
}

bool weir_cs__take_shaped(struct weir_cs *cs, struct weir_slice event)
{
    struct weir_slice escaped;
    struct weir_shape *shape = weir_shapes_find(&cs->shapes, event, &escaped);
    struct weir_cs_choice *choice = shape != NULL ? known_choice(cs, shape->place) : NULL;
    if (choice == NULL || waits_for_half(choice, shape)) {
        return false;
    }
    struct weir_buf *text = &cs->scratch->text;
    weir_buf_clear(text);
    weir_shape_unescape(escaped, text);
    weir_cs__note_finish(choice, false);
    if (choice->enforced != NULL) {
        weir_cs__enforce_take_shaped(choice, shape, weir_buf_slice(text));
    } else {
        weir_cs__take_shaped_text(choice, shape, weir_buf_slice(text));
    }
    return true;
}

struct weir_shape *weir_cs__keep_shape(struct weir_cs_choice *choice, const struct weir_json *json,
                                       uint32_t text, enum weir_channel channel, bool has_ending)
{
    const struct weir_json_node *node = &json->nodes[text];
    struct weir_shape_of of = {.event = json->src,
                               .channel = (uint32_t)channel,
                               .place = choice->index,
                               .has_ending = has_ending};
    weir_shape_of_add(&of, WEIR_SHAPE_TEXT, node->start + 1, node->end - node->start - 2);
    return weir_shapes_add(&choice->cs->shapes, &of);
}

/* ---- leaving ---- */

/* How an event without findings ends: the list of them is empty. */
#define NOTHING_FOUND "]}]}}"

static bool is_one_line(struct weir_slice json)
{
    return weir_slice_find(json, '\n') == json.n && weir_slice_find(json, '\r') == json.n;
}

void weir_cs__keep_written(struct weir_shape *shape, struct weir_slice one, struct weir_slice other)
{
    size_t n_end = sizeof NOTHING_FOUND - 1;
    size_t at = 0;
    while (at < one.n && at < other.n && one.p[at] == other.p[at]) {
        at++;
    }
    /* Around the two letters are the quotes, which the writer of strings writes. */
    bool is_plain = at > 0 && at + 2 + n_end < one.n && one.n == other.n && is_one_line(one) &&
                    one.p[at - 1] == '"' && one.p[at + 1] == '"' &&
                    memcmp(one.p + one.n - n_end, NOTHING_FOUND, n_end) == 0 &&
                    memcmp(one.p + at + 1, other.p + at + 1, one.n - at - 1) == 0;
    if (is_plain) {
        weir_buf_append(&shape->out_head, WEIR_SLICE(WEIR_SSE_DATA));
        weir_buf_append(&shape->out_head, weir_slice_sub(one, 0, at - 1));
        weir_buf_append(&shape->out_tail, weir_slice_sub(one, at + 2, one.n));
        weir_buf_append(&shape->out_tail, WEIR_SLICE(WEIR_SSE_END));
        weir_buf_append(&shape->out_found, weir_slice_sub(one, at + 2, one.n - n_end));
    }
}

static void write_found(const struct weir_shape *shape, const struct weir_cs_written *w,
                        struct weir_buf *out)
{
    weir_buf_append(out, weir_buf_slice(&shape->out_found));
    for (size_t i = 0; i < w->n_findings; i++) {
        weir_results_append(out, w->results, w->findings[i], i != 0);
    }
    weir_buf_append(out, WEIR_SLICE("]}]},\"warnings\":"));
    weir_buf_append(out, weir_event_unsuitable_output());
    weir_buf_append(out, WEIR_SLICE("}" WEIR_SSE_END));
}

bool weir_cs__write_shaped(struct weir_cs *cs, const struct weir_shape *shape,
                           const struct weir_cs_written *w)
{
    struct weir_buf *out = &cs->scratch->out;
    if (shape == NULL || shape->out_head.n == 0) {
        return false;
    }
    weir_buf_clear(out);
    weir_buf_append(out, weir_buf_slice(&shape->out_head));
    weir_json_write_quoted(out, w->text);
    if (w->n_findings == 0) {
        weir_buf_append(out, weir_buf_slice(&shape->out_tail));
    } else {
        write_found(shape, w, out);
    }
    return true;
}

static struct weir_out_raw written(const struct weir_cs *cs)
{
    struct weir_slice bytes = weir_buf_slice(&cs->scratch->out);
    size_t n_before = sizeof WEIR_SSE_DATA - 1;
    size_t n_behind = sizeof WEIR_SSE_END - 1;
    return (struct weir_out_raw){.bytes = bytes,
                                 .json = weir_slice_sub(bytes, n_before, bytes.n - n_behind)};
}

struct weir_slice weir_cs__shaped_json(const struct weir_cs *cs)
{
    return written(cs).json;
}

/* What services say of their findings may have line ends: such events are framed where they leave.
 */
void weir_cs__emit_shaped(struct weir_cs *cs, const struct weir_cs_written *w)
{
    struct weir_out_raw event = written(cs);
    if (w->n_findings != 0 || weir_cs__adds_to_next(cs)) {
        weir_cs__emit(cs, event.json);
    } else if (!cs->stream.is_over) {
        weir_stream_send_framed(&cs->stream, &event);
    }
}
