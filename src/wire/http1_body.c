/*
 * The body of a message: by length, until close, or in chunks.
 *
 *   SIZE [EXT_SPACE] [EXT] SIZE_LF ─► CHUNK CHUNK_CR CHUNK_LF ─► SIZE …
 *                             └ size 0 ─► (TRAILER NAME VALUE TRAILER_LF)* TRAILER LAST_LF ─► END
 *
 * Body bytes are handed out as slices of what was fed. Everything between them is read byte by byte
 * and never kept, so it costs no memory however it is cut.
 */
#include "wire/http1_int.h"

/* Extensions carry nothing anybody uses, but a peer could send them for ever instead of content. */
enum {
    MAX_SIZE_DIGITS = 16,
    MAX_EXT_BYTES = 1024,
    MAX_ALL_EXT_BYTES = 64 * 1024,
};

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static int read_size(struct weir_http1_reader *r, char c)
{
    int digit = hex_value(c);
    if (digit >= 0) {
        if (r->chunk_digits == MAX_SIZE_DIGITS) {
            return weir_http1__bad(r, "chunk size has too many digits");
        }
        r->chunk_digits++;
        r->left = r->left << 4 | (unsigned)digit;
        return 0;
    }
    if (r->chunk_digits == 0) {
        return weir_http1__bad(r, "malformed chunk size");
    }
    switch (c) {
    case '\r':
        r->state = WEIR_HTTP1__SIZE_LF;
        return 0;
    case ';':
        r->state = WEIR_HTTP1__EXT;
        return 0;
    case ' ':
    case '\t':
        r->state = WEIR_HTTP1__EXT_SPACE;
        return 0;
    default:
        return weir_http1__bad(r, "malformed chunk size");
    }
}

static int count_ext(struct weir_http1_reader *r)
{
    if (++r->ext_bytes > MAX_EXT_BYTES || ++r->all_ext_bytes > MAX_ALL_EXT_BYTES) {
        return weir_http1__refuse(r, WEIR_ELIMIT, 413, "chunk extensions are too large");
    }
    return 0;
}

static int read_ext_space(struct weir_http1_reader *r, char c)
{
    if (c == ';') {
        r->state = WEIR_HTTP1__EXT;
    } else if (c != ' ' && c != '\t') {
        return weir_http1__bad(r, "malformed chunk size");
    }
    return count_ext(r);
}

static int read_ext(struct weir_http1_reader *r, char c)
{
    if (c == '\r') {
        r->state = WEIR_HTTP1__SIZE_LF;
        return 0;
    }
    if (!weir_http1__is(c, WEIR_HTTP1__VALUE_CHAR)) {
        return weir_http1__bad(r, "control character in a chunk extension");
    }
    return count_ext(r);
}

/* The size line is complete. */
static int begin_chunk(struct weir_http1_reader *r, char c)
{
    uint64_t max = r->limits->max_body_bytes;
    if (c != '\n') {
        return weir_http1__bad(r, "bare CR in a chunk size line");
    }
    if (__builtin_add_overflow(r->body_bytes, r->left, &r->body_bytes) ||
        (max != 0 && r->body_bytes > max)) {
        return weir_http1__refuse(r, WEIR_ELIMIT, 413, "the body is too large");
    }
    r->chunk_digits = 0;
    r->ext_bytes = 0;
    r->state = r->left != 0 ? WEIR_HTTP1__CHUNK : WEIR_HTTP1__TRAILER;
    return 0;
}

static int read_exactly(struct weir_http1_reader *r, char c, char want, enum weir_http1__state next)
{
    if (c != want) {
        return weir_http1__bad(r, "CRLF is missing behind a chunk");
    }
    r->state = (unsigned char)next;
    return 0;
}

static int read_trailer_start(struct weir_http1_reader *r, char c)
{
    if (c == '\r') {
        r->state = WEIR_HTTP1__LAST_LF;
        return 0;
    }
    r->state = WEIR_HTTP1__TRAILER_NAME;
    return weir_http1__is(c, WEIR_HTTP1__TOKEN_CHAR) ? 0 : weir_http1__bad(r, "malformed trailer");
}

