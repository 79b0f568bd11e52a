#include "base/err.h"

#include <errno.h>

const char *weir_err_name(int err)
{
    switch (err) {
    case WEIR_OK:
        return "OK";
#define WEIR_ERR_CASE(name, code, text)                                                            \
    case WEIR_##name:                                                                              \
        return #name;
        WEIR_ERR_MAP(WEIR_ERR_CASE)
#undef WEIR_ERR_CASE
    default:
        return "EUNKNOWN";
    }
}

const char *weir_err_text(int err)
{
    switch (err) {
    case WEIR_OK:
        return "success";
#define WEIR_ERR_CASE(name, code, text)                                                            \
    case WEIR_##name:                                                                              \
        return text;
        WEIR_ERR_MAP(WEIR_ERR_CASE)
#undef WEIR_ERR_CASE
    default:
        return "unknown error";
    }
}

int weir_err_from_errno(int sys)
{
    switch (sys) {
    case 0:
        return WEIR_OK;
    case EAGAIN:
        return WEIR_EAGAIN;
    case ECONNRESET:
    case EPIPE:
        return WEIR_ERESET;
    case ECONNREFUSED:
        return WEIR_EREFUSED;
    case ETIMEDOUT:
        return WEIR_ETIMEOUT;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
        return WEIR_EUNREACHABLE;
    case EADDRINUSE:
        return WEIR_EINUSE;
    case EACCES:
    case EPERM:
        return WEIR_EDENIED;
    case ENOENT:
        return WEIR_ENOTFOUND;
    case ECANCELED:
        return WEIR_ECANCELED;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
        return WEIR_ELIMIT;
    case EINVAL:
    case EADDRNOTAVAIL:
        return WEIR_EINVAL;
    default:
        return WEIR_EIO;
    }
}
