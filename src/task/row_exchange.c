#include "task/row_exchange.h"

#include "base/err.h"
#include "wire/json_write.h"

void weir_row_exchange_init(struct weir_row_exchange *x, size_t max_bytes,
                            struct weir_account *account)
{
    *x = (struct weir_row_exchange){.max_bytes = max_bytes, .calls.account = account};
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        x->texts[i].account = account;
    }
}

void weir_row_exchange_dispose(struct weir_row_exchange *x)
{
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        weir_buf_dispose(&x->texts[i]);
    }
    weir_buf_dispose(&x->calls);
}

static int count(struct weir_row_exchange *x, size_t n)
{
    x->n_bytes += n;
    return x->n_bytes <= x->max_bytes ? 0 : WEIR_ELIMIT;
}

int weir_row_exchange_say(struct weir_row_exchange *x, enum weir_channel channel, uint64_t place,
                          struct weir_slice text)
{
    struct weir_buf *said = &x->texts[channel];
    if (count(x, text.n) != 0) {
        return WEIR_ELIMIT;
    }
    if (said->n != 0 && x->places[channel] != place) {
        weir_buf_append(said, WEIR_SLICE("\n\n"));
    }
    x->places[channel] = place;
    weir_buf_append(said, text);
    return 0;
}

/* A name that stands alone, beside the call, is told with it. */
int weir_row_exchange_call(struct weir_row_exchange *x, const struct weir_tools *tools)
{
    for (size_t i = 0; i < tools->n; i++) {
        struct weir_slice name = weir_buf_slice(&tools->items[i].name);
        struct weir_slice arguments = weir_buf_slice(&tools->items[i].arguments);
        if (count(x, name.n + arguments.n) != 0) {
            return WEIR_ELIMIT;
        }
        if (name.n + arguments.n != 0) {
            weir_buf_printf(&x->calls, "%s{\"id\":\"call_%zu\",\"type\":\"function\",",
                            x->calls.n != 0 ? "," : "", x->n_calls++);
            weir_buf_append(&x->calls, WEIR_SLICE("\"function\":{\"name\":"));
            weir_json_write_quoted(&x->calls, name);
            weir_buf_append(&x->calls, WEIR_SLICE(",\"arguments\":"));
            weir_json_write_quoted(&x->calls, arguments);
            weir_buf_append(&x->calls, WEIR_SLICE("}}"));
        }
    }
    return 0;
}

static void write_text(struct weir_buf *out, const char *before, const struct weir_buf *text)
{
    weir_buf_append(out, weir_slice_cstr(before));
    weir_json_write_quoted(out, weir_buf_slice(text));
}

void weir_row_exchange_write(const struct weir_row_exchange *x, struct weir_buf *out)
{
    static const char *const before[WEIR_CHANNEL_TEXTS] = {
        [WEIR_CHANNEL_REASONING] = ",\"reasoning\":",
        [WEIR_CHANNEL_REASONING_CONTENT] = ",\"reasoning_content\":",
        [WEIR_CHANNEL_REFUSAL] = ",\"refusal\":",
        [WEIR_CHANNEL_TRANSCRIPT] = ",\"audio\":{\"transcript\":"};
    write_text(out, "{\"role\":\"assistant\",\"content\":", &x->texts[WEIR_CHANNEL_CONTENT]);
    for (size_t i = 0; i < WEIR_CHANNEL_TEXTS; i++) {
        if (before[i] != NULL && x->texts[i].n != 0) {
            write_text(out, before[i], &x->texts[i]);
            weir_buf_append(out, i == WEIR_CHANNEL_TRANSCRIPT ? WEIR_SLICE("}") : WEIR_SLICE(""));
        }
    }
    if (x->calls.n != 0) {
        weir_buf_append(out, WEIR_SLICE(",\"tool_calls\":["));
        weir_buf_append(out, weir_buf_slice(&x->calls));
        weir_buf_append_byte(out, ']');
    }
    weir_buf_append_byte(out, '}');
}
