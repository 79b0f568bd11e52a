/*
 * Telephone numbers of the world: with a country code by the lengths that its plan has, without
 * one by the shapes that are little else, or after a word that says so.
 *
 *   +44 (0)20 7946 0958   0049-30-901820   (212) 555-0187 x12   020 7946 0958   tel. 22 55 14
 */
#include "detect/ascii.h"
#include "detect/pii_int.h"

#include <string.h>

/* Digits behind a country code, without the trunk zero. The codes are no prefixes of each other. */
struct plan {
    unsigned short code;
    unsigned char min;
    unsigned char max;
};

static const struct plan plans[] = {
    {1, 10, 10},  {7, 10, 10},  {20, 8, 10},  {27, 9, 9},   {30, 10, 10}, {31, 7, 9},
    {32, 8, 9},   {33, 9, 9},   {34, 9, 9},   {36, 8, 9},   {39, 6, 11},  {40, 9, 9},
    {41, 9, 9},   {43, 6, 13},  {44, 9, 10},  {45, 8, 8},   {46, 7, 10},  {47, 8, 8},
    {48, 9, 9},   {49, 6, 11},  {51, 8, 9},   {52, 10, 11}, {53, 6, 10},  {54, 10, 11},
    {55, 8, 11},  {56, 9, 9},   {57, 8, 11},  {58, 10, 10}, {60, 8, 10},  {61, 9, 10},
    {62, 8, 12},  {63, 8, 10},  {64, 8, 10},  {65, 8, 11},  {66, 8, 10},  {81, 9, 10},
    {82, 8, 10},  {84, 9, 10},  {86, 10, 11}, {90, 10, 10}, {91, 10, 10}, {92, 8, 10},
    {93, 9, 9},   {94, 9, 9},   {95, 7, 10},  {98, 10, 10}, {211, 9, 9},  {212, 9, 9},
    {213, 8, 9},  {216, 8, 8},  {218, 8, 9},  {220, 7, 7},  {221, 9, 9},  {222, 8, 8},
    {223, 8, 8},  {224, 8, 9},  {225, 8, 10}, {226, 8, 8},  {227, 8, 8},  {228, 8, 8},
    {229, 8, 10}, {230, 7, 8},  {231, 7, 9},  {232, 8, 8},  {233, 8, 9},  {234, 8, 10},
    {235, 8, 8},  {236, 8, 8},  {237, 9, 9},  {238, 7, 7},  {239, 7, 7},  {240, 9, 9},
    {241, 7, 8},  {242, 9, 9},  {243, 7, 9},  {244, 9, 9},  {245, 7, 9},  {246, 7, 7},
    {247, 5, 6},  {248, 7, 7},  {249, 9, 9},  {250, 9, 9},  {251, 9, 9},  {252, 7, 9},
    {253, 8, 8},  {254, 9, 9},  {255, 9, 9},  {256, 9, 9},  {257, 8, 8},  {258, 8, 9},
    {260, 9, 9},  {261, 9, 9},  {262, 9, 9},  {263, 7, 10}, {264, 8, 9},  {265, 7, 9},
    {266, 8, 8},  {267, 7, 8},  {268, 8, 8},  {269, 7, 7},  {290, 4, 5},  {291, 7, 7},
    {297, 7, 7},  {298, 6, 6},  {299, 6, 6},  {350, 8, 8},  {351, 9, 9},  {352, 6, 9},
    {353, 7, 10}, {354, 7, 7},  {355, 6, 9},  {356, 8, 8},  {357, 8, 8},  {358, 6, 10},
    {359, 7, 9},  {370, 8, 8},  {371, 8, 8},  {372, 7, 8},  {373, 8, 8},  {374, 8, 8},
    {375, 9, 10}, {376, 6, 9},  {377, 8, 9},  {378, 6, 10}, {380, 9, 9},  {381, 8, 9},
    {382, 8, 8},  {383, 8, 9},  {385, 8, 9},  {386, 8, 8},  {387, 8, 8},  {389, 8, 8},
    {420, 9, 9},  {421, 9, 9},  {423, 7, 9},  {500, 5, 5},  {501, 7, 7},  {502, 8, 8},
    {503, 7, 8},  {504, 8, 8},  {505, 8, 8},  {506, 8, 10}, {507, 7, 8},  {508, 6, 6},
    {509, 8, 8},  {590, 9, 9},  {591, 8, 9},  {592, 7, 7},  {593, 8, 11}, {594, 9, 9},
    {595, 9, 9},  {596, 9, 9},  {597, 6, 7},  {598, 7, 8},  {599, 7, 8},  {670, 7, 8},
    {672, 6, 6},  {673, 7, 7},  {674, 7, 7},  {675, 7, 8},  {676, 5, 7},  {677, 5, 7},
    {678, 5, 7},  {679, 7, 7},  {680, 7, 7},  {681, 6, 6},  {682, 5, 5},  {683, 4, 7},
    {685, 5, 7},  {686, 5, 8},  {687, 6, 6},  {688, 5, 7},  {689, 8, 8},  {690, 4, 7},
    {691, 7, 7},  {692, 7, 7},  {800, 8, 8},  {850, 8, 10}, {852, 8, 9},  {853, 8, 8},
    {855, 8, 10}, {856, 8, 10}, {870, 9, 9},  {880, 8, 10}, {886, 8, 9},  {960, 7, 7},
    {961, 7, 8},  {962, 8, 9},  {963, 8, 9},  {964, 8, 10}, {965, 7, 8},  {966, 8, 10},
    {967, 7, 9},  {968, 8, 8},  {970, 8, 10}, {971, 8, 9},  {972, 8, 10}, {973, 8, 8},
    {974, 7, 8},  {975, 7, 8},  {976, 8, 8},  {977, 8, 10}, {979, 9, 9},  {992, 9, 9},
    {993, 8, 8},  {994, 9, 9},  {995, 9, 9},  {996, 9, 9},  {998, 9, 9},
};

