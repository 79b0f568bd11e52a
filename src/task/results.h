#ifndef WEIR_TASK_RESULTS_H
#define WEIR_TASK_RESULTS_H

#include "detect/detection.h"
#include "wire/json_write.h"

/*
 * Findings as JSON, in the shapes and with the members in the order of docs/api/endpoints.md
 * (Findings), and the warnings that go with them.
 */
enum weir_results_shape {
    WEIR_RESULTS_NONE,           /* not as JSON */
    WEIR_RESULTS_CONTENT,        /* C, D */
    WEIR_RESULTS_COMPLETION,     /* H and I: spans and text where known */
    WEIR_RESULTS_TERSE,          /* the same without what was found: text and evidence */
    WEIR_RESULTS_WHOLE,          /* E, F, G, B: no spans */
    WEIR_RESULTS_CLASSIFICATION, /* A: word, entity, entity_group */
};

/* One object. */
void weir_results_write_one(struct weir_json_write *w, enum weir_results_shape shape,
                            const struct weir_detection *item);

/* The same behind what is there, with a comma where `is_next`. */
void weir_results_append(struct weir_buf *out, enum weir_results_shape shape,
                         const struct weir_detection *item, bool is_next);

enum weir_results_warning {
    WEIR_WARN_UNSUITABLE_INPUT,
    WEIR_WARN_UNSUITABLE_OUTPUT,
};

/* An entry of `detections.output`: {choice_index, channel?, results}. The results, a JSON array,
 * are written between the two; `channel` NULL: the content, which is not named. */
void weir_results_begin_entry(struct weir_json_write *w, uint64_t choice_index,
                              const char *channel);
void weir_results_end_entry(struct weir_json_write *w);

/* {"id"|"type": …, "message": …}; the name's key is "id" on A and "type" elsewhere. */
void weir_results_write_warning(struct weir_json_write *w, struct weir_slice name_key,
                                enum weir_results_warning warning);

/* EMPTY_OUTPUT of a choice, in the words of H (`is_chat`) or I. */
void weir_results_write_empty_output(struct weir_json_write *w, uint64_t choice_index,
                                     bool is_chat);

#endif
