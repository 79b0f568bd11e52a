#include "unit/io/certs.h"
#include "unit/io/pair.h"

static struct weir_tls *server_tls(const char *ca, bool offer_h2)
{
    struct weir_buf why = {0};
    struct weir_tls_options o = {.cert_path = certs_path("server.pem"),
                                 .key_path = certs_path("server.key"),
                                 .ca_path = ca != NULL ? certs_path(ca) : NULL,
                                 .offer_h2 = offer_h2};
    struct weir_tls *tls = weir_tls_new_server(&o, &why);
    assert_non_null(tls);
    return tls;
}

static struct weir_tls *client_tls(struct weir_tls_options o)
{
    struct weir_buf why = {0};
    struct weir_tls *tls = weir_tls_new_client(&o, &why);
    assert_non_null(tls);
    return tls;
}

static struct weir_tls_options trusting(void)
{
    return (struct weir_tls_options){.ca_path = certs_path("ca.pem")};
}

static int setup(void **state)
{
    pair_setup(state);
    struct pair *p = *state;
    p->up_tls = server_tls(NULL, true);
    p->down_tls = client_tls(trusting());
    return 0;
}

static int setup_tls12(void **state)
{
    setup(state);
    struct pair *p = *state;
    SSL_CTX_set_max_proto_version(p->down_tls->ctx, TLS1_2_VERSION);
    return 0;
}

static void use_client(struct pair *p, struct weir_tls_options o)
{
    weir_tls_unref(p->down_tls);
    p->down_tls = client_tls(o);
}

static void use_server(struct pair *p, const char *ca, bool offer_h2)
{
    weir_tls_unref(p->up_tls);
    p->up_tls = server_tls(ca, offer_h2);
}

static void a_line_comes_back(void **state)
{
    struct pair *p = *state;
    p->up.at_data = side_echo;
    pair_open(p);
    side_say(&p->down, "hello");
    assert_int_equal(weir_sock_pending(&p->down.sock), 5);
    pair_run(p, p->down.n_got == 5);
    assert_true(side_got(&p->down, "hello"));
    assert_int_equal(weir_sock_pending(&p->down.sock), 0);
}

static void writes_before_open_wait_for_the_handshake(void **state)
{
    struct pair *p = *state;
    pair_connect(p);
    side_say(&p->down, "ear");
    side_say(&p->down, "ly");
    weir_sock_shutdown(&p->down.sock);
    pair_run(p, p->up.n_eof == 1 && p->down.n_sent_end == 1);
    assert_true(side_got(&p->up, "early"));
}

static void megabytes_cross_in_both_directions(void **state)
{
    struct pair *p = *state;
    struct side *sides[] = {&p->down, &p->up};
    for (int i = 0; i < 2; i++) {
        sides[i]->drop = true;
        sides[i]->to_send = PAIR_BIG;
        sides[i]->at_data = side_check_bytes;
        sides[i]->at_open = side_send_on;
        sides[i]->at_drain = side_send_on;
    }
    pair_connect(p);
    pair_run(p, p->down.n_eof == 1 && p->up.n_eof == 1);
    assert_int_equal(p->down.n_got, PAIR_BIG);
    assert_int_equal(p->up.n_got, PAIR_BIG);
    assert_true(p->down.n_drain > 10 && p->up.n_drain > 10);
    assert_int_equal(p->down.n_error + p->up.n_error, 0);
    assert_false(p->down.sock.tls_truncated || p->up.sock.tls_truncated);
}

/* Takes a piece, then rests until the loop comes round again: the cipher text that was read already
 * has to wait in between. */
struct nap {
    struct weir_post post;
    struct side *side;
    int n;
};

static struct nap nap;

static void on_wake(struct weir_post *post)
{
    (void)post;
    weir_sock_resume(&nap.side->sock);
}

static void check_and_nap(struct side *side)
{
    side_check_bytes(side);
    weir_sock_pause(&side->sock);
    nap.n++;
    weir_loop_post(&side->pair->loop, &nap.post);
}

