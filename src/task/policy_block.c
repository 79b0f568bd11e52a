/* Block: a finding stops the answer, or the question that is asked. What was said before in the
 * conversation is not asked now: it is taken out. */
#include "task/policy.h"

static enum weir_policy_fate answer(const struct weir_policy_hit *hit)
{
    (void)hit;
    return WEIR_POLICY_STOPPED;
}

static enum weir_policy_fate question(const struct weir_policy_hit *hit)
{
    if (hit->is_asked || hit->policy->blocks_history) {
        return WEIR_POLICY_STOPPED;
    }
    return hit->can_replace ? WEIR_POLICY_REPLACED : WEIR_POLICY_REFUSED;
}

const struct weir_policy_rules weir_policy_block = {
    .enforces = true,
    .holds_json = true,
    .answer = answer,
    .question = question,
    .outcome = WEIR_POLICY_REDACTED,
};
