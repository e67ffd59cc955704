/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd's epoll descriptor as a source of the main loop. */
#ifndef JESCOPE_HTTP_MHD_SOURCE_H
#define JESCOPE_HTTP_MHD_SOURCE_H

#include <glib.h>
#include <microhttpd.h>

/* DAEMON was started with MHD_USE_EPOLL and without threads, and must outlive the source's attachment. */
GSource *mhd_source_new(struct MHD_Daemon *daemon);

/* After MHD_resume_connection(): libmicrohttpd does not wake an external loop by itself. */
void mhd_source_wake(GSource *source);

#endif
