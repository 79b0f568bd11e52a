#include "conf/conf_problem.h"

#include "base/mem.h"

#include <stdlib.h>

static bool has_room(struct weir_conf_problems *p)
{
    if (p->n == WEIR_CONF_MAX_PROBLEMS) {
        return false;
    }
    if (p->n == p->cap) {
        p->cap = p->cap == 0 ? 8 : p->cap * 2;
        p->items = weir_mem_realloc(p->items, p->cap * sizeof *p->items);
    }
    return true;
}

/* Neighbours mostly share their file: one copy serves a run of problems. */
static const char *keep_file(struct weir_conf_problems *p, const char *file)
{
    if (file == NULL) {
        return NULL;
    }
    if (p->n > 0) {
        const char *last = p->items[p->n - 1].at.file;
        if (last != NULL && strcmp(last, file) == 0) {
            return last;
        }
    }
    return weir_arena_dup(&p->arena, weir_slice_cstr(file)).p;
}

void weir_conf_problems_vadd(struct weir_conf_problems *p, enum weir_conf_severity severity,
                             struct weir_conf_pos at, const char *fmt, va_list args)
{
    *(severity == WEIR_CONF_ERROR ? &p->n_errors : &p->n_warnings) += 1;
    if (!has_room(p)) {
        return;
    }
    at.file = keep_file(p, at.file);
    p->items[p->n] = (struct weir_conf_problem){
        .severity = severity,
        .at = at,
        .text = weir_arena_vprintf(&p->arena, fmt, args),
    };
    p->n++;
}

void weir_conf_problems_add(struct weir_conf_problems *p, enum weir_conf_severity severity,
                            struct weir_conf_pos at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    weir_conf_problems_vadd(p, severity, at, fmt, args);
    va_end(args);
}

/* Stable for equal lines because the addresses still tell the order of discovery. */
static int by_line(const void *a, const void *b)
{
    const struct weir_conf_problem *const *x = a;
    const struct weir_conf_problem *const *y = b;
    if ((*x)->at.line != (*y)->at.line) {
        return (*x)->at.line < (*y)->at.line ? -1 : 1;
    }
    return *x < *y ? -1 : *x > *y;
}

void weir_conf_problems_sort(struct weir_conf_problems *p)
{
    if (p->n < 2) {
        return;
    }
    const struct weir_conf_problem **order = weir_mem_array(p->n, sizeof *order);
    for (size_t i = 0; i < p->n; i++) {
        order[i] = &p->items[i];
    }
    qsort(order, p->n, sizeof *order, by_line);
    struct weir_conf_problem *sorted = weir_mem_array(p->n, sizeof *sorted);
    for (size_t i = 0; i < p->n; i++) {
        sorted[i] = *order[i];
    }
    free(order);
    free(p->items);
    p->items = sorted;
    p->cap = p->n;
}

void weir_conf_problem_format(const struct weir_conf_problem *problem, struct weir_buf *out)
{
    const char *word = problem->severity == WEIR_CONF_ERROR ? "error" : "warning";
    if (problem->at.file != NULL) {
        weir_buf_printf(out, "%s:", problem->at.file);
        if (problem->at.line > 0) {
            weir_buf_printf(out, "%d:", problem->at.line);
        }
        weir_buf_append_byte(out, ' ');
    }
    weir_buf_printf(out, "%s: %s", word, problem->text);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

void weir_conf_problems_report(struct weir_conf_problems *p, const char *name, struct weir_buf *out)
{
    weir_conf_problems_sort(p);
    for (size_t i = 0; i < p->n; i++) {
        weir_conf_problem_format(&p->items[i], out);
        weir_buf_append_byte(out, '\n');
    }
    size_t n_hidden = p->n_errors + p->n_warnings - p->n;
    if (n_hidden > 0) {
        weir_buf_printf(out, "%s: and %zu more\n", name, n_hidden);
    }
    if (p->n_errors == 0 && p->n_warnings == 0) {
        weir_buf_printf(out, "%s: ok\n", name);
        return;
    }
    weir_buf_printf(out, "%s: %zu error%s, %zu warning%s\n", name, p->n_errors, plural(p->n_errors),
                    p->n_warnings, plural(p->n_warnings));
}

void weir_conf_problems_dispose(struct weir_conf_problems *p)
{
    free(p->items);
    weir_arena_dispose(&p->arena);
    *p = (struct weir_conf_problems){0};
}
