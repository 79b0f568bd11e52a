/*
 * Reading goes in two steps, first where a block ends, then what its lines say:
 *
 *   fed bytes ─► find_end ─┬─ all in this slice ─► read_block in place
 *                          └─ in pieces ─► gather in `held` ─► read_block there
 *
 * so that a token's event, which nearly always comes whole, costs one fast search for the ends of
 * its lines, of which it has one or two, and no copy.
 * The place reached is remembered between pieces: no byte is searched twice for a line end.
 */
#include "wire/sse.h"

#include "base/assert.h"
#include "base/err.h"

enum {
    KEPT_BYTES = 1024, /* a buffer up to this size is kept for the next event */
    STEP_BYTES = 4096, /* gathered at once: the end is usually near, the slice may be long */
    FIRST_WINDOW_BYTES = 512,
    N_MARK_BYTES = 3,
    KNOWN_LINES = 2, /* an event's name and its data */
};

static const char byte_order_mark[N_MARK_BYTES] = {'\xef', '\xbb', '\xbf'};

void weir_sse_init(struct weir_sse_reader *r, size_t max_event_bytes)
{
    *r = (struct weir_sse_reader){.max_event_bytes = max_event_bytes};
    weir_buf_init(&r->held, max_event_bytes);
    weir_buf_init(&r->joined, max_event_bytes);
}

void weir_sse_dispose(struct weir_sse_reader *r)
{
    weir_buf_dispose(&r->held);
    weir_buf_dispose(&r->joined);
    *r = (struct weir_sse_reader){0};
}

/*
 * The first CR or LF from `p` on, or the end. Searched window by window, so that with whatever kind
 * of line ends the cost goes with the line and not with what comes behind it.
 */
static const char *find_line_end(const char *p, const char *end)
{
    if (p < end && (*p == '\n' || *p == '\r')) {
        return p; /* the empty line that ends each block */
    }
    for (size_t window = FIRST_WINDOW_BYTES; p < end; window *= 2) {
        size_t n = (size_t)(end - p) < window ? (size_t)(end - p) : window;
        const char *lf = memchr(p, '\n', n);
        const char *cr = memchr(p, '\r', lf != NULL ? (size_t)(lf - p) : n);
        if (cr != NULL || lf != NULL) {
            return cr != NULL ? cr : lf;
        }
        p += n;
    }
    return end;
}

static int wait_at(struct weir_sse_reader *r, size_t line_at, size_t scan_at)
{
    r->line_at = line_at;
    r->scan_at = scan_at;
    return WEIR_EAGAIN;
}

/*
 * Does the block at the start of `s` end in it? 0 with the size of it, or WEIR_EAGAIN.
 *
 * A CR at the very end may be half of a CRLF: its LF is waited for, unless the line before ended
 * with a bare CR. So a stream with CR alone is not late by an event, and the bytes of the block are
 * the same for every cut. (The LF of a mixed "\r\r\n" is skipped before the next block.)
 */
static int find_end(struct weir_sse_reader *r, struct weir_slice s, size_t *size)
{
    const char *end = s.p + s.n;
    const char *line = s.p + r->line_at;
    const char *p = s.p + r->scan_at;
    for (;;) {
        const char *eol = find_line_end(p, end);
        if (eol == end) {
            return wait_at(r, (size_t)(line - s.p), s.n);
        }
        const char *next = eol + 1;
        bool is_cr = *eol == '\r';
        if (is_cr && !(eol == line && r->is_after_cr)) {
            if (next == end) {
                return wait_at(r, (size_t)(line - s.p), (size_t)(eol - s.p));
            }
            is_cr = *next != '\n';
            next += is_cr ? 0 : 1;
        }
        if (eol == line) {
            *size = (size_t)(next - s.p);
            return 0;
        }
        r->n_lines = line == s.p ? 0 : r->n_lines;
        if (r->n_lines < KNOWN_LINES) {
            r->line_bytes[r->n_lines++] = (size_t)(eol - line);
        }
        r->is_after_cr = is_cr;
        line = p = next;
    }
}

