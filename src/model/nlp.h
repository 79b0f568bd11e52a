#ifndef WEIR_MODEL_NLP_H
#define WEIR_MODEL_NLP_H

#include "model/grpc.h"

/* Text generation by caikit-nlp: GENERATE and TOKENIZE. `target` is borrowed. */
void weir_model_nlp_init(struct weir_model_grpc *m, const struct weir_target *target);

#endif
