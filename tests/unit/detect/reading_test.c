/*
 * Detectors that read along tell the same as about the whole text, however it is cut: every text of
 * every quality set, long texts joined of them, and damaged ones; code point by code point and at
 * random places. Marks only grow, and nothing is told that begins before one (reading.c asserts).
 */
#include "unit/cmocka_all.h"

#include "base/utf8.h"
#include "detect/reading.h"
#include "detect/registry.h"
#include "unit/detect/quality_text.h"
#include "wire/json.h"

#include <stdlib.h>

static const char *const files[] = {
    "regex",
    "regex_ids",
    "secrets",
    "links",
    "link_hosts",
    "unicode",
    "keywords",
    "keywords_more",
    "prompt_injection",
    "prompt_injection_held",
};

struct reader {
    const char *name;
    const char *kind;
    const char *params;
    struct weir_builtin detector;
};

static struct reader readers[] = {
    {"regex",
     "regex",
     "{\"regex\":[\"email\",\"credit-card\",\"ipv4\",\"ipv6\",\"phone\",\"us-ssn\","
     "\"uk-post-code\",\"iban\"]}",
     {{0}, NULL, {0}, NULL, 0}},
    {"regex ids",
     "regex",
     "{\"regex\":[\"es-nif\",\"es-nie\",\"pl-pesel\",\"it-fiscal-code\",\"in-aadhaar\",\"in-pan\","
     "\"uk-nhs\",\"uk-nino\",\"ca-sin\",\"de-tax-id\",\"fr-nir\",\"br-cpf\",\"br-cnpj\",\"ch-ahv\","
     "\"nl-bsn\",\"se-personnummer\",\"au-tfn\",\"au-abn\",\"bitcoin-address\","
     "\"ethereum-address\",\"mac-address\",\"bic\",\"vin\"]}",
     {{0}, NULL, {0}, NULL, 0}},
    {"custom patterns",
     "regex",
     "{\"regex\":[\"email\",\"ORD-\\\\d{3,6}\\\\b\",\"[a-z]{3,40}ing\",\"(?:the|a) [a-z]{1,20} "
     "of\"]}",
     {{0}, NULL, {0}, NULL, 0}},
    {"unicode", "unicode", "{}", {{0}, NULL, {0}, NULL, 0}},
    {"secrets", "secrets", "{}", {{0}, NULL, {0}, NULL, 0}},
    {"keywords",
     "keywords",
     "{\"deny\":[\"idiot\",\"shut "
     "up\",\"fool\",\"hacker\",\"insider\",\"damn\",\"hell\",\"strasse\","
     "\"the\",\"the password is\",\"笨蛋\",\"сахар\",\"a b c\",\"ignore\"],\"allow\":[\"insider "
     "tour\","
     "\"the hell\",\"foolproof\",\"h\u0430cker tour\"]}",
     {{0}, NULL, {0}, NULL, 0}},
    {"keywords of letters",
     "keywords",
     "{\"deny\":[\"idiot\",\"shut up\",\"fool\",\"damn\",\"the\",\"the password is\",\"get lost\","
     "\"password\",\"instructions\",\"Straße\",\"previous instructions\",\"card\"]}",
     {{0}, NULL, {0}, NULL, 0}},
    {"prompt_injection", "prompt_injection", "{}", {{0}, NULL, {0}, NULL, 0}},
    {"links", "links", "{\"allow\":[\"allowed.test\"]}", {{0}, NULL, {0}, NULL, 0}},
    {"regex that rests", /* all it looks for has a digit or an @ */
     "regex",
     "{\"regex\":[\"email\",\"credit-card\",\"ipv4\",\"ipv6\",\"phone\",\"us-ssn\",\"iban\"]}",
     {{0}, NULL, {0}, NULL, 0}},
};

enum { N_READERS = sizeof readers / sizeof readers[0], MAX_TEXTS = 16384 };

static struct weir_arena arena;
static struct weir_slice texts[MAX_TEXTS];
static size_t n_texts;

/* WEIR_SEED and WEIR_ROUNDS of the environment look further. */
static uint64_t seed = 20261115;
static size_t n_rounds = 1;

