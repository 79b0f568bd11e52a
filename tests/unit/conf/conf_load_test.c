/*
 * Whole files: the embedded default, the example, files in the style of the public orchestrator;
 * and that many mistakes are reported at once.
 */
#include "unit/conf/conf_harness.h"

#include <unistd.h>

#define EXAMPLE WEIR_SOURCE_DIR "/config/weir.example.yaml"

static struct weir_buf read_text(const char *path)
{
    struct weir_buf text = {0};
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    for (int c; (c = fgetc(f)) != EOF;) {
        weir_buf_append_byte(&text, (char)c);
    }
    fclose(f);
    return text;
}

static void test_embedded_default(void **state)
{
    (void)state;
    struct loaded l = load_with((struct weir_conf_load_options){0});
    assert_string_equal(weir_buf_cstr(&l.lines), "");
    assert_true(l.conf->is_embedded);
    assert_true(l.conf->playground);
    assert_string_equal(l.conf->file, "embedded configuration");
    assert_int_equal(l.conf->openai.kind, WEIR_CONF_OPENAI_DEMO);
    assert_int_equal(l.conf->n_detectors, 7);
    assert_int_equal(l.conf->n_chunkers, 4);
    const char *names[] = {"regex",   "secrets",          "file_type", "keywords",
                           "unicode", "prompt_injection", "links"};
    for (size_t i = 0; i < 7; i++) {
        const struct weir_conf_detector *d = weir_conf_detector(l.conf, weir_slice_cstr(names[i]));
        assert_non_null(d);
        assert_string_equal(d->builtin.s.p, names[i]);
    }
    assert_int_equal(weir_conf_route(l.conf, WEIR_SLICE("default"))->on_detection,
                     WEIR_CONF_ANNOTATE);
    assert_int_equal(weir_conf_route(l.conf, WEIR_SLICE("block"))->on_detection, WEIR_CONF_BLOCK);
    assert_int_equal(weir_conf_route(l.conf, WEIR_SLICE("redact"))->on_detection, WEIR_CONF_REDACT);
    drop(&l);
}

static void test_example_is_clean(void **state)
{
    (void)state;
    struct loaded l =
        load_with((struct weir_conf_load_options){.path = EXAMPLE, .own_http_port = 8033});
    assert_string_equal(weir_buf_cstr(&l.lines), "");
    assert_false(l.conf->is_embedded);
    assert_string_equal(l.conf->openai.service->hostname.s.p, "localhost");
    drop(&l);
}

/* The example says what the defaults are: compare it with a file that says nothing. */
static void test_example_shows_the_defaults(void **state)
{
    (void)state;
    struct loaded e = load_with((struct weir_conf_load_options){.path = EXAMPLE});
    struct loaded d = load_clean("openai: {service: {hostname: h}}\n");
    assert_memory_equal(&e.conf->limits, &d.conf->limits, sizeof e.conf->limits);
    assert_int_equal(e.conf->detector_concurrent_requests, d.conf->detector_concurrent_requests);
    assert_int_equal(e.conf->chunker_concurrent_requests, d.conf->chunker_concurrent_requests);
    assert_int_equal(e.conf->aggregation, d.conf->aggregation);
    assert_int_equal(e.conf->public_api, d.conf->public_api);
    assert_int_equal(e.conf->playground, d.conf->playground);
    const struct weir_conf_service *x = e.conf->openai.service;
    const struct weir_conf_service *y = d.conf->openai.service;
    assert_int_equal(x->max_retries, y->max_retries);
    assert_int_equal(x->request_timeout_ms, y->request_timeout_ms);
    assert_int_equal(x->connect_timeout_ms, y->connect_timeout_ms);
    assert_int_equal(x->first_byte_timeout_ms, y->first_byte_timeout_ms);
    assert_int_equal(x->idle_timeout_ms, y->idle_timeout_ms);
    assert_int_equal(x->http2_keep_alive_interval_ms, y->http2_keep_alive_interval_ms);
    assert_int_equal(x->keep_alive_timeout_ms, y->keep_alive_timeout_ms);
    assert_int_equal(x->grpc_dns_probe_interval_ms, y->grpc_dns_probe_interval_ms);
    const struct weir_conf_streaming *s = &e.conf->streaming;
    const struct weir_conf_streaming *t = &d.conf->streaming;
    assert_int_equal(s->heartbeat_ms, t->heartbeat_ms);
    assert_memory_equal(&s->request_override, &t->request_override, sizeof s->request_override);
    assert_memory_equal(&s->policy.coalescer.mode, &t->policy.coalescer.mode,
                        sizeof s->policy.coalescer - offsetof(struct weir_conf_coalescer, mode));
    struct weir_conf_batching b = s->policy.batching;
    struct weir_conf_batching c = t->policy.batching;
    assert_int_equal(b.append_array_fields.n, c.append_array_fields.n);
    assert_string_equal(b.append_array_fields.items[0].s.p, c.append_array_fields.items[0].s.p);
    b.reasoning.set = c.reasoning.set;
    b.latest_wins_fields = c.latest_wins_fields;
    b.append_array_fields = c.append_array_fields;
    assert_memory_equal(&b.mode, &c.mode, sizeof b - offsetof(struct weir_conf_batching, mode));
    drop(&e);
    drop(&d);
}

