#ifndef WEIR_ROUTE_PAGE_FILES_H
#define WEIR_ROUTE_PAGE_FILES_H

#include "base/slice.h"

/* The files of web/ inside the program: the scripts one behind the other. */
struct weir_page_files {
    struct weir_slice html;
    struct weir_slice style;
    struct weir_slice script;
};
struct weir_page_files weir_page_files_get(void);

#endif
