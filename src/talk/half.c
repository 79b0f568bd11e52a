#include "talk/half.h"

#include "base/utf8.h"

void weir_half_join(const struct weir_json *json, uint32_t at, uint16_t *half,
                    struct weir_buf *text)
{
    uint16_t low;
    char head[4];
    bool is_pair = weir_json_string_begins_low(json, at, &low);
    uint32_t high = *half;
    uint32_t cp = is_pair ? 0x10000u + ((high - 0xD800u) << 10) + (low - 0xDC00u) : 0xFFFDu;
    size_t n = weir_utf8_encode(cp, head);
    size_t skip = is_pair ? WEIR_HALF_ALONE.n : 0;
    struct weir_buf joined = {0};
    weir_buf_append(&joined, weir_slice_make(head, n));
    weir_buf_append(&joined, weir_slice_sub(weir_buf_slice(text), skip, text->n));
    weir_buf_dispose(text);
    *text = joined;
    *half = 0;
}

bool weir_half_cut(const struct weir_json *json, uint32_t at, uint16_t *half, struct weir_buf *text)
{
    uint16_t high;
    if (!weir_json_string_ends_high(json, at, &high)) {
        return false;
    }
    *half = high;
    text->n -= WEIR_HALF_ALONE.n;
    return true;
}
