/* XML Schemas: in this process what is good and what is refused, and in a process of its own what
 * would never end. The program answers its own questions: see main. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "detect/file_type.h"
#include "detect/xsd.h"
#include "unit/detect/builtin_probe.h"

#include <string.h>

#define XS "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\">"

static const char note[] =
    XS "<xs:element name=\"note\"><xs:complexType><xs:sequence>"
       "<xs:element name=\"to\" type=\"xs:string\" maxOccurs=\"unbounded\"/>"
       "<xs:element name=\"year\" type=\"xs:int\" minOccurs=\"0\"/>"
       "<xs:element name=\"code\" minOccurs=\"0\"><xs:simpleType><xs:restriction "
       "base=\"xs:string\"><xs:pattern value=\"[A-Z]{2}\\d+\"/></xs:restriction></xs:simpleType>"
       "</xs:element></xs:sequence><xs:attribute name=\"id\" type=\"xs:int\" use=\"required\"/>"
       "</xs:complexType></xs:element></xs:schema>";

static enum weir_xsd_verdict judge(const char *schema, const char *text)
{
    struct weir_buf why = {0};
    enum weir_xsd_verdict v = weir_xsd__judge(weir_slice_cstr(schema), weir_slice_cstr(text), &why);
    weir_buf_dispose(&why);
    return v;
}

static void test_documents(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum weir_xsd_verdict verdict;
    } rows[] = {
        {"<note id='1'><to>a</to></note>", WEIR_XSD_GOOD},
        {"<note id='1'><to>a</to><to><![CDATA[<b]]></to><year>2024</year></note>", WEIR_XSD_GOOD},
        {"<note id='1'><to>&amp;</to><code>AB12</code></note>", WEIR_XSD_GOOD},
        {"<note><to>a</to></note>", WEIR_XSD_MISMATCH},
        {"<note id='x'><to>a</to></note>", WEIR_XSD_MISMATCH},
        {"<note id='1'/>", WEIR_XSD_MISMATCH},
        {"<note id='1'><to>a</to>text</note>", WEIR_XSD_MISMATCH},
        {"<note id='1'><to>a</to><year>soon</year></note>", WEIR_XSD_MISMATCH},
        {"<note id='1'><to>a</to><code>ab12</code></note>", WEIR_XSD_MISMATCH},
        {"<note id='1' more='1'><to>a</to></note>", WEIR_XSD_MISMATCH},
        {"<other/>", WEIR_XSD_MISMATCH},
        {"<note id='1'><to>a</to>", WEIR_XSD_BROKEN},
        {"<!DOCTYPE note><note id='1'><to>a</to></note>", WEIR_XSD_BROKEN},
        {"<!DOCTYPE note [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><note "
         "id='1'><to>&x;</to></note>",
         WEIR_XSD_BROKEN},
        {"<note id='1' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' "
         "xsi:noNamespaceSchemaLocation='file:///etc/passwd'><to>a</to></note>",
         WEIR_XSD_GOOD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (judge(note, rows[i].text) != rows[i].verdict) {
            fail_msg("%s: %c", rows[i].text, (int)judge(note, rows[i].text));
        }
    }
}

static void expect_refused(const char *schema, const char *words)
{
    struct weir_buf why = {0};
    struct weir_slice none = {0};
    assert_int_equal(weir_xsd__judge(weir_slice_cstr(schema), none, &why), WEIR_XSD_BAD_SCHEMA);
    if (strstr(weir_buf_cstr(&why), words) == NULL) {
        fail_msg("%s: %s", schema, weir_buf_cstr(&why));
    }
    weir_buf_dispose(&why);
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("", "not well-formed");
    expect_refused("{}", "not well-formed");
    expect_refused("<a/>", "no good");
    expect_refused(XS, "not well-formed");
    expect_refused(XS "<xs:element name=\"a\" type=\"nothing\"/></xs:schema>", "nothing");
    expect_refused(XS "<xs:import namespace=\"urn:x\" schemaLocation=\"http://127.0.0.1:1/x\"/>"
                      "</xs:schema>",
                   "xs:import in line 1: other documents are not loaded");
    expect_refused(XS "\n<xs:include schemaLocation=\"file:///etc/passwd\"/></xs:schema>",
                   "xs:include in line 2");
    expect_refused(XS "<xs:redefine schemaLocation=\"x\"/></xs:schema>", "xs:redefine");
    expect_refused("<s:schema xmlns:s=\"http://www.w3.org/2001/XMLSchema\"><s:annotation/>"
                   "<s:import/></s:schema>",
                   "xs:import");
    expect_refused("<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>" XS "</xs:schema>",
                   "<!DOCTYPE");
    expect_refused("<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/\">" XS "</xs:schema>", "<!DOCTYPE");
    expect_refused(XS "<xs:simpleType name=\"a\"><xs:restriction base=\"xs:string\"><xs:pattern "
                      "value=\"(\"/></xs:restriction></xs:simpleType></xs:schema>",
                   "no good");
}

/* ---- in a process of its own */

static struct weir_xsd *open_xsd(const char *schema)
{
    struct weir_buf why = {0};
    struct weir_xsd *x = weir_xsd_new(weir_slice_cstr(schema), &why);
    if (x == NULL) {
        fail_msg("%s", weir_buf_cstr(&why));
    }
    weir_buf_dispose(&why);
    return x;
}

