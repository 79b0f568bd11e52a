#include "task/results.h"

#include <stdio.h>

static void member(struct weir_json_write *w, struct weir_slice name, struct weir_slice value)
{
    weir_json_write_key(w, name);
    weir_json_write_string(w, value);
}

static void raw_member(struct weir_json_write *w, struct weir_slice name, struct weir_slice json)
{
    if (json.n != 0) {
        weir_json_write_key(w, name);
        weir_json_write_raw(w, json);
    }
}

static void span(struct weir_json_write *w, const struct weir_detection *d)
{
    weir_json_write_key(w, WEIR_SLICE("start"));
    weir_json_write_u64(w, d->start_cp);
    weir_json_write_key(w, WEIR_SLICE("end"));
    weir_json_write_u64(w, d->end_cp);
}

static void score(struct weir_json_write *w, const struct weir_detection *d)
{
    weir_json_write_key(w, WEIR_SLICE("score"));
    if (d->score_raw.n != 0) {
        weir_json_write_raw(w, d->score_raw);
    } else {
        weir_json_write_f64(w, d->score);
    }
}

static void write_classification(struct weir_json_write *w, const struct weir_detection *d)
{
    span(w, d);
    member(w, WEIR_SLICE("word"), d->text);
    member(w, WEIR_SLICE("entity"), d->detection);
    member(w, WEIR_SLICE("entity_group"), d->detection_type);
    member(w, WEIR_SLICE("detector_id"), d->detector_id);
    score(w, d);
}

static void write_finding(struct weir_json_write *w, enum weir_results_shape shape,
                          const struct weir_detection *d)
{
    bool is_terse = shape == WEIR_RESULTS_TERSE;
    bool is_completion = is_terse || shape == WEIR_RESULTS_COMPLETION;
    if (d->has_span && shape != WEIR_RESULTS_WHOLE) {
        span(w, d);
    }
    if (d->has_span && shape != WEIR_RESULTS_WHOLE && !is_terse) {
        member(w, WEIR_SLICE("text"), d->text);
    }
    if (is_completion) {
        member(w, WEIR_SLICE("detector_id"), d->detector_id);
    }
    if (shape == WEIR_RESULTS_CONTENT) {
        member(w, WEIR_SLICE("detection"), d->detection);
        member(w, WEIR_SLICE("detection_type"), d->detection_type);
    } else {
        member(w, WEIR_SLICE("detection_type"), d->detection_type);
        member(w, WEIR_SLICE("detection"), d->detection);
    }
    if (!is_completion) {
        member(w, WEIR_SLICE("detector_id"), d->detector_id);
    }
    score(w, d);
    if (!is_terse) {
        raw_member(w, WEIR_SLICE("evidence"), d->evidence);
    }
    raw_member(w, WEIR_SLICE("metadata"), d->metadata);
    if (d->exposed_cp != 0) {
        weir_json_write_key(w, WEIR_SLICE("exposed"));
        weir_json_write_u64(w, d->exposed_cp);
    }
}

void weir_results_write_one(struct weir_json_write *w, enum weir_results_shape shape,
                            const struct weir_detection *item)
{
    weir_json_write_begin_object(w);
    if (shape == WEIR_RESULTS_CLASSIFICATION) {
        write_classification(w, item);
    } else {
        write_finding(w, shape, item);
    }
    weir_json_write_end_object(w);
}

void weir_results_append(struct weir_buf *out, enum weir_results_shape shape,
                         const struct weir_detection *item, bool is_next)
{
    struct weir_json_write w;
    if (is_next) {
        weir_buf_append_byte(out, ',');
    }
    weir_json_write_init(&w, out);
    weir_results_write_one(&w, shape, item);
}

void weir_results_begin_entry(struct weir_json_write *w, uint64_t choice_index, const char *channel)
{
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("choice_index"));
    weir_json_write_u64(w, choice_index);
    if (channel != NULL) {
        member(w, WEIR_SLICE("channel"), weir_slice_cstr(channel));
    }
    weir_json_write_key(w, WEIR_SLICE("results"));
}

void weir_results_end_entry(struct weir_json_write *w)
{
    weir_json_write_end_object(w);
}

void weir_results_write_warning(struct weir_json_write *w, struct weir_slice name_key,
                                enum weir_results_warning warning)
{
    bool is_input = warning == WEIR_WARN_UNSUITABLE_INPUT;
    weir_json_write_begin_object(w);
    member(w, name_key,
           is_input ? WEIR_SLICE("UNSUITABLE_INPUT") : WEIR_SLICE("UNSUITABLE_OUTPUT"));
    member(w, WEIR_SLICE("message"),
           is_input ? WEIR_SLICE("Unsuitable input detected. Please check the detected entities on "
                                 "your input and try again with the unsuitable input removed.")
                    : WEIR_SLICE("Unsuitable output detected."));
    weir_json_write_end_object(w);
}

void weir_results_write_empty_output(struct weir_json_write *w, uint64_t choice_index, bool is_chat)
{
    char text[128];
    int n = snprintf(text, sizeof text, "Choice of index %llu has no content%s",
                     (unsigned long long)choice_index,
                     is_chat ? "" : ". Output detection was not executed");
    weir_json_write_begin_object(w);
    member(w, WEIR_SLICE("type"), WEIR_SLICE("EMPTY_OUTPUT"));
    member(w, WEIR_SLICE("message"), weir_slice_make(text, (size_t)n));
    weir_json_write_end_object(w);
}
