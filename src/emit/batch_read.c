/*
 * Reading a chunk: which members it has and what kind it is. Every event of every stream passes
 * here, so the known names are told apart by length first, and members nobody knows are only
 * counted; they are walked again where that count says so.
 */
#include "base/mem.h"
#include "emit/batch_int.h"

#define NAME_IS(name, literal) (memcmp((name).p, (literal), sizeof(literal) - 1) == 0)

struct weir_slice weir_batch__key(struct weir_batch *b, const struct weir_json *j, uint32_t k)
{
    if (!j->nodes[k].is_escaped) {
        return weir_batch__inner(j, k);
    }
    weir_buf_clear(&b->key);
    (void)weir_json_string_append(j, k, &b->key);
    return weir_buf_slice(&b->key);
}

struct weir_slice weir_batch__text(struct weir_batch *b, const struct weir_json *j, uint32_t at)
{
    if (!j->nodes[at].is_escaped) {
        return weir_batch__inner(j, at);
    }
    weir_buf_clear(&b->scratch);
    (void)weir_json_string_append(j, at, &b->scratch);
    return weir_buf_slice(&b->scratch);
}

bool weir_batch__is_listed(const struct weir_batch_fields *fields, struct weir_slice name)
{
    for (size_t i = 0; i < fields->n; i++) {
        if (weir_slice_eq(fields->names[i], name)) {
            return true;
        }
    }
    return false;
}

enum weir_batch__field weir_batch__field(struct weir_slice name)
{
    switch (name.n) {
    case 2:
        return NAME_IS(name, "id") ? FIELD_ID : FIELD_OTHER;
    case 5:
        return NAME_IS(name, "model") ? FIELD_MODEL
                                      : (NAME_IS(name, "usage") ? FIELD_USAGE : FIELD_OTHER);
    case 6:
        return NAME_IS(name, "object") ? FIELD_OBJECT : FIELD_OTHER;
    case 7:
        return NAME_IS(name, "choices") ? FIELD_CHOICES
                                        : (NAME_IS(name, "created") ? FIELD_CREATED : FIELD_OTHER);
    case 11:
        return NAME_IS(name, "obfuscation") ? FIELD_OBFUSCATION : FIELD_OTHER;
    case 12:
        return NAME_IS(name, "service_tier") ? FIELD_TIER : FIELD_OTHER;
    case 18:
        return NAME_IS(name, "system_fingerprint") ? FIELD_FINGERPRINT : FIELD_OTHER;
    default:
        return FIELD_OTHER;
    }
}

static void read_members(struct weir_batch *b, struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    memset(in->top, 0xFF, sizeof in->top); /* all NONE */
    in->n_others = 0;
    for (uint32_t k = 1; k < j->nodes[0].next; k = j->nodes[k + 1].next) {
        enum weir_batch__field field = weir_batch__field(weir_batch__key(b, j, k));
        if (field != FIELD_OTHER) {
            in->top[field] = k + 1;
        } else if (weir_json_type(j, k + 1) != WEIR_JSON_NULL) {
            in->n_others++;
        }
    }
}

/* An upstream's findings and errors are never taken for a stamp that every chunk repeats. */
static bool is_always_barrier(struct weir_slice name)
{
    return weir_slice_eq(name, WEIR_SLICE("detections")) ||
           weir_slice_eq(name, WEIR_SLICE("warnings")) || weir_slice_eq(name, WEIR_SLICE("error"));
}

static bool is_stamp(struct weir_batch *b, const struct weir_batch__input *in, uint32_t k)
{
    const struct weir_json *j = in->j;
    if (weir_json_type(j, k + 1) == WEIR_JSON_NULL || j->nodes[k].is_escaped ||
        weir_batch__is_found(in, k)) {
        return false;
    }
    struct weir_slice name = weir_batch__inner(j, k);
    return weir_batch__field(name) == FIELD_OTHER &&
           !weir_batch__is_listed(&b->o.latest_wins, name);
}

