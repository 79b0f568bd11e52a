/*
 * The side that answers, in a process of its own. It reads the question to its end before it
 * answers, so that the two never wait for each other.
 */
#include "base/err.h"
#include "detect/xmldoc.h"
#include "detect/xsd.h"

#include <libxml/parser.h>
#include <libxml/xmlschemas.h>
#include <libxml/xmlschemastypes.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <signal.h>

enum {
    MAX_CPU_S = 1,
    MAX_MEMORY_BYTES = 768 << 20,
    MAX_QUESTION_BYTES = 256 << 20,
    BUDGET_US = 900000,
};

static const char XSD[] = "http://www.w3.org/2001/XMLSchema";

/* ---- the schema */

struct schema {
    xmlDocPtr doc;
    xmlSchemaPtr compiled;
    bool has_doctype;
    struct weir_buf *why;
};

static void ignore(void *ctx, xmlErrorPtr error)
{
    (void)ctx;
    (void)error;
}

/* The first complaint is the one that helps. */
static void note_error(void *ctx, xmlErrorPtr error)
{
    struct schema *s = ctx;
    if (s->why->n == 0 && error->level >= XML_ERR_ERROR && error->message != NULL) {
        weir_buf_printf(s->why, "the XML Schema is no good, line %d: %.*s", error->line,
                        (int)strcspn(error->message, "\n"), error->message);
    }
}

static void on_doctype(void *ctx, const xmlChar *name, const xmlChar *public_id,
                       const xmlChar *system_id)
{
    xmlParserCtxtPtr parser = ctx;
    (void)name;
    (void)public_id;
    (void)system_id;
    ((struct schema *)parser->_private)->has_doctype = true;
    xmlStopParser(parser);
}

static bool read_schema(struct schema *s, struct weir_slice text)
{
    xmlParserCtxtPtr parser = xmlNewParserCtxt();
    if (parser == NULL) {
        return false;
    }
    parser->_private = s;
    parser->sax->internalSubset = on_doctype;
    int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;
    s->doc = xmlCtxtReadMemory(parser, text.p, (int)text.n, NULL, "UTF-8", options);
    const xmlError *error = &parser->lastError;
    if (s->has_doctype) {
        weir_buf_printf(s->why, "the XML Schema has a <!DOCTYPE: leave it out");
    } else if (s->doc == NULL && error->message != NULL) {
        weir_buf_printf(s->why, "the XML Schema is not well-formed XML, line %d: %.*s", error->line,
                        (int)strcspn(error->message, "\n"), error->message);
    } else if (s->doc == NULL) {
        weir_buf_printf(s->why, "the XML Schema is not well-formed XML");
    }
    xmlFreeParserCtxt(parser);
    return s->doc != NULL && !s->has_doctype;
}

/* In document order, without recursion. */
static const xmlNode *next_node(const xmlNode *n)
{
    if (n->children != NULL && n->type == XML_ELEMENT_NODE) {
        return n->children;
    }
    while (n != NULL && n->next == NULL) {
        n = n->parent;
    }
    return n != NULL ? n->next : NULL;
}

static bool refuse_others(struct schema *s)
{
    static const char *const words[] = {"import", "include", "redefine", "override"};
    const xmlNode *n = xmlDocGetRootElement(s->doc);
    for (; n != NULL; n = next_node(n)) {
        bool is_xsd = n->type == XML_ELEMENT_NODE && n->ns != NULL && n->ns->href != NULL &&
                      strcmp((const char *)n->ns->href, XSD) == 0;
        for (size_t i = 0; is_xsd && i < sizeof words / sizeof *words; i++) {
            if (strcmp((const char *)n->name, words[i]) == 0) {
                weir_buf_printf(s->why,
                                "the XML Schema has an xs:%s in line %ld: other documents are not "
                                "loaded",
                                words[i], xmlGetLineNo(n));
                return false;
            }
        }
    }
    return true;
}

static bool compile(struct schema *s)
{
    xmlSchemaParserCtxtPtr parser = xmlSchemaNewDocParserCtxt(s->doc);
    if (parser == NULL) {
        return false;
    }
    xmlSchemaSetParserStructuredErrors(parser, note_error, s);
    s->compiled = xmlSchemaParse(parser);
    xmlSchemaFreeParserCtxt(parser);
    if (s->compiled == NULL && s->why->n == 0) {
        weir_buf_printf(s->why, "the XML Schema is no good");
    }
    return s->compiled != NULL;
}

