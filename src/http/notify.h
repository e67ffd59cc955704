/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What systemd (or another supervisor that speaks as it does) hands over and wants to know: sd_notify(3),
 * sd_listen_fds(3), sd_watchdog_enabled(3). Their protocols are promised to stay and take a page of code;
 * docs/decisions/0009-http-transport.md says why that page is here.
 */
#ifndef JESCOPE_HTTP_NOTIFY_H
#define JESCOPE_HTTP_NOTIFY_H

#include <glib.h>

/* Sends STATE, such as "READY=1\nSTATUS=...", to $NOTIFY_SOCKET; nothing where that is not set or nobody listens. */
void notify_send(const char *state);

/* Tells that a reload begins; it ends with "READY=1". */
void notify_reloading(void);

/* From now on the supervisor hears that the main loop turns, twice as often as it asks to. Returns a source id, 0 if it
 * does not ask. */
guint notify_watch(void);

/* The listening sockets that were handed over, of int; empty if none were. They get close-on-exec, and the variables
 * that announce them go: they are not for our children. Call it once, before there are threads. */
GArray *notify_take_descriptors(void);

#endif
