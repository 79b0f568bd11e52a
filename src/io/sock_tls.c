/*
 * The TLS layer of a socket, on a BIO of our own: OpenSSL takes cipher text from the read under way
 * and puts cipher text straight into the socket's `out`, so that neither side keeps a buffer.
 *
 *   wire ─► in ─► SSL_read ─► loop->tls_buf ─► on_data
 *            └─► left           while paused: cipher text waits, undecrypted
 *   write ─► stage ─(end of turn)─► SSL_write ─► out ─► wire
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "io/io_int.h"
#include "io/sock.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECORD_BYTES = 16 * 1024, /* the most plain text that one TLS record carries */
    /* What OpenSSL answers by itself (key updates, refusals to renegotiate) has no flow control: a
     * peer that asks for ever and never reads must not fill our memory. Well above what the
     * write path encrypts ahead. */
    UNREAD_ANSWERS_BYTES = 192 * 1024,
};

struct weir_sock_tls {
    SSL *ssl;
    struct weir_bufq stage;
    struct weir_bufq left; /* goes before `in` */
    struct weir_slice in;
};

/* The BIO: its data is the socket. */

static size_t take_input(struct weir_sock_tls *tls, char *to, size_t max)
{
    struct weir_slice from = tls->left.n != 0 ? weir_bufq_peek(&tls->left) : tls->in;
    size_t n = from.n < max ? from.n : max;
    if (n == 0) {
        return 0;
    }
    memcpy(to, from.p, n);
    if (tls->left.n != 0) {
        weir_bufq_consume(&tls->left, n);
    } else {
        tls->in = weir_slice_sub(from, n, from.n);
    }
    return n;
}

static int bio_read(BIO *bio, char *to, size_t max, size_t *n)
{
    struct weir_sock *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    *n = take_input(s->tls, to, max);
    if (*n == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    return 1;
}

static int bio_write(BIO *bio, const char *from, size_t size, size_t *n)
{
    struct weir_sock *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    weir_bufq_append(&s->out, weir_slice_make(from, size));
    *n = size;
    return 1;
}

static long bio_ctrl(BIO *bio, int cmd, long larg, void *parg)
{
    (void)bio;
    (void)larg;
    (void)parg;
    return cmd == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *bio_method;

static void make_bio_method(void)
{
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir socket");
    WEIR_ASSERT(bio_method != NULL);
    BIO_meth_set_read_ex(bio_method, bio_read);
    BIO_meth_set_write_ex(bio_method, bio_write);
    BIO_meth_set_ctrl(bio_method, bio_ctrl);
}

static BIO *new_bio(struct weir_sock *s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_bio_method);
    BIO *bio = BIO_new(bio_method);
    WEIR_ASSERT(bio != NULL);
    BIO_set_data(bio, s);
    BIO_set_init(bio, 1);
    return bio;
}

/* Opening and closing */

static bool is_address(const char *name)
{
    char addr[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, addr) == 1 || inet_pton(AF_INET6, name, addr) == 1;
}

/* If OpenSSL refuses the name, the connection fails: it must not go on without the check. */
static bool expect_server(SSL *ssl, const char *name, bool verify)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (is_address(name)) {
        return !verify || X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
    }
    /* SNI and certificates have no dot at the end (RFC 6066, 3). */
    size_t n = strlen(name);
    n -= n > 0 && name[n - 1] == '.';
    char *host = weir_mem_dup(name, n);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    bool ok = n > 0 && SSL_set_tlsext_host_name(ssl, host) == 1 &&
              (!verify || X509_VERIFY_PARAM_set1_host(param, host, n) == 1);
    free(host);
    return ok;
}

