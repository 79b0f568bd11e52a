/*
 * What libxml2 is not trusted with is looked at before or between its events: attributes of one
 * element (it compares them pairwise) are counted before it sees the text, the time is looked at
 * between elements.
 *
 *   text ─► count_attributes ─► libxml2's parser ─► on_start, on_end, on_text ─► the schema's
 */
#include "detect/xmldoc.h"

#include "base/err.h"

#include <libxml/parser.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_ATTRIBUTES = 1000, LOOK_EVERY = 16 };

struct parse {
    xmlParserCtxtPtr parser;
    int64_t end_us;
    unsigned n_since_look;
    bool has_doctype;
    bool is_late;
    const struct weir_offload *job;
    xmlSAXHandlerPtr judge; /* the schema's events; NULL: none */
    void *judge_ctx;
};

/* Of this thread: a busy machine is not the caller's fault. */
static int64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- once */

static xmlParserInputPtr load_nothing(const char *url, const char *id, xmlParserCtxtPtr parser)
{
    (void)url;
    (void)id;
    (void)parser;
    return NULL;
}

static void prepare_once(void)
{
    xmlInitParser();
    xmlSetExternalEntityLoader(load_nothing);
}

void weir_xmldoc_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_once);
}

/* ---- before */

static size_t find_from(struct weir_slice text, size_t at, const char *what)
{
    const char *p = memmem(text.p + at, text.n - at, what, strlen(what));
    return p != NULL ? (size_t)(p - text.p) + strlen(what) : text.n;
}

/* Behind the tag that begins at `at`; `*n` is how many quoted values it has. */
static size_t skip_tag(struct weir_slice text, size_t at, size_t *n)
{
    while (at < text.n && text.p[at] != '>') {
        char c = text.p[at++];
        if (c == '"' || c == '\'') {
            const char *quote = memchr(text.p + at, c, text.n - at);
            at = quote != NULL ? (size_t)(quote - text.p) + 1 : text.n;
            ++*n;
        }
    }
    return at;
}

static bool has_at(struct weir_slice text, size_t at, const char *what)
{
    return weir_slice_starts_with(weir_slice_sub(text, at, text.n), weir_slice_cstr(what));
}

/* In what is well-formed this sees every tag; where it is not, the parser stops anyway. */
static bool has_too_many_attributes(struct weir_slice text)
{
    size_t at = 0;
    while (at < text.n) {
        at += weir_slice_find(weir_slice_sub(text, at, text.n), '<');
        size_t n = 0;
        if (has_at(text, at, "<!--")) {
            at = find_from(text, at + 4, "-->");
        } else if (has_at(text, at, "<![CDATA[")) {
            at = find_from(text, at, "]]>");
        } else if (has_at(text, at, "<?")) {
            at = find_from(text, at, "?>");
        } else if (at < text.n) {
            at = skip_tag(text, at, &n);
        }
        if (n > MAX_ATTRIBUTES) {
            return true;
        }
    }
    return false;
}

/* ---- events */

static void on_doctype(void *ctx, const xmlChar *name, const xmlChar *public_id,
                       const xmlChar *system_id)
{
    struct parse *p = ctx;
    (void)name;
    (void)public_id;
    (void)system_id;
    p->has_doctype = true;
    xmlStopParser(p->parser);
}

static void look_at_clock(struct parse *p, int n_attributes)
{
    p->n_since_look += 1 + (unsigned)n_attributes;
    if (p->n_since_look < LOOK_EVERY) {
        return;
    }
    p->n_since_look = 0;
    bool is_cancelled = p->job != NULL && weir_offload_is_cancelled(p->job);
    if (is_cancelled || cpu_us() > p->end_us) {
        p->is_late = true;
        xmlStopParser(p->parser);
    }
}

