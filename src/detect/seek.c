#include "detect/seek.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "detect/ascii.h"
#include "obs/metric.h"

#include <stdint.h>
#include <stdlib.h>

enum {
    FIRST_CAP = 4,
    SLACK = 64,     /* bytes of a finding before its candidate's end */
    MANY = 64,      /* candidates that are judged before more are looked for */
    TRY_AGAIN = 64, /* bytes after which candidates are judged again, whatever the bytes are */
};

void weir_seek_init(struct weir_seek *s, const struct weir_seek_rules *rules)
{
    *s = (struct weir_seek){.stream = weir_patterns_open(rules->patterns)};
    s->seen = weir_mem_zalloc((rules->n_groups + 1) * sizeof *s->seen);
}

void weir_seek_dispose(struct weir_seek *s)
{
    weir_patterns_close(s->stream);
    free(s->waiting);
    free(s->seen);
    *s = (struct weir_seek){0};
}

size_t weir_seek_low(const struct weir_seek *s)
{
    size_t low = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        low = s->waiting[i].low < low ? s->waiting[i].low : low;
    }
    return low;
}

/* ---- one candidate */

struct run {
    struct weir_seek *s;
    const struct weir_seek_rules *rules;
    const struct weir_reader_text *t;
    struct weir_found *found;
};

