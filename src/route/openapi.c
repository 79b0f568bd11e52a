#include "route/openapi.h"

#include "route/reply.h"

#include <stdint.h>

__asm__(".pushsection .rodata\n"
        "weir_openapi__begin:\n"
        ".incbin \"" WEIR_OPENAPI "\"\n"
        "weir_openapi__end:\n"
        ".popsection\n");

extern const char weir_openapi__begin[];
extern const char weir_openapi__end[];

void weir_openapi_begin(void *env, struct weir_http_stream *s)
{
    (void)env;
    size_t n = (size_t)((uintptr_t)weir_openapi__end - (uintptr_t)weir_openapi__begin);
    weir_reply_json(s, weir_slice_make(weir_openapi__begin, n));
}
