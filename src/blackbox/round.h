/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses which of many targets to read now: readings take a small part of a processor's time, which users share.
 * Pure. */
#ifndef JESCOPE_BLACKBOX_ROUND_H
#define JESCOPE_BLACKBOX_ROUND_H

#include <glib.h>
#include <sys/types.h>

enum {
    ROUND_OF_USER = 16, /* targets of one user in a round */
};

/* A target that is due. */
typedef struct {
    gint64 since_us; /* when it became due */
    uid_t account;
    gboolean ended; /* it is always chosen */
    gpointer data;
} RoundEntry;

/* Reduces DUE (of RoundEntry) to the targets of this round: those of each user that have waited longest. The others
 * stay due. */
void round_choose(GArray *due);

#endif
