#ifndef WEIR_OFFLINE_DETECT_PICK_H
#define WEIR_OFFLINE_DETECT_PICK_H

#include "base/arena.h"
#include "base/buf.h"
#include "conf/conf.h"
#include "detect/builtin.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Which detectors `weir detect` runs: those that were named, or all of the configuration that are
 * built in and have the parameters they need (`links` needs `allow` then); of the built-in
 * configuration without those that judge what people say. Services are never asked.
 */
enum { WEIR_DETECT_PICK_MAX = 64 };

struct weir_detect_pick {
    const char *config_path; /* NULL: the embedded configuration */
    const char *ids[WEIR_DETECT_PICK_MAX];
    size_t n_ids; /* 0: all */
};

/* An id, borrowed. False: it is empty, or one too many. */
bool weir_detect_pick_add(struct weir_detect_pick *pick, const char *id);

struct weir_detect_picked_one {
    struct weir_builtin detector;
    double threshold;
};

struct weir_detect_picked {
    struct weir_conf *conf;
    struct weir_detect_picked_one *list;
    size_t n;
    bool has_wholes; /* one of them judges whole documents */
    struct weir_arena arena;
};

/* 0, or WEIR_EINVAL with lines for standard error in `why`. Dispose in both cases. */
int weir_detect_pick_make(const struct weir_detect_pick *pick, struct weir_detect_picked *out,
                          struct weir_buf *why);
void weir_detect_picked_dispose(struct weir_detect_picked *picked);

#endif
