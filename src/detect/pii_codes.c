/* Validators of what carries its own check: card numbers, IBANs, British postcodes. */
#include "detect/ascii.h"
#include "detect/pii_int.h"

/* ---- cards */

enum { MIN_CARD = 13, MAX_CARD = 19, MAX_GROUPS = 6, CARD_LOOK = 12 };

struct issuer {
    unsigned low; /* of the first four digits */
    unsigned high;
    unsigned lengths; /* bit n: n digits */
};

#define LENGTH(n) (1U << (n))
#define LENGTHS_16_TO_19 (LENGTH(16) | LENGTH(17) | LENGTH(18) | LENGTH(19))

/* In order; what is not here was never given out. */
static const struct issuer issuers[] = {
    {1000, 1799, LENGTH(15)},                                        /* UATP, the airlines' */
    {1800, 1800, LENGTH(15)},                                        /* JCB, the old range */
    {1801, 1999, LENGTH(15)},                                        /* UATP */
    {2131, 2131, LENGTH(15)},                                        /* JCB, the old range */
    {2200, 2205, LENGTHS_16_TO_19},                                  /* Mir, Borica */
    {2221, 2720, LENGTH(16)},                                        /* Mastercard */
    {3000, 3059, LENGTH(14) | LENGTH(16)},                           /* Diners */
    {3095, 3095, LENGTH(14) | LENGTH(16)},                           /* Diners */
    {3400, 3499, LENGTH(15)},                                        /* American Express */
    {3528, 3589, LENGTHS_16_TO_19},                                  /* JCB */
    {3600, 3699, LENGTH(14) | LENGTH(16)},                           /* Diners */
    {3700, 3799, LENGTH(15)},                                        /* American Express */
    {3800, 3999, LENGTH(14) | LENGTH(16)},                           /* Diners */
    {4000, 4999, LENGTH(13) | LENGTH(16) | LENGTH(19)},              /* Visa */
    {5018, 5038, LENGTH(13) | LENGTH(16) | LENGTH(18) | LENGTH(19)}, /* Maestro, Dankort */
    {5060, 5067, LENGTHS_16_TO_19},                                  /* Verve, Elo */
    {5081, 5089, LENGTH(16)},                                        /* RuPay */
    {5100, 5599, LENGTH(16)},                                        /* Mastercard */
    {5600, 5899, LENGTH(16) | LENGTH(18) | LENGTH(19)},              /* Maestro */
    {6011, 6011, LENGTHS_16_TO_19},                                  /* Discover */
    {6062, 6062, LENGTH(16)},                                        /* Hipercard */
    {6069, 6085, LENGTH(16)},                                        /* RuPay */
    {6200, 6299, LENGTHS_16_TO_19},                                  /* UnionPay */
    {6304, 6304, LENGTHS_16_TO_19},                                  /* Maestro */
    {6331, 6334, LENGTHS_16_TO_19},                                  /* Switch, Solo */
    {6360, 6399, LENGTHS_16_TO_19},                                  /* InterPayment, Elo */
    {6440, 6599, LENGTHS_16_TO_19},                                  /* Discover */
    {6706, 6709, LENGTHS_16_TO_19},                                  /* Laser */
    {6759, 6771, LENGTHS_16_TO_19},                                  /* Maestro */
    {8600, 8600, LENGTH(16)},                                        /* Uzcard */
    {9792, 9792, LENGTH(16)},                                        /* Troy */
    {9860, 9860, LENGTH(16)},                                        /* Humo */
};

static bool is_issued(const char *digits, size_t n)
{
    unsigned prefix = 0;
    for (size_t i = 0; i < 4; i++) {
        prefix = prefix * 10 + (unsigned)(digits[i] - '0');
    }
    for (size_t i = 0; i < sizeof issuers / sizeof issuers[0]; i++) {
        if (prefix >= issuers[i].low && prefix <= issuers[i].high) {
            return (issuers[i].lengths & LENGTH(n)) != 0;
        }
    }
    return false;
}

bool weir_pii__is_luhn(const char *digits, size_t n)
{
    int sum = 0;
    for (size_t i = 0; i < n; i++) {
        int d = digits[n - 1 - i] - '0';
        d = i % 2 == 1 ? 2 * d : d;
        sum += d > 9 ? d - 9 : d;
    }
    return sum % 10 == 0;
}

