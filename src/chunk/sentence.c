/*
 * One walk over the text, code point by code point, three machines side by side:
 *
 *   breaks   where Unicode ends a sentence        ─┐
 *   lines    fence, item or prose                  ├─► this file: does it count, and as of where
 *   tailor   abbreviations, URLs, emphasis, …     ─┘
 *
 * Runs of ordinary ASCII inside a line, most of any English text, are skipped in one go.
 */
#include "chunk/sentence.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "chunk/lines.h"
#include "chunk/tiling.h"

#include <stdlib.h>

enum {
    ITEM_BYTES = 1024, /* an item longer than this is cut at its sentences */
    THAI_CP = 64,      /* a Thai chunk shorter than this is not ended by a space */
    MIN_BYTES = 16,
    GREEK_QUESTION = 0x37E, /* normalizes to ";" */
};

struct stream {
    struct weir_tiling tiling;
    struct weir_breaks breaks;
    struct weir_lines lines;
    struct weir_tiling_place maybe; /* where breaks said MAYBE */
    uint32_t prev_cp;
    uint32_t solid_cp; /* the last that was no white space */
    bool is_after_white;
    bool has_solid;     /* the open chunk has more than white space */
    bool is_ended;      /* the open chunk is over: only white space still joins it */
    bool is_quiet;      /* the last terminator belongs to an abbreviation */
    bool is_ascii_term; /* the last terminator is ASCII */
    bool is_closed;     /* … and has closing punctuation behind it */
    bool is_reference;  /* inside "[1]" behind a terminator */
    uint8_t n_tail;
    char tail[WEIR_ABBREV_MAX_BYTES]; /* the end of what was pushed before */
    /* During a push: */
    struct weir_slice text;
    size_t at_byte;
};

static const struct weir_chunk_sentence *chunker_of(const struct stream *s)
{
    return (const struct weir_chunk_sentence *)s->tiling.base.chunker;
}

/* ---- abbreviations ---- */

static bool is_ascii_white(char c)
{
    return (unsigned char)c <= ' ';
}

/* Byte `back` bytes before the code point at hand; 0 where nothing is known. */
static char byte_before(const struct stream *s, size_t back)
{
    if (back <= s->at_byte) {
        return s->text.p[s->at_byte - back];
    }
    back -= s->at_byte;
    return back <= s->n_tail ? s->tail[s->n_tail - back] : 0;
}

/* The word that the full stop at hand ends is an abbreviation. */
static bool is_abbrev(const struct stream *s)
{
    char word[WEIR_ABBREV_MAX_BYTES];
    size_t from = sizeof word;
    word[--from] = '.';
    for (;;) {
        char c = byte_before(s, sizeof word - from);
        if (is_ascii_white(c)) {
            break;
        }
        if (from == 0) {
            return false;
        }
        word[--from] = c;
    }
    return weir_abbrev_has(&chunker_of(s)->abbrev,
                           weir_slice_make(word + from, sizeof word - from));
}

static void keep_tail(struct stream *s)
{
    struct weir_slice text = s->text;
    if (text.n >= sizeof s->tail) {
        memcpy(s->tail, text.p + text.n - sizeof s->tail, sizeof s->tail);
        s->n_tail = sizeof s->tail;
        return;
    }
    size_t kept = sizeof s->tail - text.n;
    kept = kept < s->n_tail ? kept : s->n_tail;
    memmove(s->tail, s->tail + s->n_tail - kept, kept);
    memcpy(s->tail + kept, text.p, text.n);
    s->n_tail = (uint8_t)(kept + text.n);
}

/* ---- what Unicode's rules do not know ---- */

static bool is_greek(uint32_t cp)
{
    return (cp >= 0x370 && cp <= 0x3FF) || (cp >= 0x1F00 && cp <= 0x1FFF);
}

static bool is_thai(uint32_t cp) /* or Lao */
{
    return cp >= 0xE00 && cp <= 0xEFF;
}

static bool is_emphasis(uint32_t cp)
{
    return cp == '*' || cp == '_' || cp == '`' || cp == '~';
}

