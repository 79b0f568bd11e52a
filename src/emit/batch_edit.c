/*
 * A chunk's own bytes with as little change as possible: members taken out, a role put in, one of
 * several choices left.
 */
#include "emit/batch_int.h"

static struct weir_slice edited(struct weir_batch *b)
{
    weir_buf_clear(&b->edited);
    (void)weir_json_edit_write(&b->edit, &b->edited);
    return weir_buf_slice(&b->edited);
}

struct weir_slice weir_batch__role(const struct weir_batch__choice *c)
{
    return c->role.n != 0 ? weir_buf_slice(&c->role) : WEIR_SLICE("\"assistant\"");
}

/* Of several choices only the one at hand stays, and the usage only with the last. */
static void split_choices(struct weir_batch *b, const struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    uint32_t choices = in->top[FIELD_CHOICES];
    for (uint32_t at = choices + 1; at < j->nodes[choices].next; at = j->nodes[at].next) {
        if (at != in->choice) {
            weir_json_edit_remove(&b->edit, at);
        }
    }
    if (in->top[FIELD_OBFUSCATION] != WEIR_JSON_NONE) {
        weir_json_edit_remove(&b->edit, in->top[FIELD_OBFUSCATION]);
    }
    if (in->top[FIELD_USAGE] != WEIR_JSON_NONE && !in->is_last) {
        weir_json_edit_remove(&b->edit, in->top[FIELD_USAGE]);
    }
}

struct weir_slice weir_batch__bytes(struct weir_batch *b, const struct weir_batch__choice *c,
                                    const struct weir_batch__input *in)
{
    bool add_role = b->o.role_policy == WEIR_BATCH_ROLE_EVERY && in->delta != WEIR_JSON_NONE &&
                    in->role == WEIR_JSON_NONE;
    if (!in->is_split && !add_role && !in->strip_role && !in->strip_tools) {
        return in->ev->data;
    }
    weir_json_edit_begin(&b->edit, in->j);
    if (add_role) {
        weir_json_edit_set(&b->edit, in->delta, WEIR_SLICE("role"), weir_batch__role(c));
    }
    if (in->strip_role) {
        weir_json_edit_remove(&b->edit, in->role);
    }
    if (in->strip_tools) {
        weir_json_edit_remove(&b->edit, in->tool_calls);
    }
    if (in->is_split) {
        split_choices(b, in);
    }
    return edited(b);
}

void weir_batch__edit_start(struct weir_batch *b, const struct weir_batch__input *in)
{
    weir_json_edit_begin(&b->edit, in->j);
}

void weir_batch__edit_cut_tools(struct weir_batch *b, const struct weir_batch__input *in)
{
    weir_json_edit_remove(&b->edit, in->tool_calls);
}

struct weir_slice weir_batch__edit_end(struct weir_batch *b, const struct weir_batch__input *in)
{
    return b->edit.n == 0 ? in->ev->data : edited(b);
}
