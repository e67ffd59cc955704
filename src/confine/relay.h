/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connected unix socket whose other end another user has, for a library that reads from it: a thread passes bytes on.
 *
 * recv() would close the descriptors that a peer sends along, and the last reference to a socket is closed as slowly as
 * its owner has set (SO_LINGER), which a signal ends, or as the kernel needs (packet sockets), which nothing ends. So a
 * peer that sends any is disconnected, and they are closed by the death of a process (confine/closing.h).
 */
#ifndef JESCOPE_CONFINE_RELAY_H
#define JESCOPE_CONFINE_RELAY_H

#include <glib.h>
#include <sys/types.h>

typedef struct Relay Relay;

/* Makes FD, a connected unix socket of USER's from which nothing has been received, one end of a pair, non-blocking.
 * Bytes of the former peer arrive there, and those written there reach it, until either side closes or the peer
 * sends a descriptor. Once our side has closed, the peer has ten seconds to read the rest. NULL: FD is not connected
 * any more, because there is no thread or no descriptor. FD stays the caller's to close. SIGURG gets a handler in this
 * process. Thread-safe. */
Relay *relay_insert(int fd, uid_t user);

/* How many pieces of what the peer sends were read so far; the number begins again after 2^32. */
guint relay_pieces(Relay *relay);

/* Whether its thread and its two descriptors are no more, or wait to be closed (confine/closing.h). */
gboolean relay_has_ended(Relay *relay);

/* Leaves RELAY to itself. */
void relay_release(Relay *relay);

/* Has RELAY end at once, whatever is unread, and releases it. */
void relay_cut(Relay *relay);

/* Shuts down FD, as for relay_insert(), so that the caller can close it without delay; if descriptors were sent, FD is
 * another socket then, and another thread closes the former one (confine/closing.h). */
void relay_refuse(int fd, uid_t user);

#endif
