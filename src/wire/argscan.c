#include "wire/argscan.h"

enum state {
    AT_VALUE,        /* a value must begin; also the start */
    AT_VALUE_OR_END, /* behind [ */
    AT_KEY,          /* behind a comma in an object */
    AT_KEY_OR_END,   /* behind { */
    AT_COLON,
    AFTER_VALUE, /* comma or closing bracket; at depth 0 only white space */
    IN_KEY,
    IN_STRING,
    IN_KEY_ESCAPE,
    IN_STRING_ESCAPE,
    IN_KEY_HEX, /* four states each: how many digits have come */
    IN_STRING_HEX = IN_KEY_HEX + 4,
    AFTER_MINUS = IN_STRING_HEX + 4,
    AFTER_ZERO,
    IN_DIGITS,
    AFTER_POINT,
    IN_FRACTION,
    AFTER_E,
    AFTER_SIGN,
    IN_EXPONENT,
    IN_LITERAL,
};

/* `literal` holds the word's number in its upper half and the next position in its lower. */
static const char *const words[] = {"true", "false", "null"};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_in_object(const struct weir_argscan *s)
{
    unsigned top = s->depth - 1u;
    return s->depth != 0 && ((s->is_object[top / 64] >> (top % 64)) & 1) != 0;
}

static bool open_container(struct weir_argscan *s, bool is_object)
{
    if (s->depth == WEIR_ARGSCAN_DEPTH) {
        return false;
    }
    uint64_t bit = UINT64_C(1) << (s->depth % 64);
    uint64_t *word = &s->is_object[s->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    s->depth++;
    s->state = is_object ? AT_KEY_OR_END : AT_VALUE_OR_END;
    return true;
}

static bool close_container(struct weir_argscan *s, bool is_object)
{
    if (s->depth == 0 || is_in_object(s) != is_object) {
        return false;
    }
    s->depth--;
    s->state = AFTER_VALUE;
    return true;
}

static bool begin_literal(struct weir_argscan *s, unsigned word)
{
    s->literal = (uint8_t)(word << 4 | 1);
    s->state = IN_LITERAL;
    return true;
}

static bool begin_value(struct weir_argscan *s, char c)
{
    switch (c) {
    case '{':
        return open_container(s, true);
    case '[':
        return open_container(s, false);
    case '"':
        s->state = IN_STRING;
        return true;
    case 't':
        return begin_literal(s, 0);
    case 'f':
        return begin_literal(s, 1);
    case 'n':
        return begin_literal(s, 2);
    case '-':
        s->state = AFTER_MINUS;
        return true;
    default:
        s->state = c == '0' ? AFTER_ZERO : IN_DIGITS;
        return is_digit(c);
    }
}

static bool after_value(struct weir_argscan *s, char c)
{
    if (c == '}' || c == ']') {
        return close_container(s, c == '}');
    }
    s->state = is_in_object(s) ? AT_KEY : AT_VALUE;
    return c == ',' && s->depth != 0;
}

/* Between tokens. */
static bool step_between(struct weir_argscan *s, char c)
{
    if (is_space(c)) {
        return true;
    }
    switch (s->state) {
    case AT_VALUE_OR_END:
        return c == ']' ? close_container(s, false) : begin_value(s, c);
    case AT_KEY_OR_END:
        if (c == '}') {
            return close_container(s, true);
        }
        s->state = IN_KEY;
        return c == '"';
    case AT_KEY:
        s->state = IN_KEY;
        return c == '"';
    case AT_COLON:
        s->state = AT_VALUE;
        return c == ':';
    case AFTER_VALUE:
        return after_value(s, c);
    default:
        return begin_value(s, c);
    }
}

static bool step_escape(struct weir_argscan *s, char c)
{
    bool is_key = s->state == IN_KEY_ESCAPE;
    if (c == 'u') {
        s->state = is_key ? IN_KEY_HEX : IN_STRING_HEX;
        return true;
    }
    s->state = is_key ? IN_KEY : IN_STRING;
    return c != '\0' && strchr("\"\\/bfnrt", c) != NULL;
}

static bool step_string(struct weir_argscan *s, char c)
{
    bool is_key = s->state == IN_KEY;
    if (c == '"') {
        s->state = is_key ? AT_COLON : AFTER_VALUE;
    } else if (c == '\\') {
        s->state = is_key ? IN_KEY_ESCAPE : IN_STRING_ESCAPE;
    }
    return (unsigned char)c >= 0x20;
}

static bool step_hex(struct weir_argscan *s, char c)
{
    bool is_key = s->state < IN_STRING_HEX;
    unsigned last = (is_key ? IN_KEY_HEX : IN_STRING_HEX) + 3u;
    if (s->state == last) {
        s->state = is_key ? IN_KEY : IN_STRING;
    } else {
        s->state++;
    }
    return is_hex(c);
}

static bool step_literal(struct weir_argscan *s, char c)
{
    const char *word = words[s->literal >> 4];
    unsigned at = s->literal & 15u;
    s->literal++;
    if (word[at + 1] == '\0') {
        s->state = AFTER_VALUE;
    }
    return word[at] == c;
}

/* A number ends at the byte behind it, which is then looked at as what it is. */
static bool end_number(struct weir_argscan *s, char c)
{
    s->state = AFTER_VALUE;
    return step_between(s, c);
}

static bool step_number(struct weir_argscan *s, char c)
{
    switch (s->state) {
    case AFTER_MINUS:
        s->state = c == '0' ? AFTER_ZERO : IN_DIGITS;
        return is_digit(c);
    case AFTER_POINT:
        s->state = IN_FRACTION;
        return is_digit(c);
    case AFTER_E:
        s->state = c == '+' || c == '-' ? AFTER_SIGN : IN_EXPONENT;
        return s->state == AFTER_SIGN || is_digit(c);
    case AFTER_SIGN:
        s->state = IN_EXPONENT;
        return is_digit(c);
    default:
        break;
    }
    if (is_digit(c) && s->state != AFTER_ZERO) {
        return true;
    }
    if (c == '.' && (s->state == AFTER_ZERO || s->state == IN_DIGITS)) {
        s->state = AFTER_POINT;
        return true;
    }
    if ((c == 'e' || c == 'E') && s->state != IN_EXPONENT) {
        s->state = AFTER_E;
        return true;
    }
    return end_number(s, c);
}

static bool step(struct weir_argscan *s, char c)
{
    if (s->state <= AFTER_VALUE) {
        return step_between(s, c);
    }
    if (s->state <= IN_STRING) {
        return step_string(s, c);
    }
    if (s->state <= IN_STRING_ESCAPE) {
        return step_escape(s, c);
    }
    if (s->state < AFTER_MINUS) {
        return step_hex(s, c);
    }
    return s->state == IN_LITERAL ? step_literal(s, c) : step_number(s, c);
}

static void count_brackets(struct weir_argscan *s, char c)
{
    if (s->in_escape) {
        s->in_escape = false;
    } else if (s->in_string) {
        s->in_escape = c == '\\';
        s->in_string = c != '"';
    } else if (c == '"') {
        s->in_string = true;
    } else if (c == '{' || c == '[') {
        s->n_open++;
    } else if ((c == '}' || c == ']') && s->n_open != 0) {
        s->n_open--;
    }
}

void weir_argscan_feed(struct weir_argscan *s, struct weir_slice text)
{
    s->n_bytes += text.n;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (s->first == 0 && !is_space(c)) {
            /* A NUL would look like "none yet": any other wrong byte stands for it. */
            s->first = c != '\0' ? (uint8_t)c : 1;
        }
        count_brackets(s, c);
        s->is_bad = s->is_bad || !step(s, c);
    }
}

bool weir_argscan_is_valid(const struct weir_argscan *s)
{
    bool is_number = s->state == AFTER_ZERO || s->state == IN_DIGITS || s->state == IN_FRACTION ||
                     s->state == IN_EXPONENT;
    return !s->is_bad && s->depth == 0 && (s->state == AFTER_VALUE || is_number);
}
