/*
 * Events of choices on routes that block or redact: written anew from what is known of the
 * server's, with what may leave.
 */
#include "task/completion_enforce_int.h"

void weir_cs__write_event(struct weir_cs *cs, const struct weir_json *json, uint32_t choice,
                          const struct weir_cs_event *e, struct weir_buf *out)
{
    struct weir_buf choices = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &choices);
    weir_json_write_begin_array(&w);
    weir_enforce_write_choice(&w, &(struct weir_enforce_choice){.json = json,
                                                                .choice = choice,
                                                                .body_name = weir_cs__body_name(cs),
                                                                .body = e->body,
                                                                .logprobs = e->logprobs,
                                                                .finish = e->finish,
                                                                .is_tainted = e->is_tainted,
                                                                .keeps_unknown = e->keeps_unknown});
    weir_json_write_end_array(&w);
    struct weir_enforce_answer answer = {.json = json,
                                         .choices = weir_buf_slice(&choices),
                                         .with_usage = e->with_usage,
                                         .is_tainted = e->is_tainted,
                                         .keeps_unknown = e->keeps_unknown,
                                         .detections = e->detections};
    if (e->is_found) {
        answer.warnings = weir_event_unsuitable_output();
    }
    weir_enforce_write_answer(out, &answer);
    weir_buf_dispose(&choices);
}

void weir_cs__emit_event(struct weir_cs_choice *choice, const struct weir_cs_event *e)
{
    struct weir_cs *cs = choice->cs;
    struct weir_json json;
    struct weir_buf out = {0};
    if (weir_json_parse_reuse(&json, e->envelope, NULL, &cs->scratch->envelope, NULL) == 0) {
        uint32_t choices = weir_json_get(&json, 0, WEIR_SLICE("choices"));
        weir_cs__write_event(cs, &json, weir_json_first(&json, choices), e, &out);
        weir_cs__emit(cs, weir_buf_slice(&out));
    }
    weir_buf_dispose(&out);
}

void weir_cs__begin_delta(struct weir_json_write *w, struct weir_cs_choice *choice,
                          struct weir_buf *out)
{
    weir_json_write_init(w, out);
    weir_json_write_begin_object(w);
    if (choice->role == WEIR_CS_ROLE_UNSAID) {
        choice->role = WEIR_CS_ROLE_SAID;
        weir_json_write_key(w, WEIR_SLICE("role"));
        weir_json_write_string(w, WEIR_SLICE("assistant"));
    }
}

/* Said once. */
static void write_once(struct weir_json_write *w, const char *name, struct weir_buf *json)
{
    if (json->n != 0) {
        weir_json_write_key(w, weir_slice_cstr(name));
        weir_json_write_raw(w, weir_buf_slice(json));
        weir_buf_dispose(json);
    }
}

void weir_cs__write_audio(struct weir_json_write *w, struct weir_cs_enforced *e,
                          struct weir_slice text)
{
    weir_json_write_key(w, WEIR_SLICE("audio"));
    weir_json_write_begin_object(w);
    write_once(w, "id", &e->audio_id);
    if (text.p != NULL) {
        weir_json_write_key(w, WEIR_SLICE("transcript"));
        weir_json_write_string(w, text);
    }
    write_once(w, "expires_at", &e->audio_expires);
    weir_json_write_end_object(w);
}

void weir_cs__write_said(struct weir_cs_choice *choice, enum weir_channel channel,
                         struct weir_slice text, struct weir_buf *out)
{
    struct weir_json_write w;
    if (!choice->cs->request.is_chat) {
        weir_json_write_quoted(out, text);
        return;
    }
    weir_cs__begin_delta(&w, choice, out);
    if (channel == WEIR_CHANNEL_TRANSCRIPT) {
        weir_cs__write_audio(&w, choice->enforced, text);
    } else {
        weir_json_write_key(&w, weir_slice_cstr(weir_channel_name(channel)));
        weir_json_write_string(&w, text);
    }
    weir_json_write_end_object(&w);
}

void weir_cs__write_silence(struct weir_cs_choice *choice, struct weir_buf *out)
{
    struct weir_json_write w;
    if (!choice->cs->request.is_chat) {
        weir_buf_append(out, WEIR_SLICE("\"\""));
        return;
    }
    weir_cs__begin_delta(&w, choice, out);
    weir_json_write_end_object(&w);
}
