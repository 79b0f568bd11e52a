/* `providers:`, `models:` and what routes say of models. */
#include "unit/conf/conf_harness.h"

#include <unistd.h>

#define P "providers:\n"
#define M "models:\n"
#define OPEN "  o: {kind: openai, base_url: 'https://api.openai.com/v1', api_key_env: TOKEN}\n"
#define AZ "  az: {kind: azure, base_url: 'https://name.openai.azure.com', api_key_env: TOKEN}\n"
#define VA "  va: {kind: openai, base_url: 'http://vllm-a:8000/v1'}\n"
#define VB "  vb: {kind: openai, base_url: 'http://vllm-b:8000/v1/'}\n"
#define CL "  cl: {kind: anthropic, base_url: 'https://api.anthropic.com', api_key_env: TOKEN}\n"

static const char *text_of(struct weir_slice s)
{
    static char copy[512];
    assert_true(s.n < sizeof copy);
    memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return copy;
}

static void test_all_of_it(void **state)
{
    (void)state;
    struct loaded l = load(P OPEN AZ VA VB CL
                           "  g: {kind: openai, base_url: 'https://g.example/v1beta/openai',\n"
                           "      headers: {X-Team: a b}, query: {a: 'x y', 'b&': '='},\n"
                           "      first_byte_timeout: 7, dialects: [chat, embeddings]}\n" M
                           "  gpt-4o: {provider: az, deployment: prod, fallback: [{provider: o}]}\n"
                           "  'gpt-*': {provider: o}\n"
                           "  'claude-*': {provider: cl}\n"
                           "  fast: {provider: va, model: meta/Llama, fallback:\n"
                           "         [{provider: vb}, {provider: g, model: flash}]}\n"
                           "  'llama-*': {providers: [va, vb]}\n");
    assert_string_equal(weir_buf_cstr(&l.lines), "");
    const struct weir_conf *c = l.conf;
    assert_int_equal(c->n_providers, 6);
    const struct weir_conf_provider *o = &c->providers[0];
    assert_string_equal(o->service.hostname.s.p, "api.openai.com");
    assert_int_equal(o->service.port, 443);
    assert_string_equal(o->service.path_prefix.s.p, "/v1");
    assert_non_null(o->service.tls);
    assert_string_equal(text_of(o->api_key), "s3cret");
    assert_int_equal(o->service.max_retries, 0);
    assert_false(o->has_first_byte_timeout);
    const struct weir_conf_provider *az = &c->providers[1];
    assert_int_equal(az->dialects, WEIR_CONF_CHAT | WEIR_CONF_EMBEDDINGS);
    assert_string_equal(text_of(az->api_version.s), "2024-10-21");
    assert_null(c->providers[2].service.tls);
    assert_int_equal(c->providers[2].service.port, 8000);
    assert_string_equal(c->providers[3].service.path_prefix.s.p, "/v1");
    assert_int_equal(c->providers[4].dialects, WEIR_CONF_MESSAGES);
    const struct weir_conf_provider *g = &c->providers[5];
    assert_int_equal(g->service.first_byte_timeout_ms, 7000);
    assert_true(g->has_first_byte_timeout);
    assert_string_equal(text_of(g->query), "a=x%20y&b%26=%3D");
    assert_int_equal(g->n_headers, 1);
    assert_string_equal(text_of(g->headers[0].name), "x-team");
    assert_string_equal(text_of(g->headers[0].value), "a b");
    assert_int_equal(g->dialects, WEIR_CONF_CHAT | WEIR_CONF_EMBEDDINGS);

    assert_int_equal(c->n_models, 5);
    assert_int_equal(c->models[0].n_targets, 2);
    assert_int_equal(c->models[0].n_replicas, 1);
    assert_string_equal(c->models[0].targets[0].model.s.p, "prod");
    assert_null(c->models[0].targets[1].model.s.p);
    assert_ptr_equal(c->models[0].targets[1].provider, o);
    assert_int_equal(c->models[3].n_targets, 3);
    assert_string_equal(c->models[3].targets[0].model.s.p, "meta/Llama");
    assert_null(c->models[3].targets[1].model.s.p);
    assert_string_equal(c->models[3].targets[2].model.s.p, "flash");
    assert_int_equal(c->models[4].n_replicas, 2);
    drop(&l);
}

static void test_openai_is_the_default_provider(void **state)
{
    (void)state;
    struct loaded l = load("openai: {builtin: demo}\n" P VA M
                           "  a: {provider: va, fallback: [{provider: default}]}\n");
    assert_string_equal(weir_buf_cstr(&l.lines), "");
    assert_null(l.conf->models[0].targets[1].provider);
    drop(&l);
    expect(P "  default: {kind: openai, base_url: 'http://a/v1'}\n" M "  a: {provider: default}\n",
           "c.yaml:2: error: `default` is the name that `openai:` has as a provider: choose "
           "another\n");
    expect(P VA M "  a: {provider: va, fallback: [{provider: default}]}\n",
           "c.yaml:4: error: provider `default` does not exist: it is the name of `openai:`, which "
           "is not there\n");
}

