#include "detect/secrets.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/ascii.h"
#include "detect/secrets_int.h"

#include <pthread.h>
#include <stdlib.h>

/* Pattern ids: the shapes first, then the judges. */
static struct weir_patterns *compiled; /* as long as the process */
static pthread_mutex_t compile_lock = PTHREAD_MUTEX_INITIALIZER;

static struct weir_patterns *compile(struct weir_buf *why)
{
    size_t n = weir_secrets__n_shapes + weir_secrets__n_judges;
    struct weir_pattern *list = weir_mem_array(n, sizeof *list);
    for (size_t i = 0; i < weir_secrets__n_shapes; i++) {
        list[i].expr = weir_secrets__shapes[i].prefix;
    }
    for (size_t i = 0; i < weir_secrets__n_judges; i++) {
        list[weir_secrets__n_shapes + i] = weir_secrets__judges[i].pattern;
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
        size_t end = at + strlen(endings[i]);
        if (end <= t.n &&
            weir_slice_eq_nocase(weir_slice_sub(t, at, end), weir_slice_cstr(endings[i]))) {
            return true;
        }
    }
    return false;
}

static bool fits_shape(const struct weir_secret_shape *shape, struct weir_secret_look *l)
{
    const double least_bits = 2.5;
    struct weir_slice t = l->text;
    size_t from = l->end - strlen(shape->prefix);
    if (weir_secrets__touches_word(weir_ascii_before(t, from))) {
        return false;
    }
    size_t to = weir_secrets__run(t, l->end, shape->class, (size_t)shape->max + 1);
    while (to > l->end && (t.p[to - 1] == '.' || t.p[to - 1] == '/')) {
        to--; /* the sentence's */
    }
    size_t n = to - l->end;
    struct weir_slice body = weir_slice_sub(t, l->end, to);
    if (is_in_base64(t, from, l->end) || is_file(t, to)) {
        return false;
    }
    char last = t.p[l->end - 1];
    l->from = last == '=' || last == ' ' ? l->end : from;
    l->to = to;
    l->kind = shape->kind;
    l->score = 1.0;
    return n >= shape->min && n <= shape->max &&
           !weir_secrets__touches_word(weir_ascii_at(t, to)) &&
           (shape->class == WEIR_SECRET_CAPS || is_mixed(body)) &&
           !weir_secrets__is_placeholder(body) && weir_secrets__entropy(body) >= least_bits;
}

/* Names with values have a progress of their own: a value may be a vendor's. */
enum { VENDOR, ASSIGNED, N_PROGRESS };

struct scan {
    struct weir_slice text;
    bool is_piece;
    struct weir_found *found;
    size_t seen[N_PROGRESS]; /* the end of the last finding of a judge */
};

static bool is_found_by(struct scan *s, const struct weir_secret_judge *judge,
                        struct weir_secret_look *look)
{
    size_t *seen = &s->seen[judge->is_named ? ASSIGNED : VENDOR];
    look->floor = *seen;
    bool is_found = look->end > *seen && judge->judge(look);
    *seen = look->seen > *seen ? look->seen : *seen;
    if (is_found && look->to > *seen && look->more == 0) {
        *seen = look->to;
    }
    return is_found;
}

static int tell(struct scan *s, const struct weir_secret_look *look)
{
    struct weir_found_span span = {
        .start_byte = look->from,
        .end_byte = look->to,
        .detection = weir_slice_cstr(look->kind),
        .detection_type = WEIR_SLICE("secret"),
        .score = look->score,
        .edge = look->edge,
    };
    return weir_found_add(s->found, &span);
}

static int on_match(void *ctx, unsigned id, size_t end_byte)
{
    struct scan *s = ctx;
    struct weir_secret_look look = {.text = s->text, .end = end_byte, .is_piece = s->is_piece};
    if (id < weir_secrets__n_shapes) {
        return fits_shape(&weir_secrets__shapes[id], &look) ? tell(s, &look) : 0;
    }
    const struct weir_secret_judge *judge = &weir_secrets__judges[id - weir_secrets__n_shapes];
    bool is_found = is_found_by(s, judge, &look);
    int rc = is_found ? tell(s, &look) : 0;
    while (rc == 0 && look.more != 0 && judge->judge(&look)) {
        rc = tell(s, &look);
    }
    return rc;
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    struct scan s = {.text = text, .is_piece = run->is_piece, .found = found};
    return weir_patterns_scan(settings, text, on_match, &s);
}

static const char *const members[] = {NULL};

const struct weir_builtin_kind weir_detect_secrets = {
    .name = "secrets", .members = members, .across_kinds = true, .make = make, .scan = scan};
