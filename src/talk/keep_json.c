#include "talk/keep_json.h"

#include "base/utf8.h"
#include "wire/json_write.h"

enum { TOKEN_MOST_BYTES = 1024 };

void weir_keep_json_dispose(struct weir_keep_json *k)
{
    weir_buf_dispose(&k->token);
    weir_buf_dispose(&k->with);
    weir_buf_dispose(&k->token_with);
}

void weir_keep_json_begin(struct weir_keep_json *k, struct weir_slice with)
{
    weir_buf_clear(&k->with);
    weir_buf_append(&k->with, with);
    k->has_said = false;
}

/* Text as it stands inside of a string. */
static void append_escaped(struct weir_buf *out, struct weir_slice text)
{
    struct weir_buf quoted = {0};
    weir_json_write_quoted(&quoted, text);
    weir_buf_append(out, weir_slice_sub(weir_buf_slice(&quoted), 1, quoted.n - 1));
    weir_buf_dispose(&quoted);
}

/* ---- tokens ---- */

static void add_to_token(struct weir_keep_json *k, struct weir_slice c, bool is_replaced)
{
    weir_buf_append(&k->token, c);
    if (is_replaced && !k->is_token_replaced) {
        k->is_token_replaced = true;
        weir_buf_clear(&k->token_with);
        weir_buf_append(&k->token_with, weir_buf_slice(&k->with));
    }
}

static void forget_token(struct weir_keep_json *k)
{
    weir_buf_clear(&k->token);
    k->is_token_replaced = false;
}

/* A number or literal is complete. */
static void end_scalar(struct weir_keep_json *k, struct weir_buf *out)
{
    if (k->is_token_replaced) {
        weir_json_write_quoted(out, weir_buf_slice(&k->token_with));
    } else {
        weir_buf_append(out, weir_buf_slice(&k->token));
    }
    forget_token(k);
}

/* A character of a string, or an escape that is complete. */
static void say_unit(struct weir_keep_json *k, struct weir_slice unit, bool is_replaced,
                     struct weir_buf *out)
{
    if (!is_replaced) {
        weir_buf_append(out, unit);
        k->has_said = false;
    } else if (!k->has_said) {
        append_escaped(out, weir_buf_slice(&k->with));
        k->has_said = true;
    }
}

static void end_escape(struct weir_keep_json *k, struct weir_buf *out)
{
    if (k->token.n == 0) {
        return;
    }
    say_unit(k, weir_buf_slice(&k->token), k->is_token_replaced, out);
    forget_token(k);
}

/* The two hexadecimal digits behind \u, or 0. */
static unsigned high_byte(struct weir_slice escape)
{
    unsigned value = 0;
    for (size_t i = 2; i < 4 && i < escape.n; i++) {
        char c = escape.p[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 0;
        value = value * 16 + digit;
    }
    return value;
}

/* The first half of a pair goes on if another escape follows. */
static bool is_first_half(struct weir_slice token)
{
    return token.n == 6 && high_byte(token) >= 0xD8 && high_byte(token) < 0xDC;
}

static bool is_escape_complete(struct weir_slice token)
{
    bool is_unicode = token.n >= 2 && token.p[1] == 'u';
    if (token.n <= 6) {
        return is_unicode ? token.n == 6 && !is_first_half(token) : token.n == 2;
    }
    bool is_second_unicode = token.n >= 8 && token.p[7] == 'u';
    return is_second_unicode ? token.n == 12 : token.n == 8;
}

/* ---- one character ---- */

static void feed_string(struct weir_keep_json *k, struct weir_slice c, bool is_replaced,
                        struct weir_buf *out)
{
    struct weir_slice token = weir_buf_slice(&k->token);
    bool begins = c.p[0] == '\\';
    if (is_first_half(token) && !begins) {
        end_escape(k, out);
        token.n = 0;
    }
    if (token.n == 0 && !begins) {
        say_unit(k, c, is_replaced, out);
        return;
    }
    add_to_token(k, c, is_replaced);
    if (is_escape_complete(weir_buf_slice(&k->token))) {
        end_escape(k, out);
    }
}

static bool is_punctuation(char c)
{
    return strchr("{}[]:,\" \t\r\n", c) != NULL && c != '\0';
}

static void feed_plain(struct weir_keep_json *k, struct weir_slice c, bool is_replaced,
                       struct weir_buf *out)
{
    if (!is_replaced) {
        weir_buf_append(out, c);
        k->has_said = false;
    } else if (!k->has_said) {
        weir_buf_append(out, weir_buf_slice(&k->with));
        k->has_said = true;
    }
}

/* Not JSON any more: what is held leaves as what it is. */
static void turn_plain(struct weir_keep_json *k, struct weir_buf *out)
{
    struct weir_slice token = weir_buf_slice(&k->token);
    k->is_plain = true;
    if (k->is_token_replaced) {
        weir_buf_append(out, weir_buf_slice(&k->token_with));
        k->has_said = true;
    } else {
        weir_buf_append(out, token);
    }
    forget_token(k);
}

static void feed_json(struct weir_keep_json *k, struct weir_slice c, bool is_replaced,
                      struct weir_buf *out)
{
    bool was_in_string = k->scan.in_string;
    weir_argscan_feed(&k->scan, c);
    if (k->scan.is_bad || k->token.n > TOKEN_MOST_BYTES) {
        turn_plain(k, out);
        feed_plain(k, c, is_replaced, out);
    } else if (was_in_string && k->scan.in_string) {
        feed_string(k, c, is_replaced, out);
    } else if (!is_punctuation(c.p[0])) {
        add_to_token(k, c, is_replaced);
    } else {
        if (was_in_string) {
            end_escape(k, out); /* a first half that stayed alone */
        } else if (k->token.n != 0) {
            end_scalar(k, out);
        }
        weir_buf_append(out, c);
        k->has_said = false; /* each string, each number is replaced for itself */
    }
}

void weir_keep_json_feed(struct weir_keep_json *k, struct weir_slice text, bool is_replaced,
                         struct weir_buf *out)
{
    while (text.n != 0) {
        size_t n = weir_utf8_byte_at(text, 1);
        struct weir_slice c = weir_slice_sub(text, 0, n);
        if (k->is_plain) {
            feed_plain(k, c, is_replaced, out);
        } else {
            feed_json(k, c, is_replaced, out);
        }
        text = weir_slice_sub(text, n, text.n);
    }
}

void weir_keep_json_end(struct weir_keep_json *k, struct weir_buf *out)
{
    if (k->is_plain || k->token.n == 0) {
        return;
    }
    if (k->scan.in_string) {
        end_escape(k, out);
    } else {
        end_scalar(k, out);
    }
}
