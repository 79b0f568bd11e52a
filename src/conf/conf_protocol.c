/* How a detector that is a service is asked: `protocol` and the keys that belong to one. */
#include "conf/conf_sections.h"

enum { MAX_LABELS = 1000, MAX_ENTITIES = 1000 };

const char *const weir_conf__protocols[] = {
    "fms",      "tei", "vllm_classify",        "openai_moderation",
    "presidio", "oip", "azure_content_safety", "chat_judge",
    "stream",   NULL};

const char *weir_conf_protocol_name(enum weir_conf_protocol protocol)
{
    return weir_conf__protocols[protocol];
}

/* ---- how much at once */

enum { MAX_WAITING = 1000, MAX_BATCH_BYTES = 1 << 20 };

#define T struct weir_conf_batch
static const struct weir_conf_key batch_keys[] = {
    WEIR_CONF_KEY(T, in_flight, U32, .min = 1, .max = 1000),
    WEIR_CONF_KEY(T, max_items, U32, .min = 1, .max = 1024),
    WEIR_CONF_KEY(T, max_bytes, U64, .min = 1024, .max = 1073741824),
    WEIR_CONF_KEY(T, wait_us, U32, .min = 0, .max = 1000000),
};
#undef T
const struct weir_conf_object weir_conf__batch_object = {WEIR_CONF_OBJECT(batch_keys)};

void weir_conf__batch_defaults(struct weir_conf_detector *d)
{
    d->batch = (struct weir_conf_batch){.in_flight = 1, .max_bytes = MAX_BATCH_BYTES};
    d->max_waiting = MAX_WAITING;
}

static bool has_arrays(enum weir_conf_protocol protocol)
{
    return protocol != WEIR_CONF_PROTOCOL_PRESIDIO &&
           protocol != WEIR_CONF_PROTOCOL_AZURE_CONTENT_SAFETY &&
           protocol != WEIR_CONF_PROTOCOL_CHAT_JUDGE;
}

/* ---- labels */

#define T struct weir_conf_label
static const struct weir_conf_key label_keys[] = {
    WEIR_CONF_KEY(T, detection, TEXT),
    WEIR_CONF_KEY(T, detection_type, TEXT),
};
#undef T
static const struct weir_conf_object label_object = {WEIR_CONF_OBJECT(label_keys)};

static void read_label(struct weir_conf_reader *r, const struct weir_conf_node *key,
                       const struct weir_conf_node *n, struct weir_conf_label *label)
{
    label->name = weir_conf__keep(r, key);
    if (weir_conf__is_null(n)) {
        label->is_dropped = true;
    } else if (n->kind == WEIR_CONF_MAPPING) {
        weir_conf__decode(r, &label_object, n, label);
    } else if (weir_conf__want_text(r, n, "labels")) {
        label->detection = weir_conf__keep(r, n);
    }
}

void weir_conf__on_labels(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_detector *d = target;
    if (!weir_conf__want_mapping(r, n, "labels")) {
        return;
    }
    if (n->n > MAX_LABELS) {
        weir_conf__error(r, n, "`labels` has more than %d entries", MAX_LABELS);
        return;
    }
    struct weir_conf_label *labels = weir_arena_array(r->arena, n->n, sizeof *labels);
    for (size_t i = 0; i < n->n; i++) {
        read_label(r, n->members[i].key, n->members[i].value, &labels[i]);
    }
    d->labels = labels;
    d->n_labels = n->n;
}

#define T struct weir_conf_message
static const struct weir_conf_key message_keys[] = {
    WEIR_CONF_KEY(T, role, TEXT, .is_required = true),
    WEIR_CONF_KEY(T, content, TEXT, .is_required = true),
};
#undef T
static const struct weir_conf_object message_object = {WEIR_CONF_OBJECT(message_keys)};

void weir_conf__on_messages(struct weir_conf_reader *r, const struct weir_conf_node *n,
                            void *target)
{
    struct weir_conf_detector *d = target;
    if (!weir_conf__want_list(r, n, "messages")) {
        return;
    }
    struct weir_conf_message *messages = weir_arena_array(r->arena, n->n, sizeof *messages);
    for (size_t i = 0; i < n->n; i++) {
        if (weir_conf__want_mapping(r, n->items[i], "messages")) {
            weir_conf__decode(r, &message_object, n->items[i], &messages[i]);
        }
    }
    d->messages = messages;
    d->n_messages = n->n;
}

void weir_conf__on_positive(struct weir_conf_reader *r, const struct weir_conf_node *n,
                            void *target)
{
    struct weir_conf_detector *d = target;
    d->positive = weir_conf__want_texts(r, n, "positive", MAX_LABELS);
}

