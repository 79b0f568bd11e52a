#include "mock/mock_settings.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/utf8.h"
#include "conf/conf_near.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum kind {
    NUMBER, /* uint32_t from min to max */
    RATIO,  /* double from 0 to 1 */
    TEXT,   /* struct weir_slice, UTF-8 */
    WORD,   /* uint32_t: its index in `words` */
    WORDS,  /* uint64_t: a bit per word, separated by commas */
    JSON,   /* struct weir_slice: a value as it stands */
};

struct setting {
    const char *name;
    enum kind kind;
    size_t offset;
    uint32_t min;
    uint32_t max;
    const char *const *words; /* ends with NULL */
    const char *group;
    const char *value;
    const char *help;
    const char *otherwise;
};

static const char *const SCENARIOS[] = {
    [WEIR_MOCK_TEXT] = "text",
    [WEIR_MOCK_TOOLS] = "tools",
    [WEIR_MOCK_REASONING] = "reasoning",
    [WEIR_MOCK_REFUSAL] = "refusal",
    [WEIR_MOCK_EMPTY] = "empty",
    [WEIR_MOCK_ECHO] = "echo",
    [WEIR_MOCK_MIXED] = "mixed",
    [WEIR_MOCK_LOGPROBS] = "logprobs",
    [WEIR_MOCK_USAGE] = "usage",
    [WEIR_MOCK_USAGE_EACH] = "usage-each",
    [WEIR_MOCK_ROLE_EACH] = "role-each",
    [WEIR_MOCK_ROLE_NEVER] = "role-never",
    [WEIR_MOCK_ROLE_WITH_TEXT] = "role-with-text",
    [WEIR_MOCK_FINISH_WITH_TEXT] = "finish-with-text",
    [WEIR_MOCK_TEXT_AFTER_FINISH] = "text-after-finish",
    [WEIR_MOCK_AZURE] = "azure",
    [WEIR_MOCK_AZURE_ASYNC] = "azure-async",
    [WEIR_MOCK_UNKNOWN] = "unknown",
    [WEIR_MOCK_SPLIT_UTF8] = "split-utf8",
    [WEIR_MOCK_CRLF] = "crlf",
    [WEIR_MOCK_COMMENTS] = "comments",
    [WEIR_MOCK_NO_DONE] = "no-done",
    [WEIR_MOCK_JOINED] = "joined",
    [WEIR_MOCK_SEQUENTIAL] = "sequential",
    [WEIR_MOCK_SHUFFLED] = "shuffled",
    [WEIR_MOCK_ITEMS] = "items",
    [WEIR_MOCK_EXTRAS] = "extras",
    [WEIR_MOCK_DIFFERS] = "differs",
    NULL,
};

static const char *const ERRORS[] = {
    [WEIR_MOCK_ERROR_NESTED] = "nested",
    [WEIR_MOCK_ERROR_FLAT] = "flat",
    [WEIR_MOCK_ERROR_EVENT] = "event",
    [WEIR_MOCK_ERROR_CUT] = "cut",
    [WEIR_MOCK_ERROR_END] = "end",
    [WEIR_MOCK_ERROR_STALL] = "stall",
    [WEIR_MOCK_ERROR_GARBAGE] = "garbage",
    [WEIR_MOCK_ERROR_NOT_OBJECT] = "not-object",
    [WEIR_MOCK_ERROR_NO_CHOICES] = "no-choices",
    [WEIR_MOCK_ERROR_BAD_UTF8] = "bad-utf8",
    NULL,
};

static const char *const FINDS[] = {
    [WEIR_MOCK_FIND_MATCH] = "match",
    [WEIR_MOCK_FIND_ALL] = "all",
    [WEIR_MOCK_FIND_NONE] = "none",
    NULL,
};