#define JOINTS " -./()"

enum { MAX_DIGITS = 17, MAX_GROUPS = 8, MAX_JOINT = WEIR_PII_MAX_JOINT, LOOK = 7 };

/* A run of digits in groups, as it is written. */
struct written {
    char digits[MAX_DIGITS + 1];
    size_t n;
    size_t n_groups;
    size_t sizes[MAX_GROUPS];
    size_t ends[MAX_GROUPS]; /* bytes: one past the group */
    bool has_bracket;        /* around the first group, or the second after a country code */
    bool has_hard;           /* a joint that is no blank */
};

/* A joint is a blank, - . or /, or a bracket with one of them; - and / may have blanks around. */
static size_t joint_length(struct weir_slice t, size_t at, struct written *w)
{
    size_t n = 0;
    bool has_hard = false;
    bool has_bracket = false;
    while (n < MAX_JOINT && weir_ascii_at(t, at + n) != '\0' &&
           strchr(JOINTS, t.p[at + n]) != NULL) {
        char c = t.p[at + n++];
        has_hard = has_hard || c != ' ';
        has_bracket = has_bracket || c == ')';
    }
    bool is_spaced = n < MAX_JOINT || (t.p[at] == ' ' && t.p[at + 2] == ' ' &&
                                       (t.p[at + 1] == '-' || t.p[at + 1] == '/'));
    w->has_bracket = w->has_bracket || (has_bracket && w->n_groups <= 2);
    bool goes_on = n > 0 && is_spaced && weir_ascii_is_digit(weir_ascii_at(t, at + n));
    w->has_hard = w->has_hard || (goes_on && has_hard);
    return goes_on ? n : 0;
}

static void read_groups(struct weir_slice t, size_t from, struct written *w)
{
    size_t at = from;
    *w = (struct written){0};
    while (w->n_groups < MAX_GROUPS) {
        size_t size = 0;
        while (w->n < MAX_DIGITS && weir_ascii_is_digit(weir_ascii_at(t, at))) {
            w->digits[w->n++] = t.p[at++];
            size++;
        }
        w->sizes[w->n_groups] = size;
        w->ends[w->n_groups++] = at;
        size_t n = joint_length(t, at, w);
        if (n == 0) {
            break;
        }
        at += n;
    }
}

