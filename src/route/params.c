#include "route/params.h"

#include "base/err.h"

/* What a member is read into: an offset in struct weir_model_params, by kind. */
enum into { INTO_COUNT, INTO_U64, INTO_F64, INTO_BOOL, INTO_TEXT, INTO_TEXTS, INTO_PENALTY };

struct param {
    const char *name;
    enum into into;
    size_t offset;
    uint32_t bit;
};

#define PARAM(name, into, bit)                                                                     \
    {                                                                                              \
#name, into, offsetof(struct weir_model_params, name), bit                                 \
    }

static const struct param PARAMS[] = {
    PARAM(max_new_tokens, INTO_COUNT, WEIR_PARAM_MAX_NEW_TOKENS),
    PARAM(min_new_tokens, INTO_COUNT, WEIR_PARAM_MIN_NEW_TOKENS),
    PARAM(truncate_input_tokens, INTO_COUNT, WEIR_PARAM_TRUNCATE_INPUT_TOKENS),
    PARAM(decoding_method, INTO_TEXT, WEIR_PARAM_DECODING_METHOD),
    PARAM(top_k, INTO_COUNT, WEIR_PARAM_TOP_K),
    PARAM(top_p, INTO_F64, WEIR_PARAM_TOP_P),
    PARAM(typical_p, INTO_F64, WEIR_PARAM_TYPICAL_P),
    PARAM(temperature, INTO_F64, WEIR_PARAM_TEMPERATURE),
    PARAM(repetition_penalty, INTO_F64, WEIR_PARAM_REPETITION_PENALTY),
    PARAM(max_time, INTO_F64, WEIR_PARAM_MAX_TIME),
    {"exponential_decay_length_penalty", INTO_PENALTY, 0, WEIR_PARAM_LENGTH_PENALTY},
    PARAM(stop_sequences, INTO_TEXTS, WEIR_PARAM_STOP_SEQUENCES),
    PARAM(seed, INTO_U64, WEIR_PARAM_SEED),
    PARAM(preserve_input_text, INTO_BOOL, WEIR_PARAM_PRESERVE_INPUT_TEXT),
    PARAM(input_tokens, INTO_BOOL, WEIR_PARAM_INPUT_TOKENS),
    PARAM(generated_tokens, INTO_BOOL, WEIR_PARAM_GENERATED_TOKENS),
    PARAM(token_logprobs, INTO_BOOL, WEIR_PARAM_TOKEN_LOGPROBS),
    PARAM(token_ranks, INTO_BOOL, WEIR_PARAM_TOKEN_RANKS),
    PARAM(include_stop_sequence, INTO_BOOL, WEIR_PARAM_INCLUDE_STOP_SEQUENCE),
};

enum { N_PARAMS = sizeof PARAMS / sizeof PARAMS[0] };

static enum weir_fields_kind kind_of(enum into into)
{
    switch (into) {
    case INTO_COUNT:
    case INTO_U64:
        return WEIR_FIELDS_INTEGER;
    case INTO_F64:
        return WEIR_FIELDS_NUMBER;
    case INTO_BOOL:
        return WEIR_FIELDS_BOOL;
    case INTO_TEXT:
        return WEIR_FIELDS_STRING;
    case INTO_TEXTS:
        return WEIR_FIELDS_ARRAY;
    case INTO_PENALTY:
        return WEIR_FIELDS_OBJECT;
    }
    return WEIR_FIELDS_ANY;
}

static int read_texts(struct weir_fields *f, uint32_t array, struct weir_model_params *out)
{
    struct weir_slice *texts = weir_arena_array(f->arena, f->json->nodes[array].n, sizeof *texts);
    size_t n = 0;
    uint32_t at = weir_json_first(f->json, array);
    for (; at != WEIR_JSON_NONE; at = weir_json_after(f->json, array, at)) {
        if (weir_json_type(f->json, at) != WEIR_JSON_STRING) {
            const char *path =
                weir_arena_printf(f->arena, "text_gen_parameters.stop_sequences[%zu]", n);
            return weir_fields_check(f, at, path, WEIR_FIELDS_STRING);
        }
        texts[n++] = weir_json_string(f->json, at, f->arena);
    }
    out->stop_sequences = texts;
    out->n_stop_sequences = n;
    return 0;
}

