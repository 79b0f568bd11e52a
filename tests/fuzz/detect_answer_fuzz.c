/*
 * Answers of detectors. The first line is what was asked: `c` (contents), `l` (the same, lenient)
 * or another letter, then the contents with `|` between them; the rest is the answer. What is
 * believed keeps its promises, and written again reads the same.
 */
#include "base/assert.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "detect/answer.h"
#include "wire/json.h"
#include "wire/json_write.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_CONTENTS = 8 };

struct question {
    struct weir_slice contents[MAX_CONTENTS];
    struct weir_detect_input input;
};

static void read_question(struct question *q, struct weir_slice line)
{
    char kind = line.n != 0 ? line.p[0] : 'c';
    struct weir_slice rest = line.n != 0 ? weir_slice_sub(line, 1, line.n) : line;
    bool is_contents = kind == 'c' || kind == 'l';
    q->input = (struct weir_detect_input){
        .type = is_contents ? WEIR_DETECT_CONTENTS : WEIR_DETECT_CHAT,
        .contents = q->contents,
        .is_lenient = kind == 'l',
        .threshold = 0.25,
    };
    while (rest.p != NULL && q->input.n_contents < MAX_CONTENTS) {
        struct weir_slice text = weir_slice_cut(&rest, '|');
        text.n = weir_utf8_valid_prefix(text);
        q->contents[q->input.n_contents++] = text;
    }
}

static void check_json(struct weir_slice json)
{
    struct weir_json_tape tape = {0};
    struct weir_json j;
    WEIR_ASSERT(json.n == 0 || weir_json_parse_reuse(&j, json, NULL, &tape, NULL) == 0);
    WEIR_ASSERT(weir_slice_find(json, '\n') == json.n && weir_slice_find(json, '\r') == json.n);
    weir_json_tape_dispose(&tape);
}

static void check_finding(const struct weir_detection *d, const struct weir_detect_input *in,
                          size_t list_no)
{
    bool is_contents = in->type == WEIR_DETECT_CONTENTS;
    WEIR_ASSERT(d->has_span == is_contents && d->start_cp <= d->end_cp);
    WEIR_ASSERT(!is_contents || d->end_cp <= weir_utf8_count(in->contents[list_no]));
    WEIR_ASSERT(d->score >= in->threshold);
    WEIR_ASSERT(weir_slice_eq_cstr(d->detector_id, "id"));
    WEIR_ASSERT(weir_utf8_is_valid(d->text) && weir_utf8_is_valid(d->detection) &&
                weir_utf8_is_valid(d->detection_type));
    check_json(d->score_raw);
    check_json(d->evidence);
    check_json(d->metadata);
}

static void write_string(struct weir_json_write *w, const char *name, struct weir_slice value)
{
    weir_json_write_key(w, weir_slice_cstr(name));
    weir_json_write_string(w, value);
}

static void write_raw(struct weir_json_write *w, const char *name, struct weir_slice json)
{
    if (json.n != 0) {
        weir_json_write_key(w, weir_slice_cstr(name));
        weir_json_write_raw(w, json);
    }
}

static void write_finding(struct weir_json_write *w, const struct weir_detection *d)
{
    weir_json_write_begin_object(w);
    if (d->has_span) {
        weir_json_write_key(w, WEIR_SLICE("start"));
        weir_json_write_u64(w, d->start_cp);
        weir_json_write_key(w, WEIR_SLICE("end"));
        weir_json_write_u64(w, d->end_cp);
        write_string(w, "text", d->text);
    }
    write_string(w, "detection", d->detection);
    write_string(w, "detection_type", d->detection_type);
    write_raw(w, "score", d->score_raw);
    write_raw(w, "evidence", d->evidence);
    write_raw(w, "metadata", d->metadata);
    weir_json_write_end_object(w);
}

static void write_answer(const struct weir_detect_answer *a, bool is_contents, struct weir_buf *out)
{
    struct weir_json_write w;
    weir_json_write_init(&w, out);
    if (is_contents) {
        weir_json_write_begin_array(&w);
    }
    for (size_t i = 0; i < a->n_lists; i++) {
        weir_json_write_begin_array(&w);
        for (size_t k = 0; k < a->lists[i].n; k++) {
            write_finding(&w, &a->lists[i].items[k]);
        }
        weir_json_write_end_array(&w);
    }
    if (is_contents) {
        weir_json_write_end_array(&w);
    }
    WEIR_ASSERT(weir_json_write_finish(&w) == 0);
}

/* What was believed, written down, is believed again and is written the same. */
static void check_answer(const struct weir_detect_answer *a, const struct weir_detect_input *in)
{
    bool is_contents = in->type == WEIR_DETECT_CONTENTS;
    struct weir_arena arena = {0};
    struct weir_detect_answer again;
    struct weir_buf first = {0};
    struct weir_buf second = {0};
    write_answer(a, is_contents, &first);
    WEIR_ASSERT(
        weir_detect_answer_read(&again, weir_buf_slice(&first), in, WEIR_SLICE("id"), &arena) == 0);
    write_answer(&again, is_contents, &second);
    WEIR_ASSERT(weir_slice_eq(weir_buf_slice(&first), weir_buf_slice(&second)));
    weir_buf_dispose(&first);
    weir_buf_dispose(&second);
    weir_arena_dispose(&arena);
}

/* The same bytes as a line of a streamed answer: what is believed keeps the promise. */
static void check_line(struct weir_slice body)
{
    static const struct weir_slice text = WEIR_SLICE("b\xc3\xb6se W\xc3\xb6rter, bad day.");
    struct weir_detect_input input = {.contents = &text, .n_contents = 1};
    struct weir_arena arena = {0};
    struct weir_detect_line line = {.from_cp = 3};
    line.end_cp = line.from_cp + weir_utf8_count(text);
    int rc = weir_detect_answer_line(&line, body, &input, WEIR_SLICE("id"), &arena);
    WEIR_ASSERT((rc != 0) == (line.why != NULL));
    WEIR_ASSERT(rc != 0 || (line.processed_cp >= line.from_cp && line.processed_cp <= line.end_cp));
    for (size_t i = 0; rc == 0 && i < line.found.n; i++) {
        const struct weir_detection *d = &line.found.items[i];
        WEIR_ASSERT(d->has_span && d->start_cp >= line.from_cp && d->start_cp <= d->end_cp &&
                    d->end_cp <= line.end_cp);
        WEIR_ASSERT(i == 0 || d->start_cp >= line.found.items[i - 1].start_cp);
    }
    weir_arena_dispose(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_slice body = weir_slice_make((const char *)data, size);
    struct question q;
    read_question(&q, weir_slice_cut(&body, '\n'));
    struct weir_arena arena = {0};
    struct weir_detect_answer answer;
    int rc = weir_detect_answer_read(&answer, body, &q.input, WEIR_SLICE("id"), &arena);
    WEIR_ASSERT((rc != 0) == (answer.why != NULL));
    if (rc == 0) {
        size_t n_lists = q.input.type == WEIR_DETECT_CONTENTS ? q.input.n_contents : 1;
        WEIR_ASSERT(answer.n_lists == n_lists);
        for (size_t i = 0; i < n_lists; i++) {
            for (size_t k = 0; k < answer.lists[i].n; k++) {
                check_finding(&answer.lists[i].items[k], &q.input, i);
            }
        }
        check_answer(&answer, &q.input);
    }
    check_line(body);
    struct weir_fault fault;
    weir_detect_answer_error(&fault, 500, body, &arena);
    WEIR_ASSERT(weir_utf8_is_valid(fault.message));
    weir_arena_dispose(&arena);
    return 0;
}
