#ifndef WEIR_TESTS_LEDGER_H
#define WEIR_TESTS_LEDGER_H

#include "base/buf.h"
#include "base/mem.h"
#include "emit/event.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a stream of chunks says, chunk borders forgotten: the joined text of every choice and
 * channel, with where and when each piece ended. One ledger is kept of what goes into the stages
 * and one of what comes out; comparing them is the test that nothing was lost, doubled, reordered
 * or split.
 */
struct ledger_piece {
    size_t end; /* in the text */
    uint64_t at_ms;
};

struct ledger_entry {
    uint64_t choice;
    char channel; /* c content, r reasoning, R reasoning_content, f refusal, t text, a arguments */
    uint64_t tool;
    struct weir_buf text;
    struct ledger_piece *pieces;
    size_t n_pieces;
    size_t n_cap;
};

struct ledger {
    struct ledger_entry *entries;
    size_t n;
    size_t n_cap;
    struct weir_buf runs;   /* in which order channels spoke: see ledger_run */
    struct weir_buf opaque; /* payloads that are no chunks */
    size_t n_text_bytes;    /* of all text channels */
    bool is_vague;          /* a tool call without index: whose it is depends on the order */
    struct weir_json_tape tape;
};

static inline void ledger_dispose(struct ledger *l)
{
    for (size_t i = 0; i < l->n; i++) {
        weir_buf_dispose(&l->entries[i].text);
        free(l->entries[i].pieces);
    }
    free(l->entries);
    weir_buf_dispose(&l->runs);
    weir_buf_dispose(&l->opaque);
    weir_json_tape_dispose(&l->tape);
    *l = (struct ledger){0};
}

static inline struct ledger_entry *ledger_find(const struct ledger *l, uint64_t choice,
                                               char channel, uint64_t tool)
{
    for (size_t i = 0; i < l->n; i++) {
        struct ledger_entry *e = &l->entries[i];
        if (e->choice == choice && e->channel == channel && e->tool == tool) {
            return e;
        }
    }
    return NULL;
}

static inline struct ledger_entry *ledger_entry(struct ledger *l, uint64_t choice, char channel,
                                                uint64_t tool)
{
    struct ledger_entry *e = ledger_find(l, choice, channel, tool);
    if (e != NULL) {
        return e;
    }
    if (l->n == l->n_cap) {
        l->n_cap = l->n_cap == 0 ? 8 : l->n_cap * 2;
        l->entries = weir_mem_realloc(l->entries, l->n_cap * sizeof *l->entries);
    }
    l->entries[l->n] = (struct ledger_entry){.choice = choice, .channel = channel, .tool = tool};
    return &l->entries[l->n++];
}

static inline void ledger_append(struct ledger *l, struct ledger_entry *e,
                                 const struct weir_json *j, uint32_t at, uint64_t at_ms)
{
    size_t before = e->text.n;
    (void)weir_json_string_append(j, at, &e->text);
    if (e->text.n == before) {
        return;
    }
    l->n_text_bytes += e->channel != 'a' ? e->text.n - before : 0;
    if (e->n_pieces == e->n_cap) {
        e->n_cap = e->n_cap == 0 ? 16 : e->n_cap * 2;
        e->pieces = weir_mem_realloc(e->pieces, e->n_cap * sizeof *e->pieces);
    }
    e->pieces[e->n_pieces++] = (struct ledger_piece){e->text.n, at_ms};
}

static inline void ledger_tools(struct ledger *l, const struct weir_json *j, uint64_t choice,
                                uint32_t calls, uint64_t at_ms)
{
    for (uint32_t c = weir_json_first(j, calls); c != WEIR_JSON_NONE;
         c = weir_json_after(j, calls, c)) {
        uint32_t index = weir_json_get_set(j, c, WEIR_SLICE("index"));
        uint32_t function = weir_json_get_set(j, c, WEIR_SLICE("function"));
        uint32_t args = function != WEIR_JSON_NONE
                            ? weir_json_get_set(j, function, WEIR_SLICE("arguments"))
                            : WEIR_JSON_NONE;
        uint64_t tool = 0;
        if (index == WEIR_JSON_NONE || weir_json_u64(j, index, &tool) != 0) {
            l->is_vague = true;
        }
        if (args != WEIR_JSON_NONE && weir_json_type(j, args) == WEIR_JSON_STRING) {
            ledger_append(l, ledger_entry(l, choice, 'a', tool), j, args, at_ms);
        }
    }
}

