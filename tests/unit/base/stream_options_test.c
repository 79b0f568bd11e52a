/* The manual's tables of the streaming options are those of the code, row by row. */
#include "base/stream_options.h"

#include "unit/manual.h"

#define HEAD "| key | default | range | by request | |\n| --- | --- | --- | --- | --- |\n"

enum who { OPERATOR, REQUEST };

static const char *by(enum who who)
{
    return who == REQUEST ? "yes" : "";
}

#define NUMBER_ROW(key, member, default_, least, most, who, manual)                                \
    weir_buf_printf(to, "| `%s` | %u | %u to %u | %s | %s |\n", #key, (unsigned)(default_),        \
                    (unsigned)(least), (unsigned)(most), by(who), (manual));
#define AUTO_ROW(key, member, default_, least, most, who, manual)                                  \
    weir_buf_printf(to, "| `%s` | %u | %u to %u, `auto` | %s | %s |\n", #key,                      \
                    (unsigned)(default_), (unsigned)(least), (unsigned)(most), by(who), (manual));
#define REASONING_ROW(key, member, default_, least, most, who, manual)                             \
    weir_buf_printf(to, "| `reasoning.%s` | the same | %u to %u | %s | %s |\n", #key,              \
                    (unsigned)(least), (unsigned)(most), by(who), (manual));
#define FLAG_ROW(key, member, default_, who, manual)                                               \
    weir_buf_printf(to, "| `%s` | `%s` | | %s | %s |\n", #key, (default_) ? "true" : "false",      \
                    by(who), (manual));
#define WORD_ROW(key, member, tag, default_, who, manual)                                          \
    weir_buf_printf(to, "| `%s` | `%s` | | %s | %s |\n", #key,                                     \
                    ((const char *const[]){WEIR_WORDS_##tag})[default_], by(who), (manual));
#define LIST_ROW(key, member, default_, manual)                                                    \
    weir_buf_printf(to, "| `%s` | `[%s]` | | | %s |\n", #key, (default_), (manual));

static void put_batching(struct weir_buf *to)
{
    WEIR_STREAM_PACE(NUMBER_ROW, AUTO_ROW, FLAG_ROW, WORD_ROW)
    WEIR_STREAM_REASONING(REASONING_ROW)
    WEIR_STREAM_JOINING(NUMBER_ROW, FLAG_ROW, WORD_ROW, LIST_ROW)
}

static void put_coalescer(struct weir_buf *to)
{
    WEIR_STREAM_COALESCER(NUMBER_ROW, FLAG_ROW, WORD_ROW)
}

static void put_dedup(struct weir_buf *to)
{
    WEIR_STREAM_DEDUP(NUMBER_ROW, WORD_ROW)
}

static void expect_table(void (*put)(struct weir_buf *to))
{
    struct weir_buf table = {0};
    weir_buf_append(&table, WEIR_SLICE(HEAD));
    put(&table);
    manual_expect("docs/streaming.md", &table);
}

static void the_manual_has_the_table_of_batching(void **state)
{
    (void)state;
    expect_table(put_batching);
}

static void the_manual_has_the_table_of_the_coalescer(void **state)
{
    (void)state;
    expect_table(put_coalescer);
}

static void the_manual_has_the_table_of_dedup(void **state)
{
    (void)state;
    expect_table(put_dedup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_has_the_table_of_batching),
        cmocka_unit_test(the_manual_has_the_table_of_the_coalescer),
        cmocka_unit_test(the_manual_has_the_table_of_dedup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
