/*
 * The answer is read into a tape that goes away again; only findings that stay are copied out of
 * it. Everything a detector can size is paid for by bytes it sent: findings are gathered one by
 * one, each checked before memory is spent on it, and a span's text is found through marks in its
 * content instead of counting from the beginning for every finding.
 */
#include "detect/answer.h"

#include "base/buf.h"
#include "base/err.h"
#include "detect/places.h"
#include "wire/json.h"
#include "wire/json_write.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    MAX_NODES = 4 * 1024 * 1024, /* and two for every content: 20 bytes of tape each */
    MAX_ERROR_BYTES = 64 * 1024, /* of an error's body: a longer one holds no message */
};

struct reader {
    const struct weir_detect_input *input;
    struct weir_slice id;
    struct weir_arena *arena;
    struct weir_json json;
    struct weir_json_tape tape;
    struct weir_places content; /* the text a list is about */
    struct weir_buf found;      /* struct weir_detection: the list being read */
    size_t list_no;
    size_t finding_no;
    size_t from_cp; /* of a streamed answer: where the content begins */
    const char *why;
};

static const char *type_name(const struct weir_json *j, uint32_t at)
{
    static const char *const names[] = {
        [WEIR_JSON_NULL] = "null",        [WEIR_JSON_FALSE] = "a boolean",
        [WEIR_JSON_TRUE] = "a boolean",   [WEIR_JSON_NUMBER] = "a number",
        [WEIR_JSON_STRING] = "a string",  [WEIR_JSON_ARRAY] = "a list",
        [WEIR_JSON_OBJECT] = "an object",
    };
    return names[weir_json_type(j, at)];
}

static bool is_contents(const struct reader *r)
{
    return r->input->type == WEIR_DETECT_CONTENTS;
}

/* What is wrong with the finding being read. */
__attribute__((format(printf, 2, 3))) static int bad_finding(struct reader *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *what = weir_arena_vprintf(r->arena, fmt, args);
    va_end(args);
    r->why = is_contents(r) ? weir_arena_printf(r->arena, "list %zu, finding %zu: %s", r->list_no,
                                                r->finding_no, what)
                            : weir_arena_printf(r->arena, "finding %zu: %s", r->finding_no, what);
    return WEIR_EPEER;
}

/* A string member, copied when the finding stays. An absent one is WEIR_JSON_NONE. */
static int find_string(struct reader *r, uint32_t finding, const char *name, uint32_t *at)
{
    *at = weir_json_get_set(&r->json, finding, weir_slice_cstr(name));
    if (*at != WEIR_JSON_NONE && weir_json_type(&r->json, *at) != WEIR_JSON_STRING) {
        return bad_finding(r, "`%s` is %s, not a string", name, type_name(&r->json, *at));
    }
    return 0;
}

static int need_string(struct reader *r, uint32_t finding, const char *name, uint32_t *at)
{
    int rc = find_string(r, finding, name, at);
    return rc == 0 && *at == WEIR_JSON_NONE ? bad_finding(r, "`%s` is missing", name) : rc;
}

static int need_offset(struct reader *r, uint32_t finding, const char *name, size_t *out)
{
    uint32_t at = weir_json_get_set(&r->json, finding, weir_slice_cstr(name));
    uint64_t value;
    if (at == WEIR_JSON_NONE) {
        return bad_finding(r, "`%s` is missing", name);
    }
    if (weir_json_u64(&r->json, at, &value) != 0) {
        return bad_finding(r, "`%s` is not a whole number from 0", name);
    }
    if (value < r->from_cp) {
        return bad_finding(r, "`%s` is %" PRIu64 ", `processed_index` was %zu", name, value,
                           r->from_cp);
    }
    if (value - r->from_cp > weir_places_count(&r->content)) {
        return bad_finding(r, "`%s` is %" PRIu64 ", the text has %zu code points", name, value,
                           r->from_cp + weir_places_count(&r->content));
    }
    *out = (size_t)value - r->from_cp;
    return 0;
}

