/* Calls over TLS: who is believed, who is not, and what is said about it. */
#include "unit/client/h2_peer.h"
#include "unit/io/certs.h"

static const char OK[] = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n[[]]";

static struct weir_tls *make(bool is_server, struct weir_tls_options options)
{
    struct weir_buf why = {0};
    struct weir_tls *tls =
        is_server ? weir_tls_new_server(&options, &why) : weir_tls_new_client(&options, &why);
    if (tls == NULL) {
        fail_msg("%s", weir_buf_cstr(&why));
    }
    return tls;
}

static void serve_as(struct stage *s, const char *name, const char *client_ca, bool offer_h2)
{
    char cert[32];
    char key[32];
    snprintf(cert, sizeof cert, "%s.pem", name);
    snprintf(key, sizeof key, "%s.key", name);
    s->peer_tls = make(true, (struct weir_tls_options){
                                 .cert_path = certs_path(cert),
                                 .key_path = certs_path(key),
                                 .ca_path = client_ca != NULL ? certs_path(client_ca) : NULL,
                                 .offer_h2 = offer_h2,
                             });
}

static void trust(struct stage *s, const char *ca)
{
    s->target.tls =
        make(false, (struct weir_tls_options){.ca_path = certs_path(ca), .offer_h2 = true});
}

static void expect_refusal(struct stage *s, const char *why)
{
    struct asker p = {0};
    asker_start(&p, s);
    stage_run(s, p.n_done == 1);
    if (p.err != WEIR_ETLS || strstr(p.why, why) == NULL) {
        fail_msg("%s: %s", weir_err_name(p.err), p.why);
    }
    assert_memory_equal(p.why, "connect to hap-en failed: ", 26);
    asker_dispose(&p);
}

static void a_service_with_a_good_certificate(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", NULL, false);
    trust(s, "ca.pem");
    for (int i = 0; i < 2; i++) {
        struct asker p = {0};
        asker_start(&p, s);
        stage_run(s, s->n_peers == 1 && peer_has_request(&s->peers[0]));
        assert_true(peer_heard(&s->peers[0], "POST /api/v1/text/contents HTTP/1.1\r\n"));
        peer_forget(&s->peers[0]);
        peer_say(&s->peers[0], OK);
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, 0);
        assert_true(asker_has(&p.body, "[[]]"));
        asker_dispose(&p);
    }
}

static void alpn_chooses_http2(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", NULL, true);
    trust(s, "ca.pem");
    struct asker p = {0};
    asker_start(&p, s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    uint32_t id = h2_await_request(s, peer);
    h2_say_answer(peer, id, "[[]]");
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
}

/* Once it is known, the second of two calls at once does not open a connection of its own. */
static void what_alpn_chose_is_remembered(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", NULL, true);
    trust(s, "ca.pem");
    struct asker p[3] = {0};
    asker_start(&p[0], s);
    struct peer *peer = h2_greet(s, 0, 0, 0);
    h2_say_answer(peer, h2_await_request(s, peer), "[]");
    stage_run(s, p[0].n_done == 1);
    weir_client_forget(s->client, &s->target);
    asker_start(&p[1], s);
    asker_start(&p[2], s);
    peer = h2_greet(s, 1, 0, 0);
    h2_say_answer(peer, h2_await_request(s, peer), "[]");
    h2_say_answer(peer, h2_await_request(s, peer), "[]");
    stage_run(s, p[1].n_done + p[2].n_done == 2);
    assert_int_equal(s->n_peers, 2);
    for (int i = 0; i < 3; i++) {
        asker_dispose(&p[i]);
    }
}

static void http2_is_insisted_on(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", NULL, false);
    trust(s, "ca.pem");
    s->target.protocol = WEIR_TARGET_H2;
    struct asker p = {0};
    asker_start(&p, s);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, WEIR_EPROTO);
    assert_string_equal(p.why, "connect to hap-en failed: the service does not agree to HTTP/2");
    asker_dispose(&p);
}

static void a_certificate_for_another_name(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", NULL, false);
    trust(s, "ca.pem");
    s->target.hostname = "localhost"; /* the certificate says 127.0.0.1 and weir.test */
    expect_refusal(s, "hostname mismatch");
}

static void a_certificate_that_has_expired(void **state)
{
    struct stage *s = *state;
    serve_as(s, "expired", NULL, false);
    trust(s, "ca.pem");
    expect_refusal(s, "certificate has expired");
}

