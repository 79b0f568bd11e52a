/* The check sums in addresses of crypto currencies: base58check, bech32, EIP-55. */
#include "detect/ascii.h"
#include "detect/pii_int.h"

#include <openssl/sha.h>
#include <stdint.h>
#include <string.h>

/* ---- 1… and 3…: a version byte, 20 bytes and the first four of a hash of hashes */

enum { N_DECODED = 25, N_CHECK = 4 };

static bool decode_base58(const char *s, size_t n, unsigned char *out)
{
    static const char alphabet[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    memset(out, 0, N_DECODED);
    for (size_t i = 0; i < n; i++) {
        const char *at = strchr(alphabet, s[i]);
        if (at == NULL) {
            return false;
        }
        unsigned carry = (unsigned)(at - alphabet);
        for (size_t k = N_DECODED; k-- > 0;) {
            carry += 58U * out[k];
            out[k] = (unsigned char)carry;
            carry >>= 8;
        }
        if (carry != 0) {
            return false;
        }
    }
    return true;
}

static bool is_base58check(const char *s, size_t n)
{
    unsigned char bytes[N_DECODED];
    unsigned char hash[SHA256_DIGEST_LENGTH];
    if (!decode_base58(s, n, bytes)) {
        return false;
    }
    SHA256(bytes, N_DECODED - N_CHECK, hash);
    SHA256(hash, sizeof hash, hash);
    return memcmp(hash, bytes + N_DECODED - N_CHECK, N_CHECK) == 0;
}

/* ---- bc1…: a polynomial over 32 letters; the version decides what must be left */

static uint32_t step(uint32_t sum, uint32_t value)
{
    static const uint32_t terms[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
    uint32_t top = sum >> 25;
    sum = (sum & 0x1ffffff) << 5 ^ value;
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
        sum ^= (top >> i & 1) != 0 ? terms[i] : 0;
    }
    return sum;
}

static bool is_bech32(const char *s, size_t n)
{
    static const char alphabet[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    static const unsigned char prefix[] = {3, 3, 0, 2, 3}; /* "bc", spread out */
    enum { PLAIN = 1, MODIFIED = 0x2bc830a3 };
    uint32_t sum = 1;
    for (size_t i = 0; i < sizeof prefix; i++) {
        sum = step(sum, prefix[i]);
    }
    for (size_t i = strlen("bc1"); i < n; i++) {
        const char *at = strchr(alphabet, s[i]);
        if (at == NULL) {
            return false;
        }
        sum = step(sum, (uint32_t)(at - alphabet));
    }
    return sum == PLAIN || sum == MODIFIED;
}

bool weir_pii__is_bitcoin(const char *spelled, size_t n)
{
    return memcmp(spelled, "bc1", 3) == 0
               ? is_bech32(spelled, n)
               : n <= 34 && (spelled[0] == '1' || spelled[0] == '3') && is_base58check(spelled, n);
}

/* ---- 0x…: where letters of both cases stand, the hash of the small ones says which are capitals
 */

static uint64_t turn(uint64_t x, unsigned n)
{
    return n == 0 ? x : x << n | x >> (64 - n);
}

static void theta(uint64_t *a)
{
    uint64_t sums[5];
    for (size_t x = 0; x < 5; x++) {
        sums[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    }
    for (size_t i = 0; i < 25; i++) {
        a[i] ^= sums[(i + 4) % 5] ^ turn(sums[(i + 1) % 5], 1);
    }
}

static void rho_and_pi(uint64_t *a)
{
    uint64_t moved = a[1];
    size_t x = 1;
    size_t y = 0;
    for (unsigned i = 0; i < 24; i++) {
        size_t next = (2 * x + 3 * y) % 5;
        x = y;
        y = next;
        uint64_t kept = a[x + 5 * y];
        a[x + 5 * y] = turn(moved, (i + 1) * (i + 2) / 2 % 64);
        moved = kept;
    }
}

static void chi(uint64_t *a)
{
    for (size_t row = 0; row < 25; row += 5) {
        uint64_t b[5];
        memcpy(b, a + row, sizeof b);
        for (size_t x = 0; x < 5; x++) {
            a[row + x] = b[x] ^ (~b[(x + 1) % 5] & b[(x + 2) % 5]);
        }
    }
}

/* The constants of the rounds come from a shift register of eight bits. */
static void iota(uint64_t *a, unsigned *state)
{
    for (unsigned i = 0; i < 7; i++) {
        if ((*state & 1) != 0) {
            a[0] ^= (uint64_t)1 << ((1U << i) - 1);
        }
        *state = (*state & 0x80) != 0 ? (*state << 1 ^ 0x71) & 0xff : *state << 1;
    }
}

/* Keccak-256 of a text shorter than its block, as Ethereum has it. */
static void keccak(const char *text, size_t n, unsigned char *hash)
{
    enum { BLOCK = 136, N_ROUNDS = 24, N_HASH = 32 };
    unsigned char block[BLOCK] = {0};
    uint64_t a[25] = {0};
    unsigned state = 1;
    memcpy(block, text, n);
    block[n] = 0x01;
    block[BLOCK - 1] |= 0x80;
    for (size_t i = 0; i < BLOCK; i++) {
        a[i / 8] |= (uint64_t)block[i] << 8 * (i % 8);
    }
    for (int round = 0; round < N_ROUNDS; round++) {
        theta(a);
        rho_and_pi(a);
        chi(a);
        iota(a, &state);
    }
    for (size_t i = 0; i < N_HASH; i++) {
        hash[i] = (unsigned char)(a[i / 8] >> 8 * (i % 8));
    }
}

bool weir_pii__is_ethereum(const char *spelled, size_t n)
{
    enum { N_HEX = 40 };
    const char *hex = spelled + strlen("0x");
    char small[N_HEX];
    unsigned char hash[32];
    bool has_small = false;
    bool has_capital = false;
    for (size_t i = 0; i < N_HEX; i++) {
        has_small = has_small || (hex[i] >= 'a' && hex[i] <= 'f');
        has_capital = has_capital || weir_ascii_is_upper(hex[i]);
        small[i] = weir_ascii_lower(hex[i]);
        if (!weir_ascii_is_hex(hex[i])) {
            return false;
        }
    }
    if (n != N_HEX + 2 || memcmp(spelled, "0x", 2) != 0) {
        return false;
    }
    if (!has_small || !has_capital) {
        return has_small || has_capital; /* digits alone are a number */
    }
    keccak(small, sizeof small, hash);
    for (size_t i = 0; i < N_HEX; i++) {
        bool is_high = (hash[i / 2] >> (i % 2 == 0 ? 4 : 0) & 8) != 0;
        if (weir_ascii_is_alpha(hex[i]) && weir_ascii_is_upper(hex[i]) != is_high) {
            return false;
        }
    }
    return true;
}
