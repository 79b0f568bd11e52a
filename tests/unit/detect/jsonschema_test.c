/* JSON Schema: every keyword by a table of documents that fit and that do not, schemas that are
 * refused, and what hostile ones may cost. */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "detect/jsonschema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct weir_jsonschema *open_schema(const char *text)
{
    struct weir_buf why = {0};
    struct weir_jsonschema *s = weir_jsonschema_new(weir_slice_cstr(text), &why);
    if (s == NULL) {
        fail_msg("%.200s: %s", text, weir_buf_cstr(&why));
    }
    weir_buf_dispose(&why);
    return s;
}

static int check(const struct weir_jsonschema *s, struct weir_slice doc, const char **why)
{
    struct weir_json_limits limits = {.max_depth = 256};
    struct weir_json_tape tape = {0};
    struct weir_json json;
    if (weir_json_parse_reuse(&json, doc, &limits, &tape, NULL) != 0) {
        fail_msg("not JSON: %.100s", doc.p);
    }
    struct weir_builtin_run run = {.budget_us = 200000};
    int rc = weir_jsonschema_check(s, &json, &run);
    *why = run.why;
    weir_json_tape_dispose(&tape);
    return rc;
}

/* A schema, the documents that fit, those that do not. Documents are divided by " ; ". */
struct row {
    const char *schema;
    const char *good;
    const char *bad;
};

static size_t check_docs(const struct row *row, const char *docs, int expected)
{
    struct weir_jsonschema *s = open_schema(row->schema);
    size_t n_wrong = 0;
    while (docs != NULL && *docs != '\0') {
        const char *end = strstr(docs, " ; ");
        struct weir_slice doc =
            weir_slice_make(docs, end != NULL ? (size_t)(end - docs) : strlen(docs));
        const char *why;
        int rc = check(s, doc, &why);
        if (rc != expected) {
            print_error("%s\n  %.*s: %d, expected %d\n", row->schema, (int)doc.n, doc.p, rc,
                        expected);
            n_wrong++;
        }
        docs = end != NULL ? end + 3 : NULL;
    }
    weir_jsonschema_free(s);
    return n_wrong;
}

