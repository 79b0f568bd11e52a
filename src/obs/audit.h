#ifndef WEIR_OBS_AUDIT_H
#define WEIR_OBS_AUDIT_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The audit log: one writer thread for the process, to which workers hand lines.
 *
 *   worker ─► offer ─► queue (8 MiB) ─► seal (obs/audit_chain.h) ─► one write ─► file or stdout
 *
 * Nobody waits for the disk. Lines that cannot be written are dropped and counted
 * (weir_audit_lines_total), or with `is_strict` kept and tried again while new requests are
 * refused: weir_audit_is_failing. A file that is continued goes on with its chain; a line without
 * its end, left by a crash, is taken off first.
 */
struct weir_audit_options {
    struct weir_slice path; /* "stdout", or a file; empty: no audit log */
    struct weir_slice key;  /* empty: no hashes, no chain */
    bool is_strict;
    uint64_t max_bytes; /* a file this large is set aside under another name; 0: never */
};

/* Main thread, at the start and when the configuration changes; copies the options. 0, or an error
 * when the file cannot be opened (nothing has changed then). */
int weir_audit_set(const struct weir_audit_options *options);

/* The file is opened again by its name: it was moved away. */
void weir_audit_reopen(void);

/* Any thread. A JSON object without its closing brace, without line feeds. */
void weir_audit_offer(struct weir_slice line);

/* Strict, and the last lines could not be written: what would be decided could not be kept. */
bool weir_audit_is_failing(void);

/* Writes what waits, ends the thread. */
void weir_audit_stop(void);

void weir_audit_declare(void); /* its metric */

#endif
