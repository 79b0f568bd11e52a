/*
 * One item of every kind that Responses have, with all its events. Every text in them is the
 * setting `text`, so that what finds it in one finds it in all; arguments are the setting of that
 * name.
 *
 * A row is written in templates: $I is the item's id, $O its output_index, $T the text, $A the
 * arguments (both the inside of a JSON string), $N the name of a tool.
 */
#include "mock/mock_responses.h"

#define ITEM ",\"item_id\":\"$I\",\"output_index\":$O"

enum { MAX_NOTES = 3 };

struct row {
    const char *kind;              /* its `type` */
    const char *opening;           /* its members as it begins … */
    const char *whole;             /* … and at its end */
    const char *before[MAX_NOTES]; /* events: the type, then members */
    const char *channel;           /* of the deltas, up to `.delta`; NULL: there are none */
    const char *where;             /* members of a delta */
    const char *done;              /* members of what ends them */
    bool says_arguments;
    bool has_streams; /* a delta has stdout and stderr */
    const char *after[MAX_NOTES];
};

#define OUTCOME "\"outcome\":{\"type\":\"exit\",\"exit_code\":0}"
#define CITATION                                                                                   \
    "{\"type\":\"url_citation\",\"start_index\":0,\"end_index\":1,\"title\":\"$T\","               \
    "\"url\":\"https://example.com/\"}"

