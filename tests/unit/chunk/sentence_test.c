#include "chunk/sentence.h"
#include "unit/chunk/cutting.h"
#include "unit/cmocka_all.h"

static struct weir_chunk_sentence chunker;

static int set_up(void **state)
{
    (void)state;
    return weir_chunk_sentence_init(&chunker, WEIR_SLICE("sentences"), NULL);
}

static int tear_down(void **state)
{
    (void)state;
    weir_chunk_sentence_dispose(&chunker);
    return 0;
}

static void expect(const char *want)
{
    cutting_expect(&chunker.base, want);
}

static void expect_all(const char *const *wants)
{
    for (; *wants != NULL; wants++) {
        expect(*wants);
    }
}

static void test_english(void **state)
{
    (void)state;
    static const char *const wants[] = {
        "Hello there. |How are you? |I am fine!",
        "She said: \"Go home.\" |Then she left. |(He stayed.) |\"Why?\" |Nobody knew.",
        "\"Why?\" he asked. |\"Go!\" |She went (did she?) and came back! |then what? |no.",
        "\"So?\"\n|he asked.",
        "It costs 3.14 dollars. |Version 2.0.1 is out. |He paid $5. |Then he left.",
        "Well... maybe not. |Wait... |What? |No!? |Yes.",
        "Visit https://example.com/a.b?c=d.e&f=g!h today. |Mail a.b@example.com. |Bye.",
        "The U.S. Army, e.g. Company B, met Dr. Smith and Mrs. Jones at 5 p.m. on Sept. 5. |Done.",
        "J. R. R. Tolkien (cf. Fig. 3) wrote it. |See Prof. Li et al. 2019.",
        "He did not turn it on. |I can't. |It was the end. |They won't. |So what.",
        "Here a != b and x.y.Z() is called. |Then f(x). |Next!",
        "**Bold.** |Next. |*So!* |`Code.` |Then ~~gone.~~ |End.",
        "Paris is the capital.[1] |It is large.[2,3] |See below.[^4] |End.",
        "What a day! |\xf0\x9f\x98\x80 Next one.",
        "Leaving at 10. |Then 12. 12 came back. |Then etc. 12 more, and so on.",
        NULL,
    };
    expect_all(wants);
}

static void test_other_languages(void **state)
{
    (void)state;
    static const char *const wants[] = {
        /* German */
        "Das ist z. B. Berlin. |Hr. Dr. Müller wohnt bzw. arbeitet dort. |Wirklich? |Ja, d.h. "
        "Nein!",
        "Er ging. |»Hallo«, sagte sie. |„Gut.“ |Ende.",
        /* French */
        "Bonjour M. Dupont. |Ça va ? |« Oui\u00a0!\u00a0» |Elle part. |Voir p. 12, chap. 3.",
        /* Spanish */
        "¿Qué tal? |¡Muy bien! |La Sra. García llegó. |El Dr. López, p. ej., también.",
        /* Italian, Portuguese */
        "Il Sig. Rossi è qui. |Va bene. |O Sr. Silva e a Dra. Costa vieram. |Até logo.",
        /* Russian */
        "Привет. |Как дела? |А. С. Пушкин жил на ул. Мойка. |Т.е. Да.",
        /* Greek */
        "Τι κάνεις; |Είμαι καλά. |Πού; |Εδώ\u037e |Ναι.",
        /* Chinese, Japanese, Korean */
        "你好。|我很好！|你呢？|他说：“走吧。”|然后走了。|用ASCII!|也行?|好.|完",
        "こんにちは。|元気ですか？|「はい。」と言った。|「はい。」|彼は。|（終わり！）|"
        "\u201c完。\u201d",
        "안녕하세요. |잘 지내세요? |네, 좋아요!",
        /* Hindi, Arabic, Urdu, Armenian, Amharic, Burmese */
        "यह एक वाक्य है। |यह दूसरा है। |क्या?",
        "مرحبا. |كيف حالك؟ |أنا بخير! |شكرا",
        "یہ جملہ ہے۔ |دوسرا جملہ۔",
        "Բարեւ։ |Ինչպես ես։",
        "ሰላም ነው። |ደህና ነኝ።",
        "မင်္ဂလာပါ။ |နေကောင်းလား။",
        NULL,
    };
    expect_all(wants);
}

