#include "route/aggregation.h"

int weir_aggregation_check(struct weir_fields *f, uint32_t at, const char *path)
{
    static const char *const names[] = {"max_processed_index", "aligned", "min_processed_index"};
    return weir_fields_variant(f, at, path, names, sizeof names / sizeof names[0]);
}
