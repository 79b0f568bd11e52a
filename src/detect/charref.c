#include "detect/charref.h"

#include "detect/ascii.h"

static const struct {
    const char *name;
    uint32_t cp;
} references[] = {
    {"Tab", '\t'},
    {"NewLine", '\n'},
    {"excl", '!'},
    {"quot", '"'},
    {"QUOT", '"'},
    {"num", '#'},
    {"dollar", '$'},
    {"percnt", '%'},
    {"amp", '&'},
    {"AMP", '&'},
    {"apos", '\''},
    {"lpar", '('},
    {"rpar", ')'},
    {"ast", '*'},
    {"midast", '*'},
    {"plus", '+'},
    {"comma", ','},
    {"period", '.'},
    {"sol", '/'},
    {"colon", ':'},
    {"semi", ';'},
    {"lt", '<'},
    {"LT", '<'},
    {"equals", '='},
    {"gt", '>'},
    {"GT", '>'},
    {"quest", '?'},
    {"commat", '@'},
    {"lsqb", '['},
    {"lbrack", '['},
    {"bsol", '\\'},
    {"rsqb", ']'},
    {"rbrack", ']'},
    {"Hat", '^'},
    {"lowbar", '_'},
    {"UnderBar", '_'},
    {"grave", '`'},
    {"lcub", '{'},
    {"lbrace", '{'},
    {"verbar", '|'},
    {"vert", '|'},
    {"VerticalLine", '|'},
    {"rcub", '}'},
    {"rbrace", '}'},
    {"shy", 0xAD},
    {"nbsp", 0xA0},
    {"zwj", 0x200D},
    {"zwnj", 0x200C},
    {"ZeroWidthSpace", 0x200B},
    {"NoBreak", 0x2060},
};

static bool named(struct weir_slice name, uint32_t *cp)
{
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        if (weir_slice_eq_cstr(name, references[i].name)) {
            *cp = references[i].cp;
            return true;
        }
    }
    return false;
}

/* The digits of &#x6a; with or without the semicolon. Returns one past it, or `at`. */
static size_t read_numeric(struct weir_slice s, size_t at, uint32_t *cp)
{
    enum { MOST = 16 };
    size_t i = at + 2;
    bool is_hex = weir_ascii_lower(weir_ascii_at(s, i)) == 'x';
    i += is_hex;
    size_t first = i;
    while (i < s.n && s.p[i] == '0') {
        i++; /* as many as there are: they do not count */
    }
    size_t from = i;
    uint32_t value = 0;
    for (; i < s.n && i - from < MOST; i++) {
        char c = weir_ascii_lower(s.p[i]);
        if (is_hex ? !weir_ascii_is_hex(c) : !weir_ascii_is_digit(c)) {
            break;
        }
        uint32_t digit = weir_ascii_is_digit(c) ? (uint32_t)(c - '0') : (uint32_t)(c - 'a' + 10);
        value = value * (is_hex ? 16 : 10) + digit;
        value = value > 0x10FFFF ? 0x110000 : value;
    }
    *cp = value <= 0x10FFFF ? value : 0xFFFD;
    bool has_end = weir_ascii_at(s, i) == ';';
    return i == first ? at : i + has_end;
}

size_t weir_charref_read(struct weir_slice s, size_t at, uint32_t *cp)
{
    enum { LONGEST = 16 };
    if (weir_ascii_at(s, at + 1) == '#') {
        return read_numeric(s, at, cp);
    }
    size_t end = at + 1;
    while (end < s.n && end - at < LONGEST && weir_ascii_is_alnum(s.p[end])) {
        end++;
    }
    bool is_one = weir_ascii_at(s, end) == ';' && named(weir_slice_sub(s, at + 1, end), cp);
    return is_one ? end + 1 : at;
}
