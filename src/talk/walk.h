#ifndef WEIR_TALK_WALK_H
#define WEIR_TALK_WALK_H

#include "base/arena.h"
#include "talk/tree.h"
#include "wire/base64.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A request of a dialect as a list of everything in it that could say something. A guard looks at
 * the list and not at the request: what stands in no table of the dialect is there as text.
 *
 *   {"model":"m","messages":[{"role":"user","content":"Hi"}],"x":{"y":"z"}}
 *
 *   /model               control
 *   /messages/0/role     control
 *   /messages/0/content  text, user, turn
 *   /x                   tree, nobody's
 *
 * A dialect is a struct weir_walk_dialect: tables of its members, and who speaks in a message. The
 * walk itself is the same for all. Every string of a request is in exactly one item: it is the
 * item's node, lies in it, or is the name of a member that a table knows.
 */
enum weir_walk_role {
    WEIR_WALK_USER, /* also messages whose role nobody knows, and members nobody knows */
    WEIR_WALK_SYSTEM,
    WEIR_WALK_DEVELOPER,
    WEIR_WALK_TOOL, /* also documents: somebody else's text */
    WEIR_WALK_FUNCTION,
    WEIR_WALK_ASSISTANT,
    WEIR_WALK_NOBODY, /* definitions, metadata */
    WEIR_WALK_ROLES,
};

enum weir_walk_kind {
    WEIR_WALK_TEXT,       /* a string that may be replaced */
    WEIR_WALK_DOCUMENT,   /* a string that holds JSON: `document` */
    WEIR_WALK_TREE,       /* a JSON value of the request, its name included: looked at as JSON */
    WEIR_WALK_ENCODED,    /* a string that holds text in another encoding: `text` */
    WEIR_WALK_IDENTIFIER, /* a string that is looked at and never replaced */
    WEIR_WALK_CONTROL,    /* a member that a table knows and that has the form it says */
    WEIR_WALK_SEALED,     /* the server's own, encrypted */
    WEIR_WALK_MEDIA,      /* cannot be looked at */
    WEIR_WALK_REFUSED,    /* cannot be looked at and never passes: `why` */
    WEIR_WALK_WRONG, /* a known member whose value is of another type: `why`; otherwise a tree */
};

/* What may be left unguarded, by name. Bits. */
enum weir_walk_hole {
    WEIR_HOLE_HISTORY = 1 << 0,
    WEIR_HOLE_DEFINITIONS = 1 << 1,
    WEIR_HOLE_IMAGES = 1 << 2,
    WEIR_HOLE_AUDIO = 1 << 3,
    WEIR_HOLE_FILES = 1 << 4,
    WEIR_HOLE_LOGPROBS = 1 << 5,
    WEIR_HOLE_UNKNOWN_MEMBERS = 1 << 6,
    WEIR_HOLE_SEALED = 1 << 7,
    WEIR_HOLE_SERVER_HISTORY = 1 << 8,
    WEIR_HOLE_TOKEN_IDS = 1 << 9,
};

#define WEIR_WALK_NO_INDEX UINT32_MAX

struct weir_walk_item {
    enum weir_walk_kind kind;
    enum weir_walk_role role;
    bool is_turn;   /* of the message that is asked now; otherwise history, or in no message */
    bool is_broken; /* TEXT: meant to be JSON, and is not: escapes may still be decoded elsewhere */
    bool is_key;    /* IDENTIFIER: the node is a member's name */
    bool is_part;   /* TEXT: a part of a message's content; parts that follow each other are read
                       as one text by a model */
    uint32_t holes; /* any of these leaves it out of what is looked at */
    uint32_t media; /* not 0: what is behind it cannot be looked at and passes only with one of
                       these; `why` says what it is. MEDIA, SEALED and URLs */
    uint32_t node;  /* the value in the request */
    uint32_t key;   /* TREE: the name that is looked at with it; else WEIR_JSON_NONE */
    uint32_t message;                 /* index of the message or prompt, or WEIR_WALK_NO_INDEX */
    uint32_t part;                    /* index in its content, or WEIR_WALK_NO_INDEX */
    enum weir_tree_rule rule;         /* TREE, DOCUMENT, WRONG */
    struct weir_slice text;           /* TEXT, DOCUMENT, IDENTIFIER: the string; ENCODED: what it is
                                         the encoding of */
    const struct weir_json *document; /* DOCUMENT */
    struct weir_slice prefix;         /* ENCODED: what stands before the encoded text */
    bool is_percent;                  /* ENCODED: as in a URL; otherwise base64 of that form */
    enum weir_base64_form form;
    const char *why; /* static; IDENTIFIER: why it is one, where that is no matter of course */
};

struct weir_walk_dialect;

struct weir_walk {
    const struct weir_walk_dialect *dialect;
    struct weir_walk_item *items; /* in the order of their nodes */
    size_t n;
};

struct weir_walk_options {
    struct weir_slice fallback;  /* what this route says instead of a blocked answer */
    uint32_t max_document_nodes; /* of JSON inside of a string; more is plain text */
};

/* In the arena, which must outlive the walk as `json` must. `json` is an object. */
void weir_walk_read(struct weir_walk *walk, const struct weir_walk_dialect *dialect,
                    const struct weir_json *json, const struct weir_walk_options *options,
                    struct weir_arena *arena);

/*
 * A string that may hold JSON: makes of an item of the kind TEXT one of the kind DOCUMENT if its
 * text is an object or an array of at most `max_nodes` values, else `is_broken`. `5` is a text.
 */
