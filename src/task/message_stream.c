/* What leaves of a message as events. */
#include "task/event.h"
#include "task/message_int.h"
#include "task/scratch.h"
#include "wire/json_write.h"

/* Where JSON was asked for, half of it is of no use: it leaves when all of it is known to be clean.
 */
static bool holds_text(const struct weir_msg *m)
{
    return m->request.asks_json && m->enforces &&
           weir_policy_on_output(m->request.policy)->holds_json;
}

/* ---- sending ---- */

static void transmit(struct weir_msg *m, struct weir_slice json, struct weir_slice raw)
{
    struct weir_buf told = {0};
    json = weir_skips_tell(&m->task->skips, json, &told);
    struct weir_out_raw event = {.bytes = raw, .json = json};
    bool is_raw = raw.n != 0 && told.n == 0;
    enum weir_flow flow =
        is_raw ? m->out->ops->raw(m->out, &event) : m->out->ops->event(m->out, json);
    if (flow == WEIR_FLOW_FULL) {
        weir_source_set_full(&m->source, true);
    }
    weir_buf_dispose(&told);
}

/* The first event takes along what was found in the question. */
static void send_leading(struct weir_msg *m, struct weir_slice json)
{
    struct weir_buf out = {0};
    struct weir_buf detections = {0};
    if (m->lead_detections.n != 0) {
        weir_buf_append(&detections, WEIR_SLICE("{\"input\":"));
        weir_buf_append(&detections, weir_buf_slice(&m->lead_detections));
        weir_buf_append_byte(&detections, '}');
    }
    m->has_lead = false;
    weir_msg__patch(json, weir_buf_slice(&detections), weir_buf_slice(&m->lead_warnings), &out);
    transmit(m, weir_buf_slice(&out), WEIR_SLICE(""));
    weir_buf_dispose(&out);
    weir_buf_dispose(&detections);
}

void weir_msg__send(struct weir_msg *m, struct weir_slice json, struct weir_slice raw)
{
    if (m->is_over) {
        return;
    }
    if (m->has_lead) {
        send_leading(m, json);
    } else {
        transmit(m, json, raw);
    }
}

/* An event of our writing, in the scratch buffer. It leaves, or waits until the answer is known to
 * be clean; message_start never waits. */
static void send_written(struct weir_msg *m)
{
    struct weir_slice json = weir_buf_slice(&m->task->scratch->out);
    bool waits = holds_text(m) && m->has_start;
    m->has_start = true;
    if (!waits) {
        weir_msg__send(m, json, WEIR_SLICE(""));
    } else if (weir_buf_append(&m->waiting, json) != 0 ||
               weir_buf_append_byte(&m->waiting, '\n') != 0) {
        struct weir_fault fault =
            weir_source_limit_fault(m->task->arena, m->task->env->max_held_bytes);
        weir_msg__fail(m, &fault);
    }
}

static struct weir_buf *scratch(struct weir_msg *m)
{
    weir_buf_clear(&m->task->scratch->out);
    return &m->task->scratch->out;
}

static void send_waiting(struct weir_msg *m)
{
    struct weir_slice rest = weir_buf_slice(&m->waiting);
    while (rest.n != 0 && !m->is_over) {
        weir_msg__send(m, weir_slice_cut(&rest, '\n'), WEIR_SLICE(""));
    }
    weir_buf_dispose(&m->waiting);
}

/* ---- blocks ---- */

static void send_open(struct weir_msg *m, struct weir_slice block)
{
    m->is_thought_changed = false;
    weir_messages_write_block(m->n_opened++, block, scratch(m));
    m->has_open = true;
    send_written(m);
}

static void send_stop(struct weir_msg *m)
{
    weir_messages_write_block_stop(m->n_opened - 1, scratch(m));
    m->has_open = false;
    send_written(m);
}

static void send_delta(struct weir_msg *m, enum weir_messages_kind kind, struct weir_slice text)
{
    if (text.n != 0) {
        struct weir_messages_delta d = {.index = m->n_opened - 1, .kind = kind, .text = text};
        weir_messages_write_delta(&d, scratch(m));
        send_written(m);
    }
}

static void send_call(struct weir_msg *m, const struct weir_row_line *line)
{
    send_open(m, line->json);
    send_delta(m, WEIR_MESSAGES_TOOL, weir_msg__arguments(m, line->input));
    send_stop(m);
}

static void send_whole(struct weir_msg *m, struct weir_slice lines)
{
    m->n_opened++;
    while (lines.n != 0) {
        weir_buf_append(scratch(m), weir_slice_cut(&lines, '\n'));
        send_written(m);
    }
    send_stop(m);
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
    weir_msg__write_all_found(m, false, &detections);
    weir_msg__write_warnings(m, false, &warnings);
    struct weir_messages_ending e = {.stop = stop,
                                     .usage = weir_buf_slice(&m->usage),
                                     .detections = weir_buf_slice(&detections),
                                     .warnings = weir_buf_slice(&warnings)};
    weir_messages_write_ending(&e, scratch(m));
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
}

static void send_ending(struct weir_msg *m, const struct weir_row_line *line)
{
    if (m->enforces) {
        struct weir_slice rest = line->json;
        struct weir_slice stop = weir_slice_cut(&rest, '\n');
        write_ending(m, line->is_touched ? rest : stop);
        send_written(m);
        return;
    }
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    weir_msg__write_all_found(m, false, &detections);
    weir_msg__write_warnings(m, false, &warnings);
    if (detections.n != 0) {
        weir_msg__patch(line->json, weir_buf_slice(&detections), weir_buf_slice(&warnings),
                        scratch(m));
        send_written(m);
    } else {
        weir_msg__send(m, line->json, line->raw);
    }
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
}

