/*
 * OpenAI's chat completions and completions, written from what may leave:
 *
 *   {envelope,"choices":[{"index":0,"delta":{…},"logprobs":…,"finish_reason":…}],"usage":…,
 *    "detections":…,"warnings":…}
 *
 * A token is one event, so this writes straight to the buffer.
 */
#include "talk/openai.h"
#include "wire/json_write.h"

static void put(struct weir_buf *out, struct weir_slice s)
{
    weir_buf_append(out, s);
}

/* A comma, but behind the bracket that opens a container. */
static void comma(struct weir_buf *out)
{
    if (out->n != 0 && out->p[out->n - 1] != '{' && out->p[out->n - 1] != '[') {
        weir_buf_append_byte(out, ',');
    }
}

static void put_key(struct weir_buf *out, const char *name)
{
    comma(out);
    weir_buf_append_byte(out, '"');
    put(out, weir_slice_cstr(name));
    put(out, WEIR_SLICE("\":"));
}

/* A member that is left out where there is nothing to say. */
static void put_json(struct weir_buf *out, const char *name, struct weir_slice json)
{
    if (json.n != 0) {
        put_key(out, name);
        put(out, json);
    }
}

static void put_or_null(struct weir_buf *out, const char *name, struct weir_slice json)
{
    put_key(out, name);
    put(out, json.n != 0 ? json : WEIR_SLICE("null"));
}

static void put_members(struct weir_buf *out, struct weir_slice members)
{
    if (members.n != 0) {
        comma(out);
        put(out, members);
    }
}

static void put_string(struct weir_buf *out, const char *name, struct weir_slice text)
{
    put_key(out, name);
    weir_json_write_quoted(out, text);
}

/* ---- what is said ---- */

static void put_audio(struct weir_buf *out, struct weir_slice members, struct weir_slice transcript)
{
    if (members.n == 0 && transcript.p == NULL) {
        return;
    }
    put_key(out, "audio");
    weir_buf_append_byte(out, '{');
    put_members(out, members);
    if (transcript.p != NULL) {
        put_string(out, "transcript", transcript);
    }
    weir_buf_append_byte(out, '}');
}

static void put_delta(struct weir_buf *out, const struct weir_talk_out *e)
{
    bool is_transcript = e->channel == WEIR_CHANNEL_TRANSCRIPT;
    put_key(out, "delta");
    weir_buf_append_byte(out, '{');
    if (e->says_role) {
        put_json(out, "role", WEIR_SLICE("\"assistant\""));
    }
    if (e->text.p != NULL && !is_transcript) {
        put_string(out, weir_channel_name(e->channel), e->text);
    }
    put_audio(out, e->audio, is_transcript ? e->text : (struct weir_slice){0});
    put_members(out, e->members);
    weir_buf_append_byte(out, '}');
}

static void put_message(struct weir_buf *out, const struct weir_talk_out *e)
{
    put_key(out, "message");
    put(out, WEIR_SLICE("{\"role\":\"assistant\""));
    for (size_t i = 0; i < WEIR_CHANNEL_TRANSCRIPT; i++) {
        const char *name = weir_channel_name((enum weir_channel)i);
        if (e->texts[i].p != NULL) {
            put_string(out, name, e->texts[i]);
        } else if (i == WEIR_CHANNEL_CONTENT || i == WEIR_CHANNEL_REFUSAL) {
            put_or_null(out, name, WEIR_SLICE("null"));
        }
    }
    put_audio(out, e->audio, e->texts[WEIR_CHANNEL_TRANSCRIPT]);
    put_members(out, e->members);
    weir_buf_append_byte(out, '}');
}

/* ---- the choice and what surrounds it ---- */

static void open_choice(struct weir_buf *out, const struct weir_talk_out *e)
{
    put(out, WEIR_SLICE("{\"index\":"));
    weir_buf_append_u64(out, e->place);
}

static void close_choice(struct weir_buf *out, const struct weir_talk_out *e)
{
    put_or_null(out, "logprobs", e->logprobs);
    put_or_null(out, "finish_reason", e->finish);
    put_json(out, "stop_reason", e->stop_reason);
    put_members(out, e->extras);
    weir_buf_append_byte(out, '}');
}

static void open_event(struct weir_buf *out, const struct weir_talk_out *e)
{
    weir_buf_append_byte(out, '{');
    put(out, weir_envelope_members(e->envelope));
    put_key(out, "choices");
    weir_buf_append_byte(out, '[');
}

static void close_event(struct weir_buf *out, const struct weir_talk_out *e)
{
    weir_buf_append_byte(out, ']');
    put_members(out, e->top_extras);
    put_json(out, "usage", e->usage);
    put_json(out, "detections", e->detections);
    put_json(out, "warnings", e->warnings);
    weir_buf_append_byte(out, '}');
}

void weir_openai_write_choice(const struct weir_talk_out *e, struct weir_buf *out)
{
    open_choice(out, e);
    if (e->form == WEIR_TALK_ANSWER) {
        put_message(out, e);
    } else {
        put_delta(out, e);
    }
    close_choice(out, e);
}

void weir_openai_write_choice_of_text(const struct weir_talk_out *e, struct weir_buf *out)
{
    struct weir_slice text = e->texts != NULL ? e->texts[WEIR_CHANNEL_CONTENT] : e->text;
    open_choice(out, e);
    put_string(out, "text", text.p != NULL ? text : WEIR_SLICE(""));
    close_choice(out, e);
}

void weir_openai_write_event(const struct weir_talk_out *e, struct weir_buf *out)
{
    open_event(out, e);
    weir_openai_write_choice(e, out);
    close_event(out, e);
}

/* An answer around its choices, or an event without any. */
void weir_openai_write_answer(const struct weir_talk_out *e, struct weir_buf *out)
{
    open_event(out, e);
    put(out, e->choices);
    close_event(out, e);
}

void weir_openai_write_event_of_text(const struct weir_talk_out *e, struct weir_buf *out)
{
    open_event(out, e);
    weir_openai_write_choice_of_text(e, out);
    close_event(out, e);
}