static const struct row ROWS[] = {
    {.kind = "reasoning",
     .opening = ",\"summary\":[]",
     .whole = ",\"summary\":[{\"type\":\"summary_text\",\"text\":\"$T\"}],"
              "\"encrypted_content\":\"bW9jaw==\"",
     .before = {"response.reasoning_summary_part.added" ITEM
                ",\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"\"}"},
     .channel = "response.reasoning_summary_text",
     .where = ITEM ",\"summary_index\":0",
     .done = ITEM ",\"summary_index\":0,\"text\":\"$T\"",
     .after = {"response.reasoning_summary_part.done" ITEM
               ",\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"$T\"}"}},
    {.kind = "message",
     .opening = ",\"role\":\"assistant\",\"phase\":\"commentary\",\"content\":[]",
     .whole = ",\"role\":\"assistant\",\"phase\":\"commentary\",\"content\":[{\"type\":"
              "\"output_text\",\"text\":\"$T\",\"annotations\":[" CITATION "],\"logprobs\":[]}]",
     .before = {"response.content_part.added" ITEM ",\"content_index\":0,\"part\":{\"type\":"
                "\"output_text\",\"text\":\"\",\"annotations\":[],\"logprobs\":[]}"},
     .channel = "response.output_text",
     .where = ITEM ",\"content_index\":0,\"logprobs\":[]",
     .done = ITEM ",\"content_index\":0,\"text\":\"$T\",\"logprobs\":[]",
     .after = {"response.output_text.annotation.added" ITEM
               ",\"content_index\":0,\"annotation_index\":0,\"annotation\":" CITATION,
               "response.content_part.done" ITEM ",\"content_index\":0,\"part\":{\"type\":"
               "\"output_text\",\"text\":\"$T\",\"annotations\":[" CITATION "],\"logprobs\":[]}"}},
    {.kind = "custom_tool_call",
     .opening = ",\"call_id\":\"call_$I\",\"name\":$N,\"input\":\"\"",
     .whole = ",\"call_id\":\"call_$I\",\"name\":$N,\"input\":\"$T\"",
     .channel = "response.custom_tool_call_input",
     .where = ITEM,
     .done = ITEM ",\"input\":\"$T\""},
    {.kind = "mcp_list_tools",
     .opening = ",\"server_label\":\"mock\",\"tools\":[]",
     .whole = ",\"server_label\":\"mock\",\"tools\":[{\"name\":\"lookup\",\"description\":\"$T\","
              "\"input_schema\":{\"type\":\"object\"}}]",
     .before = {"response.mcp_list_tools.in_progress" ITEM},
     .after = {"response.mcp_list_tools.completed" ITEM}},
    {.kind = "mcp_list_tools",
     .opening = ",\"server_label\":\"gone\",\"tools\":[]",
     .whole = ",\"server_label\":\"gone\",\"tools\":[],\"error\":\"$T\"",
     .before = {"response.mcp_list_tools.in_progress" ITEM},
     .after = {"response.mcp_list_tools.failed" ITEM}},
    {.kind = "mcp_approval_request",
     .opening = ",\"server_label\":\"mock\",\"name\":\"lookup\",\"arguments\":\"$A\"",
     .whole = ",\"server_label\":\"mock\",\"name\":\"lookup\",\"arguments\":\"$A\""},
    {.kind = "mcp_call",
     .opening = ",\"server_label\":\"mock\",\"name\":\"lookup\",\"arguments\":\"\"",
     .whole = ",\"server_label\":\"mock\",\"name\":\"lookup\",\"arguments\":\"$A\","
              "\"output\":\"$T\",\"error\":null",
     .before = {"response.mcp_call.in_progress" ITEM},
     .channel = "response.mcp_call_arguments",
     .where = ITEM,
     .done = ITEM ",\"arguments\":\"$A\"",
     .says_arguments = true,
     .after = {"response.mcp_call.completed" ITEM}},
    {.kind = "mcp_call",
     .opening = ",\"server_label\":\"mock\",\"name\":\"lookup\",\"arguments\":\"\"",
     .whole =
         ",\"server_label\":\"mock\",\"name\":\"lookup\",\"arguments\":\"\","
         "\"output\":null,\"error\":{\"type\":\"mcp_tool_execution_error\",\"content\":\"$T\"}",
     .before = {"response.mcp_call.in_progress" ITEM},
     .after = {"response.mcp_call.failed" ITEM}},
    {.kind = "code_interpreter_call",
     .opening = ",\"container_id\":\"cntr_$I\",\"code\":\"\",\"outputs\":null",
     .whole = ",\"container_id\":\"cntr_$I\",\"code\":\"$T\",\"outputs\":[{\"type\":\"logs\","
              "\"logs\":\"$T\"}]",
     .before = {"response.code_interpreter_call.in_progress" ITEM},
     .channel = "response.code_interpreter_call_code",
     .where = ITEM,
     .done = ITEM ",\"code\":\"$T\"",
     .after = {"response.code_interpreter_call.interpreting" ITEM,
               "response.code_interpreter_call.completed" ITEM}},
    {.kind = "shell_call",
     .opening = ",\"call_id\":\"call_$I\",\"action\":{\"commands\":[]}",
     .whole = ",\"call_id\":\"call_$I\",\"action\":{\"commands\":[\"$T\"]}",
     .before = {"response.shell_call_command.added,\"output_index\":$O,\"command_index\":0,"
                "\"command\":\"\""},
     .channel = "response.shell_call_command",
     .where = ",\"output_index\":$O,\"command_index\":0",
     .done = ",\"output_index\":$O,\"command_index\":0,\"command\":\"$T\""},
    {.kind = "shell_call_output",
     .opening = ",\"call_id\":\"call_$I\",\"output\":[]",
     .whole =
         ",\"call_id\":\"call_$I\",\"output\":[{\"stdout\":\"$T\",\"stderr\":\"\"," OUTCOME "}]",
     .channel = "response.shell_call_output_content",
     .where = ITEM ",\"command_index\":0",
     .done =
         ITEM ",\"command_index\":0,\"output\":[{\"stdout\":\"$T\",\"stderr\":\"\"," OUTCOME "}]",
     .has_streams = true},
    {.kind = "local_shell_call",
     .opening = ",\"call_id\":\"call_$I\",\"action\":{\"type\":\"exec\",\"command\":[],\"env\":{}}",
     .whole = ",\"call_id\":\"call_$I\",\"action\":{\"type\":\"exec\",\"command\":[\"echo\","
              "\"$T\"],\"env\":{}}"},
    {.kind = "apply_patch_call",
     .opening = ",\"call_id\":\"call_$I\",\"operation\":{\"type\":\"update_file\",\"path\":\"a.c\","
                "\"diff\":\"\"}",
     .whole = ",\"call_id\":\"call_$I\",\"operation\":{\"type\":\"update_file\",\"path\":\"a.c\","
              "\"diff\":\"$T\"}"},
    {.kind = "program", .opening = ",\"code\":\"\"", .whole = ",\"code\":\"$T\""},
    {.kind = "program_output", .opening = ",\"result\":\"\"", .whole = ",\"result\":\"$T\""},
    {.kind = "web_search_call",
     .opening = ",\"action\":{\"type\":\"search\",\"query\":\"\"}",
     .whole = ",\"action\":{\"type\":\"search\",\"query\":\"$T\"}",
     .before = {"response.web_search_call.in_progress" ITEM,
                "response.web_search_call.searching" ITEM},
     .after = {"response.web_search_call.completed" ITEM}},
    {.kind = "file_search_call",
     .opening = ",\"queries\":[],\"results\":null",
     .whole = ",\"queries\":[\"$T\"],\"results\":[{\"file_id\":\"file_1\",\"filename\":\"a.txt\","
              "\"score\":0.5,\"attributes\":{},\"text\":\"$T\"}]",
     .before = {"response.file_search_call.in_progress" ITEM,
                "response.file_search_call.searching" ITEM},
     .after = {"response.file_search_call.completed" ITEM}},
    {.kind = "computer_call",
     .opening = ",\"call_id\":\"call_$I\",\"action\":{\"type\":\"type\",\"text\":\"\"},"
                "\"pending_safety_checks\":[]",
     .whole = ",\"call_id\":\"call_$I\",\"action\":{\"type\":\"type\",\"text\":\"$T\"},"
              "\"pending_safety_checks\":[]"},
    {.kind = "image_generation_call",
     .opening = ",\"result\":null",
     .whole = ",\"result\":\"bW9jaw==\"",
     .before = {"response.image_generation_call.in_progress" ITEM,
                "response.image_generation_call.generating" ITEM,
                "response.image_generation_call.partial_image" ITEM
                ",\"partial_image_index\":0,\"partial_image_b64\":\"bW9jaw==\""},
     .after = {"response.image_generation_call.completed" ITEM}},
    {.kind = "tool_search_call",
     .opening = ",\"call_id\":\"call_$I\",\"execution\":\"server\",\"arguments\":{}",
     .whole = ",\"call_id\":\"call_$I\",\"execution\":\"server\",\"arguments\":{\"query\":\"$T\"}"},
    {.kind = "additional_tools",
     .opening = ",\"role\":\"developer\",\"tools\":[]",
     .whole = ",\"role\":\"developer\",\"tools\":[{\"type\":\"function\",\"name\":\"more\","
              "\"description\":\"$T\",\"parameters\":{\"type\":\"object\"},\"strict\":false}]"},
    {.kind = "compaction",
     .opening = ",\"encrypted_content\":\"bW9jaw==\"",
     .whole = ",\"encrypted_content\":\"bW9jaw==\""},
};

