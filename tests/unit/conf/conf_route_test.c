/* Routes. */
#include "unit/conf/conf_harness.h"

#define HEAD                                                                                       \
    "openai: {builtin: demo}\n"                                                                    \
    "chunkers: {w: {builtin: window}, s: {builtin: sentence}, t: {builtin: window, overlap: "      \
    "63}}\n"                                                                                       \
    "detectors:\n"                                                                                 \
    "  pii: {builtin: regex, default_threshold: 0.3}\n"                                            \
    "  cut: {builtin: secrets, chunker_id: s}\n"                                                   \
    "  near: {builtin: links, chunker_id: t}\n"                                                    \
    "  far: {service: {hostname: h}, chunker_id: s}\n"                                             \
    "  chat: {type: text_chat, service: {hostname: h}}\n"                                          \
    "  docs: {type: text_context_doc, service: {hostname: h}}\n"                                   \
    "routes:\n"

static void expect_route(const char *inside, const char *lines)
{
    char text[1024];
    snprintf(text, sizeof text, HEAD "- {%s}\n", inside);
    expect(text, lines);
}

static void test_defaults(void **state)
{
    (void)state;
    struct loaded l = load_clean(HEAD "- {name: r, output: {pii: {}}}\n");
    const struct weir_conf_route *r = weir_conf_route(l.conf, WEIR_SLICE("r"));
    assert_non_null(r);
    assert_int_equal(r->name.at.line, 11);
    assert_int_equal(r->n_input, 0);
    assert_int_equal(r->n_output, 1);
    assert_int_equal(r->on_detection, WEIR_CONF_ANNOTATE);
    assert_null(r->fallback_message.s.p);
    assert_string_equal(r->redact_with.s.p, "[{detection}]");
    assert_int_equal(r->input_roles, WEIR_CONF_USER | WEIR_CONF_TOOL | WEIR_CONF_FUNCTION);
    assert_false(r->is_unguarded);
    assert_int_equal(r->unguarded, WEIR_CONF_HOLE_SEALED | WEIR_CONF_HOLE_SERVER_HISTORY |
                                       WEIR_CONF_HOLE_IMAGES | WEIR_CONF_HOLE_AUDIO |
                                       WEIR_CONF_HOLE_FILES);
    assert_int_equal(r->input_scope, WEIR_CONF_SCOPE_TURN);
    assert_int_equal(r->history_findings, WEIR_CONF_HISTORY_REMOVE);
    assert_int_equal(r->output_check, WEIR_CONF_OUTPUT_BEFORE);
    assert_int_equal(r->max_exposed_chars, 200);
    assert_int_equal(r->unknown_members, WEIR_CONF_UNKNOWN_DROP);
    assert_int_equal(r->history, WEIR_CONF_HISTORY_OFF);
    assert_null(weir_conf_route(l.conf, WEIR_SLICE("x")));
    drop(&l);
}

static void test_every_value(void **state)
{
    (void)state;
    struct loaded l =
        load_clean(HEAD "- name: a-1_b\n"
                        "  input: {pii: {threshold: 0.9, regex: [email]}, far: }\n"
                        "  output:\n"
                        "    pii: {threshold: null, x: 1}\n"
                        "    chat: {}\n"
                        "  on_detection: redact\n"
                        "  fallback_message: no\n"
                        "  redact_with: '<{detector_id}/{detection_type}/{detection}>'\n"
                        "  input_roles: [user, tool, system, developer, function]\n"
                        "  unknown_members: pass\n"
                        "  history: reject\n");
    const struct weir_conf_route *r = &l.conf->routes[0];
    assert_int_equal(r->n_input, 2);
    assert_ptr_equal(r->input[0].detector, weir_conf_detector(l.conf, WEIR_SLICE("pii")));
    assert_true(r->input[0].threshold == 0.9);
    assert_string_equal(r->input[0].params.p, "{\"regex\":[\"email\"]}");
    assert_int_equal(r->input[0].at.line, 12);
    assert_true(r->input[1].threshold == 0.5);
    assert_string_equal(r->input[1].params.p, "{}");
    assert_true(r->output[0].threshold == 0.3);
    assert_string_equal(r->output[0].params.p, "{\"x\":1}");
    assert_int_equal(r->output[1].detector->type, WEIR_CONF_TEXT_CHAT);
    assert_int_equal(r->on_detection, WEIR_CONF_REDACT);
    assert_string_equal(r->fallback_message.s.p, "no");
    assert_int_equal(r->input_roles, WEIR_CONF_USER | WEIR_CONF_SYSTEM | WEIR_CONF_DEVELOPER |
                                         WEIR_CONF_TOOL | WEIR_CONF_FUNCTION);
    assert_int_equal(r->unknown_members, WEIR_CONF_UNKNOWN_PASS);
    assert_int_equal(r->history, WEIR_CONF_HISTORY_REJECT);
    drop(&l);
}

