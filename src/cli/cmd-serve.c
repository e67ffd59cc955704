/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/serve-arguments.h"
#include "cli/serve-privileges.h"
#include "cli/serve-split.h"

#include "blackbox/prekill.h"
#include "broker/client.h"
#include "cli/notify.h"
#include "confine/input-file.h"
#include "target/process-end.h"

#include <glib-unix.h>
#include <signal.h>
#include <unistd.h>

enum {
    READY_WITHIN_MS = 5000,
};

typedef struct {
    Serve *serve;
    char **operands;
    GMainLoop *loop;
    gboolean stopping;
    gboolean failed;
} Daemon;

/* For root's server in two processes. The broker has a copy. */
typedef struct {
    int broker; /* the socket; -1: there is one process */
    ServeUser user;
    gboolean substitute; /* the user is not the one that is meant, which does not exist */
    char **operands;
    guint given; /* sockets passed by a supervisor */
} Split;

static Split split = {.broker = -1};

static void
print_line(const char *text, gpointer data)
{
    command_say("%s", text);
}

static void
on_stopped(gpointer data)
{
    g_main_loop_quit(data);
}

/* The second signal exits immediately. */
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
holds_secrets(const ServeOptions *options)
{
    const GPtrArray *pushes = options->service.pushes;
    gboolean secrets = options->token_file != NULL || options->tls_key != NULL;
    for (guint i = 0; pushes != NULL && i < pushes->len; i++) {
        const ServicePush *push = pushes->pdata[i];
        secrets = secrets || push->token_file != NULL || push->key_file != NULL;
    }
    return secrets;
}

static ServeNeeds
needs_of(const ServeOptions *options)
{
    gboolean named = options->service.targets != NULL && options->service.targets[0] != NULL;
    return (process_end_pidfd_has_status() ? 0 : SERVE_FOLLOWS_EXITS) | (named ? SERVE_REACHES_BY_PTRACE : 0) |
           (holds_secrets(options) ? SERVE_HOLDS_SECRETS : 0);
}

static gboolean
reduce_privileges(const ServeOptions *options, GError **error)
{
    const ServiceBlackbox *blackbox = &options->service.blackbox;
    const ServePaths paths = {.history = options->service.history,
                              .blackbox = blackbox->scope != SERVICE_BLACKBOX_OFF ? blackbox->directory : NULL,
                              .pushes = options->service.pushes};
    if (split.substitute)
        command_say(
            "warning: there is no user '%s', and every process of '%s' can end the server; create that user, or "
            "give another with --user",
            SERVE_SPLIT_USER, split.user.name);
    if (split.broker >= 0)
        return serve_split_finish(split.broker, &split.user, &paths, error);
    return serve_privileges_reduce(needs_of(options), error);
}

/* Runs in the broker. */
static BrokerPolicy *
read_policy(gpointer data)
{
    g_autoptr(ServeArguments) arguments = serve_arguments_read(split.operands, NULL);
    return arguments != NULL ? serve_arguments_policy(arguments, split.given) : NULL;
}

static gboolean
begin_split(const ServeArguments *arguments, ServeOptions *options, GError **error)
{
    static const BrokerSettings settings = {.read = read_policy};
    const char *name = serve_arguments_user(arguments);
    if (geteuid() != 0) {
        if (name == NULL || g_strcmp0(name, g_get_user_name()) == 0)
            return TRUE;
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "--user: only root's server can become user %s", name);
        return FALSE;
    }
    if (!serve_split_user(name, &split.user, error))
        return FALSE;
    if (split.user.uid == 0)
        return TRUE;
    split.substitute = name == NULL && strcmp(split.user.name, SERVE_SPLIT_USER) != 0;
    notify_connect();
    split.broker = serve_split_begin(&settings, needs_of(options), error);
    options->service.root = broker_client_root();
    return split.broker >= 0;
}

static gboolean
reload(Daemon *daemon, GError **error)
{
    g_autoptr(ServeArguments) arguments = serve_arguments_read(daemon->operands, error);
    if (arguments == NULL)
        return FALSE;
    ServeOptions options = *serve_arguments_options(arguments);
    options.say = options.service.say = print_line;
    if (holds_secrets(&options))
        serve_privileges_guard_secrets();
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
        command_say("nothing was changed: %s", error->message);
    notify_send("READY=1");
    return G_SOURCE_CONTINUE;
}

