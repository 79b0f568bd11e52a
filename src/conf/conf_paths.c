/*
 * Entries of a route's `unguarded` that are paths: /v1/… of the model server, passed without a
 * look.
 *
 * A path is exact, so that whoever reads the list knows all that is open. What a server could read
 * as another path (escapes, dots, double slashes) is refused, and so is every path that has
 * detectors in front of it: one entry must not open a guarded endpoint.
 */
#include "conf/conf_sections.h"

#include <string.h>

enum {
    MAX_PATHS = 64,
    MAX_ALL_BYTES = 4096, /* together: all of them stand in one header of every answer */
};

#define PREFIX WEIR_SLICE("/v1/")

bool weir_conf__is_path(const struct weir_conf_node *n)
{
    return n->kind == WEIR_CONF_SCALAR && n->text.n != 0 && n->text.p[0] == '/';
}

/* The header's list is cut at commas and semicolons; `*` would look like a pattern. */
static bool has_plain_bytes(struct weir_slice path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] <= ' ' || path.p[i] > '~' || strchr("?#%,;*\\\"", path.p[i]) != NULL) {
            return false;
        }
    }
    return true;
}

/* Neither empty, nor `.` or `..`. */
static bool has_plain_segments(struct weir_slice path)
{
    struct weir_slice rest = weir_slice_sub(path, 1, path.n);
    while (rest.p != NULL) {
        struct weir_slice segment = weir_slice_cut(&rest, '/');
        if (segment.n == 0 || weir_slice_eq_cstr(segment, ".") ||
            weir_slice_eq_cstr(segment, "..")) {
            return false;
        }
    }
    return true;
}

/* In any case of letters: there are servers that do not tell them apart. */
static bool is_guarded(struct weir_slice path)
{
    static const char *const exact[] = {
        "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/messages/count_tokens",
        "/v1/responses",        "/v1/embeddings",  "/v1/rerank",   "/v1/score",
        "/v1/moderations",      "/v1/models"};
    static const char *const above[] = {"/v1/responses/", "/v1/models/"};
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        if (weir_slice_eq_nocase(path, weir_slice_cstr(exact[i]))) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof above / sizeof above[0]; i++) {
        struct weir_slice start = weir_slice_cstr(above[i]);
        if (path.n > start.n && weir_slice_eq_nocase(weir_slice_sub(path, 0, start.n), start)) {
            return true;
        }
    }
    return false;
}

static bool has_path(const struct weir_conf_list *list, struct weir_slice path)
{
    for (size_t i = 0; i < list->n; i++) {
        if (weir_slice_eq(list->items[i].s, path)) {
            return true;
        }
    }
    return false;
}

/* False: it was complained about. */
static bool check_path(struct weir_conf_reader *r, const struct weir_conf_node *n)
{
    const char *name = weir_conf__name(r, n->text);
    if (!weir_slice_starts_with(n->text, PREFIX)) {
        weir_conf__error(r, n, "`unguarded` has the path %s, which does not begin with `/v1/`",
                         name);
    } else if (!has_plain_bytes(n->text) || !has_plain_segments(n->text)) {
        weir_conf__error(r, n,
                         "`unguarded` has the path %s: a path is exact, of visible ASCII without "
                         "`?`, `#`, `%%`, `,`, `;`, `*`, `\\`, `\"`, `.`, `..` and `//`, and does "
                         "not end with `/`",
                         name);
    } else if (is_guarded(n->text)) {
        weir_conf__error(r, n,
                         "`unguarded` has the path %s, which this program serves with detectors: "
                         "it cannot be passed without a look",
                         name);
    } else {
        return true;
    }
    return false;
}

struct weir_conf_list weir_conf__read_paths(struct weir_conf_reader *r,
                                            const struct weir_conf_node *n)
{
    struct weir_conf_text *items = weir_arena_array(r->arena, MAX_PATHS, sizeof *items);
    struct weir_conf_list list = {.items = items};
    size_t n_bytes = 0;
    for (size_t i = 0; i < n->n; i++) {
        const struct weir_conf_node *at = n->items[i];
        if (!weir_conf__is_path(at) || !check_path(r, at) || has_path(&list, at->text)) {
            continue;
        }
        n_bytes += at->text.n;
        if (list.n == MAX_PATHS || n_bytes > MAX_ALL_BYTES) {
            weir_conf__error(r, at, "`unguarded` has more than %d paths, or more than %d bytes",
                             MAX_PATHS, MAX_ALL_BYTES);
            break;
        }
        items[list.n++] = weir_conf__keep(r, at);
    }
    return list;
}