static size_t drawn(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

static void load(const char *name)
{
    struct weir_buf file = {0};
    quality_read_file(name, &file);
    struct weir_slice rest = weir_buf_slice(&file);
    for (size_t row = 1; rest.p != NULL; row++) {
        struct weir_slice source = weir_arena_dup(&arena, weir_slice_cut(&rest, '\n'));
        struct weir_json json;
        if (source.n == 0) {
            continue;
        }
        assert_int_equal(weir_json_parse(&json, source, NULL, &arena, NULL), 0);
        uint32_t at = weir_json_get(&json, 0, WEIR_SLICE("text"));
        assert_true(n_texts < MAX_TEXTS);
        texts[n_texts++] = quality_expand(weir_json_string(&json, at, &arena), row, &arena);
    }
    weir_buf_dispose(&file);
}

static int open_all(void **state)
{
    (void)state;
    seed = getenv("WEIR_SEED") != NULL ? strtoull(getenv("WEIR_SEED"), NULL, 10) : seed;
    n_rounds = getenv("WEIR_ROUNDS") != NULL ? strtoull(getenv("WEIR_ROUNDS"), NULL, 10) : 1;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        load(files[i]);
    }
    for (size_t i = 0; i < N_READERS; i++) {
        struct weir_buf why = {0};
        int rc =
            weir_detect_builtin_init(&readers[i].detector, weir_slice_cstr(readers[i].kind),
                                     WEIR_SLICE("det"), weir_slice_cstr(readers[i].params), &why);
        if (rc != 0) {
            fail_msg("%s: %s", readers[i].name, weir_buf_cstr(&why));
        }
        weir_buf_dispose(&why);
        assert_true(weir_reading_can(&readers[i].detector.base));
    }
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_READERS; i++) {
        weir_builtin_dispose(&readers[i].detector);
    }
    weir_arena_dispose(&arena);
    return 0;
}

/* ---- what is told, as text */

/* Findings of different kinds may be told in another order: a longer one is certain later. */
static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(struct weir_buf *told)
{
    enum { MOST = 65536 };
    static char *lines[MOST];
    struct weir_buf all = {0};
    size_t n = 0;
    weir_buf_append(&all, weir_buf_slice(told));
    weir_buf_cstr(&all);
    for (char *line = strtok(all.p, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(n < MOST);
        lines[n++] = line;
    }
    qsort(lines, n, sizeof lines[0], by_text);
    weir_buf_clear(told);
    for (size_t i = 0; i < n; i++) {
        weir_buf_printf(told, "%s\n", lines[i]);
    }
    weir_buf_dispose(&all);
}

static void tell(struct weir_buf *out, const struct weir_detect_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct weir_detection *d = &list->items[i];
        weir_buf_printf(out, "%.*s %.*s %zu-%zu %.2f [%.*s]\n", (int)d->detection_type.n,
                        d->detection_type.p, (int)d->detection.n, d->detection.p, d->start_cp,
                        d->end_cp, d->score, (int)d->text.n, d->text.p);
    }
}

static void tell_whole(const struct reader *reader, struct weir_slice text, double threshold,
                       struct weir_buf *out)
{
    struct weir_detect_input input = {
        .type = WEIR_DETECT_CONTENTS, .contents = &text, .n_contents = 1, .threshold = threshold};
    struct weir_detect_env env = {0};
    struct weir_detect_call *call =
        weir_detect_start(&reader->detector.base, &env, &input, NULL, NULL);
    assert_int_equal(call->fault.origin, WEIR_FAULT_NONE);
    tell(out, &call->lists[0]);
    weir_detect_free(call);
}

static uint64_t cut_seed; /* of the cuts of one text, so that they can be made again */

/* The next part of at most `max` code points; 0: as many as there are. */
static struct weir_slice next_part(struct weir_slice rest, size_t max, uint64_t *cuts)
{
    *cuts = *cuts * 6364136223846793005u + 1442695040888963407u;
    size_t n = max == 0 ? rest.n : weir_utf8_byte_at(rest, 1 + (size_t)(*cuts >> 33) % max);
    return weir_slice_sub(rest, 0, n);
}

/* Open findings that were told, and what became of them: one that is not kept is a line of its own,
 * which the whole text does not have. */
struct promises {
    struct {
        size_t start_cp, to_cp;
        struct weir_slice kind;
    } open[16];
    size_t n;
};

static size_t n_opened;