static void pauses_lose_nothing(void **state)
{
    struct pair *p = *state;
    nap = (struct nap){.post.fn = on_wake, .side = &p->up};
    p->up.drop = true;
    p->up.at_data = check_and_nap;
    p->down.to_send = PAIR_BIG;
    p->down.at_open = side_send_on;
    p->down.at_drain = side_send_on;
    pair_connect(p);
    pair_run(p, p->up.n_eof == 1);
    assert_int_equal(p->up.n_got, PAIR_BIG);
    assert_true(nap.n > 10);
}

static void pause_before_open_lets_the_handshake_pass(void **state)
{
    struct pair *p = *state;
    pair_connect(p);
    weir_sock_pause(&p->down.sock);
    p->up.at_open = side_pause;
    side_say(&p->down, "x");
    pair_run(p, p->down.n_open == 1 && p->up.n_open == 1);
    side_say(&p->up, "y");
    pair_spin(p);
    assert_int_equal(p->up.n_got + p->down.n_got, 0);
    weir_sock_resume(&p->up.sock);
    weir_sock_resume(&p->down.sock);
    pair_run(p, p->up.n_got == 1 && p->down.n_got == 1);
}

static void half_close_keeps_the_other_half(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    side_say(&p->down, "question");
    weir_sock_shutdown(&p->down.sock);
    pair_run(p, p->up.n_eof == 1);
    assert_true(side_got(&p->up, "question"));
    assert_false(p->up.sock.tls_truncated);
    side_say(&p->up, "answer");
    weir_sock_shutdown(&p->up.sock);
    pair_run(p, p->down.n_eof == 1);
    assert_true(side_got(&p->down, "answer"));
    assert_false(p->down.sock.tls_truncated);
    pair_spin(p);
    assert_int_equal(p->up.n_error + p->down.n_error, 0);
}

static void an_end_without_close_notify_shows(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    side_say(&p->down, "cut of");
    pair_run(p, p->up.n_got == 6);
    pair_spin(p); /* the client takes its tickets, else closing resets */
    side_close(&p->down);
    pair_run(p, p->up.n_eof == 1);
    assert_true(p->up.sock.tls_truncated);
}

static void assert_alpn(struct pair *p, const char *want)
{
    pair_open(p);
    assert_true(weir_slice_eq_cstr(weir_sock_alpn(&p->up.sock), want));
    assert_true(weir_slice_eq_cstr(weir_sock_alpn(&p->down.sock), want));
}

static void alpn_prefers_h2(void **state)
{
    struct pair *p = *state;
    use_client(p, (struct weir_tls_options){.ca_path = certs_path("ca.pem"), .offer_h2 = true});
    /* the server's order counts, not the client's */
    static const unsigned char REVERSED[] = "\x08http/1.1\x02h2";
    SSL_CTX_set_alpn_protos(p->down_tls->ctx, REVERSED, sizeof REVERSED - 1);
    assert_alpn(p, "h2");
}

static void alpn_falls_back_to_http1(void **state)
{
    struct pair *p = *state;
    assert_alpn(p, "http/1.1");
}

static void alpn_without_h2_on_the_server(void **state)
{
    struct pair *p = *state;
    use_server(p, NULL, false);
    use_client(p, (struct weir_tls_options){.ca_path = certs_path("ca.pem"), .offer_h2 = true});
    assert_alpn(p, "http/1.1");
}

static void alpn_without_overlap_goes_on(void **state)
{
    struct pair *p = *state;
    static const unsigned char OTHER[] = "\x04smtp";
    SSL_CTX_set_alpn_protos(p->down_tls->ctx, OTHER, sizeof OTHER - 1);
    assert_alpn(p, "");
}

static void assert_client_refuses(struct pair *p, const char *reason)
{
    pair_connect(p);
    pair_run(p, p->down.n_error == 1 && p->up.n_error == 1);
    assert_int_equal(p->down.err, WEIR_ETLS);
    assert_string_equal(p->down.why, reason);
    assert_int_equal(p->up.err, WEIR_ETLS); /* the alert reached it */
    assert_int_equal(p->down.n_open + p->up.n_open, 0);
}

