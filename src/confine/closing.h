/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that has sockets from which not all was received closed by children that end (confine/last-close.h), for
 * threads that must not wait. Each account (confine/account.h) has children of its own, and no one waits for another's:
 * a hundred begin per second at most, and the more there are, the more sockets each of them closes. The thread ends
 * when there are no sockets.
 */
#ifndef JESCOPE_CONFINE_CLOSING_H
#define JESCOPE_CONFINE_CLOSING_H

#include <glib.h>
#include <sys/types.h>

/* Closes FD soon, to which USER has sent. Thread-safe. */
void closing_add(int fd, uid_t user);

/* FALSE: until some of them are handed to a child, no others are to be accepted. Thread-safe. */
gboolean closing_has_room(void);

/* Whether USER's account must not connect, because of the number of its sockets. Thread-safe. */
gboolean closing_is_busy_for(uid_t user);

#endif
