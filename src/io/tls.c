/*
 * Builds contexts. Everything that can be wrong with the operator's files is found here, once, and
 * said with the file's name.
 */
#include "io/tls.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Protocol lists as ALPN has them: each name with its length before it, the preferred first. */
static const char ALPN_BOTH[] = "\x02h2\x08http/1.1";
static const char ALPN_HTTP1[] = "\x08http/1.1";

/*
 * Of TLS 1.2 only what TLS 1.3 has too: a key of its own for each connection, so that a key stolen
 * later opens nothing recorded before, and ciphers that authenticate what they encrypt. The list of
 * TLS 1.3 is another one and stays as OpenSSL has it.
 */
static const char TLS12_CIPHERS[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

static const char *alpn_list(bool offer_h2)
{
    return offer_h2 ? ALPN_BOTH : ALPN_HTTP1;
}

/* `arg` is non-NULL when h2 is offered. If both sides have no protocol in common, that is not an
 * error: the connection uses HTTP/1.1. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *n_out,
                   const unsigned char *in, unsigned n_in, void *arg)
{
    (void)ssl;
    const char *ours = alpn_list(arg != NULL);
    unsigned char *chosen;
    int rc = SSL_select_next_proto(&chosen, n_out, (const unsigned char *)ours,
                                   (unsigned)strlen(ours), in, n_in);
    *out = chosen;
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

/* Nobody is there to type a pass phrase; `arg` learns that one was wanted. */
static int on_passphrase(char *buf, int size, int for_writing, void *arg)
{
    (void)for_writing;
    if (size > 0) {
        buf[0] = '\0';
    }
    *(bool *)arg = true;
    return -1;
}

/* OpenSSL queues several errors; the oldest is the cause. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_error());
    return text != NULL ? text : "unknown error";
}

/* OpenSSL's own words for a missing file are hard to read, so look first. */
static bool can_read(const char *path, struct weir_buf *why)
{
    FILE *f = fopen(path, "re");
    if (f != NULL) {
        bool ok = fgetc(f) != EOF || !ferror(f);
        int saved = errno;
        fclose(f);
        errno = saved;
        if (ok) {
            return true;
        }
    }
    weir_buf_printf(why, "cannot read %s: %s", path, strerror(errno));
    return false;
}

static bool use_cert(SSL_CTX *ctx, const char *path, struct weir_buf *why)
{
    if (!can_read(path, why)) {
        return false;
    }
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ctx, path) == 1) {
        return true;
    }
    unsigned long code = ERR_peek_error();
    if (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE) {
        weir_buf_printf(why, "%s holds no PEM certificate", path);
    } else {
        weir_buf_printf(why, "cannot use the certificate %s: %s", path, reason());
    }
    return false;
}

static bool is_mismatch(unsigned long code)
{
    int why = ERR_GET_REASON(code);
    return ERR_GET_LIB(code) == ERR_LIB_X509 &&
           (why == X509_R_KEY_VALUES_MISMATCH || why == X509_R_KEY_TYPE_MISMATCH);
}

static bool use_key(SSL_CTX *ctx, const struct weir_tls_options *o, struct weir_buf *why)
{
    const char *path = o->key_path != NULL ? o->key_path : o->cert_path;
    if (!can_read(path, why)) {
        return false;
    }
    bool is_locked = false;
    SSL_CTX_set_default_passwd_cb(ctx, on_passphrase);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, &is_locked);
    ERR_clear_error();
    bool ok = SSL_CTX_use_PrivateKey_file(ctx, path, SSL_FILETYPE_PEM) == 1 &&
              SSL_CTX_check_private_key(ctx) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL);
    if (ok) {
        return true;
    }
    if (is_locked) {
        weir_buf_printf(why, "the key %s is protected by a pass phrase", path);
    } else if (is_mismatch(ERR_peek_last_error())) {
        weir_buf_printf(why, "the key %s does not match the certificate %s", path, o->cert_path);
    } else if (ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_OSSL_DECODER) {
        weir_buf_printf(why, "%s holds no PEM private key%s", path,
                        o->key_path == NULL ? ", and no other file is named for it" : "");
    } else {
        weir_buf_printf(why, "cannot use the key %s: %s", path, reason());
    }
    return false;
}

static bool use_identity(SSL_CTX *ctx, const struct weir_tls_options *o, struct weir_buf *why)
{
    if (o->cert_path == NULL) {
        weir_buf_printf(why, "a key needs a certificate");
        return false;
    }
    return use_cert(ctx, o->cert_path, why) && use_key(ctx, o, why);
}

