/* Redact, and mask: what was found is replaced; where it cannot be, the answer is stopped and the
 * question refused. */
#include "task/policy.h"

static enum weir_policy_fate answer(const struct weir_policy_hit *hit)
{
    return hit->can_replace ? WEIR_POLICY_REPLACED : WEIR_POLICY_STOPPED;
}

static enum weir_policy_fate question(const struct weir_policy_hit *hit)
{
    return hit->can_replace ? WEIR_POLICY_REPLACED : WEIR_POLICY_REFUSED;
}

const struct weir_policy_rules weir_policy_redact = {
    .enforces = true,
    .fills = true,
    .answer = answer,
    .question = question,
    .outcome = WEIR_POLICY_REDACTED,
};
