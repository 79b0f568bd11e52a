#ifndef WEIR_DETECT_ANSWER_H
#define WEIR_DETECT_ANSWER_H

#include "base/arena.h"
#include "base/slice.h"
#include "client/fault.h"
#include "detect/detect.h"

#include <stddef.h>

/*
 * What a remote detector answered, read and checked. Pure: bytes and the texts they are about in,
 * findings or the reason why they cannot be believed out.
 *
 *   text_contents   [[finding, …], …]     a list per content
 *   the others      [finding, …]
 *
 *   finding         {"start","end","text"?,         text_contents only
 *                    "detection_type","detection","score","evidence"?,"metadata"?}
 *
 * Members of other names are ignored, `detector_id` among them: a finding carries the configured
 * id. `null` is the same as absent.
 */
struct weir_detect_answer {
    const struct weir_detect_list *lists; /* one per content; one in all for the other types */
    size_t n_lists;
    const char *why; /* when it cannot be believed: what exactly is wrong, without anybody's text */
};

/*
 * 0, or WEIR_EPEER with `why`. The findings live in the arena and borrow nothing of `body`; the
 * text of one whose `text` is absent is a slice of its content. Scores below input->threshold are
 * dropped after they were checked like the others.
 */
int weir_detect_answer_read(struct weir_detect_answer *out, struct weir_slice body,
                            const struct weir_detect_input *input, struct weir_slice id,
                            struct weir_arena *arena);

/*
 * One line of a streamed answer (detect/streamed.h):
 *
 *   {"detections":[finding, …],"processed_index":n, …}     places count from the stream's beginning
 *   {"code":n,"details":"…"}                               the last one: it has failed
 *
 * `input` has one content: the text between code points `from_cp` and `end_cp`, which are set
 * before. The promise is checked: nothing lies before from_cp, nothing behind the text. 0,
 * WEIR_EPEER with `why`, or WEIR_EIO with `status`: it says that it has failed.
 */
struct weir_detect_line {
    size_t from_cp;
    size_t end_cp;
    struct weir_detect_list found; /* in order of their starts; the places count from the
                                      stream's beginning, too */
    size_t processed_cp;
    int status;
    const char *why;
};

int weir_detect_answer_line(struct weir_detect_line *out, struct weir_slice line,
                            const struct weir_detect_input *input, struct weir_slice id,
                            struct weir_arena *arena);

/*
 * An answer with a status other than 200, whose body should be {"code","message"}: sets the fault's
 * `status` (the body's code where it is a status, else `status`) and `message` (clean; empty where
 * the body cannot be read).
 */
void weir_detect_answer_error(struct weir_fault *fault, int status, struct weir_slice body,
                              struct weir_arena *arena);

#endif
