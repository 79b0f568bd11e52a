/*
 * A record to the bytes of one line, in five formats. Writing never fails: each put checks the room
 * it may use, a value that does not fit is cut and marked with its length, a field that does not
 * fit at all is left out and the line says so. TAIL_BYTES are kept free for that last word.
 *
 *   [\n] TIME LEVEL target: message ids fields………………………… [tail]
 */
#include "base/assert.h"
#include "base/utf8.h"
#include "obs/obs_int.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum {
    TAIL_BYTES = 32,      /* },"truncated":true} and a line feed */
    MARK_BYTES = 40,      /* …(18446744073709551615 bytes) and a quote */
    FIELD_BYTES = 96,     /* the least room to begin a field with, next to its key */
    MAX_ID_BYTES = 128,   /* of a request id */
    TARGET_COLUMNS = 7,   /* on a terminal: the longest of our targets, and a space */
    MESSAGE_COLUMNS = 24, /* likewise: where fields begin; a longer message moves them */
};

enum escape_mode {
    BARE,   /* a message: not within quotes */
    QUOTED, /* a value in a text format */
    JSON,
};

static const struct {
    const char *name; /* right-aligned */
    const char *json;
    char letter;
    const char *colour;
} levels[] = {
    [WEIR_LOG_LEVEL_TRACE] = {"TRACE", "TRACE", 'T', "\033[35m"},
    [WEIR_LOG_LEVEL_DEBUG] = {"DEBUG", "DEBUG", 'D', "\033[34m"},
    [WEIR_LOG_LEVEL_INFO] = {" INFO", "INFO", 'I', "\033[32m"},
    [WEIR_LOG_LEVEL_WARN] = {" WARN", "WARN", 'W', "\033[33m"},
    [WEIR_LOG_LEVEL_ERROR] = {"ERROR", "ERROR", 'E', "\033[31m"},
};

static size_t room(const struct weir_log_line *l)
{
    return sizeof l->bytes - TAIL_BYTES - l->n;
}

static void put_bytes(struct weir_log_line *l, const char *p, size_t n)
{
    WEIR_ASSERT(n <= sizeof l->bytes - l->n);
    memcpy(l->bytes + l->n, p, n);
    l->n += n;
}

/* Literals of ours, into room that was made sure of. */
static void put(struct weir_log_line *l, const char *s)
{
    put_bytes(l, s, strlen(s));
}

static void put_digits(struct weir_log_line *l, uint64_t v, size_t width)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    while (sizeof digits - at < width) {
        digits[--at] = '0';
    }
    put_bytes(l, digits + at, sizeof digits - at);
}

struct date {
    uint64_t year;
    uint64_t month;
    uint64_t day;
};

/* Years are counted from March, so that the odd day of a leap year is the last of its year. */
static struct date date_of(uint64_t days_since_1970)
{
    uint64_t days = days_since_1970 + 719468; /* since 0000-03-01 */
    uint64_t era = days / 146097;             /* of 400 years */
    uint64_t in_era = days % 146097;
    uint64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    uint64_t in_year = in_era - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * in_year + 2) / 153; /* 0 is March; 153 days in five months */
    uint64_t day = in_year - (153 * month + 2) / 5 + 1;
    bool is_next_year = month >= 10;
    return (struct date){
        .year = era * 400 + year + is_next_year,
        .month = is_next_year ? month - 9 : month + 3,
        .day = day,
    };
}

/* 2024-05-06T07:08:09.123456Z */
static void put_time(struct weir_log_line *l, int64_t now_us)
{
    uint64_t us = now_us > 0 ? (uint64_t)now_us : 0;
    uint64_t s = us / 1000000;
    struct date d = date_of(s / 86400);
    put_digits(l, d.year, 4);
    put(l, "-");
    put_digits(l, d.month, 2);
    put(l, "-");
    put_digits(l, d.day, 2);
    put(l, "T");
    put_digits(l, s / 3600 % 24, 2);
    put(l, ":");
    put_digits(l, s / 60 % 60, 2);
    put(l, ":");
    put_digits(l, s % 60, 2);
    put(l, ".");
    put_digits(l, us % 1000000, 6);
    put(l, "Z");
}

/* Controls, and what breaks or reorders a line on a screen. */
static bool is_unsafe(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || cp == 0x061C || cp == 0x200E || cp == 0x200F ||
           (cp >= 0x2028 && cp <= 0x202E) || (cp >= 0x2066 && cp <= 0x2069);
}