static void a_wrong_host_name_is_refused(void **state)
{
    struct pair *p = *state;
    p->server_name = "wire.test";
    assert_client_refuses(p, "certificate verify failed: hostname mismatch");
    assert_non_null(strstr(p->up.why, "alert"));
}

static void a_wrong_address_is_refused(void **state)
{
    struct pair *p = *state;
    p->server_name = "127.0.0.2";
    assert_client_refuses(p, "certificate verify failed: IP address mismatch");
}

static void an_unknown_ca_is_refused(void **state)
{
    struct pair *p = *state;
    use_client(p, (struct weir_tls_options){.ca_path = certs_path("other-ca.pem")});
    assert_client_refuses(p, "certificate verify failed: unable to get local issuer certificate");
}

static void the_system_does_not_trust_our_ca(void **state)
{
    struct pair *p = *state;
    use_client(p, (struct weir_tls_options){0});
    assert_client_refuses(p, "certificate verify failed: unable to get local issuer certificate");
}

static void insecure_takes_anything(void **state)
{
    struct pair *p = *state;
    use_client(p, (struct weir_tls_options){.insecure = true});
    p->server_name = "wire.test";
    pair_open(p);
}

static void an_address_can_be_the_name(void **state)
{
    struct pair *p = *state;
    p->server_name = "127.0.0.1";
    pair_open(p);
}

static void a_dot_at_the_end_of_the_name_is_fine(void **state)
{
    struct pair *p = *state;
    p->server_name = "weir.test.";
    pair_open(p);
}

/* Without a name nothing could be verified: that must not pass as verified. */
static void no_name_is_an_error(void **state)
{
    struct pair *p = *state;
    p->server_name = NULL;
    pair_connect(p);
    assert_int_equal(p->down.n_error, 0);
    pair_run(p, p->down.n_error == 1);
    assert_int_equal(p->down.err, WEIR_ETLS);
}

static void a_client_certificate_is_taken(void **state)
{
    struct pair *p = *state;
    use_server(p, "ca.pem", true);
    use_client(p, (struct weir_tls_options){.ca_path = certs_path("ca.pem"),
                                            .cert_path = certs_path("client.pem"),
                                            .key_path = certs_path("client.key")});
    p->up.at_data = side_echo;
    pair_open(p);
    side_say(&p->down, "it is me");
    pair_run(p, p->down.n_got == 8);
}

/* In TLS 1.3 the client is open before the server has seen its certificate. */
static void assert_server_refuses(struct pair *p, const char *reason)
{
    pair_connect(p);
    pair_run(p, p->down.n_error == 1 && p->up.n_error == 1);
    assert_int_equal(p->up.err, WEIR_ETLS);
    assert_string_equal(p->up.why, reason);
    assert_int_equal(p->up.n_open, 0);
    assert_int_equal(p->down.err, WEIR_ETLS);
    assert_non_null(strstr(p->down.why, "alert"));
}

static void no_client_certificate_is_refused(void **state)
{
    struct pair *p = *state;
    use_server(p, "ca.pem", true);
    assert_server_refuses(p, "peer did not return a certificate");
}

static void a_strangers_certificate_is_refused(void **state)
{
    struct pair *p = *state;
    use_server(p, "ca.pem", true);
    use_client(p, (struct weir_tls_options){.ca_path = certs_path("ca.pem"),
                                            .cert_path = certs_path("stranger.pem"),
                                            .key_path = certs_path("stranger.key")});
    assert_server_refuses(p, "certificate verify failed: unable to get local issuer certificate");
}

