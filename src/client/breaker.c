#include "client/breaker.h"

#include "base/hash.h"

enum { CLOSED, OPEN, HALF_OPEN }; /* as the gauge says them */
enum { NOBODY, UNNAMED, FIRST };  /* who tries it; from FIRST on requests with an id */

static bool has_failed_often(const struct weir_breaker *b)
{
    return atomic_load_explicit(&b->n_failed, memory_order_relaxed) >= WEIR_BREAKER_MAX_FAILURES;
}

void weir_breaker_init(struct weir_breaker *b)
{
    atomic_init(&b->n_failed, 0);
    atomic_init(&b->rest_ms, 0);
    atomic_init(&b->trial, 0);
    b->state = (struct weir_metric_gauge){0};
    b->n_opened = (struct weir_metric_counter){0};
}

uint64_t weir_breaker_who(struct weir_slice request_id)
{
    struct weir_hash hash;
    weir_hash_begin(&hash);
    weir_hash_add(&hash, request_id);
    uint64_t who = weir_hash_end(&hash).words[0];
    return request_id.n == 0 || who < FIRST ? UNNAMED : who;
}

/* Does the trial belong to this request? */
static bool is_own(uint64_t trial, uint64_t who)
{
    return trial == who && who != UNNAMED;
}

bool weir_breaker_is_awake(const struct weir_breaker *b, uint64_t who, uint64_t now_ms)
{
    uint64_t trial = atomic_load_explicit(&b->trial, memory_order_relaxed);
    return !has_failed_often(b) ||
           (now_ms >= atomic_load_explicit(&b->rest_ms, memory_order_relaxed) &&
            (trial == NOBODY || is_own(trial, who)));
}

bool weir_breaker_claim(struct weir_breaker *b, uint64_t who)
{
    uint_least64_t trial = NOBODY;
    if (!has_failed_often(b)) {
        return true;
    }
    if (!atomic_compare_exchange_strong(&b->trial, &trial, who)) {
        return is_own(trial, who);
    }
    weir_metric_set(b->state, HALF_OPEN);
    return true;
}

void weir_breaker_settle(struct weir_breaker *b, enum weir_breaker_outcome outcome, uint64_t now_ms)
{
    if (outcome == WEIR_BREAKER_WORKED && atomic_exchange(&b->n_failed, 0) != 0) {
        weir_metric_set(b->state, CLOSED);
    } else if (outcome == WEIR_BREAKER_FAILED) {
        unsigned n = atomic_fetch_add(&b->n_failed, 1) + 1;
        if (n >= WEIR_BREAKER_MAX_FAILURES) {
            atomic_store(&b->rest_ms, now_ms + WEIR_BREAKER_REST_MS);
            weir_metric_add(b->n_opened, n == WEIR_BREAKER_MAX_FAILURES);
            weir_metric_set(b->state, OPEN);
        }
    } else if (outcome == WEIR_BREAKER_STOPPED && has_failed_often(b)) {
        weir_metric_set(b->state, OPEN);
    }
    atomic_store(&b->trial, NOBODY);
}

void weir_breaker_count(struct weir_breaker *b, struct weir_slice detector_id)
{
    static const struct weir_metric_def STATE = {
        .name = "weir_detector_breaker_state",
        .help = "Is a detector asked? 0: yes; 1: no, it rests after failures; 2: one request tries "
                "it.",
        .type = WEIR_METRIC_GAUGE,
        .labels = {"detector"},
    };
    static const struct weir_metric_def OPENED = {
        .name = "weir_detector_breaker_opened_total",
        .help = "How often a detector failed so many times in a row that it was left to rest.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"detector"},
    };
    b->state = weir_metric_gauge(weir_metric_declare(&STATE), WEIR_METRIC_LABELS(detector_id));
    b->n_opened =
        weir_metric_counter(weir_metric_declare(&OPENED), WEIR_METRIC_LABELS(detector_id));
    weir_metric_set(b->state, CLOSED);
}
