#ifndef WEIR_DETECT_XMLDOC_H
#define WEIR_DETECT_XMLDOC_H

#include "base/slice.h"
#include "detect/builtin.h"

#include <libxml/xmlschemas.h>

/*
 * A text that should be an XML document: well-formed, and good by a schema. libxml2 reads it as a
 * stream of events, no tree is made. Nothing is ever loaded, neither from the network nor from a
 * file; a document type declaration ends the reading, so there are no entities but XML's own five.
 */

/*
 * 0 (good), WEIR_EBAD (not well-formed, an unknown prefix, a DOCTYPE), WEIR_EINVAL (well-formed,
 * but not what the schema says) or WEIR_ELIMIT with run->why: too much time, too many attributes,
 * 256 levels and what else libxml2 limits. `schema` may be NULL.
 */
int weir_xmldoc_check(struct weir_slice text, xmlSchemaValidCtxtPtr schema,
                      struct weir_builtin_run *run);

/* Makes libxml2 ready, once, for all threads. Cheap when it is. */
void weir_xmldoc_prepare(void);

#endif