/* The line of the one provider of a file whose base_url, or whatever else, is `what`. */
static void expect_provider(const char *what, const char *problem)
{
    char text[512];
    snprintf(text, sizeof text, P "  a: {%s}\n" M "  m: {provider: a}\n", what);
    expect(text, problem);
}

static void test_base_url(void **state)
{
    (void)state;
    expect_provider("kind: openai, base_url: api.openai.com/v1",
                    "c.yaml:2: error: `base_url` `api.openai.com/v1` is not the address of a "
                    "server: begin with http:// or https://\n");
    expect_provider("kind: openai, base_url: 'https://u:p@a/v1'",
                    "c.yaml:2: error: `base_url` `https://u:p@a/v1` is not the address of a "
                    "server: leave out the user and write the key as `api_key_env`\n");
    expect_provider("kind: openai, base_url: 'https://a b/v1'",
                    "c.yaml:2: error: `base_url` `https://a b/v1` is not the address of a server: "
                    "write it as https://HOST[:PORT]/PATH\n");
    expect_provider("kind: openai, base_url: 'https://a/v1?x=1'",
                    "c.yaml:2: error: `base_url` has a query: write it as `query: {NAME: "
                    "VALUE}`\n");
    expect_provider("kind: openai, base_url: 'http://a:443/v1'",
                    "c.yaml:2: error: port 443 is for https://: write it in `base_url`\n");
    expect_provider("kind: openai, base_url: 'http://a/v1', tls: {}",
                    "c.yaml:2: error: `base_url` says http:// and there is `tls`: write "
                    "https://\n");
    expect_provider("kind: openai, base_url: 'https://a/v1', tls: true",
                    "c.yaml:2: error: `tls` is not a switch: write `tls: {}` for TLS with the "
                    "system's authorities, or the name of an entry of `tls:`\n");
    expect_provider("kind: openai, base_url: 'https://a/v1/chat/completions'",
                    "c.yaml:2: error: `base_url` `https://a/v1/chat/completions` is the path of "
                    "one endpoint: write what stands before it\n");
    expect_provider("kind: azure, base_url: 'https://a/openai/deployments/x'",
                    "c.yaml:2: error: `base_url` `https://a/openai/deployments/x` has Azure's own "
                    "path: write what stands before /openai\n");
    expect_provider("kind: anthropic, base_url: 'https://a/v1'",
                    "c.yaml:2: error: `base_url` `https://a/v1` is what stands before "
                    "/v1/messages: leave out /v1\n");
    expect_provider("kind: openai, base_url: 'https://api.openai.com'",
                    "c.yaml:2: warning: `base_url` `https://api.openai.com` has no path: nearly "
                    "every server has its API below /v1\n");
}

static void test_keys(void **state)
{
    (void)state;
    char path[] = "/tmp/weir-key-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "from-a-file\r\n", 13), 13);
    close(fd);
    char text[256];
    snprintf(text, sizeof text,
             P "  a: {kind: openai, base_url: 'http://a/v1', api_key_file: %s}\n" M
               "  m: {provider: a}\n",
             path);
    struct loaded l = load(text);
    assert_string_equal(weir_buf_cstr(&l.lines), "");
    assert_string_equal(text_of(l.conf->providers[0].api_key), "from-a-file");
    drop(&l);
    unlink(path);
    expect_provider("kind: openai, base_url: 'http://a/v1', api_key_file: /no/such",
                    "c.yaml:2: error: cannot read the key in `/no/such`: No such file or "
                    "directory\n");
    expect_provider("kind: openai, base_url: 'http://a/v1', api_key_file: /dev/null",
                    "c.yaml:2: error: the key that `/dev/null` has is empty, or has characters "
                    "that a header cannot carry\n");
    expect_provider("kind: openai, base_url: 'http://a/v1', api_key_env: BAD_TOKEN",
                    "c.yaml:2: error: the key that `BAD_TOKEN` has is empty, or has characters "
                    "that a header cannot carry\n");
    expect_provider("kind: openai, base_url: 'http://a/v1', api_key_env: TOKEN, headers: "
                    "{Authorization: x}",
                    "c.yaml:2: error: header `authorization` carries the key of this provider: "
                    "leave it out of `headers`\n");
    expect_provider("kind: openai, base_url: 'http://a/v1', api_key_env: TOKEN, pass_caller_key: "
                    "true",
                    "c.yaml:2: error: `pass_caller_key: true` and a key of ours exclude each "
                    "other: callers without a key would use it\n");
}

static void test_the_callers_key_is_for_one_server(void **state)
{
    (void)state;
#define PASS "  p: {kind: openai, base_url: 'http://p/v1', pass_caller_key: true}\n"
#define WRONG                                                                                      \
    "c.yaml:5: error: provider `p` has `pass_caller_key: true` and cannot stand in for another: "  \
    "the caller's key was not meant for it\n"
    expect(P PASS VA M "  a: {provider: p, fallback: [{provider: va}]}\n", "");
    expect(P PASS VA M "  a: {provider: va, fallback: [{provider: p}]}\n", WRONG);
    expect(P PASS VA M "  a: {providers: [p, va]}\n", WRONG);
    expect(P PASS "auth: {keys_env: KEYS}\n" M "  a: {provider: p}\n",
           "c.yaml:2: error: provider `p` has `pass_caller_key: true`, but with `auth` the keys "
           "that callers send are this gateway's own and go no further\n");
}

