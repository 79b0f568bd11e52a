#ifndef WEIR_TESTS_FUZZ_STREAM_TALK_H
#define WEIR_TESTS_FUZZ_STREAM_TALK_H

/*
 * One request of the whole-program fuzzer and everything that is known about it from outside: what
 * the model server said, what each detector answered for, what the caller has heard.
 *
 * Every character the model says is its own: it tells the text it belongs to, its place in it, and
 * the letter it stands for.
 *
 *   U+10000 + (text << 11) + (place << 3) + letter          a blank is a blank
 *
 * So whoever holds a character, a detector or the caller, knows where it comes from, and nothing in
 * the program has to be believed. "bad", the word looked for, is the letters b, a, d at places one
 * after the other.
 */
#include "base/buf.h"
#include "base/list.h"
#include "base/utf8.h"
#include "model/fleet.h"
#include "route/env.h"
#include "route/stream_out.h"
#include "talk/channel.h"
#include "task/completion.h"
#include "task/content_stream.h"
#include "wire/sse.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : stream_wrong(#condition, __FILE__, __LINE__))

static inline void stream_wrong(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    abort();
}

enum letter { LETTER_B, LETTER_A, LETTER_D, LETTER_X, LETTER_DOT };

/* Texts of a place, which is a choice, a block or an item. The first ones are the channels of
 * channel.h. */
enum slot {
    SLOT_CONTENT = WEIR_CHANNEL_CONTENT,
    SLOT_ARGUMENTS = WEIR_CHANNEL_TEXTS, /* of two tool calls */
    SLOT_NAMES = SLOT_ARGUMENTS + 2,
    SLOT_OLD_CALL = SLOT_NAMES + 2, /* function_call.arguments; of rows: events nobody knows */
    N_SLOTS,
};

enum {
    N_CHOICES = 3, /* that can be asked for */
    N_PLACES = 4,
    ID_QUESTION = N_PLACES * N_SLOTS, /* what the caller asked */
    N_IDS,
    N_DETECTORS = 3,
    MAX_TEXT = 256,
    FIRST_CP = 0x10000,
    BLANK = ' ',
};

static inline uint32_t stream_cp(size_t id, size_t place, enum letter letter)
{
    return FIRST_CP + ((uint32_t)id << 11) + ((uint32_t)place << 3) + (uint32_t)letter;
}

static inline bool stream_is_said(uint32_t cp)
{
    return cp >= FIRST_CP && cp < stream_cp(N_IDS, 0, LETTER_B);
}

static inline size_t stream_id(uint32_t cp)
{
    return (cp - FIRST_CP) >> 11;
}

static inline size_t stream_place(uint32_t cp)
{
    return (cp - FIRST_CP) >> 3 & (MAX_TEXT - 1);
}

static inline bool stream_is(uint32_t cp, enum letter letter)
{
    return stream_is_said(cp) && (cp & 7) == (uint32_t)letter;
}

/* Do these three say the word? */
static inline bool stream_is_bad(const uint32_t *cp)
{
    return stream_is(cp[0], LETTER_B) && stream_is(cp[1], LETTER_A) && stream_is(cp[2], LETTER_D);
}

enum endpoint {
    CHAT_API,
    TEXT_API,
    CHAT_ROUTE,
    TEXT_ROUTE,
    MESSAGES_ROUTE,
    RESPONSES_ROUTE,
    GENERATION,
    CONTENTS
};

enum kind { KIND_WINDOW, KIND_DOTS, KIND_FAR, KIND_WHOLE };

/* A block of Messages, an item of Responses. */
enum row_kind { ROW_TEXT, ROW_THOUGHT, ROW_CALL };

struct row {
    enum row_kind kind;
    bool is_open;
    bool has_part[WEIR_CHANNEL_TEXTS]; /* Responses: by slot */
    bool is_part_done[WEIR_CHANNEL_TEXTS];
    struct weir_buf heard_input; /* of a call, until it has ended */
};

struct talk;
struct dialect; /* stream_dialect.h */

struct fake_detector {
    struct weir_detector base;
    struct talk *talk;
    size_t index;
    enum kind kind;
    bool is_immediate;
};

