#include "route/holes.h"

#include "base/buf.h"

static void add(struct weir_buf *out, const char *what, struct weir_slice of)
{
    if (out->n != 0) {
        weir_buf_append_byte(out, ',');
    }
    weir_buf_append(out, weir_slice_cstr(what));
    weir_buf_append(out, of);
}

/* Ids are printable, but a header's list is cut at commas and semicolons. */
static void add_detector(struct weir_buf *out, const char *what, const struct weir_conf_use *use)
{
    add(out, what, WEIR_SLICE(""));
    struct weir_slice id = use->detector->id.s;
    for (size_t i = 0; i < id.n; i++) {
        unsigned char c = (unsigned char)id.p[i];
        weir_buf_append_byte(out, c <= ' ' || c >= 0x7f || c == ',' || c == ';' ? '_' : (char)c);
    }
}

/* One that looks at some roles or channels only, or for some models; and one that only annotates
 * where the route does more. */
static void add_use(struct weir_buf *out, const struct weir_conf_route *route,
                    const struct weir_conf_use *use)
{
    if (use->roles != 0 || use->channels != 0 || use->models.n != 0) {
        add_detector(out, "when:", use);
    }
    if (use->only_annotates && route->on_detection != WEIR_CONF_ANNOTATE) {
        add_detector(out, "annotate:", use);
    }
}

struct weir_slice weir_holes_of(const struct weir_conf_route *route, struct weir_arena *arena)
{
    struct weir_buf out = {0};
    if (route->is_unguarded) {
        return WEIR_SLICE("all");
    }
    for (uint32_t bit = 1; weir_conf_hole_name(bit) != NULL; bit <<= 1) {
        if ((route->unguarded & bit) != 0) {
            add(&out, weir_conf_hole_name(bit), WEIR_SLICE(""));
        }
    }
    for (size_t i = 0; i < route->unguarded_paths.n; i++) {
        add(&out, "", route->unguarded_paths.items[i].s);
    }
    if (route->n_input != 0 && route->on_detection == WEIR_CONF_ANNOTATE &&
        route->input_scope == WEIR_CONF_SCOPE_TURN) {
        add(&out, "input_scope:turn", WEIR_SLICE(""));
    }
    for (size_t i = 0; i < route->n_input; i++) {
        add_use(&out, route, &route->input[i]);
    }
    for (size_t i = 0; i < route->n_output; i++) {
        add_use(&out, route, &route->output[i]);
    }
    struct weir_slice text = weir_arena_dup(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return text;
}
