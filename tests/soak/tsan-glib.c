/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ThreadSanitizer cannot see: Debian's GLib is built without it, and its locks, queues and sources order threads
 * by system calls and atomic operations of their own. Loaded before it (LD_PRELOAD), this tells ThreadSanitizer of each
 * such order, so that what it reports is a race of jescope's own. tests/soak/tsan.supp has the rest.
 */
#include <dlfcn.h>
#include <glib.h>
#include <sanitizer/tsan_interface.h>

#define SHOWN __attribute__((visibility("default")))
/* The function of GLib behind the one of this name. */
#define REAL(name) ((__typeof__(&(name)))(guintptr)dlsym(RTLD_NEXT, #name))

/* Looked up once per function: dlsym() takes locks. */
#define CALL(name, ...)                                                                                                \
    ({                                                                                                                 \
        static __typeof__(&(name)) real;                                                                               \
        if (__atomic_load_n(&real, __ATOMIC_ACQUIRE) == NULL)                                                          \
            __atomic_store_n(&real, REAL(name), __ATOMIC_RELEASE);                                                     \
        real(__VA_ARGS__);                                                                                             \
    })

/* A program without ThreadSanitizer that jescope starts has this loaded, too. */
#pragma weak __tsan_acquire
#pragma weak __tsan_release

static void
acquire(void *at)
{
    if (__tsan_acquire != NULL)
        __tsan_acquire(at);
}

static void
release(void *at)
{
    if (__tsan_release != NULL)
        __tsan_release(at);
}

/* ---- locks ---- */

SHOWN void
g_mutex_lock(GMutex *mutex)
{
    CALL(g_mutex_lock, mutex);
    acquire(mutex);
}

SHOWN gboolean
g_mutex_trylock(GMutex *mutex)
{
    gboolean locked = CALL(g_mutex_trylock, mutex);
    if (locked)
        acquire(mutex);
    return locked;
}

SHOWN void
g_mutex_unlock(GMutex *mutex)
{
    release(mutex);
    CALL(g_mutex_unlock, mutex);
}

SHOWN void
g_cond_wait(GCond *cond, GMutex *mutex)
{
    release(mutex);
    CALL(g_cond_wait, cond, mutex);
    acquire(mutex);
}

SHOWN gboolean
g_cond_wait_until(GCond *cond, GMutex *mutex, gint64 end_time)
{
    release(mutex);
    gboolean signalled = CALL(g_cond_wait_until, cond, mutex, end_time);
    acquire(mutex);
    return signalled;
}

SHOWN void(g_once_init_leave)(volatile void *location, gsize result)
{
    release((gpointer)location);
    CALL(g_once_init_leave, location, result);
}

SHOWN
gboolean(g_once_init_enter)(volatile void *location)
{
    gboolean first = CALL(g_once_init_enter, location);
    acquire((gpointer)location);
    return first;
}

/* ---- queues ---- */

SHOWN void
g_async_queue_push(GAsyncQueue *queue, gpointer data)
{
    release(queue);
    CALL(g_async_queue_push, queue, data);
}

SHOWN gpointer
g_async_queue_pop(GAsyncQueue *queue)
{
    gpointer data = CALL(g_async_queue_pop, queue);
    acquire(queue);
    return data;
}

/* ---- calls that another thread makes later ---- */

typedef struct {
    GFunc func;
    gpointer data;
} Work;

static void
run_work(gpointer item, gpointer user)
{
    Work *work = user;
    acquire(work);
    work->func(item, work->data);
}

/* Its Work lives as long as the program. */
SHOWN GThreadPool *
g_thread_pool_new(GFunc func, gpointer data, gint max, gboolean exclusive, GError **error)
{
    Work *work = g_new(Work, 1);
    *work = (Work){func, data};
    return CALL(g_thread_pool_new, run_work, work, max, exclusive, error);
}

SHOWN gboolean
g_thread_pool_push(GThreadPool *pool, gpointer data, GError **error)
{
    release(pool->user_data);
    return CALL(g_thread_pool_push, pool, data, error);
}

typedef struct {
    GSourceFunc func;
    gpointer data;
    GDestroyNotify notify;
} Letter;

static Letter *
seal(GSourceFunc func, gpointer data, GDestroyNotify notify)
{
    Letter *letter = g_new(Letter, 1);
    *letter = (Letter){func, data, notify};
    release(letter);
    return letter;
}

static gboolean
deliver(gpointer user)
{
    const Letter *letter = user;
    acquire(user);
    return letter->func(letter->data);
}

static void
discard(gpointer user)
{
    const Letter *letter = user;
    acquire(user);
    if (letter->notify != NULL)
        letter->notify(letter->data);
    g_free(user);
}

SHOWN guint
g_idle_add_full(gint priority, GSourceFunc func, gpointer data, GDestroyNotify notify)
{
    return CALL(g_idle_add_full, priority, deliver, seal(func, data, notify), discard);
}

SHOWN guint
g_idle_add(GSourceFunc func, gpointer data)
{
    return g_idle_add_full(G_PRIORITY_DEFAULT_IDLE, func, data, NULL);
}

SHOWN void
g_main_context_invoke_full(GMainContext *context, gint priority, GSourceFunc func, gpointer data, GDestroyNotify notify)
{
    CALL(g_main_context_invoke_full, context, priority, deliver, seal(func, data, notify), discard);
}

/* ---- counts of references ---- */

#undef g_atomic_ref_count_dec

/* The thread that frees an object comes after all threads that dropped their references. */
SHOWN gboolean
g_atomic_ref_count_dec(gatomicrefcount *count)
{
    release((void *)(guintptr)count);
    gboolean last = CALL(g_atomic_ref_count_dec, count);
    if (last)
        acquire((void *)(guintptr)count);
    return last;
}
