/*
 * The registry: families, their series, the threads' shards, all behind one lock that counting
 * never takes. Looking up a known series shares it, making a new one excludes; chunks of a shard
 * are published with release order and found with acquire order.
 */
#include "obs/metric.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "obs/obs_int.h"

#include <pthread.h>
#include <stdlib.h>

static struct weir_metric_shard no_shard; /* stays without chunks */
_Thread_local struct weir_metric_shard *weir_metric__shard = &no_shard;

static struct {
    pthread_rwlock_t lock;
    struct weir_metric_family *families;
    struct weir_metric_family **last_family;
    struct weir_metric_shard *shards;
    struct weir_metric_shard *idle_shards; /* their threads have ended */
    struct weir_map by_name;
    uint32_t n_slots; /* slot 0 is where all-zero handles count */
} registry = {
    .lock = PTHREAD_RWLOCK_INITIALIZER,
    .last_family = &registry.families,
    .n_slots = 1,
};

static pthread_key_t thread_end_key;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

static void lock_exclusive(void)
{
    int rc = pthread_rwlock_wrlock(&registry.lock);
    WEIR_ASSERT(rc == 0);
}

void weir_metric__lock_shared(void)
{
    int rc = pthread_rwlock_rdlock(&registry.lock);
    WEIR_ASSERT(rc == 0);
}

void weir_metric__unlock(void)
{
    pthread_rwlock_unlock(&registry.lock);
}

const struct weir_metric_family *weir_metric__families(void)
{
    return registry.families;
}

/* The lock orders the ended thread's last counts before the next owner's first. */
static void on_thread_end(void *arg)
{
    struct weir_metric_shard *s = arg;
    weir_metric__shard = &no_shard;
    lock_exclusive();
    s->next_idle = registry.idle_shards;
    registry.idle_shards = s;
    weir_metric__unlock();
}

static void make_thread_end_key(void)
{
    int rc = pthread_key_create(&thread_end_key, on_thread_end);
    WEIR_ASSERT(rc == 0);
}

static void get_shard(void)
{
    pthread_once(&thread_end_once, make_thread_end_key);
    lock_exclusive();
    struct weir_metric_shard *s = registry.idle_shards;
    if (s != NULL) {
        registry.idle_shards = s->next_idle;
    } else {
        s = weir_mem_zalloc_lines(sizeof *s);
        s->next = registry.shards;
        registry.shards = s;
    }
    weir_metric__unlock();
    weir_metric__shard = s;
    int rc = pthread_setspecific(thread_end_key, s);
    WEIR_ASSERT(rc == 0);
}

_Atomic uint64_t *weir_metric__make_chunk(uint32_t slot)
{
    if (weir_metric__shard == &no_shard) {
        get_shard();
    }
    uint32_t at = slot / WEIR_METRIC__CHUNK_SLOTS;
    WEIR_ASSERT(at < WEIR_METRIC__MAX_CHUNKS);
    _Atomic uint64_t *chunk =
        atomic_load_explicit(&weir_metric__shard->chunks[at], memory_order_relaxed);
    if (chunk == NULL) {
        chunk = weir_mem_zalloc_lines(WEIR_METRIC__CHUNK_SLOTS * sizeof *chunk);
        atomic_store_explicit(&weir_metric__shard->chunks[at], chunk, memory_order_release);
    }
    return chunk;
}

uint64_t weir_metric__sum(uint32_t slot)
{
    uint64_t sum = 0;
    for (struct weir_metric_shard *s = registry.shards; s != NULL; s = s->next) {
        _Atomic uint64_t *chunk =
            atomic_load_explicit(&s->chunks[slot / WEIR_METRIC__CHUNK_SLOTS], memory_order_acquire);
        if (chunk != NULL) {
            sum +=
                atomic_load_explicit(&chunk[slot % WEIR_METRIC__CHUNK_SLOTS], memory_order_relaxed);
        }
    }
    return sum;
}

