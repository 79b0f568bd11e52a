/* What leaves of a whole message: where the route blocks or redacts it is put together anew, else
 * it is the server's own with findings added. */
#include "task/message_int.h"
#include "wire/json_write.h"

/* ---- the answer ---- */

static void write_refused(struct weir_msg *m)
{
    weir_buf_clear(&m->content);
    weir_buf_clear(&m->stop);
    if (weir_rowed_says_words(&m->base)) {
        weir_messages_write_text_block(weir_rowed_words(&m->base), &m->content);
    }
    weir_messages_write_refusal(weir_rowed_words(&m->base), m->base.request.policy->ends_completed,
                                &m->stop);
    if (m->head.n == 0) {
        weir_msg__write_own_head(m, &m->head);
        weir_buf_append(&m->usage, WEIR_MSG_NO_USAGE);
    }
}

void weir_msg__answer(struct weir_rowed *r, bool is_refused)
{
    struct weir_msg *m = (struct weir_msg *)r;
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    struct weir_buf out = {0};
    weir_rowed_write_all_found(&m->base, true, &detections);
    weir_rowed_write_warnings(&m->base, true, &warnings);
    if (is_refused) {
        write_refused(m);
    }
    if (is_refused || m->base.enforces) {
        struct weir_messages_ending e = {.stop = weir_buf_slice(&m->stop),
                                         .usage = weir_buf_slice(&m->usage),
                                         .detections = weir_buf_slice(&detections),
                                         .warnings = weir_buf_slice(&warnings)};
        weir_messages_write_whole(weir_buf_slice(&m->head), weir_buf_slice(&m->content), &e, &out);
    } else {
        weir_rowed_patch(m->base.answer.src, weir_buf_slice(&detections), weir_buf_slice(&warnings),
                         &out);
    }
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
    weir_rowed_finish(r, &out);
}

/* ---- blocks ---- */

static void begin_block(struct weir_msg *m)
{
    weir_buf_append(&m->content, m->content.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
}

/* The empty block waits in `shown`; what it says in `text`. */
static void open_block(struct weir_msg *m, struct weir_slice empty)
{
    m->is_thought_changed = false;
    weir_buf_clear(&m->shown);
    weir_buf_clear(&m->text);
    weir_buf_clear(&m->citations);
    weir_buf_append(&m->shown, empty);
}

/* Puts a value in the place of the last one of that spelling, which the empty block has. */
static void fill(struct weir_buf *block, const char *empty, struct weir_slice value)
{
    size_t n = strlen(empty);
    const char *at = memmem(block->p, block->n, empty, n);
    if (at == NULL) {
        return;
    }
    size_t end = (size_t)(at - block->p) + n - 2; /* both spellings end in two bytes: "" or [] */
    struct weir_buf out = {0};
    struct weir_slice all = weir_buf_slice(block);
    weir_buf_append(&out, weir_slice_sub(all, 0, end));
    weir_buf_append(&out, value);
    weir_buf_append(&out, weir_slice_sub(all, end + 2, all.n));
    weir_buf_dispose(block);
    *block = out;
}

static void close_block(struct weir_msg *m)
{
    struct weir_buf quoted = {0};
    struct weir_buf list = {0};
    weir_json_write_quoted(&quoted, weir_buf_slice(&m->text));
    weir_buf_append_byte(&list, '[');
    weir_buf_append(&list, weir_buf_slice(&m->citations));
    weir_buf_append_byte(&list, ']');
    fill(&m->shown, "\"text\":\"\"", weir_buf_slice(&quoted));
    fill(&m->shown, "\"thinking\":\"\"", weir_buf_slice(&quoted));
    fill(&m->shown, "\"citations\":[]", weir_buf_slice(&list));
    begin_block(m);
    weir_buf_append(&m->content, weir_buf_slice(&m->shown));
    weir_buf_dispose(&quoted);
    weir_buf_dispose(&list);
}

static void add_call(struct weir_msg *m, const struct weir_row_line *line)
{
    struct weir_slice empty = line->json;
    struct weir_buf input = {0};
    weir_rowed_restore(&m->base, line->input, WEIR_RESTORE_ARGUMENTS, &input);
    begin_block(m);
    weir_buf_append(&m->content, weir_slice_sub(empty, 0, empty.n - 3)); /* without {}} */
    weir_buf_append(&m->content, input.n != 0 ? weir_buf_slice(&input) : WEIR_SLICE("{}"));
    weir_buf_append_byte(&m->content, '}');
    weir_buf_dispose(&input);
}

/* ---- what the row says ---- */

static void on_line(void *ctx, const struct weir_row_line *line)
{
    struct weir_msg *m = ctx;
    struct weir_slice rest = line->json;
    if (!m->base.enforces) {
        return;
    }
    switch ((enum weir_msg_tag)line->tag) {
    case WEIR_MSG_OPEN:
        open_block(m, line->json);
        break;
    case WEIR_MSG_STOP:
        close_block(m);
        break;
    case WEIR_MSG_CALL:
        add_call(m, line);
        break;
    case WEIR_MSG_CITATION:
        weir_buf_append(&m->citations, m->citations.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_rowed_restore(&m->base, line->json, WEIR_RESTORE_ITEM, &m->citations);
        break;
    case WEIR_MSG_SIGNATURE:
        fill(&m->shown, "\"signature\":\"\"", weir_msg__signature(m, line->json));
        break;
    case WEIR_MSG_WHOLE:
        begin_block(m);
        weir_rowed_restore(&m->base, line->json, WEIR_RESTORE_ITEM, &m->content);
        break;
    case WEIR_MSG_ENDING: {
        struct weir_slice stop = weir_slice_cut(&rest, '\n');
        weir_buf_append(&m->stop, line->is_touched ? rest : stop);
        break;
    }
    case WEIR_MSG_EVENT:
        break;
    }
}

static void on_text(void *ctx, const struct weir_row_text *text)
{
    struct weir_msg *m = ctx;
    weir_rowed_note_text(&m->base, text);
    m->is_thought_changed = m->is_thought_changed || text->is_changed;
    weir_buf_append(&m->text, text->text);
}

const struct weir_row_ops weir_msg__unary_ops = {
    .line = on_line,
    .text = on_text,
    .found = weir_rowed_on_found,
    .blocked = weir_rowed_on_blocked,
    .left = weir_rowed_on_left,
    .failed = weir_rowed_on_failed,
    .progress = weir_rowed_on_progress,
    .history = weir_rowed_on_history,
};
