/*
 * A comma is due before an item unless it is its container's first or follows a key: two flags are
 * all the state the output needs. The bits of `is_object` serve the assertions, to depth 64.
 */
#include "wire/json_write.h"

#include "base/assert.h"
#include "base/err.h"
#include "wire/json_int.h"
#include "wire/json_scan.h"

void weir_json_write_init(struct weir_json_write *w, struct weir_buf *out)
{
    *w = (struct weir_json_write){.out = out, .n_before = out->n, .is_empty = true};
}

int weir_json_write_finish(struct weir_json_write *w)
{
    if (w->rc != 0) {
        w->out->n = w->n_before;
        return w->rc;
    }
    WEIR_ASSERT(w->depth == 0 && !w->is_empty && !w->after_key);
    return 0;
}

static inline void put(struct weir_json_write *w, struct weir_slice s)
{
    if (w->rc == 0) {
        w->rc = weir_buf_append(w->out, s);
    }
}

/* What comes before any item: its comma. */
static inline void begin_item(struct weir_json_write *w)
{
    if (!w->is_empty && !w->after_key) {
        WEIR_ASSERT(w->depth != 0); /* one value only */
        put(w, WEIR_SLICE(","));
    }
    w->is_empty = false;
    w->after_key = false;
}

/* Is the open container an object, or not, as told? Yes where nothing is remembered. */
static inline bool may_be(const struct weir_json_write *w, bool is_object)
{
    return w->depth > 64 ||
           (w->depth != 0 && ((w->is_object >> (w->depth - 1)) & 1) != 0) == is_object;
}

static inline void begin_value(struct weir_json_write *w)
{
    WEIR_ASSERT(may_be(w, w->after_key));
    begin_item(w);
}

static void begin_container(struct weir_json_write *w, bool is_object)
{
    begin_value(w);
    put(w, is_object ? WEIR_SLICE("{") : WEIR_SLICE("["));
    if (w->depth < 64) {
        uint64_t bit = (uint64_t)1 << w->depth;
        w->is_object = is_object ? w->is_object | bit : w->is_object & ~bit;
    }
    w->depth++;
    w->is_empty = true;
}

static void end_container(struct weir_json_write *w, bool is_object)
{
    WEIR_ASSERT(w->depth != 0 && !w->after_key && may_be(w, is_object));
    put(w, is_object ? WEIR_SLICE("}") : WEIR_SLICE("]"));
    w->depth--;
    w->is_empty = false;
}

void weir_json_write_begin_object(struct weir_json_write *w)
{
    begin_container(w, true);
}

void weir_json_write_end_object(struct weir_json_write *w)
{
    end_container(w, true);
}

void weir_json_write_begin_array(struct weir_json_write *w)
{
    begin_container(w, false);
}

void weir_json_write_end_array(struct weir_json_write *w)
{
    end_container(w, false);
}

