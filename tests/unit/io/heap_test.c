#include "io/heap.h"

#include "unit/cmocka_all.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

static const void *get_malloc(void)
{
    CRYPTO_malloc_fn alloc;
    CRYPTO_realloc_fn resize;
    CRYPTO_free_fn release;
    CRYPTO_get_mem_functions(&alloc, &resize, &release);
    return (const void *)(uintptr_t)alloc;
}

static bool can_hash(void)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    return EVP_Digest("abc", 3, sum, &n, EVP_sha256(), NULL) == 1 && n == 32;
}

/* Each in a process of its own: libraries are told once, before they are used. Returns the status.
 */
static int run(int (*child)(void))
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        _exit(child());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int use_first(void)
{
    const void *own = get_malloc();
    void *used = OPENSSL_malloc(16);
    weir_heap_share();
    OPENSSL_free(used);
    return get_malloc() == own && can_hash() ? 0 : 1;
}

static int share_first(void)
{
    const void *own = get_malloc();
    weir_heap_share();
    return get_malloc() != own && can_hash() ? 0 : 1;
}

static void openssl_takes_our_memory(void **state)
{
    (void)state;
    assert_int_equal(run(share_first), 0);
}

/* What is loaded with the program, an agent for instance, may have done so. */
static void openssl_that_was_used_before_keeps_its_own(void **state)
{
    (void)state;
    assert_int_equal(run(use_first), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openssl_takes_our_memory),
        cmocka_unit_test(openssl_that_was_used_before_keeps_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
