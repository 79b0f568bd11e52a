#ifndef WEIR_OFFLINE_DETECT_FILE_H
#define WEIR_OFFLINE_DETECT_FILE_H

#include "offline/detect_known.h"
#include "offline/detect_scan.h"
#include "offline/detect_show.h"

/*
 * One file, or one text, through the detectors: bytes ─► blocks ─► findings ─► lines in a buffer.
 * What a line says is allowed (`weir:allow`), and what the baseline knows, is left out. A
 * weir_detect_lane is one thread's; what it shares with others is only read.
 */
struct weir_detect_shared {
    const struct weir_detect_picked *picked;
    struct weir_detect_show show;
    const struct weir_detect_known *known; /* NULL: no baseline */
    bool ignores_allow;                    /* --no-allow */
};

/* What is to be looked at, and what came of it. */
struct weir_detect_job {
    char *path;
    char *commit;
    int fd;         /* -1: `text` is all; closed by whoever made it */
    bool is_inside; /* found in a directory, not named */
    struct weir_buf text;
    uint64_t *lines; /* of `text`: the numbers of its lines in the file; NULL: as they are */
    size_t n_lines;
    char *fault; /* not NULL: looking at it has failed before it began */

    struct weir_buf out; /* findings; of documents with commas between */
    struct weir_buf err; /* complaints, a line each */
    size_t n_found;
    size_t n_errors;
    bool is_file;  /* counts as one: it was looked at */
    bool is_known; /* something was found that the baseline has */
};

/* After each part of a file: the output so far may be taken out of the job. */
typedef void (*weir_detect_part_fn)(void *ctx, struct weir_detect_job *job);

struct weir_detect_lane {
    const struct weir_detect_shared *shared;
    struct weir_detect_scan scan;
    weir_detect_part_fn on_part; /* may be NULL */
    void *ctx;
    char *bytes;
};

int weir_detect_lane_init(struct weir_detect_lane *lane, const struct weir_detect_shared *shared);
void weir_detect_lane_dispose(struct weir_detect_lane *lane);

void weir_detect_lane_run(struct weir_detect_lane *lane, struct weir_detect_job *job);
void weir_detect_job_dispose(struct weir_detect_job *job);

#endif
