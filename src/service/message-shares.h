/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds the messages that processes of one user cause: some at once, then one in a time. Thread-safe. */
#ifndef JESCOPE_SERVICE_MESSAGE_SHARES_H
#define JESCOPE_SERVICE_MESSAGE_SHARES_H

#include <glib.h>
#include <sys/types.h>

typedef struct MessageShares MessageShares;

/* AT_ONCE messages, and one more after EVERY_US each. */
MessageShares *message_shares_new(guint at_once, gint64 every_us);
void message_shares_free(MessageShares *shares);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(MessageShares, message_shares_free)

/* Whether ACCOUNT (confine/account.h; -1: no user's) may cause a message at NOW_US (monotonic). If so, sets *UNTOLD to
 * the number of those that it might not cause since the last one. */
gboolean message_shares_take(MessageShares *shares, uid_t account, gint64 now_us, guint *untold);

#endif
