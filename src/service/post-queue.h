/* SPDX-License-Identifier: Apache-2.0 */
/* The documents that wait to be sent to web hooks. A user may cause any number of them, and a server may be slow: so
 * few are sent to one server at a time, and the account that has waited longest since its last one comes next. Not
 * thread-safe. */
#ifndef JESCOPE_SERVICE_POST_QUEUE_H
#define JESCOPE_SERVICE_POST_QUEUE_H

#include <glib.h>
#include <sys/types.h>

typedef struct PostQueue PostQueue;

/* AT_ONCE documents may be under way in all, and TO_ONE to one server. FREE_POST frees those that are still waiting. */
PostQueue *post_queue_new(guint at_once, guint to_one, GDestroyNotify free_post);
void post_queue_free(PostQueue *queue);

/* Queues POST about a target of ACCOUNT (confine/account.h) for SERVER. */
void post_queue_add(PostQueue *queue, uid_t account, const char *server, gpointer post);

/* Removes and returns the post that is to be sent at NOW_US (monotonic), which is under way until post_queue_done().
 * NULL: none may be. */
gpointer post_queue_next(PostQueue *queue, gint64 now_us);
void post_queue_done(PostQueue *queue, const char *server);

/* Frees the waiting posts. */
void post_queue_clear(PostQueue *queue);

#endif
