#include "server/describe.h"

#include "base/buf.h"
#include "talk/channel.h"

static void add_word(struct weir_buf *out, size_t *n, const char *word)
{
    weir_buf_append(out, weir_slice_cstr(*n != 0 ? "," : ""));
    weir_buf_append(out, weir_slice_cstr(word));
    *n += 1;
}

static void end_list(struct weir_buf *out, size_t n)
{
    if (n == 0) {
        weir_buf_append(out, WEIR_SLICE("none"));
    }
}

static void write_input(const struct weir_guarded *g, struct weir_buf *out)
{
    static const struct {
        uint32_t bit;
        const char *word;
    } roles[] = {{WEIR_CONF_USER, "user"},
                 {WEIR_CONF_SYSTEM, "system"},
                 {WEIR_CONF_DEVELOPER, "developer"},
                 {WEIR_CONF_TOOL, "tool"},
                 {WEIR_CONF_FUNCTION, "function"}};
    size_t n = 0;
    weir_buf_append(out, WEIR_SLICE("input="));
    for (size_t i = 0; g->input.n != 0 && i < sizeof roles / sizeof roles[0]; i++) {
        if ((g->conf->input_roles & roles[i].bit) != 0) {
            add_word(out, &n, roles[i].word);
        }
    }
    end_list(out, n);
}

static void write_output(const struct weir_guarded *g, struct weir_buf *out)
{
    size_t n = 0;
    weir_buf_append(out, WEIR_SLICE("; output="));
    for (size_t i = 0; g->output.n != 0 && i <= WEIR_CHANNEL_TOOLS; i++) {
        add_word(out, &n, weir_channel_name((enum weir_channel)i));
    }
    end_list(out, n);
}

/* One line for each hole, with when it is open. */
static void write_holes(const struct weir_guarded *g, struct weir_buf *out)
{
    bool has_input = g->input.n != 0;
    bool has_output = g->output.n != 0;
    bool is_block = g->policy.action == WEIR_POLICY_BLOCK;
    bool passes_media = has_input && !is_block;
    bool enforces_output = has_output && weir_policy_enforces(&g->policy);
    const struct {
        const char *word;
        bool is_open;
    } holes[] = {{"history", has_input},
                 {"definitions", has_input},
                 {"images", passes_media},
                 {"audio", passes_media},
                 {"files", passes_media},
                 {"token_ids", passes_media},
                 {"logprobs", has_output && !enforces_output},
                 {"unknown_members", has_input || (enforces_output && g->policy.keeps_unknown)}};
    size_t n = 0;
    weir_buf_append(out, WEIR_SLICE("; unguarded="));
    for (size_t i = 0; i < sizeof holes / sizeof holes[0]; i++) {
        if (holes[i].is_open) {
            add_word(out, &n, holes[i].word);
        }
    }
    end_list(out, n);
}

struct weir_slice weir_describe_guarded(const struct weir_guarded *g, struct weir_arena *arena)
{
    struct weir_buf out = {0};
    write_input(g, &out);
    write_output(g, &out);
    if (g->input.n + g->output.n != 0) {
        write_holes(g, &out);
    } else {
        weir_buf_append(&out, WEIR_SLICE("; unguarded=all"));
    }
    struct weir_slice text = weir_arena_dup(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return text;
}
