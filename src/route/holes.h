#ifndef WEIR_ROUTE_HOLES_H
#define WEIR_ROUTE_HOLES_H

#include "base/arena.h"
#include "conf/conf.h"

/*
 * What a route does not look at, as x-weir-guarded names it: the entries of its list `unguarded`,
 * then what its other keys leave open.
 *
 *   sealed,server_history,images,audio,files,/v1/files,input_scope:turn,when:injection
 *
 * Commas between them; "all": the route has no detectors; "": nothing is open. In the arena.
 */
struct weir_slice weir_holes_of(const struct weir_conf_route *route, struct weir_arena *arena);

#endif
