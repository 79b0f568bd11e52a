/*
 * The body of a message: by length, until close, or in chunks.
 *
 *   SIZE [EXT_SPACE] [EXT] SIZE_LF ─► CHUNK CHUNK_CR CHUNK_LF ─► SIZE …
 *                             └ size 0 ─► (TRAILER NAME VALUE TRAILER_LF)* TRAILER LAST_LF ─► END
 *
 * Body bytes are handed out as slices of what was fed. Everything between them is read byte by byte
 * and never kept, so it costs no memory however it is cut. What stands around a chunk nearly always
 * comes uncut, and for each token: then it is read at one go.
 */
#include "wire/http1_int.h"

/* Nobody uses chunk extensions, but a peer could send them without end instead of content. */
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

/* "\r\n" behind a chunk; false when it is cut or something else. */
static bool skip_chunk_end(struct weir_http1_reader *r, struct weir_slice rest, size_t *used)
{
    if (rest.n < 2 || rest.p[0] != '\r' || rest.p[1] != '\n') {
        return false;
    }
    r->state = WEIR_HTTP1__SIZE;
    *used += 2;
    return true;
}

/* A size without extensions up to its LF, which is left to begin_chunk; else nothing is read. */
static bool skip_size(struct weir_http1_reader *r, struct weir_slice rest, size_t *used)
{
    size_t n_most = rest.n < MAX_SIZE_DIGITS ? rest.n : MAX_SIZE_DIGITS;
    size_t n = 0;
    uint64_t size = 0;
    int digit;
    while (n < n_most && (digit = hex_value(rest.p[n])) >= 0) {
        size = size << 4 | (unsigned)digit;
        n++;
    }
    if (n == 0 || n == rest.n || rest.p[n] != '\r' || r->chunk_digits != 0) {
        return false;
    }
    r->left = size;
    r->chunk_digits = (uint32_t)n;
    r->state = WEIR_HTTP1__SIZE_LF;
    *used += n + 1;
    return true;
}

static bool skip_framing(struct weir_http1_reader *r, struct weir_slice rest, size_t *used)
{
    switch (r->state) {
    case WEIR_HTTP1__CHUNK_CR:
        return skip_chunk_end(r, rest, used);
    case WEIR_HTTP1__SIZE:
        return skip_size(r, rest, used);
    default:
        return false;
    }
}

int weir_http1__feed_body(struct weir_http1_reader *r, struct weir_slice in, size_t *used,
                          enum weir_http1_event *event)
{
    while (*used < in.n) {
        struct weir_slice rest = weir_slice_make(in.p + *used, in.n - *used);
        if (is_in_data(r)) {
            return take_data(r, rest, used, event);
        }
        if (skip_framing(r, rest, used)) {
            continue;
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
