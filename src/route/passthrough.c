#include "route/passthrough.h"

#include "route/auth.h"
#include "talk/form.h"

static bool is_listed(const struct weir_conf_list *list, struct weir_slice name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (weir_slice_eq_nocase(list->items[i].s, name)) {
            return true;
        }
    }
    return false;
}

static struct weir_slice lower(struct weir_arena *arena, struct weir_slice name)
{
    char *copy = weir_arena_alloc(arena, name.n + 1);
    for (size_t i = 0; i < name.n; i++) {
        bool is_upper = name.p[i] >= 'A' && name.p[i] <= 'Z';
        copy[i] = is_upper ? (char)(name.p[i] | 0x20) : name.p[i];
    }
    return weir_slice_make(copy, name.n);
}

static struct weir_slice forwarded_token(const struct weir_request *r,
                                         const struct weir_http_stream *s)
{
    if (!r->env->conf->rewrite_forwarded_access_header) {
        return (struct weir_slice){NULL, 0};
    }
    return weir_http_request_get(&s->req, WEIR_SLICE("x-forwarded-access-token"));
}

/* With a forwarded token, that is the authorization, and stands nowhere else. */
static bool goes_on(const struct weir_request *r, struct weir_slice name, bool has_token)
{
    const struct weir_conf *conf = r->env->conf;
    if (!is_listed(&conf->passthrough_headers, name)) {
        return false;
    }
    if (weir_auth_is_key_header(name) && conf->auth.is_on) {
        return false; /* it is a key of ours, or could be */
    }
    if (weir_slice_eq_nocase(name, WEIR_SLICE("authorization"))) {
        return !has_token;
    }
    return !has_token || !weir_slice_eq_nocase(name, WEIR_SLICE("x-forwarded-access-token"));
}

/* The caller's own credential; nothing where those that come are for us. */
static struct weir_slice caller_key(const struct weir_request *r, const struct weir_http_stream *s,
                                    struct weir_slice token)
{
    if (r->env->conf->auth.is_on) {
        return (struct weir_slice){0};
    }
    return token.p != NULL ? token : weir_auth_token(&s->req);
}

void weir_passthrough_collect(struct weir_request *r, const struct weir_http_stream *s)
{
    struct weir_slice token = forwarded_token(r, s);
    r->task.call.caller_key = caller_key(r, s, token);
    r->task.call.anthropic_version =
        weir_http_request_get(&s->req, WEIR_SLICE("anthropic-version"));
    r->task.call.anthropic_beta = weir_http_request_get(&s->req, WEIR_SLICE("anthropic-beta"));
    if (r->env->conf->passthrough_headers.n == 0 && token.p == NULL) {
        return;
    }
    struct weir_arena *arena = r->task.arena;
    struct weir_http_field *out = weir_arena_array(arena, s->req.n_fields + 1, sizeof *out);
    size_t n = 0;
    for (size_t i = 0; i < s->req.n_fields; i++) {
        const struct weir_http_field *field = &s->req.fields[i];
        if (goes_on(r, field->name, token.p != NULL)) {
            out[n].name = lower(arena, field->name);
            out[n++].value = field->value;
        }
    }
    if (token.p != NULL) {
        out[n].name = WEIR_SLICE("authorization");
        out[n++].value =
            weir_slice_cstr(weir_arena_printf(arena, "Bearer %.*s", (int)token.n, token.p));
    }
    r->task.call.passthrough = out;
    r->task.call.n_passthrough = n;
}

static bool is_names(struct weir_slice list)
{
    while (list.p != NULL) {
        struct weir_slice name = weir_slice_trim(weir_slice_cut(&list, ','));
        if (name.n != 0 && !weir_form_is_id(name, WEIR_FORM_ID_MOST)) {
            return false;
        }
    }
    return true;
}

const char *weir_passthrough_odd(const struct weir_http_request *req)
{
    static const char *const names[] = {"anthropic-version", "anthropic-beta"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!is_names(weir_http_request_get(req, weir_slice_cstr(names[i])))) {
            return names[i];
        }
    }
    return NULL;
}
