#ifndef WEIR_DETECT_PROTOCOL_H
#define WEIR_DETECT_PROTOCOL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"
#include "detect/answer.h"
#include "detect/detect.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * How a remote detector is asked: what `protocol:` of the configuration means. Pure: texts to a
 * request's body, an answer's body to findings. Calling is detect/remote.h's.
 *
 *   name                    path                               texts of one request
 *   fms                     /api/v1/text/…                     any number
 *   tei                     /predict                           32
 *   vllm_classify           /classify                          32
 *   openai_moderation       /v1/moderations                    32
 *   presidio                /analyze                           1
 *   oip                     /v2/models/MODEL/infer             32
 *   azure_content_safety    /contentsafety/text:analyze, …     1
 *   chat_judge              /v1/chat/completions               1
 *
 * A new protocol is one file with a `const struct weir_protocol` and one line in the table of
 * protocol.c. An answer that does not fit its contract is WEIR_EPEER with a reason, never "nothing
 * found".
 */

/* What a service calls something, and what it is called here. */
struct weir_protocol_label {
    struct weir_slice name;
    struct weir_slice detection;      /* empty: the name */
    struct weir_slice detection_type; /* empty: the protocol's */
    bool is_dropped;
};

enum weir_protocol_activation {
    WEIR_ACTIVATION_NONE, /* the answer's numbers are scores */
    WEIR_ACTIVATION_SOFTMAX,
    WEIR_ACTIVATION_SIGMOID,
};

/* How a judge's words are read. */
enum weir_judge_preset {
    WEIR_JUDGE_CUSTOM,     /* by a pattern */
    WEIR_JUDGE_QWEN3GUARD, /* "Safety: …", "Categories: …" */
};

struct weir_judge_message {
    struct weir_slice role;
    struct weir_slice content; /* with `{text}` in it */
};

/* The pattern that finds a verdict, with one group for its word. NULL with the reason in `why`. The
 * result is const, for any thread. */
struct weir_judge_pattern;
struct weir_judge_pattern *weir_judge_pattern_new(struct weir_slice pattern, struct weir_buf *why);
void weir_judge_pattern_free(struct weir_judge_pattern *p); /* NULL is fine */

/* Of one detector, from the configuration; all is borrowed. What is not set is empty. */
struct weir_protocol_options {
    const struct weir_protocol_label *labels;
    size_t n_labels;
    struct weir_slice params;          /* a JSON object: further members of every request; or "" */
    struct weir_slice model;           /* vllm_classify, openai_moderation, oip */
    struct weir_slice language;        /* presidio */
    const struct weir_slice *entities; /* presidio */
    size_t n_entities;
    struct weir_slice input_name; /* oip */
    struct weir_slice output_name;
    enum weir_protocol_activation activation;
    struct weir_slice api_version; /* azure_content_safety */
    struct weir_slice key;         /* azure_content_safety; secret */
    bool is_shield;                /* azure_content_safety: text:shieldPrompt */
    enum weir_judge_preset preset; /* chat_judge, and the rest */
    const struct weir_judge_message *messages;
    size_t n_messages;
    const struct weir_judge_pattern *verdict; /* custom */
    const struct weir_slice *positive;        /* custom: words that are a finding */
    size_t n_positive;
};

/* One request. `input` has only the texts of it. */
struct weir_protocol_ask {
    const struct weir_protocol_options *options;
    const struct weir_detect_input *input;
    struct weir_slice id; /* the detector's */
    struct weir_arena *arena;
};

enum { WEIR_PROTOCOL_MAX_FIELDS = 4 };

struct weir_protocol_lists;

struct weir_protocol {
    const char *name;
    unsigned types;                 /* 1 << enum weir_detect_type */
    size_t max_texts;               /* of one request; 0: any number */
    const char *health;             /* a path whose 2xx means healthy */
    struct weir_slice finding_type; /* `detection_type` of labels that name none */
    bool is_hosted; /* somebody else's: credentials of our callers are not passed on to it */
    /* NULL, or what is missing, in words for who wrote the configuration. May be NULL. */
    const char *(*check)(const struct weir_protocol_options *options);
    struct weir_slice (*path)(const struct weir_protocol_ask *ask);
    void (*write)(const struct weir_protocol_ask *ask, struct weir_buf *out);
    /* Adds to `fields` what the request needs besides content-type; how many. May be NULL. */
    size_t (*fields)(const struct weir_protocol_ask *ask, struct weir_http_field *fields);
    /* Reads an answer that is JSON: all lists of `l`, in order (protocol_int.h). 0 or WEIR_EPEER.
     */
    int (*lists)(struct weir_protocol_lists *l);
    /* Instead of `lists`; as weir_protocol_read. */
    int (*read)(struct weir_detect_answer *out, struct weir_slice body,
                const struct weir_protocol_ask *ask);
    /* An answer that is not 200: the fault's `status` and `message`. */
    void (*error)(struct weir_fault *fault, int status, struct weir_slice body,
                  struct weir_arena *arena);
};

extern const struct weir_protocol weir_protocol_fms;
extern const struct weir_protocol weir_protocol_tei;
extern const struct weir_protocol weir_protocol_vllm_classify;
extern const struct weir_protocol weir_protocol_openai_moderation;
extern const struct weir_protocol weir_protocol_presidio;
extern const struct weir_protocol weir_protocol_oip;
extern const struct weir_protocol weir_protocol_azure_content_safety;
extern const struct weir_protocol weir_protocol_chat_judge;

/* An answer with status 200. 0, or WEIR_EPEER with out->why; as weir_detect_answer_read. */
int weir_protocol_read(const struct weir_protocol *protocol, struct weir_detect_answer *out,
                       struct weir_slice body, const struct weir_protocol_ask *ask);

/* NULL: there is none of this name. */
const struct weir_protocol *weir_protocol_find(struct weir_slice name);

/* For tests: the i-th, NULL after the last. */
const struct weir_protocol *weir_protocol_at(size_t i);

#endif