/* The word behind decides. */
static void test_next_word(void **state)
{
    (void)state;
    static const char *const wants[] = {
        "At 5 p.m. |He left. |At 5 p.m. Monday came. |In the U.S. |(It was hot.) |In the U.S. "
        "(Army).",
        "Vitamin C. |It helps. |J. R. R. Tolkien and J. A. Smith. |M. Le Goff. |M. Lemon.",
        "Né en 52 av. J.-C. |C'est tôt. |Chez X S.A. |L\u2019an 2. |At 5 p.m. |It's late.",
        "Am 3. Oktober. |Am 3. |Dann nicht. |Montag, 3. Oktober. |Es sind 3. |Okt ist nah. |Es "
        "sind "
        "3. |Otto kommt.",
        "Im II. Weltkrieg. |Wilhelm II. |Otto.",
        "I am 30. |John is 25. |Hauptstr. 8. |Er kam am 3. 10. 1990 an. |No. 5. |See No. 5 GG. |I "
        "said no. |Five left.",
        "Three steps: 1. Open it. |2. Read it. |10. Close it. |Why? |3. Because. |100. |Yes.",
        "« Tu viens ? » dit-elle. |« Oui ! » |Elle part. |Er ging. |»Hallo.« |Er kam. |»Du?«",
        "—¿Vienes? —dijo Ana. |—Sí. |— Vou! — disse. |— Não? |— 5 Reais.",
        "Well\u2026 maybe. |So\u2026 |The end. |No\u2026 John. |\u201cSo\u2026\u201d John said.",
        "「行こう！」って。|「本当？」|とても。|「さあ。」とある。|（終。）は。|「うん。」と",
        "“走吧！”他说。|“走吧！”|他说：“好。”|“走吧！”|他们",
        "\"가자.\"라고 했다. |“네.” |은행이다.",
        "В 1999 г. |Он жил. |В 1812 г. Наполеон. |Хлеб и т. д. |Москва. |А. В. Иванов.",
        "At 5 p.m. |He",
        "At 5 p.m. Hex",
        "At 5 p.m. Abcdefghijklmnopqrstuvwxyzabcdef went. |So.",
        NULL,
    };
    expect_all(wants);
}

static void test_thai(void **state)
{
    (void)state;
    /* A space ends a chunk of 64 code points, not a shorter one. */
    expect("สวัสดีครับ ผมชื่อสมชาย");
    expect("วันนี้อากาศดีมากและเราจะไปเที่ยวทะเลกับครอบครัวของเราที่จังหวัดชลบุรี |"
           "พรุ่งนี้ฝนอาจจะตก\n|จบ");
}

static void test_white_space(void **state)
{
    (void)state;
    static const char *const wants[] = {
        "",
        "  \n ",
        "  \n Hello. \n\n \t|World.  ",
        "A line\n|another\r\n\r\n|third\u2028|fourth\xc2\x85|next",
        "Title\n\n|Text. |More\u3000text.\u3000|End",
        NULL,
    };
    expect_all(wants);
}

static void test_markdown_items(void **state)
{
    (void)state;
    static const char *const wants[] = {
        "Buy:\n|1. Milk. The white one.\n|2. Eggs\n|10) Bread. Rye.\n\n|Thanks. |Bye.",
        "- One. Two.\n  |- Three! Four\n|*   five. Six",
        "# 1. Introduction. Why\n|Text. |More.",
        "**1. Step one.** Do it.\n|1.2. Next. One\n|1.5 is a number. |Yes.",
        "> Quoted. |Twice.\n|> - item. One\n|-xx. |Y",
        "\u2022 Point. One\n|1984. |It was cold. |2. B",
        "1.\n|Alone. |Yes",
        NULL,
    };
    expect_all(wants);
}

static void test_markdown_fences(void **state)
{
    (void)state;
    static const char *const wants[] = {
        "Look:\n\n|```c\nint a. B;\n\nreturn. Now;\n```\n\n|Done. |Bye.",
        "~~~~\nx. Y\n~~~\n```\nA. B\n~~~~~  \n|After. |That",
        "1. Do:\n   |```sh\n   ls. Now\n   ```\n|2. Next. One",
        "- ```\n  a. B\n  ```\n|End. |Here",
        "```inline``` code. |More.\n|`a. B` cc. |D",
        "> ```\n> a. B\n>\n> ```\n|Out. |There",
        "```\r\na. B\r\n```\r\n|Out. |Unclosed:\n|```\nA. B\n\nC. D",
        NULL,
    };
    expect_all(wants);
}

static struct weir_buf repeat(const char *unit, size_t n)
{
    struct weir_buf b = {0};
    for (size_t i = 0; i < n; i++) {
        weir_buf_append(&b, weir_slice_cstr(unit));
    }
    return b;
}