static size_t minus(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* One look at what may be seen of the text. Did the judge look behind the end of that? */
static bool look_once(const struct run *r, const struct weir_seek_candidate *c, size_t reach,
                      struct weir_seek_look *l, bool *is_found)
{
    const struct weir_slice t = r->t->text;
    const struct weir_seek_rule rule = r->rules->rule(r->rules->settings, c->id);
    size_t end = c->end - r->t->from_byte;
    size_t n = t.n - end > reach && !r->rules->is_piece ? weir_utf8_floor(t, end + reach) : t.n;
    size_t seen = rule.group < WEIR_SEEK_ALONE ? r->s->seen[rule.group] : 0;
    *l = (struct weir_seek_look){
        .text = weir_slice_sub(t, 0, n),
        .end = end,
        .floor = minus(seen, r->t->from_byte),
        .resume = minus(c->resume, r->t->from_byte),
        .state = c->state,
        .is_start = r->t->from_byte == 0,
        .is_piece = r->rules->is_piece,
        .is_cut = n < t.n,
        .from = c->state != 0 ? minus(c->low, r->t->from_byte) : minus(end, rule.back),
    };
    weir_ascii_edge = (struct weir_ascii_edge){.end = t.p + n};
    *is_found = r->rules->judge(r->rules->settings, c->id, l);
    bool is_met = weir_ascii_edge.is_met;
    weir_ascii_edge = (struct weir_ascii_edge){0};
    return is_met;
}

static bool is_sure(const struct run *r, const struct weir_seek_look *l)
{
    return r->rules->opens && l->is_sure && l->score >= 1.0;
}

static int tell(const struct run *r, const struct weir_seek_look *l)
{
    struct weir_found_span span = {
        .start_byte = r->t->from_byte + l->from,
        .end_byte = r->t->from_byte + l->to,
        .detection = weir_slice_cstr(l->kind),
        .detection_type = weir_slice_cstr(r->rules->type),
        .score = l->score,
        .edge = l->edge,
        .is_sure = is_sure(r, l),
    };
    return weir_found_add(r->found, &span);
}

static void remember(const struct run *r, unsigned group, const struct weir_seek_look *l,
                     bool is_found)
{
    size_t seen = is_found && l->more == 0 && l->to > l->seen ? l->to : l->seen;
    size_t *own = &r->s->seen[group];
    if (group < WEIR_SEEK_ALONE && seen != 0 && r->t->from_byte + seen > *own) {
        *own = r->t->from_byte + seen;
    }
}

/* A candidate waits for its end, and is a finding whatever that is. */
static void note_open(const struct run *r, const struct weir_seek_look *l)
{
    struct weir_reader_open *open = &r->s->open;
    size_t start_byte = r->t->from_byte + l->from;
    size_t sure = l->resume < l->to ? l->resume : l->to;
    if (is_sure(r, l) && (open->kind == NULL || start_byte < open->start_byte)) {
        *open = (struct weir_reader_open){.start_byte = start_byte,
                                          .to_byte = r->t->from_byte + sure,
                                          .kind = l->kind,
                                          .type = r->rules->type};
    }
}

/* A finding went on for longer than it is followed. */
static void count_closed(const char *type)
{
    static const struct weir_metric_def def = {
        .name = "weir_findings_closed_total",
        .help = "Findings that were closed after 65,536 bytes though they went on.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"detection_type"},
    };
    struct weir_metric_counter counter =
        weir_metric_counter(weir_metric_declare(&def), WEIR_METRIC_LABELS(weir_slice_cstr(type)));
    weir_metric_add(counter, 1);
}

/* The first candidate of a group that waits holds the others, and may have some of them in it. */
struct holder {
    uint64_t groups; /* that are held, a bit each */
    unsigned group;  /* whose finding goes on, */
    size_t covered;  /* and has what ends up to there */
};

static void hold(struct holder *h, unsigned group, size_t covered)
{
    if (group < WEIR_SEEK_ALONE) {
        h->groups |= (uint64_t)1 << group;
        h->group = covered != 0 ? group : h->group;
        h->covered = covered != 0 ? covered : h->covered;
    }
}

enum verdict { DECIDED, WAITS, AGAIN };

static enum verdict decide(const struct run *r, struct weir_seek_candidate *c, struct holder *held,
                           int *rc)
{
    struct weir_seek_look l;
    bool is_found;
    unsigned group = r->rules->rule(r->rules->settings, c->id).group;
    bool is_met =
        look_once(r, c, c->is_sure ? WEIR_READER_SURE_REACH : WEIR_READER_REACH, &l, &is_found);
    if (is_met && l.is_cut && l.goes_on) {
        c->end = r->t->from_byte + l.end;
        c->state = l.state;
        c->resume = 0;
        return AGAIN;
    }
    if (is_met && l.is_cut && l.is_sure && !c->is_sure) {
        c->is_sure = true;
        is_met = look_once(r, c, WEIR_READER_SURE_REACH, &l, &is_found);
    }
    c->end = l.state != 0 ? r->t->from_byte + l.end : c->end;
    c->state = l.state;
    if (is_met && !l.is_cut && !r->t->is_end) {
        c->low = r->t->from_byte + l.from;
        c->resume = l.resume != 0 ? r->t->from_byte + l.resume : 0;
        note_open(r, &l);
        hold(held, group, l.covered != 0 ? r->t->from_byte + l.covered : 0);
        return WAITS;
    }
    is_found = is_found && !(is_met && l.is_cut && !l.is_sure);
    remember(r, group, &l, is_found);
    if (is_found && l.to - l.from > WEIR_READER_SURE_REACH - SLACK) {
        count_closed(r->rules->type);
    }
    *rc = is_found ? tell(r, &l) : 0;
    c->is_sure = false;
    c->resume = r->t->from_byte + l.more;
    return is_found && l.more != 0 ? AGAIN : DECIDED;
}

/* ---- all of them */

/* Could another that waits, and begins no later, have the place of the open one? */
static void look_for_rivals(const struct run *r)
{
    struct weir_seek *s = r->s;
    size_t n_rivals = 0; /* and the open one itself */
    for (size_t i = 0; s->open.kind != NULL && i < s->n; i++) {
        unsigned group = r->rules->rule(r->rules->settings, s->waiting[i].id).group;
        bool is_weak = (r->rules->weak_groups >> group & 1) != 0;
        n_rivals += !is_weak && s->waiting[i].low <= s->open.start_byte;
    }
    s->open.kind = n_rivals == 1 ? s->open.kind : NULL;
}

/* Those of a group stand behind the first that waits: what it says decides where they may look. */
static int try_all(const struct run *r)
{
    struct weir_seek *s = r->s;
    struct holder held = {0};
    size_t kept = 0;
    int rc = 0;
    s->open = (struct weir_reader_open){0};
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        struct weir_seek_candidate c = s->waiting[i];
        struct weir_seek_rule rule = r->rules->rule(r->rules->settings, c.id);
        bool is_alone = rule.group == WEIR_SEEK_ALONE;
        enum verdict v = WAITS;
        if (is_alone || (held.groups >> rule.group & 1) == 0) {
            bool is_judged = !is_alone && c.state == 0 && c.end <= s->seen[rule.group];
            do {
                v = is_judged ? DECIDED : decide(r, &c, &held, &rc);
            } while (v == AGAIN && rc == 0);
        } else if (held.group == rule.group && c.state == 0 && c.end <= held.covered) {
            v = DECIDED;
        }
        if (v == WAITS) {
            s->waiting[kept++] = c;
        }
    }
    s->n = kept;
    look_for_rivals(r);
    return rc;
}

/* Patterns that end at one byte come in any order: by their number it is always the same. */
static void add(struct weir_seek *s, const struct weir_seek_candidate *c)
{
    if (s->n == s->cap) {
        s->cap = s->cap != 0 ? 2 * s->cap : FIRST_CAP;
        s->waiting = weir_mem_realloc(s->waiting, s->cap * sizeof *s->waiting);
    }
    size_t at = s->n++;
    while (at > 0 && s->waiting[at - 1].end == c->end && s->waiting[at - 1].id > c->id) {
        s->waiting[at] = s->waiting[at - 1];
        at--;
    }
    s->waiting[at] = *c;
}

