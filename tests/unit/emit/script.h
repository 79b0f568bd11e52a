#ifndef WEIR_TESTS_SCRIPT_H
#define WEIR_TESTS_SCRIPT_H

#include "base/buf.h"
#include "base/mem.h"
#include "emit/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Random streams: several choices and channels, tool calls in fragments, usage, barriers, opaque
 * frames, Unicode, times, blocked phases. The same seed makes the same stream. Guarded ones
 * (script_make_guarded) carry findings as a guard attaches them.
 */
enum script_kind { SCRIPT_EVENT, SCRIPT_BLOCKED, SCRIPT_DRAIN };

struct script_item {
    enum script_kind kind;
    enum weir_event_kind event;
    uint64_t t;
    size_t from; /* in `bytes` */
    size_t n;
    bool is_guarded;
    uint64_t n_said;
    uint32_t choice; /* of a block */
};

struct script {
    struct script_item *items;
    size_t n;
    size_t cap;
    struct weir_buf bytes;
    uint64_t rng;
    uint64_t t;
    unsigned n_serial; /* of usage chunks and tool calls */
    bool with_blocking;
    bool is_wild; /* tool calls that make no sense */
    struct {
        unsigned id;
        unsigned at; /* how many fragments of its arguments were sent */
        unsigned kind;
    } calls[3][3];
    unsigned said_cp[2][3]; /* guarded: of each choice, by channel */
    unsigned n_findings;
    uint64_t n_said;
};

static inline uint64_t script_random(struct script *s)
{
    s->rng ^= s->rng << 13;
    s->rng ^= s->rng >> 7;
    s->rng ^= s->rng << 17;
    return s->rng >> 11;
}

static inline unsigned script_pick(struct script *s, unsigned n)
{
    return (unsigned)(script_random(s) % n);
}

static inline void script_put(struct script *s, const char *text)
{
    (void)weir_buf_append(&s->bytes, weir_slice_cstr(text));
}

static inline void script_word(struct script *s)
{
    static const char *const words[] = {
        "a",       " word",  "\\u00e9", "😀",
        ".",       "!\\\" ", "\\n",     "3.",
        "14",      "```\\n", "你好。",  "e\\u0301",
        " the ",   "\\\\",   "\\/x",    "\\ud83d\\ude00",
        "~~~\\n",  "?",      " ",       "long enough to count for something",
        "\\u0000", "»"};
    unsigned n = script_pick(s, 8) == 0 ? 3 : 1;
    for (unsigned i = 0; i < n; i++) {
        script_put(s, words[script_pick(s, sizeof words / sizeof words[0])]);
    }
}

static inline void script_text(struct script *s, const char *name)
{
    script_put(s, "\"");
    script_put(s, name);
    script_put(s, "\":\"");
    if (script_pick(s, 12) != 0) {
        script_word(s);
    }
    script_put(s, "\"");
}

/* Any index, any id, any arguments: what a broken server may send. */
static inline void script_wild_call(struct script *s)
{
    static const char *const indices[] = {"\"index\":0,", "\"index\":0,", "\"index\":1,",
                                          "\"index\":2,", "\"index\":7,"};
    static const char *const ids[] = {"",
                                      "",
                                      "",
                                      "\"id\":\"a\",\"type\":\"function\",",
                                      "\"id\":\"b\",",
                                      "\"id\":\"\",\"type\":null,",
                                      "\"id\":\"\\u0061\",\"extra\":{\"k\":[1]},"};
    static const char *const names[] = {"", "", "\"name\":\"f\",", "\"name\":\"g\",",
                                        "\"name\":\"f\",\"more\":1,"};
    static const char *const args[] = {"\"arguments\":\"\"",
                                       "\"arguments\":\"{}\"",
                                       "\"arguments\":\"{\\\"a\\\":1}\"",
                                       "\"arguments\":\"{\\\"a\\\":\"",
                                       "\"arguments\":\"1}\"",
                                       "\"arguments\":\" \"",
                                       "\"arguments\":\"\\u007b\"",
                                       "\"arguments\":null",
                                       "\"arguments\":\"[\\\"}\\\\\"",
                                       "\"arguments\":\"\\ud83d\"",
                                       "\"arguments\":7"};
    unsigned arg = script_pick(s, script_pick(s, 6) == 0 ? 11 : 9);
    script_put(s, "{");
    script_put(s, indices[script_pick(s, 5)]);
    script_put(s, ids[script_pick(s, 7)]);
    script_put(s, "\"function\":{");
    script_put(s, names[script_pick(s, 5)]);
    script_put(s, args[arg]);
    script_put(s, "}}");
}

