/*
 * Writing a merged chunk. Every value is written as it was spelled when it came; nothing is
 * unescaped and escaped again.
 */
#include "base/map.h"
#include "emit/batch_int.h"

enum { PAD_TO_BYTES = 32 }; /* merged chunks with regenerated obfuscation are multiples of this */

static const char *const field_names[FIELDS_KEPT] = {
    [FIELD_ID] = "\"id\":",
    [FIELD_OBJECT] = "\"object\":",
    [FIELD_MODEL] = "\"model\":",
    [FIELD_CREATED] = "\"created\":",
    [FIELD_FINGERPRINT] = "\"system_fingerprint\":",
    [FIELD_TIER] = "\"service_tier\":",
    [FIELD_USAGE] = "\"usage\":",
};

static void put_text(struct weir_buf *out, const char *text)
{
    weir_batch__put(out, weir_slice_cstr(text));
}

static void write_field(struct weir_buf *out, const struct weir_batch__carry *carry,
                        enum weir_batch__field field, size_t *n_written)
{
    const struct weir_buf *value = &carry->fields[field];
    if (value->n == 0) {
        return;
    }
    put_text(out, *n_written != 0 ? "," : "");
    put_text(out, field_names[field]);
    weir_batch__put(out, weir_buf_slice(value));
    ++*n_written;
}

static void open_chunk(struct weir_batch *b, const struct weir_batch__choice *c,
                       const struct weir_batch__carry *carry)
{
    static const enum weir_batch__field order[] = {
        FIELD_ID, FIELD_OBJECT, FIELD_CREATED, FIELD_MODEL, FIELD_TIER, FIELD_FINGERPRINT,
    };
    struct weir_buf *out = &b->composed;
    size_t n_written = 0;
    weir_buf_clear(out);
    put_text(out, "{");
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        write_field(out, carry, order[i], &n_written);
    }
    weir_members_write(&carry->others, out, &n_written);
    put_text(out, n_written != 0 ? "," : "");
    (void)weir_buf_printf(out, "\"choices\":[{\"index\":%u,", (unsigned)c->index);
}

static void write_logprobs(struct weir_buf *out, const struct weir_batch__logprobs *l)
{
    size_t n_written = 0;
    if (!l->is_object) {
        put_text(out, ",\"logprobs\":null");
        return;
    }
    put_text(out, ",\"logprobs\":{");
    for (size_t i = 0; i < WEIR_BATCH__LISTS; i++) {
        if (!l->lists[i].has_key) {
            continue;
        }
        put_text(out, n_written++ != 0 ? ",\"" : "\"");
        weir_batch__put(out, weir_batch__logprobs_name(i));
        put_text(out, l->lists[i].has_array ? "\":[" : "\":null");
        weir_batch__put(out, weir_buf_slice(&l->lists[i].elements));
        put_text(out, l->lists[i].has_array ? "]" : "");
    }
    put_text(out, "}");
}

/* Letters and digits that fill the chunk up; which ones does not matter, only how many. */
static void write_obfuscation(struct weir_buf *out)
{
    static const char glyphs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    struct weir_slice key = WEIR_SLICE(",\"obfuscation\":\"");
    size_t n_fixed = out->n + key.n + sizeof "\"}" - 1;
    size_t n_pad = (PAD_TO_BYTES - n_fixed % PAD_TO_BYTES) % PAD_TO_BYTES;
    uint64_t bits = weir_map_hash(weir_buf_slice(out));
    weir_batch__put(out, key);
    for (size_t i = 0; i < n_pad; i++) {
        (void)weir_buf_append_byte(out, glyphs[bits % (sizeof glyphs - 1)]);
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        bits ^= bits >> 33;
    }
    put_text(out, "\"");
}

static struct weir_slice close_chunk(struct weir_batch *b, const struct weir_batch__choice *c,
                                     const struct weir_batch__carry *carry)
{
    struct weir_buf *out = &b->composed;
    size_t n_written = 1;
    put_text(out, ",\"finish_reason\":null");
    if (carry->logprobs != NULL) {
        write_logprobs(out, carry->logprobs);
    }
    weir_members_write(&carry->extras, out, &n_written);
    put_text(out, "}]");
    write_field(out, carry, FIELD_USAGE, &n_written);
    weir_findings_write(&carry->found, c->index, out);
    if (carry->has_obfuscation && b->o.obfuscation == WEIR_BATCH_OBFUSCATION_REGENERATE) {
        write_obfuscation(out);
    }
    put_text(out, "}");
    return weir_buf_slice(out);
}