static void test_names(void **state)
{
    (void)state;
    expect_route("name: 0a, unguarded: true", "");
    static const char *const bad[] = {"_a", "-a", "A", "a.b", "a/b", "a b", "\u00e9"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[128];
        char lines[256];
        snprintf(text, sizeof text, "name: '%s', unguarded: true", bad[i]);
        snprintf(lines, sizeof lines,
                 "c.yaml:11: error: `%s` is not a route name: lower-case letters, digits, then "
                 "also `_` and `-`, at most 64\n",
                 bad[i]);
        expect_route(text, lines);
    }
    static const char *const reserved[] = {"api", "v1", "health", "info", "metrics", "registry"};
    for (size_t i = 0; i < 6; i++) {
        char text[128];
        char lines[128];
        snprintf(text, sizeof text, "name: %s, unguarded: true", reserved[i]);
        snprintf(lines, sizeof lines, "c.yaml:11: error: route name `%s` is reserved\n",
                 reserved[i]);
        expect_route(text, lines);
    }
    expect_route("unguarded: true", "c.yaml:11: error: `name` is missing\n");
    expect(HEAD "- {name: a, unguarded: true}\n- {name: b, unguarded: true}\n"
                "- {name: a, unguarded: true}\n",
           "c.yaml:13: error: route `a` is there twice, first on line 11\n");
    char name[66];
    memset(name, 'a', 65);
    name[65] = '\0';
    char text[128];
    snprintf(text, sizeof text, "name: %.64s, unguarded: true", name);
    expect_route(text, "");
    snprintf(text, sizeof text, "name: %s, unguarded: true", name);
    char lines[256];
    snprintf(lines, sizeof lines,
             "c.yaml:11: error: `%.60s…` is not a route name: lower-case letters, digits, then "
             "also `_` and `-`, at most 64\n",
             name);
    expect_route(text, lines);
}

static void test_guarding(void **state)
{
    (void)state;
    expect_route("name: a", "c.yaml:11: error: route `a` has no detectors: name some, or write "
                            "`unguarded: all`\n");
    expect_route("name: a, input: {}, output: {}",
                 "c.yaml:11: error: route `a` has no detectors: name some, or write "
                 "`unguarded: all`\n");
    expect_route("name: a, unguarded: false",
                 "c.yaml:11: error: route `a` has no detectors: name some, or write "
                 "`unguarded: all`\n");
    expect_route("name: a, unguarded: true, output: {pii: {}}",
                 "c.yaml:11: error: route `a` has detectors and says `unguarded: all`\n");
}

static void test_detectors(void **state)
{
    (void)state;
    expect_route("name: a, output: {pij: {}}",
                 "c.yaml:11: error: detector `pij` does not exist; did you mean `pii`?\n");
    expect_route("name: a, output: {nothing_like_it: {}}",
                 "c.yaml:11: error: detector `nothing_like_it` does not exist\n");
    expect_route("name: a, output: {docs: {}}",
                 "c.yaml:11: error: detector `docs` is of a type that cannot be used for output\n");
    expect_route("name: a, input: {docs: {}}",
                 "c.yaml:11: error: detector `docs` is of a type that cannot be used for input\n");
    expect_route("name: a, output: {pii: 0.5}",
                 "c.yaml:11: error: parameters of detector `pii` must be a mapping, not the number "
                 "`0.5`\n");
    expect_route(
        "name: a, output: {pii: {threshold: 2}}",
        "c.yaml:11: error: `threshold` must be a number from 0 to 1, not the number `2`\n");
    expect_route("name: a, output: {pii: {threshold: '0.5'}}",
                 "c.yaml:11: error: `threshold` must be a number from 0 to 1, not the text "
                 "`0.5`\n");
    expect_route("name: a, output: [pii]",
                 "c.yaml:11: error: `output` must be a mapping, not a list\n"
                 "c.yaml:11: error: route `a` has no detectors: name some, or write "
                 "`unguarded: all`\n");
}

