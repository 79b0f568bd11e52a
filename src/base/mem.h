#ifndef WEIR_BASE_MEM_H
#define WEIR_BASE_MEM_H

#include <stddef.h>

/*
 * Heap memory that cannot fail: running out aborts. Sizes a peer can influence must have been
 * checked against a limit before they reach these. All of it is released with plain free().
 */

void *weir_mem_alloc(size_t n);                  /* uninitialised; n = 0 gives a unique pointer */
void *weir_mem_zalloc(size_t n);                 /* zeroed */
void *weir_mem_realloc(void *p, size_t n);       /* n must not be 0 */
void *weir_mem_zalloc_lines(size_t n);           /* zeroed; shares no cache line with others */
void *weir_mem_array(size_t count, size_t size); /* zeroed; aborts on overflow */
char *weir_mem_strdup(const char *s);
char *weir_mem_dup(const void *p, size_t n); /* n bytes and a NUL after them */

#endif