static int out_of_range(struct weir_fields *f, const char *path, uint32_t at, const char *expected)
{
    struct weir_slice raw = weir_json_raw(f->json, at);
    return weir_fields_fail(f, path, "invalid value: number `%.*s`, expected %s",
                            raw.n < 64 ? (int)raw.n : 64, raw.p, expected);
}

/* Counts are what TGIS has room for; a negative one must not become "no limit". */
static int read_count(struct weir_fields *f, const char *path, uint32_t at, int64_t *out)
{
    uint64_t value;
    if (weir_json_u64(f->json, at, &value) != 0 || value > UINT32_MAX) {
        return out_of_range(f, path, at, "a whole number from 0 to 4294967295");
    }
    *out = (int64_t)value;
    return 0;
}

static int read_u64(struct weir_fields *f, const char *path, uint32_t at, uint64_t *out)
{
    return weir_json_u64(f->json, at, out) == 0
               ? 0
               : out_of_range(f, path, at, "a whole number from 0 to 18446744073709551615");
}

static int read_f64(struct weir_fields *f, const char *path, uint32_t at, double *out)
{
    return weir_json_f64(f->json, at, out) == 0
               ? 0
               : out_of_range(f, path, at, "a number that fits a double");
}

/* A member that is absent is zero. */
static int read_penalty(struct weir_fields *f, const char *path, uint32_t object,
                        struct weir_model_params *out)
{
    enum { START, FACTOR };
    static const struct weir_fields_spec specs[] = {
        [START] = {"start_index", WEIR_FIELDS_INTEGER, false},
        [FACTOR] = {"decay_factor", WEIR_FIELDS_NUMBER, false},
    };
    uint32_t at[2];
    int rc = weir_fields_read(f, object, path, specs, 2, at);
    if (rc == 0 && at[START] != WEIR_JSON_NONE) {
        const char *where = weir_arena_printf(f->arena, "%s.start_index", path);
        rc = read_count(f, where, at[START], &out->length_penalty_start_index);
    }
    if (rc == 0 && at[FACTOR] != WEIR_JSON_NONE) {
        const char *where = weir_arena_printf(f->arena, "%s.decay_factor", path);
        rc = read_f64(f, where, at[FACTOR], &out->length_penalty_decay_factor);
    }
    return rc;
}

static int read_one(struct weir_fields *f, const struct param *p, uint32_t at,
                    struct weir_model_params *out)
{
    const char *path = weir_arena_printf(f->arena, "text_gen_parameters.%s", p->name);
    void *place = (char *)out + p->offset;
    switch (p->into) {
    case INTO_COUNT:
        return read_count(f, path, at, place);
    case INTO_U64:
        return read_u64(f, path, at, place);
    case INTO_F64:
        return read_f64(f, path, at, place);
    case INTO_BOOL:
        *(bool *)place = weir_json_type(f->json, at) == WEIR_JSON_TRUE;
        return 0;
    case INTO_TEXT:
        *(struct weir_slice *)place = weir_json_string(f->json, at, f->arena);
        return 0;
    case INTO_TEXTS:
        return read_texts(f, at, out);
    case INTO_PENALTY:
        return read_penalty(f, path, at, out);
    }
    return 0;
}

int weir_params_read(struct weir_fields *f, uint32_t object, struct weir_model_params *out)
{
    *out = (struct weir_model_params){0};
    if (object == WEIR_JSON_NONE) {
        return 0;
    }
    struct weir_fields_spec specs[N_PARAMS];
    uint32_t at[N_PARAMS];
    for (size_t i = 0; i < N_PARAMS; i++) {
        specs[i] = (struct weir_fields_spec){PARAMS[i].name, kind_of(PARAMS[i].into), false};
    }
    if (weir_fields_read(f, object, "text_gen_parameters", specs, N_PARAMS, at) != 0) {
        return WEIR_EINVAL;
    }
    out->given = WEIR_PARAM_GIVEN;
    for (size_t i = 0; i < N_PARAMS; i++) {
        if (at[i] == WEIR_JSON_NONE) {
            continue;
        }
        out->given |= PARAMS[i].bit;
        if (read_one(f, &PARAMS[i], at[i], out) != 0) {
            return WEIR_EINVAL;
        }
    }
    return 0;
}
