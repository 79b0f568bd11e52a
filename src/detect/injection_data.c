/*
 * data/injection.rules inside the program, read when the rules are compiled. The file says what its
 * lines mean; the build names it and rebuilds when it changes.
 */
#include "base/map.h"
#include "base/mem.h"
#include "detect/ascii.h"
#include "detect/injection_int.h"

#include <stdlib.h>
#include <string.h>

__asm__(".pushsection .rodata\n"
        "weir_injection__text_begin:\n"
        ".incbin \"" WEIR_INJECTION_RULES "\"\n"
        "weir_injection__text_end:\n"
        ".popsection\n");

extern const char weir_injection__text_begin[];
extern const char weir_injection__text_end[];

struct weir_slice weir_injection__text(void)
{
    uintptr_t n = (uintptr_t)weir_injection__text_end - (uintptr_t)weir_injection__text_begin;
    return weir_slice_make(weir_injection__text_begin, (size_t)n);
}

struct reading {
    struct weir_injection_data *data;
    struct weir_map names; /* of classes: their text, as a slice in the arena */
    struct weir_buf line;  /* with those that go on with it */
    size_t number;         /* of its first line */
    struct weir_buf *why;
};

static int refuse(struct reading *r, const char *what)
{
    weir_buf_printf(r->why, "injection.rules, line %zu: %s", r->number, what);
    return -1;
}

/* One past the name in capitals that begins at `at`. */
static size_t name_end(struct weir_slice s, size_t at)
{
    while (weir_ascii_is_upper(weir_ascii_at(s, at)) || weir_ascii_at(s, at) == '_') {
        at++;
    }
    return at;
}

/* {NAME} becomes its text; in the arena, NUL-terminated. */
static int expand(struct reading *r, struct weir_slice pattern, struct weir_slice *out)
{
    struct weir_buf text = {0};
    int rc = 0;
    for (size_t at = 0, end; at < pattern.n && rc == 0; at = end) {
        size_t close = pattern.p[at] == '{' ? name_end(pattern, at + 1) : at;
        end = at + 1;
        if (close <= at + 1 || weir_ascii_at(pattern, close) != '}') {
            weir_buf_append_byte(&text, pattern.p[at]);
            continue;
        }
        struct weir_slice name = weir_slice_sub(pattern, at + 1, close);
        const struct weir_slice *meaning = weir_map_get(&r->names, name);
        rc = meaning != NULL ? weir_buf_append(&text, *meaning) : refuse(r, "unknown class");
        end = close + 1;
    }
    weir_buf_append_byte(&text, '\0');
    *out = weir_arena_dup(&r->data->arena, weir_buf_slice(&text));
    out->n--;
    weir_buf_dispose(&text);
    return rc;
}

static int read_class(struct reading *r, struct weir_slice name, struct weir_slice pattern)
{
    struct weir_slice *meaning = weir_arena_alloc(&r->data->arena, sizeof *meaning);
    struct weir_slice kept = weir_arena_dup(&r->data->arena, name);
    if (expand(r, pattern, meaning) != 0) {
        return -1;
    }
    if (weir_map_has(&r->names, kept)) {
        return refuse(r, "a class is defined twice");
    }
    weir_map_put(&r->names, kept, meaning);
    return 0;
}

static const struct weir_injection_family *find_family(const struct weir_injection_data *d,
                                                       struct weir_slice name)
{
    for (size_t i = 0; i < d->n_families; i++) {
        if (weir_slice_eq(d->families[i].name, name)) {
            return &d->families[i];
        }
    }
    return NULL;
}

/* "family NAME: about :: example"; the example is the manual's. */
static int read_family(struct reading *r, struct weir_slice rest)
{
    struct weir_injection_data *d = r->data;
    const char *example = memmem(rest.p, rest.n, " :: ", 4);
    if (d->n_families == WEIR_INJECTION_MAX_FAMILIES || example == NULL) {
        return refuse(r, "a family is a name, what it is about, and an example");
    }
    rest.n = (size_t)(example - rest.p);
    struct weir_slice name = weir_slice_cut(&rest, ':');
    d->families[d->n_families++] = (struct weir_injection_family){
        .name = weir_arena_dup(&d->names, name),
        .about = weir_arena_dup(&d->names, weir_slice_trim(rest)),
    };
    return 0;
}

