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

void weir_conf__check_timing(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             const struct weir_conf_route *route)
{
    bool replaces =
        route->on_detection == WEIR_CONF_REDACT || route->on_detection == WEIR_CONF_MASK;
    const struct weir_conf_node *bound = weir_conf__get(n, "max_exposed_chars");
    if (route->output_check == WEIR_CONF_OUTPUT_AFTER && replaces) {
        refuse_for_action(r, weir_conf__get(n, "output_check"), route, "output_check: after");
    }
    if (route->output_check != WEIR_CONF_OUTPUT_AFTER && bound != NULL) {
        weir_conf__warn(r, bound,
                        "`max_exposed_chars` has no effect without "
                        "`output_check: after`");
    }
}
