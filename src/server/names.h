#ifndef WEIR_SERVER_NAMES_H
#define WEIR_SERVER_NAMES_H

#include "conf/conf_problem.h"
#include "detect/builtin.h"

/* Parameters as a configuration has them, of a detector or of a route's use of it. */
struct weir_names_of {
    const struct weir_builtin_kind *kind;
    struct weir_slice id; /* of the detector */
    struct weir_slice params;
    struct weir_conf_pos at;
};

/* Are the names in them known? Otherwise a problem, with the nearest name. */
void weir_names_check(struct weir_conf_problems *problems, const struct weir_names_of *of);

#endif
