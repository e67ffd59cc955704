/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that this process's memory control group, to which a dump is charged, has space for it. */
#ifndef JESCOPE_EMBED_OWN_HEADROOM_H
#define JESCOPE_EMBED_OWN_HEADROOM_H

#include "wire/outcome.h"

#include <stdint.h>

/* The bytes left to the limit of a group, counting inactive page cache as free, and the limit. Both UINT64_MAX: no
 * limit. */
typedef struct {
    uint64_t left;
    uint64_t limit;
} OwnRoom;

/* The room of the group with the fewest bytes left, among this process's group and its ancestors. FILE is
 * "/proc/self/cgroup", GROUPS "/sys/fs/cgroup". If these cannot be read, no limit is assumed. */
OwnRoom own_headroom_read(const char *file, const char *groups);

/* OUTCOME_NO_HEADROOM if a dump of EXPECTED bytes may not fit into ROOM. */
Outcome own_headroom_judge(const OwnRoom *room, uint64_t expected, Failure *failure);

/* Checks for a dump taken now, of at most MOST bytes (0: any). With the turn. Queries jemalloc only if there is a
 * limit. */
Outcome own_headroom_check(uint64_t most, Failure *failure);

#endif