static void end(struct weir_msg *m)
{
    m->is_over = true;
    weir_source_end(&m->source);
    weir_loop_post(m->task->loop, &m->cleanup);
    m->out->ops->end(m->out);
}

static void send_words(struct weir_msg *m)
{
    struct weir_buf block = {0};
    if (m->has_open) {
        send_stop(m);
    }
    if (weir_msg__says_words(m)) {
        weir_messages_write_text_block(WEIR_SLICE(""), &block);
        send_open(m, weir_buf_slice(&block));
        send_delta(m, WEIR_MESSAGES_TEXT, weir_msg__words(m));
        send_stop(m);
    }
    weir_buf_dispose(&block);
}

/* The route's words and their ending. */
static void refuse(struct weir_msg *m)
{
    struct weir_buf stop = {0};
    send_words(m);
    weir_messages_write_refusal(weir_msg__words(m), m->request.policy->ends_completed, &stop);
    write_ending(m, weir_buf_slice(&stop));
    weir_buf_dispose(&stop);
    send_written(m);
    weir_buf_append(scratch(m), WEIR_MESSAGES_STOP_EVENT);
    send_written(m);
    send_waiting(m);
    end(m);
}

void weir_msg__refuse_stream(struct weir_msg *m)
{
    struct weir_buf head = {0};
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    weir_msg__write_own_head(m, &head);
    weir_msg__write_all_found(m, true, &detections);
    weir_msg__write_warnings(m, true, &warnings);
    weir_buf_append(&m->usage, WEIR_MSG_NO_USAGE);
    struct weir_buf start = {0};
    weir_messages_write_start(weir_buf_slice(&head), weir_buf_slice(&m->usage), &start);
    weir_msg__patch(weir_buf_slice(&start), weir_buf_slice(&detections), weir_buf_slice(&warnings),
                    scratch(m));
    send_written(m);
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
    if (m->is_over) {
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
        if (!m->enforces) {
            weir_msg__send(m, line->json, line->raw);
        } else if (line->tag == WEIR_MSG_CALL) {
            send_call(m, line);
        } else if (line->tag == WEIR_MSG_CITATION) {
            send_delta(m, WEIR_MESSAGES_CITATION, line->json);
        } else if (line->tag == WEIR_MSG_WHOLE) {
            send_whole(m, line->json);
        } else {
            weir_buf_append(scratch(m), line->json);
            send_written(m);
        }
        break;
    }
}

static void write_text(struct weir_msg *m, const struct weir_row_text *text)
{
    struct weir_buf detections = {0};
    bool is_thinking = text->found.channel == WEIR_CHANNEL_REASONING;
    weir_msg__write_found(m, &text->found, &detections);
    struct weir_messages_delta d = {
        .index = text->found.number,
        .kind = is_thinking ? WEIR_MESSAGES_THINKING : WEIR_MESSAGES_TEXT,
        .text = text->text,
        .detections = weir_buf_slice(&detections),
        .warnings = detections.n != 0 ? weir_event_unsuitable_output() : WEIR_SLICE("")};
    if (text->json.n != 0) {
        weir_msg__patch(text->json, d.detections, d.warnings, scratch(m));
    } else {
        weir_messages_write_delta(&d, scratch(m));
    }
    weir_buf_dispose(&detections);
}

static void on_text(void *ctx, const struct weir_row_text *text)
{
    struct weir_msg *m = ctx;
    if (m->is_over) {
        return;
    }
    weir_msg__keep_found(m, &text->found);
    m->is_thought_changed = m->is_thought_changed || text->is_changed;
    if (text->found.n_findings != 0) {
        weir_msg__note_outcome(m, m->enforces ? WEIR_POLICY_REDACTED : WEIR_POLICY_ANNOTATED);
    }
    if (text->json.n != 0 && text->found.n_findings == 0) {
        weir_msg__send(m, text->json, text->raw);
    } else {
        write_text(m, text);
        send_written(m);
    }
}

static void on_found(void *ctx, const struct weir_row_found *found)
{
    struct weir_msg *m = ctx;
    weir_msg__keep_found(m, found);
    weir_msg__note_outcome(m, m->enforces ? WEIR_POLICY_REDACTED : WEIR_POLICY_ANNOTATED);
}

static void on_blocked(void *ctx, const struct weir_row_found *found)
{
    struct weir_msg *m = ctx;
    weir_msg__keep_found(m, found);
    weir_msg__note_outcome(m, WEIR_POLICY_BLOCKED);
    weir_msg__count(m);
    if (holds_text(m)) { /* what waits does not leave: nothing but message_start has */
        weir_buf_clear(&m->waiting);
        m->has_open = false;
        m->n_opened = 0;
    }
    refuse(m);
}

static void on_left(void *ctx)
{
    struct weir_msg *m = ctx;
    send_waiting(m);
    weir_msg__count(m);
    end(m);
}

static void on_failed(void *ctx, const struct weir_fault *fault)
{
    weir_msg__fail(ctx, fault);
}

static void on_progress(void *ctx)
{
    weir_msg__advance(ctx);
}

const struct weir_row_ops weir_msg__stream_ops = {
    .line = on_line,
    .text = on_text,
    .found = on_found,
    .blocked = on_blocked,
    .left = on_left,
    .failed = on_failed,
    .progress = on_progress,
};
