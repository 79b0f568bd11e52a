#ifndef WEIR_DETECT_FILE_TYPE_H
#define WEIR_DETECT_FILE_TYPE_H

#include "detect/builtin.h"

/*
 * `file_type`: is the text a document of this type?
 *
 *   {"file_type": ["json", "yaml", "xml", "json-with-schema:{…}", …]}     at most 8
 *
 * A finding is the whole text, score 1: `invalid_json`, `invalid_yaml`, `invalid_xml`, and where
 * the type is right but the schema says otherwise `json_schema_mismatch`, `yaml_schema_mismatch`.
 * Without the parameter nothing is looked for.
 */
extern const struct weir_builtin_kind weir_detect_file_type;

#endif
