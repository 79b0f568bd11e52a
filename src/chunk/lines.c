#include "chunk/lines.h"

enum { MIN_RUN = 3, MAX_DIGITS = 3, BULLET = 0x2022 };

static bool closes(const struct weir_lines *l)
{
    return l->at == WEIR_LINES_CLOSED || (l->at == WEIR_LINES_RUN && l->n_run >= l->n_fence);
}

static void end_line(struct weir_lines *l, uint32_t cp)
{
    if (cp == '\n' && l->was_cr) {
        l->was_cr = false;
        return;
    }
    if (l->fence_char != 0) {
        l->fence_char = closes(l) ? 0 : l->fence_char;
    } else if (l->at == WEIR_LINES_INFO || (l->at == WEIR_LINES_RUN && l->n_run >= MIN_RUN)) {
        l->fence_char = l->run_char;
        l->n_fence = l->n_run;
    }
    l->was_blank = l->at == WEIR_LINES_START;
    l->was_cr = cp == '\r';
    l->is_item = false;
    l->at = WEIR_LINES_START;
}

static void begin_run(struct weir_lines *l, uint32_t cp)
{
    l->at = WEIR_LINES_RUN;
    l->run_char = (uint8_t)cp;
    l->n_run = 1;
}

static void begin_item(struct weir_lines *l)
{
    l->is_item = true;
    l->at = WEIR_LINES_PREFIX;
}

static bool is_digit(uint32_t cp)
{
    return cp >= '0' && cp <= '9';
}

/* The beginning of a line outside of fences. */
static void in_prefix(struct weir_lines *l, uint32_t cp)
{
    switch (cp) {
    case '>':
        l->at = WEIR_LINES_PREFIX;
        return;
    case '#':
    case '*':
    case '+':
    case '-':
    case '_':
    case BULLET:
        l->at = WEIR_LINES_SIGNS;
        return;
    case '`':
    case '~':
        if (l->at != WEIR_LINES_SIGNS) {
            begin_run(l, cp);
            return;
        }
        break;
    default:
        if (is_digit(cp)) {
            l->at = WEIR_LINES_DIGITS;
            l->n_digits = 1;
            return;
        }
        break;
    }
    l->at = WEIR_LINES_REST;
}

static void in_digits(struct weir_lines *l, uint32_t cp)
{
    if (is_digit(cp) && l->n_digits < MAX_DIGITS) {
        l->n_digits++;
    } else {
        l->at = cp == '.' || cp == ')' ? WEIR_LINES_DOT : WEIR_LINES_REST;
    }
}

static void in_dot(struct weir_lines *l, uint32_t cp)
{
    if (is_digit(cp)) {
        l->at = WEIR_LINES_DIGITS;
        l->n_digits = 1;
    } else if (cp != '*' && cp != '_' && cp != ')') { /* "1.) " */
        l->at = WEIR_LINES_REST;
    }
}

static void in_run(struct weir_lines *l, uint32_t cp, bool is_space)
{
    if (cp == l->run_char) {
        l->n_run += l->n_run < UINT32_MAX;
    } else if (l->fence_char != 0) {
        l->at = is_space && closes(l) ? WEIR_LINES_CLOSED : WEIR_LINES_REST;
    } else {
        l->at = l->n_run >= MIN_RUN ? WEIR_LINES_INFO : WEIR_LINES_REST;
    }
}

/* The beginning of a line inside a fenced block. */
static void in_fence(struct weir_lines *l, uint32_t cp)
{
    if (cp == l->fence_char) {
        begin_run(l, cp);
    } else {
        l->at = cp == '>' ? WEIR_LINES_PREFIX : WEIR_LINES_REST;
    }
}

static void step_space(struct weir_lines *l)
{
    switch ((enum weir_lines_at)l->at) {
    case WEIR_LINES_SIGNS:
    case WEIR_LINES_DOT:
        begin_item(l);
        return;
    case WEIR_LINES_DIGITS:
        l->at = WEIR_LINES_REST;
        return;
    case WEIR_LINES_RUN:
        in_run(l, ' ', true);
        return;
    default:
        return;
    }
}

static void step_solid(struct weir_lines *l, uint32_t cp)
{
    switch ((enum weir_lines_at)l->at) {
    case WEIR_LINES_START:
    case WEIR_LINES_PREFIX:
    case WEIR_LINES_SIGNS:
        if (l->fence_char != 0) {
            in_fence(l, cp);
        } else {
            in_prefix(l, cp);
        }
        return;
    case WEIR_LINES_DIGITS:
        in_digits(l, cp);
        return;
    case WEIR_LINES_DOT:
        in_dot(l, cp);
        return;
    case WEIR_LINES_RUN:
        in_run(l, cp, false);
        return;
    case WEIR_LINES_INFO:
        l->at = cp == '`' && l->run_char == '`' ? WEIR_LINES_REST : WEIR_LINES_INFO;
        return;
    case WEIR_LINES_CLOSED:
        l->at = WEIR_LINES_REST;
        return;
    case WEIR_LINES_REST:
        return;
    }
}

void weir_lines_step(struct weir_lines *l, uint32_t cp, enum weir_lines_sort sort)
{
    if (sort == WEIR_LINES_BREAK) {
        end_line(l, cp);
        return;
    }
    l->was_cr = false;
    if (sort == WEIR_LINES_SPACE) {
        step_space(l);
    } else {
        step_solid(l, cp);
    }
}
