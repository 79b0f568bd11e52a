/* Detectors that are services: from the configuration to detect/remote.h. */
#include "base/assert.h"
#include "detect/remote.h"
#include "detect/streamed.h"
#include "detect/verdicts.h"
#include "server/services_int.h"

static void complain(struct weir_services *b, const struct weir_conf_detector *d, const char *words)
{
    weir_conf_problems_add(b->problems, WEIR_CONF_ERROR, d->id.at, "detector `%.*s`: %s",
                           (int)d->id.s.n, d->id.s.p, words);
}

static const struct weir_protocol_label *labels_of(struct weir_services *b,
                                                   const struct weir_conf_detector *d)
{
    struct weir_protocol_label *labels = weir_arena_array(b->arena, d->n_labels, sizeof *labels);
    for (size_t i = 0; i < d->n_labels; i++) {
        const struct weir_conf_label *l = &d->labels[i];
        labels[i] = (struct weir_protocol_label){.name = l->name.s,
                                                 .detection = l->detection.s,
                                                 .detection_type = l->detection_type.s,
                                                 .is_dropped = l->is_dropped};
    }
    return labels;
}

static const struct weir_slice *slices_of(struct weir_services *b,
                                          const struct weir_conf_list *list)
{
    struct weir_slice *slices = weir_arena_array(b->arena, list->n, sizeof *slices);
    for (size_t i = 0; i < list->n; i++) {
        slices[i] = list->items[i].s;
    }
    return slices;
}

static const struct weir_judge_message *messages_of(struct weir_services *b,
                                                    const struct weir_conf_detector *d)
{
    struct weir_judge_message *messages =
        weir_arena_array(b->arena, d->n_messages, sizeof *messages);
    for (size_t i = 0; i < d->n_messages; i++) {
        messages[i] = (struct weir_judge_message){d->messages[i].role.s, d->messages[i].content.s};
    }
    return messages;
}

static void free_pattern(void *ctx)
{
    weir_judge_pattern_free(ctx);
}

static const struct weir_judge_pattern *verdict_of(struct weir_services *b,
                                                   const struct weir_conf_detector *d)
{
    struct weir_buf why = {0};
    struct weir_judge_pattern *p =
        d->verdict.s.n != 0 ? weir_judge_pattern_new(d->verdict.s, &why) : NULL;
    if (p != NULL) {
        weir_arena_defer(b->arena, free_pattern, p);
    } else if (why.n != 0) {
        complain(b, d, weir_buf_cstr(&why));
    }
    weir_buf_dispose(&why);
    return p;
}

static struct weir_protocol_options options_of(struct weir_services *b,
                                               const struct weir_conf_detector *d)
{
    return (struct weir_protocol_options){
        .labels = labels_of(b, d),
        .n_labels = d->n_labels,
        .params = d->params,
        .model = d->model.s,
        .language = d->language.s,
        .entities = slices_of(b, &d->entities),
        .n_entities = d->entities.n,
        .input_name = d->input_name.s,
        .output_name = d->output_name.s,
        .activation = (enum weir_protocol_activation)d->activation,
        .api_version = d->api_version.s,
        .is_shield = d->shield,
        .preset = (enum weir_judge_preset)d->preset,
        .messages = messages_of(b, d),
        .n_messages = d->n_messages,
        .verdict = verdict_of(b, d),
        .positive = slices_of(b, &d->positive),
        .n_positive = d->positive.n,
    };
}

/* Where it is asked. A provider's base URL ends in the /v1 that the protocol's paths begin with;
 * Azure has its key in a header of its own. */
static struct weir_conf_service service_of(const struct weir_conf_detector *d)
{
    struct weir_conf_service s = d->provider != NULL ? d->provider->service : *d->service;
    if (d->provider != NULL) {
        struct weir_slice tail = WEIR_SLICE("/v1");
        s.api_token = d->provider->api_key;
        if (weir_slice_ends_with(s.path_prefix.s, tail)) {
            s.path_prefix.s.n -= tail.n;
        }
    }
    if (d->protocol == WEIR_CONF_PROTOCOL_AZURE_CONTENT_SAFETY) {
        s.api_token = (struct weir_slice){"", 0};
    }
    return s;
}

/* `max_waiting` is for calls that wait for `max_concurrent`. */
static const struct weir_target *target_of(struct weir_services *b,
                                           const struct weir_conf_detector *d,
                                           const struct weir_conf_service *service)
{
    struct weir_target *t = weir_arena_alloc(b->arena, sizeof *t);
    *t = *weir_services__target(b, d->id.s, service, WEIR_TARGET_HTTP, "detector");
    if (d->max_concurrent != 0) {
        t->max_concurrent = d->max_concurrent;
        t->max_waiting = d->max_waiting;
    }
    if (d->timeout_ms != 0) {
        t->request_timeout_ms = d->timeout_ms;
    }
    return t;
}

/* Azure has no path for its health: the list of block lists needs the key and nothing else. */
static void probe_azure(struct weir_services *b, struct weir_probe_service *probe,
                        const struct weir_protocol_options *o)
{
    struct weir_http_field *field = weir_arena_zalloc(b->arena, sizeof *field);
    *field = (struct weir_http_field){WEIR_SLICE("ocp-apim-subscription-key"), o->key};
    probe->path = weir_slice_cstr(
        weir_arena_printf(b->arena, "/contentsafety/text/blocklists?api-version=%.*s",
                          (int)o->api_version.n, o->api_version.p));
    probe->fields = field;
    probe->n_fields = o->key.n != 0;
}