/* The first data line is used where it lies; a second one makes a copy of both. */
static void add_data(struct weir_sse_reader *r, struct weir_slice value)
{
    struct weir_sse_event *e = &r->event;
    if (!e->has_data) {
        e->has_data = true;
        e->data = value;
        return;
    }
    int rc = 0;
    if (r->joined.n == 0) {
        rc = weir_buf_append(&r->joined, e->data);
    }
    if (rc == 0) {
        rc = weir_buf_append_byte(&r->joined, '\n');
    }
    if (rc == 0) {
        rc = weir_buf_append(&r->joined, value);
    }
    /* The data of a block is never longer than the block. */
    WEIR_ASSERT(rc == 0);
    e->data = weir_buf_slice(&r->joined);
}

static void read_field(struct weir_sse_reader *r, struct weir_slice name, struct weir_slice value)
{
    struct weir_sse_event *e = &r->event;
    if (weir_slice_eq(name, WEIR_SLICE("data"))) {
        add_data(r, value);
    } else if (weir_slice_eq(name, WEIR_SLICE("event"))) {
        e->name = value;
    } else if (weir_slice_eq(name, WEIR_SLICE("id"))) {
        if (weir_slice_find(value, '\0') == value.n) {
            e->has_id = true;
            e->id = value;
        }
    } else if (weir_slice_eq(name, WEIR_SLICE("retry"))) {
        uint64_t ms;
        if (weir_slice_u64(value, &ms) == 0) {
            e->has_retry = true;
            e->retry_ms = ms;
        }
    }
}

/* Nearly all lines are one of two. */
static size_t find_colon(struct weir_slice line)
{
    if (weir_slice_starts_with(line, WEIR_SLICE("data:"))) {
        return sizeof "data" - 1;
    }
    if (weir_slice_starts_with(line, WEIR_SLICE("event:"))) {
        return sizeof "event" - 1;
    }
    return weir_slice_find(line, ':');
}

static void read_line(struct weir_sse_reader *r, struct weir_slice line)
{
    size_t colon = find_colon(line);
    if (colon == 0) {
        return;
    }
    r->event.is_comment = false;
    struct weir_slice value = {0};
    if (colon != line.n) {
        bool has_space = colon + 1 < line.n && line.p[colon + 1] == ' ';
        value = weir_slice_sub(line, colon + (has_space ? 2 : 1), line.n);
    }
    read_field(r, weir_slice_make(line.p, colon), value);
}

static void read_block(struct weir_sse_reader *r, struct weir_slice raw)
{
    r->event = (struct weir_sse_event){.is_comment = true, .raw = raw};
    const char *line = raw.p;
    const char *eol = line + r->line_bytes[0]; /* find_end was there */
    for (size_t i = 1; eol != line; i++) {
        read_line(r, weir_slice_make(line, (size_t)(eol - line)));
        line = eol + 1;
        if (*eol == '\r' && *line == '\n') {
            line++;
        }
        eol = i < r->n_lines ? line + r->line_bytes[i] : find_line_end(line, raw.p + raw.n);
    }
}

static void begin_block(struct weir_sse_reader *r)
{
    r->line_at = 0;
    r->scan_at = 0;
    r->is_after_cr = false;
}

static void recycle(struct weir_buf *b)
{
    if (b->cap > KEPT_BYTES) {
        weir_buf_dispose(b);
    }
    weir_buf_clear(b);
}

/* The last event is no longer looked at. */
static void let_go(struct weir_sse_reader *r)
{
    r->has_event_out = false;
    r->event = (struct weir_sse_event){0};
    recycle(&r->held);
    recycle(&r->joined);
}

