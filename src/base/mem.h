#ifndef WEIR_BASE_MEM_H
#define WEIR_BASE_MEM_H

#include <stdbool.h>
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

/*
 * A reserve for the moment in which the system has none left. It is address space only: nobody
 * writes to it, so it costs no memory. An allocation that fails gives it back and is made once
 * more; what runs can end, and whoever asks for room is refused (base/account.h) until the reserve
 * could be set aside again. Only what does not fit into it aborts.
 */
void weir_mem_keep_reserve(size_t bytes); /* once, before there are threads */
void weir_mem_make_room(void); /* a library could not be given memory: it may try again */
bool weir_mem_is_short(void);  /* the reserve is in use */
bool weir_mem_recover(void);   /* tries to set it aside again; true when nothing is short */

#endif
