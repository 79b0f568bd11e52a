/*
 * One pass, no recursion, no stack: while a container is open its own node carries what a stack
 * would.
 *
 *   next   the container around it      becomes the node after it
 *   n      items so far
 *   end    which names it has, as 32     becomes its last byte
 *          bits of a cheap hash
 *
 * A name whose bit is still clear cannot repeat an earlier one. With its bit set the few names
 * before it are looked through; objects of many members are checked once, when they close, with a
 * hash table laid behind the nodes. So finding duplicates is free for usual objects and linear for
 * hostile ones.
 *
 * The functions take and return the place in the source, NULL on failure: it stays in a register.
 */
#include "wire/json.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "wire/json_int.h"
#include "wire/json_scan.h"

#include <stdlib.h>

enum { DEFAULT_DEPTH = 64, SMALLEST_TAPE = 64 };

enum { COPY_BYTES = 16 * 1024 }; /* a tape up to this is copied, a larger one cut to size */

#define LIKELY(x) __builtin_expect(!!(x), 1)

struct reader {
    const char *base;
    const char *end;
    struct weir_json_node *nodes; /* of tape */
    uint32_t n_nodes;
    uint32_t limit; /* how many nodes fit now */
    uint32_t open;  /* innermost open container, or WEIR_JSON_NONE */
    uint32_t depth;
    uint32_t max_depth;
    uint32_t max_nodes;
    struct weir_json_tape *tape;
    const char *where; /* of the failure */
    const char *what;
    enum weir_json_limit over;
    int rc;
};

__attribute__((noinline, cold)) static const char *fail(struct reader *r, const char *where,
                                                        const char *what)
{
    r->where = where;
    r->what = what;
    r->rc = WEIR_EBAD;
    return NULL;
}

__attribute__((noinline, cold)) static const char *
refuse(struct reader *r, const char *where, enum weir_json_limit over, const char *what)
{
    r->where = where;
    r->what = what;
    r->over = over;
    r->rc = WEIR_ELIMIT;
    return NULL;
}

static inline uint32_t offset(const struct reader *r, const char *p)
{
    return (uint32_t)(p - r->base);
}

/* Room on the tape for `need` nodes in all, whatever max_nodes says. */
static void make_room(struct reader *r, size_t need)
{
    struct weir_json_tape *tape = r->tape;
    if (need > tape->cap) {
        /* A source under 4 GiB cannot ask for more, not even with a table of names behind it. */
        WEIR_ASSERT(need <= UINT32_MAX);
        size_t cap = (size_t)tape->cap * 2;
        cap = cap > r->max_nodes ? r->max_nodes : cap;
        cap = cap < need ? need : cap;
        cap = cap > UINT32_MAX ? UINT32_MAX : cap;
        tape->nodes = weir_mem_realloc(tape->nodes, cap * sizeof *tape->nodes);
        tape->cap = (uint32_t)cap;
    }
    r->nodes = tape->nodes;
    r->limit = tape->cap < r->max_nodes ? tape->cap : r->max_nodes;
}

__attribute__((noinline, cold)) static bool grow(struct reader *r, const char *p)
{
    if (r->n_nodes == r->max_nodes) {
        refuse(r, p, WEIR_JSON_NODES, "too many values");
        return false;
    }
    make_room(r, (size_t)r->n_nodes + 1);
    return true;
}

