#ifndef WEIR_DETECT_PROTOCOL_INT_H
#define WEIR_DETECT_PROTOCOL_INT_H

#include "detect/protocol.h"
#include "wire/json.h"
#include "wire/json_write.h"

/*
 * What the protocols share: bodies with further members, answers that become lists of findings,
 * error objects.
 */

/* A body is written between begin and end; end adds the members of the configured parameters and
 * of the request's own, which win, unless the body has them. */
struct weir_protocol_body {
    struct weir_json_write w;
    const struct weir_protocol_ask *ask;
    struct weir_slice written[8]; /* names, literals */
    size_t n_written;
};

void weir_protocol__begin(struct weir_protocol_body *b, const struct weir_protocol_ask *ask,
                          struct weir_buf *out);
void weir_protocol__key(struct weir_protocol_body *b, const char *name);
/* Nothing when the value is empty. */
void weir_protocol__string(struct weir_protocol_body *b, const char *name, struct weir_slice value);
/* The texts as an array of strings. */
void weir_protocol__texts(struct weir_protocol_body *b, const char *name);
void weir_protocol__end(struct weir_protocol_body *b);

/* An answer on its way to lists: one per text. */
struct weir_protocol_lists {
    const struct weir_protocol_ask *ask;
    const struct weir_protocol *protocol;
    struct weir_json json;
    struct weir_json_tape tape;
    struct weir_detect_list *lists;
    size_t n_lists;
    size_t at;             /* the text whose list is being made */
    struct weir_buf found; /* struct weir_detection */
    const char *why;
};

struct weir_protocol_score {
    double value;
    struct weir_slice raw; /* as the service spelled it; empty: the value is ours */
};

/* WEIR_EPEER, with the words; a text of several is named. */
int weir_protocol__bad(struct weir_protocol_lists *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A member that must be there with that type. */
int weir_protocol__need(struct weir_protocol_lists *l, uint32_t object, const char *name,
                        enum weir_json_type type, uint32_t *at);
/* A list with exactly as many entries as `n` says. */
int weir_protocol__need_n(struct weir_protocol_lists *l, uint32_t list, const char *name, size_t n);
int weir_protocol__score(struct weir_protocol_lists *l, uint32_t at, const char *name,
                         struct weir_protocol_score *out);
/* A finding over the whole text, where its label is not dropped and its score is high enough. */
void weir_protocol__add(struct weir_protocol_lists *l, struct weir_slice label,
                        const struct weir_protocol_score *score);
/* The same with a place of its own and a ready name. */
void weir_protocol__add_span(struct weir_protocol_lists *l, const struct weir_detection *d);
/* The next text's list. */
void weir_protocol__next(struct weir_protocol_lists *l);
/* One entry per text, in a list that is the answer's member of this name, or the answer itself
 * (NULL): each is read into its text's list. */
int weir_protocol__each(struct weir_protocol_lists *l, const char *name,
                        int (*read_text)(struct weir_protocol_lists *l, uint32_t at));

/* {"error":{"message"}}, {"error":"…"} or {"message"}: whatever there is. */
void weir_protocol__error(struct weir_fault *fault, int status, struct weir_slice body,
                          struct weir_arena *arena);

/* What is this label called, and is it one at all? NULL: as the service says. */
const struct weir_protocol_label *weir_protocol__label(const struct weir_protocol_options *o,
                                                       struct weir_slice name);

#endif
