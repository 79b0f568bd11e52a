/* Numbers that are given out to people, firms and things, each with its check digits. */
#include "detect/ascii.h"
#include "detect/pii_int.h"

#include <string.h>

static unsigned digit(char c)
{
    return (unsigned)(c - '0');
}

static bool are_digits(const char *s, size_t from, size_t to)
{
    while (from < to && weir_ascii_is_digit(s[from])) {
        from++;
    }
    return from == to;
}

static bool are_letters(const char *s, size_t from, size_t to)
{
    while (from < to && weir_ascii_is_upper(s[from])) {
        from++;
    }
    return from == to;
}

static bool is_one_digit(const char *s, size_t n)
{
    size_t i = 1;
    while (i < n && s[i] == s[0]) {
        i++;
    }
    return i == n;
}

/* The sum of digits, each times its weight. */
static unsigned weigh(const char *s, const unsigned char *weights, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += digit(s[i]) * weights[i];
    }
    return sum;
}

static bool is_day(unsigned month, unsigned day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static unsigned two(const char *s)
{
    return digit(s[0]) * 10 + digit(s[1]);
}

/* ---- Spain */

static bool has_spanish_letter(const char *digits, size_t n, unsigned first, char letter)
{
    unsigned long number = first;
    for (size_t i = 0; i < n; i++) {
        number = number * 10 + digit(digits[i]);
    }
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == letter;
}

static bool is_nif(const char *s, size_t n)
{
    return are_digits(s, 0, n - 1) && has_spanish_letter(s, n - 1, 0, s[n - 1]);
}

static bool is_nie(const char *s, size_t n)
{
    return s[0] >= 'X' && s[0] <= 'Z' && are_digits(s, 1, n - 1) &&
           has_spanish_letter(s + 1, n - 2, (unsigned)(s[0] - 'X'), s[n - 1]);
}

/* ---- Poland: the century is in the month */

static bool is_pesel(const char *s, size_t n)
{
    static const unsigned char weights[] = {1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1};
    return is_day(two(s + 2) % 20, two(s + 4)) && weigh(s, weights, n) % 10 == 0;
}

/* ---- Italy: letters may stand for digits where two people would share a code */

static char plain_digit(char c)
{
    const char *at = strchr("LMNPQRSTUV", c);
    return weir_ascii_is_digit(c) ? c : at != NULL ? (char)('0' + (at - "LMNPQRSTUV")) : '?';
}

static bool has_italian_digits(const char *s)
{
    static const unsigned char places[] = {6, 7, 9, 10, 12, 13, 14};
    for (size_t i = 0; i < sizeof places; i++) {
        if (s[places[i]] == '\0' || plain_digit(s[places[i]]) == '?') {
            return false;
        }
    }
    return true;
}

static bool is_fiscal_code(const char *s, size_t n)
{
    static const unsigned char odd[] = {1,  0,  5, 7, 9, 13, 15, 17, 19, 21, 2,  4,  18,
                                        20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23};
    unsigned sum = 0;
    if (!are_letters(s, 0, 6) || !has_italian_digits(s) || strchr("ABCDEHLMPRST", s[8]) == NULL ||
        !are_letters(s, 11, 12) || !are_letters(s, 15, 16)) {
        return false;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        unsigned value = weir_ascii_is_digit(s[i]) ? digit(s[i]) : (unsigned)(s[i] - 'A');
        sum += i % 2 == 0 ? odd[value] : value;
    }
    return (unsigned)(s[n - 1] - 'A') == sum % 26;
}

/* ---- India: Verhoeff's check digit, from the dihedral group of ten */

static unsigned dihedral(unsigned a, unsigned b)
{
    if (a < 5) {
        return b < 5 ? (a + b) % 5 : 5 + (a + b - 5) % 5;
    }
    return b < 5 ? 5 + (a - 5 + 5 - b) % 5 : (a - 5 + 5 - (b - 5)) % 5;
}

static bool is_aadhaar(const char *s, size_t n)
{
    static const unsigned char turn[] = {1, 5, 7, 6, 2, 8, 3, 0, 9, 4};
    unsigned check = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned value = digit(s[n - 1 - i]);
        for (size_t k = 0; k < i % 8; k++) {
            value = turn[value];
        }
        check = dihedral(check, value);
    }
    return s[0] >= '2' && !is_one_digit(s, n) && check == 0;
}

static bool is_pan(const char *s, size_t n)
{
    return are_letters(s, 0, 5) && strchr("ABCFGHLJPTE", s[3]) != NULL && are_digits(s, 5, 9) &&
           are_letters(s, 9, n);
}

/* ---- the United Kingdom */