static void check_rows(const struct row *rows, size_t n)
{
    size_t n_wrong = 0;
    for (size_t i = 0; i < n; i++) {
        n_wrong += check_docs(&rows[i], rows[i].good, 0);
        n_wrong += check_docs(&rows[i], rows[i].bad, WEIR_EINVAL);
    }
    assert_int_equal(n_wrong, 0);
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void test_any(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"true", "1 ; {} ; null", ""},
        {"{}", "1 ; {} ; null", ""},
        {"false", "", "1 ; {} ; null"},
        {"{\"unknown\":3,\"format\":\"email\",\"title\":\"x\"}", "\"no mail\" ; 1", ""},
        {"{\"type\":\"null\"}", "null", "0 ; false ; \"null\" ; [] ; {}"},
        {"{\"type\":\"boolean\"}", "true ; false", "0 ; null ; \"true\""},
        {"{\"type\":\"number\"}", "1 ; 1.5 ; -0 ; 1e400", "\"1\" ; null ; [1]"},
        {"{\"type\":\"integer\"}",
         "1 ; 1.0 ; 10e-1 ; 1e3 ; 1.50e1 ; -0.0 ; 99999999999999999999 ; 1e400",
         "1.5 ; 1e-1 ; 1.05e1 ; 1e-400 ; \"1\""},
        {"{\"type\":\"string\"}", "\"\" ; \"x\"", "1 ; null"},
        {"{\"type\":\"array\"}", "[] ; [1]", "{} ; \"[]\""},
        {"{\"type\":\"object\"}", "{} ; {\"a\":1}", "[] ; \"{}\""},
        {"{\"type\":[\"string\",\"null\"]}", "\"x\" ; null", "1 ; {}"},
        {"{\"type\":[\"integer\",\"boolean\"]}", "1 ; true", "1.5"},
        {"{\"enum\":[1,\"a\",null,{\"x\":[1,2]},[]]}",
         "1 ; 1.0 ; \"a\" ; \"\\u0061\" ; null ; {\"x\":[1,2.0]} ; []",
         "2 ; \"b\" ; false ; {\"x\":[2,1]} ; {} ; [1] ; \"1\""},
        {"{\"enum\":[]}", "", "1 ; null"},
        {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1}", "{\"a\":1} ; {\"a\":1,\"b\":3}"},
        {"{\"const\":9007199254740993}", "9007199254740993", "9007199254740992"},
        {"{\"const\":null}", "null", "0 ; false"},
    };
    CHECK_ROWS(rows);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"minimum\":1.1}", "1.1 ; 1.10 ; 2 ; 1e400 ; \"0\" ; 11e-1",
         "1 ; 1.09999 ; -2 ; -1e400"},
        {"{\"maximum\":3}", "3 ; 3.0 ; -1e400 ; 0 ; 1e-400", "3.0000000000000000001 ; 4 ; 1e400"},
        {"{\"maximum\":-3}", "-3 ; -3.5 ; -4 ; -30", "-2.99 ; 0 ; -0.5 ; 1"},
        {"{\"minimum\":0}", "0 ; -0.0 ; 1e-99999999999999999999 ; 1",
         "-1 ; -1e-99999999999999999999"},
        {"{\"maximum\":1e99999999999999999999}", "1e400 ; 1", ""},
        {"{\"exclusiveMinimum\":1}", "1.00001 ; 2 ; null", "1 ; 1.0 ; 0"},
        {"{\"exclusiveMaximum\":1}", "0.99999 ; 0", "1 ; 1.0 ; 2"},
        {"{\"minimum\":1,\"exclusiveMinimum\":true}", "2", "1 ; 0"},
        {"{\"minimum\":1,\"exclusiveMinimum\":false}", "1 ; 2", "0"},
        {"{\"maximum\":1,\"exclusiveMaximum\":true}", "0", "1 ; 2"},
        {"{\"minimum\":9007199254740993}", "9007199254740993", "9007199254740992"},
        {"{\"multipleOf\":2}", "4 ; 0 ; -8 ; 1e3 ; 4.0 ; \"3\"", "3 ; 2.5 ; -1"},
        {"{\"multipleOf\":0.01}", "0.07 ; 4.35 ; 19.99 ; 1 ; 1e300", "0.075 ; 0.001"},
        {"{\"multipleOf\":0.0001}", "0.0075", "0.00751"},
        {"{\"multipleOf\":1.5}", "3 ; 4.5 ; -1.5", "1 ; 2"},
        {"{\"multipleOf\":1e20}", "1e20 ; 3e20 ; 0 ; 1e21", "1 ; 1e19 ; 15e19"},
        {"{\"multipleOf\":123456789012345678901234567890}", "123456789012345678901234567890 ; 0",
         "1"},
    };
    CHECK_ROWS(rows);
}

static void test_texts(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"minLength\":2}", "\"ab\" ; \"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\" ; 1 ; []",
         "\"a\" ; \"\" ; \"\xf0\x9f\x98\x80\" ; \"\\ud83d\\ude00\""},
        {"{\"maxLength\":2.0}",
         "\"ab\" ; \"\" ; \"\\ud83d\\ude00\\ud83d\\ude00\" ; \"\xc3\xbc\xc3\xbc\"", "\"abc\""},
        {"{\"pattern\":\"^a*$\"}", "\"\" ; \"aaa\" ; 5 ; null", "\"b\" ; \"ab\" ; \"aa\\n\""},
        {"{\"pattern\":\"b\"}", "\"abc\" ; \"b\"", "\"a\" ; \"\""},
        {"{\"pattern\":\"\"}", "\"abc\" ; \"\"", ""},
        {"{\"pattern\":\"^\\\\d{3}$\"}", "\"123\" ; \"\\u0031\\u0032\\u0033\"",
         "\"12\" ; \"12a\" ; \"\xd9\xa1\xd9\xa1\xd9\xa1\""},
        {"{\"pattern\":\"^\\\\u0061\\\\p{Lu}$\"}", "\"a\xc3\x9c\"", "\"a\xc3\xbc\" ; \"aa\""},
        {"{\"pattern\":\"x\\\\/y\"}", "\"x/y\"", "\"x\\\\y\""},
        {"{\"pattern\":\"^.$\"}", "\"\xf0\x9f\x98\x80\"", "\"ab\""},
    };
    CHECK_ROWS(rows);
}

