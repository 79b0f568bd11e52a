#include "task/seal.h"

#include "base/assert.h"
#include "base/buf.h"
#include "talk/form.h"
#include "wire/base64.h"
#include "wire/json_edit.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#define MARK WEIR_SLICE(WEIR_FORM_SEAL_MARK)

enum { NONCE_BYTES = 12, TAG_BYTES = 16, LENGTH_BYTES = 8 };

void weir_seal_init(struct weir_seal *seal, struct weir_slice secret, struct weir_slice route)
{
    unsigned n = 0;
    int rc = EVP_Digest(secret.p, secret.n, seal->key, &n, EVP_sha256(), NULL);
    WEIR_ASSERT(rc == 1 && n == sizeof seal->key);
    seal->route = route;
}

bool weir_seal_is(struct weir_slice signature)
{
    return weir_form_is_seal(signature);
}

/* ---- the cipher ---- */

/* Begins with the key, the nonce, and what the seal is bound to. */
static EVP_CIPHER_CTX *begin(const struct weir_seal *seal, const unsigned char *nonce, int is_close)
{
    int n;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    WEIR_ASSERT(ctx != NULL);
    int rc = EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, seal->key, nonce, is_close);
    rc = rc == 1 ? EVP_CipherUpdate(ctx, NULL, &n, (const unsigned char *)seal->route.p,
                                    (int)seal->route.n)
                 : rc;
    WEIR_ASSERT(rc == 1);
    return ctx;
}

/* The length of the text, the text, the signature. */
static struct weir_slice join(struct weir_slice text, struct weir_slice signature,
                              struct weir_arena *arena)
{
    size_t n = LENGTH_BYTES + text.n + signature.n;
    unsigned char *out = weir_arena_alloc(arena, n);
    uint64_t length = text.n;
    for (size_t i = 0; i < LENGTH_BYTES; i++) {
        out[i] = (unsigned char)(length >> (8 * i));
    }
    memcpy(out + LENGTH_BYTES, text.p, text.n);
    memcpy(out + LENGTH_BYTES + text.n, signature.p, signature.n);
    return weir_slice_make((const char *)out, n);
}

struct weir_slice weir_seal_close(const struct weir_seal *seal, struct weir_slice text,
                                  struct weir_slice signature, struct weir_arena *arena)
{
    struct weir_slice plain = join(text, signature, arena);
    unsigned char *out = weir_arena_alloc(arena, NONCE_BYTES + plain.n + TAG_BYTES);
    int n = 0;
    int end = 0;
    WEIR_ASSERT(plain.n < INT_MAX && RAND_bytes(out, NONCE_BYTES) == 1);
    EVP_CIPHER_CTX *ctx = begin(seal, out, 1);
    int rc =
        EVP_EncryptUpdate(ctx, out + NONCE_BYTES, &n, (const unsigned char *)plain.p, (int)plain.n);
    rc = rc == 1 ? EVP_EncryptFinal_ex(ctx, out + NONCE_BYTES + n, &end) : rc;
    rc = rc == 1 ? EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_BYTES,
                                       out + NONCE_BYTES + plain.n)
                 : rc;
    WEIR_ASSERT(rc == 1 && (size_t)(n + end) == plain.n);
    EVP_CIPHER_CTX_free(ctx);
    struct weir_slice sealed =
        weir_base64_encode(arena, WEIR_BASE64_URL,
                           weir_slice_make((const char *)out, NONCE_BYTES + plain.n + TAG_BYTES));
    struct weir_buf marked = {0};
    weir_buf_append(&marked, MARK);
    weir_buf_append(&marked, sealed);
    return weir_arena_take_buf(arena, &marked);
}

static bool decrypt(const struct weir_seal *seal, struct weir_slice bytes, unsigned char *out)
{
    const unsigned char *in = (const unsigned char *)bytes.p;
    int n_in = (int)(bytes.n - NONCE_BYTES - TAG_BYTES);
    int n = 0;
    int end = 0;
    unsigned char tag[TAG_BYTES];
    memcpy(tag, in + NONCE_BYTES + n_in, TAG_BYTES);
    EVP_CIPHER_CTX *ctx = begin(seal, in, 0);
    int rc = EVP_DecryptUpdate(ctx, out, &n, in + NONCE_BYTES, n_in);
    rc = rc == 1 ? EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) : rc;
    rc = rc == 1 ? EVP_DecryptFinal_ex(ctx, out + n, &end) : rc;
    EVP_CIPHER_CTX_free(ctx);
    return rc == 1;
}

