/* SPDX-License-Identifier: Apache-2.0 */
/* The systemd unit of a process, and how the process ended according to its manager (org.freedesktop.systemd1(5)). */
#ifndef JESCOPE_TARGET_UNIT_H
#define JESCOPE_TARGET_UNIT_H

#include <glib.h>
#include <sys/types.h>

enum {
    UNIT_NAME_SIZE = 256,  /* limit of systemd, with the NUL */
    UNIT_RESULT_SIZE = 32, /* the longest one is "exec-condition" */
};

typedef struct {
    char name[UNIT_NAME_SIZE]; /* "redis-server.service", "run-r12.scope" */
    uid_t manager;             /* the user of its manager; (uid_t)-1: the system manager */
} Unit;

/* Whether systemd accepts NAME for a unit (systemd.unit(5)). A user who may create control groups can give them names
 * of any bytes. */
gboolean unit_is_name(const char *name);

/* The innermost component of a control group's path that is the name of a unit and ends in SUFFIX, to be freed; NULL if
 * no component is. */
char *unit_innermost(const char *path, const char *suffix);

/* The service or scope of such a path. FALSE, with *UNIT unchanged, if it has none. */
gboolean unit_of_path(const char *path, Unit *unit);

typedef struct {
    char result[UNIT_RESULT_SIZE]; /* "success", "oom-kill", "exit-code", "watchdog"...; "": unknown */
    gboolean has_status;           /* the process was the unit's main process */
    int status;                    /* as of waitpid(2) */
} UnitEnd;

/* Asks the manager of UNIT over D-Bus how PID ended, and waits for the result until UNTIL_US (monotonic) at the latest.
 * For a process other than the unit's main one, only a result other than "success" counts. FALSE, with *END without a
 * result, if the manager does not answer or does not know. The manager of another user is not asked. */
gboolean unit_end_read(const Unit *unit, pid_t pid, gint64 until_us, UnitEnd *end);

#endif
