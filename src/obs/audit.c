#include "obs/audit.h"

#include "base/assert.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "obs/audit_chain.h"
#include "obs/log.h"
#include "obs/metric.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_QUEUE_BYTES = 8 * 1024 * 1024, TAIL_BYTES = 64 * 1024, RETRY_SECONDS = 1 };

/* The writer's own: only its thread touches it, or the main thread while there is none. */
struct file {
    char *path;
    char *key;
    size_t n_key;
    int fd;
    bool is_file; /* a regular one: it has a size and can be cut */
    uint64_t max_bytes;
    off_t size;
    struct weir_audit_chain chain;
};

static struct {
    pthread_mutex_t lock; /* guards what follows, to `thread` */
    pthread_cond_t wake;
    struct weir_buf queue; /* lines, each with its line feed, not sealed */
    struct file *next;     /* to be used from now on; NULL: no change */
    bool wants_reopen;
    bool wants_stop;
    pthread_t thread;
    bool is_running;
    atomic_bool is_on;
    atomic_bool is_strict;
    atomic_bool is_broken;
} audit = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static struct weir_metric_counter written;
static struct weir_metric_counter dropped;

void weir_audit_declare(void)
{
    static const struct weir_metric_def def = {
        .name = "weir_audit_lines_total",
        .help = "Lines of the audit log, written or dropped because they could not be.",
        .type = WEIR_METRIC_COUNTER,
        .labels = {"result"},
    };
    struct weir_metric_family *f = weir_metric_declare(&def);
    written = weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("written")));
    dropped = weir_metric_counter(f, WEIR_METRIC_LABELS(WEIR_SLICE("dropped")));
}

/* ---- a file ---- */

static struct weir_slice key_of(const struct file *f)
{
    return weir_slice_make(f->key, f->n_key);
}

static void free_file(struct file *f)
{
    if (f == NULL) {
        return;
    }
    if (f->fd > STDERR_FILENO) {
        close(f->fd);
    }
    free(f->path);
    free(f->key);
    free(f);
}

static char *copy(struct weir_slice s)
{
    char *out = weir_mem_alloc(s.n + 1);
    memcpy(out, s.p != NULL ? s.p : "", s.n);
    out[s.n] = '\0';
    return out;
}

/* Goes on where the file ends: with the number and the chain of its last line. */
static void read_end(struct file *f)
{
    char *tail = weir_mem_alloc(TAIL_BYTES);
    off_t from = f->size > TAIL_BYTES ? f->size - TAIL_BYTES : 0;
    ssize_t got = pread(f->fd, tail, TAIL_BYTES, from);
    struct weir_slice text = weir_slice_make(tail, got > 0 ? (size_t)got : 0);
    while (text.n != 0 && text.p[text.n - 1] != '\n') {
        text.n--;
    }
    off_t whole = from + (off_t)text.n;
    if (whole < f->size && ftruncate(f->fd, whole) == 0) {
        WEIR_LOG_WARN("audit", NULL, "a line without its end was taken off",
                      weir_log_u64("bytes", (uint64_t)(f->size - whole)));
        f->size = whole;
    }
    size_t start = text.n != 0 ? text.n - 1 : 0;
    while (start > 0 && text.p[start - 1] != '\n') {
        start--;
    }
    struct weir_audit_line line;
    if (text.n != 0 && weir_audit_chain_read(weir_slice_sub(text, start, text.n - 1), &line)) {
        f->chain.n = line.n;
        memcpy(f->chain.last, line.chain.p, line.chain.n);
        f->chain.last[line.chain.n] = '\0';
    }
    free(tail);
}

