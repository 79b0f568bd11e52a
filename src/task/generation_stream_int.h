#ifndef WEIR_TASK_GENERATION_STREAM_INT_H
#define WEIR_TASK_GENERATION_STREAM_INT_H

#include "base/buf.h"
#include "task/generation_stream.h"
#include "task/path.h"
#include "task/stream.h"

/* Inside: the life of the stream (generation_stream.c), its objects (generation_frames.c). */

/* A message without its text, kept until its text has left: the tag of a frame of the path. */
struct weir_gs_frame {
    struct weir_model_generated said; /* no slices */
    size_t n_tokens_json;             /* elements of arrays, behind this struct, */
    size_t n_input_json;              /* one after the other */
    size_t held_bytes;                /* with its text */
    char json[];
};

/* What one object says. */
struct weir_gs_object {
    struct weir_slice text;
    bool has_output;                              /* `output` is there, perhaps empty */
    const struct weir_detection *const *findings; /* of a batch, … */
    size_t n_findings;
    const struct weir_scan_group *whole; /* … of detectors that look at the whole; or NULL */
    struct weir_model_generated said;    /* the last message it touches; no slices */
    struct weir_slice tokens;            /* elements */
    struct weir_slice input_tokens;
    bool has_arrays; /* token arrays are there, perhaps empty */
    size_t start_cp;
    size_t end_cp;
};

struct weir_gs {
    struct weir_stream stream;
    struct weir_task_generation request;
    const struct weir_gather_strategy *strategy;
    struct weir_scan_group *input_found;
    uint64_t n_input_tokens;
    struct weir_path *path; /* NULL: no detector works on chunks */
    uint64_t n_frames;
    size_t held_bytes;
    size_t length_cp; /* of all text so far */

    struct weir_model_generated first; /* the first message; no slices */
    struct weir_model_generated last;  /* the last message that left; no slices */
    struct weir_buf second_input;      /* input tokens of the second message … */
    bool has_sent_second;              /* … which leave before their turn, once */
    bool has_sent;                     /* some object has left */
    /* Told: message 0 and the last one an object spoke for, their text gone; NULL: none. */
    struct weir_gs_frame *kept[2];
    uint64_t kept_number; /* the second one's */

    struct weir_buf whole; /* the text, for detectors that look at all of it */
    struct weir_scan *whole_scan;
    struct weir_scan_group *whole_found;
    struct weir_buf scratch;
    bool has_whole;
    bool source_done;
    bool whole_done;
};

/* generation_frames.c */

/* The tag of a message; counted as held. */
struct weir_gs_frame *weir_gs__frame_new(struct weir_gs *gs, const struct weir_model_generated *m);

void weir_gs__frame_free(struct weir_gs *gs, struct weir_gs_frame *frame);

/* Tags of everything that has not left. */
void weir_gs__free_frames(struct weir_gs *gs);

/* One message, guarded by nothing that works on chunks. */
void weir_gs__write_message(struct weir_gs *gs, const struct weir_model_generated *m,
                            struct weir_buf *out);

/* A batch, with what the messages it touches say; those that end in it are forgotten. */
void weir_gs__write_batch(struct weir_gs *gs, const struct weir_gather_batch *batch,
                          struct weir_buf *out);

/* What is known only at the end. Nothing: nothing to say. */
void weir_gs__write_final(struct weir_gs *gs, struct weir_buf *out);

#endif
