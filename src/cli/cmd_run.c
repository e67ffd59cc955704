/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/conf.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "cli/run-server.h"
#include "cli/sampling.h"
#include "cli/supervise.h"

#include "target/diagnosis.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static gboolean active;
static char *sample_text;
static char **listen_on;
static char *config_file;

static const GOptionEntry options[] = {
    {.long_name = "active", .arg_data = &active, .description = "profile from the start on"},
    {.long_name = "sample",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &sample_text,
     .description = "sampling period: on average one sample per so many bytes (512KiB)",
     .arg_description = "SIZE"},
    {.long_name = "listen",
     .arg = G_OPTION_ARG_STRING_ARRAY,
     .arg_data = &listen_on,
     .description = "serve the program over HTTP while it runs, as 'jescope serve' does, on ADDR:PORT or unix:PATH",
     .arg_description = "ADDRESS"},
    {.long_name = "config",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &config_file,
     .description = "what 'jescope serve --config' takes, for --listen",
     .arg_description = "FILE"},
    {0},
};

/* What the options on the command line add behind the user's own settings. */
static char *
asked_conf(GError **error)
{
    g_autoptr(GString) asked = g_string_new(active ? "prof_active:true" : NULL);
    unsigned lg;
    if (sample_text != NULL) {
        if (!sampling_parse(sample_text, &lg, error))
            return NULL;
        g_string_append_printf(asked, "%slg_prof_sample:%u", asked->len > 0 ? "," : "", lg);
    }
    return g_strdup(asked->str);
}

/* Why the agent will not get into PROGRAM, or NULL. */
static const char *
preload_obstacle(const Program *program)
{
    if ((program->flags & PROGRAM_FOREIGN) != 0)
        return "it is for another kind of machine than this jescope";
    if ((program->flags & PROGRAM_PRIVILEGED) != 0)
        return "it changes its user, group or capabilities, and the dynamic loader takes no libraries then; run it as "
               "the user "
               "it changes to";
    if (program->loader == NULL)
        return "it is statically linked; link the agent into it, or link it dynamically";
    return NULL;
}

static void
warn_conflicts(const Program *program, char **environment)
{
    g_autofree char *variable = diagnosis_conf_variable(program->prefix != NULL ? program->prefix : "");
    const char *conf = g_environ_getenv(environment, variable);
    g_autofree char *prof = conf_value(conf, "prof");
    g_autofree char *lg = conf_value(conf, "lg_prof_sample");
    guint64 exponent = SAMPLING_LG_DEFAULT;
    if (lg != NULL)
        g_ascii_string_to_unsigned(lg, 10, 0, 63, &exponent, NULL);
    if (g_strcmp0(prof, "false") == 0)
        fprintf(stderr, "jescope: warning: your %s says prof:false, so profiling %s will not be possible\n", variable,
                program->path);
    else
        sampling_warn((unsigned)exponent);
    if (g_strcmp0(g_environ_getenv(environment, "JESCOPE"), "off") == 0)
        fputs("jescope: warning: JESCOPE=off is set, so the agent will stay off\n", stderr);
    const char *obstacle = preload_obstacle(program);
    if (obstacle != NULL)
        fprintf(stderr, "jescope: warning: the agent cannot be preloaded into %s: %s\n", program->path, obstacle);
}

/* The environment of PROGRAM, or NULL. */
static char **
prepare(const Program *program, const char *asked, GError **error)
{
    g_autofree char *agent = preload_find_agent(error);
    if (agent == NULL)
        return NULL;
    g_auto(GStrv) environment = g_get_environ();
    g_autofree char *preload = preload_list(program, g_environ_getenv(environment, "LD_PRELOAD"), agent, error);
    if (preload == NULL)
        return NULL;
    environment = g_environ_setenv(environment, "LD_PRELOAD", preload, TRUE);
    g_autofree char *defaults = g_strdup_printf("prof:true,prof_active:false,lg_prof_sample:%d", SAMPLING_LG_DEFAULT);
    conf_set_variables(&environment, program->prefix, defaults, asked);
    warn_conflicts(program, environment);
    return g_steal_pointer(&environment);
}

static int
run(char **operands, GError **error)
{
    g_autofree char *asked = asked_conf(error);
    if (asked == NULL)
        return STATUS_USAGE;
    g_autoptr(Program) program = program_find(operands[0], error);
    if (program == NULL)
        return g_file_test(operands[0], G_FILE_TEST_EXISTS) ? SUPERVISE_NOT_EXECUTABLE : SUPERVISE_NOT_FOUND;
    g_auto(GStrv) environment = prepare(program, asked, error);
    if (environment == NULL)
        return STATUS_FAILED;
    if (listen_on == NULL)
        return supervise(program->path, operands, environment, &(SuperviseHooks){0}, error);
    g_autoptr(RunServer) server = run_server_new((const char *const *)listen_on, config_file, error);
    if (server == NULL)
        return STATUS_FAILED;
    SuperviseHooks hooks = {.started = run_server_start, .ended = run_server_stop, .data = server};
    return supervise(program->path, operands, environment, &hooks, error);
}

const Command cmd_run = {
    .name = "run",
    .synopsis = "[--] PROGRAM [ARGUMENT...]",
    .summary = "start a program with profiling ready",
    .description =
        "Starts PROGRAM with jescope's agent and, if it brings no jemalloc of its own, with libjemalloc.so.2 "
        "preloaded, "
        "and with heap profiling ready to be switched on (MALLOC_CONF=prof:true,prof_active:false). Settings in your "
        "LD_PRELOAD, MALLOC_CONF and its prefixed kin (_RJEM_MALLOC_CONF...) stay and win over these.\n"
        "\n"
        "PROGRAM keeps the terminal, gets the signals sent to jescope, and its exit status becomes that of jescope: "
        "128+N if signal N ended it, 127 if it was not found, 126 if it could not be executed.",
    .options = options,
    .operand = OPERAND_PROGRAM,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