static void keep_stamps(struct weir_batch *b, const struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    weir_members_clear(&b->stamps);
    if (in->n_others > WEIR_BATCH__MEMBERS_MOST) {
        return;
    }
    for (uint32_t k = 1; k < j->nodes[0].next; k = j->nodes[k + 1].next) {
        struct weir_slice name = weir_batch__inner(j, k);
        size_t n = j->nodes[k + 1].end - j->nodes[k + 1].start;
        if (is_stamp(b, in, k) && n <= WEIR_BATCH__STAMP_MOST_BYTES && !is_always_barrier(name)) {
            struct weir_member_source from = {j, k + 1, &b->scratch, &b->tape_again};
            weir_members_put(&b->stamps, name, WEIR_MEMBER_EQUAL, &from);
        }
    }
}

/* Does an unknown member stand in the way of merging: one that the chunk before did not have? */
static bool has_barrier(struct weir_batch *b, const struct weir_batch__input *in, size_t *n_stamps)
{
    const struct weir_json *j = in->j;
    *n_stamps = 0;
    if (in->n_others > WEIR_BATCH__MEMBERS_MOST) {
        return true;
    }
    for (uint32_t k = 1; k < j->nodes[0].next; k = j->nodes[k + 1].next) {
        if (!is_stamp(b, in, k)) {
            bool is_unknown = j->nodes[k].is_escaped && !weir_batch__is_found(in, k) &&
                              weir_batch__field(weir_batch__key(b, j, k)) == FIELD_OTHER &&
                              weir_json_type(j, k + 1) != WEIR_JSON_NULL;
            if (is_unknown) {
                return true;
            }
            continue;
        }
        struct weir_member_source from = {j, k + 1, &b->scratch, &b->tape_again};
        struct weir_slice name = weir_batch__inner(j, k);
        ++*n_stamps;
        if (is_always_barrier(name) || !weir_members_has(&b->stamps, name, &from)) {
            return true;
        }
    }
    return false;
}

/* What the guard attached to the chunk is not a member nobody knows. */
static void read_findings(struct weir_batch__input *in)
{
    in->found.is_there = false;
    if (in->ev->is_guarded) {
        weir_findings_read(in->j, in->top[FIELD_CHOICES], &in->found);
    }
    if (in->found.is_there) {
        in->n_others -= in->found.warnings != WEIR_JSON_NONE ? 2U : 1U;
    }
}

static bool is_barrier(struct weir_batch *b, const struct weir_batch__input *in)
{
    if (in->n_others == 0) {
        weir_members_clear(&b->stamps);
        return false;
    }
    size_t n_stamps;
    bool is_one = has_barrier(b, in, &n_stamps);
    if (is_one || n_stamps != b->stamps.n) {
        keep_stamps(b, in);
    }
    return is_one;
}

/* A half of a surrogate pair cannot be joined with text: such a chunk is left alone. */
static bool has_lone_surrogate(const struct weir_json *j)
{
    if (j->src.n == 0 || memchr(j->src.p, '\\', j->src.n) == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < j->n_nodes; i++) {
        if (j->nodes[i].type == WEIR_JSON_STRING && j->nodes[i].has_lone_surrogate) {
            return true;
        }
    }
    return false;
}

static enum weir_batch__class opaque(struct weir_batch *b, const struct weir_batch__input *in)
{
    weir_members_clear(&b->stamps);
    bool has_error = weir_json_get_set(in->j, 0, WEIR_SLICE("error")) != (uint32_t)WEIR_JSON_NONE;
    return has_error ? CLASS_ERROR : CLASS_OPAQUE;
}

enum weir_batch__class weir_batch__read_top(struct weir_batch *b, struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    if (weir_json_type(j, 0) != WEIR_JSON_OBJECT) {
        return opaque(b, in);
    }
    read_members(b, in);
    uint32_t choices = in->top[FIELD_CHOICES];
    if (choices == WEIR_JSON_NONE || weir_json_type(j, choices) != WEIR_JSON_ARRAY) {
        return opaque(b, in);
    }
    if (has_lone_surrogate(j)) {
        weir_members_clear(&b->stamps);
        return CLASS_BROKEN;
    }
    read_findings(in);
    bool is_stopper = is_barrier(b, in);
    if (j->nodes[choices].n == 0) {
        return weir_batch__is_null(j, in->top[FIELD_USAGE]) ? CLASS_EMPTY : CLASS_USAGE;
    }
    return is_stopper ? CLASS_BARRIER : CLASS_CHOICES;
}