static int read_span(struct reader *r, uint32_t finding, struct weir_detection *d)
{
    int rc = need_offset(r, finding, "start", &d->start_cp);
    if (rc == 0) {
        rc = need_offset(r, finding, "end", &d->end_cp);
    }
    if (rc == 0 && d->start_cp > d->end_cp) {
        rc = bad_finding(r, "`start` %zu is behind `end` %zu", d->start_cp, d->end_cp);
    }
    d->has_span = true;
    return rc;
}

static int read_score(struct reader *r, uint32_t finding, struct weir_detection *d)
{
    uint32_t at = weir_json_get_set(&r->json, finding, WEIR_SLICE("score"));
    if (at == WEIR_JSON_NONE) {
        return bad_finding(r, "`score` is missing");
    }
    if (weir_json_f64(&r->json, at, &d->score) != 0) {
        return bad_finding(r, "`score` is not a finite number");
    }
    d->score_raw = weir_json_raw(&r->json, at);
    return 0;
}

static struct weir_slice keep_string(struct reader *r, uint32_t at)
{
    struct weir_slice s = weir_json_string(&r->json, at, r->arena);
    return r->json.nodes[at].is_escaped ? s : weir_arena_dup(r->arena, s);
}

/* As spelled, on one line. */
static struct weir_slice keep_json(struct reader *r, uint32_t finding, struct weir_slice name)
{
    uint32_t at = weir_json_get_set(&r->json, finding, name);
    if (at == WEIR_JSON_NONE) {
        return (struct weir_slice){0};
    }
    struct weir_buf text = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &text);
    weir_json_write_node(&w, &r->json, at);
    weir_json_write_finish(&w);
    struct weir_slice kept = weir_arena_dup(r->arena, weir_buf_slice(&text));
    weir_buf_dispose(&text);
    return kept;
}

/* Checks all of it before anything is copied. */
static int read_finding(struct reader *r, uint32_t at)
{
    struct weir_detection d = {.detector_id = r->id};
    uint32_t text = WEIR_JSON_NONE;
    uint32_t type;
    uint32_t detection;
    if (weir_json_type(&r->json, at) != WEIR_JSON_OBJECT) {
        return bad_finding(r, "is %s, not an object", type_name(&r->json, at));
    }
    int rc = is_contents(r) ? read_span(r, at, &d) : 0;
    rc = rc == 0 && is_contents(r) ? find_string(r, at, "text", &text) : rc;
    rc = rc == 0 ? need_string(r, at, "detection_type", &type) : rc;
    rc = rc == 0 ? need_string(r, at, "detection", &detection) : rc;
    rc = rc == 0 ? read_score(r, at, &d) : rc;
    if (rc != 0 || d.score < r->input->threshold) {
        return rc;
    }
    d.detection_type = keep_string(r, type);
    d.detection = keep_string(r, detection);
    d.score_raw = weir_arena_dup(r->arena, d.score_raw);
    d.evidence = keep_json(r, at, WEIR_SLICE("evidence"));
    d.metadata = keep_json(r, at, WEIR_SLICE("metadata"));
    if (is_contents(r)) {
        d.text = text != WEIR_JSON_NONE ? keep_string(r, text)
                                        : weir_places_slice(&r->content, d.start_cp, d.end_cp);
    }
    return weir_buf_append(&r->found, weir_slice_make((const char *)&d, sizeof d));
}

static int read_list(struct reader *r, uint32_t list, struct weir_detect_list *out)
{
    const struct weir_json *j = &r->json;
    r->finding_no = 0;
    weir_buf_clear(&r->found);
    for (uint32_t at = weir_json_first(j, list); at != WEIR_JSON_NONE;
         at = weir_json_after(j, list, at)) {
        int rc = read_finding(r, at);
        if (rc != 0) {
            return rc;
        }
        r->finding_no++;
    }
    if (r->found.n != 0) {
        void *items = weir_arena_alloc(r->arena, r->found.n);
        memcpy(items, r->found.p, r->found.n);
        *out = (struct weir_detect_list){items, r->found.n / sizeof(struct weir_detection)};
    }
    return 0;
}

