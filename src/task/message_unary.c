/* What leaves of a whole message: where the route blocks or redacts it is put together anew, else
 * it is the server's own with findings added. */
#include "task/message_int.h"
#include "wire/json_write.h"

/* ---- the answer ---- */

static void finish(struct weir_msg *m, struct weir_buf *out)
{
    struct weir_task_answer answer = {.body = weir_arena_take_buf(m->task->arena, out)};
    m->is_over = true;
    weir_loop_post(m->task->loop, &m->cleanup);
    m->done(m->ctx, &answer);
}

static void write_refused(struct weir_msg *m)
{
    weir_buf_clear(&m->content);
    weir_buf_clear(&m->stop);
    if (weir_msg__says_words(m)) {
        weir_messages_write_text_block(weir_msg__words(m), &m->content);
    }
    weir_messages_write_refusal(weir_msg__words(m), m->request.policy->ends_completed, &m->stop);
    if (m->head.n == 0) {
        weir_msg__write_own_head(m, &m->head);
        weir_buf_append(&m->usage, WEIR_MSG_NO_USAGE);
    }
}

void weir_msg__answer(struct weir_msg *m, bool is_refused)
{
    struct weir_buf detections = {0};
    struct weir_buf warnings = {0};
    struct weir_buf out = {0};
    weir_msg__write_all_found(m, true, &detections);
    weir_msg__write_warnings(m, true, &warnings);
    if (is_refused) {
        write_refused(m);
    }
    if (is_refused || m->enforces) {
        struct weir_messages_ending e = {.stop = weir_buf_slice(&m->stop),
                                         .usage = weir_buf_slice(&m->usage),
                                         .detections = weir_buf_slice(&detections),
                                         .warnings = weir_buf_slice(&warnings)};
        weir_messages_write_whole(weir_buf_slice(&m->head), weir_buf_slice(&m->content), &e, &out);
    } else {
        weir_msg__patch(m->answer.src, weir_buf_slice(&detections), weir_buf_slice(&warnings),
                        &out);
    }
    weir_buf_dispose(&detections);
    weir_buf_dispose(&warnings);
    finish(m, &out);
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
    struct weir_slice input = weir_msg__arguments(m, line->input);
    begin_block(m);
    weir_buf_append(&m->content, weir_slice_sub(empty, 0, empty.n - 3)); /* without {}} */
    weir_buf_append(&m->content, input.n != 0 ? input : WEIR_SLICE("{}"));
    weir_buf_append_byte(&m->content, '}');
}

/* ---- what the row says ---- */

static void on_line(void *ctx, const struct weir_row_line *line)
{
    struct weir_msg *m = ctx;
    struct weir_slice rest = line->json;
    if (!m->enforces) {
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
        weir_buf_append(&m->citations, line->json);
        break;
    case WEIR_MSG_SIGNATURE:
        fill(&m->shown, "\"signature\":\"\"", weir_msg__signature(m, line->json));
        break;
    case WEIR_MSG_WHOLE:
        begin_block(m);
        weir_buf_append(&m->content, line->json);
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
    weir_msg__keep_found(m, &text->found);
    m->is_thought_changed = m->is_thought_changed || text->is_changed;
    if (text->is_changed) {
        weir_msg__note_outcome(m, WEIR_POLICY_REDACTED);
    }
    weir_buf_append(&m->text, text->text);
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
    if (m->request.policy->block_as == WEIR_POLICY_BLOCK_AS_ERROR) {
        struct weir_fault refused = weir_completion_block_fault(&m->request);
        weir_msg__fail(m, &refused);
    } else {
        weir_msg__answer(m, true);
    }
}

static void on_left(void *ctx)
{
    struct weir_msg *m = ctx;
    weir_msg__count(m);
    weir_msg__answer(m, false);
}

static void on_failed(void *ctx, const struct weir_fault *fault)
{
    weir_msg__fail(ctx, fault);
}

static void on_progress(void *ctx)
{
    weir_msg__advance(ctx);
}

const struct weir_row_ops weir_msg__unary_ops = {
    .line = on_line,
    .text = on_text,
    .found = on_found,
    .blocked = on_blocked,
    .left = on_left,
    .failed = on_failed,
    .progress = on_progress,
};
