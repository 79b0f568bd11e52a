/* What leaves of a message as events. */
#include "task/event.h"
#include "task/message_int.h"
#include "wire/json_write.h"

/* ---- blocks ---- */

static void send_open(struct weir_msg *m, struct weir_slice block)
{
    m->is_thought_changed = false;
    weir_messages_write_block(m->n_opened++, block, weir_rowed_scratch(&m->base));
    m->has_open = true;
    weir_rowed_send_written(&m->base);
}

static void send_stop(struct weir_msg *m)
{
    weir_messages_write_block_stop(m->n_opened - 1, weir_rowed_scratch(&m->base));
    m->has_open = false;
    weir_rowed_send_written(&m->base);
}

static void send_delta(struct weir_msg *m, enum weir_messages_kind kind, struct weir_slice text)
{
    if (text.n != 0) {
        struct weir_messages_delta d = {.index = m->n_opened - 1, .kind = kind, .text = text};
        weir_messages_write_delta(&d, weir_rowed_scratch(&m->base));
        weir_rowed_send_written(&m->base);
    }
}

static void send_call(struct weir_msg *m, const struct weir_row_line *line)
{
    struct weir_buf input = {0};
    send_open(m, line->json);
    weir_rowed_restore(&m->base, line->input, WEIR_RESTORE_ARGUMENTS, &input);
    send_delta(m, WEIR_MESSAGES_TOOL, weir_buf_slice(&input));
    weir_buf_dispose(&input);
    send_stop(m);
}

static void send_whole(struct weir_msg *m, struct weir_slice lines)
{
    m->n_opened++;
    while (lines.n != 0) {
        weir_rowed_restore(&m->base, weir_slice_cut(&lines, '\n'), WEIR_RESTORE_ITEM,
                           weir_rowed_scratch(&m->base));
        weir_rowed_send_written(&m->base);
    }
    send_stop(m);
}

static void send_citation(struct weir_msg *m, struct weir_slice json)
{
    struct weir_buf citation = {0};
    weir_rowed_restore(&m->base, json, WEIR_RESTORE_ITEM, &citation);
    send_delta(m, WEIR_MESSAGES_CITATION, weir_buf_slice(&citation));
    weir_buf_dispose(&citation);
}

/* It stands quoted in its line. */
static void send_signature(struct weir_msg *m, struct weir_slice line)
{
    struct weir_slice quoted = weir_msg__signature(m, line);
    send_delta(m, WEIR_MESSAGES_SEALED, weir_slice_sub(quoted, 1, quoted.n - 1));
}

/* ---- the end ---- */

static void write_ending(struct weir_msg *m, struct weir_slice stop)
{
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    weir_rowed_write_all_found(&m->base, false, &detections);
    weir_rowed_write_warnings(&m->base, false, &warnings);
    struct weir_messages_ending e = {.stop = stop,
                                     .usage = weir_buf_slice(&m->usage),
                                     .detections = weir_buf_slice(&detections),
                                     .warnings = weir_buf_slice(&warnings)};
    weir_messages_write_ending(&e, weir_rowed_scratch(&m->base));
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
}

static void send_ending(struct weir_msg *m, const struct weir_row_line *line)
{
    if (m->base.enforces) {
        struct weir_slice rest = line->json;
        struct weir_slice stop = weir_slice_cut(&rest, '\n');
        write_ending(m, line->is_touched ? rest : stop);
        weir_rowed_send_written(&m->base);
        return;
    }
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    weir_rowed_write_all_found(&m->base, false, &detections);
    weir_rowed_write_warnings(&m->base, false, &warnings);
    if (detections.n != 0) {
        weir_rowed_patch(line->json, weir_buf_slice(&detections), weir_buf_slice(&warnings),
                         weir_rowed_scratch(&m->base));
        weir_rowed_send_written(&m->base);
    } else {
        weir_rowed_send(&m->base, line->json, line->raw);
    }
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
}

static void send_words(struct weir_msg *m)
{
    struct weir_buf block = {0};
    if (m->has_open) {
        send_stop(m);
    }
    if (weir_rowed_says_words(&m->base)) {
        weir_messages_write_text_block(WEIR_SLICE(""), &block);
        send_open(m, weir_buf_slice(&block));
        send_delta(m, WEIR_MESSAGES_TEXT, weir_rowed_words(&m->base));
        send_stop(m);
    }
    weir_buf_dispose(&block);
}

