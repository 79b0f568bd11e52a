#include "detect/pii.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "detect/patterns.h"
#include "detect/pii_int.h"

#include <pthread.h>
#include <stdlib.h>

struct kind {
    const char *name;
    const char *old_name; /* also taken, or NULL */
    const char *detection;
    bool (*look)(struct weir_seek_look *l);
};

enum { EMAIL, CARD, IPV4, IPV6, PHONE, SSN, POST_CODE, IBAN, N_KINDS, MAX_KINDS = 64 };

static const struct kind kinds[N_KINDS] = {
    [EMAIL] = {"email", NULL, "email_address", weir_pii__email},
    [CARD] = {"credit-card", NULL, "credit_card", weir_pii__card},
    [IPV4] = {"ipv4", NULL, "ipv4", weir_pii__ipv4},
    [IPV6] = {"ipv6", NULL, "ipv6", weir_pii__ipv6},
    [PHONE] = {"phone", "us-phone-number", "us-phone-number", weir_pii__phone},
    [SSN] = {"us-ssn", "us-social-security-number", "social_security_number", weir_pii__ssn},
    [POST_CODE] = {"uk-post-code", NULL, "uk-post-code", weir_pii__post_code},
    [IBAN] = {"iban", NULL, "iban", weir_pii__iban},
};

/* Loose on purpose: rare in prose, certain to lie in or at the end of what is looked for. */
static const struct weir_pattern patterns[] = {
    {"[A-Za-z0-9_%+\\x80-\\xBF-]@[A-Za-z0-9\\xC3-\\xE1]", false, true},
    {"[A-Za-z0-9_+-]%40[A-Za-z0-9]", false, true},
    {"\\d(?:[ -]?\\d){11}", false, true},
    {"\\d\\.\\d{1,3}\\.\\d{1,3}\\.\\d", false, true},
    {":[0-9A-Fa-f]{0,4}:", false, true},
    {"\\d(?:[ ./()-]{0,3}\\d){6}", false, true},
    {"\\d{3}[-. ]?\\d\\d[-. ]?\\d{4}", false, true},
    {"\\d[A-Z]? ?\\d[A-Z]{2}", true, true},
    {"GIR ?0AA", false, true},
    {"[A-Z]{2}\\d\\d[ -]?[A-Z0-9]{4}[ -]?[A-Z0-9]{4}", true, true},
};
static const enum weir_seek_trigger triggers[256] = {
    ['0'] = WEIR_SEEK_TRIGGER, ['1'] = WEIR_SEEK_TRIGGER, ['2'] = WEIR_SEEK_TRIGGER,
    ['3'] = WEIR_SEEK_TRIGGER, ['4'] = WEIR_SEEK_TRIGGER, ['5'] = WEIR_SEEK_TRIGGER,
    ['6'] = WEIR_SEEK_TRIGGER, ['7'] = WEIR_SEEK_TRIGGER, ['8'] = WEIR_SEEK_TRIGGER,
    ['9'] = WEIR_SEEK_TRIGGER, ['@'] = WEIR_SEEK_TRIGGER, [':'] = WEIR_SEEK_TRIGGER,
};

static const unsigned char kind_of[] = {EMAIL, EMAIL, CARD,      IPV4,      IPV6,
                                        PHONE, SSN,   POST_CODE, POST_CODE, IBAN};
_Static_assert(sizeof patterns / sizeof patterns[0] == sizeof kind_of, "a kind each");

static struct weir_patterns *compiled;     /* as long as the process */
static struct weir_patterns *compiled_ids; /* the same, once somebody asked for one */
static pthread_mutex_t compile_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_id(uint64_t mask)
{
    return mask >> N_KINDS != 0;
}

uint64_t weir_pii_find(struct weir_slice name)
{
    for (unsigned i = 0; i < N_KINDS; i++) {
        if (weir_slice_eq_cstr(name, kinds[i].name) ||
            (kinds[i].old_name != NULL && weir_slice_eq_cstr(name, kinds[i].old_name))) {
            return (uint64_t)1 << i;
        }
    }
    for (unsigned i = 0; i < weir_pii__n_ids; i++) {
        if (weir_slice_eq_cstr(name, weir_pii__ids[i].name)) {
            return (uint64_t)1 << (N_KINDS + i);
        }
    }
    return 0;
}

const char *weir_pii_name(size_t i)
{
    if (i < N_KINDS) {
        return kinds[i].name;
    }
    if (i - N_KINDS < weir_pii__n_ids) {
        return weir_pii__ids[i - N_KINDS].name;
    }
    for (size_t k = 0, n = N_KINDS + weir_pii__n_ids; k < N_KINDS; k++) {
        if (kinds[k].old_name != NULL && n++ == i) {
            return kinds[k].old_name;
        }
    }
    return NULL;
}

