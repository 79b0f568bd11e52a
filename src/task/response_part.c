/*
 * What leaves of a part. Its text is remembered: its end, its item's and the response's say it
 * again. Where text was replaced everything behind it has moved, and annotations move with it:
 *
 *   came   Write to jane@example.org, see [1].       annotation [30, 33)
 *   left   Write to [email_address], see [1].        edit [9, 25): 16 code points are 15 → [29, 32)
 */
#include "base/mem.h"
#include "base/utf8.h"
#include "task/event.h"
#include "task/response_int.h"
#include "wire/json_edit.h"
#include "wire/json_write.h"

enum { MOST_EDITS = 4096 };

struct weir_rsp_part *weir_rsp__find_part(struct weir_rsp *m, uint64_t number)
{
    for (struct weir_list *at = m->parts.next; at != &m->parts; at = at->next) {
        struct weir_rsp_part *part = WEIR_LIST_ENTRY(at, struct weir_rsp_part, link);
        if (part->number == number) {
            return part;
        }
    }
    for (struct weir_list *at = m->told.next; at != &m->told; at = at->next) {
        struct weir_rsp_part *part = WEIR_LIST_ENTRY(at, struct weir_rsp_part, link);
        if (part->number == number) {
            return part;
        }
    }
    return NULL;
}

/* ---- where text has moved ---- */

/* The shift is that of everything behind it. Too many: the last one takes in the rest. */
static void add_edit(struct weir_rsp_part *part, size_t start_cp, size_t end_cp, int64_t shift)
{
    if (part->n_edits == MOST_EDITS) {
        part->edits[part->n_edits - 1].end_cp = end_cp;
        part->edits[part->n_edits - 1].shift = shift;
        return;
    }
    if (part->n_edits == part->cap_edits) {
        part->cap_edits = 2 * part->cap_edits + 4;
        part->edits = weir_mem_realloc(part->edits, part->cap_edits * sizeof *part->edits);
    }
    part->edits[part->n_edits++] = (struct weir_rsp_edit){start_cp, end_cp, shift};
}

/* How long the replacement is that begins at `left_cp`; none does: a run goes on that began before.
 */
static size_t replacement_at(const struct weir_row_text *text, size_t left_cp)
{
    for (size_t i = 0; i < text->found.n_findings; i++) {
        const struct weir_detection *d = text->found.findings[i];
        if (d->start_cp == left_cp && d->end_cp > left_cp) {
            return d->end_cp - left_cp;
        }
    }
    return 0;
}

/* Where in the piece something was replaced. Stretches that stay and replacements must make up the
 * whole; where they do not (values were put back in, JSON was kept whole) all of it has moved. */
static void note_edits(struct weir_rsp_part *part, const struct weir_row_text *text)
{
    size_t before = part->n_edits;
    size_t at_cp = text->start_cp;
    size_t left_cp = part->left_cp;
    size_t end_left_cp = left_cp + weir_utf8_count(text->text);
    if (!text->is_changed) {
        part->left_cp = end_left_cp;
        return;
    }
    for (size_t i = 0; i < text->n_stretches; i++) {
        size_t n_cp = weir_utf8_count(text->stretches[i].text);
        size_t n_left = n_cp;
        if (text->stretches[i].is_replaced) {
            n_left = replacement_at(text, left_cp);
            add_edit(part, at_cp, at_cp + n_cp,
                     (int64_t)(left_cp + n_left) - (int64_t)(at_cp + n_cp));
        }
        at_cp += n_cp;
        left_cp += n_left;
    }
    if (at_cp != text->end_cp || left_cp != end_left_cp) {
        part->n_edits = before < part->n_edits ? before : part->n_edits;
        add_edit(part, text->start_cp, text->end_cp, (int64_t)end_left_cp - (int64_t)text->end_cp);
    }
    part->left_cp = end_left_cp;
}

/* False: it touches what was replaced. */
static bool move_span(const struct weir_rsp_part *part, uint64_t *start, uint64_t *end)
{
    int64_t start_shift = 0;
    int64_t end_shift = 0;
    for (size_t i = 0; i < part->n_edits; i++) {
        const struct weir_rsp_edit *e = &part->edits[i];
        bool is_before = e->end_cp <= *start;
        bool is_behind = e->start_cp >= *end;
        if (!is_before && !is_behind) {
            return false;
        }
        if (is_before) {
            start_shift = e->shift;
            end_shift = e->shift;
        }
    }
    *start = (uint64_t)((int64_t)*start + start_shift);
    *end = (uint64_t)((int64_t)*end + end_shift);
    return true;
}

/* ---- annotations ---- */

static bool read_span(const struct weir_json *json, uint32_t *at, uint64_t *span)
{
    static const char *const names[] = {"start_index", "end_index"};
    for (size_t i = 0; i < 2; i++) {
        at[i] = weir_json_get_set(json, 0, weir_slice_cstr(names[i]));
        if (at[i] == WEIR_JSON_NONE || weir_json_u64(json, at[i], &span[i]) != 0 ||
            span[i] > INT32_MAX) {
            return false;
        }
    }
    return span[0] <= span[1];
}

