/* What OpenAI-compatible servers say instead of a completion: whatever the bytes, messages are
 * clean, statuses are errors, and the readers agree with each other. */
#include "base/assert.h"
#include "base/utf8.h"
#include "model/openai_answer.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(struct weir_slice message)
{
    WEIR_ASSERT(message.n <= WEIR_FAULT_MESSAGE_BYTES && weir_utf8_is_valid(message));
    for (size_t i = 0; i < message.n; i++) {
        WEIR_ASSERT((unsigned char)message.p[i] >= 0x20 && message.p[i] != 0x7F);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice body = weir_slice_make((const char *)data, size);
    struct weir_arena arena = {0};
    struct weir_fault whole = {.status = 418};
    struct weir_fault event = {.status = 418};
    weir_openai_answer_message(&whole, body, &arena);
    weir_openai_answer_event(&event, body, &arena);
    check_message(whole.message);
    WEIR_ASSERT(weir_slice_eq(whole.message, event.message) && whole.status == 418);
    WEIR_ASSERT(event.status == 0 || (event.status >= 400 && event.status <= 599));
    const char *why = weir_openai_answer_check(body, &arena);
    WEIR_ASSERT(why == NULL || (whole.message.n == 0 && event.status == 0));
    uint64_t count;
    bool has_count = weir_openai_answer_count(body, &arena, &count) == NULL;
    WEIR_ASSERT(!has_count || why == NULL);
    struct weir_sse_event e = {.data = body, .has_data = true};
    WEIR_ASSERT(!weir_openai_answer_is_error(&e) || why == NULL);
    weir_arena_dispose(&arena);
    return 0;
}
