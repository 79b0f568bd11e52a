#include "offline/detect_records.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "task/redact.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"
#include "wire/ndjson.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, MAX_LINE_BYTES = 64 * 1024 * 1024, MAX_STEPS = 64 };

/* One record at a time; memory is reused from one to the next. */
struct run {
    const struct weir_detect_records *options;
    struct weir_detect_scan scan;
    struct weir_json_tape tape;
    struct weir_json doc;
    struct weir_json_edit edit;
    struct weir_buf out;
    struct weir_buf list; /* of detections, JSON, without its brackets */
    struct weir_buf name; /* of the field at hand */
    struct weir_arena arena;
    struct weir_buf why;   /* of the record: not empty, it is not let out */
    struct weir_map nodes; /* strings that were looked at already, by two fields */
    size_t n_found;
    struct weir_detect_records_totals *totals;
};

bool weir_detect_records_add(struct weir_detect_records *r, const char *field)
{
    size_t n = strlen(field);
    bool has_empty =
        n == 0 || field[0] == '.' || field[n - 1] == '.' || strstr(field, "..") != NULL;
    size_t n_steps = 1;
    for (const char *p = field; *p != '\0'; p++) {
        n_steps += *p == '.';
    }
    if (has_empty || n_steps > MAX_STEPS || r->n_fields == WEIR_DETECT_MAX_FIELDS) {
        return false;
    }
    r->fields[r->n_fields++] = field;
    return true;
}

/* ---- one string ---- */

/* Findings of all blocks of one text, with positions in it. */
struct findings {
    struct weir_detection *list;
    size_t n;
    size_t cap;
};

/* Copied, since a scan forgets what it found with the next block. */
static void keep(struct run *r, struct findings *all, const struct weir_detection *found,
                 size_t offset_cp)
{
    if (all->n == all->cap) {
        size_t cap = all->cap != 0 ? all->cap * 2 : 16;
        struct weir_detection *list = weir_arena_array(&r->arena, cap, sizeof *list);
        if (all->n != 0) {
            memcpy(list, all->list, all->n * sizeof *list);
        }
        all->list = list;
        all->cap = cap;
    }
    struct weir_detection *d = &all->list[all->n++];
    *d = *found;
    d->text = weir_arena_dup(&r->arena, found->text);
    d->detection = weir_arena_dup(&r->arena, found->detection);
    d->detection_type = weir_arena_dup(&r->arena, found->detection_type);
    d->start_cp += offset_cp;
    d->end_cp += offset_cp;
}

static void keep_all(struct run *r, struct findings *all, size_t offset_cp, const char *why)
{
    for (size_t i = 0; i < r->scan.n_found; i++) {
        keep(r, all, &r->scan.found[i], offset_cp);
    }
    weir_detect_scan_clear(&r->scan);
    if (why != NULL && r->why.n == 0) {
        weir_buf_printf(&r->why, "%s", why);
    }
}

static struct findings scan_text(struct run *r, struct weir_slice text)
{
    struct findings all = {0};
    struct weir_detect_read read;
    struct weir_detect_block block;
    weir_detect_read_init_plain(&read);
    weir_detect_read_add(&read, text);
    weir_detect_read_end(&read);
    weir_detect_scan_begin(&r->scan);
    while (weir_detect_read_next(&read, &block)) {
        const char *why = weir_detect_scan_block(&r->scan, &block);
        keep_all(r, &all, block.place.at_cp, why);
        weir_detect_read_pass(&read, &block);
    }
    if (r->scan.picked->has_wholes) {
        const char *why = weir_detect_scan_whole(&r->scan, text);
        keep_all(r, &all, 0, why);
    }
    weir_detect_read_dispose(&read);
    return all;
}

static void put_text(struct weir_json_write *w, const char *name, struct weir_slice value)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, value);
}

static void list_one(struct run *r, const struct weir_detection *d)
{
    struct weir_json_write w;
    if (r->list.n != 0) {
        weir_buf_append_byte(&r->list, ',');
    }
    weir_json_write_init(&w, &r->list);
    weir_json_write_begin_object(&w);
    put_text(&w, "field", weir_buf_slice(&r->name));
    if (d->has_span) {
        weir_json_write_key(&w, WEIR_SLICE("start"));
        weir_json_write_u64(&w, d->start_cp);
        weir_json_write_key(&w, WEIR_SLICE("end"));
        weir_json_write_u64(&w, d->end_cp);
    }
    if (!r->options->is_redacting) {
        put_text(&w, "text", d->text);
    }
    put_text(&w, "detection", d->detection);
    put_text(&w, "detection_type", d->detection_type);
    put_text(&w, "detector_id", d->detector_id);
    weir_json_write_key(&w, WEIR_SLICE("score"));
    weir_json_write_f64(&w, d->score);
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    r->n_found++;
}

