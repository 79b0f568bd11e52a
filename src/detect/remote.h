#ifndef WEIR_DETECT_REMOTE_H
#define WEIR_DETECT_REMOTE_H

#include "client/target.h"
#include "detect/detect.h"

/*
 * A detector behind the detector API: POST /api/v1/text/contents, /chat, /context/doc, /generation.
 * What it answers is checked: the number of lists, spans inside their text, start before end,
 * scores that are numbers. Nonsense is a fault that names the detector, never a silent pass.
 */
struct weir_detect_remote {
    struct weir_detector base;
    const struct weir_target *target;
};

/* `id` and `target` are borrowed. */
void weir_detect_remote_init(struct weir_detect_remote *r, struct weir_slice id,
                             enum weir_detect_type type, const struct weir_target *target);

#endif
