#include "detect/secrets.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "detect/ascii.h"
#include "detect/rest.h"
#include "detect/secrets_int.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

/* Pattern ids: the shapes first, then the judges. */
static struct weir_patterns *compiled; /* as long as the process */
static pthread_mutex_t compile_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct weir_secret_shapes *shapes;
static unsigned char *backs; /* of the shapes: from a finding's beginning to its prefix's end */

static struct weir_rest_words words; /* what patterns end with */

/* A pattern that ends with less than three plain bytes has a sign before them that nobody rests
 * on, or is the beginning of a token that has digits (SK…, AC…). */
static void add_end(struct weir_slice literal)
{
    size_t n = 0;
    while (n < literal.n && n < WEIR_REST_GRAM &&
           weir_rest_codes[(unsigned char)literal.p[literal.n - 1 - n]] != 0) {
        n++;
    }
    if (n >= WEIR_REST_GRAM - 1) {
        weir_rest_add(&words, weir_slice_sub(literal, literal.n - n, literal.n));
    } else if (n != 0 && n < literal.n) {
        bool is_plain;
        weir_rest_word(weir_slice_sub(literal, literal.n - n - 1, literal.n - n), WEIR_REST_WORDS,
                       &is_plain);
        WEIR_ASSERT(!is_plain);
    }
}

static struct weir_patterns *compile(struct weir_buf *why)
{
    shapes = weir_secrets__shapes();
    backs = weir_mem_zalloc(shapes->n);
    weir_secrets__prepare_tail();
    size_t n = shapes->n + weir_secrets__n_judges;
    struct weir_pattern *list = weir_mem_array(n, sizeof *list);
    for (size_t i = 0; i < shapes->n; i++) {
        const char *prefix = shapes->items[i].prefix;
        size_t n_prefix = strlen(prefix);
        bool is_name = prefix[n_prefix - 1] == '=' || prefix[n_prefix - 1] == ' ';
        backs[i] = is_name ? 0 : (unsigned char)n_prefix;
        list[i].expr = prefix;
        add_end(weir_slice_cstr(prefix));
    }
    for (size_t i = 0; i < weir_secrets__n_judges; i++) {
        const struct weir_pattern *p = &weir_secrets__judges[i].pattern;
        list[shapes->n + i] = *p;
        WEIR_ASSERT(weir_secrets__judges[i].rule.back < WEIR_READER_OPEN);
        add_end(weir_slice_cstr(p->expr)); /* expressions too end with what they match */
    }
    struct weir_patterns *made = weir_patterns_new(list, n, why);
    free(list);
    return made;
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    (void)params;
    pthread_mutex_lock(&compile_lock);
    if (compiled == NULL) {
        compiled = compile(why);
    }
    pthread_mutex_unlock(&compile_lock);
    return compiled;
}

/* Random text of 16 characters and more has digits, or letters of both cases. */
static bool is_mixed(struct weir_slice s)
{
    bool has_digit = false;
    bool has_upper = false;
    bool has_lower = false;
    for (size_t i = 0; i < s.n; i++) {
        has_digit = has_digit || weir_ascii_is_digit(s.p[i]);
        has_upper = has_upper || weir_ascii_is_upper(s.p[i]);
        has_lower = has_lower || (s.p[i] >= 'a' && s.p[i] <= 'z');
    }
    return has_digit || (has_upper && has_lower);
}

/* A prefix of letters only is in every long base64 text, behind its signs too. */
static bool is_in_base64(struct weir_slice t, size_t from, size_t end)
{
    char before = weir_ascii_before(t, from);
    return (before == '+' || before == '/') &&
           weir_secrets__run(t, from, WEIR_SECRET_ALNUM, end - from) == end;
}

/* The hash in the name of a picture. */
static bool is_file(struct weir_slice t, size_t at)
{
    static const char *const endings[] = {".png",  ".jpg",  ".jpeg", ".gif", ".svg",
                                          ".webp", ".avif", ".ico",  ".css", ".woff"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (weir_ascii_follows(t, at, endings[i])) {
            return true;
        }
    }
    return false;
}

static bool is_drawn(const struct weir_secret_shape *shape, struct weir_slice body)
{
    const double least_bits = 2.5;
    return (shape->class == WEIR_SECRET_CAPS || is_mixed(body)) &&
           !weir_secrets__is_placeholder(body) && weir_secrets__entropy(body) >= least_bits;
}

