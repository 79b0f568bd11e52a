#ifndef WEIR_TESTS_FOUNDS_H
#define WEIR_TESTS_FOUNDS_H

#include "base/buf.h"
#include "unit/cmocka_all.h"
#include "unit/emit/ledger.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Every finding that went into the stages, or came out of them, by the number in its `detection`:
 * its bytes, its choice and its channel. And which warnings there were.
 */
enum { FOUNDS_MOST = 1024, FOUNDS_WARNINGS = 3 };

struct found {
    bool is_there;
    uint64_t choice;
    struct weir_buf channel;
    struct weir_buf raw;
};

struct founds {
    struct found each[FOUNDS_MOST];
    size_t n;
    bool warnings[FOUNDS_WARNINGS];
};

static inline void founds_dispose(struct founds *f)
{
    for (size_t i = 0; i < FOUNDS_MOST; i++) {
        weir_buf_dispose(&f->each[i].channel);
        weir_buf_dispose(&f->each[i].raw);
    }
    *f = (struct founds){0};
}

static inline uint64_t founds_number(const struct weir_json *j, uint32_t object, const char *name)
{
    uint64_t n = UINT64_MAX;
    uint32_t at = weir_json_get_set(j, object, weir_slice_cstr(name));
    if (at != WEIR_JSON_NONE) {
        assert_int_equal(weir_json_u64(j, at, &n), 0);
    }
    return n;
}

/* The order of one batch: by start, end, detector; those without a span behind them. */
static inline bool founds_is_before(const struct weir_json *j, uint32_t a, uint32_t b)
{
    uint64_t keys[2][2] = {{founds_number(j, a, "start"), founds_number(j, a, "end")},
                           {founds_number(j, b, "start"), founds_number(j, b, "end")}};
    for (size_t i = 0; i < 2; i++) {
        if (keys[0][i] != keys[1][i]) {
            return keys[0][i] < keys[1][i];
        }
    }
    struct weir_slice x = weir_json_raw(j, weir_json_get(j, a, WEIR_SLICE("detector_id")));
    struct weir_slice y = weir_json_raw(j, weir_json_get(j, b, WEIR_SLICE("detector_id")));
    return weir_slice_cmp(x, y) <= 0;
}

static inline size_t founds_code_points(const struct weir_buf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++) {
        n += ((unsigned char)text->p[i] & 0xC0) != 0x80;
    }
    return n;
}

/* How much of this channel has been said: a finding begins in it. */
static inline size_t founds_said(const struct ledger *l, uint64_t choice, struct weir_slice channel)
{
    char name = channel.n == 0 ? 'c' : (channel.p[2] == 'e' && channel.p[3] == 'a' ? 'R' : 'f');
    const struct ledger_entry *e = ledger_find(l, choice, name, 0);
    return e != NULL ? founds_code_points(&e->text) : 0;
}

static inline void founds_add_one(struct founds *f, const struct weir_json *j, uint32_t entry,
                                  uint32_t at)
{
    struct weir_slice raw = weir_json_raw(j, at);
    const char *number = memmem(raw.p, raw.n, "\"detection\":\"f", 14);
    assert_non_null(number);
    unsigned long n = strtoul(number + 14, NULL, 10);
    assert_true(n < FOUNDS_MOST && !f->each[n].is_there);
    f->each[n].is_there = true;
    f->each[n].choice = founds_number(j, entry, "choice_index");
    (void)weir_buf_append(&f->each[n].raw, raw);
    uint32_t channel = weir_json_get(j, entry, WEIR_SLICE("channel"));
    if (channel != WEIR_JSON_NONE) {
        (void)weir_buf_append(&f->each[n].channel, weir_json_raw(j, channel));
    }
    f->n++;
}

static inline void founds_add_entry(struct founds *f, const struct ledger *said,
                                    const struct weir_json *j, uint32_t entry)
{
    uint32_t results = weir_json_get(j, entry, WEIR_SLICE("results"));
    uint32_t before = WEIR_JSON_NONE;
    for (uint32_t at = weir_json_first(j, results); at != WEIR_JSON_NONE;
         at = weir_json_after(j, results, at)) {
        founds_add_one(f, j, entry, at);
        assert_true(before == WEIR_JSON_NONE || founds_is_before(j, before, at));
        uint32_t channel = weir_json_get(j, entry, WEIR_SLICE("channel"));
        struct weir_slice name =
            channel != WEIR_JSON_NONE ? weir_json_raw(j, channel) : WEIR_SLICE("");
        uint64_t start = founds_number(j, at, "start");
        assert_true(start == UINT64_MAX ||
                    start < founds_said(said, founds_number(j, entry, "choice_index"), name));
        before = at;
    }
}

static inline void founds_add_warnings(struct founds *f, const struct weir_json *j,
                                       uint32_t warnings)
{
    bool is_here[FOUNDS_WARNINGS] = {0};
    for (uint32_t at = weir_json_first(j, warnings); at != WEIR_JSON_NONE;
         at = weir_json_after(j, warnings, at)) {
        uint64_t n = founds_number(j, at, "n");
        assert_true(n < FOUNDS_WARNINGS && !is_here[n]);
        f->warnings[n] = is_here[n] = true;
    }
}

/* Enters a chunk's findings; `said` is what has been said with it. */
static inline void founds_add(struct founds *f, const struct ledger *said, struct weir_slice data)
{
    struct weir_json j;
    struct weir_arena arena = {0};
    assert_int_equal(weir_json_parse(&j, data, NULL, &arena, NULL), 0);
    uint32_t detections = weir_json_get(&j, 0, WEIR_SLICE("detections"));
    uint32_t warnings = weir_json_get(&j, 0, WEIR_SLICE("warnings"));
    if (detections != WEIR_JSON_NONE) {
        uint32_t output = weir_json_get(&j, detections, WEIR_SLICE("output"));
        assert_int_equal(j.nodes[output].n, 1);
        founds_add_entry(f, said, &j, output + 1);
    }
    if (warnings != WEIR_JSON_NONE) {
        founds_add_warnings(f, &j, warnings);
    }
    weir_arena_dispose(&arena);
}

static inline void founds_compare(const struct founds *in, const struct founds *out)
{
    assert_int_equal(in->n, out->n);
    for (size_t i = 0; i < FOUNDS_MOST; i++) {
        const struct found *a = &in->each[i];
        const struct found *b = &out->each[i];
        assert_int_equal(a->is_there, b->is_there);
        assert_int_equal(a->choice, b->choice);
        assert_true(weir_slice_eq(weir_buf_slice(&a->raw), weir_buf_slice(&b->raw)));
        assert_true(weir_slice_eq(weir_buf_slice(&a->channel), weir_buf_slice(&b->channel)));
    }
    for (size_t i = 0; i < FOUNDS_WARNINGS; i++) {
        assert_int_equal(in->warnings[i], out->warnings[i]);
    }
}

#endif
