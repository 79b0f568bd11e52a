/*
 * The text is gone through in windows of starts. Each window's match sees all of the text before it
 * and 16 KiB beyond it; a match that would want more is "partial", a limit. Inside a window the
 * match limit counts, per start; between windows the clock does.
 *
 *   text   ────────────────┬─ starts ─┬───── ahead ─────┬──────────
 *                          at         at + WINDOW       cut: partial
 */
#include "detect/custom.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/patterns.h"
#include "detect/pcre_heap.h"

#include <stdlib.h>
#include <time.h>

enum {
    WINDOW_BYTES = 256,
    AHEAD_BYTES = 16384,
    MATCH_LIMIT = 5000,
    TEST_MATCH_LIMIT = 20000,
    TEST_LOOK_EVERY = 16, /* texts of one window or less */
    TEST_STACK_BYTES = 1 << 20,
    HEAP_KIB = 256,
    MAX_COMPILED_BYTES = 16384,
    MAX_LOOKBEHIND = 255,
};

enum { MAX_NAME_BYTES = 64 };

struct weir_custom {
    pcre2_code *code;
    char name[MAX_NAME_BYTES];
    size_t n_name; /* 0: it has none */
    bool can_read;
};

static int refuse(pcre2_code *code, struct weir_buf *why, const char *what)
{
    weir_buf_printf(why, "the pattern %s", what);
    pcre2_code_free(code);
    return WEIR_EINVAL;
}

/* (*NO_JIT) and the like would leave the slow matcher, whose steps cost ten times as much. */
static int check_cost(pcre2_code *code, struct weir_buf *why)
{
    size_t size = 0;
    size_t jit_size = 0;
    uint32_t lookbehind = 0;
    pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
    pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND, &lookbehind);
    if (size > MAX_COMPILED_BYTES) {
        return refuse(code, why, "is too large once its repeats are written out");
    }
    if (lookbehind > MAX_LOOKBEHIND) {
        return refuse(code, why, "looks back further than 255 characters");
    }
    int rc = pcre2_jit_compile(code, PCRE2_JIT_PARTIAL_HARD | PCRE2_JIT_COMPLETE);
    pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &jit_size);
    if (rc != 0 || jit_size == 0) {
        return refuse(code, why, "cannot be compiled to machine code");
    }
    return 0;
}

static struct weir_custom *compile(struct weir_slice pattern, uint32_t options,
                                   pcre2_compile_context *context, struct weir_buf *why)
{
    if (pattern.n == 0 || pattern.n > WEIR_CUSTOM_MAX_BYTES) {
        weir_buf_printf(why, "a pattern has 1 to %d bytes", WEIR_CUSTOM_MAX_BYTES);
        return NULL;
    }
    int error;
    PCRE2_SIZE at;
    options |= PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &error, &at, context);
    if (code == NULL) {
        PCRE2_UCHAR text[128] = {0};
        pcre2_get_error_message(error, text, sizeof text);
        weir_buf_printf(why, "the pattern is not a regular expression: %s at offset %zu",
                        (const char *)text, (size_t)at);
        return NULL;
    }
    if (check_cost(code, why) != 0) {
        return NULL;
    }
    struct weir_custom *c = weir_mem_zalloc(sizeof *c);
    c->code = code;
    return c;
}

struct weir_custom *weir_custom_new(struct weir_slice pattern, struct weir_buf *why)
{
    struct weir_custom *c = compile(pattern, PCRE2_UCP, NULL, why);
    if (c != NULL) {
        size_t width = weir_patterns_width(pattern);
        c->can_read = width > 0 && width <= WEIR_READER_REACH;
    }
    return c;
}

int weir_custom_set_name(struct weir_custom *c, struct weir_slice name, struct weir_buf *why)
{
    static const char others[] = "_.:/ -";
    bool is_good = name.n != 0 && name.n <= MAX_NAME_BYTES;
    for (size_t i = 0; i < name.n && is_good; i++) {
        char ch = name.p[i];
        bool is_alnum =
            (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');
        is_good = is_alnum || (ch != '\0' && strchr(others, ch) != NULL);
    }
    if (!is_good) {
        weir_buf_printf(why, "the name of a pattern has 1 to %d letters, digits and `%s`",
                        MAX_NAME_BYTES, others);
        return WEIR_EINVAL;
    }
    memcpy(c->name, name.p, name.n);
    c->n_name = name.n;
    return 0;
}

struct weir_custom *weir_custom_new_ecma(struct weir_slice pattern, struct weir_buf *why)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
    uint32_t options = PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF;
    struct weir_custom *c = compile(pattern, options, context, why);
    pcre2_compile_context_free(context);
    return c;
}