/* Ends of the chunks, in bytes where the text is ASCII. */
static void expect_ends(struct weir_buf *text, const size_t *ends, size_t n)
{
    struct cutting_input in = {.chunker = &chunker.base, .text = weir_buf_slice(text)};
    cutting_check_all(&in, 5);
    struct cutting c = cutting_run(&in, in.text.n, NULL);
    assert_int_equal(c.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(c.chunks[i].end_cp, ends[i]);
    }
    cutting_dispose(&c);
    weir_buf_dispose(text);
}

static void test_bound_words(void **state)
{
    (void)state;
    struct weir_buf text = repeat("abcdefg ", 1000); /* 512 of them fill a chunk */
    expect_ends(&text, (size_t[]){4096, 8000}, 2);
    text = repeat("abcdefghij ", 400); /* the last that begins before 4096 */
    expect_ends(&text, (size_t[]){4092, 4400}, 2);
    text = repeat("x", 10000);
    expect_ends(&text, (size_t[]){4096, 8192, 10000}, 3);
    text = repeat("\xe4\xbd\xa0", 3000); /* 1365 code points of 3 bytes are 4095 */
    expect_ends(&text, (size_t[]){1365, 2730, 3000}, 3);
}

static void test_bound_white(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_append(&text, WEIR_SLICE("One two.\n"));
    struct weir_buf white = repeat("\n", 5000);
    weir_buf_append(&text, weir_buf_slice(&white));
    weir_buf_append(&text, WEIR_SLICE("Three."));
    weir_buf_dispose(&white);
    expect_ends(&text, (size_t[]){4096, 5015}, 2);
}

static void test_bound_fence(void **state)
{
    (void)state;
    /* Lines of 100; a blank one after 30 of them is in the second half, so it is the place. */
    struct weir_buf line = repeat("x", 99);
    weir_buf_append_byte(&line, '\n');
    struct weir_buf text = {0};
    weir_buf_append(&text, WEIR_SLICE("```\n"));
    for (int i = 0; i < 60; i++) {
        weir_buf_append(&text, weir_buf_slice(&line));
        if (i == 29) {
            weir_buf_append_byte(&text, '\n');
        }
    }
    weir_buf_append(&text, WEIR_SLICE("```\nEnd."));
    weir_buf_dispose(&line);
    expect_ends(&text, (size_t[]){3005, 6009, 6013}, 3);
}

static void test_bound_item(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_append(&text, WEIR_SLICE("- "));
    struct weir_buf rest = repeat("Four words of it. ", 100);
    weir_buf_append(&text, weir_buf_slice(&rest));
    weir_buf_dispose(&rest);
    struct cutting_input in = {.chunker = &chunker.base, .text = weir_buf_slice(&text)};
    cutting_check_all(&in, 5);
    struct cutting c = cutting_run(&in, 4, NULL);
    assert_int_equal(c.chunks[0].end_cp, 2 + 57 * 18);  /* the first end at or after 1 KiB */
    assert_int_equal(c.chunks[1].end_cp, 2 + 100 * 18); /* and so on */
    cutting_dispose(&c);
    weir_buf_dispose(&text);
}

/* A full stop with digits without end behind it: the sentence ends where it may have ended. */
static void test_bound_maybe(void **state)
{
    (void)state;
    struct weir_buf text = {0};
    weir_buf_append(&text, WEIR_SLICE("It was ten. "));
    struct weir_buf digits = repeat("12 ", 2000);
    weir_buf_append(&text, weir_buf_slice(&digits));
    weir_buf_append(&text, WEIR_SLICE("end"));
    weir_buf_dispose(&digits);
    expect_ends(&text, (size_t[]){12, 4107, 6015}, 3);
}

/* A chunk that is full while a word is waited for ends before the word. */
static void test_bound_word(void **state)
{
    (void)state;
    struct weir_buf text = repeat("abcdefg ", 511);
    weir_buf_append(&text, WEIR_SLICE("U.S. Theyare there."));
    expect_ends(&text, (size_t[]){4093, 4107}, 2);
}

static size_t known_at(const char *text, size_t chunk)
{
    struct cutting_input in = {.chunker = &chunker.base, .text = weir_slice_cstr(text)};
    struct cutting c = cutting_run(&in, 1, NULL);
    assert_true(chunk < c.n);
    size_t known = c.chunks[chunk].known_cp;
    cutting_dispose(&c);
    return known;
}

