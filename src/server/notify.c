#include "server/notify.h"

#include "obs/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MARGIN_MS = 10 * 1000 }; /* after the drain: the last telemetry, memory given back */

/* Its length, or 0: nothing that can be an address. */
static socklen_t read_address(const char *name, struct sockaddr_un *out)
{
    size_t n = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || n < 2 || n >= sizeof out->sun_path) {
        return 0;
    }
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path, name, n);
    if (name[0] == '@') {
        out->sun_path[0] = '\0';
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

/* 0 or an errno. */
static int send_to(const char *name, const char *text)
{
    struct sockaddr_un address;
    socklen_t n = read_address(name, &address);
    if (n == 0) {
        return EINVAL;
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return errno;
    }
    ssize_t sent =
        sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address, n);
    int err = sent < 0 ? errno : 0;
    close(fd);
    return err;
}

static void tell(const char *text)
{
    const char *name = getenv("NOTIFY_SOCKET");
    int err = name != NULL && name[0] != '\0' ? send_to(name, text) : 0;
    if (err != 0) {
        WEIR_LOG_WARN("server", NULL, "systemd could not be told", weir_log_cstr("socket", name),
                      weir_log_cstr("why", strerror(err)));
    }
}

void weir_notify_ready(void)
{
    tell("READY=1\n");
}

/* Newer systemd compares the time with that of its own signal. */
void weir_notify_reloading(void)
{
    struct timespec now;
    char text[80];
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n",
             (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    tell(text);
}

void weir_notify_stopping(uint64_t drain_ms)
{
    char text[80];
    snprintf(text, sizeof text, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRIu64 "\n",
             (drain_ms + MARGIN_MS) * 1000);
    tell(text);
}
