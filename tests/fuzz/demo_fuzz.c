/* Any request to the demonstration model: what it answers is JSON, and its events add up to what
 * it says at once. */
#include "base/assert.h"
#include "model/demo_play.h"
#include "wire/json.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(const struct weir_buf *out)
{
    struct weir_json_tape tape = {0};
    struct weir_json j;
    WEIR_ASSERT(weir_json_parse_reuse(&j, weir_buf_slice(out), NULL, &tape, NULL) == 0);
    weir_json_tape_dispose(&tape);
}

static void play(const struct weir_demo_ask *ask, struct weir_arena *arena)
{
    struct weir_demo_play p;
    struct weir_buf out = {0};
    weir_demo_play_init(&p, ask, arena, 1);
    WEIR_ASSERT(weir_demo_play_whole(&p, &out) == 0);
    check_json(&out);
    size_t n_events = 0;
    enum weir_demo_next next;
    do {
        weir_buf_clear(&out);
        next = weir_demo_play_next(&p, &out);
        if (next == WEIR_DEMO_EVENT) {
            check_json(&out);
            n_events++;
        }
    } while (next != WEIR_DEMO_END);
    /* A token an event; each choice has an end, in chats a beginning; usage where wanted. */
    size_t n_frames = ask->n * (ask->is_chat ? 2 : 1) + (ask->wants_usage ? 1 : 0);
    WEIR_ASSERT(n_events == p.completion_tokens + n_frames);
    weir_buf_dispose(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum weir_model_op ops[] = {WEIR_MODEL_CHAT, WEIR_MODEL_COMPLETION};
    for (size_t i = 0; i < 2; i++) {
        struct weir_model_request request = {.op = ops[i],
                                             .body = weir_slice_make((const char *)data, size)};
        struct weir_demo_ask ask;
        struct weir_arena arena = {0};
        const char *why;
        if (weir_demo_ask_read(&ask, &request, &arena, &why) == 0) {
            play(&ask, &arena);
        } else {
            WEIR_ASSERT(why != NULL);
        }
        weir_arena_dispose(&arena);
    }
    return 0;
}
