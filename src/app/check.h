#ifndef WEIR_APP_CHECK_H
#define WEIR_APP_CHECK_H

#include "app/args.h"

/*
 * `weir check-services`: asks every service of the configuration whether it is there, prints a
 * table with times and what failed. The exit status: 0, or 1 when the configuration is wrong or a
 * service failed.
 */
int weir_check_services(const struct weir_args *args);

#endif
