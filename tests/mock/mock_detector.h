#ifndef WEIR_MOCK_DETECTOR_H
#define WEIR_MOCK_DETECTOR_H

#include "http/stream.h"

/*
 * The detector: four endpoints that find by regular expression. Settings are members of
 * `detector_params`; those that are none of ours are somebody else's.
 */
void weir_mock_detector_begin_contents(void *env, struct weir_http_stream *s);
void weir_mock_detector_begin_chat(void *env, struct weir_http_stream *s);
void weir_mock_detector_begin_context(void *env, struct weir_http_stream *s);
void weir_mock_detector_begin_generation(void *env, struct weir_http_stream *s);

#endif