/* Bytes that only looked like a byte order mark belong to the first block. */
static void skip_mark(struct weir_sse_reader *r, struct weir_slice in, size_t *used)
{
    while (*used < in.n && !r->is_past_start) {
        if (in.p[*used] != byte_order_mark[r->n_mark]) {
            r->is_past_start = true;
            if (weir_buf_append(&r->held, weir_slice_make(byte_order_mark, r->n_mark)) != 0) {
                r->is_too_large = true;
            }
            return;
        }
        ++*used;
        r->is_past_start = ++r->n_mark == N_MARK_BYTES;
    }
}

static int refuse(struct weir_sse_reader *r)
{
    r->is_too_large = true;
    return WEIR_ELIMIT;
}

/* Goes on with the block in `held`: 0 when it is complete there. */
static int gather(struct weir_sse_reader *r, struct weir_slice in, size_t *used)
{
    while (*used < in.n) {
        size_t old_n = r->held.n;
        size_t room = r->max_event_bytes - old_n;
        size_t n = in.n - *used;
        n = n < STEP_BYTES ? n : STEP_BYTES;
        n = n < room ? n : room;
        if (n == 0) {
            return refuse(r);
        }
        int rc = weir_buf_append(&r->held, weir_slice_make(in.p + *used, n));
        WEIR_ASSERT(rc == 0);
        size_t size;
        if (find_end(r, weir_buf_slice(&r->held), &size) == 0) {
            *used += size - old_n;
            r->held.n = size;
            return 0;
        }
        *used += n;
    }
    return WEIR_EAGAIN;
}

static int next_block(struct weir_sse_reader *r, struct weir_slice in, size_t *used,
                      struct weir_slice *raw)
{
    if (r->held.n == 0) {
        while (*used < in.n && (in.p[*used] == '\n' || in.p[*used] == '\r')) {
            ++*used;
        }
        if (*used == in.n) {
            return WEIR_EAGAIN;
        }
        struct weir_slice rest = weir_slice_sub(in, *used, in.n);
        rest.n = rest.n < r->max_event_bytes ? rest.n : r->max_event_bytes;
        size_t size;
        if (find_end(r, rest, &size) == 0) {
            *raw = weir_slice_make(rest.p, size);
            *used += size;
            return 0;
        }
        int rc = weir_buf_append(&r->held, rest);
        WEIR_ASSERT(rc == 0);
        *used += rest.n;
    }
    int rc = gather(r, in, used);
    *raw = weir_buf_slice(&r->held);
    return rc;
}

int weir_sse_feed(struct weir_sse_reader *r, struct weir_slice in, size_t *used)
{
    *used = 0;
    if (r->has_event_out) {
        let_go(r);
    }
    if (!r->is_past_start) {
        skip_mark(r, in, used);
    }
    while (!r->is_too_large) {
        struct weir_slice raw;
        int rc = next_block(r, in, used, &raw);
        if (rc != 0) {
            return rc;
        }
        begin_block(r);
        read_block(r, raw);
        if (r->event.has_data || r->wants_all) {
            r->has_event_out = true;
            return 0;
        }
        let_go(r);
    }
    return WEIR_ELIMIT;
}

int weir_sse_finish(struct weir_sse_reader *r)
{
    if (r->has_event_out) {
        let_go(r);
    }
    bool is_mark_cut = !r->is_past_start && r->n_mark != 0;
    if (r->is_too_large || is_mark_cut) {
        return WEIR_EBAD;
    }
    if (r->held.n == 0) {
        return WEIR_ECLOSED;
    }
    /* Stopped at a CR where a line should begin: then that is the empty line. */
    bool is_complete = r->line_at == r->scan_at && r->scan_at < r->held.n;
    begin_block(r);
    if (!is_complete) {
        weir_buf_dispose(&r->held);
        return WEIR_EBAD;
    }
    read_block(r, weir_buf_slice(&r->held));
    r->has_event_out = true;
    if (r->event.has_data || r->wants_all) {
        return 0;
    }
    let_go(r);
    return WEIR_ECLOSED;
}
