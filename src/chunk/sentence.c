/*
 * One walk over the text, code point by code point, three machines side by side:
 *
 *   breaks   where Unicode ends a sentence        ─┐
 *   lines    fence, item or prose                  ├─► this file: does it count, and as of where
 *   tailor   abbreviations, URLs, emphasis, …     ─┘
 *
 * Where the word behind has the last say (chunk/follow.h), the place is kept until it has come.
 *
 * Runs of ordinary ASCII inside a line, most of any English text, are skipped in one go.
 */
#include "chunk/sentence.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chunk/lines.h"
#include "chunk/runon.h"
#include "chunk/tiling.h"

enum {
    ITEM_BYTES = 1024, /* an item longer than this is cut at its sentences */
    THAI_CP = 64,      /* a Thai chunk shorter than this is not ended by a space */
    MIN_BYTES = 16,
    MOST_BYTES = 65536,
    GREEK_QUESTION = 0x37E, /* normalizes to ";" */
    ELLIPSIS = 0x2026,
    EM_DASH = 0x2014,
    EN_DASH = 0x2013,
    LEFT_GUILLEMET = 0xAB,
    RIGHT_GUILLEMET = 0xBB,
};

struct stream {
    struct weir_tiling tiling;
    struct weir_breaks breaks;
    struct weir_lines lines;
    struct weir_follow follow;
    struct weir_runon runon;
    struct weir_tiling_place item;  /* where a marker in a line may begin */
    struct weir_tiling_place maybe; /* where breaks said MAYBE, or the word of `follow` begins */
    uint32_t prev_cp;
    uint32_t solid_cp; /* the last that was no white space */
    bool is_after_white;
    bool has_solid;     /* the open chunk has more than white space */
    bool is_ended;      /* the open chunk is over: only white space still joins it */
    bool is_guillemet;  /* inside « » that stand apart from the words in them */
    bool is_ascii_term; /* the last terminator is ASCII */
    bool is_closed;     /* … and has closing punctuation behind it */
    bool is_reference;  /* inside "[1]" behind a terminator */
    bool is_elided;     /* … is of "[...]" */
    bool has_upper;     /* a capital has come */
    bool is_small_end;  /* the last full stop ends a sentence before a small letter too */
    uint8_t n_stops;    /* full stops with a space between each */
    size_t last_stop_cp;
    uint8_t abbrev; /* enum weir_abbrev_kind of the word before the last terminator */
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

/* The last terminator does not end a sentence unless the word behind it says so. */
static bool is_quiet(const struct stream *s)
{
    return s->abbrev >= WEIR_ABBREV_OFTEN;
}

/* The text up to the code point at hand, which is ASCII, and with it: as much as is kept. */
static struct weir_slice text_before(const struct stream *s, char copy[WEIR_ABBREV_MAX_BYTES])
{
    size_t n = WEIR_ABBREV_MAX_BYTES;
    if (s->at_byte + 1 >= n) {
        return weir_slice_make(s->text.p + s->at_byte + 1 - n, n);
    }
    n = s->at_byte + 1 + s->n_tail < n ? s->at_byte + 1 + s->n_tail : n;
    size_t n_tail = n - s->at_byte - 1;
    memcpy(copy, s->tail + s->n_tail - n_tail, n_tail);
    memcpy(copy + n_tail, s->text.p, s->at_byte + 1);
    return weir_slice_make(copy, n);
}

/* Of the word that the full stop at hand ends. */
static enum weir_abbrev_kind abbrev_kind(const struct stream *s)
{
    char copy[WEIR_ABBREV_MAX_BYTES];
    return weir_abbrev_kind(&chunker_of(s)->abbrev, text_before(s, copy));
}

/* "Yahoo! in the": names that are written with a mark. */
static bool is_name_with_mark(const struct stream *s)
{
    static const char *const names[] = {" Yahoo!", " Jeopardy!", " Yum!", "\nYahoo!", NULL};
    char copy[WEIR_ABBREV_MAX_BYTES];
    struct weir_slice before = text_before(s, copy);
    bool is_all = before.n == 6; /* the text begins with it */
    for (const char *const *name = names; *name != NULL; name++) {
        if (weir_slice_ends_with(before, weir_slice_cstr(*name)) ||
            (is_all && weir_slice_eq_cstr(before, *name + 1))) {
            return true;
        }
    }
    return false;
}

/* "etc. and more": words that are no abbreviation of the lists since they end sentences as well,
 * but not before a small letter. */
static bool is_often_inside(const struct stream *s)
{
    static const char *const words[] = {" etc.",  " usw.",  " ecc.", " inc.", " ltd.",
                                        " dept.", " tel.",  " est.", " ext.", " fam.",
                                        " ...",   " misc.", NULL};
    char copy[WEIR_ABBREV_MAX_BYTES];
    struct weir_slice before = text_before(s, copy);
    for (const char *const *word = words; *word != NULL; word++) {
        if (weir_slice_ends_with(before, weir_slice_cstr(*word))) {
            return true;
        }
    }
    return before.n < 3 || before.p[before.n - 2] == '.';
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

/* Its full stop looks like a colon, and often is one. */
static bool is_armenian(uint32_t cp)
{
    return cp >= 0x531 && cp <= 0x588;
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

static bool is_after_space(const struct stream *s)
{
    return s->breaks.state == WEIR_BREAKS_STOP_SPACE || s->breaks.state == WEIR_BREAKS_TERM_SPACE;
}

/* "« Oui ! » dit-il": a guillemet that closes, with a space before it. */
static bool is_apart(const struct stream *s)
{
    return s->prev_cp == 0xA0 || s->prev_cp == 0x202F || (s->is_guillemet && s->prev_cp == ' ');
}

/* A dash behind a sentence goes on before a small letter ("« Tu viens ? — dit-il"), else somebody
 * else speaks: what a full stop before digits does. */
static uint8_t tailor_dash(struct stream *s)
{
    s->breaks.state = WEIR_BREAKS_STOP_SPACE;
    return U_SB_OTHER;
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
    case ':':
        return is_armenian(s->prev_cp) ? U_SB_ATERM : class;
    case GREEK_QUESTION:
        return U_SB_STERM;
    case RIGHT_GUILLEMET:
        s->is_closed = s->is_closed || (is_apart(s) && is_after_space(s));
        return is_apart(s) ? U_SB_SP : class;
    case EM_DASH:
    case EN_DASH:
        return is_after_space(s) ? tailor_dash(s) : class;
    case ELLIPSIS: /* of three full stops in one, where sentences begin with capitals */
        return s->breaks.state == WEIR_BREAKS_LETTER ? U_SB_ATERM : class;
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

/* A number that begins a chunk is an item's: "Two steps. 1. Open it. 2. Close it." */
static bool is_item_number(const struct stream *s, enum weir_breaks_verdict verdict)
{
    size_t start_cp = verdict == WEIR_BREAKS_BACK ? s->maybe.cp : s->tiling.start.cp;
    size_t n_cp = s->tiling.here.cp - start_cp;
    bool is_short = n_cp <= (s->runon.bullet != 0 ? 4 : 2);
    return is_short && s->prev_cp >= '0' && s->prev_cp <= '9';
}

/* "The thing is . . . I forgot": the third full stop of those. A fourth ends the sentence. */
static bool is_spaced_ellipsis(struct stream *s)
{
    bool goes_on = s->prev_cp == ' ' && s->tiling.here.cp == s->last_stop_cp + 2;
    s->n_stops = (uint8_t)(!goes_on ? 1 : s->n_stops < 4 ? s->n_stops + 1 : 4);
    s->last_stop_cp = s->tiling.here.cp;
    return s->n_stops == 3;
}

static void note_terminator(struct stream *s, uint32_t cp, enum weir_breaks_verdict verdict)
{
    s->is_ascii_term = cp < 0x80;
    s->is_closed = false;
    s->abbrev = WEIR_ABBREV_NONE;
    s->is_elided = cp == '.' && (s->prev_cp == '[' || (s->is_elided && s->prev_cp == '.'));
    s->is_small_end = false;
    if (cp == '.') {
        bool is_marker = is_item_number(s, verdict) || weir_runon_is_marker(&s->runon);
        s->abbrev = is_marker || s->is_elided ? WEIR_ABBREV_NEVER : (uint8_t)abbrev_kind(s);
        s->abbrev = is_spaced_ellipsis(s) ? WEIR_ABBREV_INITIAL : s->abbrev;
        s->is_small_end = !s->has_upper && s->abbrev == WEIR_ABBREV_NONE && !is_often_inside(s);
    } else if (cp == '!' && is_name_with_mark(s)) {
        s->abbrev = WEIR_ABBREV_OFTEN;
    } else if (cp == ELLIPSIS) {
        s->abbrev = WEIR_ABBREV_INITIAL;
    }
}

/* `was_closing`: before this code point. */
static void note(struct stream *s, uint32_t cp, uint8_t class, bool was_closing)
{
    if (weir_breaks_is_para(class)) {
        s->abbrev = WEIR_ABBREV_NONE;
        s->is_closed = false;
        s->is_guillemet = false;
    } else if (was_closing && class == U_SB_CLOSE) {
        bool is_kept = is_emphasis(cp) || s->prev_cp == ELLIPSIS || s->is_elided;
        s->abbrev = is_kept ? s->abbrev : WEIR_ABBREV_NONE;
        s->is_closed = true;
    }
    if (cp == LEFT_GUILLEMET) {
        s->is_guillemet = s->is_after_white || s->prev_cp == 0;
    } else if (cp == RIGHT_GUILLEMET) {
        s->is_guillemet = false;
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

static bool is_letter(uint8_t class)
{
    return class == U_SB_UPPER || class == U_SB_LOWER || class == U_SB_OLETTER ||
           class == U_SB_EXTEND || class == U_SB_FORMAT;
}

/* Whether the word that begins here has a say. Scripts without small letters go on behind a
 * quotation without a space, Arabic with one. */
static enum weir_follow_mode follow_mode(const struct stream *s, uint32_t cp, uint8_t class,
                                         bool was_closing)
{
    switch (s->abbrev) {
    case WEIR_ABBREV_OFTEN:
        return WEIR_FOLLOW_ANY;
    case WEIR_ABBREV_INITIAL:
        return WEIR_FOLLOW_STRONG;
    case WEIR_ABBREV_COUNT:
        return WEIR_FOLLOW_COUNTED;
    default:
        break;
    }
    bool is_near = was_closing || (cp >= 0x600 && cp <= 0x6FF);
    bool is_quote = s->is_closed && class == U_SB_OLETTER && is_near;
    return is_quote ? WEIR_FOLLOW_QUOTE : WEIR_FOLLOW_NOTHING;
}

/* A boundary for Unicode that is not one for us, or not yet. */
static bool is_ignored(struct stream *s, uint32_t cp, uint8_t class,
                       enum weir_breaks_verdict verdict, bool was_closing)
{
    bool goes_on = s->is_closed && class == U_SB_LOWER; /* "Why?" he asked. */
    bool is_date = s->abbrev == WEIR_ABBREV_YEAR && verdict == WEIR_BREAKS_BACK && cp == '.';
    if (s->abbrev == WEIR_ABBREV_NEVER || goes_on || is_date || is_held(s)) {
        return true;
    }
    enum weir_follow_mode mode = follow_mode(s, cp, class, was_closing);
    if (mode == WEIR_FOLLOW_NOTHING || !is_letter(class)) {
        return is_quiet(s);
    }
    if (verdict == WEIR_BREAKS_HERE) {
        s->maybe = s->tiling.here;
    }
    s->follow.mode = (uint8_t)mode;
    return weir_follow_step(&s->follow, &chunker_of(s)->follow, cp, true) != WEIR_FOLLOW_ENDS;
}

static enum weir_breaks_verdict judge(struct stream *s, uint32_t cp, uint8_t class)
{
    bool was_closing = weir_breaks_is_closing(&s->breaks);
    uint8_t as = tailor(s, cp, class);
    if (is_glued(s, cp, as)) {
        weir_breaks_join(&s->breaks, as);
        return WEIR_BREAKS_NONE;
    }
    bool is_chat = as == U_SB_LOWER && s->breaks.state == WEIR_BREAKS_STOP_SPACE &&
                   s->is_small_end && !s->is_closed; /* "ok. see you": no capitals at all */
    enum weir_breaks_verdict verdict = weir_breaks_step(&s->breaks, as);
    verdict = is_chat ? WEIR_BREAKS_HERE : verdict;
    bool is_over = verdict == WEIR_BREAKS_HERE || verdict == WEIR_BREAKS_BACK;
    if (is_over && is_ignored(s, cp, as, verdict, was_closing)) {
        verdict = WEIR_BREAKS_NONE;
    } else if (verdict == WEIR_BREAKS_NONE && is_thai_end(s, cp) && !is_held(s)) {
        verdict = WEIR_BREAKS_HERE;
    } else if (verdict == WEIR_BREAKS_MAYBE && s->abbrev == WEIR_ABBREV_NUMBER &&
               as == U_SB_NUMERIC) {
        s->abbrev = WEIR_ABBREV_NEVER;
    }
    if (as == U_SB_ATERM || as == U_SB_STERM) {
        note_terminator(s, cp, verdict);
    } else {
        note(s, cp, as, was_closing);
    }
    return verdict;
}

/* The word that was waited for, one code point further. */
static void follow(struct stream *s, uint32_t cp, uint8_t class)
{
    if (weir_follow_step(&s->follow, &chunker_of(s)->follow, cp, is_letter(class)) ==
        WEIR_FOLLOW_ENDS) {
        weir_tiling_end_at(&s->tiling, &s->maybe);
    }
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
    return weir_breaks_is_pending(&s->breaks) && !is_quiet(s) && !is_held(s);
}

/* Makes room for `n_bytes` more in the open chunk. */
static void make_room(struct stream *s, size_t n_bytes)
{
    struct weir_tiling *t = &s->tiling;
    while (weir_tiling_room(t) < n_bytes) {
        struct weir_tiling_place place = weir_tiling_best(t);
        if (s->is_ended) {
            place = t->here;
        } else if ((has_maybe(s) || weir_follow_is_waiting(&s->follow)) &&
                   s->maybe.cp > t->start.cp) {
            place = s->maybe;
        }
        s->follow = (struct weir_follow){0};
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

/* Items of a list that stand in one line. */
static void step_runon(struct stream *s, uint32_t cp, uint8_t class)
{
    enum weir_runon_space space = weir_breaks_is_para(class) ? WEIR_RUNON_LINE
                                  : class == U_SB_SP         ? WEIR_RUNON_WHITE
                                                             : WEIR_RUNON_SOLID;
    switch (weir_runon_step(&s->runon, cp, space)) {
    case WEIR_RUNON_BEGINS:
        s->item = s->tiling.here;
        break;
    case WEIR_RUNON_CUT:
        s->follow = (struct weir_follow){0};
        s->is_ended = false;
        weir_tiling_end_at(&s->tiling, &s->item);
        break;
    case WEIR_RUNON_CUT_HERE:
        weir_tiling_end_at(&s->tiling, &s->tiling.here);
        break;
    case WEIR_RUNON_GOES_ON:
        break;
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
    if (weir_follow_is_waiting(&s->follow)) {
        follow(s, cp, class);
    }
    apply(s, judge(s, cp, class), is_white);
    step_runon(s, cp, class);
    step_lines(s, cp, class);
    s->has_upper = s->has_upper || class == U_SB_UPPER;
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
    if (cp >= 0x3000 || class == U_SB_LOWER || class == U_SB_UPPER) { /* nearly all of them */
        return (special >> class & 1) == 0;
    }
    return (special >> class & 1) == 0 && !is_thai(cp) && cp != GREEK_QUESTION && cp != ';' &&
           cp != ':' && cp != ELLIPSIS && cp != LEFT_GUILLEMET && cp != RIGHT_GUILLEMET;
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

static bool has_capital(const struct weir_chunk_sentence *c, struct weir_slice run)
{
    for (size_t i = 0, n = 1; i < run.n; i += n, n = 1) {
        uint32_t cp = (unsigned char)run.p[i];
        if (cp >= 0x80) {
            cp = weir_utf8_decode(weir_slice_sub(run, i, run.n), &n);
        }
        if (weir_breaks_class(&c->classes, cp) == U_SB_UPPER) {
            return true;
        }
    }
    return false;
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
    s->has_upper = s->has_upper || has_capital(chunker_of(s), run);
    s->has_solid = s->has_solid || has_solid;
    s->is_after_white = last == ' ';
    s->prev_cp = last;
    s->solid_cp = has_solid ? 0 : s->solid_cp; /* not Thai: all that is asked of it */
    s->at_byte += run.n;
}

static bool skip(struct stream *s)
{
    bool is_inside = s->breaks.state == WEIR_BREAKS_OTHER || s->breaks.state == WEIR_BREAKS_LETTER;
    if (!is_inside || !weir_lines_is_settled(&s->lines) || weir_follow_is_waiting(&s->follow) ||
        weir_runon_is_open(&s->runon)) {
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
    bool is_ended = weir_follow_is_waiting(&s->follow)
                        ? weir_follow_end(&s->follow, &chunker_of(s)->follow) == WEIR_FOLLOW_ENDS
                        : has_maybe(s);
    if (is_ended) {
        weir_tiling_end_at(&s->tiling, &s->maybe);
    }
    weir_tiling_end_at(&s->tiling, &s->tiling.here);
    s->breaks = (struct weir_breaks){0};
    s->has_solid = false;
    s->is_ended = false;
    s->is_after_white = false;
    s->abbrev = WEIR_ABBREV_NONE;
    s->is_guillemet = false;
    s->prev_cp = 0;
    s->solid_cp = 0;
    s->n_tail = 0;
}

static void sentence_end(struct weir_chunk_stream *base)
{
    sentence_cut(base);
    ((struct stream *)base)->tiling.has_ended = true;
}

static const struct weir_chunk_ops OPS = {
    .open = sentence_open,
    .push = sentence_push,
    .cut = sentence_cut,
    .end = sentence_end,
    .next = weir_tiling_next,
    .close = weir_tiling_close,
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
    weir_follow_words_init(&c->follow);
    return weir_abbrev_init(&c->abbrev, options->language != NULL ? options->language : "en");
}

void weir_chunk_sentence_dispose(struct weir_chunk_sentence *c)
{
    weir_abbrev_dispose(&c->abbrev);
    weir_follow_words_dispose(&c->follow);
}

static int init_kind(struct weir_chunker *c, struct weir_slice id, const struct weir_json *params,
                     struct weir_buf *why)
{
    static const struct weir_chunk_number number = {"max_bytes", MIN_BYTES, MOST_BYTES};
    struct weir_chunk_sentence_options options = {0};
    int rc = weir_chunk_read_number(params, &number, &options.max_bytes, why);
    if (rc != 0) {
        return rc;
    }
    rc = weir_chunk_sentence_init((struct weir_chunk_sentence *)c, id, &options);
    if (rc != 0) {
        weir_buf_printf(why, "ICU's rules for sentences are not there: %s", weir_err_text(rc));
    }
    return rc;
}

static void dispose_kind(struct weir_chunker *c)
{
    weir_chunk_sentence_dispose((struct weir_chunk_sentence *)c);
}

const struct weir_chunk_kind weir_chunk_sentence_kind = {
    .name = "sentence",
    .members = (const char *const[]){"max_bytes", NULL},
    .n_bytes = sizeof(struct weir_chunk_sentence),
    .init = init_kind,
    .dispose = dispose_kind,
};
