/*
 * data/secrets.shapes inside the program, read once. The file says what its lines mean; the build
 * names it and rebuilds when it changes. A line that cannot be read ends the program: no build of
 * such a file passes a test.
 */
#include "base/assert.h"
#include "base/mem.h"
#include "detect/secrets_int.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

__asm__(".pushsection .rodata\n"
        "weir_secrets__text_begin:\n"
        ".incbin \"" WEIR_SECRET_SHAPES "\"\n"
        "weir_secrets__text_end:\n"
        ".popsection\n");

extern const char weir_secrets__text_begin[];
extern const char weir_secrets__text_end[];

static const char *const class_names[] = {
    [WEIR_SECRET_ALNUM] = "alnum",    [WEIR_SECRET_UPPER] = "upper",
    [WEIR_SECRET_CAPS] = "caps",      [WEIR_SECRET_HEX] = "hex",
    [WEIR_SECRET_WORD] = "word",      [WEIR_SECRET_URL] = "url",
    [WEIR_SECRET_URL_DOT] = "url.",   [WEIR_SECRET_URL_SLASH] = "url/",
    [WEIR_SECRET_URL_EQUAL] = "url=", [WEIR_SECRET_DOLLAR] = "alnum$",
    [WEIR_SECRET_BASE64] = "base64",  [WEIR_SECRET_BASE64_URL] = "base64_",
};

static struct weir_secret_shapes made; /* as long as the process */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct weir_slice next_word(struct weir_slice *line)
{
    struct weir_slice word = {0};
    while (line->n != 0 && word.n == 0) {
        word = weir_slice_cut(line, ' ');
    }
    WEIR_ASSERT(word.n != 0);
    return word;
}

/* A string for as long as the process, with its "\s" made spaces. */
static const char *keep(struct weir_slice word)
{
    char *text = weir_mem_alloc(word.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < word.n; i++) {
        bool is_space = word.p[i] == '\\' && i + 1 < word.n && word.p[i + 1] == 's';
        text[n++] = is_space ? ' ' : word.p[i];
        i += is_space;
    }
    text[n] = '\0';
    return text;
}

static enum weir_secret_class class_of(struct weir_slice name)
{
    size_t i = 0;
    while (i < sizeof class_names / sizeof class_names[0] &&
           !weir_slice_eq_cstr(name, class_names[i])) {
        i++;
    }
    WEIR_ASSERT(i < sizeof class_names / sizeof class_names[0]);
    return (enum weir_secret_class)i;
}

static unsigned short length_of(struct weir_slice word)
{
    uint64_t n = WEIR_SECRET_OPEN;
    bool is_number = weir_slice_u64(word, &n) == 0;
    WEIR_ASSERT(is_number ? n < WEIR_SECRET_OPEN : weir_slice_eq_cstr(word, "any"));
    return (unsigned short)n;
}

static struct weir_secret_shape read_shape(struct weir_slice line)
{
    struct weir_secret_shape shape;
    shape.kind = keep(next_word(&line));
    shape.prefix = keep(next_word(&line));
    shape.class = class_of(next_word(&line));
    shape.min = length_of(next_word(&line));
    shape.max = length_of(next_word(&line));
    WEIR_ASSERT(line.n == 0 && shape.min <= shape.max);
    return shape;
}

static void read_all(void)
{
    uintptr_t n_bytes = (uintptr_t)weir_secrets__text_end - (uintptr_t)weir_secrets__text_begin;
    struct weir_slice text = weir_slice_make(weir_secrets__text_begin, (size_t)n_bytes);
    size_t n_lines = 1;
    for (size_t i = 0; i < text.n; i++) {
        n_lines += text.p[i] == '\n';
    }
    struct weir_secret_shape *items = weir_mem_array(n_lines, sizeof *items);
    while (text.n != 0) {
        struct weir_slice line = weir_slice_cut(&text, '\n');
        if (line.n != 0 && line.p[0] != '#') {
            items[made.n++] = read_shape(line);
        }
    }
    made.items = items;
}

const struct weir_secret_shapes *weir_secrets__shapes(void)
{
    pthread_once(&once, read_all);
    return &made;
}
