/* Lines: the cut does not matter. */
#include "unit/wire/ndjson_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t max_line_bytes = 40;
    struct weir_slice in = weir_slice_make((const char *)data, size);
    struct weir_buf trace = {0};
    cuts_check(&(struct cuts_run){&ndjson_trace_codec, &max_line_bytes, in}, 6, &trace);
    weir_buf_dispose(&trace);
    return 0;
}
