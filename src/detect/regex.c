#include "detect/regex.h"

#include "base/mem.h"
#include "detect/custom.h"
#include "detect/pii.h"

#include <stdlib.h>

enum { MAX_ENTRIES = 32 };

struct settings {
    uint64_t mask; /* of detect/pii.h */
    struct weir_custom *customs[MAX_ENTRIES];
    size_t n_customs;
};

static void free_settings(void *p)
{
    struct settings *s = p;
    for (size_t i = 0; i < s->n_customs; i++) {
        weir_custom_free(s->customs[i]);
    }
    free(s);
}

static bool add_entry(struct settings *s, struct weir_slice entry, struct weir_buf *why)
{
    uint64_t bit = weir_pii_find(entry);
    s->mask |= bit;
    if (bit != 0) {
        return true;
    }
    struct weir_custom *c = weir_custom_new(entry, why);
    if (c != NULL) {
        s->customs[s->n_customs++] = c;
    }
    return c != NULL;
}

static void *make(const struct weir_builtin_params *params, struct weir_buf *why)
{
    struct weir_slice *entries;
    size_t n;
    if (weir_builtin_strings(params, "regex", MAX_ENTRIES, why, &entries, &n) != 0) {
        return NULL;
    }
    struct settings *s = weir_mem_zalloc(sizeof *s);
    bool is_good = true;
    for (size_t i = 0; i < n && is_good; i++) {
        is_good = add_entry(s, entries[i], why);
    }
    if (!is_good || weir_pii_prepare(s->mask, why) != 0) {
        free_settings(s);
        return NULL;
    }
    return s;
}

static int scan(const void *settings, struct weir_slice text, struct weir_found *found,
                struct weir_builtin_run *run)
{
    const struct settings *s = settings;
    int rc = weir_pii_scan(s->mask, text, found);
    for (size_t i = 0; i < s->n_customs && rc == 0; i++) {
        rc = weir_custom_scan(s->customs[i], text, &run->budget_us, found, &run->why);
    }
    return rc;
}

static const char *const members[] = {"regex", NULL};

const struct weir_builtin_kind weir_detect_regex = {.name = "regex",
                                                    .members = members,
                                                    .needs = "regex",
                                                    .make = make,
                                                    .free = free_settings,
                                                    .scan = scan};
