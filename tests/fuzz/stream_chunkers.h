#ifndef WEIR_TESTS_FUZZ_STREAM_CHUNKERS_H
#define WEIR_TESTS_FUZZ_STREAM_CHUNKERS_H

/*
 * A built-in chunker whose chunks end behind dots, and one far away that answers when it is told
 * to: late, with a failure, with nonsense.
 */
#include "base/err.h"
#include "base/mem.h"
#include "fuzz/stream_talk.h"

enum { MAX_TOLD = 16, FAR_CP = 24 /* that a chunker far away takes before it answers */ };

struct fake_chunker {
    struct weir_chunker base;
    struct talk *talk;
};

struct fake_chunks {
    struct weir_chunk_stream base;
    struct weir_fault fault;
    struct weir_list link;
    struct talk *talk;
    weir_chunk_ready_fn on_ready;
    void *ctx;
    struct weir_chunk_options options;
    struct weir_buf text;
    uint32_t cps[MAX_TEXT];
    uint64_t frames[MAX_TEXT];
    size_t n_cp;
    size_t given_cp;
    size_t cut_cp;
    bool has_ended;
    struct weir_chunk told[MAX_TOLD]; /* from afar, not yet taken */
    bool is_other[MAX_TOLD];          /* its words are not what was said */
    size_t n_told;
    size_t at_told;
    size_t last_cp; /* how much the last one answered for */
    int outcome;
};

static inline struct weir_chunk_stream *fake_open(const struct weir_chunker *c,
                                                  const struct weir_chunk_env *env,
                                                  const struct weir_chunk_options *options,
                                                  weir_chunk_ready_fn on_ready, void *ctx)
{
    struct fake_chunks *s = weir_mem_zalloc(sizeof *s);
    (void)env;
    s->base.chunker = c;
    s->talk = ((const struct fake_chunker *)c)->talk;
    s->on_ready = on_ready;
    s->ctx = ctx;
    s->options = *options;
    s->outcome = WEIR_EAGAIN;
    weir_list_append(&s->talk->chunks, &s->link);
    return &s->base;
}

