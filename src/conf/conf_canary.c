/* `canary` of a route: words that nobody should say, given or made with a key. */
#include "conf/conf_sections.h"

enum { MIN_KEY_BYTES = 16, MAX_WORDS = 14 }; /* the detector takes 16 */

static void on_words(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_canary *canary = target;
    canary->words = weir_conf__want_texts(r, n, "words", MAX_WORDS);
    if (n->kind == WEIR_CONF_SEQUENCE && n->n == 0) {
        weir_conf__error(r, n, "`words` must have at least one word");
    }
}

static void on_key_env(struct weir_conf_reader *r, const struct weir_conf_node *n, void *target)
{
    struct weir_conf_canary *canary = target;
    struct weir_conf_text name;
    const char *value = weir_conf__want_env(r, n, "key_env", &name);
    if (value == NULL) {
        return;
    }
    canary->key = weir_arena_dup(r->arena, weir_slice_cstr(value));
    if (canary->key.n < MIN_KEY_BYTES) {
        weir_conf__error(r, n, "the key in %s, named by `key_env`, is shorter than %d bytes",
                         weir_conf__name(r, name.s), MIN_KEY_BYTES);
    }
}

static const struct weir_conf_key canary_keys[] = {
    WEIR_CONF_KEY_CALL("words", on_words),
    WEIR_CONF_KEY_CALL("key_env", on_key_env),
};
static const struct weir_conf_object canary_object = {WEIR_CONF_OBJECT(canary_keys)};

void weir_conf__canary_section(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *target)
{
    struct weir_conf_canary *canary = target;
    if (!weir_conf__want_mapping(r, n, "canary")) {
        return;
    }
    weir_conf__decode(r, &canary_object, n, canary);
    canary->is_on = true;
    bool has_words = weir_conf__get(n, "words") != NULL;
    if (has_words == (weir_conf__get(n, "key_env") != NULL)) {
        weir_conf__error(r, n, "`canary` needs `words` or `key_env`, and not both");
    }
    if (weir_conf_detector(r->conf, WEIR_SLICE("canary")) != NULL) {
        weir_conf__error(r, n,
                         "`canary` makes a detector of that name, and `detectors` has one already");
    }
}
