#include "server/describe.h"

#include "base/buf.h"
#include "talk/channel.h"
#include "talk/walk.h"

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
    } roles[] = {{WEIR_CONF_USER, "user"},           {WEIR_CONF_SYSTEM, "system"},
                 {WEIR_CONF_DEVELOPER, "developer"}, {WEIR_CONF_TOOL, "tool"},
                 {WEIR_CONF_FUNCTION, "function"},   {WEIR_CONF_ASSISTANT, "assistant"}};
    size_t n = 0;
    weir_buf_append(out, WEIR_SLICE("input="));
    if (g->policy.asks_beside) {
        add_word(out, &n, "beside");
    }
    bool is_guarded = weir_plan_judging(&g->input)->n != 0;
    for (size_t i = 0; is_guarded && i < sizeof roles / sizeof roles[0]; i++) {
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
    if (g->output.late != NULL) {
        weir_buf_printf(out, "after<=%zu", g->output.late->max_exposed_cp);
        n++;
    }
    for (size_t i = 0; i <= WEIR_CHANNEL_TOOLS; i++) {
        if (weir_plan_on(weir_plan_judging(&g->output), (enum weir_channel)i)->n == 0) {
            continue;
        }
        add_word(out, &n, weir_channel_name((enum weir_channel)i));
    }
    end_list(out, n);
}

static bool has_detector(const struct weir_plan *plan, struct weir_slice id)
{
    for (size_t i = 0; plan != NULL && i < plan->n; i++) {
        if (weir_slice_eq(plan->uses[i].d->id, id)) {
            return true;
        }
    }
    return false;
}

/* `pii(skip)`: detectors that are passed over when they cannot answer; not those in `named`. */
static void add_skipped(struct weir_buf *out, size_t *n, const struct weir_plan *plan,
                        const struct weir_plan *named)
{
    for (size_t i = 0; i < plan->n; i++) {
        const struct weir_task_detector *d = plan->uses[i].d;
        if (d->skips_errors && !has_detector(named, d->id)) {
            add_word(out, n, "");
            weir_buf_append(out, d->id);
            weir_buf_append(out, WEIR_SLICE("(skip)"));
        }
    }
}

/* What the route's keys leave open, and what a route that only tells passes on unseen. */
static void write_holes(const struct weir_guarded *g, struct weir_buf *out)
{
    bool only_tells = g->output.n != 0 && !weir_policy_enforces(&g->policy);
    size_t n = g->holes.n != 0;
    weir_buf_append(out, WEIR_SLICE("; unguarded="));
    weir_buf_append(out, g->holes);
    if (only_tells && (g->conf->unguarded & WEIR_HOLE_LOGPROBS) == 0) {
        add_word(out, &n, "logprobs");
    }
    if (only_tells && (g->conf->unguarded & WEIR_HOLE_UNKNOWN_MEMBERS) == 0) {
        add_word(out, &n, "unknown_members");
    }
    add_skipped(out, &n, &g->input, NULL);
    add_skipped(out, &n, &g->output, &g->input);
    end_list(out, n);
}

static struct weir_slice describe(const struct weir_guarded *g, bool has_answer,
                                  struct weir_arena *arena)
{
    struct weir_buf out = {0};
    write_input(g, &out);
    if (has_answer) {
        write_output(g, &out);
    } else {
        weir_buf_append(&out, WEIR_SLICE("; output=none"));
    }
    if (g->input.n + g->output.n != 0) {
        write_holes(g, &out);
    } else {
        weir_buf_append(&out, WEIR_SLICE("; unguarded=all"));
    }
    struct weir_slice text = weir_arena_dup(arena, weir_buf_slice(&out));
    weir_buf_dispose(&out);
    return text;
}

struct weir_slice weir_describe_guarded(const struct weir_guarded *g, struct weir_arena *arena)
{
    return describe(g, true, arena);
}

struct weir_slice weir_describe_question(const struct weir_guarded *g, struct weir_arena *arena)
{
    return describe(g, false, arena);
}
