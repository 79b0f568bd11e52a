#include "base/utf8.h"
#include "detect/ascii.h"
#include "detect/links_int.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <unicode/uchar.h>
#include <unicode/uidna.h>
#include <unicode/uscript.h>

/* ---- the part of an authority that is the host */

/* Digits only, or nothing: what may follow the host's colon. */
static bool is_port(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!weir_ascii_is_digit(s.p[i])) {
            return false;
        }
    }
    return true;
}

/* After the last @ of the authority, up to its colon. False: no browser reads it. */
static bool cut_host(struct weir_slice authority, struct weir_slice *host)
{
    size_t end = 0;
    size_t from = 0;
    while (end < authority.n && strchr("/\\?#", authority.p[end]) == NULL) {
        from = authority.p[end] == '@' ? end + 1 : from;
        end++;
    }
    struct weir_slice rest = weir_slice_sub(authority, from, end);
    size_t bracket = weir_ascii_at(rest, 0) == '[' ? weir_slice_find(rest, ']') : 0;
    struct weir_slice tail = weir_slice_sub(rest, bracket, rest.n);
    size_t colon = bracket + weir_slice_find(tail, ':');
    *host = weir_slice_sub(rest, 0, colon);
    return host->n != 0 && (colon == rest.n || is_port(weir_slice_sub(rest, colon + 1, rest.n)));
}

static int hex_value(char c)
{
    if (weir_ascii_is_digit(c)) {
        return c - '0';
    }
    return weir_ascii_is_hex(c) ? weir_ascii_lower(c) - 'a' + 10 : -1;
}

/* %xx decoded, into `out` of WEIR_LINKS_MAX_HOST bytes. False: too long. */
static bool unescape(struct weir_slice host, char *out, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < host.n; i++) {
        int high = host.p[i] == '%' ? hex_value(weir_ascii_at(host, i + 1)) : -1;
        int low = high >= 0 ? hex_value(weir_ascii_at(host, i + 2)) : -1;
        if (*n == WEIR_LINKS_MAX_HOST) {
            return false;
        }
        out[(*n)++] = low >= 0 ? (char)(high * 16 + low) : host.p[i];
        i += low >= 0 ? 2 : 0;
    }
    return true;
}

/* ---- names that are not ASCII */

static UIDNA *mapper; /* as long as the process; NULL: there is none */

static void open_mapper(void)
{
    UErrorCode err = U_ZERO_ERROR;
    mapper = uidna_openUTS46(
        UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII, &err);
    mapper = U_SUCCESS(err) ? mapper : NULL;
}

/* Lengths and hyphens are the DNS's matter, not a browser's. */
static bool is_fatal(uint32_t errors)
{
    const uint32_t forgiven = UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG |
                              UIDNA_ERROR_DOMAIN_NAME_TOO_LONG | UIDNA_ERROR_LEADING_HYPHEN |
                              UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4;
    return (errors & ~forgiven) != 0;
}

static bool map_name(struct weir_slice name, struct weir_links__host *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_mapper);
    UErrorCode err = U_ZERO_ERROR;
    UIDNAInfo info = UIDNA_INFO_INITIALIZER;
    if (mapper == NULL) {
        return false;
    }
    int32_t n = uidna_nameToASCII_UTF8(mapper, name.p, (int32_t)name.n, out->name,
                                       WEIR_LINKS_MAX_HOST, &info, &err);
    bool is_good = U_SUCCESS(err) && n >= 0 && n <= WEIR_LINKS_MAX_HOST && !is_fatal(info.errors);
    out->n = is_good ? (size_t)n : 0;
    return is_good;
}

static bool lower_name(struct weir_slice name, struct weir_links__host *out)
{
    out->n = name.n;
    for (size_t i = 0; i < name.n; i++) {
        out->name[i] = weir_ascii_lower(name.p[i]);
    }
    return true;
}

/* ASCII that no browser takes in a name. */
static bool has_forbidden(struct weir_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c == 0x7f || strchr("#/:<>?@[\\]^|%", c) != NULL) {
            return true;
        }
    }
    return false;
}