static const char *const BADS[] = {
    [WEIR_MOCK_BAD_NOT] = "not",
    [WEIR_MOCK_BAD_LISTS_MORE] = "lists-more",
    [WEIR_MOCK_BAD_LISTS_LESS] = "lists-less",
    [WEIR_MOCK_BAD_NOT_LIST] = "not-list",
    [WEIR_MOCK_BAD_SPAN_OUTSIDE] = "span-outside",
    [WEIR_MOCK_BAD_SPAN_REVERSED] = "span-reversed",
    [WEIR_MOCK_BAD_SPAN_NEGATIVE] = "span-negative",
    [WEIR_MOCK_BAD_SPAN_FRACTION] = "span-fraction",
    [WEIR_MOCK_BAD_SPAN_MISSING] = "span-missing",
    [WEIR_MOCK_BAD_SCORE_NAN] = "score-nan",
    [WEIR_MOCK_BAD_SCORE_LARGE] = "score-large",
    [WEIR_MOCK_BAD_SCORE_TEXT] = "score-text",
    [WEIR_MOCK_BAD_TYPE_MISSING] = "type-missing",
    [WEIR_MOCK_BAD_DUPLICATE] = "duplicate",
    [WEIR_MOCK_BAD_GARBAGE] = "garbage",
    [WEIR_MOCK_BAD_TRUNCATED] = "truncated",
    [WEIR_MOCK_BAD_EMPTY] = "empty",
    [WEIR_MOCK_BAD_CONTENT_TYPE] = "content-type",
    [WEIR_MOCK_BAD_CUT] = "cut",
    NULL,
};

static const char *const CHUNKS[] = {
    [WEIR_MOCK_CHUNKS_RIGHT] = "right",
    [WEIR_MOCK_CHUNKS_OVERLAP] = "overlap",
    [WEIR_MOCK_CHUNKS_GAP] = "gap",
    [WEIR_MOCK_CHUNKS_TEXT] = "text",
    [WEIR_MOCK_CHUNKS_ZERO_INPUT] = "zero-input",
    [WEIR_MOCK_CHUNKS_BEYOND] = "beyond",
    [WEIR_MOCK_CHUNKS_NO_END] = "no-end",
    [WEIR_MOCK_CHUNKS_GARBAGE] = "garbage",
    [WEIR_MOCK_CHUNKS_CUT] = "cut",
    [WEIR_MOCK_CHUNKS_STALL] = "stall",
    NULL,
};

static const char *const HEALTHS[] = {
    [WEIR_MOCK_HEALTH_GOOD] = "good",   [WEIR_MOCK_HEALTH_BAD] = "bad",
    [WEIR_MOCK_HEALTH_ERROR] = "error", [WEIR_MOCK_HEALTH_ABSENT] = "absent",
    [WEIR_MOCK_HEALTH_EMPTY] = "empty", NULL,
};

#define AT(field) .offset = offsetof(struct weir_mock_settings, field)
#define NUMBER(field, min_, max_)                                                                  \
    .name = #field, .kind = NUMBER, AT(field), .min = (min_), .max = (max_), .value = "N"
#define RATIO(field) .name = #field, .kind = RATIO, AT(field), .value = "P"
#define TEXT(field) .name = #field, .kind = TEXT, AT(field), .value = "TEXT"
#define JSON(field) .name = #field, .kind = JSON, AT(field), .value = "JSON"
#define WORD(field, words_)                                                                        \
    .name = #field, .kind = WORD, AT(field), .words = (words_), .value = "WORD"

enum { HOUR_MS = 3600 * 1000, MAX_RATE = 1000 * 1000, MAX_PAD_BYTES = 16 * 1024 * 1024 };

