/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that is left to this process for the outputs of targets, and for samples of many size classes. */
#ifndef JESCOPE_TARGET_OWN_ROOM_H
#define JESCOPE_TARGET_OWN_ROOM_H

#include <glib.h>
#include <sys/types.h>

/* The value after WORD ("MemAvailable:") in /proc/meminfo in bytes; G_MAXUINT64 if unknown. */
guint64 own_room_machine(const char *word);

/* Whether this process may have more memory charged to itself for an output of an account whose outputs HELD bytes;
 * otherwise its own control groups, or the machine, are nearly full, or have less left than the account holds: so that
 * one account has at most half of what there is, two have a third each... (dynamic thresholds, Choudhury and Hahne
 * 1998). PROC and CGROUPS are "/proc" and "/sys/fs/cgroup" but in tests. */
gboolean own_room_is_left(const char *proc, const char *cgroups, guint64 held);

/* The same for this machine and its groups. */
gboolean own_room_may_hold(guint64 held);

/* Adds BYTES to what the outputs of ACCOUNT (confine/account.h) hold. Thread-safe. */
void own_room_hold(uid_t account, gint64 bytes);
guint64 own_room_held(uid_t account);

#endif