/* As it leaves; false: it does not. */
static bool move_note(const struct weir_rsp_part *part, struct weir_slice json,
                      struct weir_buf *out)
{
    struct weir_json_tape tape = {0};
    struct weir_json doc;
    struct weir_json_edit e = {0};
    uint32_t at[2] = {WEIR_JSON_NONE, WEIR_JSON_NONE};
    uint64_t span[2];
    char numbers[2][24];
    bool is_good = weir_json_parse_reuse(&doc, json, NULL, &tape, NULL) == 0;
    bool has_span = is_good && read_span(&doc, at, span);
    bool is_whole = at[0] == WEIR_JSON_NONE && at[1] == WEIR_JSON_NONE;
    is_good = is_good && (has_span ? move_span(part, &span[0], &span[1]) : is_whole);
    if (is_good && has_span) {
        weir_json_edit_begin(&e, &doc);
        for (size_t i = 0; i < 2; i++) {
            int n = snprintf(numbers[i], sizeof numbers[i], "%llu", (unsigned long long)span[i]);
            weir_json_edit_replace(&e, at[i], weir_slice_make(numbers[i], (size_t)n));
        }
        weir_json_edit_write(&e, out);
        weir_json_edit_dispose(&e);
    } else if (is_good) {
        weir_buf_append(out, json);
    }
    weir_json_tape_dispose(&tape);
    return is_good;
}

void weir_rsp__leave_note(struct weir_rsp *m, struct weir_rsp_part *part, struct weir_slice json)
{
    struct weir_buf moved = {0};
    struct weir_buf note = {0};
    if (move_note(part, json, &moved)) {
        weir_rowed_restore(&m->base, weir_buf_slice(&moved), WEIR_RESTORE_ITEM, &note);
        weir_buf_append(&part->annotations,
                        part->annotations.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_buf_append(&part->annotations, weir_buf_slice(&note));
        weir_rsp__remember(m, note.n);
        weir_responses_write_annotation(&part->at, part->n_annotations++, weir_buf_slice(&note),
                                        weir_rowed_scratch(&m->base));
        weir_rsp__send(m);
    } else {
        weir_rowed_drop(&m->base, 1);
    }
    weir_buf_dispose(&moved);
    weir_buf_dispose(&note);
}

/* ---- its life ---- */

void weir_rsp__leave_open_part(struct weir_rsp *m, struct weir_rsp_part *part)
{
    bool is_summary = part->at.kind == WEIR_RESPONSES_SUMMARY;
    struct weir_buf empty = {0};
    part->at.item = m->n_left - 1;
    part->at.part = m->n_left_parts[is_summary]++;
    part->at.item_id = weir_buf_slice(&m->item_id);
    m->open_part = part;
    if (!part->at.is_bare) {
        weir_responses_write_part(part->at.kind, WEIR_SLICE(""), WEIR_SLICE(""), WEIR_SLICE(""),
                                  &empty);
        weir_responses_write_part_event(&part->at, weir_buf_slice(&empty), false,
                                        weir_rowed_scratch(&m->base));
        weir_rsp__send(m);
    }
    weir_buf_dispose(&empty);
}

/* The log probabilities of the text that leaves, where they are those of what the model said. */
static void take_entries(struct weir_rsp_part *part, const struct weir_row_text *text,
                         struct weir_buf *out)
{
    for (size_t i = 0; i < text->n_stretches; i++) {
        weir_logprobs_leave(&part->logprobs, text->stretches[i].text,
                            text->stretches[i].is_replaced, out);
    }
}

void weir_rsp__leave_text(struct weir_rsp *m, struct weir_rsp_part *part,
                          const struct weir_row_text *text)
{
    struct weir_buf detections = {0};
    struct weir_buf entries = {0};
    weir_rowed_write_found(&m->base, &text->found, &detections);
    if (m->base.enforces || m->is_refused) {
        weir_buf_append(&part->text, text->text);
        weir_rsp__remember(m, text->text.n);
        m->has_text = m->has_text || (part->at.kind == WEIR_RESPONSES_TEXT && text->text.n != 0);
        if (part->at.kind == WEIR_RESPONSES_TEXT) {
            note_edits(part, text);
            take_entries(part, text, &entries);
        }
    }
    if (entries.n != 0) {
        weir_buf_append(&part->entries, part->entries.n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_buf_append(&part->entries, weir_buf_slice(&entries));
        weir_rsp__remember(m, entries.n);
    }
    struct weir_responses_delta d = {.text = text->text,
                                     .logprobs = weir_buf_slice(&entries),
                                     .detections = weir_buf_slice(&detections),
                                     .warnings = detections.n != 0 ? weir_event_unsuitable_output()
                                                                   : WEIR_SLICE("")};
    weir_responses_write_delta(&part->at, &d, false, weir_rowed_scratch(&m->base));
    weir_rsp__send(m);
    weir_buf_dispose(&entries);
    weir_buf_dispose(&detections);
}

void weir_rsp__leave_close_part(struct weir_rsp *m, struct weir_rsp_part *part)
{
    struct weir_buf *list = part->at.kind == WEIR_RESPONSES_SUMMARY ? &m->summary : &m->content;
    struct weir_buf whole = {0};
    struct weir_responses_delta d = {.text = weir_buf_slice(&part->text),
                                     .logprobs = weir_buf_slice(&part->entries)};
    weir_responses_write_delta(&part->at, &d, true, weir_rowed_scratch(&m->base));
    weir_rsp__send(m);
    weir_responses_write_part(part->at.kind, d.text, weir_buf_slice(&part->annotations), d.logprobs,
                              &whole);
    if (!part->at.is_bare) {
        weir_responses_write_part_event(&part->at, weir_buf_slice(&whole), true,
                                        weir_rowed_scratch(&m->base));
        weir_rsp__send(m);
    }
    weir_buf_append(list, list->n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
    weir_buf_append(list, weir_buf_slice(&whole));
    weir_buf_dispose(&whole);
    m->open_part = NULL;
    weir_rsp__free_part(part);
}
