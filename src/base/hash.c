#include "base/hash.h"

#include "base/assert.h"
#include "base/sip.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

static uint64_t secret[2];
static pthread_once_t secret_once = PTHREAD_ONCE_INIT;

static void make_secret(void)
{
    ssize_t got = getrandom(secret, sizeof secret, 0);
    WEIR_ASSERT(got == (ssize_t)sizeof secret);
}

void weir_hash_begin(struct weir_hash *h)
{
    pthread_once(&secret_once, make_secret);
    weir_sip_begin(h->v, secret);
    h->v[1] ^= 0xee; /* the longer result */
}

void weir_hash_add_u64(struct weir_hash *h, uint64_t number)
{
    weir_sip_word(h->v, number);
}

/* The length goes first, so the last word may be filled up with zeros. */
void weir_hash_add(struct weir_hash *h, struct weir_slice part)
{
    weir_sip_word(h->v, part.n);
    size_t i = 0;
    for (; part.n - i >= 8; i += 8) {
        uint64_t word;
        memcpy(&word, part.p + i, 8);
        weir_sip_word(h->v, word);
    }
    if (i < part.n) {
        uint64_t word = 0;
        memcpy(&word, part.p + i, part.n - i);
        weir_sip_word(h->v, word);
    }
}

struct weir_hash_value weir_hash_end(struct weir_hash *h)
{
    struct weir_hash_value value;
    h->v[2] ^= 0xee;
    value.words[0] = weir_sip_end(h->v);
    h->v[1] ^= 0xdd;
    value.words[1] = weir_sip_end(h->v);
    return value;
}
