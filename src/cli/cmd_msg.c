/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/state.h"
#include "cli/via.h"

#include "target/target.h"

#include <string.h>
#include <unistd.h>

static const char tag[] = "memory_profile";

/* jemalloc refuses every dump that it could not write in the same way, and never says where it wanted to. */
static gboolean
dump(Target *target, GError **error)
{
    g_autoptr(GError) refusal = NULL;
    if (target_write(target, "prof.dump", WIRE_TYPE_NONE, 0, &refusal))
        return TRUE;
    ControlValue prefix;
    if (!g_error_matches(refusal, TARGET_ERROR, TARGET_ERROR_CONTROL) ||
        !target_read(target, "opt.prof_prefix", WIRE_TYPE_STRING, &prefix, NULL)) {
        g_propagate_error(error, g_steal_pointer(&refusal));
        return FALSE;
    }
    g_set_error(
        error, CLI_ERROR, CLI_ERROR_FAILED,
        "%s could not write a dump: it was started with prof_prefix '%s' and must be able to make files of that "
        "name; 'jescope dump' needs none",
        target_label(target), prefix.text);
    return FALSE;
}

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
    g_autoptr(Output) output = output_open("-", error);
    gboolean copied = output_copy(output, fd, error);
    close(fd);
    return copied;
}

static const struct {
    const char *word;
    gboolean (*run)(Target *target, GError **error);
} messages[] = {
    {"dump", dump},
    {"activate", activate},
    {"deactivate", deactivate},
    {"stats", stats},
};

static const GOptionEntry options[] = {
    VIA_OPTION,
    {0},
};

static int
run(char **operands, GError **error)
{
    if (strcmp(operands[1], tag) != 0) {
        g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE, "nobody takes messages for '%s'; known: %s", operands[1], tag);
        return STATUS_USAGE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(messages); i++) {
        if (strcmp(operands[2], messages[i].word) != 0)
            continue;
        g_autoptr(Target) target = via_open(operands[0], error);
        return target != NULL && messages[i].run(target, error) ? STATUS_DONE : STATUS_FAILED;
    }
    g_set_error(error, CLI_ERROR, CLI_ERROR_USAGE,
                "unexpected message '%s' for %s; known: dump, activate, deactivate, stats", operands[2], tag);
    return STATUS_USAGE;
}

const Command cmd_msg = {
    .name = "msg",
    .synopsis = "TARGET memory_profile MESSAGE",
    .summary = "send a message as traffic_ctl does, for scripts",
    .description =
        "Does for any TARGET what 'traffic_ctl plugin msg memory_profile MESSAGE' does for Apache Traffic Server, and "
        "like that prints nothing when it is done. MESSAGE is one of\n"
        "\n"
        "activate: switch heap profiling on;\n"
        "\n"
        "dump: let jemalloc write a dump in TARGET, to a file named PREFIX.PID.SEQUENCE.mNUMBER.heap by the "
        "prof_prefix that TARGET was started with ('jescope dump' needs no prefix and prints the name);\n"
        "\n"
        "deactivate: switch heap profiling off;\n"
        "\n"
        "stats: print jemalloc's statistics, on the standard output of jescope.",
    .options = options,
    .operand = OPERAND_TARGET,
    .words = "memory_profile|activate|dump|stats|deactivate",
    .operands_min = 3,
    .operands_max = 3,
    .run = run,
};