static void promise(struct promises *p, const struct weir_detection *d, size_t mark_cp)
{
    size_t i = 0;
    while (i < p->n && p->open[i].start_cp != d->start_cp) {
        i++;
    }
    assert_true(i < sizeof p->open / sizeof p->open[0]);
    assert_true(d->start_cp >= mark_cp && d->end_cp > d->start_cp && d->score >= 1.0);
    assert_true(i == p->n || d->end_cp >= p->open[i].to_cp);
    assert_true(i == p->n || weir_slice_eq(d->detection, p->open[i].kind));
    n_opened += i == p->n;
    p->n += i == p->n;
    p->open[i].start_cp = d->start_cp;
    p->open[i].to_cp = d->end_cp;
    p->open[i].kind = d->detection;
}

static void keep_promises(struct promises *p, const struct weir_detect_list *list)
{
    for (size_t k = 0; k < list->n; k++) {
        const struct weir_detection *d = &list->items[k];
        for (size_t i = 0; i < p->n; i++) { /* what is open has let go of all text before its end */
            assert_true(d->start_cp == p->open[i].start_cp || d->start_cp >= p->open[i].to_cp);
        }
        for (size_t i = 0; i < p->n; i++) {
            bool is_kept = d->start_cp == p->open[i].start_cp && d->end_cp >= p->open[i].to_cp &&
                           d->score >= 1.0 && d->edge == WEIR_EDGE_SURE &&
                           weir_slice_eq(d->detection, p->open[i].kind);
            if (is_kept) {
                p->open[i] = p->open[--p->n];
                break;
            }
        }
    }
}

static void tell_broken(const struct promises *p, struct weir_buf *out)
{
    for (size_t i = 0; i < p->n; i++) {
        weir_buf_printf(out, "promised %.*s %zu-%zu\n", (int)p->open[i].kind.n, p->open[i].kind.p,
                        p->open[i].start_cp, p->open[i].to_cp);
    }
}

static void tell_cut(const struct reader *reader, struct weir_slice text, double threshold,
                     size_t max, struct weir_buf *out)
{
    struct weir_reading *r = weir_reading_new(NULL, NULL, NULL);
    weir_reading_add(r, &reader->detector.base, WEIR_SLICE(""), threshold);
    weir_reading_start(r);
    assert_true(weir_reading_is_ready(r));
    size_t mark_cp = 0;
    size_t come_cp = 0;
    uint64_t cuts = cut_seed;
    struct promises promises = {0};
    struct weir_detection open;
    while (text.n != 0) {
        struct weir_slice part = next_part(text, max, &cuts);
        text = weir_slice_sub(text, part.n, text.n);
        come_cp += weir_utf8_count(part);
        assert_int_equal(weir_reading_push(r, part), 0);
        struct weir_detect_list list = weir_reading_found(r, 0);
        tell(out, &list);
        keep_promises(&promises, &list);
        assert_true(weir_reading_mark_cp(r, 0) >= mark_cp);
        mark_cp = weir_reading_mark_cp(r, 0);
        assert_true(mark_cp <= come_cp);
        if (weir_reading_open(r, 0, &open)) {
            promise(&promises, &open, mark_cp);
            assert_true(open.end_cp <= come_cp);
        }
    }
    assert_int_equal(weir_reading_end(r), 0);
    struct weir_detect_list list = weir_reading_found(r, 0);
    tell(out, &list);
    keep_promises(&promises, &list);
    tell_broken(&promises, out);
    assert_int_equal(weir_reading_mark_cp(r, 0), come_cp);
    weir_reading_free(r);
}

static size_t n_different;

static bool is_same(const struct reader *reader, struct weir_slice text, double threshold,
                    size_t max)
{
    struct weir_buf whole = {0};
    struct weir_buf cut = {0};
    tell_whole(reader, text, threshold, &whole);
    tell_cut(reader, text, threshold, max, &cut);
    sort_lines(&whole);
    sort_lines(&cut);
    bool same = weir_slice_eq(weir_buf_slice(&whole), weir_buf_slice(&cut));
    weir_buf_dispose(&whole);
    weir_buf_dispose(&cut);
    return same;
}

