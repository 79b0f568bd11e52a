#include "offline/detect_options.h"

#include "app/flags.h"
#include "base/err.h"
#include "offline/detect_pool.h"

#include <string.h>

struct state {
    struct weir_detect_options o;
    bool is_json;
    bool wants_help;
};

static bool on_detector(void *target, const char *value)
{
    struct state *s = target;
    return weir_detect_pick_add(&s->o.pick, value);
}

static bool on_format(void *target, const char *value)
{
    static const char *const names[] = {[WEIR_DETECT_TEXT] = "text",
                                        [WEIR_DETECT_JSON] = "json",
                                        [WEIR_DETECT_JSONL] = "jsonl",
                                        [WEIR_DETECT_SARIF] = "sarif",
                                        [WEIR_DETECT_GITHUB] = "github"};
    struct state *s = target;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(value, names[i]) == 0) {
            s->o.format = (enum weir_detect_format)i;
            return true;
        }
    }
    return false;
}

static bool on_field(void *target, const char *value)
{
    struct state *s = target;
    return weir_detect_records_add(&s->o.records, value);
}

#define WHAT "What is looked at"
#define HOW "How"
#define SHOWN "What is printed"
#define RECORDS "Records"
#define AT(field) .offset = offsetof(struct state, field)

static const struct weir_flag FLAGS[] = {
    {.name = "staged",
     .kind = WEIR_FLAG_SWITCH,
     AT(o.staged),
     .group = WHAT,
     .help = "the lines that are staged for the next git commit"},
    {.name = "since",
     .kind = WEIR_FLAG_TEXT,
     AT(o.since),
     .group = WHAT,
     .value = "REV",
     .help = "the lines that git commits since REV have added"},
    {.name = "no-ignore",
     .kind = WEIR_FLAG_SWITCH,
     AT(o.no_ignore),
     .group = WHAT,
     .help = "also what .gitignore and .weirignore leave out"},

    {.name = "detector",
     .kind = WEIR_FLAG_CALL,
     .call = on_detector,
     .expected = "a detector's id (at most 64 of them)",
     .group = HOW,
     .value = "ID",
     .help = "only this one; may be given several times",
     .otherwise = "regex, secrets, unicode; with --config all that are built in"},
    {.name = "config",
     .alias = "config-path",
     .env = "ORCHESTRATOR_CONFIG",
     .kind = WEIR_FLAG_TEXT,
     AT(o.pick.config_path),
     .group = HOW,
     .value = "PATH",
     .help = "where the detectors are configured",
     .otherwise = "the built-in configuration"},
    {.name = "baseline",
     .kind = WEIR_FLAG_TEXT,
     AT(o.baseline),
     .group = HOW,
     .value = "FILE",
     .help = "leave out what this earlier output (json, jsonl, sarif) has"},
    {.name = "no-allow",
     .kind = WEIR_FLAG_SWITCH,
     AT(o.no_allow),
     .group = HOW,
     .help = "do not heed weir:allow in the texts"},
    {.name = "jobs",
     .kind = WEIR_FLAG_NUMBER,
     AT(o.jobs),
     .min = 1,
     .max = WEIR_DETECT_MAX_JOBS,
     .group = HOW,
     .value = "N",
     .help = "files looked at at the same time",
     .otherwise = "one per core"},

    {.name = "format",
     .kind = WEIR_FLAG_CALL,
     .call = on_format,
     .expected = "one of text, json, jsonl, sarif, github",
     .group = SHOWN,
     .value = "FORMAT",
     .help = "text, json, jsonl, sarif or github",
     .otherwise = "text"},
    {.name = "json",
     .kind = WEIR_FLAG_SWITCH,
     AT(is_json),
     .group = SHOWN,
     .help = "the same as --format jsonl"},
    {.name = "redact",
     .kind = WEIR_FLAG_SWITCH,
     AT(o.redact),
     .group = SHOWN,
     .help = "hide what was found but for its beginning",
     .otherwise = "on a terminal"},

    {.name = "jsonl",
     .kind = WEIR_FLAG_SWITCH,
     AT(o.is_jsonl),
     .group = RECORDS,
     .help = "read JSON objects, one on each line; write them with what was found"},
    {.name = "field",
     .kind = WEIR_FLAG_CALL,
     .call = on_field,
     .expected = "a field's path, such as messages.*.content (at most 32 of them)",
     .group = RECORDS,
     .value = "PATH",
     .help = "where their texts are; may be given several times"},

    {.name = "help",
     .letter = 'h',
     .kind = WEIR_FLAG_SWITCH,
     AT(wants_help),
     .group = "Other",
     .help = "this text"},
};

