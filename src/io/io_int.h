#ifndef WEIR_IO_IO_INT_H
#define WEIR_IO_IO_INT_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

/* What the files of this folder share and nobody else sees. */

struct weir_account;
struct weir_sock;
struct weir_bufq;
struct weir_tls;

/* The nearest WEIR_ code for a libuv result; 0 for 0. */
int weir_io__err(int uv_err);

/*
 * sock.c, for the TLS part and the write part. The first three call events of the owner, who may do
 * anything in them: look at the state afterwards. Fail only posts, and keeps the first `why` set.
 */
void weir_sock__opened(struct weir_sock *s);
void weir_sock__give(struct weir_sock *s, struct weir_slice bytes);
void weir_sock__eof(struct weir_sock *s);
void weir_sock__fail(struct weir_sock *s, int err);
/* "what" or "what: detail" */
void weir_sock__set_why(struct weir_sock *s, const char *what, const char *detail);

/* sock_out.c: queues and sends. */
void weir_sock__flush(struct weir_sock *s);
void weir_sock__flush_soon(struct weir_sock *s);
void weir_sock__drop_output(struct weir_sock *s);

/* sock_tls.c: the cipher between the owner and the wire; all of it for sockets with s->tls. */
void weir_sock__tls_open(struct weir_sock *s, struct weir_tls *tls, const char *server_name);
void weir_sock__tls_free(struct weir_sock *s);
/* Takes cipher text from the wire; calls events of the owner. */
void weir_sock__tls_feed(struct weir_sock *s, struct weir_slice bytes);
/* Goes on with the handshake or with input held back while paused; calls events of the owner. */
void weir_sock__tls_advance(struct weir_sock *s);
bool weir_sock__tls_has_input(const struct weir_sock *s);
/* Moves up to `max` bytes of plain text into s->out, encrypted. */
void weir_sock__tls_encrypt(struct weir_sock *s, size_t max);
/* Puts close_notify into s->out, once. */
void weir_sock__tls_end(struct weir_sock *s);
void weir_sock__tls_count_on(struct weir_sock *s, struct weir_account *account);
struct weir_bufq *weir_sock__tls_stage(struct weir_sock *s);
size_t weir_sock__tls_staged(const struct weir_sock *s);

#endif