/* Lines behind "#~" are good too, given what they need. */
static void test_example_with_everything_on(void **state)
{
    (void)state;
    struct weir_buf text = read_text(EXAMPLE);
    size_t n_switched = 0;
    char *p = text.p;
    while ((p = memmem(p, text.n - (size_t)(p - text.p), "\n", 1)) != NULL) {
        p++;
        p += strspn(p, " ");
        if (strncmp(p, "#~ ", 3) == 0) {
            memmove(p, p + 3, text.n - (size_t)(p + 3 - text.p));
            text.n -= 3;
            n_switched++;
        }
    }
    assert_true(n_switched >= 6);
    struct loaded l = load_with((struct weir_conf_load_options){
        .text = weir_buf_slice(&text), .name = "c.yaml", .skip_files = true});
    assert_string_equal(weir_buf_cstr(&l.lines), "");
    assert_string_equal(l.conf->openai.service->api_token.p, "s3cret");
    assert_string_equal(l.conf->openai.service->tls->key_path.s.p, "tls.key");
    assert_int_equal(l.conf->auth.n_keys, 5);
    drop(&l);
    weir_buf_dispose(&text);
}

/* Every key that a message lists as known stands in the example. */
static void test_example_shows_every_key(void **state)
{
    (void)state;
    static const char *const probes[] = {
        "openai: {builtin: demo}\nqqqqqqqqqqqq: 1\n",
        "openai: {qqqqqqqqqqqq: 1, builtin: demo}\n",
        "openai: {service: {hostname: h, qqqqqqqqqqqq: 1}}\n",
        "generation: {provider: nlp, service: {hostname: h}, qqqqqqqqqqqq: 1}\n",
        "openai: {builtin: demo}\nchunkers: {a: {builtin: sentence, qqqqqqqqqqqq: 1}}\n",
        "detectors: {a: {builtin: links, chunker_id: whole_doc_chunker, qqqqqqqqqqqq: 1}}\n",
        "openai: {builtin: demo}\ntls: {a: {qqqqqqqqqqqq: 1}}\n",
        "providers: {a: {kind: openai, base_url: 'http://h/v1', qqqqqqqqqqqq: 1}}\n",
        "openai: {builtin: demo}\nmodels: {a: {provider: default, qqqqqqqqqqqq: 1}}\n",
        "openai: {builtin: demo}\nroutes: [{name: a, unguarded: true, qqqqqqqqqqqq: 1}]\n",
        "openai: {builtin: demo}\ndetectors: {d: {builtin: links}}\n"
        "routes: [{name: a, input: {d: {}}, output: {d: {}}, on_detection: mask,\n"
        "  mask: {key_env: MASK_KEY, qqqqqqqqqqqq: 1}}]\n",
        "openai: {builtin: demo}\nauth: {qqqqqqqqqqqq: 1}\n",
        "openai: {builtin: demo}\nauth: {keys: [{name: a, qqqqqqqqqqqq: 1}]}\n",
        "openai: {builtin: demo}\ncors: {qqqqqqqqqqqq: 1}\n",
        "openai: {builtin: demo}\naudit: {path: a, qqqqqqqqqqqq: 1}\n",
        "openai: {builtin: demo}\nstreaming: {qqqqqqqqqqqq: 1}\n",
        "openai: {builtin: demo}\nstreaming: {batching: {qqqqqqqqqqqq: 1}}\n",
        "openai: {builtin: demo}\nstreaming: {batching: {reasoning: {qqqqqqqqqqqq: 1}}}\n",
        "openai: {builtin: demo}\nstreaming: {coalescer: {qqqqqqqqqqqq: 1}}\n",
        "openai: {builtin: demo}\nstreaming: {dedup: {qqqqqqqqqqqq: 1}}\n",
        "openai: {builtin: demo}\nstreaming: {request_override: {qqqqqqqqqqqq: 1}}\n",
        "openai: {builtin: demo}\nlimits: {qqqqqqqqqqqq: 1}\n",
        "openai: {builtin: demo}\nauth: {keys_env: KEYS, qqqqqqqqqqqq: 1}\n",
    };
    static const char *const elsewhere[] = {"chat_generation", "chat_completions", "router"};
    struct weir_buf text = read_text(EXAMPLE);
    size_t n_keys = 0;
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        struct loaded l = load(probes[i]);
        const char *list = strstr(weir_buf_cstr(&l.lines), "known keys: ");
        assert_non_null(list);
        struct weir_slice rest = weir_slice_cstr(list);
        weir_slice_cut(&rest, '`');
        while (rest.p != NULL) {
            struct weir_slice key = weir_slice_cut(&rest, '`');
            bool is_elsewhere = false;
            for (size_t k = 0; k < 3; k++) {
                is_elsewhere = is_elsewhere || weir_slice_eq_cstr(key, elsewhere[k]);
            }
            char want[80];
            snprintf(want, sizeof want, "%.*s:", (int)key.n, key.p);
            if (!is_elsewhere && strstr(weir_buf_cstr(&text), want) == NULL) {
                fail_msg("the example does not show %s", want);
            }
            n_keys++;
            weir_slice_cut(&rest, '`');
        }
        drop(&l);
    }
    assert_true(n_keys > 100);
    weir_buf_dispose(&text);
}

