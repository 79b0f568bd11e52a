/*
 * Detectors that look at a conversation as a whole (text_chat). They come last: they see what the
 * model server will see, with what others found in it replaced or taken out. What they find has no
 * place in it, so it blocks, or is told.
 */
#include "talk/conversation.h"
#include "task/asked_int.h"
#include "task/results.h"
#include "task/seen.h"

#include <stdio.h>

size_t weir_asked__n_chat(const struct weir_asked *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->o.plan->n && !a->o.is_answer; i++) {
        n += a->o.plan->uses[i].d->detector->type == WEIR_DETECT_CHAT;
    }
    return n;
}

/* An array in the arena, or empty. */
static struct weir_slice messages_of(const struct weir_asked *a, const struct weir_json *json)
{
    struct weir_walk changed;
    const struct weir_walk *walk = a->o.walk;
    struct weir_buf messages = {0};
    struct weir_buf out = {0};
    if (json != a->o.json) {
        struct weir_walk_options options = {0}; /* what it says is all that matters */
        weir_walk_read(&changed, walk->dialect, json, &options, a->o.arena);
        walk = &changed;
    }
    weir_conversation_write(json, walk, &messages);
    if (messages.n != 0) {
        weir_buf_append_byte(&out, '[');
        weir_buf_append(&out, weir_buf_slice(&messages));
        weir_buf_append_byte(&out, ']');
    }
    weir_buf_dispose(&messages);
    return weir_arena_take_buf(a->o.arena, &out);
}

/* The request as it will be sent. */
static const struct weir_json *as_sent(struct weir_asked *a)
{
    if (a->outcome != WEIR_POLICY_REDACTED) {
        return a->o.json;
    }
    struct weir_json_edit e = {0};
    struct weir_buf out = {0};
    struct weir_json *json = weir_arena_zalloc(a->o.arena, sizeof *json);
    weir_json_edit_begin(&e, a->o.json);
    weir_asked_edit(a, &e);
    weir_json_edit_write(&e, &out);
    weir_json_edit_dispose(&e);
    struct weir_slice text = weir_arena_take_buf(a->o.arena, &out);
    struct weir_json_limits limits = {.max_depth = UINT32_MAX}; /* the request's own were checked */
    return weir_json_parse(json, text, &limits, a->o.arena, NULL) == 0 ? json : NULL;
}

/* What they are shown; no messages: there is no conversation. */
static struct weir_detect_input conversation(const struct weir_asked *a,
                                             const struct weir_json *json)
{
    uint32_t tools = weir_json_get_set(json, 0, WEIR_SLICE("tools"));
    struct weir_slice messages = messages_of(a, json);
    return (struct weir_detect_input){.messages = messages,
                                      .tools = tools != WEIR_JSON_NONE ? weir_json_raw(json, tools)
                                                                       : WEIR_SLICE("")};
}

static void take_chat(struct weir_asked *a)
{
    if (a->chat->n_found != 0) {
        a->outcome = weir_policy_on_input(a->o.policy)->enforces ? WEIR_POLICY_BLOCKED
                                                                 : WEIR_POLICY_ANNOTATED;
    }
}

static void on_scanned(void *ctx, struct weir_scan *scan)
{
    struct weir_asked *a = ctx;
    if (weir_scan_fault(scan) == NULL) {
        take_chat(a);
        if (a->teller != NULL) {
            take_chat(a->teller);
        }
    }
    a->on_done(a->ctx, scan);
}

/* Asks those of them that are for `a`, in a group of their own. */
static void add_chat(struct weir_asked *a, struct weir_scan *scan,
                     const struct weir_detect_input *input)
{
    a->chat = weir_scan_add_group(scan, WEIR_RESULTS_NONE);
    for (size_t i = 0; i < a->o.plan->n; i++) {
        const struct weir_plan_use *use = &a->o.plan->uses[i];
        if (use->d->detector->type == WEIR_DETECT_CHAT) {
            weir_scan_add_whole(a->chat, use, input);
        }
    }
}

bool weir_asked__start_chat(struct weir_asked *a)
{
    size_t n_told = a->teller != NULL ? weir_asked__n_chat(a->teller) : 0;
    if (weir_asked__n_chat(a) + n_told == 0 || a->outcome == WEIR_POLICY_BLOCKED) {
        return false;
    }
    const struct weir_json *json = as_sent(a);
    WEIR_ASSERT(json != NULL);
    struct weir_detect_input input = conversation(a, json);
    if (input.messages.n == 0) {
        return false;
    }
    a->scan = weir_scan_new(a->task, on_scanned, a);
    add_chat(a, a->scan, &input);
    if (a->teller != NULL) {
        add_chat(a->teller, a->scan, &input);
    }
    weir_scan_start(a->scan);
    return true;
}

/* ---- what was found ---- */

size_t weir_asked__n_chat_found(const struct weir_asked *a)
{
    return a->chat != NULL ? a->chat->n_found : 0;
}

static struct weir_detection told_of(const struct weir_asked *a, size_t i)
{
    struct weir_detection told = *a->chat->found[i];
    if (weir_policy_enforces(a->o.policy)) {
        told.detection = weir_detection_name(&told);
        told.metadata = WEIR_SLICE("");
    }
    return told;
}

void weir_asked__write_chat(struct weir_json_write *w, const struct weir_asked *a)
{
    bool is_terse = weir_policy_enforces(a->o.policy);
    if (weir_asked__n_chat_found(a) == 0) {
        return;
    }
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("path"));
    char path[16];
    int n = snprintf(path, sizeof path, "/%s", weir_conversation_member(a->o.json));
    weir_json_write_string(w, weir_slice_make(path, (size_t)n));
    weir_json_write_key(w, WEIR_SLICE("results"));
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < a->chat->n_found; i++) {
        struct weir_detection told = told_of(a, i);
        weir_results_write_one(w, is_terse ? WEIR_RESULTS_TERSE : WEIR_RESULTS_COMPLETION, &told);
    }
    weir_json_write_end_array(w);
    weir_json_write_end_object(w);
}

void weir_asked__note_chat(const struct weir_asked *a, const struct weir_policy *policy)
{
    struct weir_seen_where where = {WEIR_POLICY_INPUT, "content", a->outcome};
    for (size_t i = 0; i < weir_asked__n_chat_found(a); i++) {
        struct weir_detection told = told_of(a, i);
        const struct weir_detection *d = &told;
        weir_seen_findings(policy, &where, &d, 1);
    }
}
