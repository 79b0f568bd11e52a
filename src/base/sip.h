#ifndef WEIR_BASE_SIP_H
#define WEIR_BASE_SIP_H

#include <stdint.h>

/* The mixing step of SipHash, for base/map.c and base/hash.c. */
static inline uint64_t weir_sip_rotl(uint64_t x, int b)
{
    return (x << b) | (x >> (64 - b));
}

static inline void weir_sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = weir_sip_rotl(v[1], 13) ^ v[0];
    v[0] = weir_sip_rotl(v[0], 32);
    v[2] += v[3];
    v[3] = weir_sip_rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = weir_sip_rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = weir_sip_rotl(v[1], 17) ^ v[2];
    v[2] = weir_sip_rotl(v[2], 32);
}

/* The state that a key of two words begins with. */
static inline void weir_sip_begin(uint64_t v[4], const uint64_t key[2])
{
    v[0] = key[0] ^ 0x736f6d6570736575u;
    v[1] = key[1] ^ 0x646f72616e646f6du;
    v[2] = key[0] ^ 0x6c7967656e657261u;
    v[3] = key[1] ^ 0x7465646279746573u;
}

static inline void weir_sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    weir_sip_round(v);
    v[0] ^= word;
}

static inline uint64_t weir_sip_end(uint64_t v[4])
{
    for (int r = 0; r < 3; r++) {
        weir_sip_round(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
