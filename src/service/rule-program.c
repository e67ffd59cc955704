/* SPDX-License-Identifier: Apache-2.0 */
#include "service/rule-program.h"

#include "service/rule-process.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib-unix.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    GRACE_S = 2, /* seconds from SIGTERM to SIGKILL */
    END_S = 5,   /* and from there until it is given up */
    REAP_S = 1,  /* between two looks at one that was given up */
};

typedef enum { RUNS, TOLD, KILLED } Stage;

struct RuleProgram {
    RuleProcess process;
    gboolean left; /* its process was waited for, or is by leave() */
    int pidfd;
    Stage stage;
    gboolean stopped; /* why it was terminated: not by its time limit */
    GMainContext *context;
    GSource *watch, *timer;
    gint64 limit_us;
    RuleProgramDone done;
    gpointer data;
};

static void
end_source(GSource **source)
{
    if (*source != NULL)
        g_source_destroy(*source);
    g_clear_pointer(source, g_source_unref);
}

/* Until it was waited for, its number is that of no other process or group. */
static void
send_signal(const RuleProgram *program, int number)
{
    const pid_t pid = program->process.pid;
    if (program->left)
        return;
    kill(-pid, number);
    /* It may have moved to another group. SIGKILL does not depend on what it does meanwhile. */
    if (number == SIGKILL || getpgid(pid) != pid)
        kill(pid, number);
}

static gboolean
reap(gpointer pid)
{
    return waitpid(GPOINTER_TO_INT(pid), NULL, WNOHANG) == 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

/* Nothing waits for the end of the process any more; its status is taken whenever it comes. */
static void
leave(RuleProgram *program)
{
    program->left = TRUE;
    GSource *source = g_timeout_source_new_seconds(REAP_S);
    g_source_set_callback(source, reap, GINT_TO_POINTER((int)program->process.pid), NULL);
    g_source_attach(source, program->context);
    g_source_unref(source);
}

void
rule_program_free(RuleProgram *program)
{
    if (program == NULL)
        return;
    end_source(&program->watch);
    end_source(&program->timer);
    send_signal(program, SIGKILL);
    if (!program->left)
        leave(program);
    if (program->pidfd >= 0)
        close(program->pidfd);
    close(program->process.failure);
    g_main_context_unref(program->context);
    g_free(program);
}

static void
tell_to_end(RuleProgram *program)
{
    program->stage = TOLD;
    send_signal(program, SIGTERM);
    g_source_set_ready_time(program->timer, g_get_monotonic_time() + GRACE_S * G_USEC_PER_SEC);
}

void
rule_program_stop(RuleProgram *program)
{
    if (program->stage != RUNS)
        return;
    program->stopped = TRUE;
    tell_to_end(program);
}

/* A sentence; NULL: it exited with status 0. To be freed. */
static char *
describe_status(const RuleProgram *program, int status)
{
    g_autoptr(GError) error = NULL;
    const int number = rule_process_failure(&program->process);
    if (number != 0)
        return g_strdup_printf("cannot execute it: %s", g_strerror(number));
    return g_spawn_check_wait_status(status, &error) ? NULL : g_strdup(error->message);
}

/* Takes ownership of FAILURE. PROGRAM may be freed here. */
static void
finish(RuleProgram *program, char *failure)
{
    end_source(&program->timer);
    end_source(&program->watch);
    program->done(failure, program->data);
    g_free(failure);
}

static char *
describe_end(const RuleProgram *program, int status)
{
    if (program->stopped)
        return g_strdup("it was ended, since jescope was told to stop");
    if (program->stage != RUNS)
        return g_strdup_printf("it did not end within %" G_GINT64_FORMAT " s and was killed",
                               program->limit_us / G_USEC_PER_SEC);
    return describe_status(program, status);
}

static gboolean
on_ended(gint pidfd, GIOCondition condition, gpointer data)
{
    RuleProgram *program = data;
    int status = 0;
    send_signal(program, SIGKILL); /* what it has left running */
    /* Its status is first for a process that traces it, which may never take it. */
    program->left = waitpid(program->process.pid, &status, WNOHANG) != 0;
    if (!program->left) {
        leave(program);
        finish(program, g_strdup("its status is unknown, since another process traces it"));
        return G_SOURCE_REMOVE;
    }
    finish(program, describe_end(program, status));
    return G_SOURCE_REMOVE;
}

static gboolean
on_time(gpointer data)
{
    RuleProgram *program = data;
    switch (program->stage) {
    case RUNS:
        tell_to_end(program);
        return G_SOURCE_CONTINUE;
    case TOLD:
        program->stage = KILLED;
        send_signal(program, SIGKILL);
        g_source_set_ready_time(program->timer, g_get_monotonic_time() + END_S * G_USEC_PER_SEC);
        return G_SOURCE_CONTINUE;
    case KILLED:
        leave(program);
        finish(program, g_strdup("it was killed, but does not end"));
        return G_SOURCE_REMOVE;
    }
    g_return_val_if_reached(G_SOURCE_REMOVE);
}

static gboolean
dispatch_timer(GSource *source, GSourceFunc func, gpointer data)
{
    return func(data);
}

static void
watch(RuleProgram *program)
{
    static GSourceFuncs funcs = {.dispatch = dispatch_timer};
    program->watch = g_unix_fd_source_new(program->pidfd, G_IO_IN);
    g_source_set_callback(program->watch, G_SOURCE_FUNC(on_ended), program, NULL);
    g_source_attach(program->watch, program->context);
    program->timer = g_source_new(&funcs, sizeof(GSource));
    g_source_set_callback(program->timer, on_time, program, NULL);
    g_source_set_ready_time(program->timer, g_get_monotonic_time() + program->limit_us);
    g_source_attach(program->timer, program->context);
}

RuleProgram *
rule_program_start(const RuleProgramSetup *setup, GMainContext *context, RuleProgramDone done, gpointer data,
                   GError **error)
{
    RuleProcess process;
    if (!rule_process_start(setup, &process, error))
        return NULL;
    RuleProgram *program = g_new0(RuleProgram, 1);
    *program = (RuleProgram){.process = process,
                             .pidfd = pidfd_open(process.pid, 0),
                             .context = g_main_context_ref(context),
                             .limit_us = setup->limit_us,
                             .done = done,
                             .data = data};
    if (program->pidfd < 0) {
        const int number = errno;
        g_set_error(error, G_IO_ERROR, g_io_error_from_errno(number), "cannot watch it: %s", g_strerror(number));
        rule_program_free(program);
        return NULL;
    }
    watch(program);
    return program;
}
