#ifndef WEIR_CONF_H
#define WEIR_CONF_H

#include "base/arena.h"
#include "base/map.h"
#include "base/slice.h"
#include "conf/conf_detector.h"
#include "conf/conf_limits.h"
#include "conf/conf_problem.h"
#include "conf/conf_stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The configuration: one immutable tree, made by weir_conf_load, then const and shared by
 * reference between workers; a reload makes another one. All defaults are filled in, all names are
 * resolved to pointers inside the tree, everything lives in the tree's own arena. Values that a
 * later check may complain about carry the file and line they were written at.
 */

enum weir_conf_compat { WEIR_CONF_ADR, WEIR_CONF_FMS };
enum weir_conf_read_along {
    WEIR_CONF_READ_OFF, /* built-in detectors without a chunker work on windows */
    WEIR_CONF_READ_ON,
};
enum weir_conf_aggregation {
    WEIR_CONF_MAX_PROCESSED_INDEX,
    WEIR_CONF_ALIGNED,
    WEIR_CONF_MIN_PROCESSED_INDEX,
};

/* Files are not opened here beyond a test that they can be read: io/tls.h does the rest. */
struct weir_conf_tls {
    struct weir_conf_text name;      /* its key under `tls:`; absent when written inline */
    struct weir_conf_text cert_path; /* a PEM chain, holding the key too where key_path is absent */
    struct weir_conf_text key_path;
    struct weir_conf_text client_ca_cert_path;
    bool insecure;
    bool is_used; /* by a service */
    struct weir_conf_pos at;
};

/* Where and how a service is called. */
struct weir_conf_service {
    struct weir_conf_pos at;
    struct weir_conf_text hostname; /* a name or an address, IPv6 without brackets */
    uint32_t port;                  /* 1..65535, the kind's default when left out */
    bool is_default_port;
    struct weir_conf_text path_prefix; /* empty, or "/x" without a slash at the end */
    const struct weir_conf_tls *tls;   /* NULL: plain */
    struct weir_conf_text api_token_env;
    struct weir_slice api_token; /* secret: the variable's value; empty: none */
    uint32_t max_retries;
    uint32_t request_timeout_ms;
    uint32_t connect_timeout_ms;
    uint32_t first_byte_timeout_ms;
    uint32_t idle_timeout_ms;
    uint32_t http2_keep_alive_interval_ms; /* 0: no pings */
    uint32_t keep_alive_timeout_ms;
    uint32_t grpc_dns_probe_interval_ms;
};

enum weir_conf_openai_kind {
    WEIR_CONF_OPENAI_NONE,
    WEIR_CONF_OPENAI_REMOTE,
    WEIR_CONF_OPENAI_DEMO, /* the built-in demonstration model; no service */
};

struct weir_conf_openai {
    enum weir_conf_openai_kind kind;
    struct weir_conf_pos at;
    const struct weir_conf_service *service;        /* NULL unless remote */
    const struct weir_conf_service *health_service; /* NULL: the service itself */
};

enum weir_conf_generator { WEIR_CONF_TGIS, WEIR_CONF_NLP };

struct weir_conf_generation {
    bool is_configured;
    struct weir_conf_pos at;
    enum weir_conf_generator provider;
    const struct weir_conf_service *service;
};

/* What a model server serves, one bit each; the words of `dialects`. */
enum weir_conf_dialect {
    WEIR_CONF_CHAT = 1,
    WEIR_CONF_COMPLETIONS = 2,
    WEIR_CONF_RESPONSES = 4,
    WEIR_CONF_MESSAGES = 8,
    WEIR_CONF_EMBEDDINGS = 16,
    WEIR_CONF_RERANK = 32,
    WEIR_CONF_SCORE = 64,
};

enum weir_conf_provider_kind {
    WEIR_CONF_PROVIDER_OPENAI,
    WEIR_CONF_PROVIDER_AZURE,
    WEIR_CONF_PROVIDER_ANTHROPIC,
};

struct weir_conf_pair {
    struct weir_slice name;
    struct weir_slice value;
};

