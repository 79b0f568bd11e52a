#ifndef WEIR_EMIT_BATCH_TYPES_H
#define WEIR_EMIT_BATCH_TYPES_H

#include "base/buf.h"
#include "base/list.h"
#include "emit/batch.h"
#include "emit/fence.h"
#include "emit/findings.h"
#include "emit/members.h"
#include "emit/pace.h"
#include "emit/sentence.h"
#include "wire/argscan.h"
#include "wire/json.h"
#include "wire/json_edit.h"

/* The engine's data; what works on it is in batch_int.h. */

/* Bounds on what is remembered about members nobody knows, so that nothing grows or is compared
 * without end. What is beyond them is forwarded as it is instead of being merged. */
enum {
    WEIR_BATCH__MEMBERS_MOST = 32,        /* unknown members of one object */
    WEIR_BATCH__STAMP_MOST_BYTES = 16384, /* of a top-level value that every chunk repeats */
    WEIR_BATCH__NAME_MOST_BYTES = 1024,   /* id, type and name of a tool call; a role */
    WEIR_BATCH__KEEP_MOST_BYTES = 16384,  /* a buffer that grew larger is given back when empty */
};

enum weir_batch__field {
    FIELD_ID,
    FIELD_OBJECT,
    FIELD_MODEL, /* up to here: chunks merge only if equal */
    FIELD_CREATED,
    FIELD_FINGERPRINT,
    FIELD_TIER,
    FIELD_USAGE, /* up to here: kept in an envelope, last non-null wins */
    FIELDS_KEPT,
    FIELD_CHOICES = FIELDS_KEPT,
    FIELD_OBFUSCATION,
    FIELDS,
    FIELD_OTHER = FIELDS,
};

/* The names under which the text came are part of the channel. */
enum weir_batch__channel {
    CHANNEL_NONE,
    CHANNEL_CONTENT,
    CHANNEL_REFUSAL,
    CHANNEL_REASONING,
    CHANNEL_REASONING_CONTENT,
    CHANNEL_REASONING_BOTH,
    CHANNEL_TEXT, /* choices[].text of /v1/completions */
    CHANNEL_TOOL,
};

/* One element of delta.tool_calls; nodes are NONE where absent, null or empty. */
struct weir_batch__frag {
    uint32_t index; /* or NONE */
    uint32_t entry;
    uint32_t function;
    uint32_t id;
    uint32_t type;
    uint32_t name;
    uint32_t args;
};

enum weir_batch__class {
    CLASS_OPAQUE,
    CLASS_ERROR,   /* opaque, with an error member */
    CLASS_BROKEN,  /* opaque because of half a surrogate pair */
    CLASS_USAGE,   /* no choices, with usage */
    CLASS_EMPTY,   /* no choices */
    CLASS_BARRIER, /* carries something nobody may reorder */
    CLASS_CHOICES,
};

/* A chunk while it is handled, and the choice of it at hand. Nodes are NONE where absent. */
struct weir_batch__input {
    const struct weir_event *ev;
    const struct weir_json *j;
    uint32_t top[FIELDS];
    uint32_t n_others;             /* top-level members that are not null and not known */
    struct weir_findings_in found; /* by the guard; its members are not among the others */

    bool is_split; /* one of several choices: has no bytes of its own */
    bool is_last;  /* of them: keeps the usage */
    uint32_t choice;
    uint32_t index;
    uint32_t delta; /* an object, or NONE */
    uint32_t role;
    uint32_t content;
    uint32_t refusal;
    uint32_t reasoning;
    uint32_t reasoning_content;
    uint32_t text;
    uint32_t tool_calls;
    uint32_t logprobs;
    uint32_t n_extras; /* choice members that are not null and not known */
    uint32_t n_frags;  /* in the engine's frags */
    uint32_t n_cp;     /* of all text in it */
    uint64_t all_cp;   /* of a chunk that passes whole: of all its choices */
    bool is_finish;
    bool is_odd; /* carries what cannot be merged */
    bool has_tools;
    bool has_odd_tools; /* tool calls of a shape we do not know */
    bool has_logprobs;  /* with entries */
    bool strip_role;
    bool strip_tools;
    uint8_t n_channels;
    enum weir_batch__channel channel; /* of the text, if there is one */
    uint32_t payload;                 /* its string */
};

enum { WEIR_BATCH__LISTS = 6 }; /* content, refusal; tokens, token_logprobs, … of completions */

struct weir_batch__logprobs {
    bool is_object; /* else null */
    size_t n_bytes;
    struct {
        bool has_key;
        bool has_array;
        struct weir_buf elements;
    } lists[WEIR_BATCH__LISTS];
};

/* What a waiting text or tool call takes along. */
struct weir_batch__carry {
    struct weir_buf fields[FIELDS_KEPT]; /* as spelled; empty: absent */
    struct weir_members others;
    struct weir_members extras;
    struct weir_batch__logprobs *logprobs; /* NULL: no key */
    struct weir_batch__logprobs *spare;
    struct weir_findings found;
    struct weir_buf sse_id;
    uint64_t identity; /* shadow: hash of id, object, model */
    bool has_role;
    bool is_noted; /* tool calls that came with findings: each chunk of them has role and findings,
                      if only an empty list */
    bool has_obfuscation;
    bool is_shadow;
};

