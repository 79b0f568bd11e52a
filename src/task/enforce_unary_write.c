/* A unary answer, written anew from what is known of the server's and what the guards let go. */
#include "task/enforce_int.h"
#include "task/results.h"

enum { N_FOUND = WEIR_CHANNEL_WHOLE + 1 };

static bool keeps_unknown(const struct weir_enforce_run *r)
{
    return r->o.request->policy->keeps_unknown;
}

/* What nobody checked does not leave with a choice that was blocked. */
static bool keeps_unknown_of(const struct weir_enforce_said *c)
{
    return keeps_unknown(c->run) && !c->is_blocked;
}

/* ---- writing a message ---- */

/* An object with what is known of it, and the rest where the route passes it. */
static void write_known(const struct weir_enforce_said *c, uint32_t at, const char *const *names,
                        struct weir_buf *out)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_known_write(
        &w, c->known.json, at,
        &(struct weir_known_rules){.names = names, .keeps_unknown = keeps_unknown(c->run)});
    weir_json_write_end_object(&w);
}

static void write_call(const struct weir_enforce_said *c, struct weir_json_write *w, uint32_t at)
{
    const struct weir_json *json = c->known.json;
    struct weir_buf function = {0};
    struct weir_buf custom = {0};
    uint32_t f = weir_json_get_set(json, at, WEIR_SLICE("function"));
    uint32_t u = weir_json_get_set(json, at, WEIR_SLICE("custom"));
    if (f != WEIR_JSON_NONE) {
        write_known(c, f, weir_known_function, &function);
    }
    if (u != WEIR_JSON_NONE) {
        write_known(c, u, weir_known_custom, &custom);
    }
    struct weir_known_member changes[] = {{WEIR_SLICE("function"), weir_buf_slice(&function)},
                                          {WEIR_SLICE("custom"), weir_buf_slice(&custom)}};
    weir_json_write_begin_object(w);
    weir_known_write(w, json, at,
                     &(struct weir_known_rules){.names = weir_known_call,
                                                .keeps_unknown = keeps_unknown(c->run),
                                                .changes = changes,
                                                .n_changes = 2});
    weir_json_write_end_object(w);
    weir_buf_dispose(&function);
    weir_buf_dispose(&custom);
}

static void write_calls(const struct weir_enforce_said *c, struct weir_buf *out)
{
    const struct weir_json *json = c->known.json;
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    uint32_t at = weir_json_first(json, c->known.tool_calls);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, c->known.tool_calls, at)) {
        write_call(c, &w, at);
    }
    weir_json_write_end_array(&w);
}

static void write_audio(const struct weir_enforce_said *c, struct weir_buf *out)
{
    struct weir_slice said = weir_buf_slice(&c->said[WEIR_CHANNEL_TRANSCRIPT]);
    struct weir_buf quoted = {0};
    if (said.n == 0 && c->is_blocked) {
        return;
    }
    if (said.n != 0 || c->known.texts[WEIR_CHANNEL_TRANSCRIPT] != WEIR_JSON_NONE) {
        weir_json_write_quoted(&quoted, said);
    }
    struct weir_known_member transcript = {WEIR_SLICE("transcript"), weir_buf_slice(&quoted)};
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_known_write(&w, c->known.json, c->known.audio,
                     &(struct weir_known_rules){.names = weir_known_audio,
                                                .keeps_unknown = keeps_unknown_of(c),
                                                .changes = &transcript,
                                                .n_changes = 1});
    weir_json_write_end_object(&w);
    weir_buf_dispose(&quoted);
}

