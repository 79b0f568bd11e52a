#include "talk/credential.h"

#include <stddef.h>

enum { LEAST_BODY = 20, LEAST_HEX = 32, KEY_ID_BODY = 16, LEAST_JWT_PART = 8, MOST_JWT = 128 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* The letters, digits, `_` and `-` that the text begins with. */
static struct weir_slice body_of(struct weir_slice s)
{
    size_t n = 0;
    while (n < s.n && (is_digit(s.p[n]) || is_upper(s.p[n]) || is_lower(s.p[n]) || s.p[n] == '_' ||
                       s.p[n] == '-')) {
        n++;
    }
    return weir_slice_sub(s, 0, n);
}

/* Long, and of capitals, small letters and digits: names and numbers are not. */
static bool is_drawn(struct weir_slice body)
{
    bool has_digit = false;
    bool has_upper = false;
    bool has_lower = false;
    for (size_t i = 0; i < body.n; i++) {
        has_digit = has_digit || is_digit(body.p[i]);
        has_upper = has_upper || is_upper(body.p[i]);
        has_lower = has_lower || is_lower(body.p[i]);
    }
    return body.n >= LEAST_BODY && has_digit && has_upper && has_lower;
}

/* Or all of it, or all behind its last - or _, is a long number of base 16. */
static bool ends_in_hex(struct weir_slice body)
{
    size_t n = 0;
    bool has_digit = false;
    bool has_letter = false;
    while (n < body.n) {
        char c = body.p[body.n - 1 - n];
        bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (!is_letter && !is_digit(c)) {
            break;
        }
        has_digit = has_digit || is_digit(c);
        has_letter = has_letter || is_letter;
        n++;
    }
    bool is_part = n == body.n || body.p[body.n - 1 - n] == '-' || body.p[body.n - 1 - n] == '_';
    return n >= LEAST_HEX && is_part && has_digit && has_letter;
}

/* AKIA and sixteen capitals and digits. */
static bool is_key_id(struct weir_slice body)
{
    for (size_t i = 0; i < body.n; i++) {
        if (!is_upper(body.p[i]) && !is_digit(body.p[i])) {
            return false;
        }
    }
    return body.n == KEY_ID_BODY;
}

static bool begins_credential(struct weir_slice s)
{
    static const char *const drawn[] = {
        "sk-",       "sk_live_",    "sk_test_", "rk_live_", "ghp_",  "gho_",  "ghu_",  "ghs_",
        "ghr_",      "github_pat_", "glpat-",   "xoxb-",    "xoxp-", "xoxa-", "xoxs-", "xapp-",
        "AIza",      "hf_",         "npm_",     "nvapi-",   "gsk_",  "xai-",  "r8_",   "pplx-",
        "dckr_pat_", "shpat_",      "ATATT3",   "ya29.",    "SG.",   "pypi-"};
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++) {
        struct weir_slice prefix = weir_slice_cstr(drawn[i]);
        if (drawn[i][0] == s.p[0] && weir_slice_starts_with(s, prefix)) {
            struct weir_slice body = body_of(weir_slice_sub(s, prefix.n, s.n));
            return is_drawn(body) || ends_in_hex(body);
        }
    }
    bool is_key = weir_slice_starts_with(s, WEIR_SLICE("AKIA")) ||
                  weir_slice_starts_with(s, WEIR_SLICE("ASIA"));
    return is_key && is_key_id(body_of(weir_slice_sub(s, 4, s.n)));
}

/* Two parts of JSON in base64, and a signature. */
static bool is_jwt(struct weir_slice s)
{
    struct weir_slice rest = s;
    struct weir_slice header = weir_slice_cut(&rest, '.');
    if (rest.p == NULL) {
        return false;
    }
    struct weir_slice claims = weir_slice_cut(&rest, '.');
    bool has_signature = rest.p != NULL && rest.n >= LEAST_JWT_PART;
    return has_signature && s.n <= MOST_JWT && weir_slice_starts_with(header, WEIR_SLICE("eyJ")) &&
           weir_slice_starts_with(claims, WEIR_SLICE("eyJ"));
}

bool weir_credential_in_id(struct weir_slice id)
{
    static const bool ends_part[256] = {['.'] = true, [':'] = true, ['='] = true, ['@'] = true};
    bool is_first = true;
    for (size_t i = 0; i < id.n; i++) {
        if (is_first && begins_credential(weir_slice_sub(id, i, id.n))) {
            return true;
        }
        is_first = ends_part[(unsigned char)id.p[i]];
    }
    return id.n > 0 && id.p[0] == 'e' && is_jwt(id);
}