static void test_out_as_soon_as_certain(void **state)
{
    (void)state;
    assert_int_equal(known_at("One. Two", 0), 6);    /* the T */
    assert_int_equal(known_at("One.\n\nTwo", 0), 7); /* the T */
    assert_int_equal(known_at("One. 12 Two", 0), 9); /* the T again */
    assert_int_equal(known_at("One? 12 Two", 0), 6); /* the 1: only a full stop needs a letter */
    assert_int_equal(known_at("\u4f60\u3002\u597d", 0), 3);
    assert_int_equal(known_at("```\na\n```\nb", 0), 11);   /* the b */
    assert_int_equal(known_at("One two", 0), 7);           /* the end */
    assert_int_equal(known_at("At 5 p.m. He ran", 0), 13); /* the space: it could have been Henry */
    assert_int_equal(known_at("It is 5. Then", 0), 10);    /* the T: no month begins so */
    assert_int_equal(known_at("It is 5. Often", 0), 11);   /* the f */
}

static void test_cut(void **state)
{
    (void)state;
    struct weir_slice text = WEIR_SLICE("Hello. World. 12 and\n```\na. B\n```\nEnd. X");
    size_t cuts[] = {7, 10, 16, 26};
    struct cutting_input in = {&chunker.base, text, cuts, 4};
    cutting_check_all(&in, 10);
    struct cutting c = cutting_run(&in, 1, NULL);
    struct weir_buf got = {0};
    cutting_print(&got, &c, text);
    assert_string_equal(weir_buf_cstr(&got),
                        "Hello. |Wor|ld. |12| and\n|```\na|. B\n```\n|End. |X");
    weir_buf_dispose(&got);
    cutting_dispose(&c);
}

static void test_cut_in_word(void **state)
{
    (void)state;
    struct weir_slice text = WEIR_SLICE("In the U.S. Her U.S. Xy");
    size_t cuts[] = {14, 22};
    struct cutting_input in = {&chunker.base, text, cuts, 2};
    cutting_check_all(&in, 10);
    struct cutting c = cutting_run(&in, 1, NULL);
    struct weir_buf got = {0};
    cutting_print(&got, &c, text);
    assert_string_equal(weir_buf_cstr(&got), "In the U.S. |He|r U.S. X|y");
    weir_buf_dispose(&got);
    cutting_dispose(&c);
}

static void test_cut_white_only(void **state)
{
    (void)state;
    struct weir_slice text = WEIR_SLICE("  \nHello.");
    size_t cuts[] = {2, 9};
    struct cutting_input in = {&chunker.base, text, cuts, 2};
    struct cutting c = cutting_run(&in, 1, NULL);
    assert_int_equal(c.n, 2);
    assert_int_equal(c.chunks[0].end_cp, 2);
    cutting_dispose(&c);
}

static void test_language(void **state)
{
    (void)state;
    struct weir_chunk_sentence german;
    struct weir_chunk_sentence_options options = {.language = "de"};
    assert_int_equal(weir_chunk_sentence_init(&german, WEIR_SLICE("de"), &options), 0);
    cutting_expect(&german.base,
                   "Das ist urspr\u00fcngl. |Aber vgl. Allg. Recht, einschl. Anhang.");
    weir_chunk_sentence_dispose(&german);
    options.language = "ja"; /* has no list: the common rules */
    assert_int_equal(weir_chunk_sentence_init(&german, WEIR_SLICE("ja"), &options), 0);
    cutting_expect(&german.base, "Dr. Who. |Einschl. |Anhang.");
    weir_chunk_sentence_dispose(&german);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_english),
    cmocka_unit_test(test_other_languages),
    cmocka_unit_test(test_next_word),
    cmocka_unit_test(test_thai),
    cmocka_unit_test(test_white_space),
    cmocka_unit_test(test_markdown_items),
    cmocka_unit_test(test_markdown_fences),
    cmocka_unit_test(test_bound_words),
    cmocka_unit_test(test_bound_white),
    cmocka_unit_test(test_bound_fence),
    cmocka_unit_test(test_bound_item),
    cmocka_unit_test(test_bound_maybe),
    cmocka_unit_test(test_bound_word),
    cmocka_unit_test(test_out_as_soon_as_certain),
    cmocka_unit_test(test_cut),
    cmocka_unit_test(test_cut_in_word),
    cmocka_unit_test(test_cut_white_only),
    cmocka_unit_test(test_language),
};

int main(void)
{
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
