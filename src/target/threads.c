/* SPDX-License-Identifier: Apache-2.0 */
#include "target/threads.h"

#include "target/registers.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    pid_t thread;
    guint rank; /* lower is better */
} Candidate;

enum {
    RANK_WAITING = 0,
    RANK_WAITING_ANEW = 2, /* with a timeout that begins anew when it is interrupted */
    RANK_RUNNING = 4,
    RANK_MAIN = 1, /* added */
};

/* Those of jemalloc itself and of our agent are busy with jemalloc. */
static const char *const unsuitable[] = {"(jemalloc_bg_thd)", "(jescope)"};

/* Field 3 of stat; '\0' if it has ended or is none to use. */
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
    const char *close = strrchr(stat, ')');
    return close != NULL && close[1] == ' ' ? close[2] : '\0';
}

static gint
compare_candidates(gconstpointer a, gconstpointer b)
{
    const Candidate *left = a;
    const Candidate *right = b;
    return left->rank != right->rank ? (left->rank > right->rank) - (left->rank < right->rank)
                                     : (left->thread > right->thread) - (left->thread < right->thread);
}

/* Of one that sleeps. The file tells the number of its system call, and more. */
static guint
rank_of_wait(pid_t pid, pid_t thread)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/syscall", (int)pid, (int)thread);
    g_autofree char *call = NULL;
    gboolean anew = g_file_get_contents(path, &call, NULL, NULL) && g_ascii_isdigit(call[0]) &&
                    registers_stop_ends(g_ascii_strtoll(call, NULL, 10));
    return anew ? RANK_WAITING_ANEW : RANK_WAITING;
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

GArray *
threads_by_promise(pid_t pid)
{
    g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(Candidate));
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)pid);
    g_autoptr(GDir) task = g_dir_open(path, 0, NULL);
    const char *name;
    while (task != NULL && (name = g_dir_read_name(task)) != NULL)
        if (g_ascii_isdigit(name[0]))
            add_candidate(candidates, pid, (pid_t)atoi(name));
    g_array_sort(candidates, compare_candidates);
    GArray *threads = g_array_new(FALSE, FALSE, sizeof(pid_t));
    for (guint i = 0; i < candidates->len; i++)
        g_array_append_val(threads, g_array_index(candidates, Candidate, i).thread);
    return threads;
}

/* The mask in the line of KEY, e.g. "\nSigCgt:"; 0: there is none. */
static guint64
mask_in(const char *status, const char *key)
{
    const char *line = status != NULL ? strstr(status, key) : NULL;
    return line != NULL ? g_ascii_strtoull(line + strlen(key), NULL, 16) : 0;
}

static char *
read_status(pid_t pid, pid_t thread)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/status", (int)pid, (int)thread);
    char *status = NULL;
    return g_file_get_contents(path, &status, NULL, NULL) ? status : NULL;
}

gboolean
threads_signal_pending(pid_t pid, pid_t thread, guint64 blocked)
{
    g_autofree char *status = read_status(pid, thread);
    return ((mask_in(status, "\nSigPnd:") | mask_in(status, "\nShdPnd:")) & ~blocked) != 0;
}

guint64
threads_caught_signals(pid_t pid)
{
    g_autofree char *status = read_status(pid, pid);
    return mask_in(status, "\nSigCgt:");
}
