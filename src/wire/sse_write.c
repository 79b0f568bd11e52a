/*
 * Writing events: the size is computed first, so that a buffer is asked for room once and a refusal
 * leaves nothing half written.
 */
#include "base/assert.h"
#include "base/err.h"
#include "wire/sse.h"

/* Cuts the first line off `*rest`; CRLF, CR and LF end one. Afterwards p == NULL: it was the last.
 */
static struct weir_slice cut_line(struct weir_slice *rest)
{
    size_t lf = weir_slice_find(*rest, '\n');
    size_t at = weir_slice_find(weir_slice_make(rest->p, lf), '\r');
    struct weir_slice line = {rest->p, at};
    if (at == rest->n) {
        *rest = (struct weir_slice){0};
        return line;
    }
    bool is_crlf = at + 1 == lf && lf != rest->n;
    *rest = weir_slice_sub(*rest, at + (is_crlf ? 2 : 1), rest->n);
    return line;
}

static char *put(char *to, struct weir_slice s)
{
    if (s.p != NULL) {
        memcpy(to, s.p, s.n);
    }
    return to + s.n;
}

/* `prefix` before each line of `text`; an empty text is one line. */
static char *put_lines(char *to, struct weir_slice prefix, struct weir_slice text)
{
    do {
        struct weir_slice line = cut_line(&text);
        to = put(put(put(to, prefix), line), WEIR_SLICE("\n"));
    } while (text.p != NULL);
    return to;
}

static size_t lines_size(struct weir_slice prefix, struct weir_slice text)
{
    size_t n = 0;
    do {
        n += prefix.n + cut_line(&text).n + 1;
    } while (text.p != NULL);
    return n;
}

struct block {
    struct weir_slice name;
    struct weir_slice prefix;
    struct weir_slice text;
    bool is_one_line; /* of text, as JSON is: it need not be looked through again */
};

static bool is_one_line(struct weir_slice text)
{
    struct weir_slice rest = text;
    return cut_line(&rest).n == text.n;
}

static size_t block_size(const struct block *b)
{
    size_t name_n = b->name.n != 0 ? sizeof "event: " + b->name.n : 0;
    size_t text_n = b->is_one_line ? b->prefix.n + b->text.n + 1 : lines_size(b->prefix, b->text);
    return name_n + text_n + 1;
}

static void put_block(char *to, const struct block *b)
{
    if (b->name.n != 0) {
        to = put(put(put(to, WEIR_SLICE("event: ")), b->name), WEIR_SLICE("\n"));
    }
    to = b->is_one_line ? put(put(put(to, b->prefix), b->text), WEIR_SLICE("\n"))
                        : put_lines(to, b->prefix, b->text);
    *to = '\n';
}

static int append_block(struct weir_buf *out, const struct block *b)
{
    size_t n = block_size(b);
    int rc = weir_buf_reserve(out, n);
    if (rc == 0) {
        put_block(out->p + out->n, b);
        out->n += n;
    }
    return rc;
}

static struct block event_block(struct weir_slice name, struct weir_slice data)
{
    WEIR_ASSERT(weir_slice_find(name, '\n') == name.n && weir_slice_find(name, '\r') == name.n);
    return (struct block){name, WEIR_SLICE(WEIR_SSE_DATA), data, is_one_line(data)};
}

static struct block comment_block(struct weir_slice text)
{
    return (struct block){{0}, WEIR_SLICE(": "), text, is_one_line(text)};
}

int weir_sse_append_event(struct weir_buf *out, struct weir_slice name, struct weir_slice data)
{
    struct block b = event_block(name, data);
    return append_block(out, &b);
}

size_t weir_sse_put_event(char *to, size_t room, struct weir_slice name, struct weir_slice data)
{
    struct block b = event_block(name, data);
    size_t n = block_size(&b);
    if (n > room) {
        return 0;
    }
    put_block(to, &b);
    return n;
}

int weir_sse_append_comment(struct weir_buf *out, struct weir_slice text)
{
    struct block b = comment_block(text);
    return append_block(out, &b);
}
