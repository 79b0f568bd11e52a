/* Targets and authorities: what was decoded decodes to the same when everything is escaped, and an
 * accepted authority is accepted again when put together from its parts. */
#include "base/arena.h"
#include "base/assert.h"
#include "base/buf.h"
#include "wire/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_decode(struct weir_arena *a, struct weir_slice s)
{
    struct weir_slice plain;
    if (weir_url_decode_form(a, s, &plain) != 0) {
        struct weir_slice other;
        WEIR_ASSERT(weir_url_decode(a, s, &other) != 0);
        return;
    }
    WEIR_ASSERT(plain.n <= s.n);
    struct weir_buf escaped = {0};
    bool has_nul = false;
    for (size_t i = 0; i < plain.n; i++) {
        has_nul = has_nul || plain.p[i] == '\0';
        weir_buf_printf(&escaped, "%%%02x", (unsigned char)plain.p[i]);
    }
    struct weir_slice again;
    int rc = weir_url_decode(a, weir_buf_slice(&escaped), &again);
    WEIR_ASSERT(has_nul ? rc != 0 : rc == 0 && weir_slice_eq(again, plain));
    weir_buf_dispose(&escaped);
}

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
    struct weir_slice in = weir_slice_make((const char *)data, size);
    struct weir_arena a = {0};
    struct weir_url_target target;
    weir_url_split(in, &target);
    WEIR_ASSERT(target.path.n + target.query.n <= in.n);
    check_decode(&a, target.path);
    struct weir_url_param param;
    while (weir_url_next_param(&target.query, &param)) {
        WEIR_ASSERT(param.key.n + param.value.n != 0 || param.has_value);
        check_decode(&a, param.key);
        check_decode(&a, param.value);
    }
    check_authority(in);
    weir_arena_dispose(&a);
    return 0;
}
