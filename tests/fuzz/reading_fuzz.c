/*
 * Detectors that read along: whatever the text and however it comes, what they tell is what they
 * tell about the whole text, alone and among others. The first byte chooses the detector, or those
 * of the embedded default; the second seeds the cuts; what is no UTF-8 is left out.
 */
#include "base/assert.h"
#include "base/utf8.h"
#include "detect/reading.h"
#include "detect/registry.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_DETECTORS = 9, N_TOGETHER = 5, MAX_BYTES = 8192, MAX_LINES = 4096 };

static const size_t together[N_TOGETHER] = {0, 1, 3, 5, 7};

static struct weir_builtin detectors[N_DETECTORS];

static void init_once(void)
{
    static const char *const kinds[N_DETECTORS][2] = {
        {"secrets", "{}"},
        {"regex", "{\"regex\":[\"email\",\"credit-card\",\"phone\",\"us-ssn\",\"ipv4\",\"ipv6\","
                  "\"iban\",\"uk-post-code\"]}"},
        {"regex", "{\"regex\":[\"es-nif\",\"es-nie\",\"fr-nir\",\"uk-nino\",\"mac-address\","
                  "\"bitcoin-address\",\"bic\",\"vin\",\"se-personnummer\",\"in-aadhaar\"]}"},
        {"unicode", "{}"},
        {"regex", "{\"regex\":[\"a[b-d]{0,9}e\\\\b\",\"\\\\d{2,12}-x?\",\"ab|abab|b(?:ab){3}\"]}"},
        {"links", "{\"allow\":[\"ok.test\"]}"},
        {"keywords",
         "{\"deny\":[\"fool\",\"shut up\",\"a b\",\"Straße\",\"笨蛋\"],\"allow\":[\"a fool\"]}"},
        {"keywords", "{\"deny\":[\"fool\",\"shut up\",\"the\",\"get lost\"]}"},
        {"prompt_injection", "{}"},
    };
    if (detectors[0].kind != NULL) {
        return;
    }
    struct weir_buf why = {0};
    for (size_t i = 0; i < N_DETECTORS; i++) {
        int rc = weir_detect_builtin_init(&detectors[i], weir_slice_cstr(kinds[i][0]),
                                          WEIR_SLICE("det"), weir_slice_cstr(kinds[i][1]), &why);
        WEIR_ASSERT(rc == 0 && weir_reading_can(&detectors[i].base));
    }
}

static void append_valid(struct weir_buf *text, struct weir_slice in)
{
    while (in.n != 0) {
        size_t n = weir_utf8_valid_prefix(in);
        weir_buf_append(text, weir_slice_sub(in, 0, n));
        n += n < in.n;
        in = weir_slice_sub(in, n, in.n);
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Findings of several kinds may be told in another order: a longer one is certain later. */
static void sort_lines(struct weir_buf *told)
{
    static char *lines[MAX_LINES];
    struct weir_buf all = {0};
    size_t n = 0;
    weir_buf_append(&all, weir_buf_slice(told));
    weir_buf_cstr(&all);
    for (char *line = strtok(all.p, "\n"); line != NULL && n < MAX_LINES;
         line = strtok(NULL, "\n")) {
        lines[n++] = line;
    }
    qsort(lines, n, sizeof lines[0], by_text);
    weir_buf_clear(told);
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(told, "%s\n", lines[i]);
    }
    weir_buf_dispose(&all);
}

static void tell(struct weir_buf *out, struct weir_detect_list list)
{
    for (size_t i = 0; i < list.n; i++) {
        const struct weir_detection *d = &list.items[i];
        weir_buf_printf(out, "%.*s %zu-%zu %.2f\n", (int)d->detection.n, d->detection.p,
                        d->start_cp, d->end_cp, d->score);
    }
}

static void tell_whole(const struct weir_builtin *b, struct weir_slice text, struct weir_buf *out)
{
    struct weir_detect_input input = {
        .type = WEIR_DETECT_CONTENTS, .contents = &text, .n_contents = 1, .threshold = 0.5};
    struct weir_detect_env env = {0};
    struct weir_detect_call *call = weir_detect_start(&b->base, &env, &input, NULL, NULL);
    WEIR_ASSERT(call->fault.origin == WEIR_FAULT_NONE);
    tell(out, call->lists[0]);
    weir_detect_free(call);
}

/* What an open finding said of itself must be found in the end, and before anything else. */
static void keep_promise(struct weir_detection *promised, const struct weir_reading *r, size_t i)
{
    struct weir_detect_list list = weir_reading_found(r, i);
    for (size_t k = 0; k < list.n && promised->has_span; k++) {
        const struct weir_detection *d = &list.items[k];
        WEIR_ASSERT(d->start_cp == promised->start_cp && d->end_cp >= promised->end_cp &&
                    d->edge == WEIR_EDGE_SURE && weir_slice_eq(d->detection, promised->detection));
        promised->has_span = false;
    }
    struct weir_detection open;
    if (weir_reading_open(r, i, &open)) {
        WEIR_ASSERT(!promised->has_span ||
                    (promised->start_cp == open.start_cp && promised->end_cp <= open.end_cp));
        *promised = open;
    }
}

static void tell_cut(const size_t which[], size_t n_which, struct weir_slice text, uint32_t seed,
                     struct weir_buf out[])
{
    struct weir_reading *r = weir_reading_new(NULL, NULL, NULL);
    for (size_t i = 0; i < n_which; i++) {
        weir_reading_add(r, &detectors[which[i]].base, WEIR_SLICE(""), 0.5);
    }
    weir_reading_start(r);
    size_t most = 1 + seed % 40;
    struct weir_detection promised[N_TOGETHER] = {{0}};
    for (bool is_over = false; !is_over;) {
        is_over = text.n == 0;
        seed = seed * 1664525 + 1013904223;
        size_t n = weir_utf8_byte_at(text, 1 + (seed >> 16) % most);
        struct weir_slice part = weir_slice_sub(text, 0, n);
        WEIR_ASSERT((is_over ? weir_reading_end(r) : weir_reading_push(r, part)) == 0);
        for (size_t i = 0; i < n_which; i++) {
            tell(&out[i], weir_reading_found(r, i));
            keep_promise(&promised[i], r, i);
            WEIR_ASSERT(!is_over || !promised[i].has_span);
        }
        text = weir_slice_sub(text, n, text.n);
    }
    weir_reading_free(r);
}

static void check(const size_t which[], size_t n_which, struct weir_slice text, uint32_t seed)
{
    struct weir_buf cut[N_TOGETHER] = {{0}};
    tell_cut(which, n_which, text, seed, cut);
    for (size_t i = 0; i < n_which; i++) {
        struct weir_buf whole = {0};
        tell_whole(&detectors[which[i]], text, &whole);
        sort_lines(&whole);
        sort_lines(&cut[i]);
        WEIR_ASSERT(weir_slice_eq(weir_buf_slice(&whole), weir_buf_slice(&cut[i])));
        weir_buf_dispose(&whole);
        weir_buf_dispose(&cut[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > MAX_BYTES) {
        return 0;
    }
    init_once();
    size_t one = data[0] % (N_DETECTORS + 1);
    struct weir_buf text = {0};
    append_valid(&text, weir_slice_make((const char *)data + 2, size - 2));
    if (one == N_DETECTORS) {
        check(together, N_TOGETHER, weir_buf_slice(&text), data[1]);
    } else {
        check(&one, 1, weir_buf_slice(&text), data[1]);
    }
    weir_buf_dispose(&text);
    return 0;
}
