#ifndef WEIR_CONF_LIMITS_H
#define WEIR_CONF_LIMITS_H

#include <stdint.h>

/*
 * The `limits:` section, once: a row says all of a key. From the rows are made the struct below,
 * the keys and defaults (conf/conf_root.c) and the table of docs/operations.md (a test compares).
 *
 *   BYTES  (key, default, least, most, manual)     a uint64_t
 *   COUNT  (key, default, least, most, manual)     a uint32_t
 *   SECONDS(key, default, manual)                  uint32_t key_ms; 0.001 to 86400 seconds
 *   SHARE  (key, default, manual)                  a uint64_t: bytes, or "0.25 of memory"
 *
 * `manual` is what happens at the limit.
 */

/* clang-format off */
#define WEIR_CONF_LIMITS(BYTES, COUNT, SECONDS, SHARE)                                             \
    BYTES(max_body_bytes, 10485760, 1024, 1073741824,                                              \
        "413")                                                                                     \
    BYTES(max_header_bytes, 65536, 1024, 1048576,                                                  \
        "431 (a target: 414), the connection closes")                                              \
    COUNT(max_json_depth, 64, 4, 1024,                                                             \
        "400")                                                                                     \
    COUNT(max_json_nodes, 0, 100, 1073741824,                                                      \
        "413; counts values and names of a body. An eighth of `max_body_bytes` unless written")    \
    SECONDS(header_timeout, 10,                                                                    \
        "408 when part of a request has come, otherwise the connection closes")                    \
    SECONDS(body_timeout, 120,                                                                     \
        "408: the whole request body, however steadily it comes; none on the bidirectional "       \
        "endpoint")                                                                                \
    SECONDS(idle_timeout, 120,                                                                     \
        "a kept-alive connection closes without an answer (HTTP/2: GOAWAY); a body that stops is " \
        "408, and on `/api/v2/text/detection/stream-content`, once answers have begun, an error "  \
        "event")                                                                                   \
    SECONDS(write_timeout, 60,                                                                     \
        "a caller that does not read loses its connection")                                        \
    SECONDS(drain_timeout, 30,                                                                     \
        "what still runs is answered 503, or ended with an error event")                           \
    COUNT(max_connections, 10000, 1, 1000000,                                                      \
        "503 with `Retry-After`, at once; also when file descriptors are short")                   \
    BYTES(max_stream_buffer_bytes, 1048576, 4096, 1073741824,                                      \
        "the model server is not read until the caller has read half of it")                       \
    BYTES(max_held_bytes_per_stream, 1048576, 4096, 1073741824,                                    \
        "the model server is not read while detectors work; if they wait for more text, the "      \
        "stream fails")                                                                            \
    BYTES(max_remembered_bytes, 8388608, 4096, 1073741824,                                         \
        "what has left of one response of OpenAI's Responses, and is said again at its end: the "  \
        "stream fails")                                                                            \
    SHARE(max_held_bytes_total, 0.25,                                                              \
        "503 with `Retry-After` for requests and bodies there is no room for; see below")          \
    BYTES(max_event_bytes, 1048576, 1024, 1073741824,                                              \
        "a longer event of a model server's stream, or line of a caller's, fails the stream")      \
    BYTES(max_service_body_bytes, 67108864, 1024, 1073741824,                                      \
        "a longer answer of a service fails the request")                                          \
    COUNT(max_choices, 128, 1, 100000,                                                             \
        "an answer with more fails where detectors look at it; else they pass without batching")   \
    COUNT(max_tool_calls, 128, 1, 100000,                                                          \
        "of one choice: likewise")
/* clang-format on */

#define WEIR_CONF__LIMIT64(key, ...) uint64_t key;
#define WEIR_CONF__LIMIT32(key, ...) uint32_t key;
#define WEIR_CONF__LIMIT_MS(key, ...) uint32_t key##_ms;
struct weir_conf_limits {
    WEIR_CONF_LIMITS(WEIR_CONF__LIMIT64, WEIR_CONF__LIMIT32, WEIR_CONF__LIMIT_MS,
                     WEIR_CONF__LIMIT64)
};
#undef WEIR_CONF__LIMIT64
#undef WEIR_CONF__LIMIT32
#undef WEIR_CONF__LIMIT_MS

#endif
