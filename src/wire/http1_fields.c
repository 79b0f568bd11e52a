/*
 * What the fields of a head mean for the message itself: its host, how its body is framed, whether
 * the connection lives on. Each field is noted as it comes; the judgement that needs several of
 * them waits until all are known.
 */
#include "wire/http1_int.h"
#include "wire/url.h"

static int note_host(struct weir_http1_reader *r, struct weir_http1__facts *facts,
                     struct weir_slice value)
{
    struct weir_url_authority ignored;
    if (facts->has_host) {
        return weir_http1__bad(r, "more than one Host");
    }
    if (weir_url_parse_authority(value, &ignored) != 0) {
        return weir_http1__bad(r, "malformed Host");
    }
    facts->has_host = true;
    r->head.host = value;
    return 0;
}

static int note_length(struct weir_http1_reader *r, struct weir_slice value)
{
    if (r->head.has_length) {
        return weir_http1__bad(r, "more than one Content-Length");
    }
    if (weir_slice_u64(value, &r->head.length) != 0) {
        return weir_http1__bad(r, "malformed Content-Length");
    }
    r->head.has_length = true;
    return 0;
}

/* Nothing but one `chunked`, also over several fields. */
static int note_coding(struct weir_http1_reader *r, struct weir_slice value)
{
    struct weir_slice rest = value;
    while (rest.p != NULL) {
        struct weir_slice coding = weir_slice_trim(weir_slice_cut(&rest, ','));
        if (coding.n == 0) {
            return weir_http1__bad(r, "malformed Transfer-Encoding");
        }
        if (!weir_slice_eq_nocase(coding, WEIR_SLICE("chunked"))) {
            return weir_http1__refuse(r, WEIR_EBAD, 501, "unknown transfer coding");
        }
        if (r->head.is_chunked) {
            return weir_http1__bad(r, "chunked more than once");
        }
        r->head.is_chunked = true;
    }
    return 0;
}

static void note_connection(struct weir_http1_reader *r, struct weir_http1__facts *facts,
                            struct weir_slice value)
{
    struct weir_slice rest = value;
    while (rest.p != NULL) {
        struct weir_slice option = weir_slice_trim(weir_slice_cut(&rest, ','));
        if (weir_slice_eq_nocase(option, WEIR_SLICE("close"))) {
            facts->has_close = true;
        } else if (weir_slice_eq_nocase(option, WEIR_SLICE("keep-alive"))) {
            facts->has_keep_alive = true;
        } else if (weir_slice_eq_nocase(option, WEIR_SLICE("upgrade"))) {
            r->head.is_upgrade = true;
        }
    }
}

static int note_expect(struct weir_http1_reader *r, struct weir_slice value)
{
    if (!weir_slice_eq_nocase(value, WEIR_SLICE("100-continue"))) {
        return weir_http1__refuse(r, WEIR_EBAD, 417, "unknown expectation");
    }
    r->head.expect_continue = r->head.minor == 1;
    return 0;
}

int weir_http1__note_field(struct weir_http1_reader *r, struct weir_http1__facts *facts,
                           const struct weir_http1_header *field)
{
    bool is_request = r->role == WEIR_HTTP1_REQUESTS;
    switch (field->name.n) {
    case 4:
        if (is_request && weir_slice_eq_nocase(field->name, WEIR_SLICE("host"))) {
            return note_host(r, facts, field->value);
        }
        break;
    case 6:
        if (is_request && weir_slice_eq_nocase(field->name, WEIR_SLICE("expect"))) {
            return note_expect(r, field->value);
        }
        break;
    case 10:
        if (weir_slice_eq_nocase(field->name, WEIR_SLICE("connection"))) {
            note_connection(r, facts, field->value);
        }
        break;
    case 14:
        if (weir_slice_eq_nocase(field->name, WEIR_SLICE("content-length"))) {
            return note_length(r, field->value);
        }
        break;
    case 17:
        if (weir_slice_eq_nocase(field->name, WEIR_SLICE("transfer-encoding"))) {
            return note_coding(r, field->value);
        }
        break;
    default:
        break;
    }
    return 0;
}