static void old_versions_are_refused(void **state)
{
    struct pair *p = *state;
    SSL_CTX_set_security_level(p->down_tls->ctx, 0);
    SSL_CTX_set_cipher_list(p->down_tls->ctx, "ALL"); /* or it would not even begin */
    SSL_CTX_set_min_proto_version(p->down_tls->ctx, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(p->down_tls->ctx, TLS1_1_VERSION);
    pair_connect(p);
    pair_run(p, p->down.n_error == 1 && p->up.n_error == 1);
    assert_int_equal(p->up.err, WEIR_ETLS);
    assert_string_equal(p->up.why, "unsupported protocol");
}

/* Neither side takes part in a TLS 1.2 without an AEAD; tls_test.c has the whole list. */
static void weak_ciphers_are_refused(struct pair *p, struct weir_tls *theirs)
{
    static const char *const weak[] = {"ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA384",
                                       "ECDHE-ECDSA-AES128-SHA"};
    SSL_CTX_set_max_proto_version(theirs->ctx, TLS1_2_VERSION);
    for (size_t i = 0; i < sizeof weak / sizeof *weak; i++) {
        assert_int_equal(SSL_CTX_set_cipher_list(theirs->ctx, weak[i]), 1);
        pair_connect(p);
        pair_run(p, p->down.n_error == 1 && p->up.n_error == 1);
        assert_string_equal(p->up.why, "no shared cipher");
        side_close(&p->down);
        side_close(&p->up);
        pair_run(p, p->down.n_closed == 1 && p->up.n_closed == 1);
        p->down = (struct side){.pair = p};
        p->up = (struct side){.pair = p};
    }
}

static void callers_with_weak_ciphers_are_refused(void **state)
{
    struct pair *p = *state;
    weak_ciphers_are_refused(p, p->down_tls);
}

static void services_with_weak_ciphers_are_refused(void **state)
{
    struct pair *p = *state;
    weak_ciphers_are_refused(p, p->up_tls);
}

static void talk_plain(struct pair *p, const char *text)
{
    weir_tls_unref(p->down_tls);
    p->down_tls = NULL;
    pair_connect(p);
    side_say(&p->down, text);
}

static void plain_http_is_an_error(void **state)
{
    struct pair *p = *state;
    talk_plain(p, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    pair_run(p, p->up.n_error == 1);
    assert_int_equal(p->up.err, WEIR_ETLS);
    assert_string_equal(p->up.why, "http request");
}

static void a_caller_that_leaves_mid_handshake(void **state)
{
    struct pair *p = *state;
    talk_plain(p, "\x16\x03\x01");
    weir_sock_shutdown(&p->down.sock);
    pair_run(p, p->up.n_error == 1);
    assert_int_equal(p->up.err, WEIR_ECLOSED);
    assert_string_equal(p->up.why, "the peer closed during the TLS handshake");
}

/* Junk among the records of an open connection: whole records before it count, then it fails. */
static void junk_in_the_stream_is_an_error(void **state)
{
    struct pair *p = *state;
    pair_open(p);
    side_say(&p->down, "good");
    pair_run(p, p->up.n_got == 4);
    weir_bufq_append(&p->down.sock.out, WEIR_SLICE("\x17\x03\x03\x00\x20"
                                                   "0123456789abcdef0123456789abcdef"));
    weir_sock_mark_dirty(&p->down.sock);
    pair_run(p, p->up.n_error == 1);
    assert_int_equal(p->up.err, WEIR_ETLS);
    assert_int_equal(p->up.n_got, 4);
    pair_run(p, p->down.n_error == 1); /* it was told by an alert */
    assert_int_equal(p->down.err, WEIR_ETLS);
}

/* A hand-made client: OpenSSL on memory BIOs over a plain socket. */
struct raw {
    SSL *ssl;
    BIO *in, *out;
};

static struct raw raw;

static void raw_send(struct side *side)
{
    char *p;
    long n = BIO_get_mem_data(raw.out, &p);
    weir_sock_write(&side->sock, weir_slice_make(p, (size_t)n));
    (void)BIO_reset(raw.out);
}

static void raw_shake(struct side *side)
{
    if (side->now.n != 0) {
        BIO_write(raw.in, side->now.p, (int)side->now.n);
    }
    SSL_do_handshake(raw.ssl);
    raw_send(side);
}

static void raw_start(struct pair *p)
{
    raw.ssl = SSL_new(p->down_tls->ctx);
    raw.in = BIO_new(BIO_s_mem());
    raw.out = BIO_new(BIO_s_mem());
    SSL_set_bio(raw.ssl, raw.in, raw.out);
    SSL_set_connect_state(raw.ssl);
    weir_tls_unref(p->down_tls);
    p->down_tls = NULL;
    p->down.at_open = raw_shake;
    p->down.at_data = raw_shake;
}

static void shrink(struct weir_sock *s, int buffer)
{
    uv_os_fd_t fd;
    int n = 4096;
    assert_int_equal(uv_fileno((uv_handle_t *)&s->tcp, &fd), 0);
    setsockopt(fd, SOL_SOCKET, buffer, &n, sizeof n);
}

/* Every key update asks for one in return; the peer asks without end and reads nothing. */
static void answers_nobody_reads_do_not_pile_up(void **state)
{
    struct pair *p = *state;
    raw_start(p);
    pair_open(p);
    shrink(&p->up.sock, SO_SNDBUF);
    shrink(&p->down.sock, SO_RCVBUF);
    weir_sock_pause(&p->down.sock);
    p->up.sock.out_max = PAIR_BIG; /* so that there is a backlog to begin with */
    p->up.to_send = PAIR_BIG;
    side_send_on(&p->up);
    size_t most = 0;
    while (p->up.n_error == 0 && !p->timed_out) {
        for (int i = 0; i < 200 && weir_sock_pending(&p->down.sock) < 65536; i++) {
            SSL_key_update(raw.ssl, SSL_KEY_UPDATE_REQUESTED);
            SSL_do_handshake(raw.ssl);
        }
        raw_send(&p->down);
        pair_turn(p, UV_RUN_NOWAIT);
        most = p->up.sock.out.n > most ? p->up.sock.out.n : most;
    }
    SSL_free(raw.ssl);
    assert_int_equal(p->up.err, WEIR_ELIMIT);
    assert_true(most < 256 * 1024);
}

/* Records cut anywhere, down to single bytes, decrypt to the same. */
static void any_cut_of_the_cipher_text_will_do(void **state)
{
    struct pair *p = *state;
    raw_start(p);
    pair_open(p);
    pair_run(p, SSL_is_init_finished(raw.ssl));
    p->down.at_data = NULL; /* tickets */
    SSL_write(raw.ssl, "one,", 4);
    SSL_write(raw.ssl, "two,", 4);
    SSL_write(raw.ssl, "three", 5);
    char *bytes;
    long n = BIO_get_mem_data(raw.out, &bytes);
    for (long i = 0; i < n; i++) {
        weir_sock_write(&p->down.sock, weir_slice_make(bytes + i, 1));
        pair_poll(p, weir_sock_pending(&p->down.sock) == 0);
        pair_turn(p, UV_RUN_NOWAIT);
    }
    pair_run(p, p->up.n_got == 13);
    assert_true(side_got(&p->up, "one,two,three"));
    SSL_free(raw.ssl);
}

static void close_in_on_open(void **state)
{
    struct pair *p = *state;
    p->down.at_open = side_say_and_close;
    pair_connect(p);
    pair_assert_quiet(p, &p->down);
}

static void close_in_on_open_of_the_server(void **state)
{
    struct pair *p = *state;
    p->up.at_open = side_say_and_close;
    pair_connect(p);
    side_say(&p->down, "comes with the end of the handshake");
    pair_assert_quiet(p, &p->up);
    assert_int_equal(p->up.n_got, 0);
}

static void close_in_on_data(void **state)
{
    struct pair *p = *state;
    p->up.at_data = side_say_and_close;
    p->down.to_send = PAIR_BIG;
    p->down.at_open = side_send_on;
    pair_connect(p);
    pair_assert_quiet(p, &p->up);
    assert_int_equal(p->up.n_eof, 0);
}

static void close_in_on_eof(void **state)
{
    struct pair *p = *state;
    p->up.at_eof = side_close;
    pair_open(p);
    weir_sock_shutdown(&p->down.sock);
    pair_assert_quiet(p, &p->up);
}

static void close_in_on_drain(void **state)
{
    struct pair *p = *state;
    p->down.at_drain = side_close;
    p->up.drop = true;
    pair_open(p);
    p->down.to_send = PAIR_BIG;
    side_send_on(&p->down);
    pair_assert_quiet(p, &p->down);
    assert_int_equal(p->down.n_drain, 1);
}

static void close_in_on_error(void **state)
{
    struct pair *p = *state;
    p->down.at_error = side_close;
    p->up.at_error = side_close;
    p->server_name = "wire.test";
    pair_connect(p);
    pair_assert_quiet(p, &p->down);
    pair_assert_quiet(p, &p->up);
}

static void close_while_shaking(void **state)
{
    struct pair *p = *state;
    pair_connect(p);
    pair_poll(p, p->up.sock.state == WEIR_SOCK_SHAKING);
    side_close(&p->up);
    pair_assert_quiet(p, &p->up);
    pair_run(p, p->down.n_error == 1);
}

/* The context may go while connections of it are open: a reload does that. */
static void connections_outlive_their_context(void **state)
{
    struct pair *p = *state;
    p->up.at_data = side_echo;
    pair_open(p);
    weir_tls_unref(p->up_tls);
    weir_tls_unref(p->down_tls);
    p->up_tls = p->down_tls = NULL;
    side_say(&p->down, "still here");
    pair_run(p, p->down.n_got == 10);
}

static void an_idle_socket_keeps_no_buffers(void **state)
{
    struct pair *p = *state;
    p->up.at_data = side_echo;
    pair_open(p);
    side_say(&p->down, "hello");
    pair_run(p, p->down.n_got == 5);
    assert_null(p->down.sock.out.head);
    assert_null(p->up.sock.out.head);
    assert_null(weir_sock_out(&p->down.sock)->head);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, pair_teardown)
#define TEST_12(fn)                                                                                \
    {                                                                                              \
#fn " (TLS 1.2)", fn, setup_tls12, pair_teardown, NULL                                     \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_comes_back),
        TEST_12(a_line_comes_back),
        TEST(writes_before_open_wait_for_the_handshake),
        TEST_12(writes_before_open_wait_for_the_handshake),
        TEST(megabytes_cross_in_both_directions),
        TEST_12(megabytes_cross_in_both_directions),
        TEST(pauses_lose_nothing),
        TEST(pause_before_open_lets_the_handshake_pass),
        TEST_12(pause_before_open_lets_the_handshake_pass),
        TEST(half_close_keeps_the_other_half),
        TEST_12(half_close_keeps_the_other_half),
        TEST(an_end_without_close_notify_shows),
        TEST(alpn_prefers_h2),
        TEST(alpn_falls_back_to_http1),
        TEST(alpn_without_h2_on_the_server),
        TEST(alpn_without_overlap_goes_on),
        TEST(a_wrong_host_name_is_refused),
        TEST_12(a_wrong_host_name_is_refused),
        TEST(a_wrong_address_is_refused),
        TEST(an_unknown_ca_is_refused),
        TEST(the_system_does_not_trust_our_ca),
        TEST(insecure_takes_anything),
        TEST(an_address_can_be_the_name),
        TEST(a_dot_at_the_end_of_the_name_is_fine),
        TEST(no_name_is_an_error),
        TEST(a_client_certificate_is_taken),
        TEST_12(a_client_certificate_is_taken),
        TEST(no_client_certificate_is_refused),
        TEST_12(no_client_certificate_is_refused),
        TEST(a_strangers_certificate_is_refused),
        TEST(old_versions_are_refused),
        TEST(callers_with_weak_ciphers_are_refused),
        TEST(services_with_weak_ciphers_are_refused),
        TEST(plain_http_is_an_error),
        TEST(a_caller_that_leaves_mid_handshake),
        TEST(junk_in_the_stream_is_an_error),
        TEST(answers_nobody_reads_do_not_pile_up),
        TEST(any_cut_of_the_cipher_text_will_do),
        TEST_12(any_cut_of_the_cipher_text_will_do),
        TEST(close_in_on_open),
        TEST(close_in_on_open_of_the_server),
        TEST(close_in_on_data),
        TEST(close_in_on_eof),
        TEST(close_in_on_drain),
        TEST(close_in_on_error),
        TEST(close_while_shaking),
        TEST(connections_outlive_their_context),
        TEST(an_idle_socket_keeps_no_buffers),
    };
    return cmocka_run_group_tests(tests, certs_setup, certs_teardown);
}