void weir_sock__tls_open(struct weir_sock *s, struct weir_tls *tls, const char *server_name)
{
    if (s->loop->tls_buf == NULL) {
        s->loop->tls_buf = weir_mem_alloc(WEIR_LOOP_READ_BYTES);
    }
    s->tls = weir_mem_zalloc(sizeof *s->tls);
    SSL *ssl = SSL_new(tls->ctx);
    WEIR_ASSERT(ssl != NULL);
    s->tls->ssl = ssl;
    BIO *bio = new_bio(s);
    SSL_set_bio(ssl, bio, bio);
    if (tls->is_server) {
        SSL_set_accept_state(ssl);
        return;
    }
    SSL_set_connect_state(ssl);
    if (server_name == NULL || !expect_server(ssl, server_name, !tls->insecure)) {
        weir_sock__set_why(s, "not a server name", server_name);
        weir_sock__fail(s, WEIR_ETLS);
    }
}

void weir_sock__tls_free(struct weir_sock *s)
{
    SSL_free(s->tls->ssl);
    weir_bufq_dispose(&s->tls->stage);
    weir_bufq_dispose(&s->tls->left);
    free(s->tls);
    s->tls = NULL;
}

/* Failing */

static const char *reason_of(unsigned long code)
{
    const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;
    return reason != NULL ? reason : "no reason given";
}

static void note_reason(struct weir_sock *s)
{
    unsigned long code = ERR_peek_error();
    if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
        ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        long verify = SSL_get_verify_result(s->tls->ssl);
        weir_sock__set_why(s, reason_of(code), X509_verify_cert_error_string(verify));
    } else {
        weir_sock__set_why(s, reason_of(code), NULL);
    }
    ERR_clear_error();
}

/* OpenSSL may have left an alert in `out`; the peer should learn why, if the kernel takes it. */
static void tls_failed(struct weir_sock *s)
{
    note_reason(s);
    struct iovec alert;
    size_t n;
    if (!s->is_writing && weir_bufq_iov(&s->out, &alert, 1, &n) == 1) {
        uv_buf_t buf = uv_buf_init(alert.iov_base, (unsigned)n);
        uv_try_write((uv_stream_t *)&s->tcp, &buf, 1);
    }
    weir_sock__fail(s, WEIR_ETLS);
}

/* Reading */

/* Whatever OpenSSL wants to say of its own accord: handshake, tickets, key updates. */
static void send_output(struct weir_sock *s)
{
    if (s->out.n != 0) {
        weir_sock_mark_dirty(s);
    }
}

static void shake(struct weir_sock *s)
{
    SSL *ssl = s->tls->ssl;
    ERR_clear_error();
    int rc = SSL_do_handshake(ssl);
    int err = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl, rc);
    if (err == SSL_ERROR_NONE) {
        send_output(s);
        weir_sock__opened(s);
    } else if (err == SSL_ERROR_WANT_READ) {
        send_output(s);
    } else {
        tls_failed(s);
    }
}

/* Decrypts records until the buffer could not hold one more; the answer is SSL_get_error's. */
static int decrypt(struct weir_sock *s, size_t *n)
{
    SSL *ssl = s->tls->ssl;
    *n = 0;
    ERR_clear_error();
    while (WEIR_LOOP_READ_BYTES - *n >= RECORD_BYTES) {
        size_t got;
        if (SSL_read_ex(ssl, s->loop->tls_buf + *n, WEIR_LOOP_READ_BYTES - *n, &got) != 1) {
            return SSL_get_error(ssl, 0);
        }
        *n += got;
    }
    return SSL_ERROR_NONE;
}

static bool wants_data(const struct weir_sock *s)
{
    return s->state == WEIR_SOCK_OPEN && !s->is_paused && !s->has_eof;
}

/* Acts on the result of one decrypt: data, end or error. False when nothing more can be
 * decrypted now. */