/* A part of the text that still shows it, so that somebody can see why. */
static struct weir_slice shrink(const struct reader *reader, struct weir_slice text,
                                double threshold, size_t max)
{
    for (size_t step = text.n / 2; step > 0; step = step / 2) {
        struct weir_slice shorter;
        while (step < text.n) {
            shorter = weir_slice_sub(text, 0, weir_utf8_floor(text, text.n - step));
            if (shorter.n == 0 || is_same(reader, shorter, threshold, max)) {
                break;
            }
            text = shorter;
        }
        while (step < text.n) {
            size_t from = weir_utf8_floor(text, step);
            shorter = weir_slice_sub(text, from, text.n);
            if (from == 0 || is_same(reader, shorter, threshold, max)) {
                break;
            }
            text = shorter;
        }
    }
    return text;
}

static void check(const struct reader *reader, struct weir_slice text, size_t max)
{
    double threshold = drawn(8) == 0 ? 0.8 : 0.5;
    cut_seed = drawn(1000000);
    if (is_same(reader, text, threshold, max)) {
        return;
    }
    struct weir_buf whole = {0};
    struct weir_buf cut = {0};
    text = shrink(reader, text, threshold, max);
    tell_whole(reader, text, threshold, &whole);
    tell_cut(reader, text, threshold, max, &cut);
    fprintf(stderr, "%s, up to %zu code points at once:\n<<%.*s>>\nwhole:\n%scut:\n%s",
            reader->name, max, (int)text.n, text.p, weir_buf_cstr(&whole), weir_buf_cstr(&cut));
    weir_buf_dispose(&whole);
    weir_buf_dispose(&cut);
    assert_true(++n_different < 5);
}

static void test_texts_of_the_sets(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_texts; i++) {
        for (size_t k = 0; k < N_READERS; k++) {
            check(&readers[k], texts[i], 1);
            check(&readers[k], texts[i], 0);
            check(&readers[k], texts[i], 9);
        }
    }
    assert_int_equal(n_different, 0);
}

/* Texts of a few kilobytes: what was let go of is missed if it was needed. */
static void join(struct weir_buf *out, size_t n)
{
    static const char *const joints[] = {"", " ", "\n", "\n\n", ", ", "=", ": ", "\"", ".", "/"};
    while (out->n < n) {
        weir_buf_append(out, texts[drawn(n_texts)]);
        weir_buf_append(out, weir_slice_cstr(joints[drawn(sizeof joints / sizeof joints[0])]));
    }
}

static void test_long_texts(void **state)
{
    enum { ROUNDS = 60, LONGEST = 6000 };
    (void)state;
    for (size_t i = 0; i < ROUNDS * n_rounds; i++) {
        struct weir_buf text = {0};
        join(&text, 200 + drawn(LONGEST));
        for (size_t k = 0; k < N_READERS; k++) {
            check(&readers[k], weir_buf_slice(&text), i % 3 == 0 ? 1 : i % 3 == 1 ? 6 : 200);
        }
        weir_buf_dispose(&text);
    }
    assert_int_equal(n_different, 0);
}

/* Some code points left out, doubled or replaced by what rules look for. */
static void damage(struct weir_slice text, struct weir_buf *out)
{
    static const char *const parts[] = {
        "-",  ".",   " ", "@", ":",      "//", "\n",     "=",      "\"",   "'",     "(",
        ")",  "+",   "0", "9", "A",      "é",  "密",     "\\n",    "%40",  "![",    "](",
        "]:", "www", "[", "]", "https:", "\\", "\u200b", "\u0430", "src=", "&#73;", "а"};
    while (text.n != 0) {
        size_t n;
        weir_utf8_decode(text, &n);
        size_t what = drawn(40);
        if (what != 0) {
            weir_buf_append(out, weir_slice_sub(text, 0, n));
        }
        if (what == 1) {
            weir_buf_append(out, weir_slice_sub(text, 0, n));
        } else if (what == 2) {
            weir_buf_append(out, weir_slice_cstr(parts[drawn(sizeof parts / sizeof parts[0])]));
        }
        text = weir_slice_sub(text, n, text.n);
    }
}

static void test_damaged_texts(void **state)
{
    enum { EVERY = 2 };
    (void)state;
    for (size_t i = 0; i < n_texts * n_rounds; i += EVERY) {
        struct weir_buf text = {0};
        damage(texts[i % n_texts], &text);
        for (size_t k = 0; k < N_READERS; k++) {
            check(&readers[k], weir_buf_slice(&text), 1);
            check(&readers[k], weir_buf_slice(&text), 5);
        }
        weir_buf_dispose(&text);
    }
    assert_int_equal(n_different, 0);
}

