/* Protobuf messages: which fields are written, U+0000 in texts, and what a hostile one may cost. */
#include "base/err.h"
#include "unit/cmocka_all.h"
#include "wire/grpc.h"
#include "wire/proto.h"

#include <proto/caikit_data_model.pb-c.h>
#include <proto/chunkers.pb-c.h>
#include <proto/fmaas.pb-c.h>
#include <proto/nlp.pb-c.h>
#include <stdlib.h>

static void assert_packed(const ProtobufCMessage *m, struct weir_slice want)
{
    struct weir_buf out = {0};
    assert_int_equal(weir_proto_append_framed(&out, m), 0);
    assert_int_equal(out.n, WEIR_GRPC_PREFIX_BYTES + want.n);
    assert_memory_equal(out.p + WEIR_GRPC_PREFIX_BYTES, want.p, want.n);
    weir_buf_dispose(&out);
}

static void what_is_zero_is_left_out(void **state)
{
    (void)state;
    Caikit__Runtime__Chunkers__BidiStreamingChunkerTokenizationTaskRequest m =
        CAIKIT__RUNTIME__CHUNKERS__BIDI_STREAMING_CHUNKER_TOKENIZATION_TASK_REQUEST__INIT;
    WEIR_PROTO_SET_TEXT(&m, text_stream, WEIR_SLICE(""));
    WEIR_PROTO_SET(&m, input_index_stream, 0);
    assert_packed(&m.base, WEIR_SLICE(""));
    WEIR_PROTO_SET_TEXT(&m, text_stream, WEIR_SLICE("a\0b"));
    WEIR_PROTO_SET(&m, input_index_stream, 300);
    assert_packed(&m.base, WEIR_SLICE("\x0a\3a\0b\x10\xac\2"));
}

static void presence_keeps_a_zero(void **state)
{
    (void)state;
    Caikit__Runtime__Nlp__ExponentialDecayLengthPenalty penalty =
        CAIKIT__RUNTIME__NLP__EXPONENTIAL_DECAY_LENGTH_PENALTY__INIT;
    Caikit__Runtime__Nlp__TextGenerationTaskRequest m =
        CAIKIT__RUNTIME__NLP__TEXT_GENERATION_TASK_REQUEST__INIT;
    WEIR_PROTO_GIVE(&m, max_new_tokens, 0);
    WEIR_PROTO_GIVE(&m, include_stop_sequence, 0);
    m.exponential_decay_length_penalty = &penalty;
    assert_packed(&m.base, WEIR_SLICE("\x10\0\x62\0\xa0\1\0"));
}

static void fields_leave_in_the_order_of_their_numbers(void **state)
{
    (void)state;
    Fmaas__GenerationRequest text = FMAAS__GENERATION_REQUEST__INIT;
    Fmaas__GenerationRequest *texts[] = {&text};
    Fmaas__Parameters params = FMAAS__PARAMETERS__INIT;
    Fmaas__BatchedGenerationRequest m = FMAAS__BATCHED_GENERATION_REQUEST__INIT;
    m.params = &params;
    m.requests = texts;
    m.n_requests = 1;
    WEIR_PROTO_SET_TEXT(&text, text, WEIR_SLICE("hi"));
    WEIR_PROTO_SET_TEXT(&m, model_id, WEIR_SLICE("m"));
    WEIR_PROTO_SET(&params, method, FMAAS__DECODING_METHOD__SAMPLE);
    assert_packed(&m.base, WEIR_SLICE("\x0a\1m\x1a\4\x12\2hi\x52\2\x08\1"));
}

static void frames(void **state)
{
    (void)state;
    Caikit__Runtime__Chunkers__ChunkerTokenizationTaskRequest m =
        CAIKIT__RUNTIME__CHUNKERS__CHUNKER_TOKENIZATION_TASK_REQUEST__INIT;
    struct weir_buf out = {0};
    assert_int_equal(weir_proto_append_framed(&out, &m.base), 0);
    WEIR_PROTO_SET_TEXT(&m, text, WEIR_SLICE("x"));
    assert_int_equal(weir_proto_append_framed(&out, &m.base), 0);
    assert_int_equal(out.n, 13);
    assert_memory_equal(out.p, "\0\0\0\0\0\0\0\0\0\3\x0a\1x", 13);
    out.max = out.n + 7;
    assert_int_equal(weir_proto_append_framed(&out, &m.base), WEIR_ELIMIT);
    assert_int_equal(out.n, 13);
    weir_buf_dispose(&out);
}

