/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/demangle.h"
#include "symbolize/patience.h"

#include "confine/thread-time.h"

#include <libiberty/demangle.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW_REFERENCES = 12,
    OPTIONS = DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI,
};

/* A plain name as it is written; too_long is jumped to where it would not fit. The callers of write_part() hold neither
 * memory nor locks, except for an identifier of Rust that is not ASCII. */
typedef struct {
    char *text; /* DEMANGLE_MAX_PLAIN bytes */
    gsize length;
    jmp_buf too_long;
} Plain;

static void
write_part(const char *part, size_t length, void *to)
{
    Plain *plain = to;
    if (length >= DEMANGLE_MAX_PLAIN - plain->length)
        longjmp(plain->too_long, 1);
    if (length > 0) /* part may be NULL */
        memcpy(plain->text + plain->length, part, length);
    plain->length += length;
}

typedef int Demangler(const char *mangled, int options, demangle_callbackref callback, void *opaque);

static gboolean
write_plain(Demangler *demangler, const char *linkage, Plain *plain)
{
    plain->length = 0;
    return setjmp(plain->too_long) == 0 && demangler(linkage, OPTIONS, write_part, plain) != 0;
}

static char *
demangle_with(Demangler *demangler, const char *linkage)
{
    char text[DEMANGLE_MAX_PLAIN];
    Plain plain = {.text = text};
    return write_plain(demangler, linkage, &plain) ? g_strndup(text, plain.length) : NULL;
}

static guint
count(const char *text, const char *characters)
{
    guint n = 0;
    for (; *text != '\0'; text++)
        n += strchr(characters, *text) != NULL;
    return n;
}

/* D's demangler can only write to memory that grows: three references at each of n / 3 levels make the longest text. */
static char *
demangle_d(const char *linkage)
{
    static const double most = 1 << 26;
    char *plain = pow(3, count(linkage, "Q") / 3.0) * (double)strlen(linkage) <= most
                      ? dlang_demangle(linkage, DMGL_PARAMS)
                      : NULL;
    char *kept = plain != NULL && strlen(plain) < DEMANGLE_MAX_PLAIN ? g_strdup(plain) : NULL;
    free(plain);
    return kept;
}

static gboolean
is_d(const char *linkage)
{
    return linkage[0] == '_' && linkage[1] == 'D';
}

/* At most: S_, S1A_, T_, T0_: substitutions and parameters of templates; B_, B1a_: back references of Rust; Q: of D. */
static guint
count_references(const char *linkage)
{
    const char *kinds = linkage[1] == 'R' ? "B" : "ST";
    guint n = 0;
    if (is_d(linkage))
        return count(linkage, "Q");
    for (const char *at = linkage; (at = strpbrk(at, kinds)) != NULL;) {
        at++;
        while (g_ascii_isalnum(*at) && strchr(kinds, *at) == NULL)
            at++;
        n += *at == '_';
    }
    return n;
}

static gint over_us; /* atomic: the sum of what names with references took beyond what is common */

static void
charge(const char *linkage, gint64 took_us)
{
    const gint64 common_us = 2 + (gint64)strlen(linkage) / 4; /* several times what compilers' names take */
    if (took_us > common_us)
        g_atomic_int_add(&over_us, (gint)(took_us - common_us));
}

static gboolean
may_go_on(void)
{
    return g_atomic_int_get(&over_us) < DEMANGLE_MOST_OVER_S * G_USEC_PER_SEC;
}

/* Rust's legacy names are C++'s as well. */
static char *
demangle_now(const char *linkage)
{
    if (is_d(linkage))
        return demangle_d(linkage);
    char *plain = demangle_with(rust_demangle_callback, linkage);
    return plain != NULL ? plain : demangle_with(cplus_demangle_v3_callback, linkage);
}

/* A name for the thread, which owns it if the caller does not wait any more. */
typedef struct {
    GMutex lock;
    GCond changed;
    char *linkage, *plain;
    gint64 took_us; /* processor time */
    gboolean done, given_up;
} Job;

static void
job_free(Job *job)
{
    g_mutex_clear(&job->lock);
    g_cond_clear(&job->changed);
    g_free(job->linkage);
    g_free(job->plain);
    g_free(job);
}

static gpointer
work(gpointer data)
{
    GAsyncQueue *jobs = data;
    for (gboolean wanted = TRUE; wanted;) {
        Job *job = g_async_queue_pop(jobs);
        const gint64 began_us = thread_time_us();
        char *plain = demangle_now(job->linkage);
        const gint64 took_us = thread_time_us() - began_us;
        g_mutex_lock(&job->lock);
        job->plain = plain;
        job->took_us = took_us;
        job->done = TRUE;
        wanted = !job->given_up;
        g_cond_signal(&job->changed);
        g_mutex_unlock(&job->lock);
        if (!wanted)
            job_free(job);
    }
    g_async_queue_unref(jobs);
    return NULL;
}

/* The thread; NULL jobs: there is none. */
static struct {
    GMutex lock;
    GAsyncQueue *jobs;
    guint losses;
} worker;

static gboolean
have_worker(void)
{
    if (worker.jobs != NULL || worker.losses >= DEMANGLE_LOSSES)
        return worker.jobs != NULL;
    GAsyncQueue *jobs = g_async_queue_new();
    GThread *thread = g_thread_try_new("demangle", work, g_async_queue_ref(jobs), NULL);
    if (thread == NULL) {
        g_async_queue_unref(jobs);
        g_async_queue_unref(jobs);
        return FALSE;
    }
    g_thread_unref(thread);
    worker.jobs = jobs;
    return TRUE;
}

/* Whether the job was done in time. */
static gboolean
wait_for(Job *job)
{
    const gint64 until = g_get_monotonic_time() + DEMANGLE_PATIENCE_S * G_USEC_PER_SEC;
    g_mutex_lock(&job->lock);
    while (!job->done && g_cond_wait_until(&job->changed, &job->lock, until)) {
    }
    gboolean done = job->done;
    job->given_up = !done;
    g_mutex_unlock(&job->lock);
    return done;
}

static char *
demangle_by_worker(const char *linkage)
{
    char *plain = NULL;
    g_mutex_lock(&worker.lock);
    if (have_worker()) {
        Job *job = g_new0(Job, 1);
        g_mutex_init(&job->lock);
        g_cond_init(&job->changed);
        job->linkage = g_strdup(linkage);
        g_async_queue_push(worker.jobs, job);
        if (wait_for(job)) {
            charge(linkage, job->took_us);
            plain = g_steal_pointer(&job->plain);
            job_free(job);
        } else {
            worker.losses++;
            g_clear_pointer(&worker.jobs, g_async_queue_unref);
        }
    }
    g_mutex_unlock(&worker.lock);
    return plain;
}

static char *
demangle_here(const char *linkage)
{
    const gint64 began_us = thread_time_us();
    char *plain = demangle_now(linkage);
    charge(linkage, thread_time_us() - began_us);
    return plain;
}

char *
demangle(const char *linkage)
{
    gboolean mangled = linkage[0] == '_' && linkage[1] != '\0' && strchr("ZRD", linkage[1]) != NULL;
    if (!mangled || strnlen(linkage, DEMANGLE_MAX_MANGLED + 1) > DEMANGLE_MAX_MANGLED)
        return NULL;
    const guint references = count_references(linkage);
    if (references == 0)
        return demangle_now(linkage);
    if (!may_go_on())
        return NULL;
    return !is_d(linkage) && references > FEW_REFERENCES ? demangle_by_worker(linkage) : demangle_here(linkage);
}
