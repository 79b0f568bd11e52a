#include "task/textlog.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/*
 * Text, frames and marks live in three rows of one kind: an array whose front leaves by moving
 * `head`. The row is moved down only when its end is reached and at least half of it has left, or
 * when it has become far too large: every element is moved O(1) times on average. (base/buf.h has
 * no front that leaves, base/bufq.h is not contiguous.)
 *
 * Marks turn a code-point offset into a byte offset without scanning a frame from its start: frames
 * can be as large as an event, and a sentence chunker asks for thousands of offsets in one.
 */
enum {
    MARK_STRIDE_BYTES = 256,
    ROW_KEEP_BYTES = 256, /* a drained row keeps no more than this */
    ROW_SMALLEST_BYTES = 64,
    ROW_SHRINK = 8, /* a row this many times larger than its content is cut down */
};

/* What is stored of a frame; its end is where the next one starts. */
struct entry {
    uint64_t number;
    size_t start_cp;
    size_t start_byte;
    void *tag;
};

/* Of all row functions `size` is the element's. */
static void *row_at(const struct weir_textlog_row *r, size_t size, size_t i)
{
    return (char *)r->p + (r->head + i) * size;
}

static void row_resize(struct weir_textlog_row *r, size_t size, size_t cap)
{
    if (r->head != 0 && r->n != 0) {
        memmove(r->p, row_at(r, size, 0), r->n * size);
    }
    r->head = 0;
    if (cap != r->cap) {
        r->p = weir_mem_realloc(r->p, cap * size);
        r->cap = cap;
    }
}

/* Room for `more` elements behind the last. */
static void row_reserve(struct weir_textlog_row *r, size_t size, size_t more)
{
    if (more <= r->cap - r->head - r->n) {
        return;
    }
    size_t need = r->n + more;
    size_t cap = r->cap != 0 ? r->cap : ROW_SMALLEST_BYTES / size;
    while (cap < need || (cap == r->cap && r->head < r->n)) {
        cap *= 2;
    }
    row_resize(r, size, cap);
}

static void row_drop(struct weir_textlog_row *r, size_t size, size_t n)
{
    r->head += n;
    r->n -= n;
    if (r->n == 0) {
        r->head = 0;
    }
    if (r->cap * size <= ROW_KEEP_BYTES || r->n > r->cap / ROW_SHRINK) {
        return;
    }
    if (r->n == 0) {
        free(r->p);
        *r = (struct weir_textlog_row){0};
        return;
    }
    size_t smallest = ROW_SMALLEST_BYTES / size;
    row_resize(r, size, r->n * 2 > smallest ? r->n * 2 : smallest);
}

void weir_textlog_init(struct weir_textlog *log, const struct weir_textlog_limits *limits)
{
    *log = (struct weir_textlog){.limits = *limits};
}

void weir_textlog_dispose(struct weir_textlog *log)
{
    free(log->text.p);
    free(log->frames.p);
    free(log->marks.p);
    *log = (struct weir_textlog){0};
}

/* Counts the new text, leaving a mark at every stride it completes. */
static void add_marks(struct weir_textlog *log, struct weir_slice s)
{
    size_t i = 0;
    while (i < s.n) {
        size_t step = MARK_STRIDE_BYTES - log->end_byte % MARK_STRIDE_BYTES;
        if (step > s.n - i) {
            step = s.n - i;
        }
        log->end_cp += weir_utf8_count(weir_slice_sub(s, i, i + step));
        log->end_byte += step;
        i += step;
        if (log->end_byte % MARK_STRIDE_BYTES == 0) {
            row_reserve(&log->marks, sizeof(size_t), 1);
            *(size_t *)row_at(&log->marks, sizeof(size_t), log->marks.n++) = log->end_cp;
        }
    }
}

static bool is_over(size_t held, size_t more, size_t max)
{
    return max != 0 && (held > max || more > max - held);
}

int weir_textlog_append(struct weir_textlog *log, uint64_t number, struct weir_slice text,
                        void *tag)
{
    if (is_over(log->text.n, text.n, log->limits.max_bytes) ||
        is_over(log->frames.n, 1, log->limits.max_frames)) {
        return WEIR_ELIMIT;
    }
    if (!weir_utf8_is_valid(text)) {
        return WEIR_EBAD;
    }
    row_reserve(&log->frames, sizeof(struct entry), 1);
    struct entry *e = row_at(&log->frames, sizeof *e, log->frames.n++);
    *e = (struct entry){number, log->end_cp, log->end_byte, tag};
    if (text.n != 0) {
        row_reserve(&log->text, 1, text.n);
        memcpy(row_at(&log->text, 1, log->text.n), text.p, text.n);
        log->text.n += text.n;
        add_marks(log, text);
    }
    return 0;
}

static struct weir_slice bytes(const struct weir_textlog *log, size_t start_byte, size_t end_byte)
{
    if (start_byte == end_byte) {
        return (struct weir_slice){"", 0};
    }
    return weir_slice_make(row_at(&log->text, 1, start_byte - log->from_byte),
                           end_byte - start_byte);
}

/* With as many bytes as code points held, all of it is ASCII and offsets need no search. */
static bool is_ascii(const struct weir_textlog *log)
{
    return log->end_byte - log->from_byte == log->end_cp - log->from_cp;
}

/* Marks held are those behind from_byte; this is the byte of the first. */
static size_t first_mark_byte(const struct weir_textlog *log)
{
    return (log->from_byte / MARK_STRIDE_BYTES + 1) * MARK_STRIDE_BYTES;
}

