#include "detect/verdicts.h"

#include "base/assert.h"
#include "base/mem.h"
#include "io/loop.h"
#include "obs/metric.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A finding whose slices point into its block, but for those that a content or detector has. */
struct packed {
    struct weir_detection d;
    bool is_in_content; /* its text is the content's from text_byte on */
    size_t text_byte;
};

struct weir_verdict {
    struct weir_hash_value key;
    struct weir_list by_use;
    struct weir_list by_age;
    uint64_t until_ms;
    size_t bytes; /* of the block */
    size_t n;
    struct packed items[];
};

/* What a verdict costs besides its block: its places in the map, at most half empty. */
enum { OVERHEAD_BYTES = 2 * (sizeof(struct weir_map_entry) + 2 * sizeof(uint32_t)) };

static struct weir_metric_gauge bytes_gauge;

static const struct weir_metric_def BYTES = {
    .name = "weir_detector_cache_bytes",
    .help = "Memory of verdicts that are kept, of all workers.",
    .type = WEIR_METRIC_GAUGE,
};
static const struct weir_metric_def ASKED = {
    .name = "weir_detector_cache_total",
    .help = "Questions to detectors: hit (the verdict was known), joined (the same was being asked "
            "already), miss.",
    .type = WEIR_METRIC_COUNTER,
    .labels = {"detector", "result"},
};

void weir_verdicts_declare(void)
{
    bytes_gauge = weir_metric_gauge(weir_metric_declare(&BYTES), WEIR_METRIC_NO_LABELS);
    weir_metric_declare(&ASKED);
}

struct weir_detect_counts weir_verdicts_counts(struct weir_slice detector_id)
{
    struct weir_metric_family *f = weir_metric_declare(&ASKED);
    return (struct weir_detect_counts){
        .hit = weir_metric_counter(f, WEIR_METRIC_LABELS(detector_id, WEIR_SLICE("hit"))),
        .joined = weir_metric_counter(f, WEIR_METRIC_LABELS(detector_id, WEIR_SLICE("joined"))),
        .miss = weir_metric_counter(f, WEIR_METRIC_LABELS(detector_id, WEIR_SLICE("miss"))),
    };
}

