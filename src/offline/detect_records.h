#ifndef WEIR_OFFLINE_DETECT_RECORDS_H
#define WEIR_OFFLINE_DETECT_RECORDS_H

#include "offline/detect_scan.h"

/*
 * Records: a JSON object on each line in, the same records out, in their order, one line each.
 *
 *   in        {"id":7,"messages":[{"role":"user","content":"I am ann@example.com"}]}
 *   --field   messages.*.content
 *   out       {"id":7,"messages":[…],"weir":{"detections":[{"field":"messages.0.content",…}]}}
 *
 * A field is names and numbers with dots between, `*` is every member or element; what is no string
 * there is passed over. With `is_redacting` each finding is replaced by `[DETECTION]` in the
 * record, and `weir.detections` does not repeat its text. Everything else is left to the byte.
 *
 * A line that cannot be looked at (not JSON, larger than 64 MiB, a detector gave up) never leaves:
 * {"weir":{"error":"…"}} stands in its place, and the run ends with an error.
 */
enum { WEIR_DETECT_MAX_FIELDS = 32 };

struct weir_detect_records {
    const char *fields[WEIR_DETECT_MAX_FIELDS];
    size_t n_fields;
    bool is_redacting;
};

/* False: it is empty, has an empty step, or is one too many. Borrowed. */
bool weir_detect_records_add(struct weir_detect_records *r, const char *field);

struct weir_detect_records_totals {
    size_t n_records;
    size_t n_found;
    size_t n_errors;
};

/* From `fd` to standard output, complaints to standard error. 0 or WEIR_EIO: `fd` could not be
 * read; errno says why. */
int weir_detect_records_run(const struct weir_detect_records *options,
                            const struct weir_detect_picked *picked, int fd,
                            struct weir_detect_records_totals *totals);

#endif
