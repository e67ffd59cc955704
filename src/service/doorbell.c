/* SPDX-License-Identifier: Apache-2.0 */
#include "service/doorbell.h"

#include "target/discovery.h"

#include <errno.h>
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
    BUFFER = 16 * 1024,
};

struct Doorbell {
    int inotify; /* -1: not possible */
    GSource *source;
    GPtrArray *directories;
    DoorbellFunc func;
    gpointer data;
};

static void
ring(const Doorbell *doorbell, const struct inotify_event *event)
{
    int pid;
    /* "PID.STARTTIME.sock" */
    if (event->len > 0 && sscanf(event->name, "%d.", &pid) == 1 && g_str_has_suffix(event->name, ".sock"))
        doorbell->func((pid_t)pid, doorbell->data);
}

static gboolean
on_events(int fd, GIOCondition condition, gpointer data)
{
    const Doorbell *doorbell = data;
    _Alignas(struct inotify_event) char buffer[BUFFER];
    ssize_t length;
    while ((length = read(fd, buffer, sizeof(buffer))) > 0)
        for (ssize_t at = 0; at < length;) {
            const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
            ring(doorbell, event);
            at += (ssize_t)(sizeof(*event) + event->len);
        }
    return length == 0 || (errno != EAGAIN && errno != EINTR) ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

void
doorbell_renew(Doorbell *doorbell)
{
    for (guint i = 0; doorbell->inotify >= 0 && i < doorbell->directories->len; i++) {
        const char *path = doorbell->directories->pdata[i];
        g_mkdir(path, S_IRWXU);
        inotify_add_watch(doorbell->inotify, path, IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW);
    }
}

static GPtrArray *
own_directories(void)
{
    Process self;
    return process_read(getpid(), &self) ? discovery_directories(&self) : g_ptr_array_new();
}

Doorbell *
doorbell_new(GMainContext *context, DoorbellFunc func, gpointer data)
{
    Doorbell *doorbell = g_new0(Doorbell, 1);
    doorbell->func = func;
    doorbell->data = data;
    doorbell->directories = own_directories();
    doorbell->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (doorbell->inotify < 0)
        return doorbell;
    doorbell->source = g_unix_fd_source_new(doorbell->inotify, G_IO_IN);
    g_source_set_callback(doorbell->source, (GSourceFunc)(void (*)(void))on_events, doorbell, NULL);
    g_source_attach(doorbell->source, context);
    doorbell_renew(doorbell);
    return doorbell;
}

void
doorbell_free(Doorbell *doorbell)
{
    if (doorbell->source != NULL) {
        g_source_destroy(doorbell->source);
        g_source_unref(doorbell->source);
        close(doorbell->inotify);
    }
    g_ptr_array_unref(doorbell->directories);
    g_free(doorbell);
}
