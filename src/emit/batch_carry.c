/*
 * What a waiting text or tool call takes along besides itself, and how two chunks' worth of it
 * becomes one: id, object and model must agree; of created, fingerprint, tier and usage the last
 * that is not null stays; logprobs are joined; extras must agree, unless they are listed; the
 * guard's findings are joined, of one channel each.
 */
#include "base/map.h"
#include "base/mem.h"
#include "emit/batch_int.h"

#include <stdlib.h>

static const char *const list_names[WEIR_BATCH__LISTS] = {
    "content", "refusal", "tokens", "token_logprobs", "top_logprobs", "text_offset",
};

size_t weir_batch__logprobs_list(struct weir_slice name)
{
    size_t i = 0;
    while (i < WEIR_BATCH__LISTS && !weir_slice_eq_cstr(name, list_names[i])) {
        i++;
    }
    return i;
}

struct weir_slice weir_batch__logprobs_name(size_t list)
{
    return weir_slice_cstr(list_names[list]);
}

/* Of a chunk with several choices only the last keeps the usage. */
static uint32_t field_at(const struct weir_batch__input *in, enum weir_batch__field field)
{
    bool is_gone = field == FIELD_USAGE && in->is_split && !in->is_last;
    return is_gone ? (uint32_t)WEIR_JSON_NONE : in->top[field];
}

static uint64_t identity(const struct weir_batch__input *in)
{
    uint64_t sum = 0;
    for (unsigned f = FIELD_ID; f <= FIELD_MODEL; f++) {
        if (!weir_batch__is_null(in->j, in->top[f])) {
            sum += (f + 1) * weir_map_hash(weir_json_raw(in->j, in->top[f]));
        }
    }
    return sum;
}

static bool is_same_field(struct weir_batch *b, const struct weir_buf *kept,
                          const struct weir_json *j, uint32_t at)
{
    struct weir_slice null = WEIR_SLICE("null");
    bool is_kept = kept->n != 0 && !weir_slice_eq(weir_buf_slice(kept), null);
    if (weir_batch__is_null(j, at) || !is_kept) {
        return weir_batch__is_null(j, at) && !is_kept;
    }
    struct weir_member_source from = {j, at, &b->scratch, &b->tape_again};
    return weir_members_same(weir_buf_slice(kept), &from);
}

static bool is_same_envelope(struct weir_batch *b, const struct weir_batch__carry *c,
                             const struct weir_batch__input *in)
{
    if (c->is_shadow) {
        return c->identity == identity(in);
    }
    for (unsigned f = FIELD_ID; f <= FIELD_MODEL; f++) {
        if (!is_same_field(b, &c->fields[f], in->j, in->top[f])) {
            return false;
        }
    }
    return true;
}

static enum weir_member_rule rule_of(const struct weir_batch *b, struct weir_slice name,
                                     enum weir_json_type type)
{
    if (weir_batch__is_listed(&b->o.latest_wins, name)) {
        return WEIR_MEMBER_LATEST;
    }
    bool is_list = type == WEIR_JSON_ARRAY && weir_batch__is_listed(&b->o.append_arrays, name);
    return is_list ? WEIR_MEMBER_APPEND : WEIR_MEMBER_EQUAL;
}

static bool is_extra(const struct weir_json *j, uint32_t k)
{
    return weir_json_type(j, k + 1) != WEIR_JSON_NULL && !j->nodes[k].is_escaped &&
           !weir_batch__is_choice_member(weir_batch__inner(j, k));
}

static bool is_same_extras(struct weir_batch *b, const struct weir_batch__carry *c,
                           const struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    size_t n_equal = 0;
    for (uint32_t k = in->choice + 1; k < j->nodes[in->choice].next; k = j->nodes[k + 1].next) {
        if (!is_extra(j, k)) {
            continue;
        }
        struct weir_slice name = weir_batch__inner(j, k);
        enum weir_member_rule rule = rule_of(b, name, weir_json_type(j, k + 1));
        const struct weir_member *kept = weir_members_find(&c->extras, name);
        if (kept != NULL && kept->rule != rule) {
            return false;
        }
        struct weir_member_source from = {j, k + 1, &b->scratch, &b->tape_again};
        if (rule == WEIR_MEMBER_EQUAL && !weir_members_has(&c->extras, name, &from)) {
            return false;
        }
        n_equal += rule == WEIR_MEMBER_EQUAL;
    }
    return n_equal == c->extras.n_equal;
}

