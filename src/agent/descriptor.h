/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's descriptors. They are in a descriptor table of the agent thread's own if the kernel allows one; otherwise
 * (before Linux 5.9, under some seccomp filters) they are in the host's table, so each is moved to a high number,
 * remembered by device and inode, and checked before every use: the host may have closed it and reused the number. Why:
 * docs/decisions/0002-agent-isolation.md.
 */
#ifndef JESCOPE_AGENT_DESCRIPTOR_H
#define JESCOPE_AGENT_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* number is written last and read first: a child forked at any moment sees a complete descriptor or none. */
typedef struct {
    int number; /* -1: none */
    dev_t device;
    ino_t inode;
} Descriptor;

#define DESCRIPTOR_NONE ((Descriptor){.number = -1})

typedef enum {
    DESCRIPTORS_KEEP_NONE,
    DESCRIPTORS_KEEP_STDERR, /* for JESCOPE_DEBUG */
} DescriptorsKept;

/* Gives the calling thread its own, empty descriptor table. False: it still shares the process's. */
bool descriptors_isolate(DescriptorsKept kept);

/* Takes ownership of RAW (may be -1: false) as a CLOEXEC descriptor with a high number. On failure RAW is closed,
 * *DESCRIPTOR untouched. */
bool descriptor_adopt(Descriptor *descriptor, int raw);

/* Describes RAW, which stays the caller's: DESCRIPTOR must not be closed. False, and none, if it is not open. */
bool descriptor_borrow(Descriptor *descriptor, int raw);

/* Whether the number still refers to the adopted file. */
bool descriptor_is_ours(const Descriptor *descriptor);

/* Closes it if it is still the adopted file, and invalidates it. */
void descriptor_close(Descriptor *descriptor);

#endif
