/* config/default.yaml inside the program; the build names the file and rebuilds when it changes. */
#include "conf/conf_load.h"

__asm__(".pushsection .rodata\n"
        "weir_conf__default_begin:\n"
        ".incbin \"" WEIR_DEFAULT_YAML "\"\n"
        "weir_conf__default_end:\n"
        ".popsection\n");

extern const char weir_conf__default_begin[];
extern const char weir_conf__default_end[];

struct weir_slice weir_conf_default_text(void)
{
    size_t n = (size_t)((uintptr_t)weir_conf__default_end - (uintptr_t)weir_conf__default_begin);
    return weir_slice_make(weir_conf__default_begin, n);
}
