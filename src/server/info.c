#include "server/info.h"

#include "base/buf.h"
#include "route/reply.h"

/* A request that waits for the services. Lives in the stream's arena. */
struct asker {
    struct weir_health_waiter waiter;
    struct weir_admin *admin;
    struct weir_http_stream *s;
};

static void answer(struct weir_admin *a, struct weir_http_stream *s)
{
    struct weir_buf body = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &body);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("services"));
    weir_health_write(&a->health, a->env, &w);
    weir_json_write_key(&w, WEIR_SLICE("revision"));
    weir_json_write_string(&w, weir_slice_cstr(a->env->conf->revision));
    weir_json_write_end_object(&w);
    weir_reply_json(s, weir_buf_slice(&body));
    weir_buf_dispose(&body);
}

static void on_asked(void *ctx)
{
    struct asker *asker = ctx;
    answer(asker->admin, asker->s);
}

static void leave(void *ctx)
{
    weir_health_leave(ctx);
}

static bool wants_probe(struct weir_slice query)
{
    while (query.p != NULL) {
        if (weir_slice_eq_cstr(weir_slice_cut(&query, '&'), "probe=true")) {
            return true;
        }
    }
    return false;
}

void weir_info_begin(struct weir_admin *a, struct weir_http_stream *s)
{
    if (!wants_probe(s->req.query) && a->env->conf->compat != WEIR_CONF_FMS) {
        answer(a, s);
        return;
    }
    struct asker *asker = weir_arena_zalloc(&s->arena, sizeof *asker);
    *asker = (struct asker){.waiter = {.fn = on_asked, .ctx = asker}, .admin = a, .s = s};
    weir_arena_defer(&s->arena, leave, &asker->waiter);
    weir_health_ask(&a->health, a->env, &asker->waiter);
}
