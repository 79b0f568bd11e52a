#include "chunk/paragraph.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "chunk/lines.h"
#include "chunk/tiling.h"

enum { MIN_BYTES = 16, MOST_BYTES = 65536, PARAGRAPH_SEPARATOR = 0x2029 };

struct stream {
    struct weir_tiling tiling;
    struct weir_lines lines;
    bool has_solid; /* the open chunk has more than white space */
    bool is_ended;  /* the open chunk is over: only white space still joins it */
    bool is_after_white;
};

static enum weir_lines_sort sort_of(uint32_t cp)
{
    if (cp == '\n' || cp == '\r' || cp == 0x85 || cp == 0x2028 || cp == PARAGRAPH_SEPARATOR) {
        return WEIR_LINES_BREAK;
    }
    return weir_utf8_is_space(cp) ? WEIR_LINES_SPACE : WEIR_LINES_SOLID;
}

static void make_room(struct stream *s, size_t n_bytes)
{
    struct weir_tiling *t = &s->tiling;
    while (weir_tiling_room(t) < n_bytes) {
        struct weir_tiling_place place = s->is_ended ? t->here : weir_tiling_best(t);
        weir_tiling_end_at(t, &place);
        s->has_solid = t->start.cp != t->here.cp;
        s->is_ended = false;
    }
}

static void begin_solid(struct stream *s)
{
    if (s->is_ended) {
        weir_tiling_end_at(&s->tiling, &s->tiling.here);
        s->is_ended = false;
    }
    s->has_solid = true;
}

static void mark(struct stream *s)
{
    enum weir_tiling_rank rank = WEIR_TILING_WORD;
    if (weir_lines_is_start(&s->lines)) {
        rank = s->lines.was_blank ? WEIR_TILING_BLANK : WEIR_TILING_LINE;
    }
    weir_tiling_mark(&s->tiling, rank);
}

static void end_line(struct stream *s, uint32_t cp)
{
    bool is_separator = s->lines.was_blank || cp == PARAGRAPH_SEPARATOR;
    if (is_separator && s->has_solid && !weir_lines_is_fenced(&s->lines)) {
        s->is_ended = true;
    }
}

static void step(struct stream *s, uint32_t cp, size_t n_bytes)
{
    enum weir_lines_sort sort = sort_of(cp);
    bool is_white = sort != WEIR_LINES_SOLID;
    if (s->is_after_white && !is_white) {
        mark(s);
    }
    make_room(s, n_bytes);
    if (!is_white) {
        begin_solid(s);
    }
    weir_lines_step(&s->lines, cp, sort);
    if (sort == WEIR_LINES_BREAK) {
        end_line(s, cp);
    }
    s->is_after_white = is_white;
    weir_tiling_advance(&s->tiling, 1, n_bytes);
}

static bool is_ascii(char c) /* without control characters */
{
    return (unsigned char)c >= ' ' && (unsigned char)c < 0x7F;
}

/* Steps over the rest of a line where nothing but its end and its words matter: ASCII only. */
static size_t skip(struct stream *s, struct weir_slice text)
{
    if (!weir_lines_is_settled(&s->lines) || !s->has_solid) {
        return 0;
    }
    size_t room = weir_tiling_room(&s->tiling);
    size_t most = text.n < room ? text.n : room;
    size_t n = 0;
    size_t word = 0;
    while (n < most && is_ascii(text.p[n])) {
        if (n != 0 && text.p[n] != ' ' && text.p[n - 1] == ' ') {
            word = n;
        }
        n++;
    }
    if (n == 0) {
        return 0;
    }
    if (s->is_after_white && text.p[0] != ' ') {
        weir_tiling_mark(&s->tiling, WEIR_TILING_WORD);
    }
    if (word != 0) {
        weir_tiling_advance(&s->tiling, word, word);
        weir_tiling_mark(&s->tiling, WEIR_TILING_WORD);
    }
    weir_tiling_advance(&s->tiling, n - word, n - word);
    s->is_after_white = text.p[n - 1] == ' ';
    return n;
}

/* ---- the chunker ---- */

static struct weir_chunk_stream *paragraph_open(const struct weir_chunker *c,
                                                const struct weir_chunk_env *env,
                                                const struct weir_chunk_options *options,
                                                weir_chunk_ready_fn on_ready, void *ctx)
{
    struct stream *s = weir_mem_zalloc(sizeof *s);
    (void)env;
    (void)on_ready; /* what is ready is ready when push returns */
    (void)ctx;
    const struct weir_chunk_paragraph *paragraph = (const struct weir_chunk_paragraph *)c;
    weir_tiling_init(&s->tiling, c, options->start_cp, paragraph->max_bytes);
    return &s->tiling.base;
}

static enum weir_flow paragraph_push(struct weir_chunk_stream *base, uint64_t frame,
                                     struct weir_slice text)
{
    struct stream *s = (struct stream *)base;
    if (text.n == 0) {
        return WEIR_FLOW_OK;
    }
    weir_tiling_frame(&s->tiling, frame);
    while (text.n != 0) {
        size_t n_bytes = skip(s, text);
        if (n_bytes == 0) {
            uint32_t cp = weir_utf8_decode(text, &n_bytes);
            step(s, cp, n_bytes);
        }
        text = weir_slice_sub(text, n_bytes, text.n);
    }
    return WEIR_FLOW_OK;
}

/* What has come is all there is of this paragraph. Lines go on: a caller reads them joined. */
static void paragraph_cut(struct weir_chunk_stream *base)
{
    struct stream *s = (struct stream *)base;
    weir_tiling_end_at(&s->tiling, &s->tiling.here);
    s->has_solid = false;
    s->is_ended = false;
    s->is_after_white = false;
}

static void paragraph_end(struct weir_chunk_stream *base)
{
    paragraph_cut(base);
    ((struct stream *)base)->tiling.has_ended = true;
}

static const struct weir_chunk_ops OPS = {
    .open = paragraph_open,
    .push = paragraph_push,
    .cut = paragraph_cut,
    .end = paragraph_end,
    .next = weir_tiling_next,
    .close = weir_tiling_close,
};

void weir_chunk_paragraph_init(struct weir_chunk_paragraph *c, struct weir_slice id,
                               size_t max_bytes)
{
    *c = (struct weir_chunk_paragraph){.base = {.ops = &OPS, .id = id, .is_immediate = true},
                                       .max_bytes = max_bytes};
    if (max_bytes != 0 && max_bytes < MIN_BYTES) {
        c->max_bytes = MIN_BYTES;
    }
}

static int init_kind(struct weir_chunker *c, struct weir_slice id, const struct weir_json *params,
                     struct weir_buf *why)
{
    static const struct weir_chunk_number number = {"max_bytes", MIN_BYTES, MOST_BYTES};
    size_t max_bytes = 0;
    int rc = weir_chunk_read_number(params, &number, &max_bytes, why);
    if (rc == 0) {
        weir_chunk_paragraph_init((struct weir_chunk_paragraph *)c, id, max_bytes);
    }
    return rc;
}

const struct weir_chunk_kind weir_chunk_paragraph_kind = {
    .name = "paragraph",
    .members = (const char *const[]){"max_bytes", NULL},
    .n_bytes = sizeof(struct weir_chunk_paragraph),
    .init = init_kind,
};
