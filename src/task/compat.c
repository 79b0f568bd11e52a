#include "task/compat.h"

const struct weir_compat weir_compat_fms = {
    .is_fms = true,
    .is_lenient = true,
    .spans_in_chunks = true,
    .believes_chunker = true,
    .asks_of_pieces = true,
    .needs_count = true,
    .has_order = true,
    .refuses_whole = true,
    .absorbs_first = true,
    .passes_bare = true,
    .repeats_usage = true,
    .has_final = true,
    .fills_arrays = true,
};