void weir_walk_open_document(struct weir_walk_item *item, uint32_t max_nodes,
                             struct weir_arena *arena);

/* What ENCODED becomes with another text, in the arena. */
struct weir_slice weir_walk_encode(const struct weir_walk_item *item, struct weir_slice text,
                                   struct weir_arena *arena);

/* ---- what a dialect fills in ---- */

enum weir_walk_form {
    /* control */
    WEIR_WALK_FORM_NUMBER,
    WEIR_WALK_FORM_BOOL,
    WEIR_WALK_FORM_WORD,    /* one of `words` */
    WEIR_WALK_FORM_WORDS,   /* an array of them */
    WEIR_WALK_FORM_ID,      /* [A-Za-z0-9_.:/+=@-]{1,128}, and no address in it */
    WEIR_WALK_FORM_CALL_ID, /* the same up to 16 KiB */
    WEIR_WALK_FORM_ROLE,    /* [a-z_]{1,32} */
    WEIR_WALK_FORM_NUMBERS, /* an array of numbers, or an object of numbers named by numbers */
    WEIR_WALK_FORM_HEADERS, /* an object of strings of visible ASCII up to 16 KiB */
    WEIR_WALK_FORM_STATE,   /* an id of something that the model server keeps and that cannot be
                               looked at: `holes` */
    WEIR_WALK_FORM_OURS,    /* of any type: read here and not sent on */
    /* text */
    WEIR_WALK_FORM_TEXT,
    WEIR_WALK_FORM_ASKED,     /* text, of the user: all that is asked now */
    WEIR_WALK_FORM_CONTENT,   /* text, of a message; JSON where its role is tool or function */
    WEIR_WALK_FORM_PARTS,     /* an array of strings and of `object`: content in parts */
    WEIR_WALK_FORM_ARGUMENTS, /* JSON of a tool call, in a string or as it is */
    WEIR_WALK_FORM_SCHEMA,    /* a JSON schema, in a string or as it is */
    WEIR_WALK_FORM_TREE,      /* any JSON */
    WEIR_WALK_FORM_TREES,     /* an array of any JSON */
    WEIR_WALK_FORM_VARIABLES, /* an object of texts and of `object`, of the user: asked now */
    WEIR_WALK_FORM_PROMPT, /* a string, or an array of strings, of tokens, or of arrays of tokens */
    /* others */
    WEIR_WALK_FORM_NAME,   /* identifier */
    WEIR_WALK_FORM_NAMES,  /* a string or an array of strings, likewise */
    WEIR_WALK_FORM_SIGNED, /* text; identifier where the object has a `signature` of it */
    WEIR_WALK_FORM_URL,  /* identifier with something behind it that cannot be looked at: `holes` */
    WEIR_WALK_FORM_DATA, /* base64 of something that cannot be looked at: `holes` */
    WEIR_WALK_FORM_SEALED,    /* base64 of something encrypted */
    WEIR_WALK_FORM_SIGNATURE, /* the same, or a seal of ours (task/seal.h): control */
    WEIR_WALK_FORM_EMBEDS,    /* numbers that cannot be looked at: `holes` */
    WEIR_WALK_FORM_REFUSED,   /* of any type */
    WEIR_WALK_FORM_OBJECT,    /* `object` */
    WEIR_WALK_FORM_OBJECTS,   /* an array of `object` */
    WEIR_WALK_FORM_MESSAGES   /* the same; each a message with a role */
};

struct weir_walk_object;

/* A member that may be of several types has several lines. */
struct weir_walk_member {
    const char *name;
    enum weir_walk_form form;
    const struct weir_walk_object *object;
    const char *const *words; /* NULL after the last */
    uint32_t holes;
    bool has_role;
    enum weir_walk_role role; /* has_role: of all that is in it */
};

/* An object by its member `type`. */
struct weir_walk_variant {
    const char *type;
    const struct weir_walk_object *object; /* NULL: the same members */
    bool has_role;
    enum weir_walk_role role; /* has_role: of all that is in it */
};

struct weir_walk_object {
    const struct weir_walk_member *members;   /* name NULL after the last */
    const struct weir_walk_variant *variants; /* type NULL after the last; or NULL */
};

struct weir_walk_dialect {
    const char *name;
    const struct weir_walk_object *top;
    /* Who speaks in an element of the list of messages: an object. */
    enum weir_walk_role (*role_of)(const struct weir_json *json, uint32_t message);
    bool is_one_turn; /* there is no conversation: all of a request is asked now */
};

/* OpenAI's chat completions and completions (openai_walk.c). */
extern const struct weir_walk_dialect weir_walk_chat;
extern const struct weir_walk_dialect weir_walk_completions;
/* Anthropic's Messages and its count of tokens (messages_walk.c). */
extern const struct weir_walk_dialect weir_walk_messages;
/* OpenAI's Responses and its count of tokens (responses_walk.c). */
extern const struct weir_walk_dialect weir_walk_responses;
/* Embeddings, rerank and score, of which each has its own members. */
extern const struct weir_walk_dialect weir_walk_vectors;
/* Moderations of texts, each by itself; and of the parts of one text. */
extern const struct weir_walk_dialect weir_walk_moderations;
extern const struct weir_walk_dialect weir_walk_moderated_parts;

/* "history", "definitions", …; NULL: there is no such bit. And back; 0: there is no such name. */
const char *weir_walk_hole_name(uint32_t hole);
uint32_t weir_walk_hole_find(struct weir_slice name);

/* "user", "system", …, "nobody". */
const char *weir_walk_role_name(enum weir_walk_role role);

#endif
