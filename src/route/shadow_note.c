#include "route/shadow_note.h"

#include "route/audit_note.h"
#include "route/env.h"
#include "task/shadow.h"

static void let_go(void *held)
{
    weir_env_unref(held);
}

static void on_over(void *ctx)
{
    struct weir_http_stream *s = ctx;
    struct weir_request *r = weir_request_of(s);
    struct weir_shadow *shadow = r->task.shadow;
    r->task.shadow = NULL;
    weir_audit_note_watch(s, shadow);
    weir_shadow_end(shadow);
}

void weir_shadow_note_begin(struct weir_http_stream *s, const struct weir_asked *asked)
{
    struct weir_request *r = weir_request_of(s);
    if (r->task.shadow != NULL) {
        return;
    }
    r->task.shadow =
        weir_shadow_new(&(struct weir_shadow_options){.all = r->shadows,
                                                      .task = &r->task,
                                                      .input = &r->guarded->shadow_input,
                                                      .output = &r->guarded->shadow_output,
                                                      .route = r->guarded->conf->name.s,
                                                      .held = weir_env_ref(r->env),
                                                      .let_go = let_go});
    if (r->task.shadow != NULL) {
        weir_shadow_add_question(r->task.shadow, asked);
        weir_arena_defer(&s->arena, on_over, s);
    }
}
