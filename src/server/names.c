#include "server/names.h"

#include "conf/conf_near.h"
#include "detect/pii.h"
#include "detect/regex.h"

void weir_names_check(struct weir_conf_problems *problems, const struct weir_names_of *of)
{
    struct weir_arena arena = {0};
    struct weir_slice name = {0};
    if (of->kind == &weir_detect_regex) {
        name = weir_regex_unknown_name(of->params, &arena);
    }
    if (name.p != NULL) {
        struct weir_conf_near near;
        weir_conf_near_init(&near, name);
        for (size_t i = 0; weir_pii_name(i) != NULL; i++) {
            weir_conf_near_offer(&near, weir_slice_cstr(weir_pii_name(i)));
        }
        const char *hint = near.best.p == NULL ? ""
                                               : weir_arena_printf(&arena, "; did you mean `%.*s`?",
                                                                   (int)near.best.n, near.best.p);
        weir_conf_problems_add(problems, WEIR_CONF_ERROR, of->at,
                               "detector `%.*s`: `%.*s` is not a name that `regex` knows%s (a "
                               "pattern of your own is written {name: …, pattern: …})",
                               (int)of->id.n, of->id.p, (int)name.n, name.p, hint);
    }
    weir_arena_dispose(&arena);
}