static int on_match(void *ctx, unsigned id, size_t end_byte)
{
    const struct run *r = ctx;
    struct weir_seek *s = r->s;
    struct weir_seek_rule rule = r->rules->rule(r->rules->settings, id);
    end_byte += s->base_byte;
    if (rule.group == WEIR_SEEK_UNASKED || end_byte <= s->read_byte) {
        return 0;
    }
    bool is_next = s->n != 0 && s->waiting[s->n - 1].end != end_byte;
    int rc = is_next && (r->t->is_end || s->n >= MANY) ? try_all(r) : 0;
    struct weir_seek_candidate c = {.id = id, .end = end_byte, .low = minus(end_byte, rule.back)};
    add(s, &c);
    s->has_new = true;
    return rc;
}

/* Letters and digits, _ and -: while nothing else comes, the word goes on, and nobody decides. */
static bool is_word_only(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!weir_ascii_is_alnum(s.p[i]) && s.p[i] != '_' && s.p[i] != '-') {
            return false;
        }
    }
    return true;
}

/* Is there nothing to find in text from `at` on, since what every match has is not there? Nobody
 * rests on that. */
static bool is_quiet(struct weir_seek *s, const enum weir_seek_trigger *triggers,
                     const struct weir_reader_text *t, size_t at)
{
    if (triggers == NULL) {
        return false;
    }
    struct weir_slice text = t->text;
    size_t rested = minus(t->rested_byte, t->from_byte);
    for (size_t i = text.n; i > at && i > rested; i--) {
        enum weir_seek_trigger trigger = triggers[(unsigned char)text.p[i - 1]];
        bool is_after_w = i - 1 == at || weir_ascii_lower(text.p[i - 2]) == 'w';
        if (trigger == WEIR_SEEK_TRIGGER || (trigger == WEIR_SEEK_AFTER_W && is_after_w)) {
            s->trigger_byte = t->from_byte + i;
            return false;
        }
    }
    return t->from_byte + at - s->trigger_byte > WEIR_SEEK_WIDTH; /* else a match may end in it */
}

/* Shows the new text to the patterns. */
static int scan_part(struct run *r)
{
    struct weir_seek *s = r->s;
    const struct weir_reader_text *t = r->t;
    size_t at = minus(s->read_byte, t->from_byte);
    struct weir_slice part = weir_slice_sub(t->text, at, t->text.n);
    if (is_quiet(s, r->rules->triggers, t, at)) {
        s->is_behind = true;
        return 0;
    }
    if (s->is_behind) {
        at = minus(at, WEIR_SEEK_WIDTH);
        part = weir_slice_sub(t->text, at, t->text.n);
        weir_patterns_restart(r->rules->patterns, s->stream);
        s->base_byte = t->from_byte + at;
        s->is_behind = false;
    }
    return weir_patterns_read(r->rules->patterns, s->stream, part, on_match, r);
}

int weir_seek_read(struct weir_seek *s, const struct weir_seek_rules *rules,
                   const struct weir_reader_text *t, struct weir_found *found)
{
    struct run r = {.s = s, .rules = rules, .t = t, .found = found};
    size_t to_byte = t->from_byte + t->text.n;
    struct weir_slice part = weir_slice_sub(t->text, minus(s->read_byte, t->from_byte), t->text.n);
    int rc = scan_part(&r);
    s->read_byte = to_byte;
    bool can_decide =
        t->is_end || s->has_new || to_byte - s->tried_byte >= TRY_AGAIN || !is_word_only(part);
    if (rc == 0 && s->n != 0 && can_decide) {
        s->tried_byte = to_byte;
        s->has_new = false;
        rc = try_all(&r);
    }
    if (s->n == 0 && s->cap > FIRST_CAP) {
        free(s->waiting);
        s->waiting = NULL;
        s->cap = 0;
    }
    return rc;
}

int weir_seek_scan(const struct weir_seek_rules *rules, struct weir_slice text,
                   struct weir_found *found)
{
    size_t seen[WEIR_SEEK_ALONE] = {0};
    WEIR_ASSERT(rules->n_groups <= WEIR_SEEK_ALONE);
    struct weir_seek s = {.seen = seen};
    struct weir_reader_text t = {.text = text, .is_end = true};
    struct run r = {.s = &s, .rules = rules, .t = &t, .found = found};
    int rc = weir_patterns_scan(rules->patterns, text, on_match, &r);
    rc = rc == 0 ? try_all(&r) : rc;
    free(s.waiting);
    return rc;
}
