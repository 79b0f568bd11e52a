#ifndef WEIR_DETECT_INJECTION_INT_H
#define WEIR_DETECT_INJECTION_INT_H

#include "base/buf.h"
#include "base/slice.h"
#include "detect/patterns.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The rules of `prompt_injection`: expressions of PCRE2 for folded text (detect/fold.h), in bytes.
 * Accents are folded away in the rules as they are in the text.
 *
 *   score   alone; rules that match near each other add up: 1 - (1 - a)(1 - b)
 *             0.80 and more   nobody says that but to a model
 *             0.50 to 0.75    likely
 *             less            a hint, never a finding of its own
 */
struct weir_injection_rule {
    const char *family;
    double score;
    const char *expr;
    bool is_exact_case;
    bool is_speech; /* an order: told of somebody, forbidden or quoted it counts less */
};

extern const struct weir_injection_rule weir_injection__rules[];
extern const size_t weir_injection__n_rules;
extern const struct weir_injection_rule weir_injection__marks[];
extern const size_t weir_injection__n_marks;
extern const struct weir_injection_rule weir_injection__tongues[];
extern const size_t weir_injection__n_tongues;

#define WEIR_INJECTION_OVERRIDE "instruction_override"
#define WEIR_INJECTION_LEAK "system_prompt_leak"
#define WEIR_INJECTION_ROLE_PLAY "role_play_jailbreak"
#define WEIR_INJECTION_REFUSAL "refusal_suppression"
#define WEIR_INJECTION_MARKUP "role_markup"
#define WEIR_INJECTION_INDIRECT "indirect_injection"
#define WEIR_INJECTION_EXFILTRATION "exfiltration"
#define WEIR_INJECTION_ENCODED "encoded_payload"
#define WEIR_INJECTION_TOOL "tool_abuse"

/*
 * How the rules are written: as PCRE2 has it, but that
 *
 *   a space   is what stands between two words of one sentence (GAP); "\\ " is a space
 *   <4>       is up to four words, each with what follows it
 *   JOIN      is what may stand within a compound: "chat bot", "chat-bot", "chatbot"
 */
#define GAP "[^\\w.!?;]+"
#define JOIN "[^\\w.!?;]{0,3}"

/* Writes `expr` for PCRE2. */
void weir_injection__spell(struct weir_buf *out, struct weir_slice expr);

/*
 * Vectorscan is not given the rules, which would take it a minute to compile, but the stems of
 * their keys: words that a match cannot do without. Where the last key of a rule comes and the
 * others have just been seen, PCRE2 has a look.
 */
enum {
    WEIR_INJECTION_MAX_RULES = 256,
    WEIR_INJECTION_MAX_KEYS = 4, /* of a rule */
    WEIR_INJECTION_MAX_STEMS = 96,
    WEIR_INJECTION_MAX_STEM = 24,
};

struct weir_injection_stem {
    char bytes[WEIR_INJECTION_MAX_STEM];
    size_t n;
    bool begins_word;
    bool ends_word;
};

struct weir_injection_key {
    struct weir_injection_stem stems[WEIR_INJECTION_MAX_STEMS];
    size_t n;
    bool is_first; /* a match begins with it */
};

/* The keys of an expression, WEIR_INJECTION_MAX_KEYS at most; 0: it has none. */
size_t weir_injection__keys(struct weir_slice expr, struct weir_injection_key keys[]);

/* A list of numbers for each of a row of things: item i has those from first[i] to first[i + 1]. */
struct weir_injection_index {
    unsigned short *list;
    size_t *first;
};

struct weir_injection_compiled {
    const struct weir_injection_rule *rule;
    pcre2_code *code;
    unsigned short keys[WEIR_INJECTION_MAX_KEYS];
    size_t n_keys;
    bool begins_with_key;
};

struct weir_injection_set {
    struct weir_patterns *stems;
    size_t n_stems;
    size_t n_keys;
    unsigned char *edges; /* by stem: 1 it begins a word, 2 it ends one */
    unsigned char *lengths;
    struct weir_injection_index keys_of_stem;
    struct weir_injection_index rules_of_key; /* whose last key it is */
    struct weir_injection_compiled rules[WEIR_INJECTION_MAX_RULES];
    size_t n_rules;
    pcre2_code *reported; /* before a match: the order is told of or forbidden */
    pcre2_code *other;    /* after it: it is about something else */
    pcre2_code *topic;    /* around a quoted match: the matter is named */
};

/* Compiled once, as long as the process. NULL with `why`. */
const struct weir_injection_set *weir_injection__set(struct weir_buf *why);

#endif