/* Claims the next node. Pointers to nodes are void afterwards. */
static inline struct weir_json_node *push(struct reader *r, const char *p)
{
    if (!LIKELY(r->n_nodes != r->limit) && !grow(r, p)) {
        return NULL;
    }
    return &r->nodes[r->n_nodes++];
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *skip_space(const char *p, const char *end)
{
    while (p != end && (unsigned char)*p <= ' ' && is_space(*p)) {
        p++;
    }
    return p;
}

/* The four hex digits at p; fails at the first byte that is not one. */
static const char *read_hex4(struct reader *r, const char *p, int32_t *unit)
{
    *unit = r->end - p >= 4 ? weir_json__hex4(p) : -1;
    if (*unit >= 0) {
        return p + 4;
    }
    const char *digits = "0123456789abcdefABCDEF";
    while (p != r->end && *p != '\0' && strchr(digits, *p) != NULL) {
        p++;
    }
    return fail(r, p, p == r->end ? "unterminated string" : "expected four hex digits after `\\u`");
}

/* A \u escape, p behind the u. A high half takes the low half that follows along. */
static const char *read_unicode(struct reader *r, const char *p, struct weir_json_node *node)
{
    int32_t unit;
    p = read_hex4(r, p, &unit);
    if (p == NULL || unit < 0xD800 || unit > 0xDFFF) {
        return p;
    }
    if (unit < 0xDC00 && r->end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        int32_t second = weir_json__hex4(p + 2);
        if (second >= 0xDC00 && second <= 0xDFFF) {
            return p + 6;
        }
    }
    node->has_lone_surrogate = true;
    return p;
}

/* An escape, p behind the backslash. */
static const char *read_escape(struct reader *r, const char *p, struct weir_json_node *node)
{
    if (p == r->end) {
        return fail(r, p, "unterminated string");
    }
    node->is_escaped = true;
    node->n++;
    switch (*p) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return p + 1;
    case 'u':
        return read_unicode(r, p + 1, node);
    default:
        return fail(r, p, "unknown escape");
    }
}

/* Counts the run [from, to) into the string, checking it unless it is all ASCII. */
static bool take_run(struct reader *r, const char *from, const char *to, uint64_t high,
                     struct weir_json_node *node)
{
    struct weir_slice run = weir_slice_make(from, (size_t)(to - from));
    if (high == 0) {
        node->n += (uint32_t)run.n;
        return true;
    }
    size_t valid = weir_utf8_valid_prefix(run);
    if (valid != run.n) {
        fail(r, from + valid, "invalid UTF-8");
        return false;
    }
    node->n += (uint32_t)weir_utf8_count(run);
    return true;
}

/*
 * The rest of a string that is not plain ASCII up to its quote: the run [from, stop) is scanned,
 * not yet counted.
 */
__attribute__((noinline)) static const char *read_rest(struct reader *r,
                                                       struct weir_json_node *node,
                                                       const char *from, const char *stop,
                                                       uint64_t high)
{
    for (;;) {
        if (!take_run(r, from, stop, high, node)) {
            return NULL;
        }
        if (stop == r->end) {
            return fail(r, stop, "unterminated string");
        }
        if (*stop == '"') {
            return stop + 1;
        }
        if (*stop != '\\') {
            return fail(r, stop, "control character in a string");
        }
        from = read_escape(r, stop + 1, node);
        if (from == NULL) {
            return NULL;
        }
        high = 0;
        stop = weir_json__scan(from, r->end, &high);
    }
}

/* A string, p at its quote. */
static inline const char *read_string(struct reader *r, const char *p)
{
    struct weir_json_node *node = push(r, p);
    if (node == NULL) {
        return NULL;
    }
    uint64_t high = 0;
    const char *stop = weir_json__scan(p + 1, r->end, &high);
    bool is_simple = stop != r->end && *stop == '"' && high == 0;
    *node = (struct weir_json_node){.start = offset(r, p),
                                    .end = offset(r, stop) + 1,
                                    .next = r->n_nodes,
                                    .n = is_simple ? (uint32_t)(stop - p) - 1 : 0,
                                    .type = WEIR_JSON_STRING};
    if (LIKELY(is_simple)) {
        return stop + 1;
    }
    p = read_rest(r, node, p + 1, stop, high);
    node->end = p != NULL ? offset(r, p) : 0;
    return p;
}

static inline const char *skip_digits(const char *p, const char *end)
{
    while (p != end && (unsigned char)(*p - '0') <= 9) {
        p++;
    }
    return p;
}