bool weir_seal_open(const struct weir_seal *seal, struct weir_slice sealed,
                    struct weir_arena *arena, struct weir_slice *text, struct weir_slice *signature)
{
    struct weir_slice bytes;
    if (!weir_seal_is(sealed) ||
        weir_base64_decode(arena, WEIR_BASE64_URL, weir_slice_sub(sealed, MARK.n, sealed.n),
                           &bytes) != 0 ||
        bytes.n < NONCE_BYTES + LENGTH_BYTES + TAG_BYTES || bytes.n > INT_MAX) {
        return false;
    }
    size_t n = bytes.n - NONCE_BYTES - TAG_BYTES;
    unsigned char *plain = weir_arena_alloc(arena, n);
    if (!decrypt(seal, bytes, plain)) {
        return false;
    }
    uint64_t length = 0;
    for (size_t i = 0; i < LENGTH_BYTES; i++) {
        length |= (uint64_t)plain[i] << (8 * i);
    }
    struct weir_slice rest = {(const char *)plain + LENGTH_BYTES, n - LENGTH_BYTES};
    if (length > rest.n) {
        return false;
    }
    *text = weir_slice_sub(rest, 0, (size_t)length);
    *signature = weir_slice_sub(rest, (size_t)length, rest.n);
    return true;
}

/* ---- a request ---- */

struct restoring {
    const struct weir_seal *seal;
    const struct weir_json *json;
    struct weir_arena *arena;
    struct weir_json_edit edit;
    uint32_t broken;
};

static void restore_block(struct restoring *r, uint32_t block)
{
    const struct weir_json *j = r->json;
    uint32_t signature = weir_json_get_set(j, block, WEIR_SLICE("signature"));
    uint32_t thinking = weir_json_get_set(j, block, WEIR_SLICE("thinking"));
    if (signature == WEIR_JSON_NONE || weir_json_type(j, signature) != WEIR_JSON_STRING) {
        return;
    }
    struct weir_slice sealed = weir_json_string(j, signature, r->arena);
    struct weir_slice text;
    struct weir_slice theirs;
    if (!weir_slice_starts_with(sealed, MARK)) {
        return;
    }
    if (r->seal == NULL || thinking == WEIR_JSON_NONE ||
        weir_json_type(j, thinking) != WEIR_JSON_STRING ||
        !weir_seal_open(r->seal, sealed, r->arena, &text, &theirs)) {
        r->broken = r->broken == WEIR_JSON_NONE ? signature : r->broken;
        return;
    }
    weir_json_edit_replace_string(&r->edit, thinking, text);
    weir_json_edit_replace_string(&r->edit, signature, theirs);
}

static void restore_message(struct restoring *r, uint32_t message)
{
    const struct weir_json *j = r->json;
    uint32_t blocks = weir_json_type(j, message) == WEIR_JSON_OBJECT
                          ? weir_json_get_set(j, message, WEIR_SLICE("content"))
                          : WEIR_JSON_NONE;
    if (blocks == WEIR_JSON_NONE || weir_json_type(j, blocks) != WEIR_JSON_ARRAY) {
        return;
    }
    uint32_t at = weir_json_first(j, blocks);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(j, blocks, at)) {
        if (weir_json_type(j, at) == WEIR_JSON_OBJECT) {
            restore_block(r, at);
        }
    }
}

struct weir_slice weir_seal_restore(const struct weir_seal *seal, const struct weir_json *json,
                                    struct weir_arena *arena, uint32_t *broken)
{
    struct restoring r = {.seal = seal, .json = json, .arena = arena, .broken = WEIR_JSON_NONE};
    struct weir_slice body = json->src;
    uint32_t messages = weir_json_type(json, 0) == WEIR_JSON_OBJECT
                            ? weir_json_get_set(json, 0, WEIR_SLICE("messages"))
                            : WEIR_JSON_NONE;
    if (messages != WEIR_JSON_NONE && weir_json_type(json, messages) == WEIR_JSON_ARRAY) {
        weir_json_edit_begin(&r.edit, json);
        uint32_t at = weir_json_first(json, messages);
        for (; at != WEIR_JSON_NONE; at = weir_json_after(json, messages, at)) {
            restore_message(&r, at);
        }
        if (r.edit.n != 0) {
            struct weir_buf out = {0};
            weir_json_edit_write(&r.edit, &out);
            body = weir_arena_take_buf(arena, &out);
        }
        weir_json_edit_dispose(&r.edit);
    }
    *broken = r.broken;
    return body;
}
