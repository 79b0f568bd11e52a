#include "offline/detect_ignore.h"

#include "base/assert.h"
#include "base/mem.h"

#include <stdlib.h>

/* ---- patterns ---- */

/* A set `[…]` at the pattern's beginning: its length, and whether `c` is in it; 0: it has no end
 * and stands for itself. */
static size_t match_set(struct weir_slice p, char c, bool *is_in)
{
    size_t at = 1;
    bool is_negative = at < p.n && (p.p[at] == '!' || p.p[at] == '^');
    bool is_found = false;
    at += is_negative;
    for (bool is_first = true; at < p.n && (is_first || p.p[at] != ']'); is_first = false) {
        at += p.p[at] == '\\' && at + 1 < p.n;
        unsigned char from = (unsigned char)p.p[at++];
        unsigned char to = from;
        if (at + 1 < p.n && p.p[at] == '-' && p.p[at + 1] != ']') {
            at++;
            at += p.p[at] == '\\' && at + 1 < p.n;
            to = (unsigned char)p.p[at++];
        }
        is_found = is_found || ((unsigned char)c >= from && (unsigned char)c <= to);
    }
    *is_in = is_found != is_negative;
    return at < p.n ? at + 1 : 0;
}

/* One character of the pattern, not a star, against one of the path: how much of the pattern that
 * was; 0: no match. */
static size_t match_one(struct weir_slice p, char c)
{
    bool is_in = false;
    switch (p.p[0]) {
    case '?':
        return c != '/' ? 1 : 0;
    case '[': {
        size_t n = match_set(p, c, &is_in);
        if (n != 0) {
            return is_in && c != '/' ? n : 0;
        }
        return c == '[' ? 1 : 0;
    }
    case '\\':
        return p.n > 1 && p.p[1] == c ? 2 : 0;
    default:
        return p.p[0] == c ? 1 : 0;
    }
}

/* Where a pattern can be tried again, with more of the path left to its star. */
struct star {
    size_t pattern; /* behind the star */
    size_t path;
    bool is_set;
};

/* `**` alone between slashes, or at an end; its length with the slash that follows. 0: none. */
static size_t is_deep(struct weir_slice p, size_t at)
{
    bool is_begin = at == 0 || p.p[at - 1] == '/';
    if (!is_begin || at + 1 >= p.n || p.p[at] != '*' || p.p[at + 1] != '*') {
        return 0;
    }
    if (at + 2 == p.n) {
        return 2;
    }
    return p.p[at + 2] == '/' ? 3 : 0;
}

/*
 * Goes back to the last star that can take one more character: a plain one up to the next '/', a
 * deep one to behind the next '/'. Of each kind only the last needs to be remembered.
 */
static bool go_back(struct weir_slice path, struct star *plain, struct star *deep, size_t *p,
                    size_t *s)
{
    if (plain->is_set && plain->path < path.n && path.p[plain->path] != '/') {
        *p = plain->pattern;
        *s = ++plain->path;
        return true;
    }
    if (!deep->is_set) {
        return false;
    }
    while (deep->path < path.n && path.p[deep->path] != '/') {
        deep->path++;
    }
    if (deep->path >= path.n) {
        return false;
    }
    *p = deep->pattern;
    *s = ++deep->path;
    plain->is_set = false;
    return true;
}

bool weir_detect_ignore_match(struct weir_slice pattern, struct weir_slice path)
{
    struct star plain = {0};
    struct star deep = {0};
    size_t p = 0;
    size_t s = 0;
    while (s < path.n || p < pattern.n) {
        size_t n_deep = is_deep(pattern, p);
        if (n_deep == 2) {
            return s < path.n; /* "x/" and then everything */
        }
        if (n_deep == 3) {
            deep = (struct star){.pattern = p + n_deep, .path = s, .is_set = true};
            plain.is_set = false;
            p += n_deep;
            continue;
        }
        if (p < pattern.n && pattern.p[p] == '*') {
            plain = (struct star){.pattern = ++p, .path = s, .is_set = true};
            continue;
        }
        size_t n = p < pattern.n && s < path.n
                       ? match_one(weir_slice_sub(pattern, p, pattern.n), path.p[s])
                       : 0;
        if (n != 0) {
            p += n;
            s++;
        } else if (!go_back(path, &plain, &deep, &p, &s)) {
            return false;
        }
    }
    return true;
}

