/* SPDX-License-Identifier: Apache-2.0 */
#include "target/keeper.h"

#include "confine/forking.h"
#include "target/target.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct _Keeper {
    pid_t pid;
    int orders; /* the write end */
};

/* A message is the milliseconds until the deadline, or this. */
static const guint64 is_done = G_MAXUINT64;

enum {
    WORDS = 9,          /* arguments of keeper_run() */
    TRY_MS = 60 * 1000, /* how long ending a lease is retried */
    RETRY_US = 200 * 1000,
    DISMISSED_MS = 2000, /* how long a keeper may take to end */
    LOOK_US = 2000,
};

/* Signals that end jescope must not end its keeper. */
static const int outlived[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};

static char *program;
static char *option;

void
target_set_keeper(const char *path, const char *word)
{
    g_free(program);
    g_free(option);
    program = g_strdup(path);
    option = g_strdup(word);
}

static void
set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    for (gsize i = 0; i < G_N_ELEMENTS(outlived); i++)
        sigaddset(&blocked, outlived[i]);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &blocked);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
}

static int
spawn(const KeptLease *lease, int orders, pid_t *pid)
{
    const Lease *set = &lease->lease;
    const guint64 numbers[WORDS] = {(guint64)lease->pid,   lease->start_time,    lease->program.stack,
                                    lease->program.device, lease->program.inode, set->active,
                                    set->restores,         set->period,          set->restores_period};
    char words[WORDS][32];
    char name[] = "jescope";
    char *arguments[2 + WORDS + 1] = {name, option};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    for (guint i = 0; i < WORDS; i++) {
        g_snprintf(words[i], sizeof(words[i]), "%" G_GUINT64_FORMAT, numbers[i]);
        arguments[2 + i] = words[i];
    }
    set_attributes(&attributes);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, orders, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    forking_lock();
    int code = posix_spawn(pid, program, &files, &attributes, arguments, environ);
    forking_unlock();
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return code;
}

Keeper *
keeper_start(const KeptLease *lease, GError **error)
{
    int ends[2];
    pid_t pid;
    if (program == NULL)
        return NULL;
    int code = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
    if (code == 0) {
        fcntl(ends[1], F_SETFL, O_NONBLOCK); /* a keeper that is held up does not read */
        code = spawn(lease, ends[0], &pid);
        close(ends[0]);
        if (code != 0)
            close(ends[1]);
    }
    if (code != 0) {
        g_set_error(error, TARGET_ERROR, OUTCOME_SYSTEM,
                    "cannot start the process that ends the recording if jescope is killed: %s", g_strerror(code));
        return NULL;
    }
    Keeper *keeper = g_new(Keeper, 1);
    *keeper = (Keeper){.pid = pid, .orders = ends[1]};
    return keeper;
}

static void
order(const Keeper *keeper, guint64 word)
{
    /* Ignores SIGPIPE, since the keeper may have been killed. */
    sigset_t pipe_signal;
    sigset_t before;
    const struct timespec none = {0};
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    if (write(keeper->orders, &word, sizeof(word)) < 0 && errno == EPIPE)
        sigtimedwait(&pipe_signal, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void
keeper_renew(Keeper *keeper, guint64 remaining_ms)
{
    if (keeper != NULL)
        order(keeper, MIN(remaining_ms, is_done - 1));
}

/* A keeper that is ending the lease, since it was renewed late, may be held up by the target's memory for ever. */
static void
wait_for_end(pid_t pid)
{
    const gint64 until = g_get_monotonic_time() + (gint64)DISMISSED_MS * 1000;
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (g_get_monotonic_time() >= until) {
            kill(pid, SIGKILL);
            return;
        }
        g_usleep(LOOK_US);
    }
}

void
keeper_dismiss(Keeper *keeper, KeeperOrder how)
{
    if (keeper == NULL)
        return;
    if (how == KEEPER_DONE)
        order(keeper, is_done);
    close(keeper->orders);
    if (how == KEEPER_DONE)
        wait_for_end(keeper->pid);
    g_free(keeper);
}

/* The following runs in the keeper. */

/* Returns TRUE if the lease is to be ended. */
static gboolean
await_end(void)
{
    gint64 deadline = G_MAXINT64;
    for (;;) {
        struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
        gint64 now = g_get_monotonic_time();
        if (now >= deadline)
            return TRUE;
        int wait = deadline == G_MAXINT64 ? -1 : (int)MIN((deadline - now) / 1000 + 1, (gint64)G_MAXINT);
        int ready = poll(&in, 1, wait);
        guint64 word;
        if (ready < 0 && errno != EINTR)
            return TRUE;
        if (ready <= 0)
            continue;
        if (read(STDIN_FILENO, &word, sizeof(word)) != (ssize_t)sizeof(word))
            return TRUE;
        if (word == is_done)
            return FALSE;
        deadline = g_get_monotonic_time() + (gint64)MIN(word, (guint64)G_MAXINT64 / 4000) * 1000;
    }
}

static gboolean
parse(char **words, KeptLease *lease)
{
    guint64 numbers[WORDS];
    for (guint i = 0; i < WORDS; i++)
        if (words[i] == NULL || !g_ascii_string_to_unsigned(words[i], 10, 0, G_MAXUINT64, &numbers[i], NULL))
            return FALSE;
    *lease = (KeptLease){.pid = (pid_t)numbers[0],
                         .start_time = numbers[1],
                         .program = {.stack = numbers[2], .device = numbers[3], .inode = numbers[4]},
                         .lease = {.active = numbers[5] != 0,
                                   .restores = numbers[6] != 0,
                                   .period = (guint8)MIN(numbers[7], (guint64)WIRE_LEASE_PERIOD_MAX),
                                   .restores_period = (guint8)MIN(numbers[8], (guint64)WIRE_LEASE_PERIOD_MAX)}};
    return TRUE;
}

gboolean
keeper_run(char **words, gboolean (*end)(const KeptLease *lease))
{
    KeptLease lease;
    if (!parse(words, &lease))
        return FALSE;
    if (chdir("/") != 0 || !await_end())
        return TRUE;
    gint64 until = g_get_monotonic_time() + (gint64)TRY_MS * 1000;
    while (process_alive(lease.pid, lease.start_time) && g_get_monotonic_time() < until) {
        if (end(&lease))
            return TRUE;
        g_usleep(RETRY_US);
    }
    return TRUE;
}
