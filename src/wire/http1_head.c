/*
 * The head of a message: where it ends, then its lines.
 *
 *   fed bytes ─► scan for the empty line ─┬─ all in this slice ─► parse in place
 *                                         └─ in pieces ─► gather in `held` ─► parse there
 *
 * The scan looks at each byte once however the pieces are cut, and already refuses a bare LF, so a
 * peer that ends its lines wrongly is not left waiting. Everything else is judged on the complete
 * head: the answer to the same bytes is the same for every cut.
 */
#include "base/assert.h"
#include "base/mem.h"
#include "wire/http1_int.h"

enum {
    MAX_METHOD_BYTES = 32,
    FEW_HEADERS = 24, /* places at first; what SDKs send usually fits */
};

/* Before the first byte of a head: 0 with `*at` on it, or WEIR_EAGAIN. */
static int find_start(struct weir_http1_reader *r, struct weir_slice in, size_t *at)
{
    bool is_request = r->role == WEIR_HTTP1_REQUESTS;
    for (; *at < in.n; ++*at) {
        char c = in.p[*at];
        if (r->state == WEIR_HTTP1__START_CR) {
            if (c != '\n') {
                return weir_http1__bad(r, "bare CR before the request line");
            }
            r->state = WEIR_HTTP1__START_LAST;
        } else if (c == '\r' && r->state == WEIR_HTTP1__START && is_request) {
            r->state = WEIR_HTTP1__START_CR;
        } else if (is_request ? weir_http1__is(c, WEIR_HTTP1__TOKEN_CHAR) : c == 'H') {
            r->state = WEIR_HTTP1__HEAD;
            r->line_bytes = 0;
            r->last = '\0';
            r->is_first_line_read = false;
            return 0;
        } else {
            return weir_http1__bad(r, "not an HTTP message");
        }
    }
    return WEIR_EAGAIN;
}

/* Looks for the empty line: 0 with `*n` bytes up to its end, WEIR_EAGAIN, or WEIR_EBAD. */
static int scan(struct weir_http1_reader *r, struct weir_slice in, size_t *n)
{
    const char *p = in.p;
    const char *end = in.p + in.n;
    while (p < end) {
        const char *lf = memchr(p, '\n', (size_t)(end - p));
        if (lf == NULL) {
            r->line_bytes += (size_t)(end - p);
            r->last = end[-1];
            return WEIR_EAGAIN;
        }
        r->line_bytes += (size_t)(lf - p);
        char before = lf != p ? lf[-1] : r->last;
        if (r->line_bytes == 0 || before != '\r') {
            return weir_http1__bad(r, "line ends without CR");
        }
        p = lf + 1;
        if (r->line_bytes == 1) {
            *n = (size_t)(p - in.p);
            return 0;
        }
        r->line_bytes = 0;
        r->is_first_line_read = true;
    }
    return WEIR_EAGAIN;
}

static int refuse_too_large(struct weir_http1_reader *r)
{
    if (r->role == WEIR_HTTP1_REQUESTS && !r->is_first_line_read) {
        return weir_http1__refuse(r, WEIR_ELIMIT, 414, "the request line is too long");
    }
    return weir_http1__refuse(r, WEIR_ELIMIT, 431, "the header fields are too large");
}

/*
 * From here on a cursor walks over a head that ends with an empty line, so a loop over the bytes of
 * one class stops at a CR at the latest.
 */
struct cursor {
    const char *p;
    const char *end;
};

static struct weir_slice take_while(struct cursor *c, unsigned class_bit)
{
    const char *from = c->p;
    while (weir_http1__is(*c->p, class_bit)) {
        c->p++;
    }
    return weir_slice_make(from, (size_t)(c->p - from));
}

static bool take_char(struct cursor *c, char want)
{
    if (*c->p != want) {
        return false;
    }
    c->p++;
    return true;
}