/* Digits from `at` in groups with one kind of joint: the longest card, its end or 0. */
static size_t card_end(struct weir_slice t, size_t at)
{
    char digits[MAX_CARD];
    char joint = '\0';
    size_t n = 0;
    size_t group = 0; /* digits of the group we are in */
    size_t good = 0;
    for (size_t i = at, n_groups = 1; n_groups <= MAX_GROUPS && weir_ascii_has(t, i); i++) {
        char c = t.p[i];
        if (weir_ascii_is_digit(c) && n < MAX_CARD) {
            digits[n++] = c;
            group++;
            bool is_end = !weir_ascii_is_alnum(weir_ascii_at(t, i + 1));
            bool is_grouped = n_groups == 1 || (group >= 3 && group <= 6);
            if (is_end && is_grouped && n >= MIN_CARD && is_issued(digits, n) &&
                weir_pii__is_luhn(digits, n)) {
                good = i + 1;
            }
            continue;
        }
        bool is_joint = (c == ' ' || c == '-') && (joint == '\0' || joint == c);
        if (!is_joint || group < 3 || group > 6 || (n_groups == 1 && group != 4)) {
            break;
        }
        joint = c;
        group = 0;
        n_groups++;
    }
    return good;
}

/* Can a card begin at `at`? Not inside a word, a decimal fraction or a longer number. */
static bool can_begin(struct weir_slice t, size_t at)
{
    char c = weir_ascii_before(t, at);
    bool is_fraction = (c == '.' || c == ',') && at >= 2 && weir_ascii_is_digit(t.p[at - 2]);
    return weir_ascii_is_digit(t.p[at]) && !weir_ascii_is_alnum(c) && c != '_' && !is_fraction;
}

/* ---- IBAN, and cards once they are told from it */

static const char iban_lengths[] =
    "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24"
    "FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21"
    "LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22"
    "RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20";

enum { MAX_IBAN = 34 };

static size_t iban_length(char a, char b)
{
    for (const char *p = iban_lengths; *p != '\0'; p += 4) {
        if (p[0] == a && p[1] == b) {
            return (size_t)(p[2] - '0') * 10 + (size_t)(p[3] - '0');
        }
    }
    return 0;
}

static char upper(char c)
{
    return weir_ascii_is_alpha(c) ? (char)(c & ~0x20) : c;
}

/* The country and check digits count as if they stood at the end. */
static bool is_mod_97(const char *iban, size_t n)
{
    unsigned rest = 0;
    for (size_t i = 0; i < n; i++) {
        char c = iban[(i + 4) % n];
        unsigned value = weir_ascii_is_digit(c) ? (unsigned)(c - '0') : (unsigned)(c - 'A') + 10;
        rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
    }
    return rest == 1;
}

/* Groups of four with single spaces or hyphens, or none at all. */
static bool read_iban(struct weir_slice t, size_t from, size_t *to)
{
    char iban[MAX_IBAN] = {0};
    size_t wanted = iban_length(upper(weir_ascii_at(t, from)), upper(weir_ascii_at(t, from + 1)));
    size_t n = 0;
    size_t i = from;
    for (; n < wanted && weir_ascii_has(t, i); i++) {
        char c = t.p[i];
        bool is_joint = (c == ' ' || c == '-') && n > 0 && n % 4 == 0;
        if (weir_ascii_is_alnum(c)) {
            iban[n++] = upper(c);
        } else if (!is_joint || !weir_ascii_is_alnum(weir_ascii_at(t, i + 1))) {
            return false;
        }
    }
    *to = i;
    return wanted != 0 && n == wanted && weir_ascii_is_digit(iban[2]) &&
           weir_ascii_is_digit(iban[3]) && !weir_ascii_is_alnum(weir_ascii_at(t, i)) &&
           is_mod_97(iban, n);
}

/* One in ten account numbers passes a card's check. */
static bool is_in_iban(struct weir_slice t, size_t from, size_t to)
{
    enum { LONGEST = MAX_IBAN + MAX_IBAN / 4 };
    size_t stop = from > LONGEST ? from - LONGEST : 0;
    size_t iban_to;
    for (size_t i = from; i > stop; i--) {
        char c = t.p[i - 1];
        if (!weir_ascii_is_alnum(c) && c != ' ' && c != '-') {
            break;
        }
        bool can_start =
            weir_ascii_is_alpha(c) && !weir_ascii_is_alnum(weir_ascii_before(t, i - 1));
        if (can_start && read_iban(t, i - 1, &iban_to) && iban_to >= to) {
            return true;
        }
    }
    return false;
}

/* Every digit that is the twelfth or a later one of a run is a candidate: the card that begins
 * eleven digits before it is looked at, so each place once. */
bool weir_pii__card(struct weir_seek_look *l)
{
    size_t from = weir_pii__digits_back(l->text, l->end, CARD_LOOK, " -", 2);
    l->from = from;
    size_t to = from >= l->floor && can_begin(l->text, from) ? card_end(l->text, from) : 0;
    if (to <= from || is_in_iban(l->text, from, to)) {
        return false;
    }
    l->from = from;
    l->to = to;
    return true;
}

