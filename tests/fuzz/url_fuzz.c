/* Authorities: an accepted one is accepted again when put together from its parts. */
#include "base/assert.h"
#include "base/buf.h"
#include "wire/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_authority(struct weir_slice s)
{
    struct weir_url_authority one;
    struct weir_url_authority two;
    if (weir_url_parse_authority(s, &one) != 0) {
        return;
    }
    struct weir_buf text = {0};
    weir_buf_append(&text, one.is_v6 ? WEIR_SLICE("[") : WEIR_SLICE(""));
    weir_buf_append(&text, one.host);
    weir_buf_append(&text, one.is_v6 ? WEIR_SLICE("]") : WEIR_SLICE(""));
    if (one.has_port) {
        weir_buf_printf(&text, ":%u", one.port);
    }
    WEIR_ASSERT(weir_url_parse_authority(weir_buf_slice(&text), &two) == 0);
    WEIR_ASSERT(weir_slice_eq(one.host, two.host) && one.port == two.port &&
                one.has_port == two.has_port && one.is_v6 == two.is_v6);
    weir_buf_dispose(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_authority(weir_slice_make((const char *)data, size));
    return 0;
}
