#include "detect/links.h"

#include "base/err.h"
#include "base/mem.h"
#include "detect/links_int.h"
#include "detect/rest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HOST = 253 };

static struct weir_patterns *compiled; /* as long as the process */
static pthread_mutex_t compile_lock = PTHREAD_MUTEX_INITIALIZER;

static void free_settings(void *p)
{
    struct weir_links__settings *s = p;
    for (size_t i = 0; i < s->n_allowed; i++) {
        free((void *)(uintptr_t)s->allowed[i].p);
    }
    free(s);
}

/* "*.example.com" is kept with its star. */
static bool add_allowed(struct weir_links__settings *s, struct weir_slice entry,
                        struct weir_buf *why)
{
    bool is_below = weir_slice_starts_with(entry, WEIR_SLICE("*."));
    struct weir_slice name = weir_slice_sub(entry, is_below ? 2 : 0, entry.n);
    struct weir_links__host host;
    bool is_good = name.n != 0 && name.n <= MAX_HOST && weir_slice_find(name, '*') == name.n &&
                   memchr(name.p, '@', name.n) == NULL && memchr(name.p, '/', name.n) == NULL &&
                   weir_links__parse_host(name, &host) == WEIR_LINKS_HOST;
    if (!is_good) {
        weir_buf_printf(why, "`allow` has host names, such as example.com or *.example.com");
        return false;
    }
    struct weir_buf kept = {0};
    weir_buf_append(&kept, weir_slice_cstr(is_below ? "*." : ""));
    weir_buf_append(&kept, weir_slice_make(host.name, host.n));
    s->allowed[s->n_allowed++] = weir_buf_slice(&kept); /* free_settings frees it */
    return true;
}

static struct weir_rest_words words; /* all other signs have bytes that are not plain */

static struct weir_patterns *compile(struct weir_buf *why)
{
    struct weir_pattern *list = weir_mem_array(weir_links__n_signs, sizeof *list);
    for (size_t i = 0; i < weir_links__n_signs; i++) {
        list[i] = weir_links__signs[i].pattern;
    }
    struct weir_patterns *made = weir_patterns_new(list, weir_links__n_signs, why);
    free(list);
    return made;
}

static int prepare(struct weir_buf *why)
{
    pthread_mutex_lock(&compile_lock);
    compiled = compiled != NULL ? compiled : compile(why);
    weir_rest_add(&words, WEIR_SLICE("www."));
    int rc = compiled != NULL ? 0 : WEIR_EUNSUPPORTED;
    pthread_mutex_unlock(&compile_lock);
    return rc;
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    struct weir_slice *hosts;
    size_t n;
    if (prepare(why) != 0 ||
        weir_builtin_strings(params, "allow", WEIR_LINKS_MAX_ALLOWED, why, &hosts, &n) != 0) {
        return NULL;
    }
    struct weir_links__settings *s = weir_mem_zalloc(sizeof *s);
    for (size_t i = 0; i < n; i++) {
        if (!add_allowed(s, hosts[i], why)) {
            free_settings(s);
            return NULL;
        }
    }
    return s;
}

/* ---- texts and streams */

static struct weir_seek_rule rule(const void *settings, unsigned id)
{
    (void)settings;
    return (struct weir_seek_rule){.group = 0, .back = weir_links__signs[id].back};
}

static const enum weir_seek_trigger triggers[256] = {
    [':'] = WEIR_SEEK_TRIGGER, ['('] = WEIR_SEEK_TRIGGER, ['='] = WEIR_SEEK_TRIGGER,
    ['@'] = WEIR_SEEK_TRIGGER, ['.'] = WEIR_SEEK_AFTER_W,
};

static struct weir_seek_rules rules_of(const void *settings)
{
    return (struct weir_seek_rules){.patterns = compiled,
                                    .rule = rule,
                                    .judge = weir_links__judge,
                                    .settings = settings,
                                    .type = "link",
                                    .triggers = triggers,
                                    .n_groups = 1};
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    struct weir_seek_rules rules = rules_of(settings);
    rules.is_piece = run->is_piece;
    return weir_seek_scan(&rules, text, found);
}

struct reader {
    struct weir_seek seek;
    size_t read_byte;  /* images were looked for up to there */
    size_t image_byte; /* of the first whose text is open; SIZE_MAX: none is */
};

static size_t reader_size(const void *settings)
{
    (void)settings;
    return sizeof(struct reader);
}

static void reader_init(void *state, const void *settings)
{
    struct reader *r = state;
    struct weir_seek_rules rules = rules_of(settings);
    weir_seek_init(&r->seek, &rules);
    r->image_byte = SIZE_MAX;
}

static void reader_dispose(void *state)
{
    struct reader *r = state;
    weir_seek_dispose(&r->seek);
}

static size_t next_image(const struct weir_reader_text *t, size_t from_byte)
{
    size_t at = from_byte > t->from_byte ? from_byte - t->from_byte : 0;
    const char *found = at < t->text.n ? memmem(t->text.p + at, t->text.n - at, "![", 2) : NULL;
    return found != NULL ? t->from_byte + (size_t)(found - t->text.p) : SIZE_MAX;
}

/* The first image whose text is open: a finding may begin with it. */
static void follow_images(struct reader *r, const struct weir_reader_text *t)
{
    size_t image = r->image_byte;
    size_t from_byte = t->rested_byte > r->read_byte ? t->rested_byte : r->read_byte;
    image = image != SIZE_MAX ? image : next_image(t, from_byte);
    while (image != SIZE_MAX && !weir_links__is_open_image(t->text, image - t->from_byte)) {
        image = next_image(t, image + 2);
    }
    size_t to_byte = t->from_byte + t->text.n;
    bool is_half = t->text.n != 0 && t->text.p[t->text.n - 1] == '!';
    r->image_byte = image;
    r->read_byte = to_byte - is_half;
}

static int reader_read(void *state, const void *settings, const struct weir_reader_text *t,
                       struct weir_reader_out *out)
{
    struct reader *r = state;
    struct weir_seek_rules rules = rules_of(settings);
    follow_images(r, t);
    int rc = weir_seek_read(&r->seek, &rules, t, out->found);
    size_t low = weir_seek_low(&r->seek);
    out->quiet_byte = low < out->quiet_byte ? low : out->quiet_byte;
    size_t tail = t->from_byte + weir_links__tail(t->text);
    tail = r->read_byte < tail ? r->read_byte : tail;
    tail = r->image_byte < tail ? r->image_byte : tail;
    low = tail < low ? tail : low;
    out->low_byte = low > out->low_byte ? low : out->low_byte;
    return rc;
}

static const struct weir_rest_words *words_of(const void *settings)
{
    (void)settings;
    return &words;
}

static bool can_rest(const void *state, const void *settings)
{
    (void)settings;
    const struct reader *r = state;
    return r->seek.n == 0 && r->image_byte == SIZE_MAX;
}

static const struct weir_reader_ops reader = {.size = reader_size,
                                              .init = reader_init,
                                              .dispose = reader_dispose,
                                              .read = reader_read,
                                              .can_rest = can_rest,
                                              .rests_on = WEIR_REST_LINKLESS,
                                              .words = words_of};

static const char *const members[] = {"allow", NULL};

const struct weir_builtin_kind weir_detect_links = {.name = "links",
                                                    .members = members,
                                                    .make = make,
                                                    .free = free_settings,
                                                    .scan = scan,
                                                    .reader = &reader};