/* An entry of `providers:`. */
struct weir_conf_provider {
    struct weir_conf_service
        service; /* of `base_url`: its path is path_prefix. No token: api_key */
    struct weir_conf_text name;
    enum weir_conf_provider_kind kind;
    struct weir_conf_text base_url;
    struct weir_slice api_key; /* secret; empty: none */
    struct weir_conf_text api_version;
    const struct weir_conf_pair *headers; /* names in lower case */
    size_t n_headers;
    struct weir_slice query; /* "a=b&c=d", escaped; or "" */
    bool pass_caller_key;
    uint32_t dialects;           /* bits of weir_conf_dialect */
    bool has_first_byte_timeout; /* it was written */
};

/* Where requests for a model go. */
struct weir_conf_target {
    const struct weir_conf_provider *provider; /* NULL: `openai:` */
    struct weir_conf_text model;               /* its name there; absent: as the caller says */
    struct weir_conf_pos at;
};

/* An entry of `models:`. The first `n_replicas` targets are of equal rank, the others are tried in
 * their order. */
struct weir_conf_model {
    struct weir_conf_text glob;
    const struct weir_conf_target *targets;
    size_t n_targets;
    size_t n_replicas;
};

struct weir_conf_chunker {
    struct weir_conf_text id;
    struct weir_conf_text builtin;           /* its name; absent: remote */
    struct weir_slice params;                /* built-in: a JSON object, "{}" when none */
    struct weir_conf_pos params_at;          /* of `params`, or of the chunker */
    const struct weir_conf_service *service; /* remote only */
};

enum weir_conf_action {
    WEIR_CONF_ANNOTATE,
    WEIR_CONF_BLOCK,
    WEIR_CONF_REDACT,
    WEIR_CONF_MASK, /* redact, with tokens that become values again in the answer */
};
enum weir_conf_history { /* what becomes of tool calls and results that make no sense together */
                         WEIR_CONF_HISTORY_OFF,
                         WEIR_CONF_HISTORY_WARN,
                         WEIR_CONF_HISTORY_REJECT,
                         WEIR_CONF_HISTORY_MERGE, /* repeated ones are left out */
};
enum weir_conf_unknown { WEIR_CONF_UNKNOWN_DROP, WEIR_CONF_UNKNOWN_PASS, WEIR_CONF_UNKNOWN_CHECK };
enum weir_conf_message_role { /* bits of input_roles and of a detector's when.roles */
                              WEIR_CONF_USER = 1,
                              WEIR_CONF_SYSTEM = 2,
                              WEIR_CONF_DEVELOPER = 4,
                              WEIR_CONF_TOOL = 8,
                              WEIR_CONF_FUNCTION = 16,
                              WEIR_CONF_ASSISTANT = 32,
                              WEIR_CONF_NOBODY = 64, /* when.roles only */
};
enum weir_conf_scope { WEIR_CONF_SCOPE_TURN, WEIR_CONF_SCOPE_ALL };
enum weir_conf_history_findings { WEIR_CONF_HISTORY_REMOVE, WEIR_CONF_HISTORY_BLOCK };
enum weir_conf_hole { /* bits of unguarded */
                      WEIR_CONF_HOLE_HISTORY = 1 << 0,
                      WEIR_CONF_HOLE_DEFINITIONS = 1 << 1,
                      WEIR_CONF_HOLE_IMAGES = 1 << 2,
                      WEIR_CONF_HOLE_AUDIO = 1 << 3,
                      WEIR_CONF_HOLE_FILES = 1 << 4,
                      WEIR_CONF_HOLE_LOGPROBS = 1 << 5,
                      WEIR_CONF_HOLE_UNKNOWN_MEMBERS = 1 << 6,
                      WEIR_CONF_HOLE_SEALED = 1 << 7,
                      WEIR_CONF_HOLE_SERVER_HISTORY = 1 << 8,
                      WEIR_CONF_HOLE_TOKEN_IDS = 1 << 9,
};

/* A detector as a route uses it. */
enum weir_conf_channel {
    WEIR_CONF_CONTENT = 1,
    WEIR_CONF_REASONING = 2,
    WEIR_CONF_REFUSAL = 4,
    WEIR_CONF_TRANSCRIPT = 8,
    WEIR_CONF_TOOL_CALLS = 16,
};

