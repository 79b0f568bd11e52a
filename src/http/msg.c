#include "http/msg.h"

enum weir_http_method weir_http_method_of(struct weir_slice name)
{
    static const struct {
        struct weir_slice name;
        enum weir_http_method method;
    } known[] = {
        {{"GET", 3}, WEIR_HTTP_GET},         {{"POST", 4}, WEIR_HTTP_POST},
        {{"HEAD", 4}, WEIR_HTTP_HEAD},       {{"DELETE", 6}, WEIR_HTTP_DELETE},
        {{"OPTIONS", 7}, WEIR_HTTP_OPTIONS},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (weir_slice_eq(name, known[i].name)) {
            return known[i].method;
        }
    }
    return WEIR_HTTP_OTHER;
}

struct weir_slice weir_http_field_get(const struct weir_http_field *fields, size_t n_fields,
                                      struct weir_slice name)
{
    for (size_t i = 0; i < n_fields; i++) {
        if (weir_slice_eq_nocase(fields[i].name, name)) {
            return fields[i].value;
        }
    }
    return (struct weir_slice){NULL, 0};
}

void weir_http_request_set_target(struct weir_http_request *req, struct weir_slice target)
{
    size_t at = weir_slice_find(target, '?');
    req->path = weir_slice_sub(target, 0, at);
    req->query = at < target.n ? weir_slice_sub(target, at + 1, target.n) : WEIR_SLICE("");
}

const char *weir_http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } phrases[] = {
        {200, "OK"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++) {
        if (phrases[i].status == status) {
            return phrases[i].reason;
        }
    }
    return "";
}

struct weir_slice weir_http_decimal(char out[WEIR_HTTP_DECIMAL_BYTES], uint64_t v)
{
    char *end = out + WEIR_HTTP_DECIMAL_BYTES;
    char *p = end;
    do {
        *--p = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    return weir_slice_make(p, (size_t)(end - p));
}