static void test_public_style_openai(void **state)
{
    (void)state;
    struct loaded l = load("openai:\n"
                           "  service:\n"
                           "    hostname: vllm.models.svc\n"
                           "    port: 8000\n"
                           "    request_timeout: 300\n"
                           "  health_service:\n"
                           "    hostname: vllm.models.svc\n"
                           "    port: 8001\n"
                           "chunkers:\n"
                           "  en_regex:\n"
                           "    type: sentence\n"
                           "    service:\n"
                           "      hostname: chunker\n"
                           "      port: 8085\n"
                           "detectors:\n"
                           "  hap-en:\n"
                           "    type: text_contents\n"
                           "    service:\n"
                           "      hostname: hap\n"
                           "      port: 8080\n"
                           "    chunker_id: en_regex\n"
                           "    default_threshold: 0.5\n"
                           "  pii:\n"
                           "    type: text_contents\n"
                           "    model_id: pii-v2\n"
                           "    service:\n"
                           "      hostname: pii\n"
                           "      resolution_strategy: ipv4\n"
                           "      resolution_strategy_timeout: 3\n"
                           "    chunker_id: whole_doc_chunker\n"
                           "    default_threshold: 0.75\n"
                           "passthrough_headers:\n"
                           "  - X-Tenant\n"
                           "  - x-tenant\n"
                           "router:\n"
                           "  enabled: false\n"
                           "  anything: else\n");
    assert_string_equal(
        weir_buf_cstr(&l.lines),
        "c.yaml:25: warning: `model_id` has no effect here and is ignored\n"
        "c.yaml:28: warning: `resolution_strategy` has no effect here and is ignored\n"
        "c.yaml:29: warning: `resolution_strategy_timeout` has no effect here and is ignored\n"
        "c.yaml:35: warning: `router` is not supported; with `enabled: false` it is ignored\n");
    const struct weir_conf_detector *pii = weir_conf_detector(l.conf, WEIR_SLICE("pii"));
    assert_int_equal(pii->service->port, 8080);
    assert_true(pii->service->is_default_port);
    assert_true(pii->default_threshold == 0.75);
    assert_true(weir_slice_eq_cstr(pii->chunker->builtin.s, "whole_doc"));
    assert_int_equal(pii->service->at.line, 26);
    assert_int_equal(l.conf->openai.service->request_timeout_ms, 300000);
    assert_int_equal(l.conf->openai.health_service->port, 8001);
    assert_int_equal(l.conf->passthrough_headers.n, 1);
    assert_string_equal(l.conf->passthrough_headers.items[0].s.p, "x-tenant");
    drop(&l);
}

