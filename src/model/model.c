#include "model/model.h"

/* Without a way of its own the server is the only one there is. */
void weir_model_tell(const struct weir_model_env *env, const struct weir_model_request *request)
{
    struct weir_model_report *report = env->context != NULL ? env->context->model_report : NULL;
    if (report != NULL && request->way == NULL && request->op != WEIR_MODEL_MODELS) {
        report->provider = WEIR_SLICE("default");
        report->system = "openai";
        report->model = request->model_id;
        report->n_attempts++;
    }
}

enum weir_fault_origin weir_model_origin(enum weir_model_op op)
{
    switch (op) {
    case WEIR_MODEL_COMPLETION:
        return WEIR_FAULT_COMPLETION;
    case WEIR_MODEL_TOKENIZE:
        return WEIR_FAULT_TOKENIZE;
    case WEIR_MODEL_EMBEDDINGS:
    case WEIR_MODEL_RERANK:
    case WEIR_MODEL_SCORE:
    case WEIR_MODEL_COUNT:
    case WEIR_MODEL_ITEM_COUNT:
        return WEIR_FAULT_VECTORS;
    default:
        return WEIR_FAULT_CHAT_COMPLETION;
    }
}

const char *weir_model_finish_name(enum weir_model_finish reason)
{
    static const char *const names[] = {
        [WEIR_FINISH_NOT_FINISHED] = "NOT_FINISHED", [WEIR_FINISH_MAX_TOKENS] = "MAX_TOKENS",
        [WEIR_FINISH_EOS_TOKEN] = "EOS_TOKEN",       [WEIR_FINISH_CANCELLED] = "CANCELLED",
        [WEIR_FINISH_TIME_LIMIT] = "TIME_LIMIT",     [WEIR_FINISH_STOP_SEQUENCE] = "STOP_SEQUENCE",
        [WEIR_FINISH_TOKEN_LIMIT] = "TOKEN_LIMIT",   [WEIR_FINISH_ERROR] = "ERROR",
    };
    bool is_known = reason >= 0 && (size_t)reason < sizeof names / sizeof names[0];
    return is_known ? names[reason] : "ERROR";
}
