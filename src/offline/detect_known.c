#include "offline/detect_known.h"

#include "base/assert.h"
#include "base/err.h"
#include "wire/json.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FILE_BYTES = 256 * 1024 * 1024 };

/* ---- fingerprints ---- */

void weir_detect_fingerprint(struct weir_slice path, const struct weir_detection *d,
                             char out[WEIR_DETECT_FINGERPRINT_CHARS + 1])
{
    const struct weir_slice parts[] = {path, d->detector_id, d->detection, d->text};
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    struct weir_buf all = {0};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        weir_buf_append(&all, parts[i]);
        weir_buf_append_byte(&all, '\0');
    }
    int rc = EVP_Digest(all.p, all.n, digest, &n, EVP_sha256(), NULL);
    WEIR_ASSERT(rc == 1 && n >= WEIR_DETECT_FINGERPRINT_CHARS / 2);
    for (size_t i = 0; i < WEIR_DETECT_FINGERPRINT_CHARS / 2; i++) {
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
    }
    weir_buf_dispose(&all);
}

/* ---- the baseline ---- */

static int read_file(const char *path, struct weir_buf *out, struct weir_buf *why)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        weir_buf_printf(why, "--baseline: %s: %s", path, strerror(errno));
        return WEIR_EIO;
    }
    char bytes[16 * 1024];
    size_t n;
    int rc = 0;
    while (rc == 0 && (n = fread(bytes, 1, sizeof bytes, file)) != 0) {
        rc = weir_buf_append(out, weir_slice_make(bytes, n));
    }
    if (rc != 0 || ferror(file) != 0) {
        weir_buf_printf(why, "--baseline: %s: %s", path,
                        rc != 0 ? "larger than 256 MiB" : strerror(errno));
        rc = WEIR_EIO;
    }
    fclose(file);
    return rc;
}

/* Every member of that name, wherever it stands. */
static void collect(struct weir_detect_known *k, const struct weir_json *j)
{
    for (uint32_t at = 0; at + 1 < j->n_nodes; at++) {
        bool is_key = weir_json_type(j, at) == WEIR_JSON_STRING &&
                      weir_json_type(j, at + 1) == WEIR_JSON_STRING &&
                      (weir_json_string_eq(j, at, WEIR_SLICE("fingerprint")) ||
                       weir_json_string_eq(j, at, WEIR_SLICE("weir/v1")));
        if (is_key) {
            struct weir_slice raw = weir_json_raw(j, at + 1);
            struct weir_slice copy = weir_arena_dup(&k->arena, weir_slice_sub(raw, 1, raw.n - 1));
            weir_map_put(&k->map, copy, k);
        }
    }
}

/* One document, or one on each line. */
static int collect_all(struct weir_detect_known *k, struct weir_slice text)
{
    struct weir_json_tape tape = {0};
    struct weir_json j;
    int rc = weir_json_parse_reuse(&j, text, NULL, &tape, NULL);
    if (rc == 0) {
        collect(k, &j);
    }
    for (struct weir_slice rest = text; rc != 0 && rest.p != NULL;) {
        struct weir_slice line = weir_slice_trim(weir_slice_cut(&rest, '\n'));
        if (line.n == 0) {
            continue;
        }
        if (weir_json_parse_reuse(&j, line, NULL, &tape, NULL) != 0) {
            weir_json_tape_dispose(&tape);
            return WEIR_EBAD;
        }
        collect(k, &j);
    }
    weir_json_tape_dispose(&tape);
    return 0;
}

int weir_detect_known_load(struct weir_detect_known *k, const char *path, struct weir_buf *why)
{
    struct weir_buf text;
    weir_buf_init(&text, MAX_FILE_BYTES);
    int rc = read_file(path, &text, why);
    if (rc == 0 && collect_all(k, weir_buf_slice(&text)) != 0) {
        weir_buf_printf(why, "--baseline: %s is no output of --format json, jsonl or sarif", path);
        rc = WEIR_EBAD;
    }
    weir_buf_dispose(&text);
    return rc;
}

bool weir_detect_known_has(const struct weir_detect_known *k, const char *fingerprint)
{
    return weir_map_has(&k->map, weir_slice_cstr(fingerprint));
}

void weir_detect_known_dispose(struct weir_detect_known *k)
{
    weir_map_dispose(&k->map);
    weir_arena_dispose(&k->arena);
}