/* Keeps the first groups only. */
static void keep_groups(struct written *w, size_t n_groups)
{
    while (w->n_groups > n_groups) {
        w->n -= w->sizes[--w->n_groups];
    }
    w->digits[w->n] = '\0';
}

static const struct plan *find_plan(const char *digits, size_t *n_code)
{
    enum { LONGEST = 3 };
    unsigned code = 0;
    for (*n_code = 1; *n_code <= LONGEST && digits[*n_code - 1] != '\0'; (*n_code)++) {
        code = code * 10 + (unsigned)(digits[*n_code - 1] - '0');
        for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
            if (plans[i].code == code) {
                return &plans[i];
            }
        }
    }
    return NULL;
}

/* Has the plan of the country code numbers of this length? +44 (0)20 has its trunk zero too. */
static bool is_planned(const struct written *w, size_t skip, unsigned *code)
{
    size_t n_code;
    const struct plan *p = find_plan(w->digits + skip, &n_code);
    if (p == NULL || w->n < skip + n_code) {
        return false;
    }
    size_t n = w->n - skip - n_code;
    bool has_trunk = n > p->min && w->digits[skip + n_code] == '0' && p->code != 39;
    n -= has_trunk;
    *code = p->code;
    return n >= p->min && n <= p->max;
}

static size_t skip_blanks(struct weir_slice t, size_t at)
{
    enum { MOST = 4 };
    size_t to = at;
    while (to - at < MOST && weir_ascii_at(t, to) == ' ') {
        to++;
    }
    return to;
}

/* " x12", ", ext. 4587", " #3": one past it, or `at`. */
static size_t extension_end(struct weir_slice t, size_t at)
{
    enum { MAX_EXTENSION = 7 };
    static const char *const marks[] = {"extension", "extn", "ext", "int.", "доб", "x", "#", NULL};
    size_t i = skip_blanks(t, at);
    i += weir_ascii_at(t, i) == ',' || weir_ascii_at(t, i) == ';';
    i = skip_blanks(t, i);
    for (const char *const *m = marks; *m != NULL; m++) {
        if (weir_ascii_follows(t, i, *m)) {
            i += strlen(*m);
            i += weir_ascii_at(t, i) == '.' || weir_ascii_at(t, i) == ':';
            i = skip_blanks(t, i);
            size_t to = i;
            while (to - i <= MAX_EXTENSION && weir_ascii_is_digit(weir_ascii_at(t, to))) {
                to++;
            }
            return to > i && to - i <= MAX_EXTENSION && weir_pii__ends_number(t, to) ? to : at;
        }
    }
    return at;
}

static bool ends_phone(struct weir_slice t, size_t at)
{
    bool is_mailbox = weir_ascii_at(t, at) == '@'; /* 1234567890@qq.com */
    return (weir_pii__ends_number(t, at) && !is_mailbox) || extension_end(t, at) > at;
}

/* The longest number with a country code: its end, or 0. */
static size_t international_end(struct weir_slice t, struct written *w, size_t skip, unsigned *code)
{
    for (; w->n_groups > 0 && w->n > skip + 5; keep_groups(w, w->n_groups - 1)) {
        size_t end = w->ends[w->n_groups - 1];
        if (is_planned(w, skip, code) && ends_phone(t, end)) {
            return end;
        }
    }
    return 0;
}

/* ---- numbers without a country code */

static const char *const phone_words[] = {
    "call",        "phone",      "tel",        "mobile",       "cell",        "fax",
    "text ",       "contact",    "dial",       "sms",          "whatsapp",    "number is",
    "reach ",      "móvil",      "handy",      "portable",     "celular",     "ring ",
    "тел",         "Тел",        "電話",       "电话",         "手机",        "전화",
    "telegram",    "viber",      "hotline",    "cel ",         "llám",        "numéro",
    "número",      "rufnummer",  "mobil",      "gsm",          "puh",         "tlf",
    "reached",     "my number",  "new number", "meine nummer", "mijn nummer", "mit nummer",
    "mitt nummer", "min nummer", NULL};

