/*
 * Streams and whole answers of OpenAI's Responses: lines of JSON, read and written again. Whatever
 * a model server says, the readers agree on what an item and a part is, and what is written of it
 * is JSON that can be read.
 */
#include "base/assert.h"
#include "talk/responses.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(struct weir_buf *out)
{
    struct weir_arena arena = {0};
    struct weir_json json;
    WEIR_ASSERT(weir_json_parse(&json, weir_buf_slice(out), NULL, &arena, NULL) == 0);
    weir_arena_dispose(&arena);
    weir_buf_clear(out);
}

/* The head of a response, with and without the request that it repeats. */
static void write_head(const struct weir_json *json, uint32_t response, struct weir_buf *out)
{
    for (int i = 0; i < 2; i++) {
        struct weir_responses_head h = {.json = json,
                                        .response = response,
                                        .asked = i != 0 ? json : NULL,
                                        .model_id = WEIR_SLICE("m")};
        weir_buf_append_byte(out, '{');
        (void)weir_responses_write_head(&h, out);
        weir_buf_append_byte(out, '}');
        check_json(out);
    }
}

static void write_item(const struct weir_json *json, uint32_t item, struct weir_buf *out)
{
    enum weir_responses_item kind = weir_responses_item_of(json, item);
    struct weir_responses_parts parts;
    const char *why = NULL;
    if (kind != WEIR_RESPONSES_HELD) {
        weir_buf_append_byte(out, '{');
        (void)weir_responses_write_open(json, item, kind, WEIR_SLICE("id"), out);
        weir_responses_write_close(json, item, out);
        weir_buf_append_byte(out, '}');
        check_json(out);
        return;
    }
    int rc = weir_responses_take_apart(json, item, WEIR_SLICE("said"), false, &parts, &why);
    WEIR_ASSERT((rc == 0) == (why == NULL));
    if (rc == 0) {
        weir_buf_append_byte(out, '{');
        weir_buf_append(out, weir_buf_slice(&parts.head));
        weir_buf_append_byte(out, '}');
        check_json(out);
        const struct weir_tool *last = &parts.tools.items[parts.tools.n - 1];
        if (last->id.n == 0 && parts.tools.n > 1) { /* the other members */
            weir_buf_append(out, weir_buf_slice(&last->arguments));
            check_json(out);
        }
    }
    weir_buf_dispose(&parts.head);
    weir_tools_dispose(&parts.tools);
}

static void check_event(const struct weir_json *json, const struct weir_responses_event *e,
                        struct weir_buf *out)
{
    struct weir_responses_place at = {
        .item_id = WEIR_SLICE("i"), .item = e->item, .part = e->part, .kind = e->kind};
    WEIR_ASSERT(e->text == WEIR_JSON_NONE || weir_json_type(json, e->text) == WEIR_JSON_STRING);
    switch (e->what) {
    case WEIR_RESPONSES_HEAD:
    case WEIR_RESPONSES_END:
        write_head(json, e->body, out);
        break;
    case WEIR_RESPONSES_ITEM:
    case WEIR_RESPONSES_ITEM_DONE:
        write_item(json, e->body, out);
        break;
    case WEIR_RESPONSES_DELTA:
    case WEIR_RESPONSES_DONE:
        if (e->kind < WEIR_RESPONSES_KINDS && e->text != WEIR_JSON_NONE) {
            struct weir_responses_delta d = {.quoted = weir_json_raw(json, e->text)};
            weir_responses_write_delta(&at, &d, e->what == WEIR_RESPONSES_DONE, out);
            check_json(out);
        }
        break;
    case WEIR_RESPONSES_PART:
    case WEIR_RESPONSES_PART_DONE:
        if (e->kind < WEIR_RESPONSES_KINDS) {
            weir_responses_write_part_event(&at, weir_json_raw(json, e->body), true, out);
            check_json(out);
        }
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice rest = weir_slice_make((const char *)data, size);
    struct weir_json_tape tape = {0};
    struct weir_buf out = {0};
    while (rest.n != 0) {
        struct weir_json json;
        struct weir_responses_event e;
        const char *why = NULL;
        if (weir_json_parse_reuse(&json, weir_slice_cut(&rest, '\n'), NULL, &tape, NULL) != 0) {
            continue;
        }
        int rc = weir_responses_read(&json, &e, &why);
        WEIR_ASSERT((rc == 0) == (why == NULL));
        if (rc == 0) {
            check_event(&json, &e, &out);
        }
    }
    weir_buf_dispose(&out);
    weir_json_tape_dispose(&tape);
    return 0;
}
