#include "talk/logprobs.h"

#include "base/utf8.h"
#include "wire/json_write.h"

#include <string.h>

enum { TOKEN_MOST_BYTES = 4096, NUMBER_MOST_BYTES = 64, KEEP_MOST_BYTES = 4096 };
enum { QUEUE_MOST_BYTES = 4 * 1024 * 1024 }; /* that wait for their text */

/* In front of an entry's bytes and its number in the queue. */
struct entry {
    uint32_t n_bytes;
    uint32_t n_number;
    bool has_bytes; /* the server spelled them out */
};

void weir_logprobs_dispose(struct weir_logprobs *l)
{
    weir_buf_dispose(&l->queue);
    *l = (struct weir_logprobs){0};
}

static void turn_off(struct weir_logprobs *l)
{
    weir_buf_dispose(&l->queue);
    l->from = 0;
    l->is_off = true;
}

/* ---- taking ---- */

/* The token's bytes from the list of numbers, or from its text. False: it is neither. */
static bool read_bytes(const struct weir_json *json, uint32_t at, struct weir_buf *out,
                       bool *has_bytes)
{
    uint32_t bytes = weir_json_get_set(json, at, WEIR_SLICE("bytes"));
    uint32_t token = weir_json_get_set(json, at, WEIR_SLICE("token"));
    *has_bytes = bytes != WEIR_JSON_NONE;
    if (!*has_bytes) {
        bool is_text = token != WEIR_JSON_NONE && weir_json_type(json, token) == WEIR_JSON_STRING;
        return is_text && weir_json_string_append(json, token, out) == 0;
    }
    if (weir_json_type(json, bytes) != WEIR_JSON_ARRAY) {
        return false;
    }
    uint32_t one = weir_json_first(json, bytes);
    for (; one != WEIR_JSON_NONE; one = weir_json_after(json, bytes, one)) {
        uint64_t value;
        if (weir_json_u64(json, one, &value) != 0 || value > UINT8_MAX) {
            return false;
        }
        weir_buf_append_byte(out, (char)value);
    }
    return true;
}

static bool take_entry(struct weir_logprobs *l, const struct weir_json *json, uint32_t at)
{
    struct weir_buf bytes = {0};
    struct entry entry = {0};
    uint32_t number = weir_json_get_set(json, at, WEIR_SLICE("logprob"));
    bool is_number = number != WEIR_JSON_NONE && weir_json_type(json, number) == WEIR_JSON_NUMBER;
    bool is_good = is_number && read_bytes(json, at, &bytes, &entry.has_bytes) &&
                   bytes.n <= TOKEN_MOST_BYTES && weir_json_raw(json, number).n < NUMBER_MOST_BYTES;
    if (is_good) {
        struct weir_slice raw = weir_json_raw(json, number);
        entry.n_bytes = (uint32_t)bytes.n;
        entry.n_number = (uint32_t)raw.n;
        weir_buf_append(&l->queue, weir_slice_make((const char *)&entry, sizeof entry));
        weir_buf_append(&l->queue, weir_buf_slice(&bytes));
        weir_buf_append(&l->queue, raw);
    }
    weir_buf_dispose(&bytes);
    return is_good;
}

void weir_logprobs_take(struct weir_logprobs *l, const struct weir_json *json, uint32_t entries)
{
    if (l->is_off || entries == WEIR_JSON_NONE ||
        weir_json_type(json, entries) != WEIR_JSON_ARRAY) {
        return;
    }
    uint32_t at = weir_json_first(json, entries);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(json, entries, at)) {
        l->has_any = true;
        if (!take_entry(l, json, at) || l->queue.n - l->from > QUEUE_MOST_BYTES) {
            turn_off(l);
            return;
        }
    }
}

/* ---- leaving ---- */

/* Half a character has no text: its bytes are spelled, as servers do it. */
static void write_token(struct weir_json_write *w, struct weir_slice bytes)
{
    if (weir_utf8_is_valid(bytes)) {
        weir_json_write_string(w, bytes);
        return;
    }
    struct weir_buf spelled = {0};
    weir_buf_append(&spelled, WEIR_SLICE("bytes:"));
    for (size_t i = 0; i < bytes.n; i++) {
        weir_buf_printf(&spelled, "\\x%02x", (unsigned)(unsigned char)bytes.p[i]);
    }
    weir_json_write_string(w, weir_buf_slice(&spelled));
    weir_buf_dispose(&spelled);
}

static void write_entry(const struct entry *entry, const char *bytes, struct weir_buf *out)
{
    struct weir_json_write w;
    if (out->n != 0) {
        weir_buf_append_byte(out, ',');
    }
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    weir_json_write_key(&w, WEIR_SLICE("token"));
    write_token(&w, weir_slice_make(bytes, entry->n_bytes));
    weir_json_write_key(&w, WEIR_SLICE("logprob"));
    weir_json_write_raw(&w, weir_slice_make(bytes + entry->n_bytes, entry->n_number));
    weir_json_write_key(&w, WEIR_SLICE("bytes"));
    if (entry->has_bytes) {
        weir_json_write_begin_array(&w);
        for (size_t i = 0; i < entry->n_bytes; i++) {
            weir_json_write_u64(&w, (unsigned char)bytes[i]);
        }
        weir_json_write_end_array(&w);
    } else {
        weir_json_write_null(&w);
    }
    weir_json_write_key(&w, WEIR_SLICE("top_logprobs"));
    weir_json_write_begin_array(&w);
    weir_json_write_end_array(&w);
    weir_json_write_end_object(&w);
}

static void forget_first(struct weir_logprobs *l, const struct entry *entry)
{
    l->from += sizeof *entry + entry->n_bytes + entry->n_number;
    l->n_past = 0;
    l->is_touched = false;
    if (l->from == l->queue.n || l->from > KEEP_MOST_BYTES) {
        weir_buf_consume(&l->queue, l->from);
        l->from = 0;
    }
}

void weir_logprobs_leave(struct weir_logprobs *l, struct weir_slice text, bool is_touched,
                         struct weir_buf *out)
{
    while (!l->is_off && l->from < l->queue.n) {
        struct entry entry;
        memcpy(&entry, l->queue.p + l->from, sizeof entry);
        const char *bytes = l->queue.p + l->from + sizeof entry;
        size_t n = entry.n_bytes - l->n_past;
        n = n < text.n ? n : text.n;
        if (n != 0 && memcmp(bytes + l->n_past, text.p, n) != 0) {
            turn_off(l);
            return;
        }
        l->n_past += n;
        l->is_touched = l->is_touched || (is_touched && n != 0);
        text = weir_slice_sub(text, n, text.n);
        if (l->n_past < entry.n_bytes) {
            return;
        }
        if (!l->is_touched) {
            write_entry(&entry, bytes, out);
        }
        forget_first(l, &entry);
    }
    if (text.n != 0 && l->has_any) {
        turn_off(l); /* text without its entries: later ones would be of other text */
    }
    l->is_off = l->is_off || text.n != 0;
}
