#include "route/aggregation.h"

enum { MAX_STRATEGIES = 8 };

int weir_aggregation_read(struct weir_fields *f, uint32_t at, const char *path,
                          const struct weir_gather_strategy **out)
{
    const char *names[MAX_STRATEGIES];
    size_t n = 0;
    const struct weir_gather_strategy *strategy;
    while (n < MAX_STRATEGIES && (strategy = weir_gather_strategy_at(n)) != NULL) {
        names[n++] = weir_gather_strategy_name(strategy);
    }
    int rc = weir_fields_variant(f, at, path, names, n);
    if (rc == 0 && at != WEIR_JSON_NONE) {
        *out = weir_gather_strategy_find(weir_json_string(f->json, at, f->arena));
    }
    return rc;
}
