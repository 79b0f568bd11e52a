#ifndef WEIR_TESTS_UNIT_MANUAL_H
#define WEIR_TESTS_UNIT_MANUAL_H

/* Tables of the manual that are made from tables of the code: a page must have them as they are. */
#include "base/buf.h"
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>

/* Empty cells have one space in the manual. */
static inline void manual_squeeze(struct weir_buf *text)
{
    weir_buf_cstr(text);
    char *to = text->p;
    for (const char *from = text->p; *from != '\0'; from++) {
        if (from[0] != ' ' || from[1] != ' ') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* `page` is a path from the root. Takes what `table` holds. */
static inline void manual_expect(const char *page, struct weir_buf *table)
{
    char path[4096];
    char piece[4096];
    struct weir_buf text = {0};
    (void)snprintf(path, sizeof path, "%s/%s", WEIR_SOURCE_DIR, page);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) != 0;) {
        weir_buf_append(&text, weir_slice_make(piece, n));
    }
    fclose(file);
    manual_squeeze(table);
    if (strstr(weir_buf_cstr(&text), table->p) == NULL) {
        (void)fprintf(stderr, "%s should have this table:\n%s", page, table->p);
        fail();
    }
    weir_buf_dispose(&text);
    weir_buf_dispose(table);
}

#endif
