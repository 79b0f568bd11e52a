#ifndef WEIR_TALK_LINKWATCH_H
#define WEIR_TALK_LINKWATCH_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Is this place of a text inside a URL, or inside the target of a markdown link or image? What
 * stands there is fetched when the text is shown or clicked on, so a value that is put there is
 * carried to whoever the URL belongs to.
 *
 *   ask jane, see https://example.org/?q=… or ![](//example.org/…) or [her](mailto:…)
 *             open    └──── closed ─────┘         └─── closed ───┘          open
 *
 * A URL begins with `//`, `http:`, `https:`, `www.` or a domain and a slash, and ends with white
 * space or an angle bracket. A target begins with `](` or `url(` and ends with its bracket or a
 * blank line, begins with `@import` and ends with its quote, or begins with `]:` (the definition of
 * a reference) and ends with the line. `mailto:` and `tel:` are open: they go to no server. An HTML
 * tag, from `<` and a letter or a slash to `>`, is closed, whatever stands in it. It is read as the
 * most generous reader would: what might be a URL is one, and a target that is written in another
 * way (escapes, entities) is closed.
 *
 * The text comes in any cut. In JSON it is read as what its escapes mean, and a string's end ends
 * everything.
 */
struct weir_linkwatch { /* all-zero is the beginning of a text */
    bool is_json;
    uint8_t mode;
    uint8_t escape;   /* JSON: how much of an escape was seen */
    uint16_t escaped; /* and what it stands for so far */
    bool is_target;   /* in a target … */
    char closer;      /* … which ends with this */
    uint8_t n_word;   /* bytes of the target so far, up to more than `last` has */
    uint8_t tag;      /* in an HTML tag */
    bool is_line_blank;
    bool is_odd;    /* of the URL: its authority is not a plain name, or another URL is in it */
    bool is_port;   /* of a word in text: its colon was seen */
    uint16_t depth; /* brackets inside the target */
    uint16_t n_host;
    char last[8]; /* the bytes before, in lower case */
    char host[256];
};

void weir_linkwatch_feed(struct weir_linkwatch *l, struct weir_slice text);

/* What comes until the end of the JSON string is one URL. Before its first byte a value may stand.
 */
void weir_linkwatch_begin_url(struct weir_linkwatch *l);

/* May a value stand here? In a URL only where its host is one of those, names in lower case, and no
 * other URL stands before it in the same one. */
struct weir_linkwatch_hosts {
    const struct weir_slice *names;
    size_t n;
};
bool weir_linkwatch_is_open(const struct weir_linkwatch *l,
                            const struct weir_linkwatch_hosts *hosts);

#endif
