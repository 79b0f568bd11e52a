/*
 * Arbitrary events in any order against the aggregator, the text log under it and the reference
 * beside it: same batches, same findings in the same order, same errors at the same moment.
 *
 *   byte 0     strategy and number of detectors
 *   then       events: kind and detector in one byte, arguments in the next ones
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define PAIR_CHECK(condition) ((condition) ? (void)0 : abort())
#include "unit/task/gather_pair.h"

struct input {
    const uint8_t *p;
    size_t n;
};

static uint8_t next(struct input *in)
{
    if (in->n == 0) {
        return 0;
    }
    in->n--;
    return *in->p++;
}

static uint32_t cps[REF_TEXT];

static void make_frame(struct pair *p, struct input *in, struct ref_event *e)
{
    static const uint32_t table[] = {'a', ' ', 0xE9, 0x3000, 0x4E2D, '\n', 0x1F680, 0x200B};
    size_t room = REF_TEXT - p->log.end_cp;
    e->n_cp = next(in) % 16;
    e->n_cp = e->n_cp < room ? e->n_cp : room;
    for (size_t i = 0; i < e->n_cp; i++) {
        cps[p->log.end_cp + i] = table[next(in) % 8];
    }
    pair_set_text(p, cps, p->log.end_cp + e->n_cp);
}

/* Near where the detector stands, so that sense and nonsense are both likely. */
static void make_verdict(const struct pair *p, struct input *in, struct ref_event *e,
                         size_t *n_findings)
{
    uint8_t where = next(in);
    size_t reach_cp = ref_reach(&p->ref, e->detector);
    e->start_cp = reach_cp + where % 8;
    e->start_cp -= e->start_cp > 0 && where % 8 == 7 ? 8 < e->start_cp ? 8 : e->start_cp : 0;
    e->end_cp = e->start_cp + where / 8;
    uint8_t findings = next(in);
    e->n_findings = findings % (REF_FINDINGS + 1);
    for (size_t i = 0; i < e->n_findings; i++) {
        e->findings[i] = (struct ref_finding){
            .serial = (*n_findings)++, .detector = e->detector, .has_span = (findings & 4) != 0};
        if (e->findings[i].has_span) {
            e->findings[i].start_cp = e->start_cp + (findings >> 3) % 4;
            e->findings[i].end_cp = e->findings[i].start_cp + i % 2;
        }
    }
}

/* False when the event cannot be given. */
static bool make_event(struct pair *p, struct input *in, struct ref_event *e, size_t *n_findings)
{
    uint8_t op = next(in);
    *e = (struct ref_event){.detector = (op >> 3) % p->ref.n_detectors};
    switch (op % 8) {
    case 0:
    case 1:
        if (p->ref.source_has_ended) {
            return false;
        }
        e->kind = REF_FRAME;
        make_frame(p, in, e);
        return true;
    case 2:
        e->kind = REF_END;
        return true;
    case 3:
        e->kind = REF_SOURCE_END;
        e->n_cp = op == 0xFB ? p->log.end_cp / 2 : p->log.end_cp;
        return !p->ref.source_has_ended;
    case 4:
        e->kind = (op & 0xF0) == 0xF0 ? REF_FAIL : REF_END;
        e->start_cp = ref_reach(&p->ref, e->detector) + next(in) % 4;
        return true;
    default:
        e->kind = REF_VERDICT;
        make_verdict(p, in, e, n_findings);
        return p->ref.n_verdicts[e->detector] < REF_VERDICTS;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const strategies[] = {"max_processed_index", "aligned",
                                             "min_processed_index"};
    static const char *const ids[REF_DETECTORS] = {"c", "a", "b", "B", "aa", "\xc3\xa4"};
    static struct pair p;
    struct input in = {data, size};
    uint8_t setting = next(&in);
    size_t n_findings = 0;
    pair_open(&p, strategies[setting % 3], ids, 1 + setting / 3u % REF_DETECTORS);
    while (in.n != 0 && p.error == NULL) {
        struct ref_event e;
        if (make_event(&p, &in, &e, &n_findings)) {
            if (p.has_failed && e.kind != REF_FAIL) {
                ref_feed(&p.ref, &e); /* kept as a measure of where detectors stand */
            }
            pair_feed(&p, &e);
        }
    }
    pair_close(&p);
    return 0;
}