/* The members of a message that may have changed. */
static size_t write_changes(const struct weir_enforce_said *c,
                            struct weir_buf bufs[], /* one each */
                            struct weir_known_member *changes)
{
    size_t n = 0;
    for (size_t i = 0; i < WEIR_CHANNEL_TRANSCRIPT; i++) {
        struct weir_slice name = weir_slice_cstr(weir_channel_name((enum weir_channel)i));
        bool was_there = c->known.texts[i] != WEIR_JSON_NONE;
        if (c->said[i].n != 0) {
            weir_json_write_quoted(&bufs[n], weir_buf_slice(&c->said[i]));
        } else if (was_there || (c->is_blocked && i == WEIR_CHANNEL_CONTENT)) {
            weir_buf_append(&bufs[n], c->is_blocked ? WEIR_SLICE("null") : WEIR_SLICE("\"\""));
        } else {
            continue;
        }
        changes[n] = (struct weir_known_member){name, weir_buf_slice(&bufs[n])};
        n++;
    }
    if (c->known.audio != WEIR_JSON_NONE) {
        write_audio(c, &bufs[n]);
        changes[n] = (struct weir_known_member){WEIR_SLICE("audio"), weir_buf_slice(&bufs[n])};
        n++;
    }
    if (c->known.tool_calls != WEIR_JSON_NONE) {
        if (!c->is_blocked) {
            write_calls(c, &bufs[n]);
        }
        changes[n] = (struct weir_known_member){WEIR_SLICE("tool_calls"), weir_buf_slice(&bufs[n])};
        n++;
    }
    if (c->known.function_call != WEIR_JSON_NONE) {
        if (!c->is_blocked) {
            write_known(c, c->known.function_call, weir_known_function, &bufs[n]);
        }
        changes[n] =
            (struct weir_known_member){WEIR_SLICE("function_call"), weir_buf_slice(&bufs[n])};
        n++;
    }
    return n;
}

static void write_body(const struct weir_enforce_said *c, struct weir_buf *out)
{
    enum { MAX_CHANGES = WEIR_CHANNEL_TEXTS + 2 };
    struct weir_buf bufs[MAX_CHANGES] = {{0}};
    struct weir_known_member changes[MAX_CHANGES];
    if (!weir_enforce__is_chat(c->run)) {
        weir_json_write_quoted(out, weir_buf_slice(&c->said[WEIR_CHANNEL_CONTENT]));
        return;
    }
    size_t n = write_changes(c, bufs, changes);
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_known_write(&w, c->known.json, c->known.body,
                     &(struct weir_known_rules){.names = weir_known_body,
                                                .keeps_unknown = keeps_unknown_of(c),
                                                .changes = changes,
                                                .n_changes = n});
    weir_json_write_end_object(&w);
    for (size_t i = 0; i < n; i++) {
        weir_buf_dispose(&bufs[i]);
    }
}

/* ---- writing the answer ---- */

static void write_choices(const struct weir_enforce_run *r, struct weir_buf *out)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    for (size_t i = 0; i < r->n_choices; i++) {
        const struct weir_enforce_said *c = &r->choices[i];
        struct weir_buf body = {0};
        write_body(c, &body);
        struct weir_enforce_choice choice = {.json = r->o.answer,
                                             .choice = c->known.choice,
                                             .body_name = r->body_name,
                                             .body = weir_buf_slice(&body),
                                             .finish = c->is_blocked ? WEIR_ENFORCE_FILTERED
                                                                     : WEIR_ENFORCE_AS_IS,
                                             .is_tainted = c->is_blocked || c->is_changed,
                                             .keeps_unknown = keeps_unknown_of(c)};
        weir_enforce_write_choice(&w, &choice);
        weir_buf_dispose(&body);
    }
    weir_json_write_end_array(&w);
}

static bool has_output(const struct weir_enforce_run *r)
{
    for (size_t i = 0; i < r->n_choices * N_FOUND; i++) {
        if (r->choices[i / N_FOUND].found[i % N_FOUND].n != 0) {
            return true;
        }
    }
    return false;
}

