#include "app/audit.h"

#include "obs/audit_chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage:\n"
    "  weir audit verify [--key-env NAME] [--expect LAST] FILE...\n"
    "\n"
    "Checks the chain of audit files, in the order they are given (oldest first), and prints the\n"
    "first line that was changed or before which lines are missing.\n"
    "\n"
    "  --key-env NAME   the variable with the key of `audit: {key_env: NAME}` (WEIR_AUDIT_KEY)\n"
    "  --expect LAST    the chain of the last line, as the log or an earlier check told it: an "
    "end\n"
    "                   that was cut off is found\n"
    "\n"
    "Exit status: 0 all is well, 1 something is wrong, 2 a mistake on the command line.\n";

struct check {
    struct weir_slice key;
    const char *expect;
    char last[WEIR_AUDIT_HEX_BYTES + 1];
    uint64_t n;
    uint64_t n_lines;
    bool has_begun;
};

static int complain(const char *file, uint64_t at, const char *what)
{
    printf("%s:%llu: %s\n", file, (unsigned long long)at, what);
    return 1;
}

static int check_beginning(const struct check *c, const struct weir_audit_line *line,
                           const char *file, uint64_t at)
{
    struct weir_slice begins = line->begins;
    if (at == 1 && begins.p == NULL) {
        return complain(file, at, "the beginning of the file is missing");
    }
    if (begins.p != NULL && c->has_begun && !weir_slice_eq_cstr(begins, c->last)) {
        return complain(
            file, at, "does not begin where the lines before it end: lines or a file are missing");
    }
    return 0;
}

static int check_line(struct check *c, struct weir_slice text, const char *file, uint64_t at)
{
    struct weir_audit_line line;
    if (!weir_audit_chain_read(text, &line)) {
        return complain(file, at, "is not a line of an audit log: it was changed");
    }
    if (line.chain.n == 0) {
        return complain(file, at, "has no chain: it was written without a key, or changed");
    }
    if (check_beginning(c, &line, file, at) != 0) {
        return 1;
    }
    if (!c->has_begun) {
        bool is_first = line.begins.n == 0;
        snprintf(c->last, sizeof c->last, "%.*s", (int)line.begins.n, line.begins.p);
        c->n = is_first ? 0 : line.n - 1;
        c->has_begun = true;
    }
    if (!weir_audit_chain_follows(&line, weir_slice_cstr(c->last), c->key)) {
        return complain(file, at,
                        line.n == c->n + 1 ? "was changed (or the key is another one)"
                                           : "lines before this one are missing or moved");
    }
    memcpy(c->last, line.chain.p, line.chain.n);
    c->last[line.chain.n] = '\0';
    c->n = line.n;
    c->n_lines++;
    return 0;
}

static int check_file(struct check *c, const char *path)
{
    FILE *file = fopen(path, "rbe");
    char *text = NULL;
    size_t cap = 0;
    ssize_t got;
    uint64_t at = 0;
    int status = 0;
    if (file == NULL) {
        fprintf(stderr, "weir: %s cannot be read\n", path);
        return 1;
    }
    while (status == 0 && (got = getline(&text, &cap, file)) > 0) {
        at++;
        bool is_whole = text[got - 1] == '\n';
        status = is_whole ? check_line(c, weir_slice_make(text, (size_t)got - 1), path, at)
                          : complain(path, at, "was cut in the middle");
    }
    if (status == 0 && at == 0) {
        status = complain(path, 1, "the file is empty");
    }
    free(text);
    fclose(file);
    return status;
}

static int refuse(const char *what, const char *word)
{
    fprintf(stderr, "weir: %s%s\nTry `weir audit --help`.\n", what, word);
    return WEIR_ARGS_EXIT_USAGE;
}

static int verify(struct check *c, char *const *files, int n_files)
{
    int status = 0;
    for (int i = 0; i < n_files && status == 0; i++) {
        status = check_file(c, files[i]);
    }
    if (status == 0 && c->expect != NULL && strcmp(c->expect, c->last) != 0) {
        status = complain(files[n_files - 1], c->n_lines,
                          "is not the last line that was written: the end is missing");
    }
    if (status == 0) {
        printf("%llu lines, last %s\n", (unsigned long long)c->n_lines, c->last);
    }
    return status;
}

int weir_audit_command(const struct weir_args *args)
{
    struct check c = {0};
    const char *key_env = "WEIR_AUDIT_KEY";
    int at = 1;
    if (args->argc >= 1 &&
        (strcmp(args->argv[0], "--help") == 0 || strcmp(args->argv[0], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    if (args->argc < 1 || strcmp(args->argv[0], "verify") != 0) {
        return refuse("`weir audit` knows one thing to do: verify", "");
    }
    for (; at + 1 < args->argc && strncmp(args->argv[at], "--", 2) == 0; at += 2) {
        if (strcmp(args->argv[at], "--key-env") == 0) {
            key_env = args->argv[at + 1];
        } else if (strcmp(args->argv[at], "--expect") == 0) {
            c.expect = args->argv[at + 1];
        } else {
            return refuse("unknown flag ", args->argv[at]);
        }
    }
    if (at >= args->argc) {
        return refuse("name at least one file", "");
    }
    const char *key = getenv(key_env);
    if (key == NULL || key[0] == '\0') {
        return refuse("the key is not set: environment variable ", key_env);
    }
    c.key = weir_slice_cstr(key);
    return verify(&c, args->argv + at, args->argc - at);
}