bool weir_batch__is_choice_member(struct weir_slice name)
{
    switch (name.n) {
    case 4:
        return NAME_IS(name, "text");
    case 5:
        return NAME_IS(name, "index") || NAME_IS(name, "delta");
    case 8:
        return NAME_IS(name, "logprobs");
    case 13:
        return NAME_IS(name, "finish_reason");
    default:
        return false;
    }
}

/* The member of `delta` with that name, or NULL for one that cannot be merged. */
static uint32_t *delta_member(struct weir_batch__input *in, struct weir_slice name)
{
    switch (name.n) {
    case 4:
        return NAME_IS(name, "role") ? &in->role : NULL;
    case 7:
        return NAME_IS(name, "content") ? &in->content
                                        : (NAME_IS(name, "refusal") ? &in->refusal : NULL);
    case 9:
        return NAME_IS(name, "reasoning") ? &in->reasoning : NULL;
    case 10:
        return NAME_IS(name, "tool_calls") ? &in->tool_calls : NULL;
    case 17:
        return NAME_IS(name, "reasoning_content") ? &in->reasoning_content : NULL;
    default:
        return NULL;
    }
}

static void read_delta(struct weir_batch *b, struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    for (uint32_t k = in->delta + 1; k < j->nodes[in->delta].next; k = j->nodes[k + 1].next) {
        if (weir_json_type(j, k + 1) == WEIR_JSON_NULL) {
            continue;
        }
        uint32_t *member = delta_member(in, weir_batch__key(b, j, k));
        if (member != NULL) {
            *member = k + 1;
        }
        bool is_list = member == &in->tool_calls;
        enum weir_json_type wanted = is_list ? WEIR_JSON_ARRAY : WEIR_JSON_STRING;
        in->is_odd = in->is_odd || member == NULL || weir_json_type(j, k + 1) != wanted;
    }
}

/* The arrays we can join, or nothing. */
static void read_logprobs(struct weir_batch *b, struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    if (weir_batch__is_null(j, in->logprobs)) {
        return;
    }
    if (weir_json_type(j, in->logprobs) != WEIR_JSON_OBJECT) {
        in->is_odd = true;
        return;
    }
    uint32_t end = j->nodes[in->logprobs].next;
    for (uint32_t k = in->logprobs + 1; k < end; k = j->nodes[k + 1].next) {
        enum weir_json_type type = weir_json_type(j, k + 1);
        bool is_known = weir_batch__logprobs_list(weir_batch__key(b, j, k)) != WEIR_BATCH__LISTS;
        if (type == WEIR_JSON_ARRAY && is_known) {
            in->has_logprobs = in->has_logprobs || j->nodes[k + 1].n != 0;
        } else if (type != WEIR_JSON_NULL) {
            in->is_odd = true;
        }
    }
}

static void offer_channel(struct weir_batch__input *in, enum weir_batch__channel channel,
                          uint32_t at)
{
    if (at == WEIR_JSON_NONE || weir_json_type(in->j, at) != WEIR_JSON_STRING ||
        in->j->nodes[at].n == 0) {
        return;
    }
    in->n_channels++;
    in->n_cp += in->j->nodes[at].n;
    in->channel = channel;
    in->payload = at;
}

static bool is_text(const struct weir_json *j, uint32_t at)
{
    return at != WEIR_JSON_NONE && weir_json_type(j, at) == WEIR_JSON_STRING && j->nodes[at].n != 0;
}

static void offer_reasoning(struct weir_batch__input *in)
{
    if (!is_text(in->j, in->reasoning) || !is_text(in->j, in->reasoning_content)) {
        offer_channel(in, CHANNEL_REASONING, in->reasoning);
        offer_channel(in, CHANNEL_REASONING_CONTENT, in->reasoning_content);
    } else if (weir_json_equal(in->j, in->reasoning, in->j, in->reasoning_content)) {
        offer_channel(in, CHANNEL_REASONING_BOTH, in->reasoning);
    } else {
        offer_channel(in, CHANNEL_REASONING, in->reasoning);
        in->is_odd = true;
    }
}