static int read_lists(struct reader *r, struct weir_detect_list *lists)
{
    const struct weir_json *j = &r->json;
    size_t n_contents = r->input->n_contents;
    if (j->nodes[0].n != n_contents && !r->input->is_lenient) {
        r->why = weir_arena_printf(r->arena, "%zu lists for %zu contents", (size_t)j->nodes[0].n,
                                   n_contents);
        return WEIR_EPEER;
    }
    uint32_t at = weir_json_first(j, 0);
    for (size_t i = 0; i < n_contents && at != WEIR_JSON_NONE; i++) {
        r->list_no = i;
        if (weir_json_type(j, at) != WEIR_JSON_ARRAY) {
            r->why = weir_arena_printf(r->arena, "list %zu is %s", i, type_name(j, at));
            return WEIR_EPEER;
        }
        weir_places_set(&r->content, r->input->contents[i]);
        int rc = read_list(r, at, &lists[i]);
        if (rc != 0) {
            return rc;
        }
        at = weir_json_after(j, 0, at);
    }
    return 0;
}

static int read_root(struct reader *r, struct weir_slice body, struct weir_detect_answer *out)
{
    uint64_t max_nodes = MAX_NODES + 2 * (uint64_t)r->input->n_contents;
    struct weir_json_limits limits = {.max_nodes = max_nodes < UINT32_MAX ? (uint32_t)max_nodes
                                                                          : UINT32_MAX};
    struct weir_json_error err;
    if (weir_json_parse_reuse(&r->json, body, &limits, &r->tape, &err) != 0) {
        r->why = weir_arena_printf(r->arena, "not JSON that can be read: %s at byte %zu of %zu",
                                   err.what, err.at_byte, body.n);
        return WEIR_EPEER;
    }
    if (weir_json_type(&r->json, 0) != WEIR_JSON_ARRAY) {
        r->why = weir_arena_printf(r->arena, "%s instead of a list", type_name(&r->json, 0));
        return WEIR_EPEER;
    }
    out->n_lists = is_contents(r) ? r->input->n_contents : 1;
    struct weir_detect_list *lists = weir_arena_array(r->arena, out->n_lists, sizeof *lists);
    out->lists = lists;
    return is_contents(r) ? read_lists(r, lists) : read_list(r, 0, lists);
}

int weir_detect_answer_read(struct weir_detect_answer *out, struct weir_slice body,
                            const struct weir_detect_input *input, struct weir_slice id,
                            struct weir_arena *arena)
{
    struct reader r = {.input = input, .id = id, .arena = arena};
    *out = (struct weir_detect_answer){0};
    int rc = read_root(&r, body, out);
    if (rc != 0) {
        *out = (struct weir_detect_answer){.why = r.why};
    }
    weir_json_tape_dispose(&r.tape);
    weir_places_dispose(&r.content);
    weir_buf_dispose(&r.found);
    return rc;
}

/* ---- a line of a streamed answer ---- */

static int by_start(const void *a, const void *b)
{
    const struct weir_detection *x = a;
    const struct weir_detection *y = b;
    if (x->start_cp != y->start_cp) {
        return x->start_cp < y->start_cp ? -1 : 1;
    }
    return x->end_cp < y->end_cp ? -1 : x->end_cp > y->end_cp;
}

/* Its findings, in order, with the stream's places. */
static void place_found(struct reader *r, struct weir_detect_list *list)
{
    struct weir_detection *items = r->found.n != 0 ? (struct weir_detection *)list->items : NULL;
    for (size_t i = 0; i < list->n; i++) {
        items[i].start_cp += r->from_cp;
        items[i].end_cp += r->from_cp;
    }
    if (list->n > 1) {
        qsort(items, list->n, sizeof *items, by_start);
    }
}