static void test_arrays(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"minItems\":1,\"maxItems\":2}", "[1] ; [1,2] ; {} ; \"\"", "[] ; [1,2,3]"},
        {"{\"items\":{\"type\":\"integer\"}}", "[] ; [1,2] ; {\"0\":\"x\"}", "[1,\"x\"] ; [null]"},
        {"{\"items\":false}", "[] ; 1", "[1]"},
        {"{\"items\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}",
         "[] ; [1] ; [1,\"x\"] ; [1,\"x\",null]", "[\"x\"] ; [1,1]"},
        {"{\"items\":[{\"type\":\"integer\"}],\"additionalItems\":false}", "[] ; [1]", "[1,2]"},
        {"{\"items\":[true],\"additionalItems\":{\"type\":\"string\"}}", "[1] ; [1,\"x\"]",
         "[1,2]"},
        {"{\"items\":{},\"additionalItems\":false}", "[1,2,3]", ""},
        {"{\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", "[] ; [1,\"x\",null]",
         "[\"x\"] ; [1,1]"},
        {"{\"prefixItems\":[{\"type\":\"integer\"}],\"items\":false}", "[] ; [1]", "[1,2]"},
        {"{\"contains\":{\"const\":5}}", "[5] ; [1,5] ; {} ; 5", "[] ; [1,2]"},
        {"{\"contains\":{\"const\":5},\"minContains\":2}", "[5,5] ; [5,1,5,5]", "[5] ; []"},
        {"{\"contains\":{\"const\":5},\"maxContains\":1}", "[5] ; [1,5]", "[] ; [5,5]"},
        {"{\"contains\":{\"const\":5},\"minContains\":0}", "[] ; [1] ; [5]", ""},
        {"{\"contains\":{\"const\":5},\"minContains\":0,\"maxContains\":1}", "[] ; [5]", "[5,5]"},
        {"{\"minContains\":5}", "[] ; [1]", ""},
        {"{\"uniqueItems\":true}",
         "[] ; [1] ; [1,2,\"1\",true,null,[],{}] ; [{\"a\":1},{\"a\":2}] ; [[1,2],[2,1]] ; "
         "[9007199254740993,9007199254740992] ; [1e400,2e400] ; [0,false,\"\",null] ; "
         "[{\"a\":1,\"b\":2},{\"a\":2,\"b\":1}] ; {\"a\":1}",
         "[1,1.0] ; [0,-0] ; [\"a\",\"\\u0061\"] ; [{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}] ; "
         "[[1,[2]],3,[1,[2]]] ; [null,null] ; [{},{}] ; [1e400,10e399]"},
        {"{\"uniqueItems\":false}", "[1,1]", ""},
    };
    CHECK_ROWS(rows);
}

