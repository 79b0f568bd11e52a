#ifndef WEIR_ROUTE_BESIDE_H
#define WEIR_ROUTE_BESIDE_H

#include "wire/json.h"

/*
 * `input_check: beside` asks the model before the question is judged, so a request must not make
 * its server do anything but answer. The pointer of a member that would: the answer is to be kept
 * (`store`), made without the caller (`background`), or a tool runs on the server's side (one that
 * is not the caller's own function, `web_search_options`, `mcp_servers`, `container`). NULL: there
 * is none. In the arena.
 */
const char *weir_beside_acts(const struct weir_json *j, struct weir_arena *arena);

#endif
