/* SPDX-License-Identifier: Apache-2.0 */
#include "target/threads.h"

#include "target/process-stat.h"
#include "target/process.h"
#include "target/registers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
    pid_t thread;
    gint rank; /* lower is better */
} Candidate;

enum { WALK_US = G_USEC_PER_SEC };

enum {
    RANK_WAITING = 0,
    RANK_WAITING_ANEW = 2, /* with a timeout that restarts after an interruption */
    RANK_RUNNING = 4,
    RANK_MAIN = 1,   /* added */
    RANK_BOUND = -8, /* added instead in a program with jemalloc's background threads */
};

/* The threads of jemalloc itself and of our agent are busy with jemalloc. */
static const char background[] = "(jemalloc_bg_thd)";
static const char *const unsuitable[] = {background, "(jescope)"};

void
thread_walk_begin(ThreadWalk *walk, pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)pid);
    *walk = (ThreadWalk){.task = g_dir_open(path, 0, NULL), .until_us = g_get_monotonic_time() + WALK_US};
}

pid_t
thread_walk_next(ThreadWalk *walk)
{
    const char *name =
        walk->task != NULL && g_get_monotonic_time() < walk->until_us ? g_dir_read_name(walk->task) : NULL;
    return name != NULL ? (pid_t)atoi(name) : 0;
}

void
thread_walk_end(ThreadWalk *walk)
{
    g_clear_pointer(&walk->task, g_dir_close);
}

/* The state of a thread, field 3 of stat; '\0' if it has ended or cannot be used. */
static char
state_of(pid_t pid, pid_t thread)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/stat", (int)pid, (int)thread);
    g_autofree char *stat = NULL;
    if (!g_file_get_contents(path, &stat, NULL, NULL))
        return '\0';
    for (gsize i = 0; i < G_N_ELEMENTS(unsuitable); i++)
        if (strstr(stat, unsuitable[i]) != NULL)
            return '\0';
    return process_stat_state(stat);
}

static gint
compare_candidates(gconstpointer a, gconstpointer b)
{
    const Candidate *left = a;
    const Candidate *right = b;
    return left->rank != right->rank ? (left->rank > right->rank) - (left->rank < right->rank)
                                     : (left->thread > right->thread) - (left->thread < right->thread);
}

/* The system call in which a thread sleeps, with its arguments and stack pointer; -1 if it does not. */
static gint64
system_call_at(pid_t pid, pid_t thread, guint64 arguments[REGISTERS_ARGUMENTS], guint64 *sp)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    g_autofree char *call = NULL;
    if (!g_file_get_contents(path, &call, NULL, NULL) || !g_ascii_isdigit(call[0]))
        return -1;
    char *end;
    const gint64 number = g_ascii_strtoll(call, &end, 10);
    for (guint i = 0; i < REGISTERS_ARGUMENTS; i++)
        arguments[i] = g_ascii_strtoull(end, &end, 16);
    *sp = g_ascii_strtoull(end, &end, 16);
    return number;
}

static gint64
system_call_of(pid_t pid, pid_t thread, guint64 arguments[REGISTERS_ARGUMENTS])
{
    guint64 sp;
    return system_call_at(pid, thread, arguments, &sp);
}

static gint
rank_of_wait(pid_t pid, pid_t thread)
{
    guint64 arguments[REGISTERS_ARGUMENTS];
    return registers_stop_ends(system_call_of(pid, thread, arguments)) ? RANK_WAITING_ANEW : RANK_WAITING;
}

static void
add_candidate(GArray *candidates, pid_t pid, pid_t thread)
{
    char state = state_of(pid, thread);
    if (state == '\0' || strchr("ZXD", state) != NULL)
        return;
    Candidate candidate = {.thread = thread, .rank = state == 'R' ? RANK_RUNNING : rank_of_wait(pid, thread)};
    if (thread == pid)
        candidate.rank += RANK_MAIN;
    g_array_append_val(candidates, candidate);
}

static gboolean
is_background(pid_t pid, pid_t thread)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/stat", (int)pid, (int)thread);
    g_autofree char *stat = NULL;
    return g_file_get_contents(path, &stat, NULL, NULL) && strstr(stat, background) != NULL;
}