/* One digit or more. */
static inline const char *read_digits(struct reader *r, const char *p)
{
    const char *end = skip_digits(p, r->end);
    return end != p ? end : fail(r, p, "expected a digit");
}

/* Fraction and exponent, p at the point or the e. */
static const char *read_fraction(struct reader *r, const char *p)
{
    if (*p == '.') {
        p = read_digits(r, p + 1);
    }
    if (p == NULL || p == r->end || (*p != 'e' && *p != 'E')) {
        return p;
    }
    p++;
    if (p != r->end && (*p == '+' || *p == '-')) {
        p++;
    }
    return read_digits(r, p);
}

static const char *read_number(struct reader *r, const char *start)
{
    struct weir_json_node *node = push(r, start);
    if (node == NULL) {
        return NULL;
    }
    const char *first = start + (*start == '-');
    const char *p = read_digits(r, first);
    if (p == NULL) {
        return NULL;
    }
    if (*first == '0' && p - first > 1) {
        return fail(r, first + 1, "leading zero in a number");
    }
    bool is_integer = true;
    if (p != r->end && (*p == '.' || *p == 'e' || *p == 'E')) {
        is_integer = false;
        p = read_fraction(r, p);
        if (p == NULL) {
            return NULL;
        }
    }
    *node = (struct weir_json_node){.start = offset(r, start),
                                    .end = offset(r, p),
                                    .next = r->n_nodes,
                                    .type = WEIR_JSON_NUMBER,
                                    .is_integer = is_integer};
    return p;
}

/* A literal that is not there: fails at the first byte that differs. */
__attribute__((noinline, cold)) static const char *bad_literal(struct reader *r, const char *p,
                                                               const char *word, const char *what)
{
    while (p != r->end && *p == *word) {
        p++;
        word++;
    }
    return fail(r, p, what);
}

struct literal {
    const char *word;
    uint32_t n;
    enum weir_json_type type;
    const char *what;
};

static inline const char *read_literal(struct reader *r, const char *p, struct literal lit)
{
    if ((size_t)(r->end - p) < lit.n || memcmp(p, lit.word, lit.n) != 0) {
        return bad_literal(r, p, lit.word, lit.what);
    }
    struct weir_json_node *node = push(r, p);
    if (node == NULL) {
        return NULL;
    }
    *node = (struct weir_json_node){.start = offset(r, p),
                                    .end = offset(r, p) + lit.n,
                                    .next = r->n_nodes,
                                    .type = (uint8_t)lit.type};
    return p + lit.n;
}

static inline const char *open_container(struct reader *r, const char *p, enum weir_json_type type)
{
    if (!LIKELY(r->depth != r->max_depth)) {
        return refuse(r, p, WEIR_JSON_DEPTH, "nested too deep");
    }
    struct weir_json_node *node = push(r, p);
    if (node == NULL) {
        return NULL;
    }
    *node = (struct weir_json_node){
        .start = offset(r, p), .end = 0, .next = r->open, .n = 0, .type = (uint8_t)type};
    r->open = r->n_nodes - 1;
    r->depth++;
    return p + 1;
}

__attribute__((noinline, cold)) static const char *no_value(struct reader *r, const char *p)
{
    if (p == r->base && r->end - p >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
        return fail(r, p, "byte order mark");
    }
    return fail(r, p, "expected a value");
}

/* A value, p at its first byte. Of a container only the bracket. */
static inline const char *read_value(struct reader *r, const char *p)
{
    if (p == r->end) {
        return no_value(r, p);
    }
    switch (*p) {
    case '"':
        return read_string(r, p);
    case '{':
        return open_container(r, p, WEIR_JSON_OBJECT);
    case '[':
        return open_container(r, p, WEIR_JSON_ARRAY);
    case 't':
        return read_literal(r, p, (struct literal){"true", 4, WEIR_JSON_TRUE, "expected `true`"});
    case 'f':
        return read_literal(r, p,
                            (struct literal){"false", 5, WEIR_JSON_FALSE, "expected `false`"});
    case 'n':
        return read_literal(r, p, (struct literal){"null", 4, WEIR_JSON_NULL, "expected `null`"});
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return read_number(r, p);
    default:
        return no_value(r, p);
    }
}

