/*
 * The sentence chunker, unary and streamed. A stream's chunk leaves as soon as its end is certain;
 * which frames it was made of is looked up in the list of where frames ended.
 */
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "mock/mock_grpc.h"
#include "mock/mock_sentence.h"
#include "wire/grpc_paths.h"
#include "wire/proto.h"

#include <proto/caikit_data_model.pb-c.h>
#include <proto/chunkers.pb-c.h>
#include <stdlib.h>

enum { MAX_HELD_BYTES = 16 * 1024 * 1024, MAX_FRAMES = 1000 * 1000 };

/* A frame that has come: where it ends, and its number. */
struct frame {
    size_t end_cp;
    int64_t number;
};

struct chunker {
    struct weir_mock_call *call;
    struct weir_mock_splitter splitter;
    struct frame *frames; /* from `first` on those that a chunk may still touch */
    size_t first_frame;
    size_t n_frames;
    size_t cap_frames;
    size_t arrived_cp;
    size_t n_chunks;
    size_t last_end_cp;
};

static void dispose(void *ctx)
{
    struct chunker *c = ctx;
    weir_mock_splitter_dispose(&c->splitter);
    free(c->frames);
}

static struct chunker *chunker_of(struct weir_mock_call *call)
{
    if (call->ctx == NULL) {
        struct chunker *c = weir_arena_zalloc(&call->s->arena, sizeof *c);
        c->call = call;
        weir_mock_splitter_init(&c->splitter, MAX_HELD_BYTES);
        weir_arena_defer(&call->s->arena, dispose, c);
        call->ctx = c;
    }
    return call->ctx;
}

/* ---- chunks, right and wrong ---- */

/* A chunk as it is told. */
struct told {
    int64_t start_cp;
    int64_t end_cp;
    struct weir_slice text;
    int64_t first_input;
    int64_t last_input;
};

/* False: it is left out. */
static bool tell(struct chunker *c, const struct weir_mock_sentence *s, struct told *out)
{
    enum weir_mock_chunks wrong = (enum weir_mock_chunks)c->call->set->chunks;
    bool is_second = c->n_chunks == 1;
    *out = (struct told){
        .start_cp = (int64_t)s->start_cp, .end_cp = (int64_t)s->end_cp, .text = s->text};
    if (wrong == WEIR_MOCK_CHUNKS_OVERLAP && is_second) {
        out->start_cp = (int64_t)c->last_end_cp - 1;
    } else if (wrong == WEIR_MOCK_CHUNKS_BEYOND) {
        out->end_cp += 1000;
    } else if (wrong == WEIR_MOCK_CHUNKS_TEXT) {
        out->text = WEIR_SLICE("Something else entirely.");
    }
    c->n_chunks++;
    c->last_end_cp = s->end_cp;
    return wrong != WEIR_MOCK_CHUNKS_GAP || !is_second;
}

static void fill_token(CaikitDataModel__Nlp__Token *token, const struct told *t)
{
    caikit_data_model__nlp__token__init(token);
    WEIR_PROTO_SET(token, start, t->start_cp);
    WEIR_PROTO_SET(token, end, t->end_cp);
    WEIR_PROTO_SET_TEXT(token, text, t->text);
}

static bool is_bad_text(struct weir_mock_call *call, struct weir_slice text)
{
    if (!weir_utf8_is_valid(text)) {
        weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "the text is not UTF-8");
    }
    return call->is_over;
}

/* Wrong in a way that needs no chunks. True: nothing else is to be said. */
static bool is_hopeless(struct weir_mock_call *call)
{
    switch ((enum weir_mock_chunks)call->set->chunks) {
    case WEIR_MOCK_CHUNKS_STALL:
        weir_mock_grpc_stall(call);
        return true;
    case WEIR_MOCK_CHUNKS_GARBAGE:
        weir_mock_grpc_send_raw(call, WEIR_SLICE("\xff\xff\xff\xff\xff\xff"));
        weir_mock_grpc_end(call, WEIR_GRPC_OK, "");
        return true;
    default:
        return call->is_over;
    }
}

/* ---- a whole text ---- */

static void on_text(struct weir_mock_call *call, struct weir_slice message)
{
    struct chunker *c = chunker_of(call);
    Caikit__Runtime__Chunkers__ChunkerTokenizationTaskRequest *m = weir_proto_unpack(
        &call->s->arena, &caikit__runtime__chunkers__chunker_tokenization_task_request__descriptor,
        message);
    if (m == NULL) {
        weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "not the request of this method");
        return;
    }
    if (is_bad_text(call, weir_proto_slice(m->text)) || is_hopeless(call)) {
        return;
    }
    if (weir_mock_splitter_add(&c->splitter, weir_proto_slice(m->text)) != 0) {
        weir_mock_grpc_end(call, WEIR_GRPC_RESOURCE_EXHAUSTED, "the text is too long");
    }
}

struct tokens {
    CaikitDataModel__Nlp__Token **list;
    size_t n;
    size_t cap;
};

static void add_token(struct weir_arena *arena, struct tokens *ts, const struct told *t)
{
    if (ts->n == ts->cap) {
        size_t cap = ts->cap != 0 ? ts->cap * 2 : 16;
        CaikitDataModel__Nlp__Token **grown = weir_arena_array(arena, cap, sizeof *grown);
        if (ts->n != 0) {
            memcpy(grown, ts->list, ts->n * sizeof *grown);
        }
        ts->list = grown;
        ts->cap = cap;
    }
    CaikitDataModel__Nlp__Token *token = weir_arena_alloc(arena, sizeof *token);
    fill_token(token, t);
    ts->list[ts->n++] = token;
}

