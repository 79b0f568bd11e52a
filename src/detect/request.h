#ifndef WEIR_DETECT_REQUEST_H
#define WEIR_DETECT_REQUEST_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/detect.h"

/*
 * What a remote detector is asked: compact JSON, the members in the order of the detector API,
 * `detector_params` always there.
 *
 *   /api/v1/text/contents     {"contents","detector_params"}
 *   /api/v1/text/chat         {"messages","tools","detector_params"}
 *   /api/v1/text/context/doc  {"content","context_type","context","detector_params"}
 *   /api/v1/text/generation   {"prompt","generated_text","detector_params"}
 */
struct weir_slice weir_detect_request_path(enum weir_detect_type type);

/* Appends the body to `out`, which must have no ceiling: the size of the texts was checked when
 * they came in. */
void weir_detect_request_write(const struct weir_detect_input *input, struct weir_buf *out);

#endif
