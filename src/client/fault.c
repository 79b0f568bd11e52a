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
        [WEIR_FAULT_VECTORS] = "vectors",
        [WEIR_FAULT_LIMIT] = "limit",
        [WEIR_FAULT_REQUEST] = "request",
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

static bool is_passed_on(struct weir_slice name)
{
    return weir_slice_eq_nocase(name, WEIR_SLICE("retry-after")) ||
           (name.n > 12 &&
            weir_slice_eq_nocase(weir_slice_sub(name, 0, 12), WEIR_SLICE("x-ratelimit-")));
}

/* Numbers, durations, dates, names. */
static bool is_plain_value(struct weir_slice value)
{
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_alnum && (c == '\0' || strchr(" ,.:+-_", c) == NULL)) {
            return false;
        }
    }
    return value.n != 0 && value.n <= WEIR_FAULT_FIELD_BYTES;
}

static struct weir_slice lower_dup(struct weir_arena *arena, struct weir_slice name)
{
    char *out = weir_arena_alloc(arena, name.n + 1);
    for (size_t i = 0; i < name.n; i++) {
        bool is_upper = name.p[i] >= 'A' && name.p[i] <= 'Z';
        out[i] = (char)(is_upper ? name.p[i] | 0x20 : name.p[i]);
    }
    return weir_slice_make(out, name.n);
}

void weir_fault_take_fields(struct weir_fault *fault, struct weir_arena *arena,
                            const struct weir_http_field *fields, size_t n_fields)
{
    struct weir_http_field *out = weir_arena_array(arena, WEIR_FAULT_MAX_FIELDS, sizeof *out);
    size_t n = 0;
    for (size_t i = 0; i < n_fields && n < WEIR_FAULT_MAX_FIELDS; i++) {
        const struct weir_http_field *f = &fields[i];
        if (is_passed_on(f->name) && f->name.n <= WEIR_FAULT_FIELD_BYTES &&
            is_plain_value(f->value) && weir_http_field_get(out, n, f->name).p == NULL) {
            out[n].name = lower_dup(arena, f->name);
            out[n++].value = weir_arena_dup(arena, f->value);
        }
    }
    fault->fields = out;
    fault->n_fields = n;
}

static const struct weir_http_field *dup_fields(struct weir_arena *arena,
                                                const struct weir_fault *fault)
{
    struct weir_http_field *out = weir_arena_array(arena, fault->n_fields, sizeof *out);
    for (size_t i = 0; i < fault->n_fields; i++) {
        out[i].name = weir_arena_dup(arena, fault->fields[i].name);
        out[i].value = weir_arena_dup(arena, fault->fields[i].value);
    }
    return out;
}

struct weir_fault weir_fault_dup(struct weir_arena *arena, const struct weir_fault *fault)
{
    struct weir_fault copy = *fault;
    copy.id = weir_arena_dup(arena, fault->id);
    copy.provider = weir_arena_dup(arena, fault->provider);
    copy.message = weir_arena_dup(arena, fault->message);
    copy.code = weir_arena_dup(arena, fault->code);
    copy.param = weir_arena_dup(arena, fault->param);
    copy.fields = dup_fields(arena, fault);
    copy.why = weir_arena_dup(arena, fault->why);
    return copy;
}

const struct weir_fault *weir_fault_keep(struct weir_arena *arena, const struct weir_fault *fault)
{
    struct weir_fault *kept = weir_arena_alloc(arena, sizeof *kept);
    *kept = weir_fault_dup(arena, fault);
    return kept;
}
