/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that another user can delay without end: the lookup of a name in a file system that this user has mounted. In a
 * user namespace any user may mount file systems that a program answers for (FUSE), and others on top of them
 * (overlayfs), in which root waits as well. Such work is done in a child process with the caller's rights, which is
 * given up when it takes too long.
 */
#ifndef JESCOPE_CONFINE_ASIDE_H
#define JESCOPE_CONFINE_ASIDE_H

#include "confine/channel.h"

#include <sys/types.h>

/* In the child: sets what ANSWER holds, of which bytes and size are the caller's. Other memory changes there alone. */
typedef void (*AsideWork)(gpointer data, ChannelMessage *answer);

typedef enum {
    ASIDE_DONE,
    ASIDE_GIVEN_UP,  /* after 3 s, 1 s if something was given up for USER within a minute, or after 30 s if it was
                        running, on a busy machine */
    ASIDE_NOT_BEGUN, /* within a minute it was given up for USER three times, or answers for USER were waited for for 9
                        s, or were busy for 9 s; or three such children have not ended; or there is no process to be
                        had; or the end has come (aside_set_end()) */
} AsideEnd;

/* Runs WORK, which USER may delay. The caller may have threads; WORK must take no lock but that of malloc(), since
 * another thread may have held it at the fork. In WORK of another aside_run() it is called directly. */
AsideEnd aside_run(AsideWork work, gpointer data, uid_t user, ChannelMessage *answer);

/* For a command that looks at processes of many users, each of which may delay it: from END_US on (monotonic) nothing
 * is begun, and what is under way is given up; once 9 s have been waited for all users together, what waits is given up
 * after 0.1 s. 0: no end, as at first. To be called before there are threads. */
void aside_set_end(gint64 end_us);

/* Whether the end has come. */
gboolean aside_has_ended(void);

/* Whether work for USER is not begun at present since other work for USER took too long. */
gboolean aside_is_delayed_by(uid_t user);

/* This is the child: what may take long may be done directly. */
gboolean aside_is_inside(void);

/* Work on many things, of which each has a user who may delay it. */
typedef struct {
    guint n;
    gsize size; /* bytes of an answer, a multiple of 8 */
    gpointer data;
    void (*each)(gpointer data, guint i, gpointer answer); /* in the child: sets ANSWER, which is zero before */
    uid_t (*user)(gconstpointer data, guint i);
} AsideList;

/* ANSWER NULL: it was given up, or passed over since too much was given up for its user, or since the end has come. */
typedef void (*AsideTake)(gpointer data, guint i, gconstpointer answer);

/* As aside_run() for each, in one child as long as none is given up; then calls TAKE for each, here. */
void aside_each(const AsideList *list, AsideTake take);

#endif
