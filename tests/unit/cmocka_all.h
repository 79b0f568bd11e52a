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

#endif