static void test_words(void **state)
{
    (void)state;
    expect_route(
        "name: a, output: {pii: {}}, on_detection: blok",
        "c.yaml:11: error: `on_detection` must be `annotate`, `block`, `redact` or `mask`, "
        "not `blok`; did you mean `block`?\n");
    expect_route("name: a, output: {pii: {}}, input_roles: [nobody]",
                 "c.yaml:11: error: `input_roles` must be `user`, `system`, `developer`, `tool`, "
                 "`function` or `assistant`, not `nobody`\n");
    expect_route("name: a, output: {pii: {}}, input_roles: []",
                 "c.yaml:11: error: `input_roles` must name at least one role\n");
    expect_route("name: a, output: {pii: {}}, history: false", "");
    expect_route("name: a, output: {pii: {}}, history: on",
                 "c.yaml:11: error: `history` must be `off`, `warn`, `reject` or `merge`, not "
                 "`on`\n");
    expect_route(
        "name: a, output: {pii: {}}, unknown_members: keep",
        "c.yaml:11: error: `unknown_members` must be `drop`, `pass` or `check`, not `keep`\n");
    expect("openai: {builtin: demo}\nroutes: {}\n",
           "c.yaml:2: error: `routes` must be a list, not a mapping\n");
    expect("openai: {builtin: demo}\nroutes: [5]\n",
           "c.yaml:2: error: `routes` must be a mapping, not the number `5`\n");
}

static void test_redact_with(void **state)
{
    (void)state;
    expect_route("name: a, output: {pii: {}}, on_detection: redact, redact_with: ''", "");
    expect_route("name: a, output: {pii: {}}, on_detection: redact, redact_with: '***'", "");
    expect_route("name: a, output: {pii: {}}, on_detection: redact, redact_with: '}{detection}'",
                 "");
    expect_route("name: a, output: {pii: {}}, on_detection: redact, redact_with: '{detecton}'",
                 "c.yaml:11: error: `redact_with` has the unknown placeholder `{detecton}`; known "
                 "are `{detection}`, `{detection_type}` and `{detector_id}`\n");
    expect_route("name: a, output: {pii: {}}, on_detection: redact, redact_with: '{'",
                 "c.yaml:11: error: `redact_with` has the unknown placeholder `{`; known are "
                 "`{detection}`, `{detection_type}` and `{detector_id}`\n");
    expect_route(
        "name: a, output: {pii: {}}, on_detection: redact, redact_with: '{{detection}}'",
        "c.yaml:11: error: `redact_with` has the unknown placeholder `{{detection}`; known "
        "are `{detection}`, `{detection_type}` and `{detector_id}`\n");
    expect_route("name: a, output: {pii: {}}, on_detection: redact, redact_with: 5",
                 "c.yaml:11: error: `redact_with` must be a text, not the number `5`\n");
}

