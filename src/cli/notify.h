/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface to systemd and compatible supervisors: sd_notify(3), sd_listen_fds(3), sd_watchdog_enabled(3).
 * docs/decisions/0009-http-transport.md explains why libsystemd is not used.
 */
#ifndef JESCOPE_CLI_NOTIFY_H
#define JESCOPE_CLI_NOTIFY_H

#include <glib.h>

/* Sends STATE, such as "READY=1\nSTATUS=...", to $NOTIFY_SOCKET; does nothing if that is not set or has no listener. */
void notify_send(const char *state);

/* Keeps a connection to $NOTIFY_SOCKET that remains usable after this process has become a user without write
 * permission. */
void notify_connect(void);

/* Reports that a reload begins; it ends with "READY=1". */
void notify_reloading(void);

/* Starts watchdog notifications from the main loop, at twice the requested rate. Returns a source id, 0 if not
 * requested. */
guint notify_watch(void);

/* The listening sockets passed by the supervisor, of int; empty if there are none. Makes them close-on-exec and removes
 * the variables that announce them, which are not for child processes. To be called once, before there are threads. */
GArray *notify_take_descriptors(void);

#endif
