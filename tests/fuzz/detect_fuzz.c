/*
 * Every built-in detector on hostile text. The first byte says which one ('a' is the first of the
 * table, others by their remainder), the rest is the text.
 */
#include "fuzz/detect_check.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
    const char *kind;
    const char *params;
} detectors[] = {
    {"links", "{\"allow\":[\"ok.test\",\"*.cdn.test\",\"b\xC3\xBC"
              "cher.test\",\"[::1]\"]}"},
    {"unicode", "{}"},
    {"prompt_injection", "{}"},
    {"keywords", "{\"deny\":[\"secret\",\"top secret\",\"stra\xC3\x9F"
                 "e\",\"\xE6\xA9\x9F\xE5\xAF\x86\"],\"allow\":[\"secret santa\"]}"},
    {"secrets", "{}"},
    {"regex", "{\"regex\":[\"email\",\"credit-card\",\"ipv4\",\"ipv6\",\"phone\",\"us-ssn\","
              "\"uk-post-code\",\"iban\",\"es-nif\",\"it-fiscal-code\",\"in-aadhaar\",\"br-cpf\","
              "\"bitcoin-address\",\"ethereum-address\",\"mac-address\",\"bic\",\"vin\"]}"},
    {"file_type", "{\"file_type\":[\"json\"]}"},
    {"file_type", "{\"file_type\":[\"yaml\"]}"},
    {"file_type", "{\"file_type\":[\"xml\"]}"},
};

enum { N = sizeof detectors / sizeof detectors[0] };

static const struct weir_builtin *detector(size_t i)
{
    static struct weir_builtin made[N];
    if (made[i].kind == NULL) {
        struct weir_buf why = {0};
        int rc =
            weir_detect_builtin_init(&made[i], weir_slice_cstr(detectors[i].kind), WEIR_SLICE("f"),
                                     weir_slice_cstr(detectors[i].params), &why);
        WEIR_ASSERT(rc == 0);
        weir_buf_dispose(&why);
    }
    return &made[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct weir_buf text = {0};
    detect_check_valid(&text, weir_slice_make((const char *)data + 1, size - 1));
    size_t which = ((size_t)data[0] + N - (size_t)'a' % N) % N;
    detect_check(detector(which), weir_buf_slice(&text));
    weir_buf_dispose(&text);
    return 0;
}