static void find_channels(struct weir_batch__input *in)
{
    offer_reasoning(in);
    offer_channel(in, CHANNEL_REFUSAL, in->refusal);
    offer_channel(in, CHANNEL_TEXT, in->text);
    offer_channel(in, CHANNEL_CONTENT, in->content);
    in->n_channels = (uint8_t)(in->n_channels + in->has_tools);
}

/* Members of the choice itself. False: its index is not one. */
static bool read_choice_members(struct weir_batch *b, struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    for (uint32_t k = in->choice + 1; k < j->nodes[in->choice].next; k = j->nodes[k + 1].next) {
        enum weir_json_type type = weir_json_type(j, k + 1);
        struct weir_slice name = weir_batch__key(b, j, k);
        if (!weir_batch__is_choice_member(name)) {
            in->n_extras += type != WEIR_JSON_NULL;
            in->is_odd = in->is_odd || (type != WEIR_JSON_NULL && j->nodes[k].is_escaped);
        } else if (name.p[0] == 'l') {
            in->logprobs = k + 1;
        } else if (name.p[0] == 't') {
            in->text = k + 1;
        } else if (name.p[0] == 'd' && type == WEIR_JSON_OBJECT) {
            in->delta = k + 1;
        } else if (name.p[0] == 'f') {
            in->is_finish =
                type != WEIR_JSON_NULL && (type != WEIR_JSON_STRING || j->nodes[k + 1].n != 0);
        } else if (name.p[0] == 'i' && type != WEIR_JSON_NULL) {
            uint64_t index;
            if (weir_json_u64(j, k + 1, &index) != 0 || index >= UINT32_MAX) {
                return false;
            }
            in->index = (uint32_t)index;
        }
    }
    in->is_odd = in->is_odd || in->n_extras > WEIR_BATCH__MEMBERS_MOST;
    return true;
}

static void reset_choice(struct weir_batch__input *in, uint32_t choice)
{
    in->choice = choice;
    in->index = 0;
    in->delta = in->role = in->content = in->refusal = in->reasoning = in->reasoning_content =
        in->text = in->tool_calls = in->logprobs = in->payload = WEIR_JSON_NONE;
    in->n_extras = in->n_frags = in->n_cp = 0;
    in->is_finish = in->is_odd = in->has_logprobs = false;
    in->has_tools = in->has_odd_tools = false;
    in->strip_role = in->strip_tools = false;
    in->n_channels = 0;
    in->channel = CHANNEL_NONE;
}

bool weir_batch__read_choice(struct weir_batch *b, struct weir_batch__input *in, uint32_t choice)
{
    reset_choice(in, choice);
    if (weir_json_type(in->j, choice) != WEIR_JSON_OBJECT || !read_choice_members(b, in)) {
        return false;
    }
    if (in->delta != WEIR_JSON_NONE) {
        read_delta(b, in);
    }
    if (!weir_batch__is_null(in->j, in->text)) {
        in->is_odd = in->is_odd || in->delta != WEIR_JSON_NONE ||
                     weir_json_type(in->j, in->text) != WEIR_JSON_STRING;
    }
    read_logprobs(b, in);
    if (in->tool_calls != WEIR_JSON_NONE) {
        bool is_list = weir_json_type(in->j, in->tool_calls) == WEIR_JSON_ARRAY;
        bool is_empty = is_list && in->j->nodes[in->tool_calls].n == 0;
        in->has_tools = is_list && !is_empty && weir_batch__read_frags(b, in);
        in->has_odd_tools = !is_empty && !in->has_tools;
        in->is_odd = in->is_odd || in->has_odd_tools;
    }
    find_channels(in);
    return true;
}

/* A member of a fragment that must be a string. False: it is something else, or too long. */
static bool take_string(const struct weir_json *j, uint32_t at, uint32_t most, uint32_t *out)
{
    if (weir_json_type(j, at) != WEIR_JSON_STRING || j->nodes[at].end - j->nodes[at].start > most) {
        return false;
    }
    *out = j->nodes[at].n != 0 ? at : (uint32_t)WEIR_JSON_NONE;
    return true;
}

