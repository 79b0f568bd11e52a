/*
 * Merging a chat history: cases by hand, then random histories against what must hold of any:
 * nothing is lost, nothing is there twice, what contradicts itself is refused, and merging again
 * changes nothing.
 */
#include "route/history.h"
#include "unit/cmocka_all.h"
#include "unit/route/reading.h"

#include <stdio.h>
#include <string.h>

#define CALL(id, args)                                                                             \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"" args  \
    "\"}}"
#define CALLS(calls) "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]}"
#define SAYS_CALLS(calls) "{\"role\":\"assistant\",\"content\":\"x\",\"tool_calls\":[" calls "]}"
#define RESULT(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define USER(text) "{\"role\":\"user\",\"content\":\"" text "\"}"

/* Merges `text`; the new text is in `out`. */
static struct weir_history_merge merge(struct reading *r, const char *text, struct weir_buf *out)
{
    struct weir_history_merge m;
    struct weir_json_edit e = {0};
    read_json(r, text);
    weir_json_edit_begin(&e, &r->json);
    weir_history_merge(&m, 0, &e, &r->arena);
    assert_true(m.said.n <= m.n_merged);
    if (m.conflict == NULL) {
        assert_int_equal(weir_json_edit_write(&e, out), 0);
        (void)weir_buf_append_byte(out, '\0');
    }
    weir_json_edit_dispose(&e);
    return m;
}

static void becomes(const char *text, const char *want, const char *told)
{
    struct reading r;
    struct weir_buf out = {0};
    struct weir_history_merge m = merge(&r, text, &out);
    assert_null(m.conflict);
    assert_string_equal(out.p, want);
    char got[2048] = "";
    for (size_t i = 0; i < m.said.n; i++) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%s", i != 0 ? "|" : "", m.said.problems[i]);
    }
    assert_string_equal(got, told);
    weir_buf_dispose(&out);
    weir_arena_dispose(&r.arena);
}

static void refuses(const char *text, const char *why)
{
    struct reading r;
    struct weir_buf out = {0};
    struct weir_history_merge m = merge(&r, text, &out);
    assert_non_null(m.conflict);
    assert_string_equal(m.conflict, why);
    weir_buf_dispose(&out);
    weir_arena_dispose(&r.arena);
}

static void what_is_repeated_goes(void **state)
{
    (void)state;
    becomes("[" USER("a") "," CALLS(CALL("1", "{}")) "," RESULT("1", "r") "]",
            "[" USER("a") "," CALLS(CALL("1", "{}")) "," RESULT("1", "r") "]", "");
    becomes("[" CALLS(CALL("1", "{}")) "," RESULT("1", "r") "," CALLS(CALL("1", "{}")) "," RESULT(
                "1", "r") "," USER("go on") "]",
            "[" CALLS(CALL("1", "{}")) "," RESULT("1", "r") "," USER("go on") "]",
            "messages[2]: this message was left out, it repeats what came before|"
            "messages[3]: this result was left out, it repeats an earlier one: `1`");
    becomes("[" USER("a") "," USER("a") "," USER("b") "," USER("a") "]",
            "[" USER("a") "," USER("b") "," USER("a") "]",
            "messages[1]: this message was left out, it repeats what came before");
}

static void calls_go_one_by_one(void **state)
{
    (void)state;
    becomes("[" CALLS(CALL("1", "{}")) "," RESULT("1", "r") "," CALLS(
                CALL("1", "{}") "," CALL("2", "{}")) "," RESULT("2", "r") "]",
            "[" CALLS(CALL("1", "{}")) "," RESULT("1", "r") "," CALLS(CALL("2", "{}")) "," RESULT(
                "2", "r") "]",
            "messages[2]: this tool call was left out, it repeats an earlier one: `1`");
    becomes("[" CALLS(CALL("1", "{}")) "," USER("a") "," SAYS_CALLS(CALL("1", "{}")) "]",
            "[" CALLS(CALL("1", "{}")) "," USER("a") ",{\"role\":\"assistant\",\"content\":\"x\"}]",
            "messages[2]: this tool call was left out, it repeats an earlier one: `1`");
    /* Escapes are spelling, not words; the same call twice in one message is one. */
    becomes("[" CALLS(CALL("1", "{}") "," CALL("1", "\\u007b}")) "]",
            "[" CALLS(CALL("1", "{}")) "]",
            "messages[0]: this tool call was left out, it repeats an earlier one: `1`");
}

static void what_contradicts_itself_is_refused(void **state)
{
    (void)state;
    refuses("[" CALLS(CALL("1", "{}")) "," CALLS(CALL("1", "[]")) "]",
            "messages[1]: an earlier tool call with this id says something else: `1`");
    refuses("[" CALLS(CALL("1", "{}")) "," RESULT("1", "r") "," RESULT("1", " r") "]",
            "messages[2]: an earlier result with this id says something else: `1`");
}

