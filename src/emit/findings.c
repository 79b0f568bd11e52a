#include "emit/findings.h"

#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>

enum {
    KEEP_MOST_BYTES = 16384, /* memory beyond this is given back when empty */
    KEEP_MOST_ITEMS = 128,
};

/* ---- reading ---- */

static bool is_type(const struct weir_json *j, uint32_t at, enum weir_json_type type)
{
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == type;
}

static struct weir_slice raw_of(const struct weir_json *j, uint32_t at)
{
    return at != WEIR_JSON_NONE ? weir_json_raw(j, at) : (struct weir_slice){0};
}

/* A span, or neither of its ends. */
static bool read_span(const struct weir_json *j, uint32_t result, struct weir_findings_item *out)
{
    uint32_t start = weir_json_get_set(j, result, WEIR_SLICE("start"));
    uint32_t end = weir_json_get_set(j, result, WEIR_SLICE("end"));
    out->has_span = start != WEIR_JSON_NONE && end != WEIR_JSON_NONE;
    out->start_cp = out->end_cp = 0;
    if (!out->has_span) {
        return start == WEIR_JSON_NONE && end == WEIR_JSON_NONE;
    }
    return weir_json_u64(j, start, &out->start_cp) == 0 && weir_json_u64(j, end, &out->end_cp) == 0;
}

static bool is_list_of_findings(const struct weir_json *j, uint32_t results)
{
    if (!is_type(j, results, WEIR_JSON_ARRAY)) {
        return false;
    }
    for (uint32_t at = weir_json_first(j, results); at != WEIR_JSON_NONE;
         at = weir_json_after(j, results, at)) {
        struct weir_findings_item span;
        uint32_t id = weir_json_get(j, at, WEIR_SLICE("detector_id"));
        if (!is_type(j, at, WEIR_JSON_OBJECT) || !read_span(j, at, &span) ||
            (id != WEIR_JSON_NONE && weir_json_type(j, id) != WEIR_JSON_STRING)) {
            return false;
        }
    }
    return true;
}

/* The one choice of the chunk; false: there are more, or it has no number. */
static bool read_index(const struct weir_json *j, uint32_t choices, uint64_t *out)
{
    *out = 0;
    if (j->nodes[choices].n != 1 || !is_type(j, choices + 1, WEIR_JSON_OBJECT)) {
        return false;
    }
    uint32_t index = weir_json_get_set(j, choices + 1, WEIR_SLICE("index"));
    return index == WEIR_JSON_NONE || weir_json_u64(j, index, out) == 0;
}

/* {choice_index, channel?, results} of that choice, and nothing else. */
static bool read_entry(const struct weir_json *j, uint32_t entry, uint64_t choice_index,
                       struct weir_findings_in *out)
{
    uint64_t index;
    uint32_t of = weir_json_get(j, entry, WEIR_SLICE("choice_index"));
    out->channel = weir_json_get(j, entry, WEIR_SLICE("channel"));
    out->results = weir_json_get(j, entry, WEIR_SLICE("results"));
    if (of == WEIR_JSON_NONE || weir_json_u64(j, of, &index) != 0 || index != choice_index) {
        return false;
    }
    bool has_channel = out->channel != WEIR_JSON_NONE;
    if (has_channel && (weir_json_type(j, out->channel) != WEIR_JSON_STRING ||
                        raw_of(j, out->channel).n > WEIR_FINDINGS_CHANNEL_MOST_BYTES)) {
        return false;
    }
    return j->nodes[entry].n == (has_channel ? 3U : 2U) && is_list_of_findings(j, out->results);
}

static bool is_only_output(const struct weir_json *j, uint32_t detections, uint32_t output)
{
    return j->nodes[detections].n == 1 && is_type(j, output, WEIR_JSON_ARRAY) &&
           j->nodes[output].n == 1 && is_type(j, output + 1, WEIR_JSON_OBJECT);
}

void weir_findings_read(const struct weir_json *j, uint32_t choices, struct weir_findings_in *out)
{
    uint64_t index;
    *out = (struct weir_findings_in){
        .detections = weir_json_get_set(j, 0, WEIR_SLICE("detections")),
        .warnings = weir_json_get_set(j, 0, WEIR_SLICE("warnings")),
    };
    if (!is_type(j, out->detections, WEIR_JSON_OBJECT) || !read_index(j, choices, &index)) {
        return;
    }
    uint32_t output = weir_json_get(j, out->detections, WEIR_SLICE("output"));
    if (!is_only_output(j, out->detections, output) || !read_entry(j, output + 1, index, out)) {
        return;
    }
    /* The guard warns of what it found; a warning without a finding is somebody else's. */
    bool has_warnings = out->warnings != WEIR_JSON_NONE;
    out->is_there = !has_warnings ||
                    (j->nodes[out->results].n != 0 && is_type(j, out->warnings, WEIR_JSON_ARRAY) &&
                     j->nodes[out->warnings].n <= WEIR_FINDINGS_WARNINGS_MOST);
}

