#ifndef WEIR_HTTP_MSG_H
#define WEIR_HTTP_MSG_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The message model that HTTP/1 and HTTP/2 share. Slices live in the arena of the exchange they
 * belong to.
 */
enum weir_http_method {
    WEIR_HTTP_GET,
    WEIR_HTTP_HEAD,
    WEIR_HTTP_POST,
    WEIR_HTTP_DELETE,
    WEIR_HTTP_OPTIONS,
    WEIR_HTTP_OTHER,
};

enum weir_http_version {
    WEIR_HTTP_1_0,
    WEIR_HTTP_1_1,
    WEIR_HTTP_2,
};

struct weir_http_field {
    struct weir_slice name; /* HTTP/2 and everything we send: lower case */
    struct weir_slice value;
};

struct weir_http_request {
    enum weir_http_method method;
    enum weir_http_version version;
    struct weir_slice method_name;
    struct weir_slice path;  /* as sent, without the query; never empty */
    struct weir_slice query; /* what follows the first `?`, possibly empty */
    struct weir_slice authority;
    struct weir_http_field *fields;
    size_t n_fields;
    bool has_body;   /* a body follows (it may turn out empty) */
    bool has_length; /* and its length was announced */
    uint64_t length;
};

/* How the body of a response is delimited. */
enum weir_http_body {
    WEIR_HTTP_BODY_NONE,   /* no body and no length: 204, 304 */
    WEIR_HTTP_BODY_LENGTH, /* exactly `length` bytes will be written */
    WEIR_HTTP_BODY_STREAM, /* unknown: chunked, DATA frames, or until close */
};

struct weir_http_response {
    int status;
    const struct weir_http_field *fields; /* without content-length, transfer-encoding, date */
    size_t n_fields;
    enum weir_http_body body;
    uint64_t length;
    bool keeps_writes; /* STREAM: no chunk or DATA frame has bytes of two writes */
};

enum weir_http_method weir_http_method_of(struct weir_slice name);

/* The first field of that name (any case), or a slice with p == NULL. */
struct weir_slice weir_http_field_get(const struct weir_http_field *fields, size_t n_fields,
                                      struct weir_slice name);

static inline struct weir_slice weir_http_request_get(const struct weir_http_request *req,
                                                      struct weir_slice name)
{
    return weir_http_field_get(req->fields, req->n_fields, name);
}

/* Sets `path` and `query` from a request target. */
void weir_http_request_set_target(struct weir_http_request *req, struct weir_slice target);

/* "OK" for 200 and so on; "" when there is no common phrase. */
const char *weir_http_reason(int status);

/* A number as it stands in a header, at the end of `out`. */
enum { WEIR_HTTP_DECIMAL_BYTES = 20 };
struct weir_slice weir_http_decimal(char out[WEIR_HTTP_DECIMAL_BYTES], uint64_t v);

#endif
