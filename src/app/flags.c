#include "app/flags.h"

#include "base/assert.h"
#include "base/err.h"
#include "conf/conf_near.h"

#include <stdarg.h>

enum { HELP_COLUMN = 32 };

static int refuse(struct weir_flags *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int refuse(struct weir_flags *f, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    f->message = weir_arena_vprintf(f->arena, fmt, args);
    va_end(args);
    return WEIR_EINVAL;
}

bool weir_flags_bool(const char *value, bool *out)
{
    bool is_true = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    bool is_false = strcmp(value, "false") == 0 || strcmp(value, "0") == 0;
    *out = is_true;
    return is_true || is_false;
}

static const char *expected_of(struct weir_flags *f, const struct weir_flag *flag)
{
    switch (flag->kind) {
    case WEIR_FLAG_SWITCH:
        return "true or false";
    case WEIR_FLAG_TEXT:
        return "a word or path";
    case WEIR_FLAG_NUMBER:
        return weir_arena_printf(f->arena, "a number from %u to %u", flag->min, flag->max);
    case WEIR_FLAG_CALL:
        break;
    }
    return flag->expected;
}

static bool store(struct weir_flags *f, const struct weir_flag *flag, const char *value)
{
    char *at = (char *)f->target + flag->offset;
    uint64_t number;
    bool is_on;
    switch (flag->kind) {
    case WEIR_FLAG_SWITCH:
        if (!weir_flags_bool(value, &is_on)) {
            return false;
        }
        memcpy(at, &is_on, sizeof is_on);
        return true;
    case WEIR_FLAG_TEXT:
        memcpy(at, &value, sizeof value);
        return value[0] != '\0';
    case WEIR_FLAG_NUMBER:
        if (weir_slice_u64(weir_slice_cstr(value), &number) != 0 || number < flag->min ||
            number > flag->max) {
            return false;
        }
        memcpy(at, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
        return true;
    case WEIR_FLAG_CALL:
        break;
    }
    return flag->call(f->target, value);
}

static bool is_called(const struct weir_flag *flag, struct weir_slice name)
{
    return weir_slice_eq_cstr(name, flag->name) ||
           (flag->alias != NULL && weir_slice_eq_cstr(name, flag->alias));
}

static const struct weir_flag *find(const struct weir_flags *f, struct weir_slice name)
{
    for (size_t i = 0; i < f->n; i++) {
        if (is_called(&f->flags[i], name)) {
            return &f->flags[i];
        }
    }
    return NULL;
}

static int refuse_flag(struct weir_flags *f, struct weir_slice name)
{
    struct weir_conf_near near;
    weir_conf_near_init(&near, name);
    for (size_t i = 0; i < f->n; i++) {
        weir_conf_near_offer(&near, weir_slice_cstr(f->flags[i].name));
    }
    int shown = name.n < 60 ? (int)name.n : 60;
    if (near.best.p == NULL) {
        return refuse(f, "unknown flag --%.*s", shown, name.p);
    }
    return refuse(f, "unknown flag --%.*s; did you mean --%s?", shown, name.p, near.best.p);
}

/* One flag at argv[*at], which moves behind it and its value. */
static int parse_one(struct weir_flags *f, int argc, char *const *argv, int *at)
{
    struct weir_slice rest = weir_slice_cstr(argv[*at] + 2);
    struct weir_slice name = weir_slice_cut(&rest, '=');
    const struct weir_flag *flag = find(f, name);
    if (flag == NULL) {
        return refuse_flag(f, name);
    }
    *at += 1;
    const char *value = rest.p;
    if (value == NULL && flag->kind == WEIR_FLAG_SWITCH) {
        value = "true";
    } else if (value == NULL && *at == argc) {
        return refuse(f, "--%s needs a value: %s", flag->name, expected_of(f, flag));
    } else if (value == NULL) {
        value = argv[*at];
        *at += 1;
    }
    if (!store(f, flag, value)) {
        return refuse(f, "--%s: `%.60s` is not %s", flag->name, value, expected_of(f, flag));
    }
    f->given |= UINT64_C(1) << (flag - f->flags);
    return 0;
}

/* -x, which must be a switch's letter. */
static int parse_letter(struct weir_flags *f, char *const *argv, int *at)
{
    const char *word = argv[*at];
    for (size_t i = 0; i < f->n && word[2] == '\0'; i++) {
        if (f->flags[i].letter == word[1]) {
            *at += 1;
            f->given |= UINT64_C(1) << i;
            store(f, &f->flags[i], "true");
            return 0;
        }
    }
    return refuse(f, "unknown flag %.60s; flags begin with two dashes", word);
}

int weir_flags_parse(struct weir_flags *f, int argc, char *const *argv, int *at)
{
    WEIR_ASSERT(f->n <= 64);
    while (*at < argc && argv[*at][0] == '-' && argv[*at][1] != '\0') {
        if (strcmp(argv[*at], "--") == 0) {
            *at += 1;
            break;
        }
        bool is_long = argv[*at][1] == '-';
        int err = is_long ? parse_one(f, argc, argv, at) : parse_letter(f, argv, at);
        if (err != 0) {
            return err;
        }
    }
    return 0;
}

int weir_flags_env(struct weir_flags *f, weir_conf_env_fn *env, void *env_ctx)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct weir_flag *flag = &f->flags[i];
        bool is_given = (f->given & (UINT64_C(1) << i)) != 0;
        const char *value = flag->env != NULL && !is_given ? env(env_ctx, flag->env) : NULL;
        if (value == NULL || value[0] == '\0') {
            continue;
        }
        if (store(f, flag, value)) {
            continue;
        }
        refuse(f, "environment variable %s: `%.60s` is not %s", flag->env, value,
               expected_of(f, flag));
        if (!flag->is_variable_loose) {
            return WEIR_EINVAL;
        }
        f->warning = weir_arena_printf(f->arena, "%s; ignored", f->message);
        f->message = NULL;
    }
    return 0;
}

static void help_line(const struct weir_flag *flag, struct weir_buf *out)
{
    size_t begin = out->n;
    char letter[] = {'-', flag->letter, ',', ' ', '\0'};
    weir_buf_printf(out, "  %s--%s%s%s", flag->letter != '\0' ? letter : "", flag->name,
                    flag->value != NULL ? " " : "", flag->value != NULL ? flag->value : "");
    if (out->n - begin >= HELP_COLUMN) {
        weir_buf_append_byte(out, '\n');
        begin = out->n;
    }
    while (out->n - begin < HELP_COLUMN) {
        weir_buf_append_byte(out, ' ');
    }
    weir_buf_printf(out, "%s\n", flag->help);
    const char *env = flag->env != NULL ? flag->env : "";
    if (flag->otherwise != NULL) {
        weir_buf_printf(out, "%*s[%s%sdefault: %s]\n", HELP_COLUMN, "", env,
                        flag->env != NULL ? "; " : "", flag->otherwise);
    } else if (flag->env != NULL) {
        weir_buf_printf(out, "%*s[%s]\n", HELP_COLUMN, "", env);
    }
}

void weir_flags_help(const struct weir_flags *f, struct weir_buf *out)
{
    const char *group = "";
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(group, f->flags[i].group) != 0) {
            group = f->flags[i].group;
            weir_buf_printf(out, "\n%s:\n", group);
        }
        help_line(&f->flags[i], out);
    }
}
