/* SPDX-License-Identifier: Apache-2.0 */
#include "target/pressure.h"

#include "target/cgroup.h"
#include "target/process.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    TRIGGER_MAX = 256,         /* bytes */
    ENVIRONMENT_MAX = 1 << 20, /* maximum bytes that are read */
};

struct PressureWatch {
    int fd;
    gboolean is_socket;
};

/* The variable NAME of ENVIRONMENT, to be freed; NULL if it is not set. */
static char *
read_variable(const char *environment, gsize length, const char *name)
{
    const gsize name_length = strlen(name);
    for (const char *at = environment, *end = environment + length; at < end; at += strlen(at) + 1)
        if (strncmp(at, name, name_length) == 0 && at[name_length] == '=')
            return g_strdup(at + name_length + 1);
    return NULL;
}

static gboolean
is_pressure_file(const char *path, int pid)
{
    g_autofree char *group = cgroup_path(pid);
    g_autofree char *unified =
        group != NULL ? g_build_filename("/sys/fs/cgroup", group, "memory.pressure", NULL) : NULL;
    g_autofree char *hybrid =
        group != NULL ? g_build_filename("/sys/fs/cgroup/unified", group, "memory.pressure", NULL) : NULL;
    return strcmp(path, "/proc/pressure/memory") == 0 ||
           (group != NULL && strstr(group, "/..") == NULL && (strcmp(path, unified) == 0 || strcmp(path, hybrid) == 0));
}

/* Whether TEXT is a trigger: "some 200000 2000000", with or without a NUL at its end. */
static gboolean
is_trigger(const char *text, gsize length)
{
    return length <= TRIGGER_MAX && strnlen(text, length) + 1 >= length &&
           g_regex_match_simple("^(some|full) [0-9]{1,10} [0-9]{1,10}\\n?$", text, (GRegexCompileFlags)0,
                                (GRegexMatchFlags)0);
}

static int
open_file(const char *path, const char *trigger, gsize length)
{
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    /* The kernel expects the terminating NUL. */
    if (fd >= 0 && write(fd, trigger, strnlen(trigger, length) + 1) > 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static int
open_socket(const char *path, const char *text, gsize length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = -1;
    if (g_strlcpy(address.sun_path, path, sizeof(address.sun_path)) < sizeof(address.sun_path))
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        (length == 0 || send(fd, text, length, MSG_NOSIGNAL) == (gssize)length))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Whether all its user ids are ours: the caller chooses the environment of a set-user-ID program. */
static gboolean
is_ours(const Process *process)
{
    return process_user(process) == geteuid() && process_sees_our_files(process->pid);
}

/* Whether the process was ours when its environment was read and is still the same: meanwhile, it may have executed
 * another program, or its pid may have been reused. */
static gboolean
was_ours(const Process *before)
{
    Process now;
    return is_ours(before) && process_look(before->pid, &now) && now.start_time == before->start_time && is_ours(&now);
}

static gboolean
is_socket(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

PressureWatch *
pressure_watch_new(int pid)
{
    Process process;
    gsize length = 0, written = 0;
    g_autofree char *environment =
        process_look(pid, &process) ? process_text(pid, "environ", ENVIRONMENT_MAX, &length) : NULL;
    if (environment == NULL)
        return NULL;
    g_autofree char *path = read_variable(environment, length, "MEMORY_PRESSURE_WATCH");
    g_autofree char *encoded = read_variable(environment, length, "MEMORY_PRESSURE_WRITE");
    if (path == NULL || path[0] != '/')
        return NULL;
    g_autofree guchar *decoded = encoded != NULL ? g_base64_decode(encoded, &written) : NULL;
    g_autofree char *text = g_strndup((const char *)decoded, written);
    const gboolean file = is_pressure_file(path, pid);
    int fd = -1;
    if (file && is_trigger(text, written))
        fd = open_file(path, text, written);
    else if (!file && was_ours(&process) && is_socket(path))
        fd = open_socket(path, (const char *)decoded, written);
    if (fd < 0)
        return NULL;
    PressureWatch *watch = g_new(PressureWatch, 1);
    *watch = (PressureWatch){fd, !file};
    return watch;
}

void
pressure_watch_free(PressureWatch *watch)
{
    if (watch == NULL)
        return;
    close(watch->fd);
    g_free(watch);
}

gboolean
pressure_watch_take(PressureWatch *watch)
{
    char bytes[256];
    struct pollfd fd = {.fd = watch->fd, .events = watch->is_socket ? POLLIN : POLLPRI};
    if (poll(&fd, 1, 0) <= 0)
        return FALSE;
    /* Several messages count as one; the end of the connection does not count. */
    return watch->is_socket ? recv(watch->fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0
                            : (fd.revents & (POLLPRI | POLLERR)) == POLLPRI;
}
