/*
 * What the built-in detectors cost, in CPU time per MiB of English prose: as one text, and in the
 * chunks that the sentence chunker makes of it (the chunker's own time is not counted). Then the
 * longest a hostile pattern keeps the loop. Usage: detect_bench
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "chunk/sentence.h"
#include "detect/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 7, TEXT_BYTES = 1 << 20, MAX_CHUNKS = 1 << 16 };

static const char prose[] =
    "The gateway reads what the model says as it says it, a few letters at a time. It holds each "
    "sentence until every detector has looked at it, and lets it go when none of them objects. "
    "Dr. Weir, who built the first one in 1871, called that \"keeping the gate\"; nobody has found "
    "a better word since. Does it cost much? About 3.5 percent, i.e. less than the network. The "
    "password to the old house was written on paper, and the token of thanks was a secret between "
    "two people at 12:30. See section 4.2 and call the office before Friday.\n\n";

static const char *const hostile[] = {
    "(a+)+$", "(a|aa)+$",        "(a{1,30}){1,30}c", "a*a*a*a*c",
    "[^x]*x", "(.*)\\\\1\\\\1c", "a{0,900}c",        "\\\\w+@c",
};

struct texts {
    struct weir_slice whole;
    struct weir_slice *chunks;
    size_t n_chunks;
};

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static size_t ask(const struct weir_detector *d, struct weir_slice text, const char *params)
{
    struct weir_detect_input input = {.type = WEIR_DETECT_CONTENTS,
                                      .contents = &text,
                                      .n_contents = 1,
                                      .params = weir_slice_cstr(params),
                                      .threshold = 0.5};
    struct weir_detect_env env = {0};
    struct weir_detect_call *call = weir_detect_start(d, &env, &input, NULL, NULL);
    size_t n = call->n_lists != 0 ? call->lists[0].n : 0;
    weir_detect_free(call);
    return n;
}

enum { MAX_KINDS = 16 };

struct kinds {
    struct weir_builtin list[MAX_KINDS];
    size_t n;
};

static double best_whole(struct weir_builtin *list, size_t n, const struct texts *t,
                         size_t *n_found)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t k = 0; k < n; k++) {
            ask(&list[k].base, WEIR_SLICE("another text"),
                ""); /* nothing is left of the last round */
        }
        double from = cpu_ms();
        *n_found = 0;
        for (size_t k = 0; k < n; k++) {
            *n_found += ask(&list[k].base, t->whole, "");
        }
        double ms = cpu_ms() - from;
        best = ms < best ? ms : best;
    }
    return best;
}

static double best_chunks(struct weir_builtin *list, size_t n, const struct texts *t)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double from = cpu_ms();
        for (size_t i = 0; i < t->n_chunks; i++) {
            for (size_t k = 0; k < n; k++) {
                ask(&list[k].base, t->chunks[i], "");
            }
        }
        double ms = cpu_ms() - from;
        best = ms < best ? ms : best;
    }
    return best;
}

static void cut(struct texts *t)
{
    struct weir_chunk_sentence sentence;
    if (weir_chunk_sentence_init(&sentence, WEIR_SLICE("s"), NULL) != 0) {
        exit(1);
    }
    struct weir_chunk_options options = {0};
    struct weir_chunk_stream *s = weir_chunk_open(&sentence.base, NULL, &options, NULL, NULL);
    struct weir_chunk chunk;
    size_t at = 0;
    weir_chunk_push(s, 0, t->whole);
    weir_chunk_end(s);
    while (weir_chunk_next(s, &chunk) == 0 && t->n_chunks < MAX_CHUNKS) {
        /* the prose is ASCII: a code point is a byte */
        t->chunks[t->n_chunks++] = weir_slice_sub(t->whole, chunk.start_cp, chunk.end_cp);
        at = chunk.end_cp;
    }
    printf("%zu of %zu bytes in %zu sentences\n", at, t->whole.n, t->n_chunks);
    weir_chunk_close(s);
    weir_chunk_sentence_dispose(&sentence);
}

