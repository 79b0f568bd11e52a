#ifndef WEIR_TASK_ASKED_INT_H
#define WEIR_TASK_ASKED_INT_H

#include "talk/pointer.h"
#include "talk/tree.h"
#include "talk/unescape.h"
#include "task/asked.h"
#include "task/redact.h"

/*
 * Inside asked, and for what looks at an answer in the same way (task/called.c): views of the items
 * (asked.c), findings brought back to places (asked_found.c), and what becomes of the places
 * (asked_write.c).
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
    uint32_t node;   /* of the item's document; WEIR_JSON_NONE: it is the item's own text */
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
    bool is_cut;          /* found as written, with a part of an escape at one of its ends … */
    size_t sure_start_cp; /* … and this without them */
    size_t sure_end_cp;
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
    struct weir_task_ctx *task;
    struct weir_scan *scan; /* the one under way, or the last */
    struct weir_scan_group
        *chat; /* what was found in the conversation as a whole; NULL: not asked */
    weir_scan_done_fn on_done;
    void *ctx;
    weir_scan_local_fn on_local; /* NULL: nobody asks, or it was told */
    void *local_ctx;
    struct weir_asked_hit *hits; /* sorted by item, node and span */
    size_t n_hits;
    size_t cap_hits;
    struct weir_asked_place *places;
    size_t n_places;
    enum weir_policy_outcome outcome;
    const struct weir_fault *fault;
    /* The same question for detectors that only tell: views, findings and places of its own, and a
     * policy by which they lead to nothing. NULL: all judge. */
    struct weir_asked *teller;
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

/* asked.c: adds a view of pieces joined, of the item `pieces[0]` is of. */
void weir_asked__add_joined(struct weir_asked *a, struct weir_slice text,
                            const struct weir_asked_piece *pieces, size_t n);

/* Adds the views to a scan, a group each. */
void weir_asked__add(struct weir_asked *a, struct weir_scan *scan);

/* asked_found.c: when that scan is done, all findings of all views as hits; and what they lead to
 * in a question. */
void weir_asked__collect(struct weir_asked *a);
void weir_asked__judge(struct weir_asked *a);

/* asked_chat.c: detectors of the conversation as a whole. Starts them when the others are done, if
 * there are any and the question is not blocked already: true, and `on_done` is called by them. */
size_t weir_asked__n_chat(const struct weir_asked *a);
bool weir_asked__start_chat(struct weir_asked *a);
size_t weir_asked__n_chat_found(const struct weir_asked *a);
void weir_asked__write_chat(struct weir_json_write *w, const struct weir_asked *a); /* its entry */
void weir_asked__note_chat(const struct weir_asked *a, const struct weir_policy *policy);

/* asked_write.c: the findings of a place with their texts, which come by their starts; named so
 * that they do not tell what they hide where the route hides it. In the arena. */
struct weir_detection *weir_asked__told(const struct weir_asked *a,
                                        const struct weir_asked_place *place);

/* What stands in a place instead, in the arena; `spans`, one for each of its findings, or NULL, say
 * where they are in that. */
struct weir_slice weir_asked__instead(const struct weir_asked *a,
                                      const struct weir_asked_place *place,
                                      struct weir_redact_span *spans);

/* A TEXT or a DOCUMENT with what was found in it replaced, in the arena. */
struct weir_slice weir_asked__edited(struct weir_asked *a, uint32_t item);

/* Writing paths of places one after the other, in their order. */
struct weir_asked_telling {
    struct weir_json_write *w;
    const struct weir_asked *a;
    struct weir_pointer outer;
    struct weir_pointer inner; /* of the document at hand */
    struct weir_buf path;      /* disposed of by the owner */
    bool skips_first;          /* the first step of a path inside of a document is not told */
    uint32_t item;       /* where enforced: a member of this item whose name has a finding … */
    uint32_t gone_until; /* … ends before this node … */
    bool is_outer;       /* … of the request: items behind it may lie in it, too */
};

/* The members `path` and `results` of an entry. Of an answer the path is that inside of the
 * document. */
void weir_asked__write_path(struct weir_asked_telling *t, const struct weir_asked_hit *hit);
void weir_asked__write_results(struct weir_asked_telling *t, const struct weir_detection *told,
                               size_t n);

/* One more finding in a view, but not in JSON as it is written; then the places anew. */
void weir_asked__take(struct weir_asked *a, const struct weir_asked_view *view,
                      const struct weir_detection *d);
void weir_asked__make_places(struct weir_asked *a);

/* asked_write.c: the string of a place, decoded; a number as it is written. */
struct weir_slice weir_asked__value(const struct weir_asked *a, const struct weir_asked_hit *hit);

/* asked_mask.c: where the policy masks, what else is found by what was found, and all of it in the
 * map; where that cannot be, `fault` says why. */
void weir_asked__mask(struct weir_asked *a);

/* Of an answer's calls: findings in tokens of that map are none, others take in the tokens that
 * they touch. */
void weir_asked__sift(struct weir_asked *a, const struct weir_mask *mask);

/* The string of a place with tokens in it, in the arena. */
struct weir_slice weir_asked__masked(const struct weir_asked *a,
                                     const struct weir_asked_place *place);

/* The line that asks the model to keep tokens as they are goes behind this item's text; NULL:
 * behind none. */
const struct weir_walk_item *weir_asked__instructed(const struct weir_asked *a);
struct weir_slice weir_asked__with_line(const struct weir_asked *a, struct weir_slice text);

#endif