static void on_start(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int n_namespaces, const xmlChar **namespaces, int n_attributes,
                     int n_defaulted, const xmlChar **attributes)
{
    struct parse *p = ctx;
    look_at_clock(p, n_namespaces + n_attributes);
    if (p->judge != NULL && !p->is_late) {
        p->judge->startElementNs(p->judge_ctx, name, prefix, uri, n_namespaces, namespaces,
                                 n_attributes, n_defaulted, attributes);
    }
}

static void on_end(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    struct parse *p = ctx;
    if (p->judge != NULL) {
        p->judge->endElementNs(p->judge_ctx, name, prefix, uri);
    }
}

static void on_text(void *ctx, const xmlChar *text, int n)
{
    struct parse *p = ctx;
    if (p->judge != NULL) {
        p->judge->characters(p->judge_ctx, text, n);
    }
}

static void on_cdata(void *ctx, const xmlChar *text, int n)
{
    struct parse *p = ctx;
    if (p->judge != NULL) {
        p->judge->cdataBlock(p->judge_ctx, text, n);
    }
}

/* libxml2's own: depth, the length of a name, of a text. */
static bool met_limit(const struct parse *p)
{
    switch (p->parser->lastError.code) {
    case XML_ERR_INTERNAL_ERROR:
    case XML_ERR_NAME_TOO_LONG:
    case XML_ERR_ENTITY_LOOP:
        return true;
    default:
        return false;
    }
}

static int run_parser(struct parse *p, struct weir_slice text)
{
    int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING;
    *p->parser->sax = (xmlSAXHandler){.initialized = XML_SAX2_MAGIC,
                                      .internalSubset = on_doctype,
                                      .startElementNs = on_start,
                                      .endElementNs = on_end,
                                      .characters = on_text,
                                      .ignorableWhitespace = on_text,
                                      .cdataBlock = on_cdata};
    p->parser->userData = p;
    xmlDocPtr doc = xmlCtxtReadMemory(p->parser, text.p, (int)text.n, NULL, "UTF-8", options);
    xmlFreeDoc(doc); /* none is made */
    if (p->is_late || met_limit(p)) {
        return WEIR_ELIMIT;
    }
    bool is_good = p->parser->wellFormed && p->parser->nsWellFormed && !p->has_doctype;
    return is_good ? 0 : WEIR_EBAD;
}

/* The schema's events are plugged in behind ours, and unplugged for the verdict. */
static int run_with_schema(struct parse *p, struct weir_slice text, xmlSchemaValidCtxtPtr schema)
{
    xmlSAXHandler none = {.initialized = XML_SAX2_MAGIC};
    p->judge = &none;
    xmlSchemaSAXPlugPtr plug = xmlSchemaSAXPlug(schema, &p->judge, &p->judge_ctx);
    if (plug == NULL) {
        abort(); /* out of memory, nothing else */
    }
    int rc = run_parser(p, text);
    xmlSchemaSAXUnplug(plug);
    return rc == 0 && xmlSchemaIsValid(schema) != 1 ? WEIR_EINVAL : rc;
}

int weir_xmldoc_check(struct weir_slice text, xmlSchemaValidCtxtPtr schema,
                      struct weir_builtin_run *run)
{
    weir_xmldoc_prepare();
    if (text.n == 0) {
        return WEIR_EBAD;
    }
    if (text.n > INT_MAX / 2 || has_too_many_attributes(text)) {
        run->why = "an XML element has more than 1000 attributes";
        return WEIR_ELIMIT;
    }
    int64_t from_us = cpu_us();
    struct parse p = {.end_us = from_us + run->budget_us, .job = run->job};
    p.parser = xmlNewParserCtxt();
    if (p.parser == NULL) {
        abort(); /* out of memory, nothing else */
    }
    int rc = schema != NULL ? run_with_schema(&p, text, schema) : run_parser(&p, text);
    xmlFreeParserCtxt(p.parser);
    run->budget_us -= cpu_us() - from_us;
    if (rc == WEIR_ELIMIT) {
        run->why = p.is_late ? "the XML document needs too much time"
                             : "the XML document is nested too deeply, or a part of it is too long";
    }
    return rc;
}
