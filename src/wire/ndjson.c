#include "wire/ndjson.h"

#include "base/err.h"

/* A buffer up to this size is kept for the next line. */
enum { KEPT_BYTES = 1024 };

void weir_ndjson_init(struct weir_ndjson_reader *r, size_t max_line_bytes)
{
    *r = (struct weir_ndjson_reader){.max_line_bytes = max_line_bytes};
    weir_buf_init(&r->held, max_line_bytes);
}

void weir_ndjson_dispose(struct weir_ndjson_reader *r)
{
    weir_buf_dispose(&r->held);
    *r = (struct weir_ndjson_reader){0};
}

static void let_go(struct weir_ndjson_reader *r)
{
    r->has_line_out = false;
    r->line = (struct weir_slice){0};
    if (r->held.cap > KEPT_BYTES) {
        weir_buf_dispose(&r->held);
    }
    weir_buf_clear(&r->held);
}

/* Hands out `line` without a CR at its end, or false when nothing is left of it. */
static bool hand_out(struct weir_ndjson_reader *r, struct weir_slice line)
{
    if (line.n != 0 && line.p[line.n - 1] == '\r') {
        line.n--;
    }
    r->line = line;
    r->has_line_out = line.n != 0;
    return r->has_line_out;
}

static int hold(struct weir_ndjson_reader *r, struct weir_slice part)
{
    if (part.n > r->max_line_bytes - r->held.n || weir_buf_append(&r->held, part) != 0) {
        r->is_too_large = true;
        return WEIR_ELIMIT;
    }
    return 0;
}

/* One line, complete in `rest` or with what is held: 0, or WEIR_ELIMIT. */
static int complete(struct weir_ndjson_reader *r, struct weir_slice line, struct weir_slice *out)
{
    *out = line;
    if (r->held.n == 0 && line.n <= r->max_line_bytes) {
        return 0;
    }
    int rc = hold(r, line);
    *out = weir_buf_slice(&r->held);
    return rc;
}

int weir_ndjson_feed(struct weir_ndjson_reader *r, struct weir_slice in, size_t *used)
{
    *used = 0;
    if (r->has_line_out) {
        let_go(r);
    }
    while (!r->is_too_large && *used < in.n) {
        struct weir_slice rest = weir_slice_sub(in, *used, in.n);
        size_t at = weir_slice_find(rest, '\n');
        if (at == rest.n) {
            int rc = hold(r, rest);
            *used = in.n;
            return rc != 0 ? rc : WEIR_EAGAIN;
        }
        struct weir_slice line;
        int rc = complete(r, weir_slice_make(rest.p, at), &line);
        *used += at + 1;
        if (rc != 0) {
            return rc;
        }
        if (hand_out(r, line)) {
            return 0;
        }
        let_go(r);
    }
    return r->is_too_large ? WEIR_ELIMIT : WEIR_EAGAIN;
}

int weir_ndjson_finish(struct weir_ndjson_reader *r)
{
    if (r->has_line_out) {
        let_go(r);
    }
    if (r->is_too_large || r->held.n == 0) {
        return WEIR_ECLOSED;
    }
    if (hand_out(r, weir_buf_slice(&r->held))) {
        return 0;
    }
    let_go(r);
    return WEIR_ECLOSED;
}