/* A run is (choice, channel, end of the text so far); runs of one channel on end are one. So two
 * ledgers have equal runs of a choice exactly if its channels took turns at the same places. */
static inline void ledger_run(struct ledger *l, const struct ledger_entry *e)
{
    uint64_t run[3] = {e->choice, (uint64_t)e->channel, e->text.n};
    for (size_t i = l->runs.n / sizeof run; i > 0; i--) {
        uint64_t other[3];
        char *at = l->runs.p + (i - 1) * sizeof run;
        memcpy(other, at, sizeof run);
        if (other[0] == run[0] && other[1] == run[1]) {
            memcpy(at, run, sizeof run);
            return;
        }
        if (other[0] == run[0]) {
            break;
        }
    }
    (void)weir_buf_append(&l->runs, weir_slice_make((const char *)run, sizeof run));
}

static inline bool ledger_is_text(const struct weir_json *j, uint32_t at)
{
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_STRING && j->nodes[at].n != 0;
}

static inline void ledger_delta(struct ledger *l, const struct weir_json *j, uint64_t choice,
                                uint32_t delta, uint64_t at_ms)
{
    static const struct {
        const char *name;
        char channel;
    } channels[] = {
        {"reasoning", 'r'}, {"reasoning_content", 'R'}, {"refusal", 'f'}, {"content", 'c'}};
    uint32_t other = weir_json_get_set(j, delta, WEIR_SLICE("reasoning"));
    for (size_t i = 0; i < 4; i++) {
        uint32_t at = weir_json_get_set(j, delta, weir_slice_cstr(channels[i].name));
        if (!ledger_is_text(j, at)) {
            continue;
        }
        struct ledger_entry *e = ledger_entry(l, choice, channels[i].channel, 0);
        ledger_append(l, e, j, at, at_ms);
        /* One text under both names is one run. */
        if (channels[i].channel != 'R' || !ledger_is_text(j, other) ||
            !weir_json_equal(j, at, j, other)) {
            ledger_run(l, e);
        }
    }
    uint32_t calls = weir_json_get_set(j, delta, WEIR_SLICE("tool_calls"));
    if (calls != WEIR_JSON_NONE && weir_json_type(j, calls) == WEIR_JSON_ARRAY) {
        ledger_tools(l, j, choice, calls, at_ms);
    }
}

static inline void ledger_choice(struct ledger *l, const struct weir_json *j, uint32_t choice,
                                 uint64_t at_ms)
{
    uint64_t index = 0;
    uint32_t at_index = weir_json_get_set(j, choice, WEIR_SLICE("index"));
    uint32_t delta = weir_json_get_set(j, choice, WEIR_SLICE("delta"));
    uint32_t text = weir_json_get_set(j, choice, WEIR_SLICE("text"));
    if (at_index != WEIR_JSON_NONE && weir_json_u64(j, at_index, &index) != 0) {
        index = UINT64_MAX;
    }
    if (text != WEIR_JSON_NONE && weir_json_type(j, text) == WEIR_JSON_STRING) {
        ledger_append(l, ledger_entry(l, index, 't', 0), j, text, at_ms);
    }
    if (delta != WEIR_JSON_NONE) {
        ledger_delta(l, j, index, delta, at_ms);
    }
}

