#include "app/flags.h"
#include "base/err.h"
#include "base/utf8.h"
#include "mock/mock_server.h"
#include "mock/mock_settings.h"
#include "obs/trace.h"

#include <stdio.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };
enum { DEFAULT_PORT = 8090, MAX_WORKERS = 255, MAX_TEXT_BYTES = 16 * 1024 * 1024 };

struct options {
    const char *host;
    uint32_t port;
    uint32_t workers;
    uint32_t seed;
    bool no_done;
    bool wants_help;
    bool quiet;
    enum weir_log_level log_level;
    enum weir_log_format log_format;
    const char *values[WEIR_MOCK_MAX_FLAGS]; /* of the settings */
};

static bool on_log_level(void *target, const char *value)
{
    struct options *o = target;
    return weir_log_parse_level(weir_slice_cstr(value), &o->log_level) == 0;
}

static bool on_log_format(void *target, const char *value)
{
    struct options *o = target;
    return weir_log_parse_format(weir_slice_cstr(value), &o->log_format) == 0;
}

#define AT(field) .offset = offsetof(struct options, field)

static const struct weir_flag OWN_FLAGS[] = {
    {.name = "host",
     .kind = WEIR_FLAG_TEXT,
     AT(host),
     .group = "Running",
     .value = "ADDRESS",
     .help = "address to listen on",
     .otherwise = "127.0.0.1"},
    {.name = "port",
     .kind = WEIR_FLAG_NUMBER,
     AT(port),
     .max = 65535,
     .group = "Running",
     .value = "N",
     .help = "port of all roles; 0 picks a free one",
     .otherwise = "8090"},
    {.name = "workers",
     .kind = WEIR_FLAG_NUMBER,
     AT(workers),
     .min = 1,
     .max = MAX_WORKERS,
     .group = "Running",
     .value = "N",
     .help = "worker threads",
     .otherwise = "1"},
    {.name = "seed",
     .kind = WEIR_FLAG_NUMBER,
     AT(seed),
     .max = UINT32_MAX,
     .group = "Running",
     .value = "N",
     .help = "the same ids, times and chances on every run",
     .otherwise = "chance"},
    {.name = "log-level",
     .env = "LOG_LEVEL",
     .kind = WEIR_FLAG_CALL,
     .call = on_log_level,
     .expected = "one of trace, debug, info, warn, error, off",
     .group = "Running",
     .value = "LEVEL",
     .help = "debug has a line per request",
     .otherwise = "info"},
    {.name = "log-format",
     .env = "LOG_FORMAT",
     .is_variable_loose = true,
     .kind = WEIR_FLAG_CALL,
     .call = on_log_format,
     .expected = "one of terminal, full, compact, pretty, json",
     .group = "Running",
     .value = "FORMAT",
     .help = "terminal, full, compact, pretty or json",
     .otherwise = "terminal on a terminal, else json"},
    {.name = "quiet",
     .env = "QUIET",
     .kind = WEIR_FLAG_SWITCH,
     AT(quiet),
     .group = "Running",
     .help = "log errors only"},
    {.name = "no-done",
     .kind = WEIR_FLAG_SWITCH,
     AT(no_done),
     .group = "Running",
     .help = "streams end without [DONE]"},
    {.name = "help",
     .letter = 'h',
     .kind = WEIR_FLAG_SWITCH,
     AT(wants_help),
     .group = "Running",
     .help = "this text"},
};
enum { N_OWN = sizeof OWN_FLAGS / sizeof *OWN_FLAGS, SEED_FLAG = 3 };

static const char USAGE[] =
    "weir-mock, scripted peers for trying things out, for tests and for benchmarks\n"
    "\n"
    "Usage:\n"
    "  weir-mock [FLAGS]\n"
    "\n"
    "One port serves a model server (/v1/chat/completions, /v1/completions, /v1/messages,\n"
    "/v1/responses, /v1/models, /tokenize),\n"
    "a detector (/api/v1/text/contents, chat, context/doc, generation), a sentence chunker and\n"
    "generation (gRPC), and health checks.\n"
    "\n"
    "Every setting below can also come with a request, for this request: as a header\n"
    "(x-mock: rate=50; tokens=200), in the member `mock` of a completion request\n"
    "({\"mock\":{\"rate\":50}}) or in a detector's `detector_params`.\n";

static void print_help(const struct weir_flags *f)
{
    struct weir_buf help = {0};
    weir_buf_append(&help, weir_slice_cstr(USAGE));
    weir_flags_help(f, &help);
    weir_mock_settings_help(&help);
    fputs(weir_buf_cstr(&help), stdout);
    weir_buf_dispose(&help);
}

