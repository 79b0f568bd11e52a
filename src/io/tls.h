#ifndef WEIR_IO_TLS_H
#define WEIR_IO_TLS_H

#include "base/buf.h"

#include <openssl/ssl.h>
#include <stdbool.h>

/*
 * TLS contexts, one per configuration entry, shared by reference between workers. TLS 1.2 or newer.
 * Certificates that came from files are read once, here; a reload makes a new context.
 */
struct weir_tls {
    SSL_CTX *ctx;
    int refs; /* atomic */
    bool is_server;
    bool insecure;
};

struct weir_tls_options {
    const char *cert_path; /* PEM chain; server: required */
    const char *key_path;  /* PEM key, matches the certificate; NULL: in the certificate's file */
    const char *ca_path;   /* server: client CA, turns on mTLS; client: trusted CA (else system) */
    bool insecure;         /* client: do not verify the server */
    bool offer_h2;         /* ALPN: h2 and http/1.1 (server: preferred in that order) */
};

/* NULL on failure, with a sentence for people in `why` naming the file at fault. */
struct weir_tls *weir_tls_new_server(const struct weir_tls_options *options, struct weir_buf *why);
struct weir_tls *weir_tls_new_client(const struct weir_tls_options *options, struct weir_buf *why);
struct weir_tls *weir_tls_ref(struct weir_tls *tls);
void weir_tls_unref(struct weir_tls *tls);

#endif