/* The first call binds a thread to an arena, perhaps a new one, and each arena gets a background thread, which stays.
 * The main thread is already bound. */
static void
prefer_main(GArray *candidates, pid_t pid)
{
    for (guint i = 0; i < candidates->len; i++) {
        Candidate *candidate = &g_array_index(candidates, Candidate, i);
        if (candidate->thread == pid)
            candidate->rank += RANK_BOUND;
    }
}

/* Hundreds of similar threads may have stacks that are too small for a call; the main thread's is large enough. */
static void
take_main_early(GArray *candidates, pid_t pid)
{
    enum { EARLY = 4 };

    for (guint i = EARLY + 1; i < candidates->len; i++) {
        Candidate main = g_array_index(candidates, Candidate, i);
        if (main.thread != pid)
            continue;
        if (main.rank - RANK_MAIN <= g_array_index(candidates, Candidate, EARLY).rank) {
            g_array_remove_index(candidates, i);
            g_array_insert_val(candidates, EARLY, main);
        }
        return;
    }
}

GArray *
threads_by_promise(pid_t pid)
{
    g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(Candidate));
    gboolean has_background = FALSE;
    g_auto(ThreadWalk) walk;
    pid_t thread;
    thread_walk_begin(&walk, pid);
    while ((thread = thread_walk_next(&walk)) != 0) {
        add_candidate(candidates, pid, thread);
        has_background = has_background || is_background(pid, thread);
    }
    if (has_background)
        prefer_main(candidates, pid);
    g_array_sort(candidates, compare_candidates);
    take_main_early(candidates, pid);
    GArray *threads = g_array_new(FALSE, FALSE, sizeof(pid_t));
    for (guint i = 0; i < candidates->len; i++)
        g_array_append_val(threads, g_array_index(candidates, Candidate, i).thread);
    return threads;
}

gboolean
threads_is_of(pid_t pid, guint64 start_time, pid_t thread)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d", (int)pid, (int)thread);
    return access(path, F_OK) == 0 && process_start_time(pid) == start_time;
}

static gboolean
is_vfork(gint64 number)
{
#ifdef SYS_vfork
    if (number == SYS_vfork)
        return TRUE;
#endif
    return number == SYS_clone || number == SYS_clone3;
}

pid_t
threads_unstoppable(pid_t pid, gboolean *in_vfork)
{
    g_auto(ThreadWalk) walk;
    pid_t thread;
    thread_walk_begin(&walk, pid);
    while ((thread = thread_walk_next(&walk)) != 0) {
        if (state_of(pid, thread) != 'D')
            continue;
        guint64 arguments[REGISTERS_ARGUMENTS];
        *in_vfork = is_vfork(system_call_of(pid, thread, arguments));
        return thread;
    }
    return 0;
}

gboolean
threads_is_in_transfer(pid_t pid, pid_t thread)
{
    guint64 arguments[REGISTERS_ARGUMENTS];
    const gint64 number = state_of(pid, thread) == 'S' ? system_call_of(pid, thread, arguments) : -1;
    return number >= 0 && registers_stop_cuts_short(number, arguments);
}

guint64
threads_waits_at(pid_t pid, pid_t thread, gint64 *number)
{
    guint64 arguments[REGISTERS_ARGUMENTS];
    guint64 sp = 0;
    *number = system_call_at(pid, thread, arguments, &sp);
    return *number >= 0 ? sp : 0;
}

/* The set of signals after KEY, which begins with a line feed, in the text of a /proc/PID/status. */
static guint64
signals_after(const char *status, const char *key)
{
    const char *line = strstr(status, key);
    return line != NULL ? g_ascii_strtoull(line + strlen(key), NULL, 16) : 0;
}

ThreadSignals
threads_signals(pid_t thread)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)thread);
    g_autofree char *status = NULL;
    if (!g_file_get_contents(path, &status, NULL, NULL))
        return (ThreadSignals){0};
    return (ThreadSignals){
        .pending = signals_after(status, "\nSigPnd:"),
        .blocked = signals_after(status, "\nSigBlk:"),
        .caught = signals_after(status, "\nSigCgt:"),
    };
}