void weir_custom_free(struct weir_custom *c)
{
    if (c != NULL) {
        pcre2_code_free(c->code);
        free(c);
    }
}

/* Of this thread: a busy machine is not the caller's fault. */
static int64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

struct run {
    const struct weir_custom *c;
    struct weir_slice text;
    size_t from_byte; /* where that begins */
    pcre2_match_data *data;
    pcre2_match_context *limits;
    struct weir_found *found;
    const char **why;
};

static int explain(const struct run *r, int rc)
{
    if (rc == PCRE2_ERROR_PARTIAL) {
        *r->why = "a pattern needs more than 16 KiB of text to decide";
    } else {
        *r->why = "a pattern needs too many steps";
    }
    return WEIR_ELIMIT;
}

static struct weir_slice name_of(const struct weir_custom *c)
{
    return c->n_name != 0 ? weir_slice_make(c->name, c->n_name) : WEIR_SLICE("custom-regex");
}

static int add(const struct run *r, size_t from, size_t to)
{
    struct weir_found_span span = {.start_byte = from,
                                   .end_byte = to,
                                   .detection = name_of(r->c),
                                   .detection_type = WEIR_SLICE("regex"),
                                   .score = 1.0};
    return weir_found_add(r->found, &span);
}

/* All matches that start in [*at, stop); `*at` moves behind them. */
static int run_window(struct run *r, size_t *at, size_t stop)
{
    size_t cut = weir_utf8_floor(r->text, stop + AHEAD_BYTES);
    uint32_t options = PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK;
    if (cut < r->text.n) {
        options |= PCRE2_PARTIAL_HARD | PCRE2_NOTEOL;
    }
    pcre2_set_offset_limit(r->limits, stop - 1);
    while (*at < stop) {
        int rc =
            pcre2_match(r->c->code, (PCRE2_SPTR)r->text.p, cut, *at, options, r->data, r->limits);
        if (rc == PCRE2_ERROR_NOMATCH) {
            *at = stop;
            return 0;
        }
        if (rc < 0) {
            return explain(r, rc);
        }
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(r->data);
        /* \K can move the start behind the end, or before the window. */
        bool is_sound = span[0] < span[1] && span[1] > *at;
        if (is_sound && add(r, span[0], span[1]) != 0) {
            return WEIR_ELIMIT;
        }
        *at = is_sound ? span[1] : stop;
    }
    return 0;
}

static int run_all(struct run *r, int64_t *budget_us)
{
    int64_t from_us = cpu_us();
    int64_t end_us = from_us + *budget_us;
    int rc = 0;
    for (size_t at = 0; at < r->text.n && rc == 0;) {
        size_t stop = weir_utf8_floor(r->text, at + WINDOW_BYTES);
        rc = run_window(r, &at, stop);
        if (rc == 0 && cpu_us() > end_us) {
            *r->why = "the patterns need too much time for this text";
            rc = WEIR_ELIMIT;
        }
    }
    *budget_us -= cpu_us() - from_us;
    return rc;
}

int weir_custom_scan(const struct weir_custom *c, struct weir_slice text, int64_t *budget_us,
                     struct weir_found *found, const char **why)
{
    struct run r = {.c = c, .text = text, .found = found, .why = why};
    r.data = pcre2_match_data_create(1, weir_pcre_heap_get());
    r.limits = pcre2_match_context_create(weir_pcre_heap_get());
    pcre2_set_match_limit(r.limits, MATCH_LIMIT);
    pcre2_set_heap_limit(r.limits, HEAP_KIB);
    int rc = run_all(&r, budget_us);
    pcre2_match_data_free(r.data);
    pcre2_match_context_free(r.limits);
    return rc;
}

/* ---- in a text that is still being written */

bool weir_custom_can_read(const struct weir_custom *c)
{
    return c->can_read;
}

/* All that starts in what has come. A match that wants to see more waits, and is let go where it
 * wants to see too much. */
