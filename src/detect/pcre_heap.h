#ifndef WEIR_DETECT_PCRE_HEAP_H
#define WEIR_DETECT_PCRE_HEAP_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Memory of what requests make of PCRE2: from base/mem.h, so that it cannot fail. As long as the
 * process, shared by all threads. */
pcre2_general_context *weir_pcre_heap_get(void);

#endif
