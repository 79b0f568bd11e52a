#include "route/audit_note.h"

#include "obs/audit.h"
#include "obs/audit_chain.h"
#include "wire/json_write.h"

#include <time.h>

enum { MAX_FINDINGS = 256 };

struct weir_audit_note {
    const struct weir_conf_audit *conf;
    struct {
        struct weir_buf findings; /* JSON, commas between them */
        size_t n;
        size_t n_more;                   /* found, and not listed */
        enum weir_policy_outcome action; /* of the last one */
    } sides[WEIR_POLICY_SIDES];
};

static void write_finding(struct weir_json_write *w, const struct weir_conf_audit *conf,
                          const struct weir_detection *d)
{
    weir_json_write_key(w, WEIR_SLICE("score"));
    weir_json_write_f64(w, d->score);
    if (d->has_span) {
        weir_json_write_key(w, WEIR_SLICE("start"));
        weir_json_write_u64(w, d->start_cp);
        weir_json_write_key(w, WEIR_SLICE("end"));
        weir_json_write_u64(w, d->end_cp);
    }
    if (conf->key.n != 0 && d->text.n != 0) {
        char hash[WEIR_AUDIT_TEXT_HASH_BYTES + 1];
        weir_audit_chain_hash_text(conf->key, d->text, hash);
        weir_json_write_key(w, WEIR_SLICE("hash"));
        weir_json_write_string(w, weir_slice_cstr(hash));
    }
}

static void on_finding(void *ctx, const struct weir_seen_where *where,
                       const struct weir_detection *d, struct weir_slice detection)
{
    struct weir_audit_note *note = ctx;
    note->sides[where->side].action = where->action;
    if (note->sides[where->side].n == MAX_FINDINGS) {
        note->sides[where->side].n_more++;
        return;
    }
    struct weir_buf *out = &note->sides[where->side].findings;
    struct weir_json_write w;
    weir_buf_append(out, weir_slice_cstr(note->sides[where->side].n++ != 0 ? "," : ""));
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("detector"));
    weir_json_write_string(&w, d->detector_id);
    weir_json_write_key(&w, WEIR_SLICE("detection"));
    weir_json_write_string(&w, detection);
    weir_json_write_key(&w, WEIR_SLICE("channel"));
    weir_json_write_string(&w, weir_slice_cstr(where->channel));
    write_finding(&w, note->conf, d);
    weir_json_write_end_object(&w);
}

static void dispose(void *ctx)
{
    struct weir_audit_note *note = ctx;
    weir_buf_dispose(&note->sides[WEIR_POLICY_INPUT].findings);
    weir_buf_dispose(&note->sides[WEIR_POLICY_OUTPUT].findings);
}

void weir_audit_note_begin(struct weir_request *r)
{
    const struct weir_conf_audit *conf = &r->env->conf->audit;
    if (conf->path.s.n == 0) {
        return;
    }
    r->audit = weir_arena_zalloc(r->task.arena, sizeof *r->audit);
    r->audit->conf = conf;
    weir_arena_defer(r->task.arena, dispose, r->audit);
    r->seen->watch = on_finding;
    r->seen->watch_ctx = r->audit;
}

/* ---- the line ---- */

static void append_time(struct weir_buf *out)
{
    struct timespec ts;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &ts);
    gmtime_r(&ts.tv_sec, &tm);
    weir_buf_printf(out, "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ\"", tm.tm_year + 1900,
                    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                    ts.tv_nsec / 1000000);
}

static void append_text(struct weir_buf *out, const char *key, struct weir_slice value)
{
    weir_buf_printf(out, ",\"%s\":", key);
    weir_json_write_quoted(out, value);
}

/* Whom a line is about. */
struct about {
    struct weir_slice request_id;
    struct weir_slice key; /* its name; empty: none */
    struct weir_slice route;
    const char *revision;
    struct weir_slice model;
    struct weir_slice provider;
    int status;
};

