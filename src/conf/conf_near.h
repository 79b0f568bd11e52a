#ifndef WEIR_CONF_NEAR_H
#define WEIR_CONF_NEAR_H

#include "base/slice.h"

#include <stddef.h>

/*
 * "Did you mean …?": the candidate nearest to a misspelt word, if any is near enough. Distance
 * counts inserted, missing, wrong and swapped neighbouring bytes; one slip is forgiven in a short
 * word, three in a long one. Words over 64 bytes and candidates after the first 256 are not looked
 * at, so that asking is cheap whatever was written.
 */
struct weir_conf_near {
    struct weir_slice wanted;
    struct weir_slice best; /* p is NULL while nothing was near enough */
    size_t best_distance;
    size_t n_offered;
};

void weir_conf_near_init(struct weir_conf_near *near, struct weir_slice wanted);
void weir_conf_near_offer(struct weir_conf_near *near, struct weir_slice candidate);

#endif
