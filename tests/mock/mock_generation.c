#include "mock/mock_generation.h"

#include "base/err.h"

enum { MAX_TOKENS = 200 * 1000, MAX_TEXT_BYTES = 32 * 1024 * 1024 };

/* FinishReason of caikit and StopReason of TGIS have the same numbers. */
enum { FINISH_MAX_TOKENS = 1, FINISH_EOS_TOKEN = 2, FINISH_STOP_SEQUENCE = 5 };

double weir_mock_generation_logprob(size_t at)
{
    return -(double)(1 + at * 7919 % 2000) / 1000;
}

unsigned weir_mock_generation_rank(size_t at)
{
    return 1 + (unsigned)(at % 3);
}

static unsigned finish_of(struct weir_slice reason)
{
    if (weir_slice_eq(reason, WEIR_SLICE("length"))) {
        return FINISH_MAX_TOKENS;
    }
    bool is_sequence = weir_slice_eq(reason, WEIR_SLICE("stop_sequence"));
    return is_sequence ? FINISH_STOP_SEQUENCE : FINISH_EOS_TOKEN;
}

bool weir_mock_generation_init(struct weir_mock_generation *g, struct weir_mock_call *call)
{
    struct weir_mock_mistake mistake;
    g->call = call;
    g->n_input_tokens = weir_mock_text_count(g->prompt);
    g->ask = (struct weir_mock_ask){
        .n = 1, .max_tokens = g->max_tokens, .last_text = g->prompt, .is_stream = true};
    if (g->seed == 0) {
        g->seed = weir_mock_request_random(weir_mock_request_of(call->s)) & 0xFFFFFFFF;
    }
    if (weir_mock_script_init(&g->script, call->s, &g->ask, &mistake) != 0) {
        weir_mock_grpc_end(call, WEIR_GRPC_INVALID_ARGUMENT, mistake.text);
        return false;
    }
    return true;
}

/* ---- unary ---- */

static int gather(struct weir_mock_generation *g, struct weir_buf *text, struct weir_buf *parts,
                  unsigned *finish)
{
    struct weir_mock_part part;
    while (weir_mock_script_next(&g->script, 0, &part)) {
        *finish = part.finish.p != NULL ? finish_of(part.finish) : *finish;
        if (part.say == WEIR_MOCK_SAY_NOTHING) {
            continue;
        }
        g->n_generated++;
        if (g->n_generated > MAX_TOKENS || weir_buf_append(text, part.token.plain) != 0) {
            return WEIR_ELIMIT;
        }
        if (g->wants_tokens) {
            weir_buf_append(parts, weir_slice_make((const char *)&part, sizeof part));
        }
    }
    return 0;
}

int weir_mock_generation_whole(struct weir_mock_generation *g, struct weir_mock_frame *out)
{
    struct weir_arena *arena = &g->call->s->arena;
    struct weir_buf text = {0};
    struct weir_buf parts = {0};
    unsigned finish = FINISH_EOS_TOKEN;
    weir_buf_init(&text, MAX_TEXT_BYTES);
    if (g->wants_input_text) {
        weir_buf_append(&text, g->prompt);
    }
    int rc = gather(g, &text, &parts, &finish);
    *out = (struct weir_mock_frame){
        .text = weir_arena_dup(arena, weir_buf_slice(&text)),
        .tokens = (const void *)weir_arena_dup(arena, weir_buf_slice(&parts)).p,
        .n_tokens = parts.n / sizeof(struct weir_mock_part),
        .is_first = true,
        .has_input_tokens = g->wants_input_tokens,
        .finish = finish,
        .n_generated = g->n_generated,
    };
    weir_buf_dispose(&text);
    weir_buf_dispose(&parts);
    return rc;
}

/* ---- streamed ---- */

/* The input tokens ride on the second frame, as they do with real servers. */
static enum weir_mock_next next_frame(void *ctx, struct weir_buf *out, uint64_t *wait_ms)
{
    struct weir_mock_generation *g = ctx;
    struct weir_mock_frame frame = {.is_first = g->n_frames == 0};
    struct weir_mock_part part = {0};
    (void)wait_ms;
    if (!frame.is_first && !weir_mock_script_next(&g->script, 0, &part)) {
        return WEIR_MOCK_END;
    }
    if (part.say != WEIR_MOCK_SAY_NOTHING) {
        g->n_generated++;
        frame.text = part.token.plain;
        frame.tokens = &part;
        frame.n_tokens = g->wants_tokens;
    }
    frame.has_input_tokens = g->n_frames == 1 && g->wants_input_tokens;
    frame.finish = part.finish.p != NULL ? finish_of(part.finish) : 0;
    frame.n_generated = g->n_generated;
    if (frame.is_first && g->wants_input_text) {
        frame.text = g->prompt;
    }
    g->n_frames++;
    g->pack(g, &frame, out);
    return part.say != WEIR_MOCK_SAY_NOTHING ? WEIR_MOCK_STEP : WEIR_MOCK_MORE;
}

void weir_mock_generation_play(struct weir_mock_generation *g)
{
    static const struct weir_mock_source source = {.next = next_frame};
    weir_mock_grpc_play(g->call, &source, g);
}
