/* The generators: `openai:` (with its two older names) and `generation:`. */
#include "conf/conf_sections.h"

enum { OPENAI_PORT = 8080, NLP_PORT = 8085, TGIS_PORT = 8033 };

static bool is_loopback(struct weir_slice host)
{
    return weir_slice_eq_nocase(host, WEIR_SLICE("localhost")) ||
           weir_slice_starts_with(host, WEIR_SLICE("127.")) || weir_slice_eq_cstr(host, "::1");
}

/* TGIS servers listen on 8033 by default, and so do we: a gateway that calls itself would never
 * answer. */
void weir_conf__check_not_ourselves(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                    const struct weir_conf_service *s)
{
    uint32_t own_port = r->options->own_http_port;
    if (s == NULL || own_port == 0 || s->port != own_port) {
        return;
    }
    if (s->is_default_port) {
        weir_conf__error(r, n, "the default port %u is our own: give the service a `port`",
                         s->port);
    } else if (is_loopback(s->hostname.s)) {
        weir_conf__error(r, n, "port %u of this machine is our own", s->port);
    }
}

/* The builtin word, decoded beside the section's own fields. */
struct openai_target {
    struct weir_conf_openai openai;
    const struct weir_conf_node *builtin;
};

static void on_openai_service(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              void *target)
{
    struct openai_target *t = target;
    t->openai.service = weir_conf__service(r, n, "service", OPENAI_PORT);
    weir_conf__check_not_ourselves(r, n, t->openai.service);
}

static void on_openai_health(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             void *target)
{
    struct openai_target *t = target;
    t->openai.health_service = weir_conf__service(r, n, "health_service", OPENAI_PORT);
}

static void on_openai_builtin(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              void *target)
{
    static const char *const words[] = {"demo", NULL};
    struct openai_target *t = target;
    t->builtin = n;
    weir_conf__want_word(r, n, "builtin", words);
}

static const struct weir_conf_key openai_keys[] = {
    WEIR_CONF_KEY_CALL("service", on_openai_service),
    WEIR_CONF_KEY_CALL("health_service", on_openai_health),
    WEIR_CONF_KEY_CALL("builtin", on_openai_builtin),
};
static const struct weir_conf_object openai_object = {WEIR_CONF_OBJECT(openai_keys)};

static void read_openai(struct weir_conf_reader *r, const struct weir_conf_node *n, const char *key)
{
    struct weir_conf_openai *out = &r->conf->openai;
    if (out->kind != WEIR_CONF_OPENAI_NONE) {
        weir_conf__error(r, n, "`%s` and the section on line %d are the same thing: keep `openai`",
                         key, out->at.line);
        return;
    }
    struct openai_target t = {.openai = {.at = weir_conf__pos(r, n)}};
    t.openai.kind = WEIR_CONF_OPENAI_REMOTE;
    if (weir_conf__want_mapping(r, n, key)) {
        weir_conf__decode(r, &openai_object, n, &t);
        bool has_service = weir_conf__get(n, "service") != NULL;
        if (t.builtin != NULL) {
            t.openai.kind = WEIR_CONF_OPENAI_DEMO;
        }
        if (t.builtin != NULL && (has_service || t.openai.health_service != NULL)) {
            weir_conf__error(r, t.builtin, "`builtin` and a service exclude each other");
        } else if (t.builtin == NULL && !has_service) {
            weir_conf__error(r, n, "`%s` needs a `service` (or `builtin: demo`)", key);
        }
    }
    *out = t.openai;
}

void weir_conf__openai_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *conf)
{
    (void)conf;
    read_openai(r, n, "openai");
}

void weir_conf__chat_generation_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                        void *conf)
{
    (void)conf;
    weir_conf__warn(r, n, "`chat_generation` is deprecated: name it `openai`");
    read_openai(r, n, "chat_generation");
}

void weir_conf__chat_completions_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                         void *conf)
{
    (void)conf;
    weir_conf__warn(r, n, "`chat_completions` is deprecated: name it `openai`");
    read_openai(r, n, "chat_completions");
}

static void on_generation_service(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                  void *target)
{
    struct weir_conf_generation *g = target;
    uint32_t port = g->provider == WEIR_CONF_TGIS ? TGIS_PORT : NLP_PORT;
    g->service = weir_conf__service(r, n, "service", port);
    weir_conf__check_not_ourselves(r, n, g->service);
}

static const char *const provider_words[] = {"tgis", "nlp", NULL};

static const struct weir_conf_key generation_keys[] = {
    WEIR_CONF_KEY(struct weir_conf_generation, provider, ENUM, .words = provider_words,
                  .is_required = true),
    WEIR_CONF_KEY_CALL("service", on_generation_service, .is_required = true),
};
static const struct weir_conf_object generation_object = {WEIR_CONF_OBJECT(generation_keys)};

void weir_conf__generation_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                   void *conf)
{
    (void)conf;
    if (!weir_conf__want_mapping(r, n, "generation")) {
        return;
    }
    r->conf->generation.is_configured = true;
    r->conf->generation.at = weir_conf__pos(r, n);
    weir_conf__decode(r, &generation_object, n, &r->conf->generation);
}
