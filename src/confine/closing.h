/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that closes sockets from which not all was received, for one that must not wait (aside_close()). However
 * many they are, it starts a hundred processes per second for them at most. It ends when there are none.
 */
#ifndef JESCOPE_CONFINE_CLOSING_H
#define JESCOPE_CONFINE_CLOSING_H

#include <glib.h>
#include <sys/types.h>

/* Closes FD soon, to which USER has sent. Thread-safe. */
void closing_add(int fd, uid_t user);

/* FALSE: until some of them are closed, no others are to be accepted. Thread-safe. */
gboolean closing_has_room(void);

#endif
