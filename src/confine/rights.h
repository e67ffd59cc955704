/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights with which a file is opened: the user, group and supplementary groups that the kernel checks for file
 * access of the calling thread (setfsuid(2) and similar), without capabilities that override them.
 */
#ifndef JESCOPE_CONFINE_RIGHTS_H
#define JESCOPE_CONFINE_RIGHTS_H

#include "confine/death-signal.h"

#include <glib.h>
#include <sys/types.h>

typedef struct {
    gboolean limited; /* FALSE: the process's own rights; the other members are ignored */
    uid_t uid;
    gid_t gid;
    GArray *groups; /* gid_t; NULL: none */
} Rights;

#define RIGHTS_NOBODY 65534

/*
 * The rights of the process whose directory in /proc is open as directory. Of real and effective ids that differ, the
 * one that is not root's counts, the real one first: a program that is set-user-ID runs for the user who started it.
 * The rights of root's processes are limited as well if they lack the capabilities that override file modes, or have
 * them in another user namespace only. If nothing can be read (it has ended), the rights are those of RIGHTS_NOBODY.
 * Free with rights_clear().
 */
void rights_of_process(int directory, Rights *rights);

/* Of the real, effective and saved ids of a process, the one that counts, as above. */
uid_t rights_of_ids(const uid_t ids[3]);

/* Returns A or B, whichever has fewer rights: the one that is not root; RIGHTS_NOBODY if neither is root and they
 * differ. */
uid_t rights_lesser(uid_t a, uid_t b);

/* Whether the process of that directory has the root directory and the mounts of this one, so that a name means the
 * same file to both. */
gboolean rights_see_our_files(int directory);

/* Whether uid, the owner of a file, is root or the caller of this program; a confined process remembers its caller
 * (rights_remember_caller()) when it gives up its user id. */
gboolean rights_are_trusted(uid_t uid);
void rights_remember_caller(void);

/* Whether only root and the caller decide where path, an absolute one, leads: every directory and link on the way that
 * exists is theirs. */
gboolean rights_decide_alone(const char *path);

/* The directories for the state and the caches of this user's programs ($XDG_STATE_HOME, ~/.local/state;
 * $XDG_CACHE_HOME,
 * ~/.cache); to be freed. sudo and su may leave the variables of another user in place: root then does not use what
 * other users decide on, but its own home. */
char *rights_state_directory(void);
char *rights_cache_directory(void);

/* The rights of a user according to the user database; with only the group of RIGHTS_NOBODY if uid is not in it. */
void rights_of_user(uid_t uid, Rights *rights);

void rights_clear(Rights *rights);

/*
 * Assumes rights for the calling thread, and restores them. In between, only system calls on files are allowed.
 * rights_enter() does nothing in a process without privileges to lose. It returns FALSE if the process has privileges
 * but may not become another user: then only world-readable files may be used (rights_may_read()).
 */
typedef struct {
    gboolean switched, lowered;
    DeathSignal death;
    GArray *groups;
    guint64 capabilities;
} RightsBefore;

gboolean rights_enter(const Rights *rights, RightsBefore *before);
void rights_leave(RightsBefore *before);

struct stat;
gboolean rights_may_read(const Rights *rights, const struct stat *file);

#endif
