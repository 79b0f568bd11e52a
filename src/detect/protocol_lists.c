/* Answers to findings: one list per text, each checked before memory is spent on it. */
#include "base/err.h"
#include "base/utf8.h"
#include "detect/protocol_int.h"

enum {
    MAX_NODES = 4 * 1024 * 1024, /* as detect/answer.c has it */
    MAX_ERROR_BYTES = 64 * 1024,
};

static const char *type_word(enum weir_json_type type)
{
    switch (type) {
    case WEIR_JSON_ARRAY:
        return "a list";
    case WEIR_JSON_OBJECT:
        return "an object";
    case WEIR_JSON_STRING:
        return "a string";
    case WEIR_JSON_NUMBER:
        return "a number";
    default:
        return "a value";
    }
}

int weir_protocol__bad(struct weir_protocol_lists *l, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *what = weir_arena_vprintf(l->ask->arena, fmt, args);
    va_end(args);
    l->why = l->n_lists > 1 && l->at < l->n_lists
                 ? weir_arena_printf(l->ask->arena, "text %zu: %s", l->at, what)
                 : what;
    return WEIR_EPEER;
}

/* Parses. 0, or WEIR_EPEER; dispose by `finish` in any case. */
static int open(struct weir_protocol_lists *l, struct weir_slice body)
{
    const struct weir_protocol_ask *ask = l->ask;
    const struct weir_detect_input *input = ask->input;
    struct weir_json_limits limits = {.max_nodes = MAX_NODES};
    struct weir_json_error err;
    if (weir_json_parse_reuse(&l->json, body, &limits, &l->tape, &err) != 0) {
        return weir_protocol__bad(l, "not JSON that can be read: %s at byte %zu of %zu", err.what,
                                  err.at_byte, body.n);
    }
    l->n_lists = input->type == WEIR_DETECT_CONTENTS ? input->n_contents : 1;
    l->lists = weir_arena_array(ask->arena, l->n_lists, sizeof *l->lists);
    return 0;
}

int weir_protocol__need(struct weir_protocol_lists *l, uint32_t object, const char *name,
                        enum weir_json_type type, uint32_t *at)
{
    if (weir_json_type(&l->json, object) != WEIR_JSON_OBJECT) {
        return weir_protocol__bad(l, "no object where `%s` should be", name);
    }
    *at = weir_json_get_set(&l->json, object, weir_slice_cstr(name));
    if (*at == WEIR_JSON_NONE) {
        return weir_protocol__bad(l, "`%s` is missing", name);
    }
    if (weir_json_type(&l->json, *at) != type) {
        return weir_protocol__bad(l, "`%s` is not %s", name, type_word(type));
    }
    return 0;
}

int weir_protocol__need_n(struct weir_protocol_lists *l, uint32_t list, const char *name, size_t n)
{
    if (weir_json_type(&l->json, list) != WEIR_JSON_ARRAY) {
        return weir_protocol__bad(l, "%s is not a list", name);
    }
    size_t got = l->json.nodes[list].n;
    return got == n ? 0 : weir_protocol__bad(l, "%s has %zu entries, not %zu", name, got, n);
}

int weir_protocol__score(struct weir_protocol_lists *l, uint32_t at, const char *name,
                         struct weir_protocol_score *out)
{
    if (weir_json_f64(&l->json, at, &out->value) != 0) {
        return weir_protocol__bad(l, "%s is not a finite number", name);
    }
    out->raw = weir_json_raw(&l->json, at);
    return 0;
}

const struct weir_protocol_label *weir_protocol__label(const struct weir_protocol_options *o,
                                                       struct weir_slice name)
{
    for (size_t i = 0; i < o->n_labels; i++) {
        if (weir_slice_eq(o->labels[i].name, name)) {
            return &o->labels[i];
        }
    }
    return NULL;
}

void weir_protocol__add_span(struct weir_protocol_lists *l, const struct weir_detection *d)
{
    struct weir_arena *arena = l->ask->arena;
    struct weir_detection kept = *d;
    if (d->score < l->ask->input->threshold) {
        return;
    }
    const struct weir_protocol_label *label = weir_protocol__label(l->ask->options, d->detection);
    if (label != NULL && label->is_dropped) {
        return;
    }
    if (label != NULL && label->detection.n != 0) {
        kept.detection = label->detection;
    } else {
        kept.detection = weir_arena_dup(arena, d->detection);
    }
    kept.detection_type = label != NULL && label->detection_type.n != 0 ? label->detection_type
                                                                        : l->protocol->finding_type;
    kept.detector_id = l->ask->id;
    kept.score_raw = d->score_raw.n != 0 ? weir_arena_dup(arena, d->score_raw) : d->score_raw;
    weir_buf_append(&l->found, weir_slice_make((const char *)&kept, sizeof kept));
}

