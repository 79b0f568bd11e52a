#ifndef WEIR_TESTS_UNIT_IO_CERTS_H
#define WEIR_TESTS_UNIT_IO_CERTS_H

/*
 * Keys and certificates made on the spot, as PEM files in a directory of their own:
 *
 *   ca.pem        a CA                 other-ca.pem   another one
 *   server.pem    weir.test, 127.0.0.1 server.key     signed by ca
 *   expired.pem   the same, too old    expired.key    signed by ca
 *   client.pem    somebody             client.key     signed by ca
 *   stranger.pem  somebody else        stranger.key   signed by other-ca
 *   locked.key    server.key with a pass phrase
 *   junk.pem      not PEM
 */
#include "unit/cmocka_all.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char certs_dir[64];
static char certs_paths[16][96];

/* A path in the directory; the last sixteen stay valid. */
static inline const char *certs_path(const char *name)
{
    static unsigned next;
    char *path = certs_paths[next++ % 16];
    snprintf(path, sizeof certs_paths[0], "%s/%s", certs_dir, name);
    return path;
}

struct certs_party {
    EVP_PKEY *key;
    X509 *cert;
};

static inline void certs_add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(ext);
    X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
}

/* Without `by` it signs itself and is a CA. */
static inline struct certs_party certs_make(const char *name, const char *alt,
                                            const struct certs_party *by)
{
    static long serial;
    struct certs_party p = {EVP_EC_gen("P-256"), X509_new()};
    assert_non_null(p.key);
    X509_set_version(p.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(p.cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(p.cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(p.cert), 24L * 3600);
    X509_set_pubkey(p.cert, p.key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(p.cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509 *issuer = by != NULL ? by->cert : p.cert;
    X509_set_issuer_name(p.cert, X509_get_subject_name(issuer));
    certs_add_ext(p.cert, issuer, NID_basic_constraints, by != NULL ? "CA:FALSE" : "CA:TRUE");
    if (alt != NULL) {
        certs_add_ext(p.cert, issuer, NID_subject_alt_name, alt);
    }
    assert_true(X509_sign(p.cert, by != NULL ? by->key : p.key, EVP_sha256()) > 0);
    return p;
}

static inline void certs_expire(struct certs_party *p, const struct certs_party *by)
{
    X509_gmtime_adj(X509_getm_notAfter(p->cert), -1800);
    assert_true(X509_sign(p->cert, by->key, EVP_sha256()) > 0);
}

static inline void certs_write(const struct certs_party *p, const char *cert, const char *key)
{
    FILE *f = fopen(certs_path(cert), "w");
    assert_non_null(f);
    PEM_write_X509(f, p->cert);
    fclose(f);
    if (key != NULL) {
        f = fopen(certs_path(key), "w");
        PEM_write_PrivateKey(f, p->key, NULL, NULL, 0, NULL, NULL);
        fclose(f);
    }
}

static inline void certs_write_rest(const struct certs_party *server)
{
    static const unsigned char WORD[] = "sesame";
    FILE *f = fopen(certs_path("locked.key"), "w");
    PEM_write_PrivateKey(f, server->key, EVP_aes_128_cbc(), WORD, sizeof WORD - 1, NULL, NULL);
    fclose(f);
    f = fopen(certs_path("junk.pem"), "w");
    fputs("nothing to see here\n", f);
    fclose(f);
}

static inline void certs_free(struct certs_party *p)
{
    EVP_PKEY_free(p->key);
    X509_free(p->cert);
}

/* Group setup and teardown. */
static inline int certs_setup(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(certs_dir, sizeof certs_dir, "%.40s/weir-io-XXXXXX", tmp != NULL ? tmp : P_tmpdir);
    assert_non_null(mkdtemp(certs_dir));
    struct certs_party ca = certs_make("test CA", NULL, NULL);
    struct certs_party other = certs_make("other CA", NULL, NULL);
    struct certs_party server = certs_make("server", "DNS:weir.test,IP:127.0.0.1", &ca);
    struct certs_party expired = certs_make("server", "DNS:weir.test,IP:127.0.0.1", &ca);
    certs_expire(&expired, &ca);
    struct certs_party client = certs_make("somebody", NULL, &ca);
    struct certs_party stranger = certs_make("somebody else", NULL, &other);
    certs_write(&ca, "ca.pem", NULL);
    certs_write(&other, "other-ca.pem", NULL);
    certs_write(&server, "server.pem", "server.key");
    certs_write(&expired, "expired.pem", "expired.key");
    certs_write(&client, "client.pem", "client.key");
    certs_write(&stranger, "stranger.pem", "stranger.key");
    certs_write_rest(&server);
    struct certs_party *all[] = {&ca, &other, &server, &expired, &client, &stranger};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        certs_free(all[i]);
    }
    return 0;
}

static inline int certs_teardown(void **state)
{
    (void)state;
    static const char *const NAMES[] = {
        "ca.pem",      "other-ca.pem", "server.pem",   "server.key",   "client.pem", "client.key",
        "expired.pem", "expired.key",  "stranger.pem", "stranger.key", "locked.key", "junk.pem",
    };
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        unlink(certs_path(NAMES[i]));
    }
    return rmdir(certs_dir);
}

#endif
