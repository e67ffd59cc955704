/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what life.h reads. Belongs to one thread. */
#ifndef JESCOPE_BLACKBOX_KEEPER_H
#define JESCOPE_BLACKBOX_KEEPER_H

#include "blackbox/life.h"
#include "target/process.h"

enum {
    BLACKBOX_SNAPSHOTS_MIN = 2, /* the first one and the last */
};

/* What stays: of each life the first snapshot and the latest ones. */
typedef struct {
    guint snapshots;     /* of one life, at least 2 */
    guint lives;         /* ended ones of one name and user */
    guint lives_of_user; /* ended ones of one user, whatever their names */
    guint64 bytes;       /* below the directory, all together: the user of whom most is kept loses the oldest; the last
                          * snapshot of a life that is watched stays */
} BlackboxQuota;

extern const BlackboxQuota blackbox_quota_default;

typedef struct BlackboxKeeper BlackboxKeeper;

/* For PROCESS. An earlier jescope's snapshots of the same life are continued. */
BlackboxKeeper *blackbox_keeper_new(const char *directory, const Process *process, const BlackboxQuota *quota,
                                    GError **error);
void blackbox_keeper_set_quota(BlackboxKeeper *keeper, const BlackboxQuota *quota);
void blackbox_keeper_free(BlackboxKeeper *keeper);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BlackboxKeeper, blackbox_keeper_free)

/* Keeps SNAPSHOT, whose number, dump, dump_bytes and owner are set by this, with the dump DESCRIPTOR (-1: none, missing
 * says why); then removes what the quota does not allow. */
gboolean blackbox_keeper_add(BlackboxKeeper *keeper, BlackboxSnapshot *snapshot, int descriptor, GError **error);

gboolean blackbox_keeper_end(BlackboxKeeper *keeper, const BlackboxEnd *end, GError **error);

#endif
