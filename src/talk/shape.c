#include "talk/shape.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "wire/json_scan.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_EVENT_BYTES = 4096, /* of an event without its string: a larger one is not kept */
    MOST_WASTED = 8,         /* shapes made in a row that no event had */
};

struct weir_shape *weir_shape_new(const struct weir_shape_of *of)
{
    size_t n_tail = of->event.n - of->text_at - of->text_n;
    struct weir_shape *shape = weir_mem_zalloc(sizeof *shape + of->text_at + n_tail);
    shape->refs = 1;
    shape->channel = of->channel;
    shape->place = of->place;
    shape->has_ending = of->has_ending;
    memcpy(shape->bytes, of->event.p, of->text_at);
    memcpy(shape->bytes + of->text_at, of->event.p + of->text_at + of->text_n, n_tail);
    shape->head = weir_slice_make(shape->bytes, of->text_at);
    shape->tail = weir_slice_make(shape->bytes + of->text_at, n_tail);
    return shape;
}

struct weir_shape *weir_shape_ref(struct weir_shape *shape)
{
    shape->refs++;
    return shape;
}

void weir_shape_unref(struct weir_shape *shape)
{
    if (shape != NULL && --shape->refs == 0) {
        weir_buf_dispose(&shape->out_head);
        weir_buf_dispose(&shape->out_tail);
        weir_buf_dispose(&shape->out_found);
        weir_envelope_unref(shape->envelope);
        free(shape);
    }
}

size_t weir_shape_footprint(const struct weir_shape *shape)
{
    return sizeof *shape + shape->head.n + shape->tail.n + shape->out_head.cap +
           shape->out_tail.cap + shape->out_found.cap;
}

/* ---- one stream's ---- */

void weir_shapes_dispose(struct weir_shapes *shapes)
{
    for (size_t i = 0; i < WEIR_SHAPES_MOST; i++) {
        weir_shape_unref(shapes->items[i]);
        shapes->items[i] = NULL;
    }
}

static void put_first(struct weir_shapes *shapes, struct weir_shape *shape, size_t from)
{
    memmove(shapes->items + 1, shapes->items, from * sizeof shapes->items[0]);
    shapes->items[0] = shape;
}

/* Is it the inside of a JSON string, valid and without `\u`? */
static bool is_string(struct weir_slice s)
{
    const char *p = s.p;
    const char *end = s.p + s.n;
    uint64_t high = 0;
    while ((p = weir_json__scan(p, end, &high)) != end) {
        if (*p != '\\' || end - p < 2 || strchr("\"\\/bfnrt", p[1]) == NULL || p[1] == '\0') {
            return false;
        }
        p += 2;
    }
    return high == 0 || weir_utf8_is_valid(s);
}

static bool has_shape(const struct weir_shape *shape, struct weir_slice event)
{
    size_t n_around = shape->head.n + shape->tail.n;
    return event.n > n_around && memcmp(event.p, shape->head.p, shape->head.n) == 0 &&
           memcmp(event.p + event.n - shape->tail.n, shape->tail.p, shape->tail.n) == 0;
}

struct weir_shape *weir_shapes_find(struct weir_shapes *shapes, struct weir_slice event,
                                    struct weir_slice *escaped)
{
    for (size_t i = 0; i < WEIR_SHAPES_MOST && shapes->items[i] != NULL; i++) {
        struct weir_shape *shape = shapes->items[i];
        if (!has_shape(shape, event)) {
            continue;
        }
        *escaped = weir_slice_sub(event, shape->head.n, event.n - shape->tail.n);
        if (!is_string(*escaped)) {
            return NULL; /* no other shape makes a string of it */
        }
        if (i != 0) {
            put_first(shapes, shape, i);
        }
        shapes->n_wasted = 0;
        return shape;
    }
    return NULL;
}

struct weir_shape *weir_shapes_add(struct weir_shapes *shapes, const struct weir_shape_of *of)
{
    if (of->event.n - of->text_n > MOST_EVENT_BYTES || shapes->n_wasted >= MOST_WASTED) {
        return NULL;
    }
    for (size_t i = 0; i < WEIR_SHAPES_MOST && shapes->items[i] != NULL; i++) {
        if (has_shape(shapes->items[i], of->event) && shapes->items[i]->head.n == of->text_at) {
            return shapes->items[i];
        }
    }
    shapes->n_wasted++;
    weir_shape_unref(shapes->items[WEIR_SHAPES_MOST - 1]);
    put_first(shapes, weir_shape_new(of), WEIR_SHAPES_MOST - 1);
    return shapes->items[0];
}

void weir_shape_unescape(struct weir_slice escaped, struct weir_buf *out)
{
    const char *p = escaped.p;
    const char *end = escaped.p + escaped.n;
    uint64_t high = 0;
    while (p != end) {
        const char *stop = weir_json__scan(p, end, &high);
        weir_buf_append(out, weir_slice_make(p, (size_t)(stop - p)));
        p = stop;
        if (p != end) {
            static const char from[] = "bfnrt";
            static const char to[] = "\b\f\n\r\t";
            const char *which = strchr(from, p[1]);
            weir_buf_append_byte(out, which != NULL ? to[which - from] : p[1]);
            p += 2;
        }
    }
}
