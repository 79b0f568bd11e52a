#include "model/openai_answer.h"

#include "wire/json.h"

#include <string.h>

enum {
    MAX_ERROR_BYTES = 64 * 1024, /* a longer body holds no message */
    WINDOW_BYTES = 16,
    MAX_NODES = 16 * 1024 * 1024, /* of a whole answer: log-probabilities of many choices fit */
};

/* Notes in which of these bytes `"e` begins. In this form a compiler compares sixteen at a time,
 * and what was found stays in a register; every token that passes is looked at, and memmem was a
 * sixth of what one cost. Two bytes are enough: no member of an ordinary event begins like that,
 * and few tokens do. (The minus makes each comparison the mask that a processor has it as.) */
static void look_for_error(const char *restrict p, char *restrict found)
{
    for (size_t i = 0; i < WINDOW_BYTES; i++) {
        found[i] |= (char)-((p[i] == '"') & (p[i + 1] == 'e'));
    }
}

/* The last window may overlap the one before. */
static bool may_mention_error(struct weir_slice data)
{
    if (data.n < WINDOW_BYTES + 1) {
        return data.n != 0;
    }
    char found[WINDOW_BYTES] = {0};
    uint64_t halves[2];
    size_t last = data.n - (WINDOW_BYTES + 1);
    for (size_t at = 0; at < last; at += WINDOW_BYTES) {
        look_for_error(data.p + at, found);
    }
    look_for_error(data.p + last, found);
    memcpy(halves, found, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

/* As a name or a whole string: with its quotes it is found faster, and not in what a model says. */
static bool mentions_error(struct weir_slice data)
{
    static const char error[] = "\"error\"";
    return may_mention_error(data) && memmem(data.p, data.n, error, sizeof error - 1) != NULL;
}

static bool is_error_object(const struct weir_json *j)
{
    if (weir_json_get_set(j, 0, WEIR_SLICE("error")) != WEIR_JSON_NONE) {
        return true;
    }
    uint32_t object = weir_json_get_set(j, 0, WEIR_SLICE("object"));
    return object != WEIR_JSON_NONE && weir_json_type(j, object) == WEIR_JSON_STRING &&
           weir_json_string_eq(j, object, WEIR_SLICE("error")) &&
           weir_json_get(j, 0, WEIR_SLICE("choices")) == WEIR_JSON_NONE;
}

bool weir_openai_answer_is_error(const struct weir_sse_event *event)
{
    if (weir_slice_eq(event->name, WEIR_SLICE("error"))) {
        return true;
    }
    if (!mentions_error(event->data)) {
        return false;
    }
    struct weir_json_tape tape = {0};
    struct weir_json j;
    bool is_error =
        weir_json_parse_reuse(&j, event->data, NULL, &tape, NULL) == 0 && is_error_object(&j);
    weir_json_tape_dispose(&tape);
    return is_error;
}

static bool is_string(const struct weir_json *j, uint32_t at)
{
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_STRING;
}

/* `detail` of FastAPI: a text, or a list of what is wrong, whose first entry is used. */
static uint32_t find_detail(const struct weir_json *j)
{
    uint32_t detail = weir_json_get_set(j, 0, WEIR_SLICE("detail"));
    if (detail != WEIR_JSON_NONE && weir_json_type(j, detail) == WEIR_JSON_ARRAY) {
        uint32_t first = weir_json_first(j, detail);
        return first != WEIR_JSON_NONE ? weir_json_get(j, first, WEIR_SLICE("msg")) : first;
    }
    return detail;
}

static uint32_t find_message(const struct weir_json *j)
{
    uint32_t error = weir_json_get_set(j, 0, WEIR_SLICE("error"));
    uint32_t inner =
        error != WEIR_JSON_NONE ? weir_json_get(j, error, WEIR_SLICE("message")) : error;
    uint32_t candidates[] = {inner, error, weir_json_get(j, 0, WEIR_SLICE("message")),
                             find_detail(j)};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        if (is_string(j, candidates[i])) {
            return candidates[i];
        }
    }
    return WEIR_JSON_NONE;
}

/* A status as a number, or as three digits in a string; 0 when it is neither. */
static int status_at(const struct weir_json *j, uint32_t at)
{
    uint64_t value = 0;
    if (at == WEIR_JSON_NONE) {
        return 0;
    }
    if (weir_json_type(j, at) == WEIR_JSON_STRING) {
        struct weir_slice raw = weir_json_raw(j, at);
        weir_slice_u64(weir_slice_sub(raw, 1, raw.n - 1), &value);
    } else {
        weir_json_u64(j, at, &value);
    }
    return value >= 400 && value <= 599 ? (int)value : 0;
}

/* The object that has `code`, `param` and the like: `error`, or with older servers the whole. */
static uint32_t error_holder(const struct weir_json *j)
{
    uint32_t error = weir_json_get_set(j, 0, WEIR_SLICE("error"));
    return error != WEIR_JSON_NONE && weir_json_type(j, error) == WEIR_JSON_OBJECT ? error : 0;
}

static int find_status(const struct weir_json *j)
{
    static const char *const names[] = {"code", "status", "status_code"};
    uint32_t holder = error_holder(j);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int status = status_at(j, weir_json_get(j, holder, weir_slice_cstr(names[i])));
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* As JSON, where it has the form of a name: it is passed on to callers. */
static struct weir_slice name_at(const struct weir_json *j, const char *name,
                                 struct weir_arena *arena)
{
    enum { MAX_NAME_BYTES = 64 };
    uint32_t holder = error_holder(j);
    uint32_t at = weir_json_get_set(j, holder, weir_slice_cstr(name));
    if (!is_string(j, at)) {
        return (struct weir_slice){0};
    }
    struct weir_slice raw = weir_json_raw(j, at);
    for (size_t i = 1; i + 1 < raw.n; i++) {
        char c = raw.p[i];
        bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_alnum && (c == '\0' || strchr("_.[]/-", c) == NULL)) {
            return (struct weir_slice){0};
        }
    }
    bool is_name = raw.n > 2 && raw.n - 2 <= MAX_NAME_BYTES;
    return is_name ? weir_arena_dup(arena, raw) : (struct weir_slice){0};
}

/* A name, or a number as small as a status. */
static struct weir_slice code_at(const struct weir_json *j, struct weir_arena *arena)
{
    enum { MAX_CODE = 999999 };
    uint32_t at = weir_json_get_set(j, error_holder(j), WEIR_SLICE("code"));
    uint64_t value;
    if (at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_NUMBER &&
        weir_json_u64(j, at, &value) == 0 && value <= MAX_CODE) {
        return weir_slice_cstr(weir_arena_printf(arena, "%llu", (unsigned long long)value));
    }
    return name_at(j, "code", arena);
}

static void read_error(struct weir_fault *fault, struct weir_slice body, bool wants_status,
                       struct weir_arena *arena)
{
    struct weir_json_tape tape = {0};
    struct weir_json j;
    fault->message = (struct weir_slice){0};
    if (body.n <= MAX_ERROR_BYTES && weir_json_parse_reuse(&j, body, NULL, &tape, NULL) == 0) {
        uint32_t message = find_message(&j);
        if (message != WEIR_JSON_NONE) {
            fault->message = weir_fault_message(arena, weir_json_string(&j, message, arena));
        }
        fault->status = wants_status ? find_status(&j) : fault->status;
        fault->code = code_at(&j, arena);
        fault->param = name_at(&j, "param", arena);
    }
    weir_json_tape_dispose(&tape);
}

void weir_openai_answer_message(struct weir_fault *fault, struct weir_slice body,
                                struct weir_arena *arena)
{
    read_error(fault, body, false, arena);
}

void weir_openai_answer_event(struct weir_fault *fault, struct weir_slice data,
                              struct weir_arena *arena)
{
    fault->status = 0;
    read_error(fault, data, true, arena);
}

static const char *read_whole(struct weir_json *j, struct weir_slice body,
                              struct weir_json_tape *tape, struct weir_arena *arena)
{
    static const struct weir_json_limits limits = {.max_nodes = MAX_NODES};
    struct weir_json_error err;
    if (weir_json_parse_reuse(j, body, &limits, tape, &err) == 0) {
        return NULL;
    }
    return weir_arena_printf(arena, "not JSON that can be read: %s at byte %zu of %zu", err.what,
                             err.at_byte, body.n);
}

const char *weir_openai_answer_check(struct weir_slice body, struct weir_arena *arena)
{
    struct weir_json_tape tape = {0};
    struct weir_json j;
    const char *why = read_whole(&j, body, &tape, arena);
    weir_json_tape_dispose(&tape);
    return why;
}

const char *weir_openai_answer_count(struct weir_slice body, struct weir_arena *arena,
                                     uint64_t *count)
{
    struct weir_json_tape tape = {0};
    struct weir_json j;
    const char *why = read_whole(&j, body, &tape, arena);
    if (why == NULL) {
        uint32_t at = weir_json_get_set(&j, 0, WEIR_SLICE("count"));
        if (at == WEIR_JSON_NONE || weir_json_u64(&j, at, count) != 0) {
            why = "`count` is missing, or not a whole number from 0";
        }
    }
    weir_json_tape_dispose(&tape);
    return why;
}
