/*
 * A remote chunker, as a stream of chunks.
 *
 *   whole text:  push ─► one unary call ─► tokens, read one by one by next
 *   streamed:    push ─► a message each ─► a chunk per answer, queued until next takes it
 *                end  ─► half-close
 *
 * The service is not contacted before the first push. What it answers is checked as it comes:
 * ranges in order, all inside what was sent, frames that were sent; a fault names the chunker and
 * comes after the chunks before it. A chunk that begins before the last one's end answers only from
 * there; one that also ends there answers for nothing and is left out. Whether a chunk's text is
 * the text at that place is for the task to see, which has it.
 */
#include "chunk/remote.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "client/grpc_call.h"
#include "wire/grpc_paths.h"

#include <inttypes.h>
#include <proto/caikit_data_model.pb-c.h>
#include <proto/chunkers.pb-c.h>
#include <stdlib.h>

/* Chunks that wait for the task before the service is held back. */
enum { MAX_WAITING = 64 };

/*
 * A token repeats its part of the text and adds two numbers and lengths, 34 bytes at the very most.
 * So an honest answer is no longer than this, and a longer one is refused without unpacking it.
 */
enum { ANSWER_PER_BYTE = 48, ANSWER_AT_LEAST = 64 * 1024 };

/* A chunk of a stream, waiting; its text follows it. */
struct item {
    struct item *next;
    struct weir_chunk chunk;
    char text[];
};

/* Where a frame with text ended. */
struct mark {
    size_t end_cp;
    uint64_t number;
};

struct marks {
    struct mark *p;
    size_t head;
    size_t n; /* from head on */
    size_t cap;
};

struct stream {
    struct weir_chunk_stream base;
    struct weir_chunk_env env;
    struct weir_chunk_options options;
    weir_chunk_ready_fn on_ready;
    void *ctx;
    struct weir_grpc_call *call; /* NULL: not begun, or over */
    struct weir_arena arena;     /* the fault, and the answer about a whole text */

    size_t sent_bytes;
    size_t sent_cp;
    uint64_t first_frame;
    uint64_t last_frame;
    bool has_sent;
    bool has_end;
    struct marks marks; /* of frames not yet behind the last chunk */

    struct item *first; /* of those that wait */
    struct item *last;
    size_t n_items;
    bool is_paused;
    struct item *given; /* what next returned last */
    const CaikitDataModel__Nlp__TokenizationResults *whole;
    size_t at;            /* in it */
    size_t last_start_cp; /* of the chunk before, from this stream's start … */
    size_t last_end_cp;   /* … and the end of all so far */
    int outcome;          /* WEIR_EAGAIN; WEIR_ECLOSED; or the fault's code */
};

static struct stream *stream_of(struct weir_chunk_stream *base)
{
    return (struct stream *)(void *)base;
}

static const struct weir_chunk_remote *remote_of(const struct stream *s)
{
    return (const struct weir_chunk_remote *)(const void *)s->base.chunker;
}

static void stop(struct stream *s)
{
    if (s->call != NULL) {
        weir_grpc_call_cancel(s->call);
        s->call = NULL;
    }
    s->base.is_full = false;
}

static struct weir_fault *add_fault(struct stream *s)
{
    struct weir_fault *fault = weir_arena_alloc(&s->arena, sizeof *fault);
    *fault = (struct weir_fault){.origin = WEIR_FAULT_CHUNKER, .id = s->base.chunker->id};
    s->base.fault = fault;
    return fault;
}

/* The answer breaks the chunker's protocol: ends the call and notes the fault. Returns the code
 * that next answers. */
static int fail_answer(struct stream *s, const char *what)
{
    stop(s);
    struct weir_fault *fault = add_fault(s);
    fault->err = WEIR_EPEER;
    fault->why = weir_slice_cstr(weir_arena_printf(&s->arena, "chunker: %s", what));
    s->outcome = WEIR_EPEER;
    return WEIR_EPEER;
}

