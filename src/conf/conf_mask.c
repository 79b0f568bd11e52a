/* `mask` of a route: with which key values become tokens, for whom, and which come back. */
#include "conf/conf_sections.h"

enum { MIN_KEY_BYTES = 16, MAX_KINDS = 64, MAX_HOSTS = 256 };

static const char *const scope_words[] = {"key", "route", "request", NULL};
static const char *const unknown_words[] = {"redact", "block", "annotate", NULL};

static void on_key_env(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_mask *mask = target;
    struct weir_conf_text name;
    const char *value = weir_conf__want_env(r, n, "key_env", &name);
    if (value == NULL) {
        return;
    }
    mask->key = weir_arena_dup(r->arena, weir_slice_cstr(value));
    if (mask->key.n < MIN_KEY_BYTES) {
        weir_conf__error(r, n, "the key in %s, named by `key_env`, is shorter than %d bytes",
                         weir_conf__name(r, name.s), MIN_KEY_BYTES);
    }
}

static void on_never(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_mask *mask = target;
    mask->never_restore = weir_conf__want_texts(r, n, "never_restore", MAX_KINDS);
}

static bool is_host(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!is_alnum && c != '.' && c != '-') {
            return false;
        }
    }
    return s.n != 0;
}

static void on_hosts(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_mask *mask = target;
    mask->restore_hosts = weir_conf__want_texts(r, n, "restore_hosts", MAX_HOSTS);
    for (size_t i = 0; i < mask->restore_hosts.n; i++) {
        struct weir_slice host = mask->restore_hosts.items[i].s;
        if (!is_host(host)) {
            weir_conf__error(r, n,
                             "`restore_hosts` has %s, which is not a host: lower-case letters, "
                             "digits, `.` and `-`, without a port",
                             weir_conf__name(r, host));
        }
    }
}

#define T struct weir_conf_mask
static const struct weir_conf_key mask_keys[] = {
    WEIR_CONF_KEY_CALL("key_env", on_key_env, .is_required = true),
    WEIR_CONF_KEY(T, scope, ENUM, .words = scope_words),
    WEIR_CONF_KEY_CALL("never_restore", on_never),
    WEIR_CONF_KEY(T, unknown_output, ENUM, .words = unknown_words),
    WEIR_CONF_KEY_CALL("restore_hosts", on_hosts),
    WEIR_CONF_KEY(T, instruct, BOOL),
};
#undef T
static const struct weir_conf_object mask_object = {WEIR_CONF_OBJECT(mask_keys)};

void weir_conf__mask_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             void *target)
{
    if (weir_conf__want_mapping(r, n, "mask")) {
        weir_conf__decode(r, &mask_object, n, target);
    }
}
