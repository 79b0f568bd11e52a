/*
 * Base64: what is decoded is spelt the same again, in the form it was read in; whatever bytes are
 * encoded come back; and a table written here decodes the same, or refuses the same.
 *
 *   byte 0   the form
 *   then     text to decode, and bytes to encode
 */
#include "base/err.h"
#include "wire/base64.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int value_of(char c, enum weir_base64_form form)
{
    static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const char *at = c != '\0' ? strchr(ALPHABET, c) : NULL;
    if (at != NULL) {
        return (int)(at - ALPHABET);
    }
    bool is_url = form == WEIR_BASE64_URL;
    return c == (is_url ? '-' : '+') ? 62 : c == (is_url ? '_' : '/') ? 63 : -1;
}

/* Bit by bit. How many bytes, or -1 where it is not the one spelling of them. */
static long decode(struct weir_slice text, enum weir_base64_form form, uint8_t *out)
{
    size_t n = text.n;
    if (form == WEIR_BASE64_STANDARD) {
        if (n % 4 != 0) {
            return -1;
        }
        size_t padding = n != 0 && text.p[n - 1] == '=' ? (text.p[n - 2] == '=' ? 2 : 1) : 0;
        n -= padding;
    }
    uint32_t bits = 0;
    unsigned n_bits = 0;
    long n_out = 0;
    for (size_t i = 0; i < n; i++) {
        int value = value_of(text.p[i], form);
        if (value < 0) {
            return -1;
        }
        bits = (bits << 6 | (uint32_t)value) & 0xffff;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[n_out++] = (uint8_t)(bits >> n_bits);
        }
    }
    bool is_left_zero = (bits & ((1U << n_bits) - 1)) == 0;
    return n % 4 == 1 || !is_left_zero ? -1 : n_out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    enum weir_base64_form form = (enum weir_base64_form)(data[0] % 3);
    struct weir_slice input = weir_slice_make((const char *)data + 1, size - 1);
    struct weir_arena arena = {0};
    uint8_t *expected = malloc(size);
    CHECK(expected != NULL);

    struct weir_slice bytes;
    int rc = weir_base64_decode(&arena, form, input, &bytes);
    long n = decode(input, form, expected);
    CHECK((rc == 0) == (n >= 0));
    if (rc == 0) {
        CHECK(bytes.n == (size_t)n && (n == 0 || memcmp(bytes.p, expected, bytes.n) == 0));
        CHECK(weir_slice_eq(weir_base64_encode(&arena, form, bytes), input));
    }
    struct weir_slice back;
    struct weir_slice text = weir_base64_encode(&arena, form, input);
    CHECK(weir_base64_decode(&arena, form, text, &back) == 0);
    CHECK(weir_slice_eq(back, input));

    free(expected);
    weir_arena_dispose(&arena);
    return 0;
}
