#ifndef WEIR_IO_HEAP_H
#define WEIR_IO_HEAP_H

/*
 * Lets libraries that requests use (libuv, OpenSSL, c-ares, Vectorscan, ICU) take their memory from
 * base/mem.h, whose reserve stands in when the system has none left. An allocation that fails
 * inside of them would be an error that nobody expects there. Once, before any of them is used.
 * nghttp2 and PCRE2 are told with each session and match (http/h2_session.h, detect/pcre_heap.h).
 */
void weir_heap_share(void);

#endif
