#ifndef WEIR_OBS_LOG_H
#define WEIR_OBS_LOG_H

#include "base/slice.h"
#include "obs/trace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Structured log lines.
 *
 *   WEIR_LOG_INFO("server", NULL, "listening", weir_log_u64("port", port));
 *   WEIR_LOG_WARN("client", &req->log, "service failed", weir_log_str("service", name),
 *                 weir_log_err("error", rc), weir_log_u64("retry", n));
 *
 * A line has a time, a level, a target (the part that speaks), a message, the ids of the request
 * when there is one, and fields. Target, message and keys are literals of ours; values may come
 * from anywhere: control characters, bytes that are not UTF-8 and characters that reorder or break
 * lines on a screen are escaped in every format, so nobody outside can forge a line.
 *
 * A line is at most WEIR_LOG_MAX_LINE_BYTES long; what is longer is cut and marked. It is written
 * whole, in one go. A worker never waits for a reader: when the pipe, socket or terminal is full
 * the line is dropped and counted, and the next one that fits is preceded by the number.
 *
 * A thread with a loop holds its lines until the end of the turn and writes them together; a
 * warning or an error never waits, nor does what was logged before it.
 *
 * Never a body or a credential at info or above.
 */
enum weir_log_level {
    WEIR_LOG_LEVEL_TRACE,
    WEIR_LOG_LEVEL_DEBUG,
    WEIR_LOG_LEVEL_INFO,
    WEIR_LOG_LEVEL_WARN,
    WEIR_LOG_LEVEL_ERROR,
    WEIR_LOG_LEVEL_OFF, /* as a threshold only: nothing is logged */
};

enum weir_log_format {
    WEIR_LOG_FULL,    /* TIME  INFO target: message request_id=… trace_id=… key=value */
    WEIR_LOG_COMPACT, /* the same with the level as one letter and short names of ids */
    WEIR_LOG_PRETTY,  /* for people: a field per line, indented */
    WEIR_LOG_JSON, /* {"timestamp","level","target","message","request_id","trace_id","fields"} */
    WEIR_LOG_TERMINAL, /* for who watches: clock  LEVEL target  message  key=value, aligned; no
                          trace_id, the clock is local */
};

enum weir_log_colour {
    WEIR_LOG_COLOUR_AUTO, /* on a terminal, unless NO_COLOR is set or TERM is dumb */
    WEIR_LOG_COLOUR_NEVER,
    WEIR_LOG_COLOUR_ALWAYS,
};

enum {
    WEIR_LOG_MAX_LINE_BYTES = 8192,
    WEIR_LOG_MAX_VALUE_BYTES = 2048, /* of one value; a longer one is cut and marked */
};

struct weir_log_options {
    int fd; /* borrowed; its flags are left alone, other processes share them */
    enum weir_log_level level;
    enum weir_log_format format; /* JSON is never coloured */
    enum weir_log_colour colour;
};

/* The request that a line is about, handed from function to function. All-zero or NULL: none. */
struct weir_log_ctx {
    struct weir_slice request_id;
    struct weir_trace trace;
};

enum weir_log_kind {
    WEIR_LOG_KIND_STR,
    WEIR_LOG_KIND_I64,
    WEIR_LOG_KIND_U64,
    WEIR_LOG_KIND_F64,
    WEIR_LOG_KIND_BOOL,
};

struct weir_log_field {
    const char *key;
    enum weir_log_kind kind;
    union {
        struct weir_slice str;
        int64_t i64;
        uint64_t u64;
        double f64;
        bool flag;
    } v;
};

/* Before the first thread. Until then: information, full, to standard error. */
void weir_log_setup(const struct weir_log_options *options);

/* Any time, from any thread. */
void weir_log_set_level(enum weir_log_level level);

/* trace, debug, info, warn, error, off in any case; full, compact, pretty, json. 0 or WEIR_EINVAL.
 */
int weir_log_parse_level(struct weir_slice s, enum weir_log_level *level);
int weir_log_parse_format(struct weir_slice s, enum weir_log_format *format);

/*
 * From here to weir_log_release this thread's lines below a warning wait for the next
 * weir_log_flush, or until some four KiB have gathered. The thread must not sleep without a flush.
 * Both do nothing in a thread that does not hold.
 */