static void redact(struct run *r, uint32_t at, struct weir_slice text, const struct findings *all)
{
    const struct weir_detection **findings =
        weir_arena_array(&r->arena, all->n + 1, sizeof *findings);
    for (size_t i = 0; i < all->n; i++) {
        findings[i] = &all->list[i];
    }
    struct weir_redact state = {0};
    struct weir_redact_piece piece = {.text = text, .findings = findings, .n_findings = all->n};
    struct weir_buf out = {0};
    if (weir_redact_piece(&state, WEIR_SLICE("[{detection}]"), &piece, &out)) {
        weir_json_edit_replace_string(&r->edit, at,
                                      weir_arena_dup(&r->arena, weir_buf_slice(&out)));
    }
    weir_buf_dispose(&out);
}

/* A string that two fields name is looked at once. */
static void look_at(struct run *r, uint32_t at)
{
    const struct weir_json_node *node = &r->doc.nodes[at];
    struct weir_slice key = weir_slice_make((const char *)&node->start, sizeof node->start);
    if (weir_map_has(&r->nodes, key)) {
        return;
    }
    weir_map_put(&r->nodes, key, r);
    struct weir_slice text = weir_json_string(&r->doc, at, &r->arena);
    struct findings all = scan_text(r, text);
    for (size_t i = 0; i < all.n; i++) {
        list_one(r, &all.list[i]);
    }
    if (r->options->is_redacting && all.n != 0) {
        redact(r, at, text, &all);
    }
}

/* ---- fields ---- */

static void follow(struct run *r, uint32_t at, struct weir_slice steps);

static void follow_named(struct run *r, uint32_t at, struct weir_slice name,
                         struct weir_slice steps)
{
    size_t n_before = r->name.n;
    if (n_before == 0 && weir_slice_eq_cstr(name, "weir")) {
        return; /* an earlier run's, about to be replaced */
    }
    if (n_before != 0) {
        weir_buf_append_byte(&r->name, '.');
    }
    weir_buf_append(&r->name, name);
    follow(r, at, steps);
    r->name.n = n_before;
}

static void follow_array(struct run *r, uint32_t array, struct weir_slice step,
                         struct weir_slice steps)
{
    uint64_t wanted = 0;
    bool is_all = weir_slice_eq_cstr(step, "*");
    if (!is_all && weir_slice_u64(step, &wanted) != 0) {
        return;
    }
    uint64_t i = 0;
    for (uint32_t at = weir_json_first(&r->doc, array); at != WEIR_JSON_NONE;
         at = weir_json_after(&r->doc, array, at), i++) {
        if (is_all || i == wanted) {
            char number[24];
            snprintf(number, sizeof number, "%llu", (unsigned long long)i);
            follow_named(r, at, weir_slice_cstr(number), steps);
        }
    }
}

static void follow_object(struct run *r, uint32_t object, struct weir_slice step,
                          struct weir_slice steps)
{
    if (!weir_slice_eq_cstr(step, "*")) {
        uint32_t at = weir_json_get(&r->doc, object, step);
        if (at != WEIR_JSON_NONE) {
            follow_named(r, at, step, steps);
        }
        return;
    }
    for (uint32_t key = weir_json_first(&r->doc, object); key != WEIR_JSON_NONE;
         key = weir_json_after(&r->doc, object, key)) {
        struct weir_slice name = weir_json_string(&r->doc, key, &r->arena);
        follow_named(r, key + 1, name, steps);
    }
}

/* At most MAX_STEPS deep: a field has no more. */
static void follow(struct run *r, uint32_t at, struct weir_slice steps)
{
    enum weir_json_type type = weir_json_type(&r->doc, at);
    if (steps.p == NULL) {
        if (type == WEIR_JSON_STRING) {
            look_at(r, at);
        }
        return;
    }
    struct weir_slice step = weir_slice_cut(&steps, '.');
    if (type == WEIR_JSON_ARRAY) {
        follow_array(r, at, step, steps);
    } else if (type == WEIR_JSON_OBJECT) {
        follow_object(r, at, step, steps);
    }
}

/* ---- records ---- */

static void clear(struct run *r)
{
    weir_buf_clear(&r->out);
    weir_buf_clear(&r->list);
    weir_buf_clear(&r->name);
    weir_buf_clear(&r->why);
    weir_map_dispose(&r->nodes);
    r->nodes = (struct weir_map){0};
    weir_arena_dispose(&r->arena);
    r->n_found = 0;
}

