#ifndef WEIR_MOCK_SETTINGS_H
#define WEIR_MOCK_SETTINGS_H

#include "app/flags.h"
#include "base/arena.h"
#include "base/slice.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How a mock behaves: one table of settings with three ways to set each.
 *
 *   --fail-at 3                       a flag: for every request
 *   x-mock: fail_at=3; error=cut      a header: for this one
 *   {"mock":{"fail_at":3}}            a member of the request: likewise
 *
 * What a setting means stands in the table (mock_settings.c), which is also the text of --help.
 */

/* What a model says, one bit each. */
enum weir_mock_scenario {
    WEIR_MOCK_TEXT,              /* content; what is said when nothing else is chosen */
    WEIR_MOCK_TOOLS,             /* tool calls, arguments in fragments; no content unless `text` */
    WEIR_MOCK_REASONING,         /* reasoning_content before the content */
    WEIR_MOCK_REFUSAL,           /* delta.refusal instead of content */
    WEIR_MOCK_EMPTY,             /* no content at all */
    WEIR_MOCK_ECHO,              /* the content is the last message, or the prompt */
    WEIR_MOCK_MIXED,             /* an event has content and reasoning_content at once */
    WEIR_MOCK_LOGPROBS,          /* also where the request does not ask */
    WEIR_MOCK_USAGE,             /* a last usage event, likewise */
    WEIR_MOCK_USAGE_EACH,        /* usage on every event */
    WEIR_MOCK_ROLE_EACH,         /* role on every event, not only on the first */
    WEIR_MOCK_ROLE_NEVER,        /* on none */
    WEIR_MOCK_ROLE_WITH_TEXT,    /* on the first text event, not on one of its own */
    WEIR_MOCK_FINISH_WITH_TEXT,  /* finish_reason on the last text event, likewise */
    WEIR_MOCK_TEXT_AFTER_FINISH, /* more text follows finish_reason */
    WEIR_MOCK_AZURE,             /* prompt_filter_results, content_filter_results, …_offsets */
    WEIR_MOCK_AZURE_ASYNC,       /* the same as events of their own, behind the text (no delta) */
    WEIR_MOCK_UNKNOWN,           /* members nobody knows, everywhere */
    WEIR_MOCK_SPLIT_UTF8,        /* surrogate pairs cut between two events */
    WEIR_MOCK_CRLF,              /* lines end with CR LF */
    WEIR_MOCK_COMMENTS,          /* comment lines between events */
    WEIR_MOCK_NO_DONE,           /* the stream ends without [DONE] */
    WEIR_MOCK_JOINED,            /* several choices in one event */
    WEIR_MOCK_SEQUENTIAL,        /* one choice after the other */
    WEIR_MOCK_SHUFFLED,          /* choices in random order */
    WEIR_MOCK_ITEMS,             /* Responses: an item of every kind behind what is said */
    WEIR_MOCK_EXTRAS,            /* Responses: what vLLM and LiteLLM add */
    WEIR_MOCK_DIFFERS,           /* Responses: what is repeated is said in other words */
};

/* What happens at `fail_at`. */
enum weir_mock_error {
    WEIR_MOCK_ERROR_NESTED,     /* {"error":{"message",…}}, then the end */
    WEIR_MOCK_ERROR_FLAT,       /* {"object":"error","message",…} */
    WEIR_MOCK_ERROR_EVENT,      /* event: error */
    WEIR_MOCK_ERROR_CUT,        /* the connection is reset */
    WEIR_MOCK_ERROR_END,        /* the body ends properly */
    WEIR_MOCK_ERROR_STALL,      /* nothing more comes, and nothing ends */
    WEIR_MOCK_ERROR_GARBAGE,    /* an event that is not JSON; the stream goes on */
    WEIR_MOCK_ERROR_NOT_OBJECT, /* one that is a number; it goes on */
    WEIR_MOCK_ERROR_NO_CHOICES, /* one without `choices`; it goes on */
    WEIR_MOCK_ERROR_BAD_UTF8,   /* one with bytes that are not UTF-8; it goes on */
};

