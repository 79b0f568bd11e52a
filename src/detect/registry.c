#include "detect/registry.h"

#include "base/err.h"
#include "detect/file_type.h"
#include "detect/injection.h"
#include "detect/keywords.h"
#include "detect/links.h"
#include "detect/regex.h"
#include "detect/secrets.h"
#include "detect/unicode.h"

static const struct weir_builtin_kind *const kinds[] = {
    &weir_detect_regex, &weir_detect_secrets, &weir_detect_file_type, &weir_detect_keywords,
    &weir_detect_links, &weir_detect_unicode, &weir_detect_injection,
};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

const char *weir_detect_builtin_name(size_t i)
{
    return i < N_KINDS ? kinds[i]->name : NULL;
}

const struct weir_builtin_kind *weir_detect_builtin_find(struct weir_slice name)
{
    for (size_t i = 0; i < N_KINDS; i++) {
        if (weir_slice_eq_cstr(name, kinds[i]->name)) {
            return kinds[i];
        }
    }
    return NULL;
}

int weir_detect_builtin_init(struct weir_builtin *b, struct weir_slice kind, struct weir_slice id,
                             struct weir_slice params, struct weir_buf *why)
{
    const struct weir_builtin_kind *found = weir_detect_builtin_find(kind);
    *b = (struct weir_builtin){0};
    if (found == NULL) {
        weir_buf_printf(why, "there is no built-in detector `%.*s`", (int)kind.n, kind.p);
        return WEIR_ENOTFOUND;
    }
    return weir_builtin_init(b, found, id, params, why);
}
