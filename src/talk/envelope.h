#ifndef WEIR_TALK_ENVELOPE_H
#define WEIR_TALK_ENVELOPE_H

#include "base/slice.h"
#include "wire/json.h"

#include <stddef.h>
#include <stdint.h>

/*
 * What an event says besides what is said: id, object, created, model and the like, as JSON
 * members. A stream repeats it in every event, so it is kept once and shared. Members that do not
 * have their form (talk/form.h) are null in it, all others of the event are not.
 */
struct weir_envelope {
    uint32_t refs;
    uint32_t n_odd; /* members that became null because they lacked their form */
    size_t n;
    char members[]; /* with commas between them, in the order the server has them */
};

/*
 * The envelope of an event or answer; `model` stands in for a name that has not the form of one. It
 * is `last`, once more, if that says the same. NULL is fine for `last`.
 */
struct weir_envelope *weir_envelope_of(const struct weir_json *json, struct weir_slice model,
                                       struct weir_envelope *last);
struct weir_envelope *weir_envelope_ref(struct weir_envelope *e);
void weir_envelope_unref(struct weir_envelope *e); /* NULL is fine */

static inline struct weir_slice weir_envelope_members(const struct weir_envelope *e)
{
    return e != NULL ? weir_slice_make(e->members, e->n) : (struct weir_slice){0};
}

#endif