void weir_protocol__add(struct weir_protocol_lists *l, struct weir_slice label,
                        const struct weir_protocol_score *score)
{
    struct weir_detection d = {.detection = label, .score = score->value, .score_raw = score->raw};
    if (l->ask->input->type == WEIR_DETECT_CONTENTS) {
        d.text = l->ask->input->contents[l->at];
        d.has_span = true;
        d.end_cp = score->value >= l->ask->input->threshold ? weir_utf8_count(d.text) : 0;
    }
    weir_protocol__add_span(l, &d);
}

void weir_protocol__next(struct weir_protocol_lists *l)
{
    if (l->found.n != 0) {
        void *items = weir_arena_alloc(l->ask->arena, l->found.n);
        memcpy(items, l->found.p, l->found.n);
        l->lists[l->at] =
            (struct weir_detect_list){items, l->found.n / sizeof(struct weir_detection)};
        weir_buf_clear(&l->found);
    }
    l->at++;
}

/* Hands the lists over, or the reason; frees the rest. Returns rc. */
static int finish(struct weir_protocol_lists *l, int rc, struct weir_detect_answer *out)
{
    *out = rc == 0 ? (struct weir_detect_answer){.lists = l->lists, .n_lists = l->n_lists}
                   : (struct weir_detect_answer){.why = l->why};
    weir_json_tape_dispose(&l->tape);
    weir_buf_dispose(&l->found);
    return rc;
}

int weir_protocol_read(const struct weir_protocol *protocol, struct weir_detect_answer *out,
                       struct weir_slice body, const struct weir_protocol_ask *ask)
{
    if (protocol->read != NULL) {
        return protocol->read(out, body, ask);
    }
    struct weir_protocol_lists l = {.ask = ask, .protocol = protocol};
    int rc = open(&l, body);
    return finish(&l, rc == 0 ? protocol->lists(&l) : rc, out);
}

int weir_protocol__each(struct weir_protocol_lists *l, const char *name,
                        int (*read_text)(struct weir_protocol_lists *l, uint32_t at))
{
    uint32_t list = 0;
    const char *called = "the answer";
    int rc = 0;
    if (name != NULL) {
        called = weir_arena_printf(l->ask->arena, "`%s`", name);
        rc = weir_protocol__need(l, 0, name, WEIR_JSON_ARRAY, &list);
    }
    rc = rc == 0 ? weir_protocol__need_n(l, list, called, l->n_lists) : rc;
    uint32_t at = rc == 0 ? weir_json_first(&l->json, list) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE && rc == 0; at = weir_json_after(&l->json, list, at)) {
        rc = read_text(l, at);
        weir_protocol__next(l);
    }
    return rc;
}

static uint32_t message_at(const struct weir_json *j)
{
    if (weir_json_type(j, 0) != WEIR_JSON_OBJECT) {
        return WEIR_JSON_NONE;
    }
    uint32_t error = weir_json_get_set(j, 0, WEIR_SLICE("error"));
    uint32_t at = error;
    if (error != WEIR_JSON_NONE && weir_json_type(j, error) == WEIR_JSON_OBJECT) {
        at = weir_json_get_set(j, error, WEIR_SLICE("message"));
    } else if (error == WEIR_JSON_NONE) {
        at = weir_json_get_set(j, 0, WEIR_SLICE("message"));
    }
    return at;
}

void weir_protocol__error(struct weir_fault *fault, int status, struct weir_slice body,
                          struct weir_arena *arena)
{
    struct weir_json_tape tape = {0};
    struct weir_json j;
    fault->status = status;
    fault->message = (struct weir_slice){0};
    if (body.n <= MAX_ERROR_BYTES && weir_json_parse_reuse(&j, body, NULL, &tape, NULL) == 0) {
        uint32_t at = message_at(&j);
        if (at != WEIR_JSON_NONE && weir_json_type(&j, at) == WEIR_JSON_STRING) {
            fault->message = weir_fault_message(arena, weir_json_string(&j, at, arena));
        }
    }
    weir_json_tape_dispose(&tape);
}