enum { N_ROWS = sizeof ROWS / sizeof *ROWS };

/* ---- templates ---- */

static void put_text(struct weir_buf *out, const struct weir_mock_text *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct weir_slice quoted = text->tokens[i % text->n].quoted;
        weir_buf_append(out, weir_slice_sub(quoted, 1, quoted.n - 1));
    }
}

static size_t length_of(const struct weir_mock_response *m)
{
    return m->sc->choices[0].text.n != 0 ? m->sc->choices[0].n_tokens : 0;
}

static void fill(const struct weir_mock_response *m, const char *template, struct weir_buf *out)
{
    const struct weir_mock_ask *ask = m->sc->ask;
    for (const char *p = template; *p != '\0'; p++) {
        if (*p != '$') {
            weir_buf_append_byte(out, *p);
            continue;
        }
        switch (*++p) {
        case 'I':
            weir_buf_printf(out, "item_%s%03llu", m->sc->r->id, (unsigned long long)m->n_items);
            break;
        case 'O':
            weir_buf_printf(out, "%llu", (unsigned long long)m->n_items);
            break;
        case 'T':
            weir_buf_append(out, weir_buf_slice(&m->text));
            break;
        case 'A':
            weir_buf_append(out, weir_buf_slice(&m->arguments));
            break;
        default:
            weir_buf_append(out, ask->tool_names[0]);
        }
    }
}

/* An event as the table has it: the type up to the first comma, then its members. */
static void put_note(struct weir_mock_response *m, const char *note, struct weir_buf *out)
{
    struct weir_buf members = {0};
    char type[64];
    struct weir_slice name = weir_slice_cstr(note);
    name.n = weir_slice_find(name, ',');
    snprintf(type, sizeof type, "%.*s", (int)name.n, name.p);
    fill(m, note + name.n, &members);
    weir_mock_response_event(m, type, weir_buf_slice(&members), out);
    weir_buf_dispose(&members);
}

