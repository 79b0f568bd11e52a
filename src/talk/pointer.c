#include "talk/pointer.h"

#include "base/assert.h"

static bool is_inside(const struct weir_json *j, uint32_t container, uint32_t node)
{
    return node > container && node < j->nodes[container].next;
}

static void push(struct weir_pointer *p, uint32_t container)
{
    if (p->n == p->cap) {
        p->cap = p->cap != 0 ? p->cap * 2 : 8;
        struct weir_pointer_step *more = weir_arena_array(p->arena, p->cap, sizeof *more);
        for (size_t i = 0; i < p->n; i++) {
            more[i] = p->steps[i];
        }
        p->steps = more;
    }
    p->steps[p->n++] =
        (struct weir_pointer_step){.container = container, .at = container + 1, .index = 0};
}

/* The node behind a child of the container: an element, or a key with its value. */
static uint32_t child_end(const struct weir_json *j, const struct weir_pointer_step *s)
{
    bool is_object = weir_json_type(j, s->container) == WEIR_JSON_OBJECT;
    return j->nodes[s->at + (is_object ? 1 : 0)].next;
}

/* Goes on among the children until one leads to the node. */
static void go_to(const struct weir_json *j, struct weir_pointer_step *s, uint32_t node)
{
    WEIR_ASSERT(node >= s->at); /* otherwise nodes were asked for out of order */
    while (child_end(j, s) <= node) {
        s->at = child_end(j, s);
        s->index++;
    }
}

static void append_name(struct weir_buf *out, struct weir_slice name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '~' || name.p[i] == '/') {
            weir_buf_append(out, name.p[i] == '~' ? WEIR_SLICE("~0") : WEIR_SLICE("~1"));
        } else {
            weir_buf_append_byte(out, name.p[i]);
        }
    }
}

static void append_steps(const struct weir_pointer *p, struct weir_buf *out)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct weir_pointer_step *s = &p->steps[i];
        weir_buf_append_byte(out, '/');
        if (weir_json_type(p->json, s->container) == WEIR_JSON_OBJECT) {
            append_name(out, weir_json_string(p->json, s->at, p->arena));
        } else {
            weir_buf_printf(out, "%u", s->index);
        }
    }
}

/* The container to look into next: the innermost one's present child; NONE: that is the node, or
 * its key. */
static uint32_t next_container(const struct weir_pointer *p, uint32_t node)
{
    const struct weir_json *j = p->json;
    if (p->n == 0) {
        return is_inside(j, 0, node) ? 0 : WEIR_JSON_NONE;
    }
    const struct weir_pointer_step *s = &p->steps[p->n - 1];
    uint32_t value = s->at + (weir_json_type(j, s->container) == WEIR_JSON_OBJECT ? 1 : 0);
    return is_inside(j, value, node) ? value : WEIR_JSON_NONE;
}

void weir_pointer_append(struct weir_pointer *p, uint32_t node, struct weir_buf *out)
{
    while (p->n != 0 && !is_inside(p->json, p->steps[p->n - 1].container, node)) {
        p->n--;
    }
    if (p->n != 0) {
        go_to(p->json, &p->steps[p->n - 1], node);
    }
    uint32_t container;
    while ((container = next_container(p, node)) != WEIR_JSON_NONE) {
        push(p, container);
        go_to(p->json, &p->steps[p->n - 1], node);
    }
    append_steps(p, out);
}

struct weir_slice weir_pointer_of(const struct weir_json *json, uint32_t node,
                                  struct weir_arena *arena)
{
    struct weir_pointer p = {.json = json, .arena = arena};
    struct weir_buf out = {0};
    weir_pointer_append(&p, node, &out);
    struct weir_slice text = weir_arena_dup(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return text;
}
