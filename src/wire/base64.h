#ifndef WEIR_WIRE_BASE64_H
#define WEIR_WIRE_BASE64_H

#include "base/arena.h"
#include "base/slice.h"

/*
 * Base64 as RFC 4648 has it, strictly: no white space, padding exactly as the form says, unused
 * bits zero. So every sequence of bytes has exactly one spelling in a form.
 */
enum weir_base64_form {
    WEIR_BASE64_STANDARD, /* + and /, padded with = */
    WEIR_BASE64_BARE,     /* + and /, no padding: binary gRPC metadata often comes so */
    WEIR_BASE64_URL,      /* - and _, no padding */
};

/* The result lives in the arena. */
struct weir_slice weir_base64_encode(struct weir_arena *a, enum weir_base64_form form,
                                     struct weir_slice bytes);

/* 0, or WEIR_EBAD. The result lives in the arena. */
int weir_base64_decode(struct weir_arena *a, enum weir_base64_form form, struct weir_slice text,
                       struct weir_slice *bytes);

#endif