struct talk {
    bool is_open;
    /* what was asked for */
    enum endpoint endpoint;
    const struct dialect *dialect;
    bool is_unary;
    bool is_eager;      /* what the server says is read at once */
    bool has_turns;     /* the loop turns after each thing that happens */
    bool ends_in_quiet; /* no [DONE]: the server falls silent */
    bool enforces;
    bool asks_input;
    bool masks;          /* what is found in the question comes back as itself */
    bool is_served;      /* detectors are services behind the memory of verdicts, or a desk */
    bool repeats_little; /* Responses: nothing is said again but at the end */
    bool repeats_lies;   /* … or what is said again is something else */
    size_t n_choices;
    size_t n_detectors;
    struct weir_policy policy;
    struct weir_batching batching;
    struct fake_detector detectors[N_DETECTORS];
    struct weir_task_detector described[N_DETECTORS];
    struct weir_plan_use uses[N_DETECTORS];
    struct weir_plan plan;
    struct weir_input_text question;
    struct weir_buf question_text;
    struct weir_plan input; /* of a route's question */

    /* the gateway's side */
    struct weir_http_stream stream;
    struct weir_account account; /* of the memory it holds */
    struct weir_request request;
    struct weir_task_env env;
    struct weir_stream_out *out;
    struct weir_content_stream *content;
    struct weir_list calls;  /* of detectors, without an answer */
    struct weir_list chunks; /* open streams of chunkers */
    size_t n_calls;          /* that exist, answered or not */

    /* the model server, or the caller's body */
    struct weir_model model;
    struct weir_fleet fleet; /* two servers, of which the first ones fail */
    struct weir_fleet_entry entry;
    struct weir_fleet_target targets[2];
    struct weir_provider providers[2];
    struct weir_breaker health[2];
    atomic_uint n_at_provider[2];
    size_t n_failing; /* attempts that fail before anything is said */
    size_t n_attempts;
    bool has_framed; /* something was said */
    struct weir_model_run run;
    const struct weir_model_events *events;
    void *ctx;
    enum weir_model_op op;
    bool is_asked; /* for an answer, not only to count tokens */
    bool is_running;
    bool is_paused;
    struct weir_buf wire; /* everything it says, as it is sent */
    size_t arrived;       /* bytes of it that can be read */
    size_t at;            /* that have been read */
    struct weir_sse_reader reader;
    bool has_said_end;
    bool is_broken; /* that end is a broken connection */
    bool is_end_read;
    struct row rows[N_PLACES]; /* of a dialect that has them */
    size_t n_rows;
    bool has_begun;     /* its first event was said */
    size_t n_events;    /* that were said */
    char token[64];     /* what stands for the question's value; "": nothing does */
    size_t token_place; /* where that value is in the question */
    size_t token_at;    /* how much of it was said last */
    uint64_t n_usages;
    uint64_t last_usage; /* 0: none, or one with a choice came later */
    bool is_usage_last;  /* nothing was said behind it */

    /* what was said, who looked at it, what was found: by text and place */
    uint32_t said[N_IDS][MAX_TEXT];
    size_t n_said[N_IDS];
    uint16_t order[N_IDS][MAX_TEXT]; /* of everything, which came when */
    uint16_t n_order;
    uint16_t heard_order;
    uint8_t judged[N_DETECTORS][N_IDS][MAX_TEXT];
    uint8_t found[N_DETECTORS][N_IDS][MAX_TEXT]; /* where a word begins */
    size_t n_spanless[N_DETECTORS];
    bool is_seen[N_PLACES];
    char finish[N_PLACES]; /* the last reason said; 0: none */
    size_t n_finish[N_PLACES];
    bool is_finish_last[N_PLACES];
    uint8_t cuts[N_PLACES][MAX_TEXT]; /* where something that is no text came between */
    bool has_fault;                   /* somebody failed, or talked nonsense */
    bool is_lied;                     /* a chunker talked nonsense */

    /* what was heard */
    struct weir_buf heard_bytes; /* an event that is not complete */
    struct weir_buf heard[N_IDS];
    size_t n_heard[N_IDS];
    uint8_t heard_found[N_DETECTORS][N_IDS][MAX_TEXT];
    uint8_t summed_found[N_DETECTORS][N_IDS][MAX_TEXT]; /* rows: told once more at the end */
    uint64_t n_numbered;                                /* Responses: events that were heard */
    size_t n_heard_ends;
    size_t n_heard_found[N_DETECTORS];
    size_t n_heard_spanless[N_DETECTORS];
    char heard_finish[N_PLACES];
    size_t n_heard_finish[N_PLACES];
    size_t n_heard_role[N_PLACES];
    uint64_t heard_usage;
    bool is_blocked[N_PLACES];
    bool is_stuffed; /* the caller takes no more */
    bool has_failed;
    bool has_ended;
    size_t processed_cp; /* D */
};

