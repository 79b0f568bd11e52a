#include "app/detect_show.h"

#include "base/utf8.h"
#include "wire/json_write.h"

enum { MAX_TEXT_CP = 120, MAX_NAME_CP = 4096 };

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

static void show_line(const struct weir_detect_show *show, const char *path,
                      const struct weir_detect_place *place, const struct weir_detection *d,
                      struct weir_buf *out)
{
    paint(show, "35", out);
    weir_detect_show_text(weir_slice_cstr(path), MAX_NAME_CP, out);
    paint(show, "0", out);
    weir_buf_printf(out, ":%llu:%llu: ", (unsigned long long)place->line,
                    (unsigned long long)place->column);
    paint(show, "1;33", out);
    weir_detect_show_text(d->detection_type, MAX_TEXT_CP, out);
    weir_buf_append_byte(out, '/');
    weir_detect_show_text(d->detection, MAX_TEXT_CP, out);
    paint(show, "0", out);
    weir_buf_append(out, WEIR_SLICE(" ("));
    weir_detect_show_text(d->detector_id, MAX_TEXT_CP, out);
    weir_buf_printf(out, ", %.2f) ", d->score);
    paint(show, "31", out);
    weir_detect_show_text(d->text, MAX_TEXT_CP, out);
    paint(show, "0", out);
    weir_buf_append_byte(out, '\n');
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
static void put_path(struct weir_json_write *w, const char *path)
{
    struct weir_detect_read r;
    weir_detect_read_init(&r);
    r.is_past_start = true;
    weir_detect_read_add(&r, weir_slice_cstr(path));
    weir_detect_read_end(&r);
    put_text(w, "file", weir_buf_slice(&r.text));
    weir_detect_read_dispose(&r);
}

static void show_json(const char *path, const struct weir_detect_place *place,
                      const struct weir_detection *d, struct weir_buf *out)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    put_path(&w, path);
    put_number(&w, "line", place->line);
    put_number(&w, "column", place->column);
    put_number(&w, "start", place->at_cp);
    put_number(&w, "end", place->at_cp + (d->end_cp - d->start_cp));
    put_text(&w, "text", d->text);
    put_text(&w, "detection", d->detection);
    put_text(&w, "detection_type", d->detection_type);
    put_text(&w, "detector_id", d->detector_id);
    weir_json_write_key(&w, WEIR_SLICE("score"));
    weir_json_write_f64(&w, d->score);
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    weir_buf_append_byte(out, '\n');
}

void weir_detect_show_finding(const struct weir_detect_show *show, const char *path,
                              const struct weir_detect_place *place,
                              const struct weir_detection *finding, struct weir_buf *out)
{
    if (show->is_json) {
        show_json(path, place, finding, out);
    } else {
        show_line(show, path, place, finding, out);
    }
}
