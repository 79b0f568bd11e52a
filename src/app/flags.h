#ifndef WEIR_APP_FLAGS_H
#define WEIR_APP_FLAGS_H

#include "base/arena.h"
#include "base/buf.h"
#include "conf/conf_load.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Command lines by table, for every sub-command. A flag is `--name value` or `--name=value`; a
 * switch is `--name`, or `--name=true|false`. `--` ends the flags. A flag may have an environment
 * variable that counts when the flag was not given (and the variable is not empty). The first
 * mistake ends parsing with a sentence that names it, but for variables that other programs set
 * too, where a foreign value is left with a warning.
 */
enum weir_flag_kind {
    WEIR_FLAG_SWITCH, /* bool */
    WEIR_FLAG_TEXT,   /* const char *, borrowed from argv or the environment; not empty */
    WEIR_FLAG_NUMBER, /* uint32_t from min to max */
    WEIR_FLAG_CALL,   /* whatever `call` makes of the text */
};

/* Takes one value; false when it is none of `expected`. */
typedef bool weir_flag_call_fn(void *target, const char *value);

struct weir_flag {
    const char *name;      /* "http-port" */
    const char *alias;     /* a second name, or NULL */
    const char *env;       /* or NULL */
    const char *group;     /* heading in the help */
    const char *value;     /* "PATH" in the help; NULL for a switch */
    const char *help;      /* one phrase */
    const char *otherwise; /* its default in the help, or NULL */
    const char *expected;  /* CALL: "one of trace, debug, …" */
    weir_flag_call_fn *call;
    size_t offset; /* in the target */
    enum weir_flag_kind kind;
    uint32_t min;
    uint32_t max;
    char letter;            /* 'h' for -h, a switch only; 0: none */
    bool is_variable_loose; /* a variable that is none of `expected` is ignored, with a warning */
};

struct weir_flags {
    const struct weir_flag *flags; /* at most 64 */
    size_t n;
    void *target;
    struct weir_arena *arena; /* of the message */
    const char *message;      /* set on error, without final stop or line end */
    const char *warning;      /* a variable that was ignored, in the same form; or NULL */
    uint64_t given;           /* a bit per flag that was on the command line */
};

/*
 * Reads flags from argv[*at] on, until the first word that is none (a file, a sub-command) or the
 * end; `*at` stops there, behind a `--`. 0 or WEIR_EINVAL.
 */
int weir_flags_parse(struct weir_flags *f, int argc, char *const *argv, int *at);

/* Then the environment, for flags not given. 0 or WEIR_EINVAL. */
int weir_flags_env(struct weir_flags *f, weir_conf_env_fn *env, void *env_ctx);

/* The groups with their flags, variables and defaults, as the help shows them. */
void weir_flags_help(const struct weir_flags *f, struct weir_buf *out);

/* true, false, 1, 0. */
bool weir_flags_bool(const char *value, bool *out);

#endif