bool weir_pii__iban(struct weir_seek_look *l)
{
    enum { SHORTEST = 12, LONGEST = 14 };
    for (size_t back = SHORTEST; back <= LONGEST && back <= l->end; back++) {
        size_t from = l->end - back;
        bool can_start = weir_ascii_is_alpha(l->text.p[from]) &&
                         !weir_ascii_is_alnum(weir_ascii_before(l->text, from));
        l->from = can_start && from < l->from ? from : l->from;
        if (can_start && from >= l->floor && read_iban(l->text, from, &l->to)) {
            l->from = from;
            return true;
        }
    }
    return false;
}

/* ---- postcodes */

static const char areas[] =
    " AB AL B BA BB BD BH BL BN BR BS BT CA CB CF CH CM CO CR CT CV CW DA DD DE DG DH DL DN DT DY "
    "E EC EH EN EX FK FY G GL GU GY HA HD HG HP HR HS HU HX IG IM IP IV JE KA KT KW KY L LA LD LE "
    "LL LN LS LU M ME MK ML N NE NG NN NP NR NW OL OX PA PE PH PL PO PR RG RH RM S SA SE SG SK SL "
    "SM SN SO SP SR SS ST SW SY TA TD TF TN TQ TR TS TW UB W WA WC WD WF WN WR WS WV YO ZE ";

static bool is_area(struct weir_slice s)
{
    char padded[5] = {' '};
    if (s.n == 0 || s.n > 2) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        padded[i + 1] = upper(s.p[i]);
    }
    padded[s.n + 1] = ' ';
    return strstr(areas, padded) != NULL;
}

/* C, I, K, M, O and V are never used in the last two letters. */
static bool is_unit(char c)
{
    return strchr("CIKMOV", upper(c)) == NULL;
}

static bool is_upper_code(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (weir_ascii_is_alpha(s.p[i]) && !weir_ascii_is_upper(s.p[i])) {
            return false;
        }
    }
    return true;
}

static bool is_word_after(char c)
{
    return weir_ascii_is_alnum(c) || c == '_' || c == '-';
}

/* In small letters "5gb", "2nd" and their like are more often what they say. */
static bool is_measure(struct weir_slice unit)
{
    static const char measures[] = " st nd rd th gb tb hz lb ft px db pt xl pa wh bn bp ";
    char padded[5] = {' ', weir_ascii_lower(unit.p[0]), weir_ascii_lower(unit.p[1]), ' '};
    return strstr(measures, padded) != NULL;
}

/* The one code that no area has, of a bank that is gone. */
static bool is_girobank(struct weir_seek_look *l)
{
    struct weir_slice t = l->text;
    size_t n = weir_ascii_before(t, l->end - 3) == ' ' ? 7 : 6;
    if (l->end < n) {
        return false;
    }
    l->from = l->end - n;
    l->to = l->end;
    return weir_slice_eq_cstr(weir_slice_sub(t, l->from, l->from + 3), "GIR") &&
           weir_slice_eq_cstr(weir_slice_sub(t, l->end - 3, l->end), "0AA") &&
           !is_word_after(weir_ascii_before(t, l->from)) &&
           !is_word_after(weir_ascii_at(t, l->end));
}

/* Small letters need more: a word that says so, or a shape that is little else. */
static bool is_said(struct weir_seek_look *l, size_t n_out, bool has_space)
{
    static const char *const words[] = {"postcode", "post code", "postal code", NULL};
    struct weir_slice t = l->text;
    return is_upper_code(weir_slice_sub(t, l->from, l->end)) ||
           (n_out >= 3 && has_space && !is_measure(weir_slice_sub(t, l->end - 2, l->end))) ||
           weir_pii__is_after(t, l->from, words);
}

bool weir_pii__post_code(struct weir_seek_look *l)
{
    if (is_girobank(l)) {
        return true;
    }
    struct weir_slice t = l->text;
    size_t inward = l->end - 3;
    bool has_space = t.p[inward - 1] == ' ';
    size_t out_end = inward - has_space;
    size_t from = out_end;
    while (from > 0 && out_end - from < 5 && weir_ascii_is_alnum(t.p[from - 1])) {
        from--;
    }
    struct weir_slice out = weir_slice_sub(t, from, out_end);
    size_t n_area = 0;
    while (n_area < out.n && weir_ascii_is_alpha(out.p[n_area])) {
        n_area++;
    }
    size_t n_rest = out.n - n_area; /* the district: 9, 99 or 9A */
    char before = weir_ascii_before(t, from);
    l->from = from;
    l->to = l->end;
    bool is_shaped = out.n <= 4 && n_rest >= 1 && n_rest <= 2 &&
                     weir_ascii_is_digit(out.p[n_area]) && !weir_ascii_is_alnum(before) &&
                     before != '-' && before != '#' && !is_word_after(weir_ascii_at(t, l->end));
    return is_shaped && is_unit(t.p[inward + 1]) && is_unit(t.p[inward + 2]) &&
           is_area(weir_slice_sub(out, 0, n_area)) && (has_space || out.n >= 3) &&
           is_said(l, out.n, has_space);
}
