/*
 * What a route's look at a question costs: a conversation of 40 messages, 16 KiB, in CPU time per
 * request. It is walked, looked at by all built-in detectors that work on pieces of text, judged,
 * and redacted; reading the JSON before and writing the request after are not counted, since they
 * are needed anyway. Usage: question_bench [ROUNDS]
 */
#include "base/buf.h"
#include "base/mem.h"
#include "chunk/window.h"
#include "detect/registry.h"
#include "io/loop.h"
#include "task/asked.h"
#include "task/scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_MESSAGES = 40, MESSAGE_BYTES = 16 * 1024 / N_MESSAGES, MAX_KINDS = 8 };

static const char prose[] =
    "The gateway reads what the model says as it says it, a few letters at a time. It holds each "
    "sentence until every detector has looked at it, and lets it go when none of them objects. "
    "Dr. Weir, who built the first one in 1871, called that keeping the gate; nobody has found a "
    "better word since. Does it cost much? About 3.5 percent, i.e. less than the network. The "
    "token of thanks was a secret between two people at 12:30. See section 4.2 and call before "
    "Friday. ";

static const char *const names[] = {"regex",   "secrets",          "keywords",
                                    "unicode", "prompt_injection", "links"};

struct world {
    struct weir_loop loop;
    struct weir_task_env env;
    struct weir_task_scratch scratch;
    struct weir_chunk_window windows;
    struct weir_builtin kinds[MAX_KINDS];
    struct weir_task_detector detectors[MAX_KINDS];
    struct weir_plan_use uses[MAX_KINDS];
    struct weir_plan plan;
    struct weir_policy policy;
    struct weir_buf body;
    size_t n_found;
};

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static const char *params_of(const char *name)
{
    if (strcmp(name, "regex") == 0) {
        return "{\"regex\":[\"email\",\"credit-card\",\"ipv4\",\"ipv6\",\"phone\",\"us-ssn\","
               "\"uk-post-code\",\"iban\"]}";
    }
    return strcmp(name, "keywords") == 0 ? "{\"deny\":[\"forbidden\",\"a bad word\"]}" : "{}";
}

static void open_detectors(struct world *w)
{
    weir_chunk_window_init(&w->windows, WEIR_SLICE("windows"), 400, 64);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct weir_buf why = {0};
        struct weir_slice name = weir_slice_cstr(names[i]);
        if (weir_detect_builtin_init(&w->kinds[i], name, name, weir_slice_cstr(params_of(names[i])),
                                     &why) != 0) {
            printf("%s: %s\n", names[i], weir_buf_cstr(&why));
            exit(1);
        }
        weir_buf_dispose(&why);
        w->detectors[i] = (struct weir_task_detector){
            .id = name, .detector = &w->kinds[i].base, .chunker = &w->windows.base};
        w->uses[i] = (struct weir_plan_use){
            .d = &w->detectors[i], .threshold = 0.5, .params = WEIR_SLICE("{}")};
        if (strcmp(names[i], "prompt_injection") == 0) { /* as a configuration has it */
            w->uses[i].roles =
                1u << WEIR_WALK_USER | 1u << WEIR_WALK_TOOL | 1u << WEIR_WALK_FUNCTION;
        }
    }
    w->plan = (struct weir_plan){.uses = w->uses, .n = sizeof names / sizeof names[0]};
}

/* Users and the assistant in turns; every tenth message has an address in it. */
static void write_body(struct weir_buf *out)
{
    weir_buf_append(out, WEIR_SLICE("{\"model\":\"m\",\"messages\":["));
    for (int i = 0; i < N_MESSAGES; i++) {
        weir_buf_printf(out, "%s{\"role\":\"%s\",\"content\":\"%s", i != 0 ? "," : "",
                        i % 2 == 0 ? "user" : "assistant",
                        i % 10 == 0 ? "Write to jane@example.org. " : "");
        for (size_t n = 0; n < MESSAGE_BYTES; n++) {
            weir_buf_append_byte(out, prose[((size_t)i * 37 + n) % (sizeof prose - 1)]);
        }
        weir_buf_append(out, WEIR_SLICE("\"}"));
    }
    weir_buf_append(out, WEIR_SLICE("]}"));
}

static void on_done(void *ctx, struct weir_scan *scan)
{
    struct world *w = ctx;
    if (weir_scan_fault(scan) != NULL) {
        printf("failed: %.*s\n", (int)weir_scan_fault(scan)->why.n, weir_scan_fault(scan)->why.p);
        exit(1);
    }
    weir_loop_stop(&w->loop);
}

/* One request; CPU time in microseconds. */
static double look(struct world *w)
{
    struct weir_arena arena = {0};
    struct weir_json json;
    struct weir_walk walk;
    struct weir_json_edit e = {0};
    struct weir_buf sent = {0};
    struct weir_walk_options options = {.max_document_nodes = 100000};
    struct weir_task_ctx task = {
        .env = &w->env, .loop = &w->loop, .arena = &arena, .scratch = &w->scratch};
    weir_json_parse(&json, weir_buf_slice(&w->body), NULL, &arena, NULL);
    double from = cpu_us();
    weir_walk_read(&walk, &weir_walk_chat, &json, &options, &arena);
    struct weir_asked_options o = {
        .arena = &arena, .json = &json, .walk = &walk, .policy = &w->policy, .plan = &w->plan};
    const char *why;
    if (weir_asked_check(&o, &why) != 0) {
        printf("refused: %s\n", why);
        exit(1);
    }
    struct weir_asked *asked = weir_asked_new(&o);
    weir_asked_start(asked, &task, on_done, w);
    weir_loop_run(&w->loop);
    weir_json_edit_begin(&e, &json);
    weir_asked_edit(asked, &e);
    weir_json_edit_write(&e, &sent);
    w->n_found = weir_asked_n_found(asked);
    weir_arena_dispose(&arena);
    double us = cpu_us() - from;
    weir_json_edit_dispose(&e);
    weir_buf_dispose(&sent);
    return us;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(struct world *w, const char *what, size_t rounds)
{
    double *us = weir_mem_array(rounds, sizeof *us);
    for (size_t i = 0; i < rounds; i++) {
        us[i] = look(w);
    }
    qsort(us, rounds, sizeof *us, by_size);
    printf("%-28s %8.1f µs median, %8.1f µs best, %zu findings\n", what, us[rounds / 2], us[0],
           w->n_found);
    free(us);
}

int main(int argc, char **argv)
{
    static struct world w;
    size_t rounds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 400;
    if (rounds == 0 || weir_loop_init(&w.loop) != 0) {
        return 1;
    }
    w.env = (struct weir_task_env){
        .max_detector_calls = 5, .max_chunker_calls = 5, .max_service_body_bytes = 1 << 20};
    w.policy = (struct weir_policy){.action = WEIR_POLICY_REDACT,
                                    .redact_with = WEIR_SLICE("[{detection}]"),
                                    .input_roles = 1u << WEIR_WALK_USER};
    open_detectors(&w);
    write_body(&w.body);
    printf("%d messages, %zu bytes\n", N_MESSAGES, w.body.n);
    report(&w, "all built-in detectors", rounds);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        w.plan = (struct weir_plan){.uses = &w.uses[i], .n = 1};
        report(&w, names[i], rounds);
    }
    w.plan = (struct weir_plan){0};
    report(&w, "none: walk and views alone", rounds);
    weir_buf_dispose(&w.body);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        weir_builtin_dispose(&w.kinds[i]);
    }
    weir_task_scratch_dispose(&w.scratch);
    weir_loop_dispose(&w.loop);
    return 0;
}
