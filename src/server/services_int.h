#ifndef WEIR_SERVER_SERVICES_INT_H
#define WEIR_SERVER_SERVICES_INT_H

#include "client/probe.h"
#include "conf/conf.h"
#include "route/env.h"

/* Inside: what services.c and fleet.c make from a configuration, and with what. */
struct weir_services {
    struct weir_env *env;
    const struct weir_conf *conf;
    struct weir_arena *arena;
    struct weir_conf_problems *problems;
    struct weir_tls **tls;                /* as conf->tls; NULL: could not be made */
    const struct weir_chunker **chunkers; /* as conf->chunkers; NULL: could not be made */
    struct weir_probe_service *probes;
    size_t n_probes;
    struct weir_map probe_ids;
};

/* The kind of services that models are, as traces have it. */
#define WEIR_SERVICES_MODEL "model"

const struct weir_target *weir_services__target(struct weir_services *b, struct weir_slice id,
                                                const struct weir_conf_service *s,
                                                enum weir_target_protocol protocol,
                                                const char *kind);

/* One more whose health can be asked; the caller may add to it. */
struct weir_probe_service *weir_services__probe(struct weir_services *b,
                                                const struct weir_target *target,
                                                const struct weir_probe_kind *kind);

/* detector.c: NULL with a problem when it cannot be made. */
const struct weir_detector *weir_services__remote_detector(struct weir_services *b,
                                                           const struct weir_conf_detector *d,
                                                           enum weir_detect_type type);
/* Unless the configuration says otherwise. */
void weir_services__keep_verdicts(struct weir_detector *detector,
                                  const struct weir_conf_detector *d, size_t from_bytes);

/* fleet.c: all providers as one model, `usual` (NULL: none) among them as the one named `default`.
 * `usual` itself where there are no others. Sets tasks.fleet. */
const struct weir_model *weir_services__fleet(struct weir_services *b,
                                              const struct weir_model *usual);

#endif
