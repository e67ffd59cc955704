/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include "cli/duration.h"
#include "cli/terminal.h"
#include "text/printable.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    FIRST_MS = 500,
    INTERVAL_MS = 200,
    COLUMNS_DEFAULT = 80,
};

/* In memory shared with a confined child, which has no other channel. The child may write anything there. */
typedef struct {
    guint phase, done, whole; /* atomic; phase is a ProgressPhase */
} Phase;

static Phase *followed; /* NULL: none */

/* Of what a thread reads of a Progress. Held while the process forks: then the thread is in its wait and holds no lock
   that the child would inherit, as of the allocator of AddressSanitizer, which has no handlers of fork of its own. */
static GMutex mutex;

static const char *const phases[PROGRESS_N_PHASES] = {
    [PROGRESS_READS] = "reading",
    [PROGRESS_NAMES] = "naming functions",
    [PROGRESS_WRITES] = "writing the report",
};

struct _Progress {
    gboolean follows; /* progress_phase() */
    GThread *thread;
    GCond changed; /* waits, or over */
    gboolean waits;
    gboolean over;
    gint64 begun_us;
    char *text;
    gboolean timed; /* the text contains its time */
    guint64 done;
    guint64 whole;
};

static void
append_phase(GString *line)
{
    guint phase = g_atomic_int_get(&followed->phase);
    guint done = g_atomic_int_get(&followed->done), whole = g_atomic_int_get(&followed->whole);
    if (phase >= PROGRESS_N_PHASES || phases[phase] == NULL)
        return;
    g_string_append_printf(line, ": %s", phases[phase]);
    if (whole > 0 && phase == PROGRESS_NAMES)
        g_string_append_printf(line, ", %u of %u objects", MIN(done, whole), whole);
}

static void
draw(const Progress *progress)
{
    g_autoptr(GString) line = g_string_new(progress->text);
    if (progress->follows)
        append_phase(line);
    if (progress->whole > 0)
        g_string_append_printf(line, ", %.0f%%", 100 * MIN((double)progress->done / (double)progress->whole, 1));
    if (!progress->timed) {
        guint64 passed = (guint64)(g_get_monotonic_time() - progress->begun_us) / 1000;
        g_autofree char *time = duration_format(passed / 1000 * 1000);
        if (passed >= 1000)
            g_string_append_printf(line, ", %s", time);
    }
    g_autofree char *clean = text_printable(line->str);
    /* A character in the last column would make some terminals begin a new line. */
    g_autofree char *cut = text_cut(clean, terminal_columns(STDERR_FILENO, COLUMNS_DEFAULT) - 1);
    fprintf(stderr, "\r\x1b[K%s", cut);
    fflush(stderr);
}

static gpointer
run(gpointer data)
{
    Progress *progress = data;
    gboolean drawn = FALSE;
    g_mutex_lock(&mutex);
    progress->waits = TRUE;
    g_cond_signal(&progress->changed);
    gint64 next = progress->begun_us + FIRST_MS * 1000;
    while (!progress->over) {
        if (g_cond_wait_until(&progress->changed, &mutex, next))
            continue;
        draw(progress);
        drawn = TRUE;
        next = g_get_monotonic_time() + INTERVAL_MS * 1000;
    }
    g_mutex_unlock(&mutex);
    if (drawn)
        fputs("\r\x1b[K", stderr);
    return NULL;
}

/* Signals are for the main thread, which may have blocked them to wait for them (interrupt.h), or may do so later. */
static void
start_thread(Progress *progress)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    progress->thread = g_thread_try_new("progress", run, progress, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void
free_progress(Progress *progress)
{
    g_cond_clear(&progress->changed);
    g_free(progress->text);
    g_free(progress);
}

static void
before_fork(void)
{
    g_mutex_lock(&mutex);
}

static void
after_fork(void)
{
    g_mutex_unlock(&mutex);
}

static gpointer
handle_forks(gpointer data)
{
    pthread_atfork(before_fork, after_fork, after_fork);
    return NULL;
}

Progress *
progress_begin(const char *format, ...)
{
    if (!isatty(STDERR_FILENO))
        return NULL;
    Progress *progress = g_new0(Progress, 1);
    va_list arguments;
    va_start(arguments, format);
    progress->text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    progress->begun_us = g_get_monotonic_time();
    g_cond_init(&progress->changed);
    static GOnce handled = G_ONCE_INIT;
    g_once(&handled, handle_forks, NULL);
    start_thread(progress);
    if (progress->thread == NULL) {
        free_progress(progress);
        return NULL;
    }
    g_mutex_lock(&mutex);
    while (!progress->waits)
        g_cond_wait(&progress->changed, &mutex);
    g_mutex_unlock(&mutex);
    return progress;
}

G_GNUC_PRINTF(3, 0)
static void
say(Progress *progress, gboolean timed, const char *format, va_list arguments)
{
    if (progress == NULL)
        return;
    g_mutex_lock(&mutex);
    g_free(progress->text);
    progress->text = g_strdup_vprintf(format, arguments);
    progress->timed = timed;
    progress->whole = 0;
    g_mutex_unlock(&mutex);
}

void
progress_show(Progress *progress, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(progress, FALSE, format, arguments);
    va_end(arguments);
}

void
progress_show_timed(Progress *progress, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(progress, TRUE, format, arguments);
    va_end(arguments);
}

void
progress_share(Progress *progress, guint64 done, guint64 whole)
{
    if (progress == NULL)
        return;
    g_mutex_lock(&mutex);
    progress->done = done;
    progress->whole = whole;
    g_mutex_unlock(&mutex);
}

void
progress_follow_phases(Progress *progress)
{
    if (progress == NULL)
        return;
    void *shared = mmap(NULL, sizeof(Phase), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    g_mutex_lock(&mutex);
    followed = shared;
    progress->follows = TRUE;
    g_mutex_unlock(&mutex);
}

void
progress_phase(ProgressPhase phase, guint done, guint whole)
{
    if (followed == NULL)
        return;
    g_atomic_int_set(&followed->done, done);
    g_atomic_int_set(&followed->whole, whole);
    g_atomic_int_set(&followed->phase, phase);
}

void
progress_end(Progress *progress)
{
    if (progress == NULL)
        return;
    g_mutex_lock(&mutex);
    progress->over = TRUE;
    g_cond_signal(&progress->changed);
    g_mutex_unlock(&mutex);
    g_thread_join(progress->thread);
    if (progress->follows) {
        munmap(followed, sizeof(*followed));
        followed = NULL;
    }
    free_progress(progress);
}