static void test_objects(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"minProperties\":1,\"maxProperties\":2}", "{\"a\":1} ; {\"a\":1,\"b\":2} ; [] ; 1",
         "{} ; {\"a\":1,\"b\":2,\"c\":3}"},
        {"{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":false}}",
         "{} ; {\"a\":1} ; {\"c\":\"x\"} ; [] ; 7",
         "{\"a\":\"x\"} ; {\"b\":1} ; {\"\\u0061\":null}"},
        {"{\"required\":[\"a\",\"b\"]}",
         "{\"b\":1,\"a\":null} ; {\"\\u0061\":1,\"b\":2} ; [] ; \"x\"",
         "{} ; {\"a\":1} ; {\"a\":1,\"c\":2}"},
        {"{\"required\":[\"a\",\"a\"]}", "{\"a\":1}", "{}"},
        {"{\"required\":[]}", "{}", ""},
        {"{\"properties\":{\"a\":{}},\"additionalProperties\":false}", "{} ; {\"a\":1}",
         "{\"b\":1} ; {\"a\":1,\"b\":1}"},
        {"{\"additionalProperties\":{\"type\":\"string\"}}", "{} ; {\"x\":\"y\"}", "{\"x\":1}"},
        {"{\"patternProperties\":{\"^x-\":{\"type\":\"string\"},\"1$\":{\"minLength\":2}}}",
         "{} ; {\"x-a\":\"v\"} ; {\"y\":1} ; {\"x-1\":\"vv\"}",
         "{\"x-a\":1} ; {\"x-1\":\"v\"} ; {\"a1\":\"v\"} ; {\"\\u0078-a\":1}"},
        {"{\"properties\":{\"a\":{}},\"patternProperties\":{\"^b\":{}},"
         "\"additionalProperties\":false}",
         "{\"a\":1,\"b\":2,\"bb\":3}", "{\"c\":1} ; {\"ab\":1}"},
        {"{\"properties\":{\"b1\":{\"type\":\"integer\"}},\"patternProperties\":{\"^b\":"
         "{\"minimum\":5}}}",
         "{\"b1\":5}", "{\"b1\":4} ; {\"b1\":5.5} ; {\"b2\":1}"},
        {"{\"patternProperties\":{\"\":{\"type\":\"integer\"}}}", "{\"a\":1}", "{\"a\":\"x\"}"},
        {"{\"propertyNames\":{\"maxLength\":2}}", "{\"ab\":1} ; {} ; [\"abc\"]", "{\"abc\":1}"},
        {"{\"propertyNames\":{\"enum\":[\"a\",\"b\"]}}", "{\"a\":1,\"b\":1} ; {\"\\u0061\":1}",
         "{\"c\":1}"},
        {"{\"propertyNames\":{\"pattern\":\"^[a-z]+$\"}}", "{\"abc\":1}", "{\"aB\":1} ; {\"\":1}"},
        {"{\"propertyNames\":false}", "{}", "{\"a\":1}"},
        {"{\"dependentRequired\":{\"a\":[\"b\",\"c\"]}}",
         "{} ; {\"b\":1} ; {\"a\":1,\"b\":2,\"c\":3} ; [\"a\"]", "{\"a\":1} ; {\"a\":1,\"b\":1}"},
        {"{\"dependentSchemas\":{\"a\":{\"minProperties\":2}}}",
         "{} ; {\"b\":1} ; {\"a\":1,\"b\":1}", "{\"a\":1}"},
        {"{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"required\":[\"d\"]},\"e\":false}}",
         "{} ; {\"a\":1,\"b\":1} ; {\"c\":1,\"d\":1}", "{\"a\":1} ; {\"c\":1} ; {\"e\":1}"},
    };
    CHECK_ROWS(rows);
}

static void test_logic(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "1 ; 2 ; 3 ; \"x\"", "0 ; 4"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", "\"x\" ; 3", "2"},
        {"{\"oneOf\":[{\"multipleOf\":2},{\"multipleOf\":3}]}", "2 ; 3 ; 9", "1 ; 6 ; \"x\""},
        {"{\"not\":{\"type\":\"string\"}}", "1 ; null", "\"x\""},
        {"{\"not\":{}}", "", "1"},
        {"{\"not\":{\"not\":{\"type\":\"string\"}}}", "\"x\"", "1"},
        {"{\"if\":{\"type\":\"string\"},\"then\":{\"minLength\":2},\"else\":{\"minimum\":2}}",
         "\"xx\" ; 2 ; null", "\"x\" ; 1"},
        {"{\"if\":{\"type\":\"string\"},\"then\":{\"minLength\":2}}", "\"xx\" ; 1", "\"x\""},
        {"{\"if\":{\"type\":\"string\"},\"else\":{\"minimum\":2}}", "\"x\" ; 2", "1"},
        {"{\"then\":false,\"else\":false}", "1", ""},
        {"{\"if\":false,\"then\":false}", "1", ""},
        {"{\"type\":\"integer\",\"anyOf\":[{\"minimum\":3},{\"maximum\":1}]}", "0 ; 4",
         "2 ; \"x\""},
    };
    CHECK_ROWS(rows);
}

