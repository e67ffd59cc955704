/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the files that life.h reads. A keeper belongs to one thread. */
#ifndef JESCOPE_BLACKBOX_KEEPER_H
#define JESCOPE_BLACKBOX_KEEPER_H

#include "blackbox/life.h"
#include "target/process.h"

enum {
    BLACKBOX_SNAPSHOTS_MIN = 2, /* the first and the last */
};

/* Limits of what is kept. Of each life, the first snapshot and the latest ones stay. */
typedef struct {
    guint snapshots;     /* per life, at least 2 */
    guint lives;         /* ended ones per name and user */
    guint lives_of_user; /* ended ones per user */
    guint64 bytes; /* in total below the directory: beyond it, the user with the most bytes loses the oldest; the dump
                      of the last snapshot of a life that is watched only if that is not enough */
} BlackboxQuota;

extern const BlackboxQuota blackbox_quota_default;

typedef struct BlackboxKeeper BlackboxKeeper;

/* A keeper for PROCESS, which continues the snapshots of an earlier jescope for the same life. NULL with
 * BLACKBOX_ERROR_FILE or _BUSY. */
BlackboxKeeper *blackbox_keeper_new(const char *directory, const Process *process, const BlackboxQuota *quota,
                                    GError **error);
void blackbox_keeper_free(BlackboxKeeper *keeper);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlackboxKeeper, blackbox_keeper_free)

/* Keeps SNAPSHOT with the dump DESCRIPTOR (-1: none, SNAPSHOT->missing says why), and sets its number, dump,
 * dump_bytes, owner and sole_user; then removes what exceeds the quota. */
gboolean blackbox_keeper_add(BlackboxKeeper *keeper, BlackboxSnapshot *snapshot, int descriptor, GError **error);

gboolean blackbox_keeper_end(BlackboxKeeper *keeper, const BlackboxEnd *end, GError **error);

#endif