/* Is `word` the last one before `end`, in any case? */
static bool ends_with(struct weir_slice t, size_t end, const char *word)
{
    size_t n = strlen(word);
    return end >= n && weir_slice_eq_nocase(weir_slice_sub(t, end - n, end), weir_slice_cstr(word));
}

/* Where the word that ends at `end` begins, without "number is", "at", colons and blanks. */
static size_t skip_fillers_back(struct weir_slice t, size_t end)
{
    enum { REACH = 24 };
    static const char *const fillers[] = {" number", " no", " nr",  " is",  " at", " on",
                                          " to",     " er", " est", " ist", " es", NULL};
    size_t stop = end > REACH ? end - REACH : 0;
    size_t at = end;
    for (size_t before = 0; at > stop && at != before;) {
        before = at;
        while (at > stop && strchr(" :.=#", t.p[at - 1]) != NULL) {
            at--;
        }
        for (const char *const *f = fillers; *f != NULL; f++) {
            if (ends_with(t, at, *f)) {
                at -= strlen(*f);
                break;
            }
        }
    }
    return at;
}

/* "tel. 39532275", "my mobile number is 90491703": the word stands right before the number. */
static bool is_right_after_word(struct weir_slice t, size_t at)
{
    static const char *const words[] = {
        "phone",    "telephone", "tel",        "telefon",    "mobile",  "mobil",   "cell",
        "fax",      "whatsapp",  "tlf",        "handy",      "gsm",     "sms",     "puh",
        "celular",  "móvil",     "my",         "call me",    "call us", "text me", "reach me",
        "reach us", "reached",   "contact me", "contact us", "contact", NULL};
    size_t end = skip_fillers_back(t, at);
    for (const char *const *w = words; *w != NULL; w++) {
        if (ends_with(t, end, *w) && !weir_ascii_is_alnum(weir_ascii_before(t, end - strlen(*w)))) {
            return true;
        }
    }
    return false;
}

/* "… is my number" */
static bool is_before_word(struct weir_slice t, size_t end)
{
    static const char *const words[] = {" is my number", " is my phone",      " is my cell",
                                        " is my mobile", " is my new number", NULL};
    for (const char *const *w = words; *w != NULL; w++) {
        if (weir_ascii_follows(t, end, *w)) {
            return true;
        }
    }
    return false;
}

static bool has_sizes(const struct written *w, const char *sizes)
{
    size_t i = 0;
    while (i < w->n_groups && sizes[i] != '\0' && w->sizes[i] == (size_t)(sizes[i] - '0')) {
        i++;
    }
    return i == w->n_groups && sizes[i] == '\0';
}

static bool is_any_of(const struct written *w, const char *const *shapes)
{
    while (*shapes != NULL && !has_sizes(w, *shapes)) {
        shapes++;
    }
    return *shapes != NULL;
}

/* North America: 212-555-0187, 1 (212) 555 0187, 2125550187. */
static bool is_american(const struct written *w, bool is_told)
{
    static const char *const shapes[] = {"334", "1334", "37", "64", "137", "164", "10", NULL};
    bool has_one = w->n == 11 && w->digits[0] == '1' && w->n_groups > 1 && w->sizes[0] == 1;
    const char *area = w->digits + has_one;
    bool is_bare = w->n_groups == 1;
    bool is_plain = has_sizes(w, "334") || has_sizes(w, "1334");
    bool is_shaped = is_plain && w->has_hard; /* whether or not it was given out */
    if (w->n != (size_t)(has_one ? 11 : 10) || !(is_bare || is_any_of(w, shapes)) ||
        (area[0] == '0' && !(is_shaped && has_one)) ||
        (area[3] == '0' && !(is_shaped && area[0] >= '2'))) {
        return false;
    }
    bool is_given_out = area[0] >= '2' && area[3] >= '2';
    return is_told || (is_plain && (w->has_hard || is_given_out)) || (!is_bare && w->has_bracket);
}

