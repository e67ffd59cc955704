/* SPDX-License-Identifier: Apache-2.0 */
/* The memory control groups of a process, version 1 and 2, from /proc/PID/cgroup and /sys/fs/cgroup. */
#ifndef JESCOPE_TARGET_CGROUP_H
#define JESCOPE_TARGET_CGROUP_H

#include <glib.h>

typedef struct {
    guint64 current; /* bytes charged to its own group */
    guint64 max;     /* the lowest limit of the group and those above, in bytes; G_MAXUINT64: none */
} CgroupMemory;

/* The charges of a group in bytes; G_MAXUINT64: not reported by this kernel. Version 1 counts kernel stacks and page
 * tables only as part of kernel. stalled_ns is not a charge: the nanoseconds in which a process of the group waited for
 * memory (PSI, "some"). */
typedef struct {
    guint64 current;       /* the total, including descendant groups */
    guint64 anonymous;     /* anonymous memory of its processes */
    guint64 file;          /* page cache, shmem included */
    guint64 shmem;         /* tmpfs, memfd, shared memory */
    guint64 sockets;       /* socket buffers */
    guint64 kernel;        /* other kernel memory, including the next two */
    guint64 kernel_stacks; /* of threads */
    guint64 page_tables;
    guint64 inactive_file; /* of file: page cache that is reclaimed first */
    guint64 stalled_ns;
} CgroupCharges;

/* The path of the group of PID in the unified hierarchy, otherwise in systemd's own (cgroups(7)), to be freed:
 * "/system.slice/x.service". NULL if unknown. */
char *cgroup_path(int pid);

/* Reads the usage and limit of the group of PID. PROC and CGROUPS are "/proc" and "/sys/fs/cgroup". FALSE, with *MEMORY
 * unchanged, if the group is not visible, as that of a process in another cgroup namespace. */
gboolean cgroup_memory_read(const char *proc, const char *cgroups, int pid, CgroupMemory *memory);

/* A limit (memory.high included) and the bytes left before it; unused page cache counts as free. Both are G_MAXUINT64
 * without a limit. */
typedef struct {
    guint64 left;
    guint64 limit;
} CgroupRoom;

/* The tightest limits of the group of a process and its ancestors: of the groups without a second process, and of those
 * that contain it. */
typedef struct {
    CgroupRoom alone;
    CgroupRoom alone_to_max; /* ignoring memory.high, above which the group is throttled, not killed */
    CgroupRoom shared;
} CgroupRooms;

/* Reads the limits of the groups of PID; PAYER is the second process. FALSE, with no limits, if the groups are not
 * visible. If only PAYER's groups are not visible, it counts as a member of none. */
gboolean cgroup_rooms_read(const char *proc, const char *cgroups, int pid, int payer, CgroupRooms *rooms);

/* Reads the charges of the group of PID. FALSE, with *CHARGES unchanged, if the group is not visible. */
gboolean cgroup_charges_read(const char *proc, const char *cgroups, int pid, CgroupCharges *charges);

/* Follows the control group of one process, also after the process has ended. */
typedef struct CgroupGauge CgroupGauge;

typedef struct {
    guint64 limit;       /* CgroupRoom.limit of the group with the least bytes left; G_MAXUINT64: no limit */
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
    CGROUP_GAUGE_NO_GROUP, /* no visible group */
    CGROUP_GAUGE_ENDING,   /* the process is ending or has ended, and may have been moved to another group */
} CgroupGaugeResult;

/* Reads the group of PID. *READING is set only if the result is CGROUP_GAUGE_READ. */
CgroupGaugeResult cgroup_gauge_read(CgroupGauge *gauge, const char *proc, const char *cgroups, int pid,
                                    CgroupReading *reading);

/* The current CgroupReading.oom_kills of the group that was read last; G_MAXUINT64 if there is none or it was
 * removed. */
guint64 cgroup_gauge_oom_kills(const CgroupGauge *gauge);

#endif
