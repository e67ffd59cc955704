/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/serve-arguments.h"

#include "http/notify.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

enum {
    READY_WITHIN_MS = 5000,
};

typedef struct {
    Serve *serve;
    char **operands;
    GMainLoop *loop;
    gboolean stopping;
} Daemon;

static void
print_line(const char *text, gpointer data)
{
    fprintf(stderr, "jescope: %s\n", text);
}

static void
on_stopped(gpointer data)
{
    g_main_loop_quit(data);
}

/* The second signal does not wait for anything. */
static gboolean
on_end(gpointer data)
{
    Daemon *daemon = data;
    if (daemon->stopping) {
        g_main_loop_quit(daemon->loop);
        return G_SOURCE_CONTINUE;
    }
    daemon->stopping = TRUE;
    notify_send("STOPPING=1");
    serve_stop(daemon->serve, on_stopped, daemon->loop);
    return G_SOURCE_CONTINUE;
}

static gboolean
reload(Daemon *daemon, GError **error)
{
    g_autoptr(ServeArguments) arguments = serve_arguments_read(daemon->operands, error);
    if (arguments == NULL)
        return FALSE;
    ServeOptions options = *serve_arguments_options(arguments);
    options.say = options.service.say = print_line;
    return serve_reconfigure(daemon->serve, &options, error);
}

static gboolean
on_reload(gpointer data)
{
    Daemon *daemon = data;
    g_autoptr(GError) error = NULL;
    if (daemon->stopping)
        return G_SOURCE_CONTINUE;
    notify_reloading();
    if (reload(daemon, &error))
        print_line("the settings were read again", NULL);
    else
        fprintf(stderr, "jescope: nothing was changed: %s\n", error->message);
    notify_send("READY=1");
    return G_SOURCE_CONTINUE;
}

/* A connection is a descriptor, and so is a target's socket. */
static void
raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static Serve *
start(char **operands, GError **error)
{
    g_autoptr(GArray) descriptors = notify_take_descriptors();
    g_autoptr(ServeArguments) arguments = serve_arguments_read(operands, error);
    if (arguments == NULL)
        return NULL;
    ServeOptions options = *serve_arguments_options(arguments);
    options.descriptors = descriptors;
    options.say = options.service.say = print_line;
    return serve_new(&options, error);
}

static void
tell_ready(const Serve *serve)
{
    g_auto(GStrv) places = serve_places(serve);
    g_autofree char *list = g_strjoinv(", ", places);
    g_autofree char *state = g_strdup_printf("READY=1\nSTATUS=serving on %s", list);
    for (char **place = places; *place != NULL; place++)
        fprintf(stderr, "jescope: serving on %s\n", *place);
    notify_send(state);
}

static gboolean
stop_waiting(gpointer data)
{
    *(gboolean *)data = TRUE;
    return G_SOURCE_REMOVE;
}

/* Who hears that we are ready shall find the targets that are there. */
static void
wait_until_ready(const Daemon *daemon)
{
    gboolean late = FALSE;
    guint timer = g_timeout_add(READY_WITHIN_MS, stop_waiting, &late);
    while (!late && !daemon->stopping && !serve_is_ready(daemon->serve))
        g_main_context_iteration(NULL, TRUE);
    if (!late)
        g_source_remove(timer);
}

static void
run_until_stopped(Daemon *daemon)
{
    const guint sources[] = {
        g_unix_signal_add(SIGTERM, on_end, daemon),
        g_unix_signal_add(SIGINT, on_end, daemon),
        g_unix_signal_add(SIGHUP, on_reload, daemon),
    };
    guint watchdog = notify_watch();
    wait_until_ready(daemon);
    tell_ready(daemon->serve);
    g_main_loop_run(daemon->loop);
    for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
        g_source_remove(sources[i]);
    g_clear_handle_id(&watchdog, g_source_remove);
}

static int
run(char **operands, GError **error)
{
    /* A client that hangs up, and a limit on the size of files, are errors like any other. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    raise_descriptor_limit();
    g_autoptr(Serve) serve = start(operands, error);
    if (serve == NULL)
        return STATUS_FAILED;
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    Daemon daemon = {.serve = serve, .operands = operands, .loop = loop};
    run_until_stopped(&daemon);
    return STATUS_DONE;
}

const Command cmd_serve = {
    .name = "serve",
    .synopsis = "[TARGET...]",
    .summary = "serve targets over HTTP: API, metrics, and other systems' paths",
    .description =
        "Serves the native API under /api/v1, Prometheus metrics under /metrics, and the paths that libmtev, userver, "
        "Mesos and pprof have for memory profiling, for every TARGET, or for every process of yours with an agent as "
        "they come and go. A path behind /targets/ID is about that target; at the root it is about the only one, or "
        "the one of --default.\n\n"
        "On a loopback address or a unix socket (mode 0600) nobody needs a token, and requests that name another host "
        "or that another site's page caused are refused. An address that others can reach needs --token-file, "
        "--tls-cert and --tls-key, or --insecure. Every change is told on stderr: who, what, and on which target.\n\n"
        "SIGHUP reads the configuration, tokens and certificates again. SIGTERM and SIGINT end it: requests under way "
        "are answered, recordings end with their dump, and profiling is as it was before. Sockets of systemd are "
        "taken over, and it is told when the server is ready.",
    .options = serve_options,
    .operand = OPERAND_TARGET,
    .operands_min = 0,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