static void open_kind(struct weir_builtin *b, const char *name)
{
    struct weir_buf why = {0};
    const char *params =
        strcmp(name, "regex") == 0
            ? "{\"regex\":[\"email\",\"credit-card\",\"ipv4\",\"ipv6\",\"phone\",\"us-ssn\","
              "\"uk-post-code\",\"iban\"]}"
        : strcmp(name, "keywords") == 0 ? "{\"deny\":[\"forbidden\",\"a bad word\",\"pass\"]}"
                                        : "{}";
    if (weir_detect_builtin_init(b, weir_slice_cstr(name), weir_slice_cstr(name),
                                 weir_slice_cstr(params), &why) != 0) {
        printf("%s: %s\n", name, weir_buf_cstr(&why));
        exit(1);
    }
    weir_buf_dispose(&why);
}

static void print_cost(const char *what, double whole, double chunks, size_t n_found)
{
    printf("  %-18s %6.2f ms/MiB whole (%zu found), %6.2f ms/MiB in sentences\n", what, whole,
           n_found, chunks);
}

/* Each for itself, then all of them on each text: what they share is looked for once. */
static void measure_kinds(const struct texts *t)
{
    struct kinds *kinds = weir_mem_zalloc(sizeof *kinds);
    size_t n_found;
    double sum_whole = 0;
    double sum_chunks = 0;
    for (; weir_detect_builtin_name(kinds->n) != NULL && kinds->n < MAX_KINDS; kinds->n++) {
        const char *name = weir_detect_builtin_name(kinds->n);
        struct weir_builtin *b = &kinds->list[kinds->n];
        open_kind(b, name);
        double whole = best_whole(b, 1, t, &n_found);
        double chunks = best_chunks(b, 1, t);
        sum_whole += whole;
        sum_chunks += chunks;
        print_cost(name, whole, chunks, n_found);
    }
    print_cost("sum", sum_whole, sum_chunks, 0);
    double whole = best_whole(kinds->list, kinds->n, t, &n_found);
    print_cost("all at once", whole, best_chunks(kinds->list, kinds->n, t), n_found);
    for (size_t i = 0; i < kinds->n; i++) {
        weir_builtin_dispose(&kinds->list[i]);
    }
    free(kinds);
}

static void measure_hostile(void)
{
    struct weir_builtin b;
    struct weir_buf why = {0};
    char *text = weir_mem_alloc(TEXT_BYTES);
    static const char wanted[3] = {'b', 'x', 'c'};
    memset(text, 'a', TEXT_BYTES);
    for (size_t at = 4096; at < TEXT_BYTES; at += 4096) {
        memcpy(text + at - 3, wanted, 3); /* what the patterns want is there, out of reach */
    }
    weir_detect_builtin_init(&b, WEIR_SLICE("regex"), WEIR_SLICE("regex"), WEIR_SLICE("{}"), &why);
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        char params[256];
        snprintf(params, sizeof params, "{\"regex\":[\"%s\"]}", hostile[i]);
        double from = cpu_ms();
        ask(&b.base, weir_slice_make(text, TEXT_BYTES), params);
        printf("  %-18s %6.2f ms until refused\n", hostile[i], cpu_ms() - from);
    }
    weir_builtin_dispose(&b);
    weir_buf_dispose(&why);
    free(text);
}

int main(void)
{
    struct weir_buf text = {0};
    while (text.n + strlen(prose) <= TEXT_BYTES) {
        weir_buf_append(&text, weir_slice_cstr(prose));
    }
    struct texts t = {.whole = weir_buf_slice(&text),
                      .chunks = weir_mem_array(MAX_CHUNKS, sizeof *t.chunks)};
    cut(&t);
    measure_kinds(&t);
    measure_hostile();
    free(t.chunks);
    weir_buf_dispose(&text);
    return 0;
}
