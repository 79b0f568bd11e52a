#include "talk/envelope.h"

#include "base/buf.h"
#include "base/mem.h"
#include "talk/form.h"
#include "wire/json_write.h"

#include <stdlib.h>

enum kind { KIND_ID, KIND_WORD, KIND_NUMBER, KIND_MODEL };

static const struct {
    const char *name;
    enum kind kind;
} MEMBERS[] = {
    {"id", KIND_ID},       {"object", KIND_ID},         {"created", KIND_NUMBER},
    {"model", KIND_MODEL}, {"service_tier", KIND_WORD}, {"system_fingerprint", KIND_ID},
};
enum { N_MEMBERS = sizeof MEMBERS / sizeof MEMBERS[0] };

static bool fits(const struct weir_json *json, uint32_t at, enum kind kind)
{
    switch (kind) {
    case KIND_NUMBER:
        return weir_json_type(json, at) == WEIR_JSON_NUMBER;
    case KIND_WORD:
        return weir_form_is_word_at(json, at);
    case KIND_ID:
    case KIND_MODEL:
    default:
        return weir_form_is_id_at(json, at, WEIR_FORM_ID_MOST);
    }
}

static size_t member_of(const struct weir_json *json, uint32_t key)
{
    size_t i = 0;
    while (i < N_MEMBERS && !weir_json_string_eq(json, key, weir_slice_cstr(MEMBERS[i].name))) {
        i++;
    }
    return i;
}

/* Returns 1 where something else stands there than may leave. */
static uint32_t write_member(struct weir_json_write *w, const struct weir_json *json, uint32_t at,
                             enum kind kind, struct weir_slice model)
{
    bool is_null = weir_json_type(json, at) == WEIR_JSON_NULL;
    if (is_null || fits(json, at, kind)) {
        weir_json_write_raw(w, weir_json_raw(json, at));
        return 0;
    }
    if (kind == KIND_MODEL) {
        weir_json_write_string(w, model);
    } else {
        weir_json_write_null(w);
    }
    return 1;
}

/* The members with braces around them. */
static uint32_t write_members(const struct weir_json *json, struct weir_slice model,
                              struct weir_buf *out)
{
    struct weir_json_write w;
    uint32_t n_odd = 0;
    weir_json_write_init(&w, out);
    weir_json_write_begin_object(&w);
    uint32_t key = weir_json_first(json, 0);
    for (; key != WEIR_JSON_NONE; key = weir_json_after(json, 0, key)) {
        size_t i = member_of(json, key);
        if (i != N_MEMBERS) {
            weir_json_write_key(&w, weir_slice_cstr(MEMBERS[i].name));
            n_odd += write_member(&w, json, key + 1, MEMBERS[i].kind, model);
        }
    }
    weir_json_write_end_object(&w);
    return n_odd;
}

struct weir_envelope *weir_envelope_of(const struct weir_json *json, struct weir_slice model,
                                       struct weir_envelope *last)
{
    struct weir_buf out = {0};
    uint32_t n_odd = write_members(json, model, &out);
    struct weir_slice members = weir_slice_sub(weir_buf_slice(&out), 1, out.n - 1);
    struct weir_envelope *e = last;
    if (last == NULL || !weir_slice_eq(members, weir_envelope_members(last))) {
        e = weir_mem_alloc(sizeof *e + members.n);
        *e = (struct weir_envelope){.refs = 0, .n_odd = n_odd, .n = members.n};
        if (members.n != 0) {
            memcpy(e->members, members.p, members.n);
        }
    }
    weir_buf_dispose(&out);
    return weir_envelope_ref(e);
}

struct weir_envelope *weir_envelope_ref(struct weir_envelope *e)
{
    e->refs++;
    return e;
}

void weir_envelope_unref(struct weir_envelope *e)
{
    if (e != NULL && --e->refs == 0) {
        free(e);
    }
}
