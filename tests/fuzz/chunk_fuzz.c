/*
 * Built-in chunkers: whatever the text and however it comes, the same chunks, side by side, all of
 * the text. The first byte chooses the chunker, the second where the text is cut off once; what is
 * no UTF-8 is left out.
 */
#include "chunk/paragraph.h"
#include "chunk/sentence.h"
#include "chunk/window.h"
#include "unit/chunk/cutting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct weir_chunk_sentence sentences[3];
static struct weir_chunk_paragraph paragraphs[2];
static struct weir_chunk_window windows[3];

static void init_once(void)
{
    static const struct weir_chunk_sentence_options options[] = {
        {.max_bytes = 0}, {.max_bytes = 40}, {.max_bytes = 40, .is_plain = true}};
    static const size_t sizes[][2] = {{5, 0}, {30, 10}, {9, 8}};
    if (sentences[0].base.ops != NULL) {
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        WEIR_ASSERT(weir_chunk_sentence_init(&sentences[i], WEIR_SLICE("s"), &options[i]) == 0);
        weir_chunk_window_init(&windows[i], WEIR_SLICE("w"), sizes[i][0], sizes[i][1]);
    }
    weir_chunk_paragraph_init(&paragraphs[0], WEIR_SLICE("p"), 0);
    weir_chunk_paragraph_init(&paragraphs[1], WEIR_SLICE("p"), 40);
}

static const struct weir_chunker *choose(uint8_t which)
{
    const struct weir_chunker *const all[] = {
        &sentences[0].base,  &sentences[1].base, &sentences[2].base, &paragraphs[0].base,
        &paragraphs[1].base, &windows[0].base,   &windows[1].base,   &windows[2].base};
    return all[which % 8];
}

static void append_valid(struct weir_buf *text, struct weir_slice in)
{
    while (in.n != 0) {
        size_t n = weir_utf8_valid_prefix(in);
        weir_buf_append(text, weir_slice_sub(in, 0, n));
        n += n < in.n;
        in = weir_slice_sub(in, n, in.n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    init_once();
    struct weir_buf text = {0};
    append_valid(&text, weir_slice_make((const char *)data + 2, size - 2));
    struct cutting_input in = {.chunker = choose(data[0]), .text = weir_buf_slice(&text)};
    cutting_check_all(&in, 3);
    size_t cut = data[1];
    in.cuts_cp = &cut;
    in.n_cuts = 1;
    cutting_check_all(&in, 2);
    weir_buf_dispose(&text);
    return 0;
}