static void nonsense_is_left_alone(void **state)
{
    (void)state;
    const char *text = "[1,1,\"x\",null,{},{\"role\":7},{\"role\":\"assistant\",\"tool_calls\":{}},"
                       "{\"role\":\"assistant\",\"tool_calls\":[1,{\"id\":2}]},"
                       "{\"role\":\"tool\",\"tool_call_id\":1},{\"role\":\"user\",\"tool_calls\":["
                       "{\"id\":\"1\"}]}]";
    becomes(text, text, "");
}

/* ---- random histories ---- */

enum { MESSAGES_MOST = 12, CALLS_MOST = 3, IDS = 5, HISTORIES = 20000 };

struct call {
    unsigned id, args;
};

struct message {
    char role;        /* u, a, t */
    unsigned content; /* 0: none */
    unsigned id;      /* of a result */
    struct call calls[CALLS_MOST];
    unsigned n_calls;
};

struct history {
    struct message messages[MESSAGES_MOST];
    size_t n;
};

static unsigned pick(uint64_t *rng, unsigned n)
{
    *rng ^= *rng << 13;
    *rng ^= *rng >> 7;
    *rng ^= *rng << 17;
    return (unsigned)((*rng >> 11) % n);
}

/* One in eight contradicts itself perhaps: arguments that do not follow from the id. */
static void make(struct history *h, uint64_t *rng)
{
    bool is_wild = pick(rng, 8) == 0;
    h->n = 1 + pick(rng, MESSAGES_MOST);
    for (size_t i = 0; i < h->n; i++) {
        struct message *m = &h->messages[i];
        *m = (struct message){.role = "uatat"[pick(rng, 5)], .content = pick(rng, 3)};
        m->id = pick(rng, IDS);
        m->content = m->role == 't' ? 1 + (is_wild ? pick(rng, 2) : m->id % 2) : m->content;
        m->n_calls = m->role == 'a' ? pick(rng, CALLS_MOST + 1) : 0;
        for (unsigned k = 0; k < m->n_calls; k++) {
            m->calls[k].id = pick(rng, IDS);
            m->calls[k].args = is_wild ? pick(rng, 2) : m->calls[k].id % 2;
        }
    }
}

static void print(const struct history *h, char *out, size_t n)
{
    size_t at = (size_t)snprintf(out, n, "[");
    for (size_t i = 0; i < h->n; i++) {
        const struct message *m = &h->messages[i];
        const char *role = m->role == 'u' ? "user" : m->role == 'a' ? "assistant" : "tool";
        at += (size_t)snprintf(out + at, n - at, "%s{\"role\":\"%s\"", i != 0 ? "," : "", role);
        if (m->content != 0) {
            at += (size_t)snprintf(out + at, n - at, ",\"content\":\"%u\"", m->content);
        }
        if (m->role == 't') {
            at += (size_t)snprintf(out + at, n - at, ",\"tool_call_id\":\"%u\"", m->id);
        }
        for (unsigned k = 0; k < m->n_calls; k++) {
            at += (size_t)snprintf(out + at, n - at,
                                   "%s{\"id\":\"%u\",\"function\":{\"name\":\"f\",\"arguments\":"
                                   "\"%u\"}}",
                                   k == 0 ? ",\"tool_calls\":[" : ",", m->calls[k].id,
                                   m->calls[k].args);
        }
        at += (size_t)snprintf(out + at, n - at, "%s}", m->n_calls != 0 ? "]" : "");
    }
    (void)snprintf(out + at, n - at, "]");
}

static unsigned number_at(const struct weir_json *j, uint32_t object, const char *name)
{
    uint32_t at = weir_json_get(j, object, weir_slice_cstr(name));
    return at == WEIR_JSON_NONE ? 0 : (unsigned)(j->src.p[j->nodes[at].start + 1] - '0');
}

static void scan(struct history *h, const char *text)
{
    struct reading r;
    read_json(&r, text);
    const struct weir_json *j = &r.json;
    *h = (struct history){.n = 0};
    for (uint32_t at = weir_json_first(j, 0); at != WEIR_JSON_NONE;
         at = weir_json_after(j, 0, at)) {
        struct message *m = &h->messages[h->n++];
        m->role = j->src.p[j->nodes[weir_json_get(j, at, WEIR_SLICE("role"))].start + 1];
        m->content = number_at(j, at, "content");
        m->id = number_at(j, at, "tool_call_id");
        uint32_t calls = weir_json_get(j, at, WEIR_SLICE("tool_calls"));
        uint32_t c = calls != WEIR_JSON_NONE ? weir_json_first(j, calls) : WEIR_JSON_NONE;
        assert_true(calls == WEIR_JSON_NONE || c != WEIR_JSON_NONE); /* no empty list is left */
        for (; c != WEIR_JSON_NONE; c = weir_json_after(j, calls, c)) {
            uint32_t function = weir_json_get(j, c, WEIR_SLICE("function"));
            m->calls[m->n_calls++] =
                (struct call){number_at(j, c, "id"), number_at(j, function, "arguments")};
        }
    }
    weir_arena_dispose(&r.arena);
}

