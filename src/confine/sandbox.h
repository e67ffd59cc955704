/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops the privileges that a computing process does not need: root's user id, access to the file system, the network
 * and other processes, and unlimited memory and time. docs/decisions/0013-confined-reports.md lists the rest.
 */
#ifndef JESCOPE_CONFINE_SANDBOX_H
#define JESCOPE_CONFINE_SANDBOX_H

#include <gio/gio.h>

/*
 * For the calling process, which must have one thread, and its children, irrevocably. Open descriptors stay usable, and
 * PR_SET_PDEATHSIG stays set. Fails (G_IO_ERROR) if the kernel lacks a feature; then the process must end without
 * reading anything.
 */
gboolean sandbox_enter(GError **error);

/* Compiles the system call filter, once, which takes longer than everything else: a process that forks many children
 * that enter, or that has threads when it forks, calls this first. Thread-safe. */
void sandbox_prepare(void);

/* Lowers the limit of the calling process's address space below that of sandbox_enter(); to be called before it. */
void sandbox_limit_memory(guint64 bytes);

/* The same for the processor time of all its threads. */
void sandbox_limit_time(guint seconds);

/* The calling process has descriptors below BELOW; sandbox_enter() leaves room for as many new ones as without them. */
void sandbox_keep_files(guint below);

enum {
    SANDBOX_MAX_THREADS = 4096, /* of all processes together that sandbox_enter() makes another user's */
};

/* The user and group that root's processes become: ids that no user database gives out. A process of the same user
 * could stop and trace them, and 65534 may have others. Where such ids do not exist, in the user namespace of a
 * container, they become RIGHTS_NOBODY. */
#define SANDBOX_USER 0x7fff4a53

/* FALSE in a build with a sanitizer, whose runtime needs the blocked system calls: there only the limits are set. */
gboolean sandbox_is_complete(void);

#endif
