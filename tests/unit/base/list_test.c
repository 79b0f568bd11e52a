#include "unit/cmocka_all.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

enum { N_NODES = 12 };

struct node {
    int before; /* so that the link is not at offset 0 */
    struct weir_list link;
    int id;
};

/* The list both ways must be what `ids` says. */
static void assert_list(const struct weir_list *head, const int *ids, size_t n)
{
    assert_int_equal(weir_list_is_empty(head), n == 0);
    if (n == 0) {
        assert_null(weir_list_first(head));
        return;
    }
    assert_ptr_equal(weir_list_first(head), head->next);
    const struct weir_list *at = head;
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(at->next->prev, at);
        at = at->next;
        assert_int_equal(WEIR_LIST_ENTRY(at, struct node, link)->id, ids[i]);
        assert_true(weir_list_is_linked(at));
    }
    assert_ptr_equal(at->next, head);
    assert_ptr_equal(head->prev, at);
}

static void test_zeroed_and_initialised_are_empty(void **state)
{
    (void)state;
    struct weir_list zero = {0};
    struct weir_list inited;
    weir_list_init(&inited);
    assert_list(&zero, NULL, 0);
    assert_list(&inited, NULL, 0);
    assert_false(weir_list_is_linked(&zero));
    assert_false(weir_list_is_linked(&inited));
    assert_null(weir_list_pop(&zero));
    assert_null(weir_list_pop(&inited));
    weir_list_remove(&zero);
    weir_list_remove(&inited);
    assert_list(&zero, NULL, 0);
}

static void test_order(void **state)
{
    (void)state;
    struct weir_list head = {0};
    struct node n[4] = {{.id = 0}, {.id = 1}, {.id = 2}, {.id = 3}};
    weir_list_prepend(&head, &n[1].link);
    weir_list_append(&head, &n[2].link);
    weir_list_prepend(&head, &n[0].link);
    weir_list_append(&head, &n[3].link);
    assert_list(&head, (const int[]){0, 1, 2, 3}, 4);
    weir_list_remove(&n[2].link);
    assert_false(weir_list_is_linked(&n[2].link));
    weir_list_remove(&n[2].link); /* twice is harmless */
    assert_list(&head, (const int[]){0, 1, 3}, 3);
    assert_ptr_equal(weir_list_pop(&head), &n[0].link);
    assert_false(weir_list_is_linked(&n[0].link));
    weir_list_append(&head, &n[0].link);
    assert_list(&head, (const int[]){1, 3, 0}, 3);
}

static size_t model_remove(int *ids, size_t n, int id)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (ids[i] != id) {
            ids[kept++] = ids[i];
        }
    }
    return kept;
}

/* Random steps against an array. */
static void test_model(void **state)
{
    (void)state;
    struct weir_list head = {0};
    struct node nodes[N_NODES] = {0};
    int ids[N_NODES];
    size_t n = 0;
    srand(5);
    for (int i = 0; i < N_NODES; i++) {
        nodes[i].id = i;
    }
    for (int step = 0; step < 20000; step++) {
        int id = rand() % N_NODES;
        struct weir_list *link = &nodes[id].link;
        switch (rand() % 4) {
        case 0:
            if (!weir_list_is_linked(link)) {
                weir_list_append(&head, link);
                ids[n++] = id;
            }
            break;
        case 1:
            if (!weir_list_is_linked(link)) {
                weir_list_prepend(&head, link);
                memmove(ids + 1, ids, n * sizeof ids[0]);
                ids[0] = id;
                n++;
            }
            break;
        case 2:
            weir_list_remove(link);
            n = model_remove(ids, n, id);
            break;
        default: {
            struct weir_list *first = weir_list_pop(&head);
            assert_int_equal(first != NULL, n != 0);
            if (first != NULL) {
                n = model_remove(ids, n, WEIR_LIST_ENTRY(first, struct node, link)->id);
            }
            break;
        }
        }
        assert_list(&head, ids, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeroed_and_initialised_are_empty),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
