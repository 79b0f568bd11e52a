#ifndef WEIR_DETECT_LINKS_INT_H
#define WEIR_DETECT_LINKS_INT_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/patterns.h"
#include "detect/seek.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 *   links.c          parameters, texts and streams
 *   links_judge.c    what patterns point at: is it a link, and where does it begin and end?
 *   links_target.c   how a browser reads an address, by the URL standard (url.spec.whatwg.org);
 *   links_host.c     nothing there looks at the text around an address
 */

enum {
    WEIR_LINKS_MAX_HOST = 1024, /* bytes of a host, as written and as mapped */
    WEIR_LINKS_MAX_ALLOWED = 1024,
    WEIR_LINKS_MAX_ALT = 512, /* bytes before a target where its image may begin */
};

struct weir_links__settings {
    struct weir_slice allowed[WEIR_LINKS_MAX_ALLOWED]; /* lower case, on the heap */
    size_t n_allowed;
};

/* What is looked for: a pattern, and how many bytes before its end a finding begins at most. */
struct weir_links__sign {
    struct weir_pattern pattern;
    unsigned short back;
};

extern const struct weir_links__sign weir_links__signs[];
extern const size_t weir_links__n_signs;

/* Is what the sign `id` points at a link that leads away? (detect/seek.h) */
bool weir_links__judge(const void *settings, unsigned id, struct weir_seek_look *l);

/* From where on a link may have begun that no sign has pointed at: the text ends with the beginning
 * of one. */
size_t weir_links__tail(struct weir_slice text);

/* Is the image's text that begins with the `![` at `at` still open at the end, or may its target
 * follow? */
bool weir_links__is_open_image(struct weir_slice text, size_t at);

enum weir_links__place {
    WEIR_LINKS_NOWHERE, /* no address: a browser does nothing */
    WEIR_LINKS_HOST,    /* it would ask `name` */
    WEIR_LINKS_UNSURE,  /* browsers of another year may ask some host; not one that we know */
};

struct weir_links__host {
    char name[WEIR_LINKS_MAX_HOST + 1]; /* lower case, xn-- for what is not ASCII, no last dot */
    size_t n;
    bool can_exist; /* its last label is one that the root of the DNS could have */
};

/*
 * `authority` begins after the slashes and may go on with path, query and fragment. User
 * information and port are left out, %xx decoded, IDNA mapping applied, numbers made IPv4.
 */
enum weir_links__place weir_links__parse_host(struct weir_slice authority,
                                              struct weir_links__host *out);

/* Han, kana and Hangul: scripts that are written without spaces, so that prose follows an address
 * at once. */
bool weir_links__is_east_asian(uint32_t cp);

/* What an address's first characters say. */
enum weir_links__scheme {
    WEIR_LINKS_RELATIVE, /* none of the others */
    WEIR_LINKS_WEB,      /* a host follows */
    WEIR_LINKS_SCRIPT,   /* javascript:, vbscript:, data:text/html */
};

/* `*authority` is where the host begins, for WEIR_LINKS_WEB. Takes what decode made. */
enum weir_links__scheme weir_links__parse_scheme(struct weir_slice address, size_t *authority);

/*
 * An attribute's value or the target in a markdown link, as the browser's URL parser gets it:
 * character references decoded, and backslash escapes where they mean something; blanks at the
 * ends, tabs and newlines gone. `out` is emptied first. Stops when `out` has `most` bytes or more;
 * returns how many of `raw` it has read.
 */
size_t weir_links__decode(struct weir_slice raw, bool has_escapes, size_t most,
                          struct weir_buf *out);

#endif
