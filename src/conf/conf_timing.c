/*
 * Routes: whether a model is asked, and an answer leaves, before detectors have answered
 * (docs/policies.md, Waiting less).
 */
#include "conf/conf_sections.h"

static void refuse_for_action(struct weir_conf_reader *r, const struct weir_conf_node *at,
                              const struct weir_conf_route *route, const char *what)
{
    weir_conf__error(r, at,
                     "`%s` cannot be used with `on_detection: %s`: what has left cannot be "
                     "replaced any more",
                     what, weir_conf_action_name(route->on_detection));
}

/* The model is asked as the question stands: findings may block it, and not change it. */
static void check_beside(struct weir_conf_reader *r, const struct weir_conf_node *n,
                         const struct weir_conf_route *route, bool replaces)
{
    const struct weir_conf_node *at = weir_conf__get(n, "input_check");
    if (route->input_check != WEIR_CONF_INPUT_BESIDE) {
        return;
    }
    if (replaces) {
        refuse_for_action(r, at, route, "input_check: beside");
    } else if (route->on_detection == WEIR_CONF_BLOCK &&
               route->history_findings != WEIR_CONF_HISTORY_BLOCK) {
        weir_conf__error(r, at,
                         "`input_check: beside` with `on_detection: block` needs "
                         "`history_findings: block`: what has left cannot be taken out any more");
    }
}

void weir_conf__check_timing(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             const struct weir_conf_route *route)
{
    bool replaces =
        route->on_detection == WEIR_CONF_REDACT || route->on_detection == WEIR_CONF_MASK;
    const struct weir_conf_node *bound = weir_conf__get(n, "max_exposed_chars");
    check_beside(r, n, route, replaces);
    if (route->output_check == WEIR_CONF_OUTPUT_AFTER && replaces) {
        refuse_for_action(r, weir_conf__get(n, "output_check"), route, "output_check: after");
    }
    if (route->output_check != WEIR_CONF_OUTPUT_AFTER && bound != NULL) {
        weir_conf__warn(r, bound,
                        "`max_exposed_chars` has no effect without "
                        "`output_check: after`");
    }
}
