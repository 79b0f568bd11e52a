/*
 * The Open Inference Protocol (Triton, OpenVINO Model Server, MLServer, KServe), a classifier that
 * takes texts:
 *
 *   POST /v2/models/MODEL/infer
 *        {"inputs":[{"name":"text","shape":[2],"datatype":"BYTES","data":["a","b"]}],
 *         "outputs":[{"name":"probs"}]}
 *   200  {"model_name":"m","outputs":[{"name":"probs","shape":[2,2],"datatype":"FP32",
 *         "data":[0.1,0.9,0.8,0.2]}]}                          a row a text, a column a label
 *   {"error":"…"}
 *
 * `data` may be nested as the shape is. What the numbers are is the model's business: `activation`
 * makes scores of them.
 */
#include "detect/protocol_int.h"

#include "base/err.h"
#include "wire/url.h"

#include <math.h>

enum { MAX_DEPTH = 8 };

static const char *check(const struct weir_protocol_options *o)
{
    if (o->model.n == 0) {
        return "`model` is missing: it is part of the path";
    }
    if (o->input_name.n == 0 || o->output_name.n == 0) {
        return "`input_name` and `output_name` are missing: the model's own names of its tensors";
    }
    return o->n_labels == 0 ? "`labels` is missing: a name for each column of the output" : NULL;
}

static struct weir_slice path(const struct weir_protocol_ask *ask)
{
    struct weir_buf out = {0};
    weir_buf_append(&out, WEIR_SLICE("/v2/models/"));
    weir_url_append_escaped(&out, ask->options->model);
    weir_buf_append(&out, WEIR_SLICE("/infer"));
    struct weir_slice made = weir_arena_dup(ask->arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return made;
}

static void write_input(const struct weir_protocol_ask *ask, struct weir_json_write *w)
{
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("name"));
    weir_json_write_string(w, ask->options->input_name);
    weir_json_write_key(w, WEIR_SLICE("shape"));
    weir_json_write_begin_array(w);
    weir_json_write_u64(w, ask->input->n_contents);
    weir_json_write_end_array(w);
    weir_json_write_key(w, WEIR_SLICE("datatype"));
    weir_json_write_string(w, WEIR_SLICE("BYTES"));
    weir_json_write_key(w, WEIR_SLICE("data"));
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < ask->input->n_contents; i++) {
        weir_json_write_string(w, ask->input->contents[i]);
    }
    weir_json_write_end_array(w);
    weir_json_write_end_object(w);
}

static void write(const struct weir_protocol_ask *ask, struct weir_buf *out)
{
    struct weir_protocol_body b;
    weir_protocol__begin(&b, ask, out);
    weir_protocol__key(&b, "inputs");
    weir_json_write_begin_array(&b.w);
    write_input(ask, &b.w);
    weir_json_write_end_array(&b.w);
    weir_protocol__key(&b, "outputs");
    weir_json_write_begin_array(&b.w);
    weir_json_write_begin_object(&b.w);
    weir_json_write_key(&b.w, WEIR_SLICE("name"));
    weir_json_write_string(&b.w, ask->options->output_name);
    weir_json_write_end_object(&b.w);
    weir_json_write_end_array(&b.w);
    weir_protocol__end(&b);
}

static int find_output(struct weir_protocol_lists *l, uint32_t *output)
{
    uint32_t outputs;
    int rc = weir_protocol__need(l, 0, "outputs", WEIR_JSON_ARRAY, &outputs);
    uint32_t at = rc == 0 ? weir_json_first(&l->json, outputs) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE && rc == 0; at = weir_json_after(&l->json, outputs, at)) {
        uint32_t name;
        rc = weir_protocol__need(l, at, "name", WEIR_JSON_STRING, &name);
        if (rc == 0 && weir_json_string_eq(&l->json, name, l->ask->options->output_name)) {
            *output = at;
            return 0;
        }
    }
    struct weir_slice wanted = l->ask->options->output_name;
    return rc != 0 ? rc : weir_protocol__bad(l, "no output `%.*s`", (int)wanted.n, wanted.p);
}

