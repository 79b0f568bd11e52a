#ifndef WEIR_MODEL_TGIS_H
#define WEIR_MODEL_TGIS_H

#include "model/grpc.h"

/* Text generation by a TGIS server: GENERATE and TOKENIZE. `target` is borrowed. */
void weir_model_tgis_init(struct weir_model_grpc *m, const struct weir_target *target);

#endif
