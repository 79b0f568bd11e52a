#ifndef WEIR_DETECT_XSD_H
#define WEIR_DETECT_XSD_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/builtin.h"

/*
 * XML Schema (XSD 1.0) by libxml2, in a process of its own for every check.
 *
 *   here ── schema, document ─► weir xsd ── one letter, words ─► here
 *           socket              a second of processor time, 768 MiB, no files, no environment
 *
 * A small schema can keep libxml2 busy for hours (counted groups in groups, patterns that go back
 * and forth), and nothing can stop it from inside. A process can be stopped. The program is this
 * one again; its main hands over to weir_xsd_serve when its only argument is WEIR_XSD_COMMAND.
 */
#define WEIR_XSD_COMMAND "xsd-judge"

enum { WEIR_XSD_MAX_BYTES = 65536 };

struct weir_xsd;

/* Blocks until the schema is known to compile: off the loop. NULL with `why`. */
struct weir_xsd *weir_xsd_new(struct weir_slice schema, struct weir_buf *why);
void weir_xsd_free(struct weir_xsd *x); /* NULL is fine */

/* Blocks: off the loop. 0, WEIR_EBAD (not well-formed), WEIR_EINVAL (not as the schema wants it),
 * WEIR_ELIMIT with run->why: it took too long, or could not be done. */
int weir_xsd_check(const struct weir_xsd *x, struct weir_slice text, struct weir_builtin_run *run);

/* Runs in the child process: limits itself, reads schema and document from standard input, answers
 * on standard output, does not return. */
_Noreturn void weir_xsd_serve(void);

/* ---- between the two */

enum weir_xsd_verdict {
    WEIR_XSD_GOOD = 'g',
    WEIR_XSD_BROKEN = 'b',     /* the document is not well-formed */
    WEIR_XSD_MISMATCH = 'm',   /* it is, but is not what the schema says */
    WEIR_XSD_BAD_SCHEMA = 's', /* with words */
    WEIR_XSD_LIMIT = 'l',      /* with words */
};

/* In this process, without any limit of its own; `why` for the last two. An empty text and NULL:
 * the schema only. */
enum weir_xsd_verdict weir_xsd__judge(struct weir_slice schema, struct weir_slice text,
                                      struct weir_buf *why);

#endif
