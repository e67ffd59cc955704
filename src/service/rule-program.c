/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-program.h"

#include <errno.h>
#include <glib-unix.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    GRACE_S = 2, /* seconds from SIGTERM to SIGKILL */
    GROUPS_MAX = 256,
    FIRST_FILE = 3,
    FILES_MAX = 4,
};

struct RuleProgram {
    GPid pid; /* also its process group; 0: it has exited */
    GSource *watch, *timer;
    gint64 limit_us;
    gboolean late, stopped; /* why it was terminated */
    RuleProgramDone done;
    gpointer data;
};

/* The rights that the child assumes; uid -1: unchanged. */
typedef struct {
    uid_t uid;
    gid_t gid;
    gid_t groups[GROUPS_MAX];
    int n_groups;
    pid_t parent;
} Rights;

static void
end_source(GSource **source)
{
    if (*source != NULL)
        g_source_destroy(*source);
    g_clear_pointer(source, g_source_unref);
}

void
rule_program_free(RuleProgram *program)
{
    if (program == NULL)
        return;
    end_source(&program->watch);
    end_source(&program->timer);
    if (program->pid > 0)
        kill(-program->pid, SIGKILL);
    g_free(program);
}

static gboolean
find_rights(const char *user, Rights *rights, GError **error)
{
    *rights = (Rights){.uid = (uid_t)-1, .n_groups = GROUPS_MAX, .parent = getpid()};
    if (user == NULL || geteuid() != 0)
        return TRUE;
    g_autofree struct passwd *entry = g_unix_get_passwd_entry(user, error);
    if (entry == NULL)
        return FALSE;
    if (getgrouplist(entry->pw_name, entry->pw_gid, rights->groups, &rights->n_groups) < 0) {
        g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "user '%s' is in too many groups", user);
        return FALSE;
    }
    rights->uid = entry->pw_uid;
    rights->gid = entry->pw_gid;
    return TRUE;
}

/* Runs in the child before it executes the program; only system calls are allowed. */
static void
become(gpointer data)
{
    const Rights *rights = data;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    if (setpgid(0, 0) != 0)
        _exit(127);
    if (rights->uid != (uid_t)-1 && (setgroups((size_t)rights->n_groups, rights->groups) != 0 ||
                                     setgid(rights->gid) != 0 || setuid(rights->uid) != 0))
        _exit(127);
    /* After setuid(), which resets it. The parent may have been killed before. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != rights->parent)
        _exit(127);
}

static void
tell_to_end(RuleProgram *program)
{
    if (program->pid > 0)
        kill(-program->pid, SIGTERM);
    g_source_set_ready_time(program->timer, g_get_monotonic_time() + GRACE_S * G_USEC_PER_SEC);
}

static gboolean
on_late(gpointer data)
{
    RuleProgram *program = data;
    if (program->late || program->stopped) {
        if (program->pid > 0)
            kill(-program->pid, SIGKILL);
        return G_SOURCE_REMOVE;
    }
    program->late = TRUE;
    tell_to_end(program);
    return G_SOURCE_CONTINUE;
}

void
rule_program_stop(RuleProgram *program)
{
    if (program->late || program->stopped)
        return;
    program->stopped = TRUE;
    tell_to_end(program);
}

static void
on_ended(GPid pid, gint status, gpointer data)
{
    RuleProgram *program = data;
    g_autoptr(GError) error = NULL;
    g_autofree char *failure = NULL;
    /* Kills children that it has left running. */
    kill(-pid, SIGKILL);
    program->pid = 0;
    if (program->stopped)
        failure = g_strdup("it was ended, since jescope was told to stop");
    else if (program->late)
        failure = g_strdup_printf("it did not end within %" G_GINT64_FORMAT " s and was killed",
                                  program->limit_us / G_USEC_PER_SEC);
    else if (!g_spawn_check_wait_status(status, &error))
        failure = g_strdup(error->message);
    program->done(failure, program->data);
}

static gboolean
dispatch_timer(GSource *source, GSourceFunc func, gpointer data)
{
    return func(data);
}

static void
watch(RuleProgram *program, GMainContext *context)
{
    static GSourceFuncs funcs = {.dispatch = dispatch_timer};
    program->watch = g_child_watch_source_new(program->pid);
    g_source_set_callback(program->watch, G_SOURCE_FUNC(on_ended), program, NULL);
    g_source_attach(program->watch, context);
    program->timer = g_source_new(&funcs, sizeof(GSource));
    g_source_set_callback(program->timer, on_late, program, NULL);
    g_source_set_ready_time(program->timer, g_get_monotonic_time() + program->limit_us);
    g_source_attach(program->timer, context);
}

RuleProgram *
rule_program_start(const RuleProgramSetup *setup, GMainContext *context, RuleProgramDone done, gpointer data,
                   GError **error)
{
    const GSpawnFlags flags = G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL;
    int from[FILES_MAX], to[FILES_MAX];
    guint n = 0;
    Rights rights;
    GPid pid;
    for (guint i = 0; i < setup->n_files && n < FILES_MAX; i++)
        if (setup->files[i] >= 0) {
            from[n] = setup->files[i];
            to[n++] = FIRST_FILE + (int)i;
        }
    if (!find_rights(setup->user, &rights, error) ||
        !g_spawn_async_with_pipes_and_fds("/", (const char *const *)setup->argv,
                                          (const char *const *)setup->environment, flags, become, &rights, -1, -1, -1,
                                          from, to, n, &pid, NULL, NULL, NULL, error))
        return NULL;
    RuleProgram *program = g_new0(RuleProgram, 1);
    *program = (RuleProgram){.pid = pid, .limit_us = setup->limit_us, .done = done, .data = data};
    watch(program, context);
    return program;
}
