#ifndef WEIR_OFFLINE_DETECT_H
#define WEIR_OFFLINE_DETECT_H

#include "app/args.h"

/*
 * `weir detect`: the configuration's built-in detectors on files, directories or standard input,
 * a line per finding on standard output. Returns the exit status: 0 nothing was found, 2 something
 * was, 1 something went wrong, a file that could not be read included.
 */
int weir_detect_run(const struct weir_args *args);

#endif