static bool is_same_message(const struct message *a, const struct message *b)
{
    bool is_same = a->role == b->role && a->content == b->content && a->n_calls == b->n_calls &&
                   (a->role != 't' || a->id == b->id);
    for (unsigned k = 0; is_same && k < a->n_calls; k++) {
        is_same = a->calls[k].id == b->calls[k].id && a->calls[k].args == b->calls[k].args;
    }
    return is_same;
}

/* What each id means in it: how often it is there, and whether always the same. */
struct ids {
    unsigned n_calls[IDS], args[IDS], n_results[IDS], content[IDS];
    bool is_torn;
};

static struct ids collect(const struct history *h)
{
    struct ids ids = {.is_torn = false};
    for (size_t i = 0; i < h->n; i++) {
        const struct message *m = &h->messages[i];
        if (m->role == 't') {
            ids.is_torn |= ids.n_results[m->id]++ != 0 && ids.content[m->id] != m->content;
            ids.content[m->id] = m->content;
        }
        for (unsigned k = 0; k < m->n_calls; k++) {
            unsigned id = m->calls[k].id;
            ids.is_torn |= ids.n_calls[id]++ != 0 && ids.args[id] != m->calls[k].args;
            ids.args[id] = m->calls[k].args;
        }
    }
    return ids;
}

/* Nothing twice, nothing gone. */
static void assert_each_once(const struct history *before, const struct history *after)
{
    struct ids a = collect(before);
    struct ids b = collect(after);
    for (unsigned id = 0; id < IDS; id++) {
        assert_int_equal(b.n_calls[id], a.n_calls[id] != 0);
        assert_int_equal(b.n_results[id], a.n_results[id] != 0);
        assert_int_equal(b.args[id], a.args[id]);
        assert_int_equal(b.content[id], a.content[id]);
    }
    for (size_t i = 1; i < after->n; i++) {
        assert_false(is_same_message(&after->messages[i - 1], &after->messages[i]));
    }
}

/* The rules again, as plainly as they can be said. */
static void expect(const struct history *before, struct history *after)
{
    bool has_call[IDS] = {false};
    bool has_result[IDS] = {false};
    const struct message *last = NULL; /* kept, as it was */
    after->n = 0;
    for (size_t i = 0; i < before->n; i++) {
        const struct message *m = &before->messages[i];
        struct message left = *m;
        left.n_calls = 0;
        for (unsigned k = 0; k < m->n_calls; k++) {
            if (!has_call[m->calls[k].id]) {
                left.calls[left.n_calls++] = m->calls[k];
            }
            has_call[m->calls[k].id] = true;
        }
        bool is_old_result = m->role == 't' && has_result[m->id];
        bool is_empty = m->n_calls != 0 && left.n_calls == 0 && m->content == 0;
        bool is_again = last != NULL && (is_same_message(last, m) ||
                                         is_same_message(&after->messages[after->n - 1], &left));
        if (!is_old_result && !is_empty && !is_again) {
            after->messages[after->n++] = left;
            last = m;
        }
        has_result[m->id] |= m->role == 't';
    }
}

static void assert_as_expected(const struct history *before, const struct history *after)
{
    struct history want;
    expect(before, &want);
    assert_int_equal(after->n, want.n);
    for (size_t i = 0; i < want.n; i++) {
        assert_true(is_same_message(&after->messages[i], &want.messages[i]));
    }
}

static void any_history_is_merged(void **state)
{
    (void)state;
    uint64_t rng = 88172645463325252u;
    size_t n_refused = 0;
    size_t n_merged = 0;
    for (size_t i = 0; i < HISTORIES; i++) {
        struct history before;
        struct history after;
        struct reading r;
        struct weir_buf out = {0};
        char text[4096];
        make(&before, &rng);
        print(&before, text, sizeof text);
        struct weir_history_merge m = merge(&r, text, &out);
        assert_int_equal(m.conflict != NULL, collect(&before).is_torn);
        n_refused += m.conflict != NULL;
        if (m.conflict == NULL) {
            struct reading again;
            struct weir_buf twice = {0};
            scan(&after, out.p);
            assert_each_once(&before, &after);
            assert_as_expected(&before, &after);
            assert_int_equal(m.n_merged == 0, strcmp(out.p, text) == 0);
            assert_int_equal(merge(&again, out.p, &twice).n_merged, 0);
            assert_string_equal(twice.p, out.p);
            n_merged += m.n_merged != 0;
            weir_buf_dispose(&twice);
            weir_arena_dispose(&again.arena);
        }
        weir_buf_dispose(&out);
        weir_arena_dispose(&r.arena);
    }
    assert_true(n_refused > HISTORIES / 40 && n_merged > HISTORIES / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_repeated_goes),
        cmocka_unit_test(calls_go_one_by_one),
        cmocka_unit_test(what_contradicts_itself_is_refused),
        cmocka_unit_test(nonsense_is_left_alone),
        cmocka_unit_test(any_history_is_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