static void test_references(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"type\":\"integer\"}}}", "1", "\"x\""},
        {"{\"$ref\":\"#/definitions/a\",\"definitions\":{\"a\":{\"$ref\":\"#/definitions/b\"},"
         "\"b\":{\"type\":\"integer\"}}}",
         "1", "\"x\""},
        {"{\"$ref\":\"#/$defs/a\",\"minimum\":3,\"$defs\":{\"a\":{\"type\":\"integer\"}}}", "3",
         "2 ; \"x\""},
        {"{\"properties\":{\"next\":{\"$ref\":\"#\"},\"v\":{\"type\":\"integer\"}},"
         "\"required\":[\"v\"]}",
         "{\"v\":1} ; {\"v\":1,\"next\":{\"v\":2,\"next\":{\"v\":3}}}",
         "{\"next\":{\"v\":1}} ; {\"v\":1,\"next\":{\"v\":2,\"next\":{}}}"},
        {"{\"$ref\":\"#/$defs/a~1b~0c%25d\",\"$defs\":{\"a/b~c%d\":{\"type\":\"integer\"}}}", "1",
         "\"x\""},
        {"{\"$ref\":\"#/$defs/~01\",\"$defs\":{\"~1\":{\"type\":\"integer\"},\"/\":false}}", "1",
         "\"x\""},
        {"{\"$ref\":\"#/allOf/1\",\"allOf\":[true,{\"type\":\"integer\"}]}", "1", "\"x\""},
        {"{\"properties\":{\"a\":{\"$ref\":\"#here\"}},\"$defs\":{\"x\":{\"$anchor\":\"here\","
         "\"type\":\"integer\"}}}",
         "{\"a\":1}", "{\"a\":\"x\"}"},
        {"{\"$ref\":\"#old\",\"definitions\":{\"x\":{\"$id\":\"#old\",\"type\":\"integer\"}}}", "1",
         "\"x\""},
        {"{\"$id\":\"https://example.com/s\",\"$schema\":\"http://json-schema.org/draft-07/"
         "schema#\","
         "\"properties\":{\"$ref\":{\"type\":\"string\"}}}",
         "{\"$ref\":\"http://elsewhere\"}", "{\"$ref\":1}"},
        {"{\"$ref\":\"#/custom/0\",\"custom\":[{\"type\":\"integer\"}]}", "1", "\"x\""},
    };
    CHECK_ROWS(rows);
}

/* ---- refused */