/* Opens the delta and writes the role into it if there is to be one. */
static void open_delta(struct weir_batch *b, const struct weir_batch__choice *c,
                       const struct weir_batch__carry *carry)
{
    put_text(&b->composed, "\"delta\":{");
    if (carry->has_role || b->o.role_policy == WEIR_BATCH_ROLE_EVERY) {
        put_text(&b->composed, "\"role\":");
        weir_batch__put(&b->composed, weir_batch__role(c));
        put_text(&b->composed, ",");
    }
}

static void write_text(struct weir_buf *out, const char *name, const struct weir_buf *text)
{
    put_text(out, name);
    weir_batch__put(out, weir_buf_slice(text));
    put_text(out, "\"");
}

static void write_channel(struct weir_buf *out, enum weir_batch__channel channel,
                          const struct weir_buf *text)
{
    switch (channel) {
    case CHANNEL_REFUSAL:
        write_text(out, "\"refusal\":\"", text);
        break;
    case CHANNEL_REASONING:
        write_text(out, "\"reasoning\":\"", text);
        break;
    case CHANNEL_REASONING_CONTENT:
        write_text(out, "\"reasoning_content\":\"", text);
        break;
    case CHANNEL_REASONING_BOTH:
        write_text(out, "\"reasoning\":\"", text);
        write_text(out, ",\"reasoning_content\":\"", text);
        break;
    case CHANNEL_TEXT:
        write_text(out, "\"text\":\"", text);
        break;
    default:
        write_text(out, "\"content\":\"", text);
        break;
    }
}

static void write_names(struct weir_buf *out, const char *name, const struct weir_buf *value,
                        bool is_sent)
{
    if (value->n != 0 && !is_sent) {
        write_text(out, name, value);
    }
}

void weir_batch__write_tool(struct weir_buf *out, const struct weir_batch__tool *tool, bool is_head)
{
    size_t n_written = 1;
    (void)weir_buf_printf(out, "{\"index\":%u", (unsigned)tool->index);
    write_names(out, ",\"id\":\"", &tool->id, tool->is_id_sent);
    write_names(out, ",\"type\":\"", &tool->type, tool->is_type_sent);
    weir_members_write(&tool->more, out, &n_written);
    put_text(out, ",\"function\":{");
    n_written = tool->name.n != 0 && !tool->is_name_sent;
    write_names(out, "\"name\":\"", &tool->name, tool->is_name_sent);
    weir_members_write(&tool->function_more, out, &n_written);
    put_text(out, n_written != 0 ? ",\"arguments\":\"" : "\"arguments\":\"");
    weir_batch__put(out, is_head ? (struct weir_slice){0} : weir_buf_slice(&tool->args));
    put_text(out, "\"}}");
}

static void write_tools(struct weir_buf *out, const struct weir_batch__tools *tools)
{
    const struct weir_list *head = &tools->list;
    for (struct weir_list *link = head->next; link != head; link = link->next) {
        put_text(out, link != head->next ? "," : "");
        weir_batch__write_tool(out, WEIR_LIST_ENTRY(link, struct weir_batch__tool, link), false);
    }
}

struct weir_slice weir_batch__compose_pack(struct weir_batch *b, const struct weir_batch__pack *p)
{
    struct weir_buf *out = &b->composed;
    open_chunk(b, p->choice, &p->carry);
    if (p->channel == CHANNEL_TEXT) {
        write_channel(out, p->channel, &p->text);
        return close_chunk(b, p->choice, &p->carry);
    }
    open_delta(b, p->choice, &p->carry);
    if (p->channel == CHANNEL_TOOL) {
        put_text(out, "\"tool_calls\":[");
        write_tools(out, &p->tools);
        put_text(out, "]");
    } else {
        write_channel(out, p->channel, &p->text);
    }
    put_text(out, "}");
    return close_chunk(b, p->choice, &p->carry);
}

struct weir_slice weir_batch__compose_tools(struct weir_batch *b,
                                            const struct weir_batch__choice *c,
                                            const struct weir_batch__carry *carry,
                                            struct weir_slice entries)
{
    open_chunk(b, c, carry);
    open_delta(b, c, carry);
    put_text(&b->composed, "\"tool_calls\":[");
    weir_batch__put(&b->composed, entries);
    put_text(&b->composed, "]}");
    return close_chunk(b, c, carry);
}