static void test_mask(void **state)
{
    (void)state;
    expect_route("name: a, input: {pii: {}}, output: {pii: {}}, on_detection: mask, "
                 "mask: {key_env: MASK_KEY, scope: request, never_restore: [secrets], "
                 "unknown_output: block, restore_hosts: [a.example], instruct: true}",
                 "");
    expect_route("name: a, input: {pii: {}}, output: {pii: {}}, on_detection: mask",
                 "c.yaml:11: error: route `a` masks and has no key: write `mask: {key_env: "
                 "VARIABLE}`\n");
    expect_route("name: a, input: {pii: {}}, output: {pii: {}}, on_detection: mask, mask: {}",
                 "c.yaml:11: error: `key_env` is missing\n");
    expect_route("name: a, input: {pii: {}}, output: {pii: {}}, on_detection: mask, "
                 "mask: {key_env: NOWHERE}",
                 "c.yaml:11: error: environment variable `NOWHERE`, named by `key_env`, is not "
                 "set\n");
    expect_route("name: a, input: {pii: {}}, output: {pii: {}}, on_detection: mask, "
                 "mask: {key_env: TOKEN}",
                 "c.yaml:11: error: the key in `TOKEN`, named by `key_env`, is shorter than 16 "
                 "bytes\n");
    expect_route("name: a, input: {pii: {}}, on_detection: mask, mask: {key_env: MASK_KEY}",
                 "c.yaml:11: error: route `a` masks and needs detectors for `input` and for "
                 "`output` that do not only annotate\n");
    expect_route("name: a, input: {pii: {}}, output: {pii: {}}, on_detection: mask, "
                 "mask: {key_env: MASK_KEY, restore_hosts: ['https://a.example']}",
                 "c.yaml:11: error: `restore_hosts` has `https://a.example`, which is not a host: "
                 "lower-case letters, digits, `.` and `-`, without a port\n");
    expect_route("name: a, output: {pii: {}}, mask: {key_env: MASK_KEY}",
                 "c.yaml:11: warning: `mask` has no effect without `on_detection: mask`\n");
}

static void test_when(void **state)
{
    (void)state;
    struct loaded l =
        load_clean(HEAD "- name: a\n"
                        "  input: {pii: {when: {roles: [tool], models: ['gpt-*', m]}}}\n"
                        "  output: {pii: {when: {channels: [content, tool_calls]}}}\n");
    const struct weir_conf_route *r = &l.conf->routes[0];
    assert_int_equal(r->input[0].roles, WEIR_CONF_TOOL);
    assert_int_equal(r->input[0].models.n, 2);
    assert_string_equal(r->input[0].params.p, "{}");
    assert_int_equal(r->output[0].channels, WEIR_CONF_CONTENT | WEIR_CONF_TOOL_CALLS);
    drop(&l);
    expect_route("name: a, input: {pii: {when: {channels: [content]}}}",
                 "c.yaml:11: error: `when.channels` is for detectors of `output`\n");
    expect_route("name: a, output: {pii: {when: {roles: [user]}}}",
                 "c.yaml:11: error: `when.roles` is for detectors of `input`\n");
    expect_route("name: a, output: {pii: {when: {models: []}}}",
                 "c.yaml:11: error: `models` must name at least one model: left out, it means "
                 "all\n");
    expect_route("name: a, output: {chat: {when: {channels: [content]}}}",
                 "c.yaml:11: error: detector `chat` looks at the whole answer: it has no "
                 "`channels`\n");
}

static void test_own_action(void **state)
{
    (void)state;
    struct loaded l = load_clean(HEAD "- name: a\n"
                                      "  on_detection: redact\n"
                                      "  input: {pii: {on_detection: redact}}\n"
                                      "  output: {pii: {on_detection: annotate}}\n");
    const struct weir_conf_route *r = &l.conf->routes[0];
    assert_false(r->input[0].only_annotates);
    assert_true(r->output[0].only_annotates);
    assert_string_equal(r->output[0].params.p, "{}");
    drop(&l);
    expect_route("name: a, on_detection: redact, output: {pii: {on_detection: block}}",
                 "c.yaml:11: error: detector `pii` cannot `block` on a route that has "
                 "`on_detection: redact`: it may `annotate`, or do what the route does\n");
    expect_route("name: a, output: {pii: {on_detection: mask}}",
                 "c.yaml:11: error: detector `pii` cannot `mask` on a route that has "
                 "`on_detection: annotate`: it may `annotate`, or do what the route does\n");
    expect_route("name: a, on_detection: block, output: {pii: {on_detection: annotate}}",
                 "c.yaml:11: warning: route `a` has `on_detection: block`, and each of its "
                 "detectors annotates\n");
    expect_route("name: a, on_detection: mask, input: {pii: {}}, "
                 "output: {pii: {on_detection: annotate}}, mask: {key_env: MASK_KEY, scope: route}",
                 "c.yaml:11: error: route `a` masks and needs detectors for `input` and for "
                 "`output` that do not only annotate\n");
}

