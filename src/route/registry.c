#include "route/registry.h"

#include "detect/builtin.h"
#include "detect/catalog.h"
#include "route/env.h"
#include "route/reply.h"
#include "wire/json_write.h"

void weir_registry_begin(void *env, struct weir_http_stream *s)
{
    const struct weir_task_env *tasks = &((const struct weir_env *)env)->tasks;
    struct weir_buf body = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &body);
    weir_json_write_begin_object(&w);
    for (size_t i = 0; i < tasks->n_detectors; i++) {
        const struct weir_builtin *b = weir_builtin_of(tasks->detectors[i].detector);
        if (b != NULL) {
            weir_json_write_key(&w, tasks->detectors[i].id);
            weir_catalog_write(&w, b->kind->name);
        }
    }
    weir_json_write_end_object(&w);
    weir_json_write_finish(&w);
    weir_reply_json(s, weir_buf_slice(&body));
    weir_buf_dispose(&body);
}
