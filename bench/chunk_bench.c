/*
 * What chunking costs, in CPU time: whole texts by the MiB, streams by the token. The same tokens
 * through ICU's iterator, asked over the open sentence whenever a token could end it, are measured
 * beside it. Usage: chunk_bench
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "chunk/paragraph.h"
#include "chunk/sentence.h"
#include "chunk/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unicode/ubrk.h>
#include <unicode/utext.h>

enum { ROUNDS = 7, TEXT_BYTES = 1 << 20, TOKEN_CP = 4 };

struct script {
    const char *what;
    const char *text; /* repeated up to TEXT_BYTES */
};

static const struct script scripts[] = {
    {"English prose",
     "The gateway reads what the model says as it says it, a few letters at a time. It holds each "
     "sentence until every detector has looked at it, and lets it go when none of them objects. "
     "Dr. Weir, who built the first one in 1871, called that \"keeping the gate\"; nobody has "
     "found "
     "a better word since. Does it cost much? About 3.5 percent, i.e. less than the network.\n\n"},
    {"Markdown",
     "## 2. Usage\n\nRun it:\n\n```sh\nweir --config weir.yaml\ncurl http://localhost:8033/health\n"
     "```\n\n1. **First**, start the server. It listens on 8033.\n2. Then send a request.\n"
     "- It answers. Really.\n\nThat is all there is to it. See [the "
     "page](https://example.com).\n\n"},
    {"German",
     "Die Schleuse liest, was das Modell schreibt, während es schreibt. Sie hält z. B. jeden Satz "
     "zurück, bis alle Prüfer ihn gesehen haben, bzw. bis die Zeit um ist. Überrascht Sie das? "
     "Nein!"
     "\n"},
    {"Chinese", "网关在模型说话的同时阅读它所说的内容，每次只有几个字。每个句子都会被保留，直到所有"
                "检测器都看过"
                "为止。这样做的代价大吗？并不大！\n"},
};

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t pull(struct weir_chunk_stream *s)
{
    struct weir_chunk chunk;
    size_t n = 0;
    while (weir_chunk_next(s, &chunk) == 0) {
        n++;
    }
    return n;
}

/* Pushes of `token_cp` code points, 0: all at once; returns the number of chunks. */
static size_t run_stream(const struct weir_chunker *c, struct weir_slice text, size_t token_cp)
{
    struct weir_chunk_options options = {0};
    struct weir_chunk_stream *s = weir_chunk_open(c, NULL, &options, NULL, NULL);
    size_t n = 0;
    uint64_t frame = 0;
    while (text.n != 0) {
        size_t bytes = token_cp != 0 ? weir_utf8_byte_at(text, token_cp) : text.n;
        weir_chunk_push(s, frame++, weir_slice_sub(text, 0, bytes));
        n += pull(s);
        text = weir_slice_sub(text, bytes, text.n);
    }
    weir_chunk_end(s);
    n += pull(s);
    weir_chunk_close(s);
    return n;
}

static bool can_end(struct weir_slice token)
{
    return memchr(token.p, '.', token.n) != NULL || memchr(token.p, '!', token.n) != NULL ||
           memchr(token.p, '?', token.n) != NULL || memchr(token.p, '\n', token.n) != NULL;
}

/* ICU's way, for comparison: the open sentence is kept, and asked about while an end is near. */
static size_t run_icu(UBreakIterator *icu, struct weir_slice text, size_t token_cp)
{
    struct weir_buf open = {0};
    size_t n = 0;
    bool is_near = false;
    UText utext = UTEXT_INITIALIZER;
    while (text.n != 0) {
        UErrorCode err = U_ZERO_ERROR;
        size_t bytes = weir_utf8_byte_at(text, token_cp);
        struct weir_slice token = weir_slice_sub(text, 0, bytes);
        weir_buf_append(&open, token);
        is_near = is_near || can_end(token);
        if (is_near) {
            utext_openUTF8(&utext, open.p, (int64_t)open.n, &err);
            ubrk_setUText(icu, &utext, &err);
            ubrk_first(icu);
            int32_t end = ubrk_next(icu);
            if (end != UBRK_DONE && (size_t)end < open.n) {
                weir_buf_consume(&open, (size_t)end);
                is_near = can_end(weir_buf_slice(&open));
                n++;
            }
        }
        text = weir_slice_sub(text, bytes, text.n);
    }
    utext_close(&utext);
    weir_buf_dispose(&open);
    return n;
}

struct work {
    const struct weir_chunker *chunker; /* NULL: ICU */
    UBreakIterator *icu;
    struct weir_slice text;
    size_t token_cp;
};

/* The best of several rounds: what the work costs without the neighbours. */
static double best_ns(const struct work *w, size_t *n_chunks)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double from = cpu_ns();
        *n_chunks = w->chunker != NULL ? run_stream(w->chunker, w->text, w->token_cp)
                                       : run_icu(w->icu, w->text, w->token_cp);
        double ns = cpu_ns() - from;
        best = round == 0 || ns < best ? ns : best;
    }
    return best;
}

static void measure(const char *what, struct work w)
{
    size_t n_chunks;
    double n_tokens = (double)weir_utf8_count(w.text) / TOKEN_CP;
    printf("  %-10s", what);
    if (w.chunker != NULL) {
        printf(" %6.2f ms/MiB whole,", best_ns(&w, &n_chunks) / 1e6);
    }
    w.token_cp = TOKEN_CP;
    double ns = best_ns(&w, &n_chunks);
    printf(" %6.2f ms/MiB and %4.0f ns a token in tokens of %d, %zu chunks\n", ns / 1e6,
           ns / n_tokens, TOKEN_CP, n_chunks);
}

int main(void)
{
    struct weir_chunk_sentence sentence;
    struct weir_chunk_paragraph paragraph;
    struct weir_chunk_window window;
    UErrorCode err = U_ZERO_ERROR;
    UBreakIterator *icu = ubrk_open(UBRK_SENTENCE, "en@ss=standard", NULL, 0, &err);
    if (U_FAILURE(err) || weir_chunk_sentence_init(&sentence, WEIR_SLICE("s"), NULL) != 0) {
        return 1;
    }
    weir_chunk_paragraph_init(&paragraph, WEIR_SLICE("p"), 0);
    weir_chunk_window_init(&window, WEIR_SLICE("w"), 400, 64);
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        struct weir_buf text = {0};
        while (text.n + strlen(scripts[i].text) <= TEXT_BYTES) {
            weir_buf_append(&text, weir_slice_cstr(scripts[i].text));
        }
        printf("%s\n", scripts[i].what);
        struct work w = {.text = weir_buf_slice(&text), .icu = icu};
        measure("ICU alone", w);
        w.chunker = &sentence.base;
        measure("sentence", w);
        w.chunker = &paragraph.base;
        measure("paragraph", w);
        w.chunker = &window.base;
        measure("window", w);
        weir_buf_dispose(&text);
    }
    ubrk_close(icu);
    weir_chunk_sentence_dispose(&sentence);
    return 0;
}