static int read_processed(struct reader *r, struct weir_detect_line *out)
{
    uint32_t at = weir_json_get_set(&r->json, 0, WEIR_SLICE("processed_index"));
    uint64_t value;
    if (at == WEIR_JSON_NONE || weir_json_u64(&r->json, at, &value) != 0) {
        r->why = "`processed_index` is missing, or no whole number from 0";
        return WEIR_EPEER;
    }
    if (value < r->from_cp || value - r->from_cp > weir_places_count(&r->content)) {
        r->why =
            weir_arena_printf(r->arena, "`processed_index` is %" PRIu64 ", not from %zu to %zu",
                              value, r->from_cp, r->from_cp + weir_places_count(&r->content));
        return WEIR_EPEER;
    }
    out->processed_cp = (size_t)value;
    return 0;
}

static int read_line(struct reader *r, struct weir_slice line, struct weir_detect_line *out)
{
    struct weir_json_limits limits = {.max_nodes = MAX_NODES};
    if (weir_json_parse_reuse(&r->json, line, &limits, &r->tape, NULL) != 0 ||
        weir_json_type(&r->json, 0) != WEIR_JSON_OBJECT) {
        r->why = "a line is no JSON object";
        return WEIR_EPEER;
    }
    uint32_t list = weir_json_get_set(&r->json, 0, WEIR_SLICE("detections"));
    uint32_t code = weir_json_get_set(&r->json, 0, WEIR_SLICE("code"));
    int64_t status;
    if (list == WEIR_JSON_NONE && code != WEIR_JSON_NONE &&
        weir_json_i64(&r->json, code, &status) == 0 && status >= 400 && status <= 599) {
        out->status = (int)status;
        r->why = weir_arena_printf(r->arena, "said that it has failed with %d", out->status);
        return WEIR_EIO;
    }
    if (list == WEIR_JSON_NONE || weir_json_type(&r->json, list) != WEIR_JSON_ARRAY) {
        r->why = "`detections` is missing, or no list";
        return WEIR_EPEER;
    }
    int rc = read_list(r, list, &out->found);
    if (rc == 0) {
        place_found(r, &out->found);
        rc = read_processed(r, out);
    }
    return rc;
}

int weir_detect_answer_line(struct weir_detect_line *out, struct weir_slice line,
                            const struct weir_detect_input *input, struct weir_slice id,
                            struct weir_arena *arena)
{
    struct reader r = {.input = input, .id = id, .arena = arena, .from_cp = out->from_cp};
    out->found = (struct weir_detect_list){0};
    out->status = 0;
    /* Counted once, when it was sent: not again for every line. */
    weir_places_set(&r.content, input->contents[0]);
    r.content.n_cp = out->end_cp - out->from_cp;
    r.content.is_counted = true;
    int rc = read_line(&r, line, out);
    out->why = r.why;
    weir_json_tape_dispose(&r.tape);
    weir_places_dispose(&r.content);
    weir_buf_dispose(&r.found);
    return rc;
}

void weir_detect_answer_error(struct weir_fault *fault, int status, struct weir_slice body,
                              struct weir_arena *arena)
{
    struct weir_json_tape tape = {0};
    struct weir_json j;
    fault->status = status;
    fault->message = (struct weir_slice){0};
    if (body.n <= MAX_ERROR_BYTES && weir_json_parse_reuse(&j, body, NULL, &tape, NULL) == 0) {
        int64_t code;
        uint32_t at = weir_json_get_set(&j, 0, WEIR_SLICE("code"));
        if (at != WEIR_JSON_NONE && weir_json_i64(&j, at, &code) == 0 && code >= 100 &&
            code <= 599) {
            fault->status = (int)code;
        }
        at = weir_json_get_set(&j, 0, WEIR_SLICE("message"));
        if (at != WEIR_JSON_NONE && weir_json_type(&j, at) == WEIR_JSON_STRING) {
            fault->message = weir_fault_message(arena, weir_json_string(&j, at, arena));
        }
    }
    weir_json_tape_dispose(&tape);
}
