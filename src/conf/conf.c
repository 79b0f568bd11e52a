#include "conf/conf.h"

#include <stdlib.h>

void weir_conf_free(struct weir_conf *conf)
{
    if (conf == NULL) {
        return;
    }
    weir_map_dispose(&conf->detectors_by_id);
    weir_map_dispose(&conf->chunkers_by_id);
    weir_arena_dispose(&conf->arena);
    free(conf);
}

const struct weir_conf_detector *weir_conf_detector(const struct weir_conf *conf,
                                                    struct weir_slice id)
{
    return weir_map_get(&conf->detectors_by_id, id);
}

const struct weir_conf_chunker *weir_conf_chunker(const struct weir_conf *conf,
                                                  struct weir_slice id)
{
    return weir_map_get(&conf->chunkers_by_id, id);
}

const struct weir_conf_route *weir_conf_route(const struct weir_conf *conf, struct weir_slice name)
{
    for (size_t i = 0; i < conf->n_routes; i++) {
        if (weir_slice_eq(conf->routes[i].name.s, name)) {
            return &conf->routes[i];
        }
    }
    return NULL;
}