static bool read_function(struct weir_batch *b, const struct weir_json *j,
                          struct weir_batch__frag *frag)
{
    uint32_t n_unknown = 0;
    uint32_t end = j->nodes[frag->function].next;
    for (uint32_t k = frag->function + 1; k < end; k = j->nodes[k + 1].next) {
        struct weir_slice name = weir_batch__key(b, j, k);
        bool is_ok = true;
        if (weir_json_type(j, k + 1) == WEIR_JSON_NULL) {
            continue;
        }
        if (weir_slice_eq(name, WEIR_SLICE("name"))) {
            is_ok = take_string(j, k + 1, WEIR_BATCH__NAME_MOST_BYTES, &frag->name);
        } else if (weir_slice_eq(name, WEIR_SLICE("arguments"))) {
            is_ok = take_string(j, k + 1, UINT32_MAX, &frag->args);
        } else {
            is_ok = !j->nodes[k].is_escaped && ++n_unknown <= WEIR_BATCH__MEMBERS_MOST;
        }
        if (!is_ok) {
            return false;
        }
    }
    return true;
}

static bool read_frag_member(const struct weir_json *j, uint32_t k, struct weir_slice name,
                             struct weir_batch__frag *frag)
{
    uint64_t index;
    if (weir_slice_eq(name, WEIR_SLICE("index"))) {
        bool is_ok = weir_json_u64(j, k + 1, &index) == 0 && index < UINT32_MAX / 2;
        frag->index = is_ok ? (uint32_t)index : frag->index;
        return is_ok;
    }
    if (weir_slice_eq(name, WEIR_SLICE("id"))) {
        return take_string(j, k + 1, WEIR_BATCH__NAME_MOST_BYTES, &frag->id);
    }
    if (weir_slice_eq(name, WEIR_SLICE("type"))) {
        return take_string(j, k + 1, WEIR_BATCH__NAME_MOST_BYTES, &frag->type);
    }
    if (weir_slice_eq(name, WEIR_SLICE("function"))) {
        frag->function = k + 1;
        return weir_json_type(j, k + 1) == WEIR_JSON_OBJECT;
    }
    /* `custom` carries text of its own that we do not know how to join. */
    return !j->nodes[k].is_escaped && !weir_slice_eq(name, WEIR_SLICE("custom"));
}

static bool read_frag(struct weir_batch *b, const struct weir_json *j, uint32_t entry,
                      struct weir_batch__frag *frag)
{
    memset(frag, 0xFF, sizeof *frag); /* all NONE */
    frag->entry = entry;
    if (weir_json_type(j, entry) != WEIR_JSON_OBJECT ||
        j->nodes[entry].n > WEIR_BATCH__MEMBERS_MOST) {
        return false;
    }
    for (uint32_t k = entry + 1; k < j->nodes[entry].next; k = j->nodes[k + 1].next) {
        bool is_null = weir_json_type(j, k + 1) == WEIR_JSON_NULL;
        if (!is_null && !read_frag_member(j, k, weir_batch__key(b, j, k), frag)) {
            return false;
        }
    }
    return frag->function == WEIR_JSON_NONE || read_function(b, j, frag);
}

bool weir_batch__read_frags(struct weir_batch *b, struct weir_batch__input *in)
{
    const struct weir_json *j = in->j;
    uint32_t n = j->nodes[in->tool_calls].n;
    if (n > 2 * b->o.max_tool_calls) {
        return false;
    }
    if (n > b->cap_frags) {
        b->frags = weir_mem_realloc(b->frags, n * sizeof *b->frags);
        b->cap_frags = n;
    }
    uint32_t entry = in->tool_calls + 1;
    for (in->n_frags = 0; in->n_frags < n; in->n_frags++) {
        if (!read_frag(b, j, entry, &b->frags[in->n_frags])) {
            return false;
        }
        entry = j->nodes[entry].next;
    }
    return true;
}
