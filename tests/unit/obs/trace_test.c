#include "unit/cmocka_all.h"

#include "base/err.h"
#include "obs/trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define VALID "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static void test_parse_valid(void **state)
{
    (void)state;
    struct weir_trace t;
    assert_int_equal(weir_trace_parse(WEIR_SLICE(VALID), &t), 0);
    static const uint8_t trace_id[16] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                                         0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
    static const uint8_t span_id[8] = {0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7};
    assert_memory_equal(t.trace_id, trace_id, 16);
    assert_memory_equal(t.span_id, span_id, 8);
    assert_int_equal(t.flags, WEIR_TRACE_SAMPLED);
    char text[WEIR_TRACE_PARENT_BYTES + 1];
    weir_trace_format(&t, text);
    assert_string_equal(text, VALID);
}

static void test_parse_table(void **state)
{
    (void)state;
    static const struct {
        struct weir_slice text;
        int rc;
        uint8_t flags;
    } cases[] = {
        {WEIR_SLICE("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"), 0, 0},
        {WEIR_SLICE("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff"), 0, 1},
        {WEIR_SLICE("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe"), 0, 0},
        {WEIR_SLICE("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), 0, 1},
        {WEIR_SLICE("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"), 0, 1},
        {WEIR_SLICE("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-"), 0, 1},
        {WEIR_SLICE("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more"), WEIR_EBAD, 0},
        {WEIR_SLICE("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), WEIR_EBAD, 0},
        {WEIR_SLICE("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-"), WEIR_EBAD, 0},
        {WEIR_SLICE("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 "), WEIR_EBAD, 0},
        {WEIR_SLICE(" 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), WEIR_EBAD, 0},
        {WEIR_SLICE("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"), WEIR_EBAD, 0},
        {WEIR_SLICE("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), WEIR_EBAD, 0},
        {WEIR_SLICE("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"), WEIR_EBAD, 0},
        {WEIR_SLICE("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"), WEIR_EBAD, 0},
        {WEIR_SLICE("00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01"), WEIR_EBAD, 0},
        {WEIR_SLICE(""), WEIR_EBAD, 0},
        {{NULL, 0}, WEIR_EBAD, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weir_trace t = {.flags = 77};
        assert_int_equal(weir_trace_parse(cases[i].text, &t), cases[i].rc);
        assert_int_equal(t.flags, cases[i].rc == 0 ? cases[i].flags : 77);
    }
}

/* Any one byte that is not what stands there makes it invalid or another value, never a crash. */
static void test_parse_every_byte_changed(void **state)
{
    (void)state;
    for (size_t at = 0; at < WEIR_TRACE_PARENT_BYTES; at++) {
        for (int c = 0; c < 256; c++) {
            char text[] = VALID;
            text[at] = (char)c;
            struct weir_trace t;
            bool is_dash = at == 2 || at == 35 || at == 52;
            bool is_hex = c != 0 && strchr("0123456789abcdef", c) != NULL;
            bool is_good = is_dash ? c == '-' : is_hex;
            int rc = weir_trace_parse(weir_slice_make(text, WEIR_TRACE_PARENT_BYTES), &t);
            assert_int_equal(rc, is_good ? 0 : WEIR_EBAD);
        }
    }
}

static void test_every_prefix_is_bad(void **state)
{
    (void)state;
    for (size_t n = 0; n < WEIR_TRACE_PARENT_BYTES; n++) {
        char *exact = malloc(n + 1); /* so that reading beyond is seen */
        memcpy(exact, VALID, n);
        struct weir_trace t;
        assert_int_equal(weir_trace_parse(weir_slice_make(exact, n), &t), WEIR_EBAD);
        free(exact);
    }
}

static void test_start_and_child(void **state)
{
    (void)state;
    struct weir_trace a = {0};
    struct weir_trace b;
    struct weir_trace back;
    assert_false(weir_trace_is_set(&a));
    weir_trace_start(&a, true);
    assert_true(weir_trace_is_set(&a));
    assert_int_equal(a.flags, WEIR_TRACE_SAMPLED);
    weir_trace_child(&a, &b);
    assert_memory_equal(a.trace_id, b.trace_id, 16);
    assert_memory_not_equal(a.span_id, b.span_id, 8);
    assert_int_equal(b.flags, a.flags);
    weir_trace_child(&b, &b);
    assert_memory_equal(a.trace_id, b.trace_id, 16);
    char text[WEIR_TRACE_PARENT_BYTES + 1];
    weir_trace_format(&b, text);
    assert_int_equal(weir_trace_parse(weir_slice_cstr(text), &back), 0);
    assert_memory_equal(&back, &b, sizeof b);
    weir_trace_start(&a, false);
    assert_int_equal(a.flags, 0);
}

static void test_hex(void **state)
{
    (void)state;
    struct weir_trace t;
    char id[WEIR_TRACE_ID_BYTES + 1];
    assert_int_equal(weir_trace_parse(WEIR_SLICE(VALID), &t), 0);
    weir_trace_id_hex(&t, id);
    assert_string_equal(id, "4bf92f3577b34da6a3ce929d0e0e4736");
}

enum { N_IDS = 2000 };

static void *make_ids(void *arg)
{
    char(*ids)[WEIR_TRACE_ID_BYTES + 1] = arg;
    for (size_t i = 0; i < N_IDS; i++) {
        weir_trace_request_id(ids[i]);
    }
    return NULL;
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Two threads, each with its own generator: no id twice, only hexadecimal digits. */
static void test_request_ids_differ(void **state)
{
    (void)state;
    static char ids[2 * N_IDS][WEIR_TRACE_ID_BYTES + 1];
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_ids, ids), 0);
    make_ids(ids + N_IDS);
    pthread_join(thread, NULL);
    qsort(ids, (size_t)2 * N_IDS, sizeof ids[0], compare);
    for (size_t i = 0; i < (size_t)2 * N_IDS; i++) {
        assert_int_equal(strspn(ids[i], "0123456789abcdef"), WEIR_TRACE_ID_BYTES);
        assert_true(i == 0 || strcmp(ids[i - 1], ids[i]) != 0);
    }
}

/* Every bit is set about half of the time: 1000 of 2000 with a spread of 22; 200 is 9 of those. */
static void test_random_bits_are_even(void **state)
{
    (void)state;
    int n_set[64] = {0};
    for (int i = 0; i < 2000; i++) {
        uint64_t r = weir_trace_random();
        for (int b = 0; b < 64; b++) {
            n_set[b] += (int)(r >> b & 1);
        }
    }
    for (int b = 0; b < 64; b++) {
        assert_in_range(n_set[b], 800, 1200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_valid),
        cmocka_unit_test(test_parse_table),
        cmocka_unit_test(test_parse_every_byte_changed),
        cmocka_unit_test(test_every_prefix_is_bad),
        cmocka_unit_test(test_start_and_child),
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_request_ids_differ),
        cmocka_unit_test(test_random_bits_are_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
