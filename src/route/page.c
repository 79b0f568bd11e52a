/*
 * web/ put together into one page, once. Nothing on it may come from elsewhere: the policy names
 * the one style sheet and the one script by their hashes, and the server as the only one to talk
 * to.
 */
#include "route/page.h"

#include "base/assert.h"
#include "base/buf.h"
#include "detect/builtin.h"
#include "route/env.h"
#include "route/page_files.h"
#include "route/reply.h"
#include "wire/base64.h"
#include "wire/json_write.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <string.h>

bool weir_page_exists(const void *env)
{
    return ((const struct weir_env *)env)->conf->playground;
}

bool weir_page_is_open(const void *env, const struct weir_http_request *req)
{
    return weir_page_exists(env) && weir_slice_eq(req->path, WEIR_SLICE("/"));
}

/* ---- the page ---- */

static struct {
    pthread_once_t once;
    struct weir_arena arena; /* of what the others point to; as long as the process */
    struct weir_slice html;
    struct weir_slice policy;
    struct weir_slice etag;
} page = {.once = PTHREAD_ONCE_INIT};

static struct weir_slice digest(struct weir_slice text, enum weir_base64_form form)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    int rc = EVP_Digest(text.p, text.n, bytes, &n, EVP_sha256(), NULL);
    WEIR_ASSERT(rc == 1);
    return weir_base64_encode(&page.arena, form, weir_slice_make((const char *)bytes, n));
}

/* Appends `html` up to and with `tag`, then what belongs in there. */
static void append_until(struct weir_buf *out, struct weir_slice *html, const char *tag,
                         struct weir_slice inside)
{
    const char *at = memmem(html->p, html->n, tag, strlen(tag));
    WEIR_ASSERT(at != NULL);
    size_t n = (size_t)(at - html->p) + strlen(tag);
    weir_buf_append(out, weir_slice_sub(*html, 0, n));
    weir_buf_append(out, inside);
    *html = weir_slice_sub(*html, n, html->n);
}

static void make_page(void)
{
    struct weir_page_files files = weir_page_files_get();
    struct weir_buf out = {0};
    append_until(&out, &files.html, "<style>", files.style);
    append_until(&out, &files.html, "<script>", files.script);
    weir_buf_append(&out, files.html);
    page.html = weir_arena_dup(&page.arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    struct weir_slice script = digest(files.script, WEIR_BASE64_STANDARD);
    struct weir_slice style = digest(files.style, WEIR_BASE64_STANDARD);
    struct weir_slice whole = digest(page.html, WEIR_BASE64_URL);
    page.policy = weir_slice_cstr(
        weir_arena_printf(&page.arena,
                          "default-src 'none'; script-src 'sha256-%.*s'; style-src 'sha256-%.*s'; "
                          "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                          "frame-ancestors 'none'",
                          (int)script.n, script.p, (int)style.n, style.p));
    page.etag = weir_slice_cstr(weir_arena_printf(&page.arena, "\"%.*s\"", (int)whole.n, whole.p));
}

void weir_page_begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    pthread_once(&page.once, make_page);
    const struct weir_http_field fields[] = {
        {WEIR_SLICE("content-type"), WEIR_SLICE("text/html; charset=utf-8")},
        {WEIR_SLICE("content-security-policy"), page.policy},
        {WEIR_SLICE("cache-control"), WEIR_SLICE("no-cache")},
        {WEIR_SLICE("etag"), page.etag},
        {WEIR_SLICE("x-content-type-options"), WEIR_SLICE("nosniff")},
        {WEIR_SLICE("referrer-policy"), WEIR_SLICE("no-referrer")},
    };
    enum { N_FIELDS = sizeof fields / sizeof fields[0] };
    struct weir_slice known = weir_http_request_get(&s->req, WEIR_SLICE("if-none-match"));
    if (weir_slice_eq(known, page.etag)) {
        weir_http_stream_reply(s, 304, fields + 1, N_FIELDS - 1, WEIR_SLICE(""));
    } else {
        weir_http_stream_reply(s, 200, fields, N_FIELDS, page.html);
    }
}

/* ---- what it must know ---- */

static void write_string(struct weir_json_write *w, const char *name, struct weir_slice value)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, value);
}

static void write_plan(struct weir_json_write *w, const char *name, const struct weir_plan *plan)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < plan->n; i++) {
        weir_json_write_string(w, plan->uses[i].d->id);
    }
    weir_json_write_end_array(w);
}

static void write_route(struct weir_json_write *w, const struct weir_guarded *g,
                        struct weir_arena *arena)
{
    struct weir_slice name = g->conf->name.s;
    bool is_default = weir_slice_eq(name, WEIR_SLICE("default"));
    const char *base = weir_arena_printf(arena, "/%.*s/v1", (int)name.n, name.p);
    weir_json_write_begin_object(w);
    write_string(w, "name", name);
    write_string(w, "base", is_default ? WEIR_SLICE("/v1") : weir_slice_cstr(base));
    write_string(w, "policy", weir_slice_cstr(weir_conf_action_name(g->conf->on_detection)));
    write_plan(w, "input", &g->input);
    write_plan(w, "output", &g->output);
    if (weir_policy_rules_of(g->policy.action)->fills) {
        write_string(w, "redact_with", g->policy.redact_with);
    }
    weir_json_write_end_object(w);
}

static const char *type_name(enum weir_detect_type type)
{
    static const char *const names[] = {
        [WEIR_DETECT_CONTENTS] = "text_contents",
        [WEIR_DETECT_CHAT] = "text_chat",
        [WEIR_DETECT_CONTEXT_DOC] = "text_context_doc",
        [WEIR_DETECT_GENERATION] = "text_generation",
    };
    return names[type];
}

static void write_detectors(struct weir_json_write *w, const struct weir_task_env *tasks)
{
    weir_json_write_key(w, WEIR_SLICE("detectors"));
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < tasks->n_detectors; i++) {
        const struct weir_task_detector *d = &tasks->detectors[i];
        weir_json_write_begin_object(w);
        write_string(w, "id", d->id);
        write_string(w, "type", weir_slice_cstr(type_name(d->detector->type)));
        weir_json_write_key(w, WEIR_SLICE("builtin"));
        weir_json_write_bool(w, weir_builtin_of(d->detector) != NULL);
        weir_json_write_end_object(w);
    }
    weir_json_write_end_array(w);
}

static void write_model(struct weir_json_write *w, const struct weir_env *env)
{
    weir_json_write_key(w, WEIR_SLICE("model"));
    if (env->tasks.openai == NULL) {
        weir_json_write_null(w);
    } else {
        weir_json_write_string(w, env->has_demo_model ? WEIR_SLICE("demo") : WEIR_SLICE("service"));
    }
}

void weir_page_begin_info(void *env, struct weir_http_stream *s)
{
    const struct weir_env *e = env;
    struct weir_buf body = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &body);
    weir_json_write_begin_object(&w);
    write_string(&w, "version", WEIR_SLICE(WEIR_VERSION));
    write_model(&w, e);
    weir_json_write_key(&w, WEIR_SLICE("public_api"));
    weir_json_write_bool(&w, e->conf->public_api);
    weir_json_write_key(&w, WEIR_SLICE("routes"));
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < e->conf->n_routes; i++) {
        write_route(&w, &e->guarded[i], &s->arena);
    }
    weir_json_write_end_array(&w);
    write_detectors(&w, &e->tasks);
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    weir_reply_json(s, weir_buf_slice(&body));
    weir_buf_dispose(&body);
}