/* `n` slots in one chunk, or 0 when there are no more. */
static uint32_t take_slots(uint32_t n)
{
    uint32_t at = registry.n_slots;
    if (at % WEIR_METRIC__CHUNK_SLOTS + n > WEIR_METRIC__CHUNK_SLOTS) {
        at += WEIR_METRIC__CHUNK_SLOTS - at % WEIR_METRIC__CHUNK_SLOTS;
    }
    if (at + n > WEIR_METRIC__CHUNK_SLOTS * WEIR_METRIC__MAX_CHUNKS) {
        return 0;
    }
    registry.n_slots = at + n;
    return at;
}

static bool is_name(const char *s)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:";
    static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789";
    return s[0] != '\0' && strchr(first, s[0]) != NULL && s[strspn(s, more)] == '\0';
}

static void prepare_hist(struct weir_metric_hist *h, const struct weir_metric_def *def)
{
    WEIR_ASSERT(def->n_buckets <= WEIR_METRIC_MAX_BUCKETS);
    for (size_t i = 0; i < def->n_buckets; i++) {
        WEIR_ASSERT(i == 0 || def->buckets[i] > def->buckets[i - 1]);
        h->bounds[i] = def->buckets[i];
    }
    h->bounds[def->n_buckets] = UINT64_MAX;
    h->n_buckets = (uint32_t)def->n_buckets + 1;
    /* Values with highest bit b are at least 2^b (0 counts as 1 there): skip smaller bounds. */
    for (unsigned b = 0; b < 64; b++) {
        uint64_t least = b == 0 ? 0 : (uint64_t)1 << b;
        uint8_t i = 0;
        while (h->bounds[i] < least) {
            i++;
        }
        h->first[b] = i;
    }
}

static uint32_t slots_per_series(const struct weir_metric_family *f)
{
    switch (f->def.type) {
    case WEIR_METRIC_COUNTER:
        return 1;
    case WEIR_METRIC_HISTOGRAM:
        return f->hist.n_buckets + 1;
    case WEIR_METRIC_GAUGE:
        break;
    }
    return 0;
}

/* Takes the text over. NULL when the slots are used up. */
static struct weir_metric_series *make_series(struct weir_metric_family *f, struct weir_slice text)
{
    uint32_t n_slots = slots_per_series(f);
    uint32_t slot = n_slots != 0 ? take_slots(n_slots) : 0;
    if (n_slots != 0 && slot == 0) {
        return NULL;
    }
    struct weir_metric_series *s = weir_mem_zalloc(sizeof *s);
    s->labels = weir_slice_make(weir_mem_dup(text.p, text.n), text.n);
    s->slot = slot;
    return s;
}

/* How one piece of a label value is shown; `*len` bytes of it are taken. */
static struct weir_slice escape(struct weir_slice v, size_t *len)
{
    *len = weir_utf8_sequence(v);
    if (*len == 0) {
        *len = 1;
        return WEIR_SLICE("\xEF\xBF\xBD");
    }
    switch (v.p[0]) {
    case '\n':
        return WEIR_SLICE("\\n");
    case '"':
        return WEIR_SLICE("\\\"");
    case '\\':
        return WEIR_SLICE("\\\\");
    default:
        break;
    }
    uint32_t cp = weir_utf8_decode(v, len);
    if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0)) {
        return WEIR_SLICE("\xEF\xBF\xBD");
    }
    return weir_slice_sub(v, 0, *len);
}

/* How many bytes are shown as they are: most values are plain words. */
static size_t plain_run(struct weir_slice v)
{
    size_t n = 0;
    while (n < v.n && v.p[n] >= 0x20 && v.p[n] < 0x7F && v.p[n] != '"' && v.p[n] != '\\') {
        n++;
    }
    return n;
}