/* Of tokens without a greatest length the first characters decide, whatever follows. */
static bool is_open(const struct weir_secret_shape *shape, struct weir_seek_look *l, size_t to)
{
    enum { DECIDING = 48 };
    size_t n = shape->min > DECIDING ? shape->min : DECIDING;
    if (shape->max != WEIR_SECRET_OPEN || to - l->end < n) {
        return false;
    }
    l->is_sure = l->resume != 0 || is_drawn(shape, weir_slice_sub(l->text, l->end, l->end + n));
    l->resume = l->is_sure ? to : 0;
    return true;
}

static bool fits_shape(const struct weir_secret_shape *shape, struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    size_t from = l->end - strlen(shape->prefix);
    if (weir_secrets__touches_word(weir_ascii_before(t, from)) || is_in_base64(t, from, l->end)) {
        return false;
    }
    bool has_limit = shape->max != WEIR_SECRET_OPEN;
    size_t at = l->resume != 0 ? l->resume : l->end;
    size_t to =
        weir_secrets__run(t, at, shape->class, has_limit ? (size_t)shape->max + 1 : SIZE_MAX);
    bool is_over = is_open(shape, l, to);
    while (to > l->end && (t.p[to - 1] == '.' || t.p[to - 1] == '/')) {
        to--; /* the sentence's */
    }
    char last = t.p[l->end - 1];
    l->from = last == '=' || last == ' ' ? l->end : from;
    l->to = to;
    l->kind = shape->kind;
    l->score = 1.0;
    if (is_over) {
        return l->is_sure;
    }
    size_t n = to - l->end;
    return n >= shape->min && n <= shape->max && !is_file(t, to) &&
           !weir_secrets__touches_word(weir_ascii_at(t, to)) &&
           is_drawn(shape, weir_slice_sub(t, l->end, to));
}

/* ---- what is looked for, in texts and streams */

static struct weir_seek_rule rule(const void *settings, unsigned id)
{
    (void)settings;
    if (id < shapes->n) {
        return (struct weir_seek_rule){.group = WEIR_SEEK_ALONE, .back = backs[id]};
    }
    return weir_secrets__judges[id - shapes->n].rule;
}

static bool judge(const void *settings, unsigned id, struct weir_seek_look *l)
{
    (void)settings;
    return id < shapes->n ? fits_shape(&shapes->items[id], l)
                          : weir_secrets__judges[id - shapes->n].judge(l);
}

static struct weir_seek_rules rules_of(const void *settings)
{
    return (struct weir_seek_rules){
        .patterns = settings,
        .rule = rule,
        .judge = judge,
        .type = "secret",
        .opens = true,
        .weak_groups = 1U << WEIR_SECRETS_ASSIGNED | 1U << WEIR_SECRETS_MANIFEST,
        .n_groups = WEIR_SECRETS_N_GROUPS,
    };
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    struct weir_seek_rules rules = rules_of(settings);
    rules.is_piece = run->is_piece;
    return weir_seek_scan(&rules, text, found);
}

/* ---- reading along */

static size_t reader_size(const void *settings)
{
    (void)settings;
    return sizeof(struct weir_seek);
}

static void reader_init(void *state, const void *settings)
{
    struct weir_seek_rules rules = rules_of(settings);
    weir_seek_init(state, &rules);
}

static void reader_dispose(void *state)
{
    weir_seek_dispose(state);
}

static int reader_read(void *state, const void *settings, const struct weir_reader_text *t,
                       struct weir_reader_out *out)
{
    struct weir_seek_rules rules = rules_of(settings);
    int rc = weir_seek_read(state, &rules, t, out->found);
    size_t low = weir_seek_low(state);
    out->quiet_byte = low < out->quiet_byte ? low : out->quiet_byte;
    size_t tail = t->from_byte + weir_secrets__tail(t->text, t->from_byte == 0);
    low = tail < low ? tail : low;
    out->low_byte = low > out->low_byte ? low : out->low_byte;
    return rc;
}

static bool can_rest(const void *state, const void *settings)
{
    (void)settings;
    const struct weir_seek *s = state;
    return s->n == 0;
}

static struct weir_reader_open open_of(const void *state)
{
    const struct weir_seek *s = state;
    return s->open;
}

static const struct weir_rest_words *words_of(const void *settings)
{
    (void)settings;
    return &words;
}

static const struct weir_reader_ops reader = {.size = reader_size,
                                              .init = reader_init,
                                              .dispose = reader_dispose,
                                              .read = reader_read,
                                              .can_rest = can_rest,
                                              .open = open_of,
                                              .rests_on = WEIR_REST_WORDS,
                                              .words = words_of};

static const char *const members[] = {NULL};

const struct weir_builtin_kind weir_detect_secrets = {.name = "secrets",
                                                      .members = members,
                                                      .across_kinds = true,
                                                      .has_views = true,
                                                      .make = make,
                                                      .scan = scan,
                                                      .reader = &reader};