static void a_certificate_of_an_unknown_authority(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", NULL, false);
    trust(s, "other-ca.pem");
    expect_refusal(s, "certificate verify failed");
}

/* Waiting does not make a certificate valid. */
static void a_bad_certificate_is_not_retried(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", NULL, false);
    trust(s, "other-ca.pem");
    struct weir_call_request r = stage_request(s);
    r.may_retry = true;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, WEIR_ETLS);
    assert_int_equal(s->n_peers, 1);
    asker_dispose(&p);
}

static void a_service_that_wants_our_certificate(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", "ca.pem", false);
    s->target.tls = make(false, (struct weir_tls_options){.ca_path = certs_path("ca.pem"),
                                                          .cert_path = certs_path("client.pem"),
                                                          .key_path = certs_path("client.key")});
    struct asker p = {0};
    asker_start(&p, s);
    stage_run(s, s->n_peers == 1 && peer_has_request(&s->peers[0]));
    peer_say(&s->peers[0], OK);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    asker_dispose(&p);
}

/* In TLS 1.3 the client learns of it after its own handshake is done: the connection fails. */
static void a_service_that_misses_our_certificate(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", "ca.pem", false);
    trust(s, "ca.pem");
    struct asker p = {0};
    asker_start(&p, s);
    stage_run(s, p.n_done == 1);
    assert_true(p.err == WEIR_ETLS || p.err == WEIR_ERESET || p.err == WEIR_ECLOSED);
    assert_int_equal(p.has_head, false);
    asker_dispose(&p);
}

/* An answer until the end of the connection that does not end properly may have been cut. */
static void an_answer_cut_without_close_notify(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", NULL, false);
    trust(s, "ca.pem");
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        struct asker p = {0};
        asker_start(&p, s);
        size_t i = (size_t)is_cut;
        stage_run(s, s->n_peers == i + 1 && peer_has_request(&s->peers[i]));
        peer_say(&s->peers[i], "HTTP/1.1 200 OK\r\n\r\n[[]]");
        if (is_cut) {
            stage_run(s, weir_sock_pending(&s->peers[i].sock) == 0);
            stage_spin(s);
            peer_close(&s->peers[i]);
        } else {
            weir_sock_shutdown(&s->peers[i].sock);
        }
        stage_run(s, p.n_done == 1);
        assert_int_equal(p.err, is_cut ? WEIR_ECLOSED : 0);
        asker_dispose(&p);
    }
}

/* A paused answer and its end in one TLS record after the other. */
static void pausing_over_tls(void **state)
{
    struct stage *s = *state;
    serve_as(s, "server", NULL, false);
    trust(s, "ca.pem");
    struct weir_call_request r = stage_request(s);
    r.answer = WEIR_CALL_STREAM;
    struct asker p = {0};
    asker_ask(&p, s, &r);
    weir_call_pause(p.call);
    stage_run(s, s->n_peers == 1 && peer_has_request(&s->peers[0]));
    peer_say(&s->peers[0], "HTTP/1.1 200 OK\r\n\r\n[[]]");
    weir_sock_shutdown(&s->peers[0].sock);
    stage_run(s, s->peers[0].sock.has_sent_end);
    stage_spin(s);
    assert_int_equal(p.n_head + p.n_done, 0);
    weir_call_resume(p.call);
    stage_run(s, p.n_done == 1);
    assert_int_equal(p.err, 0);
    assert_true(asker_has(&p.body, "[[]]"));
    asker_dispose(&p);
}

#define stage_test(fn) cmocka_unit_test_setup_teardown(fn, stage_setup, stage_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        stage_test(a_service_with_a_good_certificate),
        stage_test(alpn_chooses_http2),
        stage_test(what_alpn_chose_is_remembered),
        stage_test(http2_is_insisted_on),
        stage_test(a_certificate_for_another_name),
        stage_test(a_certificate_that_has_expired),
        stage_test(a_certificate_of_an_unknown_authority),
        stage_test(a_bad_certificate_is_not_retried),
        stage_test(a_service_that_wants_our_certificate),
        stage_test(a_service_that_misses_our_certificate),
        stage_test(an_answer_cut_without_close_notify),
        stage_test(pausing_over_tls),
    };
    return cmocka_run_group_tests(tests, certs_setup, certs_teardown);
}