/* ---- joining ---- */

size_t weir_findings_in_bytes(const struct weir_json *j, const struct weir_findings_in *in)
{
    size_t n_results = in->is_there ? j->nodes[in->results].n : 0;
    return n_results != 0 ? raw_of(j, in->results).n + raw_of(j, in->warnings).n +
                                n_results * sizeof(struct weir_findings_item)
                          : 0;
}

static bool is_warning(const struct weir_findings *f, size_t i, struct weir_slice raw,
                       uint64_t hash)
{
    size_t from = i != 0 ? f->each_warning[i - 1].end : 0;
    return f->each_warning[i].hash == hash &&
           (f->is_shadow || weir_slice_eq(raw, weir_slice_sub(weir_buf_slice(&f->warnings), from,
                                                              f->each_warning[i].end)));
}

static bool has_warning(const struct weir_findings *f, struct weir_slice raw, uint64_t hash)
{
    for (size_t i = 0; i < f->n_warnings; i++) {
        if (is_warning(f, i, raw, hash)) {
            return true;
        }
    }
    return false;
}

static void add_warning(struct weir_findings *f, struct weir_slice raw)
{
    uint64_t hash = weir_map_hash(raw);
    if (has_warning(f, raw, hash) || f->n_warnings == WEIR_FINDINGS_WARNINGS_MOST) {
        return;
    }
    if (!f->is_shadow) {
        (void)weir_buf_append(&f->warnings, raw);
    }
    f->each_warning[f->n_warnings].end = f->warnings.n;
    f->each_warning[f->n_warnings++].hash = hash;
}

/* How many of the chunk's warnings are new. */
static size_t n_new_warnings(const struct weir_findings *f, const struct weir_json *j,
                             uint32_t warnings)
{
    size_t n = 0;
    for (uint32_t at = weir_json_first(j, warnings); at != WEIR_JSON_NONE;
         at = weir_json_after(j, warnings, at)) {
        struct weir_slice raw = weir_json_raw(j, at);
        n += !has_warning(f, raw, weir_map_hash(raw));
    }
    return n;
}

bool weir_findings_fits(const struct weir_findings *f, const struct weir_json *j,
                        const struct weir_findings_in *in, size_t max_bytes)
{
    if (!f->is_there || !in->is_there) {
        return true;
    }
    if (!weir_slice_eq(weir_buf_slice(&f->channel), raw_of(j, in->channel))) {
        return false;
    }
    size_t n = weir_findings_in_bytes(j, in);
    if (n != 0 && f->n_bytes != 0 && (f->n_bytes >= max_bytes || n > max_bytes - f->n_bytes)) {
        return false;
    }
    return in->warnings == WEIR_JSON_NONE ||
           f->n_warnings + n_new_warnings(f, j, in->warnings) <= WEIR_FINDINGS_WARNINGS_MOST;
}

static void add_finding(struct weir_findings *f, const struct weir_json *j, uint32_t at)
{
    if (f->n_items == f->cap_items) {
        f->cap_items = f->cap_items == 0 ? 4 : f->cap_items * 2;
        f->items = weir_mem_realloc(f->items, f->cap_items * sizeof *f->items);
    }
    struct weir_findings_item *item = &f->items[f->n_items];
    *item = (struct weir_findings_item){.order = f->n_items, .id_from = f->bytes.n};
    f->n_items++;
    (void)read_span(j, at, item);
    uint32_t id = weir_json_get(j, at, WEIR_SLICE("detector_id"));
    if (id != WEIR_JSON_NONE) {
        (void)weir_json_string_append(j, id, &f->bytes);
    }
    item->id_n = f->bytes.n - item->id_from;
    struct weir_slice raw = weir_json_raw(j, at);
    item->raw_n = raw.n;
    (void)weir_buf_append(&f->bytes, raw);
}