static const char USAGE[] =
    "weir detect: runs the built-in detectors on texts\n"
    "\n"
    "Usage:\n"
    "  weir detect [FLAGS] [FILE|FOLDER]...         without any, or for -, standard input\n"
    "  weir detect --staged|--since REV [PATH]...   what git is given\n"
    "  weir detect --jsonl --field PATH [FILE]...   records, annotated or with --redact redacted\n"
    "\n"
    "A line per finding: FILE:LINE:COLUMN: TYPE/DETECTION (DETECTOR, SCORE) TEXT. Folders are\n"
    "searched with all that is in them, but for binary files, links, version control and what\n"
    ".gitignore and .weirignore leave out. A line with weir:allow is allowed to hold findings.\n"
    "Exit status: 0 nothing found, 2 something found, 1 an error, unreadable files included; for\n"
    "records 0 or 1.\n";

static const char *write_help(const struct weir_flags *f)
{
    struct weir_buf help = {0};
    weir_buf_append(&help, weir_slice_cstr(USAGE));
    weir_flags_help(f, &help);
    const char *copy = weir_arena_dup(f->arena, weir_buf_slice(&help)).p;
    weir_buf_dispose(&help);
    return copy;
}

/* Flags may stand between files, up to a `--`. 0 or WEIR_EINVAL. */
static int parse_words(struct weir_flags *f, const struct weir_args *args,
                       struct weir_detect_options *o)
{
    bool has_flags_ended = false;
    for (int at = 0; at < args->argc;) {
        int before = at;
        if (!has_flags_ended && weir_flags_parse(f, args->argc, args->argv, &at) != 0) {
            return WEIR_EINVAL;
        }
        has_flags_ended = has_flags_ended || (at > before && strcmp(args->argv[at - 1], "--") == 0);
        if (at < args->argc) {
            o->paths[o->n_paths++] = args->argv[at++];
        }
    }
    return 0;
}

static bool was_given(const struct weir_flags *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->flags[i].name, name) == 0) {
            return (f->given >> i & 1) != 0;
        }
    }
    return false;
}

/* What does not go together; NULL: all does. */
static const char *find_clash(const struct weir_flags *f, const struct weir_detect_options *o)
{
    bool has_form = was_given(f, "format") || was_given(f, "json");
    if (was_given(f, "format") && was_given(f, "json")) {
        return "--json is --format jsonl: give one of them";
    }
    if (o->staged && o->since != NULL) {
        return "--staged and --since are two questions: ask them one by one";
    }
    if (o->is_jsonl && (has_form || o->staged || o->since != NULL || o->baseline != NULL)) {
        return "--jsonl writes records: --format, --staged, --since and --baseline are not for it";
    }
    if (o->is_jsonl && o->records.n_fields == 0) {
        return "--jsonl needs --field: where the records have their texts, such as "
               "messages.*.content";
    }
    if (!o->is_jsonl && o->records.n_fields != 0) {
        return "--field needs --jsonl";
    }
    return NULL;
}

static int parse(struct weir_flags *f, const struct weir_args *args, struct weir_detect_options *o)
{
    bool has_path = args->config_path != NULL; /* `weir --config PATH detect` */
    if (parse_words(f, args, o) != 0 ||
        (!has_path && weir_flags_env(f, weir_conf_env_process, NULL) != 0)) {
        return WEIR_EINVAL;
    }
    f->message = find_clash(f, o);
    return f->message != NULL ? WEIR_EINVAL : 0;
}

int weir_detect_options_parse(struct weir_detect_options *o, const struct weir_args *args,
                              struct weir_buf *why)
{
    struct state s = {.o = {.pick = {.config_path = args->config_path}}};
    struct weir_flags f = {
        .flags = FLAGS, .n = sizeof FLAGS / sizeof FLAGS[0], .target = &s, .arena = &s.o.arena};
    s.o.paths = weir_arena_array(&s.o.arena, (size_t)args->argc + 1, sizeof *s.o.paths);
    int rc = parse(&f, args, &s.o);
    if (s.wants_help) {
        s.o.help = write_help(&f);
        rc = 0;
    }
    if (rc != 0) {
        weir_buf_printf(why, "weir detect: %s\nTry `weir detect --help`.\n", f.message);
    }
    if (s.is_json) {
        s.o.format = WEIR_DETECT_JSONL;
    }
    s.o.has_redact = was_given(&f, "redact");
    s.o.records.is_redacting = s.o.redact;
    *o = s.o;
    return rc;
}

void weir_detect_options_dispose(struct weir_detect_options *o)
{
    weir_arena_dispose(&o->arena);
}
