/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/sampling.h"
#include "http/address.h"
#include "run/conf.h"
#include "run/run.h"
#include "run/server.h"
#include "run/supervise.h"
#include "target/diagnosis.h"

static gboolean active;
static char *sample_text;
static SamplerArguments sampler_arguments;
static char **listen_on;
static char *config_file;

static const GOptionEntry options[] = {
    {.long_name = "active", .arg_data = &active, .description = "switch profiling on from the start"},
    {.long_name = "sample",
     .arg = G_OPTION_ARG_STRING,
     .arg_data = &sample_text,
     .description = "average number of bytes between samples (default 512KiB)",
     .arg_description = "SIZE"},
    SAMPLER_OPTIONS(sampler_arguments),
    {.long_name = "listen",
     .arg = G_OPTION_ARG_STRING_ARRAY,
     .arg_data = &listen_on,
     .description = "serve the program over HTTP while it runs, as 'jescope serve' does, on ADDR:PORT or unix:PATH",
     .arg_description = "ADDRESS"},
    {.long_name = "config",
     .arg = G_OPTION_ARG_FILENAME,
     .arg_data = &config_file,
     .description = "configuration file for --listen, as for 'jescope serve --config'",
     .arg_description = "FILE"},
    {0},
};

enum { LG_KEEP = 64 }; /* no --sample */

typedef struct {
    unsigned lg;
    SamplerChoice choice;
} Wanted;

static gboolean
parse(Wanted *wanted, GError **error)
{
    *wanted = (Wanted){.lg = LG_KEEP};
    return (sample_text == NULL || sampling_parse(sample_text, &wanted->lg, error)) &&
           sampler_parse(&sampler_arguments, &wanted->choice, error);
}

G_GNUC_PRINTF(2, 3) static void add_word(GString *words, const char *format, ...)
{
    va_list arguments;
    if (words->len > 0)
        g_string_append_c(words, ',');
    va_start(arguments, format);
    g_string_append_vprintf(words, format, arguments);
    va_end(arguments);
}

/* Settings of command-line options for jemalloc, added after the user's own. */
static char *
asked_conf(const Wanted *wanted)
{
    GString *words = g_string_new(NULL);
    if (active)
        add_word(words, "prof_active:true");
    if (wanted->lg != LG_KEEP)
        add_word(words, "lg_prof_sample:%u", wanted->lg);
    if (wanted->choice.sampler == WIRE_SAMPLER_JESCOPE)
        add_word(words, "prof:false");
    return g_string_free(words, FALSE);
}

/* The same for jescope's own sampler, in the form of WIRE_SAMPLER_VARIABLE. */
static char *
asked_sampler(const Wanted *wanted)
{
    GString *words = g_string_new(NULL);
    if (active)
        add_word(words, "active:true");
    if (wanted->lg != LG_KEEP)
        add_word(words, "lg_sample:%u", wanted->lg);
    if (wanted->choice.memory != 0)
        add_word(words, "memory:%" G_GUINT64_FORMAT, wanted->choice.memory);
    return g_string_free(words, FALSE);
}

static char **
set_sampler(char **environment, const Wanted *wanted)
{
    g_autofree char *words = asked_sampler(wanted);
    if (wanted->choice.sampler == WIRE_SAMPLER_JEMALLOC)
        return g_environ_unsetenv(environment, WIRE_SAMPLER_VARIABLE);
    return words[0] != '\0' ? g_environ_setenv(environment, WIRE_SAMPLER_VARIABLE, words, TRUE) : environment;
}

/* Warnings about properties that 'run' cannot change. */
static void
warn_of_heap(const Program *program)
{
    if ((program->flags & PROGRAM_STRIPPED_JEMALLOC) != 0)
        command_say("warning: %s has a linked jemalloc without symbols: allocations from it, as in Rust programs, will "
                    "not be visible; keep its symbols (strip --strip-debug)",
                    program->path);
    else if ((program->flags & PROGRAM_OWN_MALLOC) != 0)
        command_say("warning: %s has its own malloc linked in, which a preloaded jemalloc cannot replace: its heap "
                    "will not be seen; link it with jemalloc instead",
                    program->path);
    if (!run_can_prepare(program))
        command_say("warning: %s is statically linked, and jemalloc's prof:true can crash such a program at startup, "
                    "so it is not set; if it works with yours, set MALLOC_CONF=prof:true,prof_active:false",
                    program->path);
}

/* The settings of the profiler in jemalloc's options. */
static void
warn_of_profiler(const Program *program, char **environment, WireSampler sampler)
{
    g_autofree char *variable = diagnosis_conf_variable(program->prefix != NULL ? program->prefix : "");
    const char *conf = g_environ_getenv(environment, variable);
    g_autofree char *prof = conf_value(conf, "prof");
    g_autofree char *lg = conf_value(conf, "lg_prof_sample");
    guint64 exponent = RUN_LG_SAMPLE_DEFAULT;
    if (lg != NULL)
        g_ascii_string_to_unsigned(lg, 10, 0, 63, &exponent, NULL);
    if (sampler == WIRE_SAMPLER_JESCOPE)
        return;
    if (g_strcmp0(prof, "false") != 0)
        sampling_warn((unsigned)exponent);
    else if (sampler == WIRE_SAMPLER_AUTO && run_obstacle(program) == NULL)
        command_say("your %s says prof:false, so jescope's own sampler is to profile %s", variable, program->path);
    else
        command_say("warning: your %s says prof:false, so profiling %s will not be possible", variable, program->path);
}

