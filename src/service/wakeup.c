/* SPDX-License-Identifier: Apache-2.0 */
#include "service/wakeup.h"

#include "target/discovery.h"
#include "target/reach.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
    BUFFER = 16 * 1024,
    BUFFERS_AT_ONCE = 16, /* others in the main context have their turn, however fast more comes */
};

struct Wakeup {
    int inotify; /* -1: unavailable */
    GSource *source;
    WakeupFunc func;
    gpointer data;
};

static void
wake(const Wakeup *wakeup, const struct inotify_event *event)
{
    int pid;
    /* "PID.STARTTIME.sock" */
    if (event->len > 0 && sscanf(event->name, "%d.", &pid) == 1 && g_str_has_suffix(event->name, ".sock"))
        wakeup->func((pid_t)pid, wakeup->data);
}

static gboolean
on_events(int fd, GIOCondition condition, gpointer data)
{
    const Wakeup *wakeup = data;
    _Alignas(struct inotify_event) char buffer[BUFFER];
    ssize_t length = 1;
    for (guint i = 0; i < BUFFERS_AT_ONCE && (length = read(fd, buffer, sizeof(buffer))) > 0; i++)
        for (ssize_t at = 0; at < length;) {
            const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
            wake(wakeup, event);
            at += (ssize_t)(sizeof(*event) + event->len);
        }
    return length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR)) ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

void
wakeup_renew(Wakeup *wakeup)
{
    if (wakeup->inotify >= 0)
        discovery_watch_own(wakeup->inotify);
}

Wakeup *
wakeup_new(GMainContext *context, WakeupFunc func, gpointer data)
{
    Wakeup *wakeup = g_new0(Wakeup, 1);
    wakeup->func = func;
    wakeup->data = data;
    wakeup->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (wakeup->inotify < 0)
        return wakeup;
    wakeup->source = g_unix_fd_source_new(wakeup->inotify, G_IO_IN);
    g_source_set_callback(wakeup->source, (GSourceFunc)(void (*)(void))on_events, wakeup, NULL);
    g_source_attach(wakeup->source, context);
    wakeup_renew(wakeup);
    return wakeup;
}

void
wakeup_free(Wakeup *wakeup)
{
    if (wakeup->source != NULL) {
        g_source_destroy(wakeup->source);
        g_source_unref(wakeup->source);
        close(wakeup->inotify);
    }
    g_free(wakeup);
}
