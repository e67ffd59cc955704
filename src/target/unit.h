/* SPDX-License-Identifier: Apache-2.0 */
/* The unit of systemd that a process is in, and what its manager says of the end (org.freedesktop.systemd1(5)). */
#ifndef JESCOPE_TARGET_UNIT_H
#define JESCOPE_TARGET_UNIT_H

#include <glib.h>
#include <sys/types.h>

enum {
    UNIT_NAME_SIZE = 256,  /* of systemd, with the NUL */
    UNIT_RESULT_SIZE = 32, /* the longest one is "exec-condition" */
};

typedef struct {
    char name[UNIT_NAME_SIZE]; /* "redis-server.service", "run-r12.scope" */
    uid_t manager;             /* the user whose manager it is; (uid_t)-1: the system's */
} Unit;

/* The innermost part of the path of a control group that ends in SUFFIX, to be freed; NULL: none does. */
char *unit_innermost(const char *path, const char *suffix);

/* The service or scope of such a path. FALSE, *UNIT untouched: it is in none. */
gboolean unit_of_path(const char *path, Unit *unit);

typedef struct {
    char result[UNIT_RESULT_SIZE]; /* "success", "oom-kill", "exit-code", "watchdog"...; "": unknown */
    gboolean has_status;           /* the process was the unit's main process: */
    int status;                    /* as of waitpid(2) */
} UnitEnd;

/* Asks the manager of UNIT over D-Bus how PID, which has ended, has done so; waits until it knows, UNTIL_US (monotonic)
 * at the latest. Of a process that is not the unit's main one, only a result other than "success" counts. FALSE,
 * *END without a result: no manager answers, or it does not know. A manager of another user is not asked. */
gboolean unit_end_read(const Unit *unit, pid_t pid, gint64 until_us, UnitEnd *end);

#endif