static inline void script_call(struct script *s, unsigned choice)
{
    if (s->is_wild) {
        for (unsigned i = script_pick(s, 3); i > 0; i--) {
            script_wild_call(s);
            script_put(s, ",");
        }
        script_wild_call(s);
        return;
    }
    static const char *const args[][5] = {
        {"", "{\\\"a\\\":", "1}", NULL, NULL}, {"{\\\"s\\\":\\\"}\\\\\\\"", "é", "\\\"", "}", NULL},
        {"{}", NULL, NULL, NULL, NULL},        {"1", "2", NULL, NULL, NULL},
        {"[", "]x", "y", NULL, NULL},          {"{\\\"whole\\\":true}", NULL, NULL, NULL, NULL},
        {"{a", "}", NULL, NULL, NULL}};
    unsigned index = script_pick(s, 3);
    unsigned kind = s->calls[choice][index].kind;
    const char *part = args[kind][s->calls[choice][index].at];
    bool is_new = s->calls[choice][index].id == 0 || part == NULL;
    if (is_new) {
        s->calls[choice][index].id = ++s->n_serial;
        s->calls[choice][index].at = 0;
        kind = s->calls[choice][index].kind = script_pick(s, sizeof args / sizeof args[0]);
        part = args[kind][0];
    }
    s->calls[choice][index].at++;
    (void)weir_buf_printf(&s->bytes, "{\"index\":%u,", index);
    if (is_new || script_pick(s, 9) == 0) {
        (void)weir_buf_printf(&s->bytes, "\"id\":\"call%u\",\"type\":\"function\",",
                              s->calls[choice][index].id);
    }
    (void)weir_buf_printf(&s->bytes, "\"function\":{%s\"arguments\":\"%s\"}}",
                          is_new ? "\"name\":\"f\"," : "", part);
}

static inline void script_delta(struct script *s, unsigned choice)
{
    unsigned what =
        s->is_wild && script_pick(s, 2) == 0 ? 29 + script_pick(s, 4) : script_pick(s, 40);
    script_put(s, "\"delta\":{");
    if (script_pick(s, 15) == 0) {
        script_put(s, "\"role\":\"assistant\",");
    }
    if (what < 22) {
        script_text(s, "content");
    } else if (what < 25) {
        script_text(s, "reasoning_content");
    } else if (what < 26) {
        script_text(s, "reasoning");
    } else if (what < 27) {
        script_put(s, "\"reasoning\":\"both\",\"reasoning_content\":\"both\"");
    } else if (what < 28) {
        script_text(s, "refusal");
    } else if (what < 29) {
        script_text(s, "reasoning_content");
        script_put(s, ",");
        script_text(s, "content");
    } else if (what < 36) {
        script_put(s, what == 29 ? "\"content\":\"mixed\",\"tool_calls\":[" : "\"tool_calls\":[");
        script_call(s, choice);
        script_put(s, "]");
    } else if (what < 37) {
        script_put(s, "\"audio\":{\"data\":\"x\"},");
        script_text(s, "content");
    } else {
        script_put(s, "\"content\":null");
    }
    script_put(s, "}");
}

static inline void script_choice(struct script *s)
{
    unsigned choice = script_pick(s, 4) == 0 ? script_pick(s, 3) : 0;
    (void)weir_buf_printf(&s->bytes, "{\"index\":%u,", choice);
    script_delta(s, choice);
    unsigned what = script_pick(s, 24);
    if (what == 0) {
        script_put(s, ",\"logprobs\":{\"content\":[{\"token\":\"x\"}]}");
    } else if (what == 1) {
        script_put(s, ",\"token_ids\":[1,2]");
    } else if (what == 2) {
        script_put(s, ",\"tag\":{\"x\":1}");
    } else if (what < 8) {
        script_put(s, ",\"logprobs\":null");
    }
    script_put(s, script_pick(s, 60) == 0 ? ",\"finish_reason\":\"stop\"}"
                                          : ",\"finish_reason\":null}");
}