static struct weir_patterns *compile_ids(struct weir_buf *why)
{
    WEIR_ASSERT(N_KINDS + weir_pii__n_ids <= MAX_KINDS);
    struct weir_pattern *list = weir_mem_array(weir_pii__n_ids, sizeof *list);
    for (size_t i = 0; i < weir_pii__n_ids; i++) {
        list[i] = (struct weir_pattern){weir_pii__ids[i].pattern, true, true};
    }
    struct weir_patterns *made = weir_patterns_new(list, weir_pii__n_ids, why);
    free(list);
    return made;
}

int weir_pii_prepare(uint64_t mask, struct weir_buf *why)
{
    pthread_mutex_lock(&compile_lock);
    if (compiled == NULL) {
        compiled = weir_patterns_new(patterns, sizeof patterns / sizeof patterns[0], why);
    }
    if (is_id(mask) && compiled_ids == NULL) {
        compiled_ids = compile_ids(why);
    }
    bool is_ready = compiled != NULL && (!is_id(mask) || compiled_ids != NULL);
    pthread_mutex_unlock(&compile_lock);
    return is_ready ? 0 : WEIR_EUNSUPPORTED;
}

/* ---- judging */

static unsigned kind_at(const struct weir_pii_seek *seek, unsigned id)
{
    return seek->is_ids ? N_KINDS + id : kind_of[id];
}

static struct weir_seek_rule rule(const void *settings, unsigned id)
{
    static const unsigned char backs[N_KINDS] = {
        [EMAIL] = 70, [CARD] = 34, [IPV4] = 64,      [IPV6] = 64,
        [PHONE] = 21, [SSN] = 25,  [POST_CODE] = 10, [IBAN] = 14,
    };
    enum { ID_BACK = 128 };
    const struct weir_pii_seek *seek = settings;
    unsigned k = kind_at(seek, id);
    return (struct weir_seek_rule){
        .group = (seek->mask >> k & 1) == 0 ? WEIR_SEEK_UNASKED
                 : seek->is_ids             ? (unsigned char)id
                                            : (unsigned char)k,
        .back = seek->is_ids ? ID_BACK : backs[k],
    };
}

static bool judge(const void *settings, unsigned id, struct weir_seek_look *l)
{
    const struct weir_pii_seek *seek = settings;
    unsigned k = kind_at(seek, id);
    l->score = 1.0;
    bool is_found = seek->is_ids ? weir_pii__id(&weir_pii__ids[id], l) : kinds[k].look(l);
    if (l->kind == NULL) {
        l->kind = seek->is_ids ? weir_pii__ids[id].name : kinds[k].detection;
    }
    return is_found;
}

bool weir_pii_is_numeric(uint64_t mask)
{
    return !is_id(mask) && (mask >> POST_CODE & 1) == 0; /* GIR 0AA */
}

struct weir_pii_seek weir_pii_seek(uint64_t mask, bool is_ids)
{
    return (struct weir_pii_seek){.mask = mask, .is_ids = is_ids};
}

bool weir_pii_has(uint64_t mask, bool is_ids)
{
    return is_ids ? is_id(mask) : (mask & (((uint64_t)1 << N_KINDS) - 1)) != 0;
}

struct weir_seek_rules weir_pii_rules(const struct weir_pii_seek *seek)
{
    return (struct weir_seek_rules){
        .patterns = seek->is_ids ? compiled_ids : compiled,
        .rule = rule,
        .judge = judge,
        .settings = seek,
        .type = "pii",
        .triggers = seek->is_ids ? NULL : triggers,
        .n_groups = seek->is_ids ? weir_pii__n_ids : N_KINDS,
    };
}

size_t weir_pii_tail(uint64_t mask, struct weir_slice text)
{
    return mask != 0 ? weir_pii__tail(text, is_id(mask)) : text.n;
}

int weir_pii_scan(uint64_t mask, struct weir_slice text, struct weir_found *found)
{
    int rc = 0;
    for (int is_ids = 0; is_ids < 2 && rc == 0; is_ids++) {
        struct weir_pii_seek seek = weir_pii_seek(mask, is_ids != 0);
        struct weir_seek_rules rules = weir_pii_rules(&seek);
        rc = weir_pii_has(mask, is_ids != 0) ? weir_seek_scan(&rules, text, found) : 0;
    }
    return rc;
}