static inline enum weir_flow fake_push(struct weir_chunk_stream *base, uint64_t frame,
                                       struct weir_slice text)
{
    struct fake_chunks *s = (struct fake_chunks *)base;
    size_t used;
    CHECK(!s->has_ended);
    weir_buf_append(&s->text, text);
    for (size_t at = 0; at < text.n; at += used) {
        CHECK(s->n_cp < MAX_TEXT);
        s->cps[s->n_cp] = weir_utf8_decode(weir_slice_sub(text, at, text.n), &used);
        s->frames[s->n_cp++] = frame;
    }
    bool is_at_work = !base->chunker->is_immediate && s->outcome == WEIR_EAGAIN;
    base->is_full = is_at_work && s->n_cp - s->given_cp > FAR_CP;
    return base->is_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

static inline void fake_cut(struct weir_chunk_stream *base)
{
    struct fake_chunks *s = (struct fake_chunks *)base;
    s->cut_cp = s->n_cp;
}

static inline void fake_end(struct weir_chunk_stream *base)
{
    struct fake_chunks *s = (struct fake_chunks *)base;
    CHECK(!s->has_ended);
    s->has_ended = true;
    s->cut_cp = s->n_cp;
}

static inline struct weir_chunk fake_chunk(const struct fake_chunks *s, size_t start, size_t end)
{
    size_t last = end != 0 && end <= s->n_cp ? end - 1 : (s->n_cp != 0 ? s->n_cp - 1 : 0);
    size_t from = s->options.start_cp;
    return (struct weir_chunk){.start_cp = from + start,
                               .end_cp = from + end,
                               .seen_end_cp = from + end,
                               .first_frame = start < s->n_cp ? s->frames[start] : 0,
                               .last_frame = s->n_cp != 0 ? s->frames[last] : 0};
}

/* Built in: behind each dot, and where it was cut. */
static inline int fake_next_dot(struct fake_chunks *s, struct weir_chunk *out)
{
    size_t end = s->given_cp;
    bool is_cut = s->cut_cp > s->given_cp;
    size_t limit = is_cut ? s->cut_cp : s->n_cp;
    while (end < limit && !stream_is(s->cps[end], LETTER_DOT)) {
        end++;
    }
    bool has_dot = end < limit;
    end += has_dot;
    if (end == s->given_cp || (!has_dot && !is_cut)) {
        return s->has_ended ? WEIR_ECLOSED : WEIR_EAGAIN;
    }
    *out = fake_chunk(s, s->given_cp, end);
    s->given_cp = end;
    return 0;
}

/* The words of a chunk, where a service would repeat them. */
static inline struct weir_slice fake_words(const struct fake_chunks *s, const struct weir_chunk *c)
{
    struct weir_slice all = weir_buf_slice(&s->text);
    size_t start = c->start_cp - s->options.start_cp;
    size_t end = c->end_cp - s->options.start_cp;
    size_t from = weir_utf8_byte_at(all, start < s->n_cp ? start : s->n_cp);
    size_t to = weir_utf8_byte_at(all, end < s->n_cp ? end : s->n_cp);
    return weir_slice_sub(all, from, to > from ? to : from);
}

static inline int fake_next_far(struct fake_chunks *s, struct weir_chunk *out)
{
    if (s->at_told == s->n_told) {
        return s->outcome;
    }
    bool is_other = s->is_other[s->at_told];
    *out = s->told[s->at_told++];
    if (s->options.is_lenient || is_other) {
        out->text = is_other ? WEIR_SLICE("other") : fake_words(s, out);
    }
    return 0;
}

static inline int fake_next(struct weir_chunk_stream *base, struct weir_chunk *out)
{
    struct fake_chunks *s = (struct fake_chunks *)base;
    return base->chunker->is_immediate ? fake_next_dot(s, out) : fake_next_far(s, out);
}

static inline void fake_close(struct weir_chunk_stream *base)
{
    struct fake_chunks *s = (struct fake_chunks *)base;
    weir_list_remove(&s->link);
    weir_buf_dispose(&s->text);
    free(s);
}

static const struct weir_chunk_ops FAKE_CHUNK_OPS = {.open = fake_open,
                                                     .push = fake_push,
                                                     .cut = fake_cut,
                                                     .end = fake_end,
                                                     .next = fake_next,
                                                     .close = fake_close};

/* ---- what the chunker far away is told to say ---- */

enum tell {
    TELL_LITTLE,
    TELL_SOME,
    TELL_ALL,
    TELL_OVERLAP, /* answers from where the last one ended and sees more */
    TELL_GAP,
    TELL_BEYOND,
    TELL_OTHER_TEXT,
    TELL_END_EARLY,
    TELL_FAIL
};

static inline void fake_tell_range(struct fake_chunks *s, size_t start, size_t end, bool is_other)
{
    if (s->at_told == s->n_told) {
        s->at_told = s->n_told = 0;
    }
    if (s->n_told == MAX_TOLD || end <= start) {
        return;
    }
    s->is_other[s->n_told] = is_other;
    s->told[s->n_told++] = fake_chunk(s, start, end);
    s->last_cp = end - start;
    s->given_cp = end <= s->n_cp ? end : s->n_cp;
}

static inline void fake_fail(struct fake_chunks *s)
{
    s->talk->has_fault = true;
    s->fault = (struct weir_fault){
        .origin = WEIR_FAULT_CHUNKER, .id = s->base.chunker->id, .err = WEIR_EPEER};
    s->base.fault = &s->fault;
    s->outcome = WEIR_EPEER;
}

static inline void fake_lie(struct fake_chunks *s, enum tell how)
{
    size_t at = s->given_cp;
    s->talk->is_lied = true;
    switch (how) {
    case TELL_GAP:
        fake_tell_range(s, at + 1, s->n_cp, false);
        break;
    case TELL_BEYOND:
        fake_tell_range(s, at, s->n_cp + 1, false);
        break;
    case TELL_OTHER_TEXT:
        fake_tell_range(s, at, s->n_cp, true);
        break;
    case TELL_END_EARLY:
        s->outcome = WEIR_ECLOSED;
        break;
    default:
        fake_fail(s);
        break;
    }
}

/* One of the chunkers far away says something. False: none has anything to say. */
static inline bool fake_tell(struct talk *t, size_t which, enum tell how)
{
    struct fake_chunks *s = NULL;
    for (struct weir_list *at = t->chunks.next; at != &t->chunks; at = at->next) {
        struct fake_chunks *one = WEIR_LIST_ENTRY(at, struct fake_chunks, link);
        bool has_room = one->n_told < MAX_TOLD || one->at_told == one->n_told;
        bool can_speak = has_room && (one->n_cp > one->given_cp || one->has_ended);
        if (!one->base.chunker->is_immediate && one->outcome == WEIR_EAGAIN && can_speak) {
            s = s == NULL || which-- != 0 ? one : s;
        }
    }
    if (s == NULL) {
        return false;
    }
    stream_tell("chunker", weir_slice_cstr(how <= TELL_OVERLAP ? "" : "lies"));
    size_t n = how == TELL_LITTLE ? 1 : how == TELL_SOME ? 4 : s->n_cp;
    if (how <= TELL_OVERLAP) {
        size_t end = s->given_cp + n;
        size_t back_cp = how == TELL_OVERLAP && !s->options.is_lenient ? s->last_cp : 0;
        fake_tell_range(s, s->given_cp, end < s->n_cp ? end : s->n_cp, false);
        if (s->n_told != s->at_told) {
            s->told[s->n_told - 1].back_cp = back_cp < 3 ? back_cp : 3;
        }
    } else {
        fake_lie(s, how);
    }
    if (s->has_ended && s->given_cp == s->n_cp && s->outcome == WEIR_EAGAIN) {
        s->outcome = WEIR_ECLOSED;
    }
    s->base.is_full = false;
    s->on_ready(s->ctx, &s->base);
    return true;
}

#endif
