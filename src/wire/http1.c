/*
 * The machine of the HTTP/1 reader: which part reads next, and what lasts between two calls. The
 * parts themselves are http1_head.c, http1_fields.c and http1_body.c.
 */
#include "wire/http1_int.h"

#include <stdlib.h>

/* Sums of the class bits in http1_int.h, sixteen bytes to a row. */
/* clang-format off */
const unsigned char weir_http1__class[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    2, 7, 6, 3, 7, 7, 7, 7, 6, 6, 7, 7, 6, 7, 7, 6,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6, 6,
    6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6, 7, 6, 7, 0,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
};
/* clang-format on */

void weir_http1_init(struct weir_http1_reader *r, enum weir_http1_role role,
                     const struct weir_http1_limits *limits)
{
    *r = (struct weir_http1_reader){.role = role, .limits = limits};
    weir_buf_init(&r->held, limits->max_head_bytes);
}

void weir_http1_dispose(struct weir_http1_reader *r)
{
    weir_buf_dispose(&r->held);
    free(r->headers);
    *r = (struct weir_http1_reader){0};
}

void weir_http1_release(struct weir_http1_reader *r)
{
    if (r->state == WEIR_HTTP1__HEAD) {
        return;
    }
    if (r->held.p != NULL) {
        weir_buf_dispose(&r->held);
    }
    if (r->headers != NULL) {
        free(r->headers);
        r->headers = NULL;
        r->cap_headers = 0;
    }
    r->head.method = r->head.target = r->head.host = (struct weir_slice){0};
    r->head.headers = NULL;
    r->head.n_headers = 0;
    r->has_head_out = false;
}

int weir_http1__refuse(struct weir_http1_reader *r, int err, int status, const char *what)
{
    r->state = WEIR_HTTP1__BAD;
    r->bad_err = err;
    r->bad_status = status;
    r->bad_what = what;
    return err;
}

void weir_http1__end_message(struct weir_http1_reader *r)
{
    bool is_interim = r->role == WEIR_HTTP1_RESPONSES && r->head.status < 200;
    if (!is_interim) {
        r->is_no_body_expected = false;
    }
    r->state = is_interim && r->head.status == 101 ? WEIR_HTTP1__SWITCHED : WEIR_HTTP1__START;
}

int weir_http1_feed(struct weir_http1_reader *r, struct weir_slice in, size_t *used,
                    enum weir_http1_event *event)
{
    *used = 0;
    if (r->has_head_out) {
        weir_http1_release(r);
    }
    if (r->state <= WEIR_HTTP1__HEAD) {
        int rc = weir_http1__feed_head(r, in, used);
        r->has_head_out = rc == 0;
        *event = WEIR_HTTP1_HEAD;
        return rc;
    }
    if (r->state < WEIR_HTTP1__END) {
        return weir_http1__feed_body(r, in, used, event);
    }
    if (r->state == WEIR_HTTP1__END) {
        weir_http1__end_message(r);
        *event = WEIR_HTTP1_END;
        return 0;
    }
    if (r->state == WEIR_HTTP1__SWITCHED) {
        return in.n == 0 ? WEIR_EAGAIN : weir_http1__bad(r, "bytes after a switch of protocols");
    }
    return r->bad_err;
}

bool weir_http1_is_idle(const struct weir_http1_reader *r)
{
    return r->state < WEIR_HTTP1__HEAD;
}

void weir_http1_expect_no_body(struct weir_http1_reader *r)
{
    r->is_no_body_expected = true;
}

int weir_http1_eof(struct weir_http1_reader *r)
{
    if (weir_http1_is_idle(r) || r->state == WEIR_HTTP1__SWITCHED) {
        return WEIR_ECLOSED;
    }
    if (r->state == WEIR_HTTP1__CLOSE) {
        r->state = WEIR_HTTP1__END;
    }
    if (r->state == WEIR_HTTP1__END) {
        return 0;
    }
    return r->state == WEIR_HTTP1__BAD ? WEIR_EBAD : weir_http1__bad(r, "the message is cut short");
}

size_t weir_http1_chunk_head(char out[WEIR_HTTP1_CHUNK_HEAD_BYTES], size_t n)
{
    static const char digits[] = "0123456789abcdef";
    size_t n_digits = 1;
    for (uint64_t rest = (uint64_t)n >> 4; rest != 0; rest >>= 4) {
        n_digits++;
    }
    out[n_digits] = '\r';
    out[n_digits + 1] = '\n';
    char *p = out + n_digits;
    uint64_t rest = n;
    do {
        *--p = digits[rest & 15];
        rest >>= 4;
    } while (p != out);
    return n_digits + 2;
}

bool weir_http1_is_token(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!weir_http1__is(s.p[i], WEIR_HTTP1__TOKEN_CHAR)) {
            return false;
        }
    }
    return s.n != 0;
}

bool weir_http1_is_field_value(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!weir_http1__is(s.p[i], WEIR_HTTP1__VALUE_CHAR)) {
            return false;
        }
    }
    return true;
}
