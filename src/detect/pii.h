#ifndef WEIR_DETECT_PII_H
#define WEIR_DETECT_PII_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/found.h"
#include "detect/seek.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The personal data that `regex` knows by name. Vectorscan points at a place, a small validator
 * reads the text around it: digits are counted and checked (Luhn, mod 97, ranges that were never
 * given out), so that every finding is exact and scores 1.
 *
 *   email         email_address            also name%40host in URLs
 *   credit-card   credit_card              Luhn, the issuers' prefixes and lengths
 *   ipv4, ipv6    ipv4, ipv6               public ones; not version numbers, not MAC addresses
 *   phone         us-phone-number          North America's; the others are phone-number
 *   us-ssn        social_security_number   nine bare digits only after a word for it; us-itin
 *   uk-post-code  uk-post-code             areas that exist
 *   iban          iban                     the country's length, mod 97
 *
 * `us-phone-number` and `us-social-security-number` are older names of `phone` and `us-ssn`. The
 * kinds of pii_ids.c (national numbers, addresses of currencies, MAC, BIC, VIN) are called the same
 * in findings; they have patterns of their own, which cost nothing where nobody asks for them.
 */

/* The bit of a name, or 0. */
uint64_t weir_pii_find(struct weir_slice name);

/* The names that there are, one after the other; NULL after the last. */
const char *weir_pii_name(size_t i);

/* Compiles the patterns of the kinds in `mask`, once in a process. 0 or WEIR_EUNSUPPORTED with
 * `why`. */
int weir_pii_prepare(uint64_t mask, struct weir_buf *why);

/* Adds what the kinds in `mask` find. After prepare for them. 0 or WEIR_ELIMIT. */
int weir_pii_scan(uint64_t mask, struct weir_slice text, struct weir_found *found);

/*
 * The same for texts that are still being written (detect/seek.h): of the two sets of patterns,
 * which is asked for, and its rules. `seek` must outlive them.
 */
struct weir_pii_seek {
    uint64_t mask;
    bool is_ids; /* the kinds of pii_ids.c; else the others */
};

bool weir_pii_has(uint64_t mask, bool is_ids);

/* Do findings of all kinds begin in a word that has a digit or an @? */
bool weir_pii_is_numeric(uint64_t mask);
struct weir_pii_seek weir_pii_seek(uint64_t mask, bool is_ids);
struct weir_seek_rules weir_pii_rules(const struct weir_pii_seek *seek);

/* Where the earliest finding may begin that no pattern has pointed at yet; text.n: nowhere. */
size_t weir_pii_tail(uint64_t mask, struct weir_slice text);

#endif
