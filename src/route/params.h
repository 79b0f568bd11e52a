#ifndef WEIR_ROUTE_PARAMS_H
#define WEIR_ROUTE_PARAMS_H

#include "model/model.h"
#include "route/fields.h"

/* Reads `text_gen_parameters` (WEIR_JSON_NONE: none). 0, or WEIR_EINVAL with f->error. */
int weir_params_read(struct weir_fields *f, uint32_t object, struct weir_model_params *out);

#endif