/* Digits and what stands between them in "[1]", "[2,3]", "[^4]", right behind a terminator. */
static bool is_in_reference(struct stream *s, uint32_t cp)
{
    bool is_inner = (cp >= '0' && cp <= '9') || cp == '^' || cp == ',' || cp == '-';
    s->is_reference = is_inner && (s->is_reference || s->prev_cp == '[');
    return s->is_reference;
}

/* Brackets and quotes that open, right behind a terminator; for Unicode's rules all of them close.
 * A German quotation ends with what opens a Chinese one, so the terminator has to tell. */
static bool is_opener(const struct stream *s, uint32_t cp)
{
    if (cp < 0x80) {
        return false;
    }
    int8_t type = u_charType((UChar32)cp);
    return type == U_START_PUNCTUATION || (type == U_INITIAL_PUNCTUATION && !s->is_ascii_term);
}

static uint8_t tailor_closing(struct stream *s, uint32_t cp, uint8_t class)
{
    if (is_emphasis(cp) || is_in_reference(s, cp)) {
        return U_SB_CLOSE;
    }
    return class == U_SB_CLOSE && is_opener(s, cp) ? U_SB_OTHER : class;
}

/* The class a code point has for us, given what stands before it. */
static uint8_t tailor(struct stream *s, uint32_t cp, uint8_t class)
{
    if (weir_breaks_is_closing(&s->breaks)) {
        return tailor_closing(s, cp, class);
    }
    s->is_reference = false;
    switch (cp) {
    case ';':
        return is_greek(s->prev_cp) ? U_SB_STERM : class;
    case GREEK_QUESTION:
        return U_SB_STERM;
    case 0xBB: /* "Oui !" and a no-break space before the guillemet */
        return s->prev_cp == 0xA0 || s->prev_cp == 0x202F ? U_SB_SP : class;
    default:
        return class;
    }
}

/* Right behind a terminator, without a space: inside a URL, a name, an expression. */
static bool is_glued(const struct stream *s, uint32_t cp, uint8_t class)
{
    return cp < 0x80 && s->is_ascii_term && weir_breaks_is_closing(&s->breaks) &&
           (class == U_SB_UPPER || class == U_SB_LOWER || class == U_SB_NUMERIC ||
            class == U_SB_OTHER);
}

/* `was_closing`: before this code point. */
static void note_terminator(struct stream *s, uint32_t cp, uint8_t class, bool was_closing)
{
    if (class == U_SB_ATERM || class == U_SB_STERM) {
        s->is_ascii_term = cp < 0x80;
        s->is_quiet = cp == '.' && is_abbrev(s);
        s->is_closed = false;
    } else if (weir_breaks_is_para(class)) {
        s->is_quiet = false;
        s->is_closed = false;
    } else if (was_closing && class == U_SB_CLOSE) {
        s->is_quiet = s->is_quiet && is_emphasis(cp);
        s->is_closed = true;
    }
}

/* ---- which boundaries count ---- */

static bool is_held(const struct stream *s)
{
    return weir_lines_is_fenced(&s->lines) ||
           (weir_lines_is_item(&s->lines) && weir_tiling_open_bytes(&s->tiling) < ITEM_BYTES);
}

static bool is_thai_end(const struct stream *s, uint32_t cp)
{
    return is_thai(cp) && is_thai(s->solid_cp) && s->prev_cp == ' ' &&
           s->tiling.here.cp - s->tiling.start.cp >= THAI_CP;
}

/* A boundary for Unicode that is none for us. */
static bool is_ignored(const struct stream *s, uint8_t class)
{
    bool goes_on = s->is_closed && class == U_SB_LOWER; /* "Why?" he asked. */
    return s->is_quiet || goes_on || is_held(s);
}