/* Runs that are longer than a candidate may be, and than a finding, inside of texts that have one.
 */
static void stretch(struct weir_slice text, size_t n, struct weir_buf *out)
{
    static const char *const classes_of_runs[] = {"url", "b64", "hex", "digit"};
    size_t at = weir_utf8_floor(text, drawn(text.n + 1));
    static const char *const blanks[] = {" ", "\u200b", "\n", "[", "!["};
    size_t which = drawn(6);
    weir_buf_append(out, weir_slice_sub(text, 0, at));
    if (which < 4) {
        draw(out, class_of(weir_slice_cstr(classes_of_runs[which])), n, drawn(1000));
    }
    struct weir_slice blank = weir_slice_cstr(blanks[drawn(5)]);
    for (size_t i = 0; which >= 4 && i < n && n < 60000; i++) {
        weir_buf_append(out, blank);
    }
    weir_buf_append(out, drawn(2) == 0 ? WEIR_SLICE("") : WEIR_SLICE("\n"));
    weir_buf_append(out, weir_slice_sub(text, at, text.n));
}

static void test_stretched_texts(void **state)
{
    static const size_t lengths[] = {40, 300, 1000, 1020, 1030, 2500, 66000};
    enum { ROUNDS = 600, N_LENGTHS = sizeof lengths / sizeof lengths[0], EVERY_LONG = 50 };
    (void)state;
    for (size_t i = 0; i < ROUNDS * n_rounds; i++) {
        struct weir_buf text = {0};
        size_t n = lengths[i % EVERY_LONG == 0 ? N_LENGTHS - 1 : drawn(N_LENGTHS - 1)];
        stretch(texts[drawn(n_texts)], n, &text);
        for (size_t k = 0; k < N_READERS; k++) {
            check(&readers[k], weir_buf_slice(&text), n > 60000 ? 700 : 30);
        }
        weir_buf_dispose(&text);
    }
    assert_int_equal(n_different, 0);
}

/* ---- several at once */

/* Each rests by itself, so what one has read another has not. */
static const size_t groups[][5] = {{9, 4, 6, 3, 8}, {7, 0, 8, 4, 2}}; /* of `readers` */

enum { N_GROUPS = 2, N_TOGETHER = 5 };

static void tell_together(const size_t group[], struct weir_slice text, size_t max,
                          struct weir_buf out[])
{
    struct weir_reading *r = weir_reading_new(NULL, NULL, NULL);
    uint64_t cuts = cut_seed;
    size_t marks_cp[N_TOGETHER] = {0};
    for (size_t i = 0; i < N_TOGETHER; i++) {
        weir_reading_add(r, &readers[group[i]].detector.base, WEIR_SLICE(""), 0.5);
    }
    weir_reading_start(r);
    for (bool is_over = false; !is_over;) {
        struct weir_slice part = next_part(text, max, &cuts);
        is_over = text.n == 0;
        text = weir_slice_sub(text, part.n, text.n);
        assert_int_equal(is_over ? weir_reading_end(r) : weir_reading_push(r, part), 0);
        for (size_t i = 0; i < N_TOGETHER; i++) {
            struct weir_detect_list list = weir_reading_found(r, i);
            tell(&out[i], &list);
            assert_true(weir_reading_mark_cp(r, i) >= marks_cp[i]);
            marks_cp[i] = weir_reading_mark_cp(r, i);
        }
    }
    weir_reading_free(r);
}

static void check_together(const size_t group[], struct weir_slice text, size_t max)
{
    struct weir_buf cut[N_TOGETHER] = {{0}};
    cut_seed = drawn(1000000);
    tell_together(group, text, max, cut);
    for (size_t i = 0; i < N_TOGETHER; i++) {
        struct weir_buf whole = {0};
        tell_whole(&readers[group[i]], text, 0.5, &whole);
        sort_lines(&whole);
        sort_lines(&cut[i]);
        if (!weir_slice_eq(weir_buf_slice(&whole), weir_buf_slice(&cut[i]))) {
            fail_msg(
                "%s among others, up to %zu code points at once:\n<<%.*s>>\nwhole:\n%scut:\n%s",
                readers[group[i]].name, max, (int)text.n, text.p, weir_buf_cstr(&whole),
                weir_buf_cstr(&cut[i]));
        }
        weir_buf_dispose(&whole);
        weir_buf_dispose(&cut[i]);
    }
}