static void append_value(struct weir_buf *out, struct weir_slice v)
{
    size_t end = out->n + WEIR_METRIC_MAX_VALUE_BYTES;
    while (v.n != 0) {
        size_t left = end - out->n;
        size_t len = plain_run(weir_slice_sub(v, 0, v.n < left ? v.n : left));
        struct weir_slice shown = weir_slice_sub(v, 0, len);
        if (len == 0) {
            shown = escape(v, &len);
        }
        if (shown.n > left) {
            return;
        }
        weir_buf_append(out, shown);
        v = weir_slice_sub(v, len, v.n);
    }
}

/* a="x",b="y" */
static void append_labels(struct weir_buf *out, const struct weir_metric_family *f,
                          const struct weir_slice *values)
{
    for (size_t i = 0; i < f->n_labels; i++) {
        weir_buf_append(out, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_buf_append(out, weir_slice_cstr(f->def.labels[i]));
        weir_buf_append(out, WEIR_SLICE("=\""));
        append_value(out, values[i]);
        weir_buf_append(out, WEIR_SLICE("\""));
    }
}

static struct weir_metric_series *make_other(struct weir_metric_family *f)
{
    struct weir_slice values[WEIR_METRIC_MAX_LABELS];
    for (size_t i = 0; i < WEIR_METRIC_MAX_LABELS; i++) {
        values[i] = WEIR_SLICE("other");
    }
    struct weir_buf text = {0};
    append_labels(&text, f, values);
    struct weir_metric_series *s = make_series(f, weir_buf_slice(&text));
    weir_buf_dispose(&text);
    WEIR_ASSERT(s != NULL); /* the number of families is our own */
    s->hidden = true;
    weir_map_put(&f->by_labels, s->labels, s);
    return s;
}

static struct weir_metric_family *make_family(const struct weir_metric_def *def)
{
    WEIR_ASSERT(is_name(def->name) && def->decimals <= 9);
    WEIR_ASSERT(def->type != WEIR_METRIC_COUNTER ||
                weir_slice_ends_with(weir_slice_cstr(def->name), WEIR_SLICE("_total")));
    struct weir_metric_family *f = weir_mem_zalloc(sizeof *f);
    f->def = *def;
    if (f->def.max_series == 0) {
        f->def.max_series = WEIR_METRIC_MAX_SERIES;
    }
    while (f->n_labels < WEIR_METRIC_MAX_LABELS && def->labels[f->n_labels] != NULL) {
        WEIR_ASSERT(is_name(def->labels[f->n_labels]));
        f->n_labels++;
    }
    if (def->type == WEIR_METRIC_HISTOGRAM) {
        prepare_hist(&f->hist, def);
    }
    f->other = make_other(f);
    return f;
}

static bool is_same(const struct weir_metric_def *a, const struct weir_metric_def *b)
{
    bool same = a->type == b->type && a->decimals == b->decimals && a->n_buckets == b->n_buckets;
    for (size_t i = 0; same && i < WEIR_METRIC_MAX_LABELS; i++) {
        same = weir_slice_eq(weir_slice_cstr(a->labels[i]), weir_slice_cstr(b->labels[i]));
    }
    return same;
}

struct weir_metric_family *weir_metric_declare(const struct weir_metric_def *def)
{
    lock_exclusive();
    struct weir_slice name = weir_slice_cstr(def->name);
    struct weir_metric_family *f = weir_map_get(&registry.by_name, name);
    if (f == NULL) {
        f = make_family(def);
        weir_map_put(&registry.by_name, name, f);
        *registry.last_family = f;
        registry.last_family = &f->next;
    } else {
        WEIR_ASSERT(is_same(&f->def, def));
    }
    weir_metric__unlock();
    return f;
}

/* Under either lock. NULL when it is to be made. */
static struct weir_metric_series *find_series(struct weir_metric_family *f, struct weir_slice text)
{
    struct weir_metric_series *s = weir_map_get(&f->by_labels, text);
    bool is_full = f->by_labels.n > f->def.max_series; /* `other` does not count */
    return s == NULL && is_full ? f->other : s;
}

/* Under the exclusive lock. Another thread may have been faster. */
static struct weir_metric_series *find_or_make(struct weir_metric_family *f, struct weir_slice text)
{
    struct weir_metric_series *s = find_series(f, text);
    if (s == NULL) {
        s = make_series(f, text);
        if (s == NULL) {
            return f->other;
        }
        weir_map_put(&f->by_labels, s->labels, s);
    }
    return s;
}

static struct weir_metric_series *get_series(struct weir_metric_family *f,
                                             struct weir_metric_labels labels,
                                             enum weir_metric_type type)
{
    WEIR_ASSERT(f->def.type == type && f->n_labels == labels.n);
    struct weir_buf text = {0};
    append_labels(&text, f, labels.v);
    weir_metric__lock_shared();
    struct weir_metric_series *s = find_series(f, weir_buf_slice(&text));
    bool is_shown = s != NULL && !s->hidden;
    weir_metric__unlock();
    if (!is_shown) {
        lock_exclusive();
        s = find_or_make(f, weir_buf_slice(&text));
        s->hidden = false;
        weir_metric__unlock();
    }
    weir_buf_dispose(&text);
    return s;
}

struct weir_metric_counter weir_metric_counter(struct weir_metric_family *f,
                                               struct weir_metric_labels labels)
{
    return (struct weir_metric_counter){get_series(f, labels, WEIR_METRIC_COUNTER)->slot};
}

struct weir_metric_gauge weir_metric_gauge(struct weir_metric_family *f,
                                           struct weir_metric_labels labels)
{
    return (struct weir_metric_gauge){&get_series(f, labels, WEIR_METRIC_GAUGE)->gauge};
}

struct weir_metric_histogram weir_metric_histogram(struct weir_metric_family *f,
                                                   struct weir_metric_labels labels)
{
    uint32_t slot = get_series(f, labels, WEIR_METRIC_HISTOGRAM)->slot;
    return (struct weir_metric_histogram){&f->hist, slot};
}

void weir_metric_callback(struct weir_metric_family *f, struct weir_metric_labels labels,
                          weir_metric_read_fn fn, void *ctx)
{
    WEIR_ASSERT(f->def.type != WEIR_METRIC_HISTOGRAM);
    struct weir_metric_series *s = get_series(f, labels, f->def.type);
    lock_exclusive();
    s->read = fn;
    s->read_ctx = ctx;
    s->hidden = fn == NULL;
    weir_metric__unlock();
}

void weir_metric_forget(struct weir_metric_family *f, struct weir_metric_labels labels)
{
    WEIR_ASSERT(f->def.type == WEIR_METRIC_GAUGE && f->n_labels == labels.n);
    struct weir_buf text = {0};
    append_labels(&text, f, labels.v);
    lock_exclusive();
    struct weir_metric_series *s = weir_map_get(&f->by_labels, weir_buf_slice(&text));
    if (s != NULL && s != f->other) {
        weir_map_remove(&f->by_labels, s->labels);
        free((void *)(uintptr_t)s->labels.p);
        free(s);
    }
    weir_metric__unlock();
    weir_buf_dispose(&text);
}

uint64_t weir_metric_counter_value(struct weir_metric_counter c)
{
    weir_metric__lock_shared();
    uint64_t sum = weir_metric__sum(c.slot);
    weir_metric__unlock();
    return sum;
}

uint64_t weir_metric_histogram_count(struct weir_metric_histogram h)
{
    uint64_t count = 0;
    weir_metric__lock_shared();
    for (uint32_t i = 0; h.hist != NULL && i < h.hist->n_buckets; i++) {
        count += weir_metric__sum(h.slot + i);
    }
    weir_metric__unlock();
    return count;
}

uint64_t weir_metric_histogram_sum(struct weir_metric_histogram h)
{
    if (h.hist == NULL) {
        return 0;
    }
    return weir_metric_counter_value((struct weir_metric_counter){h.slot + h.hist->n_buckets});
}
