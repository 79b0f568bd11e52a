#ifndef WEIR_MOCK_GRPC_H
#define WEIR_MOCK_GRPC_H

#include "base/slice.h"
#include "http/stream.h"
#include "mock/mock_player.h"
#include "mock/mock_server.h"
#include "wire/grpc.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/*
 * The serving side of gRPC, as far as the mock needs it: messages in, messages out, a status at the
 * end.
 *
 *   on_message* ─► on_end                        what the caller sends
 *   send* ─► end, or play                        what the method answers, whenever it likes
 */
struct weir_mock_call;

struct weir_mock_method {
    const char *path;
    bool is_conversation; /* the head is sent at once: callers may wait for it before they speak */
    /* The bytes live during the call only. NULL: not wanted. */
    void (*on_message)(struct weir_mock_call *call, struct weir_slice message);
    /* The caller has said everything. */
    void (*on_end)(struct weir_mock_call *call);
};

struct weir_mock_call {
    struct weir_http_stream *s;
    const struct weir_mock_method *method;
    const struct weir_mock_settings *set;
    void *ctx; /* the method's own; in the stream's arena */
    /* The rest is the call's own. */
    struct weir_grpc_reader reader;
    struct weir_timer timer;
    const struct weir_mock_source *source; /* of play */
    void *source_ctx;
    bool has_head;
    bool is_over; /* ended, cut or stalled: whatever else is sent is dropped */
};

/* Is it a call? */
bool weir_mock_grpc_is(const struct weir_http_stream *s);

/* Answers it, with one of the methods or UNIMPLEMENTED. */
void weir_mock_grpc_begin(struct weir_http_stream *s);

/* One message, packed, or raw bytes in a frame. At `fail_at` it fails in its place. */
void weir_mock_grpc_send(struct weir_mock_call *call, const ProtobufCMessage *m);
void weir_mock_grpc_send_raw(struct weir_mock_call *call, struct weir_slice message);

/* Ends with a status, and a message that may be empty. Nothing happens when it is over already. */
void weir_mock_grpc_end(struct weir_mock_call *call, enum weir_grpc_status status,
                        const char *message);

/* The one message of a unary answer, and OK. */
void weir_mock_grpc_answer(struct weir_mock_call *call, const ProtobufCMessage *m);

/* Nothing more is said, ever, or until the connection is broken off. */
void weir_mock_grpc_stall(struct weir_mock_call *call);
void weir_mock_grpc_cut(struct weir_mock_call *call);

/* Messages at the settings' pace: the source appends frames. It is the last call. */
void weir_mock_grpc_play(struct weir_mock_call *call, const struct weir_mock_source *source,
                         void *ctx);

/* The methods, each file's own. */
extern const struct weir_mock_method weir_mock_chunker_unary;
extern const struct weir_mock_method weir_mock_chunker_stream;
extern const struct weir_mock_method weir_mock_nlp_unary;
extern const struct weir_mock_method weir_mock_nlp_stream;
extern const struct weir_mock_method weir_mock_nlp_tokenize;
extern const struct weir_mock_method weir_mock_tgis_unary;
extern const struct weir_mock_method weir_mock_tgis_stream;
extern const struct weir_mock_method weir_mock_tgis_tokenize;
extern const struct weir_mock_method weir_mock_tgis_info;

#endif