static inline bool stream_is_route(const struct talk *t)
{
    return t->endpoint >= CHAT_ROUTE && t->endpoint <= RESPONSES_ROUTE;
}

/* Is an answer a row of blocks or items? */
static inline bool stream_is_row(const struct talk *t)
{
    return t->endpoint == MESSAGES_ROUTE || t->endpoint == RESPONSES_ROUTE;
}

/* Does a model server of OpenAI's kind answer? */
static inline bool stream_is_openai(const struct talk *t)
{
    return t->endpoint <= RESPONSES_ROUTE;
}

static inline bool stream_is_chat(const struct talk *t)
{
    return t->endpoint == CHAT_API || t->endpoint == CHAT_ROUTE;
}

/* The public program believes its chunker, where there is one. */
static inline bool stream_is_told(const struct talk *t)
{
    size_t kinds[KIND_WHOLE + 1] = {0};
    for (size_t i = 0; i < t->n_detectors; i++) {
        kinds[t->detectors[i].kind]++;
    }
    size_t n = 0;
    for (size_t i = 0; i < KIND_WHOLE; i++) {
        n += kinds[i] != 0 ? 1u : 0;
    }
    return t->env.compat.is_fms && n == 1;
}

static inline bool stream_has_chunked(const struct talk *t)
{
    for (size_t i = 0; i < t->n_detectors; i++) {
        if (t->detectors[i].kind != KIND_WHOLE) {
            return true;
        }
    }
    return false;
}

/* With WEIR_FUZZ_TRACE set a run tells what happens in it, the characters as the letters they stand
 * for. */
static inline void stream_tell(const char *what, struct weir_slice text)
{
    static int is_on = -1;
    size_t used = 1;
    is_on = is_on < 0 ? getenv("WEIR_FUZZ_TRACE") != NULL : is_on;
    if (is_on == 0) {
        return;
    }
    fprintf(stderr, "%-8s ", what);
    for (size_t at = 0; at < text.n; at += used != 0 ? used : 1) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(text, at, text.n), &used);
        if (stream_is_said(cp)) {
            fputc("badx.???"[cp & 7], stderr);
        } else {
            fputc((int)(cp & 127), stderr);
        }
    }
    fputc('\n', stderr);
}

/* Must this detector have answered before a character of the slot leaves? */
static inline bool stream_must_judge(const struct talk *t, const struct fake_detector *d,
                                     size_t slot)
{
    if (!t->enforces) {
        return slot == SLOT_CONTENT && d->kind != KIND_WHOLE;
    }
    switch (d->base.type) {
    case WEIR_DETECT_GENERATION:
        return slot == SLOT_CONTENT;
    default:
        return true;
    }
}

/* Words in our own letters, those that stand for values among them. */
static inline bool stream_is_ascii_word(uint32_t cp)
{
    return cp < 0x80 && cp != BLANK;
}

/* Does what stands for the question's value begin here? Not inside of a longer word. */
static inline bool stream_is_token(const struct talk *t, size_t id, size_t place)
{
    size_t n = strlen(t->token);
    const uint32_t *said = t->said[id];
    bool is_room = n != 0 && place + n <= t->n_said[id];
    if (!is_room || (place != 0 && stream_is_ascii_word(said[place - 1]))) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (said[place + i] != (uint32_t)(unsigned char)t->token[i]) {
            return false;
        }
    }
    return true;
}

/* Thinking is signed: it must come back as it was. */
static inline bool stream_is_restored(const struct talk *t, size_t id)
{
    bool is_signed =
        t->endpoint == MESSAGES_ROUTE && id % N_SLOTS == (size_t)WEIR_CHANNEL_REASONING;
    return t->masks && !is_signed;
}

/* Is the character part of a word that was found? */
static inline bool stream_is_found(const struct talk *t, size_t id, size_t place)
{
    for (size_t d = 0; d < t->n_detectors; d++) {
        for (size_t back = 0; back < 3 && back <= place; back++) {
            if (t->found[d][id][place - back]) {
                return true;
            }
        }
    }
    return false;
}

#endif
