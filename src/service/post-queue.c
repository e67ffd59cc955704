/* SPDX-License-Identifier: Apache-2.0 */
#include "service/post-queue.h"

#include "confine/keyed-hash.h"

typedef struct {
    uid_t account;
    char *server;
    gpointer post;
} Waiting;

struct PostQueue {
    guint at_once, to_one;
    GDestroyNotify free_post;
    GQueue waiting;     /* of Waiting */
    GHashTable *counts; /* server -> number of posts that are under way to it */
    guint under_way;    /* their sum */
    GHashTable *begun;  /* account -> gint64, when its last post was begun; of the time since nothing was under way */
};

PostQueue *
post_queue_new(guint at_once, guint to_one, GDestroyNotify free_post)
{
    PostQueue *queue = g_new0(PostQueue, 1);
    *queue = (PostQueue){.at_once = at_once, .to_one = to_one, .free_post = free_post};
    queue->counts = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    queue->begun = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    g_queue_init(&queue->waiting);
    return queue;
}

void
post_queue_clear(PostQueue *queue)
{
    Waiting *waiting;
    while ((waiting = g_queue_pop_head(&queue->waiting)) != NULL) {
        queue->free_post(waiting->post);
        g_free(waiting->server);
        g_free(waiting);
    }
}

void
post_queue_free(PostQueue *queue)
{
    post_queue_clear(queue);
    g_hash_table_unref(queue->counts);
    g_hash_table_unref(queue->begun);
    g_free(queue);
}

void
post_queue_add(PostQueue *queue, uid_t account, const char *server, gpointer post)
{
    Waiting *waiting = g_new(Waiting, 1);
    *waiting = (Waiting){account, g_strdup(server), post};
    g_queue_push_tail(&queue->waiting, waiting);
}

static guint
count(const PostQueue *queue, const char *server)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(queue->counts, server));
}

static gint64
begun_us(const PostQueue *queue, const Waiting *waiting)
{
    const gint64 *begun = g_hash_table_lookup(queue->begun, GUINT_TO_POINTER(waiting->account));
    return begun != NULL ? *begun : G_MININT64;
}

gpointer
post_queue_next(PostQueue *queue, gint64 now_us)
{
    GList *best = NULL;
    if (queue->under_way >= queue->at_once)
        return NULL;
    for (GList *link = queue->waiting.head; link != NULL; link = link->next) {
        const Waiting *waiting = link->data;
        if (count(queue, waiting->server) < queue->to_one &&
            (best == NULL || begun_us(queue, waiting) < begun_us(queue, best->data)))
            best = link;
    }
    if (best == NULL)
        return NULL;
    Waiting *waiting = best->data;
    gpointer post = waiting->post;
    const guint n = count(queue, waiting->server) + 1;
    g_queue_delete_link(&queue->waiting, best);
    g_hash_table_insert(queue->begun, GUINT_TO_POINTER(waiting->account), g_memdup2(&now_us, sizeof(now_us)));
    g_hash_table_insert(queue->counts, waiting->server, GUINT_TO_POINTER(n));
    queue->under_way++;
    g_free(waiting);
    return post;
}

void
post_queue_done(PostQueue *queue, const char *server)
{
    const guint n = count(queue, server) - 1;
    queue->under_way--;
    if (n > 0)
        g_hash_table_insert(queue->counts, g_strdup(server), GUINT_TO_POINTER(n));
    else
        g_hash_table_remove(queue->counts, server);
    if (queue->under_way == 0 && queue->waiting.length == 0)
        g_hash_table_remove_all(queue->begun);
}