/* The shape's size must be what was asked: a row a text, a column a label. */
static int check_shape(struct weir_protocol_lists *l, uint32_t output, size_t n_numbers)
{
    uint32_t shape;
    uint64_t first = 0;
    uint64_t size = 1;
    int rc = weir_protocol__need(l, output, "shape", WEIR_JSON_ARRAY, &shape);
    uint32_t at = rc == 0 ? weir_json_first(&l->json, shape) : WEIR_JSON_NONE;
    for (size_t i = 0; at != WEIR_JSON_NONE; at = weir_json_after(&l->json, shape, at), i++) {
        uint64_t n;
        if (weir_json_u64(&l->json, at, &n) != 0 || n > n_numbers || i == MAX_DEPTH) {
            return weir_protocol__bad(l, "`shape` is not %zu by %zu", l->n_lists,
                                      l->ask->options->n_labels);
        }
        first = i == 0 ? n : first;
        size *= n;
    }
    if (rc == 0 && (first != l->n_lists || size != n_numbers)) {
        rc = weir_protocol__bad(l, "`shape` is not %zu by %zu", l->n_lists,
                                l->ask->options->n_labels);
    }
    return rc;
}

/* All numbers of `data`, however it is nested, in order. */
static int flatten(struct weir_protocol_lists *l, uint32_t data, uint32_t *numbers, size_t n)
{
    size_t found = 0;
    for (uint32_t at = data + 1; at < l->json.nodes[data].next; at++) {
        enum weir_json_type type = weir_json_type(&l->json, at);
        if (type == WEIR_JSON_ARRAY) {
            continue;
        }
        if (type != WEIR_JSON_NUMBER || found == n) {
            return weir_protocol__bad(l, "`data` is not %zu numbers", n);
        }
        numbers[found++] = at;
    }
    return found == n ? 0 : weir_protocol__bad(l, "`data` has %zu numbers, not %zu", found, n);
}

static void activate(const struct weir_protocol_options *o, struct weir_protocol_score *row)
{
    double sum = 0;
    double max = row[0].value;
    for (size_t i = 1; i < o->n_labels; i++) {
        max = row[i].value > max ? row[i].value : max;
    }
    for (size_t i = 0; i < o->n_labels && o->activation == WEIR_ACTIVATION_SOFTMAX; i++) {
        sum += exp(row[i].value - max);
    }
    for (size_t i = 0; i < o->n_labels && o->activation != WEIR_ACTIVATION_NONE; i++) {
        row[i].value = o->activation == WEIR_ACTIVATION_SOFTMAX ? exp(row[i].value - max) / sum
                                                                : 1 / (1 + exp(-row[i].value));
        row[i].raw = (struct weir_slice){0};
    }
}

static int read_rows(struct weir_protocol_lists *l, const uint32_t *numbers)
{
    const struct weir_protocol_options *o = l->ask->options;
    struct weir_protocol_score *row = weir_arena_array(l->ask->arena, o->n_labels, sizeof *row);
    while (l->at < l->n_lists) {
        const uint32_t *from = numbers + l->at * o->n_labels;
        for (size_t i = 0; i < o->n_labels; i++) {
            if (weir_protocol__score(l, from[i], "an entry of `data`", &row[i]) != 0) {
                return WEIR_EPEER;
            }
        }
        activate(o, row);
        for (size_t i = 0; i < o->n_labels; i++) {
            weir_protocol__add(l, o->labels[i].name, &row[i]);
        }
        weir_protocol__next(l);
    }
    return 0;
}

static int read_root(struct weir_protocol_lists *l)
{
    size_t n = l->n_lists * l->ask->options->n_labels;
    uint32_t *numbers = weir_arena_array(l->ask->arena, n, sizeof *numbers);
    uint32_t output = 0;
    uint32_t data;
    int rc = find_output(l, &output);
    rc = rc == 0 ? check_shape(l, output, n) : rc;
    rc = rc == 0 ? weir_protocol__need(l, output, "data", WEIR_JSON_ARRAY, &data) : rc;
    rc = rc == 0 ? flatten(l, data, numbers, n) : rc;
    return rc == 0 ? read_rows(l, numbers) : rc;
}

const struct weir_protocol weir_protocol_oip = {
    .name = "oip",
    .types = 1u << WEIR_DETECT_CONTENTS,
    .max_texts = 32,
    .health = "/v2/health/ready",
    .finding_type = {"classification", 14},
    .check = check,
    .path = path,
    .write = write,
    .lists = read_root,
    .error = weir_protocol__error,
};