/* One entry per choice and channel with findings. */
static void write_output(struct weir_json_write *w, const struct weir_enforce_run *r)
{
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < r->n_choices * N_FOUND; i++) {
        const struct weir_enforce_said *c = &r->choices[i / N_FOUND];
        enum weir_channel channel = (enum weir_channel)(i % N_FOUND);
        if (c->found[channel].n == 0) {
            continue;
        }
        weir_json_write_begin_object(w);
        weir_json_write_key(w, WEIR_SLICE("choice_index"));
        weir_json_write_u64(w, c->known.index);
        if (channel != WEIR_CHANNEL_CONTENT && channel != WEIR_CHANNEL_WHOLE) {
            weir_json_write_key(w, WEIR_SLICE("channel"));
            weir_json_write_string(w, weir_slice_cstr(weir_channel_name(channel)));
        }
        weir_json_write_key(w, WEIR_SLICE("results"));
        weir_json_write_begin_array(w);
        weir_json_write_raw(w, weir_buf_slice(&c->found[channel]));
        weir_json_write_end_array(w);
        weir_json_write_end_object(w);
    }
    weir_json_write_end_array(w);
}

void weir_enforce__write_detections(struct weir_enforce_run *r)
{
    struct weir_json_write w;
    bool with_input = weir_input_n_found(r->o.input) != 0;
    bool with_output = has_output(r);
    weir_json_write_init(&w, &r->detections);
    weir_json_write_begin_object(&w);
    if (with_input) {
        weir_json_write_key(&w, WEIR_SLICE("input"));
        weir_input_write(&w, r->o.input);
    }
    if (with_output) {
        weir_json_write_key(&w, WEIR_SLICE("output"));
        write_output(&w, r);
    }
    weir_json_write_end_object(&w);
    r->has_detections = with_input || with_output;
}

static bool has_content(const struct weir_enforce_said *c)
{
    return c->known.texts[WEIR_CHANNEL_CONTENT] != WEIR_JSON_NONE;
}

static bool write_warnings(const struct weir_enforce_run *r, struct weir_buf *out)
{
    struct weir_buf input = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    size_t before = out->n;
    if (weir_completion_write_input_warnings(r->o.request, r->o.input, &input)) {
        weir_json_write_raw(&w, weir_slice_sub(weir_buf_slice(&input), 1, input.n - 1));
    }
    for (size_t i = 0; i < r->n_choices; i++) {
        if (!has_content(&r->choices[i]) && !r->choices[i].is_blocked) {
            weir_results_write_empty_output(&w, r->choices[i].known.index,
                                            weir_enforce__is_chat(r));
        }
    }
    if (r->n_text_found != 0) {
        weir_results_write_warning(&w, WEIR_SLICE("type"), WEIR_WARN_UNSUITABLE_OUTPUT);
    }
    bool has_any = out->n != before;
    weir_json_write_end_array(&w);
    weir_buf_dispose(&input);
    return has_any;
}

struct weir_slice weir_enforce__compose(const struct weir_enforce_run *r)
{
    struct weir_buf choices = {0};
    struct weir_buf warnings = {0};
    struct weir_buf out = {0};
    bool is_tainted = false;
    for (size_t i = 0; i < r->n_choices; i++) {
        is_tainted = is_tainted || r->choices[i].is_changed || r->choices[i].is_blocked;
    }
    write_choices(r, &choices);
    bool has_warnings = write_warnings(r, &warnings);
    struct weir_enforce_answer answer = {
        .json = r->o.answer,
        .choices = weir_buf_slice(&choices),
        .with_usage = true,
        .is_tainted = is_tainted,
        .keeps_unknown = keeps_unknown(r),
        .detections = r->has_detections ? weir_buf_slice(&r->detections) : WEIR_SLICE(""),
        .warnings = has_warnings ? weir_buf_slice(&warnings) : WEIR_SLICE("")};
    weir_enforce_write_answer(&out, &answer);
    struct weir_slice body = weir_arena_take_buf(r->o.task->arena, &out);
    weir_buf_dispose(&choices);
    weir_buf_dispose(&warnings);
    return body;
}
