#ifndef WEIR_TESTS_CMOCKA_ALL_H
#define WEIR_TESTS_CMOCKA_ALL_H

/* cmocka wants these before it, in this order. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

/* Leaves this test out, and says why: tools/run-tests looks for these words. */
#define skip_because(why)                                                                          \
    do {                                                                                           \
        print_message("skipped because: %s\n", why);                                               \
        skip();                                                                                    \
    } while (0)

#endif
