#include "talk/shape.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "wire/json_scan.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_EVENT_BYTES = 4096, /* of an event without what changes: a larger one is not kept */
    MOST_WASTED = 8,         /* shapes made in a row that no event had */
};

void weir_shape_of_add(struct weir_shape_of *of, enum weir_shape_slot what, size_t at, size_t n)
{
    size_t i = of->n_slots++;
    WEIR_ASSERT(i < WEIR_SHAPE_MOST_SLOTS);
    for (; i > 0 && of->slots[i - 1].at > at; i--) {
        of->slots[i] = of->slots[i - 1];
    }
    of->slots[i].what = what;
    of->slots[i].at = at;
    of->slots[i].n = n;
}

/* What stands before slot `i` of the event, or behind the last. */
static struct weir_slice part_of(const struct weir_shape_of *of, size_t i)
{
    size_t from = i == 0 ? 0 : of->slots[i - 1].at + of->slots[i - 1].n;
    size_t to = i == of->n_slots ? of->event.n : of->slots[i].at;
    return weir_slice_sub(of->event, from, to);
}

static size_t bytes_of_parts(const struct weir_shape_of *of)
{
    size_t n = of->event.n;
    for (size_t i = 0; i < of->n_slots; i++) {
        n -= of->slots[i].n;
    }
    return n;
}

struct weir_shape *weir_shape_new(const struct weir_shape_of *of)
{
    struct weir_shape *shape = weir_mem_zalloc(sizeof *shape + bytes_of_parts(of));
    char *bytes = shape->bytes;
    shape->refs = 1;
    shape->channel = of->channel;
    shape->place = of->place;
    shape->has_ending = of->has_ending;
    shape->n_slots = (uint32_t)of->n_slots;
    for (size_t i = 0; i <= of->n_slots; i++) {
        struct weir_slice part = part_of(of, i);
        memcpy(bytes, part.p, part.n);
        shape->parts[i] = weir_slice_make(bytes, part.n);
        bytes += part.n;
        if (i < of->n_slots) {
            shape->slots[i] = (uint8_t)of->slots[i].what;
        }
    }
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
    size_t n = sizeof *shape + shape->out_head.cap + shape->out_tail.cap + shape->out_found.cap;
    for (size_t i = 0; i <= shape->n_slots; i++) {
        n += shape->parts[i].n;
    }
    return n;
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

/* The end of the JSON string whose inside begins there: its quote. NULL: it has none, is not valid,
 * or has `\u` in it. */
static const char *skip_string(const char *p, const char *end)
{
    const char *start = p;
    uint64_t high = 0;
    while ((p = weir_json__scan(p, end, &high)) != end && *p != '"') {
        if (*p != '\\' || end - p < 2 || strchr("\"\\/bfnrt", p[1]) == NULL || p[1] == '\0') {
            return NULL;
        }
        p += 2;
    }
    bool is_valid =
        p != end && (high == 0 || weir_utf8_is_valid(weir_slice_make(start, (size_t)(p - start))));
    return is_valid ? p : NULL;
}

/* The end of the digits there, which are a number as JSON writes one. NULL: they are none. */
static const char *skip_number(const char *p, const char *end)
{
    const char *start = p;
    while (p != end && *p >= '0' && *p <= '9') {
        p++;
    }
    return p == start || (*start == '0' && p - start > 1) ? NULL : p;
}

static bool has_shape(const struct weir_shape *shape, struct weir_slice event,
                      struct weir_slice *escaped)
{
    const char *p = event.p;
    const char *end = event.p + event.n;
    for (size_t i = 0; p != NULL; i++) {
        struct weir_slice part = shape->parts[i];
        if ((size_t)(end - p) < part.n || memcmp(p, part.p, part.n) != 0) {
            return false;
        }
        p += part.n;
        if (i == shape->n_slots) {
            return p == end && escaped->n != 0;
        }
        const char *start = p;
        p = shape->slots[i] == WEIR_SHAPE_NUMBER ? skip_number(p, end) : skip_string(p, end);
        if (shape->slots[i] == WEIR_SHAPE_TEXT && p != NULL) {
            *escaped = weir_slice_make(start, (size_t)(p - start));
        }
    }
    return false;
}

struct weir_shape *weir_shapes_find(struct weir_shapes *shapes, struct weir_slice event,
                                    struct weir_slice *escaped)
{
    for (size_t i = 0; i < WEIR_SHAPES_MOST && shapes->items[i] != NULL; i++) {
        struct weir_shape *shape = shapes->items[i];
        if (!has_shape(shape, event, escaped)) {
            continue;
        }
        if (i != 0) {
            put_first(shapes, shape, i);
        }
        shapes->n_wasted = 0;
        return shape;
    }
    return NULL;
}

static bool is_shape_of(const struct weir_shape *shape, const struct weir_shape_of *of)
{
    bool is_same = shape->n_slots == of->n_slots;
    for (size_t i = 0; is_same && i <= of->n_slots; i++) {
        is_same = weir_slice_eq(shape->parts[i], part_of(of, i)) &&
                  (i == of->n_slots || shape->slots[i] == (uint8_t)of->slots[i].what);
    }
    return is_same;
}

struct weir_shape *weir_shapes_add(struct weir_shapes *shapes, const struct weir_shape_of *of)
{
    if (bytes_of_parts(of) > MOST_EVENT_BYTES || shapes->n_wasted >= MOST_WASTED) {
        return NULL;
    }
    for (size_t i = 0; i < WEIR_SHAPES_MOST && shapes->items[i] != NULL; i++) {
        if (is_shape_of(shapes->items[i], of)) {
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
