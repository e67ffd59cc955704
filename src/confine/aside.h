/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs work that another user can delay indefinitely: the lookup of a name in a file system that this user has mounted.
 * In a user namespace any user may mount file systems served by a program (FUSE), and others on top of them
 * (overlayfs), in which root waits as well. Such work runs in a child process with the caller's rights, which is given
 * up when it takes too long. Subordinate ids count as their user's own (confine/account.h).
 */
#ifndef JESCOPE_CONFINE_ASIDE_H
#define JESCOPE_CONFINE_ASIDE_H

#include "confine/channel.h"

#include <sys/types.h>

/* Called in the child: fills ANSWER, whose buffer belongs to the caller. Changes to other memory stay in the child. */
typedef void (*AsideWork)(gpointer data, ChannelMessage *answer);

typedef enum {
    ASIDE_DONE,
    ASIDE_GIVEN_UP,  /* after 3 s, or 1 s if work was given up for USER within the last minute, or 30 s if the child was
                        running on a busy machine */
    ASIDE_NOT_BEGUN, /* within a minute, work for USER was given up three times, or USER's answers took 9 s of waiting
                        or 9 s of running; or three children given up for USER still exist, or 64 for all users and
                        USER is not prompt; or fork() failed; or the end has come (aside_set_end()) */
} AsideEnd;

/* How a user's work has gone in this process. */
typedef enum {
    ASIDE_PROMPT,  /* done in time */
    ASIDE_UNKNOWN, /* none yet, or too many others are known */
    ASIDE_SLOW,    /* some was given up within a minute, or is still stuck */
} AsideManner;

/* Runs WORK, which USER may delay. The caller may have threads; WORK must take no lock but that of malloc(), since
 * another thread may have held it at the fork. Inside the WORK of another aside_run(), WORK is called directly. */
AsideEnd aside_run(AsideWork work, gpointer data, uid_t user, ChannelMessage *answer);

/* Whether work for USER would be begun now. */
gboolean aside_may_begin(uid_t user);

/* A child that is kept for several requests, each of which some user may delay. Not thread-safe, but of no certain
 * thread. */
typedef struct AsideHelper AsideHelper;

/* SERVE is called in the child, and answers what it receives from SOCKET (confine/channel.h) until the other end is
 * closed; for it the same holds as for AsideWork. NULL: there is no child. */
AsideHelper *aside_helper_start(void (*serve)(int socket));

/* Sends REQUEST and waits for ANSWER, whether or not work for USER would be begun. If it is given up, the child is not
 * ended: it may still do what it was asked for, then finds the socket closed, and counts against USER until then.
 * ASIDE_NOT_BEGUN: the child has ended. */
AsideEnd aside_helper_ask(AsideHelper *helper, const ChannelMessage *request, uid_t user, ChannelMessage *answer);

/* Sends a REQUEST that SERVE does not answer. */
gboolean aside_helper_tell(AsideHelper *helper, const ChannelMessage *request);

/* FALSE: it was given up or has ended, or this process is a fork of its owner. */
gboolean aside_helper_is_there(const AsideHelper *helper);

/* Ends the child, which is given up if it does not end within 1 s. HELPER must have answered what it was asked last, or
 * have been given up. */
void aside_helper_free(AsideHelper *helper);

/* Closes the N descriptors FDS, sockets from which not all was received that USER has sent. Among it may be
 * descriptors, and the last reference to a socket is closed as slowly as its owner has set (SO_LINGER), but not by a
 * process that ends: a child does it, for all of them. Without one, they stay open. Waits for its end for 1 s at most;
 * a thread that must not wait has closing_add() (confine/closing.h). */
void aside_close(const int *fds, guint n, uid_t user);

/* For a command that reads processes of many users, each of which may delay it: from END_US on (monotonic) no work
 * begins, and work in progress is given up; once all users together have been waited for for 9 s, waiting work is given
 * up after 0.1 s. 0: no end, the default. Must be called before there are threads. */
void aside_set_end(gint64 end_us);

/* Whether the end of aside_set_end() has come. */
gboolean aside_has_ended(void);

/* Whether work for USER is currently not begun because other work for USER took too long. */
gboolean aside_is_delayed_by(uid_t user);

AsideManner aside_manner(uid_t user);

/* Whether this process is such a child, where slow work may be done directly. */
gboolean aside_is_inside(void);

/* Makes this process count as such a child: another one gives it up when it takes too long. */
void aside_enter(void);

/* A list of items, each with a user who may delay it. */
typedef struct {
    guint n;
    gsize size; /* bytes of an answer, a multiple of 8 */
    gpointer data;
    void (*each)(gpointer data, guint i, gpointer answer); /* in the child: fills ANSWER, which is zeroed */
    uid_t (*user)(gconstpointer data, guint i);
    /* For all items together, whatever the number of users: once a third of it has been waited for, waiting work is
     * given up after 0.1 s, and at its end the other items are passed over. 0: no limit. */
    guint most_ms;
} AsideList;

/* ANSWER is NULL if the item was given up, or skipped because too much was given up for its user or the end has
 * come, that of the list or that of aside_set_end(). */
typedef void (*AsideTake)(gpointer data, guint i, gconstpointer answer);

/* Like aside_run() for each item, in one child until an item is given up; then calls TAKE for each item in the
 * caller, in the order in which they were begun. The account whose items have taken least time in this list comes next,
 * so that the first item of each comes before the second of any; the prompt come first of those that have taken none,
 * and accounts that were slow before come after all others. */
void aside_each(const AsideList *list, AsideTake take);

/* Whether the last list of this thread took all its time, or left as many children as there may be. */
gboolean aside_list_has_ended(void);

#endif
