/* The portable way of scanning strings, which machines with SSE2 otherwise leave untested. */
#undef __SSE2__
#include "wire/json_scan.h"

#include "unit/cmocka_all.h"

#include <stdlib.h>

static const char *scan_simply(const char *p, const char *end, bool *is_high)
{
    while (p != end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20) {
        *is_high = *is_high || (unsigned char)*p >= 0x80;
        p++;
    }
    return p;
}

static void check(const char *p, size_t n)
{
    bool is_high = false;
    uint64_t high = 0;
    const char *expected = scan_simply(p, p + n, &is_high);
    assert_ptr_equal(weir_json__scan(p, p + n, &high), expected);
    assert_int_equal(high != 0, is_high);
}

/* Every byte value at every place, after plain bytes and after bytes that are not ASCII. */
static void test_every_byte_at_every_place(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 34; n++) {
        char *p = malloc(n != 0 ? n : 1); /* exactly n: a byte too far is seen */
        assert_non_null(p);
        check(p, 0);
        for (size_t at = 0; at < n; at++) {
            for (int c = 0; c < 256; c++) {
                memset(p, 'x', n);
                p[at] = (char)c;
                check(p, n);
                p[n / 3] = (char)0xE9;
                check(p, n);
                p[n - 1] = '"';
                check(p, n);
            }
        }
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_at_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
