#ifndef WEIR_TASK_ENFORCE_H
#define WEIR_TASK_ENFORCE_H

#include "task/completion.h"
#include "task/guard.h"
#include "task/known.h"

/*
 * Answers of routes that block or redact, written anew: members that task/known.h lists, with the
 * text that the guard let go.
 */

/* One choice of an answer or an event, as it leaves. */
struct weir_enforce_choice {
    const struct weir_json *json; /* the server's own */
    uint32_t choice;
    struct weir_slice body_name; /* "message", "delta", "text" */
    struct weir_slice body;      /* its JSON */
    struct weir_slice logprobs;  /* JSON; empty: as it stands there */
    enum weir_enforce_finish {
        WEIR_ENFORCE_AS_IS,    /* finish_reason and stop_reason as they stand there */
        WEIR_ENFORCE_WAITS,    /* null: they leave later */
        WEIR_ENFORCE_FILTERED, /* "content_filter" */
    } finish;
    bool is_tainted; /* the text was changed: leave out members that tell the original tokens */
    bool keeps_unknown;
};
void weir_enforce_write_choice(struct weir_json_write *w, const struct weir_enforce_choice *c);

/* An answer or event around its choices. */
struct weir_enforce_answer {
    const struct weir_json *json;
    struct weir_slice choices; /* JSON array */
    bool with_usage;
    bool is_tainted;
    bool keeps_unknown;
    struct weir_slice detections; /* JSON; empty: none */
    struct weir_slice warnings;   /* likewise */
};
void weir_enforce_write_answer(struct weir_buf *out, const struct weir_enforce_answer *a);

/* A unary answer: every choice goes through its guard, then `done` gets the answer, as with
 * weir_task_completion_start. What the options point to lives in the request's arena. */
struct weir_enforce_options {
    struct weir_task_ctx *task;
    const struct weir_task_completion *request;
    const struct weir_input *input;
    const struct weir_json *answer; /* an object */
    weir_task_done_fn done;
    void *ctx;
};
void weir_enforce_start(const struct weir_enforce_options *options);

#endif