static bool is_nhs(const char *s, size_t n)
{
    static const unsigned char weights[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    return !is_one_digit(s, n) && weigh(s, weights, n) % 11 == 0;
}

static bool is_nino(const char *s, size_t n)
{
    static const char never[] = " BG GB KN NK NT TN ZZ ";
    char prefix[] = {' ', s[0], s[1], ' ', '\0'};
    return are_letters(s, 0, 2) && strchr("DFIQUV", s[0]) == NULL &&
           strchr("DFIQUVO", s[1]) == NULL && strstr(never, prefix) == NULL &&
           are_digits(s, 2, 8) && s[n - 1] >= 'A' && s[n - 1] <= 'D';
}

/* ---- Canada, Sweden: as cards */

static bool is_sin(const char *s, size_t n)
{
    return s[0] != '0' && s[0] != '8' && !is_one_digit(s, n) && weir_pii__is_luhn(s, n);
}

static bool is_personnummer(const char *s, size_t n)
{
    const char *short_form = s + (n - 10);
    unsigned day = two(short_form + 4);
    return is_day(two(short_form + 2), day > 60 ? day - 60 : day) &&
           (n == 10 || memcmp(s, "19", 2) == 0 || memcmp(s, "20", 2) == 0) &&
           weir_pii__is_luhn(short_form, 10);
}

/* ---- Germany: one digit of the first ten is there twice or three times */

static bool is_tax_id(const char *s, size_t n)
{
    unsigned counts[10] = {0};
    unsigned product = 10;
    unsigned n_repeated = 0;
    unsigned most = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        counts[digit(s[i])]++;
        unsigned sum = (digit(s[i]) + product) % 10;
        product = 2 * (sum == 0 ? 10 : sum) % 11;
    }
    for (size_t i = 0; i < 10; i++) {
        n_repeated += counts[i] > 1;
        most = counts[i] > most ? counts[i] : most;
    }
    unsigned check = (11 - product) % 10;
    return s[0] != '0' && n_repeated == 1 && most <= 3 && digit(s[n - 1]) == check;
}

/* ---- France: the last two digits are what is left of 97; Corsica has letters */

static bool is_nir(const char *s, size_t n)
{
    unsigned long long number = 0;
    bool is_corsican = s[5] == '2' && (s[6] == 'A' || s[6] == 'B');
    for (size_t i = 0; i + 2 < n; i++) {
        char c = i == 6 && is_corsican ? (s[6] == 'A' ? '9' : '8') : s[i];
        if (!weir_ascii_is_digit(c)) {
            return false;
        }
        /* 2A counts as 19, 2B as 18 */
        number = number * 10 + (i == 5 && is_corsican ? 1 : digit(c));
    }
    unsigned month = two(s + 3);
    return strchr("123478", s[0]) != NULL && (is_day(month, 1) || month >= 20) &&
           are_digits(s, n - 2, n) && two(s + n - 2) == 97 - number % 97;
}

/* ---- Brazil: two check digits, each over all before it */

static bool has_brazilian_check(const char *s, size_t n, unsigned wrap)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += digit(s[n - 1 - i]) * (unsigned)(2 + i % (wrap - 1));
    }
    unsigned rest = sum % 11;
    return digit(s[n]) == (rest < 2 ? 0 : 11 - rest);
}

static bool is_cpf(const char *s, size_t n)
{
    return !is_one_digit(s, n) && has_brazilian_check(s, n - 2, 12) &&
           has_brazilian_check(s, n - 1, 12);
}

static bool is_cnpj(const char *s, size_t n)
{
    return !is_one_digit(s, n) && has_brazilian_check(s, n - 2, 9) &&
           has_brazilian_check(s, n - 1, 9);
}

/* ---- Switzerland, the Netherlands, Australia */

static bool is_ahv(const char *s, size_t n)
{
    static const unsigned char weights[] = {1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1};
    return memcmp(s, "756", 3) == 0 && weigh(s, weights, n) % 10 == 0;
}

static bool is_bsn(const char *s, size_t n)
{
    static const unsigned char weights[] = {9, 8, 7, 6, 5, 4, 3, 2};
    unsigned sum = weigh(s, weights, n - 1);
    return !is_one_digit(s, n) && sum >= digit(s[n - 1]) && (sum - digit(s[n - 1])) % 11 == 0;
}

static bool is_tfn(const char *s, size_t n)
{
    static const unsigned char weights[] = {1, 4, 3, 7, 5, 8, 6, 9, 10};
    return !is_one_digit(s, n) && weigh(s, weights, n) % 11 == 0;
}

static bool is_abn(const char *s, size_t n)
{
    static const unsigned char weights[] = {10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19};
    return s[0] != '0' && (weigh(s, weights, n) - 10) % 89 == 0;
}

/* ---- things */

static bool is_mac(const char *s, size_t n)
{
    return !is_one_digit(s, n) && memcmp(s, "01005E", 6) != 0;
}

