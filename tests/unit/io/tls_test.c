#include "io/tls.h"

#include "unit/io/certs.h"

static void assert_why(struct weir_buf *why, const char *want)
{
    assert_string_equal(weir_buf_cstr(why), want);
    weir_buf_dispose(why);
}

static const char *sentence(const char *before, const char *path, const char *after)
{
    static char text[512];
    snprintf(text, sizeof text, "%s%s%s", before, path, after);
    return text;
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    struct weir_buf why = {0};
    struct weir_tls_options o = {.cert_path = certs_path("tls.crt"),
                                 .key_path = certs_path("server.key")};
    assert_null(weir_tls_new_server(&o, &why));
    assert_why(&why, sentence("cannot read ", o.cert_path, ": No such file or directory"));

    o.cert_path = certs_path("server.pem");
    o.key_path = certs_path("no.key");
    assert_null(weir_tls_new_server(&o, &why));
    assert_why(&why, sentence("cannot read ", o.key_path, ": No such file or directory"));

    o.key_path = certs_path("server.key");
    o.ca_path = certs_path("no-ca.pem");
    assert_null(weir_tls_new_server(&o, &why));
    assert_why(&why, sentence("cannot read ", o.ca_path, ": No such file or directory"));

    struct weir_tls_options c = {.ca_path = certs_path("no-ca.pem")};
    assert_null(weir_tls_new_client(&c, &why));
    assert_why(&why, sentence("cannot read ", c.ca_path, ": No such file or directory"));

    c.ca_path = certs_dir;
    assert_null(weir_tls_new_client(&c, &why));
    assert_why(&why, sentence("cannot read ", c.ca_path, ": Is a directory"));
}

/* Of TLS 1.2 nothing without a key for each connection and an AEAD; TLS 1.3 is there too. */
static void assert_only_strong(struct weir_tls *tls)
{
    STACK_OF(SSL_CIPHER) *ciphers = SSL_CTX_get_ciphers(tls->ctx);
    int n_old = 0;
    int n_new = 0;
    for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); i++) {
        const SSL_CIPHER *cipher = sk_SSL_CIPHER_value(ciphers, i);
        bool is_old = strcmp(SSL_CIPHER_get_version(cipher), "TLSv1.3") != 0;
        n_old += is_old;
        n_new += !is_old;
        assert_true(SSL_CIPHER_is_aead(cipher));
        assert_true(!is_old || SSL_CIPHER_get_kx_nid(cipher) == NID_kx_ecdhe);
        assert_true(SSL_CIPHER_get_auth_nid(cipher) != NID_auth_null);
    }
    assert_true(n_old > 0 && n_new > 0);
    weir_tls_unref(tls);
}

static void only_strong_ciphers_are_offered(void **state)
{
    (void)state;
    struct weir_buf why = {0};
    struct weir_tls_options o = {.cert_path = certs_path("server.pem"),
                                 .key_path = certs_path("server.key")};
    assert_only_strong(weir_tls_new_server(&o, &why));
    assert_only_strong(weir_tls_new_client(&(struct weir_tls_options){.insecure = true}, &why));
}

static void a_key_of_another_certificate_is_told(void **state)
{
    (void)state;
    struct weir_buf why = {0};
    struct weir_tls_options o = {.cert_path = certs_path("server.pem"),
                                 .key_path = certs_path("client.key")};
    assert_null(weir_tls_new_server(&o, &why));
    char want[512];
    snprintf(want, sizeof want, "the key %s does not match the certificate %s", o.key_path,
             o.cert_path);
    assert_why(&why, want);
}

static void what_is_not_pem_is_told(void **state)
{
    (void)state;
    struct weir_buf why = {0};
    struct weir_tls_options o = {.cert_path = certs_path("junk.pem"),
                                 .key_path = certs_path("server.key")};
    assert_null(weir_tls_new_server(&o, &why));
    assert_why(&why, sentence("", o.cert_path, " holds no PEM certificate"));

    o.cert_path = certs_path("server.pem");
    o.key_path = certs_path("junk.pem");
    assert_null(weir_tls_new_server(&o, &why));
    assert_why(&why, sentence("", o.key_path, " holds no PEM private key"));

    o.key_path = certs_path("server.key");
    o.ca_path = certs_path("junk.pem");
    assert_null(weir_tls_new_server(&o, &why));
    assert_why(&why,
               sentence("cannot use the CA file ", o.ca_path, ": no certificate or crl found"));
}

/* It must not ask the terminal. */
static void a_locked_key_is_told(void **state)
{
    (void)state;
    struct weir_buf why = {0};
    struct weir_tls_options o = {.cert_path = certs_path("server.pem"),
                                 .key_path = certs_path("locked.key")};
    assert_null(weir_tls_new_server(&o, &why));
    assert_why(&why, sentence("the key ", o.key_path, " is protected by a pass phrase"));
}

static void a_certificate_without_key_is_told(void **state)
{
    (void)state;
    struct weir_buf why = {0};
    struct weir_tls_options o = {.cert_path = certs_path("client.pem")};
    assert_null(weir_tls_new_client(&o, &why));
    assert_why(&why, sentence("", o.cert_path,
                              " holds no PEM private key, and no other file is named for it"));
    struct weir_tls_options none = {0};
    assert_null(weir_tls_new_server(&none, &why));
    assert_true(why.n > 0);
    weir_buf_dispose(&why);
}

static void append_file(FILE *out, const char *path)
{
    char bytes[4096];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t n = fread(bytes, 1, sizeof bytes, in);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
}

static void the_key_may_be_in_the_certificates_file(void **state)
{
    (void)state;
    struct weir_buf why = {0};
    char path[512];
    snprintf(path, sizeof path, "%s", certs_path("both.pem"));
    FILE *both = fopen(path, "w");
    assert_non_null(both);
    append_file(both, certs_path("client.pem"));
    append_file(both, certs_path("client.key"));
    fclose(both);
    struct weir_tls *tls = weir_tls_new_client(&(struct weir_tls_options){.cert_path = path}, &why);
    assert_non_null(tls);
    assert_non_null(SSL_CTX_get0_certificate(tls->ctx));
    assert_non_null(SSL_CTX_get0_privatekey(tls->ctx));
    weir_tls_unref(tls);
    remove(path);
    weir_buf_dispose(&why);
}

static void references_are_counted(void **state)
{
    (void)state;
    struct weir_buf why = {0};
    struct weir_tls_options o = {0};
    struct weir_tls *tls = weir_tls_new_client(&o, &why);
    assert_non_null(tls);
    assert_ptr_equal(weir_tls_ref(tls), tls);
    weir_tls_unref(tls);
    assert_int_equal(tls->refs, 1);
    weir_tls_unref(tls);
    weir_tls_unref(NULL);
    assert_int_equal(why.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_strong_ciphers_are_offered),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(a_key_of_another_certificate_is_told),
        cmocka_unit_test(what_is_not_pem_is_told),
        cmocka_unit_test(a_locked_key_is_told),
        cmocka_unit_test(a_certificate_without_key_is_told),
        cmocka_unit_test(the_key_may_be_in_the_certificates_file),
        cmocka_unit_test(references_are_counted),
    };
    return cmocka_run_group_tests(tests, certs_setup, certs_teardown);
}
