#ifndef WEIR_DETECT_SECRETS_H
#define WEIR_DETECT_SECRETS_H

#include "detect/builtin.h"

/*
 * `secrets`: keys and tokens by their shapes, `secret` / kind. No parameters.
 *
 *   1.0   a vendor's prefix and shape; a private key; a JWT whose header reads as one
 *   0.9   a shape without a prefix of its own (Mailchimp, Telegram, Discord, a login in a URL)
 *   0.7   a name such as `api_key` or `password` with a value that looks drawn at random
 *   0.6   the same in a sentence ("the password is …")
 *
 * Placeholders are not secrets: xxxx, <your-key>, ${TOKEN}, one letter repeated; nor are names of
 * code, paging tokens, resource names, translations.
 */
extern const struct weir_builtin_kind weir_detect_secrets;

#endif
