#include "detect/request.h"

#include "base/assert.h"
#include "wire/json_write.h"

/* Room for names, brackets and a few escapes: with it most bodies are one allocation. */
enum { FRAME_BYTES = 256 };

struct weir_slice weir_detect_request_path(enum weir_detect_type type)
{
    switch (type) {
    case WEIR_DETECT_CHAT:
        return WEIR_SLICE("/api/v1/text/chat");
    case WEIR_DETECT_CONTEXT_DOC:
        return WEIR_SLICE("/api/v1/text/context/doc");
    case WEIR_DETECT_GENERATION:
        return WEIR_SLICE("/api/v1/text/generation");
    case WEIR_DETECT_CONTENTS:
    default:
        return WEIR_SLICE("/api/v1/text/contents");
    }
}

static size_t size_of(const struct weir_detect_input *in)
{
    size_t n = FRAME_BYTES + in->params.n + in->messages.n + in->tools.n + in->content.n +
               in->context_type.n + in->context.n + in->prompt.n + in->generated_text.n;
    for (size_t i = 0; i < in->n_contents; i++) {
        n += in->contents[i].n + 3;
    }
    return n;
}

static void put(struct weir_buf *out, struct weir_slice s)
{
    weir_buf_append(out, s);
}

static void put_string(struct weir_buf *out, struct weir_slice lead, struct weir_slice s)
{
    put(out, lead);
    weir_json_write_quoted(out, s);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/*
 * JSON of the caller's, which was read before, without the white space between its tokens; `none`
 * when there is none.
 */
static void put_json(struct weir_buf *out, struct weir_slice lead, struct weir_slice json,
                     struct weir_slice none)
{
    put(out, lead);
    json = json.n != 0 ? json : none;
    size_t from = 0;
    bool in_string = false;
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        if (c == '"') {
            in_string = !in_string;
        } else if (c == '\\') {
            i++; /* only in strings */
        } else if (!in_string && is_space(c)) {
            put(out, weir_slice_sub(json, from, i));
            from = i + 1;
        }
    }
    put(out, weir_slice_sub(json, from, json.n));
}

static void put_contents(struct weir_buf *out, const struct weir_detect_input *in)
{
    put(out, WEIR_SLICE("{\"contents\":["));
    for (size_t i = 0; i < in->n_contents; i++) {
        put_string(out, i != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""), in->contents[i]);
    }
    put(out, WEIR_SLICE("]"));
}

void weir_detect_request_write(const struct weir_detect_input *input, struct weir_buf *out)
{
    WEIR_ASSERT(out->max == 0);
    weir_buf_reserve(out, size_of(input));
    switch (input->type) {
    case WEIR_DETECT_CONTENTS:
        put_contents(out, input);
        break;
    case WEIR_DETECT_CHAT:
        put_json(out, WEIR_SLICE("{\"messages\":"), input->messages, WEIR_SLICE("[]"));
        put_json(out, WEIR_SLICE(",\"tools\":"), input->tools, WEIR_SLICE("[]"));
        break;
    case WEIR_DETECT_CONTEXT_DOC:
        put_string(out, WEIR_SLICE("{\"content\":"), input->content);
        put_string(out, WEIR_SLICE(",\"context_type\":"), input->context_type);
        put_json(out, WEIR_SLICE(",\"context\":"), input->context, WEIR_SLICE("[]"));
        break;
    case WEIR_DETECT_GENERATION:
        put_string(out, WEIR_SLICE("{\"prompt\":"), input->prompt);
        put_string(out, WEIR_SLICE(",\"generated_text\":"), input->generated_text);
        break;
    }
    put_json(out, WEIR_SLICE(",\"detector_params\":"), input->params, WEIR_SLICE("{}"));
    put(out, WEIR_SLICE("}"));
}
