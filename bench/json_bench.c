/*
 * What reading JSON costs, in CPU time: one streamed chat event (ns per parse, reusing its tape)
 * and a large document (MB/s). Usage: json_bench
 */
#include "base/buf.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LARGE_BYTES ((size_t)1024 * 1024)

static const char event[] =
    "{\"id\":\"chatcmpl-9f8a7b6c5d4e3f2a1b0c\",\"object\":\"chat.completion.chunk\","
    "\"created\":1731628800,\"model\":\"granite-3.1-8b-instruct\",\"choices\":[{\"index\":0,"
    "\"delta\":{\"content\":\" gateway\"},\"logprobs\":null,\"finish_reason\":null}],"
    "\"usage\":null,\"system_fingerprint\":\"fp_44709d6fcb\"}";

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void parse_or_die(struct weir_json *j, struct weir_slice src, struct weir_json_tape *tape)
{
    struct weir_json_error err;
    if (weir_json_parse_reuse(j, src, NULL, tape, &err) != 0) {
        fprintf(stderr, "byte %zu: %s\n", err.at_byte, err.what);
        exit(1);
    }
}

/* The best of several rounds: what the work costs without the neighbours. */
static double best_ns(struct weir_slice src, int n_times)
{
    struct weir_json_tape tape = {0};
    struct weir_json j;
    double best = 0;
    for (int round = 0; round < 9; round++) {
        double from = cpu_ns();
        for (int i = 0; i < n_times; i++) {
            parse_or_die(&j, src, &tape);
        }
        double ns = (cpu_ns() - from) / n_times;
        best = round == 0 || ns < best ? ns : best;
    }
    weir_json_tape_dispose(&tape);
    return best;
}

static void run_event(const char *what, struct weir_slice src)
{
    printf("%-34s %4zu bytes %10.0f ns\n", what, src.n, best_ns(src, 100000));
}

static void run_large(const char *what, struct weir_slice item)
{
    struct weir_buf doc = {0};
    weir_buf_append_byte(&doc, '[');
    while (doc.n < LARGE_BYTES) {
        weir_buf_append(&doc, item);
        weir_buf_append_byte(&doc, ',');
    }
    doc.p[doc.n - 1] = ']';
    double ns = best_ns(weir_buf_slice(&doc), 10);
    printf("%-34s %4zu KiB   %10.0f MB/s\n", what, doc.n / 1024, (double)doc.n / ns * 1e3);
    weir_buf_dispose(&doc);
}

int main(void)
{
    run_event("one streamed event", weir_slice_make(event, sizeof event - 1));
    run_event(
        "the same, escaped and not ASCII",
        WEIR_SLICE("{\"id\":\"chatcmpl-9f8a7b6c5d4e3f2a1b0c\",\"object\":"
                   "\"chat.completion.chunk\",\"created\":1731628800,\"model\":\"m\","
                   "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\\n\\nFür \\\"größe\\\" "
                   "\\u2013 \xE6\x97\xA5\xE6\x9C\xAC\"},\"finish_reason\":null}]}"));
    run_large("1 MiB of events", weir_slice_make(event, sizeof event - 1));
    run_large("1 MiB of long text",
              WEIR_SLICE("{\"role\":\"user\",\"content\":\"A guardrail reads what goes in and what "
                         "comes out, and says what it found. It reads a great deal of text and "
                         "little else, so strings decide how fast it is.\"}"));
    run_large("1 MiB of Japanese text",
              WEIR_SLICE("{\"content\":\"吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当が"
                         "つかぬ。\"}"));
    run_large("1 MiB of numbers", WEIR_SLICE("[0.12345678,-17,1731628800,1e-7,42]"));
    return 0;
}