static void test_public_style_generation(void **state)
{
    (void)state;
    struct loaded l = load_clean("generation:\n"
                                 "  provider: tgis\n"
                                 "  service:\n"
                                 "    hostname: tgis\n"
                                 "    port: 8033\n"
                                 "    tls: caikit\n"
                                 "    max_retries: 0\n"
                                 "chunkers:\n"
                                 "  en_regex:\n"
                                 "    type: all\n"
                                 "    service: {hostname: 10.1.2.3, tls: {insecure: true}}\n"
                                 "detectors:\n"
                                 "  hap:\n"
                                 "    type: text_contents\n"
                                 "    service: {hostname: \"[::1]\", port: 8080, tls: caikit}\n"
                                 "    chunker_id: en_regex\n"
                                 "    default_threshold: 0.5\n"
                                 "  relevance:\n"
                                 "    type: text_context_doc\n"
                                 "    service: {hostname: rel, port: 8080}\n"
                                 "    chunker_id: whole_doc_chunker\n"
                                 "    default_threshold: 0.5\n"
                                 "tls:\n"
                                 "  caikit:\n"
                                 "    insecure: true\n"
                                 "detector_concurrent_requests: 9\n"
                                 "chunker_concurrent_requests: 8\n"
                                 "rewrite_forwarded_access_header: true\n");
    const struct weir_conf *c = l.conf;
    assert_true(c->generation.is_configured);
    assert_int_equal(c->generation.provider, WEIR_CONF_TGIS);
    assert_int_equal(c->generation.service->max_retries, 0);
    assert_string_equal(c->generation.service->tls->name.s.p, "caikit");
    const struct weir_conf_chunker *chunker = weir_conf_chunker(c, WEIR_SLICE("en_regex"));
    assert_int_equal(chunker->service->port, 8085);
    assert_null(chunker->service->tls->name.s.p);
    assert_true(chunker->service->tls->insecure);
    assert_int_equal(c->n_tls, 2);
    const struct weir_conf_detector *hap = weir_conf_detector(c, WEIR_SLICE("hap"));
    assert_string_equal(hap->service->hostname.s.p, "::1");
    assert_ptr_equal(hap->service->tls, c->generation.service->tls);
    assert_ptr_equal(hap->chunker, chunker);
    assert_int_equal(c->detector_concurrent_requests, 9);
    assert_int_equal(c->chunker_concurrent_requests, 8);
    assert_true(c->rewrite_forwarded_access_header);
    drop(&l);
}

static void test_public_style_older_names(void **state)
{
    (void)state;
    struct loaded l = load("compat: fms\n"
                           "chat_generation:\n"
                           "  service:\n"
                           "    hostname: vllm\n"
                           "    port: 8000\n"
                           "  new_key: 3\n"
                           "detectors:\n"
                           "  granite-guardian:\n"
                           "    type: text_chat\n"
                           "    service:\n"
                           "      hostname: guardian\n"
                           "      port: 8000\n"
                           "    default_threshold: 0.01\n"
                           "passthrough_headers: [host, x-a]\n");
    assert_string_equal(
        weir_buf_cstr(&l.lines),
        "c.yaml:1: warning: `compat: fms` lets requests without detectors pass unguarded\n"
        "c.yaml:2: warning: `chat_generation` is deprecated: name it `openai`\n"
        "c.yaml:6: warning: unknown key `new_key`; known keys: `service`, `health_service`, "
        "`builtin`\n"
        "c.yaml:14: warning: header `host` belongs to one message and cannot be passed through\n");
    assert_int_equal(l.conf->compat, WEIR_CONF_FMS);
    assert_int_equal(l.conf->openai.kind, WEIR_CONF_OPENAI_REMOTE);
    assert_int_equal(l.conf->passthrough_headers.n, 1);
    const struct weir_conf_detector *d = weir_conf_detector(l.conf, WEIR_SLICE("granite-guardian"));
    assert_int_equal(d->type, WEIR_CONF_TEXT_CHAT);
    assert_null(d->chunker);
    drop(&l);
}