static const CaikitDataModel__Nlp__TokenizationResults *unpack(struct weir_arena *a,
                                                               struct weir_slice bytes)
{
    return weir_proto_unpack(a, &caikit_data_model__nlp__tokenization_results__descriptor, bytes);
}

static void reads(void **state)
{
    (void)state;
    struct weir_arena arena = {0};
    const CaikitDataModel__Nlp__TokenizationResults *m = unpack(&arena, WEIR_SLICE(""));
    assert_non_null(m);
    assert_int_equal(m->n_results, 0);
    /* one token with U+0000, the count, and a field nobody knows */
    m = unpack(&arena, WEIR_SLICE("\x0a\x09\x08\1\x10\4\x1a\3a\0b\x20\7\x9a\6\2zz"));
    assert_non_null(m);
    assert_int_equal(m->n_results, 1);
    assert_int_equal(m->results[0]->start, 1);
    assert_int_equal(m->results[0]->end, 4);
    assert_true(weir_slice_eq(weir_proto_slice(m->results[0]->text), WEIR_SLICE("a\0b")));
    assert_int_equal(m->token_count, 7);

    static const struct weir_slice bad[] = {
        {"\x0a", 1},                /* no length */
        {"\x0a\5ab", 4},            /* shorter than it says */
        {"\x0a\2\x08\x80", 4},      /* a number that does not end */
        {"\x0b", 1},                /* a group */
        {"\0\0", 2},                /* field 0 */
        {"\x0a\xff\xff\xff\x7f", 5} /* as long as can be */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_null(unpack(&arena, bad[i]));
    }
    weir_arena_dispose(&arena);
}

static void memory_is_a_multiple_of_the_length(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    char *bytes = malloc(N);
    assert_non_null(bytes);
    /* Empty tokens: two bytes each. */
    for (size_t i = 0; i < N; i += 2) {
        bytes[i] = 0x0a;
        bytes[i + 1] = 0;
    }
    struct weir_arena arena = {0};
    assert_null(unpack(&arena, weir_slice_make(bytes, N)));
    assert_true(arena.total_bytes < (size_t)40 * N);
    weir_arena_dispose(&arena);
    free(bytes);
}

/* A token for every letter of a text is as dense as an honest answer gets. */
static void an_honest_answer_is_affordable(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct weir_buf bytes = {0};
    for (uint32_t i = 0; i < N; i++) {
        CaikitDataModel__Nlp__Token t = CAIKIT_DATA_MODEL__NLP__TOKEN__INIT;
        WEIR_PROTO_SET(&t, start, i % 100);
        WEIR_PROTO_SET(&t, end, i % 100 + 1);
        WEIR_PROTO_SET_TEXT(&t, text, WEIR_SLICE("x"));
        weir_buf_append_byte(&bytes, 0x0a);
        size_t n = protobuf_c_message_get_packed_size(&t.base);
        weir_buf_append_byte(&bytes, (char)n);
        weir_buf_reserve(&bytes, n);
        bytes.n += protobuf_c_message_pack(&t.base, (uint8_t *)bytes.p + bytes.n);
    }
    struct weir_arena arena = {0};
    const CaikitDataModel__Nlp__TokenizationResults *m = unpack(&arena, weir_buf_slice(&bytes));
    assert_non_null(m);
    assert_int_equal(m->n_results, N);
    weir_arena_dispose(&arena);
    weir_buf_dispose(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_zero_is_left_out),
        cmocka_unit_test(presence_keeps_a_zero),
        cmocka_unit_test(fields_leave_in_the_order_of_their_numbers),
        cmocka_unit_test(frames),
        cmocka_unit_test(reads),
        cmocka_unit_test(memory_is_a_multiple_of_the_length),
        cmocka_unit_test(an_honest_answer_is_affordable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