static size_t escape_ascii(char c, enum escape_mode mode, char out[8])
{
    char letter = '\0';
    switch (c) {
    case '"':
        letter = mode == BARE ? '\0' : '"';
        break;
    case '\\':
        letter = '\\';
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
        out[0] = '\\';
        out[1] = letter;
        return 2;
    }
    if (is_unsafe((unsigned char)c)) {
        return (size_t)snprintf(out, 8, "\\u%04x", (unsigned)(unsigned char)c);
    }
    out[0] = c;
    return 1;
}

/* What the first character of `s` is shown as; `*taken` bytes of it are used. */
static size_t escape_one(struct weir_slice s, enum escape_mode mode, char out[8], size_t *taken)
{
    *taken = weir_utf8_sequence(s);
    if (*taken == 0) {
        *taken = 1;
        return mode == JSON ? (size_t)snprintf(out, 8, "\\ufffd")
                            : (size_t)snprintf(out, 8, "\\x%02x", (unsigned char)s.p[0]);
    }
    if (*taken == 1) {
        return escape_ascii(s.p[0], mode, out);
    }
    uint32_t cp = weir_utf8_decode(s, taken);
    if (is_unsafe(cp)) {
        return (size_t)snprintf(out, 8, "\\u%04x", (unsigned)cp);
    }
    memcpy(out, s.p, *taken);
    return *taken;
}

static inline bool is_plain(char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

static size_t plain_run(struct weir_slice s)
{
    size_t n = 0;
    while (n < s.n && is_plain(s.p[n])) {
        n++;
    }
    return n;
}

/* At most `max` bytes, then the mark; needs MARK_BYTES of room beyond what it may find. */
static void put_escaped(struct weir_log_line *l, struct weir_slice s, enum escape_mode mode,
                        size_t max)
{
    size_t all = s.n;
    size_t left = room(l) > MARK_BYTES ? room(l) - MARK_BYTES : 0;
    left = left < max ? left : max;
    while (s.n != 0) {
        size_t run = plain_run(weir_slice_make(s.p, s.n < left ? s.n : left));
        put_bytes(l, s.p, run);
        s = weir_slice_sub(s, run, s.n);
        left -= run;
        if (s.n == 0) {
            return;
        }
        char shown[8];
        size_t taken;
        size_t n = escape_one(s, mode, shown, &taken);
        if (n > left) {
            put(l, "…(");
            put_digits(l, all, 1);
            put(l, " bytes)");
            return;
        }
        put_bytes(l, shown, n);
        s = weir_slice_sub(s, taken, s.n);
        left -= n;
    }
}

/* Can stand without quotes: nothing in it ends a value or looks like another key. */
static bool is_word(struct weir_slice s)
{
    if (s.n == 0 || s.n > WEIR_LOG_MAX_VALUE_BYTES) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (!is_plain(s.p[i]) || s.p[i] == ' ' || s.p[i] == '=') {
            return false;
        }
    }
    return true;
}

static void put_str(struct weir_log_line *l, struct weir_slice s, bool is_json, size_t max)
{
    if (!is_json && is_word(s)) {
        put_escaped(l, s, BARE, max);
        return;
    }
    put(l, "\"");
    put_escaped(l, s, is_json ? JSON : QUOTED, max);
    put(l, "\"");
}

static void put_f64(struct weir_log_line *l, double v, bool is_json)
{
    char number[WEIR_METRIC__NUMBER_BYTES];
    put(l, is_json && !isfinite(v) ? "null" : weir_metric__shortest(number, v));
}

static void put_value(struct weir_log_line *l, const struct weir_log_field *f, bool is_json)
{
    switch (f->kind) {
    case WEIR_LOG_KIND_STR:
        put_str(l, f->v.str, is_json, WEIR_LOG_MAX_VALUE_BYTES);
        break;
    case WEIR_LOG_KIND_I64:
        put(l, f->v.i64 < 0 ? "-" : "");
        put_digits(l, f->v.i64 < 0 ? -(uint64_t)f->v.i64 : (uint64_t)f->v.i64, 1);
        break;
    case WEIR_LOG_KIND_U64:
        put_digits(l, f->v.u64, 1);
        break;
    case WEIR_LOG_KIND_F64:
        put_f64(l, f->v.f64, is_json);
        break;
    case WEIR_LOG_KIND_BOOL:
        put(l, f->v.flag ? "true" : "false");
        break;
    }
}

