#ifndef WEIR_CONF_SCHEMA_H
#define WEIR_CONF_SCHEMA_H

#include "conf/conf_near.h"
#include "conf/conf_node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Mappings by table. Inside conf only.
 *
 * An object lists the keys it knows: name, kind, range, and where the value goes in a C struct. A
 * new key is one new line in a table. The struct holds the defaults before decoding; absent keys
 * and keys with the value null leave them. Keys are decoded in table order, so that a section can
 * rely on those above it. Every problem goes to the reader's list; decoding goes on.
 */
enum weir_conf_kind {
    WEIR_CONF_KIND_BOOL,    /* bool */
    WEIR_CONF_KIND_U32,     /* uint32_t, an integer from min to max, or UINT32_MAX for `word` */
    WEIR_CONF_KIND_U64,     /* uint64_t, likewise */
    WEIR_CONF_KIND_NUMBER,  /* double, from min to max */
    WEIR_CONF_KIND_SECONDS, /* uint32_t milliseconds, written in seconds, min and max in seconds */
    WEIR_CONF_KIND_TEXT,    /* struct weir_conf_text, not empty */
    WEIR_CONF_KIND_ENUM,    /* an enum whose values count from 0 in the order of `words` */
    WEIR_CONF_KIND_OBJECT,  /* a nested struct */
    WEIR_CONF_KIND_CALL,    /* whatever `call` makes of it */
    WEIR_CONF_KIND_IGNORED, /* a key of the public orchestrator, without effect here: a warning */
};

struct weir_conf_reader;
struct weir_conf_object;

/* `target` is the struct that the object describes. Never called with null or a broken scalar. */
typedef void weir_conf_call_fn(struct weir_conf_reader *r, const struct weir_conf_node *n,
                               void *target);

struct weir_conf_key {
    const char *name;
    enum weir_conf_kind kind;
    bool is_required;
    size_t offset;
    size_t size;
    double min;
    double max;
    const char *const *words; /* NULL-terminated */
    const char *word;         /* U32: what may stand instead of a number; NULL: nothing */
    const struct weir_conf_object *object;
    weir_conf_call_fn *call;
};

struct weir_conf_object {
    const struct weir_conf_key *keys; /* at most 64 */
    size_t n_keys;
    bool has_set; /* the struct begins with a uint64_t: a bit per key that was written */
};

/* One line of a table; the first form where the key and the field have the same name. */
#define WEIR_CONF_KEY(T, field, kind_, ...) WEIR_CONF_KEY_AS(#field, T, field, kind_, __VA_ARGS__)
#define WEIR_CONF_KEY_AS(name_, T, field, kind_, ...)                                              \
    {                                                                                              \
        .name = (name_), .kind = WEIR_CONF_KIND_##kind_, .offset = offsetof(T, field),             \
        .size = sizeof(((T *)NULL)->field), __VA_ARGS__                                            \
    }
/* A key without a field of its own. */
#define WEIR_CONF_KEY_CALL(name_, call_, ...)                                                      \
    {                                                                                              \
        .name = (name_), .kind = WEIR_CONF_KIND_CALL, .call = (call_), __VA_ARGS__                 \
    }
#define WEIR_CONF_KEY_IGNORED(name_)                                                               \
    {                                                                                              \
        .name = (name_), .kind = WEIR_CONF_KIND_IGNORED                                            \
    }
#define WEIR_CONF_OBJECT(keys_) .keys = (keys_), .n_keys = sizeof(keys_) / sizeof *(keys_)

/* What decoding works with. */
struct weir_conf_reader {
    struct weir_conf *conf; /* being made */
    struct weir_arena *arena;
    struct weir_arena *scratch; /* gone after loading; nodes live here too */
    struct weir_conf_problems *problems;
    const struct weir_conf_load_options *options;
    const char *file;
    bool is_lenient; /* compat: fms */
    struct weir_map tls_by_name;
    struct weir_conf_tls **tls; /* grows on the heap */
    size_t n_tls;
    size_t cap_tls;
    struct weir_conf_pos stream_buffer_at; /* streaming.max_stream_buffer_bytes */
    bool has_memory_limit;                 /* limits.max_held_bytes_total was written */
};

/* Fills `target` from a mapping. */
void weir_conf__decode(struct weir_conf_reader *r, const struct weir_conf_object *o,
                       const struct weir_conf_node *n, void *target);

/* Copies the keys that were written in `from` over those in `to`. */
void weir_conf__overlay(const struct weir_conf_object *o, void *to, const void *from);

void weir_conf__error(struct weir_conf_reader *r, const struct weir_conf_node *at, const char *fmt,
                      ...) __attribute__((format(printf, 3, 4)));
void weir_conf__warn(struct weir_conf_reader *r, const struct weir_conf_node *at, const char *fmt,
                     ...) __attribute__((format(printf, 3, 4)));

struct weir_conf_pos weir_conf__pos(const struct weir_conf_reader *r,
                                    const struct weir_conf_node *n);

/* The text with its place, copied into the tree. */
struct weir_conf_text weir_conf__keep(struct weir_conf_reader *r, const struct weir_conf_node *n);

/* `` `x` `` for messages. */
const char *weir_conf__name(struct weir_conf_reader *r, struct weir_slice s);

/* As weir_conf_near_init, but looks for nothing once the list of problems is full. */
void weir_conf__near(struct weir_conf_reader *r, struct weir_conf_near *near,
                     struct weir_slice wanted);

/* "; did you mean `x`?" or, when nothing is near, "". */
const char *weir_conf__hint(struct weir_conf_reader *r, const struct weir_conf_near *near);

/* Is it a mapping / a list? Complains under the key's name if not. */
bool weir_conf__want_mapping(struct weir_conf_reader *r, const struct weir_conf_node *n,
                             const char *key);
bool weir_conf__want_list(struct weir_conf_reader *r, const struct weir_conf_node *n,
                          const char *key);

/* A non-empty text; complains otherwise. */
bool weir_conf__want_text(struct weir_conf_reader *r, const struct weir_conf_node *n,
                          const char *key);

/* Index in `words`, or -1 and a problem. */
int weir_conf__want_word(struct weir_conf_reader *r, const struct weir_conf_node *n,
                         const char *key, const char *const *words);

/* A list of non-empty texts into the tree, at most `max`. */
struct weir_conf_list weir_conf__want_texts(struct weir_conf_reader *r,
                                            const struct weir_conf_node *n, const char *key,
                                            size_t max);

/*
 * The value of the environment variable that the scalar under `key` names, whose name is kept in
 * `*name`; NULL and a problem when it is not set or empty.
 */
const char *weir_conf__want_env(struct weir_conf_reader *r, const struct weir_conf_node *n,
                                const char *key, struct weir_conf_text *name);

#endif