static bool is_country(const char *two_letters)
{
    static const char countries[] =
        " AD AE AF AG AI AL AM AO AR AT AU AW AZ BA BB BD BE BF BG BH BI BJ BM BN BO BR BS BT BW "
        "BY BZ CA CD CF CG CH CI CK CL CM CN CO CR CU CV CW CY CZ DE DJ DK DM DO DZ EC EE EG ER ES "
        "ET FI FJ FK FO FR GA GB GD GE GG GH GI GL GM GN GQ GR GT GW GY HK HN HR HT HU ID IE IL IM "
        "IN IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY "
        "MA MC MD ME MG MK ML MM MN MO MR MS MT MU MV MW MX MY MZ NA NC NE NG NI NL NO NP NR NZ OM "
        "PA PE PF PG PH PK PL PS PT PY QA RO RS RU RW SA SB SC SD SE SG SI SK SL SM SN SO SR SS ST "
        "SV SX SY SZ TC TD TG TH TJ TL TM TN TO TR TT TW TZ UA UG US UY UZ VA VC VE VG VN VU WS XK "
        "YE ZA ZM ZW ";
    char padded[] = {' ', two_letters[0], two_letters[1], ' ', '\0'};
    return strstr(countries, padded) != NULL;
}

static bool is_bic(const char *s, size_t n)
{
    return (n == 8 || n == 11) && are_letters(s, 0, 6) && is_country(s + 4);
}

/* The ninth is what the others leave of eleven; every letter counts as a digit. */
static bool is_vin(const char *s, size_t n)
{
    static const unsigned char weights[] = {8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2};
    static const char values[] = "12345678012345070923456789"; /* A to Z; I, O and Q never stand */
    unsigned sum = 0;
    bool has_letter = false;
    for (size_t i = 0; i < n; i++) {
        bool is_letter = weir_ascii_is_upper(s[i]);
        if (s[i] == 'I' || s[i] == 'O' || s[i] == 'Q') {
            return false;
        }
        has_letter = has_letter || is_letter;
        sum += digit(is_letter ? values[s[i] - 'A'] : s[i]) * weights[i];
    }
    unsigned rest = sum % 11;
    return has_letter && are_digits(s, n - 4, n) && s[8] == (rest == 10 ? 'X' : (char)('0' + rest));
}

/* ---- the kinds */

#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }
#define DIGITS(n) "\\d(?:[ ./-]?\\d){" #n "}"

const struct weir_pii_id weir_pii__ids[] = {
    {"es-nif", "\\d[\\d.]{6,9}[ -]?[A-Z]", 8, 9, " .-", NULL, NULL, is_nif},
    {"es-nie", "[XYZ][ -]?\\d{7}[ -]?[A-Z]", 9, 9, " -", NULL, NULL, is_nie},
    {"pl-pesel", "\\d{11}", 11, 11, "", NULL, NULL, is_pesel},
    {"it-fiscal-code", "[A-Z]{6}[A-Z0-9]{10}", 16, 16, "", NULL, NULL, is_fiscal_code},
    {"in-aadhaar", DIGITS(11), 12, 12, " -", "444", WORDS("aadhaar", "aadhar", "uidai", "आधार"),
     is_aadhaar},
    {"in-pan", "[A-Z]{5}\\d{4}[A-Z]", 10, 10, "", NULL, NULL, is_pan},
    {"uk-nhs", DIGITS(9), 10, 10, " -", "334", WORDS("nhs", "national health", "patient"), is_nhs},
    {"uk-nino", "[A-Z]{2}[ -]?(?:\\d\\d[ -]?){3}[A-D]", 9, 9, " -", NULL, NULL, is_nino},
    {"ca-sin", DIGITS(8), 9, 9, " -", "333", WORDS("sin", "social insurance", "assurance sociale"),
     is_sin},
    {"de-tax-id", DIGITS(10), 11, 11, " /", NULL, NULL, is_tax_id},
    {"fr-nir", "\\d[ .-]?(?:[0-9AB][ .-]?){13}\\d", 15, 15, " .-", NULL, NULL, is_nir},
    {"br-cpf", DIGITS(10), 11, 11, ".-", "3332", WORDS("cpf", "contribuinte"), is_cpf},
    {"br-cnpj", DIGITS(13), 14, 14, "./-", "23342", WORDS("cnpj"), is_cnpj},
    {"ch-ahv", "756[. ]?\\d{4}[. ]?\\d{4}[. ]?\\d\\d", 13, 13, ". ", NULL, NULL, is_ahv},
    {"nl-bsn", DIGITS(8), 9, 9, ". -", "423", WORDS("bsn", "burgerservice", "sofi"), is_bsn},
    {"se-personnummer", "\\d{6}[-+]?\\d{4}", 10, 12, "-+", "64",
     WORDS("personnummer", "personnr", "pnr", "samordningsnummer"), is_personnummer},
    {"au-tfn", DIGITS(8), 9, 9, " -", "333", WORDS("tfn", "tax file"), is_tfn},
    {"au-abn", DIGITS(10), 11, 11, " ", NULL, NULL, is_abn},
    {"bitcoin-address", "[13][1-9A-Za-z]{25,33}|bc1[a-z0-9]{39,59}", 26, 62, "", NULL, NULL,
     weir_pii__is_bitcoin},
    {"ethereum-address", "0x[0-9a-f]{40}", 42, 42, "", NULL, NULL, weir_pii__is_ethereum},
    {"mac-address", "(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\\.){2}[0-9a-f]{4}", 12, 12,
     ":-.", NULL, NULL, is_mac},
    {"bic", "[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?", 8, 11, "", "-",
     WORDS("bic", "swift code", "swift:", "swift/", "swift number"), is_bic},
    {"vin", "[A-Z0-9]{13}\\d{4}", 17, 17, "", NULL, NULL, is_vin},
};

