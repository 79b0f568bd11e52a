#include "route/canary.h"

#include "base/assert.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

/* No digit that could be read as a letter. */
static const char ALPHABET[] = "abcdefghijklmnopqrstuvwxyz234567";

struct weir_slice weir_canary_word(struct weir_slice key, struct weir_slice route, uint64_t day,
                                   struct weir_arena *arena)
{
    enum { DIGEST = 32, BITS = 5 };
    unsigned char digest[DIGEST];
    unsigned n = 0;
    const char *said = weir_arena_printf(arena, "canary/%.*s/%llu", (int)route.n, route.p,
                                         (unsigned long long)day);
    const unsigned char *made = HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)said,
                                     strlen(said), digest, &n);
    WEIR_ASSERT(made != NULL && n == DIGEST);
    char *word = weir_arena_alloc(arena, WEIR_CANARY_BYTES);
    for (size_t i = 0; i < WEIR_CANARY_BYTES; i++) {
        size_t bit = i * BITS;
        unsigned pair = (unsigned)digest[bit / 8] << 8 | digest[bit / 8 + 1];
        word[i] = ALPHABET[pair >> (16 - BITS - bit % 8) & 31];
    }
    return weir_slice_make(word, WEIR_CANARY_BYTES);
}

/* ---- into the question ---- */

static bool append_to(struct weir_json_edit *e, uint32_t at, struct weir_slice word,
                      struct weir_arena *arena)
{
    if (at == WEIR_JSON_NONE || weir_json_type(e->doc, at) != WEIR_JSON_STRING) {
        return false;
    }
    struct weir_slice text = weir_json_string(e->doc, at, arena);
    if (text.n == 0) {
        return false;
    }
    struct weir_buf out = {0};
    weir_buf_append(&out, text);
    weir_buf_append_byte(&out, '\n');
    weir_buf_append(&out, word);
    weir_json_edit_replace_string(e, at, weir_arena_take_buf(arena, &out));
    return true;
}

/* A text, or the last of its parts that is one. */
static bool append_content(struct weir_json_edit *e, uint32_t at, struct weir_slice word,
                           struct weir_arena *arena)
{
    uint32_t last = WEIR_JSON_NONE;
    if (at == WEIR_JSON_NONE || weir_json_type(e->doc, at) != WEIR_JSON_ARRAY) {
        return append_to(e, at, word, arena);
    }
    uint32_t part = weir_json_first(e->doc, at);
    for (; part != WEIR_JSON_NONE; part = weir_json_after(e->doc, at, part)) {
        if (weir_json_type(e->doc, part) == WEIR_JSON_OBJECT) {
            uint32_t text = weir_json_get_set(e->doc, part, WEIR_SLICE("text"));
            bool is_text =
                text != WEIR_JSON_NONE && weir_json_type(e->doc, text) == WEIR_JSON_STRING;
            last = is_text ? text : last;
        }
    }
    return append_to(e, last, word, arena);
}

static bool is_system(const struct weir_json *j, uint32_t message)
{
    uint32_t role = weir_json_type(j, message) == WEIR_JSON_OBJECT
                        ? weir_json_get_set(j, message, WEIR_SLICE("role"))
                        : WEIR_JSON_NONE;
    return role != WEIR_JSON_NONE && weir_json_type(j, role) == WEIR_JSON_STRING &&
           (weir_json_string_eq(j, role, WEIR_SLICE("system")) ||
            weir_json_string_eq(j, role, WEIR_SLICE("developer")));
}

void weir_canary_append(struct weir_json_edit *e, struct weir_slice word, struct weir_arena *arena)
{
    static const char *const members[] = {"system", "instructions"};
    const struct weir_json *j = e->doc;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        uint32_t at = weir_json_get_set(j, 0, weir_slice_cstr(members[i]));
        if (append_content(e, at, word, arena)) {
            return;
        }
    }
    uint32_t messages = weir_json_get_set(j, 0, WEIR_SLICE("messages"));
    if (messages == WEIR_JSON_NONE || weir_json_type(j, messages) != WEIR_JSON_ARRAY) {
        return;
    }
    uint32_t at = weir_json_first(j, messages);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, messages, at)) {
        if (is_system(j, at) &&
            append_content(e, weir_json_get_set(j, at, WEIR_SLICE("content")), word, arena)) {
            return;
        }
    }
}

/* ---- out of the answer ---- */

struct weir_plan weir_canary_plan(const struct weir_plan *output, struct weir_slice key,
                                  struct weir_slice route, uint64_t day, struct weir_arena *arena)
{
    struct weir_plan plan = *output;
    struct weir_plan_use *uses = weir_arena_array(arena, plan.n, sizeof *uses);
    struct weir_slice now = weir_canary_word(key, route, day, arena);
    struct weir_slice before = weir_canary_word(key, route, day - 1, arena);
    WEIR_ASSERT(plan.n != 0);
    memcpy(uses, plan.uses, plan.n * sizeof *uses);
    uses[plan.n - 1].params = weir_slice_cstr(weir_arena_printf(
        arena, "{\"words\":[\"%.*s\",\"%.*s\"]}", (int)now.n, now.p, (int)before.n, before.p));
    plan.uses = uses;
    weir_plan_split(&plan, arena);
    return plan;
}
