#include "wire/base64.h"

#include "base/assert.h"
#include "base/err.h"

#include <stdint.h>

static const char standard_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

struct weir_slice weir_base64_encode(struct weir_arena *a, enum weir_base64_form form,
                                     struct weir_slice bytes)
{
    WEIR_ASSERT(bytes.n <= SIZE_MAX / 2);
    const char *digits = form == WEIR_BASE64_URL ? url_digits : standard_digits;
    char *out = weir_arena_alloc(a, (bytes.n + 2) / 3 * 4);
    size_t n = 0;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t n_bytes = bytes.n - i < 3 ? bytes.n - i : 3;
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++) {
            group = group << 8 | (k < n_bytes ? (unsigned char)bytes.p[i + k] : 0);
        }
        for (size_t k = 0; k < 4; k++) {
            if (k <= n_bytes) {
                out[n++] = digits[group >> (18 - 6 * k) & 63];
            } else if (form == WEIR_BASE64_STANDARD) {
                out[n++] = '=';
            }
        }
    }
    return weir_slice_make(out, n);
}

/* 0-63, or -1. */
static int digit_value(char c, enum weir_base64_form form)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == (form == WEIR_BASE64_URL ? '-' : '+')) {
        return 62;
    }
    return c == (form == WEIR_BASE64_URL ? '_' : '/') ? 63 : -1;
}

/* Takes the padding off: what is left are digits only, if the text is good. */
static int strip_padding(enum weir_base64_form form, struct weir_slice *text)
{
    if (form != WEIR_BASE64_STANDARD) {
        return 0;
    }
    if (text->n % 4 != 0) {
        return WEIR_EBAD;
    }
    for (int k = 0; k < 2 && text->n != 0 && text->p[text->n - 1] == '='; k++) {
        text->n--;
    }
    return 0;
}

/* Two to four digits make one to three bytes; the bits left over must be zero. */
static int decode_group(enum weir_base64_form form, struct weir_slice digits, char *out)
{
    uint32_t group = 0;
    for (size_t k = 0; k < 4; k++) {
        int value = k < digits.n ? digit_value(digits.p[k], form) : 0;
        if (value < 0) {
            return WEIR_EBAD;
        }
        group = group << 6 | (uint32_t)value;
    }
    size_t n_bytes = digits.n - 1;
    if ((group & (0xffffffu >> (8 * n_bytes))) != 0) {
        return WEIR_EBAD;
    }
    for (size_t k = 0; k < n_bytes; k++) {
        out[k] = (char)(group >> (16 - 8 * k) & 255);
    }
    return 0;
}

int weir_base64_decode(struct weir_arena *a, enum weir_base64_form form, struct weir_slice text,
                       struct weir_slice *bytes)
{
    int rc = strip_padding(form, &text);
    if (rc != 0 || text.n % 4 == 1) {
        return WEIR_EBAD;
    }
    char *out = weir_arena_alloc(a, text.n / 4 * 3 + 3);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i += 4) {
        size_t n_digits = text.n - i < 4 ? text.n - i : 4;
        rc = decode_group(form, weir_slice_sub(text, i, i + n_digits), out + n);
        if (rc != 0) {
            return rc;
        }
        n += n_digits - 1;
    }
    *bytes = weir_slice_make(out, n);
    return 0;
}
