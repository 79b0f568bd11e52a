#ifndef WEIR_TESTS_FUZZ_STREAM_SERVICES_H
#define WEIR_TESTS_FUZZ_STREAM_SERVICES_H

/*
 * Detectors that all talks share, behind the worker's memory of verdicts (detect/known.h) and,
 * where a talk wishes it, a desk that puts texts of several requests into one call
 * (detect/desk.h). They answer when they are told to.
 *
 *   task ─► fake detector ─► [verdicts] ─► [desk] ─► service
 *
 * The fake detector compares what comes back with what it finds in the text itself.
 */
#include "base/err.h"
#include "base/mem.h"
#include "detect/desk.h"
#include "detect/verdicts.h"
#include "fuzz/stream_talk.h"

static const char *const DETECTOR_IDS[N_DETECTORS] = {"d0", "d1", "d2"};

static struct weir_verdicts verdicts;
static struct weir_desks desks;
static struct weir_list service_calls; /* without an answer */
static size_t n_service_calls;         /* that exist */

struct service {
    struct weir_detector base;
    struct weir_desk_options desk;
};

static struct service services[N_DETECTORS];

struct service_call {
    struct weir_detect_call base;
    struct weir_list link;
    struct weir_arena arena;
    const struct weir_detect_input *input;
    weir_detect_done_fn on_done;
    void *ctx;
};

static inline struct weir_detection service_finding(struct weir_slice id,
                                                    enum weir_detect_type type, size_t start_cp)
{
    bool has_span = type == WEIR_DETECT_CONTENTS;
    return (struct weir_detection){.has_span = has_span,
                                   .start_cp = has_span ? start_cp : 0,
                                   .end_cp = has_span ? start_cp + 3 : 0,
                                   .text = WEIR_SLICE("?"),
                                   .detection = WEIR_SLICE("word"),
                                   .detection_type = WEIR_SLICE("word"),
                                   .detector_id = id,
                                   .score = 1};
}

static inline struct weir_detect_list service_look(struct service_call *call,
                                                   struct weir_slice text)
{
    struct weir_detection *items = weir_arena_array(&call->arena, text.n / 12 + 1, sizeof *items);
    enum weir_detect_type type = call->input->type;
    uint32_t last[3] = {0};
    size_t n = 0;
    size_t used;
    for (size_t at = 0, i = 0; at < text.n; at += used, i++) {
        last[0] = last[1];
        last[1] = last[2];
        last[2] = weir_utf8_decode(weir_slice_sub(text, at, text.n), &used);
        bool is_told = type == WEIR_DETECT_CONTENTS || stream_id(last[2]) != ID_QUESTION;
        if (i >= 2 && stream_is_bad(last) && is_told) {
            items[n++] = service_finding(call->base.detector->id, type, i - 2);
        }
    }
    return (struct weir_detect_list){.items = items, .n = n};
}

static inline void service_look_at_all(struct service_call *call)
{
    const struct weir_detect_input *in = call->input;
    size_t n = in->type == WEIR_DETECT_CONTENTS ? in->n_contents : 1;
    struct weir_detect_list *lists = weir_arena_array(&call->arena, n, sizeof *lists);
    for (size_t i = 0; i < n; i++) {
        lists[i] = service_look(call, in->type == WEIR_DETECT_CONTENTS ? in->contents[i]
                                      : in->type == WEIR_DETECT_CHAT   ? in->messages
                                                                       : in->generated_text);
    }
    call->base.lists = lists;
    call->base.n_lists = n;
    call->base.is_done = true;
}

static inline void service_free(struct weir_detect_call *base)
{
    struct service_call *call = (struct service_call *)base;
    n_service_calls--;
    weir_list_remove(&call->link);
    weir_arena_dispose(&call->arena);
    free(call);
}

static inline struct weir_detect_call *service_send(const struct weir_detector *d,
                                                    const struct weir_detect_env *env,
                                                    const struct weir_detect_input *input,
                                                    weir_detect_done_fn on_done, void *ctx)
{
    struct service_call *call = weir_mem_zalloc(sizeof *call);
    (void)env;
    call->base = (struct weir_detect_call){.detector = d, .free = service_free};
    call->input = input;
    call->on_done = on_done;
    call->ctx = ctx;
    n_service_calls++;
    weir_list_append(&service_calls, &call->link);
    return &call->base;
}

static inline struct weir_detect_call *service_start(const struct weir_detector *d,
                                                     const struct weir_detect_env *env,
                                                     const struct weir_detect_input *input,
                                                     weir_detect_done_fn on_done, void *ctx)
{
    const struct service *s = (const struct service *)d;
    if (env->desks != NULL && input->type == WEIR_DETECT_CONTENTS) {
        struct weir_detect_waiter waiter = {on_done, ctx};
        return weir_desk_start(d, &s->desk, env, input, waiter);
    }
    return service_send(d, env, input, on_done, ctx);
}

static const struct weir_detect_ops SERVICE_OPS = {.start = service_start, .free = service_free};

static inline void make_services(struct weir_loop *loop)
{
    weir_verdicts_declare();
    weir_verdicts_init(&verdicts, loop);
    weir_desks_init(&desks, loop);
    weir_list_init(&service_calls);
    for (size_t i = 0; i < N_DETECTORS; i++) {
        services[i] = (struct service){.base = {.ops = &SERVICE_OPS,
                                                .id = weir_slice_cstr(DETECTOR_IDS[i]),
                                                .serial = weir_verdicts_serial()},
                                       .desk = {.send = service_send,
                                                .in_flight = 1 + i,
                                                .max_items = 3,
                                                .max_bytes = 100,
                                                .wait_ms = i == 0 ? 0 : 20}};
    }
}

/* Answers one of those that wait. False: there is none. `fails`: with a fault of the service's, or
 * by refusing what it is asked. */
static inline bool service_answer(size_t which, bool fails)
{
    struct weir_list *at = weir_list_first(&service_calls);
    if (at == NULL) {
        return false;
    }
    bool refuses = which % 2 != 0;
    for (; which != 0; which--) {
        at = at->next != &service_calls ? at->next : service_calls.next;
    }
    struct service_call *call = WEIR_LIST_ENTRY(at, struct service_call, link);
    weir_list_remove(&call->link);
    weir_list_init(&call->link);
    stream_tell("service", weir_slice_cstr(fails ? "fails" : ""));
    if (fails) {
        call->base.is_done = true;
        call->base.fault = (struct weir_fault){.origin = WEIR_FAULT_DETECTOR,
                                               .id = call->base.detector->id,
                                               .err = WEIR_EPEER,
                                               .status = refuses ? 400 : 503};
    } else {
        service_look_at_all(call);
    }
    call->on_done(call->ctx, &call->base);
    return true;
}

#endif
