/* SPDX-License-Identifier: Apache-2.0 */
/* A dump of this process is charged to its own memory control group, which may have no room for it. */
#ifndef JESCOPE_EMBED_OWN_HEADROOM_H
#define JESCOPE_EMBED_OWN_HEADROOM_H

#include "wire/outcome.h"

#include <stdint.h>

/* Bytes before the limit of a group, unused page cache counted as free; and that limit. Both UINT64_MAX: no limit. */
typedef struct {
    uint64_t left;
    uint64_t limit;
} OwnRoom;

/* Of the group of this process and those above it, where least is left. FILE is "/proc/self/cgroup", GROUPS
 * "/sys/fs/cgroup". No limit where nothing can be seen. */
OwnRoom own_headroom_read(const char *file, const char *groups);

/* OUTCOME_NO_HEADROOM: a dump of EXPECTED bytes may not fit into ROOM. */
Outcome own_headroom_judge(const OwnRoom *room, uint64_t expected, Failure *failure);

/* The same for a dump that is taken now, of at most MOST bytes (0: any). Under the turn. Asks jemalloc only if there is
 * a limit. */
Outcome own_headroom_check(uint64_t most, Failure *failure);

#endif
