#include "offline/detect_diff.h"

#include "base/mem.h"

#include <stdlib.h>

enum { MAX_TEXT_BYTES = 64 * 1024 * 1024 };

void weir_detect_diff_init(struct weir_detect_diff *d, weir_detect_diff_fn fn, void *ctx)
{
    *d = (struct weir_detect_diff){.fn = fn, .ctx = ctx};
    weir_buf_init(&d->out.text, MAX_TEXT_BYTES);
}

void weir_detect_diff_dispose(struct weir_detect_diff *d)
{
    weir_buf_dispose(&d->held);
    weir_buf_dispose(&d->path);
    weir_buf_dispose(&d->commit);
    weir_buf_dispose(&d->out.text);
    free(d->out.lines);
    d->out.lines = NULL;
}

/* The file at hand is complete. */
static void flush(struct weir_detect_diff *d)
{
    if (d->out.n_lines != 0 && d->path.n != 0) {
        d->out.path = weir_buf_cstr(&d->path);
        d->out.commit = d->commit.n != 0 ? weir_buf_cstr(&d->commit) : NULL;
        d->fn(d->ctx, &d->out);
    }
    weir_buf_clear(&d->out.text);
    if (d->out.lines == NULL) {
        d->cap_lines = 0;
    }
    d->out.n_lines = 0;
    d->out.is_too_large = false;
}

static void add_line(struct weir_detect_diff *d, struct weir_slice line, uint64_t number)
{
    if (d->out.is_too_large || weir_buf_append(&d->out.text, line) != 0 ||
        weir_buf_append_byte(&d->out.text, '\n') != 0) {
        d->out.is_too_large = true;
        return;
    }
    if (d->out.n_lines == d->cap_lines) {
        d->cap_lines = d->cap_lines != 0 ? d->cap_lines * 2 : 64;
        d->out.lines = weir_mem_realloc(d->out.lines, d->cap_lines * sizeof *d->out.lines);
    }
    d->out.lines[d->out.n_lines++] = number;
}

static unsigned octal(const char *p)
{
    return (unsigned)(p[0] - '0') * 64 + (unsigned)(p[1] - '0') * 8 + (unsigned)(p[2] - '0');
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Inside of quotes git writes \n, \t, \", \\ and \377. */
static void unquote(struct weir_slice s, struct weir_buf *out)
{
    static const char letters[] = "abfnrtv";
    static const char meant[] = "\a\b\f\n\r\t\v";
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '\\' || i + 1 == s.n) {
            weir_buf_append_byte(out, s.p[i]);
            continue;
        }
        i++;
        const char *letter = s.p[i] != '\0' ? strchr(letters, s.p[i]) : NULL;
        if (letter != NULL) {
            weir_buf_append_byte(out, meant[letter - letters]);
        } else if (i + 2 < s.n && is_octal(s.p[i]) && is_octal(s.p[i + 1]) &&
                   is_octal(s.p[i + 2])) {
            weir_buf_append_byte(out, (char)octal(s.p + i));
            i += 2;
        } else {
            weir_buf_append_byte(out, s.p[i]);
        }
    }
}

/* Behind "+++ ": b/NAME, or "b/NAME" in quotes, either with a TAB behind it when the name has
 * spaces; or /dev/null. */
static void take_path(struct weir_detect_diff *d, struct weir_slice s)
{
    struct weir_buf name = {0};
    if (s.n != 0 && s.p[s.n - 1] == '\t') {
        s.n--;
    }
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"') {
        unquote(weir_slice_sub(s, 1, s.n - 1), &name);
    } else {
        weir_buf_append(&name, s);
    }
    weir_buf_clear(&d->path);
    struct weir_slice path = weir_buf_slice(&name);
    if (weir_slice_starts_with(path, WEIR_SLICE("b/"))) {
        weir_buf_append(&d->path, weir_slice_sub(path, 2, path.n));
    }
    weir_buf_dispose(&name);
}

/* "3,0" or "3", which means one line. False: neither. */
static bool read_range(struct weir_slice s, uint64_t *start, uint64_t *n)
{
    size_t comma = weir_slice_find(s, ',');
    *n = 1;
    return weir_slice_u64(weir_slice_sub(s, 0, comma), start) == 0 &&
           (comma == s.n || weir_slice_u64(weir_slice_sub(s, comma + 1, s.n), n) == 0);
}

/* Behind "@@ ": -3,0 +4,2 @@ anything */
static void take_hunk(struct weir_detect_diff *d, struct weir_slice s)
{
    uint64_t old_start;
    uint64_t n_old;
    uint64_t start;
    uint64_t n_new;
    struct weir_slice old = weir_slice_cut(&s, ' ');
    struct weir_slice new = weir_slice_cut(&s, ' ');
    if (old.n < 2 || new.n < 2 || old.p[0] != '-' || new.p[0] != '+' ||
        !read_range(weir_slice_sub(old, 1, old.n), &old_start, &n_old) ||
        !read_range(weir_slice_sub(new, 1, new.n), &start, &n_new)) {
        return;
    }
    d->n_old = n_old;
    d->n_new = n_new;
    d->line = start;
    if (d->out.n_lines != 0 && n_new != 0) {
        add_line(d, WEIR_SLICE(""), start);
    }
}

static void take_head(struct weir_detect_diff *d, struct weir_slice line)
{
    if (weir_slice_starts_with(line, WEIR_SLICE("@@ "))) {
        take_hunk(d, weir_slice_sub(line, 3, line.n));
    } else if (weir_slice_starts_with(line, WEIR_SLICE("+++ "))) {
        take_path(d, weir_slice_sub(line, 4, line.n));
    } else if (weir_slice_starts_with(line, WEIR_SLICE("diff "))) {
        flush(d);
        weir_buf_clear(&d->path);
    } else if (weir_slice_starts_with(line, WEIR_SLICE("commit "))) {
        flush(d);
        weir_buf_clear(&d->path);
        weir_buf_clear(&d->commit);
        weir_buf_append(&d->commit, weir_slice_sub(line, 7, line.n));
    }
}

static void take_line(struct weir_detect_diff *d, struct weir_slice line)
{
    char first = line.n != 0 ? line.p[0] : '\0';
    bool is_in_hunk = d->n_old != 0 || d->n_new != 0;
    if (!is_in_hunk) {
        take_head(d, line);
    } else if (first == '+' && d->n_new != 0) {
        d->n_new--;
        add_line(d, weir_slice_sub(line, 1, line.n), d->line++);
    } else if (first == '-' && d->n_old != 0) {
        d->n_old--;
    } else if (first == ' ' && d->n_old != 0 && d->n_new != 0) {
        d->n_old--;
        d->n_new--;
        d->line++;
    } /* else "\ No newline at end of file" */
}

void weir_detect_diff_add(struct weir_detect_diff *d, struct weir_slice bytes)
{
    while (bytes.n != 0) {
        size_t end = weir_slice_find(bytes, '\n');
        if (end == bytes.n) {
            weir_buf_append(&d->held, bytes);
            return;
        }
        struct weir_slice line = weir_slice_sub(bytes, 0, end);
        if (d->held.n != 0) {
            weir_buf_append(&d->held, line);
            line = weir_buf_slice(&d->held);
        }
        take_line(d, line);
        weir_buf_clear(&d->held);
        bytes = weir_slice_sub(bytes, end + 1, bytes.n);
    }
}

void weir_detect_diff_end(struct weir_detect_diff *d)
{
    if (d->held.n != 0) {
        take_line(d, weir_buf_slice(&d->held));
        weir_buf_clear(&d->held);
    }
    flush(d);
}
