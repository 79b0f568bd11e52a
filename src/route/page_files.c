/* web/ inside the program; the build names the folder and rebuilds when a file changes. Scripts
 * stand in the order in which they need each other. */
#include "route/page_files.h"

#include <stdint.h>

__asm__(".pushsection .rodata\n"
        "weir_page_files__html:\n"
        ".incbin \"" WEIR_WEB "/playground.html\"\n"
        "weir_page_files__style:\n"
        ".incbin \"" WEIR_WEB "/playground.css\"\n"
        "weir_page_files__script:\n"
        ".incbin \"" WEIR_WEB "/text.js\"\n"
        ".incbin \"" WEIR_WEB "/page.js\"\n"
        ".incbin \"" WEIR_WEB "/timeline.js\"\n"
        ".incbin \"" WEIR_WEB "/dialects.js\"\n"
        ".incbin \"" WEIR_WEB "/stream.js\"\n"
        ".incbin \"" WEIR_WEB "/detectors.js\"\n"
        ".incbin \"" WEIR_WEB "/api.js\"\n"
        ".incbin \"" WEIR_WEB "/start.js\"\n"
        "weir_page_files__end:\n"
        ".popsection\n");

extern const char weir_page_files__html[];
extern const char weir_page_files__style[];
extern const char weir_page_files__script[];
extern const char weir_page_files__end[];

static struct weir_slice between(const char *begin, const char *end)
{
    return weir_slice_make(begin, (size_t)((uintptr_t)end - (uintptr_t)begin));
}

struct weir_page_files weir_page_files_get(void)
{
    return (struct weir_page_files){
        .html = between(weir_page_files__html, weir_page_files__style),
        .style = between(weir_page_files__style, weir_page_files__script),
        .script = between(weir_page_files__script, weir_page_files__end)};
}