static struct about about_of(const struct weir_http_stream *s)
{
    const struct weir_request *r = weir_request_of(s);
    struct weir_slice nothing = {"", 0};
    return (struct about){.request_id = r->log.request_id,
                          .key = r->key != NULL ? r->key->name.s : nothing,
                          .route = r->guarded->conf->name.s,
                          .revision = r->env->conf->revision,
                          .model = weir_seen_is_model_name(r->model) ? r->model : nothing,
                          .provider = r->model_report.provider,
                          .status = s->status};
}

static void write_side(const struct weir_audit_note *note, const struct about *a,
                       enum weir_policy_side side, enum weir_policy_outcome action)
{
    static const char *const sides[WEIR_POLICY_SIDES] = {"input", "output"};
    struct weir_buf line = {0};
    append_time(&line);
    append_text(&line, "request_id", a->request_id);
    if (a->key.n != 0) {
        append_text(&line, "key", a->key);
    }
    append_text(&line, "route", a->route);
    append_text(&line, "revision", weir_slice_cstr(a->revision));
    if (a->model.n != 0) {
        append_text(&line, "model", a->model);
    }
    if (a->provider.n != 0) {
        append_text(&line, "provider", a->provider);
    }
    append_text(&line, "side", weir_slice_cstr(sides[side]));
    append_text(&line, "action", weir_slice_cstr(weir_policy_outcome_name(action)));
    weir_buf_printf(&line, ",\"status\":%d,\"findings\":[", a->status);
    weir_buf_append(&line, weir_buf_slice(&note->sides[side].findings));
    weir_buf_append_byte(&line, ']');
    if (note->sides[side].n_more != 0) {
        weir_buf_printf(&line, ",\"more\":%zu", note->sides[side].n_more);
    }
    weir_audit_offer(weir_buf_slice(&line));
    weir_buf_dispose(&line);
}

static bool is_sampled(double share)
{
    return share > 0 && (double)(weir_trace_random() >> 11) * 0x1.0p-53 < share;
}

void weir_audit_note_end(const struct weir_http_stream *s)
{
    const struct weir_request *r = weir_request_of(s);
    if (r == NULL || r->audit == NULL) {
        return;
    }
    struct about about = about_of(s);
    for (size_t i = 0; i < WEIR_POLICY_SIDES; i++) {
        bool has_found = r->audit->sides[i].n != 0;
        bool is_clean = r->seen->has_outcome[i] && !has_found;
        if (has_found || (is_clean && is_sampled(r->audit->conf->sample_clean))) {
            write_side(r->audit, &about, (enum weir_policy_side)i,
                       r->seen->has_outcome[i] ? r->seen->outcome[i] : r->audit->sides[i].action);
        }
    }
}

/* ---- those that only watch ---- */

struct watched {
    struct weir_audit_note note;
    struct about about;
};

static void write_watched(void *ctx)
{
    struct watched *w = ctx;
    for (size_t i = 0; i < WEIR_POLICY_SIDES; i++) {
        if (w->note.sides[i].n != 0) {
            write_side(&w->note, &w->about, (enum weir_policy_side)i, WEIR_POLICY_SHADOWED);
        }
    }
    dispose(&w->note);
}

void weir_audit_note_watch(const struct weir_http_stream *s, struct weir_shadow *shadow)
{
    const struct weir_request *r = weir_request_of(s);
    struct weir_arena *arena = weir_shadow_arena(shadow);
    struct weir_seen *seen = weir_shadow_seen(shadow);
    if (r->env->conf->audit.path.s.n == 0) {
        return;
    }
    struct watched *w = weir_arena_zalloc(arena, sizeof *w);
    w->note.conf = &r->env->conf->audit;
    w->about = about_of(s);
    w->about.request_id = weir_arena_dup(arena, w->about.request_id);
    w->about.model = weir_arena_dup(arena, w->about.model);
    w->about.provider = weir_arena_dup(arena, w->about.provider);
    seen->watch = on_finding;
    seen->watch_ctx = &w->note;
    weir_shadow_on_end(shadow, write_watched, w);
}
