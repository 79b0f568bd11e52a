#ifndef WEIR_APP_MOCK_H
#define WEIR_APP_MOCK_H

#include "app/args.h"

/* `weir mock`: scripted peers on one port, until a signal. Returns the exit status. */
int weir_mock_run(const struct weir_args *args);

#endif