static void test_process(void **state)
{
    (void)state;
    struct weir_xsd *x = open_xsd(note);
    struct weir_builtin_run run = {0};
    assert_int_equal(weir_xsd_check(x, WEIR_SLICE("<note id='1'><to>a</to></note>"), &run), 0);
    assert_int_equal(weir_xsd_check(x, WEIR_SLICE("<note id='1'/>"), &run), WEIR_EINVAL);
    assert_int_equal(weir_xsd_check(x, WEIR_SLICE("<note"), &run), WEIR_EBAD);
    assert_int_equal(weir_xsd_check(x, WEIR_SLICE(""), &run), WEIR_EBAD);
    weir_xsd_free(x);
    struct weir_buf why = {0};
    assert_null(weir_xsd_new(WEIR_SLICE("<a/>"), &why));
    assert_non_null(strstr(weir_buf_cstr(&why), "no good"));
    weir_buf_dispose(&why);
}

static void test_large(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    weir_buf_printf(&b, "<note id='1'>");
    for (int i = 0; i < 20000; i++) {
        weir_buf_printf(&b, "<to>somebody else</to>");
    }
    weir_buf_printf(&b, "</note>");
    struct weir_xsd *x = open_xsd(note);
    struct weir_builtin_run run = {0};
    assert_int_equal(weir_xsd_check(x, weir_buf_slice(&b), &run), 0);
    weir_xsd_free(x);
    weir_buf_clear(&b);
    for (int i = 0; i <= WEIR_XSD_MAX_BYTES; i++) {
        weir_buf_append_byte(&b, ' ');
    }
    struct weir_buf why = {0};
    assert_null(weir_xsd_new(weir_buf_slice(&b), &why));
    assert_non_null(strstr(weir_buf_cstr(&why), "at most 65536 bytes"));
    weir_buf_dispose(&why);
    weir_buf_dispose(&b);
}

/* Counted groups in counted groups: libxml2 would be at it for minutes. */
static void test_schema_bomb(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    struct weir_buf why = {0};
    weir_buf_printf(&b, XS "<xs:element name=\"r\"><xs:complexType>");
    for (int i = 0; i < 50; i++) {
        weir_buf_printf(&b,
                        "<xs:sequence minOccurs=\"0\" maxOccurs=\"9\"><xs:element name=\"a%d\" "
                        "minOccurs=\"0\" maxOccurs=\"7\"/>",
                        i);
    }
    for (int i = 0; i < 50; i++) {
        weir_buf_printf(&b, "</xs:sequence>");
    }
    weir_buf_printf(&b, "</xs:complexType></xs:element></xs:schema>");
    assert_null(weir_xsd_new(weir_buf_slice(&b), &why));
    assert_non_null(strstr(weir_buf_cstr(&why), "too much time or memory"));
    weir_buf_dispose(&why);
    weir_buf_dispose(&b);
}

static void expect_pattern_limit(const char *pattern, size_t n)
{
    struct weir_buf b = {0};
    weir_buf_printf(&b,
                    XS "<xs:element name=\"r\"><xs:simpleType><xs:restriction base=\"xs:string\">"
                       "<xs:pattern value=\"%s\"/></xs:restriction></xs:simpleType></xs:element>"
                       "</xs:schema>",
                    pattern);
    struct weir_xsd *x = open_xsd(weir_buf_cstr(&b));
    weir_buf_clear(&b);
    weir_buf_printf(&b, "<r>");
    for (size_t i = 0; i < n; i++) {
        weir_buf_append_byte(&b, 'a');
    }
    weir_buf_printf(&b, "</r>");
    struct weir_builtin_run run = {0};
    assert_int_equal(weir_xsd_check(x, weir_buf_slice(&b), &run), WEIR_ELIMIT);
    assert_non_null(strstr(run.why, "too much time"));
    weir_xsd_free(x);
    weir_buf_dispose(&b);
}

static void test_pattern_bombs(void **state)
{
    (void)state;
    expect_pattern_limit("(a|aa)+b", 5000);
    expect_pattern_limit("(a|aa|aaa|aaaa)+b", 200000);
}

static void test_detector(void **state)
{
    (void)state;
    struct probe p;
    probe_open(&p, &weir_detect_file_type,
               "{\"file_type\":[\"xml-with-schema:<xs:schema "
               "xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:element name='n' type='xs:int'/>"
               "</xs:schema>\",\"xml\"]}");
    assert_string_equal(probe_line(&p, "<n>5</n>"), "");
    assert_string_equal(probe_line(&p, "<n>x</n>"), "xml_schema_mismatch[<n>x</n>]");
    assert_string_equal(probe_line(&p, "<n>5"), "invalid_xml[<n>5]");
    const struct weir_detect_call *call = probe_ask(
        &p, WEIR_SLICE("<n/>"),
        "{\"file_type\":\"xml-with-schema:<s xmlns='http://www.w3.org/2001/XMLSchema'/>\"}");
    assert_int_equal(call->fault.status, 422);
    probe_close(&p);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], WEIR_XSD_COMMAND) == 0) {
        weir_xsd_serve();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_process),     cmocka_unit_test(test_large),
        cmocka_unit_test(test_schema_bomb), cmocka_unit_test(test_pattern_bombs),
        cmocka_unit_test(test_detector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