static void expect_refused(const char *schema, const char *words)
{
    struct weir_buf why = {0};
    struct weir_jsonschema *s = weir_jsonschema_new(weir_slice_cstr(schema), &why);
    assert_null(s);
    if (strstr(weir_buf_cstr(&why), words) == NULL) {
        fail_msg("%.200s\n  %s: no `%s`", schema, weir_buf_cstr(&why), words);
    }
    weir_buf_dispose(&why);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "not JSON"},
        {"{\"a\":}", "not JSON: "},
        {"[]", "at #: a schema must be an object, true or false"},
        {"{\"type\":\"strnig\"}", "at #/type: a type is"},
        {"{\"type\":[\"string\",1]}", "#/type/1"},
        {"{\"properties\":{\"a\":{\"minimum\":\"1\"}}}", "#/properties/a/minimum: a bound must be"},
        {"{\"exclusiveMaximum\":\"x\"}", "#/exclusiveMaximum"},
        {"{\"enum\":1}", "`enum` must be an array"},
        {"{\"multipleOf\":0}", "greater than 0"},
        {"{\"minLength\":-1}", "whole number"},
        {"{\"maxItems\":1.5}", "whole number"},
        {"{\"pattern\":\"(\"}", "#/pattern: the pattern is not a regular expression"},
        {"{\"pattern\":1}", "must be a string"},
        {"{\"patternProperties\":{\"[\":{}}}", "#/patternProperties/["},
        {"{\"properties\":[]}", "must be an object"},
        {"{\"properties\":{\"a\":1}}", "#/properties/a: a schema must be"},
        {"{\"required\":\"a\"}", "array of names"},
        {"{\"required\":[1]}", "#/required/0: must be a name"},
        {"{\"allOf\":[]}", "at least one"},
        {"{\"anyOf\":{}}", "array of schemas"},
        {"{\"items\":1}", "#/items: a schema must be"},
        {"{\"prefixItems\":{}}", "array of schemas"},
        {"{\"uniqueItems\":1}", "true or false"},
        {"{\"$ref\":\"#/$defs/x\"}", "leads nowhere"},
        {"{\"$ref\":\"#x\"}", "leads nowhere"},
        {"{\"$ref\":\"#/enum/0\",\"enum\":[1]}", "#/enum/0: a schema must be"},
        {"{\"$ref\":1}", "must be a string"},
        {"{\"$ref\":\"http://example.com/s.json\"}", "must begin with `#`"},
        {"{\"$ref\":\"other.json#/a\"}", "other documents are not loaded"},
        {"{\"items\":{\"$ref\":\"file:///etc/passwd\"}}", "#/items/$ref"},
        {"{\"$defs\":{\"unused\":{\"$ref\":\"x.json\"}}}", "must begin with `#`"},
        {"{\"unevaluatedProperties\":false}", "not supported"},
        {"{\"$dynamicRef\":\"#a\"}", "not supported"},
        {"{\"$defs\":{\"a\":{\"$id\":\"http://example.com/other\"}}}", "`$id` inside"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_refused(rows[i][0], rows[i][1]);
    }
}

/* ---- sizes and costs */

static char *repeat(const char *head, const char *part, size_t n, const char *tail)
{
    struct weir_buf b = {0};
    weir_buf_append(&b, weir_slice_cstr(head));
    for (size_t i = 0; i < n; i++) {
        weir_buf_append(&b, weir_slice_cstr(part));
    }
    weir_buf_append(&b, weir_slice_cstr(tail));
    weir_buf_cstr(&b);
    return b.p;
}

static void test_sizes(void **state)
{
    (void)state;
    char *schema = repeat("{\"title\":\"", "x", WEIR_JSONSCHEMA_MAX_BYTES - 12, "\"}");
    weir_jsonschema_free(open_schema(schema));
    free(schema);
    schema = repeat("{\"title\":\"", "x", WEIR_JSONSCHEMA_MAX_BYTES - 11, "\"}");
    expect_refused(schema, "at most 65536 bytes");
    free(schema);
    schema = repeat("", "{\"not\":", 5000, "{}");
    expect_refused(schema, "not JSON: ");
    free(schema);
}

static void expect_limit(const char *schema, const char *doc, const char *words)
{
    struct weir_jsonschema *s = open_schema(schema);
    const char *why = NULL;
    assert_int_equal(check(s, weir_slice_cstr(doc), &why), WEIR_ELIMIT);
    assert_non_null(strstr(why, words));
    weir_jsonschema_free(s);
}

static void test_circles(void **state)
{
    (void)state;
    expect_limit("{\"$ref\":\"#\"}", "1", "without end");
    expect_limit("{\"anyOf\":[{\"$ref\":\"#\"},true]}", "1", "without end");
    expect_limit("{\"not\":{\"$ref\":\"#\"}}", "1", "without end");
}