/* The route's words and their ending. */
static void refuse(struct weir_msg *m)
{
    struct weir_buf stop = {0};
    send_words(m);
    weir_messages_write_refusal(weir_rowed_words(&m->base), m->base.request.policy->ends_completed,
                                &stop);
    write_ending(m, weir_buf_slice(&stop));
    weir_buf_dispose(&stop);
    weir_rowed_send_written(&m->base);
    weir_buf_append(weir_rowed_scratch(&m->base), WEIR_MESSAGES_STOP_EVENT);
    weir_rowed_send_written(&m->base);
    weir_rowed_send_waiting(&m->base);
    weir_stream_end(&m->base.stream);
}

void weir_msg__refuse_stream(struct weir_rowed *r)
{
    struct weir_msg *m = (struct weir_msg *)r;
    struct weir_buf head = {0};
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    weir_msg__write_own_head(m, &head);
    weir_rowed_write_all_found(&m->base, true, &detections);
    weir_rowed_write_warnings(&m->base, true, &warnings);
    weir_buf_append(&m->usage, WEIR_MSG_NO_USAGE);
    struct weir_buf start = {0};
    weir_messages_write_start(weir_buf_slice(&head), weir_buf_slice(&m->usage), &start);
    weir_rowed_patch(weir_buf_slice(&start), weir_buf_slice(&detections), weir_buf_slice(&warnings),
                     weir_rowed_scratch(&m->base));
    weir_rowed_send_written(&m->base);
    refuse(m);
    weir_buf_dispose(&start);
    weir_buf_dispose(&head);
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
}

/* ---- what the row says ---- */

static void on_line(void *ctx, const struct weir_row_line *line)
{
    struct weir_msg *m = ctx;
    if (m->base.stream.is_over) {
        return;
    }
    switch ((enum weir_msg_tag)line->tag) {
    case WEIR_MSG_OPEN:
        send_open(m, line->json);
        break;
    case WEIR_MSG_STOP:
        send_stop(m);
        break;
    case WEIR_MSG_ENDING:
        send_ending(m, line);
        break;
    case WEIR_MSG_SIGNATURE:
        send_signature(m, line->json);
        break;
    case WEIR_MSG_CALL:
    case WEIR_MSG_CITATION:
    case WEIR_MSG_WHOLE:
    case WEIR_MSG_EVENT:
        if (!m->base.enforces) {
            weir_rowed_send(&m->base, line->json, line->raw);
        } else if (line->tag == WEIR_MSG_CALL) {
            send_call(m, line);
        } else if (line->tag == WEIR_MSG_CITATION) {
            send_citation(m, line->json);
        } else if (line->tag == WEIR_MSG_WHOLE) {
            send_whole(m, line->json);
        } else {
            weir_buf_append(weir_rowed_scratch(&m->base), line->json);
            weir_rowed_send_written(&m->base);
        }
        break;
    }
}

static void write_text(struct weir_msg *m, const struct weir_row_text *text)
{
    static const char *const path[] = {"delta", "text", NULL};
    struct weir_buf detections = {0};
    bool is_thinking = text->found.channel == WEIR_CHANNEL_REASONING;
    weir_rowed_write_found(&m->base, &text->found, &detections);
    struct weir_messages_delta d = {
        .index = text->found.number,
        .kind = is_thinking ? WEIR_MESSAGES_THINKING : WEIR_MESSAGES_TEXT,
        .text = text->text,
        .detections = weir_buf_slice(&detections),
        .warnings = detections.n != 0 ? weir_event_unsuitable_output() : WEIR_SLICE("")};
    if (text->json.n != 0) {
        weir_rowed_patch_text(text, path, d.detections, weir_rowed_scratch(&m->base));
    } else {
        weir_messages_write_delta(&d, weir_rowed_scratch(&m->base));
    }
    weir_buf_dispose(&detections);
}

static void on_text(void *ctx, const struct weir_row_text *text)
{
    struct weir_msg *m = ctx;
    if (m->base.stream.is_over) {
        return;
    }
    weir_rowed_note_text(&m->base, text);
    m->is_thought_changed = m->is_thought_changed || text->is_changed;
    if (text->json.n != 0 && !text->is_rest && text->found.n_findings == 0) {
        weir_rowed_send(&m->base, text->json, text->raw);
    } else {
        write_text(m, text);
        weir_rowed_send_written(&m->base);
    }
}

void weir_msg__stop(struct weir_rowed *r)
{
    struct weir_msg *m = (struct weir_msg *)r;
    if (weir_rowed_holds_text(r)) {
        m->has_open = false;
        m->n_opened = 0;
    }
    refuse(m);
}

const struct weir_row_ops weir_msg__stream_ops = {
    .line = on_line,
    .text = on_text,
    .found = weir_rowed_on_found,
    .blocked = weir_rowed_on_blocked,
    .left = weir_rowed_on_left,
    .failed = weir_rowed_on_failed,
    .progress = weir_rowed_on_progress,
    .history = weir_rowed_on_history,
};
