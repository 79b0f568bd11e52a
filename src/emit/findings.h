#ifndef WEIR_EMIT_FINDINGS_H
#define WEIR_EMIT_FINDINGS_H

#include "base/buf.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The findings and warnings that the guard attached to chunks of one choice which leave as one. In
 * a chunk they are
 *
 *   "detections":{"output":[{"choice_index":0,"channel":"refusal","results":[…]}]},"warnings":[…]
 *
 * (`channel` and `warnings` only where there are any). Joined, the results of all chunks stand in
 * one list, in the order that one batch has them: those with a span by start, end and detector id,
 * then those without by detector id, else as they came. Each distinct warning is there once. Every
 * finding and warning is written as it was spelled. Nothing else is taken for the guard's: a chunk
 * with another shape of `detections` is left alone, whoever wrote it.
 */
enum {
    WEIR_FINDINGS_WARNINGS_MOST = 8,       /* distinct ones that are joined */
    WEIR_FINDINGS_CHANNEL_MOST_BYTES = 64, /* of a channel's name, with its quotes */
};

/* What one chunk has: nodes of its JSON, WEIR_JSON_NONE where absent. */
struct weir_findings_in {
    bool is_there;
    uint32_t detections;
    uint32_t warnings;
    uint32_t channel;
    uint32_t results;
};

/* Reads the chunk's findings; `choices` is its list of choices. Not there: it has none, or not in
 * this shape. */
void weir_findings_read(const struct weir_json *j, uint32_t choices, struct weir_findings_in *out);

static inline bool weir_findings_has_results(const struct weir_json *j,
                                             const struct weir_findings_in *in)
{
    return in->is_there && j->nodes[in->results].n != 0;
}

/* Bytes of what a chunk has, as they are counted here. */
size_t weir_findings_in_bytes(const struct weir_json *j, const struct weir_findings_in *in);

struct weir_findings_item {
    bool has_span;
    uint64_t start_cp;
    uint64_t end_cp;
    size_t order;   /* in which they came */
    size_t id_from; /* the detector's id, unescaped, in `bytes`; behind it the finding */
    size_t id_n;
    size_t raw_n;
    struct weir_slice id; /* while they are being sorted */
};

/* All-zero is empty. Memory is reused after clear. A shadow keeps numbers, hashes and the channel's
 * name, and writes nothing. */
struct weir_findings {
    bool is_there; /* some chunk had a list of them, if only an empty one */
    bool is_shadow;
    struct weir_buf channel; /* as spelled, with quotes; empty: the content */
    struct weir_buf bytes;
    struct weir_findings_item *items;
    size_t n_items;
    size_t cap_items;
    struct weir_buf warnings; /* as spelled, one behind the other */
    struct {
        size_t end; /* in `warnings` */
        uint64_t hash;
    } each_warning[WEIR_FINDINGS_WARNINGS_MOST];
    size_t n_warnings;
    size_t n_bytes; /* of everything joined; a shadow counts them, too */
};

/* May the chunk's be joined to what is there, so that there are at most `max_bytes` of them? The
 * first may always. */
bool weir_findings_fits(const struct weir_findings *f, const struct weir_json *j,
                        const struct weir_findings_in *in, size_t max_bytes);
void weir_findings_join(struct weir_findings *f, const struct weir_json *j,
                        const struct weir_findings_in *in);
/* Appends `,"detections":…` and `,"warnings":…`. Puts the items in order. */
void weir_findings_write(const struct weir_findings *f, uint32_t choice_index,
                         struct weir_buf *out);
/* Memory that it holds for what waits. */
size_t weir_findings_bytes(const struct weir_findings *f);
void weir_findings_clear(struct weir_findings *f);
void weir_findings_dispose(struct weir_findings *f);

#endif
