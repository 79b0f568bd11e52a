#include "offline/detect_show.h"

#include "base/utf8.h"
#include "wire/json_write.h"

enum { MAX_TEXT_CP = 120, MAX_NAME_CP = 4096 };
enum { SHOWN_CP = 4, MIN_SHOWN_OF_CP = 11 }; /* of a redacted text longer than that */

/* ---- what may be shown ---- */

struct range {
    uint32_t from;
    uint32_t to;
};

/* Controls, and what is there without being seen or turns the direction of writing. */
static const struct range HIDDEN[] = {
    {0x00, 0x1F},       {0x7F, 0x9F},       {0xAD, 0xAD},       {0x61C, 0x61C},   {0x115F, 0x1160},
    {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E}, {0x2060, 0x206F},
    {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

static bool is_hidden(uint32_t cp)
{
    for (size_t i = 0; i < sizeof HIDDEN / sizeof HIDDEN[0]; i++) {
        if (cp >= HIDDEN[i].from && cp <= HIDDEN[i].to) {
            return true;
        }
    }
    return false;
}

static void show_hidden(uint32_t cp, struct weir_buf *out)
{
    switch (cp) {
    case '\n':
        weir_buf_append(out, WEIR_SLICE("\\n"));
        break;
    case '\r':
        weir_buf_append(out, WEIR_SLICE("\\r"));
        break;
    case '\t':
        weir_buf_append(out, WEIR_SLICE("\\t"));
        break;
    default:
        weir_buf_printf(out, "\\u{%x}", cp);
    }
}

void weir_detect_show_text(struct weir_slice text, size_t max_cp, struct weir_buf *out)
{
    for (size_t n_cp = 0; text.n != 0; n_cp++) {
        if (n_cp == max_cp) {
            weir_buf_append(out, WEIR_SLICE("…"));
            return;
        }
        size_t n = weir_utf8_sequence(text);
        uint32_t cp = n != 0 ? weir_utf8_decode(text, &n) : 0xFFFD;
        if (n == 0) { /* a file's name may be any bytes */
            weir_buf_append(out, WEIR_SLICE("\xEF\xBF\xBD"));
            n = 1;
        } else if (is_hidden(cp)) {
            show_hidden(cp, out);
        } else {
            weir_buf_append(out, weir_slice_sub(text, 0, n));
        }
        text = weir_slice_sub(text, n, text.n);
    }
}

/* ---- for people ---- */

static void paint(const struct weir_detect_show *show, const char *code, struct weir_buf *out)
{
    if (show->is_coloured) {
        weir_buf_printf(out, "\033[%sm", code);
    }
}

/* The text as it may be told. */
static struct weir_slice told(const struct weir_detect_show *show, struct weir_slice text,
                              struct weir_buf *hidden)
{
    if (!show->is_redacted || text.n == 0) {
        return text;
    }
    weir_detect_show_redacted(text, hidden);
    return weir_buf_slice(hidden);
}

void weir_detect_show_redacted(struct weir_slice text, struct weir_buf *out)
{
    size_t n =
        weir_utf8_byte_at(text, MIN_SHOWN_OF_CP) < text.n ? weir_utf8_byte_at(text, SHOWN_CP) : 0;
    weir_buf_append(out, weir_slice_sub(text, 0, n));
    weir_buf_append(out, WEIR_SLICE("…****"));
}

static void show_line(const struct weir_detect_show *show, const struct weir_detect_finding *f,
                      struct weir_buf *out)
{
    const struct weir_detection *d = f->detection;
    struct weir_buf hidden = {0};
    paint(show, "35", out);
    weir_detect_show_text(f->path, MAX_NAME_CP, out);
    paint(show, "0", out);
    weir_buf_printf(out, ":%llu:%llu: ", (unsigned long long)f->place.line,
                    (unsigned long long)f->place.column);
    paint(show, "1;33", out);
    weir_detect_show_text(d->detection_type, MAX_TEXT_CP, out);
    weir_buf_append_byte(out, '/');
    weir_detect_show_text(d->detection, MAX_TEXT_CP, out);
    paint(show, "0", out);
    weir_buf_append(out, WEIR_SLICE(" ("));
    weir_detect_show_text(d->detector_id, MAX_TEXT_CP, out);
    weir_buf_printf(out, ", %.2f) ", d->score);
    paint(show, "31", out);
    weir_detect_show_text(told(show, d->text, &hidden), MAX_TEXT_CP, out);
    paint(show, "0", out);
    if (f->commit != NULL) {
        weir_buf_printf(out, " in commit %.12s", f->commit);
    }
    weir_buf_append_byte(out, '\n');
    weir_buf_dispose(&hidden);
}

/* ---- for programs ---- */

static void put_text(struct weir_json_write *w, const char *name, struct weir_slice value)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, value);
}