uint64_t weir_verdicts_serial(void)
{
    static atomic_uint_fast64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

/* ---- one verdict ---- */

static bool lies_in(struct weir_slice part, struct weir_slice whole)
{
    uintptr_t from = (uintptr_t)whole.p;
    uintptr_t at = (uintptr_t)part.p;
    return part.p != NULL && whole.p != NULL && at >= from && at - from <= whole.n &&
           part.n <= whole.n - (at - from);
}

static size_t size_of(const struct weir_detect_list *list, struct weir_slice content)
{
    size_t n = sizeof(struct weir_verdict) + list->n * sizeof(struct packed);
    for (size_t i = 0; i < list->n; i++) {
        const struct weir_detection *d = &list->items[i];
        n += d->detection.n + d->detection_type.n + d->evidence.n + d->metadata.n + d->score_raw.n;
        n += lies_in(d->text, content) ? 0 : d->text.n;
    }
    return n;
}

static struct weir_slice put(char **at, struct weir_slice s)
{
    struct weir_slice copy = {*at, s.n};
    if (s.n == 0) {
        return (struct weir_slice){0};
    }
    memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

struct weir_verdict *weir_verdict_new(const struct weir_detect_list *list,
                                      struct weir_slice content)
{
    size_t bytes = size_of(list, content);
    struct weir_verdict *verdict = weir_mem_zalloc(bytes);
    verdict->bytes = bytes;
    verdict->n = list->n;
    char *at = (char *)&verdict->items[list->n];
    for (size_t i = 0; i < list->n; i++) {
        struct packed *p = &verdict->items[i];
        p->d = list->items[i];
        p->d.detector_id = (struct weir_slice){0};
        p->d.detection = put(&at, p->d.detection);
        p->d.detection_type = put(&at, p->d.detection_type);
        p->d.evidence = put(&at, p->d.evidence);
        p->d.metadata = put(&at, p->d.metadata);
        p->d.score_raw = put(&at, p->d.score_raw);
        p->is_in_content = lies_in(p->d.text, content);
        if (p->is_in_content) {
            p->text_byte = (size_t)(p->d.text.p - content.p);
            p->d.text.p = NULL;
        } else {
            p->d.text = put(&at, p->d.text);
        }
    }
    WEIR_ASSERT(at == (char *)verdict + bytes);
    return verdict;
}

void weir_verdict_free(struct weir_verdict *verdict)
{
    explicit_bzero(verdict, verdict->bytes);
    free(verdict);
}

static struct weir_slice copy(struct weir_arena *arena, struct weir_slice s)
{
    return s.n != 0 ? weir_arena_dup(arena, s) : s;
}

struct weir_detect_list weir_verdict_list(const struct weir_verdict *verdict,
                                          struct weir_slice content, struct weir_slice detector_id,
                                          struct weir_arena *arena)
{
    if (verdict->n == 0) {
        return (struct weir_detect_list){0};
    }
    struct weir_detection *items = weir_arena_array(arena, verdict->n, sizeof *items);
    for (size_t i = 0; i < verdict->n; i++) {
        const struct packed *p = &verdict->items[i];
        struct weir_detection *d = &items[i];
        *d = p->d;
        d->detector_id = detector_id;
        d->detection = copy(arena, d->detection);
        d->detection_type = copy(arena, d->detection_type);
        d->evidence = copy(arena, d->evidence);
        d->metadata = copy(arena, d->metadata);
        d->score_raw = copy(arena, d->score_raw);
        d->text = p->is_in_content
                      ? weir_slice_sub(content, p->text_byte, p->text_byte + p->d.text.n)
                      : copy(arena, d->text);
    }
    return (struct weir_detect_list){.items = items, .n = verdict->n};
}

/* ---- the store ---- */

static uint64_t now_of(const struct weir_verdicts *v)
{
    return v->loop != NULL ? weir_loop_now_ms(v->loop) : v->now_ms;
}

static struct weir_slice key_slice(const struct weir_hash_value *key)
{
    return weir_slice_make((const char *)key, sizeof *key);
}

static void count(struct weir_verdicts *v, const struct weir_verdict *verdict, int sign)
{
    size_t n = verdict->bytes + OVERHEAD_BYTES;
    if (sign > 0) {
        v->bytes += n;
        weir_account_add(&v->account, n);
    } else {
        v->bytes -= n;
        weir_account_sub(&v->account, n);
    }
    weir_metric_gauge_add(bytes_gauge, sign * (int64_t)n);
}

static void drop(struct weir_verdicts *v, struct weir_verdict *verdict)
{
    weir_map_remove(&v->kept, key_slice(&verdict->key));
    weir_list_remove(&verdict->by_use);
    weir_list_remove(&verdict->by_age);
    count(v, verdict, -1);
    weir_verdict_free(verdict);
}

static void drop_old(struct weir_verdicts *v)
{
    struct weir_list *first;
    while ((first = weir_list_first(&v->by_age)) != NULL) {
        struct weir_verdict *oldest = WEIR_LIST_ENTRY(first, struct weir_verdict, by_age);
        if (now_of(v) < oldest->until_ms) {
            return;
        }
        drop(v, oldest);
    }
}

void weir_verdicts_init(struct weir_verdicts *v, const struct weir_loop *loop)
{
    *v = (struct weir_verdicts){.loop = loop};
    weir_list_init(&v->by_use);
    weir_list_init(&v->by_age);
}

void weir_verdicts_clear(struct weir_verdicts *v)
{
    struct weir_list *first;
    while ((first = weir_list_first(&v->by_age)) != NULL) {
        drop(v, WEIR_LIST_ENTRY(first, struct weir_verdict, by_age));
    }
    weir_map_dispose(&v->kept);
}

void weir_verdicts_dispose(struct weir_verdicts *v)
{
    WEIR_ASSERT(v->asked.n == 0);
    weir_verdicts_clear(v);
    weir_map_dispose(&v->asked);
    WEIR_ASSERT(v->bytes == 0 && v->account.bytes == 0);
}

void weir_verdicts_set(struct weir_verdicts *v, size_t max_bytes, uint64_t ttl_ms)
{
    weir_verdicts_clear(v);
    v->max_bytes = max_bytes;
    v->ttl_ms = ttl_ms;
}

const struct weir_verdict *weir_verdicts_get(struct weir_verdicts *v,
                                             const struct weir_hash_value *key)
{
    drop_old(v);
    struct weir_verdict *verdict = weir_map_get(&v->kept, key_slice(key));
    if (verdict != NULL) {
        weir_list_remove(&verdict->by_use);
        weir_list_append(&v->by_use, &verdict->by_use);
    }
    return verdict;
}

static void make_place(struct weir_verdicts *v, size_t n)
{
    struct weir_list *first;
    while (v->bytes + n > v->max_bytes && (first = weir_list_first(&v->by_use)) != NULL) {
        drop(v, WEIR_LIST_ENTRY(first, struct weir_verdict, by_use));
    }
}

void weir_verdicts_take(struct weir_verdicts *v, const struct weir_hash_value *key,
                        struct weir_verdict *verdict)
{
    size_t n = verdict->bytes + OVERHEAD_BYTES;
    drop_old(v);
    struct weir_verdict *old = weir_map_get(&v->kept, key_slice(key));
    if (old != NULL) {
        drop(v, old);
    }
    if (n > v->max_bytes || n > weir_account_room(NULL)) {
        weir_verdict_free(verdict);
        return;
    }
    make_place(v, n);
    verdict->key = *key;
    verdict->until_ms = now_of(v) + v->ttl_ms;
    weir_list_append(&v->by_use, &verdict->by_use);
    weir_list_append(&v->by_age, &verdict->by_age);
    weir_map_put(&v->kept, key_slice(&verdict->key), verdict);
    count(v, verdict, 1);
}