static void on_text_end(struct weir_mock_call *call)
{
    struct chunker *c = chunker_of(call);
    struct weir_mock_sentence sentence;
    struct tokens ts = {0};
    struct told t;
    bool has_rest = call->set->chunks != WEIR_MOCK_CHUNKS_NO_END;
    while (weir_mock_splitter_next(&c->splitter, has_rest, &sentence)) {
        if (tell(c, &sentence, &t)) {
            add_token(&call->s->arena, &ts, &t);
        }
    }
    CaikitDataModel__Nlp__TokenizationResults answer =
        CAIKIT_DATA_MODEL__NLP__TOKENIZATION_RESULTS__INIT;
    answer.results = ts.list;
    answer.n_results = ts.n;
    WEIR_PROTO_SET(&answer, token_count, (int64_t)ts.n);
    if (call->set->chunks == WEIR_MOCK_CHUNKS_CUT) {
        weir_mock_grpc_cut(call);
    }
    weir_mock_grpc_answer(call, &answer.base);
}

const struct weir_mock_method weir_mock_chunker_unary = {
    .path = WEIR_GRPC_CHUNK,
    .on_message = on_text,
    .on_end = on_text_end,
};

/* ---- a stream ---- */

/* A frame without text is never the one that has a code point. False: there are too many. */
static bool keep_frame(struct chunker *c, struct weir_slice text, int64_t number)
{
    if (text.n == 0) {
        return true;
    }
    if (c->n_frames - c->first_frame == MAX_FRAMES) {
        return false;
    }
    if (c->first_frame > 64 && c->first_frame > c->n_frames / 2) {
        c->n_frames -= c->first_frame;
        memmove(c->frames, c->frames + c->first_frame, c->n_frames * sizeof *c->frames);
        c->first_frame = 0;
    }
    if (c->n_frames == c->cap_frames) {
        c->cap_frames = c->cap_frames != 0 ? c->cap_frames * 2 : 16;
        c->frames = weir_mem_realloc(c->frames, c->cap_frames * sizeof *c->frames);
    }
    c->arrived_cp += weir_utf8_count(text);
    c->frames[c->n_frames++] = (struct frame){.end_cp = c->arrived_cp, .number = number};
    return true;
}

/* The frame that has this code point; frames before it are forgotten. */
static int64_t frame_of(struct chunker *c, size_t at_cp)
{
    while (c->first_frame + 1 < c->n_frames && c->frames[c->first_frame].end_cp <= at_cp) {
        c->first_frame++;
    }
    return c->first_frame < c->n_frames ? c->frames[c->first_frame].number : 0;
}

static void send_chunk(struct chunker *c, const struct weir_mock_sentence *sentence)
{
    CaikitDataModel__Nlp__ChunkerTokenizationStreamResult result =
        CAIKIT_DATA_MODEL__NLP__CHUNKER_TOKENIZATION_STREAM_RESULT__INIT;
    CaikitDataModel__Nlp__Token token;
    CaikitDataModel__Nlp__Token *tokens[] = {&token};
    struct told t;
    int64_t first = frame_of(c, sentence->start_cp);
    int64_t last = frame_of(c, sentence->end_cp - 1);
    bool has_inputs = c->call->set->chunks != WEIR_MOCK_CHUNKS_ZERO_INPUT;
    if (!tell(c, sentence, &t)) {
        return;
    }
    fill_token(&token, &t);
    result.results = tokens;
    result.n_results = 1;
    WEIR_PROTO_SET(&result, start_index, t.start_cp);
    WEIR_PROTO_SET(&result, processed_index, t.end_cp);
    WEIR_PROTO_SET(&result, token_count, 1);
    WEIR_PROTO_SET(&result, input_start_index, has_inputs ? first : 0);
    WEIR_PROTO_SET(&result, input_end_index, has_inputs ? last : 0);
    weir_mock_grpc_send(c->call, &result.base);
    if (c->call->set->chunks == WEIR_MOCK_CHUNKS_CUT && !c->call->is_over) {
        weir_mock_grpc_cut(c->call);
    }
}

static void send_chunks(struct chunker *c, bool is_end)
{
    struct weir_mock_sentence sentence;
    while (!c->call->is_over && weir_mock_splitter_next(&c->splitter, is_end, &sentence)) {
        send_chunk(c, &sentence);
    }
}

static void on_frame(struct weir_mock_call *call, struct weir_slice message)
{
    struct chunker *c = chunker_of(call);
    struct weir_arena arena = {0};
    Caikit__Runtime__Chunkers__BidiStreamingChunkerTokenizationTaskRequest *m = weir_proto_unpack(
        &arena,
        &caikit__runtime__chunkers__bidi_streaming_chunker_tokenization_task_request__descriptor,
        message);
    if (m == NULL) {
        weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, "not the request of this method");
    } else if (!is_bad_text(call, weir_proto_slice(m->text_stream)) && !is_hopeless(call)) {
        struct weir_slice text = weir_proto_slice(m->text_stream);
        bool fits = keep_frame(c, text, m->input_index_stream) &&
                    weir_mock_splitter_add(&c->splitter, text) == 0;
        if (!fits) {
            weir_mock_grpc_end(call, WEIR_GRPC_RESOURCE_EXHAUSTED, "the sentence is too long");
        }
        send_chunks(c, false);
    }
    weir_arena_dispose(&arena);
}

static void on_frames_end(struct weir_mock_call *call)
{
    send_chunks(chunker_of(call), call->set->chunks != WEIR_MOCK_CHUNKS_NO_END);
    weir_mock_grpc_end(call, WEIR_GRPC_OK, "");
}

const struct weir_mock_method weir_mock_chunker_stream = {
    .path = WEIR_GRPC_CHUNK_STREAM,
    .is_conversation = true,
    .on_message = on_frame,
    .on_end = on_frames_end,
};