enum weir_batch_reason weir_batch__carry_conflict(struct weir_batch *b,
                                                  const struct weir_batch__carry *c,
                                                  const struct weir_batch__input *in)
{
    if (!is_same_envelope(b, c, in)) {
        return WEIR_BATCH_ENVELOPE;
    }
    bool has_extras = in->n_extras != 0 || c->extras.n != 0;
    if (has_extras && !is_same_extras(b, c, in)) {
        return WEIR_BATCH_FIELD_CHANGE;
    }
    return weir_batch__found_conflict(b, c, in);
}

enum weir_batch_reason weir_batch__found_conflict(const struct weir_batch *b,
                                                  const struct weir_batch__carry *c,
                                                  const struct weir_batch__input *in)
{
    return weir_findings_fits(&c->found, in->j, &in->found, b->o.max_batch_bytes)
               ? WEIR_BATCH_NO_REASON
               : WEIR_BATCH_FIELD_CHANGE;
}

static void join_fields(struct weir_batch__carry *c, const struct weir_batch__input *in,
                        unsigned n_fields)
{
    for (unsigned f = 0; f < n_fields; f++) {
        uint32_t at = field_at(in, (enum weir_batch__field)f);
        struct weir_buf *kept = &c->fields[f];
        if (at == WEIR_JSON_NONE) {
            continue;
        }
        struct weir_slice raw = weir_json_raw(in->j, at);
        bool is_null = weir_json_type(in->j, at) == WEIR_JSON_NULL;
        if ((is_null && kept->n != 0) || weir_slice_eq(raw, weir_buf_slice(kept))) {
            continue;
        }
        weir_buf_clear(kept);
        weir_batch__put(kept, raw);
    }
}

static void join_others(struct weir_batch *b, struct weir_batch__carry *c,
                        const struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    for (uint32_t k = 1; k < j->nodes[0].next; k = j->nodes[k + 1].next) {
        struct weir_slice name = weir_batch__inner(j, k);
        if (weir_json_type(j, k + 1) != WEIR_JSON_NULL && !j->nodes[k].is_escaped &&
            weir_batch__field(name) == FIELD_OTHER && !weir_batch__is_found(in, k)) {
            struct weir_member_source from = {j, k + 1, &b->scratch, &b->tape_again};
            weir_members_put(&c->others, name, WEIR_MEMBER_LATEST, &from);
        }
    }
}

static void join_extras(struct weir_batch *b, struct weir_batch__carry *c,
                        const struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    for (uint32_t k = in->choice + 1; k < j->nodes[in->choice].next; k = j->nodes[k + 1].next) {
        if (!is_extra(j, k)) {
            continue;
        }
        struct weir_slice name = weir_batch__inner(j, k);
        struct weir_member_source from = {j, k + 1, &b->scratch, &b->tape_again};
        weir_members_put(&c->extras, name, rule_of(b, name, weir_json_type(j, k + 1)), &from);
    }
}

static void join_list(struct weir_batch__logprobs *l, size_t i, const struct weir_json *j,
                      uint32_t at)
{
    l->lists[i].has_key = true;
    if (weir_json_type(j, at) != WEIR_JSON_ARRAY) {
        return;
    }
    l->lists[i].has_array = true;
    struct weir_buf *out = &l->lists[i].elements;
    size_t before = out->n;
    for (uint32_t e = weir_json_first(j, at); e != WEIR_JSON_NONE; e = weir_json_after(j, at, e)) {
        weir_batch__put(out, out->n != 0 ? WEIR_SLICE(",") : WEIR_SLICE(""));
        weir_batch__put(out, weir_json_raw(j, e));
    }
    l->n_bytes += out->n - before;
}

static void join_logprobs(struct weir_batch *b, struct weir_batch__carry *c,
                          const struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    if (c->logprobs == NULL) {
        c->logprobs = c->spare != NULL ? c->spare : weir_mem_zalloc(sizeof *c->logprobs);
        c->spare = NULL;
    }
    if (weir_json_type(j, in->logprobs) != WEIR_JSON_OBJECT) {
        return;
    }
    c->logprobs->is_object = true;
    uint32_t end = j->nodes[in->logprobs].next;
    for (uint32_t k = in->logprobs + 1; k < end; k = j->nodes[k + 1].next) {
        size_t list = weir_batch__logprobs_list(weir_batch__key(b, j, k));
        if (list != WEIR_BATCH__LISTS) {
            join_list(c->logprobs, list, j, k + 1);
        }
    }
}

