#include "model/rename.h"

#include "wire/json_write.h"
#include "wire/sse.h"

/* Depth costs no stack, and a name is to be replaced however deep the rest is. */
enum { MAX_DEPTH = 1000000 };

void weir_rename_dispose(struct weir_rename *r)
{
    weir_buf_dispose(&r->theirs);
    weir_buf_dispose(&r->ours);
    weir_buf_dispose(&r->out);
    weir_buf_dispose(&r->raw);
    weir_json_tape_dispose(&r->tape);
}

/* `at` is where the name stands. */
static void learn(struct weir_rename *r, const struct weir_json *j, uint32_t at,
                  struct weir_slice name)
{
    const struct weir_json_node *node = &j->nodes[at];
    weir_buf_clear(&r->theirs);
    weir_buf_clear(&r->ours);
    weir_buf_append(&r->theirs, weir_slice_sub(j->src, 0, node->end));
    weir_buf_append(&r->ours, weir_slice_sub(j->src, 0, node->start));
    weir_json_write_quoted(&r->ours, name);
}

static struct weir_slice put(struct weir_rename *r, struct weir_slice json)
{
    weir_buf_clear(&r->out);
    weir_buf_append(&r->out, weir_buf_slice(&r->ours));
    weir_buf_append(&r->out, weir_slice_sub(json, r->theirs.n, json.n));
    return weir_buf_slice(&r->out);
}

/* At the top, or in the message or response that an event is about. */
static uint32_t find_model(const struct weir_json *j)
{
    static const char *const holders[] = {"message", "response"};
    uint32_t at = weir_json_get_set(j, 0, WEIR_SLICE("model"));
    for (size_t i = 0; at == WEIR_JSON_NONE && i < 2; i++) {
        uint32_t holder = weir_json_get_set(j, 0, weir_slice_cstr(holders[i]));
        at = holder != WEIR_JSON_NONE ? weir_json_get_set(j, holder, WEIR_SLICE("model")) : holder;
    }
    return at;
}

struct weir_slice weir_rename_json(struct weir_rename *r, struct weir_slice json,
                                   struct weir_slice name)
{
    static const struct weir_json_limits limits = {.max_depth = MAX_DEPTH};
    struct weir_json j;
    if (r->theirs.n != 0 && weir_slice_starts_with(json, weir_buf_slice(&r->theirs))) {
        return put(r, json);
    }
    if (weir_json_parse_reuse(&j, json, &limits, &r->tape, NULL) != 0) {
        return json;
    }
    uint32_t at = find_model(&j);
    if (at == WEIR_JSON_NONE || weir_json_type(&j, at) != WEIR_JSON_STRING) {
        return json;
    }
    learn(r, &j, at, name);
    return put(r, json);
}

/* What the line `event:` says, where it stands first, as servers write it. */
static struct weir_slice name_of(struct weir_slice raw)
{
    struct weir_slice field = WEIR_SLICE("event:");
    if (!weir_slice_starts_with(raw, field)) {
        return WEIR_SLICE("");
    }
    size_t n = 0;
    while (n < raw.n && raw.p[n] != '\n' && raw.p[n] != '\r') {
        n++;
    }
    return weir_slice_trim(weir_slice_sub(raw, field.n, n));
}

struct weir_slice weir_rename_event(struct weir_rename *r, struct weir_slice json,
                                    struct weir_slice theirs, struct weir_slice sse_id)
{
    weir_buf_clear(&r->raw);
    if (sse_id.n != 0) {
        weir_buf_append(&r->raw, WEIR_SLICE("id: "));
        weir_buf_append(&r->raw, sse_id);
        weir_buf_append_byte(&r->raw, '\n');
    }
    weir_sse_append_event(&r->raw, name_of(theirs), json);
    return weir_buf_slice(&r->raw);
}
