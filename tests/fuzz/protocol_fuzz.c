/*
 * Answers of detectors that speak other protocols. The first line is the protocol's name; the rest
 * is the answer to two texts, or to one where the protocol takes one. What is believed has a list
 * for each text and keeps its promises; whatever else is a fault with a reason; an error's message
 * is clean.
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/utf8.h"
#include "detect/protocol.h"

#include <math.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct weir_protocol_label LABELS[] = {
    {.name = WEIR_SLICE("SAFE"), .is_dropped = true},
    {.name = WEIR_SLICE("BAD"), .detection = WEIR_SLICE("bad")},
};
static const struct weir_slice TEXTS[] = {WEIR_SLICE("w\xc3\xb6lf"), WEIR_SLICE("two")};

static void check_lists(const struct weir_detect_answer *answer, const struct weir_detect_input *in,
                        bool has_labels)
{
    WEIR_ASSERT(answer->n_lists == in->n_contents);
    for (size_t i = 0; i < answer->n_lists; i++) {
        for (size_t k = 0; k < answer->lists[i].n; k++) {
            const struct weir_detection *d = &answer->lists[i].items[k];
            WEIR_ASSERT(d->has_span && d->start_cp <= d->end_cp);
            WEIR_ASSERT(d->end_cp <= weir_utf8_count(in->contents[i]));
            WEIR_ASSERT(d->score >= in->threshold && isfinite(d->score));
            WEIR_ASSERT(weir_slice_eq_cstr(d->detector_id, "id"));
            WEIR_ASSERT(weir_utf8_is_valid(d->detection) && weir_utf8_is_valid(d->text));
            WEIR_ASSERT(!has_labels || !weir_slice_eq_cstr(d->detection, "SAFE"));
        }
    }
}

static void read_one(const struct weir_protocol *protocol, struct weir_slice body, bool has_labels)
{
    static const struct weir_slice positive[] = {WEIR_SLICE("yes")};
    struct weir_arena arena = {0};
    struct weir_judge_pattern *verdict = weir_judge_pattern_new(WEIR_SLICE("^(yes|no)"), NULL);
    struct weir_protocol_options options = {.labels = LABELS,
                                            .n_labels = has_labels ? 2 : 0,
                                            .model = WEIR_SLICE("m"),
                                            .output_name = WEIR_SLICE("o"),
                                            .activation = WEIR_ACTIVATION_SOFTMAX,
                                            .is_shield = !has_labels,
                                            .preset = has_labels ? WEIR_JUDGE_CUSTOM
                                                                 : WEIR_JUDGE_QWEN3GUARD,
                                            .verdict = verdict,
                                            .positive = positive,
                                            .n_positive = 1};
    struct weir_detect_input input = {.type = WEIR_DETECT_CONTENTS,
                                      .contents = TEXTS,
                                      .n_contents = protocol->max_texts == 1 ? 1 : 2,
                                      .threshold = 0.25};
    struct weir_protocol_ask ask = {
        .options = &options, .input = &input, .id = WEIR_SLICE("id"), .arena = &arena};
    struct weir_detect_answer answer;
    struct weir_fault fault = {0};
    int rc = weir_protocol_read(protocol, &answer, body, &ask);
    if (rc == 0) {
        check_lists(&answer, &input, has_labels);
    } else {
        WEIR_ASSERT(rc == WEIR_EPEER && answer.why != NULL && answer.n_lists == 0);
    }
    protocol->error(&fault, 500, body, &arena);
    WEIR_ASSERT(weir_utf8_is_valid(fault.message));
    weir_judge_pattern_free(verdict);
    weir_arena_dispose(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice body = weir_slice_make((const char *)data, size);
    struct weir_slice name = weir_slice_cut(&body, '\n');
    const struct weir_protocol *protocol = weir_protocol_find(name);
    if (protocol == NULL || body.p == NULL || (protocol->max_texts == 0)) {
        return 0;
    }
    /* Without columns nothing of `oip` can be read: the configuration does not allow it. */
    bool needs_labels = weir_slice_eq_cstr(name, "oip");
    read_one(protocol, body, true);
    if (!needs_labels) {
        read_one(protocol, body, false);
    }
    return 0;
}
