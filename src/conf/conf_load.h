#ifndef WEIR_CONF_LOAD_H
#define WEIR_CONF_LOAD_H

#include "conf/conf.h"

/*
 * Reading a configuration file: YAML to a node tree with lines, the node tree to struct weir_conf
 * by tables of known keys, then checks across sections. Nothing is looked up in the network and
 * nothing is global: the environment is an argument.
 */

/* The value of an environment variable, or NULL. */
typedef const char *weir_conf_env_fn(void *ctx, const char *name);

struct weir_conf_load_options {
    const char *path; /* the file to read; NULL: `text`; both NULL: the embedded default */
    struct weir_slice text;
    const char *name;      /* what problems call `text` */
    weir_conf_env_fn *env; /* NULL: an empty environment */
    void *env_ctx;
    uint32_t own_http_port; /* our API port, 0: unknown; a tgis service must not be ourselves */
    uint64_t memory_bytes;  /* what "0.25 of memory" means; 0: ask the system */
    bool skip_files;        /* do not test whether TLS files can be read */
};

/*
 * 0 and the tree, which is the caller's, in `*out`, or WEIR_EINVAL when there was any error,
 * WEIR_EIO when the file could not be read, WEIR_ELIMIT when it is too large; `*out` is NULL then.
 * `problems` (initialised by the caller) gains every error and warning, in no particular order.
 */
int weir_conf_load(const struct weir_conf_load_options *options, struct weir_conf **out,
                   struct weir_conf_problems *problems);

/* The real environment, for `env`. */
const char *weir_conf_env_process(void *ctx, const char *name);

/* The text of config/default.yaml, built into the program. */
struct weir_slice weir_conf_default_text(void);

#endif
