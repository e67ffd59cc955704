/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/notify.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    FIRST_DESCRIPTOR = 3,
    DESCRIPTORS_MAX = 64,
};

/* A path, or the name of an abstract socket after '@'. 0: neither. */
static socklen_t
address_of(const char *name, struct sockaddr_un *address)
{
    size_t length = strlen(name);
    if ((name[0] != '/' && name[0] != '@') || length >= sizeof(address->sun_path))
        return 0;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, name, length);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static int connected = -1;

/* A socket connected to the supervisor, -1: none. */
static int
connect_to_supervisor(void)
{
    struct sockaddr_un address;
    const char *name = g_getenv("NOTIFY_SOCKET");
    socklen_t size = name != NULL ? address_of(name, &address) : 0;
    int fd = size != 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0 && connect(fd, (const struct sockaddr *)(const void *)&address, size) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void
notify_connect(void)
{
    connected = connect_to_supervisor();
}

void
notify_send(const char *state)
{
    /* A restarted supervisor listens on another socket. */
    if (connected >= 0 && send(connected, state, strlen(state), MSG_NOSIGNAL) >= 0)
        return;
    int fd = connect_to_supervisor();
    if (fd < 0)
        return;
    send(fd, state, strlen(state), MSG_NOSIGNAL);
    close(fd);
}

void
notify_reloading(void)
{
    g_autofree char *state = g_strdup_printf("RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT, g_get_monotonic_time());
    notify_send(state);
}

/* The number in variable NAME, or 0. */
static guint64
number_of(const char *name)
{
    const char *text = g_getenv(name);
    guint64 value;
    return text != NULL && g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, &value, NULL) ? value : 0;
}

static gboolean
on_beat(gpointer data)
{
    notify_send("WATCHDOG=1");
    return G_SOURCE_CONTINUE;
}

guint
notify_watch(void)
{
    guint64 interval_us = number_of("WATCHDOG_USEC"), pid = number_of("WATCHDOG_PID");
    if (interval_us == 0 || (pid != 0 && pid != (guint64)getpid()))
        return 0;
    return g_timeout_add((guint)MIN(MAX(interval_us / 2000, 1), G_MAXUINT), on_beat, NULL);
}

GArray *
notify_take_descriptors(void)
{
    GArray *taken = g_array_new(FALSE, FALSE, sizeof(int));
    guint64 count = number_of("LISTEN_FDS");
    if (number_of("LISTEN_PID") == (guint64)getpid())
        for (int fd = FIRST_DESCRIPTOR; fd < FIRST_DESCRIPTOR + (int)MIN(count, DESCRIPTORS_MAX); fd++)
            if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
                g_array_append_val(taken, fd);
    g_unsetenv("LISTEN_FDS");
    g_unsetenv("LISTEN_PID");
    g_unsetenv("LISTEN_FDNAMES");
    return taken;
}