/* ---- the document */

/* A pattern that libxml2 gave up on is an "internal error": no verdict. */
static void note_internal(void *ctx, xmlErrorPtr error)
{
    bool *is_lost = ctx;
    *is_lost = *is_lost || error->code == XML_SCHEMAV_INTERNAL;
}

static enum weir_xsd_verdict check(const struct schema *s, struct weir_slice text)
{
    struct weir_builtin_run run = {.budget_us = BUDGET_US};
    bool is_lost = false;
    xmlSchemaValidCtxtPtr judge = xmlSchemaNewValidCtxt(s->compiled);
    if (judge == NULL) {
        return WEIR_XSD_LIMIT;
    }
    xmlSchemaSetValidStructuredErrors(judge, note_internal, &is_lost);
    int rc = weir_xmldoc_check(text, judge, &run);
    xmlSchemaFreeValidCtxt(judge);
    if (rc == WEIR_ELIMIT || is_lost) {
        weir_buf_append(s->why, weir_slice_cstr(rc == WEIR_ELIMIT ? run.why
                                                                  : "a pattern of the XML Schema "
                                                                    "needs too many steps"));
        return WEIR_XSD_LIMIT;
    }
    return rc == 0 ? WEIR_XSD_GOOD : rc == WEIR_EBAD ? WEIR_XSD_BROKEN : WEIR_XSD_MISMATCH;
}

enum weir_xsd_verdict weir_xsd__judge(struct weir_slice schema, struct weir_slice text,
                                      struct weir_buf *why)
{
    struct schema s = {.why = why};
    enum weir_xsd_verdict verdict = WEIR_XSD_BAD_SCHEMA;
    weir_xmldoc_prepare();
    xmlSchemaInitTypes();
    xmlSetStructuredErrorFunc(NULL, ignore); /* of this thread: some speak to nobody else */
    if (read_schema(&s, schema) && refuse_others(&s) && compile(&s)) {
        verdict = text.p != NULL ? check(&s, text) : WEIR_XSD_GOOD;
    }
    xmlSchemaFree(s.compiled);
    xmlFreeDoc(s.doc); /* after the schema, which points into it */
    return verdict;
}

/* ---- the process */

static void limit(int resource, rlim_t most)
{
    struct rlimit l = {.rlim_cur = most, .rlim_max = most};
    setrlimit((__rlimit_resource_t)resource, &l);
}

/* The sanitizers map far more than they use. */
static void limit_all(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, MAX_CPU_S);
    limit(RLIMIT_FSIZE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    limit(RLIMIT_AS, MAX_MEMORY_BYTES);
#endif
}

static bool read_question(struct weir_buf *question)
{
    enum { STEP = 65536 };
    for (;;) {
        if (weir_buf_reserve(question, STEP) != 0) {
            return false;
        }
        ssize_t n = read(STDIN_FILENO, question->p + question->n, STEP);
        if (n <= 0) {
            return n == 0;
        }
        question->n += (size_t)n;
    }
}

static void answer(enum weir_xsd_verdict verdict, const struct weir_buf *why)
{
    struct weir_buf out = {0};
    weir_buf_append_byte(&out, (char)verdict);
    weir_buf_append(&out, weir_buf_slice(why));
    for (size_t at = 0; at < out.n;) {
        ssize_t n = write(STDOUT_FILENO, out.p + at, out.n - at);
        if (n <= 0) {
            break;
        }
        at += (size_t)n;
    }
    weir_buf_dispose(&out);
}

_Noreturn void weir_xsd_serve(void)
{
    struct weir_buf question;
    struct weir_buf why = {0};
    uint64_t n_schema;
    limit_all();
    weir_buf_init(&question, MAX_QUESTION_BYTES);
    bool is_whole = read_question(&question) && question.n >= sizeof n_schema;
    if (is_whole) {
        memcpy(&n_schema, question.p, sizeof n_schema);
        struct weir_slice rest =
            weir_slice_sub(weir_buf_slice(&question), sizeof n_schema, question.n);
        if (n_schema <= rest.n) {
            struct weir_slice text = weir_slice_sub(rest, n_schema, rest.n);
            text.p = text.n != 0 ? text.p : NULL;
            answer(weir_xsd__judge(weir_slice_sub(rest, 0, n_schema), text, &why), &why);
        }
    }
    _exit(0);
}