static void write_error(struct run *r)
{
    struct weir_json_write w;
    weir_buf_clear(&r->out);
    weir_json_write_init(&w, &r->out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("weir"));
    weir_json_write_begin_object(&w);
    put_text(&w, "error", weir_buf_slice(&r->why));
    weir_json_write_end_object(&w);
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    fflush(stdout);
    fprintf(stderr, "weir detect: record %zu: %s\n", r->totals->n_records, weir_buf_cstr(&r->why));
    r->totals->n_errors++;
}

static void annotate(struct run *r)
{
    struct weir_buf member = {0};
    weir_buf_append(&member, WEIR_SLICE("{\"detections\":["));
    weir_buf_append(&member, weir_buf_slice(&r->list));
    weir_buf_append(&member, WEIR_SLICE("]}"));
    weir_json_edit_set(&r->edit, 0, WEIR_SLICE("weir"), weir_buf_slice(&member));
    weir_json_edit_write(&r->edit, &r->out);
    weir_buf_dispose(&member);
}

static void parse_and_look(struct run *r, struct weir_slice line)
{
    struct weir_json_error error;
    if (weir_json_parse_reuse(&r->doc, line, NULL, &r->tape, &error) != 0) {
        weir_buf_printf(&r->why, "not JSON: %s at byte %zu", error.what, error.at_byte);
        return;
    }
    if (weir_json_type(&r->doc, 0) != WEIR_JSON_OBJECT) {
        weir_buf_printf(&r->why, "not a JSON object");
        return;
    }
    weir_json_edit_begin(&r->edit, &r->doc);
    for (size_t i = 0; i < r->options->n_fields; i++) {
        follow(r, 0, weir_slice_cstr(r->options->fields[i]));
    }
}

static void take_record(struct run *r, struct weir_slice line)
{
    clear(r);
    r->totals->n_records++;
    parse_and_look(r, line);
    if (r->why.n == 0) {
        annotate(r);
        r->totals->n_found += r->n_found;
    } else {
        write_error(r);
    }
    weir_buf_append_byte(&r->out, '\n');
    fwrite(r->out.p, 1, r->out.n, stdout);
}

static void take_too_large(struct run *r)
{
    clear(r);
    r->totals->n_records++;
    weir_buf_printf(&r->why, "larger than 64 MiB; what follows it is not read");
    write_error(r);
    weir_buf_append_byte(&r->out, '\n');
    fwrite(r->out.p, 1, r->out.n, stdout);
}

/* False: a line is too large. */
static bool take_bytes(struct run *r, struct weir_ndjson_reader *lines, struct weir_slice in)
{
    for (;;) {
        size_t used = 0;
        int rc = weir_ndjson_feed(lines, in, &used);
        in = weir_slice_sub(in, used, in.n);
        if (rc == WEIR_EAGAIN) {
            return true;
        }
        if (rc != 0) {
            take_too_large(r);
            return false;
        }
        take_record(r, lines->line);
    }
}

static int read_records(struct run *r, int fd)
{
    struct weir_ndjson_reader lines;
    weir_ndjson_init(&lines, MAX_LINE_BYTES);
    char *bytes = weir_mem_alloc(READ_BYTES);
    bool goes_on = true;
    ssize_t n;
    do {
        n = read(fd, bytes, READ_BYTES);
        if (n > 0) {
            goes_on = take_bytes(r, &lines, weir_slice_make(bytes, (size_t)n));
        }
    } while (goes_on && ferror(stdout) == 0 && (n > 0 || (n < 0 && errno == EINTR)));
    if (n == 0 && weir_ndjson_finish(&lines) == 0) {
        take_record(r, lines.line);
    }
    int rc = n < 0 ? WEIR_EIO : 0;
    free(bytes);
    weir_ndjson_dispose(&lines);
    return rc;
}

int weir_detect_records_run(const struct weir_detect_records *options,
                            const struct weir_detect_picked *picked, int fd,
                            struct weir_detect_records_totals *totals)
{
    struct run r = {.options = options, .totals = totals};
    int rc = weir_detect_scan_init(&r.scan, picked);
    if (rc != 0) {
        return rc;
    }
    rc = read_records(&r, fd);
    clear(&r);
    weir_buf_dispose(&r.out);
    weir_buf_dispose(&r.list);
    weir_buf_dispose(&r.name);
    weir_buf_dispose(&r.why);
    weir_json_edit_dispose(&r.edit);
    weir_json_tape_dispose(&r.tape);
    weir_detect_scan_dispose(&r.scan);
    return rc;
}