static void put_number(struct weir_json_write *w, const char *name, uint64_t value)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_u64(w, value);
}

/* A path is any bytes, JSON is UTF-8. */
static void put_path(struct weir_json_write *w, struct weir_slice path)
{
    struct weir_detect_read r;
    weir_detect_read_init_plain(&r);
    weir_detect_read_add(&r, path);
    weir_detect_read_end(&r);
    put_text(w, "file", weir_buf_slice(&r.text));
    weir_detect_read_dispose(&r);
}

static void show_json(const struct weir_detect_show *show, const struct weir_detect_finding *f,
                      struct weir_buf *out)
{
    const struct weir_detection *d = f->detection;
    struct weir_buf hidden = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    put_path(&w, f->path);
    put_number(&w, "line", f->place.line);
    put_number(&w, "column", f->place.column);
    if (f->has_offsets) {
        put_number(&w, "start", f->place.at_cp);
        put_number(&w, "end", f->place.at_cp + (d->end_cp - d->start_cp));
    }
    put_text(&w, "text", told(show, d->text, &hidden));
    put_text(&w, "detection", d->detection);
    put_text(&w, "detection_type", d->detection_type);
    put_text(&w, "detector_id", d->detector_id);
    weir_json_write_key(&w, WEIR_SLICE("score"));
    weir_json_write_f64(&w, d->score);
    put_text(&w, "fingerprint", weir_slice_cstr(f->fingerprint));
    if (f->commit != NULL) {
        put_text(&w, "commit", weir_slice_cstr(f->commit));
    }
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    weir_buf_dispose(&hidden);
}

/* ---- SARIF ---- */

static bool is_plain_in_uri(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~/", c) != NULL);
}

/* A relative path as a relative reference; an absolute one as a file's address. */
static void put_uri(struct weir_json_write *w, struct weir_slice path)
{
    struct weir_buf uri = {0};
    if (weir_slice_starts_with(path, WEIR_SLICE("/"))) {
        weir_buf_append(&uri, WEIR_SLICE("file://"));
    } else if (weir_slice_starts_with(path, WEIR_SLICE("./"))) {
        path = weir_slice_sub(path, 2, path.n);
    }
    for (size_t i = 0; i < path.n; i++) {
        if (is_plain_in_uri(path.p[i])) {
            weir_buf_append_byte(&uri, path.p[i]);
        } else {
            weir_buf_printf(&uri, "%%%02X", (unsigned)(unsigned char)path.p[i]);
        }
    }
    put_text(w, "uri", weir_buf_slice(&uri));
    weir_buf_dispose(&uri);
}

static void begin_member(struct weir_json_write *w, const char *name)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_begin_object(w);
}

static void put_location(struct weir_json_write *w, const struct weir_detect_finding *f)
{
    struct weir_slice text = f->detection->text;
    struct weir_detect_place end = f->place;
    weir_detect_place_move(&end, &text, UINT64_MAX);
    weir_json_write_key(w, WEIR_SLICE("locations"));
    weir_json_write_begin_array(w);
    weir_json_write_begin_object(w);
    begin_member(w, "physicalLocation");
    begin_member(w, "artifactLocation");
    put_uri(w, f->path);
    weir_json_write_end_object(w);
    begin_member(w, "region");
    put_number(w, "startLine", f->place.line);
    put_number(w, "startColumn", f->place.column);
    put_number(w, "endLine", end.line);
    put_number(w, "endColumn", end.column);
    weir_json_write_end_object(w);
    weir_json_write_end_object(w);
    weir_json_write_end_object(w);
    weir_json_write_end_array(w);
}

/* "secrets found github_token: ghp_…****" */
static void append_message(const struct weir_detect_show *show, const struct weir_detection *d,
                           struct weir_buf *out)
{
    struct weir_buf hidden = {0};
    weir_detect_show_text(d->detector_id, MAX_TEXT_CP, out);
    weir_buf_append(out, WEIR_SLICE(" found "));
    weir_detect_show_text(d->detection, MAX_TEXT_CP, out);
    weir_buf_append(out, WEIR_SLICE(": "));
    weir_detect_show_text(told(show, d->text, &hidden), MAX_TEXT_CP, out);
    weir_buf_dispose(&hidden);
}