/* *HOOK is owned by the caller and outlives the server; NULL: none. */
static Serve *
start(char **operands, PrekillHook **hook, GError **error)
{
    g_autoptr(GArray) descriptors = notify_take_descriptors();
    g_autoptr(ServeArguments) arguments = serve_arguments_read(operands, error);
    if (arguments == NULL)
        return NULL;
    ServeOptions options = *serve_arguments_options(arguments);
    options.descriptors = descriptors;
    split.operands = operands;
    split.given = descriptors->len;
    if (!begin_split(arguments, &options, error))
        return NULL;
    const char *oomd_hook = serve_arguments_oomd_hook(arguments);
    if (oomd_hook != NULL) {
        *hook = options.service.prekill = prekill_hook_new(oomd_hook, error);
        if (*hook == NULL)
            return NULL;
    }
    options.listening = reduce_privileges;
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
        command_say("serving on %s", *place);
    notify_send(state);
}

static gboolean
stop_waiting(gpointer data)
{
    *(gboolean *)data = TRUE;
    return G_SOURCE_REMOVE;
}

/* Readiness is reported after the initial scan. */
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

/* Without the broker no target can be reached. The supervisor restarts both. */
static gboolean
on_broker_ended(int fd, GIOCondition condition, gpointer data)
{
    Daemon *daemon = data;
    print_line("the process that reaches targets for this server has ended, and so does the server", NULL);
    daemon->failed = TRUE;
    daemon->stopping = TRUE;
    g_main_loop_quit(daemon->loop);
    return G_SOURCE_REMOVE;
}

static void
run_until_stopped(Daemon *daemon)
{
    if (split.broker >= 0)
        g_unix_fd_add(split.broker, G_IO_HUP | G_IO_ERR, on_broker_ended, daemon);
    const guint sources[] = {
        g_unix_signal_add(SIGTERM, on_end, daemon),
        g_unix_signal_add(SIGINT, on_end, daemon),
        g_unix_signal_add(SIGHUP, on_reload, daemon),
    };
    guint watchdog = notify_watch();
    wait_until_ready(daemon);
    if (!daemon->failed) {
        tell_ready(daemon->serve);
        g_main_loop_run(daemon->loop);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
        g_source_remove(sources[i]);
    g_clear_handle_id(&watchdog, g_source_remove);
}

static int
run(char **operands, GError **error)
{
    /* A closed connection and a file size limit are reported like any other error. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    input_file_raise_limit(); /* each connection needs a descriptor, and so does each target's socket */
    g_autoptr(PrekillHook) hook = NULL;
    g_autoptr(Serve) serve = start(operands, &hook, error);
    if (serve == NULL)
        return STATUS_FAILED;
    g_autoptr(GMainLoop) loop = g_main_loop_new(NULL, FALSE);
    Daemon daemon = {.serve = serve, .operands = operands, .loop = loop};
    run_until_stopped(&daemon);
    return daemon.failed ? STATUS_FAILED : STATUS_DONE;
}

static const Example examples[] = {
    {"jescope serve", "serve all your processes on http://127.0.0.1:7469"},
    {"jescope serve redis-server --listen=unix:/run/jescope.sock", "serve one process on a unix socket"},
    {0},
};

const Command cmd_serve = {
    .name = "serve",
    .synopsis = "[TARGET...]",
    .summary = "run the HTTP server: API, metrics and compatible endpoints",
    .description =
        "Serves the native API under /api/v1, Prometheus metrics under /metrics, and the memory profiling "
        "paths of libmtev, userver, Mesos and pprof, for every TARGET, or for every process of yours with "
        "an agent as they come and go. Paths under /targets/ID refer to that target; at the root, to the "
        "only target or the one of --default.\n\n"
        "A unix socket (mode 0600) is for root and your user and needs no token; without --listen, root's "
        "server listens on one. On a loopback address root and the server's user may do everything, and "
        "other users of the machine see and change the processes of their own user, which the kernel tells "
        "for each connection. Cross-site requests and requests that name another host are refused. An "
        "address that others can reach needs --token-file, --tls-cert and --tls-key, or --insecure. Every "
        "change is logged to stderr with client, request and target.\n\n"
        "Root's server becomes another user (--user) before it takes requests; a small process that finds "
        "targets and connects to them stays root. A history file must be in a directory of that user.\n\n"
        "A section [push] of the file of --config sends dumps of the targets to another system in rounds; its "
        "keys are options of 'jescope push', and docs/push.md has them.\n\n"
        "SIGHUP reloads the configuration, its sections [push] too, tokens and certificates. SIGTERM and SIGINT end "
        "the server: "
        "requests under way are answered, recordings end with their dump, and the earlier state of "
        "profiling is restored. systemd socket activation and readiness notification are supported.",
    .examples = examples,
    .options = serve_options,
    .operand = OPERAND_TARGET,
    .stays = TRUE,
    .operands_min = 0,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
