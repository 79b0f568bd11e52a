/* `audit`: where decisions are kept, and what happens when they cannot be. */
#include "conf/conf_sections.h"

static const char *const on_error_words[] = {"drop", "fail", NULL};

static void on_key_env(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_audit *audit = target;
    struct weir_conf_text name;
    const char *value = weir_conf__want_env(r, n, "key_env", &name);
    if (value != NULL) {
        audit->key = weir_arena_dup(r->arena, weir_slice_cstr(value));
    }
}

#define T struct weir_conf_audit
static const struct weir_conf_key audit_keys[] = {
    WEIR_CONF_KEY(T, path, TEXT, .is_required = true),
    WEIR_CONF_KEY_CALL("key_env", on_key_env),
    WEIR_CONF_KEY(T, sample_clean, NUMBER, .min = 0, .max = 1),
    WEIR_CONF_KEY(T, on_error, ENUM, .words = on_error_words),
    WEIR_CONF_KEY(T, max_bytes, U64, .min = 65536, .max = 1e15),
};
#undef T
static const struct weir_conf_object audit_object = {WEIR_CONF_OBJECT(audit_keys)};

void weir_conf__audit_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                              void *conf)
{
    (void)conf;
    if (weir_conf__want_mapping(r, n, "audit")) {
        weir_conf__decode(r, &audit_object, n, &r->conf->audit);
    }
}