/* 0.05 to 0.95 in steps of 0.05, as two digits at most behind "0.". */
static bool read_score(struct weir_slice s, double *score)
{
    uint64_t digits;
    bool is_good = s.n >= 3 && s.n <= 4 && s.p[0] == '0' && s.p[1] == '.' &&
                   weir_slice_u64(weir_slice_sub(s, 2, s.n), &digits) == 0;
    *score = !is_good ? 0 : (double)digits / (s.n == 3 ? 10 : 100);
    return is_good && digits != 0;
}

static bool read_how(struct weir_slice s, struct weir_injection_rule *rule)
{
    rule->is_exact_case = weir_slice_ends_with(s, WEIR_SLICE("-exact"));
    s.n -= rule->is_exact_case ? strlen("-exact") : 0;
    rule->is_speech = weir_slice_eq_cstr(s, "said");
    return rule->is_speech || weir_slice_eq_cstr(s, "seen");
}

/* "family score how pattern" */
static int read_rule(struct reading *r, struct weir_slice family, struct weir_slice rest)
{
    struct weir_injection_data *d = r->data;
    const struct weir_injection_family *found = find_family(d, family);
    if (found == NULL || d->n_rules == WEIR_INJECTION_MAX_RULES) {
        return refuse(r, found == NULL ? "unknown family" : "too many rules");
    }
    struct weir_injection_rule *rule = &d->rules[d->n_rules++];
    rule->family = found->name;
    struct weir_slice score = weir_slice_cut(&rest, ' ');
    struct weir_slice how = weir_slice_cut(&rest, ' ');
    if (!read_score(score, &rule->score) || !read_how(how, rule) || rest.n == 0) {
        return refuse(r, "a rule is a family, a score, said or seen, and a pattern");
    }
    struct weir_slice expr;
    int rc = expand(r, rest, &expr);
    rule->expr = expr.p;
    return rc;
}

static int read_line(struct reading *r)
{
    struct weir_slice line = weir_buf_slice(&r->line);
    if (line.n == 0 || line.p[0] == '#') {
        return 0;
    }
    size_t end = name_end(line, 0);
    struct weir_slice rest = weir_slice_sub(line, end, line.n);
    if (end != 0 && weir_slice_starts_with(rest, WEIR_SLICE(" = "))) {
        return read_class(r, weir_slice_sub(line, 0, end), weir_slice_sub(rest, 3, rest.n));
    }
    struct weir_slice first = weir_slice_cut(&line, ' ');
    return weir_slice_eq_cstr(first, "family") ? read_family(r, line) : read_rule(r, first, line);
}

/* A line that begins with a space goes on with the one before. */
static int read_lines(struct reading *r, struct weir_slice text)
{
    int rc = 0;
    for (size_t number = 1; text.p != NULL && rc == 0; number++) {
        struct weir_slice line = weir_slice_cut(&text, '\n');
        if (line.n != 0 && line.p[0] == ' ') {
            weir_buf_append(&r->line, weir_slice_trim(line));
            continue;
        }
        rc = read_line(r);
        r->number = number;
        weir_buf_clear(&r->line);
        weir_buf_append(&r->line, line);
    }
    return rc == 0 ? read_line(r) : rc;
}

static int take_around(struct reading *r)
{
    static const char *const names[WEIR_INJECTION_N_AROUND] = {"REPORTED_BEFORE", "OTHER_AFTER",
                                                               "TOPIC_AROUND", "MATTER_AROUND"};
    for (size_t i = 0; i < WEIR_INJECTION_N_AROUND; i++) {
        const struct weir_slice *meaning = weir_map_get(&r->names, weir_slice_cstr(names[i]));
        if (meaning == NULL) {
            return refuse(r, "a class of what stands around rules is missing");
        }
        r->data->around[i] = meaning->p;
    }
    return 0;
}

int weir_injection__data_read(struct weir_injection_data *d, struct weir_slice text,
                              struct weir_buf *why)
{
    *d = (struct weir_injection_data){0};
    d->rules = weir_mem_array(WEIR_INJECTION_MAX_RULES, sizeof *d->rules);
    struct reading r = {.data = d, .why = why};
    int rc = read_lines(&r, text);
    rc = rc == 0 ? take_around(&r) : rc;
    weir_buf_dispose(&r.line);
    weir_map_dispose(&r.names);
    return rc;
}

void weir_injection__data_dispose(struct weir_injection_data *d)
{
    free(d->rules);
    weir_arena_dispose(&d->arena);
    weir_arena_dispose(&d->names);
    *d = (struct weir_injection_data){0};
}
