/*
 * Calls one HTTP service through the program's own client, many times, and prints what came of it
 * as one line of JSON. Usage: call_probe KEY=VALUE...
 *
 *   host=NAME port=N h2=1                 where; h2: HTTP/2 only
 *   ca=FILE                               TLS, trusting this authority; ALPN offers both
 *   path=/… body=TEXT                     POST with a body, GET without
 *   calls=N at_once=N                     how often, how many under way at a time
 *   wait_ms=N                             between the end of a call and the next
 *   retries=N timeout_ms=N                of the target
 *
 * {"status":{"200":N,…},"errors":{"why":N,…},"bytes":N}
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "client/call.h"
#include "client/client.h"
#include "io/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KINDS = 32, MAX_STATUS = 600 };

struct kind {
    char *text;
    size_t n;
};

static struct {
    struct weir_loop loop;
    struct weir_client *client;
    struct weir_target target;
    struct weir_slice path;
    struct weir_slice body;
    size_t left;
    size_t running;
    uint64_t wait_ms;
    size_t statuses[MAX_STATUS];
    struct kind errors[MAX_KINDS];
    size_t n_errors;
    size_t n_bytes;
} probe;

static void start(void);

static void note_error(const char *why)
{
    size_t i = 0;
    while (i < probe.n_errors && strcmp(probe.errors[i].text, why) != 0) {
        i++;
    }
    if (i == probe.n_errors) {
        WEIR_ASSERT(i < MAX_KINDS);
        probe.errors[i].text = weir_mem_strdup(why);
        probe.n_errors++;
    }
    probe.errors[i].n++;
}

static void on_waited(struct weir_timer *t, void *ctx)
{
    (void)ctx;
    free(t);
    start();
}

static void go_on(uint64_t wait_ms)
{
    if (probe.left == 0) {
        return;
    }
    probe.left--;
    probe.running++; /* from now on, so that nobody stops the loop before it */
    if (wait_ms == 0) {
        start();
        return;
    }
    struct weir_timer *t = weir_mem_zalloc(sizeof *t);
    t->fn = on_waited;
    weir_loop_after(&probe.loop, t, wait_ms);
}

static void on_done(void *ctx, const struct weir_call_result *result)
{
    (void)ctx;
    probe.running--;
    if (result->err != 0) {
        note_error(result->why);
    } else {
        probe.statuses[result->status]++;
        probe.n_bytes += result->body.n;
    }
    go_on(probe.wait_ms);
    if (probe.running == 0) {
        weir_loop_stop(&probe.loop);
    }
}

static void start(void)
{
    static const struct weir_call_events EVENTS = {.on_done = on_done};
    struct weir_call_request request = {
        .target = &probe.target,
        .method = probe.body.n != 0 ? WEIR_SLICE("POST") : WEIR_SLICE("GET"),
        .path = probe.path,
        .body = probe.body,
        .max_body_bytes = 64 << 20,
        .may_retry = probe.target.max_retries != 0,
    };
    weir_call_start(probe.client, &request, &EVENTS, NULL);
}

static void set_ca(const char *path)
{
    struct weir_buf why = {0};
    struct weir_tls_options options = {.ca_path = path, .offer_h2 = true};
    probe.target.tls = weir_tls_new_client(&options, &why);
    if (probe.target.tls == NULL) {
        fprintf(stderr, "%s\n", weir_buf_cstr(&why));
        exit(1);
    }
}

static void set(const char *key, const char *value)
{
    unsigned long n = strtoul(value, NULL, 10);
    if (strcmp(key, "host") == 0) {
        probe.target.hostname = value;
    } else if (strcmp(key, "port") == 0) {
        probe.target.port = (uint16_t)n;
    } else if (strcmp(key, "h2") == 0) {
        probe.target.protocol = n != 0 ? WEIR_TARGET_H2 : WEIR_TARGET_HTTP;
    } else if (strcmp(key, "ca") == 0) {
        set_ca(value);
    } else if (strcmp(key, "path") == 0) {
        probe.path = weir_slice_cstr(value);
    } else if (strcmp(key, "body") == 0) {
        probe.body = weir_slice_cstr(value);
    } else if (strcmp(key, "calls") == 0) {
        probe.left = n;
    } else if (strcmp(key, "at_once") == 0) {
        probe.target.max_concurrent = (uint32_t)n;
    } else if (strcmp(key, "wait_ms") == 0) {
        probe.wait_ms = n;
    } else if (strcmp(key, "retries") == 0) {
        probe.target.max_retries = (uint32_t)n;
    } else if (strcmp(key, "timeout_ms") == 0) {
        probe.target.request_timeout_ms = n;
    } else {
        fprintf(stderr, "call_probe: no option %s\n", key);
        exit(2);
    }
}

static void on_closed(void *ctx)
{
    weir_loop_stop(ctx);
}

static void print(void)
{
    const char *sep = "";
    printf("{\"status\":{");
    for (int i = 0; i < MAX_STATUS; i++) {
        if (probe.statuses[i] != 0) {
            printf("%s\"%d\":%zu", sep, i, probe.statuses[i]);
            sep = ",";
        }
    }
    printf("},\"errors\":{");
    sep = "";
    for (size_t i = 0; i < probe.n_errors; i++) {
        printf("%s\"%s\":%zu", sep, probe.errors[i].text, probe.errors[i].n);
        sep = ",";
        free(probe.errors[i].text);
    }
    printf("},\"bytes\":%zu}\n", probe.n_bytes);
}

int main(int argc, char **argv)
{
    probe.target = (struct weir_target){.id = WEIR_SLICE("peer"),
                                        .hostname = "127.0.0.1",
                                        .connect_timeout_ms = 60000,
                                        .first_byte_timeout_ms = 60000,
                                        .idle_timeout_ms = 60000,
                                        .request_timeout_ms = 60000,
                                        .keep_alive_interval_ms = 1000,
                                        .keep_alive_timeout_ms = 60000,
                                        .dns_interval_ms = 1000,
                                        .max_concurrent = 1};
    probe.path = WEIR_SLICE("/");
    probe.left = 1;
    for (int i = 1; i < argc; i++) {
        char *eq = strchr(argv[i], '=');
        WEIR_ASSERT(eq != NULL);
        *eq = '\0';
        set(argv[i], eq + 1);
    }
    WEIR_ASSERT(weir_loop_init(&probe.loop) == 0);
    probe.client = weir_client_new(&probe.loop);
    for (uint32_t i = 0; i < probe.target.max_concurrent; i++) {
        go_on(0);
    }
    weir_loop_run(&probe.loop);
    weir_client_close(probe.client, on_closed, &probe.loop);
    weir_loop_run(&probe.loop);
    weir_loop_dispose(&probe.loop);
    weir_tls_unref(probe.target.tls);
    print();
    return 0;
}
