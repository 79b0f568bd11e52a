#include "client/fault.h"

#include "base/utf8.h"

const char *weir_fault_origin_name(enum weir_fault_origin origin)
{
    static const char *const names[] = {
        [WEIR_FAULT_NONE] = "",
        [WEIR_FAULT_DETECTOR] = "detector",
        [WEIR_FAULT_CHUNKER] = "chunker",
        [WEIR_FAULT_GENERATE] = "generate",
        [WEIR_FAULT_CHAT_COMPLETION] = "chat completion",
        [WEIR_FAULT_COMPLETION] = "completion",
        [WEIR_FAULT_TOKENIZE] = "tokenize",
        [WEIR_FAULT_LIMIT] = "limit",
        [WEIR_FAULT_INTERNAL] = "internal",
    };
    return names[origin];
}

/* C0, DEL and C1: they move cursors and split log lines. */
static bool is_control(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0);
}

struct weir_slice weir_fault_message(struct weir_arena *arena, struct weir_slice message)
{
    char *out = weir_arena_alloc(arena, WEIR_FAULT_MESSAGE_BYTES + 4);
    size_t n = 0;
    size_t at = 0;
    while (at < message.n && n < WEIR_FAULT_MESSAGE_BYTES) {
        struct weir_slice rest = weir_slice_sub(message, at, message.n);
        size_t len = weir_utf8_sequence(rest);
        size_t used = len != 0 ? len : 1;
        uint32_t cp = len != 0 ? weir_utf8_decode(rest, &len) : 0xFFFD;
        char bytes[4];
        size_t width = weir_utf8_encode(is_control(cp) ? ' ' : cp, bytes);
        if (n + width > WEIR_FAULT_MESSAGE_BYTES) {
            break;
        }
        memcpy(out + n, bytes, width);
        n += width;
        at += used;
    }
    return weir_slice_make(out, n);
}

struct weir_fault weir_fault_dup(struct weir_arena *arena, const struct weir_fault *fault)
{
    struct weir_fault copy = *fault;
    copy.id = weir_arena_dup(arena, fault->id);
    copy.message = weir_arena_dup(arena, fault->message);
    copy.why = weir_arena_dup(arena, fault->why);
    return copy;
}

const struct weir_fault *weir_fault_keep(struct weir_arena *arena, const struct weir_fault *fault)
{
    struct weir_fault *kept = weir_arena_alloc(arena, sizeof *kept);
    *kept = weir_fault_dup(arena, fault);
    return kept;
}