enum weir_batch__tool_state {
    TOOL_HELD,
    TOOL_OPEN,     /* its limit was reached: fragments pass as they come */
    TOOL_RELEASED, /* left whole; remembered for what may still come at its index */
};

/* Raw: as spelled inside the quotes. A shadow keeps lengths and hashes only. */
struct weir_batch__tool {
    struct weir_list link;
    uint32_t index;    /* under which it leaves */
    uint32_t up_index; /* under which it came */
    uint64_t seq;      /* of the chunk that touched it last */
    uint64_t seq_new;  /* of the chunk that began it */
    enum weir_batch__tool_state state;
    bool is_continuation; /* of a call that left */
    bool is_repeat;       /* of a call that left or is closed: came with its id */
    bool is_head_again;   /* left, and its id came again without arguments */
    bool is_retained;     /* left, and its arguments are still here */
    bool is_pending;      /* has something that has not left */
    bool has_id;
    bool has_name;
    bool has_type;
    bool is_id_sent; /* each leaves once */
    bool is_name_sent;
    bool is_type_sent;
    uint64_t id_hash;
    uint64_t name_hash;
    uint64_t args_hash;
    size_t n_args; /* bytes, unescaped */
    struct weir_buf id;
    struct weir_buf type;
    struct weir_buf name;
    struct weir_buf args;
    struct weir_members more;          /* members nobody knows */
    struct weir_members function_more; /* the same inside `function` */
    struct weir_argscan scan;
    uint64_t t_first;
};

struct weir_batch__tools {
    struct weir_list list; /* in the order they were first seen */
    size_t n;
    size_t n_bytes;
};

/* Text or tool fragments of one choice that wait for a trigger. */
struct weir_batch__pack {
    struct weir_list link; /* in the engine's list of open packs, oldest first */
    struct weir_batch__choice *choice;
    bool is_open;
    bool is_deferred;
    bool is_changed; /* must be composed even if there was only one input */
    enum weir_batch__channel channel;
    uint32_t n_inputs;
    uint64_t n_cp;
    uint64_t n_bytes; /* of the text, unescaped */
    uint64_t seq;     /* of the chunk that opened it */
    uint64_t t_first; /* the oldest text came then, perhaps to the stage before (hold_from) */
    uint64_t t_last;
    uint64_t soon_at; /* the first text of its channel leaves then at the latest; 0: no such time */
    struct weir_sentence sentence;
    struct weir_batch__carry carry;
    struct weir_buf text; /* as spelled inside the quotes: joins without being unescaped */
    struct weir_buf only; /* the bytes of the input while there is one */
    struct weir_batch__tools tools;
    size_t n_held; /* what the engine's sum has of it */
};

struct weir_batch__gate {
    struct weir_batch__tools tools;
    struct weir_batch__carry carry;
    size_t n_waiting;    /* calls in TOOL_HELD */
    size_t n_wait_bytes; /* of these */
    uint32_t n_joined;   /* chunks whose load the carry has */
    uint32_t last_index;
    uint32_t max_index;
    bool is_overrun; /* more calls than we keep track of: everything passes */
    size_t n_held;
};

struct weir_batch__choice {
    uint32_t index;
    uint32_t n_flushes;
    uint32_t firsts; /* a bit per channel that has shown text */
    uint32_t last_tool_index;
    bool is_finished;
    struct weir_pace pace;
    struct weir_buf role; /* as spelled, with quotes; empty: none seen */
    struct weir_fence fences[3];
    struct weir_batch__pack pack;
    struct weir_batch__gate *gate; /* NULL until a call comes */
};

struct weir_batch {
    struct weir_batch_options o;
    weir_batch_emit_fn emit;
    void *ctx;
    bool is_shadow;
    bool is_blocked;
    bool is_full;
    uint64_t now;    /* the latest time seen */
    uint64_t stamp;  /* of what leaves now: a timer's deadline or `now` */
    uint64_t due;    /* no timer is due before this */
    uint64_t seq;    /* grows with every chunk and every choice in it: the order of arrival */
    uint64_t n_said; /* by the model, as the latest event knows; 0: unknown */
    uint64_t n_left; /* chunks */
    uint64_t blocked_since;
    size_t n_buffered;
    size_t n_retained; /* arguments of calls that left, kept to know their repetition */

    struct weir_batch__choice **choices;
    size_t n_choices;
    size_t cap_choices;
    struct weir_batch__choice *last;
    struct weir_list open; /* packs */
    size_t n_open;
    struct weir_list queue;     /* what was sealed while blocked */
    struct weir_members stamps; /* unknown top-level members of the chunk before */

    struct weir_json_tape tape;
    struct weir_json_tape tape_again;
    struct weir_batch__frag *frags;
    size_t cap_frags;
    struct weir_json_edit edit;
    struct weir_buf key;
    struct weir_buf scratch;
    struct weir_buf edited;
    struct weir_buf composed;
    struct weir_buf entries; /* of a tool_calls being put together */
    uint32_t *used;          /* the indices in it */
    size_t n_used;
    size_t cap_used;
    struct weir_batch_stats stats;
};

#endif
