#include "task/input.h"

#include "task/redact.h"
#include "task/results.h"

void weir_input_start(struct weir_input *in, struct weir_task_ctx *task,
                      const struct weir_plan *plan, weir_scan_done_fn on_done, void *ctx)
{
    in->scan = weir_scan_new(task, on_done, ctx);
    in->groups = weir_arena_array(task->arena, in->n, sizeof(void *));
    for (size_t i = 0; i < in->n; i++) {
        const struct weir_input_text *t = &in->texts[i];
        in->groups[i] = weir_scan_add_group(in->scan, in->shape);
        weir_scan_add_masked(in->groups[i], plan, t->text, t->masks, t->n_masks);
    }
    weir_scan_start(in->scan);
}

size_t weir_input_n_found(const struct weir_input *in)
{
    size_t n = 0;
    for (size_t i = 0; in->groups != NULL && i < in->n; i++) {
        n += in->groups[i]->n_found;
    }
    return n;
}

void weir_input_write(struct weir_json_write *w, const struct weir_input *in)
{
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < in->n; i++) {
        const struct weir_input_text *t = &in->texts[i];
        if (in->groups[i]->n_found == 0) {
            continue;
        }
        weir_json_write_begin_object(w);
        weir_json_write_key(w, WEIR_SLICE("message_index"));
        weir_json_write_u64(w, t->message_index);
        if (t->part_index != WEIR_INPUT_NO_PART) {
            weir_json_write_key(w, WEIR_SLICE("part_index"));
            weir_json_write_u64(w, t->part_index);
        }
        weir_json_write_key(w, WEIR_SLICE("results"));
        weir_scan_write_results(w, in->groups[i]);
        weir_json_write_end_object(w);
    }
    weir_json_write_end_array(w);
}

static bool has_spans(const struct weir_scan_group *group)
{
    for (size_t i = 0; i < group->n_found; i++) {
        if (!weir_redact_can(group->found[i])) {
            return false;
        }
    }
    return true;
}

/* The text with its findings replaced, in the arena. */
static struct weir_slice redacted(const struct weir_input_text *t,
                                  const struct weir_scan_group *group, struct weir_arena *arena,
                                  struct weir_slice redact_with)
{
    struct weir_redact redact = {0};
    struct weir_buf out = {0};
    weir_redact_piece(&redact, redact_with,
                      &(struct weir_redact_piece){
                          .text = t->text, .findings = group->found, .n_findings = group->n_found},
                      &out);
    struct weir_slice text = weir_arena_take_buf(arena, &out);
    return text;
}

bool weir_input_can_redact(const struct weir_input *in)
{
    for (size_t i = 0; in->groups != NULL && i < in->n; i++) {
        if (!has_spans(in->groups[i])) {
            return false;
        }
    }
    return true;
}

void weir_input_redact(const struct weir_input *in, struct weir_task_ctx *task,
                       struct weir_slice redact_with, struct weir_json_edit *e)
{
    for (size_t i = 0; in->groups != NULL && i < in->n; i++) {
        const struct weir_scan_group *group = in->groups[i];
        if (group->n_found != 0) {
            weir_json_edit_replace_string(e, in->texts[i].node,
                                          redacted(&in->texts[i], group, task->arena, redact_with));
        }
    }
}