static const struct setting SETTINGS[] = {
    {NUMBER(delay_ms, 0, HOUR_MS), .group = "Every answer", .help = "wait so long before it begins",
     .otherwise = "0"},
    {NUMBER(jitter_ms, 0, HOUR_MS), .group = "Every answer",
     .help = "and up to so much longer, by chance", .otherwise = "0"},
    {NUMBER(status, 200, 599), .group = "Every answer",
     .help = "fail with it: always, or where the next two or --fail-at say", .otherwise = "500"},
    {RATIO(fail_rate), .group = "Every answer", .help = "fail this share of requests, by chance",
     .otherwise = "0"},
    {NUMBER(fail_first, 0, MAX_RATE), .group = "Every answer",
     .help = "fail the first N requests of a key, then answer", .otherwise = "0"},
    {TEXT(key), .group = "Every answer", .help = "what --fail-first counts by",
     .otherwise = "the request's path"},
    {TEXT(message), .group = "Every answer", .help = "the message of a failure"},
    {NUMBER(grpc_status, 0, 16), .group = "Every answer", .help = "end gRPC calls with this status",
     .otherwise = "0"},
    {NUMBER(cut_bytes, 0, MAX_RATE), .group = "Every answer",
     .help = "send it in pieces of so many bytes", .otherwise = "whole"},
    {NUMBER(cut_ms, 0, HOUR_MS), .group = "Every answer", .help = "with so much time between them",
     .otherwise = "0"},
    {NUMBER(pad_bytes, 0, MAX_PAD_BYTES), .group = "Every answer",
     .help = "so much white space behind a JSON body", .otherwise = "0"},
    {JSON(answer), .group = "Every answer",
     .help = "the whole body of an answer that is no stream"},

    {NUMBER(rate, 0, MAX_RATE), .group = "Model server",
     .help = "tokens per second of one stream; 0 is as fast as possible", .otherwise = "0"},
    {NUMBER(burst, 1, MAX_RATE), .group = "Model server",
     .help = "tokens come in groups of N, at the same rate", .otherwise = "1"},
    {NUMBER(first_ms, 0, HOUR_MS), .group = "Model server",
     .help = "wait so long between the head and the first token", .otherwise = "0"},
    {NUMBER(tokens, 0, UINT32_MAX - 1), .group = "Model server",
     .help = "so many tokens of text, from its beginning again where it ends",
     .otherwise = "the text once"},
    {TEXT(text), .group = "Model server", .help = "what to say; the flag reads @FILE from a file",
     .otherwise = "a paragraph"},
    {JSON(pieces), .group = "Model server",
     .help = "the same, cut by you: a list of strings, or one list per choice"},
    {JSON(events), .group = "Model server",
     .help = "a stream of your own: events, raw strings, and ms to wait"},
    {.name = "scenario",
     .kind = WORDS,
     AT(scenario),
     .words = SCENARIOS,
     .group = "Model server",
     .value = "WORD,...",
     .help = "the shape of the answer, see below",
     .otherwise = "text"},
    {NUMBER(fail_at, 0, UINT32_MAX - 1), .group = "Model server",
     .help = "go wrong in place of this event, from 0", .otherwise = "never, with --error 3"},
    {WORD(error, ERRORS), .group = "Model server", .help = "and how, see below",
     .otherwise = "nested"},
    {NUMBER(tool_calls, 1, 128), .group = "Model server",
     .help = "tool calls in the scenario `tools`", .otherwise = "2"},
    {TEXT(arguments), .group = "Model server", .help = "arguments of a tool call",
     .otherwise = "a small object"},
    {TEXT(finish), .group = "Model server", .help = "finish_reason",
     .otherwise = "stop, length or tool_calls"},
    {WORD(health, HEALTHS), .group = "Model server",
     .help = "what health checks are told, see below", .otherwise = "good"},

    {TEXT(api_key), .group = "Model server", .help = "401 for requests without this key",
     .otherwise = "none is wanted"},
    {TEXT(deployments), .group = "Model server",
     .help = "Azure's, separated by commas; 404 for others", .otherwise = "all there may be"},
    {TEXT(blocked), .group = "Model server",
     .help = "a question with this word is refused as Azure's filter does"},
    {NUMBER(retry_after, 0, 3600), .group = "Model server",
     .help = "failures say to come again after N seconds", .otherwise = "0: they do not"},

    {TEXT(regex), .group = "Detector", .help = "find this (PCRE2)",
     .otherwise = "e-mail, card, phone, SSN, IP"},
    {WORD(find, FINDS), .group = "Detector", .help = "match, all (each text as a whole) or none",
     .otherwise = "match"},
    {TEXT(detection), .group = "Detector", .help = "name of a finding", .otherwise = "by pattern"},
    {TEXT(detection_type), .group = "Detector", .help = "its type", .otherwise = "by pattern"},
    {RATIO(score), .group = "Detector", .help = "its score", .otherwise = "0.9"},
    {WORD(bad, BADS), .group = "Detector", .help = "answer wrongly, see below", .otherwise = "not"},

    {WORD(chunks, CHUNKS), .group = "Chunker", .help = "chunk wrongly, see below",
     .otherwise = "right"},
};

