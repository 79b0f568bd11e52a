#include "mock/mock_sentence.h"

void weir_mock_splitter_init(struct weir_mock_splitter *sp, size_t max_bytes)
{
    *sp = (struct weir_mock_splitter){0};
    weir_buf_init(&sp->held, max_bytes);
}

void weir_mock_splitter_dispose(struct weir_mock_splitter *sp)
{
    weir_buf_dispose(&sp->held);
}

int weir_mock_splitter_add(struct weir_mock_splitter *sp, struct weir_slice text)
{
    /* Everything before the sentence under way has been given. */
    size_t done = sp->in_sentence ? sp->start : sp->at;
    weir_buf_consume(&sp->held, done);
    sp->at -= done;
    sp->start = 0;
    return weir_buf_append(&sp->held, text);
}

static bool is_stop(char c)
{
    return c == '.' || c == '!' || c == '?';
}

static bool is_closer(char c)
{
    return c == '"' || c == '\'' || c == ')' || c == ']';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Looks at one byte. True: the sentence ends before it. */
static bool look(struct weir_mock_splitter *sp, char c)
{
    if (!sp->in_sentence && !is_space(c)) {
        sp->in_sentence = true;
        sp->start = sp->at;
        sp->start_cp = sp->at_cp;
    }
    bool is_over = sp->after_stop && is_space(c);
    sp->after_stop = sp->in_sentence && (is_stop(c) || (sp->after_stop && is_closer(c)));
    return is_over;
}

static void give(struct weir_mock_splitter *sp, struct weir_mock_sentence *out)
{
    out->text = weir_slice_sub(weir_buf_slice(&sp->held), sp->start, sp->at);
    out->start_cp = sp->start_cp;
    out->end_cp = sp->at_cp;
    sp->in_sentence = false;
    sp->after_stop = false;
}

bool weir_mock_splitter_next(struct weir_mock_splitter *sp, bool is_end,
                             struct weir_mock_sentence *out)
{
    while (sp->at < sp->held.n) {
        char c = sp->held.p[sp->at];
        if (look(sp, c)) {
            give(sp, out);
            return true;
        }
        sp->at++;
        /* The last byte of a character, or its only one, is not followed by a continuation. */
        bool is_last = sp->at == sp->held.n || ((unsigned char)sp->held.p[sp->at] & 0xC0) != 0x80;
        sp->at_cp += is_last;
    }
    if (is_end && sp->in_sentence) {
        give(sp, out);
        return true;
    }
    return false;
}
