#ifndef WEIR_TESTS_FUZZ_STREAM_FOUND_H
#define WEIR_TESTS_FUZZ_STREAM_FOUND_H

/*
 * What the caller is told of findings: where something was found, and once.
 */
#include "fuzz/stream_replaced.h"
#include "wire/json.h"

static inline uint64_t hear_u64(const struct weir_json *j, uint32_t object, const char *name)
{
    uint64_t n = 0;
    uint32_t at = weir_json_get_set(j, object, weir_slice_cstr(name));
    CHECK(at != WEIR_JSON_NONE && weir_json_u64(j, at, &n) == 0);
    return n;
}

static inline size_t hear_detector(const struct talk *t, const struct weir_json *j, uint32_t result)
{
    uint32_t at = weir_json_get_set(j, result, WEIR_SLICE("detector_id"));
    size_t d = 0;
    CHECK(at != WEIR_JSON_NONE);
    while (d < t->n_detectors && !weir_json_string_eq(j, at, t->described[d].id)) {
        d++;
    }
    CHECK(d < t->n_detectors);
    return d;
}

/* Was it found there, and not told before in this place? `fms`: where, only its chunk knows. */
static inline void hear_finding(struct talk *t, size_t id, const struct weir_json *j,
                                uint32_t result, uint8_t told[N_DETECTORS][N_IDS][MAX_TEXT])
{
    size_t d = hear_detector(t, j, result);
    if (weir_json_get_set(j, result, WEIR_SLICE("start")) == WEIR_JSON_NONE) {
        t->n_heard_spanless[d]++;
        return;
    }
    uint64_t start = hear_u64(j, result, "start");
    bool is_replaced = t->enforces && t->policy.action == WEIR_POLICY_REDACT && id < N_IDS;
    size_t n_cp = is_replaced ? sizeof "[word]" - 1 : 3;
    CHECK(hear_u64(j, result, "end") == start + n_cp);
    start = is_replaced ? hear_original(t, d, id, start, told[d][id]) : start;
    t->n_heard_found[d]++;
    if (!t->env.compat.is_fms) {
        CHECK(start < MAX_TEXT && t->found[d][id][start]);
        CHECK(!told[d][id][start]);
        told[d][id][start] = 1;
    }
}

static inline void hear_findings_in(struct talk *t, size_t id, const struct weir_json *j,
                                    uint32_t array, uint8_t told[N_DETECTORS][N_IDS][MAX_TEXT])
{
    if (array == WEIR_JSON_NONE) {
        return;
    }
    uint32_t at = weir_json_first(j, array);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, array, at)) {
        hear_finding(t, id, j, at, told);
    }
}

static inline void hear_findings(struct talk *t, size_t id, const struct weir_json *j,
                                 uint32_t array)
{
    hear_findings_in(t, id, j, array, t->heard_found);
}

/* Tool calls are several texts: which of them a place is in cannot be seen. */
static inline size_t hear_slot(const struct weir_json *j, uint32_t entry)
{
    uint32_t channel = weir_json_get_set(j, entry, WEIR_SLICE("channel"));
    if (channel == WEIR_JSON_NONE) {
        return SLOT_CONTENT;
    }
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        if (weir_json_string_eq(j, channel,
                                weir_slice_cstr(weir_channel_name((enum weir_channel)i)))) {
            return i;
        }
    }
    return N_SLOTS;
}

static inline void hear_detections(struct talk *t, const struct weir_json *j)
{
    uint32_t detections = weir_json_get_set(j, 0, WEIR_SLICE("detections"));
    uint32_t output = detections != WEIR_JSON_NONE
                          ? weir_json_get_set(j, detections, WEIR_SLICE("output"))
                          : WEIR_JSON_NONE;
    uint32_t at = output != WEIR_JSON_NONE ? weir_json_first(j, output) : WEIR_JSON_NONE;
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, output, at)) {
        uint64_t choice = hear_u64(j, at, "choice_index");
        size_t slot = hear_slot(j, at);
        CHECK(choice < N_PLACES);
        if (slot != N_SLOTS) {
            hear_findings(t, choice * N_SLOTS + slot, j,
                          weir_json_get_set(j, at, WEIR_SLICE("results")));
        }
    }
}

#endif
