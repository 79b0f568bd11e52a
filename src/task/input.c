#include "task/input.h"

#include "task/results.h"

void weir_input_start(struct weir_input *in, struct weir_task_ctx *task,
                      const struct weir_plan *plan, weir_scan_done_fn on_done, void *ctx)
{
    if (in->asked != NULL) {
        weir_asked_start(in->asked, task, on_done, ctx);
        return;
    }
    in->scan = weir_scan_new(task, on_done, ctx);
    in->groups = weir_arena_array(task->arena, in->n, sizeof(void *));
    for (size_t i = 0; i < in->n; i++) {
        const struct weir_input_text *t = &in->texts[i];
        in->groups[i] = weir_scan_add_group(in->scan, WEIR_RESULTS_COMPLETION);
        weir_scan_add_masked(in->groups[i], plan, t->text, t->masks, t->n_masks);
    }
    weir_scan_start(in->scan);
}

size_t weir_input_n_found(const struct weir_input *in)
{
    size_t n = 0;
    if (in->asked != NULL) {
        return weir_asked_n_found(in->asked);
    }
    for (size_t i = 0; in->groups != NULL && i < in->n; i++) {
        n += in->groups[i]->n_found;
    }
    return n;
}

void weir_input_write(struct weir_json_write *w, const struct weir_input *in)
{
    if (in->asked != NULL) {
        weir_asked_write(w, in->asked);
        return;
    }
    weir_json_write_begin_array(w);
    for (size_t i = 0; i < in->n; i++) {
        if (in->groups[i]->n_found == 0) {
            continue;
        }
        weir_json_write_begin_object(w);
        weir_json_write_key(w, WEIR_SLICE("message_index"));
        weir_json_write_u64(w, in->texts[i].message_index);
        weir_json_write_key(w, WEIR_SLICE("results"));
        weir_scan_write_results(w, in->groups[i]);
        weir_json_write_end_object(w);
    }
    weir_json_write_end_array(w);
}

void weir_input_edit(const struct weir_input *in, struct weir_json_edit *e)
{
    if (in->asked != NULL) {
        weir_asked_edit(in->asked, e);
    }
}