static enum weir_breaks_verdict judge(struct stream *s, uint32_t cp, uint8_t class)
{
    bool was_closing = weir_breaks_is_closing(&s->breaks);
    uint8_t as = tailor(s, cp, class);
    if (is_glued(s, cp, as)) {
        weir_breaks_join(&s->breaks, as);
        return WEIR_BREAKS_NONE;
    }
    enum weir_breaks_verdict verdict = weir_breaks_step(&s->breaks, as);
    bool is_over = verdict == WEIR_BREAKS_HERE || verdict == WEIR_BREAKS_BACK;
    if (is_over && is_ignored(s, as)) {
        verdict = WEIR_BREAKS_NONE;
    } else if (verdict == WEIR_BREAKS_NONE && is_thai_end(s, cp) && !is_held(s)) {
        verdict = WEIR_BREAKS_HERE;
    }
    note_terminator(s, cp, as, was_closing);
    return verdict;
}

static void apply(struct stream *s, enum weir_breaks_verdict verdict, bool is_white)
{
    if (verdict == WEIR_BREAKS_MAYBE) {
        s->maybe = s->tiling.here;
    } else if (verdict == WEIR_BREAKS_BACK) {
        weir_tiling_end_at(&s->tiling, &s->maybe);
    }
    s->is_ended = s->has_solid && (s->is_ended || verdict == WEIR_BREAKS_HERE);
    if (s->is_ended && !is_white) {
        weir_tiling_end_at(&s->tiling, &s->tiling.here);
        s->is_ended = false;
    }
    s->has_solid = s->has_solid || !is_white;
}

/* ---- the walk ---- */

/* A MAYBE that is not settled and would count. */
static bool has_maybe(const struct stream *s)
{
    return weir_breaks_is_pending(&s->breaks) && !s->is_quiet && !is_held(s);
}

/* Makes room for `n_bytes` more in the open chunk. */
static void make_room(struct stream *s, size_t n_bytes)
{
    struct weir_tiling *t = &s->tiling;
    while (weir_tiling_room(t) < n_bytes) {
        struct weir_tiling_place place = weir_tiling_best(t);
        if (s->is_ended) {
            place = t->here;
        } else if (has_maybe(s) && s->maybe.cp > t->start.cp) {
            place = s->maybe;
        }
        weir_tiling_end_at(t, &place);
        s->has_solid = t->start.cp != t->here.cp;
        s->is_ended = false;
    }
}

/* A code point behind white space: the open chunk could be cut here. */
static void mark(struct stream *s)
{
    enum weir_tiling_rank rank = WEIR_TILING_WORD;
    if (weir_lines_is_start(&s->lines)) {
        rank = s->lines.was_blank ? WEIR_TILING_BLANK : WEIR_TILING_LINE;
    }
    weir_tiling_mark(&s->tiling, rank);
}

static void step_lines(struct stream *s, uint32_t cp, uint8_t class)
{
    enum weir_lines_sort sort = weir_breaks_is_para(class) ? WEIR_LINES_BREAK
                                : class == U_SB_SP         ? WEIR_LINES_SPACE
                                                           : WEIR_LINES_SOLID;
    if (sort == WEIR_LINES_BREAK || !weir_lines_is_settled(&s->lines)) {
        weir_lines_step(&s->lines, cp, sort);
    }
}

static void step(struct stream *s)
{
    size_t n_bytes;
    struct weir_slice rest = weir_slice_sub(s->text, s->at_byte, s->text.n);
    uint32_t cp = weir_utf8_decode(rest, &n_bytes);
    uint8_t class = weir_breaks_class(&chunker_of(s)->classes, cp);
    bool is_white = weir_breaks_is_white(class);
    if (s->is_after_white && !is_white) {
        mark(s);
    }
    make_room(s, n_bytes);
    apply(s, judge(s, cp, class), is_white);
    step_lines(s, cp, class);
    s->prev_cp = cp;
    s->solid_cp = is_white ? s->solid_cp : cp;
    s->is_after_white = is_white;
    s->at_byte += n_bytes;
    weir_tiling_advance(&s->tiling, 1, n_bytes);
}