void weir_log_hold(void);
void weir_log_flush(void);
void weir_log_release(void);

/* Lines dropped so far because nobody read the output; also weir_log_dropped_lines_total. */
uint64_t weir_log_n_dropped(void);
void weir_log_declare_metrics(void);

/* The key must outlive the call, as must the bytes of a value. */
static inline struct weir_log_field weir_log_str(const char *key, struct weir_slice s)
{
    return (struct weir_log_field){.key = key, .kind = WEIR_LOG_KIND_STR, .v.str = s};
}

static inline struct weir_log_field weir_log_cstr(const char *key, const char *s)
{
    return weir_log_str(key, weir_slice_cstr(s));
}

static inline struct weir_log_field weir_log_i64(const char *key, int64_t v)
{
    return (struct weir_log_field){.key = key, .kind = WEIR_LOG_KIND_I64, .v.i64 = v};
}

static inline struct weir_log_field weir_log_u64(const char *key, uint64_t v)
{
    return (struct weir_log_field){.key = key, .kind = WEIR_LOG_KIND_U64, .v.u64 = v};
}

static inline struct weir_log_field weir_log_f64(const char *key, double v)
{
    return (struct weir_log_field){.key = key, .kind = WEIR_LOG_KIND_F64, .v.f64 = v};
}

static inline struct weir_log_field weir_log_bool(const char *key, bool v)
{
    return (struct weir_log_field){.key = key, .kind = WEIR_LOG_KIND_BOOL, .v.flag = v};
}

/* A code of base/err.h, by its name. */
struct weir_log_field weir_log_err(const char *key, int err);

extern atomic_int weir_log__threshold;

/* For work that only a line needs. */
static inline bool weir_log_is_on(enum weir_log_level level)
{
    return (int)level >= atomic_load_explicit(&weir_log__threshold, memory_order_relaxed);
}

/* The first field is the message (key NULL). Use the macros. */
void weir_log_emit(enum weir_log_level level, const char *target, const struct weir_log_ctx *ctx,
                   const struct weir_log_field *fields, size_t n);

/* Fields are evaluated only when the line is written. */
#define WEIR_LOG_IF(is_written, level, target, ctx, message, ...)                                  \
    do {                                                                                           \
        if (is_written) {                                                                          \
            const struct weir_log_field log_fields_[] = {weir_log_cstr(NULL, message),             \
                                                         __VA_ARGS__};                             \
            weir_log_emit(level, target, ctx, log_fields_,                                         \
                          sizeof log_fields_ / sizeof log_fields_[0]);                             \
        }                                                                                          \
    } while (0)

#define WEIR_LOG(level, ...) WEIR_LOG_IF(weir_log_is_on(level), level, __VA_ARGS__)

/* An info line that, with `is_asked`, is written whatever the threshold. */
#define WEIR_LOG_TELL(is_asked, ...)                                                               \
    WEIR_LOG_IF((is_asked) || weir_log_is_on(WEIR_LOG_LEVEL_INFO), WEIR_LOG_LEVEL_INFO, __VA_ARGS__)

#define WEIR_LOG_TRACE(...) WEIR_LOG(WEIR_LOG_LEVEL_TRACE, __VA_ARGS__)
#define WEIR_LOG_DEBUG(...) WEIR_LOG(WEIR_LOG_LEVEL_DEBUG, __VA_ARGS__)
#define WEIR_LOG_INFO(...) WEIR_LOG(WEIR_LOG_LEVEL_INFO, __VA_ARGS__)
#define WEIR_LOG_WARN(...) WEIR_LOG(WEIR_LOG_LEVEL_WARN, __VA_ARGS__)
#define WEIR_LOG_ERROR(...) WEIR_LOG(WEIR_LOG_LEVEL_ERROR, __VA_ARGS__)

/* For tests: microseconds since 1970 instead of the clock, and lines to a function instead of the
   descriptor (it runs under the lock). NULL restores. */
typedef int64_t (*weir_log_now_fn)(void);
typedef void (*weir_log_line_fn)(void *ctx, struct weir_slice line);
void weir_log_set_clock(weir_log_now_fn now_us);
void weir_log_set_capture(weir_log_line_fn fn, void *ctx);

#endif
