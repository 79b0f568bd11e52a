#ifndef WEIR_APP_SERVE_H
#define WEIR_APP_SERVE_H

#include "app/args.h"
#include "server/server.h"

/* `weir serve`: the server. Returns the exit status. */
int weir_serve(const struct weir_args *args);

/* What the server is told by the arguments, which are borrowed. */
struct weir_server_options weir_serve_options(const struct weir_args *args);

/* `weir --check-config`: prints every problem and a last line; 0 without errors, otherwise 1. */
int weir_serve_check_config(const struct weir_args *args);

#endif