static int open_file(struct file *f)
{
    struct stat st;
    if (strcmp(f->path, "stdout") == 0) {
        f->fd = STDOUT_FILENO;
        return 0;
    }
    f->fd = open(f->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (f->fd < 0) {
        return weir_err_from_errno(errno);
    }
    f->is_file = fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
    f->size = f->is_file ? st.st_size : 0;
    return 0;
}

/* Lines that were written in part are taken back, so that the file has whole lines only. */
static int write_all(struct file *f, struct weir_slice bytes)
{
    size_t done = 0;
    while (done < bytes.n) {
        ssize_t got = write(f->fd, bytes.p + done, bytes.n - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            int rc = weir_err_from_errno(got < 0 ? errno : ENOSPC);
            if (f->is_file && done != 0 && ftruncate(f->fd, f->size) != 0) {
                WEIR_LOG_ERROR("audit", NULL, "a line could not be taken back");
            }
            return rc;
        }
        done += (size_t)got;
    }
    f->size += (off_t)bytes.n;
    return 0;
}

static void append_time(struct weir_buf *out)
{
    struct timespec ts;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &ts);
    gmtime_r(&ts.tv_sec, &tm);
    weir_buf_printf(out, "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ\"", tm.tm_year + 1900,
                    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                    ts.tv_nsec / 1000000);
}

/* The first line of a file, and of a start. */
static void append_beginning(struct weir_buf *out, struct weir_audit_chain *chain,
                             struct weir_slice key)
{
    struct weir_buf line = {0};
    append_time(&line);
    weir_buf_printf(&line, ",\"begins\":\"%s\"", chain->last);
    weir_audit_chain_seal(chain, key, &line);
    weir_buf_append(out, weir_buf_slice(&line));
    weir_buf_dispose(&line);
}

static int begin_file(struct file *f)
{
    struct weir_audit_chain before = f->chain;
    struct weir_buf out = {0};
    append_beginning(&out, &f->chain, key_of(f));
    int rc = write_all(f, weir_buf_slice(&out));
    if (rc != 0) {
        f->chain = before;
    }
    weir_buf_dispose(&out);
    return rc;
}

/* The same name is another file now, or will be: the chain goes on in it. Until that one has its
 * first line the old one is kept. */
static int follow_file(struct file *f)
{
    struct file next = *f;
    if (f->is_file) {
        int rc = open_file(&next);
        if (rc != 0) {
            return rc;
        }
        rc = begin_file(&next);
        if (rc != 0) {
            close(next.fd);
            return rc;
        }
        close(f->fd);
    }
    WEIR_LOG_INFO("audit", NULL, "file closed", weir_log_cstr("last", f->chain.last),
                  weir_log_u64("n", f->chain.n));
    *f = next;
    return 0;
}

static void set_aside(struct file *f)
{
    struct timespec ts;
    struct weir_buf name = {0};
    clock_gettime(CLOCK_REALTIME, &ts);
    weir_buf_printf(&name, "%s.%lld%06ld", f->path, (long long)ts.tv_sec, ts.tv_nsec / 1000);
    if (rename(f->path, weir_buf_cstr(&name)) != 0 || follow_file(f) != 0) {
        WEIR_LOG_ERROR("audit", NULL, "a full file could not be set aside");
        f->max_bytes = 0; /* not again with every line */
    }
    weir_buf_dispose(&name);
}

/* ---- the writer ---- */

static size_t count_lines(struct weir_slice text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == '\n';
    }
    return n;
}

static int write_batch(struct file *f, struct weir_slice batch)
{
    struct weir_audit_chain before = f->chain;
    struct weir_buf out = {0};
    for (struct weir_slice rest = batch; rest.n != 0;) {
        struct weir_buf line = {0};
        weir_buf_append(&line, weir_slice_cut(&rest, '\n'));
        weir_audit_chain_seal(&f->chain, key_of(f), &line);
        weir_buf_append(&out, weir_buf_slice(&line));
        weir_buf_dispose(&line);
    }
    int rc = write_all(f, weir_buf_slice(&out));
    if (rc != 0) {
        f->chain = before;
    }
    weir_buf_dispose(&out);
    return rc;
}