static void test_all_problems_at_once(void **state)
{
    (void)state;
    expect("detecotrs: 5\n"
           "openai: {service: {hostname: \"http://x\", port: 70000, tls: foo}}\n"
           "tls: {fo: {cert_path: no-such-file.crt}}\n"
           "detectors:\n"
           "  a: {type: text_content, builtin: regexx, chunker_id: sentence}\n"
           "  b: {}\n"
           "  c: 5\n"
           "routes:\n"
           "  - {name: V1, output: {aa: {}}}\n"
           "  - {name: v1}\n",
           "c.yaml:1: error: unknown key `detecotrs`; did you mean `detectors`?\n"
           "c.yaml:2: error: `http://x` is not a host name or address: leave out the scheme, and "
           "write the port and the path as `port` and `path_prefix`\n"
           "c.yaml:2: error: `port` must be an integer from 1 to 65535, not the number `70000`\n"
           "c.yaml:2: error: no tls entry is named `foo`; did you mean `fo`?\n"
           "c.yaml:3: error: cannot read `no-such-file.crt`: No such file or directory\n"
           "c.yaml:5: error: `type` must be `text_contents`, `text_chat`, `text_context_doc` or "
           "`text_generation`, not `text_content`; did you mean `text_contents`?\n"
           "c.yaml:5: error: `builtin` must be `regex`, `secrets`, `file_type`, `keywords`, "
           "`unicode`, `prompt_injection` or `links`, not `regexx`; did you mean `regex`?\n"
           "c.yaml:5: error: chunker `sentence` does not exist\n"
           "c.yaml:6: error: `b` needs a `service` or a `builtin`\n"
           "c.yaml:6: error: detector `b` needs a `chunker_id`\n"
           "c.yaml:7: error: `c` must be a mapping, not the number `5`\n"
           "c.yaml:9: error: `V1` is not a route name: lower-case letters, digits, then also `_` "
           "and `-`, at most 64\n"
           "c.yaml:9: error: detector `aa` does not exist; did you mean `a`?\n"
           "c.yaml:10: error: route name `v1` is reserved\n"
           "c.yaml:10: error: route `v1` has no detectors: name some, or write `unguarded: all`\n");
}

static void test_revision_follows_the_bytes(void **state)
{
    (void)state;
    struct loaded a = load_clean("openai: {builtin: demo}\n");
    struct loaded b = load_clean("openai: {builtin: demo}\n");
    struct loaded c = load_clean("openai: {builtin: demo} \n");
    assert_int_equal(strlen(a.conf->revision), 12);
    assert_string_equal(a.conf->revision, b.conf->revision);
    assert_string_not_equal(a.conf->revision, c.conf->revision);
    /* printf 'openai: {builtin: demo}\n' | sha256sum */
    assert_string_equal(a.conf->revision, "ac8ff4c5c467");
    drop(&a);
    drop(&b);
    drop(&c);
}

static void test_files_that_cannot_be_read(void **state)
{
    (void)state;
    struct loaded l = load_with((struct weir_conf_load_options){.path = "no-such-file.yaml"});
    assert_int_equal(l.err, WEIR_EIO);
    assert_string_equal(weir_buf_cstr(&l.lines),
                        "no-such-file.yaml: error: No such file or directory\n");
    drop(&l);
    l = load_with((struct weir_conf_load_options){.path = "/"});
    assert_int_equal(l.err, WEIR_EIO);
    assert_string_equal(weir_buf_cstr(&l.lines), "/: error: Is a directory\n");
    drop(&l);
}

static void test_file_size_limit(void **state)
{
    (void)state;
    char path[] = "/tmp/weir-conf-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char text[] = "openai: {builtin: demo}\n#";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    const off_t limit = 4 * 1024 * 1024;
    char *comment = malloc((size_t)limit);
    memset(comment, 'x', (size_t)limit);
    off_t n = limit - (off_t)(sizeof text - 1);
    assert_int_equal(write(fd, comment, (size_t)n), n);
    struct loaded l = load_with((struct weir_conf_load_options){.path = path});
    assert_int_equal(l.err, 0);
    drop(&l);
    assert_int_equal(write(fd, comment, 1), 1);
    l = load_with((struct weir_conf_load_options){.path = path});
    assert_int_equal(l.err, WEIR_ELIMIT);
    assert_non_null(strstr(weir_buf_cstr(&l.lines), "the file is larger than 4 MiB"));
    drop(&l);
    assert_int_equal(write(fd, comment, (size_t)n), n);
    l = load_with((struct weir_conf_load_options){.path = path});
    assert_int_equal(l.err, WEIR_ELIMIT);
    assert_int_equal(l.problems.n_errors, 1);
    drop(&l);
    free(comment);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedded_default),
        cmocka_unit_test(test_example_is_clean),
        cmocka_unit_test(test_example_shows_the_defaults),
        cmocka_unit_test(test_example_with_everything_on),
        cmocka_unit_test(test_example_shows_every_key),
        cmocka_unit_test(test_public_style_openai),
        cmocka_unit_test(test_public_style_generation),
        cmocka_unit_test(test_public_style_older_names),
        cmocka_unit_test(test_all_problems_at_once),
        cmocka_unit_test(test_revision_follows_the_bytes),
        cmocka_unit_test(test_files_that_cannot_be_read),
        cmocka_unit_test(test_file_size_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