/* 020 7946 0958, 06 12 34 56 78, 030/901820: a trunk zero and groups. */
static bool is_trunk(const struct written *w)
{
    static const char *const others[] = {"54", "45", "324", NULL}; /* American postcodes, SSN */
    bool is_long = w->n >= 10 && w->n <= 11;
    bool is_short = w->n == 9 && w->n_groups >= 3;
    bool is_area = w->sizes[0] >= 2 && w->sizes[0] <= 5;
    for (size_t i = 0; i < w->n_groups; i++) {
        if (w->sizes[i] < 2) {
            return false;
        }
    }
    bool is_mobile = has_sizes(w, "444") && w->digits[1] == '8'; /* Indonesia */
    return w->digits[0] == '0' && w->digits[1] != '0' && w->n_groups >= 2 && is_area &&
           (is_long || is_short || is_mobile) && !is_any_of(w, others);
}

static bool is_year(const char *digits)
{
    return memcmp(digits, "19", 2) == 0 || memcmp(digits, "20", 2) == 0;
}

/* Shapes that some country writes and little else has. */
static bool is_national(const struct written *w, bool is_opened)
{
    char first = w->digits[0];
    size_t most = first == '0' ? 13 : 11;
    bool is_bracketed = is_opened && w->has_bracket && w->n >= 8 && w->n <= most &&
                        w->n_groups <= 4 && w->sizes[0] >= 2 && w->sizes[0] <= 5 &&
                        !(w->sizes[0] == 4 && is_year(w->digits));
    bool is_russian =
        (has_sizes(w, "13322") || has_sizes(w, "1334")) && (first == '8' || first == '7');
    bool is_indian = has_sizes(w, "55") && first >= '6';
    bool is_chinese = has_sizes(w, "344") && first == '1' && w->digits[1] >= '3';
    return is_bracketed || is_russian || is_indian || is_chinese || is_trunk(w);
}

/* 20240131 */
static bool is_day(const struct written *w)
{
    return is_year(w->digits) && memcmp(w->digits + 4, "12", 2) <= 0 &&
           memcmp(w->digits + 6, "31", 2) <= 0;
}

/* Seven or eight digits without groups, which many other things have too. */
static bool is_short(const struct written *w)
{
    bool is_round = memcmp(w->digits + w->n - 4, "0000", 4) == 0;
    return w->n_groups == 1 && (w->n == 7 || w->n == 8) && w->digits[0] > '1' && !is_round &&
           !is_day(w);
}

/* After a word for it: seven digits and more in groups, or nine and more without any. Behind a
 * trunk zero there may be more of them, and an area of one digit. */
static bool is_said(const struct written *w)
{
    bool is_span = has_sizes(w, "44") && is_year(w->digits) && is_year(w->digits + 4);
    bool is_date = is_span || has_sizes(w, "422") || has_sizes(w, "224") || has_sizes(w, "324") ||
                   has_sizes(w, "54"); /* SSN, American postcodes */
    bool is_bare = w->n_groups == 1 && w->n >= 9 && w->n <= 12;
    bool has_trunk = w->digits[0] == '0' && w->digits[1] != '0';
    size_t most = has_trunk ? 13 : 12;
    bool is_grouped = w->n_groups > 1 && w->n >= 7 && w->n <= most && !is_date;
    for (size_t i = 1; i < w->n_groups; i++) {
        bool is_area = has_trunk && i == 1 && w->n_groups > 2 && w->sizes[0] > 1;
        is_grouped = is_grouped && w->sizes[i] >= (is_area ? 1U : 2U) && w->sizes[i] <= 8;
    }
    return is_bare || is_grouped;
}