static void test_canary(void **state)
{
    (void)state;
    struct loaded l = load_clean(HEAD "- {name: a, canary: {words: [blue heron]}}\n"
                                      "- {name: b, canary: {key_env: MASK_KEY}}\n");
    assert_true(l.conf->routes[0].canary.is_on && l.conf->routes[1].canary.is_on);
    assert_int_equal(l.conf->routes[0].canary.words.n, 1);
    assert_int_equal(l.conf->routes[0].canary.key.n, 0);
    assert_true(l.conf->routes[1].canary.key.n >= 16);
    drop(&l);
    expect_route("name: a, canary: {}",
                 "c.yaml:11: error: `canary` needs `words` or `key_env`, and not both\n");
    expect_route("name: a, canary: {words: [blue heron], key_env: MASK_KEY}",
                 "c.yaml:11: error: `canary` needs `words` or `key_env`, and not both\n");
    expect_route("name: a, canary: {words: []}",
                 "c.yaml:11: error: `words` must have at least one word\n");
    expect_route("name: a, canary: {key_env: TOKEN}",
                 "c.yaml:11: error: the key in `TOKEN`, named by `key_env`, is shorter than 16 "
                 "bytes\n");
}

static void test_timing(void **state)
{
    (void)state;
    struct loaded l = load_clean(HEAD "- {name: a, output: {far: {}}, on_detection: block, "
                                      "output_check: after, max_exposed_chars: 50}\n");
    assert_int_equal(l.conf->routes[0].output_check, WEIR_CONF_OUTPUT_AFTER);
    assert_int_equal(l.conf->routes[0].max_exposed_chars, 50);
    drop(&l);
    expect_route("name: a, output: {far: {}}, on_detection: redact, output_check: after",
                 "c.yaml:11: error: `output_check: after` cannot be used with `on_detection: "
                 "redact`: what has left cannot be replaced any more\n");
    expect_route("name: a, input: {far: {}}, on_detection: redact, input_check: beside",
                 "c.yaml:11: error: `input_check: beside` cannot be used with `on_detection: "
                 "redact`: what has left cannot be replaced any more\n");
    expect_route("name: a, input: {far: {}}, on_detection: block, input_check: beside",
                 "c.yaml:11: error: `input_check: beside` with `on_detection: block` needs "
                 "`history_findings: block`: what has left cannot be taken out any more\n");
    expect_route("name: a, input: {far: {}}, on_detection: block, history_findings: block, "
                 "input_check: beside",
                 "");
    expect_route("name: a, output: {far: {}}, max_exposed_chars: 50",
                 "c.yaml:11: warning: `max_exposed_chars` has no effect without `output_check: "
                 "after`\n");
    expect_route(
        "name: a, output: {far: {}}, output_check: after, max_exposed_chars: 100001",
        "c.yaml:11: error: `max_exposed_chars` must be an integer from 1 to 100000, not the "
        "number `100001`\n");
}

static void test_without_effect(void **state)
{
    (void)state;
    expect_route("name: a, output: {pii: {}}, redact_with: x",
                 "c.yaml:11: warning: `redact_with` has no effect without `on_detection: "
                 "redact` or `mask`\n");
    expect_route("name: a, output: {pii: {}}, fallback_message: x",
                 "c.yaml:11: warning: `fallback_message` has no effect with `on_detection: "
                 "annotate`\n");
}

static void test_routes_without_a_model_server(void **state)
{
    (void)state;
    static const char *const wrong = "c.yaml:2: error: `routes` need a model server: write "
                                     "`openai:` with a `service`, or with `builtin: demo`, or "
                                     "`providers:` and `models:`\n";
    expect("detectors: {d: {builtin: links, chunker_id: whole_doc_chunker}}\n"
           "routes: [{name: a, output: {d: {}}}]\n",
           wrong);
    expect("generation: {provider: nlp, service: {hostname: h}}\n"
           "routes: [{name: a, unguarded: true}]\n",
           wrong);
    expect("detectors: {d: {builtin: links, chunker_id: whole_doc_chunker}}\n"
           "routes: []\n",
           "");
}

#define PATH_ERROR(path, words) "c.yaml:11: error: `unguarded` has the path `" path "`" words "\n"
#define SHAPE                                                                                      \
    ": a path is exact, of visible ASCII without `?`, `#`, `%`, `,`, `;`, `*`, `\\`, `\"`, `.`, "  \
    "`..` and `//`, and does not end with `/`"
