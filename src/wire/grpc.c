#include "wire/grpc.h"

#include "base/err.h"
#include "base/utf8.h"

#include <stdio.h>

/* A buffer up to this size is kept for the next message. */
enum { KEPT_BYTES = 1024 };

void weir_grpc_init(struct weir_grpc_reader *r, size_t max_message_bytes)
{
    *r = (struct weir_grpc_reader){.max_message_bytes = max_message_bytes};
}

void weir_grpc_dispose(struct weir_grpc_reader *r)
{
    weir_buf_dispose(&r->held);
    *r = (struct weir_grpc_reader){0};
}

static void let_go(struct weir_grpc_reader *r)
{
    r->has_message_out = false;
    r->message = (struct weir_slice){0};
    r->n_prefix = 0;
    if (r->held.cap > KEPT_BYTES) {
        weir_buf_dispose(&r->held);
    }
    weir_buf_clear(&r->held);
}

static uint32_t announced(const struct weir_grpc_reader *r)
{
    const unsigned char *b = r->prefix + 1;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Takes a byte of the prefix and judges it as soon as it can be: the answer must not depend on
 * how much has come behind it. */
static int take_prefix(struct weir_grpc_reader *r, unsigned char byte)
{
    r->prefix[r->n_prefix++] = byte;
    if (r->n_prefix == 1 && byte > 1) {
        return WEIR_EBAD;
    }
    if (r->n_prefix == 1 && byte == 1) {
        return WEIR_EUNSUPPORTED;
    }
    if (r->n_prefix == WEIR_GRPC_PREFIX_BYTES && announced(r) > r->max_message_bytes) {
        return WEIR_ELIMIT;
    }
    return 0;
}

/* The body of a message: from the slice itself when it is all there, else gathered. */
static int take_message(struct weir_grpc_reader *r, struct weir_slice in, size_t *used)
{
    size_t missing = announced(r) - r->held.n;
    size_t n = in.n - *used < missing ? in.n - *used : missing;
    struct weir_slice part = weir_slice_sub(in, *used, *used + n);
    *used += n;
    if (n < missing || r->held.n != 0) {
        weir_buf_append(&r->held, part);
        part = weir_buf_slice(&r->held);
    }
    if (n < missing) {
        return WEIR_EAGAIN;
    }
    r->message = part;
    r->has_message_out = true;
    return 0;
}

int weir_grpc_feed(struct weir_grpc_reader *r, struct weir_slice in, size_t *used)
{
    *used = 0;
    if (r->has_message_out) {
        let_go(r);
    }
    while (r->bad == 0 && r->n_prefix < WEIR_GRPC_PREFIX_BYTES) {
        if (*used == in.n) {
            return WEIR_EAGAIN;
        }
        r->bad = take_prefix(r, (unsigned char)in.p[(*used)++]);
    }
    return r->bad != 0 ? r->bad : take_message(r, in, used);
}

int weir_grpc_finish(struct weir_grpc_reader *r)
{
    if (r->has_message_out) {
        let_go(r);
    }
    if (r->bad == 0 && r->n_prefix != 0) {
        r->bad = WEIR_EBAD;
    }
    return r->bad;
}

void weir_grpc_put_prefix(char out[WEIR_GRPC_PREFIX_BYTES], uint32_t n_bytes)
{
    out[0] = 0;
    out[1] = (char)(n_bytes >> 24);
    out[2] = (char)(n_bytes >> 16);
    out[3] = (char)(n_bytes >> 8);
    out[4] = (char)n_bytes;
}

struct status_row {
    const char *name;
    int http;
};

static const struct status_row status_rows[] = {
#define STATUS_ROW(code, value, name, http) [value] = {name, http},
    WEIR_GRPC_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

static const struct status_row *status_row(enum weir_grpc_status status)
{
    size_t n = sizeof status_rows / sizeof status_rows[0];
    return &status_rows[(size_t)status < n ? status : WEIR_GRPC_UNKNOWN];
}

const char *weir_grpc_status_name(enum weir_grpc_status status)
{
    return status_row(status)->name;
}

int weir_grpc_status_to_http(enum weir_grpc_status status)
{
    return status_row(status)->http;
}

enum weir_grpc_status weir_grpc_status_from_http(int http)
{
    switch (http) {
    case 400:
        return WEIR_GRPC_INTERNAL;
    case 401:
        return WEIR_GRPC_UNAUTHENTICATED;
    case 403:
        return WEIR_GRPC_PERMISSION_DENIED;
    case 404:
        return WEIR_GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return WEIR_GRPC_UNAVAILABLE;
    default:
        return WEIR_GRPC_UNKNOWN;
    }
}

enum weir_grpc_status weir_grpc_parse_status(struct weir_slice value)
{
    uint64_t status;
    bool is_bad = value.n > 2 || weir_slice_u64(value, &status) != 0;
    return is_bad || status > WEIR_GRPC_UNAUTHENTICATED ? WEIR_GRPC_UNKNOWN
                                                        : (enum weir_grpc_status)status;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The byte that `in` begins with, decoded; `*n` is how many it took. */
static char decode_byte(struct weir_slice in, size_t *n)
{
    *n = 1;
    if (in.p[0] != '%' || in.n < 3) {
        return in.p[0];
    }
    int high = hex_value(in.p[1]);
    int low = hex_value(in.p[2]);
    if (high < 0 || low < 0) {
        return in.p[0];
    }
    *n = 3;
    return (char)(high << 4 | low);
}

/*
 * Up to four decoded bytes are looked at together: that is what a code point can be made of. A byte
 * that begins none becomes U+FFFD alone.
 */
int weir_grpc_decode_text(struct weir_slice in, struct weir_buf *out)
{
    while (in.n != 0) {
        char bytes[4];
        size_t ends[4];
        size_t n = 0;
        for (size_t at = 0; n < sizeof bytes && at < in.n; n++) {
            size_t step;
            bytes[n] = decode_byte(weir_slice_sub(in, at, in.n), &step);
            at += step;
            ends[n] = at;
        }
        size_t n_valid = weir_utf8_sequence(weir_slice_make(bytes, n));
        struct weir_slice text =
            n_valid != 0 ? weir_slice_make(bytes, n_valid) : WEIR_SLICE("\xef\xbf\xbd");
        int rc = weir_buf_append(out, text);
        if (rc != 0) {
            return rc;
        }
        in = weir_slice_sub(in, ends[n_valid != 0 ? n_valid - 1 : 0], in.n);
    }
    return 0;
}

int weir_grpc_encode_text(struct weir_slice in, struct weir_buf *out)
{
    for (size_t i = 0; i < in.n; i++) {
        unsigned char c = (unsigned char)in.p[i];
        bool is_plain = c >= 0x20 && c <= 0x7e && c != '%';
        int rc = is_plain ? weir_buf_append_byte(out, (char)c) : weir_buf_printf(out, "%%%02X", c);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

size_t weir_grpc_format_timeout(uint64_t ms, char out[WEIR_GRPC_TIMEOUT_BYTES])
{
    static const struct {
        uint64_t ms;
        char unit;
    } units[] = {{1, 'm'}, {1000, 'S'}, {60 * 1000, 'M'}, {3600 * 1000, 'H'}};
    enum { MOST = 99999999, N_UNITS = sizeof units / sizeof units[0] };

    size_t i = 0;
    while (i + 1 < N_UNITS && ms > MOST * units[i].ms) {
        i++;
    }
    uint64_t amount = ms / units[i].ms + (ms % units[i].ms != 0);
    unsigned shown = amount < MOST ? (unsigned)amount : MOST;
    return (size_t)snprintf(out, WEIR_GRPC_TIMEOUT_BYTES, "%u%c", shown, units[i].unit);
}
