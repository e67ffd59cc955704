/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bounded-transfer.h"

#include "confine/keyed-hash.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    LOOK_US = 250000, /* interval of is_over() */
    NICE_MAX = 19,
};

/* Shared by the caller and the thread. */
typedef struct {
    gatomicrefcount references;
    CURL *curl;
    Loopback *loopback;
    guint deadline_ms;
    char *receiver;
    gpointer state;
    GDestroyNotify release;
    gint is_over; /* atomic */

    GMutex lock; /* guards the following */
    GCond changed;
    pid_t thread;
    gboolean has_ended, is_left;
    CURLcode code;
} Job;

static void
job_unref(Job *job)
{
    if (!g_atomic_ref_count_dec(&job->references))
        return;
    g_mutex_clear(&job->lock);
    g_cond_clear(&job->changed);
    g_free(job->receiver);
    g_free(job);
}

/* ---- threads left behind ---- */

static GMutex left_lock;
static GHashTable *left; /* receiver -> number of threads */

/* Adds CHANGE, and returns the number. */
static int
count_left(const char *receiver, int change)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&left_lock);
    if (left == NULL)
        left = g_hash_table_new_full(keyed_hash_string, g_str_equal, g_free, NULL);
    const int n = GPOINTER_TO_INT(g_hash_table_lookup(left, receiver)) + change;
    if (n > 0)
        g_hash_table_insert(left, g_strdup(receiver), GINT_TO_POINTER(n));
    else
        g_hash_table_remove(left, receiver);
    return n;
}

/* It may compute for many minutes, so it has only the time that others do not need. */
static void
leave(Job *job)
{
    job->is_left = TRUE;
    count_left(job->receiver, 1);
    if (job->thread != 0)
        setpriority(PRIO_PROCESS, (id_t)job->thread, NICE_MAX);
}

/* ---- the thread ---- */

/* libcurl calls this about once a second even without traffic. */
static int
on_progress(void *user, curl_off_t down, curl_off_t downed, curl_off_t up, curl_off_t upped)
{
    return g_atomic_int_get(&((Job *)user)->is_over);
}

static CURLcode
perform(Job *job)
{
    curl_library.curl_easy_setopt(job->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_library.curl_easy_setopt(job->curl, CURLOPT_XFERINFODATA, job);
    curl_library.curl_easy_setopt(job->curl, CURLOPT_NOPROGRESS, 0L);
    const CURLcode code = loopback_perform(job->loopback, job->curl, job->deadline_ms);
    curl_library.curl_easy_setopt(job->curl, CURLOPT_NOPROGRESS, 1L);
    return code;
}

static void
note_begun(Job *job)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&job->lock);
    job->thread = gettid();
}

/* Whether the caller has left it. */
static gboolean
note_ended(Job *job, CURLcode code)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&job->lock);
    job->code = code;
    job->has_ended = TRUE;
    g_cond_signal(&job->changed);
    return job->is_left;
}

static gpointer
run(gpointer data)
{
    Job *job = data;
    note_begun(job);
    if (note_ended(job, perform(job))) {
        job->release(job->state);
        count_left(job->receiver, -1);
    }
    job_unref(job);
    return NULL;
}

/* Signals are for the threads of the caller, some of which wait for them. */
static gboolean
start(Job *job)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    g_atomic_ref_count_inc(&job->references);
    GThread *thread = g_thread_try_new("transfer", run, job, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (thread != NULL)
        g_thread_unref(thread);
    else
        job_unref(job);
    return thread != NULL;
}

/* ---- the caller ---- */

static BoundedTransferEnd
wait_for(Job *job, const BoundedTransfer *transfer)
{
    g_autoptr(GMutexLocker) locker G_GNUC_UNUSED = g_mutex_locker_new(&job->lock);
    const gint64 grace_us = (gint64)BOUNDED_TRANSFER_GRACE_MS * 1000;
    gint64 until_us = g_get_monotonic_time() + (gint64)transfer->deadline_ms * 1000 + grace_us;
    while (!job->has_ended && g_get_monotonic_time() < until_us) {
        g_cond_wait_until(&job->changed, &job->lock, MIN(until_us, g_get_monotonic_time() + LOOK_US));
        if (transfer->is_over == NULL || g_atomic_int_get(&job->is_over) || !transfer->is_over(transfer->data))
            continue;
        g_atomic_int_set(&job->is_over, TRUE);
        until_us = MIN(until_us, g_get_monotonic_time() + grace_us);
    }
    if (job->has_ended)
        return BOUNDED_TRANSFER_ENDED;
    g_atomic_int_set(&job->is_over, TRUE);
    leave(job);
    return BOUNDED_TRANSFER_LEFT;
}

BoundedTransferEnd
bounded_transfer_perform(const BoundedTransfer *transfer, CURLcode *code)
{
    BoundedTransferEnd end = BOUNDED_TRANSFER_REFUSED;
    if (count_left(transfer->receiver, 0) < BOUNDED_TRANSFER_LEFT_MAX) {
        Job *job = g_new0(Job, 1);
        *job = (Job){.curl = transfer->curl,
                     .loopback = transfer->loopback,
                     .deadline_ms = transfer->deadline_ms,
                     .receiver = g_strdup(transfer->receiver),
                     .state = transfer->state,
                     .release = transfer->release};
        g_atomic_ref_count_init(&job->references);
        g_mutex_init(&job->lock);
        g_cond_init(&job->changed);
        end = start(job) ? wait_for(job, transfer) : BOUNDED_TRANSFER_NO_THREAD;
        if (end == BOUNDED_TRANSFER_ENDED)
            *code = job->code;
        job_unref(job);
    }
    if (end != BOUNDED_TRANSFER_LEFT)
        transfer->release(transfer->state);
    return end;
}

char *
bounded_transfer_failure(BoundedTransferEnd end, const char *receiver)
{
    if (end == BOUNDED_TRANSFER_NO_THREAD)
        return g_strdup_printf("cannot ask %s: no thread is left; raise the limits of this process (ulimit -u)",
                               receiver);
    return g_strdup_printf("%s%s; check the name server of this machine, and the size of the key in the "
                           "receiver's certificate",
                           receiver,
                           end == BOUNDED_TRANSFER_LEFT ? " did not answer in time, and the request could not be ended"
                                                        : " is not asked, since an earlier request has not ended");
}
