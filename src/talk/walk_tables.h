#ifndef WEIR_TALK_WALK_TABLES_H
#define WEIR_TALK_WALK_TABLES_H

#include "talk/walk.h"

/*
 * How the tables of the dialects are written (openai_walk.c, messages_walk.c, responses_walk.c),
 * and those that they share.
 */

/* The words of an enumeration. */
#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* One line of a table. */
#define M(name_, form_, ...)                                                                       \
    {                                                                                              \
        .name = (name_), .form = WEIR_WALK_FORM_##form_, __VA_ARGS__                               \
    }
#define OBJECT(name_) static const struct weir_walk_object name_ = {.members = name_##_members}

#define EFFORTS WORDS("none", "minimal", "low", "medium", "high", "xhigh", "max")

extern const struct weir_walk_object weir_walk__cache_control;
extern const struct weir_walk_object weir_walk__structured;

/* Who the member `role` says it is; the user where it says nothing that is known. */
enum weir_walk_role weir_walk__role_of(const struct weir_json *json, uint32_t at);

#endif
