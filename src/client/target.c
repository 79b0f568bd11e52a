#include "client/client_int.h"

#include <string.h>

void weir_target__copy(struct weir_target *to, const struct weir_target *from,
                       struct weir_arena *arena)
{
    *to = *from;
    to->id = weir_arena_dup(arena, from->id);
    to->hostname = weir_arena_dup(arena, weir_slice_cstr(from->hostname)).p;
    to->path_prefix = weir_arena_dup(arena, from->path_prefix);
    to->api_token = weir_arena_dup(arena, from->api_token);
    to->tls = from->tls != NULL ? weir_tls_ref(from->tls) : NULL;
}

static bool eq_times(const struct weir_target *a, const struct weir_target *b)
{
    return a->connect_timeout_ms == b->connect_timeout_ms &&
           a->first_byte_timeout_ms == b->first_byte_timeout_ms &&
           a->idle_timeout_ms == b->idle_timeout_ms &&
           a->request_timeout_ms == b->request_timeout_ms &&
           a->keep_alive_interval_ms == b->keep_alive_interval_ms &&
           a->keep_alive_timeout_ms == b->keep_alive_timeout_ms &&
           a->dns_interval_ms == b->dns_interval_ms;
}

/* A TLS context is compared by its address: a reload reads the files again, they may differ. */
bool weir_target__eq(const struct weir_target *a, const struct weir_target *b)
{
    return a->kind == b->kind && a->port == b->port && a->protocol == b->protocol &&
           a->tls == b->tls && a->max_retries == b->max_retries &&
           a->max_concurrent == b->max_concurrent && a->max_waiting == b->max_waiting &&
           eq_times(a, b) && weir_slice_eq(a->id, b->id) && strcmp(a->hostname, b->hostname) == 0 &&
           weir_slice_eq(a->path_prefix, b->path_prefix) &&
           weir_slice_eq(a->api_token, b->api_token);
}
