/*
 * What the JSON reader makes of documents, in a form another program can compare.
 * Usage: json_dump [MAX_DEPTH]
 *
 * Reads documents from standard input, each after its length in four bytes (lowest first), and
 * writes a line for each: `-` with byte and reason when refused, `+` with the values in order of
 * appearance when taken:
 *
 *   n t f                   null, true, false
 *   #SPELLING:I:U:F:W       number; as int64, as uint64, the bits of the double, that double as
 *                           the writer spells it; `-` for what it is not
 *   "HEX:N:LONE             string or key: UTF-8 of its value, code points, has a lone surrogate
 *   [N {N                   container of N items, which follow
 */
#include "base/err.h"
#include "wire/json.h"
#include "wire/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_number(const struct weir_json *j, uint32_t at)
{
    struct weir_slice raw = weir_json_raw(j, at);
    printf(" #%.*s:", (int)raw.n, raw.p);
    int64_t i;
    uint64_t u;
    double f;
    weir_json_i64(j, at, &i) == 0 ? printf("%" PRId64 ":", i) : printf("-:");
    weir_json_u64(j, at, &u) == 0 ? printf("%" PRIu64 ":", u) : printf("-:");
    if (weir_json_f64(j, at, &f) != 0) {
        printf("-:-");
        return;
    }
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    struct weir_buf b = {0};
    struct weir_json_write w;
    weir_json_write_init(&w, &b);
    weir_json_write_f64(&w, f);
    weir_json_write_finish(&w);
    printf("%016" PRIx64 ":%s", bits, weir_buf_cstr(&b));
    weir_buf_dispose(&b);
}

static void print_string(const struct weir_json *j, uint32_t at, struct weir_arena *arena)
{
    struct weir_slice value = weir_json_string(j, at, arena);
    printf(" \"");
    for (size_t i = 0; i < value.n; i++) {
        printf("%02x", (unsigned char)value.p[i]);
    }
    printf(":%" PRIu32 ":%d", j->nodes[at].n, j->nodes[at].has_lone_surrogate);
}

static void print_node(const struct weir_json *j, uint32_t at, struct weir_arena *arena)
{
    switch (weir_json_type(j, at)) {
    case WEIR_JSON_NULL:
        printf(" n");
        break;
    case WEIR_JSON_TRUE:
        printf(" t");
        break;
    case WEIR_JSON_FALSE:
        printf(" f");
        break;
    case WEIR_JSON_NUMBER:
        print_number(j, at);
        break;
    case WEIR_JSON_STRING:
        print_string(j, at, arena);
        break;
    case WEIR_JSON_ARRAY:
        printf(" [%" PRIu32, j->nodes[at].n);
        break;
    case WEIR_JSON_OBJECT:
        printf(" {%" PRIu32, j->nodes[at].n);
        break;
    }
}

static void dump(struct weir_slice src, const struct weir_json_limits *limits)
{
    struct weir_arena arena = {0};
    struct weir_json j;
    struct weir_json_error err;
    if (weir_json_parse(&j, src, limits, &arena, &err) != 0) {
        printf("- %zu %s", err.at_byte, err.what);
    } else {
        printf("+");
        for (uint32_t at = 0; at < j.n_nodes; at++) {
            print_node(&j, at, &arena);
        }
    }
    printf("\n");
    weir_arena_dispose(&arena);
}

static void read_all(struct weir_buf *in)
{
    size_t got;
    do {
        weir_buf_reserve(in, 65536);
        got = fread(in->p + in->n, 1, 65536, stdin);
        in->n += got;
    } while (got != 0);
}

int main(int argc, char **argv)
{
    struct weir_json_limits limits = {0};
    if (argc > 1) {
        limits.max_depth = (uint32_t)strtoul(argv[1], NULL, 10);
    }
    struct weir_buf in = {0};
    read_all(&in);
    struct weir_slice rest = weir_buf_slice(&in);
    while (rest.n >= 4) {
        const unsigned char *p = (const unsigned char *)rest.p;
        size_t n = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
        if (n > rest.n - 4) {
            fprintf(stderr, "input ends inside a document\n");
            return 1;
        }
        dump(weir_slice_sub(rest, 4, 4 + n), &limits);
        rest = weir_slice_sub(rest, 4 + n, rest.n);
    }
    weir_buf_dispose(&in);
    return 0;
}
