/*
 * A configuration file in, a tree or problems out: no crash, no leak, bounded time. The first byte
 * chooses the environment. Files named by the input are not opened.
 */
#include "base/assert.h"
#include "conf/conf_load.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every variable is set, to something that stresses its reader. */
static const char *env(void *ctx, const char *name)
{
    (void)name;
    static const char *const values[] = {NULL, "", "5", "a,b", "\xff", "\n", "${X}", "true"};
    return values[*(const uint8_t *)ctx % 8];
}

/* What the tree says of itself must hold whatever the file said. */
static void check_tree(const struct weir_conf *conf)
{
    WEIR_ASSERT(weir_conf_chunker(conf, WEIR_SLICE("whole_doc_chunker")) != NULL);
    for (size_t i = 0; i < conf->n_detectors; i++) {
        const struct weir_conf_detector *d = &conf->detectors[i];
        WEIR_ASSERT(weir_conf_detector(conf, d->id.s) == d);
        WEIR_ASSERT((d->builtin.s.p != NULL) != (d->service != NULL));
        WEIR_ASSERT(d->chunker != NULL || d->type != WEIR_CONF_TEXT_CONTENTS);
        WEIR_ASSERT(d->params.n >= 2 && d->params.p[0] == '{');
    }
    for (size_t i = 0; i < conf->n_routes; i++) {
        const struct weir_conf_route *r = &conf->routes[i];
        WEIR_ASSERT(weir_conf_route(conf, r->name.s) == r);
        WEIR_ASSERT(r->is_unguarded == (r->n_input + r->n_output == 0));
        struct weir_conf_stream_policy p = weir_conf_stream_resolve(
            &conf->streaming, &r->streaming, weir_conf_stream_match(&conf->streaming, r->name.s));
        WEIR_ASSERT(p.batching.idle_flush_ms == WEIR_BATCH_IDLE_AUTO ||
                    p.batching.idle_flush_ms <= p.batching.max_latency_ms);
        WEIR_ASSERT(p.batching.min_chars_per_emit >= 1 && p.batching.ramp_factor != 1);
    }
    WEIR_ASSERT(conf->openai.kind != WEIR_CONF_OPENAI_REMOTE || conf->openai.service != NULL);
    WEIR_ASSERT(!conf->generation.is_configured || conf->generation.service != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct weir_conf_load_options options = {
        .text = weir_slice_make((const char *)data + 1, size - 1),
        .name = "fuzz.yaml",
        .env = env,
        .env_ctx = (void *)(uintptr_t)data,
        .own_http_port = 8033,
        .memory_bytes = UINT64_C(1) << 30,
        .skip_files = true,
    };
    struct weir_conf *conf;
    struct weir_conf_problems problems = {0};
    int err = weir_conf_load(&options, &conf, &problems);
    WEIR_ASSERT((err == 0) == (conf != NULL));
    WEIR_ASSERT((err == 0) == (problems.n_errors == 0));
    if (conf != NULL) {
        check_tree(conf);
    }
    struct weir_buf report = {0};
    weir_conf_problems_report(&problems, "fuzz.yaml", &report);
    weir_buf_dispose(&report);
    weir_conf_problems_dispose(&problems);
    weir_conf_free(conf);
    return 0;
}
