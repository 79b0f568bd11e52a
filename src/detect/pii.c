#include "detect/pii.h"

#include "base/err.h"
#include "detect/patterns.h"
#include "detect/pii_int.h"

#include <pthread.h>

struct kind {
    const char *name;
    const char *detection;
    bool (*look)(struct weir_pii_look *l);
};

enum { EMAIL, CARD, IPV4, IPV6, PHONE, SSN, POST_CODE, IBAN, N_KINDS };

static const struct kind kinds[N_KINDS] = {
    [EMAIL] = {"email", "email_address", weir_pii__email},
    [CARD] = {"credit-card", "credit_card", weir_pii__card},
    [IPV4] = {"ipv4", "ipv4", weir_pii__ipv4},
    [IPV6] = {"ipv6", "ipv6", weir_pii__ipv6},
    [PHONE] = {"us-phone-number", "us-phone-number", weir_pii__phone},
    [SSN] = {"us-social-security-number", "social_security_number", weir_pii__ssn},
    [POST_CODE] = {"uk-post-code", "uk-post-code", weir_pii__post_code},
    [IBAN] = {"iban", "iban", weir_pii__iban},
};

/* Loose on purpose: rare in prose, certain to lie in or at the end of what is looked for. */
static const struct weir_pattern patterns[] = {
    {"[A-Za-z0-9_%+\\x80-\\xBF-]@[A-Za-z0-9\\xC3-\\xE1]", false, true},
    {"\\d(?:[ -]?\\d){11}", false, true},
    {"\\d\\.\\d{1,3}\\.\\d{1,3}\\.\\d", false, true},
    {":[0-9A-Fa-f]{0,4}:", false, true},
    {"\\d{3}[-. ]\\d{4}", false, true},
    {"\\d{10}", false, true},
    {"\\d{3}[- ]\\d\\d[- ]\\d{4}", false, true},
    {"\\d{9}", false, true},
    {"\\d[A-Z]? ?\\d[A-Z]{2}", true, true},
    {"GIR ?0AA", false, true},
    {"[A-Z]{2}\\d\\d ?[A-Z0-9]{4} ?[A-Z0-9]{4}", true, true},
};
static const unsigned char kind_of[] = {EMAIL, CARD, IPV4,      IPV6,      PHONE, PHONE,
                                        SSN,   SSN,  POST_CODE, POST_CODE, IBAN};
_Static_assert(sizeof patterns / sizeof patterns[0] == sizeof kind_of, "a kind each");

static struct weir_patterns *compiled; /* as long as the process */
static pthread_mutex_t compile_lock = PTHREAD_MUTEX_INITIALIZER;

uint32_t weir_pii_find(struct weir_slice name)
{
    for (unsigned i = 0; i < N_KINDS; i++) {
        if (weir_slice_eq_cstr(name, kinds[i].name)) {
            return 1U << i;
        }
    }
    return 0;
}

int weir_pii_prepare(struct weir_buf *why)
{
    pthread_mutex_lock(&compile_lock);
    if (compiled == NULL) {
        compiled = weir_patterns_new(patterns, sizeof patterns / sizeof patterns[0], why);
    }
    int rc = compiled != NULL ? 0 : WEIR_EUNSUPPORTED;
    pthread_mutex_unlock(&compile_lock);
    return rc;
}

struct scan {
    uint32_t mask;
    struct weir_slice text;
    struct weir_found *found;
    size_t seen[N_KINDS];
};

static int on_match(void *ctx, unsigned id, size_t end_byte)
{
    struct scan *s = ctx;
    unsigned k = kind_of[id];
    if ((s->mask & (1U << k)) == 0 || end_byte <= s->seen[k]) {
        return 0;
    }
    struct weir_pii_look look = {
        .text = s->text, .end = end_byte, .floor = s->seen[k], .seen = s->seen[k]};
    bool is_found = kinds[k].look(&look);
    s->seen[k] = look.seen;
    if (!is_found) {
        return 0;
    }
    s->seen[k] = look.to > look.seen ? look.to : look.seen;
    struct weir_found_span span = {
        .start_byte = look.from,
        .end_byte = look.to,
        .detection = weir_slice_cstr(kinds[k].detection),
        .detection_type = WEIR_SLICE("pii"),
        .score = 1.0,
    };
    return weir_found_add(s->found, &span);
}

int weir_pii_scan(uint32_t mask, struct weir_slice text, struct weir_found *found)
{
    struct scan scan = {.mask = mask, .text = text, .found = found};
    return mask != 0 ? weir_patterns_scan(compiled, text, on_match, &scan) : 0;
}
