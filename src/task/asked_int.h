#ifndef WEIR_TASK_ASKED_INT_H
#define WEIR_TASK_ASKED_INT_H

#include "talk/tree.h"
#include "talk/unescape.h"
#include "task/asked.h"

/*
 * Inside asked: views of the items (asked.c), findings brought back to places (asked_found.c), and
 * what becomes of the places (asked_write.c).
 */
enum weir_asked_view_kind {
    WEIR_ASKED_OWN,       /* the item's text */
    WEIR_ASKED_UNESCAPED, /* a text that was meant to be JSON, with its escapes decoded */
    WEIR_ASKED_LINES,     /* JSON as decoded lines */
    WEIR_ASKED_WRITTEN,   /* JSON as it is written */
    WEIR_ASKED_SEAM,      /* the ends of parts that follow each other, joined */
};

/* A stretch of a joined text that is of one part. */
struct weir_asked_piece {
    uint32_t item;
    size_t start_cp; /* in the joined text */
    size_t end_cp;
    size_t from_cp; /* in the part's own text */
};

struct weir_asked_view {
    enum weir_asked_view_kind kind;
    uint32_t item; /* the first one of a seam */
    struct weir_slice text;
    union {
        const struct weir_tree *tree;          /* LINES, WRITTEN */
        const struct weir_unescape *unescape;  /* UNESCAPED */
        const struct weir_asked_piece *pieces; /* SEAM */
    };
    size_t n_pieces;
    struct weir_scan_group *group;
};

/* A finding and the string that it is of. */
struct weir_asked_hit {
    uint32_t item;
    uint32_t node; /* TREE: of the request; DOCUMENT: of the document; otherwise the item's */
    enum weir_tree_what what;
    bool is_key;
    const struct weir_detection *d; /* span in the string's own code points */
};

/* A string with findings: hits[first] to hits[first + n]. */
struct weir_asked_place {
    size_t first;
    size_t n;
};

struct weir_asked {
    struct weir_asked_options o;
    struct weir_asked_view *views;
    size_t n_views;
    size_t cap_views;
    struct weir_plan plans[WEIR_WALK_ROLES]; /* by role, made when needed … */
    bool has_plan[WEIR_WALK_ROLES];          /* … and then set here */
    struct weir_scan *scan;
    weir_scan_done_fn on_done;
    void *ctx;
    struct weir_asked_hit *hits; /* sorted by item, node and span */
    size_t n_hits;
    size_t cap_hits;
    struct weir_asked_place *places;
    size_t n_places;
    enum weir_policy_outcome outcome;
    const struct weir_fault *fault;
};

static inline const struct weir_walk_item *weir_asked__item(const struct weir_asked *a,
                                                            const struct weir_asked_hit *hit)
{
    return &a->o.walk->items[hit->item];
}

/* Is what is found there told and blocked like the question itself? */
static inline bool weir_asked__is_turn(const struct weir_asked *a,
                                       const struct weir_walk_item *item)
{
    return item->is_turn && (a->o.policy->input_roles >> item->role & 1) != 0;
}

/* asked_found.c: all findings of all views as hits, and what they lead to. */
void weir_asked__collect(struct weir_asked *a);

#endif
