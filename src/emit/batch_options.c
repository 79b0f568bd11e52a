/* The defaults of the two stages, and what options cannot be: from base/stream_options.h. */
#include "base/err.h"
#include "emit/batch.h"

#define NUMBER_DEFAULT(key, member, default_, ...) o->member = (default_);
#define FLAG_DEFAULT(key, member, default_, ...) o->member = (default_);
#define WORD_DEFAULT(key, member, tag, default_, ...) o->member = (default_);
#define LIST_DEFAULT(key, member, default_, ...)                                                   \
    static const struct weir_slice names_of_##key[] = {{(default_), sizeof(default_) - 1}};        \
    o->member = (struct weir_batch_fields){names_of_##key, sizeof(default_) > 1};

static void set_adapter(struct weir_batch_options *o)
{
    WEIR_STREAM_PACE(NUMBER_DEFAULT, NUMBER_DEFAULT, FLAG_DEFAULT, WORD_DEFAULT)
    WEIR_STREAM_JOINING(NUMBER_DEFAULT, FLAG_DEFAULT, WORD_DEFAULT, LIST_DEFAULT)
    WEIR_STREAM_REASONING(NUMBER_DEFAULT)
    o->max_latency_ms = 250;                /* the configuration has another default */
    o->boundary = WEIR_BATCH_BOUNDARY_NONE; /* these two are the other stage's */
    o->tool_call_gate = WEIR_BATCH_GATE_OFF;
}

static void set_business(struct weir_batch_options *o)
{
    WEIR_STREAM_COALESCER(NUMBER_DEFAULT, FLAG_DEFAULT, WORD_DEFAULT)
    o->flush_on_sentence = false;
    o->hold_from = WEIR_BATCH_HOLD_OWN; /* another one, too */
}

/* A member that is the other stage's alone has its default, too. Where the engine's own default is
 * not the configuration's, it is what the vectors mean. */
struct weir_batch_options weir_batch_defaults(enum weir_batch_stage stage)
{
    struct weir_batch_options o = {.stage = stage,
                                   .max_stream_buffer_bytes = 1048576,
                                   .max_choices = 128,
                                   .max_tool_calls = 128};
    set_business(&o);
    set_adapter(&o);
    if (stage == WEIR_BATCH_BUSINESS) {
        set_business(&o);
    }
    return o;
}

/* Rows with a range. */
struct range {
    const char *why; /* what to say when it is left */
    size_t at;
    uint32_t least;
    uint32_t most;
};

#define NUMBER_RANGE(key, member, default_, least, most, ...)                                      \
    {#key " must be from " #least " to " #most, offsetof(struct weir_batch_options, member),       \
     (least), (most)},
#define REASONING_RANGE(key, member, default_, least, most, ...)                                   \
    {"reasoning." #key " must be from " #least " to " #most,                                       \
     offsetof(struct weir_batch_options, member), (least), (most)},
#define NOTHING(...)

/* clang-format off */
static const struct range adapter_ranges[] = {
    WEIR_STREAM_PACE(NUMBER_RANGE, NUMBER_RANGE, NOTHING, NOTHING)
    WEIR_STREAM_JOINING(NUMBER_RANGE, NOTHING, NOTHING, NOTHING)
    WEIR_STREAM_REASONING(REASONING_RANGE)
};

static const struct range business_ranges[] = {
    WEIR_STREAM_COALESCER(NUMBER_RANGE, NOTHING, NOTHING)
};
/* clang-format on */

static const char *check_ranges(const struct weir_batch_options *o, const struct range *ranges,
                                size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t value;
        memcpy(&value, (const char *)o + ranges[i].at, sizeof value);
        if (value != WEIR_BATCH_INHERIT && (value < ranges[i].least || value > ranges[i].most)) {
            return ranges[i].why;
        }
    }
    return NULL;
}

int weir_batch_check(const struct weir_batch_options *o, const char **why)
{
    *why = o->stage == WEIR_BATCH_BUSINESS
               ? check_ranges(o, business_ranges, sizeof business_ranges / sizeof *business_ranges)
               : check_ranges(o, adapter_ranges, sizeof adapter_ranges / sizeof *adapter_ranges);
    if (*why != NULL) {
        return WEIR_EINVAL;
    }
    if (o->idle_flush_ms != WEIR_BATCH_IDLE_AUTO && o->idle_flush_ms > o->max_latency_ms) {
        *why = "idle_flush_ms must not be larger than max_latency_ms";
    } else if (o->ramp_factor == 1) {
        *why = "ramp_factor must be 0 or at least 2";
    }
    return *why == NULL ? 0 : WEIR_EINVAL;
}