static inline struct weir_json view(const struct reader *r)
{
    return (struct weir_json){.src = weir_slice_make(r->base, (size_t)(r->end - r->base)),
                              .nodes = r->nodes,
                              .n_nodes = r->n_nodes};
}

/* Is the name at `key` one of those before it in the open object? */
__attribute__((noinline)) static bool is_repeated(const struct reader *r, uint32_t key)
{
    struct weir_json j = view(r);
    for (uint32_t k = r->open + 1; k != key; k = j.nodes[k + 1].next) {
        if (weir_json__same_string(&j, k, &j, key, false)) {
            return true;
        }
    }
    return false;
}

/* One bit out of 32 for the name; all of them when only unescaping could tell. */
static inline uint32_t name_bits(const struct reader *r, const struct weir_json_node *key)
{
    if (key->is_escaped) {
        return UINT32_MAX;
    }
    /* An empty name gives its quotes. */
    uint32_t first = (unsigned char)r->base[key->start + 1];
    uint32_t last = (unsigned char)r->base[key->end - 2];
    uint32_t mixed = ((key->n << 16) ^ (first << 8) ^ last) * 0x9E3779B1u;
    return 1u << (mixed >> 27);
}

/* A name and its colon, up to its value. */
static inline const char *read_name(struct reader *r, const char *p)
{
    if (p == r->end || *p != '"') {
        return fail(r, p, "expected a name in double quotes");
    }
    uint32_t key = r->n_nodes;
    const char *start = p;
    p = read_string(r, p);
    if (p == NULL) {
        return NULL;
    }
    struct weir_json_node *object = &r->nodes[r->open];
    if (object->n <= WEIR_JSON__FEW_MEMBERS) {
        uint32_t bits = name_bits(r, &r->nodes[key]);
        if ((object->end & bits) != 0 && is_repeated(r, key)) {
            return fail(r, start, "duplicate key");
        }
        object->end |= bits;
    }
    p = skip_space(p, r->end);
    if (p == r->end || *p != ':') {
        return fail(r, p, "expected `:`");
    }
    return skip_space(p + 1, r->end);
}

/* Compares the names of a large object that just closed. */
__attribute__((noinline)) static bool check_names(struct reader *r, uint32_t object)
{
    size_t n_bytes = weir_json__names_slots(r->nodes[object].n) * sizeof(struct weir_json__slot);
    make_room(r, r->n_nodes + n_bytes / sizeof *r->nodes + 1);
    struct weir_json j = view(r);
    struct weir_json__names names;
    uint32_t again = weir_json__names_fill(&names, &j, object, (void *)&r->nodes[r->n_nodes]);
    if (again != WEIR_JSON_NONE) {
        fail(r, r->base + r->nodes[again].start, "duplicate key");
    }
    return again == WEIR_JSON_NONE;
}

/* p behind the bracket. */
static inline const char *close_container(struct reader *r, const char *p)
{
    uint32_t closed = r->open;
    struct weir_json_node *node = &r->nodes[closed];
    r->open = node->next;
    r->depth--;
    node->end = offset(r, p);
    node->next = r->n_nodes;
    if (node->type == WEIR_JSON_OBJECT && !LIKELY(node->n <= WEIR_JSON__FEW_MEMBERS) &&
        !check_names(r, closed)) {
        return NULL;
    }
    return p;
}

__attribute__((noinline, cold)) static const char *no_comma(struct reader *r, const char *p)
{
    bool is_object = r->nodes[r->open].type == WEIR_JSON_OBJECT;
    if (p == r->end) {
        return fail(r, p, is_object ? "unterminated object" : "unterminated array");
    }
    return fail(r, p, is_object ? "expected `,` or `}`" : "expected `,` or `]`");
}