/* How a detector finds. */
enum weir_mock_find {
    WEIR_MOCK_FIND_MATCH, /* what the pattern, or the built-in ones, match */
    WEIR_MOCK_FIND_ALL,   /* every text as a whole */
    WEIR_MOCK_FIND_NONE,  /* nothing */
};

/* How a detector's answer is wrong. */
enum weir_mock_bad {
    WEIR_MOCK_BAD_NOT,
    WEIR_MOCK_BAD_LISTS_MORE, /* a list too many */
    WEIR_MOCK_BAD_LISTS_LESS, /* a list too few */
    WEIR_MOCK_BAD_NOT_LIST,   /* an object */
    WEIR_MOCK_BAD_SPAN_OUTSIDE,
    WEIR_MOCK_BAD_SPAN_REVERSED, /* start > end */
    WEIR_MOCK_BAD_SPAN_NEGATIVE,
    WEIR_MOCK_BAD_SPAN_FRACTION, /* 0.5 */
    WEIR_MOCK_BAD_SPAN_MISSING,  /* no start, no end */
    WEIR_MOCK_BAD_SCORE_NAN,     /* NaN, which JSON does not have */
    WEIR_MOCK_BAD_SCORE_LARGE,   /* 1.5 */
    WEIR_MOCK_BAD_SCORE_TEXT,    /* "0.9" */
    WEIR_MOCK_BAD_TYPE_MISSING,  /* no detection_type */
    WEIR_MOCK_BAD_DUPLICATE,     /* a name twice in an object */
    WEIR_MOCK_BAD_GARBAGE,       /* not JSON */
    WEIR_MOCK_BAD_TRUNCATED,     /* JSON that ends in the middle; HTTP is fine */
    WEIR_MOCK_BAD_EMPTY,         /* a body of no bytes */
    WEIR_MOCK_BAD_CONTENT_TYPE,  /* text/html */
    WEIR_MOCK_BAD_CUT,           /* half of the body, then a reset */
};

/* How a chunker is wrong. */
enum weir_mock_chunks {
    WEIR_MOCK_CHUNKS_RIGHT,
    WEIR_MOCK_CHUNKS_OVERLAP,    /* a chunk begins before the last one's end */
    WEIR_MOCK_CHUNKS_GAP,        /* the second chunk is left out */
    WEIR_MOCK_CHUNKS_TEXT,       /* another text than was sent */
    WEIR_MOCK_CHUNKS_ZERO_INPUT, /* input_start_index and input_end_index are 0 */
    WEIR_MOCK_CHUNKS_BEYOND,     /* an end that has not arrived */
    WEIR_MOCK_CHUNKS_NO_END,     /* the rest of the text is never answered for */
    WEIR_MOCK_CHUNKS_GARBAGE,    /* a message that is not protobuf */
    WEIR_MOCK_CHUNKS_CUT,        /* the stream is reset after the first chunk */
    WEIR_MOCK_CHUNKS_STALL,      /* nothing is answered */
};

/* What /health and the gRPC health service say. */
enum weir_mock_health {
    WEIR_MOCK_HEALTH_GOOD,
    WEIR_MOCK_HEALTH_BAD,    /* 200 with status UNHEALTHY and a reason; NOT_SERVING */
    WEIR_MOCK_HEALTH_ERROR,  /* 503; UNAVAILABLE */
    WEIR_MOCK_HEALTH_ABSENT, /* 404; NOT_FOUND */
    WEIR_MOCK_HEALTH_EMPTY,  /* 200 without a body; SERVING */
};

#define WEIR_MOCK_UNSET UINT32_MAX

enum { WEIR_MOCK_FAIL_AT = 3 };

struct weir_mock_settings {
    /* every answer */
    uint32_t delay_ms;
    uint32_t jitter_ms;
    uint32_t status; /* 0: none */
    double fail_rate;
    uint32_t fail_first;
    struct weir_slice key;
    struct weir_slice message;
    uint32_t cut_bytes; /* 0: whole */
    uint32_t cut_ms;
    uint32_t pad_bytes;
    struct weir_slice answer; /* JSON; p == NULL: none */
    uint32_t grpc_status;