static int refuse(const char *what)
{
    fprintf(stderr, "weir-mock: %s\nTry `weir-mock --help`.\n", what);
    return EXIT_USAGE;
}

/* The file behind `--text @FILE`, in the arena. p == NULL: it cannot be read. */
static struct weir_slice read_file(const char *path, struct weir_arena *arena)
{
    FILE *file = fopen(path, "rbe");
    struct weir_buf text = {0};
    char piece[4096];
    size_t n;
    if (file == NULL) {
        return weir_slice_make(NULL, 0);
    }
    weir_buf_init(&text, MAX_TEXT_BYTES);
    while ((n = fread(piece, 1, sizeof piece, file)) != 0) {
        if (weir_buf_append(&text, weir_slice_make(piece, n)) != 0) {
            break;
        }
    }
    bool is_whole = feof(file) != 0 && ferror(file) == 0;
    fclose(file);
    struct weir_slice copy = weir_arena_dup(arena, weir_buf_slice(&text));
    weir_buf_dispose(&text);
    return is_whole ? copy : weir_slice_make(NULL, 0);
}

/* The text that is said where a request brings none, read and cut once. */
static const char *prepare_text(struct weir_mock_server *sv, struct weir_arena *arena)
{
    struct weir_slice *text = &sv->defaults.text;
    if (text->p == NULL) {
        *text = weir_slice_cstr(weir_mock_text_default);
    } else if (text->n > 1 && text->p[0] == '@') {
        *text = read_file(text->p + 1, arena);
    }
    if (text->p == NULL) {
        return "--text: the file cannot be read, or is larger than 16 MiB";
    }
    if (!weir_utf8_is_valid(*text)) {
        return "--text: not UTF-8";
    }
    weir_mock_text_cut(&sv->text, *text, false, arena);
    return NULL;
}

static int serve(const struct options *o, bool has_seed, struct weir_arena *arena)
{
    struct weir_mock_server sv = {
        .host = o->host,
        .port = (uint16_t)o->port,
        .n_workers = o->workers,
        .has_seed = has_seed,
        .seed = has_seed ? o->seed : weir_trace_random(),
    };
    struct weir_mock_mistake mistake;
    weir_mock_settings_init(&sv.defaults);
    if (weir_mock_settings_take_flags(&sv.defaults, o->values, &mistake) != 0) {
        return refuse(mistake.text);
    }
    if (o->no_done) {
        sv.defaults.scenario |= UINT64_C(1) << WEIR_MOCK_NO_DONE;
    }
    const char *what = prepare_text(&sv, arena);
    if (what != NULL) {
        return refuse(what);
    }
    weir_log_setup(&(struct weir_log_options){
        .fd = STDERR_FILENO,
        .level = o->quiet ? WEIR_LOG_LEVEL_ERROR : o->log_level,
        .format = o->log_format,
        .colour = WEIR_LOG_COLOUR_AUTO,
    });
    return weir_mock_server_run(&sv);
}

static int parse_and_serve(int argc, char *const *argv, struct weir_arena *arena)
{
    struct weir_flag flags[N_OWN + WEIR_MOCK_MAX_FLAGS];
    struct options o = {
        .host = "127.0.0.1",
        .port = DEFAULT_PORT,
        .workers = 1,
        .log_level = WEIR_LOG_LEVEL_INFO,
        .log_format = isatty(STDERR_FILENO) == 1 ? WEIR_LOG_TERMINAL : WEIR_LOG_JSON,
    };
    memcpy(flags, OWN_FLAGS, sizeof OWN_FLAGS);
    size_t n = weir_mock_settings_flags(flags + N_OWN, offsetof(struct options, values));
    struct weir_flags f = {.flags = flags, .n = N_OWN + n, .target = &o, .arena = arena};
    int at = 1;
    if (weir_flags_parse(&f, argc, argv, &at) != 0) {
        return refuse(f.message);
    }
    if (at < argc) {
        return refuse(weir_arena_printf(arena, "unexpected argument `%.60s`", argv[at]));
    }
    if (o.wants_help) {
        print_help(&f);
        return 0;
    }
    if (weir_flags_env(&f, weir_conf_env_process, NULL) != 0) {
        return refuse(f.message);
    }
    bool has_seed = (f.given & (UINT64_C(1) << SEED_FLAG)) != 0;
    return serve(&o, has_seed, arena);
}

int main(int argc, char **argv)
{
    struct weir_arena arena = {0};
    int status = parse_and_serve(argc, argv, &arena);
    weir_arena_dispose(&arena);
    return status;
}
