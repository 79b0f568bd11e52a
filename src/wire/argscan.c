#include "wire/argscan.h"

enum state {
    VALUE,        /* a value must begin; also the start */
    VALUE_OR_END, /* behind [ */
    KEY,          /* behind a comma in an object */
    KEY_OR_END,   /* behind { */
    COLON,
    AFTER,  /* comma or closing bracket; at depth 0 only white space */
    STRING, /* or a key: `is_key` */
    ESCAPE,
    HEX, /* four states: how many digits have come */
    LITERAL = HEX + 4,
    MINUS, /* from here on a number, how far it has come */
    ZERO,
    DIGITS,
    POINT,
    FRACTION,
    EXPONENT_SIGN, /* behind the e */
    EXPONENT_DIGIT,
    EXPONENT,
};

/* Each ends with a NUL; `literal` is the next place in it. */
static const char words[] = "true\0false\0null";
enum { WORD_TRUE = 0, WORD_FALSE = 5, WORD_NULL = 11 };

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

/* Every step goes to a state and says whether the byte was right. */
static bool go(struct weir_argscan *s, unsigned state, bool is_right)
{
    s->state = (uint8_t)state;
    return is_right;
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
    return go(s, is_object ? KEY_OR_END : VALUE_OR_END, true);
}

static bool close_container(struct weir_argscan *s, bool is_object)
{
    if (s->depth == 0 || is_in_object(s) != is_object) {
        return false;
    }
    s->depth--;
    return go(s, AFTER, true);
}

static bool begin_string(struct weir_argscan *s, bool is_key, char c)
{
    s->is_key = is_key;
    return go(s, STRING, c == '"');
}

static bool begin_value(struct weir_argscan *s, char c)
{
    switch (c) {
    case '{':
    case '[':
        return open_container(s, c == '{');
    case '"':
        return begin_string(s, false, c);
    case 't':
    case 'f':
    case 'n':
        s->literal = (uint8_t)(1 + (c == 't' ? WORD_TRUE : c == 'f' ? WORD_FALSE : WORD_NULL));
        return go(s, LITERAL, true);
    case '-':
        return go(s, MINUS, true);
    default:
        return go(s, c == '0' ? ZERO : DIGITS, is_digit(c));
    }
}

/* Between tokens. */
static bool step_between(struct weir_argscan *s, char c)
{
    bool is_open = s->state == VALUE_OR_END || s->state == KEY_OR_END || s->state == AFTER;
    if (is_space(c)) {
        return true;
    }
    if (is_open && (c == '}' || c == ']')) {
        return (s->state == AFTER || (c == '}') == (s->state == KEY_OR_END)) &&
               close_container(s, c == '}');
    }
    switch (s->state) {
    case KEY:
    case KEY_OR_END:
        return begin_string(s, true, c);
    case COLON:
        return go(s, VALUE, c == ':');
    case AFTER:
        return go(s, is_in_object(s) ? KEY : VALUE, c == ',' && s->depth != 0);
    default:
        return begin_value(s, c);
    }
}

static bool step_string(struct weir_argscan *s, char c)
{
    if (s->state == ESCAPE) {
        return go(s, c == 'u' ? HEX : STRING, c != '\0' && strchr("\"\\/bfnrtu", c) != NULL);
    }
    if (s->state >= HEX) {
        return go(s, s->state == HEX + 3 ? (unsigned)STRING : s->state + 1u, is_hex(c));
    }
    unsigned end = s->is_key ? COLON : AFTER;
    return go(s, c == '"' ? end : c == '\\' ? ESCAPE : STRING, (unsigned char)c >= 0x20);
}

static bool step_literal(struct weir_argscan *s, char c)
{
    bool is_right = words[s->literal++] == c;
    return go(s, words[s->literal] == '\0' ? AFTER : LITERAL, is_right);
}

static bool is_whole_number(unsigned state)
{
    return state == ZERO || state == DIGITS || state == FRACTION || state == EXPONENT;
}

/* A number ends at the byte behind it, which is then looked at as what it is. */
static bool step_number(struct weir_argscan *s, char c)
{
    static const uint8_t after_digit[] = {
        [MINUS] = DIGITS,      [DIGITS] = DIGITS,          [POINT] = FRACTION,
        [FRACTION] = FRACTION, [EXPONENT_SIGN] = EXPONENT, [EXPONENT_DIGIT] = EXPONENT,
        [EXPONENT] = EXPONENT,
    };
    if (is_digit(c) && s->state != ZERO) {
        return go(s, s->state == MINUS && c == '0' ? ZERO : after_digit[s->state], true);
    }
    if (c == '.' && (s->state == ZERO || s->state == DIGITS)) {
        return go(s, POINT, true);
    }
    if ((c == 'e' || c == 'E') && is_whole_number(s->state) && s->state != EXPONENT) {
        return go(s, EXPONENT_SIGN, true);
    }
    if ((c == '+' || c == '-') && s->state == EXPONENT_SIGN) {
        return go(s, EXPONENT_DIGIT, true);
    }
    bool is_whole = is_whole_number(s->state);
    return go(s, AFTER, is_whole) && step_between(s, c);
}

static bool step(struct weir_argscan *s, char c)
{
    if (s->state <= AFTER) {
        return step_between(s, c);
    }
    if (s->state < LITERAL) {
        return step_string(s, c);
    }
    return s->state == LITERAL ? step_literal(s, c) : step_number(s, c);
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
    return !s->is_bad && s->depth == 0 && (s->state == AFTER || is_whole_number(s->state));
}