/* The next item of the open container, or its end. */
static inline const char *read_item(struct reader *r, const char *p)
{
    struct weir_json_node *box = &r->nodes[r->open];
    bool is_object = box->type == WEIR_JSON_OBJECT;
    p = skip_space(p, r->end);
    if (p != r->end && *p == (is_object ? '}' : ']')) {
        return close_container(r, p + 1);
    }
    if (box->n++ != 0) {
        if (p == r->end || *p != ',') {
            return no_comma(r, p);
        }
        p = skip_space(p + 1, r->end);
    } else if (p == r->end) {
        return no_comma(r, p);
    }
    if (is_object) {
        p = read_name(r, p);
    }
    return p != NULL ? read_value(r, p) : NULL;
}

static void read_document(struct reader *r)
{
    const char *p = read_value(r, skip_space(r->base, r->end));
    while (p != NULL && r->open != WEIR_JSON_NONE) {
        p = read_item(r, p);
    }
    if (p == NULL) {
        return;
    }
    p = skip_space(p, r->end);
    if (p != r->end) {
        fail(r, p, "expected nothing after the value");
    }
}

static void locate(const struct reader *r, struct weir_json_error *err)
{
    *err = (struct weir_json_error){.limit = r->over,
                                    .at_byte = (size_t)(r->where - r->base),
                                    .line = 1,
                                    .column = 1,
                                    .what = r->what};
    const char *line = r->base;
    const char *nl;
    while (line != r->where && (nl = memchr(line, '\n', (size_t)(r->where - line))) != NULL) {
        err->line++;
        line = nl + 1;
    }
    err->column = (size_t)(r->where - line) + 1;
}

int weir_json_parse_reuse(struct weir_json *j, struct weir_slice src,
                          const struct weir_json_limits *limits, struct weir_json_tape *tape,
                          struct weir_json_error *err)
{
    static const struct weir_json_limits none;
    limits = limits != NULL ? limits : &none;
    src.p = src.n != 0 ? src.p : "";
    struct reader r = {.base = src.p,
                       .end = src.p + src.n,
                       .open = WEIR_JSON_NONE,
                       .max_depth = limits->max_depth != 0 ? limits->max_depth : DEFAULT_DEPTH,
                       .max_nodes = limits->max_nodes != 0 ? limits->max_nodes : UINT32_MAX,
                       .tape = tape};
    if (src.n >= UINT32_MAX) {
        refuse(&r, r.base, WEIR_JSON_BYTES, "larger than 4 GiB");
    } else {
        make_room(&r, SMALLEST_TAPE);
        read_document(&r);
    }
    *j = r.rc == 0 ? view(&r) : (struct weir_json){0};
    if (r.rc != 0 && err != NULL) {
        locate(&r, err);
    }
    return r.rc;
}

int weir_json_parse(struct weir_json *j, struct weir_slice src,
                    const struct weir_json_limits *limits, struct weir_arena *arena,
                    struct weir_json_error *err)
{
    /* Read on the heap, then keep exactly what is needed: an arena cannot take growth back. */
    struct weir_json_tape tape = {0};
    int rc = weir_json_parse_reuse(j, src, limits, &tape, err);
    size_t n_bytes = j->n_nodes * sizeof *j->nodes;
    if (rc == 0 && n_bytes <= COPY_BYTES) {
        j->nodes = memcpy(weir_arena_alloc(arena, n_bytes), j->nodes, n_bytes);
    } else if (rc == 0) {
        void *kept = weir_mem_realloc(tape.nodes, n_bytes);
        weir_arena_take(arena, kept, n_bytes);
        j->nodes = kept;
        tape = (struct weir_json_tape){0};
    }
    weir_json_tape_dispose(&tape);
    return rc;
}

void weir_json_tape_dispose(struct weir_json_tape *tape)
{
    free(tape->nodes);
    *tape = (struct weir_json_tape){0};
}
