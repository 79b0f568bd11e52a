#include "obs/audit_chain.h"

#include "base/assert.h"
#include "base/mem.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

static const char CHAIN_KEY[] = ",\"chain\":\"";
static const char NUMBER_KEY[] = ",\"n\":";
static const char BEGINS_KEY[] = "\"begins\":\"";

static void put_hex(char *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

/* HMAC-SHA256 over both, one behind the other, in hexadecimal. */
static void seal(struct weir_slice key, struct weir_slice a, struct weir_slice b,
                 char out[WEIR_AUDIT_HEX_BYTES + 1])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    char *joined = weir_mem_alloc(a.n + b.n + 1);
    memcpy(joined, a.p, a.n);
    memcpy(joined + a.n, b.p, b.n);
    const unsigned char *made =
        HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)joined, a.n + b.n, digest, &n);
    WEIR_ASSERT(made != NULL && n == WEIR_AUDIT_HEX_BYTES / 2);
    free(joined);
    put_hex(out, digest, n);
}

void weir_audit_chain_seal(struct weir_audit_chain *c, struct weir_slice key, struct weir_buf *line)
{
    weir_buf_printf(line, "%s%llu", NUMBER_KEY, (unsigned long long)++c->n);
    if (key.n != 0) {
        char chain[WEIR_AUDIT_HEX_BYTES + 1];
        seal(key, weir_slice_cstr(c->last), weir_buf_slice(line), chain);
        memcpy(c->last, chain, sizeof chain);
        weir_buf_printf(line, "%s%s\"", CHAIN_KEY, chain);
    }
    weir_buf_append(line, WEIR_SLICE("}\n"));
}

static bool is_hex(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f'))) {
            return false;
        }
    }
    return s.n == WEIR_AUDIT_HEX_BYTES;
}

/* Takes `,"chain":"…"` off the end of the line, if it is there. */
static void cut_chain(struct weir_slice *body, struct weir_slice *chain)
{
    size_t n = sizeof CHAIN_KEY - 1 + WEIR_AUDIT_HEX_BYTES + 1;
    *chain = WEIR_SLICE("");
    if (body->n < n || body->p[body->n - 1] != '"') {
        return;
    }
    struct weir_slice end = weir_slice_sub(*body, body->n - n, body->n);
    struct weir_slice hex = weir_slice_sub(end, sizeof CHAIN_KEY - 1, end.n - 1);
    if (weir_slice_starts_with(end, weir_slice_cstr(CHAIN_KEY)) && is_hex(hex)) {
        *chain = hex;
        body->n -= n;
    }
}

static bool read_number(struct weir_slice body, uint64_t *out)
{
    size_t at = body.n;
    while (at > 0 && body.p[at - 1] >= '0' && body.p[at - 1] <= '9') {
        at--;
    }
    size_t n = sizeof NUMBER_KEY - 1;
    return at >= n && memcmp(body.p + at - n, NUMBER_KEY, n) == 0 &&
           weir_slice_u64(weir_slice_sub(body, at, body.n), out) == 0;
}

/* Our first lines have it as their second member, behind the time; nothing else has it there. */
static struct weir_slice read_begins(struct weir_slice body)
{
    size_t comma = weir_slice_find(body, ',');
    struct weir_slice rest = weir_slice_sub(body, comma < body.n ? comma + 1 : body.n, body.n);
    size_t n = sizeof BEGINS_KEY - 1;
    if (!weir_slice_starts_with(rest, weir_slice_cstr(BEGINS_KEY))) {
        return (struct weir_slice){0};
    }
    struct weir_slice value = weir_slice_sub(rest, n, rest.n);
    return weir_slice_sub(value, 0, weir_slice_find(value, '"'));
}

bool weir_audit_chain_read(struct weir_slice line, struct weir_audit_line *out)
{
    if (line.n < 2 || line.p[0] != '{' || line.p[line.n - 1] != '}') {
        return false;
    }
    *out = (struct weir_audit_line){.body = weir_slice_sub(line, 0, line.n - 1)};
    cut_chain(&out->body, &out->chain);
    out->begins = read_begins(out->body);
    return read_number(out->body, &out->n);
}

bool weir_audit_chain_follows(const struct weir_audit_line *line, struct weir_slice last,
                              struct weir_slice key)
{
    char chain[WEIR_AUDIT_HEX_BYTES + 1];
    seal(key, last, line->body, chain);
    return weir_slice_eq_secret(line->chain, weir_slice_cstr(chain));
}

void weir_audit_chain_hash_text(struct weir_slice key, struct weir_slice text,
                                char out[WEIR_AUDIT_TEXT_HASH_BYTES + 1])
{
    char hex[WEIR_AUDIT_HEX_BYTES + 1];
    seal(key, WEIR_SLICE("text\n"), text, hex);
    memcpy(out, hex, WEIR_AUDIT_TEXT_HASH_BYTES);
    out[WEIR_AUDIT_TEXT_HASH_BYTES] = '\0';
}