/* http://host[:port]/path: the host wins over Host, the path becomes the target. */
static int split_absolute(struct weir_http1_reader *r)
{
    struct weir_slice target = r->head.target;
    struct weir_url_authority ignored;
    size_t scheme_n = weir_slice_find(target, ':');
    struct weir_slice scheme = weir_slice_make(target.p, scheme_n);
    struct weir_slice rest = weir_slice_sub(target, scheme_n, target.n);
    if ((!weir_slice_eq_nocase(scheme, WEIR_SLICE("http")) &&
         !weir_slice_eq_nocase(scheme, WEIR_SLICE("https"))) ||
        !weir_slice_starts_with(rest, WEIR_SLICE("://"))) {
        return weir_http1__bad(r, "malformed request target");
    }
    rest = weir_slice_sub(rest, 3, rest.n);
    size_t host_n = weir_slice_find(rest, '/');
    r->head.host = weir_slice_make(rest.p, host_n);
    if (weir_url_parse_authority(r->head.host, &ignored) != 0) {
        return weir_http1__bad(r, "malformed host in the request target");
    }
    r->head.target = weir_slice_sub(rest, host_n, rest.n);
    if (r->head.target.n == 0) {
        bool is_options = weir_slice_eq(r->head.method, WEIR_SLICE("OPTIONS"));
        r->head.target = is_options ? WEIR_SLICE("*") : WEIR_SLICE("/");
    }
    return 0;
}

static int judge_target(struct weir_http1_reader *r, const struct weir_http1__facts *facts)
{
    if (r->head.minor == 1 && !facts->has_host) {
        return weir_http1__bad(r, "Host is missing");
    }
    struct weir_slice target = r->head.target;
    if (target.p[0] == '/') {
        return 0;
    }
    if (weir_slice_eq(target, WEIR_SLICE("*"))) {
        bool is_options = weir_slice_eq(r->head.method, WEIR_SLICE("OPTIONS"));
        return is_options ? 0 : weir_http1__bad(r, "malformed request target");
    }
    return split_absolute(r);
}

static bool has_no_body(const struct weir_http1_reader *r)
{
    if (r->role == WEIR_HTTP1_REQUESTS) {
        return !r->head.is_chunked && !r->head.has_length;
    }
    int status = r->head.status;
    return status < 200 || status == 204 || status == 304 || r->is_no_body_expected;
}

static int enter_body(struct weir_http1_reader *r)
{
    if (has_no_body(r)) {
        r->state = WEIR_HTTP1__END;
        return 0;
    }
    if (r->head.is_chunked) {
        r->state = WEIR_HTTP1__SIZE;
        r->left = r->body_bytes = 0;
        r->chunk_digits = r->ext_bytes = r->all_ext_bytes = 0;
        r->trailer_bytes = 0;
        return 0;
    }
    if (!r->head.has_length) {
        r->state = WEIR_HTTP1__CLOSE;
        r->body_bytes = 0;
        r->head.keep_alive = false;
        return 0;
    }
    uint64_t max = r->limits->max_body_bytes;
    if (max != 0 && r->head.length > max) {
        return weir_http1__refuse(r, WEIR_ELIMIT, 413, "the body is too large");
    }
    r->left = r->head.length;
    r->state = r->left != 0 ? WEIR_HTTP1__LENGTH : WEIR_HTTP1__END;
    return 0;
}

int weir_http1__judge_fields(struct weir_http1_reader *r, const struct weir_http1__facts *facts)
{
    if (r->role == WEIR_HTTP1_REQUESTS) {
        int rc = judge_target(r, facts);
        if (rc != 0) {
            return rc;
        }
    }
    if (r->head.is_chunked && r->head.has_length) {
        return weir_http1__bad(r, "Content-Length beside Transfer-Encoding");
    }
    if (r->head.is_chunked && r->head.minor == 0) {
        return weir_http1__bad(r, "Transfer-Encoding in HTTP/1.0");
    }
    r->head.keep_alive = !facts->has_close && (r->head.minor == 1 || facts->has_keep_alive);
    return enter_body(r);
}
