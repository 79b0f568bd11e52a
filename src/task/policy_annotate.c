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

void weir_policy_teller_init(struct weir_policy_teller *t, const struct weir_policy *p)
{
    t->policy = *p;
    t->policy.only_tells = true;
    if (p->mask != NULL) {
        t->mask = *p->mask;
        t->mask.foreign = (struct weir_metric_counter){0}; /* counted once, by the others */
        t->policy.mask = &t->mask;
    }
}