void weir_conf__on_entities(struct weir_conf_reader *r, const struct weir_conf_node *n,
                            void *target)
{
    struct weir_conf_detector *d = target;
    d->entities = weir_conf__want_texts(r, n, "entities", MAX_ENTITIES);
}

void weir_conf__on_detector_provider(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                     void *target)
{
    struct weir_conf_detector *d = target;
    if (!weir_conf__want_text(r, n, "provider")) {
        return;
    }
    struct weir_conf_near near;
    weir_conf__near(r, &near, n->text);
    for (size_t i = 0; i < r->conf->n_providers; i++) {
        const struct weir_conf_provider *p = &r->conf->providers[i];
        weir_conf_near_offer(&near, p->name.s);
        if (weir_slice_eq(p->name.s, n->text)) {
            d->provider = p;
        }
    }
    if (d->provider == NULL) {
        weir_conf__error(r, n, "provider %s does not exist%s", weir_conf__name(r, n->text),
                         weir_conf__hint(r, &near));
    } else if (d->provider->kind != WEIR_CONF_PROVIDER_OPENAI) {
        weir_conf__error(r, n, "provider %s is not of kind `openai`", weir_conf__name(r, n->text));
    }
}

/* ---- which key belongs where */

#define P(protocol) (1u << WEIR_CONF_PROTOCOL_##protocol)

static const struct {
    const char *key;
    unsigned protocols;
} belongs[] = {
    {"labels", ~(P(FMS) | P(STREAM))},
    {"model", P(VLLM_CLASSIFY) | P(OPENAI_MODERATION) | P(OIP) | P(CHAT_JUDGE) | P(STREAM)},
    {"provider", P(OPENAI_MODERATION) | P(CHAT_JUDGE)},
    {"language", P(PRESIDIO)},
    {"entities", P(PRESIDIO)},
    {"input_name", P(OIP)},
    {"output_name", P(OIP)},
    {"activation", P(OIP)},
    {"api_version", P(AZURE_CONTENT_SAFETY)},
    {"shield", P(AZURE_CONTENT_SAFETY)},
    {"preset", P(CHAT_JUDGE)},
    {"messages", P(CHAT_JUDGE)},
    {"verdict", P(CHAT_JUDGE)},
    {"positive", P(CHAT_JUDGE)},
    {"max_concurrent", ~0u},
    {"max_waiting", ~0u},
    {"timeout", ~0u},
    {"on_error", ~0u},
    {"breaker", ~0u},
    {"batch", ~P(STREAM)},
};

void weir_conf__check_protocol(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               const struct weir_conf_detector *d)
{
    bool is_builtin = d->builtin.s.p != NULL;
    const char *name = weir_conf_protocol_name(d->protocol);
    for (size_t i = 0; i < sizeof belongs / sizeof *belongs; i++) {
        const struct weir_conf_node *at = weir_conf__get(n, belongs[i].key);
        if (at != NULL && !is_builtin && (belongs[i].protocols & (1u << d->protocol)) == 0) {
            weir_conf__error(r, at, "`%s` does not belong to protocol `%s`", belongs[i].key, name);
        } else if (at != NULL && is_builtin) {
            weir_conf__error(r, at, "`%s` does not belong to built-in detectors", belongs[i].key);
        }
    }
    if (d->protocol == WEIR_CONF_PROTOCOL_STREAM && weir_conf__get(n, "chunker_id") != NULL) {
        weir_conf__error(r, weir_conf__get(n, "chunker_id"),
                         "`chunker_id` does not belong to protocol `stream`: it reads along");
    }
    if (is_builtin && weir_conf__get(n, "protocol") != NULL) {
        weir_conf__error(r, n, "a built-in detector has no `protocol`");
    }
    if (d->batch.max_items > 1 && !has_arrays(d->protocol)) {
        weir_conf__error(r, weir_conf__get(n, "batch"),
                         "protocol `%s` takes one text a request: it cannot be batched", name);
    }
    if (d->batch.max_items > 1 && d->type != WEIR_CONF_TEXT_CONTENTS) {
        weir_conf__error(r, weir_conf__get(n, "batch"), "only `text_contents` can be batched");
    }
    bool is_classifier =
        d->protocol == WEIR_CONF_PROTOCOL_TEI || d->protocol == WEIR_CONF_PROTOCOL_VLLM_CLASSIFY;
    if (is_classifier && d->n_labels == 0) {
        weir_conf__warn(r, n,
                        "detector %s has no `labels`: every label of its model is a finding, "
                        "also the one for harmless texts; `labels: {NAME: null}` drops it",
                        weir_conf__name(r, d->id.s));
    }
}