static size_t longest_answer(const struct stream *s)
{
    size_t plausible = ANSWER_AT_LEAST + s->sent_bytes * ANSWER_PER_BYTE;
    return plausible < s->env.max_body_bytes ? plausible : s->env.max_body_bytes;
}

/* The frames' ends, for chunkers that do not tell which frames a chunk was made of. */
static void add_mark(struct marks *m, struct mark mark)
{
    if (m->head + m->n == m->cap) {
        if (m->head != 0 && m->head >= m->n) { /* half of it is free: move instead of growing */
            memmove(m->p, m->p + m->head, m->n * sizeof *m->p);
        } else {
            m->cap = m->cap != 0 ? m->cap * 2 : 16;
            struct mark *larger = weir_mem_array(m->cap, sizeof *larger);
            if (m->n != 0) {
                memcpy(larger, m->p + m->head, m->n * sizeof *larger);
            }
            free(m->p);
            m->p = larger;
        }
        m->head = 0;
    }
    m->p[m->head + m->n++] = mark;
}

/* The frame whose text reaches `to_cp`, which must exist. Forgets the frames that end before. */
static const struct mark *frame_reaching(struct marks *m, size_t to_cp)
{
    while (m->n > 1 && m->p[m->head].end_cp < to_cp) {
        m->head++;
        m->n--;
    }
    return &m->p[m->head];
}

static void derive_frames(struct stream *s, size_t start_cp, struct weir_chunk *chunk)
{
    chunk->first_frame = frame_reaching(&s->marks, start_cp + 1)->number;
    chunk->last_frame = frame_reaching(&s->marks, s->last_end_cp)->number;
}

/* Makes a chunk of a range that has been checked. The chunk is empty if the chunks before it answer
 * for all of the range. */
static void place(struct stream *s, size_t start_cp, size_t end_cp, struct weir_chunk *chunk)
{
    size_t from_cp = start_cp;
    if (!s->options.is_lenient && start_cp < s->last_end_cp) {
        from_cp = s->last_end_cp;
        end_cp = end_cp > from_cp ? end_cp : from_cp;
    }
    s->last_start_cp = start_cp;
    s->last_end_cp = end_cp;
    chunk->start_cp = s->options.start_cp + from_cp;
    chunk->end_cp = s->options.start_cp + end_cp;
    chunk->seen_end_cp = chunk->end_cp;
    chunk->back_cp = from_cp - start_cp;
}

/* Checks a range and makes a chunk of it. NULL, or what is wrong with the range. Empty ranges do
 * not come here, unless they have text (see is_nothing). */
static const char *take_range(struct stream *s, int64_t start, int64_t end,
                              struct weir_chunk *chunk)
{
    bool is_believed = s->options.is_lenient && !s->options.is_whole; /* even {5, 0} */
    if (start < 0 || end < 0 || (end < start && !is_believed)) {
        return "a range in its answer is negative or ends before it begins";
    }
    if (!s->options.is_lenient && (uint64_t)end > s->sent_cp) {
        return "a range in its answer ends beyond the text";
    }
    if (!s->options.is_lenient && (uint64_t)start < s->last_start_cp) {
        return "the ranges in its answer are not in order";
    }
    if (!s->options.is_lenient && start == end) {
        return "its answer has text in an empty range";
    }
    place(s, (size_t)start, (size_t)end, chunk);
    return NULL;
}

static bool answers_nothing(const struct stream *s, const struct weir_chunk *chunk)
{
    return !s->options.is_lenient && chunk->start_cp == chunk->end_cp;
}

static bool is_blank(struct weir_slice text)
{
    while (text.n != 0) {
        size_t n;
        if (!weir_utf8_is_space(weir_utf8_decode(text, &n))) {
            return false;
        }
        text = weir_slice_sub(text, n, text.n);
    }
    return true;
}

/* An empty range without text is skipped wherever it stands; some chunkers end with one. */
static bool is_nothing(const struct stream *s, int64_t start, int64_t end, struct weir_slice text)
{
    return !s->options.is_lenient && start == end && is_blank(text);
}

