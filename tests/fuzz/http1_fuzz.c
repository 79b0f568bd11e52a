/*
 * HTTP/1 in both roles: nothing crashes, and the cut does not matter. The first byte chooses: 'Q'
 * requests, 'H' the answer to HEAD, anything else responses; '\n' after it is skipped for seeds
 * that are written by hand.
 */
#include "unit/wire/http1_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct http1_trace_options options = {
        .role = data[0] == 'Q' ? WEIR_HTTP1_REQUESTS : WEIR_HTTP1_RESPONSES,
        .limits = {.max_head_bytes = 200, .max_headers = 30, .max_body_bytes = 64},
        .is_no_body_expected = data[0] == 'H',
    };
    size_t skip = data[1] == '\n' ? 2 : 1;
    struct weir_slice in = weir_slice_make((const char *)data + skip, size - skip);
    struct weir_buf trace = {0};
    cuts_check(&(struct cuts_run){&http1_trace_codec, &options, in}, 6, &trace);
    weir_buf_dispose(&trace);
    return 0;
}