/* How many of the marks have at most `at_cp` code points before them. */
static size_t marks_upto(const struct weir_textlog *log, size_t at_cp)
{
    size_t low = 0;
    size_t high = log->marks.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (*(size_t *)row_at(&log->marks, sizeof(size_t), mid) <= at_cp) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

size_t weir_textlog_byte_at(const struct weir_textlog *log, size_t at_cp)
{
    WEIR_ASSERT(at_cp >= log->from_cp && at_cp <= log->end_cp);
    if (is_ascii(log)) {
        return log->from_byte + (at_cp - log->from_cp);
    }
    size_t base_cp = log->from_cp;
    size_t base_byte = log->from_byte;
    size_t n = marks_upto(log, at_cp);
    if (n != 0) {
        base_cp = *(size_t *)row_at(&log->marks, sizeof(size_t), n - 1);
        base_byte = first_mark_byte(log) + (n - 1) * MARK_STRIDE_BYTES;
    }
    struct weir_slice rest = bytes(log, base_byte, log->end_byte);
    while (rest.n != 0 && ((unsigned char)rest.p[0] & 0xC0) == 0x80) { /* a mark cuts anywhere */
        rest = weir_slice_sub(rest, 1, rest.n);
    }
    return log->end_byte - rest.n + weir_utf8_byte_at(rest, at_cp - base_cp);
}

struct weir_slice weir_textlog_slice(const struct weir_textlog *log, size_t start_cp, size_t end_cp)
{
    WEIR_ASSERT(start_cp <= end_cp);
    return bytes(log, weir_textlog_byte_at(log, start_cp), weir_textlog_byte_at(log, end_cp));
}

static bool is_all_white(struct weir_slice s)
{
    size_t i = 0;
    while (i < s.n) {
        size_t n_bytes;
        if (!weir_utf8_is_space(weir_utf8_decode(weir_slice_sub(s, i, s.n), &n_bytes))) {
            return false;
        }
        i += n_bytes;
    }
    return true;
}

bool weir_textlog_is_white(struct weir_textlog *log, size_t start_cp, size_t end_cp)
{
    WEIR_ASSERT(start_cp >= log->from_cp && start_cp <= end_cp && end_cp <= log->end_cp);
    if (start_cp == end_cp) {
        return true;
    }
    bool continues = start_cp >= log->white_from_cp && start_cp <= log->white_to_cp;
    if (continues && end_cp <= log->white_to_cp) {
        return true;
    }
    size_t unknown_cp = continues ? log->white_to_cp : start_cp;
    if (!is_all_white(weir_textlog_slice(log, unknown_cp, end_cp))) {
        return false;
    }
    if (!continues) {
        log->white_from_cp = start_cp;
    }
    log->white_to_cp = end_cp;
    return true;
}

static struct entry *entry_at(const struct weir_textlog *log, size_t i)
{
    return row_at(&log->frames, sizeof(struct entry), i);
}

struct weir_textlog_frame weir_textlog_frame(const struct weir_textlog *log, size_t index)
{
    WEIR_ASSERT(index < log->frames.n);
    const struct entry *e = entry_at(log, index);
    bool is_last = index + 1 == log->frames.n;
    return (struct weir_textlog_frame){
        .number = e->number,
        .start_cp = e->start_cp,
        .end_cp = is_last ? log->end_cp : e[1].start_cp,
        .start_byte = e->start_byte,
        .end_byte = is_last ? log->end_byte : e[1].start_byte,
        .tag = e->tag,
    };
}

size_t weir_textlog_frames_below(const struct weir_textlog *log, uint64_t number)
{
    size_t low = 0;
    size_t high = log->frames.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (entry_at(log, mid)->number < number) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

/* How many held frames start at or before `at_cp`. */
static size_t frames_upto(const struct weir_textlog *log, size_t at_cp)
{
    size_t low = 0;
    size_t high = log->frames.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (entry_at(log, mid)->start_cp <= at_cp) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

struct weir_textlog_cut weir_textlog_cut(const struct weir_textlog *log, size_t end_cp)
{
    size_t n = frames_upto(log, end_cp);
    if (n == 0) {
        return (struct weir_textlog_cut){0, 0};
    }
    struct weir_textlog_frame last = weir_textlog_frame(log, n - 1);
    if (last.end_cp <= end_cp) {
        return (struct weir_textlog_cut){n, n};
    }
    return (struct weir_textlog_cut){last.start_cp < end_cp ? n : n - 1, n - 1};
}

size_t weir_textlog_floor(const struct weir_textlog *log, size_t at_cp)
{
    WEIR_ASSERT(at_cp >= log->from_cp && at_cp <= log->end_cp);
    size_t n = at_cp < log->end_cp ? frames_upto(log, at_cp) : 0;
    size_t start_cp = n != 0 ? entry_at(log, n - 1)->start_cp : at_cp;
    return start_cp > log->from_cp ? start_cp : log->from_cp;
}

static void trim(struct weir_textlog *log, size_t to_cp, size_t n_frames)
{
    size_t to_byte = weir_textlog_byte_at(log, to_cp);
    row_drop(&log->frames, sizeof(struct entry), n_frames);
    size_t strides = to_byte / MARK_STRIDE_BYTES - log->from_byte / MARK_STRIDE_BYTES;
    if (strides != 0) {
        row_drop(&log->marks, sizeof(size_t), strides);
    }
    row_drop(&log->text, 1, to_byte - log->from_byte);
    log->from_byte = to_byte;
    log->from_cp = to_cp;
}

void weir_textlog_trim(struct weir_textlog *log, size_t to_cp)
{
    trim(log, to_cp, weir_textlog_cut(log, to_cp).n_ended);
}

void weir_textlog_trim_some(struct weir_textlog *log, size_t to_cp, size_t n_frames)
{
    WEIR_ASSERT(n_frames <= weir_textlog_cut(log, to_cp).n_ended);
    trim(log, to_cp, n_frames);
}