static int read_trailer(struct weir_http1_reader *r, char c)
{
    if (++r->trailer_bytes > r->limits->max_head_bytes) {
        return weir_http1__refuse(r, WEIR_ELIMIT, 431, "the trailers are too large");
    }
    switch (r->state) {
    case WEIR_HTTP1__TRAILER:
        return read_trailer_start(r, c);
    case WEIR_HTTP1__TRAILER_NAME:
        if (c == ':') {
            r->state = WEIR_HTTP1__TRAILER_VALUE;
            return 0;
        }
        return weir_http1__is(c, WEIR_HTTP1__TOKEN_CHAR) ? 0
                                                         : weir_http1__bad(r, "malformed trailer");
    case WEIR_HTTP1__TRAILER_VALUE:
        if (c == '\r') {
            r->state = WEIR_HTTP1__TRAILER_LF;
            return 0;
        }
        return weir_http1__is(c, WEIR_HTTP1__VALUE_CHAR) ? 0
                                                         : weir_http1__bad(r, "malformed trailer");
    case WEIR_HTTP1__TRAILER_LF:
        return read_exactly(r, c, '\n', WEIR_HTTP1__TRAILER);
    default:
        return read_exactly(r, c, '\n', WEIR_HTTP1__END);
    }
}

/* One byte of what stands around the chunks. */
static int read_framing(struct weir_http1_reader *r, char c)
{
    switch (r->state) {
    case WEIR_HTTP1__SIZE:
        return read_size(r, c);
    case WEIR_HTTP1__EXT_SPACE:
        return read_ext_space(r, c);
    case WEIR_HTTP1__EXT:
        return read_ext(r, c);
    case WEIR_HTTP1__SIZE_LF:
        return begin_chunk(r, c);
    case WEIR_HTTP1__CHUNK_CR:
        return read_exactly(r, c, '\r', WEIR_HTTP1__CHUNK_LF);
    case WEIR_HTTP1__CHUNK_LF:
        return read_exactly(r, c, '\n', WEIR_HTTP1__SIZE);
    default:
        return read_trailer(r, c);
    }
}

static bool is_in_data(const struct weir_http1_reader *r)
{
    return r->state == WEIR_HTTP1__LENGTH || r->state == WEIR_HTTP1__CHUNK ||
           r->state == WEIR_HTTP1__CLOSE;
}

/* How many body bytes may come in one run. A body until close gets all it may have, then none. */
static uint64_t run_left(const struct weir_http1_reader *r)
{
    uint64_t max = r->limits->max_body_bytes;
    if (r->state != WEIR_HTTP1__CLOSE) {
        return r->left;
    }
    return max != 0 ? max - r->body_bytes : UINT64_MAX;
}

/* In a run of body bytes, and `in` is not empty: hands out what is there. */
static int take_data(struct weir_http1_reader *r, struct weir_slice in, size_t *used,
                     enum weir_http1_event *event)
{
    uint64_t left = run_left(r);
    if (left == 0) {
        return weir_http1__refuse(r, WEIR_ELIMIT, 413, "the body is too large");
    }
    size_t n = in.n < left ? in.n : (size_t)left;
    if (r->state == WEIR_HTTP1__CLOSE) {
        r->body_bytes += n;
    } else {
        r->left -= n;
    }
    if (r->state == WEIR_HTTP1__CHUNK && r->left == 0) {
        r->state = WEIR_HTTP1__CHUNK_CR;
    } else if (r->state == WEIR_HTTP1__LENGTH && r->left == 0) {
        r->state = WEIR_HTTP1__END;
    }
    r->data = weir_slice_make(in.p, n);
    *used += n;
    *event = WEIR_HTTP1_DATA;
    return 0;
}

int weir_http1__feed_body(struct weir_http1_reader *r, struct weir_slice in, size_t *used,
                          enum weir_http1_event *event)
{
    while (*used < in.n) {
        if (is_in_data(r)) {
            return take_data(r, weir_slice_sub(in, *used, in.n), used, event);
        }
        int rc = read_framing(r, in.p[*used]);
        if (rc != 0) {
            return rc;
        }
        ++*used;
        if (r->state == WEIR_HTTP1__END) {
            weir_http1__end_message(r);
            *event = WEIR_HTTP1_END;
            return 0;
        }
    }
    return WEIR_EAGAIN;
}