static void
warn_conflicts(const Program *program, char **environment, WireSampler sampler)
{
    warn_of_profiler(program, environment, sampler);
    if (g_strcmp0(g_environ_getenv(environment, "JESCOPE"), "off") == 0)
        command_say("warning: JESCOPE=off is set, so the agent will stay off");
    warn_of_heap(program);
    const char *obstacle = run_obstacle(program);
    if (obstacle != NULL)
        command_say("warning: the agent cannot be preloaded into %s: %s", program->path, obstacle);
}

static gboolean
check_obstacle(const Program *program, const Wanted *wanted, GError **error)
{
    const char *obstacle = run_obstacle(program);
    if (obstacle == NULL || wanted->choice.sampler != WIRE_SAMPLER_JESCOPE)
        return TRUE;
    g_set_error(error, CLI_ERROR, CLI_ERROR_FAILED,
                "--sampler=jescope: the agent, which has the sampler, cannot be preloaded into %s: %s", program->path,
                obstacle);
    return FALSE;
}

/* The sockets of --listen. */
static GArray *
parse_addresses(GError **error)
{
    g_autoptr(GArray) addresses = g_array_new(FALSE, FALSE, sizeof(Address));
    for (char **text = listen_on; text != NULL && *text != NULL; text++) {
        Address address;
        if (!address_parse(*text, &address, error))
            return NULL;
        if (config_file == NULL && !address_is_local(&address)) {
            g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                        "--listen: others can reach '%s'; give --config with token-file, tls-cert and tls-key", *text);
            return NULL;
        }
        g_array_append_val(addresses, address);
    }
    return g_steal_pointer(&addresses);
}

static void
start_server(pid_t program, gpointer server)
{
    g_autoptr(GError) error = NULL;
    if (!run_server_start(server, program, &error))
        command_say("%s", error->message);
}

static void
stop_server(gpointer server)
{
    run_server_stop(server);
}

static int
run(char **operands, GError **error)
{
    Wanted wanted;
    if (!parse(&wanted, error))
        return STATUS_USAGE;
    g_autofree char *asked = asked_conf(&wanted);
    g_autoptr(Program) program = program_find(operands[0], error);
    if (program == NULL)
        return g_file_test(operands[0], G_FILE_TEST_EXISTS) ? SUPERVISE_NOT_EXECUTABLE : SUPERVISE_NOT_FOUND;
    g_auto(GStrv) environment = run_environment(program, asked, error);
    if (environment == NULL || !check_obstacle(program, &wanted, error))
        return STATUS_FAILED;
    environment = set_sampler(environment, &wanted);
    warn_conflicts(program, environment, wanted.choice.sampler);
    if (listen_on == NULL)
        return supervise(program->path, operands, environment, &(SuperviseHooks){0}, error);
    g_autoptr(GArray) addresses = parse_addresses(error);
    g_autoptr(RunServer) server = addresses != NULL ? run_server_new(addresses, config_file, error) : NULL;
    if (server == NULL)
        return STATUS_FAILED;
    SuperviseHooks hooks = {.started = start_server, .ended = stop_server, .data = server};
    return supervise(program->path, operands, environment, &hooks, error);
}

static const Example examples[] = {
    {"jescope run -- redis-server --port 6379", "start redis-server, ready to be profiled"},
    {"jescope run --active --sample=64KiB -- ./server", "profile from the start, in more detail"},
    {"jescope run --active --sampler=jescope -- ./server", "with lifetimes of objects"},
    {"jescope run --listen=7469 -- ./server", "serve it over HTTP while it runs"},
    {0},
};

const Command cmd_run = {
    .name = "run",
    .synopsis = "[--] PROGRAM [ARGUMENT...]",
    .summary = "start a program with profiling ready",
    .description =
        "Starts PROGRAM with jescope's agent preloaded, and with heap profiling possible but off "
        "(MALLOC_CONF=prof:true,prof_active:false). If PROGRAM has no jemalloc of its own, libjemalloc.so.2 is "
        "preloaded as well. Your settings in LD_PRELOAD, MALLOC_CONF and prefixed variants such as _RJEM_MALLOC_CONF "
        "are kept and take precedence.\n"
        "\n"
        "If PROGRAM's jemalloc was built without its profiler, jescope's own sampler takes its place with jemalloc "
        "5.2.0 to 5.3.1; --active and --sample are for it as well. --sampler=jescope uses it in any case (with "
        "prof:false for jemalloc), --sampler=jemalloc never. --sampler-memory gives it another size.\n"
        "\n"
        "PROGRAM keeps the terminal and receives the signals that are sent to jescope. The exit status is that of "
        "PROGRAM; 128+N if signal N terminated it, 127 if it was not found, 126 if it could not be executed.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_PROGRAM,
    .operands_min = 1,
    .operands_max = OPERANDS_ANY,
    .run = run,
};
