/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on other users' processes that require privileges. A program performs them itself unless reach_through()
 * was called: `jescope serve` as root drops its privileges and sends requests to a small process that keeps them
 * (src/broker/).
 */
#ifndef JESCOPE_TARGET_REACH_H
#define JESCOPE_TARGET_REACH_H

#include "target/process.h"
#include "target/target.h"

typedef enum {
    REACH_MAPS,
    REACH_ROLLUP,
    REACH_SMAPS,
    REACH_N_FILES,
} ReachFile;

/* A dump for a file that the target names (own-dump.h). */
typedef struct {
    const Process
        *process; /* as it was found: EPERM if its ids are others now (process-change.h), ESRCH if it has ended */
    pid_t inner;  /* its pid in its own namespace */
    uid_t user;   /* whose dump it is (target_user()): EPERM if the process has more rights now */
    const char *prefix;
    int dump;
} ReachOwnDump;

/* Thread-safe. Descriptors belong to the caller; -1 with errno on failure. */
typedef struct {
    uid_t user; /* the user whose privileges are used */
    int (*open)(const Process *found, ReachFile file);
    int (*connect)(const Process *process, const char *path); /* agent_connect() */
    char *(*variable)(pid_t pid, const char *name);           /* process_variable() */
    Target *(*target)(const Process *process, const char *address, TargetVia via, GError **error);
    int (*own_dump)(const ReachOwnDump *wanted); /* own_dump_store() */
    int (*setting)(const char *path);
    int (*exit_events)(void); /* exit_events_subscribe(); ends with that process */
    void (*watch)(int inotify);
    void (*unlink)(const char *path);
} ReachOps;

/* Performs the operations through REACH, which is borrowed. To be called before threads are created. */
void reach_through(const ReachOps *reach);

/* The argument of reach_through(); NULL if this program performs the operations itself. */
const ReachOps *reach_elsewhere(void);

/* The user whose privileges apply: the caller's, or that of the process that acts for it. */
uid_t reach_user(void);

/* The name of FILE in /proc/PID. */
const char *reach_file_name(ReachFile file);

enum { REACH_FILE_MAX = 64 << 20 }; /* bytes read, at most: 65530 mappings with names of usual length */

/* Opens a file of the operator (configuration, certificate, key, tokens) read-only, without waiting for a writer. */
int reach_open_setting(const char *path);
char *reach_read_setting(const char *path, GError **error); /* G_FILE_ERROR */

/* Removes a socket of this program. */
void reach_unlink(const char *path);

#endif
