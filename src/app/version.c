#include "app/version.h"

#include <ares.h>
#include <google/protobuf-c/protobuf-c.h>
#include <hs.h>
#include <libxml/parser.h>
#include <libxml/xmlversion.h>
#include <nghttp2/nghttp2.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <unicode/uversion.h>
#include <uv.h>
#include <yaml.h>
#include <zlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <weir/commit.h>

/* "10.42 2022-12-11", of which the date says nothing more. */
static void write_first_word(struct weir_buf *out, const char *name, const char *text)
{
    struct weir_slice rest = weir_slice_cstr(text);
    struct weir_slice word = weir_slice_cut(&rest, ' ');
    weir_buf_printf(out, ", %s %.*s", name, (int)word.n, word.p);
}

static void write_icu(struct weir_buf *out)
{
    UVersionInfo version;
    char text[U_MAX_VERSION_STRING_LENGTH];
    u_getVersion(version);
    u_versionToString(version, text);
    weir_buf_printf(out, ", ICU %s", text);
}

/* The library itself says 20914 for 2.9.14. */
static void write_libxml2(struct weir_buf *out)
{
    long n = strtol(xmlParserVersion, NULL, 10);
    weir_buf_printf(out, ", libxml2 %ld.%ld.%ld", n / 10000, n / 100 % 100, n % 100);
}

static void write_pcre2(struct weir_buf *out)
{
    char text[64] = "";
    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof text) {
        pcre2_config(PCRE2_CONFIG_VERSION, text);
    }
    write_first_word(out, "PCRE2", text);
}

void weir_version_write(struct weir_buf *out)
{
    weir_buf_printf(out, "weir %s", WEIR_VERSION);
    if (WEIR_COMMIT[0] != '\0') {
        weir_buf_printf(out, " (%s)", WEIR_COMMIT);
    }
    weir_buf_printf(out, "\nc-ares %s", ares_version(NULL));
    write_icu(out);
    weir_buf_printf(out, ", libuv %s", uv_version_string());
    write_libxml2(out);
    weir_buf_printf(out, ", libyaml %s", yaml_get_version_string());
    weir_buf_printf(out, ", nghttp2 %s", nghttp2_version(0)->version_str);
    weir_buf_printf(out, ", OpenSSL %s", OpenSSL_version(OPENSSL_VERSION_STRING));
    write_pcre2(out);
    weir_buf_printf(out, ", protobuf-c %s", protobuf_c_version());
    write_first_word(out, "Vectorscan", hs_version());
    weir_buf_printf(out, ", zlib %s", zlibVersion());
    weir_buf_append_byte(out, '\n');
}
