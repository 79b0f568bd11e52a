#ifndef WEIR_OFFLINE_DETECT_KNOWN_H
#define WEIR_OFFLINE_DETECT_KNOWN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "detect/detection.h"

#include <stdbool.h>

/*
 * What a finding is known by, and the findings that are known already: --baseline.
 *
 * A fingerprint is half a SHA-256 over the file's name, detector, detection and the text that was
 * found. Lines are no part of it: they move. A baseline is an earlier output with --format json,
 * jsonl or sarif; every fingerprint in it counts.
 */
enum { WEIR_DETECT_FINGERPRINT_CHARS = 32 };

void weir_detect_fingerprint(struct weir_slice path, const struct weir_detection *d,
                             char out[WEIR_DETECT_FINGERPRINT_CHARS + 1]);

struct weir_detect_known {
    struct weir_map map;
    struct weir_arena arena;
};

/* 0, or WEIR_EIO, WEIR_EBAD with the reason in `why`. */
int weir_detect_known_load(struct weir_detect_known *k, const char *path, struct weir_buf *why);
bool weir_detect_known_has(const struct weir_detect_known *k, const char *fingerprint);
void weir_detect_known_dispose(struct weir_detect_known *k);

#endif