static void test_together(void **state)
{
    enum { ROUNDS = 200, LONGEST = 2500 };
    (void)state;
    for (size_t i = 0; i < n_texts; i++) {
        check_together(groups[i % N_GROUPS], texts[i], i % 3 == 0 ? 1 : 9);
    }
    for (size_t i = 0; i < ROUNDS * n_rounds; i++) {
        struct weir_buf joined = {0};
        struct weir_buf damaged = {0};
        join(&joined, 200 + drawn(LONGEST));
        damage(weir_buf_slice(&joined), &damaged);
        check_together(groups[i % N_GROUPS], weir_buf_slice(&joined), 1 + drawn(12));
        check_together(groups[i % N_GROUPS], weir_buf_slice(&damaged), 1 + drawn(12));
        weir_buf_dispose(&joined);
        weir_buf_dispose(&damaged);
    }
}

/* Text that nobody has to look at is let go of as any other is: what is kept of a long one is the
 * context, what was rested on, and a word or two. */
static void test_plain_text_is_let_go(void **state)
{
    enum { N_TOKENS = 5000, MOST_KEPT = 512 };
    (void)state;
    static const char *const words[] = {" the", " river", " and", " every", " stone", " beside"};
    struct weir_reading *r = weir_reading_new(NULL, NULL, NULL);
    for (size_t i = 0; i < N_READERS; i++) {
        bool rests = strcmp(readers[i].name, "regex that rests") == 0 ||
                     strcmp(readers[i].name, "secrets") == 0 ||
                     strcmp(readers[i].name, "unicode") == 0 ||
                     strcmp(readers[i].name, "links") == 0;
        if (rests) {
            weir_reading_add(r, &readers[i].detector.base, WEIR_SLICE(""), 0);
        }
    }
    weir_reading_start(r);
    for (size_t i = 0; i < N_TOKENS; i++) {
        struct weir_slice word = weir_slice_cstr(words[i % (sizeof words / sizeof words[0])]);
        assert_int_equal(weir_reading_push(r, word), 0);
        assert_in_range(weir_reading_kept_bytes(r), 0, MOST_KEPT);
    }
    weir_reading_free(r);
}

/* Long secrets, with what may dispute their place before, in and behind them: what was told before
 * the end is what is found in the end. */
static const char *const before_open[] = {
    "",
    "token = \"",
    "Authorization: Bearer ",
    "https://user:",
    "see ",
    "https://",
    "password=x9.",
    "\"type\": \"",
    "abc.",
    "eyJ",
    "k: ",
    "ZXlK",
    "kind: Secret\ndata:\n  a: ",
    "-----BEGIN ",
    "[?&;]sig=",
};

static const char *const opened[] = {
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkw",
    "ZXlKaGJHY2lPaUpJVXpJMU5pSXNJblI1Y0NJNklrcFhWQ0o5LmV5SnpkV0lpT2lJeE1qTTBOVFkzT0Rrd0lpd2lh",
    "glpat-x9Kq2LmZ7Rt4Wv8Bn3Cd6Fg1Hj5Pk0Sa9Yu2Ie7Xo4Qw8Zt3Mv6",
    "hvs.Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb7cDe0fGh3iJk6lMn9o",
    "xoxb-123456789012-abcDEF456ghiJKL789mnoPQR012stuVWX345",
    "glc_eyJvIjoiMTIzNDU2IiwibiI6InRlc3QtdG9rZW4iLCJrIjoiQWIzZEVm",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAx9Kq2LmZ7Rt4Wv8Bn3Cd6Fg1Hj5Pk0Sa\n",
};

static const char *const behind_open[] = {
    " and more",    "\"",      ".",         "./",        "\n-----END RSA PRIVATE KEY-----\nbye",
    "-----BEGIN X", "@host/x", ".abcdef.x", ".atlasv1.", "/webhook.office.com/webhookb2/",
    "-us1",         ":AA",     "=",         "%20x",      ".png",
};

static void append_drawn(struct weir_buf *out, const char *const *list, size_t n)
{
    weir_buf_append(out, weir_slice_cstr(list[drawn(n)]));
}

static void repeat(struct weir_buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        weir_buf_append(out, weir_slice_cstr(s));
    }
}

