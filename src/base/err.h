#ifndef WEIR_BASE_ERR_H
#define WEIR_BASE_ERR_H

/*
 * One table of error codes: code, name, text. A fallible function returns 0 or one of these
 * negative codes; amounts travel through out-parameters. What an error means to a caller of the
 * gateway (an HTTP status) is decided in one place only, route/reply.c.
 */
#define WEIR_ERR_MAP(X)                                                                            \
    X(EAGAIN, -1, "more input is needed")                                                          \
    X(EBAD, -2, "malformed input")                                                                 \
    X(ELIMIT, -3, "a limit was reached")                                                           \
    X(ENOTFOUND, -4, "not found")                                                                  \
    X(EINVAL, -5, "invalid value")                                                                 \
    X(ETIMEOUT, -6, "timed out")                                                                   \
    X(ECANCELED, -7, "canceled")                                                                   \
    X(ECLOSED, -8, "connection closed")                                                            \
    X(ERESET, -9, "connection reset")                                                              \
    X(EREFUSED, -10, "connection refused")                                                         \
    X(EUNREACHABLE, -11, "cannot be reached")                                                      \
    X(ETLS, -12, "TLS failure")                                                                    \
    X(EPROTO, -13, "protocol violation")                                                           \
    X(EIO, -14, "input/output error")                                                              \
    X(EBUSY, -15, "too busy")                                                                      \
    X(EUNSUPPORTED, -16, "not supported")                                                          \
    X(EINUSE, -17, "address already in use")                                                       \
    X(EDENIED, -18, "permission denied")                                                           \
    X(EPEER, -19, "the service answered nonsense")                                                 \
    X(EINTERNAL, -20, "an internal error")                                                         \
    X(EFULL, -21, "too much is held already")

enum weir_err {
    WEIR_OK = 0,
#define WEIR_ERR_ENUM(name, code, text) WEIR_##name = (code),
    WEIR_ERR_MAP(WEIR_ERR_ENUM)
#undef WEIR_ERR_ENUM
};

/* The code's name without prefix, "ELIMIT"; "OK" for 0, "EUNKNOWN" for anything else. */
const char *weir_err_name(int err);

/* One lower-case phrase for people, "a limit was reached". */
const char *weir_err_text(int err);

/* The nearest code for an errno value (positive). */
int weir_err_from_errno(int sys);

#endif