/* A CR is never the head's last byte, and the LF of the last line is. */
static bool take_line_end(struct cursor *c)
{
    if (c->p[0] != '\r' || c->p[1] != '\n') {
        return false;
    }
    c->p += 2;
    return true;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "HTTP/1.x" */
static int take_version(struct weir_http1_reader *r, struct cursor *c)
{
    const char *p = c->p;
    if (c->end - p < 8 || memcmp(p, "HTTP/", 5) != 0 || !is_digit(p[5]) || p[6] != '.' ||
        !is_digit(p[7])) {
        return weir_http1__bad(r, "malformed protocol version");
    }
    if (p[5] != '1' || p[7] > '1') {
        return weir_http1__refuse(r, WEIR_EBAD, 505, "protocol version not supported");
    }
    r->head.minor = p[7] - '0';
    c->p += 8;
    return 0;
}

static int take_request_line(struct weir_http1_reader *r, struct cursor *c)
{
    r->head.method = take_while(c, WEIR_HTTP1__TOKEN_CHAR);
    if (!take_char(c, ' ')) {
        return weir_http1__bad(r, "malformed method");
    }
    if (r->head.method.n > MAX_METHOD_BYTES) {
        return weir_http1__refuse(r, WEIR_EBAD, 501, "unknown method");
    }
    r->head.target = take_while(c, WEIR_HTTP1__TARGET_CHAR);
    if (r->head.target.n == 0 || !take_char(c, ' ')) {
        return weir_http1__bad(r, "malformed request target");
    }
    int rc = take_version(r, c);
    if (rc == 0 && !take_line_end(c)) {
        rc = weir_http1__bad(r, "malformed protocol version");
    }
    return rc;
}

/* The reason phrase may be missing, with its space or without. */
static int take_status_line(struct weir_http1_reader *r, struct cursor *c)
{
    int rc = take_version(r, c);
    if (rc != 0) {
        return rc;
    }
    if (!take_char(c, ' ') || c->end - c->p < 3 || c->p[0] < '1' || c->p[0] > '5' ||
        !is_digit(c->p[1]) || !is_digit(c->p[2])) {
        return weir_http1__bad(r, "malformed status");
    }
    r->head.status = (c->p[0] - '0') * 100 + (c->p[1] - '0') * 10 + (c->p[2] - '0');
    c->p += 3;
    if (take_char(c, ' ')) {
        take_while(c, WEIR_HTTP1__VALUE_CHAR);
    }
    return take_line_end(c) ? 0 : weir_http1__bad(r, "malformed status line");
}

static int take_field(struct weir_http1_reader *r, struct cursor *c,
                      struct weir_http1_header *field)
{
    field->name = take_while(c, WEIR_HTTP1__TOKEN_CHAR);
    if (field->name.n == 0 || *c->p != ':') {
        bool is_space = *c->p == ' ' || *c->p == '\t';
        if (is_space) {
            return weir_http1__bad(r, field->name.n == 0 ? "folded header field"
                                                         : "white space in a header field name");
        }
        return weir_http1__bad(r, "malformed header field name");
    }
    c->p++;
    while (*c->p == ' ' || *c->p == '\t') {
        c->p++;
    }
    struct weir_slice value = take_while(c, WEIR_HTTP1__VALUE_CHAR);
    while (value.n != 0 && (value.p[value.n - 1] == ' ' || value.p[value.n - 1] == '\t')) {
        value.n--;
    }
    field->value = value;
    return take_line_end(c) ? 0 : weir_http1__bad(r, "control character in a header field");
}

/* One more place in the array of headers, or NULL when there are too many. */
static struct weir_http1_header *next_place(struct weir_http1_reader *r)
{
    struct weir_http1_head *head = &r->head;
    if (head->n_headers == r->limits->max_headers) {
        return NULL;
    }
    if (head->n_headers == r->cap_headers) {
        r->cap_headers = r->cap_headers != 0 ? 2 * r->cap_headers : FEW_HEADERS;
        head->headers = weir_mem_realloc(head->headers, r->cap_headers * sizeof *head->headers);
        r->headers = head->headers;
    }
    return &head->headers[head->n_headers];
}

static int take_fields(struct weir_http1_reader *r, struct cursor *c,
                       struct weir_http1__facts *facts)
{
    while (*c->p != '\r') {
        struct weir_http1_header *field = next_place(r);
        if (field == NULL) {
            return weir_http1__refuse(r, WEIR_ELIMIT, 431, "too many header fields");
        }
        int rc = take_field(r, c, field);
        if (rc == 0) {
            rc = weir_http1__note_field(r, facts, field);
        }
        if (rc != 0) {
            return rc;
        }
        r->head.n_headers++;
    }
    return c->p + 2 == c->end ? 0 : weir_http1__bad(r, "bare CR in the header");
}

static int parse(struct weir_http1_reader *r, struct weir_slice bytes)
{
    struct cursor c = {bytes.p, bytes.p + bytes.n};
    r->head = (struct weir_http1_head){.headers = r->headers};
    int rc = r->role == WEIR_HTTP1_REQUESTS ? take_request_line(r, &c) : take_status_line(r, &c);
    struct weir_http1__facts facts = {0};
    if (rc == 0) {
        rc = take_fields(r, &c, &facts);
    }
    return rc == 0 ? weir_http1__judge_fields(r, &facts) : rc;
}

int weir_http1__feed_head(struct weir_http1_reader *r, struct weir_slice in, size_t *used)
{
    size_t at = 0;
    if (in.n == 0) {
        return WEIR_EAGAIN;
    }
    if (r->state != WEIR_HTTP1__HEAD) {
        int rc = find_start(r, in, &at);
        if (rc != 0) {
            *used = at;
            return rc;
        }
    }
    size_t room = r->limits->max_head_bytes - r->held.n;
    struct weir_slice rest = weir_slice_make(in.p + at, in.n - at);
    bool is_over = rest.n >= room;
    if (is_over) {
        rest.n = room;
    }
    size_t n = rest.n;
    int rc = scan(r, rest, &n);
    if (rc == WEIR_EAGAIN && is_over) {
        rc = refuse_too_large(r);
    }
    *used = at + n;
    if (rc == 0 && r->held.n == 0) {
        return parse(r, weir_slice_make(rest.p, n));
    }
    if (rc == 0 || rc == WEIR_EAGAIN) {
        int full = weir_buf_append(&r->held, weir_slice_make(rest.p, n));
        WEIR_ASSERT(full == 0);
    }
    return rc == 0 ? parse(r, weir_buf_slice(&r->held)) : rc;
}