    /* the model server */
    uint32_t rate;
    uint32_t burst;
    uint32_t first_ms;
    uint32_t tokens; /* WEIR_MOCK_UNSET: the text once */
    struct weir_slice text;
    struct weir_slice pieces; /* JSON, likewise */
    struct weir_slice events; /* JSON, likewise */
    uint64_t scenario;        /* bits 1 << enum weir_mock_scenario */
    uint32_t fail_at;         /* WEIR_MOCK_UNSET: never */
    uint32_t error;           /* enum weir_mock_error; WEIR_MOCK_UNSET */
    uint32_t tool_calls;
    struct weir_slice arguments;
    struct weir_slice finish;  /* p == NULL: what fits */
    uint32_t health;           /* enum weir_mock_health */
    struct weir_slice api_key; /* p == NULL: none is wanted */
    struct weir_slice deployments;
    struct weir_slice blocked;
    uint32_t retry_after; /* seconds; 0: nothing is said */

    /* the detector */
    struct weir_slice regex; /* p == NULL: the built-in patterns */
    uint32_t find;           /* enum weir_mock_find */
    struct weir_slice detection;
    struct weir_slice detection_type;
    double score;
    uint32_t bad; /* enum weir_mock_bad */

    /* the chunker */
    uint32_t chunks; /* enum weir_mock_chunks */
};

static inline bool weir_mock_settings_has(const struct weir_mock_settings *set,
                                          enum weir_mock_scenario scenario)
{
    return (set->scenario & (UINT64_C(1) << scenario)) != 0;
}

/* Where events go wrong, or WEIR_MOCK_UNSET: an error without a place has one all the same. */
static inline uint32_t weir_mock_settings_fail_at(const struct weir_mock_settings *set)
{
    bool has_place = set->fail_at != WEIR_MOCK_UNSET || set->error == WEIR_MOCK_UNSET;
    return has_place ? set->fail_at : WEIR_MOCK_FAIL_AT;
}

/* A mistake, for the one who made it: "`rate`: `x` is not a number from 0 to 1000000". */
struct weir_mock_mistake {
    char text[200];
};

void weir_mock_settings_init(struct weir_mock_settings *set);

/*
 * Sets one by its name, as JSON and the header spell it. The value is borrowed. 0 or WEIR_EINVAL
 * with the mistake; WEIR_ENOTFOUND (and the mistake too) when there is no such setting.
 */
int weir_mock_settings_set(struct weir_mock_settings *set, struct weir_slice name,
                           struct weir_slice value, struct weir_mock_mistake *mistake);

/* All of `x-mock: a=1; b=2`. Values are borrowed. 0 or WEIR_EINVAL. */
int weir_mock_settings_header(struct weir_mock_settings *set, struct weir_slice value,
                              struct weir_mock_mistake *mistake);

/*
 * The members of an object; null leaves a setting alone. Names that are none are a mistake, or with
 * `is_lenient` somebody else's business. Values live in `arena` or the document. 0 or WEIR_EINVAL.
 */
struct weir_mock_json {
    const struct weir_json *json;
    uint32_t object;
    bool is_lenient;
    struct weir_arena *arena;
};
int weir_mock_settings_json(struct weir_mock_settings *set, const struct weir_mock_json *from,
                            struct weir_mock_mistake *mistake);

/*
 * The table as flags, for --help and parsing: --fail-at for fail_at. Flag `i` stores its text at
 * `offset + i * sizeof(const char *)` of the flags' target. Returns how many it has put into
 * `flags`, which has room for WEIR_MOCK_MAX_FLAGS.
 */
enum { WEIR_MOCK_MAX_FLAGS = 48 };
size_t weir_mock_settings_flags(struct weir_flag *flags, size_t offset);

/* Then sets what was given: values[i] of flag `i`, NULL where it was not. 0 or WEIR_EINVAL. */
int weir_mock_settings_take_flags(struct weir_mock_settings *set, const char *const *values,
                                  struct weir_mock_mistake *mistake);

/* The words of --scenario and the others, for the end of --help. */
void weir_mock_settings_help(struct weir_buf *out);

#endif
