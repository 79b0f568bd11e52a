/*
 * What the built-in detectors cost on texts that somebody made to be slow: pieces repeated over and
 * over, each the beginning of something that a detector looks for. As one text of 64 KiB, 256 KiB
 * and 1 MiB, and read along by four characters at a time, of 16, 64 and 256 KiB. The time per MiB
 * must not grow with the text: where it does, the program says so and ends with 1.
 *
 * Usage: hostile_bench [MIXES [SEED [KIND]]]   so many pieces more, put together at random; with
 * the name of a detector these alone, and shown to it alone
 */
#include "base/buf.h"
#include "base/utf8.h"
#include "detect/reading.h"
#include "detect/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KIB = 1024, MIB = 1024 * KIB, N_SIZES = 3, TOKEN_CP = 4 };

static const struct {
    const char *kind;
    const char *params;
} kinds[] = {
    {"regex",
     "{\"regex\":[\"email\",\"credit-card\",\"phone\",\"us-ssn\",\"ipv4\",\"ipv6\",\"iban\"]}"},
    {"regex", "{\"regex\":[\"es-nif\",\"fr-nir\",\"uk-nino\",\"mac-address\",\"bitcoin-address\","
              "\"bic\",\"vin\",\"in-aadhaar\",\"uk-post-code\",\"pl-pesel\",\"it-fiscal-code\"]}"},
    {"regex", "{\"regex\":[\"a[b-d]{0,9}e\\\\b\",\"\\\\d{2,12}-x?\"]}"},
    {"secrets", "{}"},
    {"keywords", "{\"deny\":[\"idiot\",\"stupid\",\"fool\",\"shut up\",\"a a a a a a b\"]}"},
    {"unicode", "{}"},
    {"links", "{}"},
    {"links", "{\"allow\":[\"a\",\"ok.test\"]}"},
    {"prompt_injection", "{}"},
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static const char *const pieces[] = {
    /* links */
    "](//a",
    "http:",
    "http://",
    "http://a",
    "http://[",
    "https://a.b/(",
    "www.",
    "![",
    "![a](",
    "](",
    "](h",
    "](<h",
    "](http:<\n",
    "]:h",
    "]:<h",
    "src=h",
    "src=\"h",
    "srcset=\"//a ",
    "srcset=//a,",
    "url(h",
    "@import \"h",
    "javascript:",
    "='javascript:",
    "<img src=\"//a",
    "http://ok.test/ ",
    "http://ok.test\\",
    "http://a@",
    "http://%61",
    "](&#104;",
    "](&",
    "http://\u00e4",
    "](//\u00e4",
    "](\\",
    "href=\\\"h",
    /* numbers and names */
    "a@b.",
    "a@",
    "@",
    "1",
    "1 ",
    "12-",
    "1.",
    "+1",
    "(1)",
    "1:",
    "::",
    "1:1:",
    "DE12",
    "4111 ",
    "1.1.1.",
    "123-45-6789 ",
    "aA1",
    "A",
    "a",
    "aaaa",
    "0x",
    "-",
    ".",
    " ",
    "\n",
    "\t",
    /* secrets */
    "password",
    "password=",
    "password: ",
    "password=\"",
    "token=a",
    "key: \"",
    "secret = '",
    "eyJ",
    "eyJhbGciOiJIUzI1NiJ9.",
    "AKIA",
    "ghp_",
    "sk-",
    "://a:b@",
    "://a:",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQ\n",
    "<password>",
    "kind: Secret\ndata:\n",
    "kind: Secret\ndata:\n  a: ",
    "{\"type\": \"service_account\",",
    "Authorization: ",
    "Bearer ",
    "--user '",
    "aA1+/",
    "pass:",
    "%",
    "%70",
    "\\u0061",
    "&#",
    "\\",
    "token: %61",
    "\"a\":\"",
    /* words and letters */
    "idiot",
    "idio",
    "a a ",
    "shut ",
    "\u00e4",
    "\u0430",
    "p\u0430y",
    "\u200b",
    "p\u200b",
    "\uff41",
    "e\u0301",
    "\u0301",
    "\U0001f600\u200d",
    "\u202e\u202c",
    "\u3042",
    /* orders */
    "ignore ",
    "ignore all previous ",
    "ignore previous instructions ",
    "you are now ",
    "system:",
    "<|im_start|>",
    "[INST]",
    "1gn0re ",
    "previous ",
    "do not ",
    "\"ignore ",
    "http://ignore",
};

enum { N_PIECES = sizeof pieces / sizeof pieces[0], MAX_MIXED = 4 };

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double whole(const struct weir_builtin *b, struct weir_slice text)
{
    struct weir_detect_input input = {
        .type = WEIR_DETECT_CONTENTS, .contents = &text, .n_contents = 1, .threshold = 0.5};
    struct weir_detect_env env = {0};
    double from = cpu_ms();
    weir_detect_free(weir_detect_start(&b->base, &env, &input, NULL, NULL));
    return (cpu_ms() - from) * MIB / (double)text.n;
}

/* Up to the end, or to where there is too much of it. */
static double along(const struct weir_builtin *b, struct weir_slice text)
{
    double from = cpu_ms();
    struct weir_reading *r = weir_reading_new(NULL, NULL, NULL);
    weir_reading_add(r, &b->base, WEIR_SLICE(""), 0.5);
    weir_reading_start(r);
    size_t at = 0;
    for (int rc = 0; rc == 0 && at < text.n;) {
        size_t n = weir_utf8_byte_at(weir_slice_sub(text, at, text.n), TOKEN_CP);
        rc = weir_reading_push(r, weir_slice_sub(text, at, at + n));
        at += n;
    }
    weir_reading_free(r);
    return (cpu_ms() - from) * MIB / (double)at;
}

struct figures {
    double whole[N_SIZES];
    double along[N_SIZES];
};

static struct figures measure(const struct weir_builtin *b, struct weir_slice text)
{
    struct figures f;
    for (size_t i = 0, n = text.n; i < N_SIZES; i++, n /= 4) {
        f.whole[N_SIZES - 1 - i] = whole(b, weir_slice_sub(text, 0, weir_utf8_floor(text, n)));
        f.along[N_SIZES - 1 - i] = along(b, weir_slice_sub(text, 0, weir_utf8_floor(text, n / 4)));
    }
    return f;
}

/* What is started once weighs more in a short text; the rest is noise of the machine. */
static bool grows(const double *ms, double noise)
{
    return ms[1] > 2 * ms[0] + noise && ms[2] > 2 * ms[1] + noise;
}

static void show(struct weir_slice piece)
{
    for (size_t i = 0; i < piece.n; i++) {
        if (piece.p[i] == '\n') {
            printf("\\n");
        } else {
            putchar(piece.p[i]);
        }
    }
    putchar('\n');
}

static const char *only; /* one kind of detector; NULL: all */

static bool try_piece(const struct weir_builtin *list, struct weir_slice piece)
{
    struct weir_buf text = {0};
    bool is_good = true;
    while (text.n < MIB) {
        weir_buf_append(&text, piece);
    }
    for (size_t k = 0; k < N_KINDS; k++) {
        if (only != NULL && strcmp(only, kinds[k].kind) != 0) {
            continue;
        }
        struct figures f = measure(&list[k], weir_buf_slice(&text));
        bool is_growing = grows(f.whole, 5) || grows(f.along, 50);
        is_good = is_good && !is_growing;
        if (is_growing || f.whole[2] > 100 || f.along[2] > 1000) {
            printf("%-16s %5.0f %5.0f %5.0f  %6.0f %6.0f %6.0f  %s", kinds[k].kind, f.whole[0],
                   f.whole[1], f.whole[2], f.along[0], f.along[1], f.along[2],
                   is_growing ? "GROWS " : "");
            show(piece);
        }
    }
    weir_buf_dispose(&text);
    return is_good;
}

static bool try_mixes(const struct weir_builtin *list, size_t n, unsigned seed)
{
    bool is_good = true;
    for (size_t i = 0; i < n; i++) {
        struct weir_buf piece = {0};
        for (size_t k = 0; k < 2 + i % (MAX_MIXED - 1); k++) {
            seed = seed * 1664525 + 1013904223;
            weir_buf_append(&piece, weir_slice_cstr(pieces[(seed >> 12) % N_PIECES]));
        }
        is_good = try_piece(list, weir_buf_slice(&piece)) && is_good;
        weir_buf_dispose(&piece);
    }
    return is_good;
}

int main(int argc, char **argv)
{
    static struct weir_builtin list[N_KINDS];
    struct weir_buf why = {0};
    for (size_t k = 0; k < N_KINDS; k++) {
        if (weir_detect_builtin_init(&list[k], weir_slice_cstr(kinds[k].kind),
                                     weir_slice_cstr(kinds[k].kind),
                                     weir_slice_cstr(kinds[k].params), &why) != 0) {
            fprintf(stderr, "%s\n", weir_buf_cstr(&why));
            return 1;
        }
    }
    printf("ms per MiB of 64 KiB, 256 KiB, 1 MiB; read along of 16, 64, 256 KiB: those above 100 "
           "or 1,000\n");
    bool is_good = true;
    only = argc > 3 ? argv[3] : NULL;
    for (size_t i = 0; only == NULL && i < N_PIECES; i++) {
        is_good = try_piece(list, weir_slice_cstr(pieces[i])) && is_good;
    }
    size_t n_mixes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    is_good = try_mixes(list, n_mixes, seed) && is_good;
    for (size_t k = 0; k < N_KINDS; k++) {
        weir_builtin_dispose(&list[k]);
    }
    return is_good ? 0 : 1;
}