static void put_notes(struct weir_mock_response *m, const char *const *notes, struct weir_buf *out)
{
    for (size_t i = 0; i < MAX_NOTES && notes[i] != NULL; i++) {
        put_note(m, notes[i], out);
    }
}

static void put_item(const struct weir_mock_response *m, const struct row *row, bool is_whole,
                     struct weir_buf *out)
{
    fill(m, "{\"id\":\"$I\",\"type\":\"", out);
    weir_buf_append(out, weir_slice_cstr(row->kind));
    weir_buf_append_byte(out, '"');
    fill(m, is_whole ? row->whole : row->opening, out);
    weir_buf_printf(out, ",\"status\":\"%s\"}", is_whole ? "completed" : "in_progress");
}

static void put_item_event(struct weir_mock_response *m, const struct row *row, bool is_whole,
                           struct weir_buf *out)
{
    struct weir_buf members = {0};
    fill(m, ",\"output_index\":$O,\"item\":", &members);
    put_item(m, row, is_whole, &members);
    weir_mock_response_event(m,
                             is_whole ? "response.output_item.done" : "response.output_item.added",
                             weir_buf_slice(&members), out);
    weir_buf_dispose(&members);
}

/* ---- rows ---- */

static void put_delta(struct weir_mock_response *m, const struct row *row, struct weir_slice quoted,
                      struct weir_buf *out)
{
    struct weir_buf members = {0};
    char type[64];
    uint64_t n_items = m->n_items;
    snprintf(type, sizeof type, "%s.delta", row->channel);
    m->n_items = weir_mock_response_index(m);
    fill(m, row->where, &members);
    m->n_items = n_items;
    weir_buf_append(&members, row->has_streams ? WEIR_SLICE(",\"delta\":{\"stdout\":")
                                               : WEIR_SLICE(",\"delta\":"));
    weir_buf_append(&members, quoted);
    weir_buf_append(&members, row->has_streams ? WEIR_SLICE(",\"stderr\":\"\"}") : WEIR_SLICE(""));
    weir_mock_response_adorn(m, &members);
    weir_mock_response_event(m, type, weir_buf_slice(&members), out);
    weir_buf_dispose(&members);
}

/* The row's next delta. False: it has said all. */
static bool say_delta(struct weir_mock_response *m, const struct row *row, struct weir_buf *out)
{
    const struct weir_mock_text *text =
        row->says_arguments ? &m->sc->arguments : &m->sc->choices[0].text;
    size_t n = row->says_arguments ? m->sc->arguments.n : length_of(m);
    if (row->channel == NULL || m->row_at == n) {
        return false;
    }
    put_delta(m, row, text->tokens[m->row_at++ % text->n].quoted, out);
    return true;
}

static void end_row(struct weir_mock_response *m, const struct row *row, struct weir_buf *out)
{
    if (row->channel != NULL) {
        struct weir_buf note = {0};
        weir_buf_printf(&note, "%s.done%s", row->channel, row->done);
        put_note(m, weir_buf_cstr(&note), out);
        weir_buf_dispose(&note);
    }
    put_notes(m, row->after, out);
    put_item_event(m, row, true, out);
    weir_buf_append(&m->output, m->n_items != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
    put_item(m, row, true, &m->output);
    m->n_items++;
    m->row++;
    m->row_at = 0;
}

/* Sound belongs to no item. */
static void put_sound(struct weir_mock_response *m, struct weir_buf *out)
{
    put_note(m, "response.audio.delta,\"delta\":\"bW9jaw==\"", out);
    put_note(m, "response.audio.transcript.delta,\"delta\":\"$T\"", out);
    put_note(m, "response.audio.transcript.done", out);
    put_note(m, "response.audio.done", out);
}

bool weir_mock_response_rows(struct weir_mock_response *m, struct weir_buf *out)
{
    if (m->row == 0 && m->row_at == 0) {
        weir_buf_clear(&m->text);
        weir_buf_clear(&m->arguments);
        put_text(&m->text, &m->sc->choices[0].text, length_of(m));
        put_text(&m->arguments, &m->sc->arguments, m->sc->arguments.n);
    }
    if (m->row == N_ROWS) {
        put_sound(m, out);
        return false;
    }
    const struct row *row = &ROWS[m->row];
    if (m->row_at == 0) {
        put_item_event(m, row, false, out);
        put_notes(m, row->before, out);
    }
    if (!say_delta(m, row, out)) {
        end_row(m, row, out);
    }
    return true;
}