static struct weir_slice escape_of(unsigned char c, char spelled[6])
{
    static const char hex[] = "0123456789abcdef";
    char letter = '\0';
    switch (c) {
    case '"':
    case '\\':
        letter = (char)c;
        break;
    case '\b':
        letter = 'b';
        break;
    case '\f':
        letter = 'f';
        break;
    case '\n':
        letter = 'n';
        break;
    case '\r':
        letter = 'r';
        break;
    case '\t':
        letter = 't';
        break;
    default:
        break;
    }
    if (letter != '\0') {
        memcpy(spelled, (char[]){'\\', letter}, 2);
        return weir_slice_make(spelled, 2);
    }
    memcpy(spelled, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
    return weir_slice_make(spelled, 6);
}

/* The inside of a string: runs that need nothing, then one escape. */
static int append_escaped(struct weir_buf *out, struct weir_slice s)
{
    int rc = 0;
    const char *end = s.p + s.n;
    for (const char *p = s.p; rc == 0 && p != end;) {
        uint64_t high = 0;
        const char *stop = weir_json__scan(p, end, &high);
        rc = weir_buf_append(out, weir_slice_make(p, (size_t)(stop - p)));
        if (rc == 0 && stop != end) {
            char spelled[6];
            rc = weir_buf_append(out, escape_of((unsigned char)*stop++, spelled));
        }
        p = stop;
    }
    return rc;
}

int weir_json_write_quoted(struct weir_buf *out, struct weir_slice s)
{
    size_t n_before = out->n;
    s.p = s.n != 0 ? s.p : "";
    int rc = weir_buf_append_byte(out, '"');
    rc = rc == 0 ? append_escaped(out, s) : rc;
    rc = rc == 0 ? weir_buf_append_byte(out, '"') : rc;
    if (rc != 0) {
        out->n = n_before;
    }
    return rc;
}

static inline void put_quoted(struct weir_json_write *w, struct weir_slice s)
{
    if (w->rc == 0) {
        w->rc = weir_json_write_quoted(w->out, s);
    }
}

void weir_json_write_key(struct weir_json_write *w, struct weir_slice name)
{
    WEIR_ASSERT(w->depth != 0 && !w->after_key && may_be(w, true));
    begin_item(w);
    put_quoted(w, name);
    put(w, WEIR_SLICE(":"));
    w->after_key = true;
}

void weir_json_write_key_raw(struct weir_json_write *w, struct weir_slice quoted)
{
    WEIR_ASSERT(w->depth != 0 && !w->after_key && may_be(w, true));
    begin_item(w);
    put(w, quoted);
    put(w, WEIR_SLICE(":"));
    w->after_key = true;
}

void weir_json_write_string(struct weir_json_write *w, struct weir_slice s)
{
    begin_value(w);
    put_quoted(w, s);
}

void weir_json_write_raw(struct weir_json_write *w, struct weir_slice json)
{
    begin_value(w);
    put(w, json);
}

void weir_json_write_raw_members(struct weir_json_write *w, struct weir_slice members)
{
    WEIR_ASSERT(w->depth != 0 && !w->after_key && may_be(w, true));
    begin_item(w);
    put(w, members);
}

void weir_json_write_null(struct weir_json_write *w)
{
    weir_json_write_raw(w, WEIR_SLICE("null"));
}

void weir_json_write_bool(struct weir_json_write *w, bool v)
{
    weir_json_write_raw(w, v ? WEIR_SLICE("true") : WEIR_SLICE("false"));
}

/* Digits from the right into the end of `digits`. */
static struct weir_slice format_u64(uint64_t v, char digits[21])
{
    size_t at = 21;
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    return weir_slice_make(digits + at, 21 - at);
}

void weir_json_write_u64(struct weir_json_write *w, uint64_t v)
{
    char digits[21];
    weir_json_write_raw(w, format_u64(v, digits));
}

void weir_json_write_i64(struct weir_json_write *w, int64_t v)
{
    char digits[21];
    struct weir_slice s = format_u64(v < 0 ? -(uint64_t)v : (uint64_t)v, digits);
    if (v < 0) {
        /* At most 19 digits: there is room before them. */
        s = weir_slice_make(s.p - 1, s.n + 1);
        digits[21 - s.n] = '-';
    }
    weir_json_write_raw(w, s);
}

void weir_json_write_f64(struct weir_json_write *w, double v)
{
    char spelled[WEIR_JSON__F64_MAX];
    size_t n = weir_json__format_f64(v, spelled);
    weir_json_write_raw(w, weir_slice_make(spelled, n));
}

/* What stands between two tokens, without the white space. */
static void put_gap(struct weir_json_write *w, struct weir_slice gap)
{
    for (size_t i = 0; i < gap.n; i++) {
        if ((unsigned char)gap.p[i] > ' ') {
            put(w, weir_slice_sub(gap, i, i + 1));
        }
    }
}

void weir_json_write_node(struct weir_json_write *w, const struct weir_json *j, uint32_t at)
{
    begin_value(w);
    /* Containers need no attention: their brackets lie in the gaps between the other tokens. */
    uint32_t done = j->nodes[at].start;
    for (uint32_t i = at; i != j->nodes[at].next; i++) {
        const struct weir_json_node *node = &j->nodes[i];
        if (node->type == WEIR_JSON_ARRAY || node->type == WEIR_JSON_OBJECT) {
            continue;
        }
        put_gap(w, weir_slice_sub(j->src, done, node->start));
        put(w, weir_json_raw(j, i));
        done = node->end;
    }
    put_gap(w, weir_slice_sub(j->src, done, j->nodes[at].end));
}
