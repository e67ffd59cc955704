/* SPDX-License-Identifier: Apache-2.0 */
/* The memory control groups of a process, version 1 and 2, as /proc/PID/cgroup and /sys/fs/cgroup show them. */
#ifndef JESCOPE_TARGET_CGROUP_H
#define JESCOPE_TARGET_CGROUP_H

#include <glib.h>

typedef struct {
    guint64 current; /* bytes charged to its own group */
    guint64 max;     /* the lowest limit of the group and those above, in bytes; G_MAXUINT64: none */
} CgroupMemory;

/* What a group is charged for, in bytes; G_MAXUINT64: this kernel does not tell. Version 1 has no figures of kernel
 * stacks and page tables of their own, they are in kernel. stalled_ns is not a charge: the nanoseconds in which one of
 * its processes waited for memory (PSI, "some"). */
typedef struct {
    guint64 current;       /* all of it, groups below included */
    guint64 anonymous;     /* anonymous memory of its processes */
    guint64 file;          /* page cache, shmem included */
    guint64 shmem;         /* tmpfs, memfd, shared memory */
    guint64 sockets;       /* socket buffers */
    guint64 kernel;        /* other kernel memory, the next two included */
    guint64 kernel_stacks; /* of threads */
    guint64 page_tables;
    guint64 inactive_file; /* of file: page cache that is given up first */
    guint64 stalled_ns;
} CgroupCharges;

/* The path of the group of PID in the unified hierarchy, or else in systemd's own (cgroups(7)):
 * "/system.slice/x.service". NULL: unknown. */
char *cgroup_path(int pid);

/* PROC and CGROUPS are "/proc" and "/sys/fs/cgroup". FALSE, *MEMORY untouched: nothing can be seen from here, as of a
 * process in another cgroup namespace. */
gboolean cgroup_memory_read(const char *proc, const char *cgroups, int pid, CgroupMemory *memory);

/* The bytes left before a limit (memory.high included), unused page cache counted as free; and that limit. Both
 * G_MAXUINT64: no limit. */
typedef struct {
    guint64 left;
    guint64 limit;
} CgroupRoom;

/* Of the group of a process and those above it, where least is left: of those that do not hold a second process as
 * well, and of those that do. */
typedef struct {
    CgroupRoom alone;
    CgroupRoom alone_to_max; /* without regard to memory.high, above which the group is slowed down and not killed */
    CgroupRoom shared;
} CgroupRooms;

/* Of the groups of PID; PAYER is the second process. FALSE, no limits: nothing can be seen from here. If only the
 * groups of PAYER cannot be seen, it is in none of them. */
gboolean cgroup_rooms_read(const char *proc, const char *cgroups, int pid, int payer, CgroupRooms *rooms);

/* What the group of PID is charged for. FALSE, *CHARGES untouched: nothing can be seen from here. */
gboolean cgroup_charges_read(const char *proc, const char *cgroups, int pid, CgroupCharges *charges);

/* The control group of one process over time, also when the process has ended. */
typedef struct CgroupGauge CgroupGauge;

typedef struct {
    guint64 limit;       /* as CgroupRoom.limit, of the group where least is left; G_MAXUINT64: no limit */
    guint64 used;        /* bytes charged to that group, without unused page cache */
    guint64 oom_kills;   /* processes of its own group that the kernel has killed for lack of memory */
    guint64 high_events; /* of its own group: how often memory.high was reached; 0 in version 1 */
    guint64 stalled_us;  /* microseconds in which one of its processes waited for memory (PSI, "some"); 0: unknown */
} CgroupReading;

CgroupGauge *cgroup_gauge_new(void);
void cgroup_gauge_free(CgroupGauge *gauge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CgroupGauge, cgroup_gauge_free)

typedef enum {
    CGROUP_GAUGE_READ,
    CGROUP_GAUGE_NO_GROUP, /* none that can be seen from here */
    CGROUP_GAUGE_ENDING,   /* the process ends, or has ended: the group it is in now need not be the one it was in */
} CgroupGaugeResult;

/* *READING is untouched but for CGROUP_GAUGE_READ. */
CgroupGaugeResult cgroup_gauge_read(CgroupGauge *gauge, const char *proc, const char *cgroups, int pid,
                                    CgroupReading *reading);

/* CgroupReading.oom_kills of now, of the group that was read last; G_MAXUINT64: none was, or it has been removed. */
guint64 cgroup_gauge_oom_kills(const CgroupGauge *gauge);

#endif
