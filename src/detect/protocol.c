#include "detect/protocol.h"

static const struct weir_protocol *const protocols[] = {
    &weir_protocol_fms,
    &weir_protocol_tei,
    &weir_protocol_vllm_classify,
    &weir_protocol_openai_moderation,
    &weir_protocol_presidio,
    &weir_protocol_oip,
    &weir_protocol_azure_content_safety,
    &weir_protocol_chat_judge,
};

enum { N_PROTOCOLS = sizeof protocols / sizeof protocols[0] };

const struct weir_protocol *weir_protocol_at(size_t i)
{
    return i < N_PROTOCOLS ? protocols[i] : NULL;
}

const struct weir_protocol *weir_protocol_find(struct weir_slice name)
{
    for (size_t i = 0; i < N_PROTOCOLS; i++) {
        if (weir_slice_eq_cstr(name, protocols[i]->name)) {
            return protocols[i];
        }
    }
    return NULL;
}