/* ---- can there be a name like that? */

/* Top-level domains in Han, kana and Hangul. */
static const char *const east_asian_tops[] = {
    "中国",   "中國",   "香港",     "台湾",     "台灣",       "臺灣",     "新加坡",       "澳門",
    "澳门",   "公司",   "网络",     "網絡",     "网址",       "在线",     "中文网",       "网店",
    "网站",   "網站",   "商城",     "商店",     "商标",       "集团",     "我爱你",       "世界",
    "政府",   "政务",   "机构",     "信息",     "企业",       "娱乐",     "组织机构",     "公益",
    "慈善",   "招聘",   "时尚",     "書籍",     "淡马锡",     "珠宝",     "电讯盈科",     "联通",
    "购物",   "通販",   "谷歌",     "食品",     "餐厅",       "香格里拉", "飞利浦",       "点看",
    "點看",   "诺基亚", "嘉里",     "大拿",     "嘉里大酒店", "大众汽车", "天主教",       "家電",
    "工行",   "广东",   "佛山",     "微博",     "移动",       "手机",     "手表",         "游戏",
    "健康",   "八卦",   "联通",     "亚马逊",   "新闻",       "盛贸饭店", "みんな",       "コム",
    "ストア", "セール", "クラウド", "グーグル", "ポイント",   "アマゾン", "ファッション", "닷넷",
    "닷컴",   "삼성",   "한국",     NULL};

bool weir_links__is_east_asian(uint32_t cp)
{
    UErrorCode err = U_ZERO_ERROR;
    UScriptCode script = uscript_getScript((UChar32)cp, &err);
    return script == USCRIPT_HAN || script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA ||
           script == USCRIPT_HANGUL;
}

static bool is_top(struct weir_slice label)
{
    for (const char *const *top = east_asian_tops; *top != NULL; top++) {
        if (weir_slice_eq_cstr(label, *top)) {
            return true;
        }
    }
    return false;
}

/* What follows the last dot, and what passes for one. */
static struct weir_slice last_label(struct weir_slice name)
{
    size_t from = 0;
    for (size_t i = 0, n; i < name.n; i += n) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(name, i, name.n), &n);
        bool is_dot = cp == '.' || cp == 0x3002 || cp == 0xFF0E || cp == 0xFF61;
        from = is_dot && i + n < name.n ? i + n : from;
    }
    return weir_slice_sub(name, from, name.n);
}

/* A label with punctuation is prose that follows a name, and so are East Asian letters after Latin
 * ones: the root has no such labels. */
static bool can_be_top(struct weir_slice name)
{
    struct weir_slice label = last_label(name);
    size_t n_latin = 0;
    size_t n_east_asian = 0;
    size_t n_all = 0;
    for (size_t i = 0, n; i < label.n; i += n, n_all++) {
        uint32_t cp = weir_utf8_decode(weir_slice_sub(label, i, label.n), &n);
        bool is_dash = cp == '-' || cp == '_' || (cp == '.' && i + n == label.n);
        if ((cp < 0x80 ? !weir_ascii_is_alnum((char)cp) : u_ispunct((UChar32)cp)) && !is_dash) {
            return false;
        }
        n_latin += cp < 0x80;
        n_east_asian += cp >= 0x80 && weir_links__is_east_asian(cp);
    }
    if (n_all == 0 || (n_latin != 0 && n_east_asian != 0)) {
        return false;
    }
    return n_east_asian != n_all || is_top(label);
}

/* ---- numbers */

/* One part of an IPv4 address: decimal, octal after 0, hexadecimal after 0x. */
static bool read_number(struct weir_slice s, uint64_t *value)
{
    unsigned base = 10;
    if (s.n >= 2 && s.p[0] == '0' && s.p[1] == 'x') {
        base = 16;
        s = weir_slice_sub(s, 2, s.n);
    } else if (s.n >= 2 && s.p[0] == '0') {
        base = 8;
        s = weir_slice_sub(s, 1, s.n);
    }
    *value = 0;
    for (size_t i = 0; i < s.n; i++) {
        int digit = hex_value(s.p[i]);
        if (digit < 0 || (unsigned)digit >= base) {
            return false;
        }
        *value = *value * base + (unsigned)digit;
        *value = *value > UINT32_MAX ? (uint64_t)UINT32_MAX + 1 : *value;
    }
    return true;
}

