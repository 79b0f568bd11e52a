/*
 * From bytes to a tree:  read file ─► YAML nodes ─► sections by table ─► checks ─► seal.
 * Nodes and message fragments live in a scratch arena that goes at the end; a tree with errors goes
 * with it.
 */
#include "conf/conf_load.h"

#include "base/err.h"
#include "base/mem.h"
#include "conf/conf_sections.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BYTES = 65536 };

const char *weir_conf_env_process(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static int fail(struct weir_conf_problems *problems, const char *file, int err, const char *what)
{
    struct weir_conf_pos at = {file, 0};
    weir_conf_problems_add(problems, WEIR_CONF_ERROR, at, "%s", what);
    return err;
}

static int read_all(int fd, struct weir_buf *out)
{
    for (;;) {
        int err = weir_buf_reserve(out, READ_BYTES);
        if (err != 0) {
            return err;
        }
        ssize_t n = read(fd, out->p + out->n, READ_BYTES);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0 ? 0 : WEIR_EIO;
        }
        out->n += (size_t)n;
    }
}

static int read_file(const char *path, struct weir_buf *out, struct weir_conf_problems *problems)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(problems, path, WEIR_EIO, strerror(errno));
    }
    /* Room for the last, empty read; the limit itself is checked below for every source. */
    weir_buf_init(out, WEIR_CONF_MAX_FILE_BYTES + READ_BYTES);
    int err = read_all(fd, out);
    if (err == WEIR_EIO) {
        fail(problems, path, err, strerror(errno));
    } else if (err != 0) {
        fail(problems, path, err, "the file is larger than 4 MiB");
    }
    close(fd);
    return err;
}

static void set_revision(struct weir_conf *conf, struct weir_slice text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int n = 0;
    if (EVP_Digest(text.p != NULL ? text.p : "", text.n, digest, &n, EVP_sha256(), NULL) != 1) {
        abort(); /* a libcrypto without SHA-256 would fail everywhere else too */
    }
    for (size_t i = 0; i < 6; i++) {
        snprintf(conf->revision + 2 * i, 3, "%02x", digest[i]);
    }
}

static void keep_tls(struct weir_conf_reader *r)
{
    const struct weir_conf_tls **all = weir_arena_array(r->arena, r->n_tls, sizeof(void *));
    for (size_t i = 0; i < r->n_tls; i++) {
        all[i] = r->tls[i];
    }
    r->conf->tls = all;
    r->conf->n_tls = r->n_tls;
}

static void decode(struct weir_conf *conf, const struct weir_conf_load_options *options,
                   struct weir_slice text, struct weir_conf_problems *problems)
{
    struct weir_arena scratch = {0};
    struct weir_conf_reader r = {
        .conf = conf,
        .arena = &conf->arena,
        .scratch = &scratch,
        .problems = problems,
        .options = options,
        .file = conf->file,
    };
    struct weir_conf_yaml yaml = {
        .text = text,
        .file = conf->file,
        .arena = &scratch,
        .problems = problems,
        .env = options->env,
        .env_ctx = options->env_ctx,
    };
    const struct weir_conf_node *root = weir_conf__yaml_read(&yaml);
    if (root != NULL) {
        weir_conf__root(&r, root);
        weir_conf__check(&r, root);
        keep_tls(&r);
    }
    weir_map_dispose(&r.tls_by_name);
    free(r.tls);
    weir_arena_dispose(&scratch);
}

static int load_text(const struct weir_conf_load_options *options, const char *name,
                     struct weir_slice text, struct weir_conf **out,
                     struct weir_conf_problems *problems)
{
    if (text.n > WEIR_CONF_MAX_FILE_BYTES) {
        return fail(problems, name, WEIR_ELIMIT, "the file is larger than 4 MiB");
    }
    size_t n_errors = problems->n_errors;
    struct weir_conf *conf = weir_mem_zalloc(sizeof *conf);
    conf->file = weir_arena_dup(&conf->arena, weir_slice_cstr(name)).p;
    set_revision(conf, text);
    decode(conf, options, text, problems);
    if (problems->n_errors != n_errors) {
        weir_conf_free(conf);
        return WEIR_EINVAL;
    }
    *out = conf;
    return 0;
}

int weir_conf_load(const struct weir_conf_load_options *options, struct weir_conf **out,
                   struct weir_conf_problems *problems)
{
    *out = NULL;
    if (options->path == NULL) {
        bool is_embedded = options->text.p == NULL;
        const char *name = options->name != NULL ? options->name
                           : is_embedded         ? "embedded configuration"
                                                 : "configuration";
        struct weir_slice text = is_embedded ? weir_conf_default_text() : options->text;
        int err = load_text(options, name, text, out, problems);
        if (err == 0) {
            (*out)->is_embedded = is_embedded;
        }
        return err;
    }
    struct weir_buf file = {0};
    int err = read_file(options->path, &file, problems);
    if (err == 0) {
        err = load_text(options, options->path, weir_buf_slice(&file), out, problems);
    }
    weir_buf_dispose(&file);
    return err;
}
