/* SPDX-License-Identifier: Apache-2.0 */
#include "http/mhd-source.h"

#include <glib-unix.h>

typedef struct {
    GSource source;
    struct MHD_Daemon *daemon;
    gpointer tag;
} MhdSource;

static gboolean
prepare(GSource *source, gint *timeout_ms)
{
    const MhdSource *self = (const MhdSource *)source;
    MHD_UNSIGNED_LONG_LONG wait_ms;
    *timeout_ms = -1;
    if (MHD_get_timeout(self->daemon, &wait_ms) == MHD_YES)
        *timeout_ms = (gint)MIN(wait_ms, G_MAXINT);
    return *timeout_ms == 0;
}

static gboolean
check(GSource *source)
{
    MhdSource *self = (MhdSource *)source;
    gint timeout_ms;
    return g_source_query_unix_fd(source, self->tag) != 0 || prepare(source, &timeout_ms);
}

static gboolean
dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    g_source_set_ready_time(source, -1);
    MHD_run(((MhdSource *)source)->daemon);
    return G_SOURCE_CONTINUE;
}

void
mhd_source_wake(GSource *source)
{
    g_source_set_ready_time(source, 0);
}

static GSourceFuncs source_functions = {.prepare = prepare, .check = check, .dispatch = dispatch};

GSource *
mhd_source_new(struct MHD_Daemon *daemon)
{
    GSource *source = g_source_new(&source_functions, sizeof(MhdSource));
    MhdSource *self = (MhdSource *)source;
    self->daemon = daemon;
    self->tag = g_source_add_unix_fd(source, MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, G_IO_IN);
    g_source_set_static_name(source, "libmicrohttpd");
    return source;
}
