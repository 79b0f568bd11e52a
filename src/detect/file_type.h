#ifndef WEIR_DETECT_FILE_TYPE_H
#define WEIR_DETECT_FILE_TYPE_H

#include "detect/builtin.h"

/*
 * `file_type`: is the text a document of this type?
 *
 *   {"file_type": ["json", "yaml", "xml"]}     at most 8
 *
 * A finding is the whole text, of kind `invalid_json`, `invalid_yaml` or `invalid_xml`, score 1.
 * Without the parameter nothing is looked for.
 */
extern const struct weir_builtin_kind weir_detect_file_type;

#endif
