/* The side that asks: one process per question, fed and read through a socket that gives up. */
#include "detect/xsd.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ANSWER_BYTES = 4096, WAIT_S = 5 };

struct weir_xsd {
    char *text;
    size_t n;
};

/* In the environment of what was spawned: a program whose main does not hand over ends there. */
#define IS_CHILD "WEIR_XSD_CHILD"

static const char needs_too_much[] = "the XML Schema needs too much time or memory";

static pid_t spawn(int fd)
{
    char *const argv[] = {(char[]){"weir"}, (char[]){WEIR_XSD_COMMAND}, NULL};
    char *const envp[] = {(char[]){IS_CHILD "=1"}, NULL};
    posix_spawn_file_actions_t files;
    pid_t pid = -1;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    int rc = posix_spawn(&pid, "/proc/self/exe", &files, NULL, argv, envp);
    posix_spawn_file_actions_destroy(&files);
    return rc == 0 ? pid : -1;
}

static bool send_all(int fd, struct weir_slice s)
{
    while (s.n != 0) {
        ssize_t n = send(fd, s.p, s.n, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        s = n > 0 ? weir_slice_sub(s, (size_t)n, s.n) : s;
    }
    return true;
}

/* Up to the end; false when it did not come in time. */
static bool receive_all(int fd, struct weir_buf *answer)
{
    for (;;) {
        if (weir_buf_reserve(answer, 512) != 0) {
            return true; /* enough words */
        }
        ssize_t n = recv(fd, answer->p + answer->n, 512, 0);
        if (n == 0) {
            return true;
        }
        if (n < 0 && errno != EINTR) {
            return false;
        }
        answer->n += n > 0 ? (size_t)n : 0;
    }
}

static bool talk(int fd, struct weir_slice schema, struct weir_slice text, struct weir_buf *answer)
{
    struct timeval patience = {.tv_sec = WAIT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    uint64_t head = schema.n;
    bool is_sent = send_all(fd, weir_slice_make((const char *)&head, sizeof head)) &&
                   send_all(fd, schema) && send_all(fd, text);
    shutdown(fd, SHUT_WR);
    return is_sent && receive_all(fd, answer);
}

/* The verdict; words follow it in `answer`, which begins with the letter. */
static enum weir_xsd_verdict ask(struct weir_slice schema, struct weir_slice text,
                                 struct weir_buf *answer)
{
    int fds[2];
    weir_buf_clear(answer);
    if (getenv(IS_CHILD) != NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        return WEIR_XSD_LIMIT;
    }
    pid_t pid = spawn(fds[1]);
    close(fds[1]);
    if (pid > 0) {
        bool is_over = talk(fds[0], schema, text, answer);
        int status = 0;
        kill(pid, SIGKILL); /* it has said what it had to say, or never will */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        answer->n = is_over ? answer->n : 0;
    }
    close(fds[0]);
    return answer->n != 0 ? (enum weir_xsd_verdict)answer->p[0] : WEIR_XSD_LIMIT;
}

static void append_words(struct weir_buf *why, const struct weir_buf *answer)
{
    if (answer->n > 1) {
        weir_buf_append(why, weir_slice_make(answer->p + 1, answer->n - 1));
    } else {
        weir_buf_append(why, weir_slice_cstr(needs_too_much));
    }
}

struct weir_xsd *weir_xsd_new(struct weir_slice schema, struct weir_buf *why)
{
    if (schema.n > WEIR_XSD_MAX_BYTES) {
        weir_buf_printf(why, "a schema has at most %d bytes", WEIR_XSD_MAX_BYTES);
        return NULL;
    }
    struct weir_buf answer;
    weir_buf_init(&answer, MAX_ANSWER_BYTES);
    enum weir_xsd_verdict verdict = ask(schema, (struct weir_slice){0}, &answer);
    struct weir_xsd *x = NULL;
    if (verdict == WEIR_XSD_GOOD) {
        x = weir_mem_zalloc(sizeof *x);
        *x = (struct weir_xsd){.text = weir_mem_dup(schema.p, schema.n), .n = schema.n};
    } else {
        append_words(why, &answer);
    }
    weir_buf_dispose(&answer);
    return x;
}

void weir_xsd_free(struct weir_xsd *x)
{
    if (x != NULL) {
        free(x->text);
        free(x);
    }
}

int weir_xsd_check(const struct weir_xsd *x, struct weir_slice text, struct weir_builtin_run *run)
{
    struct weir_buf answer;
    if (text.n == 0) {
        return WEIR_EBAD;
    }
    weir_buf_init(&answer, MAX_ANSWER_BYTES);
    enum weir_xsd_verdict verdict = ask(weir_slice_make(x->text, x->n), text, &answer);
    weir_buf_dispose(&answer);
    switch (verdict) {
    case WEIR_XSD_GOOD:
        return 0;
    case WEIR_XSD_BROKEN:
        return WEIR_EBAD;
    case WEIR_XSD_MISMATCH:
        return WEIR_EINVAL;
    default:
        run->why = "the XML Schema needs too much time or memory for this text";
        return WEIR_ELIMIT;
    }
}
