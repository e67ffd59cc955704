/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/jem-stats.h"
#include "cli/output.h"
#include "cli/state.h"
#include "cli/via.h"

#include "target/own-dump.h"

#include <string.h>
#include <unistd.h>

static const char tag[] = "memory_profile";

static gboolean
activate(Target *target, GError **error)
{
    return state_check_unleased(target, error) && target_write(target, "prof.active", WIRE_TYPE_BOOL, 1, error);
}

static gboolean
deactivate(Target *target, GError **error)
{
    return state_end_lease(target, error) && target_write(target, "prof.active", WIRE_TYPE_BOOL, 0, error);
}

static gboolean
stats(Target *target, GError **error)
{
    int fd = target_stats(target, "", error);
    if (fd < 0)
        return FALSE;
    g_autoptr(Output) output = output_open("-", OUTPUT_SHARED, error);
    gboolean copied = output_copy(output, fd, error);
    close(fd);
    return copied;
}

static const struct {
    const char *word;
    gboolean (*run)(Target *target, GError **error);
} messages[] = {
    {"dump", target_dump_to_own_file},
    {"activate", activate},
    {"deactivate", deactivate},
    {"stats", stats},
};

static const GOptionEntry options[] = {
    VIA_OPTION,
    {0},
};

static int
run_jem_stats(char **operands, GError **error)
{
    if (operands[2] != NULL) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "unexpected operand '%s' after '%s'; quote the message: '%s'",
                    operands[2], operands[1], JEM_STATS_COMMAND ":file=PATH;options=LETTERS");
        return STATUS_USAGE;
    }
    g_autoptr(Target) target = via_open(operands[0], error);
    return target != NULL && jem_stats_run(target, operands[1], error) ? STATUS_DONE : STATUS_FAILED;
}

static int
run_memory_profile(char **operands, GError **error)
{
    const char *message = operands[2] != NULL ? operands[2] : "";
    for (gsize i = 0; i < G_N_ELEMENTS(messages); i++) {
        if (strcmp(message, messages[i].word) != 0)
            continue;
        g_autoptr(Target) target = via_open(operands[0], error);
        return target != NULL && messages[i].run(target, error) ? STATUS_DONE : STATUS_FAILED;
    }
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "unexpected message '%s' for %s; known: dump, activate, deactivate, stats", message, tag);
    return STATUS_USAGE;
}

static int
run(char **operands, GError **error)
{
    if (jem_stats_is_message(operands[1]))
        return run_jem_stats(operands, error);
    if (strcmp(operands[1], tag) == 0)
        return run_memory_profile(operands, error);
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "unknown message tag '%s'; known: %s, %s:", operands[1], tag,
                JEM_STATS_COMMAND);
    return STATUS_USAGE;
}

static const Example examples[] = {
    {"jescope msg traffic_server memory_profile dump", "make Traffic Server write a heap dump"},
    {"jescope msg server 'jem-stats:file=/tmp/jem.log'", "append statistics to a file as an Aerospike server does"},
    {0},
};

const Command cmd_msg = {
    .name = "msg",
    .synopsis = "TARGET memory_profile MESSAGE|jem-stats:[...]",
    .summary = "send a message as traffic_ctl or asinfo does",
    .description =
        "Gives any TARGET the messages of two servers. 'memory_profile MESSAGE' does what 'traffic_ctl plugin msg "
        "memory_profile MESSAGE' does for Apache Traffic Server; it prints nothing on success. MESSAGE is one of\n"
        "\n"
        "activate: enable heap profiling;\n"
        "\n"
        "dump: write a dump to a new file PREFIX.PID.N.mN.heap, with the rights of TARGET; PREFIX is the prof_prefix "
        "that "
        "TARGET was started with ('jescope dump' needs no prefix and prints the file name);\n"
        "\n"
        "deactivate: disable heap profiling;\n"
        "\n"
        "stats: print jemalloc's statistics to standard output.\n"
        "\n"
        "'jem-stats:file=PATH;options=LETTERS;sites=PATH' does what 'asinfo -v' with this command does for an "
        "Aerospike "
        "server, and prints the server's reply, 'ok' or 'ERROR:4:...'. All parameters are optional. file: append the "
        "statistics to this file, which jescope opens as its caller (default: lines of a log on standard error). "
        "options: "
        "letters of malloc_stats_print(3). sites: append the line with the date; the server writes more only with "
        "debug-allocations. The exit status is 1 if a file could not be written, although the reply is 'ok'.",
    .examples = examples,
    .options = options,
    .operand = OPERAND_TARGET,
    .words = "memory_profile|activate|dump|stats|deactivate|jem-stats:",
    .operands_min = 2,
    .operands_max = 3,
    .run = run,
};
