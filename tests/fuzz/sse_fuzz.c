/* Event streams: the cut does not matter, and what was read can be written and read again. */
#include "unit/wire/sse_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read(const struct weir_sse_event *e)
{
    struct weir_buf text = {0};
    struct weir_sse_reader r;
    size_t used;
    WEIR_ASSERT(weir_sse_append_event(&text, e->name, e->data) == 0);
    weir_sse_init(&r, text.n);
    WEIR_ASSERT(weir_sse_feed(&r, weir_buf_slice(&text), &used) == 0 && used == text.n);
    WEIR_ASSERT(weir_slice_eq(r.event.data, e->data) && weir_slice_eq(r.event.name, e->name));
    weir_sse_dispose(&r);
    weir_buf_dispose(&text);
}

static void check_events(struct weir_slice in)
{
    struct weir_sse_reader r;
    size_t used;
    weir_sse_init(&r, in.n + 1);
    while (weir_sse_feed(&r, in, &used) == 0) {
        write_and_read(&r.event);
        in = weir_slice_make(in.p + used, in.n - used);
    }
    weir_sse_dispose(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice in = weir_slice_make((const char *)data, size);
    struct sse_trace_options options = {.max_event_bytes = 80, .wants_all = size % 2 == 0};
    struct weir_buf trace = {0};
    cuts_check(&(struct cuts_run){&sse_trace_codec, &options, in}, 6, &trace);
    weir_buf_dispose(&trace);
    check_events(in);
    return 0;
}