static inline void script_chunk(struct script *s)
{
    unsigned what = script_pick(s, 60);
    if (what == 0) {
        script_put(s, "this is no JSON");
        return;
    }
    (void)weir_buf_printf(&s->bytes, "{\"id\":\"%s\",\"object\":\"o\",\"created\":%llu",
                          script_pick(s, 50) == 0 ? "other" : "x", (unsigned long long)s->t / 100);
    if (what == 1) {
        (void)weir_buf_printf(&s->bytes, ",\"choices\":[],\"usage\":{\"serial\":%u}}",
                              ++s->n_serial);
        return;
    }
    script_put(s, ",\"choices\":[");
    for (unsigned i = script_pick(s, 15) == 0 ? 2 : 1; i > 0; i--) {
        script_choice(s);
        script_put(s, i > 1 ? "," : "");
    }
    script_put(s, "]");
    static const char *const more[] = {",\"detections\":{\"output\":[]}",
                                       ",\"provider\":\"p\"",
                                       ",\"usage\":{\"completion_tokens\":3}",
                                       ",\"usage\":null",
                                       ",\"obfuscation\":\"zzz\"",
                                       ",\"service_tier\":\"t\""};
    unsigned k = script_pick(s, 24);
    script_put(s, k < sizeof more / sizeof more[0] ? more[k] : "");
    script_put(s, "}");
}

static inline struct script_item *script_item(struct script *s)
{
    if (s->n == s->cap) {
        s->cap = s->cap == 0 ? 64 : s->cap * 2;
        s->items = weir_mem_realloc(s->items, s->cap * sizeof *s->items);
    }
    s->items[s->n] = (struct script_item){.t = s->t, .from = s->bytes.n};
    return &s->items[s->n++];
}

static inline void script_make(struct script *s, uint64_t seed, bool with_blocking, bool is_wild)
{
    *s = (struct script){.rng = seed * 2654435761u + 88172645463325252u};
    s->with_blocking = with_blocking;
    s->is_wild = is_wild;
    unsigned n = 5 + script_pick(s, 80);
    for (unsigned i = 0; i < n; i++) {
        s->t += script_pick(s, 6) == 0 ? script_pick(s, 200) : script_pick(s, 12);
        unsigned what = script_pick(s, 30);
        struct script_item *item = script_item(s);
        if (what == 0 && with_blocking) {
            item->kind = SCRIPT_BLOCKED;
        } else if (what < 3 && with_blocking) {
            item->kind = SCRIPT_DRAIN;
        } else if (what == 3) {
            item->event = WEIR_EVENT_COMMENT;
        } else {
            script_chunk(s);
            item->n = s->bytes.n - item->from;
        }
    }
    script_item(s)->kind = SCRIPT_DRAIN;
    script_item(s)->event = WEIR_EVENT_DONE;
}

/* Findings that begin in what was said of the channel, with this chunk, in the order of a guard;
 * they may end behind it. */
static inline void script_results(struct script *s, unsigned n, unsigned said_cp)
{
    unsigned start = n != 0 ? script_pick(s, said_cp) : 0;
    for (unsigned i = 0; i < n; i++) {
        script_put(s, i != 0 ? ",{" : "{");
        if (i + 1 < n || script_pick(s, 3) != 0) {
            (void)weir_buf_printf(&s->bytes, "\"start\":%u,\"end\":%u,", start, start + 10 + i);
        }
        (void)weir_buf_printf(&s->bytes,
                              "\"detector_id\":\"d%u\",\"detection\":\"f%u\",\"score\":0.50}",
                              script_pick(s, 3), s->n_findings++);
        start += start + 1 < said_cp ? script_pick(s, 2) : 0;
    }
}