/* Room for a key and the beginning of its value. Once one is left out, all later ones are. */
static bool can_begin(struct weir_log_line *l, const char *key)
{
    if (!l->is_cut && room(l) < strlen(key) + FIELD_BYTES) {
        l->is_cut = true;
    }
    return !l->is_cut;
}

/* How a text format separates what follows the message. */
struct separators {
    const char *before_key;
    const char *after_key;
    const char *request_id;
    const char *trace_id;
};

static const struct separators separators[] = {
    [WEIR_LOG_FULL] = {" ", "=", "request_id", "trace_id"},
    [WEIR_LOG_COMPACT] = {" ", "=", "req", "trace"},
    [WEIR_LOG_PRETTY] = {"\n    ", ": ", "request_id", "trace_id"},
};

static void put_text_key(struct weir_log_line *l, const struct separators *sep, const char *key)
{
    put(l, sep->before_key);
    put(l, key);
    put(l, sep->after_key);
}

static void put_text_ids(struct weir_log_line *l, const struct separators *sep,
                         const struct weir_log_ctx *ctx)
{
    if (ctx != NULL && ctx->request_id.n != 0) {
        put_text_key(l, sep, sep->request_id);
        put_str(l, ctx->request_id, false, MAX_ID_BYTES);
    }
    if (ctx != NULL && weir_trace_is_set(&ctx->trace)) {
        char hex[WEIR_TRACE_ID_BYTES + 1];
        weir_trace_id_hex(&ctx->trace, hex);
        put_text_key(l, sep, sep->trace_id);
        put(l, hex);
    }
}

static void put_text_head(struct weir_log_line *l, const struct weir_log_style *style,
                          const struct weir_log_record *r)
{
    const char *dim = style->has_colour ? "\033[2m" : "";
    const char *colour = style->has_colour ? levels[r->level].colour : "";
    const char *reset = style->has_colour ? "\033[0m" : "";
    char letter[2] = {levels[r->level].letter, '\0'};
    put(l, dim);
    put_time(l, r->now_us);
    put(l, reset);
    put(l, " ");
    put(l, colour);
    put(l, style->format == WEIR_LOG_COMPACT ? letter : levels[r->level].name);
    put(l, reset);
    put(l, " ");
    put(l, dim);
    put_escaped(l, weir_slice_cstr(r->target), BARE, MAX_ID_BYTES);
    put(l, ":");
    put(l, reset);
    put(l, " ");
    put_escaped(l, r->fields[0].v.str, BARE, WEIR_LOG_MAX_VALUE_BYTES);
}

static void format_text(struct weir_log_line *l, const struct weir_log_style *style,
                        const struct weir_log_record *r)
{
    const struct separators *sep = &separators[style->format];
    put_text_head(l, style, r);
    put_text_ids(l, sep, r->ctx);
    for (size_t i = 1; i < r->n_fields && can_begin(l, r->fields[i].key); i++) {
        put_text_key(l, sep, r->fields[i].key);
        put_value(l, &r->fields[i], false);
    }
    if (l->is_cut) {
        put(l, sep->before_key);
        put(l, "…");
    }
    put(l, "\n");
}

/* 07:08:09, by the clock of whoever looks on. */
static void put_clock(struct weir_log_line *l, int64_t now_us)
{
    time_t now = (time_t)(now_us / 1000000);
    struct tm tm = {0};
    localtime_r(&now, &tm);
    put_digits(l, (uint64_t)tm.tm_hour, 2);
    put(l, ":");
    put_digits(l, (uint64_t)tm.tm_min, 2);
    put(l, ":");
    put_digits(l, (uint64_t)tm.tm_sec, 2);
}

/* Spaces up to `columns` behind what began at byte `from` of the line. */
static void pad(struct weir_log_line *l, size_t from, size_t columns)
{
    size_t n = weir_utf8_count(weir_slice_make(l->bytes + from, l->n - from));
    for (; n < columns; n++) {
        put(l, " ");
    }
}

/* `code` is "" without colours: then nothing is to be ended either. */
static void put_painted(struct weir_log_line *l, const char *code, const char *text)
{
    put(l, code);
    put(l, text);
    put(l, code[0] != '\0' ? "\033[0m" : "");
}

