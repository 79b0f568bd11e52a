/* `unicode`: tricks, and the writing that looks like them. */
#include "unit/cmocka_all.h"

#include "detect/unicode.h"
#include "unit/detect/builtin_probe.h"

static const struct probe_case tricks[] = {
    {"ig\u200bnore", "invisible[\u200b]"},
    {"a\u200b\u2060\ufeff z", "invisible[\u200b\u2060\ufeff]"},
    {"pass\u00adword", "invisible[\u00ad]"},
    {"x\U000E0041\U000E0042y", "invisible[\U000E0041\U000E0042]"},
    {"a\ufe0f\ufe01b", "invisible[\ufe0f\ufe01]"},
    {"wo\u200drd wo\u200crd", "invisible[\u200d] invisible[\u200c]"},
    {"\u202egnp.exe", "bidi_control[\u202e]"},
    {"if (a\u2066b\u2069)", "bidi_control[\u2066] bidi_control[\u2069]"},
    {"Log in at p\u0430yp\u0430l now", "homoglyph[p\u0430yp\u0430l]"},
    {"\u0412itcoin", "homoglyph[\u0412itcoin]"},
    {"your \u0440\u0430\u0443\u0440\u0430 account", "homoglyph[\u0440\u0430\u0443\u0440\u0430]"},
    {"\U0001D429\U0001D41A\U0001D42C\U0001D42C",
     "homoglyph[\U0001D429\U0001D41A\U0001D42C\U0001D42C]"},
    {"\u0D32\u0D4D\u200D\u200C\u200D", "invisible[\u200D]"},
    {"\u1781\u200B \u200B\u1781 a\u200Bb", "invisible[\u200B]"},
    {"a\u2800b", "invisible[\u2800]"},
    {"\u0627\u202Etxt\u202C \u202Bb\u202C", "bidi_control[\u202E] bidi_control[\u202C]"},
    {"c\u043A\u0430\u0447\u0430\u0442\u044C", "homoglyph[c\u043A\u0430\u0447\u0430\u0442\u044C]"},
    {"\u0581oogle", "homoglyph[\u0581oogle]"},
    {"\u1D00\u1D05\u1D0D", "homoglyph[\u1D00\u1D05\u1D0D]"},
    {"z\u0300\u0301\u0302\u0303\u0304o", "zalgo[\u0300\u0301\u0302\u0303\u0304]"},
};

static const struct probe_case writing[] = {
    {"plain", ""},
    {"grüße, naïve café, Łódź, tiếng Việt", ""},
    {"\ufeffstart", ""},
    {"1\ufe0f\u20e3", ""},
    {"Step 1\ufe0f\u20e3, then #\ufe0f\u20e3", ""},
    {"👩‍👩‍👧‍👦 ❤️ 1️⃣ 👍🏽 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ☺️ "
     "🏳️‍🌈",
     ""},
    {"می‌خواهم نامه‌ها \u200fעברית\u200f", ""},
    {"Привет, мир! IT-компания, PDFом, USB-порт", ""},
    {"сосо Москва", ""},
    {"Ελληνικά, 5 kΩ, 3 μm, Δt, sinα, α-helix", ""},
    {"क्‍ष হ্যাঁ ไทย 日本語ＡＢＣ 汉字 한국어", ""},
    {"東京ｔｏｋｙｏ", ""},
    {"1\uFE0F\u20E3 \u0D32\u0D4D\u200D\u200C\u0D32 \u2801\u2800\u2801", ""},
    {"%s\u0416\u0435\u0436\u0435, \u043A\u00F4\u0434, -c\u0416\u0435\u0436\u0435", ""},
    {"𝑥 + 𝑦 = 𝑧, e\u0301te\u0301", ""},
};

static void test_tricks(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_unicode, "");
    probe_cases(&p, tricks, sizeof tricks / sizeof tricks[0]);
    const struct weir_detect_call *call = probe_ask(&p, WEIR_SLICE("ü\u200b"), "");
    assert_int_equal(call->lists[0].items[0].start_cp, 1);
    assert_int_equal(call->lists[0].items[0].end_cp, 2);
    assert_true(weir_slice_eq_cstr(call->lists[0].items[0].detection_type, "obfuscation"));
    probe_close(&p);
}

static void test_writing(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_unicode, "");
    probe_cases(&p, writing, sizeof writing / sizeof writing[0]);
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tricks),
        cmocka_unit_test(test_writing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