static void show_sarif(const struct weir_detect_show *show, const struct weir_detect_finding *f,
                       struct weir_buf *out)
{
    const struct weir_detection *d = f->detection;
    struct weir_buf text = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_buf_printf(&text, "%.*s/%.*s", (int)d->detector_id.n, d->detector_id.p,
                    (int)d->detection.n, d->detection.p);
    put_text(&w, "ruleId", weir_buf_slice(&text));
    put_text(&w, "level", WEIR_SLICE("error"));
    begin_member(&w, "message");
    weir_buf_clear(&text);
    append_message(show, d, &text);
    put_text(&w, "text", weir_buf_slice(&text));
    weir_json_write_end_object(&w);
    put_location(&w, f);
    begin_member(&w, "partialFingerprints");
    put_text(&w, "weir/v1", weir_slice_cstr(f->fingerprint));
    weir_json_write_end_object(&w);
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    weir_buf_dispose(&text);
}

/* ---- GitHub ---- */

/* What ends a property or a command there is written as %XX. */
static void append_escaped(struct weir_slice s, bool is_property, struct weir_buf *out)
{
    const char *special = is_property ? "%\r\n:," : "%\r\n";
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '\0' && strchr(special, s.p[i]) != NULL) {
            weir_buf_printf(out, "%%%02X", (unsigned)(unsigned char)s.p[i]);
        } else {
            weir_buf_append_byte(out, s.p[i]);
        }
    }
}

static void show_github(const struct weir_detect_show *show, const struct weir_detect_finding *f,
                        struct weir_buf *out)
{
    const struct weir_detection *d = f->detection;
    struct weir_buf message = {0};
    weir_buf_append(out, WEIR_SLICE("::error file="));
    append_escaped(f->path, true, out);
    weir_buf_printf(out, ",line=%llu,col=%llu,title=", (unsigned long long)f->place.line,
                    (unsigned long long)f->place.column);
    append_escaped(d->detection_type, true, out);
    weir_buf_append_byte(out, '/');
    append_escaped(d->detection, true, out);
    weir_buf_append(out, WEIR_SLICE("::"));
    append_message(show, d, &message);
    append_escaped(weir_buf_slice(&message), false, out);
    weir_buf_append_byte(out, '\n');
    weir_buf_dispose(&message);
}

/* ---- */

void weir_detect_show_finding(const struct weir_detect_show *show,
                              const struct weir_detect_finding *finding, struct weir_buf *out)
{
    switch (show->format) {
    case WEIR_DETECT_TEXT:
        show_line(show, finding, out);
        break;
    case WEIR_DETECT_JSONL:
        show_json(show, finding, out);
        weir_buf_append_byte(out, '\n');
        break;
    case WEIR_DETECT_JSON:
        show_json(show, finding, out);
        break;
    case WEIR_DETECT_SARIF:
        show_sarif(show, finding, out);
        break;
    case WEIR_DETECT_GITHUB:
        show_github(show, finding, out);
        break;
    }
}

static const struct {
    const char *head;
    const char *comma;
    const char *tail;
} frames[] = {
    [WEIR_DETECT_TEXT] = {"", "", ""},
    [WEIR_DETECT_JSONL] = {"", "", ""},
    [WEIR_DETECT_GITHUB] = {"", "", ""},
    [WEIR_DETECT_JSON] = {"[", ",\n", "]\n"},
    [WEIR_DETECT_SARIF] = {"{\"version\":\"2.1.0\",\"$schema\":"
                           "\"https://json.schemastore.org/sarif-2.1.0.json\",\"runs\":[{"
                           "\"tool\":{\"driver\":{\"name\":\"weir\",\"version\":\"" WEIR_VERSION
                           "\"}},\"columnKind\":\"unicodeCodePoints\",\"results\":[",
                           ",\n", "]}]}\n"},
};

const char *weir_detect_show_head(enum weir_detect_format format)
{
    return frames[format].head;
}

const char *weir_detect_show_comma(enum weir_detect_format format)
{
    return frames[format].comma;
}

const char *weir_detect_show_tail(enum weir_detect_format format)
{
    return frames[format].tail;
}
