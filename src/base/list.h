#ifndef WEIR_BASE_LIST_H
#define WEIR_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Intrusive circular doubly linked list. A head and a free-standing link both point at themselves
 * after init; an all-zero link counts as unlinked too, so zeroed objects are valid.
 */
struct weir_list {
    struct weir_list *next;
    struct weir_list *prev;
};

#define WEIR_LIST_ENTRY(link, type, member)                                                        \
    ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void weir_list_init(struct weir_list *l)
{
    l->next = l;
    l->prev = l;
}

static inline bool weir_list_is_empty(const struct weir_list *head)
{
    return head->next == NULL || head->next == head;
}

static inline bool weir_list_is_linked(const struct weir_list *link)
{
    return link->next != NULL && link->next != link;
}

static inline void weir_list_append(struct weir_list *head, struct weir_list *link)
{
    if (head->next == NULL) {
        weir_list_init(head);
    }
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void weir_list_prepend(struct weir_list *head, struct weir_list *link)
{
    if (head->next == NULL) {
        weir_list_init(head);
    }
    weir_list_append(head->next, link);
}

#ifdef __clang_analyzer__
/* clang's analyzer cannot follow a circular list: to it, unlinking and freeing one after the other
 * is a use after free. So it sees the declarations only. */
void weir_list_remove(struct weir_list *link);
struct weir_list *weir_list_first(const struct weir_list *head);
struct weir_list *weir_list_pop(struct weir_list *head);
#else

/* Safe on an unlinked link. */
static inline void weir_list_remove(struct weir_list *link)
{
    if (link->next != NULL) {
        link->prev->next = link->next;
        link->next->prev = link->prev;
        weir_list_init(link);
    }
}

static inline struct weir_list *weir_list_first(const struct weir_list *head)
{
    return weir_list_is_empty(head) ? NULL : head->next;
}

/* Unlinks and returns the first, or NULL. */
static inline struct weir_list *weir_list_pop(struct weir_list *head)
{
    struct weir_list *first = weir_list_first(head);
    if (first != NULL) {
        weir_list_remove(first);
    }
    return first;
}

#endif

#endif