#define SERVED ", which this program serves with detectors: it cannot be passed without a look"

static void test_unguarded_paths(void **state)
{
    (void)state;
    struct loaded l =
        load_clean(HEAD "- {name: a, output: {pii: {}}, unguarded: [history, /v1/files, /v1/a.b/c, "
                        "/v1/files]}\n"
                        "- {name: b, output: {pii: {}}, unguarded: [/v1/messages/batches]}\n"
                        "- {name: c, output: {pii: {}}}\n");
    const struct weir_conf_route *a = weir_conf_route(l.conf, WEIR_SLICE("a"));
    assert_int_equal(a->unguarded, WEIR_CONF_HOLE_HISTORY);
    assert_int_equal(a->unguarded_paths.n, 2);
    assert_string_equal(a->unguarded_paths.items[0].s.p, "/v1/files");
    assert_string_equal(a->unguarded_paths.items[1].s.p, "/v1/a.b/c");
    const struct weir_conf_route *b = weir_conf_route(l.conf, WEIR_SLICE("b"));
    assert_int_equal(b->unguarded, 0);
    assert_int_equal(b->unguarded_paths.n, 1);
    assert_int_equal(weir_conf_route(l.conf, WEIR_SLICE("c"))->unguarded_paths.n, 0);
    drop(&l);
}

static void test_wrong_unguarded_paths(void **state)
{
    (void)state;
    static const char *const shapes[] = {
        "/v1/",    "/v1/a/",  "/v1//a",  "/v1/../api", "/v1/./a", "/v1/a?b", "/v1/a%2fb", "/v1/a*",
        "/v1/a,b", "/v1/a;b", "/v1/a b", "/v1/a#b",    "/v1/..",  "/v1/.",   "/v1/a\\b"};
    static const char *const served[] = {"/v1/chat/completions", "/v1/Chat/Completions",
                                         "/v1/models",           "/v1/models/x",
                                         "/v1/responses/a/b",    "/v1/messages/count_tokens"};
    char inside[256];
    char lines[512];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        snprintf(inside, sizeof inside, "name: r, output: {pii: {}}, unguarded: ['%s']", shapes[i]);
        snprintf(lines, sizeof lines, PATH_ERROR("%s", "%s"), shapes[i], SHAPE);
        expect_route(inside, lines);
    }
    for (size_t i = 0; i < sizeof served / sizeof *served; i++) {
        snprintf(inside, sizeof inside, "name: r, output: {pii: {}}, unguarded: ['%s']", served[i]);
        snprintf(lines, sizeof lines, PATH_ERROR("%s", "%s"), served[i], SERVED);
        expect_route(inside, lines);
    }
    expect_route("name: r, output: {pii: {}}, unguarded: [/v2/files]",
                 PATH_ERROR("/v2/files", ", which does not begin with `/v1/`"));
}

static void expect_paths(size_t n, size_t n_bytes, const char *lines)
{
    struct weir_buf text = {0};
    weir_buf_append(&text, WEIR_SLICE(HEAD "- {name: r, output: {pii: {}}, unguarded: ["));
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(&text, "%s/v1/%0*zu", i == 0 ? "" : ", ", (int)(n_bytes - 4), i);
    }
    weir_buf_append(&text, WEIR_SLICE("]}\n"));
    weir_buf_append_byte(&text, '\0');
    expect(text.p, lines);
    weir_buf_dispose(&text);
}

static void test_too_many_unguarded_paths(void **state)
{
    (void)state;
    const char *words =
        "c.yaml:11: error: `unguarded` has more than 64 paths, or more than 4096 bytes\n";
    expect_paths(64, 64, "");
    expect_paths(65, 10, words);
    expect_paths(64, 65, words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_value),
        cmocka_unit_test(test_timing),
        cmocka_unit_test(test_canary),
        cmocka_unit_test(test_when),
        cmocka_unit_test(test_own_action),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_guarding),
        cmocka_unit_test(test_unguarded_paths),
        cmocka_unit_test(test_wrong_unguarded_paths),
        cmocka_unit_test(test_too_many_unguarded_paths),
        cmocka_unit_test(test_detectors),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_redact_with),
        cmocka_unit_test(test_without_effect),
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_routes_without_a_model_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
