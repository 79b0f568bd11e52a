#ifndef WEIR_OFFLINE_DETECT_SCAN_H
#define WEIR_OFFLINE_DETECT_SCAN_H

#include "io/loop.h"
#include "offline/detect_pick.h"
#include "offline/detect_read.h"

/*
 * The picked detectors over the blocks of one file after the other, each call waited for on a loop
 * of its own. Findings come out sorted, those of neighbouring blocks never twice.
 *
 *   begin(file) ─► block ─► found ─► clear ─► block ─► … ─► whole ─► found ─► clear
 */
struct weir_detect_scan {
    const struct weir_detect_picked *picked;
    struct weir_loop loop;
    struct weir_detect_call **calls; /* as the picked detectors; hold what `found` points at */
    uint64_t *open_until_cp;      /* likewise: where the last block's findings end, in the file */
    struct weir_detection *found; /* spans relative to the block, or the whole */
    size_t n_found;
    size_t cap_found;
    size_t passed_cp; /* 0 after each scan; for the code that walks along the findings */
    struct weir_buf why;
};

/* `picked` is borrowed. 0 or WEIR_ELIMIT, WEIR_EIO: no loop could be made. */
int weir_detect_scan_init(struct weir_detect_scan *s, const struct weir_detect_picked *picked);
void weir_detect_scan_dispose(struct weir_detect_scan *s);

/* Another file. */
void weir_detect_scan_begin(struct weir_detect_scan *s);

/*
 * All detectors but those of whole documents, or only those. NULL, or why the text could not be
 * looked at, until the next call; what others found is there nevertheless.
 */
const char *weir_detect_scan_block(struct weir_detect_scan *s,
                                   const struct weir_detect_block *block);
const char *weir_detect_scan_whole(struct weir_detect_scan *s, struct weir_slice text);

/* Forgets what was found. */
void weir_detect_scan_clear(struct weir_detect_scan *s);

#endif