static void put_watched_head(struct weir_log_line *l, const struct weir_log_style *style,
                             const struct weir_log_record *r)
{
    const char *dim = style->has_colour ? "\033[2m" : "";
    const char *strong = style->has_colour && r->level >= WEIR_LOG_LEVEL_WARN ? "\033[1m" : "";
    put(l, dim);
    put_clock(l, r->now_us);
    put(l, dim[0] != '\0' ? "\033[0m " : " ");
    put_painted(l, style->has_colour ? levels[r->level].colour : "", levels[r->level].name);
    put(l, " ");
    put(l, dim);
    size_t from = l->n;
    put_escaped(l, weir_slice_cstr(r->target), BARE, MAX_ID_BYTES);
    pad(l, from, TARGET_COLUMNS);
    put(l, dim[0] != '\0' ? "\033[0m " : " ");
    put(l, strong);
    from = l->n;
    put_escaped(l, r->fields[0].v.str, BARE, WEIR_LOG_MAX_VALUE_BYTES);
    if (r->n_fields > 1 || r->ctx != NULL) {
        pad(l, from, MESSAGE_COLUMNS);
    }
    put(l, strong[0] != '\0' ? "\033[0m" : "");
}

static void put_watched_key(struct weir_log_line *l, const char *dim, const char *key)
{
    put(l, "  ");
    put(l, dim);
    put(l, key);
    put(l, dim[0] != '\0' ? "=\033[0m" : "=");
}

/* What tells lines apart comes first, so the request's id is last, where it disturbs nobody. */
static void format_watched(struct weir_log_line *l, const struct weir_log_style *style,
                           const struct weir_log_record *r)
{
    const char *dim = style->has_colour ? "\033[2m" : "";
    put_watched_head(l, style, r);
    for (size_t i = 1; i < r->n_fields && can_begin(l, r->fields[i].key); i++) {
        put_watched_key(l, dim, r->fields[i].key);
        put_value(l, &r->fields[i], false);
    }
    if (r->ctx != NULL && r->ctx->request_id.n != 0 && can_begin(l, "request_id")) {
        put_watched_key(l, dim, "request_id");
        put_str(l, r->ctx->request_id, false, MAX_ID_BYTES);
    }
    put(l, l->is_cut ? "  …\n" : "\n");
}

static void put_json_ids(struct weir_log_line *l, const struct weir_log_ctx *ctx)
{
    if (ctx != NULL && ctx->request_id.n != 0) {
        put(l, ",\"request_id\":");
        put_str(l, ctx->request_id, true, MAX_ID_BYTES);
    }
    if (ctx != NULL && weir_trace_is_set(&ctx->trace)) {
        char hex[WEIR_TRACE_ID_BYTES + 1];
        weir_trace_id_hex(&ctx->trace, hex);
        put(l, ",\"trace_id\":\"");
        put(l, hex);
        put(l, "\"");
    }
}

static void put_json_fields(struct weir_log_line *l, const struct weir_log_record *r)
{
    bool is_open = false;
    for (size_t i = 1; i < r->n_fields && can_begin(l, r->fields[i].key); i++) {
        put(l, is_open ? ",\"" : ",\"fields\":{\"");
        put(l, r->fields[i].key);
        put(l, "\":");
        put_value(l, &r->fields[i], true);
        is_open = true;
    }
    put(l, is_open ? "}" : "");
}

static void format_json(struct weir_log_line *l, const struct weir_log_record *r)
{
    put(l, "{\"timestamp\":\"");
    put_time(l, r->now_us);
    put(l, "\",\"level\":\"");
    put(l, levels[r->level].json);
    put(l, "\",\"target\":");
    put_str(l, weir_slice_cstr(r->target), true, MAX_ID_BYTES);
    put(l, ",\"message\":");
    put_str(l, r->fields[0].v.str, true, WEIR_LOG_MAX_VALUE_BYTES);
    put_json_ids(l, r->ctx);
    put_json_fields(l, r);
    put(l, l->is_cut ? ",\"truncated\":true}\n" : "}\n");
}

void weir_log__format(struct weir_log_line *line, const struct weir_log_style *style,
                      const struct weir_log_record *record)
{
    WEIR_ASSERT(record->level < WEIR_LOG_LEVEL_OFF && record->n_fields >= 1);
    line->n = 0;
    line->is_cut = false;
    put(line, "\n");
    if (style->format == WEIR_LOG_JSON) {
        format_json(line, record);
    } else if (style->format == WEIR_LOG_TERMINAL) {
        format_watched(line, style, record);
    } else {
        format_text(line, style, record);
    }
}