static void tell_broken(int rc, bool is_strict)
{
    bool was_broken = atomic_exchange(&audit.is_broken, rc != 0);
    if (rc != 0 && !was_broken) {
        WEIR_LOG_ERROR("audit", NULL, "the audit log cannot be written",
                       weir_log_cstr("why", weir_err_text(rc)),
                       weir_log_cstr("on_error", is_strict ? "fail" : "drop"));
    } else if (rc == 0 && was_broken) {
        WEIR_LOG_INFO("audit", NULL, "the audit log is written again");
    }
}

/* What one turn of the writer does; under the lock, which is let go meanwhile. */
struct turn {
    struct weir_buf batch;
    struct file *next;
    bool wants_reopen; /* also one that has failed, and is tried again */
    bool has_told;     /* that it has failed */
};

static void take_turn(struct turn *t)
{
    if (t->batch.n == 0) {
        t->batch = audit.queue;
        audit.queue = (struct weir_buf){0};
    }
    t->next = audit.next;
    audit.next = NULL;
    t->wants_reopen |= audit.wants_reopen;
    audit.wants_reopen = false;
}

/* A file that cannot be opened is no reason to lose lines: the old one still takes them. */
static void reopen(struct file *f, struct turn *t)
{
    int rc = follow_file(f);
    if (rc != 0 && !t->has_told) {
        WEIR_LOG_ERROR("audit", NULL, "the audit log cannot be opened again, the old file is kept",
                       weir_log_cstr("why", weir_err_text(rc)));
    } else if (rc == 0 && t->has_told) {
        WEIR_LOG_INFO("audit", NULL, "the audit log is opened again");
    }
    t->wants_reopen = t->has_told = rc != 0;
}

static void work(struct file **f, struct turn *t)
{
    bool is_strict = atomic_load(&audit.is_strict);
    WEIR_ASSERT(*f != NULL);
    if (t->next != NULL) {
        WEIR_LOG_INFO("audit", NULL, "file closed", weir_log_cstr("last", (*f)->chain.last),
                      weir_log_u64("n", (*f)->chain.n));
        free_file(*f);
        *f = t->next;
    }
    if (t->wants_reopen) {
        reopen(*f, t);
    }
    size_t n = count_lines(weir_buf_slice(&t->batch));
    int rc = n != 0 ? write_batch(*f, weir_buf_slice(&t->batch)) : 0;
    tell_broken(rc, is_strict);
    if (rc != 0 && is_strict) {
        return; /* kept */
    }
    weir_metric_add(rc == 0 ? written : dropped, n);
    weir_buf_dispose(&t->batch);
    if ((*f)->max_bytes != 0 && (*f)->is_file && (uint64_t)(*f)->size >= (*f)->max_bytes) {
        set_aside(*f);
    }
}

static void wait_for_work(const struct turn *t)
{
    if (t->batch.n != 0 || t->wants_reopen) {
        struct timespec at;
        clock_gettime(CLOCK_REALTIME, &at);
        at.tv_sec += RETRY_SECONDS;
        pthread_cond_timedwait(&audit.wake, &audit.lock, &at);
        return;
    }
    while (audit.queue.n == 0 && audit.next == NULL && !audit.wants_reopen && !audit.wants_stop) {
        pthread_cond_wait(&audit.wake, &audit.lock);
    }
}

static void *run(void *arg)
{
    struct file *f = arg;
    struct turn t = {0};
    bool is_over = false;
    while (!is_over) {
        pthread_mutex_lock(&audit.lock);
        wait_for_work(&t);
        take_turn(&t);
        is_over = audit.wants_stop && audit.queue.n == 0;
        pthread_mutex_unlock(&audit.lock);
        work(&f, &t);
    }
    size_t n_lost = count_lines(weir_buf_slice(&t.batch));
    weir_metric_add(dropped, n_lost);
    WEIR_LOG_INFO("audit", NULL, "file closed", weir_log_cstr("last", f->chain.last),
                  weir_log_u64("n", f->chain.n), weir_log_u64("lost", n_lost));
    weir_buf_dispose(&t.batch);
    free_file(f);
    return NULL;
}

