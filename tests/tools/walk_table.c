/*
 * The tables of the walk as the manual has them (docs/questions.md): a line for each object of a
 * request with its members by what they are. Usage:
 * walk_table chat|completions|messages|responses|schema
 */
#include "base/buf.h"
#include "talk/walk.h"

#include <stdio.h>
#include <string.h>

enum { TEXT, IDENTIFIER, CONTROL, OTHER, COLUMNS };

static int column_of(const struct weir_walk_member *m)
{
    switch (m->form) {
    case WEIR_WALK_FORM_NAME:
    case WEIR_WALK_FORM_NAMES:
    case WEIR_WALK_FORM_SIGNED:
        return IDENTIFIER;
    case WEIR_WALK_FORM_URL:
    case WEIR_WALK_FORM_DATA:
    case WEIR_WALK_FORM_EMBEDS:
    case WEIR_WALK_FORM_SEALED:
    case WEIR_WALK_FORM_SIGNATURE:
    case WEIR_WALK_FORM_REFUSED:
    case WEIR_WALK_FORM_STATE:
    case WEIR_WALK_FORM_OURS:
        return OTHER;
    default:
        return m->form <= WEIR_WALK_FORM_OURS ? CONTROL : TEXT;
    }
}

/* What is said behind a member's name in the last column. */
static const char *note_of(const struct weir_walk_member *m)
{
    switch (m->form) {
    case WEIR_WALK_FORM_SEALED:
    case WEIR_WALK_FORM_SIGNATURE:
        return "sealed";
    case WEIR_WALK_FORM_REFUSED:
        return "refused";
    case WEIR_WALK_FORM_OURS:
        return "not sent on";
    default:
        return m->holes != 0 ? weir_walk_hole_name(m->holes) : NULL;
    }
}

static bool is_inner(const struct weir_walk_member *m)
{
    return m->object != NULL && m->form != WEIR_WALK_FORM_VARIABLES;
}

static void add(struct weir_buf *cell, const struct weir_walk_member *m)
{
    const char *note = column_of(m) == OTHER ? note_of(m) : NULL;
    char name[96];
    snprintf(name, sizeof name, note != NULL ? "`%s` (%s)" : "`%s`", m->name, note);
    if (cell->n != 0 && strstr(weir_buf_cstr(cell), name) != NULL) {
        return;
    }
    weir_buf_printf(cell, "%s%s", cell->n != 0 ? ", " : "", name);
}

/* Objects that have been shown: a table that stands in two places is shown in the first. */
enum { MOST_OBJECTS = 128 };
static const struct weir_walk_object *shown[MOST_OBJECTS];
static size_t n_shown;

static bool was_shown(const struct weir_walk_object *o)
{
    for (size_t i = 0; i < n_shown; i++) {
        if (shown[i] == o) {
            return true;
        }
    }
    if (n_shown < MOST_OBJECTS) {
        shown[n_shown++] = o;
    }
    return false;
}

static void show(const struct weir_walk_object *o, const char *path);

/* Tables of their own that objects have by their type. */
static void show_variants(const struct weir_walk_object *o, const char *path)
{
    const struct weir_walk_variant *v = o->variants;
    for (; v != NULL && v->type != NULL; v++) {
        char inner[256];
        snprintf(inner, sizeof inner, "%s, %s", path, v->type);
        if (v->object != NULL && !was_shown(v->object)) {
            show(v->object, inner);
        }
    }
}

static void show_inner(const struct weir_walk_object *o, const char *path)
{
    for (const struct weir_walk_member *m = o->members; m->name != NULL; m++) {
        char inner[256];
        bool is_list = m->form == WEIR_WALK_FORM_OBJECTS || m->form == WEIR_WALK_FORM_MESSAGES ||
                       m->form == WEIR_WALK_FORM_PARTS;
        snprintf(inner, sizeof inner, "%s%s%s%s", path, path[0] != '\0' ? "." : "", m->name,
                 is_list ? "[]" : "");
        if (is_inner(m) && !was_shown(m->object)) {
            show(m->object, inner);
        }
    }
    show_variants(o, path);
}

static void show(const struct weir_walk_object *o, const char *path)
{
    struct weir_buf cells[COLUMNS] = {0};
    bool is_empty = true;
    for (const struct weir_walk_member *m = o->members; m->name != NULL; m++) {
        if (!is_inner(m)) {
            add(&cells[column_of(m)], m);
            is_empty = false;
        }
    }
    if (is_empty) {
        show_inner(o, path);
        return;
    }
    printf("| %s%s%s |", path[0] != '\0' ? "`" : "", path[0] != '\0' ? path : "the request",
           path[0] != '\0' ? "`" : "");
    for (int i = 0; i < COLUMNS; i++) {
        printf(" %s%s|", cells[i].n != 0 ? weir_buf_cstr(&cells[i]) : "",
               cells[i].n != 0 ? " " : "");
        weir_buf_dispose(&cells[i]);
    }
    printf("\n");
    show_inner(o, path);
}

static void show_keywords(void)
{
    static const char *const kinds[] = {"text", "identifier", "control", "schema"};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        printf("| %s |", kinds[k]);
        bool is_first = true;
        for (const struct weir_tree_keyword *w = weir_tree_keywords; w->name != NULL; w++) {
            if (strcmp(w->kind, kinds[k]) == 0) {
                printf("%s `%s`", is_first ? "" : ",", w->name);
                is_first = false;
            }
        }
        printf(" |\n");
    }
}

int main(int argc, char **argv)
{
    const char *which = argc == 2 ? argv[1] : "";
    if (strcmp(which, "schema") == 0) {
        show_keywords();
    } else if (strcmp(which, "chat") == 0) {
        show(weir_walk_chat.top, "");
    } else if (strcmp(which, "completions") == 0) {
        show(weir_walk_completions.top, "");
    } else if (strcmp(which, "messages") == 0) {
        show(weir_walk_messages.top, "");
    } else if (strcmp(which, "responses") == 0) {
        show(weir_walk_responses.top, "");
    } else {
        fprintf(stderr, "usage: walk_table chat|completions|messages|responses|schema\n");
        return 2;
    }
    return 0;
}
