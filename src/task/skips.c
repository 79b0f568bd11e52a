#include "task/skips.h"

#include "base/err.h"
#include "obs/log.h"
#include "task/env.h"
#include "task/event.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

/* What the service could not do. Memory that we have not got is our own fault, and so is what a
 * caller wrote. */
static bool is_detectors_own(const struct weir_fault *fault)
{
    return fault->origin == WEIR_FAULT_DETECTOR && fault->err != WEIR_EFULL;
}

static void note(struct weir_task_ctx *task, const struct weir_fault *fault, struct weir_slice id)
{
    struct weir_skip **at = &task->skips.all;
    for (; *at != NULL; at = &(*at)->next) {
        if (weir_slice_eq((*at)->id, id)) {
            return;
        }
    }
    *at = weir_arena_zalloc(task->arena, sizeof **at);
    (*at)->id = id;
    WEIR_LOG(WEIR_LOG_LEVEL_WARN, "task", task->call.log, "detector skipped",
             weir_log_str("id", id), weir_log_err("error", fault->err),
             weir_log_i64("service_status", fault->status), weir_log_str("why", fault->why));
}

bool weir_skips_take(struct weir_task_ctx *task, const struct weir_task_detector *d,
                     const struct weir_fault *fault)
{
    if (!d->skips_errors || !task->skips.may_skip || !is_detectors_own(fault)) {
        return false;
    }
    weir_metric_add(d->skipped, 1);
    note(task->whole != NULL ? task->whole : task, fault, d->id);
    return true;
}

static void write_warning(struct weir_json_write *w, struct weir_slice id)
{
    struct weir_buf text = {0};
    weir_buf_printf(&text, "Detector `%.*s` could not answer and was skipped.", (int)id.n, id.p);
    weir_json_write_begin_object(w);
    weir_json_write_key(w, WEIR_SLICE("type"));
    weir_json_write_string(w, WEIR_SLICE("DETECTOR_SKIPPED"));
    weir_json_write_key(w, WEIR_SLICE("message"));
    weir_json_write_string(w, weir_buf_slice(&text));
    weir_json_write_key(w, WEIR_SLICE("detector_id"));
    weir_json_write_string(w, id);
    weir_json_write_end_object(w);
    weir_buf_dispose(&text);
}

static void write_untold(struct weir_skips *s, struct weir_buf *out)
{
    struct weir_json_write w;
    struct weir_skip **at = s->untold != NULL ? s->untold : &s->all;
    weir_json_write_init(&w, out);
    weir_json_write_begin_array(&w);
    for (; *at != NULL; at = &(*at)->next) {
        write_warning(&w, (*at)->id);
    }
    weir_json_write_end_array(&w);
    s->untold = at;
}

struct weir_slice weir_skips_tell(struct weir_skips *s, struct weir_slice json,
                                  struct weir_buf *out)
{
    struct weir_json_tape tape = {0};
    struct weir_json_limits limits = {.max_depth = UINT32_MAX};
    struct weir_json doc;
    if (!weir_skips_are_due(s)) {
        return json;
    }
    if (weir_json_parse_reuse(&doc, json, &limits, &tape, NULL) == 0 &&
        weir_json_type(&doc, 0) == WEIR_JSON_OBJECT) {
        struct weir_json_edit e = {0};
        struct weir_buf ours = {0};
        struct weir_buf joined = {0};
        write_untold(s, &ours);
        weir_json_edit_begin(&e, &doc);
        weir_event_add_warnings(&e, &doc, weir_buf_slice(&ours), &joined);
        weir_json_edit_write(&e, out);
        weir_json_edit_dispose(&e);
        weir_buf_dispose(&joined);
        weir_buf_dispose(&ours);
        json = weir_buf_slice(out);
    }
    weir_json_tape_dispose(&tape);
    return json;
}

void weir_skips_write_ids(const struct weir_skips *s, struct weir_buf *out)
{
    for (const struct weir_skip *at = s->all; at != NULL; at = at->next) {
        weir_buf_append(out, at != s->all ? WEIR_SLICE(" ") : WEIR_SLICE(""));
        weir_buf_append(out, at->id);
    }
}

struct weir_metric_counter weir_skips_counter(struct weir_slice detector_id)
{
    static const struct weir_metric_def def = {
        .name = "weir_detector_skipped_total",
        .help = "Questions that a detector could not answer and that passed without it "
                "(on_error: skip).",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"detector"},
    };
    return weir_metric_counter(weir_metric_declare(&def), WEIR_METRIC_LABELS(detector_id));
}
