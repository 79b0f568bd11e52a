/*
 * What a request asks of batching: the header `x-stream-batching` and `stream_options.batching` in
 * its body, in this order, as a request may have both.
 *
 *   byte 0   bits: overrides are disabled; then two small limits of the operator
 *   then     the header's value, a NUL, the JSON of the body's `batching`
 *
 * Whatever they say: they are understood or refused with words; what is refused changes nothing;
 * what is understood keeps the operator's limits, and the same words mean the same again.
 */
#include "base/err.h"
#include "emit/override.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

enum { IS_DISABLED = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
    int header;
    int body;
    int applied;
    struct weir_batch_options options;
};

static void check_words(int rc, struct weir_buf *why)
{
    CHECK(rc == 0 || rc == WEIR_EINVAL);
    CHECK(rc == 0 || why->n != 0);
    weir_buf_clear(why);
}

static int read_body(struct weir_override *o, struct weir_slice text, struct weir_buf *why)
{
    struct weir_arena arena = {0};
    struct weir_json json;
    struct weir_json_error error;
    struct weir_json_limits limits = {.max_depth = 16, .max_nodes = 1000};
    int rc = 0;
    if (weir_json_parse(&json, text, &limits, &arena, &error) == 0) {
        rc = weir_override_parse_body(o, &json, 0, why);
    }
    weir_arena_dispose(&arena);
    return rc;
}

static struct told play(struct weir_slice header, struct weir_slice body,
                        const struct weir_override_limits *limits)
{
    struct weir_override o = {0};
    struct weir_buf why = {0};
    struct told t = {.options = weir_batch_defaults(WEIR_BATCH_ADAPTER)};
    t.header = weir_override_parse_header(&o, header, &why);
    check_words(t.header, &why);
    t.body = read_body(&o, body, &why);
    check_words(t.body, &why);
    t.applied = weir_override_apply(&o, limits, &t.options, &why);
    check_words(t.applied, &why);
    weir_buf_dispose(&why);
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct weir_override_limits limits = {.is_enabled = (data[0] & IS_DISABLED) == 0,
                                          .max_latency_ms = 100U + data[0],
                                          .min_chars_per_emit = 1U + data[1]};
    struct weir_slice rest = weir_slice_make((const char *)data + 2, size - 2);
    const char *nul = memchr(rest.p, '\0', rest.n);
    size_t at = nul != NULL ? (size_t)(nul - rest.p) : rest.n;
    struct weir_slice header = weir_slice_sub(rest, 0, at);
    struct weir_slice body = weir_slice_sub(rest, at < rest.n ? at + 1 : at, rest.n);

    struct told first = play(header, body, &limits);
    struct told again = play(header, body, &limits);
    CHECK(first.header == again.header && first.body == again.body);
    CHECK(first.applied == again.applied);
    CHECK(first.options.max_latency_ms == again.options.max_latency_ms);
    CHECK(first.options.min_chars_per_emit == again.options.min_chars_per_emit);

    struct weir_batch_options before = weir_batch_defaults(WEIR_BATCH_ADAPTER);
    if (first.applied != 0) {
        CHECK(first.options.max_latency_ms == before.max_latency_ms);
        CHECK(first.options.min_chars_per_emit == before.min_chars_per_emit);
    } else if (first.options.max_latency_ms != before.max_latency_ms) {
        CHECK(limits.is_enabled && first.options.max_latency_ms <= limits.max_latency_ms);
    }
    return 0;
}