void weir_findings_join(struct weir_findings *f, const struct weir_json *j,
                        const struct weir_findings_in *in)
{
    if (!in->is_there) {
        return;
    }
    if (!f->is_there) {
        (void)weir_buf_append(&f->channel, raw_of(j, in->channel));
        f->is_there = true;
    }
    f->n_bytes += weir_findings_in_bytes(j, in);
    for (uint32_t at = f->is_shadow ? (uint32_t)WEIR_JSON_NONE : weir_json_first(j, in->results);
         at != WEIR_JSON_NONE; at = weir_json_after(j, in->results, at)) {
        add_finding(f, j, at);
    }
    uint32_t warnings = in->warnings;
    for (uint32_t at = warnings != WEIR_JSON_NONE ? weir_json_first(j, warnings) : warnings;
         at != WEIR_JSON_NONE; at = weir_json_after(j, warnings, at)) {
        add_warning(f, weir_json_raw(j, at));
    }
}

/* ---- writing ---- */

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The order of findings everywhere; of two that rank the same the first to come stays first. */
static int by_rank(const void *a, const void *b)
{
    const struct weir_findings_item *x = a;
    const struct weir_findings_item *y = b;
    int c = order(y->has_span, x->has_span);
    c = c != 0 ? c : order(x->start_cp, y->start_cp);
    c = c != 0 ? c : order(x->end_cp, y->end_cp);
    c = c != 0 ? c : weir_slice_cmp(x->id, y->id);
    return c != 0 ? c : order(x->order, y->order);
}

static void sort(const struct weir_findings *f)
{
    bool is_sorted = true;
    for (size_t i = 0; i < f->n_items; i++) {
        f->items[i].id = weir_slice_make(f->bytes.p + f->items[i].id_from, f->items[i].id_n);
        is_sorted = is_sorted && (i == 0 || by_rank(&f->items[i - 1], &f->items[i]) <= 0);
    }
    if (!is_sorted) {
        qsort(f->items, f->n_items, sizeof *f->items, by_rank);
    }
}

static void write_warnings(const struct weir_findings *f, struct weir_buf *out)
{
    struct weir_slice all = weir_buf_slice(&f->warnings);
    size_t from = 0;
    (void)weir_buf_append(out, WEIR_SLICE(",\"warnings\":["));
    for (size_t i = 0; i < f->n_warnings; i++) {
        (void)weir_buf_append(out, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        (void)weir_buf_append(out, weir_slice_sub(all, from, f->each_warning[i].end));
        from = f->each_warning[i].end;
    }
    (void)weir_buf_append(out, WEIR_SLICE("]"));
}

void weir_findings_write(const struct weir_findings *f, uint32_t choice_index, struct weir_buf *out)
{
    if (!f->is_there) {
        return;
    }
    sort(f);
    (void)weir_buf_printf(out, ",\"detections\":{\"output\":[{\"choice_index\":%u",
                          (unsigned)choice_index);
    if (f->channel.n != 0) {
        (void)weir_buf_append(out, WEIR_SLICE(",\"channel\":"));
        (void)weir_buf_append(out, weir_buf_slice(&f->channel));
    }
    (void)weir_buf_append(out, WEIR_SLICE(",\"results\":["));
    for (size_t i = 0; i < f->n_items; i++) {
        const struct weir_findings_item *item = &f->items[i];
        (void)weir_buf_append(out, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        (void)weir_buf_append(out, weir_slice_make(item->id.p + item->id_n, item->raw_n));
    }
    (void)weir_buf_append(out, WEIR_SLICE("]}]}"));
    if (f->n_warnings != 0) {
        write_warnings(f, out);
    }
}

/* ---- memory ---- */

size_t weir_findings_bytes(const struct weir_findings *f)
{
    return f->n_items * sizeof *f->items + f->bytes.n + f->warnings.n;
}

static void empty(struct weir_buf *b)
{
    if (b->cap > KEEP_MOST_BYTES) {
        weir_buf_dispose(b);
    }
    weir_buf_clear(b);
}

void weir_findings_clear(struct weir_findings *f)
{
    f->is_there = false;
    f->n_items = f->n_warnings = f->n_bytes = 0;
    weir_buf_clear(&f->channel);
    empty(&f->bytes);
    empty(&f->warnings);
    if (f->cap_items > KEEP_MOST_ITEMS) {
        free(f->items);
        f->items = NULL;
        f->cap_items = 0;
    }
}

void weir_findings_dispose(struct weir_findings *f)
{
    weir_buf_dispose(&f->channel);
    weir_buf_dispose(&f->bytes);
    weir_buf_dispose(&f->warnings);
    free(f->items);
    *f = (struct weir_findings){.is_shadow = f->is_shadow};
}