static bool pump(struct weir_sock *s)
{
    size_t n;
    int err = decrypt(s, &n);
    bool is_broken =
        err != SSL_ERROR_NONE && err != SSL_ERROR_WANT_READ && err != SSL_ERROR_ZERO_RETURN;
    if (is_broken) {
        note_reason(s); /* now: the owner may use OpenSSL in on_data */
    } else {
        send_output(s);
    }
    if (s->out.n > UNREAD_ANSWERS_BYTES) {
        weir_sock__set_why(s, "the peer does not read our answers to its TLS messages", NULL);
        weir_sock__fail(s, WEIR_ELIMIT);
        return false;
    }
    if (n != 0) {
        weir_sock__give(s, weir_slice_make(s->loop->tls_buf, n));
    }
    if (s->state != WEIR_SOCK_OPEN) {
        return false;
    }
    if (is_broken) {
        tls_failed(s);
    } else if (err == SSL_ERROR_ZERO_RETURN) {
        weir_sock__eof(s);
    }
    return err == SSL_ERROR_NONE;
}

void weir_sock__tls_advance(struct weir_sock *s)
{
    if (s->state == WEIR_SOCK_SHAKING) {
        shake(s);
    }
    while (wants_data(s)) {
        if (!pump(s)) {
            return;
        }
    }
}

void weir_sock__tls_feed(struct weir_sock *s, struct weir_slice bytes)
{
    s->tls->in = bytes;
    weir_sock__tls_advance(s);
    if (s->tls == NULL) {
        return;
    }
    if (s->state == WEIR_SOCK_OPEN && !s->has_eof) {
        weir_bufq_append(&s->tls->left, s->tls->in);
    }
    s->tls->in = weir_slice_make(NULL, 0);
}

bool weir_sock__tls_has_input(const struct weir_sock *s)
{
    return s->tls->left.n != 0;
}

/* Writing */

/* One record's worth of plain text: in place, or copied together when it lies in several blocks. */
static struct weir_slice gather(struct weir_sock *s)
{
    struct weir_bufq *stage = &s->tls->stage;
    struct weir_slice first = weir_bufq_peek(stage);
    if (first.n >= RECORD_BYTES || first.n == stage->n) {
        first.n = first.n < RECORD_BYTES ? first.n : RECORD_BYTES;
        return first;
    }
    enum { MAX_IOV = 32 };
    struct iovec iov[MAX_IOV];
    size_t bytes;
    int n_iov = weir_bufq_iov(stage, iov, MAX_IOV, &bytes);
    size_t n = 0;
    for (int i = 0; i < n_iov && n < RECORD_BYTES; i++) {
        size_t part = iov[i].iov_len < RECORD_BYTES - n ? iov[i].iov_len : RECORD_BYTES - n;
        memcpy(s->loop->tls_buf + n, iov[i].iov_base, part);
        n += part;
    }
    return weir_slice_make(s->loop->tls_buf, n);
}

void weir_sock__tls_encrypt(struct weir_sock *s, size_t max)
{
    struct weir_bufq *stage = &s->tls->stage;
    for (size_t done = 0; done < max && stage->n != 0;) {
        struct weir_slice plain = gather(s);
        size_t n;
        ERR_clear_error();
        if (SSL_write_ex(s->tls->ssl, plain.p, plain.n, &n) != 1) {
            tls_failed(s);
            return;
        }
        weir_bufq_consume(stage, n);
        done += n;
    }
}

void weir_sock__tls_end(struct weir_sock *s)
{
    SSL *ssl = s->tls->ssl;
    if ((SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN) == 0) {
        ERR_clear_error();
        SSL_shutdown(ssl);
        ERR_clear_error();
    }
}

void weir_sock__tls_count_on(struct weir_sock *s, struct weir_account *account)
{
    s->tls->stage.account = account;
    s->tls->left.account = account;
}

struct weir_bufq *weir_sock__tls_stage(struct weir_sock *s)
{
    return &s->tls->stage;
}

size_t weir_sock__tls_staged(const struct weir_sock *s)
{
    return s->tls->stage.n;
}

/* Asking */

struct weir_slice weir_sock_alpn(const struct weir_sock *s)
{
    const unsigned char *p = NULL;
    unsigned n = 0;
    if (s->tls != NULL) {
        SSL_get0_alpn_selected(s->tls->ssl, &p, &n);
    }
    return weir_slice_make((const char *)p, n);
}