static void check_all(struct weir_buf *text)
{
    for (size_t i = 0; i < 3 * N_READERS; i++) {
        check(&readers[i / 3], weir_buf_slice(text), 1 + i % 3 * 13);
    }
    weir_buf_dispose(text);
    assert_int_equal(n_different, 0);
}

/* A longer one begins in the open one: it does not rename it. */
static void test_open_and_a_longer_one(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_printf(&text, "glc_");
    repeat(&text, "Ab3dEf6hIj9k", 20);
    weir_buf_printf(&text, "/eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.");
    repeat(&text, "Qz7Kx2Lm", 60);
    weir_buf_printf(&text, " ok");
    check_all(&text);
}

/* Two in one value that goes on: what stands between them has not been settled when the second is
 * open. */
static void test_open_twice(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_printf(&text, "token = \"glc_");
    repeat(&text, "Ab3dEf6hIj9k", 20);
    weir_buf_printf(&text, "\x01ghp_Qz7Kx2LmQz7Kx2LmQz7Kx2LmQz7Kx2LmQz7K\x01/"
                           "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.");
    repeat(&text, "Qz7Kx2Lm", 60);
    weir_buf_printf(&text, " ok");
    check_all(&text);
}

/* One that began before may still become a finding, and has it then. */
static void test_open_in_another(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_printf(&text, "-----BEGIN PRIVATE KEY-----\nglpat-");
    repeat(&text, "x9-Kq_2Lm-", 30);
    weir_buf_printf(&text, "\n");
    repeat(&text, "Qz7Kx2Lm", 8);
    weir_buf_printf(&text, "\n-----END PRIVATE KEY-----\n");
    check_all(&text);
}

static void test_open(void **state)
{
    enum { ROUNDS = 600, LONGEST = 1500, LEAST_OPENED = 100 };
    static const char *const letters[] = {"Qz7", "eyJ", "x.", "MTk", "k_9", "a-",  "8Q~",
                                          "/3p", "+Vq", "=",  "\n",  "Ab4", "ghp_"};
    (void)state;
    n_opened = 0;
    for (size_t i = 0; i < ROUNDS * n_rounds; i++) {
        struct weir_buf text = {0};
        append_drawn(&text, before_open, sizeof before_open / sizeof before_open[0]);
        append_drawn(&text, opened, sizeof opened / sizeof opened[0]);
        size_t n = text.n + drawn(LONGEST);
        size_t n_letters = drawn(2) == 0 ? 1 : sizeof letters / sizeof letters[0];
        while (text.n < n) {
            bool is_odd = drawn(20) == 0;
            append_drawn(&text, letters, is_odd ? sizeof letters / sizeof letters[0] : n_letters);
        }
        append_drawn(&text, behind_open, sizeof behind_open / sizeof behind_open[0]);
        for (size_t k = 0; k < N_READERS; k++) {
            check(&readers[k], weir_buf_slice(&text), i % 3 == 0 ? 1 : i % 3 == 1 ? 9 : 200);
        }
        weir_buf_dispose(&text);
    }
    assert_int_equal(n_different, 0);
    assert_true(n_opened > LEAST_OPENED);
}

/* ---- base64 without digits */

/* Letters only, so that readers rest on it, and the text in it has a finding. What stands around
 * it ends words of some classes, of all, or belongs to the run (`/`, `-`). */
static const char *const encoded[] = {
    "amFuZUBleGFtcGxlLmNvbQ==",         /* jane@example.com */
    "amFuZUBleGFtcGxlLmNvbQ",           /* and without padding */
    "amFuZUBleGFtcGxlLmNvbSBhYmMg",     /* jane@example.com abc */
    "ISA/amFuZUBleGFtcGxlLmNvbQ==",     /* ! ?jane@example.com, with / */
    "ISA_amFuZUBleGFtcGxlLmNvbQ",       /* with _ */
    "fj-jamFuZUBleGFtcGxlLmNvbSBhYmMg", /* what is no text */
    "QUtJQVBJWDZFQTZRNlpKQUVLUjZZ",     /* of AWS, with a letter too many, */
    "IEFLSUFQSVhaRUFRUVpKQUVLUlkg",     /* with a blank on both sides */
    "aHZzLmFKeGdEOWxaTWhMWDFieGZHWVJmcFFzbVZKaHlhVTBBTEpEZDlj",
    "YSBnaHBfTHZKNDdydGFlYzhtQXNOcWpTaTUzeXlEUDNNUkpnTjhaQnFIYVlB",
    "ann%40example.com",
    "&#106;ane&#64;example.com",
    "jane\\u0040example.com",
};

