#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void weir_assert_fail(const char *cond, const char *file, int line, const char *func)
{
    fprintf(stderr, "weir: internal error: %s is false (%s, %s:%d)\n", cond, func, file, line);
    abort();
}
