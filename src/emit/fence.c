/*
 * Each line goes through: indent, then a run of fence characters, then the rest. Lines that cannot
 * be fences are skipped to their end.
 */
#include "emit/fence.h"

enum { FENCE_LEAST = 3, INDENT_MOST = 3 };

enum line_state {
    LINE_INDENT, /* only spaces so far */
    LINE_RUN,    /* in the run of backticks or tildes */
    LINE_REST,   /* behind a run that is long enough */
    LINE_PLAIN,  /* no fence, whatever follows */
};

static void end_line(struct weir_fence *f)
{
    bool is_run = f->line_state == LINE_RUN || f->line_state == LINE_REST;
    if (is_run && f->n_run >= FENCE_LEAST) {
        if (f->open_char == 0 && !f->has_backtick) {
            f->open_char = f->line_char;
            f->n_open = f->n_run;
        } else if (f->open_char == f->line_char && f->n_run >= f->n_open && !f->has_rest) {
            f->open_char = 0;
        }
    }
    *f = (struct weir_fence){.open_char = f->open_char, .n_open = f->n_open};
}

static void in_indent(struct weir_fence *f, char c)
{
    if (c == ' ' && f->n_spaces < INDENT_MOST) {
        f->n_spaces++;
    } else if (c == '`' || c == '~') {
        f->line_char = (uint8_t)c;
        f->n_run = 1;
        f->line_state = LINE_RUN;
    } else {
        f->line_state = LINE_PLAIN;
    }
}

static void in_rest(struct weir_fence *f, char c)
{
    f->has_backtick = f->has_backtick || (c == '`' && f->line_char == '`');
    f->has_rest = f->has_rest || (c != ' ' && c != '\t' && c != '\r');
}

static void in_run(struct weir_fence *f, char c)
{
    if (c == (char)f->line_char) {
        f->n_run += f->n_run < UINT32_MAX;
        return;
    }
    f->line_state = f->n_run >= FENCE_LEAST ? LINE_REST : LINE_PLAIN;
    in_rest(f, c);
}

void weir_fence_feed(struct weir_fence *f, struct weir_slice text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\n') {
            end_line(f);
        } else if (f->line_state == LINE_PLAIN) {
            i += weir_slice_find(weir_slice_sub(text, i, text.n), '\n') - 1;
        } else if (f->line_state == LINE_INDENT) {
            in_indent(f, c);
        } else if (f->line_state == LINE_RUN) {
            in_run(f, c);
        } else {
            in_rest(f, c);
        }
    }
}