static bool trust_file(SSL_CTX *ctx, const char *path, struct weir_buf *why)
{
    if (!can_read(path, why)) {
        return false;
    }
    ERR_clear_error();
    if (SSL_CTX_load_verify_file(ctx, path) == 1) {
        return true;
    }
    weir_buf_printf(why, "cannot use the CA file %s: %s", path, reason());
    return false;
}

static struct weir_tls *new_tls(const SSL_METHOD *method, const struct weir_tls_options *o)
{
    struct weir_tls *tls = weir_mem_zalloc(sizeof *tls);
    tls->refs = 1;
    tls->insecure = o->insecure;
    tls->ctx = SSL_CTX_new(method);
    WEIR_ASSERT(tls->ctx != NULL);
    SSL_CTX_set_min_proto_version(tls->ctx, TLS1_2_VERSION);
    WEIR_ASSERT(SSL_CTX_set_cipher_list(tls->ctx, TLS12_CIPHERS) == 1);
    SSL_CTX_set_options(tls->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(tls->ctx, SSL_MODE_RELEASE_BUFFERS);
    /* Tickets carry the sessions; a cache would grow with the number of clients. */
    SSL_CTX_set_session_cache_mode(tls->ctx, SSL_SESS_CACHE_OFF);
    return tls;
}

static bool ask_for_client_cert(SSL_CTX *ctx, const char *ca_path, struct weir_buf *why)
{
    if (!trust_file(ctx, ca_path, why)) {
        return false;
    }
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(ca_path);
    if (names == NULL) {
        weir_buf_printf(why, "cannot use the CA file %s: %s", ca_path, reason());
        return false;
    }
    SSL_CTX_set_client_CA_list(ctx, names);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return true;
}

struct weir_tls *weir_tls_new_server(const struct weir_tls_options *options, struct weir_buf *why)
{
    static const unsigned char SESSION_ID[] = "weir";
    struct weir_tls *tls = new_tls(TLS_server_method(), options);
    tls->is_server = true;
    SSL_CTX_set_options(tls->ctx, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    /* The context itself is a pointer that lives as long as the callback is asked. */
    SSL_CTX_set_alpn_select_cb(tls->ctx, on_alpn, options->offer_h2 ? tls->ctx : NULL);
    /* Without it a resumed session of a client with a certificate is refused. */
    SSL_CTX_set_session_id_context(tls->ctx, SESSION_ID, sizeof SESSION_ID - 1);
    bool ok = use_identity(tls->ctx, options, why) &&
              (options->ca_path == NULL || ask_for_client_cert(tls->ctx, options->ca_path, why));
    ERR_clear_error();
    if (!ok) {
        weir_tls_unref(tls);
        return NULL;
    }
    return tls;
}

static bool trust_servers(SSL_CTX *ctx, const struct weir_tls_options *o, struct weir_buf *why)
{
    if (o->insecure) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
        return true;
    }
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (o->ca_path != NULL) {
        return trust_file(ctx, o->ca_path, why);
    }
    if (SSL_CTX_set_default_verify_paths(ctx) != 1) {
        weir_buf_printf(why, "cannot use the system's CA certificates: %s", reason());
        return false;
    }
    return true;
}

struct weir_tls *weir_tls_new_client(const struct weir_tls_options *options, struct weir_buf *why)
{
    struct weir_tls *tls = new_tls(TLS_client_method(), options);
    const char *alpn = alpn_list(options->offer_h2);
    SSL_CTX_set_alpn_protos(tls->ctx, (const unsigned char *)alpn, (unsigned)strlen(alpn));
    bool has_identity = options->cert_path != NULL || options->key_path != NULL;
    bool ok = trust_servers(tls->ctx, options, why) &&
              (!has_identity || use_identity(tls->ctx, options, why));
    ERR_clear_error();
    if (!ok) {
        weir_tls_unref(tls);
        return NULL;
    }
    return tls;
}

struct weir_tls *weir_tls_ref(struct weir_tls *tls)
{
    __atomic_add_fetch(&tls->refs, 1, __ATOMIC_RELAXED);
    return tls;
}

void weir_tls_unref(struct weir_tls *tls)
{
    if (tls != NULL && __atomic_sub_fetch(&tls->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        SSL_CTX_free(tls->ctx);
        free(tls);
    }
}
