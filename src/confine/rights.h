/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights with which a file is opened: the user, group and supplementary groups that the kernel checks for file
 * access of the calling thread (setfsuid(2) and similar), without capabilities that override them.
 */
#ifndef JESCOPE_CONFINE_RIGHTS_H
#define JESCOPE_CONFINE_RIGHTS_H

#include <glib.h>
#include <sys/types.h>

typedef struct {
    gboolean limited; /* FALSE: the process's own rights, and nothing else counts */
    uid_t uid;
    gid_t gid;
    GArray *groups; /* gid_t; NULL: none */
} Rights;

#define RIGHTS_NOBODY 65534

/*
 * The rights of the process whose directory in /proc is open as directory. Of real and effective ids that differ, the
 * one that is not root's counts, the real one first: a program that is set-user-ID runs for the user who started it.
 * Those of a process of root's without capabilities that override file modes, or with such of another user namespace,
 * are limited as well. If nothing can be read (it has ended), they are those of RIGHTS_NOBODY. Free with
 * rights_clear().
 */
void rights_of_process(int directory, Rights *rights);

/* Whether the process of that directory has the root directory and the mounts of this one, so that a name means the
 * same file to both. */
gboolean rights_see_our_files(int directory);

/* Whether a file of uid is one that root or the caller of this program has written; a confined process keeps its caller
 * (rights_remember_caller()) when it gives up its user id. */
gboolean rights_are_trusted(uid_t uid);
void rights_remember_caller(void);

/* Where this user's programs keep their state ($XDG_STATE_HOME, ~/.local/state), to be freed. sudo and su may leave the
 * variables of another user in place: root does not write into directories of others then, but in its own home. */
char *rights_state_directory(void);

/* The rights of a user by the user database, without a group beyond RIGHTS_NOBODY where it does not know uid. */
void rights_of_user(uid_t uid, Rights *rights);

void rights_clear(Rights *rights);

/*
 * Takes rights on for the calling thread and gives them back. Between the two nothing may be called but system calls
 * about files. rights_enter() leaves alone a process that has no privilege to lose. Returns FALSE where it has some,
 * but may not become another user: then only files that everybody may read are to be used (rights_may_read()).
 */
typedef struct {
    gboolean switched, lowered;
    GArray *groups;
    guint64 capabilities;
} RightsBefore;

gboolean rights_enter(const Rights *rights, RightsBefore *before);
void rights_leave(RightsBefore *before);

struct stat;
gboolean rights_may_read(const Rights *rights, const struct stat *file);

#endif