enum { N_SETTINGS = sizeof SETTINGS / sizeof *SETTINGS };
_Static_assert((int)N_SETTINGS <= (int)WEIR_MOCK_MAX_FLAGS, "room for every setting as a flag");

void weir_mock_settings_init(struct weir_mock_settings *set)
{
    *set = (struct weir_mock_settings){
        .burst = 1,
        .tokens = WEIR_MOCK_UNSET,
        .fail_at = WEIR_MOCK_UNSET,
        .error = WEIR_MOCK_UNSET,
        .tool_calls = 2,
        .score = 0.9,
    };
}

static int refuse(struct weir_mock_mistake *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int refuse(struct weir_mock_mistake *m, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(m->text, sizeof m->text, fmt, args);
    va_end(args);
    return WEIR_EINVAL;
}

/* As much of a value as belongs into a message. */
static int shown(struct weir_slice s)
{
    return s.n < 40 ? (int)s.n : 40;
}

/* Flags are written with dashes, JSON with underscores; both are one name. */
static bool is_called(const struct setting *st, struct weir_slice name)
{
    if (strlen(st->name) != name.n) {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        if ((name.p[i] == '-' ? '_' : name.p[i]) != st->name[i]) {
            return false;
        }
    }
    return true;
}

static const struct setting *find(struct weir_slice name)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (is_called(&SETTINGS[i], name)) {
            return &SETTINGS[i];
        }
    }
    return NULL;
}

static int unknown(struct weir_slice name, struct weir_mock_mistake *m)
{
    struct weir_conf_near near;
    weir_conf_near_init(&near, name);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        weir_conf_near_offer(&near, weir_slice_cstr(SETTINGS[i].name));
    }
    const char *hint = near.best.p != NULL ? "; did you mean " : "";
    refuse(m, "unknown setting `%.*s`%s%.*s", shown(name), name.p, hint, (int)near.best.n,
           near.best.p != NULL ? near.best.p : "");
    return WEIR_ENOTFOUND;
}

/* Index of a word, or -1. */
static int find_word(const char *const *words, struct weir_slice word)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (weir_slice_eq_cstr(word, words[i])) {
            return i;
        }
    }
    return -1;
}

static int refuse_word(const struct setting *st, struct weir_slice word,
                       struct weir_mock_mistake *m)
{
    struct weir_conf_near near;
    weir_conf_near_init(&near, word);
    for (int i = 0; st->words[i] != NULL; i++) {
        weir_conf_near_offer(&near, weir_slice_cstr(st->words[i]));
    }
    if (near.best.p != NULL) {
        return refuse(m, "`%s`: unknown word `%.*s`; did you mean `%.*s`?", st->name, shown(word),
                      word.p, (int)near.best.n, near.best.p);
    }
    return refuse(m, "`%s`: unknown word `%.*s`; the first is `%s`, `weir-mock --help` has all",
                  st->name, shown(word), word.p, st->words[0]);
}

static int set_words(uint64_t *at, const struct setting *st, struct weir_slice value,
                     struct weir_mock_mistake *m)
{
    uint64_t bits = 0;
    for (struct weir_slice rest = value; rest.p != NULL;) {
        struct weir_slice word = weir_slice_trim(weir_slice_cut(&rest, ','));
        int i = find_word(st->words, word);
        if (i < 0) {
            return refuse_word(st, word, m);
        }
        bits |= UINT64_C(1) << i;
    }
    *at = bits;
    return 0;
}

