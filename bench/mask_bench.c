/*
 * What putting values back costs a streamed token, in CPU time: before the guard and behind it, as
 * in task/unmask.h. Aim: at most 0.5 µs a token; nothing is held back where the map is empty.
 *
 *   mask_bench [N_TOKENS]
 */
#include "task/unmask.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct weir_mask *make_map(struct weir_arena *arena, size_t n_values)
{
    struct weir_mask *m = weir_mask_new(arena, WEIR_SLICE("a key"), WEIR_SLICE("route:r"));
    for (size_t i = 0; i < n_values; i++) {
        const char *value = weir_arena_printf(arena, "user%zu@example.org", i);
        weir_mask_add(m, &(struct weir_mask_value){.type = WEIR_SLICE("email_address"),
                                                   .text = weir_slice_cstr(value),
                                                   .is_restored = true});
    }
    weir_mask_seal(m);
    return m;
}

static void measure(size_t n_values, size_t n_tokens)
{
    static const char *const words[] = {" the",   " Email",  " sent",   " to",  " Ms",
                                        ".",      " EMAIL_", "ADDRESS", " and", " more",
                                        " words", " every",  " day"};
    struct weir_arena arena = {0};
    struct weir_policy_mask policy = {.unknown_output = WEIR_POLICY_REDACT};
    struct weir_unmask *u = weir_unmask_new(
        &(struct weir_unmask_options){.mask = make_map(&arena, n_values), .policy = &policy});
    struct weir_buf out = {0};
    size_t n_held = 0;
    double start = now_ns();
    for (size_t i = 0; i < n_tokens; i++) {
        struct weir_slice word = weir_slice_cstr(words[i % (sizeof words / sizeof words[0])]);
        struct weir_slice taken = weir_unmask_take(u, WEIR_CHANNEL_CONTENT, word);
        weir_buf_clear(&out);
        weir_unmask_leave(u, WEIR_CHANNEL_CONTENT, taken, 0, &out);
        n_held += out.n == 0;
    }
    double took = (now_ns() - start) / (double)n_tokens;
    printf("%4zu values in the map: %6.1f ns a token, %4.1f %% of the tokens wait\n", n_values,
           took, 100 * (double)n_held / (double)n_tokens);
    weir_unmask_free(u);
    weir_buf_dispose(&out);
    weir_arena_dispose(&arena);
}

int main(int argc, char **argv)
{
    size_t n_tokens = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000000;
    measure(0, n_tokens);
    measure(8, n_tokens);
    measure(1000, n_tokens);
    return 0;
}
