#ifndef WEIR_TASK_ROW_INT_H
#define WEIR_TASK_ROW_INT_H

#include "task/called.h"
#include "task/row.h"
#include "task/row_exchange.h"
#include "task/row_rest.h"
#include "task/scan.h"

/*
 * Inside: what comes into a row (row.c), lines under judgement (row_judge.c), what leaves
 * (row_out.c).
 */

struct weir_row_place {
    struct weir_list link;
    struct weir_row *row;
    struct weir_row_place_options o;
    struct weir_guard *guard;
    size_t left_cp;            /* of its text, that may leave … */
    struct weir_buf kept;      /* … but waits for the rest of its event */
    size_t told_held;          /* what waits for detectors that only tell, as counted */
    struct weir_row_rest rest; /* annotate: of its last piece */
    uint16_t half;             /* see talk/half.h */
    bool is_over;              /* the guard has said its last */
    bool has_left;             /* it was closed, and only waits for those detectors */
};

/* The texts of a line, under judgement, with all that is made for that: a stream has any number of
 * such lines, so it does not live as long as the request. */
struct weir_row_judged {
    struct weir_list link;
    struct weir_row *row;
    struct weir_arena arena;
    struct weir_task_ctx task; /* the request's, with this arena */
    uint64_t number;
    int tag;
    struct weir_scan *scan;
    bool is_whole;                 /* it is the whole conversation, and no line */
    struct weir_scan_group *group; /* of texts … */
    struct weir_called *called;    /* … or the call: these */
    struct weir_tools tools;
    size_t n_held; /* counts among what the row holds until the answer is there */
    bool is_done;
    bool only_tells; /* no line waits for it */
};

enum weir_row_kind { WEIR_ROW_LINE, WEIR_ROW_TEXT, WEIR_ROW_CLOSE, WEIR_ROW_JUDGED, WEIR_ROW_WAIT };

struct weir_row_item {
    struct weir_list link;
    enum weir_row_kind kind;
    struct weir_row_place *place;   /* WEIR_ROW_TEXT, WEIR_ROW_CLOSE */
    struct weir_row_judged *judged; /* WEIR_ROW_JUDGED */
    enum weir_row_rule rule;
    int tag;
    uint64_t number;
    size_t start_cp; /* WEIR_ROW_TEXT */
    size_t end_cp;
    size_t n_text; /* its bytes */
    bool has_left; /* annotate: between events of one piece */
    size_t n_held;
    struct weir_task_spares *home; /* where it goes when it has left; NULL: nowhere */
    size_t from; /* of the bytes: the event or line, and all of them where they are its frame */
    size_t n;
    size_t n_bytes;
    char bytes[];
};

struct weir_row {
    struct weir_row_options o;
    struct weir_policy_teller telling; /* the route's, for detectors that only tell */
    struct weir_policy blocking;       /* the route's, as a place has it that blocks */
    struct weir_policy_mask blocking_mask;
    struct weir_list items;
    struct weir_list places;   /* that have not left, asides included … */
    size_t n_asides;           /* … so many of them */
    struct weir_list judging;  /* lines that have not left, and those of which findings are told */
    struct weir_list done;     /* to be swept … */
    struct weir_list answered; /* … and lines */
    struct weir_post sweep;    /* frees them: not from inside their own calls */
    size_t n_asked;            /* lines of which no answer is there yet */
    struct weir_buf text;
    struct weir_row_exchange exchange; /* where somebody looks at the conversation */
    bool is_shown;                     /* it was shown to them */
    size_t held_bytes;
    bool has_ended;
    bool is_over;
};

static inline bool weir_row__is_annotating(const struct weir_row *row)
{
    return !weir_policy_enforces(row->o.policy);
}

/* The event or line as it came; without its framing, and with it. */
static inline struct weir_slice weir_row__json_of(const struct weir_row_item *item)
{
    return weir_slice_make(item->bytes + item->from, item->n);
}
static inline struct weir_slice weir_row__raw_of(const struct weir_row_item *item)
{
    bool is_framed = item->n_bytes != item->n;
    return is_framed ? weir_slice_make(item->bytes, item->n_bytes) : WEIR_SLICE("");
}

/* row.c */
void weir_row__finish(struct weir_row *row); /* nothing more is taken in or leaves */
void weir_row__fail(struct weir_row *row, const struct weir_fault *fault);
void weir_row__fail_limit(struct weir_row *row);
void weir_row__fail_promise(struct weir_row_place *place, const char *what);
struct weir_row_item *weir_row__add_item(struct weir_row *row, enum weir_row_kind kind,
                                         struct weir_slice json, struct weir_slice raw);
void weir_row__free_item(struct weir_row *row, struct weir_row_item *item);
void weir_row__count_told(struct weir_row_place *place);
void weir_row__retire(struct weir_row_place *place);
/* For those who look at the whole conversation. 0, or WEIR_ELIMIT. */
int weir_row__keep_said(struct weir_row *row, enum weir_channel channel, uint64_t number,
                        struct weir_slice text);

/* row_judge.c */
void weir_row__free_judged(struct weir_list *list); /* all of it */
/* All of the answer is there: who looks at the whole conversation is shown it. */
void weir_row__show_exchange(struct weir_row *row);
/* The line leaves, is left out, or ends the answer. False: it is not judged yet, or the row is
 * over. */
bool weir_row__let_go_judged(struct weir_row *row, const struct weir_row_item *item);
bool weir_row__has_telling(const struct weir_row *row);
/* Lines that nothing waits for: true when none of them is under judgement any more. */
bool weir_row__tell_judged(struct weir_row *row);

/* row_out.c */
void weir_row__send_line(struct weir_row *row, const struct weir_row_item *item, bool is_touched);

#endif