static int set_number(uint32_t *at, const struct setting *st, struct weir_slice value,
                      struct weir_mock_mistake *m)
{
    uint64_t number;
    if (weir_slice_u64(value, &number) != 0 || number < st->min || number > st->max) {
        return refuse(m, "`%s`: `%.*s` is not a number from %u to %u", st->name, shown(value),
                      value.p, st->min, st->max);
    }
    *at = (uint32_t)number;
    return 0;
}

static int set_ratio(double *at, const struct setting *st, struct weir_slice value,
                     struct weir_mock_mistake *m)
{
    char text[32];
    char *end = text;
    double ratio = -1;
    if (value.n != 0 && value.n < sizeof text) {
        memcpy(text, value.p, value.n);
        text[value.n] = '\0';
        ratio = strtod(text, &end);
    }
    bool is_number = end == text + value.n && ratio >= 0 && ratio <= 1;
    if (!is_number) {
        return refuse(m, "`%s`: `%.*s` is not a number from 0 to 1", st->name, shown(value),
                      value.p);
    }
    *at = ratio;
    return 0;
}

static int set_value(struct weir_mock_settings *set, const struct setting *st,
                     struct weir_slice value, struct weir_mock_mistake *m)
{
    char *at = (char *)set + st->offset;
    int word;
    switch (st->kind) {
    case NUMBER:
        return set_number((uint32_t *)(void *)at, st, value, m);
    case RATIO:
        return set_ratio((double *)(void *)at, st, value, m);
    case WORD:
        word = find_word(st->words, value);
        if (word < 0) {
            return refuse_word(st, value, m);
        }
        *(uint32_t *)(void *)at = (uint32_t)word;
        return 0;
    case WORDS:
        return set_words((uint64_t *)(void *)at, st, value, m);
    case TEXT:
    case JSON:
        if (!weir_utf8_is_valid(value)) {
            return refuse(m, "`%s`: not UTF-8", st->name);
        }
        /* Never p == NULL, which means that it was not set. */
        *(struct weir_slice *)(void *)at = value.n != 0 ? value : WEIR_SLICE("");
        return 0;
    }
    return 0;
}

int weir_mock_settings_set(struct weir_mock_settings *set, struct weir_slice name,
                           struct weir_slice value, struct weir_mock_mistake *mistake)
{
    const struct setting *st = find(name);
    if (st == NULL) {
        return unknown(name, mistake);
    }
    if (st->kind == JSON) {
        struct weir_arena arena = {0};
        struct weir_json json;
        int rc = weir_json_parse(&json, value, NULL, &arena, NULL);
        weir_arena_dispose(&arena);
        if (rc != 0) {
            return refuse(mistake, "`%s`: `%.*s` is not JSON", st->name, shown(value), value.p);
        }
    }
    return set_value(set, st, value, mistake);
}