struct weir_conf_use {
    const struct weir_conf_detector *detector;
    struct weir_conf_pos at;
    double threshold;             /* the route's, else the detector's default */
    struct weir_slice params;     /* a JSON object without what is here */
    struct weir_conf_list models; /* when.models: globs of what callers name; none: all */
    uint32_t channels; /* when.channels of an answer: bits of enum weir_conf_channel; 0: all */
    uint32_t roles;    /* when.roles: whose text of a question it looks at; 0: everybody's */
    struct weir_conf_list allow; /* patterns of values that are no finding; `*` is anything */
    bool only_annotates;         /* its own on_detection, whatever the route does */
};

/* How a route says that it has blocked something. */
enum weir_conf_block_as {
    WEIR_CONF_BLOCK_AS_MESSAGE,
    WEIR_CONF_BLOCK_AS_REFUSAL,
    WEIR_CONF_BLOCK_AS_ERROR,
};
enum weir_conf_ending { WEIR_CONF_ENDING_FILTER, WEIR_CONF_ENDING_COMPLETED };

enum weir_conf_mask_scope { WEIR_CONF_MASK_KEY, WEIR_CONF_MASK_ROUTE, WEIR_CONF_MASK_REQUEST };
enum weir_conf_mask_unknown {
    WEIR_CONF_MASK_UNKNOWN_REDACT,
    WEIR_CONF_MASK_UNKNOWN_BLOCK,
    WEIR_CONF_MASK_UNKNOWN_ANNOTATE,
};

/* How a route masks (docs/masking.md). */
struct weir_conf_mask {
    struct weir_slice key; /* secret; empty: there is none */
    enum weir_conf_mask_scope scope;
    struct weir_conf_list never_restore;
    enum weir_conf_mask_unknown unknown_output;
    struct weir_conf_list restore_hosts; /* in lower case */
    bool instruct;
};

/* Words that no answer should have (docs/policies.md, Canary words). */
struct weir_conf_canary {
    bool is_on;
    struct weir_conf_list words;
    struct weir_slice key; /* secret; empty: the words are given */
};

enum weir_conf_input_check { WEIR_CONF_INPUT_BEFORE, WEIR_CONF_INPUT_BESIDE };
enum weir_conf_output_check { WEIR_CONF_OUTPUT_BEFORE, WEIR_CONF_OUTPUT_AFTER };

struct weir_conf_route {
    struct weir_conf_text name;
    const struct weir_conf_use *input;
    size_t n_input;
    const struct weir_conf_use *output;
    size_t n_output;
    enum weir_conf_action on_detection;
    struct weir_conf_text fallback_message; /* absent: WEIR_POLICY_REFUSAL */
    enum weir_conf_block_as block_as;
    enum weir_conf_ending block_ending;
    struct weir_conf_text redact_with;
    struct weir_conf_mask mask;
    struct weir_conf_canary canary;
    uint32_t input_roles;
    enum weir_conf_scope input_scope;                 /* annotate */
    enum weir_conf_history_findings history_findings; /* block */
    enum weir_conf_input_check input_check;           /* annotate, block */
    enum weir_conf_output_check output_check;         /* likewise */
    uint32_t max_exposed_chars;                       /* `output_check: after` */
    bool is_unguarded;  /* `unguarded: all`: no detectors, and said so */
    uint32_t unguarded; /* bits of enum weir_conf_hole: the route's own list or the default one */
    struct weir_conf_list unguarded_paths; /* of the same list: "/v1/files" */
    struct weir_conf_list models;          /* globs; none: every model */
    enum weir_conf_unknown unknown_members;
    enum weir_conf_history history;
    struct weir_conf_max_tokens max_tokens;
    struct weir_conf_stream_policy streaming; /* only what was written; see conf_stream.h */
};

enum { WEIR_CONF_KEY_HASH_BYTES = 32 };

/* A key that opens. The key itself is not kept. */
struct weir_conf_caller {
    struct weir_conf_text name;             /* for the log */
    uint8_t hash[WEIR_CONF_KEY_HASH_BYTES]; /* SHA-256 */
    bool is_for_all_routes;
    struct weir_conf_list routes; /* names; with is_for_all_routes they do not matter */
    bool public_api;              /* may use the endpoints that `public_api: false` closes */
    uint32_t requests_per_minute; /* 0: as many as it likes; both are per process */
    uint32_t concurrent;          /* 0: likewise */
};