/* A queued chunk with room for the result's text; the joined text of its tokens is copied in. */
static struct item *make_item(const CaikitDataModel__Nlp__ChunkerTokenizationStreamResult *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_results; i++) {
        n += m->results[i]->text.len;
    }
    struct item *item = weir_mem_alloc(sizeof *item + n);
    *item = (struct item){.chunk.text = weir_slice_make(item->text, n)};
    char *to = item->text;
    for (size_t i = 0; i < m->n_results; i++) {
        if (m->results[i]->text.len != 0) {
            memcpy(to, m->results[i]->text.data, m->results[i]->text.len);
            to += m->results[i]->text.len;
        }
    }
    return item;
}

static const char *take_frames(struct stream *s,
                               const CaikitDataModel__Nlp__ChunkerTokenizationStreamResult *m,
                               struct weir_chunk *chunk)
{
    int64_t first = m->input_start_index;
    int64_t last = m->input_end_index;
    bool is_told = first != 0 || last != 0;
    if (!is_told && !s->options.is_lenient) {
        derive_frames(s, (size_t)m->start_index, chunk);
        return NULL;
    }
    if (first < 0 || last < first) {
        return "the frame numbers in its answer are negative or end before they begin";
    }
    bool was_sent = (uint64_t)first >= s->first_frame && (uint64_t)last <= s->last_frame;
    if (is_told && !was_sent && !s->options.is_lenient) {
        return "its answer names frames that were not sent";
    }
    chunk->first_frame = (uint64_t)first;
    chunk->last_frame = (uint64_t)last;
    return NULL;
}

static void append_item(struct stream *s, struct item *item)
{
    if (s->first == NULL) {
        s->first = item;
    } else {
        s->last->next = item;
    }
    s->last = item;
    s->n_items++;
}

static struct item *pop_item(struct stream *s)
{
    struct item *item = s->first;
    if (item != NULL) {
        s->first = item->next;
        s->n_items--;
    }
    return item;
}

/* NULL, or what is wrong with it. */
static const char *take_result(struct stream *s,
                               const CaikitDataModel__Nlp__ChunkerTokenizationStreamResult *m)
{
    struct item *item = make_item(m);
    const char *wrong = NULL;
    bool is_kept = false;
    if (!weir_utf8_is_valid(item->chunk.text)) {
        wrong = "a text in its answer is not UTF-8";
    } else if (!is_nothing(s, m->start_index, m->processed_index, item->chunk.text)) {
        wrong = take_range(s, m->start_index, m->processed_index, &item->chunk);
        wrong = wrong != NULL ? wrong : take_frames(s, m, &item->chunk);
        is_kept = wrong == NULL && !answers_nothing(s, &item->chunk);
    }
    if (!is_kept) {
        free(item);
        return wrong;
    }
    if (s->marks.n != 0) {
        frame_reaching(&s->marks, s->last_end_cp); /* forgets the frames before it */
    }
    append_item(s, item);
    return NULL;
}

static void on_message(void *ctx, struct weir_slice bytes)
{
    struct stream *s = ctx;
    struct weir_arena arena = {0};
    const CaikitDataModel__Nlp__ChunkerTokenizationStreamResult *m = NULL;
    if (bytes.n <= longest_answer(s)) {
        m = weir_proto_unpack(
            &arena, &caikit_data_model__nlp__chunker_tokenization_stream_result__descriptor, bytes);
    }
    const char *wrong = m != NULL
                            ? take_result(s, m)
                            : "its answer cannot be read as a message of the chunker's protocol";
    weir_arena_dispose(&arena);
    if (wrong != NULL) {
        fail_answer(s, wrong);
    } else if (s->n_items >= MAX_WAITING && !s->is_paused) {
        s->is_paused = true;
        weir_grpc_call_pause(s->call);
    }
    s->on_ready(s->ctx, &s->base);
}

static void take_whole(struct stream *s, struct weir_slice bytes)
{
    s->whole = weir_proto_unpack(&s->arena,
                                 &caikit_data_model__nlp__tokenization_results__descriptor, bytes);
    if (s->whole == NULL) {
        fail_answer(s, "its answer cannot be read as a message of the chunker's protocol");
    } else {
        s->outcome = WEIR_ECLOSED;
    }
}

