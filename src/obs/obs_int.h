#ifndef WEIR_OBS_INT_H
#define WEIR_OBS_INT_H

/* Shared by the files of this folder only. */

#include "base/map.h"
#include "obs/log.h"
#include "obs/metric.h"

/* --- metrics --- */

struct weir_metric_series {
    struct weir_slice labels; /* as shown, without braces: a="x",b="y"; also its key */
    uint32_t slot;            /* counter, histogram */
    _Atomic int64_t gauge;
    weir_metric_read_fn read; /* instead of a stored value */
    void *read_ctx;
    bool hidden; /* no handle was made yet, or its callback was taken back */
};

struct weir_metric_family {
    struct weir_metric_def def;
    size_t n_labels;
    struct weir_metric_hist hist;
    struct weir_map by_labels;
    struct weir_metric_series *other; /* counts for series beyond max_series; shown once used */
    struct weir_metric_family *next;
};

/* The sum over all threads; the caller holds the registry's lock. */
uint64_t weir_metric__sum(uint32_t slot);

/* Brackets for reading families and series. */
void weir_metric__lock_shared(void);
void weir_metric__unlock(void);
const struct weir_metric_family *weir_metric__families(void);

/* A short text that reads back as the same double; NaN, +Inf and -Inf by name. */
enum { WEIR_METRIC__NUMBER_BYTES = 40 };
const char *weir_metric__shortest(char out[WEIR_METRIC__NUMBER_BYTES], double value);

/* --- log --- */

struct weir_log_style {
    enum weir_log_format format;
    bool has_colour;
};

struct weir_log_record {
    enum weir_log_level level;
    int64_t now_us;
    const char *target;
    const struct weir_log_ctx *ctx;
    const struct weir_log_field *fields; /* the first is the message */
    size_t n_fields;
};

/* Byte 0 is a line feed that is sent only behind a line that was torn; the text is [1, n). */
struct weir_log_line {
    size_t n;
    bool is_cut; /* some fields are missing */
    char bytes[1 + WEIR_LOG_MAX_LINE_BYTES];
};

/* Fills `line`, which need not be initialised; it ends in a line feed. */
void weir_log__format(struct weir_log_line *line, const struct weir_log_style *style,
                      const struct weir_log_record *record);

#endif