/* Of letters and signs that no rule of ours or Unicode's looks at in the middle of a sentence. */
static bool is_ordinary(const struct weir_chunk_sentence *c, uint32_t cp)
{
    static const uint32_t special = 1u << U_SB_ATERM | 1u << U_SB_STERM | 1u << U_SB_SP |
                                    1u << U_SB_CR | 1u << U_SB_LF | 1u << U_SB_SEP |
                                    1u << U_SB_EXTEND | 1u << U_SB_FORMAT;
    uint8_t class = weir_breaks_class(&c->classes, cp);
    return (special >> class & 1) == 0 && !is_thai(cp) && cp != GREEK_QUESTION && cp != ';';
}

/* How much of `text` nothing can happen in. */
static size_t run_bytes(const struct weir_chunk_sentence *c, struct weir_slice text)
{
    size_t i = 0;
    for (;;) {
        while (i < text.n && c->is_skipped[(unsigned char)text.p[i]]) {
            i++;
        }
        if (i == text.n || (unsigned char)text.p[i] < 0x80) {
            return i;
        }
        size_t n_bytes;
        uint32_t cp = weir_utf8_decode(weir_slice_sub(text, i, text.n), &n_bytes);
        if (n_bytes > text.n - i || !is_ordinary(c, cp)) {
            return i;
        }
        i += n_bytes;
    }
}

/* Where the last word behind a space begins; 0: there is none. */
static size_t last_word(struct weir_slice run)
{
    size_t i = run.n - 1;
    while (i != 0 && (run.p[i] == ' ' || run.p[i - 1] != ' ')) {
        i--;
    }
    return i;
}

static uint32_t last_cp(struct weir_slice run)
{
    size_t i = run.n - 1;
    while (((unsigned char)run.p[i] & 0xC0) == 0x80) {
        i--;
    }
    size_t n_bytes;
    return weir_utf8_decode(weir_slice_sub(run, i, run.n), &n_bytes);
}

/* Does with a run what `step` would have done with its code points. */
static void take_run(struct stream *s, struct weir_slice run)
{
    struct weir_tiling *t = &s->tiling;
    size_t word = last_word(run);
    uint32_t last = last_cp(run);
    bool has_solid = run.p[0] != ' ' || word != 0;
    if (s->is_after_white && run.p[0] != ' ') {
        weir_tiling_mark(t, WEIR_TILING_WORD);
    }
    if (word != 0) {
        weir_tiling_advance(t, weir_utf8_count(weir_slice_sub(run, 0, word)), word);
        weir_tiling_mark(t, WEIR_TILING_WORD);
    }
    struct weir_slice rest = weir_slice_sub(run, word, run.n);
    weir_tiling_advance(t, weir_utf8_count(rest), rest.n);
    weir_breaks_join(&s->breaks, weir_breaks_class(&chunker_of(s)->classes, last));
    s->has_solid = s->has_solid || has_solid;
    s->is_after_white = last == ' ';
    s->prev_cp = last;
    s->solid_cp = has_solid ? 0 : s->solid_cp; /* not Thai: all that is asked of it */
    s->at_byte += run.n;
}

static bool skip(struct stream *s)
{
    bool is_inside = s->breaks.state == WEIR_BREAKS_OTHER || s->breaks.state == WEIR_BREAKS_LETTER;
    if (!is_inside || !weir_lines_is_settled(&s->lines)) {
        return false;
    }
    size_t room = weir_tiling_room(&s->tiling);
    size_t n = s->text.n - s->at_byte;
    struct weir_slice run = weir_slice_make(s->text.p + s->at_byte, n < room ? n : room);
    run.n = run_bytes(chunker_of(s), run);
    if (run.n == 0) {
        return false;
    }
    take_run(s, run);
    return true;
}

static void walk(struct stream *s)
{
    while (s->at_byte < s->text.n) {
        if (!skip(s)) {
            step(s);
        }
    }
    keep_tail(s);
}