static void on_room(void *ctx)
{
    struct stream *s = ctx;
    s->base.is_full = false;
    s->on_ready(s->ctx, &s->base);
}

static void on_done(void *ctx, const struct weir_grpc_result *result)
{
    struct stream *s = ctx;
    s->call = NULL;
    s->base.is_full = false;
    if (result->status != WEIR_GRPC_OK) {
        weir_grpc_result_fault(result, &s->arena, add_fault(s));
        /* ECLOSED tells the caller of next that all went well: a lost connection is ERESET. */
        s->outcome = result->err == WEIR_ECLOSED ? WEIR_ERESET : result->err;
    } else if (s->options.is_whole) {
        take_whole(s, result->bytes);
    } else if (!s->has_end && !s->options.is_lenient) {
        fail_answer(s, "it ended the stream before the text had ended");
    } else {
        s->outcome = WEIR_ECLOSED;
    }
    s->on_ready(s->ctx, &s->base);
}

static void begin(struct stream *s, const ProtobufCMessage *whole)
{
    static const struct weir_grpc_call_events events = {on_message, on_room, on_done};
    const struct weir_chunk_remote *r = remote_of(s);
    struct weir_call_context context = {0}; /* copied by the call */
    if (s->env.context != NULL) {
        context = *s->env.context;
    }
    if (r->no_passthrough) {
        context.passthrough = NULL;
        context.n_passthrough = 0;
    }
    struct weir_grpc_request request = {
        .loop = s->env.loop,
        .target = r->target,
        .context = &context,
        .path = whole != NULL ? WEIR_GRPC_CHUNK : WEIR_GRPC_CHUNK_STREAM,
        .model_id = r->base.id,
        .message = whole,
        .has_stream_answer = whole == NULL,
        .max_message_bytes = whole != NULL ? longest_answer(s) : s->env.max_body_bytes,
    };
    s->call = weir_grpc_call_start(s->env.client, &request, &events, s);
}

static struct weir_chunk_stream *remote_open(const struct weir_chunker *c,
                                             const struct weir_chunk_env *env,
                                             const struct weir_chunk_options *options,
                                             weir_chunk_ready_fn on_ready, void *ctx)
{
    struct stream *s = weir_mem_zalloc(sizeof *s);
    s->base.chunker = c;
    s->env = *env;
    s->arena.account = weir_call_account(env->context);
    s->options = *options;
    s->on_ready = on_ready;
    s->ctx = ctx;
    s->outcome = WEIR_EAGAIN;
    return &s->base;
}

/* Counts what is sent, before it is. */
static void note_sent(struct stream *s, uint64_t frame, struct weir_slice text)
{
    size_t n_cp = weir_utf8_count(text);
    if (!s->has_sent) {
        s->first_frame = frame;
    }
    s->has_sent = true;
    s->last_frame = frame;
    s->sent_bytes += text.n;
    s->sent_cp += n_cp;
    if (n_cp != 0 && !s->options.is_whole && !s->options.is_lenient) {
        add_mark(&s->marks, (struct mark){s->sent_cp, frame});
    }
}

static enum weir_flow push_whole(struct stream *s, struct weir_slice text)
{
    Caikit__Runtime__Chunkers__ChunkerTokenizationTaskRequest m =
        CAIKIT__RUNTIME__CHUNKERS__CHUNKER_TOKENIZATION_TASK_REQUEST__INIT;
    WEIR_PROTO_SET_TEXT(&m, text, text);
    begin(s, &m.base);
    return WEIR_FLOW_OK;
}

