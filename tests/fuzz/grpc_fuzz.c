/*
 * gRPC: the cut does not matter to the framing; what a message holds can be unpacked or refused,
 * and unpacks the same after being packed again; a status text decodes to UTF-8 and survives a
 * round.
 */
#include "base/utf8.h"
#include "unit/wire/grpc_trace.h"
#include "wire/proto.h"

#include <proto/caikit_data_model.pb-c.h>
#include <proto/fmaas.pb-c.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ProtobufCMessageDescriptor *const types[] = {
    &caikit_data_model__nlp__tokenization_results__descriptor,
    &caikit_data_model__nlp__chunker_tokenization_stream_result__descriptor,
    &caikit_data_model__nlp__generated_text_stream_result__descriptor,
    &fmaas__batched_generation_response__descriptor,
};

static void check_message(const ProtobufCMessageDescriptor *type, struct weir_slice bytes)
{
    struct weir_arena arena = {0};
    const ProtobufCMessage *m = weir_proto_unpack(&arena, type, bytes);
    if (m != NULL) {
        struct weir_buf once = {0};
        struct weir_buf twice = {0};
        WEIR_ASSERT(weir_proto_append_framed(&once, m) == 0);
        m = weir_proto_unpack(
            &arena, type, weir_slice_sub(weir_buf_slice(&once), WEIR_GRPC_PREFIX_BYTES, once.n));
        WEIR_ASSERT(m != NULL && weir_proto_append_framed(&twice, m) == 0);
        WEIR_ASSERT(weir_slice_eq(weir_buf_slice(&once), weir_buf_slice(&twice)));
        weir_buf_dispose(&once);
        weir_buf_dispose(&twice);
    }
    weir_arena_dispose(&arena);
}

static void check_messages(struct weir_slice in)
{
    struct weir_grpc_reader r;
    size_t used;
    weir_grpc_init(&r, in.n);
    while (weir_grpc_feed(&r, in, &used) == 0) {
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            check_message(types[i], r.message);
        }
        in = weir_slice_make(in.p + used, in.n - used);
    }
    weir_grpc_dispose(&r);
}

static void check_text(struct weir_slice in)
{
    struct weir_buf text = {0};
    struct weir_buf coded = {0};
    struct weir_buf again = {0};
    WEIR_ASSERT(weir_grpc_decode_text(in, &text) == 0);
    WEIR_ASSERT(weir_utf8_is_valid(weir_buf_slice(&text)));
    WEIR_ASSERT(weir_grpc_encode_text(weir_buf_slice(&text), &coded) == 0);
    WEIR_ASSERT(weir_grpc_decode_text(weir_buf_slice(&coded), &again) == 0);
    WEIR_ASSERT(weir_slice_eq(weir_buf_slice(&text), weir_buf_slice(&again)));
    weir_buf_dispose(&text);
    weir_buf_dispose(&coded);
    weir_buf_dispose(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice in = weir_slice_make((const char *)data, size);
    static const size_t max_message_bytes = 80;
    struct weir_buf trace = {0};
    cuts_check(&(struct cuts_run){&grpc_trace_codec, &max_message_bytes, in}, 6, &trace);
    weir_buf_dispose(&trace);
    check_messages(in);
    check_text(in);
    return 0;
}