void weir_batch__carry_init(struct weir_batch__carry *c, bool is_shadow)
{
    c->is_shadow = c->others.is_shadow = c->extras.is_shadow = c->found.is_shadow = is_shadow;
}

/* Events of the detection endpoints name their choice and its role, each of them. */
static void join_note(const struct weir_batch *b, struct weir_batch__carry *c,
                      const struct weir_batch__input *in)
{
    if (in->found.is_there && in->has_tools) {
        bool has_role = in->role != WEIR_JSON_NONE && b->o.role_policy != WEIR_BATCH_ROLE_FIRST;
        c->is_noted = c->found.is_there = true;
        c->has_role = c->has_role || has_role;
    }
}

void weir_batch__carry_join(struct weir_batch *b, struct weir_batch__carry *c,
                            const struct weir_batch__input *in, bool is_shared)
{
    c->has_obfuscation = c->has_obfuscation || in->top[FIELD_OBFUSCATION] != WEIR_JSON_NONE;
    if (in->ev->sse_id.n != 0) {
        weir_buf_clear(&c->sse_id);
        weir_batch__put(&c->sse_id, in->ev->sse_id);
    }
    if (c->is_shadow) {
        c->identity = identity(in);
    } else {
        join_fields(c, in, is_shared ? FIELD_USAGE : FIELDS_KEPT);
    }
    join_note(b, c, in);
    if (is_shared) {
        return;
    }
    if (in->n_others != 0 && !c->is_shadow) {
        join_others(b, c, in);
    }
    weir_findings_join(&c->found, in->j, &in->found);
    c->has_role = c->has_role || (in->role != WEIR_JSON_NONE && !in->strip_role);
    if (in->n_extras != 0) {
        join_extras(b, c, in);
    }
    if (in->logprobs != WEIR_JSON_NONE && !c->is_shadow) {
        join_logprobs(b, c, in);
    }
}

static void reset_logprobs(struct weir_batch__logprobs *l)
{
    l->is_object = false;
    l->n_bytes = 0;
    for (size_t i = 0; i < WEIR_BATCH__LISTS; i++) {
        l->lists[i].has_key = l->lists[i].has_array = false;
        weir_batch__empty(&l->lists[i].elements);
    }
}

void weir_batch__carry_unload(struct weir_batch__carry *c)
{
    weir_batch__empty(&c->fields[FIELD_USAGE]);
    weir_members_clear(&c->extras);
    if (c->logprobs != NULL) {
        reset_logprobs(c->logprobs);
        c->spare = c->logprobs;
        c->logprobs = NULL;
    }
    weir_findings_clear(&c->found);
    c->found.is_there = c->is_noted;
    c->has_role = c->has_role && c->is_noted;
    weir_buf_clear(&c->sse_id);
}

void weir_batch__carry_clear(struct weir_batch__carry *c)
{
    c->is_noted = false;
    weir_batch__carry_unload(c);
    for (unsigned f = 0; f < FIELDS_KEPT; f++) {
        weir_batch__empty(&c->fields[f]);
    }
    weir_members_clear(&c->others);
    c->has_obfuscation = false;
}

static void free_logprobs(struct weir_batch__logprobs *l)
{
    for (size_t i = 0; l != NULL && i < WEIR_BATCH__LISTS; i++) {
        weir_buf_dispose(&l->lists[i].elements);
    }
    free(l);
}

void weir_batch__carry_dispose(struct weir_batch__carry *c)
{
    for (unsigned f = 0; f < FIELDS_KEPT; f++) {
        weir_buf_dispose(&c->fields[f]);
    }
    weir_members_dispose(&c->others);
    weir_members_dispose(&c->extras);
    weir_findings_dispose(&c->found);
    weir_buf_dispose(&c->sse_id);
    free_logprobs(c->logprobs);
    free_logprobs(c->spare);
    *c = (struct weir_batch__carry){0};
}

size_t weir_batch__carry_bytes(const struct weir_batch__carry *c)
{
    size_t n = c->others.n_bytes + c->extras.n_bytes + c->fields[FIELD_USAGE].n +
               weir_findings_bytes(&c->found);
    return n + (c->logprobs != NULL ? c->logprobs->n_bytes : 0);
}
