/*
 * Parameters as callers send them, hostile, and a text that is judged with those that are accepted:
 * a letter for the detector (k keywords, l links, r regex, f file_type), the parameters up to the
 * line's end, the text. What is refused says why. Schemas of XML are judged in another process and
 * left out.
 */
#include "base/err.h"
#include "fuzz/detect_check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *kind_of(uint8_t letter)
{
    static const char *const kinds[] = {"keywords", "links", "regex", "file_type"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if ((uint8_t)kinds[i][0] == letter) {
            return kinds[i];
        }
    }
    return kinds[0];
}

static void check(const char *kind, struct weir_slice params, struct weir_slice text)
{
    struct weir_builtin b;
    struct weir_buf why = {0};
    int rc = weir_detect_builtin_init(&b, weir_slice_cstr(kind), WEIR_SLICE("f"), params, &why);
    WEIR_ASSERT((rc == 0) == (why.n == 0));
    if (rc == 0) {
        detect_check(&b, text);
    }
    weir_builtin_dispose(&b);
    weir_buf_dispose(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_buf valid = {0};
    detect_check_valid(&valid, weir_slice_make((const char *)data, size));
    struct weir_slice text = weir_buf_slice(&valid);
    struct weir_slice params = weir_slice_cut(&text, '\n');
    bool has_xsd = params.n != 0 && memmem(params.p, params.n, "xml-with", 8) != NULL;
    if (params.n != 0 && !has_xsd) {
        const char *kind = kind_of((uint8_t)params.p[0]);
        check(kind, weir_slice_sub(params, 1, params.n), text.p != NULL ? text : WEIR_SLICE(""));
    }
    weir_buf_dispose(&valid);
    return 0;
}