static void test_constants(void **state)
{
    (void)state;
    expect_provider("kind: openai, base_url: 'http://a/v1', headers: {'a b': x}",
                    "c.yaml:2: error: `a b` is not a header name\n");
    expect_provider("kind: openai, base_url: 'http://a/v1', headers: {Host: x}",
                    "c.yaml:2: error: header `host` belongs to one message and cannot be a "
                    "constant\n");
    expect_provider("kind: openai, base_url: 'http://a/v1', headers: {x: \"a\\nb\"}",
                    "c.yaml:2: error: header `x` must be a text that a header can carry\n");
    expect_provider("kind: openai, base_url: 'http://a/v1', query: {x: [1]}",
                    "c.yaml:2: error: `query` must be a mapping of names to texts\n");
    expect_provider("kind: openai, base_url: 'http://a/v1', api_version: '1'",
                    "c.yaml:2: error: `api_version` is for `kind: azure`\n");
}

static void test_dialects(void **state)
{
    (void)state;
    expect_provider("kind: azure, base_url: 'https://a', dialects: [responses]",
                    "c.yaml:2: error: a provider of kind `azure` does not serve `responses` "
                    "without `api_version: v1`\n");
    expect_provider("kind: azure, base_url: 'https://a', api_version: v1, dialects: [responses]",
                    "");
    expect_provider("kind: anthropic, base_url: 'https://a', dialects: [chat]",
                    "c.yaml:2: error: a provider of kind `anthropic` does not serve `chat`\n");
    expect_provider("kind: openai, base_url: 'https://a/v1', dialects: [chats]",
                    "c.yaml:2: error: `dialects` must be `chat`, `completions`, `responses`, "
                    "`messages`, `embeddings`, `rerank` or `score`, not `chats`; did you mean "
                    "`chat`?\n");
    expect(P CL VA "  e: {kind: openai, base_url: 'http://e/v1', dialects: [embeddings]}\n" M
                   "  a: {provider: cl, fallback: [{provider: e}]}\n  b: {provider: va}\n",
           "c.yaml:6: error: provider `e` serves nothing that `cl` serves\n");
}

static void test_models(void **state)
{
    (void)state;
    expect(P VA M "  a: {provider: vaa}\n", "c.yaml:2: warning: no entry of `models` uses provider "
                                            "`va`\nc.yaml:4: error: provider `vaa` does not exist; "
                                            "did you mean `va`?\n");
    expect(P VA M "  a: {model: x}\n  b: {provider: va}\n",
           "c.yaml:4: error: model `a` needs a `provider`\n");
    expect(P VA VB M "  a: {provider: va, providers: [vb]}\n  b: {provider: vb}\n",
           "c.yaml:5: error: `provider` and `providers` exclude each other\n");
    expect(P VA M "  a: {providers: [va, va]}\n",
           "c.yaml:4: error: provider `va` is there twice\n");
    expect(P VA M "  a: {provider: va, deployment: x}\n",
           "c.yaml:4: error: `deployment` is Azure's word, and provider `va` is of another kind: "
           "write `model`\n");
    expect(P VA M "  'a*': {provider: va}\n  '*a': {provider: va}\n",
           "c.yaml:5: error: `*a` and `a*` on line 4 are equally long and match the same names: "
           "nothing says which is meant\n");
    expect(P VA M "  'a*': {provider: va}\n  'b*': {provider: va}\n  '*': {provider: va}\n", "");
}

static void test_routes(void **state)
{
    (void)state;
#define D "detectors: {d: {type: text_contents, builtin: secrets, chunker_id: whole_doc_chunker}}\n"
    struct loaded l =
        load(P VA M "  a: {provider: va}\n  'b-*': {provider: va}\n" D
                    "routes: [{name: default, input: {d: {}}, models: [a, 'b-?']}]\n");
    assert_string_equal(weir_buf_cstr(&l.lines), "");
    assert_int_equal(l.conf->routes[0].models.n, 2);
    drop(&l);
    expect(P VA M "  gpt-4o: {provider: va}\n" D
                  "routes: [{name: default, input: {d: {}}, models: [gpt-4]}]\n",
           "c.yaml:6: error: route `default` names the model `gpt-4`, which no entry of `models` "
           "serves; did you mean `gpt-4o`?\n");
    expect(P VA M "  a: {provider: va}\n" D
                  "routes: [{name: default, input: {d: {}}, models: []}]\n",
           "c.yaml:6: error: `models` must name at least one model: left out, it means all\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it),
        cmocka_unit_test(test_openai_is_the_default_provider),
        cmocka_unit_test(test_base_url),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_the_callers_key_is_for_one_server),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_dialects),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_routes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