static int read_on(struct run *r, bool is_end, size_t *at, size_t *low)
{
    uint32_t options = PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK;
    options |= is_end ? 0 : PCRE2_PARTIAL_HARD | PCRE2_NOTEOL;
    *low = r->text.n;
    while (*at < r->text.n) {
        int rc = pcre2_match(r->c->code, (PCRE2_SPTR)r->text.p, r->text.n, *at, options, r->data,
                             r->limits);
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(r->data);
        if (rc == PCRE2_ERROR_NOMATCH) {
            *at = r->text.n;
        } else if (rc == PCRE2_ERROR_PARTIAL && r->text.n - span[0] <= WEIR_READER_REACH) {
            *at = span[0] > *at ? span[0] : *at;
            *low = *at;
            return 0;
        } else if (rc == PCRE2_ERROR_PARTIAL) {
            size_t n;
            size_t from = span[0] > *at ? span[0] : *at;
            weir_utf8_decode(weir_slice_sub(r->text, from, r->text.n), &n);
            *at = from + n;
        } else if (rc < 0) {
            return explain(r, rc);
        } else {
            bool is_sound = span[0] < span[1] && span[1] > *at;
            if (is_sound && add(r, r->from_byte + span[0], r->from_byte + span[1]) != 0) {
                return WEIR_ELIMIT;
            }
            *at = is_sound ? span[1] : r->text.n;
        }
    }
    return 0;
}

int weir_custom_read(const struct weir_custom *c, const struct weir_reader_text *t, size_t *at_byte,
                     struct weir_reader_out *out)
{
    struct run r = {
        .c = c, .text = t->text, .from_byte = t->from_byte, .found = out->found, .why = &out->why};
    size_t at = *at_byte - t->from_byte;
    size_t low = 0;
    r.data = pcre2_match_data_create(1, weir_pcre_heap_get());
    r.limits = pcre2_match_context_create(weir_pcre_heap_get());
    pcre2_set_match_limit(r.limits, MATCH_LIMIT);
    pcre2_set_heap_limit(r.limits, HEAP_KIB);
    int rc = read_on(&r, t->is_end, &at, &low);
    pcre2_match_data_free(r.data);
    pcre2_match_context_free(r.limits);
    *at_byte = t->from_byte + at;
    out->low_byte = t->from_byte + low < out->low_byte ? t->from_byte + low : out->low_byte;
    out->quiet_byte = t->from_byte + low < out->quiet_byte ? t->from_byte + low : out->quiet_byte;
    return rc;
}

/* ---- does it match at all */

struct weir_custom_tester {
    pcre2_match_data *data;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack;
    int64_t end_us;
    unsigned n_texts;
};

struct weir_custom_tester *weir_custom_tester_new(int64_t budget_us)
{
    struct weir_custom_tester *t = weir_mem_zalloc(sizeof *t);
    t->end_us = cpu_us() + budget_us;
    t->data = pcre2_match_data_create(1, weir_pcre_heap_get());
    t->limits = pcre2_match_context_create(weir_pcre_heap_get());
    t->stack = pcre2_jit_stack_create(32768, TEST_STACK_BYTES, NULL);
    pcre2_set_match_limit(t->limits, TEST_MATCH_LIMIT);
    pcre2_set_heap_limit(t->limits, HEAP_KIB);
    pcre2_jit_stack_assign(t->limits, NULL, t->stack);
    return t;
}

void weir_custom_tester_free(struct weir_custom_tester *t)
{
    if (t != NULL) {
        pcre2_match_data_free(t->data);
        pcre2_match_context_free(t->limits);
        pcre2_jit_stack_free(t->stack);
        free(t);
    }
}

static bool is_late(struct weir_custom_tester *t, struct weir_slice text)
{
    bool is_short = text.n <= WINDOW_BYTES;
    return (!is_short || ++t->n_texts % TEST_LOOK_EVERY == 0) && cpu_us() > t->end_us;
}

/* A start behind the last byte counts too: an empty match is a match. */
int weir_custom_test(struct weir_custom_tester *t, const struct weir_custom *c,
                     struct weir_slice text, const char **why)
{
    PCRE2_SPTR p = (PCRE2_SPTR)(text.n != 0 ? text.p : "");
    size_t at = 0;
    for (;;) {
        size_t stop = weir_utf8_floor(text, at + WINDOW_BYTES);
        pcre2_set_offset_limit(t->limits, stop);
        int rc = pcre2_match(c->code, p, text.n, at, PCRE2_NO_UTF_CHECK, t->data, t->limits);
        if (rc >= 0) {
            return 1;
        }
        if (rc != PCRE2_ERROR_NOMATCH) {
            *why = "a pattern needs too many steps";
            return WEIR_ELIMIT;
        }
        if (is_late(t, text)) {
            *why = "the patterns need too much time for this text";
            return WEIR_ELIMIT;
        }
        if (stop == text.n) {
            return 0;
        }
        at = stop;
    }
}
