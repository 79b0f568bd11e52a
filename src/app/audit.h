#ifndef WEIR_APP_AUDIT_H
#define WEIR_APP_AUDIT_H

#include "app/args.h"

/* `weir audit verify [--key-env NAME] [--expect LAST] FILE…`: 0 when every line follows the one
 * before it, 1 and where it does not, 2 for a mistake on the command line. */
int weir_audit_command(const struct weir_args *args);

#endif
