/* Annotate: everything leaves, and findings are told. */
#include "task/policy.h"

static enum weir_policy_fate any(const struct weir_policy_hit *hit)
{
    (void)hit;
    return WEIR_POLICY_TOLD;
}

const struct weir_policy_rules weir_policy_annotate = {
    .answer = any,
    .question = any,
    .outcome = WEIR_POLICY_ANNOTATED,
};
