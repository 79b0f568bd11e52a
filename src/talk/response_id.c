#include "talk/response_id.h"

#include "base/arena.h"
#include "base/assert.h"
#include "talk/form.h"
#include "wire/base64.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

enum {
    TAG_BYTES = 16,
    TAG_CHARS = 22,         /* of these bytes as base64, without padding */
    MOST_BYTES = 128 + 128, /* of an id and all that stands behind it */
};

/* Each with its length before it: no two lists are the same bytes. */
static void add(struct weir_buf *out, struct weir_slice s)
{
    weir_buf_append_u64(out, s.n);
    weir_buf_append_byte(out, ':');
    weir_buf_append(out, s);
}

static void make_tag(const struct weir_response_id *scope, struct weir_slice id,
                     struct weir_slice server, unsigned char tag[TAG_BYTES])
{
    struct weir_buf all = {0};
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    add(&all, WEIR_SLICE("weir response id"));
    add(&all, scope->route);
    add(&all, scope->key);
    add(&all, id);
    add(&all, server);
    const unsigned char *made = HMAC(EVP_sha256(), scope->secret.p, (int)scope->secret.n,
                                     (const unsigned char *)all.p, all.n, digest, &n);
    WEIR_ASSERT(made != NULL && n >= TAG_BYTES);
    memcpy(tag, digest, TAG_BYTES);
    weir_buf_dispose(&all);
}

/* A point ends the server's name, so one in it is written otherwise. */
static void add_swapped(struct weir_buf *out, struct weir_slice s, char from, char to)
{
    for (size_t i = 0; i < s.n; i++) {
        weir_buf_append_byte(out, s.p[i] == from ? to : s.p[i]);
    }
}

void weir_response_id_write(const struct weir_response_id *scope, struct weir_slice id,
                            struct weir_slice server, struct weir_buf *out)
{
    unsigned char tag[TAG_BYTES];
    struct weir_arena arena = {0};
    WEIR_ASSERT(scope->secret.n != 0);
    make_tag(scope, id, server, tag);
    weir_buf_append(out, id);
    weir_buf_append_byte(out, '.');
    add_swapped(out, server, '.', '~');
    weir_buf_append_byte(out, '.');
    weir_buf_append(out, weir_base64_encode(&arena, WEIR_BASE64_URL,
                                            weir_slice_make((const char *)tag, TAG_BYTES)));
    weir_arena_dispose(&arena);
}

/* Cuts off what stands behind the last point. False: there is none. */
static bool cut_last(struct weir_slice *s, struct weir_slice *last)
{
    size_t at = s->n;
    while (at != 0 && s->p[at - 1] != '.') {
        at--;
    }
    if (at == 0) {
        return false;
    }
    *last = weir_slice_sub(*s, at, s->n);
    *s = weir_slice_sub(*s, 0, at - 1);
    return true;
}

static bool is_tag(const struct weir_response_id *scope, struct weir_slice id,
                   struct weir_slice server, struct weir_slice said)
{
    unsigned char tag[TAG_BYTES];
    struct weir_arena arena = {0};
    struct weir_slice bytes;
    make_tag(scope, id, server, tag);
    bool is_same = weir_base64_decode(&arena, WEIR_BASE64_URL, said, &bytes) == 0 &&
                   bytes.n == TAG_BYTES && CRYPTO_memcmp(bytes.p, tag, TAG_BYTES) == 0;
    weir_arena_dispose(&arena);
    return is_same;
}

bool weir_response_id_read(const struct weir_response_id *scope, struct weir_slice tagged,
                           struct weir_slice *id, struct weir_buf *server)
{
    struct weir_slice rest = tagged;
    struct weir_slice said;
    struct weir_slice name;
    if (scope->secret.n == 0 || tagged.n > MOST_BYTES || !cut_last(&rest, &said) ||
        said.n != TAG_CHARS || !cut_last(&rest, &name) ||
        !weir_form_is_id(rest, WEIR_FORM_ID_MOST)) {
        return false;
    }
    size_t before = server->n;
    add_swapped(server, name, '~', '.');
    if (!is_tag(scope, rest, weir_slice_sub(weir_buf_slice(server), before, server->n), said)) {
        server->n = before;
        return false;
    }
    *id = rest;
    return true;
}
