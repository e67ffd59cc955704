/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last close of sockets that takes as long as their user likes, or as the kernel needs for what he has sent: it is
 * left to the end of a process.
 */
#ifndef JESCOPE_CONFINE_LAST_CLOSE_H
#define JESCOPE_CONFINE_LAST_CLOSE_H

#include <glib.h>
#include <sys/types.h>

/* Closes the N descriptors FDS, whose last references a child has then that ends, and that is to be waited for. -1:
 * there is no child, and they stay open. Thread-safe. */
pid_t last_close_start(const int *fds, guint n);

/* For the end of this process, which starts no other child: what other users have sent by unix sockets, or by
 * connections that were not accepted, is closed by a child that ends after it. */
void last_close_leave(void);

#endif