/* 2^40 ways to fail. */
static void test_many_ways(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    weir_buf_printf(&b, "{\"$ref\":\"#/$defs/a0\",\"$defs\":{");
    for (int i = 0; i < 40; i++) {
        weir_buf_printf(
            &b, "\"a%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/a%d\"},{\"$ref\":\"#/$defs/a%d\"}]},", i,
            i + 1, i + 1);
    }
    weir_buf_printf(&b, "\"a40\":false}}");
    expect_limit(weir_buf_cstr(&b), "1", "too many steps");
    weir_buf_dispose(&b);
}

static void test_large_products(void **state)
{
    (void)state;
    char *schema = repeat("{\"items\":{\"enum\":[", "\"a\",", 10000, "\"b\"]}}");
    char *doc = repeat("[", "\"b\",", 10000, "\"b\"]");
    expect_limit(schema, doc, "too many steps");
    free(schema);
    free(doc);
    schema = repeat("{\"allOf\":[", "{\"minimum\":1},", 4000, "true]}");
    doc = repeat("", "1", 1000000, "");
    expect_limit(schema, doc, "too many steps");
    free(schema);
    free(doc);
}

static void test_patterns_cost(void **state)
{
    (void)state;
    char *doc = repeat("\"", "a", 100000, "b\"");
    expect_limit("{\"pattern\":\"^(a+)+$\"}", doc, "pattern");
    struct weir_jsonschema *s = open_schema("{\"pattern\":\"^[a-z]+$\"}");
    const char *why;
    assert_int_equal(check(s, weir_slice_cstr(doc), &why), 0);
    weir_jsonschema_free(s);
    s = open_schema("{\"pattern\":\"^(a|b)*$\"}");
    doc[5000] = '"';
    assert_int_equal(check(s, weir_slice_make(doc, 5001), &why), 0);
    weir_jsonschema_free(s);
    free(doc);
    expect_refused("{\"pattern\":\"((a{1,900}){1,900}){1,900}\"}", "#/pattern");
}

/* Items that hash alike are compared, but not without end. */
static void test_unique_costs(void **state)
{
    (void)state;
    struct weir_buf b = {0};
    weir_buf_append_byte(&b, '[');
    for (int i = 0; i < 8000; i++) {
        weir_buf_printf(&b, "%s1.00000000000000000000000%d", i != 0 ? "," : "", 10000 + i);
    }
    weir_buf_append_byte(&b, ']');
    expect_limit("{\"uniqueItems\":true}", weir_buf_cstr(&b), "too many steps");
    weir_buf_clear(&b);
    weir_buf_append_byte(&b, '[');
    for (int i = 0; i < 100000; i++) {
        weir_buf_printf(&b, "%s{\"id\":%d}", i != 0 ? "," : "", i);
    }
    weir_buf_append_byte(&b, ']');
    struct weir_jsonschema *s = open_schema("{\"uniqueItems\":true}");
    const char *why;
    assert_int_equal(check(s, weir_buf_slice(&b), &why), 0);
    weir_jsonschema_free(s);
    weir_buf_dispose(&b);
}

static void test_deep(void **state)
{
    (void)state;
    char *doc = repeat("", "{\"a\":[", 127, "1");
    char *tail = repeat("", "]}", 127, "");
    struct weir_buf b = {0};
    weir_buf_printf(&b, "%s%s", doc, tail);
    struct weir_jsonschema *s = open_schema("{\"anyOf\":[{\"type\":\"integer\"},{\"properties\":{"
                                            "\"a\":{\"items\":{\"$ref\":\"#\"}}}}]}");
    const char *why;
    assert_int_equal(check(s, weir_buf_slice(&b), &why), 0);
    weir_jsonschema_free(s);
    weir_buf_dispose(&b);
    free(doc);
    free(tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any),           cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),         cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_objects),       cmocka_unit_test(test_logic),
        cmocka_unit_test(test_references),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_circles),
        cmocka_unit_test(test_many_ways),     cmocka_unit_test(test_large_products),
        cmocka_unit_test(test_patterns_cost), cmocka_unit_test(test_unique_costs),
        cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
