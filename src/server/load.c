/*
 * From options to an environment: the configuration file, and what is made from it.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/conf_load.h"
#include "route/auth.h"
#include "server/server.h"
#include "server/services.h"

enum { MAX_HEADERS = 256, MAX_STREAMS = 128 };

static struct weir_http_limits http_limits(const struct weir_conf_limits *l)
{
    return (struct weir_http_limits){
        .max_header_bytes = l->max_header_bytes,
        .max_headers = MAX_HEADERS,
        .max_out_bytes = l->max_stream_buffer_bytes,
        .max_streams = MAX_STREAMS,
        /* One connection may not use up the memory of all others. */
        .max_held_bytes = l->max_held_bytes_total / 2,
        .header_timeout_ms = l->header_timeout_ms,
        .body_timeout_ms = l->body_timeout_ms,
        .idle_timeout_ms = l->idle_timeout_ms,
        .write_timeout_ms = l->write_timeout_ms,
    };
}

/* With the embedded configuration and no address given, only this machine's own users may call,
 * under the machine's own names. An operator who names an address has decided otherwise. */
static bool is_local_only(const struct weir_server_options *o, const struct weir_conf *conf)
{
    bool is_loopback = o->host == NULL || weir_auth_is_local(weir_slice_cstr(o->host)) ||
                       strcmp(o->host, "::1") == 0;
    return conf->is_embedded && !conf->auth.is_on && is_loopback;
}

/* The listener's own certificate, from the command line. False: the reason is in `problems`. */
static bool load_listener_tls(const struct weir_server_options *o, struct weir_tls **out,
                              struct weir_conf_problems *problems)
{
    struct weir_conf_pos nowhere = {0};
    *out = NULL;
    if (o->tls_cert_path == NULL && o->tls_key_path == NULL && o->tls_client_ca_path == NULL) {
        return true;
    }
    if (o->tls_cert_path == NULL || o->tls_key_path == NULL) {
        weir_conf_problems_add(problems, WEIR_CONF_ERROR, nowhere,
                               "--tls-cert-path and --tls-key-path must be given together");
        return false;
    }
    struct weir_tls_options tls = {.cert_path = o->tls_cert_path,
                                   .key_path = o->tls_key_path,
                                   .ca_path = o->tls_client_ca_path,
                                   .offer_h2 = true};
    struct weir_buf why = {0};
    *out = weir_tls_new_server(&tls, &why);
    if (*out == NULL) {
        weir_conf_problems_add(problems, WEIR_CONF_ERROR, nowhere, "%s", weir_buf_cstr(&why));
    }
    weir_buf_dispose(&why);
    return *out != NULL;
}

struct weir_env *weir_server_load(const struct weir_server_options *o,
                                  struct weir_conf_problems *problems)
{
    struct weir_conf_load_options load = {
        .path = o->config_path, .env = weir_conf_env_process, .own_http_port = o->http_port};
    struct weir_conf *conf = NULL;
    struct weir_tls *tls = NULL;
    int rc = weir_conf_load(&load, &conf, problems);
    if (!load_listener_tls(o, &tls, problems) || rc != 0) {
        weir_tls_unref(tls);
        weir_conf_free(conf);
        return NULL;
    }
    struct weir_env *env = weir_mem_zalloc(sizeof *env);
    atomic_init(&env->refs, 1);
    env->conf = conf;
    env->tls = tls;
    env->http = http_limits(&conf->limits);
    env->is_local_only = is_local_only(o, conf);
    weir_services_build(env, problems);
    if (problems->n_errors != 0) {
        weir_env_unref(env);
        return NULL;
    }
    return env;
}