struct weir_conf_auth {
    bool is_on; /* false: everybody may come in */
    struct weir_conf_text keys_env;
    const struct weir_conf_caller *keys;
    size_t n_keys;
};

/* Verdicts of detectors that are kept, for each worker. */
struct weir_conf_cache {
    uint64_t max_bytes; /* 0: none */
    uint32_t ttl_ms;
};

enum weir_conf_audit_error { WEIR_CONF_AUDIT_DROP, WEIR_CONF_AUDIT_FAIL };

struct weir_conf_audit {
    struct weir_conf_text path; /* `stdout`, or a file; absent: no audit log */
    struct weir_slice key;      /* secret; empty: no hashes, no chain */
    double sample_clean;        /* share of decisions without findings that are kept */
    enum weir_conf_audit_error on_error;
    uint64_t max_bytes; /* of one file; 0: no limit */
};

struct weir_conf {
    const char *file;  /* as problems name it */
    char revision[13]; /* 12 hex digits of the file's SHA-256 */
    bool is_embedded;

    struct weir_conf_openai openai;
    struct weir_conf_generation generation;
    const struct weir_conf_provider *providers; /* file order */
    size_t n_providers;
    const struct weir_conf_model *models; /* file order */
    size_t n_models;
    const struct weir_conf_chunker *chunkers; /* file order; whole_doc_chunker is always there */
    size_t n_chunkers;
    const struct weir_conf_detector *detectors; /* file order */
    size_t n_detectors;
    const struct weir_conf_tls *const *tls; /* every one in use or named, inline ones too */
    size_t n_tls;
    const struct weir_conf_route *routes; /* file order */
    size_t n_routes;
    struct weir_conf_list passthrough_headers; /* lower case, no name twice */
    bool rewrite_forwarded_access_header;
    struct weir_conf_text seal_key_env; /* absent: s.p NULL */
    struct weir_slice seal_key;         /* secret; empty: none */
    struct weir_conf_text id_key_env;   /* absent: s.p NULL */
    struct weir_slice id_key;           /* secret, of response ids; empty: none */
    uint32_t detector_concurrent_requests;
    uint32_t chunker_concurrent_requests;
    struct weir_conf_cache cache;
    enum weir_conf_compat compat;
    enum weir_conf_aggregation aggregation;
    enum weir_conf_read_along read_along;
    struct weir_conf_streaming streaming;
    bool public_api;
    bool playground;
    bool trust_traceparent;
    struct weir_conf_auth auth;
    struct weir_conf_audit audit;
    struct weir_conf_list cors_origins; /* whose pages' scripts may ask; `*`: anybody's */
    struct weir_conf_limits limits;

    struct weir_map detectors_by_id; /* use weir_conf_detector */
    struct weir_map chunkers_by_id;
    struct weir_arena arena;
};

void weir_conf_free(struct weir_conf *conf); /* NULL is fine */

/* NULL when there is none of that id. */
const struct weir_conf_detector *weir_conf_detector(const struct weir_conf *conf,
                                                    struct weir_slice id);
const struct weir_conf_chunker *weir_conf_chunker(const struct weir_conf *conf,
                                                  struct weir_slice id);
const struct weir_conf_route *weir_conf_route(const struct weir_conf *conf, struct weir_slice name);

/* Is there any server for chat completions and their like? */
static inline bool weir_conf_has_models(const struct weir_conf *conf)
{
    return conf->openai.kind != WEIR_CONF_OPENAI_NONE || conf->n_models != 0;
}

/* Names as they are written in the file. */
const char *weir_conf_dialect_name(enum weir_conf_dialect dialect);
const char *weir_conf_provider_kind_name(enum weir_conf_provider_kind kind);
const char *weir_conf_protocol_name(enum weir_conf_protocol protocol);
const char *weir_conf_action_name(enum weir_conf_action action);
const char *weir_conf_hole_name(uint32_t hole); /* one bit; NULL: there is no such */
const char *weir_conf_aggregation_name(enum weir_conf_aggregation aggregation);

#endif