static void walk_plain(struct stream *s)
{
    struct weir_tiling *t = &s->tiling;
    while (s->at_byte < s->text.n) {
        size_t n_bytes;
        struct weir_slice rest = weir_slice_sub(s->text, s->at_byte, s->text.n);
        uint32_t cp = weir_utf8_decode(rest, &n_bytes);
        make_room(s, n_bytes);
        switch (weir_breaks_step(&s->breaks, weir_breaks_class(&chunker_of(s)->classes, cp))) {
        case WEIR_BREAKS_NONE:
            break;
        case WEIR_BREAKS_HERE:
            weir_tiling_end_at(t, &t->here);
            break;
        case WEIR_BREAKS_MAYBE:
            s->maybe = t->here;
            break;
        case WEIR_BREAKS_BACK:
            weir_tiling_end_at(t, &s->maybe);
            break;
        }
        s->at_byte += n_bytes;
        weir_tiling_advance(t, 1, n_bytes);
    }
}

/* ---- the chunker ---- */

static struct weir_chunk_stream *sentence_open(const struct weir_chunker *c,
                                               const struct weir_chunk_env *env,
                                               const struct weir_chunk_options *options,
                                               weir_chunk_ready_fn on_ready, void *ctx)
{
    struct stream *s = weir_mem_zalloc(sizeof *s);
    (void)env;
    (void)on_ready; /* what is ready is ready when push returns */
    (void)ctx;
    const struct weir_chunk_sentence *sentence = (const struct weir_chunk_sentence *)c;
    weir_tiling_init(&s->tiling, c, options->start_cp, sentence->max_bytes);
    return &s->tiling.base;
}

static enum weir_flow sentence_push(struct weir_chunk_stream *base, uint64_t frame,
                                    struct weir_slice text)
{
    struct stream *s = (struct stream *)base;
    if (text.n == 0) {
        return WEIR_FLOW_OK;
    }
    s->text = text;
    s->at_byte = 0;
    weir_tiling_frame(&s->tiling, frame);
    if (chunker_of(s)->is_plain) {
        walk_plain(s);
    } else {
        walk(s);
    }
    s->text = (struct weir_slice){0};
    return WEIR_FLOW_OK;
}

/* What has come is all there is of this sentence. Lines go on: a caller reads them joined. */
static void sentence_cut(struct weir_chunk_stream *base)
{
    struct stream *s = (struct stream *)base;
    if (has_maybe(s)) {
        weir_tiling_end_at(&s->tiling, &s->maybe);
    }
    weir_tiling_end_at(&s->tiling, &s->tiling.here);
    s->breaks = (struct weir_breaks){0};
    s->has_solid = false;
    s->is_ended = false;
    s->is_after_white = false;
    s->is_quiet = false;
    s->prev_cp = 0;
    s->solid_cp = 0;
    s->n_tail = 0;
}

static void sentence_end(struct weir_chunk_stream *base)
{
    sentence_cut(base);
    ((struct stream *)base)->tiling.has_ended = true;
}

static void sentence_close(struct weir_chunk_stream *base)
{
    weir_tiling_dispose(&((struct stream *)base)->tiling);
    free(base);
}

static const struct weir_chunk_ops OPS = {
    .open = sentence_open,
    .push = sentence_push,
    .cut = sentence_cut,
    .end = sentence_end,
    .next = weir_tiling_next,
    .close = sentence_close,
};

int weir_chunk_sentence_init(struct weir_chunk_sentence *c, struct weir_slice id,
                             const struct weir_chunk_sentence_options *options)
{
    static const struct weir_chunk_sentence_options none;
    options = options != NULL ? options : &none;
    *c = (struct weir_chunk_sentence){.base = {.ops = &OPS, .id = id, .is_immediate = true},
                                      .max_bytes = options->max_bytes,
                                      .is_plain = options->is_plain};
    if (c->max_bytes != 0 && c->max_bytes < MIN_BYTES) {
        c->max_bytes = MIN_BYTES;
    }
    weir_breaks_classes_init(&c->classes);
    for (uint32_t cp = ' '; cp < 0x7F; cp++) {
        c->is_skipped[cp] = cp == ' ' || is_ordinary(c, cp);
    }
    return weir_abbrev_init(&c->abbrev, options->language != NULL ? options->language : "en");
}

void weir_chunk_sentence_dispose(struct weir_chunk_sentence *c)
{
    weir_abbrev_dispose(&c->abbrev);
}
