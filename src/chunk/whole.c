#include "chunk/whole.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdlib.h>

struct whole_stream {
    struct weir_chunk_stream base;
    size_t start_cp;
    size_t end_cp;
    uint64_t first_frame;
    uint64_t last_frame;
    bool has_frame;
    bool has_ended;
    bool has_told;
};

static struct weir_chunk_stream *whole_open(const struct weir_chunker *c,
                                            const struct weir_chunk_env *env,
                                            const struct weir_chunk_options *options,
                                            weir_chunk_ready_fn on_ready, void *ctx)
{
    struct whole_stream *w = weir_mem_zalloc(sizeof *w);
    (void)env;
    (void)on_ready; /* everything is ready when end returns */
    (void)ctx;
    w->base.chunker = c;
    w->start_cp = options->start_cp;
    w->end_cp = options->start_cp;
    return &w->base;
}

static enum weir_flow whole_push(struct weir_chunk_stream *s, uint64_t frame,
                                 struct weir_slice text)
{
    struct whole_stream *w = (struct whole_stream *)s;
    w->first_frame = w->has_frame ? w->first_frame : frame;
    w->has_frame = true;
    w->last_frame = frame;
    w->end_cp += weir_utf8_count(text);
    return WEIR_FLOW_OK;
}

static void whole_end(struct weir_chunk_stream *s)
{
    ((struct whole_stream *)s)->has_ended = true;
}

static int whole_next(struct weir_chunk_stream *s, struct weir_chunk *out)
{
    struct whole_stream *w = (struct whole_stream *)s;
    if (!w->has_ended) {
        return WEIR_EAGAIN;
    }
    if (w->has_told || w->end_cp == w->start_cp) {
        return WEIR_ECLOSED;
    }
    w->has_told = true;
    *out = (struct weir_chunk){.start_cp = w->start_cp,
                               .end_cp = w->end_cp,
                               .seen_end_cp = w->end_cp,
                               .first_frame = w->first_frame,
                               .last_frame = w->last_frame};
    return 0;
}

static void whole_close(struct weir_chunk_stream *s)
{
    free(s);
}

static const struct weir_chunk_ops OPS = {
    .open = whole_open,
    .push = whole_push,
    .end = whole_end,
    .next = whole_next,
    .close = whole_close,
};

const struct weir_chunker weir_chunk_whole = {
    .ops = &OPS,
    .id = {"whole_doc_chunker", sizeof "whole_doc_chunker" - 1},
    .is_whole_doc = true,
    .is_immediate = true,
};

static int init_kind(struct weir_chunker *c, struct weir_slice id, const struct weir_json *params,
                     struct weir_buf *why)
{
    (void)params;
    (void)why;
    *c = weir_chunk_whole;
    c->id = id;
    return 0;
}

const struct weir_chunk_kind weir_chunk_whole_kind = {
    .name = "whole_doc",
    .members = (const char *const[]){NULL},
    .n_bytes = sizeof(struct weir_chunker),
    .init = init_kind,
};