static void add_probe(struct weir_services *b, const struct weir_conf_detector *d,
                      const struct weir_detect_remote *r)
{
    const struct weir_target *asked =
        d->health_service != NULL
            ? weir_services__target(b, d->id.s, d->health_service, WEIR_TARGET_HTTP, "detector")
            : r->target;
    bool is_fms = d->protocol == WEIR_CONF_PROTOCOL_FMS || d->health_service != NULL;
    struct weir_probe_service *probe =
        weir_services__probe(b, asked, is_fms ? &weir_probe_http : &weir_probe_models);
    if (!is_fms && r->protocol->health != NULL) {
        probe->path = weir_slice_cstr(r->protocol->health);
    } else if (!is_fms) {
        probe_azure(b, probe, &r->options);
    }
}

static struct weir_breaker *breaker_of(struct weir_services *b, struct weir_slice id)
{
    struct weir_breaker *breaker = weir_arena_alloc(b->arena, sizeof *breaker);
    weir_breaker_init(breaker);
    weir_breaker_count(breaker, id);
    return breaker;
}

void weir_services__keep_verdicts(struct weir_detector *detector,
                                  const struct weir_conf_detector *d, size_t from_bytes)
{
    if (d->cache) {
        detector->serial = weir_verdicts_serial();
        detector->keep_from_bytes = from_bytes;
        detector->counts = weir_verdicts_counts(d->id.s);
    }
}

/* The detector API is not batched unless the configuration says so: its servers need not be
 * classifiers. */
static void batch_texts(struct weir_detect_remote *r, const struct weir_conf_detector *d)
{
    struct weir_desk_options o = {.in_flight = d->batch.in_flight,
                                  .max_items = d->batch.max_items,
                                  .max_bytes = d->batch.max_bytes,
                                  .wait_ms = (d->batch.wait_us + 999) / 1000,
                                  .max_waiting = d->max_waiting};
    if (o.max_items == 0) {
        o.max_items = r->protocol->max_texts;
    }
    if (o.max_items > 1) {
        weir_desk_count(&o, d->id.s);
        weir_detect_remote_batch(r, &o);
    }
}

/* A silent model and a silent detector are waited for alike. */
static uint64_t model_idle_ms(const struct weir_services *b, const struct weir_conf_detector *d)
{
    const struct weir_conf_openai *openai = &b->conf->openai;
    return openai->service != NULL ? openai->service->idle_timeout_ms : d->service->idle_timeout_ms;
}

/* One that reads along: HTTP/2, and no limit for all of a text unless it is written. */
static const struct weir_detector *streamed_detector(struct weir_services *b,
                                                     const struct weir_conf_detector *d)
{
    struct weir_detect_streamed *made = weir_arena_alloc(b->arena, sizeof *made);
    struct weir_target *target = weir_arena_alloc(b->arena, sizeof *target);
    *target = *target_of(b, d, d->service);
    target->protocol = WEIR_TARGET_H2;
    target->request_timeout_ms = d->timeout_ms;
    weir_detect_streamed_init(made, d->id.s, target);
    made->name = d->model.s.n != 0 ? d->model.s : d->id.s;
    made->params = d->params;
    made->idle_ms = model_idle_ms(b, d);
    made->breaker = d->breaker ? breaker_of(b, d->id.s) : NULL;
    const struct weir_target *asked =
        d->health_service != NULL
            ? weir_services__target(b, d->id.s, d->health_service, WEIR_TARGET_HTTP, "detector")
            : target;
    weir_services__probe(b, asked, &weir_probe_http);
    weir_services__keep_verdicts(&made->base, d, 0);
    return &made->base;
}

const struct weir_detector *weir_services__remote_detector(struct weir_services *b,
                                                           const struct weir_conf_detector *d,
                                                           enum weir_detect_type type)
{
    if (d->protocol == WEIR_CONF_PROTOCOL_STREAM) {
        return streamed_detector(b, d);
    }
    struct weir_detect_remote *r = weir_arena_alloc(b->arena, sizeof *r);
    struct weir_conf_service service = service_of(d);
    struct weir_protocol_options options = options_of(b, d);
    const struct weir_protocol *protocol =
        weir_protocol_find(weir_slice_cstr(weir_conf_protocol_name(d->protocol)));
    WEIR_ASSERT(protocol != NULL);
    if (d->protocol == WEIR_CONF_PROTOCOL_AZURE_CONTENT_SAFETY) {
        options.key = d->service->api_token;
    }
    const char *missing = protocol->check != NULL ? protocol->check(&options) : NULL;
    if ((protocol->types & (1u << type)) == 0) {
        missing =
            weir_arena_printf(b->arena, "protocol `%s` does not serve this `type`", protocol->name);
    }
    if (missing != NULL) {
        complain(b, d, missing);
        return NULL;
    }
    weir_detect_remote_init(r, d->id.s, type, target_of(b, d, &service));
    weir_detect_remote_set(r, protocol, &options);
    r->breaker = d->breaker ? breaker_of(b, d->id.s) : NULL;
    batch_texts(r, d);
    add_probe(b, d, r);
    weir_services__keep_verdicts(&r->base, d, 0);
    return &r->base;
}