/* Enters a chunk. */
static inline void ledger_add(struct ledger *l, struct weir_slice data, uint64_t at_ms)
{
    struct weir_json j;
    uint32_t choices = WEIR_JSON_NONE;
    if (weir_json_parse_reuse(&j, data, NULL, &l->tape, NULL) == 0) {
        choices = weir_json_get_set(&j, 0, WEIR_SLICE("choices"));
    }
    if (choices == WEIR_JSON_NONE || weir_json_type(&j, choices) != WEIR_JSON_ARRAY) {
        (void)weir_buf_append(&l->opaque, data);
        return;
    }
    for (uint32_t c = weir_json_first(&j, choices); c != WEIR_JSON_NONE;
         c = weir_json_after(&j, choices, c)) {
        ledger_choice(l, &j, c, at_ms);
    }
}

/* Does every piece of `out` end where one of `in` ends? Else a delta was split. */
static inline bool ledger_is_unsplit(const struct ledger_entry *in, const struct ledger_entry *out)
{
    size_t k = 0;
    for (size_t i = 0; i < out->n_pieces; i++) {
        while (k < in->n_pieces && in->pieces[k].end < out->pieces[i].end) {
            k++;
        }
        if (k == in->n_pieces || in->pieces[k].end != out->pieces[i].end) {
            return false;
        }
    }
    return true;
}

/* The longest a piece of `in` waited until it was in `out`; needs equal texts. */
static inline uint64_t ledger_longest_wait(const struct ledger_entry *in,
                                           const struct ledger_entry *out)
{
    uint64_t longest = 0;
    size_t k = 0;
    for (size_t i = 0; i < in->n_pieces; i++) {
        while (k < out->n_pieces && out->pieces[k].end < in->pieces[i].end) {
            k++;
        }
        if (k < out->n_pieces && out->pieces[k].at_ms > in->pieces[i].at_ms) {
            uint64_t wait = out->pieces[k].at_ms - in->pieces[i].at_ms;
            longest = wait > longest ? wait : longest;
        }
    }
    return longest;
}

/* NULL, or what is wrong. */
static inline const char *ledger_compare(const struct ledger *in, const struct ledger *out,
                                         bool with_tools)
{
    for (size_t i = 0; i < in->n; i++) {
        const struct ledger_entry *a = &in->entries[i];
        const struct ledger_entry *b = ledger_find(out, a->choice, a->channel, a->tool);
        if ((a->channel == 'a' && !with_tools) || a->text.n == 0) {
            continue;
        }
        if (b == NULL || !weir_slice_eq(weir_buf_slice(&a->text), weir_buf_slice(&b->text))) {
            return a->channel == 'a' ? "arguments differ" : "text differs";
        }
        if (!ledger_is_unsplit(a, b)) {
            return "a delta was split";
        }
    }
    for (size_t i = 0; i < out->n; i++) {
        const struct ledger_entry *b = &out->entries[i];
        if (b->text.n != 0 && (with_tools || b->channel != 'a') &&
            ledger_find(in, b->choice, b->channel, b->tool) == NULL) {
            return "text came from nowhere";
        }
    }
    if (!weir_slice_eq(weir_buf_slice(&in->opaque), weir_buf_slice(&out->opaque))) {
        return "opaque payloads differ";
    }
    return NULL;
}

/* The next run of a choice at or behind `*at`; false: no more. */
static inline bool ledger_next_run(const struct ledger *l, uint64_t choice, size_t *at,
                                   uint64_t run[3])
{
    while (*at < l->runs.n) {
        memcpy(run, l->runs.p + *at, 3 * sizeof run[0]);
        *at += 3 * sizeof run[0];
        if (run[0] == choice) {
            return true;
        }
    }
    return false;
}

/* Did the channels of the choice take turns in the same way? */
static inline bool ledger_same_runs(const struct ledger *in, const struct ledger *out,
                                    uint64_t choice)
{
    size_t i = 0;
    size_t k = 0;
    uint64_t a[3];
    uint64_t b[3];
    bool has_a;
    bool has_b;
    do {
        has_a = ledger_next_run(in, choice, &i, a);
        has_b = ledger_next_run(out, choice, &k, b);
        if (has_a != has_b || (has_a && (a[1] != b[1] || a[2] != b[2]))) {
            return false;
        }
    } while (has_a);
    return true;
}

#endif
