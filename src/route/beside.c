#include "route/beside.h"

enum { FLAG, PRESENCE };

static const struct {
    const char *name;
    int kind; /* FLAG: `false` does nothing */
} ACTING[] = {{"store", FLAG},           {"background", FLAG},    {"web_search_options", PRESENCE},
              {"mcp_servers", PRESENCE}, {"container", PRESENCE}, {"plugins", PRESENCE}};

/* Tools that whoever asks runs itself. Anthropic's have a date behind these. */
static bool is_callers_own(const struct weir_json *j, uint32_t type)
{
    static const char *const whole[] = {"function", "custom"};
    static const char *const dated[] = {"bash_", "text_editor_", "computer_", "memory_"};
    struct weir_slice raw = weir_json_raw(j, type);
    if (weir_json_type(j, type) != WEIR_JSON_STRING || raw.n < 2) {
        return false;
    }
    struct weir_slice word = weir_slice_sub(raw, 1, raw.n - 1);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (weir_json_string_eq(j, type, weir_slice_cstr(whole[i]))) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof dated / sizeof *dated; i++) {
        if (weir_slice_starts_with(word, weir_slice_cstr(dated[i]))) {
            return true;
        }
    }
    return false;
}

static const char *acting_tool(const struct weir_json *j, struct weir_arena *arena)
{
    uint32_t tools = weir_json_get_set(j, 0, WEIR_SLICE("tools"));
    if (tools == WEIR_JSON_NONE || weir_json_type(j, tools) != WEIR_JSON_ARRAY) {
        return NULL;
    }
    size_t i = 0;
    uint32_t at = weir_json_first(j, tools);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, tools, at), i++) {
        bool is_object = weir_json_type(j, at) == WEIR_JSON_OBJECT;
        uint32_t type = is_object ? weir_json_get_set(j, at, WEIR_SLICE("type")) : WEIR_JSON_NONE;
        if (type != WEIR_JSON_NONE && !is_callers_own(j, type)) {
            return weir_arena_printf(arena, "/tools/%zu", i);
        }
    }
    return NULL;
}

const char *weir_beside_acts(const struct weir_json *j, struct weir_arena *arena)
{
    if (weir_json_type(j, 0) != WEIR_JSON_OBJECT) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof ACTING / sizeof *ACTING; i++) {
        uint32_t at = weir_json_get_set(j, 0, weir_slice_cstr(ACTING[i].name));
        bool is_off = ACTING[i].kind == FLAG && at != WEIR_JSON_NONE &&
                      weir_json_type(j, at) == WEIR_JSON_FALSE;
        if (at != WEIR_JSON_NONE && !is_off) {
            return weir_arena_printf(arena, "/%s", ACTING[i].name);
        }
    }
    return acting_tool(j, arena);
}