int weir_mock_settings_header(struct weir_mock_settings *set, struct weir_slice value,
                              struct weir_mock_mistake *mistake)
{
    for (struct weir_slice rest = value; rest.p != NULL;) {
        struct weir_slice item = weir_slice_trim(weir_slice_cut(&rest, ';'));
        if (item.n == 0) {
            continue;
        }
        struct weir_slice name = weir_slice_trim(weir_slice_cut(&item, '='));
        if (item.p == NULL) {
            return refuse(mistake, "x-mock: expected `name=value`, found `%.*s`", shown(name),
                          name.p);
        }
        if (weir_mock_settings_set(set, name, weir_slice_trim(item), mistake) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}

/* A list of words as one text: the value of WORDS may be ["a","b"]. */
static struct weir_slice join_words(const struct weir_mock_json *from, uint32_t list)
{
    struct weir_buf joined = {0};
    const struct weir_json *j = from->json;
    for (uint32_t at = weir_json_first(j, list); at != WEIR_JSON_NONE;
         at = weir_json_after(j, list, at)) {
        if (joined.n != 0) {
            weir_buf_append_byte(&joined, ',');
        }
        weir_buf_append(&joined, weir_json_type(j, at) == WEIR_JSON_STRING
                                     ? weir_json_string(j, at, from->arena)
                                     : weir_json_raw(j, at));
    }
    struct weir_slice text = weir_arena_dup(from->arena, weir_buf_slice(&joined));
    weir_buf_dispose(&joined);
    return text;
}

static int set_node(struct weir_mock_settings *set, const struct setting *st,
                    const struct weir_mock_json *from, uint32_t at,
                    struct weir_mock_mistake *mistake)
{
    const struct weir_json *j = from->json;
    enum weir_json_type type = weir_json_type(j, at);
    if (type == WEIR_JSON_NULL && st->kind != JSON) {
        return 0;
    }
    if (st->kind == WORDS && type == WEIR_JSON_ARRAY) {
        return j->nodes[at].n != 0 ? set_value(set, st, join_words(from, at), mistake) : 0;
    }
    bool is_text = st->kind == TEXT || st->kind == WORD || st->kind == WORDS;
    if (is_text != (type == WEIR_JSON_STRING) && st->kind != JSON) {
        return refuse(mistake, "`%s`: expected %s", st->name, is_text ? "a string" : "a number");
    }
    struct weir_slice value = is_text ? weir_json_string(j, at, from->arena) : weir_json_raw(j, at);
    return set_value(set, st, value, mistake);
}

int weir_mock_settings_json(struct weir_mock_settings *set, const struct weir_mock_json *from,
                            struct weir_mock_mistake *mistake)
{
    const struct weir_json *j = from->json;
    if (weir_json_type(j, from->object) != WEIR_JSON_OBJECT) {
        return refuse(mistake, "expected an object of settings");
    }
    for (uint32_t key = weir_json_first(j, from->object); key != WEIR_JSON_NONE;
         key = weir_json_after(j, from->object, key)) {
        struct weir_slice name = weir_json_string(j, key, from->arena);
        const struct setting *st = find(name);
        if (st == NULL && from->is_lenient) {
            continue;
        }
        if (st == NULL) {
            unknown(name, mistake);
            return WEIR_EINVAL;
        }
        if (set_node(set, st, from, key + 1, mistake) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}

/* ---- flags ---- */

/* "fail_at" as "fail-at"; made once, before the first thread. */
static const char *flag_name(size_t i)
{
    static char names[N_SETTINGS][24];
    const char *name = SETTINGS[i].name;
    WEIR_ASSERT(strlen(name) < sizeof names[i]);
    for (size_t k = 0; name[k] != '\0'; k++) {
        names[i][k] = name[k] == '_' ? '-' : name[k];
    }
    return names[i];
}

size_t weir_mock_settings_flags(struct weir_flag *flags, size_t offset)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const struct setting *st = &SETTINGS[i];
        flags[i] = (struct weir_flag){
            .name = flag_name(i),
            .group = st->group,
            .value = st->value,
            .help = st->help,
            .otherwise = st->otherwise,
            .kind = WEIR_FLAG_TEXT,
            .offset = offset + i * sizeof(const char *),
        };
    }
    return N_SETTINGS;
}

int weir_mock_settings_take_flags(struct weir_mock_settings *set, const char *const *values,
                                  struct weir_mock_mistake *mistake)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (values[i] == NULL) {
            continue;
        }
        struct weir_slice name = weir_slice_cstr(SETTINGS[i].name);
        if (weir_mock_settings_set(set, name, weir_slice_cstr(values[i]), mistake) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}

static void list_words(struct weir_buf *out, const char *title, const char *const *words)
{
    weir_buf_printf(out, "\n%s:\n ", title);
    size_t column = 1;
    for (size_t i = 0; words[i] != NULL; i++) {
        size_t n = strlen(words[i]) + 1;
        if (column + n > 96) {
            weir_buf_printf(out, "\n ");
            column = 1;
        }
        weir_buf_printf(out, " %s", words[i]);
        column += n;
    }
    weir_buf_append_byte(out, '\n');
}

void weir_mock_settings_help(struct weir_buf *out)
{
    list_words(out, "Words of --scenario, several with commas", SCENARIOS);
    list_words(out, "Words of --error", ERRORS);
    list_words(out, "Words of --health", HEALTHS);
    list_words(out, "Words of --bad", BADS);
    list_words(out, "Words of --chunks", CHUNKS);
}