const size_t weir_pii__n_ids = sizeof weir_pii__ids / sizeof weir_pii__ids[0];

enum { MAX_SPELLED = 64 };

/* Those whose letters are what they are: small ones are others, or the check tells. */
static bool keeps_case(const struct weir_pii_id *id)
{
    return id->is_right == weir_pii__is_bitcoin || id->is_right == weir_pii__is_ethereum ||
           id->is_right == is_bic;
}

/* The last `n` letters and digits before `l->end`, in order: where they begin, or `l->end`. */
static size_t spell_back(const struct weir_pii_id *id, const struct weir_seek_look *l, size_t n,
                         char *spelled)
{
    struct weir_slice t = l->text;
    size_t at = l->end;
    size_t left = n;
    char last = '\0';
    while (left > 0 && at > l->floor) {
        char c = t.p[at - 1];
        if (weir_ascii_is_alnum(c)) {
            bool is_small = c >= 'a' && c <= 'z' && !keeps_case(id);
            spelled[--left] = is_small ? (char)(c - ('a' - 'A')) : c;
        } else if (c == '\0' || strchr(id->joints, c) == NULL || !weir_ascii_is_alnum(last)) {
            break;
        }
        last = c;
        at--;
    }
    spelled[n] = '\0';
    return left == 0 ? at : l->end;
}

/* Is it written in groups of these sizes? The first may have two digits more, of a century. */
static bool is_grouped(struct weir_slice written, const char *sizes)
{
    enum { CENTURY = 2 };
    size_t n = 0;
    const char *size = sizes;
    for (size_t i = 0; i <= written.n; i++) {
        if (weir_ascii_is_alnum(weir_ascii_at(written, i))) {
            n++;
            continue;
        }
        size_t wanted = (size_t)(*size - '0');
        bool is_dated = size == sizes && wanted == 6 && n == wanted + CENTURY;
        if (*size == '\0' || (n != wanted && !is_dated)) {
            return false;
        }
        size++;
        n = 0;
    }
    return *size == '\0';
}

/* Nothing goes on before or after it. */
static bool is_alone(struct weir_slice t, size_t from, size_t to, bool is_number)
{
    char before = weir_ascii_before(t, from);
    bool goes_on = (weir_ascii_at(t, to) == ':' && weir_ascii_is_hex(weir_ascii_at(t, to + 1))) ||
                   (before == ':' && from >= 2 && weir_ascii_is_hex(t.p[from - 2]));
    if (goes_on && !is_number) {
        return false;
    }
    return is_number
               ? weir_pii__begins_number(t, from) && weir_pii__ends_number(t, to)
               : !weir_ascii_is_alnum(before) && before != '_' &&
                     !weir_ascii_is_alnum(weir_ascii_at(t, to)) && weir_ascii_at(t, to) != '_';
}

bool weir_pii__id(const struct weir_pii_id *id, struct weir_seek_look *l)
{
    char spelled[MAX_SPELLED + 1];
    size_t first = l->end;
    if (weir_ascii_is_alnum(weir_ascii_at(l->text, l->end))) {
        return false;
    }
    for (size_t n = id->max; n >= id->min; n--) {
        size_t from = spell_back(id, l, n, spelled);
        first = from < first ? from : first;
        bool is_number = from < l->end && are_digits(spelled, 0, n);
        if (from == l->end || !is_alone(l->text, from, l->end, is_number) ||
            !id->is_right(spelled, n)) {
            continue;
        }
        l->from = from;
        l->to = l->end;
        if (id->groups == NULL || is_grouped(weir_slice_sub(l->text, from, l->end), id->groups) ||
            weir_pii__is_after(l->text, from, id->words)) {
            return true;
        }
    }
    l->from = first < l->end ? first : l->from;
    return false;
}
