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

/* By insertion: stable, and there are never many. */
void weir_conf_problems_sort(struct weir_conf_problems *p)
{
    for (size_t i = 1; i < p->n; i++) {
        struct weir_conf_problem moved = p->items[i];
        size_t to = i;
        for (; to > 0 && p->items[to - 1].at.line > moved.at.line; to--) {
            p->items[to] = p->items[to - 1];
        }
        p->items[to] = moved;
    }
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