static struct weir_slice name_of(const struct weir_links__host *h)
{
    return weir_slice_make(h->name, h->n);
}

static bool ends_in_number(struct weir_slice name)
{
    struct weir_slice last = last_label(name);
    uint64_t value;
    bool is_digits = last.n != 0;
    for (size_t i = 0; i < last.n; i++) {
        is_digits = is_digits && weir_ascii_is_digit(last.p[i]);
    }
    bool is_hex = last.n >= 2 && last.p[0] == '0' && last.p[1] == 'x';
    return is_digits || (is_hex && read_number(last, &value));
}

/* 0x7f.1 becomes 127.0.0.1. False: it ends in a number and is no address. */
static bool number_host(struct weir_links__host *h)
{
    struct weir_slice rest = name_of(h);
    uint64_t parts[4];
    size_t n_parts = 0;
    while (rest.p != NULL) {
        struct weir_slice part = weir_slice_cut(&rest, '.');
        if (n_parts == 4 || part.n == 0 || !read_number(part, &parts[n_parts++])) {
            return false;
        }
    }
    uint64_t address = parts[n_parts - 1];
    if (address >= (uint64_t)1 << (8 * (5 - n_parts))) {
        return false;
    }
    for (size_t i = 0; i + 1 < n_parts; i++) {
        if (parts[i] > 255) {
            return false;
        }
        address += parts[i] << (8 * (3 - i));
    }
    int n = snprintf(h->name, sizeof h->name, "%u.%u.%u.%u", (unsigned)(address >> 24),
                     (unsigned)(address >> 16) & 255, (unsigned)(address >> 8) & 255,
                     (unsigned)address & 255);
    h->n = (size_t)n;
    return true;
}

/* ---- the whole */

static enum weir_links__place finish(struct weir_links__host *out)
{
    if (out->n == 0 || has_forbidden(name_of(out))) {
        return WEIR_LINKS_NOWHERE;
    }
    out->n -= out->name[out->n - 1] == '.';
    if (out->n == 0) {
        out->can_exist = false; /* a dot alone: browsers take it, nobody has it */
        return WEIR_LINKS_UNSURE;
    }
    return !ends_in_number(name_of(out)) || number_host(out) ? WEIR_LINKS_HOST : WEIR_LINKS_NOWHERE;
}

enum weir_links__place weir_links__parse_host(struct weir_slice authority,
                                              struct weir_links__host *out)
{
    char bytes[WEIR_LINKS_MAX_HOST];
    struct weir_slice host;
    size_t n;
    out->n = 0;
    out->can_exist = true;
    if (!cut_host(authority, &host)) {
        return WEIR_LINKS_NOWHERE;
    }
    if (host.p[0] == '[') {
        bool is_closed = host.n <= WEIR_LINKS_MAX_HOST && host.p[host.n - 1] == ']';
        return is_closed && lower_name(host, out) ? WEIR_LINKS_HOST : WEIR_LINKS_NOWHERE;
    }
    if (!unescape(host, bytes, &n)) {
        return WEIR_LINKS_UNSURE;
    }
    struct weir_slice name = weir_slice_make(bytes, n);
    bool is_ascii = weir_ascii_skip(name, 0) == name.n;
    if (!is_ascii && !weir_utf8_is_valid(name)) {
        return WEIR_LINKS_UNSURE;
    }
    out->can_exist = can_be_top(name);
    if (has_forbidden(name)) {
        return WEIR_LINKS_NOWHERE;
    }
    if (!(is_ascii ? lower_name(name, out) : map_name(name, out))) {
        return WEIR_LINKS_UNSURE;
    }
    return finish(out);
}
