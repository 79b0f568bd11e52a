#include "wire/gzip.h"

#include "base/assert.h"
#include "base/err.h"

#include <limits.h>
#include <zlib.h>

enum {
    WINDOW_BITS = 15 + 16, /* zlib's way to say: with gzip's head and checksum */
    MEMORY_LEVEL = 8,
};

int weir_gzip_pack(struct weir_slice bytes, struct weir_buf *out)
{
    z_stream z = {0};
    if (bytes.n > UINT_MAX / 2) {
        return WEIR_ELIMIT;
    }
    int rc =
        deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
    WEIR_ASSERT(rc == Z_OK); /* anything else is no memory, or another zlib than we built with */
    size_t most = deflateBound(&z, bytes.n);
    size_t at = out->n;
    rc = weir_buf_reserve(out, most);
    if (rc == 0) {
        z.next_in = (z_const Bytef *)bytes.p;
        z.avail_in = (uInt)bytes.n;
        z.next_out = (Bytef *)out->p + at;
        z.avail_out = (uInt)most;
        int end = deflate(&z, Z_FINISH);
        WEIR_ASSERT(end == Z_STREAM_END); /* there was room for the most it can be */
        out->n = at + (most - z.avail_out);
    }
    deflateEnd(&z);
    return rc;
}