/* ---- files of rules ---- */

/* White space at the end does not count unless a backslash protects it. */
static struct weir_slice trim_end(struct weir_slice line)
{
    if (line.n != 0 && line.p[line.n - 1] == '\r') {
        line.n--;
    }
    while (line.n != 0 && line.p[line.n - 1] == ' ' &&
           !(line.n > 1 && line.p[line.n - 2] == '\\')) {
        line.n--;
    }
    return line;
}

/* False: the line has none. */
static bool read_rule(struct weir_slice line, struct weir_detect_ignore_rule *rule)
{
    line = trim_end(line);
    *rule = (struct weir_detect_ignore_rule){0};
    if (line.n == 0 || line.p[0] == '#') {
        return false;
    }
    if (line.p[0] == '!') {
        rule->is_negative = true;
        line = weir_slice_sub(line, 1, line.n);
    }
    if (line.n != 0 && line.p[line.n - 1] == '/') {
        rule->is_of_folders = true;
        line.n--;
    }
    rule->is_tied = weir_slice_find(line, '/') < line.n;
    if (line.n != 0 && line.p[0] == '/') {
        line = weir_slice_sub(line, 1, line.n);
    }
    rule->pattern = line;
    return line.n != 0;
}

void weir_detect_ignore_push(struct weir_detect_ignore *g, struct weir_slice text, size_t n_folder)
{
    WEIR_ASSERT(g->n < WEIR_DETECT_IGNORE_MAX_LEVELS);
    struct weir_detect_ignore_level *level = &g->levels[g->n++];
    *level = (struct weir_detect_ignore_level){.n_folder = n_folder};
    size_t cap = 0;
    while (text.n != 0) {
        struct weir_detect_ignore_rule rule;
        size_t end = weir_slice_find(text, '\n');
        end = end < text.n ? end : text.n;
        if (read_rule(weir_slice_sub(text, 0, end), &rule)) {
            if (level->n == cap) {
                cap = cap != 0 ? cap * 2 : 16;
                level->rules = weir_mem_realloc(level->rules, cap * sizeof *level->rules);
            }
            rule.pattern.p = weir_mem_dup(rule.pattern.p, rule.pattern.n);
            level->rules[level->n++] = rule;
        }
        text = weir_slice_sub(text, end < text.n ? end + 1 : end, text.n);
    }
}

void weir_detect_ignore_pop(struct weir_detect_ignore *g)
{
    WEIR_ASSERT(g->n != 0);
    struct weir_detect_ignore_level *level = &g->levels[--g->n];
    for (size_t i = 0; i < level->n; i++) {
        free((char *)level->rules[i].pattern.p);
    }
    free(level->rules);
}

void weir_detect_ignore_dispose(struct weir_detect_ignore *g)
{
    while (g->n != 0) {
        weir_detect_ignore_pop(g);
    }
}

static struct weir_slice last_name(struct weir_slice path)
{
    size_t at = path.n;
    while (at != 0 && path.p[at - 1] != '/') {
        at--;
    }
    return weir_slice_sub(path, at, path.n);
}

bool weir_detect_ignore_is(const struct weir_detect_ignore *g, struct weir_slice path,
                           bool is_folder)
{
    for (size_t i = g->n; i != 0; i--) {
        const struct weir_detect_ignore_level *level = &g->levels[i - 1];
        struct weir_slice below = weir_slice_sub(path, level->n_folder, path.n);
        for (size_t k = level->n; k != 0; k--) {
            const struct weir_detect_ignore_rule *rule = &level->rules[k - 1];
            struct weir_slice subject = rule->is_tied ? below : last_name(below);
            if ((is_folder || !rule->is_of_folders) &&
                weir_detect_ignore_match(rule->pattern, subject)) {
                return !rule->is_negative;
            }
        }
    }
    return false;
}