static const char *const around[][2] = {
    {"", ""},
    {"See ", " now, and go on."},
    {"The value \"", "\" is a/path/of/words and (more)"},
    {"words,", ", words"},
    {"a=", "; b"},
    {"it's ", ") or [x]"},
    {"so/", "\n\nThen"},
    {"\xe5\xaf\x86", "\xe5\xaf\x86"},
};

enum {
    N_ENCODED = sizeof encoded / sizeof encoded[0],
    N_AROUND = sizeof around / sizeof around[0]
};

/* Reads `text` cut at the places, which only grow; the last is its end. */
static void tell_cut_at(const struct reader *reader, struct weir_slice text, const size_t places[],
                        size_t n, struct weir_buf *out)
{
    struct weir_reading *r = weir_reading_new(NULL, NULL, NULL);
    weir_reading_add(r, &reader->detector.base, WEIR_SLICE(""), 0.5);
    weir_reading_start(r);
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        size_t to = weir_utf8_floor(text, places[i]);
        assert_int_equal(weir_reading_push(r, weir_slice_sub(text, from, to)), 0);
        struct weir_detect_list list = weir_reading_found(r, 0);
        tell(out, &list);
        from = to;
    }
    assert_int_equal(weir_reading_end(r), 0);
    struct weir_detect_list list = weir_reading_found(r, 0);
    tell(out, &list);
    sort_lines(out);
    weir_reading_free(r);
}

static void check_cut_at(const struct reader *reader, struct weir_slice text, const size_t places[],
                         size_t n, struct weir_slice whole)
{
    struct weir_buf cut = {0};
    tell_cut_at(reader, text, places, n, &cut);
    if (!weir_slice_eq(whole, weir_buf_slice(&cut))) {
        fail_msg("%s, %zu parts, the first two end at %zu and %zu:\n<<%.*s>>\nwhole:\n%.*scut:\n%s",
                 reader->name, n, places[0], places[1], (int)text.n, text.p, (int)whole.n, whole.p,
                 weir_buf_cstr(&cut));
    }
    weir_buf_dispose(&cut);
}

/* Parts of the same length, and every two places. */
static void check_every_cut(const struct reader *reader, struct weir_slice text)
{
    enum { LONGEST = 160, MOST_AT_ONCE = 24 };
    size_t places[LONGEST + 1];
    struct weir_buf whole = {0};
    assert_true(text.n <= LONGEST);
    tell_whole(reader, text, 0.5, &whole);
    sort_lines(&whole);
    for (size_t k = 1; k <= MOST_AT_ONCE; k++) {
        size_t n = 0;
        for (size_t at = k; at < text.n; at += k) {
            places[n++] = at;
        }
        places[n++] = text.n;
        places[n] = text.n;
        check_cut_at(reader, text, places, n, weir_buf_slice(&whole));
    }
    places[2] = text.n;
    for (places[0] = 1; places[0] < text.n; places[0]++) {
        for (places[1] = places[0] + 1; places[1] <= text.n; places[1]++) {
            check_cut_at(reader, text, places, 3, weir_buf_slice(&whole));
        }
    }
    weir_buf_dispose(&whole);
}

static void check_encoded(const struct reader *reader)
{
    for (size_t i = 0; i < N_ENCODED * N_AROUND; i++) {
        struct weir_buf text = {0};
        const char *const *sides = around[i / N_ENCODED];
        weir_buf_printf(&text, "%s%s%s", sides[0], encoded[i % N_ENCODED], sides[1]);
        check_every_cut(reader, weir_buf_slice(&text));
        weir_buf_dispose(&text);
    }
}

static void test_regex_of_encoded(void **state)
{
    (void)state;
    check_encoded(&readers[9]);
}

static void test_secrets_of_encoded(void **state)
{
    (void)state;
    check_encoded(&readers[4]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex_of_encoded),
        cmocka_unit_test(test_secrets_of_encoded),
        cmocka_unit_test(test_texts_of_the_sets),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_plain_text_is_let_go),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_damaged_texts),
        cmocka_unit_test(test_stretched_texts),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_open_and_a_longer_one),
        cmocka_unit_test(test_open_in_another),
        cmocka_unit_test(test_open_twice),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
