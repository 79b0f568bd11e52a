#ifndef WEIR_DETECT_KNOWN_H
#define WEIR_DETECT_KNOWN_H

#include "detect/detect.h"

/*
 * Asking a detector through the worker's memory (detect/verdicts.h). Its functions are declared in
 * detect/detect.h, for weir_detect_start alone.
 *
 *   every text ─┬─ its verdict is kept ─────────────► copied
 *               ├─ the same is being asked already ──► waits for that question
 *               └─ neither ─► in one call with the others like it
 *
 * What makes two questions the same: detector, type, text (with what stands before it, where the
 * detector sees that), parameters, threshold, the headers that are passed on, and the name of the
 * caller's key, so that nobody learns from an answer's speed what somebody else has asked.
 *
 * A call under way belongs to nobody who waits for it: it has copies of what it needs and ends when
 * the last of them has left. Errors are not kept. When a call about several texts fails, those who
 * only waited for one of them ask once more by themselves: the fault may lie in another's text.
 */

#endif