/* ---- what others call ---- */

static struct file *new_file(const struct weir_audit_options *o, int *rc)
{
    struct file *f = weir_mem_zalloc(sizeof *f);
    f->path = copy(o->path);
    f->key = copy(o->key);
    f->n_key = o->key.n;
    f->max_bytes = o->max_bytes;
    *rc = open_file(f);
    if (*rc == 0 && f->is_file && f->size != 0) {
        read_end(f);
    }
    if (*rc == 0) {
        *rc = begin_file(f);
    }
    if (*rc != 0) {
        free_file(f);
        return NULL;
    }
    return f;
}

/* What a file is made from, as text: the same text, the same file. */
static void append_identity(struct weir_buf *out, const struct weir_audit_options *o)
{
    weir_buf_append(out, o->path);
    weir_buf_append_byte(out, '\n');
    weir_buf_append(out, o->key);
    weir_buf_printf(out, "\n%llu", (unsigned long long)o->max_bytes);
}

static int start_thread(struct file *f)
{
    int sys = pthread_create(&audit.thread, NULL, run, f);
    if (sys != 0) {
        free_file(f);
        return weir_err_from_errno(sys);
    }
    audit.is_running = true;
    return 0;
}

static int use_file(struct file *f)
{
    if (!audit.is_running) {
        return start_thread(f);
    }
    pthread_mutex_lock(&audit.lock);
    free_file(audit.next);
    audit.next = f;
    pthread_cond_signal(&audit.wake);
    pthread_mutex_unlock(&audit.lock);
    return 0;
}

int weir_audit_set(const struct weir_audit_options *o)
{
    static struct weir_buf former; /* of the file that is in use */
    struct weir_buf now = {0};
    int rc = 0;
    atomic_store(&audit.is_strict, o->is_strict);
    append_identity(&now, o);
    bool is_same = weir_slice_eq(weir_buf_slice(&now), weir_buf_slice(&former));
    if (o->path.n != 0 && !is_same) {
        struct file *f = new_file(o, &rc);
        rc = f != NULL ? use_file(f) : rc;
    }
    if (rc == 0) {
        atomic_store(&audit.is_on, o->path.n != 0);
        struct weir_buf old = former;
        former = o->path.n != 0 ? now : former;
        now = o->path.n != 0 ? old : now;
    }
    weir_buf_dispose(&now);
    return rc;
}

void weir_audit_reopen(void)
{
    pthread_mutex_lock(&audit.lock);
    audit.wants_reopen = audit.is_running;
    pthread_cond_signal(&audit.wake);
    pthread_mutex_unlock(&audit.lock);
}

void weir_audit_offer(struct weir_slice line)
{
    if (!atomic_load_explicit(&audit.is_on, memory_order_relaxed)) {
        return;
    }
    pthread_mutex_lock(&audit.lock);
    bool has_room = audit.queue.n + line.n < MAX_QUEUE_BYTES;
    if (has_room) {
        weir_buf_append(&audit.queue, line);
        weir_buf_append_byte(&audit.queue, '\n');
        pthread_cond_signal(&audit.wake);
    }
    pthread_mutex_unlock(&audit.lock);
    weir_metric_add(dropped, has_room ? 0 : 1);
}

bool weir_audit_is_failing(void)
{
    return atomic_load_explicit(&audit.is_strict, memory_order_relaxed) &&
           atomic_load_explicit(&audit.is_broken, memory_order_relaxed) &&
           atomic_load_explicit(&audit.is_on, memory_order_relaxed);
}

void weir_audit_stop(void)
{
    if (!audit.is_running) {
        return;
    }
    pthread_mutex_lock(&audit.lock);
    audit.wants_stop = true;
    pthread_cond_signal(&audit.wake);
    pthread_mutex_unlock(&audit.lock);
    pthread_join(audit.thread, NULL);
    audit.is_running = false;
    weir_buf_dispose(&audit.queue);
}
