/* The manual's table of limits is that of the code, row by row. */
#include "conf/conf_limits.h"

#include "unit/manual.h"

#define NUMBER_ROW(key, default_, least, most, manual)                                             \
    put_default(&table, #key, default_);                                                           \
    weir_buf_printf(&table, "%u to %u | %s |\n", (unsigned)(least), (unsigned)(most), (manual));
#define SECONDS_ROW(key, default_, manual)                                                         \
    weir_buf_printf(&table, "| `%s` | %u s | | %s |\n", #key, (unsigned)(default_), (manual));
#define SHARE_ROW(key, default_, manual)                                                           \
    weir_buf_printf(&table, "| `%s` | `%g of memory` | | %s |\n", #key, (default_), (manual));

/* 0: worked out from another limit. */
static void put_default(struct weir_buf *to, const char *key, unsigned value)
{
    weir_buf_printf(to, "| `%s` | ", key);
    if (value != 0) {
        weir_buf_printf(to, "%u ", value);
    }
    weir_buf_printf(to, "| ");
}

static void the_manual_has_the_table_of_limits(void **state)
{
    (void)state;
    struct weir_buf table = {0};
    weir_buf_printf(&table, "| limit | default | range | what happens |\n"
                            "| --- | --- | --- | --- |\n");
    WEIR_CONF_LIMITS(NUMBER_ROW, NUMBER_ROW, SECONDS_ROW, SHARE_ROW)
    manual_expect("docs/operations.md", &table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_manual_has_the_table_of_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
