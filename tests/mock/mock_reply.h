#ifndef WEIR_MOCK_REPLY_H
#define WEIR_MOCK_REPLY_H

#include "base/slice.h"
#include "http/stream.h"
#include "mock/mock_server.h"
#include "wire/json.h"

#include <stdbool.h>

/*
 * What all roles do alike: read a JSON request, take the settings it carries, wait, fail when told
 * to, and send a body as the settings want it cut and padded.
 */
typedef void (*weir_mock_json_fn)(struct weir_http_stream *s, const struct weir_json *body);

/*
 * Reads the body, then `take` (which may read settings out of it with weir_mock_reply_settings, or
 * answer by itself), then, unless it answered, waits and fails or calls `go`.
 */
struct weir_mock_role {
    /* False: it has answered. May be NULL. */
    bool (*take)(struct weir_http_stream *s, const struct weir_json *body);
    weir_mock_json_fn go;
    /* A failure in the role's own shape. */
    void (*fail)(struct weir_http_stream *s, int status, struct weir_slice message);
};
void weir_mock_reply_begin(struct weir_http_stream *s, const struct weir_mock_role *role);

/* The same without reading a body: waits, then fails or calls `go` with NULL. */
void weir_mock_reply_wait(struct weir_http_stream *s, const struct weir_mock_role *role);

/* Settings out of an object of the body. False: the mistake has been answered with 400. */
bool weir_mock_reply_settings(struct weir_http_stream *s, const struct weir_json *body,
                              uint32_t object, bool is_lenient);

/* A body that is no stream. */
struct weir_mock_answer {
    int status;
    const char *type; /* content type; NULL: none */
    struct weir_slice body;
    bool is_cut; /* half of it, then a reset */
};
void weir_mock_reply_send(struct weir_http_stream *s, const struct weir_mock_answer *answer);

/* 200 with JSON, or with the setting `answer` in its place. */
void weir_mock_reply_json(struct weir_http_stream *s, struct weir_slice json);

/* Failures: OpenAI's shape, nested or flat as the setting `error` says, Anthropic's, and the
 * detectors'. */
void weir_mock_reply_openai_error(struct weir_http_stream *s, int status,
                                  struct weir_slice message);
void weir_mock_reply_messages_error(struct weir_http_stream *s, int status,
                                    struct weir_slice message);
void weir_mock_reply_detector_error(struct weir_http_stream *s, int status,
                                    struct weir_slice message);

#endif
