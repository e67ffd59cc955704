/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a path component by component, since where another user can write to a directory on the way he may put a link
 * there: what a command reads through it must be his own, and a command writes nowhere through it.
 */
#ifndef JESCOPE_CONFINE_WALK_H
#define JESCOPE_CONFINE_WALK_H

#include <glib.h>
#include <sys/types.h>

/* A path that is followed component by component. */
typedef struct {
    int at;            /* what was reached */
    char *rest;        /* of the path */
    guint links;       /* followed so far */
    gboolean led;      /* by a link of another user, */
    uid_t leader;      /* of this one, */
    gboolean several;  /* and by one of yet another */
    gboolean by_magic; /* the last step was a link of /proc, which the kernel resolves without a path */
} Walk;

typedef enum {
    WALK_FAILS,
    WALK_MAKES_DIRECTORIES, /* of mode 0700 */
} WalkMissing;

/* What PATH names is then open in WALK, unread (O_PATH). To be ended in any case. 0 or errno: EREMOTE if a link of
 * another user leads to one of /proc, which could lead on to a file system that this user has mounted and that never
 * answers (/proc/PID/root). */
int walk_to(Walk *walk, const char *path, WalkMissing missing);

void walk_end(Walk *walk);

/* Whether root and the caller alone decide where PATH leads, and no program answers for a file system on the way
 * (FUSE). Waits for no such file system. */
gboolean walk_is_decided_by_us(const char *path);

/* The directory PATH, to write to (O_PATH); -1 with errno, which is EREMOTE if a link of another user leads there. */
int walk_open_directory(const char *path, WalkMissing missing);

/* The same, where a relative PATH begins at the directory BASE. */
int walk_open_directory_at(int base, const char *path, WalkMissing missing);

/* g_strerror() of these. */
const char *walk_strerror(int code);

/* The path of FD without links, to be freed, or NULL. */
char *walk_name(int fd);

gboolean walk_is_of_proc(int fd);

#endif
