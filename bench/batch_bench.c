/*
 * What stream batching costs, in CPU time: ns per streamed event, reading it included, in the
 * engine alone and in the whole chain. Usage: batch_bench
 */
#include "emit/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EVENTS = 64, ROUNDS = 9, STREAMS = 2000 };

struct script {
    const char *what;
    const char *format; /* one %d: changes with each event; one %s: the text */
};

static const struct script scripts[] = {
    {"text, as one server sends it",
     "{\"id\":\"chatcmpl-9f8a7b6c5d4e3f2a1b0c\",\"object\":\"chat.completion.chunk\","
     "\"created\":17316288%02d,\"model\":\"granite-3.1-8b-instruct\",\"choices\":[{\"index\":0,"
     "\"delta\":{\"content\":\"%s\"},\"logprobs\":null,\"finish_reason\":null}],"
     "\"usage\":null,\"system_fingerprint\":\"fp_44709d6fcb\"}"},
    {"with usage that changes",
     "{\"id\":\"chatcmpl-9f8a7b6c5d4e\",\"object\":\"chat.completion.chunk\",\"created\":"
     "1731628800,"
     "\"model\":\"m\",\"choices\":[{\"index\":0,\"finish_reason\":null,\"delta\":{\"content\":"
     "\"%2$s\"}}],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":%1$d,\"total_tokens\":99}"
     "}"},
};

static const char *const words[] = {" the",  " gateway", " holds", " it",   " until",
                                    " some", " end.",    " And",   " then", ","};

struct sink {
    size_t n_chunks;
    size_t n_bytes;
};

static void on_emit(void *ctx, enum weir_batch_reason why, const struct weir_event *e)
{
    struct sink *sink = ctx;
    (void)why;
    sink->n_chunks += e->kind == WEIR_EVENT_CHUNK;
    sink->n_bytes += e->data.n;
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static char texts[EVENTS][512];

static size_t make_texts(const struct script *script)
{
    size_t n = 0;
    for (int i = 0; i < EVENTS; i++) {
        const char *word = words[i % (int)(sizeof words / sizeof words[0])];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        n += (size_t)snprintf(texts[i], sizeof texts[i], script->format, i, word);
#pragma GCC diagnostic pop
    }
    return n / EVENTS;
}

/* One stream of EVENTS chunks, a token every 20 ms. */
static void run_stream(const struct weir_chain_options *o, struct sink *sink)
{
    struct weir_chain *chain = weir_chain_new(o, on_emit, sink);
    struct weir_event e = {.kind = WEIR_EVENT_CHUNK};
    for (int pass = 0; pass < 4; pass++) {
        for (int i = 0; i < EVENTS; i++) {
            e.data = weir_slice_cstr(texts[i]);
            uint64_t now = (uint64_t)(pass * EVENTS + i) * 20;
            weir_chain_push(chain, now, &e);
        }
    }
    e = (struct weir_event){.kind = WEIR_EVENT_DONE};
    weir_chain_push(chain, 4 * EVENTS * 20, &e);
    weir_chain_free(chain);
}

/* The best of several rounds: what the work costs without the neighbours. */
static void measure(const char *what, const struct weir_chain_options *o)
{
    double best = 0;
    struct sink sink = {0};
    for (int round = 0; round < ROUNDS; round++) {
        sink = (struct sink){0};
        double from = cpu_ns();
        for (int i = 0; i < STREAMS / 4; i++) {
            run_stream(o, &sink);
        }
        double ns = (cpu_ns() - from) / ((double)STREAMS * EVENTS);
        best = round == 0 || ns < best ? ns : best;
    }
    double ratio = (double)STREAMS * EVENTS / (double)sink.n_chunks;
    printf("  %-28s %6.0f ns an event, %5.1f events a chunk\n", what, best, ratio);
}

static struct weir_chain_options options(enum weir_batch_mode adapter,
                                         enum weir_batch_mode business)
{
    struct weir_chain_options o = {
        .adapter = weir_batch_defaults(WEIR_BATCH_ADAPTER),
        .business = weir_batch_defaults(WEIR_BATCH_BUSINESS),
        .dedup = weir_dedup_defaults(),
    };
    o.adapter.mode = adapter;
    o.business.mode = business;
    return o;
}

int main(void)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        printf("%s, %zu bytes\n", scripts[i].what, make_texts(&scripts[i]));
        struct weir_chain_options o = options(WEIR_BATCH_OFF, WEIR_BATCH_OFF);
        measure("off", &o);
        o = options(WEIR_BATCH_ON, WEIR_BATCH_OFF);
        measure("adapter", &o);
        o.adapter.max_latency_ms = 0;
        measure("adapter, emit per chunk", &o);
        o = options(WEIR_BATCH_METRICS, WEIR_BATCH_OFF);
        measure("adapter, metrics only", &o);
        o = options(WEIR_BATCH_ON, WEIR_BATCH_ON);
        measure("adapter and business", &o);
        o.dedup.mode = WEIR_DEDUP_SAFE;
        measure("dedup, adapter, business", &o);
    }
    return 0;
}
