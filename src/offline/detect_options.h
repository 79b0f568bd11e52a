#ifndef WEIR_OFFLINE_DETECT_OPTIONS_H
#define WEIR_OFFLINE_DETECT_OPTIONS_H

#include "app/args.h"
#include "offline/detect_pick.h"
#include "offline/detect_records.h"
#include "offline/detect_show.h"

/* The command line of `weir detect`. */
struct weir_detect_options {
    struct weir_detect_pick pick;
    enum weir_detect_format format;
    bool redact;
    bool has_redact; /* it was said, either way */
    bool no_ignore;
    bool no_allow;
    const char *baseline; /* or NULL */
    bool staged;
    const char *since; /* or NULL */
    uint32_t jobs;     /* 0: one per core */
    bool is_jsonl;     /* records */
    struct weir_detect_records records;

    const char **paths; /* from the arena; borrowed texts */
    size_t n_paths;
    const char *help; /* not NULL: print it and no more */
    struct weir_arena arena;
};

/* 0, or WEIR_EINVAL with lines for standard error in `why`. Dispose in both cases. */
int weir_detect_options_parse(struct weir_detect_options *o, const struct weir_args *args,
                              struct weir_buf *why);
void weir_detect_options_dispose(struct weir_detect_options *o);

#endif