static enum weir_flow push_frame(struct stream *s, uint64_t frame, struct weir_slice text)
{
    Caikit__Runtime__Chunkers__BidiStreamingChunkerTokenizationTaskRequest m =
        CAIKIT__RUNTIME__CHUNKERS__BIDI_STREAMING_CHUNKER_TOKENIZATION_TASK_REQUEST__INIT;
    WEIR_PROTO_SET_TEXT(&m, text_stream, text);
    WEIR_PROTO_SET(&m, input_index_stream, (int64_t)frame);
    if (s->call == NULL) {
        begin(s, NULL);
    }
    enum weir_flow flow = weir_grpc_call_send(s->call, &m.base);
    s->base.is_full = s->base.is_full || flow == WEIR_FLOW_FULL;
    return s->base.is_full ? WEIR_FLOW_FULL : WEIR_FLOW_OK;
}

static enum weir_flow remote_push(struct weir_chunk_stream *base, uint64_t frame,
                                  struct weir_slice text)
{
    struct stream *s = stream_of(base);
    WEIR_ASSERT(!s->has_end && !(s->options.is_whole && s->has_sent));
    if (s->outcome != WEIR_EAGAIN) {
        return WEIR_FLOW_OK; /* the stream has failed: next answers the error */
    }
    note_sent(s, frame, text);
    return s->options.is_whole ? push_whole(s, text) : push_frame(s, frame, text);
}

static void remote_end(struct weir_chunk_stream *base)
{
    struct stream *s = stream_of(base);
    WEIR_ASSERT(!s->has_end);
    s->has_end = true;
    if (!s->has_sent) {
        s->outcome = WEIR_ECLOSED;
    } else if (!s->options.is_whole && s->call != NULL) {
        weir_grpc_call_end(s->call);
    }
}

/* The next token of a whole text; WEIR_EAGAIN when they are used up. */
static int next_of_whole(struct stream *s, struct weir_chunk *out)
{
    while (s->outcome == WEIR_ECLOSED && s->at < s->whole->n_results) {
        const CaikitDataModel__Nlp__Token *t = s->whole->results[s->at++];
        struct weir_slice text = weir_proto_slice(t->text);
        /* A token without the field has an empty text; NULL would mean: the task's own text. */
        text = text.p != NULL ? text : WEIR_SLICE("");
        if (!weir_utf8_is_valid(text)) {
            return fail_answer(s, "a text in its answer is not UTF-8");
        }
        if (is_nothing(s, t->start, t->end, text)) {
            continue;
        }
        *out = (struct weir_chunk){
            .first_frame = s->first_frame, .last_frame = s->last_frame, .text = text};
        const char *wrong = take_range(s, t->start, t->end, out);
        if (wrong != NULL) {
            return fail_answer(s, wrong);
        }
        if (!answers_nothing(s, out)) {
            return 0;
        }
    }
    return WEIR_EAGAIN;
}

static int next_of_stream(struct stream *s, struct weir_chunk *out)
{
    free(s->given);
    s->given = pop_item(s);
    if (s->given == NULL) {
        return WEIR_EAGAIN;
    }
    *out = s->given->chunk;
    if (s->is_paused && s->n_items < MAX_WAITING / 2) {
        s->is_paused = false;
        if (s->call != NULL) {
            weir_grpc_call_resume(s->call);
        }
    }
    return 0;
}

static int remote_next(struct weir_chunk_stream *base, struct weir_chunk *out)
{
    struct stream *s = stream_of(base);
    int rc = s->whole != NULL ? next_of_whole(s, out) : next_of_stream(s, out);
    return rc == WEIR_EAGAIN ? s->outcome : rc;
}

static void remote_close(struct weir_chunk_stream *base)
{
    struct stream *s = stream_of(base);
    stop(s);
    for (struct item *item; (item = pop_item(s)) != NULL;) {
        free(item);
    }
    free(s->given);
    free(s->marks.p);
    weir_arena_dispose(&s->arena);
    free(s);
}

void weir_chunk_remote_init(struct weir_chunk_remote *r, struct weir_slice id,
                            const struct weir_target *target)
{
    static const struct weir_chunk_ops ops = {
        .open = remote_open,
        .push = remote_push,
        .end = remote_end,
        .next = remote_next,
        .close = remote_close,
    };
    *r = (struct weir_chunk_remote){.base = {.ops = &ops, .id = id}, .target = target};
}
