#ifndef WEIR_DETECT_PII_H
#define WEIR_DETECT_PII_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/found.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The personal data that `regex` knows by name. Vectorscan points at a place, a small validator
 * reads the text around it: digits are counted and checked (Luhn, mod 97, ranges that were never
 * given out), so that every finding is exact and scores 1.
 *
 *   email                      email_address
 *   credit-card                credit_card              Luhn, the issuers' prefixes and lengths
 *   ipv4, ipv6                 ipv4, ipv6               not version numbers, not MAC addresses
 *   us-phone-number            us-phone-number          ten bare digits only after a word for it
 *   us-social-security-number  social_security_number   nine bare digits the same
 *   uk-post-code               uk-post-code             areas that exist
 *   iban                       iban                     the country's length, mod 97
 */

/* The bit of a name, or 0. */
uint32_t weir_pii_find(struct weir_slice name);

/* Compiles the patterns, once in a process. 0 or WEIR_EUNSUPPORTED with `why`. */
int weir_pii_prepare(struct weir_buf *why);

/* Adds what the kinds in `mask` find. After prepare. 0 or WEIR_ELIMIT. */
int weir_pii_scan(uint32_t mask, struct weir_slice text, struct weir_found *found);

#endif
