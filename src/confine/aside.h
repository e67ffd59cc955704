/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that another user can hold up: to look up a name in a file system of his may take for ever, since in a user
 * namespace of their own all users mount file systems that their programs answer for (FUSE), and others on top of them
 * (overlayfs), in which root waits as well. Such work is done in a child process with our rights, which is given up.
 */
#ifndef JESCOPE_CONFINE_ASIDE_H
#define JESCOPE_CONFINE_ASIDE_H

#include "confine/channel.h"

#include <sys/types.h>

/* In the child: sets what ANSWER holds, of which bytes and size are the caller's. Other memory changes there alone. */
typedef void (*AsideWork)(gpointer data, ChannelMessage *answer);

typedef enum {
    ASIDE_DONE,
    ASIDE_GIVEN_UP,  /* after 3 s, or after 30 s if it was running, on a busy machine */
    ASIDE_NOT_BEGUN, /* it was given up for USER three times within a minute, or three such children have not ended; or
                        there is no process to be had */
} AsideEnd;

/* Runs WORK on behalf of USER, who may hold it up. The caller may have threads: WORK takes no lock that one of them may
 * have, but of malloc(). */
AsideEnd aside_run(AsideWork work, gpointer data, uid_t user, ChannelMessage *answer);

#endif