/* Numbers of other things that are written alike. */
static bool is_other(struct weir_slice t, size_t from)
{
    enum { REACH = 16 };
    static const char *const words[] = {
        "order", "sku",     "lot ", "isbn", "serial", "invoice", "part n", "ref ",    "case", "id ",
        "model", "version", "issn", "iban", "file",   "row ",    "#",      "account", NULL};
    struct weir_slice near = weir_slice_sub(t, from > REACH ? from - REACH : 0, from);
    for (const char *const *w = words; *w != NULL; w++) {
        if (weir_ascii_contains(near, *w)) {
            return true;
        }
    }
    return false;
}

/* The longest number without a country code: its end, or 0. */
static size_t local_end(struct weir_slice t, size_t from, struct written *w, bool is_opened)
{
    bool is_after = weir_pii__is_after(t, from, phone_words);
    bool is_right_after = is_right_after_word(t, from);
    bool may_be_national = !is_other(t, from);
    for (; w->n_groups > 0 && w->n >= LOOK; keep_groups(w, w->n_groups - 1)) {
        size_t end = w->ends[w->n_groups - 1];
        bool goes_on = weir_ascii_at(t, end) == ' ' && /* the groups of a card */
                       weir_ascii_is_digit(weir_ascii_at(t, end + 1));
        bool is_named = is_before_word(t, end);
        bool is_told = is_after || is_named;
        bool is_phone = is_american(w, is_told) || (is_told && !goes_on && is_said(w)) ||
                        ((is_right_after || is_named) && may_be_national && is_short(w)) ||
                        (may_be_national && is_national(w, is_opened));
        if (is_phone && ends_phone(t, end)) {
            return end;
        }
    }
    return 0;
}

/* (351) 918 096 792, but not (351) 555-0187 24 hours a day */
static bool is_bracketed_code(const struct written *w)
{
    size_t n_code;
    bool is_american = w->sizes[1] == 7 || (w->sizes[1] == 3 && w->sizes[2] == 4);
    return w->has_bracket && w->sizes[0] == 3 && w->n > 10 && !is_american &&
           find_plan(w->digits, &n_code) != NULL && n_code == 3;
}

/* Digits before a country code: 00, 011, or a plus sign, which is not one of them. */
static size_t exit_code(const struct written *w, bool has_plus, bool is_opened,
                        bool *is_international)
{
    bool is_double = memcmp(w->digits, "00", 2) == 0 && w->digits[2] != '0';
    bool is_american = memcmp(w->digits, "011", 3) == 0 && w->sizes[0] == 3;
    bool is_bracketed = is_opened && is_bracketed_code(w);
    *is_international = has_plus || is_double || is_american || is_bracketed;
    return has_plus ? 0 : is_double ? 2 : is_american ? 3 : 0;
}

bool weir_pii__phone(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    struct written w;
    size_t from = weir_pii__digits_back(t, l->end, LOOK, JOINTS, MAX_JOINT);
    if (from < l->floor || weir_ascii_is_digit(weir_ascii_before(t, from))) {
        return false; /* inside a group */
    }
    size_t begin = from;
    bool is_opened = weir_ascii_before(t, begin) == '(';
    begin -= is_opened;
    bool has_plus = weir_ascii_before(t, begin) == '+';
    begin -= has_plus;
    char before = weir_ascii_before(t, begin);
    bool begins = has_plus ? !weir_ascii_is_alnum(before) : weir_pii__begins_number(t, begin);
    l->from = begin;
    if (begin < l->floor || !begins) {
        return false;
    }
    read_groups(t, from, &w);
    bool is_international;
    unsigned code = 0;
    size_t skip = exit_code(&w, has_plus, is_opened, &is_international);
    struct written whole = w;
    size_t to = is_international ? international_end(t, &w, skip, &code) : 0;
    if (to == 0 && !has_plus) {
        w = whole;
        to = local_end(t, begin, &w, is_opened);
        code = to != 0 && is_american(&w, true) ? 1 : 0;
    }
    bool is_closed = to != 0 && memchr(t.p + from, ')', to - from) != NULL;
    l->from = is_opened && !is_closed && !has_plus ? from : begin;
    l->to = to != 0 ? extension_end(t, to) : 0;
    l->kind = code == 1 ? "us-phone-number" : "phone-number";
    return to != 0;
}
