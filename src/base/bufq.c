#include "base/bufq.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdlib.h>

/* Small first blocks keep a mostly idle connection cheap; large ones keep iovecs few. */
enum { FIRST_BLOCK_BYTES = 1024 - 32, LARGEST_BLOCK_BYTES = 16 * 1024 - 64 };

/* First blocks that were given back: nearly every event needs one, for the time of a write. None
 * where sanitizers look for memory that is used after it was given back. */
#ifdef WEIR_DEBUG
enum { MOST_SPARES = 0 };
#else
enum { MOST_SPARES = 256 };
#endif

struct weir_bufq_block {
    struct weir_bufq_block *next;
    size_t begin; /* first queued byte */
    size_t end;   /* one past the last queued byte */
    size_t cap;
    char data[];
};

static _Thread_local struct weir_bufq_block *spares;
static _Thread_local size_t n_spares;

static struct weir_bufq_block *new_block(size_t cap)
{
    struct weir_bufq_block *b = spares;
    if (cap == FIRST_BLOCK_BYTES && b != NULL) {
        spares = b->next;
        n_spares--;
    } else {
        b = weir_mem_alloc(sizeof *b + cap);
    }
    *b = (struct weir_bufq_block){.cap = cap};
    return b;
}

static void free_block(struct weir_bufq_block *b)
{
    if (b->cap == FIRST_BLOCK_BYTES && n_spares != MOST_SPARES) {
        b->next = spares;
        spares = b;
        n_spares++;
    } else {
        free(b);
    }
}

void weir_bufq_free_spares(void)
{
    while (spares != NULL) {
        struct weir_bufq_block *b = spares;
        spares = b->next;
        free(b);
    }
    n_spares = 0;
}

void weir_bufq_init(struct weir_bufq *q, size_t max_bytes)
{
    *q = (struct weir_bufq){.max = max_bytes};
}

static void drop_head(struct weir_bufq *q)
{
    struct weir_bufq_block *b = q->head;
    q->head = b->next;
    weir_account_sub(q->account, sizeof *b + b->cap);
    free_block(b);
}

void weir_bufq_dispose(struct weir_bufq *q)
{
    while (q->head != NULL) {
        drop_head(q);
    }
    *q = (struct weir_bufq){.max = q->max, .account = q->account};
}

static struct weir_bufq_block *add_block(struct weir_bufq *q, size_t want)
{
    size_t cap = q->tail == NULL ? FIRST_BLOCK_BYTES : 4 * q->tail->cap;
    cap = cap < LARGEST_BLOCK_BYTES ? cap : LARGEST_BLOCK_BYTES;
    if (cap < want) {
        cap = want;
    }
    struct weir_bufq_block *b = new_block(cap);
    weir_account_add(q->account, sizeof *b + cap);
    if (q->tail != NULL) {
        q->tail->next = b;
    } else {
        q->head = b;
    }
    q->tail = b;
    return b;
}

void weir_bufq_append(struct weir_bufq *q, struct weir_slice s)
{
    if (s.n == 0) {
        return;
    }
    struct weir_bufq_block *b = q->tail;
    size_t room = b != NULL ? b->cap - b->end : 0;
    size_t now = s.n < room ? s.n : room;
    if (now != 0) {
        memcpy(b->data + b->end, s.p, now);
        b->end += now;
    }
    if (now < s.n) {
        b = add_block(q, s.n - now);
        memcpy(b->data, s.p + now, s.n - now);
        b->end = s.n - now;
    }
    q->n += s.n;
}

char *weir_bufq_reserve(struct weir_bufq *q, size_t want, size_t *room)
{
    struct weir_bufq_block *b = q->tail;
    if (b == NULL || b->cap - b->end < want) {
        b = add_block(q, want);
    }
    *room = b->cap - b->end;
    return b->data + b->end;
}

void weir_bufq_commit(struct weir_bufq *q, size_t n)
{
    WEIR_ASSERT(q->tail != NULL && n <= q->tail->cap - q->tail->end);
    q->tail->end += n;
    q->n += n;
}

struct weir_slice weir_bufq_peek(const struct weir_bufq *q)
{
    for (const struct weir_bufq_block *b = q->head; b != NULL; b = b->next) {
        if (b->end != b->begin) {
            return weir_slice_make(b->data + b->begin, b->end - b->begin);
        }
    }
    return weir_slice_make(NULL, 0);
}

int weir_bufq_iov(const struct weir_bufq *q, struct iovec *iov, int max_iov, size_t *bytes)
{
    int n = 0;
    *bytes = 0;
    for (struct weir_bufq_block *b = q->head; b != NULL && n < max_iov; b = b->next) {
        if (b->end != b->begin) {
            iov[n].iov_base = b->data + b->begin;
            iov[n].iov_len = b->end - b->begin;
            *bytes += iov[n].iov_len;
            n++;
        }
    }
    return n;
}

void weir_bufq_consume(struct weir_bufq *q, size_t n)
{
    WEIR_ASSERT(n <= q->n);
    q->n -= n;
    if (q->n == 0) {
        weir_bufq_dispose(q);
        return;
    }
    while (q->head->end - q->head->begin <= n) {
        n -= q->head->end - q->head->begin;
        drop_head(q);
    }
    q->head->begin += n;
}

void weir_bufq_move(struct weir_bufq *to, struct weir_bufq *from)
{
    WEIR_ASSERT(to != from && to->account == from->account);
    if (from->n == 0) {
        weir_bufq_dispose(from);
        return;
    }
    if (to->tail != NULL) {
        to->tail->next = from->head;
    } else {
        to->head = from->head;
    }
    to->tail = from->tail;
    to->n += from->n;
    *from = (struct weir_bufq){.max = from->max, .account = from->account};
}
