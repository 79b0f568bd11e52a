#ifndef WEIR_CONF_DETECTOR_H
#define WEIR_CONF_DETECTOR_H

#include "base/slice.h"
#include "conf/conf_stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An entry of `detectors:`, part of the tree of conf/conf.h. */
struct weir_conf_chunker;
struct weir_conf_provider;
struct weir_conf_service;

enum weir_conf_detector_type {
    WEIR_CONF_TEXT_CONTENTS,
    WEIR_CONF_TEXT_CHAT,
    WEIR_CONF_TEXT_CONTEXT_DOC,
    WEIR_CONF_TEXT_GENERATION,
};

/* How a service is asked: the words of `protocol`, as detect/protocol.h has them. */
enum weir_conf_protocol {
    WEIR_CONF_PROTOCOL_FMS,
    WEIR_CONF_PROTOCOL_TEI,
    WEIR_CONF_PROTOCOL_VLLM_CLASSIFY,
    WEIR_CONF_PROTOCOL_OPENAI_MODERATION,
    WEIR_CONF_PROTOCOL_PRESIDIO,
    WEIR_CONF_PROTOCOL_OIP,
    WEIR_CONF_PROTOCOL_AZURE_CONTENT_SAFETY,
    WEIR_CONF_PROTOCOL_CHAT_JUDGE,
    WEIR_CONF_PROTOCOL_STREAM, /* reads along: detect/streamed.h */
};
enum weir_conf_on_error { WEIR_CONF_ON_ERROR_FAIL, WEIR_CONF_ON_ERROR_SKIP };
enum weir_conf_mode { WEIR_CONF_ENFORCE, WEIR_CONF_SHADOW };
enum weir_conf_preset { WEIR_CONF_PRESET_CUSTOM, WEIR_CONF_PRESET_QWEN3GUARD };

/* A message that a judge is sent. */
struct weir_conf_message {
    struct weir_conf_text role;
    struct weir_conf_text content;
};

enum weir_conf_activation {
    WEIR_CONF_ACTIVATION_NONE,
    WEIR_CONF_ACTIVATION_SOFTMAX,
    WEIR_CONF_ACTIVATION_SIGMOID,
};

/* Texts of different requests in one call of a detector, for each worker. */
struct weir_conf_batch {
    uint32_t in_flight;
    uint32_t max_items; /* 0: the protocol's own; 1: nothing is batched */
    uint64_t max_bytes;
    uint32_t wait_us;
};

/* What a service calls something, and what it is called here. */
struct weir_conf_label {
    struct weir_conf_text name;
    struct weir_conf_text detection;
    struct weir_conf_text detection_type;
    bool is_dropped; /* `NAME: null` */
};

struct weir_conf_detector {
    struct weir_conf_text id;
    enum weir_conf_detector_type type;
    struct weir_conf_text builtin;                  /* its name; absent: remote */
    struct weir_slice params;                       /* a JSON object, "{}" when none */
    struct weir_conf_pos params_at;                 /* of `params`, or of the detector */
    const struct weir_conf_service *service;        /* remote only, or … */
    const struct weir_conf_provider *provider;      /* … whose server is asked */
    const struct weir_conf_service *health_service; /* NULL: the service itself */
    enum weir_conf_protocol protocol;
    const struct weir_conf_label *labels; /* file order */
    size_t n_labels;
    struct weir_conf_text model; /* the rest of these: of some protocols */
    struct weir_conf_text language;
    struct weir_conf_list entities;
    struct weir_conf_text input_name;
    struct weir_conf_text output_name;
    enum weir_conf_activation activation;
    struct weir_conf_text api_version;
    bool shield;
    enum weir_conf_preset preset;
    const struct weir_conf_message *messages;
    size_t n_messages;
    struct weir_conf_text verdict; /* a regular expression */
    struct weir_conf_list positive;
    struct weir_conf_batch batch;
    uint32_t max_concurrent; /* calls at once per worker; 0: as many as there are connections */
    uint32_t max_waiting;    /* calls, or texts to be batched, that wait for them */
    uint32_t timeout_ms;     /* of a whole call; 0: the service's own */
    enum weir_conf_on_error on_error;        /* what a failure of the service leads to */
    enum weir_conf_mode mode;                /* does it guard, or only watch? */
    bool breaker;                            /* it rests when it fails often */
    const struct weir_conf_chunker *chunker; /* NULL only where the type needs none */
    bool reads_along; /* built-in without `chunker_id`, or protocol `stream`: in streams; `chunker`
                         is for whole texts */
    double default_threshold;
    bool cache; /* its verdicts are kept */
};

#endif