static inline void script_findings(struct script *s, unsigned choice, unsigned channel)
{
    static const char *const names[] = {"", ",\"channel\":\"refusal\"",
                                        ",\"channel\":\"reasoning_content\""};
    bool can_find = s->said_cp[choice][channel] != 0 && s->n_findings < 1000;
    unsigned n = can_find && script_pick(s, 3) == 0 ? 1 + script_pick(s, 4) : 0;
    (void)weir_buf_printf(&s->bytes, ",\"detections\":{\"output\":[{\"choice_index\":%u%s", choice,
                          names[channel]);
    script_put(s, ",\"results\":[");
    script_results(s, n, s->said_cp[choice][channel]);
    script_put(s, "]}]}");
    if (n != 0) {
        unsigned kind = script_pick(s, 3);
        (void)weir_buf_printf(&s->bytes, ",\"warnings\":[{\"n\":%u}", kind);
        (void)weir_buf_printf(&s->bytes, script_pick(s, 3) == 0 ? ",{\"n\":%u}]" : "]",
                              (kind + 1) % 3);
    }
}

static inline void script_guarded_text(struct script *s, unsigned choice, unsigned channel)
{
    static const char *const names[] = {"content", "refusal", "reasoning_content"};
    static const char *const words[] = {"word ", "a", "End. ", "", "x\\n", "some more text "};
    static const unsigned lengths[] = {5, 1, 5, 0, 2, 15};
    unsigned word = script_pick(s, 6);
    (void)weir_buf_printf(&s->bytes, "{\"index\":%u,\"delta\":{%s\"%s\":\"%s\"}", choice,
                          script_pick(s, 10) == 0 ? "\"role\":\"assistant\"," : "", names[channel],
                          words[word]);
    s->said_cp[choice][channel] += lengths[word];
}

static inline void script_guarded_chunk(struct script *s)
{
    unsigned choice = script_pick(s, 4) == 0;
    unsigned what = script_pick(s, 20);
    unsigned channel = what < 16 ? 0 : (what < 18 ? 1 : 2);
    script_put(s, "{\"id\":\"x\",\"choices\":[");
    if (what == 0) {
        (void)weir_buf_printf(&s->bytes, "{\"index\":%u,\"delta\":{\"tool_calls\":[", choice);
        script_call(s, choice);
        script_put(s, "]}");
    } else {
        script_guarded_text(s, choice, channel);
    }
    script_put(s, script_pick(s, 40) == 0 ? ",\"finish_reason\":\"stop\"}]"
                                          : ",\"finish_reason\":null}]");
    if (script_pick(s, 8) != 0) {
        script_findings(s, choice, channel);
    }
    script_put(s, "}");
}

static inline void script_make_guarded(struct script *s, uint64_t seed, bool with_blocking)
{
    *s = (struct script){.rng = seed * 2654435761u + 88172645463325252u};
    bool is_counted = seed % 3 != 0;
    unsigned n = 5 + script_pick(s, 80);
    for (unsigned i = 0; i < n; i++) {
        s->t += script_pick(s, 6) == 0 ? script_pick(s, 200) : script_pick(s, 12);
        s->n_said += is_counted ? 1 + (uint64_t)script_pick(s, 3) : 0;
        unsigned what = script_pick(s, 40);
        struct script_item *item = script_item(s);
        if (what < 3 && with_blocking) {
            item->kind = what == 0 ? SCRIPT_BLOCKED : SCRIPT_DRAIN;
        } else if (what == 3) {
            item->event = WEIR_EVENT_BLOCK;
            item->choice = script_pick(s, 3);
        } else {
            item->is_guarded = true;
            item->n_said = s->n_said != 0 ? s->n_said / 2 + 1 : 0;
            script_guarded_chunk(s);
            item->n = s->bytes.n - item->from;
        }
    }
    script_item(s)->kind = SCRIPT_DRAIN;
    script_item(s)->event = WEIR_EVENT_DONE;
}

static inline void script_dispose(struct script *s)
{
    free(s->items);
    weir_buf_dispose(&s->bytes);
}

#endif
