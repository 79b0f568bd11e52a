#include "task/promise.h"

#include "base/assert.h"
#include "base/err.h"
#include "obs/log.h"
#include "obs/metric.h"

#include <pthread.h>

#ifdef WEIR_DEBUG
static bool is_fatal = true;
#else
static bool is_fatal = false;
#endif

static struct weir_metric_counter broken;

static void declare(void)
{
    static const struct weir_metric_def def = {
        .name = "weir_promise_broken_total",
        .help = "Streams and answers that were ended because text was about to leave that no "
                "detector had judged: a fault of weir.",
        .type = WEIR_METRIC_COUNTER,
    };
    broken = weir_metric_counter(weir_metric_declare(&def), WEIR_METRIC_NO_LABELS);
}

void weir_promise_declare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, declare);
}

void weir_promise_set_aborts(bool aborts)
{
    is_fatal = aborts;
}

struct weir_fault weir_promise_broken(const struct weir_promise *p)
{
    weir_promise_declare();
    weir_metric_add(broken, 1);
    WEIR_LOG_ERROR("task", p->task->call.log,
                   "something that was not judged was about to leave: the request fails",
                   weir_log_cstr("what", p->what), weir_log_u64("choice", p->choice));
    WEIR_ASSERT(!is_fatal);
    return (struct weir_fault){.origin = WEIR_FAULT_INTERNAL, .err = WEIR_EINTERNAL};
}
