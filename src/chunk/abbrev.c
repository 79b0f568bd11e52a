#include "chunk/abbrev.h"

#include "base/err.h"
#include "base/utf8.h"

#include <string.h>
#include <unicode/uchar.h>
#include <unicode/ures.h>
#include <unicode/ustring.h>

enum { RIGHT_QUOTE = 0x2019 };

/* Ours, by language; a word stands where it is needed first. What ends sentences as often as not
 * is left out ("etc.", "usw.", "No."), and what is a word elsewhere ("fin.", "art."). */
static const char *const own_words[] = {
    /* English */
    "Dr. Drs. Mr. Mrs. Ms. Mx. Messrs. Prof. Rev. Hon. St. Ste. Sr. Jr. Gen. Gov. Sen. Rep. Pres. ",
    "Capt. Cmdr. Cpl. Col. Maj. Sgt. Lt. Adm. Supt. Inc. Ltd. Co. Corp. Bros. vs. cf. Cf. approx. ",
    "ca. Fig. Figs. fig. figs. Eq. Eqs. eq. eqs. Sec. Ch. Vol. Vols. vol. pp. al. Ave. Blvd. Rd. ",
    "Mt. Ft. Dept. Univ. Assn. Est. Ph.D. M.Sc. B.Sc. Jan. Feb. Apr. Aug. Sept. Oct. Nov. Dec. ",
    /* German */
    "Hr. Hrn. Fr. Frl. Nr. bzw. Bzw. vgl. Vgl. ggf. Ggf. evtl. inkl. exkl. zzgl. Abb. Abs. Bd. ",
    "Str. Tel. Dipl.-Ing. Mio. Mrd. Std. sog. ehem. geb. gest. Jh. Hrsg. Anm. Kap. ",
    /* French */
    "MM. Mme. Mlle. chap. éd. env. janv. févr. juil. ",
    /* Spanish, Portuguese */
    "Sra. Srta. Sres. Sras. Dra. Dras. Ud. Uds. pág. págs. núm. Lic. Gral. Avda. Exmo. Exma. ",
    /* Italian */
    "Sig. Sigg. Dott. Avv. Ing. Geom. pag. pagg. ",
    /* Dutch, Polish, Czech, Turkish */
    "dhr. mevr. mw. bijv. Bijv. blz. prof. inż. tzn. tzw. např. tzv. örn. Örn. ",
    /* Russian, Ukrainian */
    "ул. стр. рис. см. См. проф. акад. тыс. руб. гл. просп. обл. вул. ",
    /* Greek */
    "κ.κ. σελ. βλ. αρ. ",
};

static void add(struct weir_abbrev *a, struct weir_slice word)
{
    if (word.n >= 2 && word.n <= WEIR_ABBREV_MAX_BYTES && word.p[word.n - 1] == '.') {
        struct weir_slice copy = weir_arena_dup(&a->arena, word);
        weir_map_put(&a->words, copy, a);
    }
}

static void add_own(struct weir_abbrev *a)
{
    for (size_t i = 0; i < sizeof own_words / sizeof own_words[0]; i++) {
        struct weir_slice rest = weir_slice_cstr(own_words[i]);
        while (rest.p != NULL) {
            add(a, weir_slice_cut(&rest, ' '));
        }
    }
}

/* A word with spaces ("n. Chr.") is learned part by part: each part has a full stop to guard. */
static void add_parts(struct weir_abbrev *a, struct weir_slice word)
{
    while (word.p != NULL) {
        add(a, weir_slice_cut(&word, ' '));
    }
}

static void add_list(struct weir_abbrev *a, UResourceBundle *list)
{
    int32_t n = ures_getSize(list);
    for (int32_t i = 0; i < n; i++) {
        UErrorCode err = U_ZERO_ERROR;
        char word[2 * WEIR_ABBREV_MAX_BYTES];
        int32_t n_units = 0;
        int32_t n_bytes = 0;
        const UChar *units = ures_getStringByIndex(list, i, &n_units, &err);
        u_strToUTF8(word, sizeof word, &n_bytes, units, n_units, &err);
        if (U_SUCCESS(err)) { /* longer than `word`: no abbreviation for us */
            add_parts(a, weir_slice_make(word, (size_t)n_bytes));
        }
    }
}

/* Where the iterators of ICU find them: there is no other way to them in C. */
static int add_icu(struct weir_abbrev *a, const char *language)
{
    UErrorCode err = U_ZERO_ERROR;
    UResourceBundle *root = ures_open(U_ICUDATA_NAME "-brkitr", language, &err);
    if (U_FAILURE(err)) {
        return WEIR_EUNSUPPORTED;
    }
    UResourceBundle *kinds = ures_getByKey(root, "exceptions", NULL, &err);
    UResourceBundle *list = ures_getByKey(kinds, "SentenceBreak", NULL, &err);
    if (U_SUCCESS(err)) {
        add_list(a, list);
    }
    ures_close(list);
    ures_close(kinds);
    ures_close(root);
    return err == U_MISSING_RESOURCE_ERROR || U_SUCCESS(err) ? 0 : WEIR_EUNSUPPORTED;
}

int weir_abbrev_init(struct weir_abbrev *a, const char *language)
{
    *a = (struct weir_abbrev){0};
    add_own(a);
    return add_icu(a, language);
}

void weir_abbrev_dispose(struct weir_abbrev *a)
{
    weir_map_dispose(&a->words);
    weir_arena_dispose(&a->arena);
}

static bool is_letter(uint32_t ascii)
{
    return (ascii >= 'a' && ascii <= 'z') || (ascii >= 'A' && ascii <= 'Z');
}

static bool is_cased(uint32_t cp)
{
    return cp < 0x80 ? is_letter(cp) : u_hasBinaryProperty((UChar32)cp, UCHAR_CASED);
}

/* Letter, full stop, letter, full stop, …: the whole word. */
static bool is_row(struct weir_slice word)
{
    while (word.n != 0) {
        size_t n_bytes;
        uint32_t cp = weir_utf8_decode(word, &n_bytes);
        if (!is_cased(cp) || n_bytes >= word.n || word.p[n_bytes] != '.') {
            return false;
        }
        word = weir_slice_sub(word, n_bytes + 1, word.n);
    }
    return true;
}

static bool is_abbrev(const struct weir_abbrev *a, struct weir_slice word)
{
    return word.n >= 2 && (is_row(word) || weir_map_has(&a->words, word));
}

/* Belongs to the word it stands in; an apostrophe only between letters ("don't."), since it opens
 * quotations too. */
static bool is_inner(uint32_t cp, bool is_inside)
{
    if (cp == '\'' || cp == RIGHT_QUOTE) {
        return is_inside;
    }
    if (cp < 0x80) {
        return is_letter(cp) || (cp >= '0' && cp <= '9') || cp == '.';
    }
    return (U_GET_GC_MASK((UChar32)cp) & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) != 0;
}

bool weir_abbrev_has(const struct weir_abbrev *a, struct weir_slice word)
{
    bool is_inside = false;
    while (word.n != 0) {
        size_t n_bytes;
        bool is_word = is_inner(weir_utf8_decode(word, &n_bytes), is_inside);
        if (is_word && !is_inside && is_abbrev(a, word)) {
            return true;
        }
        is_inside = is_word;
        word = weir_slice_sub(word, n_bytes, word.n);
    }
    return false;
}
